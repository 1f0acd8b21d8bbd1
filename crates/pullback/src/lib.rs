#![doc = include_str!("../../../README.md")]
//!
//! # The layers
//!
//! [`math`]: scalars, lanes, dual numbers, small algebra · [`core`]: systems, integrators, rollouts, the
//! validator · [`physics`]: what moves · [`optim`]: objectives and the way down · [`control`]: planners
//! · [`render`]: differentiable pictures.

pub use pullback_control as control;
pub use pullback_core as core;
pub use pullback_math as math;
pub use pullback_optim as optim;
pub use pullback_physics as physics;
pub use pullback_render as render;

/// What most programs need.
pub mod prelude {
    pub use pullback_core::gradcheck::{Options as GradcheckOptions, gradcheck};
    pub use pullback_core::integrator::{Adjoint, Method, PidController, StepControl};
    pub use pullback_core::layout::{Layout, Slice};
    pub use pullback_core::rollout::{FinalState, Inputs, Loss, Sample};
    pub use pullback_core::{
        Bars, Batch, Described, FieldShape, Integrated, Integrator, Point, Rollout, Schedule, System,
        VectorField,
    };
    pub use pullback_math::{Cotangent, Dual, Flat, Mat3, Quat, Real, Vec3, differentiable, select};
    pub use pullback_optim::{BfgsConfig, Objective, RolloutObjective, bfgs};
}
