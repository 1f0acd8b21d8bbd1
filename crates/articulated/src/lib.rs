//! Articulated rigid bodies: kinematic trees in generalized coordinates (gradSim; Rewarped; Qiao et al., ICML
//! 2021).
//!
//! [`Model`] says what a robot is; [`Articulated`] makes it move. One step reads: [`kinematics`] (where
//! everything is), [`rnea`] (bias force), [`mass_matrix`] (composite bodies, factorized along the tree),
//! `joint_forces` (springs, damping, limits, actuators), solve. The pullback is one solve and one reverse
//! RNEA.

pub mod aba;
pub mod actuator;
pub mod chain;
pub mod complementarity;
pub mod constraint;
pub mod contact;
pub mod coordinates;
mod coupling;
mod dynamics;
mod field;
pub mod fluid;
pub mod geom_lanes;
mod guards;
mod implicit;
mod inertias;
mod joint_forces;
pub mod kinematic_params;
pub mod kinematics;
mod length_range;
pub mod losses;
pub mod mass_matrix;
pub mod model;
mod motion;
mod pairs;
pub mod params;
mod pullback;
mod quantities;
mod reference;
pub mod restitution;
pub mod rnea;
pub mod sensor;
mod size;
pub mod tendon;
pub mod tree;
mod workspace;

pub use chain::Chain;
pub use field::Articulated;
pub use implicit::ImplicitTerms;
pub use length_range::LengthRangeOptions;
pub use model::{
    ActivationDynamics, Actuator, ActuatorQuantity, Bias, Body, CONTACT_MODELS, Camera,
    ComplementarityOptions, ContactMaterials, ContactModel, ContactOverride, ContactPair, ContactSoftness,
    Equality, EqualityKind, FluidShape, Following, FrameObject, FrameQuantity, FrictionCone,
    FrictionDirections, Gain, Geom, Headlight, Heightfield, Hull, ImpulseScheme, Joint, JointKind,
    JointQuantity, Keyframe, Light, LightKind, Material, MaterialMixing, Mesh, MeshEllipsoid, Model,
    ModelIntegrator, ModelOptions, Muscle, PathItem, Projection, Sensor, SensorKind, Shape, Site,
    SiteQuantity, Softness, SolverOptions, SubtreeQuantity, Tendon, TendonPath, TendonQuantity, Texture,
    TextureKind, TextureMark, TexturePattern, TextureSource, Transmission, Visual,
};
pub use pairs::{GeomPair, candidate_pairs};
pub use pullback_collision::ContactDamping;
pub use workspace::ArticulatedWorkspace;

/// Compiles the kernels for the scalars of tests, tasks and learning. In builds for tests, crates above link what
/// this crate has compiled instead of compiling it again; optimized builds do not share generic functions between
/// crates.
#[cfg(debug_assertions)]
#[inline(never)]
#[doc(hidden)]
pub fn compiled_kernels() -> Vec<*const ()> {
    use pullback_core::Integrated;
    use pullback_core::compiled::{both_ways, forward};
    use pullback_math::{Dual, f32x16, f64x8};
    type Robot = Integrated<Articulated>;
    [
        &both_ways::<f64, Robot>()[..],
        &both_ways::<f64x8, Robot>(),
        &both_ways::<f32x16, Robot>(),
        &forward::<Dual<f64>, Robot>(),
    ]
    .concat()
}
