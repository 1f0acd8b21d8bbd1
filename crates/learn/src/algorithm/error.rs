//! [`TrainError`]: what ends a run before its time.

use pullback_core::{ConfigError, StepError};
use thiserror::Error;

use crate::run::RunError;

/// What ends a run before its time. The last good checkpoint stays.
#[derive(Debug, Error)]
pub enum TrainError {
    /// Settings make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The run was asked to stop; its folder holds a checkpoint.
    #[error("interrupted after {epoch} of {epochs} epochs; the same command goes on from there")]
    Interrupted {
        /// Epochs done.
        epoch: usize,
        /// Epochs of the run.
        epochs: usize,
    },
    /// The physics cannot go on.
    #[error("epoch {epoch}: {source}")]
    Physics {
        /// Epoch, from 0.
        epoch: usize,
        /// What happened.
        source: StepError,
    },
    /// A number left the finite ones.
    #[error(
        "epoch {epoch}: {what} became {value}{}; lower its rate of learning, or bound gradients per environment (`env_gradient_limit`)",
        env.map_or(String::new(), |env| format!(", first in environment {env}"))
    )]
    Diverged {
        /// Epoch, from 0.
        epoch: usize,
        /// What diverged.
        what: &'static str,
        /// What it became.
        value: f64,
        /// The environment, where one is to blame.
        env: Option<usize>,
    },
    /// A checkpoint does not fit the settings.
    #[error("the checkpoint does not fit: {0}; train in a new folder")]
    Checkpoint(String),
    /// The folder of the run cannot be written.
    #[error(transparent)]
    Run(#[from] RunError),
}
