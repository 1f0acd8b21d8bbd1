//! Losses and metrics of particles against targets.
//!
//! | module | what |
//! |---|---|
//! | `mass_grid` | masses of particles on the nodes of a grid |
//! | [`density`] | Σ\|m − m*\| |
//! | [`distance`] | Σ d·m, with d the distance to the target |
//! | `distance_transform` | d itself |
//! | [`iou`] | overlap with the target, and PlasticineLab's score |
//! | [`contact`] | distance of colliders to the particles |
//! | [`center`] | center of mass |
//! | [`flatness`] | mean height and variance; RollingFlat's reward |
//! | [`spill`] | fraction outside a container; FluidMove's reward |
//! | [`mirror`] | distance of mirrored partners; HandFlip's reward |
//! | [`solid`] | shapes to cut targets and particles from |
//! | [`target`] | where the particles should be |
//! | [`pool`] | scratch for losses that many threads share |
//! | `shape_loss` | weighted terms as a loss over a rollout |
//!
//! Positions are `&[[T; 3]]`, as [`Mpm::split`](super::Mpm::split) hands them out. A pullback *adds* to the
//! cotangents it is given. Nothing allocates once its scratch is made.

pub mod center;
pub mod contact;
pub mod density;
pub mod distance;
mod distance_transform;
pub mod flatness;
pub mod iou;
mod mass_grid;
pub mod mirror;
pub mod pool;
mod shape_loss;
pub mod solid;
pub mod spill;
pub mod target;

pub use contact::{ContactDistance, Tools};
pub use mass_grid::{Cells, MassGrid};
pub use shape_loss::{ShapeLoss, Terms, Weights, When};
pub use solid::Solid;
pub use target::Target;
