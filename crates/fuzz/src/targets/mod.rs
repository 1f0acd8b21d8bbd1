//! The targets, by what they read.

pub mod broken;
pub mod data;
pub mod meshes;
pub mod models;
