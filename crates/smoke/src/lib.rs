//! Smoke: incompressible flow on staggered grids in two and three dimensions, by stable fluids (Stam 1999).
//!
//! | module | what |
//! |---|---|
//! | [`grid`] | cells, borders and obstacles |
//! | [`advection`], `maccormack` | fields moved with the flow: first order, second order |
//! | `trace`, `stencil` | tracing and interpolation; corners as rows |
//! | `buoyancy`, `viscosity`, `vorticity` | forces |
//! | `pressure` | the projection onto flows without divergence |
//! | [`conjugate_gradients`], `multigrid`, `laplacian` | its solve: conjugate gradients, V-cycles, relaxation |
//! | [`system`], [`settings`], [`workspace`] | one step as a differentiable system |
//! | [`march`], [`camera`], [`image`] | pictures by marching rays |
//! | [`start`] | first velocities without divergence, for searches |
//! | [`losses`] | distance from a wanted density, or from wanted pictures |
//! | `padded`, `rows`, `sums` | arrays with a halo; rows, blocks and planes on threads; sums |
//!
//! The projection is symmetric, so its pullback is itself: one solve per step each way. Advection gathers;
//! its pullback scatters, every field on a thread of its own; cotangents of velocities are gathered again. No result depends on the number of threads.

extern crate self as pullback_smoke;

pub mod advection;
mod buoyancy;
pub mod camera;
pub mod conjugate_gradients;
pub mod grid;
pub mod image;
mod laplacian;
pub mod losses;
mod maccormack;
pub mod march;
mod multigrid;
mod padded;
mod pressure;
mod rows;
pub mod settings;
pub mod start;
mod stencil;
mod sums;
pub mod system;
mod trace;
mod viscosity;
mod vorticity;
pub mod workspace;

pub use advection::Scheme;
pub use conjugate_gradients::SolveTolerance;
pub use grid::{Border, Grid};
pub use settings::Settings;
pub use system::Smoke;

/// Compiles the kernels for plain and dual numbers; see `pullback_articulated::compiled_kernels`.
#[cfg(debug_assertions)]
#[inline(never)]
#[doc(hidden)]
pub fn compiled_kernels() -> [*const (); 6] {
    use pullback_core::System;
    use pullback_math::Dual;
    [
        <Smoke<2> as System<f64>>::step as *const (),
        <Smoke<2> as System<f64>>::step_vjp as *const (),
        <Smoke<2> as System<Dual<f64>>>::step as *const (),
        <Smoke<3> as System<f64>>::step as *const (),
        <Smoke<3> as System<f64>>::step_vjp as *const (),
        <Smoke<3> as System<Dual<f64>>>::step as *const (),
    ]
}
