//! Smoke: its laws, exact gradients, and bits that do not depend on threads.
//!
//! One program, since linking takes longer than most tests.

mod common;
mod gradients;
mod laws;
mod memory;
mod rendering;
mod solver;
