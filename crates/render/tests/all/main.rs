//! Laws of the renderer.

mod coverage;
mod gradients;
mod limits;
mod plain;
mod support;
mod threads;
