//! Readers of robots and meshes.

pub mod mesh;
pub mod urdf;
