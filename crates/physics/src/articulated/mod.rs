//! Articulated rigid bodies: kinematic trees in generalised coordinates.

pub mod model;

pub use model::{
    Actuator, ActuatorTarget, Body, ContactSoftness, FrictionCone, Geom, Integrator, Joint, JointKind,
    Keyframe, Mesh, Model, ModelOptions, Shape, Site,
};
