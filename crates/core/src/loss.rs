//! [`Loss`]: a sum over the samples of a trajectory, with its pullback.

use pullback_math::Real;

use crate::error::ConfigError;

/// One sample of a trajectory: the state after `step` steps, and the control about to act.
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
}

impl<T> Sample<'_, T> {
    /// Whether this is the end of the trajectory.
    pub fn last(&self) -> bool {
        self.step == self.steps
    }
}

/// A loss that sums over the samples of a trajectory, L = Σₜ ℓ(t, xₜ, uₜ), with its pullback.
pub trait Loss<T: Real>: Sync {
    /// ℓ at one sample.
    fn value(&self, at: Sample<'_, T>) -> T;
    /// *Adds* dℓ/dx and dℓ/du at one sample.
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]);
}

/// L = w·x_N: a weighted sum of the final state.
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
}

/// A loss over frames of `times` steps each, read along a rollout of single steps: it sees the starts of
/// frames and the end.
///
/// With [`Repeated`](crate::Repeated) a rollout keeps the states of frames; without it, and with this, its
/// schedule decides what is kept.
#[derive(Clone, Debug)]
pub struct Framed<L> {
    /// The loss over frames.
    pub loss: L,
    times: usize,
}

impl<L> Framed<L> {
    /// `loss` over frames of `times` steps.
    pub fn new(loss: L, times: usize) -> Result<Self, ConfigError> {
        if times == 0 {
            return Err(ConfigError::new("a frame needs at least one step"));
        }
        Ok(Framed { loss, times })
    }

    /// A sample between two frames, as the loss over frames sees it.
    fn between<'a, T>(&self, at: Sample<'a, T>) -> Option<Sample<'a, T>> {
        let starts = at.step.is_multiple_of(self.times);
        starts.then(|| Sample { step: at.step / self.times, steps: at.steps / self.times, ..at })
    }
}

impl<T: Real, L: Loss<T>> Loss<T> for Framed<L> {
    fn value(&self, at: Sample<'_, T>) -> T {
        self.between(at).map_or(T::zero(), |at| self.loss.value(at))
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        if let Some(at) = self.between(at) {
            self.loss.vjp(at, state_bar, control_bar);
        }
    }
}
