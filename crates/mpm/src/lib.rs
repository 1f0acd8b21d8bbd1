//! The material point method: MLS-MPM with quadratic B-splines and APIC (Hu et al. 2018; Rewarped, D.3).
//!
//! | module | what |
//! |---|---|
//! | [`particles`] | particles as a builder writes them down |
//! | [`record`] | sixteen numbers of a particle, or of four nodes |
//! | [`material`] | materials and their constitutive models: flow and stress |
//! | [`stress`] | flow and stress of all particles, in packs |
//! | [`stencil`] | interpolation between particles and nodes: scatter and gather |
//! | `transfer` | from particles to grid (P2G) and back (G2P) |
//! | `parallel` | loops over particles on several threads |
//! | [`blocks`] | sparse grids: blocks in use, particles sorted by block |
//! | `halves` | the two halves of the particles that transfers work on at the same time |
//! | [`grid`] | the grid, and boundary conditions of a node: colliders, floor and walls |
//! | `nodes` | the grid operation: gravity and boundary conditions of all nodes in use, in packs |
//! | [`colliders`] | motion of colliders: kinematic, or dynamic in two-way coupling |
//! | `impact` | the fraction of the nodes' impulse that a coupled body takes |
//! | `actuated` | colliders that are driven through transmissions |
//! | [`losses`] | targets of the particles, and their distance from them |
//! | [`system`] | one substep as a differentiable system |
//! | [`stability`] | the largest stable substep |
//! | [`view`], [`workspace`] | views of a state; scratch, allocated once |
//!
//! The adjoint of scatter is gather, and the other way round: both are one function each ([`stencil`]), and
//! the cotangent of a particle's position has one form for both. Nothing is kept from the forward pass but
//! states; a pullback recomputes the rest.

mod actuated;
pub mod blocks;
pub mod colliders;
pub mod grid;
mod halves;
mod impact;
pub mod losses;
pub mod material;
mod nodes;
mod parallel;
pub mod particles;
pub mod record;
pub mod stability;
pub mod stencil;
pub mod stress;
pub mod system;
mod transfer;
pub mod view;
pub mod workspace;

pub use actuated::{ActuatedMpm, Rolling, Transmission};
pub use grid::{Floor, Grid};
pub use material::{Elastic, Elastoplastic, Granular, Material};
pub use particles::{ParticleGroup, Particles};
pub use system::Mpm;

/// Compiles the kernels for plain and dual numbers; see `pullback_articulated::compiled_kernels`.
#[cfg(debug_assertions)]
#[inline(never)]
#[doc(hidden)]
pub fn compiled_kernels() -> [*const (); 5] {
    use pullback_core::System;
    use pullback_math::Dual;
    [
        <Mpm as System<f64>>::step as *const (),
        <Mpm as System<f64>>::step_vjp as *const (),
        <Mpm as System<f32>>::step as *const (),
        <Mpm as System<f32>>::step_vjp as *const (),
        <Mpm as System<Dual<f64>>>::step as *const (),
    ]
}
