//! `pullback._pullback`: what Python calls. Arrays cross as C-contiguous `float64`, without copies; the files of
//! `python/pullback` give them names and shapes.
//!
//! Every function releases the interpreter while it computes, and answers a panic with `RuntimeError`.

mod arrays;
mod batch;
mod camera;
mod environment;
mod error;
mod identify;
mod layout;
mod losses;
mod model;
mod model_task;
mod objective;
mod pictures;
mod planning;
mod system;
mod training;
mod trajectories;
mod xla;

use pyo3::prelude::*;

/// The compiled part of the package `pullback`.
#[pymodule]
mod _pullback {
    use super::*;

    #[pymodule_export]
    use batch::{Batch, predict_bytes};
    #[pymodule_export]
    use camera::Camera;
    #[pymodule_export]
    use environment::{Environments, Task};
    #[pymodule_export]
    use error::{ConfigError, StepError, panics};
    #[pymodule_export]
    use identify::identify;
    #[pymodule_export]
    use losses::Loss;
    #[pymodule_export]
    use model::model;
    #[pymodule_export]
    use objective::{Objective, catalog};
    #[pymodule_export]
    use pictures::{render, replay};
    #[pymodule_export]
    use planning::mpc;
    #[pymodule_export]
    use system::{System, names};
    #[pymodule_export]
    use training::train;
    #[pymodule_export]
    use xla::{xla_handlers, xla_operator};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("target_features", TARGET_FEATURES)
    }
}

/// Features of processors that this build asks for, by the compiler's names.
const TARGET_FEATURES: &str = env!("PULLBACK_TARGET_FEATURES");
