//! Semi-implicit (symplectic) Euler: velocities first, then positions with the new velocities. What follows the
//! velocities in the state takes an explicit step.

use pullback_math::Real;

use super::rhs::{Bound, InputBars, Rhs, StepInput};
use crate::Workspace;
use crate::field::VectorField;

/// Scratch of one step.
#[derive(Debug, Workspace)]
pub(super) struct Scratch<T> {
    rate: Vec<T>,
    rate_bar: Vec<T>,
}

impl<T: Real> Scratch<T> {
    pub fn new(rate_len: usize) -> Self {
        Scratch { rate: vec![T::zero(); rate_len], rate_bar: vec![T::zero(); rate_len] }
    }
}

/// v′ = v + h a(q, v);  q′ = q ⊕ h v′
#[inline]
pub(super) fn step<T: Real, F: VectorField<T>>(
    bound: &mut Bound<'_, T, F>,
    scratch: &mut Scratch<T>,
    velocities: usize,
    StepInput { time, h, state }: StepInput<'_, T>,
    next: &mut [T],
) {
    bound.eval(time, state, &mut scratch.rate);
    use_new_velocity(&mut scratch.rate, velocities, h, state);
    bound.advance(state, &scratch.rate, T::lit(h), next);
}

/// The pullback of [`step`]: *adds* to `state_bar` and `bars`.
#[inline]
pub(super) fn step_vjp<T: Real, F: VectorField<T>>(
    bound: &mut Bound<'_, T, F>,
    scratch: &mut Scratch<T>,
    velocities: usize,
    StepInput { time, h, state }: StepInput<'_, T>,
    next_bar: &[T],
    state_bar: &mut [T],
    bars: &mut InputBars<'_, T>,
) {
    let Scratch { rate, rate_bar } = scratch;
    let (h_lit, first_velocity) = (T::lit(h), first_velocity(state, rate, velocities));
    if !bound.flat() || bound.field.vjp_follows_eval() {
        bound.eval(time, state, rate);
    }
    if bound.flat() {
        // v̄′ += h q̄′;  q̄ += q̄′, v̄ += v̄′, ā = h v̄′
        let (position_next_bar, velocity_next_bar) = next_bar.split_at(velocities);
        let (position_bar, velocity_bar) = state_bar.split_at_mut(velocities);
        let (no_bar, acceleration_bar) = rate_bar.split_at_mut(velocities);
        for i in velocities..acceleration_bar.len() {
            velocity_bar[i] += velocity_next_bar[i];
            acceleration_bar[i] = h_lit * velocity_next_bar[i];
        }
        for i in 0..velocities {
            let v_bar = velocity_next_bar[i] + h_lit * position_next_bar[i];
            position_bar[i] += position_next_bar[i];
            velocity_bar[i] += v_bar;
            no_bar[i] = T::zero();
            acceleration_bar[i] = h_lit * v_bar;
        }
    } else {
        use_new_velocity(rate, velocities, h, state);
        rate_bar.fill(T::zero());
        bound.field.advance_vjp(state, rate, h_lit, next_bar, state_bar, rate_bar);
        // v′ = v + h a:  v̄ += v̄′, ā += h v̄′
        let (velocity_bar, acceleration_bar) = rate_bar.split_at_mut(velocities);
        for i in 0..velocities {
            state_bar[first_velocity + i] += velocity_bar[i];
            acceleration_bar[i] += h_lit * velocity_bar[i];
            velocity_bar[i] = T::zero();
        }
    }
    bound.eval_vjp(time, state, rate_bar, state_bar, bars);
}

/// Replaces q̇ by v′ = v + h a in a rate (q̇, a).
#[inline(always)]
fn use_new_velocity<T: Real>(rate: &mut [T], velocities: usize, h: f64, state: &[T]) {
    let first_velocity = first_velocity(state, rate, velocities);
    let (velocity, acceleration) = rate.split_at_mut(velocities);
    for i in 0..velocities {
        velocity[i] = state[first_velocity + i] + T::lit(h) * acceleration[i];
    }
}

/// Where the velocities begin: the state is (q, v, rest), its rate (q̇, v̇, rate of the rest).
#[inline(always)]
fn first_velocity<T>(state: &[T], rate: &[T], velocities: usize) -> usize {
    state.len() + velocities - rate.len()
}
