//! Laws of the renderer.

mod coverage;
mod gradients;
mod limits;
mod support;
mod threads;
