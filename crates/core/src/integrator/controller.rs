//! Step-size control by a PID law over the error estimates (Söderlind, ACM TOMS 29, 2003).

use serde::Serialize;

use crate::error::ConfigError;

/// Accepts a step when its scaled error is at most 1, and proposes the next size h′ = h · safety · ε₀^(−β₁/k)
/// ε₁^(−β₂/k) ε₂^(−β₃/k), with β = (p+i+d, −p−2d, d) and k the order of the error.
///
/// ```
/// use pullback_core::integrator::PidController;
/// let tight = PidController::new(1e-10).gains(0.2, 0.4, 0.0);
/// assert_eq!((tight.relative, tight.absolute), (1e-10, 1e-10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PidController {
    /// Relative tolerance (1).
    pub relative: f64,
    /// Absolute tolerance, in the units of the state.
    pub absolute: f64,
    /// Proportional gain (0 makes an I controller).
    pub p: f64,
    /// Integral gain.
    pub i: f64,
    /// Derivative gain.
    pub d: f64,
    /// Fraction of the predicted size that is used (0.9).
    pub safety: f64,
    /// Largest shrinking in one go (0.2).
    pub min_factor: f64,
    /// Largest growth in one go (10).
    pub max_factor: f64,
    /// First inner step, s; the whole outer step by default.
    pub first_step: Option<f64>,
    /// Inner steps, accepted or not, before giving up (100,000).
    pub max_steps: usize,
}

impl PidController {
    /// A PI controller with gains 0.3 and 0.4, good for smooth motion with occasional contacts.
    pub fn new(tolerance: f64) -> Self {
        PidController {
            relative: tolerance,
            absolute: tolerance,
            p: 0.3,
            i: 0.4,
            d: 0.0,
            safety: 0.9,
            min_factor: 0.2,
            max_factor: 10.0,
            first_step: None,
            max_steps: 100_000,
        }
    }
    /// Whether the settings make sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        let positive = |x: f64| x.is_finite() && x >= 0.0;
        if !(positive(self.relative) && positive(self.absolute) && self.relative + self.absolute > 0.0) {
            return Err(ConfigError::new(format!(
                "tolerances must be positive, got {} relative and {} absolute",
                self.relative, self.absolute
            )));
        }
        if self.first_step.is_some_and(|h| !(h.is_finite() && h > 0.0)) {
            return Err(ConfigError::new("the first inner step must be positive"));
        }
        Ok(())
    }

    /// Other gains.
    pub fn gains(mut self, p: f64, i: f64, d: f64) -> Self {
        (self.p, self.i, self.d) = (p, i, d);
        self
    }
}

/// The controller's memory over one solve.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    previous: f64,
    before: f64,
}

impl History {
    pub fn new() -> Self {
        History { previous: 1.0, before: 1.0 }
    }

    /// The factor for the next step size after an error of `error`, and whether the step stands.
    pub fn judge(&mut self, controller: &PidController, order: f64, error: f64) -> (bool, f64) {
        if !error.is_finite() {
            return (false, controller.min_factor);
        }
        // An exact step has no size to learn from: grow as far as allowed.
        let floor = 1e-12;
        let error = error.max(floor);
        let PidController { p, i, d, safety, min_factor, max_factor, .. } = *controller;
        let accepted = error <= 1.0;
        let factor = safety
            * error.powf(-(p + i + d) / order)
            * self.previous.powf((p + 2.0 * d) / order)
            * self.before.powf(-d / order);
        let factor = factor.clamp(min_factor, if accepted { max_factor } else { 1.0 });
        if accepted {
            (self.before, self.previous) = (self.previous, error);
        }
        (accepted, factor)
    }
}
