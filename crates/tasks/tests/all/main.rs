//! Scenes in batches, in single precision, and as recordings; tasks of planners.
//!
//! One program, since linking takes longer than most tests.

mod batch;
mod goals;
mod mpm_precision;
mod mpm_scenes;
mod planning;
mod soft_scenes;
mod stability;
