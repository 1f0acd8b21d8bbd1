//! Addresses of the functions of a system: naming them compiles them in the crate that asks.
//!
//! In builds for tests the compiler shares generic functions between crates, where a crate below has compiled them.
//! `compiled_kernels` of the crates of physics ask for what several crates and test programs above them use.

use pullback_math::Real;

use crate::System;

/// Memory, step and pullback.
pub fn both_ways<T: Real, S: System<T>>() -> [*const (); 3] {
    [S::workspace as *const (), S::step as *const (), S::step_vjp as *const ()]
}

/// Memory and step: all that forward mode needs.
pub fn forward<T: Real, S: System<T>>() -> [*const (); 2] {
    [S::workspace as *const (), S::step as *const ()]
}
