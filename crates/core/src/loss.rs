//! [`Loss`]: a sum over the samples of a trajectory, with its pullback.

use pullback_math::Real;

use crate::error::StepError;
use crate::inputs::check_len;
use crate::layout::Layout;

/// One sample of a trajectory: the state after `step` steps, and the control about to act.
///
/// ```
/// use pullback_core::rollout::Sample;
/// let at = Sample { step: 2, steps: 2, state: &[0.5], control: &[], params: &[9.81] };
/// assert!(at.last());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a, T> {
    /// Steps taken so far: 0 at the start, `steps` at the end.
    pub step: usize,
    /// Steps of the whole rollout.
    pub steps: usize,
    /// The state.
    pub state: &'a [T],
    /// The control of the step about to be taken; empty at the end.
    pub control: &'a [T],
    /// The parameters.
    pub params: &'a [T],
}

impl<T> Sample<'_, T> {
    /// Whether this is the end of the trajectory.
    pub fn last(&self) -> bool {
        self.step == self.steps
    }
}

/// A loss that sums over the samples of a trajectory, L = Σₜ ℓ(t, xₜ, uₜ, θ), with its pullback.
///
/// ```
/// use pullback_core::rollout::{Loss, Sample};
/// /// How high a body, whose height is its first state, is at the end: L = −z_N.
/// struct Low;
/// impl Loss<f64> for Low {
///     fn value(&self, at: Sample<'_, f64>) -> f64 {
///         if at.last() { -at.state[0] } else { 0.0 }
///     }
///     fn vjp(&self, at: Sample<'_, f64>, state_bar: &mut [f64], _control_bar: &mut [f64]) {
///         if at.last() {
///             state_bar[0] -= 1.0;
///         }
///     }
/// }
/// ```
pub trait Loss<T: Real>: Sync {
    /// ℓ at one sample.
    fn value(&self, at: Sample<'_, T>) -> T;
    /// *Adds* dℓ/dx and dℓ/du at one sample.
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]);
    /// *Adds* dℓ/dθ at one sample, for losses that read parameters.
    fn params_vjp(&self, _at: Sample<'_, T>, _params_bar: &mut [T]) {}
    /// Checks that the loss is one of a system with this layout; asked once before a rollout.
    fn check(&self, _layout: &Layout) -> Result<(), StepError> {
        Ok(())
    }
}

/// L = w·x_N: a weighted sum of the final state.
///
/// ```
/// use pullback_core::rollout::{FinalState, Loss, Sample};
/// let height = FinalState { weights: vec![1.0, 0.0] };
/// assert_eq!(height.value(Sample { step: 5, steps: 5, state: &[2.0, -1.0], control: &[], params: &[] }), 2.0);
/// ```
#[derive(Clone, Debug)]
pub struct FinalState {
    /// One weight per state entry.
    pub weights: Vec<f64>,
}

impl<T: Real> Loss<T> for FinalState {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        if at.last() {
            for (x, w) in at.state.iter().zip(&self.weights) {
                sum += *x * T::lit(*w);
            }
        }
        sum
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            for (bar, w) in state_bar.iter_mut().zip(&self.weights) {
                *bar += T::lit(*w);
            }
        }
    }
    fn check(&self, layout: &Layout) -> Result<(), StepError> {
        check_len("weights of the final state", self.weights.len(), layout.state.len())
    }
}
