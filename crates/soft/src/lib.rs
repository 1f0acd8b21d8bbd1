//! Soft bodies: springs, elastic solids, cloth (gradSim A.1 and C, Rewarped D.2).
//!
//! | module | what |
//! |---|---|
//! | [`mesh`] | meshes: checked tetrahedra and triangles, and shapes of our own |
//! | [`body`] | what soft parts a world holds, as a builder writes it down |
//! | [`element`] | thousands of alike elements in registers: gather, evaluate, collect |
//! | [`spring`], [`solid`], `membrane`, [`hinge`], [`air`] | the kinds of elements |
//! | [`forces`] | a body compiled to flat arrays: all forces and their pullback |
//!
//! Particles move by semi-implicit Euler with substeps; `World` of `pullback-physics` puts them beside
//! robots, with contact and attachments between both.

pub mod air;
pub mod body;
pub mod element;
pub mod forces;
pub mod hinge;
mod membrane;
pub mod mesh;
pub mod solid;
pub mod spring;

pub use body::{
    Attachment, Cloth, Part, Placement, PlacementBar, SoftBody, SoftContact, Solid, SolidLaw, SpringMaterial,
};
pub use forces::{ParticleContact, Soft, SoftIndex, SoftScratch};
