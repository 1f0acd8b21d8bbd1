//! Readers of robots and meshes.

mod error;
pub mod mjcf;

pub use error::{ImportError, Place};
