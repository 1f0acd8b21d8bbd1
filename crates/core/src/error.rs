//! What can go wrong in a step, and where.

use thiserror::Error;

/// A step that could not be taken. The state it started from is untouched.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StepError {
    /// A vector of the inputs does not fit the system.
    #[error("{name} needs {expected} entries, got {found}")]
    WrongLength {
        /// Which vector.
        name: &'static str,
        /// Entries the system needs.
        expected: usize,
        /// Entries given.
        found: usize,
    },
    /// A quaternion of the inputs is zero.
    #[error("{entry} is zero and points nowhere; as a quaternion, the identity is 1, 0, 0, 0")]
    ZeroDirection {
        /// Name of the slice.
        entry: String,
    },
    /// A state entry left the finite numbers.
    #[error(
        "{entry} became {value} in step {step}: reduce the time step, or check parameters and initial state"
    )]
    NotFinite {
        /// Name of the state entry.
        entry: String,
        /// What it became.
        value: f64,
        /// Index of the step, from 0.
        step: usize,
    },
    /// The loss of a trajectory that is finite is not.
    #[error(
        "the loss became {value}: the states are finite, so its weights or targets are not, or it overflows"
    )]
    LossNotFinite {
        /// What it became.
        value: f64,
    },
    /// A workspace is used by a rollout it was not made for.
    #[error(
        "this workspace was made for another rollout ({found} instead of {expected}): make one by `rollout.workspace()`"
    )]
    OtherWorkspace {
        /// Sizes of the rollout.
        expected: String,
        /// Sizes the workspace was made for.
        found: String,
    },
    /// Simulations of a batch failed; those of the other environments did not.
    #[error("environment {env} of {envs}, one of {failed} that failed: {error}")]
    Environment {
        /// The first environment that failed, from 0.
        env: usize,
        /// Environments of the batch.
        envs: usize,
        /// How many failed.
        failed: usize,
        /// Why the first failed.
        error: Box<StepError>,
    },
    /// A cotangent left the finite numbers on the way back.
    #[error(
        "the gradient with respect to {entry} became {value} at step {step}: the rollout is too stiff or too chaotic to differentiate over this horizon"
    )]
    GradientNotFinite {
        /// Name of the state entry.
        entry: String,
        /// What its cotangent became.
        value: f64,
        /// Index of the step, from 0.
        step: usize,
    },
    /// The adaptive integrator ran out of steps.
    #[error(
        "more than {limit} inner steps in one outer step (stopped {time} s into it with an inner step of {size:e} s): loosen the tolerances or allow more steps"
    )]
    TooManySteps {
        /// The limit that was set.
        limit: usize,
        /// Time since the start of the outer step, s.
        time: f64,
        /// Inner step size, s.
        size: f64,
    },
    /// A linear solve inside the step did not converge.
    #[error(
        "the solve for {what} left {residual:e} of its residual after {iterations} iterations: allow more iterations or loosen its tolerance"
    )]
    NotSolved {
        /// What is solved for.
        what: &'static str,
        /// Residual at the end over that at the start.
        residual: f64,
        /// Iterations taken.
        iterations: usize,
    },
    /// The adaptive integrator cannot resolve the motion.
    #[error(
        "inner step {size:e} s is below round-off {time} s into the outer step: the motion is singular there or the tolerances are too tight"
    )]
    StepTooSmall {
        /// Time since the start of the outer step, s.
        time: f64,
        /// Inner step size, s.
        size: f64,
    },
}

/// A combination of settings or a size that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl ConfigError {
    /// Builds the error from its one-line message.
    pub fn new(message: impl Into<String>) -> Self {
        ConfigError(message.into())
    }
}
