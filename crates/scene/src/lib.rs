//! Readers of robots and meshes.

mod error;
pub mod mesh;
pub mod mjcf;
pub mod urdf;
mod xml;

pub use error::{ImportError, Place};
