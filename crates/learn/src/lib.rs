//! Environments, networks and algorithms that learn policies through the physics.

pub mod env;
pub mod nn;
pub mod number;
pub mod run;

pub use number::Number;
