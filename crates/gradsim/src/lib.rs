//! The experiments of gradSim (Jatavallabhula et al., ICLR 2021): physics from pixels, each beside the paper's figures.
//!
//! | module | what |
//! |---|---|
//! | `experiment` | what an experiment is given and what it shows |
//! | `sheet` | pictures in rows, such as a recorded video above a fitted one |
//! | `descent` | Adam over an objective, step by step |
//! | [`rigid`] | rigid bodies: masses and contact parameters from videos, landscapes, cues, pendula |
//! | [`deformable`] | soft bodies and cloth: parameters from videos, control towards pictures, rates, smoke |
//!
//! [`EXPERIMENTS`] is the table of all; a new one is a function and a line in the table of its module.

pub mod deformable;
mod descent;
mod experiment;
pub mod rigid;
mod sheet;

use pullback_core::registry::Registry;

pub use descent::{AdamRate, Descent, descend};
pub use experiment::{Exhibit, Experiment, ExperimentError, NamedPicture, Setting};
pub use sheet::Sheet;

/// Every experiment by name.
pub const EXPERIMENTS: Registry<Experiment> =
    Registry::new("experiment of gradSim", &[rigid::TABLE, deformable::TABLE]);
