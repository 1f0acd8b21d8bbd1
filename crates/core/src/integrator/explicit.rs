//! One explicit Runge-Kutta step and its pullback.

use pullback_math::Real;

use super::controller::PidController;
use super::rhs::{Bound, InputBars, Rhs, StepInput};
use super::tableau::Tableau;
use crate::Workspace;
use crate::field::VectorField;

/// Stage storage, `stages × len` each.
#[derive(Debug, Workspace)]
pub(super) struct Stages<T> {
    /// Stage states X₍ᵢ₎.
    states: Vec<T>,
    /// Rates kᵢ, of the coordinates around x.
    pub rates: Vec<T>,
    /// Rates at the stage states, before the inverse of dexp; empty in flat spaces, where both are the same.
    raw_rates: Vec<T>,
    /// Increments Σⱼ aᵢⱼ kⱼ, and one more for the result.
    increments: Vec<T>,
    /// Cotangents of the rates.
    rate_bars: Vec<T>,
    /// Cotangent of one stage state.
    state_bar: Vec<T>,
    /// Cotangent of one increment.
    increment_bar: Vec<T>,
    /// Rate of an evaluation made for its pullback alone; empty where pullbacks do not follow evaluations.
    rate: Vec<T>,
    n: usize,
    m: usize,
}

impl<T: Real> Stages<T> {
    /// For states of `n` and rates of `m` entries; `flat` and `vjp_follows_eval` as the field says.
    pub fn new(tableau: &Tableau, (n, m): (usize, usize), flat: bool, vjp_follows_eval: bool) -> Self {
        let s = tableau.stages();
        let zeros = |len| vec![T::zero(); len];
        Stages {
            states: zeros(s * n),
            rates: zeros(s * m),
            raw_rates: zeros(if flat { 0 } else { s * m }),
            increments: zeros((s + 1) * m),
            rate_bars: zeros(s * m),
            state_bar: zeros(n),
            increment_bar: zeros(m),
            rate: zeros(if vjp_follows_eval { m } else { 0 }),
            n,
            m,
        }
    }
}

/// Evaluates a range of stages of a step.
#[inline(always)]
fn evaluate_stages<T: Real>(
    tableau: &Tableau,
    rhs: &mut impl Rhs<T>,
    stages: &mut Stages<T>,
    StepInput { time, h, state }: StepInput<'_, T>,
    range: std::ops::Range<usize>,
) {
    let (n, m) = (stages.n, stages.m);
    for i in range {
        let stage_time = time + T::lit(tableau.c[i] * h);
        if i == 0 {
            // k₀ = f(t, x)
            rhs.eval(stage_time, state, &mut stages.rates[..m]);
            continue;
        }
        // X₍ᵢ₎ = x ⊕ h Σⱼ aᵢⱼ kⱼ;  kᵢ = f(t + cᵢ h, X₍ᵢ₎)
        let (done, todo) = stages.rates.split_at_mut(i * m);
        let increment = &mut stages.increments[i * m..(i + 1) * m];
        combine(tableau.a[i], done, increment);
        let stage = &mut stages.states[i * n..(i + 1) * n];
        rhs.advance(state, increment, T::lit(h), stage);
        rhs.eval(stage_time, stage, &mut todo[..m]);
        if !rhs.flat() {
            stages.raw_rates[i * m..(i + 1) * m].copy_from_slice(&todo[..m]);
            rhs.dexp_inverse(increment, T::lit(h), &mut todo[..m]);
        }
    }
}

/// out = Σⱼ wⱼ kⱼ, zero weights skipped.
#[inline(always)]
fn combine<T: Real>(weights: &[f64], rates: &[T], out: &mut [T]) {
    let m = out.len();
    let mut first = true;
    for (j, w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
        let (w, rate) = (T::lit(*w), &rates[j * m..(j + 1) * m]);
        if first {
            for (o, k) in out.iter_mut().zip(rate) {
                *o = w * *k;
            }
        } else {
            for (o, k) in out.iter_mut().zip(rate) {
                *o = w.mul_add(*k, *o);
            }
        }
        first = false;
    }
    if first {
        out.fill(T::zero());
    }
}

