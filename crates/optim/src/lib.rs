//! Objectives and the landscapes they make.

pub mod landscape;
pub mod objective;

pub use landscape::{Landscape, LandscapeConfig};
pub use objective::{Objective, RolloutObjective};
