//! Observations of robots whose state is seen as it is, but for the way they have run.

use std::ops::Range;

use pullback_math::Real;

/// Copies entries of a state to an observation.
pub fn see<T: Real>(state: &[T], entries: Range<usize>, out: &mut [T]) {
    out.copy_from_slice(&state[entries]);
}

/// The pullback of [`see`]: *adds* to the cotangent of the state.
pub fn see_vjp<T: Real>(entries: Range<usize>, out_bar: &[T], state_bar: &mut [T]) {
    state_bar[entries].iter_mut().zip(out_bar).for_each(|(to, x)| *to += *x);
}

/// Adds the pullback of −cost Σ a².
pub fn effort_vjp<T: Real>(cost: f64, action: &[T], reward_bar: T, action_bar: &mut [T]) {
    for (bar, a) in action_bar.iter_mut().zip(action) {
        *bar -= reward_bar * *a * T::lit(2.0 * cost);
    }
}

/// cost Σ a².
pub fn effort<T: Real>(cost: f64, action: &[T]) -> T {
    action.iter().fold(T::zero(), |sum, a| sum + *a * *a) * T::lit(cost)
}
