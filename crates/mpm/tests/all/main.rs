//! The material point method: its laws, exact gradients, and what it survives.
//!
//! One program, since linking takes longer than most tests.

mod behavior;
mod common;
mod coupled;
mod gradients;
mod laws;
mod losses;
mod materials;
mod robustness;
mod system;
