//! Objectives, the landscapes they make, and the way down.

pub mod bfgs;
pub mod landscape;
pub mod objective;

pub use bfgs::{BfgsConfig, bfgs};
pub use landscape::{Landscape, LandscapeConfig};
pub use objective::{Objective, RolloutObjective};
