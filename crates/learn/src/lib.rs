//! Environments, networks and algorithms that learn policies through the physics.

pub mod algorithm;
pub mod env;
pub mod evaluate;
pub mod nn;
pub mod number;
pub mod run;
pub mod train;

pub use number::Number;
