//! The material point method: MLS-MPM with quadratic B-splines and APIC (Hu et al. 2018; paper 2, D.3).
//!
//! | module | what |
//! |---|---|
//! | [`material`] | what a particle is made of: flow and stress |
//! | [`stress`] | flow and stress of all particles, in packs |
//! | [`stencil`] | which nodes a particle touches; scatter and gather |
//! | [`blocks`] | sparse grids: blocks in use, particles sorted by block |
//! | [`grid`] | what happens on the nodes: gravity, colliders, floor and walls |
//! | [`losses`] | where the particles should be, and how far they are from it |
//! | [`cloud`] | particles and grid as a builder writes them down |
//! | [`system`] | one substep as a differentiable system |
//!
//! The adjoint of scatter is gather, and the other way round: both are one function each ([`stencil`]), and the cotangent of a
//! particle's position has one form for both. Nothing is kept from the forward pass but states.

pub mod blocks;
pub mod cloud;
pub mod grid;
pub mod losses;
pub mod material;
mod nodes;
pub mod stencil;
pub mod stress;
pub mod system;

pub use cloud::{Cloud, Grid, Stuff};
pub use system::Mpm;
