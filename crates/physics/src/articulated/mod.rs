//! Articulated rigid bodies: kinematic trees in generalised coordinates (papers 1, 2 and 3).
//!
//! [`Model`] says what a robot is; [`Articulated`] makes it move. One step reads: [`kinematics`] (where everything is),
//! [`rnea`] (bias force), [`mass_matrix`] (composite bodies, factorised along the tree), [`joint_forces`] (springs, damping,
//! limits, actuators), solve. The pullback is one solve and one reverse RNEA.

pub mod aba;
pub mod contact;
pub mod coordinates;
pub mod coupling;
mod dynamics;
mod field;
pub(crate) mod geom_lanes;
pub mod heightfield;
pub mod joint_forces;
pub mod kinematic_params;
pub mod kinematics;
pub mod mass_matrix;
pub mod model;
pub mod restitution;
pub mod rnea;
pub mod tree;

pub use dynamics::ArticulatedWorkspace;
pub use field::Articulated;
pub use heightfield::Heightfield;
pub use model::{
    Actuator, ActuatorTarget, Body, ContactDamping, ContactMaterials, ContactSoftness, FrictionCone, Geom,
    Integrator, Joint, JointKind, Keyframe, MaterialMixing, Mesh, Model, ModelOptions, Shape, Site,
};
