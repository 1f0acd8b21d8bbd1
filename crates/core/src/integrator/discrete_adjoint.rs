//! Pulling back through the inner steps that were taken, step sizes held constant.

use pullback_math::Real;

use super::adaptive::InnerStep;
use super::controller::PidController;
use super::events::Events;
use super::integrated::{IntegratedWorkspace, Stepper};
use super::rhs::{Bound, InputBars, Rhs};
use crate::checkpoint::{Chain, Plan, Reversal, Schedule};
use crate::error::StepError;
use crate::field::VectorField;
use crate::point::Point;

/// Equal substeps: all inner states are kept.
pub(super) fn fixed<T: Real, F: VectorField<T>>(
    field: &F,
    ws: &mut IntegratedWorkspace<T, F::Workspace>,
    dt: f64,
    substeps: usize,
    at: Point<'_, T>,
    time: T,
    next_bar: &[T],
    state_bar: &mut [T],
    bars: &mut InputBars<'_, T>,
) {
    let mut bound = Bound { field, workspace: &mut ws.field, params: at.params, control: at.control };
    if substeps == 1 {
        ws.stepper.step_vjp(&mut bound, time, dt, at.state, next_bar, state_bar, bars);
        return;
    }
    let n = at.state.len();
    let h = dt / substeps as f64;
    let start = |i: usize| time + T::lit(i as f64 * h);

    // kept[i − 1] is the state before substep i; substep 0 starts from `at.state`.
    for i in 0..substeps - 1 {
        let (done, todo) = ws.kept.split_at_mut(i * n);
        let from = if i == 0 { at.state } else { &done[(i - 1) * n..] };
        ws.stepper.step(&mut bound, start(i), h, from, &mut todo[..n]);
    }
    ws.next_bar.copy_from_slice(next_bar);
    for i in (1..substeps).rev() {
        ws.state_bar.fill(T::zero());
        let from = &ws.kept[(i - 1) * n..i * n];
        ws.stepper.step_vjp(&mut bound, start(i), h, from, &ws.next_bar, &mut ws.state_bar, bars);
        std::mem::swap(&mut ws.next_bar, &mut ws.state_bar);
    }
    ws.stepper.step_vjp(&mut bound, time, h, at.state, &ws.next_bar, state_bar, bars);
}

/// Solves forward again and leaves the accepted steps and the first `limit` states in the workspace; returns
/// the number of steps.
pub(super) fn record<T: Real, F: VectorField<T>>(
    field: &F,
    ws: &mut IntegratedWorkspace<T, F::Workspace>,
    controller: &PidController,
    dt: f64,
    at: Point<'_, T>,
    time: T,
    limit: usize,
) -> Result<usize, StepError> {
    let Stepper::RungeKutta { stages, tableau } = &mut ws.stepper else {
        unreachable!("checked when the integrator was built")
    };
    let mut bound = Bound { field, workspace: &mut ws.field, params: at.params, control: at.control };
    ws.current.copy_from_slice(at.state);
    ws.inner.clear();
    ws.kept.clear();
    ws.sides.clear();
    let (inner, kept, sides) = (&mut ws.inner, &mut ws.kept, &mut ws.sides);
    super::adaptive::solve(
        tableau,
        controller,
        &mut bound,
        stages,
        &mut ws.events,
        time,
        dt,
        &mut ws.current,
        &mut ws.next,
        |state, step, now| {
            inner.push(step);
            sides.extend_from_slice(now);
            if inner.len() <= limit {
                kept.extend_from_slice(state);
            }
        },
    )?;
    ws.sides.extend_from_slice(ws.events.sides());
    Ok(ws.inner.len())
}

