//! The material point method: MLS-MPM with quadratic B-splines and APIC (Hu et al. 2018; paper 2, D.3).
//!
//! | module | what |
//! |---|---|
//! | [`material`] | what a particle is made of: flow and stress |
//! | [`stencil`] | which nodes a particle touches; scatter and gather |
//! | [`blocks`] | sparse grids: blocks in use, particles sorted by block |
//! | [`grid`] | what happens on the nodes: gravity, colliders, floor and walls |

pub mod blocks;
pub mod grid;
pub mod material;
pub mod stencil;
