//! Integrators on small systems of their own, and the pullbacks of `pullback-math` and `pullback-macros`.
//!
//! One program, since linking takes longer than most tests.

mod common;
mod erased;
mod input_map;
mod integrators;
mod losses;
mod macros;
mod manifold;
mod math;
mod rollouts;
mod stability;
