//! What can go wrong while planning.

use pullback_core::{ConfigError, StepError};
use pullback_optim::LogError;
use pullback_optim::search::SearchError;
use thiserror::Error;

/// A plan that could not be made or carried out.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The request makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The simulation failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No plan of the planner's can be simulated.
    #[error(
        "no plan from control step {step} on can be simulated; shorten the step or the horizon, or narrow the bounds"
    )]
    NoPlan {
        /// Control steps applied before.
        step: usize,
    },
}

impl From<SearchError> for PlanError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Config(error) => PlanError::Config(error),
            SearchError::Log(error) => PlanError::Log(error),
            SearchError::Interrupted(_) => PlanError::Log(LogError::Interrupted),
        }
    }
}