/// x′ = x ⊕ h Σᵢ bᵢ kᵢ. With `first_ready`, k₀ is already in place.
#[inline]
pub(super) fn step<T: Real>(
    tableau: &Tableau,
    rhs: &mut impl Rhs<T>,
    stages: &mut Stages<T>,
    from: StepInput<'_, T>,
    next: &mut [T],
    first_ready: bool,
) {
    // A first-same-as-last stage is evaluated by the caller who needs it.
    let (s, used) = (tableau.stages(), tableau.stages_of_result());
    evaluate_stages(tableau, rhs, stages, from, usize::from(first_ready)..used);
    let m = stages.m;
    let (_, result) = stages.increments.split_at_mut(s * m);
    combine(&tableau.b[..used], &stages.rates, result);
    rhs.advance(from.state, result, T::lit(from.h), next);
}

/// Evaluates the last stage of a first-same-as-last method at the result.
pub(super) fn last_stage<T: Real>(
    tableau: &Tableau,
    rhs: &mut impl Rhs<T>,
    stages: &mut Stages<T>,
    from: StepInput<'_, T>,
    next: &[T],
) {
    let (last, m) = (tableau.stages() - 1, stages.m);
    let rate = &mut stages.rates[last * m..];
    rhs.eval(from.end(), next, rate);
    if !rhs.flat() {
        stages.raw_rates[last * m..].copy_from_slice(rate);
        rhs.dexp_inverse(&stages.increments[(last + 1) * m..], T::lit(from.h), rate);
    }
}

/// The state a part θ of the way through a step whose last stage is evaluated, by Hermite's cubic in the coordinates
/// around x: x ⊕ h (θ² (3 − 2 θ) Σ bᵢ kᵢ + θ (1 − θ)² k₀ − θ² (1 − θ) kₛ).
pub(super) fn between<T: Real>(
    rhs: &impl Rhs<T>,
    stages: &mut Stages<T>,
    from: StepInput<'_, T>,
    part: f64,
    out: &mut [T],
) {
    let m = stages.m;
    let rest = 1.0 - part;
    let weights = [part * part * (3.0 - 2.0 * part), part * rest * rest, -part * part * rest].map(T::lit);
    let result = &stages.increments[stages.increments.len() - m..];
    let (first, last) = (&stages.rates[..m], &stages.rates[stages.rates.len() - m..]);
    let increment = &mut stages.increment_bar;
    for k in 0..m {
        increment[k] = weights[0] * result[k] + weights[1] * first[k] + weights[2] * last[k];
    }
    rhs.advance(from.state, increment, T::lit(from.h), out);
}

/// Makes the last stage of this step the first of the next, which starts from its own state.
pub(super) fn reuse_last_stage<T: Real>(stages: &mut Stages<T>) {
    let (end, m) = (stages.rates.len(), stages.m);
    if stages.raw_rates.is_empty() {
        stages.rates.copy_within(end - m.., 0);
    } else {
        stages.rates[..m].copy_from_slice(&stages.raw_rates[end - m..]);
    }
}

/// Largest over the lanes of the root mean square over entries of hΣeᵢkᵢ / (s (atol + rtol·max(|x|, |x′|))), with the
/// scales s of the entries, or 1.
pub(super) fn error_norm<T: Real>(
    weights: &[f64],
    stages: &mut Stages<T>,
    StepInput { h, state, .. }: StepInput<'_, T>,
    next: &[T],
    (controller, scales): (&PidController, &[f64]),
) -> f64 {
    let PidController { absolute, relative, .. } = *controller;
    let m = stages.m;
    let error = &mut stages.increment_bar;
    combine(weights, &stages.rates, error);
    let mut sum = T::zero();
    for k in 0..m {
        // On a manifold the rate is shorter than the state; its scale is then the absolute tolerance's
        // business.
        let size = if m == state.len() { state[k].abs().max(next[k].abs()) } else { T::one() };
        let scale = scales.get(k).copied().unwrap_or(1.0);
        let ratio = error[k] * T::lit(h / scale) / (T::lit(absolute) + T::lit(relative) * size);
        sum += ratio * ratio;
    }
    (sum / T::lit(m as f64)).sqrt().max_lane()
}

