//! Solving over a fixed span with steps as large as the tolerance allows.
//!
//! On SIMD lanes all environments share the step sizes; the worst lane decides.

use pullback_math::Real;

use super::controller::{History, PidController};
use super::events::Events;
use super::explicit::{self, Stages};
use super::rhs::{Rhs, StepInput};
use super::tableau::Tableau;
use crate::error::StepError;
use crate::system::Info;

/// An accepted inner step.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerStep {
    /// Seconds since the start of the span.
    pub start: f64,
    /// Seconds.
    pub size: f64,
    /// Whether it ends where a guard changes sides.
    pub event: bool,
}

/// Part of the span below which steps are not shortened to see on which side of zero a guard goes.
const SHORTEST: f64 = 1e-9;

/// A method with an error estimate, its step size control, and their memory.
pub(super) struct Solver<'a, T: Real> {
    pub tableau: &'static Tableau,
    pub controller: &'a PidController,
    /// What the tolerances are multiplied by, per entry of the rate; empty for 1.
    pub scales: &'a [f64],
    pub stages: &'a mut Stages<T>,
    pub events: &'a mut Events<T>,
    /// Scratch: the state after a step.
    pub next: &'a mut [T],
}

/// Integrates `state` from `time` over `span` seconds in place. `accept` sees each accepted step before it is
/// taken: its state, itself, and the sides of the guards during it.
pub(super) fn solve<T: Real>(
    solver: Solver<'_, T>,
    rhs: &mut impl Rhs<T>,
    (time, span): (T, f64),
    state: &mut [T],
    mut accept: impl FnMut(&[T], InnerStep, &[T]),
) -> Result<Info, StepError> {
    let Solver { tableau, controller, scales, stages, events, next } = solver;
    let weights = tableau.error.unwrap_or_else(|| unreachable!("checked when the integrator was built"));
    let mut history = History::new();
    let mut info = Info::default();
    let mut elapsed = 0.0;
    let mut h = controller.first_step.unwrap_or(span).min(span);
    let mut first_ready = false;
    // Whether guards have flipped since the last move.
    let mut flipped = false;
    events.start(rhs, time, span, state);
    while elapsed < span {
        if info.accepted + info.rejected >= controller.max_steps {
            return Err(StepError::TooManySteps { limit: controller.max_steps, time: elapsed, size: h });
        }
        // The last step ends exactly at the span's end.
        let remaining = span - elapsed;
        let last = h >= remaining * (1.0 - 1e-9);
        if last {
            h = remaining;
        }
        let now = time + T::lit(elapsed);
        let from = StepInput { time: now, h, state };
        explicit::step(tableau, rhs, stages, from, next, first_ready);
        explicit::last_stage(tableau, rhs, stages, from, next);
        let error = explicit::error_norm(weights, stages, from, next, (controller, scales));
        let (accepted, factor) = history.judge(controller, tableau.error_order, error);
        first_ready = true;
        if !accepted {
            info.rejected += 1;
            h *= factor;
            if h < 1e-15 * span {
                return Err(StepError::StepTooSmall { time: elapsed, size: h });
            }
            continue;
        }
        let crossed = events.crossed(rhs, from.end(), next);
        let touched = events.touched_within(|part, between, guards| {
            explicit::between(rhs, stages, from, part, between);
            rhs.guard(now + T::lit(part * h), between, guards);
        });
        if let Some(part) = touched.filter(|_| h > SHORTEST * span) {
            // A guard crosses and comes back: a shorter step ends in between.
            info.rejected += 1;
            h *= part;
            continue;
        }
        if crossed {
            // End the step where the first guard changes sides, and go on from there with the same step size.
            let size = events.locate(h, span, |trial, guards| {
                explicit::step(tableau, rhs, stages, StepInput { h: trial, ..from }, next, true);
                rhs.guard(now + T::lit(trial), next, guards);
            });
            if size == 0.0 && flipped && h > SHORTEST * span {
                // A guard at zero came back within the tolerance: a shorter step tells where it goes.
                info.rejected += 1;
                h *= controller.min_factor;
                continue;
            }
            info.accepted += 1;
            flipped = size == 0.0;
            explicit::step(tableau, rhs, stages, StepInput { h: size, ..from }, next, true);
            accept(state, InnerStep { start: elapsed, size, event: true }, events.sides());
            state.copy_from_slice(next);
            elapsed += size;
            rhs.cross(events, now + T::lit(size), state);
            first_ready = false;
        } else {
            info.accepted += 1;
            flipped = false;
            events.advance();
            accept(state, InnerStep { start: elapsed, size: h, event: false }, events.sides());
            state.copy_from_slice(next);
            elapsed = if last { span } else { elapsed + h };
            explicit::reuse_last_stage(stages);
            h *= factor;
        }
    }
    rhs.freeze(None);
    Ok(info)
}
