//! Pulling back through the inner steps that were taken, step sizes held constant.

use pullback_math::Real;

use super::adaptive::{self, InnerStep};
use super::controller::PidController;
use super::events::Events;
use super::integrated::{IntegratedWorkspace, OuterStep, Stepper};
use super::rhs::{Bound, InputBars, Rhs, StepInput};
use crate::checkpoint::{Chain, Plan, Reversal, Schedule};
use crate::error::StepError;
use crate::field::VectorField;

/// Solves forward again and leaves the accepted steps and the first `limit` states in the workspace; returns
/// the number of steps.
pub(super) fn record<T: Real, F: VectorField<T>>(
    outer: &OuterStep<'_, T, F>,
    ws: &mut IntegratedWorkspace<T, F::Workspace>,
    controller: &PidController,
    limit: usize,
) -> Result<usize, StepError> {
    ws.inner.clear();
    ws.kept.clear();
    ws.sides.clear();
    let IntegratedWorkspace { field, stepper, current, next, inner, kept, sides, events, .. } = &mut *ws;
    current.copy_from_slice(outer.at.state);
    let solver = stepper.solver((controller, outer.scales), events, next);
    adaptive::solve(solver, &mut outer.bound(field), (outer.time, outer.dt), current, |state, step, now| {
        inner.push(step);
        sides.extend_from_slice(now);
        if inner.len() <= limit {
            kept.extend_from_slice(state);
        }
    })?;
    ws.sides.extend_from_slice(ws.events.sides());
    Ok(ws.inner.len())
}

/// Adaptive steps: through the accepted ones, with at most `checkpoints` states kept.
pub(super) fn solve<T: Real, F: VectorField<T>>(
    outer: &OuterStep<'_, T, F>,
    ws: &mut IntegratedWorkspace<T, F::Workspace>,
    (controller, checkpoints): (&PidController, usize),
    next_bar: &[T],
    state_bar: &mut [T],
    bars: &mut InputBars<'_, T>,
) -> Result<(), StepError> {
    let steps = record(outer, ws, controller, checkpoints)?;
    let n = outer.at.state.len();
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
        bound: outer.bound(workspace),
        stepper,
        start: outer.time,
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
        reversal.forward(&mut chain, outer.at.state)?;
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
        self.stepper.step(&mut self.bound, StepInput { time, h: size, state: x }, next);
        if event {
            let sides = (self.sides(i), self.sides(i + 1));
            self.events.replay(&mut self.bound, time + T::lit(size), sides, next);
        }
        Ok(())
    }

    fn backward(&mut self, i: usize, x: &[T]) -> Result<(), StepError> {
        let InnerStep { size, event, .. } = self.steps[i];
        let from = StepInput { time: self.enter(i), h: size, state: x };
        if event {
            self.stepper.step(&mut self.bound, from, self.end);
            let sides = (self.sides(i), self.sides(i + 1));
            self.events.cross_vjp(&mut self.bound, from.end(), self.end, sides, self.next_bar, self.bars);
            self.bound.freeze(Some(sides.0));
        }
        self.state_bar.fill(T::zero());
        self.stepper.step_vjp(&mut self.bound, from, self.next_bar, self.state_bar, self.bars);
        std::mem::swap(self.next_bar, self.state_bar);
        Ok(())
    }
}
