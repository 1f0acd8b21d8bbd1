//! [`Repeated`]: a frame of many equal steps under one control, as one step.
//!
//! A rollout over frames keeps the states of frames; the pullback of a frame recomputes its steps and keeps
//! their states only while it walks back through them. That is the two-level scheme of Rewarped, and its
//! memory is known beforehand: the workspace holds the states of one frame.

use pullback_math::Real;

use crate::Workspace;
use crate::error::{ConfigError, StepError};
use crate::layout::Layout;
use crate::point::{Bars, Point};
use crate::system::{Described, Info, System};

/// `times` steps of a system under the same control.
#[derive(Clone, Debug)]
pub struct Repeated<S> {
    /// What is repeated.
    pub system: S,
    times: usize,
}

impl<S> Repeated<S> {
    /// `times` steps of `system` as one.
    pub fn new(system: S, times: usize) -> Result<Self, ConfigError> {
        if times == 0 {
            return Err(ConfigError::new("a frame needs at least one step"));
        }
        Ok(Repeated { system, times })
    }

    /// Steps per frame.
    pub fn times(&self) -> usize {
        self.times
    }
}

impl<S: Described> Described for Repeated<S> {
    fn layout(&self) -> &Layout {
        self.system.layout()
    }
}

/// Scratch of [`Repeated`]: the states of one frame.
#[derive(Clone, Debug, Workspace)]
pub struct RepeatedWorkspace<T, W> {
    inner: W,
    /// States after each step but the last.
    states: Vec<T>,
    /// Cotangents after and before a step.
    next_bar: Vec<T>,
    state_bar: Vec<T>,
}

impl<T: Real, S: System<T>> System<T> for Repeated<S> {
    type Workspace = RepeatedWorkspace<T, S::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let n = self.layout().state.len();
        RepeatedWorkspace {
            inner: self.system.workspace(),
            states: vec![T::zero(); n * (self.times - 1)],
            next_bar: vec![T::zero(); n],
            state_bar: vec![T::zero(); n],
        }
    }

    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let n = at.state.len();
        let mut info = Info::default();
        // Two states in turn: what is not kept need not leave the cache.
        let first = n.min(ws.states.len());
        let (mut from, mut to) = ws.states.split_at_mut(first);
        for i in 0..self.times {
            std::mem::swap(&mut from, &mut to);
            let state = if i == 0 { at.state } else { &from[..n] };
            let out = if i + 1 == self.times { &mut *next } else { &mut to[..n] };
            info.add(self.system.step(&mut ws.inner, at.with_state(state), out)?);
        }
        Ok(info)
    }

    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        mut bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let n = at.state.len();
        let RepeatedWorkspace { inner, states, next_bar: bar, state_bar: before_bar } = ws;
        for i in 1..self.times {
            let (before, after) = states.split_at_mut((i - 1) * n);
            let from = if i == 1 { at.state } else { &before[(i - 2) * n..] };
            self.system.step(inner, at.with_state(from), &mut after[..n])?;
        }
        bar.copy_from_slice(next_bar);
        for i in (1..self.times).rev() {
            let from = &states[(i - 1) * n..i * n];
            before_bar.fill(T::zero());
            self.system.step_vjp(inner, at.with_state(from), bar, bars.with_state(before_bar))?;
            std::mem::swap(bar, before_bar);
        }
        self.system.step_vjp(inner, at, bar, bars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;
    use crate::doc_example::falling;
    use crate::gradcheck::Options;
    use crate::rollout::{FinalState, Inputs, Rollout};
    use crate::step_check::check_step;

    #[test]
    fn a_frame_is_its_steps_to_the_bit() {
        let (start, loss) = ([10.0, 0.3], FinalState { weights: vec![1.0, -0.5] });
        for times in [1, 2, 3, 7] {
            let frames = Repeated::new(falling(0.01), times).unwrap();
            let frames = Rollout::new(frames, 5, Schedule::StoreAll).unwrap();
            let steps = Rollout::new(falling(0.01), 5 * times, Schedule::StoreAll).unwrap();
            let (mut a, mut b) = (frames.workspace::<f64>(), steps.workspace::<f64>());
            let inputs = Inputs { state: start.to_vec(), controls: vec![], params: vec![9.81] };
            frames.gradient(&mut a, &inputs, &loss).unwrap();
            steps.gradient(&mut b, &inputs, &loss).unwrap();
            assert_eq!(a.gradient, b.gradient);
            assert_eq!(a.heap_bytes(), frames.predict_bytes::<f64>());
        }
        assert!(Repeated::new(falling(0.01), 0).is_err());
    }

    #[test]
    fn a_frame_has_the_right_gradient() {
        let frame = Repeated::new(falling(0.01), 4).unwrap();
        check_step(&frame, Point { params: &[9.81], state: &[2.0, -0.3], control: &[] }, &Options::default())
            .assert_passed();
    }
}
