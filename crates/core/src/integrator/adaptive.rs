//! Solving over a fixed span with steps as large as the tolerance allows.
//!
//! On SIMD lanes all environments share the step sizes; the worst lane decides.

use pullback_math::Real;

use super::controller::{History, PidController};
use super::explicit::{self, Stages};
use super::rhs::Rhs;
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
}

/// Integrates `state` over `span` seconds in place, `next` being scratch. `accept` sees each accepted step before it is
/// taken.
pub(super) fn solve<T: Real>(
    tableau: &Tableau,
    controller: &PidController,
    rhs: &mut impl Rhs<T>,
    stages: &mut Stages<T>,
    time: T,
    span: f64,
    state: &mut [T],
    next: &mut [T],
    mut accept: impl FnMut(&[T], InnerStep),
) -> Result<Info, StepError> {
    let weights = tableau.error.unwrap_or_else(|| unreachable!("checked when the integrator was built"));
    let tolerances = (controller.absolute, controller.relative);
    let mut history = History::new();
    let mut info = Info::default();
    let mut elapsed = 0.0;
    let mut h = controller.first_step.unwrap_or(span).min(span);
    let mut first_ready = false;
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
        explicit::step(tableau, rhs, stages, now, h, state, next, first_ready);
        explicit::last_stage(tableau, rhs, stages, now, h, next);
        let error = explicit::error_norm(weights, stages, h, state, next, tolerances);
        let (accepted, factor) = history.judge(controller, tableau.error_order, error);
        if accepted {
            accept(state, InnerStep { start: elapsed, size: h });
            state.copy_from_slice(next);
            info.accepted += 1;
            elapsed = if last { span } else { elapsed + h };
            // k₀ of the next step is the last stage of this one.
            let m = stages.rates.len() / tableau.stages();
            let end = stages.rates.len();
            stages.rates.copy_within(end - m.., 0);
        } else {
            info.rejected += 1;
        }
        first_ready = true;
        h *= factor;
        if h < 1e-15 * span && elapsed < span {
            return Err(StepError::StepTooSmall { time: elapsed, size: h });
        }
    }
    Ok(info)
}