/// Adaptive steps: through the accepted ones, with at most `checkpoints` states kept.
pub(super) fn adaptive<T: Real, F: VectorField<T>>(
    field: &F,
    ws: &mut IntegratedWorkspace<T, F::Workspace>,
    controller: &PidController,
    checkpoints: usize,
    dt: f64,
    at: Point<'_, T>,
    time: T,
    next_bar: &[T],
    state_bar: &mut [T],
    bars: &mut InputBars<'_, T>,
) -> Result<(), StepError> {
    let steps = record(field, ws, controller, dt, at, time, checkpoints)?;
    let n = at.state.len();
    ws.next_bar.copy_from_slice(next_bar);
    let IntegratedWorkspace {
        field: workspace,
        stepper,
        inner,
        kept,
        sides,
        events,
        current,
        next_bar,
        state_bar: scratch_bar,
        ..
    } = ws;
    let mut chain = InnerChain {
        bound: Bound { field, workspace, params: at.params, control: at.control },
        stepper,
        start: time,
        steps: inner,
        sides,
        events,
        end: current,
        next_bar,
        state_bar: scratch_bar,
        bars,
    };
    if steps <= checkpoints {
        for i in (0..steps).rev() {
            chain.backward(i, &kept[i * n..(i + 1) * n])?;
        }
    } else {
        // Rare: more inner steps than states may be kept.
        let plan = Plan::new(Schedule::Revolve { slots: checkpoints }, steps)
            .unwrap_or_else(|_| unreachable!("at least one checkpoint"));
        let mut reversal = Reversal::new(plan, n, T::zero());
        reversal.forward(&mut chain, at.state)?;
        reversal.backward(&mut chain)?;
    }
    chain.bound.freeze(None);
    for (bar, x) in state_bar.iter_mut().zip(&ws.next_bar) {
        *bar += *x;
    }
    Ok(())
}

/// The accepted steps of one outer step as a chain.
struct InnerChain<'a, 'b, T: Real, F: VectorField<T>> {
    bound: Bound<'a, T, F>,
    stepper: &'a mut Stepper<T>,
    start: T,
    steps: &'a [InnerStep],
    /// Sides of the guards during each step, and after the last.
    sides: &'a [T],
    events: &'a mut Events<T>,
    /// Scratch: the state at the end of a step, before its correction.
    end: &'a mut Vec<T>,
    next_bar: &'a mut Vec<T>,
    state_bar: &'a mut Vec<T>,
    bars: &'a mut InputBars<'b, T>,
}

impl<'a, T: Real, F: VectorField<T>> InnerChain<'a, '_, T, F> {
    /// Sides of the guards during step i.
    fn sides(&self, i: usize) -> &'a [T] {
        let guards = self.bound.field.guards();
        &self.sides[i * guards..(i + 1) * guards]
    }

    /// Freezes the sides that held during step i; returns when it starts.
    fn enter(&mut self, i: usize) -> T {
        if self.bound.field.guards() > 0 {
            self.bound.freeze(Some(self.sides(i)));
        }
        self.start + T::lit(self.steps[i].start)
    }
}

impl<T: Real, F: VectorField<T>> Chain<T> for InnerChain<'_, '_, T, F> {
    fn forward(&mut self, i: usize, x: &[T], next: &mut [T]) -> Result<(), StepError> {
        let InnerStep { size, event, .. } = self.steps[i];
        let time = self.enter(i);
        self.stepper.step(&mut self.bound, time, size, x, next);
        if event {
            let sides = (self.sides(i), self.sides(i + 1));
            self.events.replay(&mut self.bound, time + T::lit(size), sides, next);
        }
        Ok(())
    }

    fn backward(&mut self, i: usize, x: &[T]) -> Result<(), StepError> {
        let InnerStep { size, event, .. } = self.steps[i];
        let time = self.enter(i);
        if event {
            self.stepper.step(&mut self.bound, time, size, x, self.end);
            let sides = (self.sides(i), self.sides(i + 1));
            let end = time + T::lit(size);
            self.events.cross_vjp(&mut self.bound, end, self.end, sides, self.next_bar, self.bars);
            self.bound.freeze(Some(sides.0));
        }
        self.state_bar.fill(T::zero());
        self.stepper.step_vjp(&mut self.bound, time, size, x, self.next_bar, self.state_bar, self.bars);
        std::mem::swap(self.next_bar, self.state_bar);
        Ok(())
    }
}
