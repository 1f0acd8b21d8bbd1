//! Scenes in batches, in single precision, and as recordings.
//!
//! One program, since linking takes longer than most tests.

mod batch;
mod mpm_precision;
mod mpm_scenes;
mod soft_scenes;