/// The pullback of [`step`]: *adds* to `state_bar` and `bars`.
#[inline]
pub(super) fn step_vjp<T: Real, F: VectorField<T>>(
    tableau: &Tableau,
    bound: &mut Bound<'_, T, F>,
    stages: &mut Stages<T>,
    from: StepInput<'_, T>,
    next_bar: &[T],
    state_bar: &mut [T],
    bars: &mut InputBars<'_, T>,
) {
    let StepInput { time, h, state } = from;
    let (n, m) = (stages.n, stages.m);
    let (s, used) = (tableau.stages(), tableau.stages_of_result());

    // Stage states again; the last rate only where advance needs the result's increment.
    let last_rate = if bound.field.flat() { used - 1 } else { used };
    evaluate_stages(tableau, bound, stages, from, 0..last_rate);
    if last_rate < used && used > 1 {
        let i = used - 1;
        let increment = &mut stages.increments[i * m..(i + 1) * m];
        combine(tableau.a[i], &stages.rates, increment);
        bound.field.advance(state, increment, T::lit(h), &mut stages.states[i * n..(i + 1) * n]);
    }
    combine(&tableau.b[..last_rate], &stages.rates, &mut stages.increments[s * m..]);

    // x′ = x ⊕ h Δ:  Δ̄, and k̄ᵢ = bᵢ Δ̄
    stages.increment_bar.fill(T::zero());
    let h_lit = T::lit(h);
    bound.field.advance_vjp(
        state,
        &stages.increments[s * m..],
        h_lit,
        next_bar,
        state_bar,
        &mut stages.increment_bar,
    );
    for i in 0..used {
        for (k_bar, d_bar) in stages.rate_bars[i * m..(i + 1) * m].iter_mut().zip(&stages.increment_bar) {
            *k_bar = T::lit(tableau.b[i]) * *d_bar;
        }
    }

    for i in (0..used).rev() {
        // kᵢ = dexp⁻¹ f(t + cᵢ h, X₍ᵢ₎)
        let stage_time = time + T::lit(tableau.c[i] * h);
        stages.increment_bar.fill(T::zero());
        if i > 0 && !bound.field.flat() {
            bound.field.dexp_inverse_vjp(
                &stages.increments[i * m..(i + 1) * m],
                h_lit,
                &stages.raw_rates[i * m..(i + 1) * m],
                &mut stages.rate_bars[i * m..(i + 1) * m],
                &mut stages.increment_bar,
            );
        }
        let rate_bar = &stages.rate_bars[i * m..(i + 1) * m];
        let (stage, stage_bar) = if i == 0 {
            (state, &mut *state_bar)
        } else {
            stages.state_bar.fill(T::zero());
            (&stages.states[i * n..(i + 1) * n], &mut stages.state_bar[..])
        };
        // The last stage was evaluated last, unless its rate was not needed.
        if bound.field.vjp_follows_eval() && (i + 1 < used || last_rate < used) {
            bound.eval(stage_time, stage, &mut stages.rate);
        }
        bound.eval_vjp(stage_time, stage, rate_bar, stage_bar, bars);
        if i == 0 {
            break;
        }
        // X₍ᵢ₎ = x ⊕ h Σⱼ aᵢⱼ kⱼ
        let increment = &stages.increments[i * m..(i + 1) * m];
        bound.field.advance_vjp(
            state,
            increment,
            h_lit,
            &stages.state_bar,
            state_bar,
            &mut stages.increment_bar,
        );
        for (j, a) in tableau.a[i].iter().enumerate().filter(|(_, a)| **a != 0.0) {
            let a = T::lit(*a);
            for (k_bar, d_bar) in stages.rate_bars[j * m..(j + 1) * m].iter_mut().zip(&stages.increment_bar) {
                *k_bar = a.mul_add(*d_bar, *k_bar);
            }
        }
    }
}
