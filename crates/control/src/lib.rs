//! Control by looking ahead: planners are functions of a system, a loss and a horizon.
//!
//! | module | method |
//! |---|---|
//! | [`gradient`] | Adam on a plan, the best of its iterations |
//! | [`sampling`] | predictive sampling: the best of many noisy plans |
//! | [`mppi`] | model-predictive path integral control: a weighted mean of noisy plans |
//! | [`cem`] | the cross-entropy method: the mean of the best, round by round |
//! | [`hybrid`] | sampling proposes, gradients polish |
//! | [`ilqr`] | iterative LQR with control limits, from exact Jacobians |
//! | [`shooting`] | a search method of `optim` over a whole episode |
//!
//! A [`Plan`] is a spline of controls over the horizon, in the box of the controls scaled to [−1, 1]. [`mpc`]
//! plans, applies the first controls, shifts the plan and plans again. A [`Task`] is what is to be done; a new one
//! is a system, a start, a loss, bounds, a horizon and what counts as success.

pub mod bounds;
pub mod candidates;
pub mod cem;
pub mod descent;
mod error;
pub mod gradient;
pub mod hybrid;
pub mod ilqr;
pub mod mpc;
pub mod mppi;
pub mod noise;
pub mod planner;
pub mod problem;
pub mod sampling;
pub mod shooting;
pub mod spline;
pub mod task;

pub use bounds::ControlBox;
pub use error::PlanError;
pub use planner::{PLANNERS, Planner, PlannerConfig, build as build_planner};
pub use problem::{PlanLoss, PlanSystem, Problem};
pub use spline::{Interpolation, Plan, Spline};
pub use task::{RunOptions, Success, Task};
