//! Readers of robots, meshes and targets.

mod confine;
mod error;
pub mod mesh;
pub mod mjcf;
pub mod npy;
pub mod robot;
pub mod urdf;
mod xml;

pub use error::{ImportError, Place};
