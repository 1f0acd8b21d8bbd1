//! Whole trajectories for losses outside of the engine: [`Recorder`] writes them down, [`Cotangents`] pulls them back.
//!
//! Both are losses, so that batches and schedules of the engine serve them: a recorder is read at every sample, and a
//! loss whose cotangents are given needs no value. The way back runs the trajectory again, by any schedule.

use std::sync::{Mutex, PoisonError};

use pullback::core::rollout::{Loss, Sample};
use pullback::math::Real;

/// Environments of a batch and entries of their arrays.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Environments.
    pub envs: usize,
    /// Controls of each.
    pub steps: usize,
    /// Entries of a state.
    pub state: usize,
    /// Entries of a control.
    pub control: usize,
}

impl Shape {
    /// Entries of the states of one environment.
    pub fn row(&self) -> usize {
        (self.steps + 1) * self.state
    }

    /// The environment in a lane of a pack; the last one repeats.
    fn env(&self, first: usize, lane: usize) -> usize {
        (first + lane).min(self.envs - 1)
    }
}

/// States of the environments of a pack, written down.
pub struct Recorder<'a, 'b> {
    /// The shape of the batch.
    pub shape: Shape,
    /// States of the environments of this pack.
    pub rows: &'a Mutex<&'b mut [f64]>,
}

impl<T: Real> Loss<T> for Recorder<'_, '_> {
    fn value(&self, at: Sample<'_, T>) -> T {
        let (row, n) = (self.shape.row(), self.shape.state);
        // One thread runs a pack.
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for (lane, row) in rows.chunks_mut(row.max(1)).enumerate() {
            let to = &mut row[at.step * n..][..n];
            to.iter_mut().zip(at.state).for_each(|(to, x)| *to = x.lane(lane));
        }
        T::zero()
    }
    fn vjp(&self, _at: Sample<'_, T>, _state_bar: &mut [T], _control_bar: &mut [T]) {}
}

/// Cotangents of trajectories, environment after environment.
#[derive(Clone, Copy, Debug)]
pub struct Bars<'a> {
    /// Of the states at which controls change, and the last.
    pub states: &'a [f64],
    /// Of the controls that a loss sees itself; empty for none.
    pub controls: &'a [f64],
}

/// The loss with given cotangents, for the pack that begins with environment `first`. Its value is zero.
pub struct Cotangents<'a> {
    /// The shape of the batch.
    pub shape: Shape,
    /// The first environment of the pack.
    pub first: usize,
    /// The cotangents of all environments.
    pub bars: Bars<'a>,
}

impl<T: Real> Loss<T> for Cotangents<'_> {
    fn value(&self, _at: Sample<'_, T>) -> T {
        T::zero()
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        let Cotangents { shape, first, bars } = *self;
        let row = shape.row();
        for (k, bar) in state_bar.iter_mut().enumerate() {
            let entry = at.step * shape.state + k;
            *bar += T::from_lanes(|lane| bars.states[shape.env(first, lane) * row + entry]);
        }
        if bars.controls.is_empty() {
            return;
        }
        let row = shape.steps * shape.control;
        for (k, bar) in control_bar.iter_mut().enumerate() {
            let entry = at.step * shape.control + k;
            *bar += T::from_lanes(|lane| bars.controls[shape.env(first, lane) * row + entry]);
        }
    }
}
