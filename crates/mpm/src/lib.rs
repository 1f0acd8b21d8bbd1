//! The material point method: MLS-MPM with quadratic B-splines and APIC (Hu et al. 2018; Rewarped, D.3).
//!
//! | module | what |
//! |---|---|
//! | [`material`] | what a particle is made of: flow and stress |
//! | [`stress`] | flow and stress of all particles, in packs |
//! | [`stencil`] | which nodes a particle touches; scatter and gather |
//! | `transfer` | from particles to nodes and back |
//! | [`blocks`] | sparse grids: blocks in use, particles sorted by block |
//! | [`grid`] | what happens on a node: gravity, colliders, floor and walls |
//! | `nodes` | the same for all nodes in use, in packs |
//! | [`colliders`] | how colliders move: driven, or coupled both ways |
//! | `share` | how hard nodes meet a body that gives way |
//! | [`losses`] | where the particles should be, and how far they are from it |
//! | [`cloud`] | particles and grid as a builder writes them down |
//! | [`system`] | one substep as a differentiable system |
//! | [`view`], [`workspace`] | the parts of a state; scratch, all of it there from the start |
//!
//! The adjoint of scatter is gather, and the other way round: both are one function each ([`stencil`]), and the cotangent of a
//! particle's position has one form for both. Nothing is kept from the forward pass but states; a pullback recomputes the rest.

pub mod blocks;
pub mod cloud;
pub mod colliders;
pub mod grid;
pub mod losses;
pub mod material;
mod nodes;
mod share;
pub mod stencil;
pub mod stress;
pub mod system;
mod transfer;
pub mod view;
pub mod workspace;

pub use cloud::{Cloud, Grid, Stuff};
pub use system::Mpm;
