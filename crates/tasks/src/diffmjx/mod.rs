//! DiffMJX: right gradients through hard contact, useful gradients before contact.
//!
//! | module | figures |
//! |---|---|
//! | [`billiard`] | 8, S3: a white ball is pushed so that a black one reaches a target |
//! | [`toy`] | 4: a point that bounces under six contact models |
//! | [`cube`] | 9: the side of a cube, and more, from recorded tosses |
//! | [`hover`] | 7: a quadruped on contacts from distance |
//! | [`mpc`] | 1, 10: balls swapped in a hand of muscles, and hit and caught, by looking ahead |
//! | [`toss`] | 5, S5: five shapes thrown on a floor; S6: error against run time of integrators |

pub mod billiard;
pub mod cube;
pub mod hover;
pub mod mpc;
#[cfg(test)]
mod tests;
pub mod toss;
pub mod toy;

use pullback_core::integrator::{Adjoint, Integrator, Method, PidController};
use pullback_core::{ConfigError, StepError};
use pullback_optim::LogError;
use pullback_scene::ImportError;

/// Why an experiment stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Bad settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A scene of the experiment did not load.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The log of its parts cannot be written or continued.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A simulation failed.
    #[error(transparent)]
    Step(#[from] StepError),
}

/// Tsit5 with the gains of the paper's step size control, 0.2, 0.4 and 0.
pub fn tsit5(tolerance: f64) -> Integrator {
    Integrator::adaptive(Method::Tsit5, PidController::new(tolerance).gains(0.2, 0.4, 0.0))
}

/// The same, with an adjoint equation solved to a tolerance of its own.
pub fn tsit5_continuous(tolerance: f64, adjoint: f64) -> Integrator {
    let controller = PidController::new(adjoint).gains(0.2, 0.4, 0.0);
    Integrator { adjoint: Adjoint::Continuous(controller), ..tsit5(tolerance) }
}
