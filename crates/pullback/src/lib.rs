//! A differentiable multiphysics engine: ask a simulator not only what happens, but what should be changed.
//!
//! Every function `f` has its pullback, `f_vjp`, which carries cotangents backwards; whole simulations have theirs.
//!
#![cfg_attr(feature = "scene", doc = "```no_run")]
#![cfg_attr(not(feature = "scene"), doc = "```ignore")]
//! use pullback::prelude::*;
//!
//! // A robot of a file: how far does it get, and what is that due to?
//! let robot = pullback::load("ant.xml")?;
//! let rollout = Rollout::new(&robot, 100, Schedule::StoreAll)?;
//! let mut ws = rollout.workspace::<f64>();
//! let far = StateTarget::new(robot.layout(), "*.position[0]", Norm::Square, Weights::at_end(1.0))?;
//! rollout.gradient(&mut ws, &Inputs::defaults(&robot, 100), &far)?;
//! for i in robot.layout().params.select("*.mass")? {
//!     println!("{}: {}", robot.layout().params.entry_name(i), ws.gradient.params[i]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layers
//!
//! Each is a crate of its own behind a feature of the same name; `default-features = false` leaves the first three.
//!
//! | module | what | feature |
//! |---|---|---|
//! | [`math`] | scalars, lanes, dual numbers, small algebra | |
//! | [`core`] | systems, integrators, rollouts, batches, losses, the validator of gradients | |
//! | [`physics`] | what moves: robots, soft bodies, material points, smoke | |
//! | `scene` | readers of MJCF, URDF and meshes; [`load`](fn@load) | `scene`, on |
//! | `search` | objectives, landscapes, optimizers, least squares | `search`, on |
//! | `planning` | model-predictive control | `planning`, on |
//! | `render` | differentiable pictures | `render`, on |
//! | `models` | our own robots by name | `models`, on |
//! | `video` | videos of simulations, as losses and as files | `video` |
//! | `learn` | environments and the learning of policies | `learn` |
//! | `replay`, `plot` | pages that play a motion; figures and reports | `replay`, `plot` |
//! | `tasks` | named scenes, tasks, environments and experiments | `tasks` |
//!
//! `full` is all of them.
//!
//! # Speed
//!
//! Batches run on lanes, the registers of the processor that a program is compiled for. The compiler assumes the oldest
//! processor unless it is told otherwise, so put this into the `.cargo/config.toml` of your crate:
//!
//! ```toml
//! [build]
//! rustflags = ["-C", "target-cpu=native"]
//! ```
//!
//! Without it they run about three times slower, and the first batch says so once on standard error;
//! the environment variable `PULLBACK_CPU_NOTE=off` silences that.

pub use pullback_core as core;
pub use pullback_math as math;
pub use pullback_physics as physics;

#[cfg(feature = "planning")]
pub use pullback_control as planning;
#[cfg(feature = "learn")]
pub use pullback_learn as learn;
#[cfg(feature = "models")]
pub use pullback_models as models;
#[cfg(feature = "search")]
pub use pullback_optim as search;
#[cfg(feature = "plot")]
pub use pullback_plot as plot;
#[cfg(feature = "render")]
pub use pullback_render as render;
#[cfg(feature = "replay")]
pub use pullback_replay as replay;
#[cfg(feature = "scene")]
pub use pullback_scene as scene;
#[cfg(feature = "tasks")]
pub use pullback_tasks as tasks;
#[cfg(feature = "video")]
pub use pullback_video as video;

#[cfg(feature = "scene")]
pub use pullback_scene::robot::load;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// What most programs need.
pub mod prelude {
    pub use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
    pub use pullback_core::gradcheck::{Options as GradcheckOptions, gradcheck};
    pub use pullback_core::input_map::{InputMap, LinearMap, Transform, Transformed, Variable};
    pub use pullback_core::integrator::{Adjoint, Method, PidController, StepControl};
    pub use pullback_core::layout::{Layout, Slice};
    pub use pullback_core::linearize::{Linearization, linearize};
    pub use pullback_core::losses::{Effort, Norm, StateTarget, Weights};
    pub use pullback_core::rollout::{FinalState, Inputs, Loss, Sample};
    pub use pullback_core::{
        Bars, Described, FieldShape, Integrated, Integrator, Point, Rollout, Schedule, System, VectorField,
    };
    pub use pullback_math::{Cotangent, Dual, Flat, Mat3, Quat, Real, Vec3, differentiable, select};
    #[cfg(feature = "search")]
    pub use pullback_optim::{BfgsConfig, Objective, RolloutObjective, bfgs};
}
