//! Losses and metrics of particles against targets.
//!
//! | module | what |
//! |---|---|
//! | [`mass_grid`] | masses of particles on the nodes of a grid |
//! | [`density`] | Σ\|m − m*\| |
//! | [`distance`] | Σ d·m, with d the distance to the target |
//! | [`distance_transform`] | d itself |
//! | [`iou`] | overlap with the target, and PlasticineLab's score |
//! | [`contact`] | distance of colliders to the particles |
//! | [`centre`] | centre of mass |
//! | [`flatness`] | mean height and variance; RollingFlat's reward |
//! | [`spill`] | fraction outside a container; FluidMove's reward |
//! | [`mirror`] | distance of mirrored partners; HandFlip's reward |
//! | [`solid`] | constructive solid geometry for targets and particles |
//! | [`target`] | masses on a grid to be reached |
//! | [`npy`] | targets as files |
//! | [`pool`] | scratch of losses that threads share |
//! | [`shape_loss`] | weighted terms as a loss over a rollout |
//!
//! Positions are `&[[T; 3]]`, as in [`Mpm::split`](super::Mpm::split). A pullback *adds* to the cotangents
//! that it takes. Nothing allocates once its scratch is made.

pub mod centre;
pub mod contact;
pub mod density;
pub mod distance;
pub mod distance_transform;
pub mod flatness;
pub mod iou;
pub mod mass_grid;
pub mod mirror;
pub mod npy;
pub mod pool;
pub mod shape_loss;
pub mod solid;
pub mod spill;
pub mod target;

pub use contact::{ContactDistance, Tools};
pub use mass_grid::{Cells, MassGrid};
pub use shape_loss::{ShapeLoss, Terms, Weights, When};
pub use solid::Solid;
pub use target::Target;
