//! Where a guard changes sides: ending the step there, and carrying the gradient across.
//!
//! Inside a step the sides of all guards are frozen, so the solver sees a smooth field. When an accepted step
//! has taken a guard to its other side, the crossing is located on that smooth motion and the step made again
//! to end there. Then the sides flip, and the state is corrected by
//!
//! x⁺ = x + (f⁻ − f⁺) Δt,  Δt = −g(x) / ġ(x),  ġ = ∇g·f⁻.
//!
//! Its value is nothing, since g(x) is zero to round-off. Its derivative is everything: Δt is how much
//! earlier or later the crossing comes, and dx⁺/dx = I + (f⁺ − f⁻) ∇gᵀ / ġ is the saltation matrix of hybrid
//! dynamics. So the gradient of a motion through jumps of f is exact, by dual numbers and by the pullback
//! below alike.
//!
//! A guard that jumps over zero, as where shapes touch at another feature, has no instant that could move: it
//! flips without a correction.
//!
//! Guards that flip in the same instant, as the corners of a box that lands on an edge, flip one after the other,
//! each with its own part of the jump.
//!
//! Limitations: a guard that touches zero without crossing (ġ = 0) has no derivative there, and its
//! correction is left out; a motion that slides along a guard flips forever and ends in
//! [`StepError::TooManySteps`](crate::StepError).

use pullback_math::{Mask, Real};

use super::rhs::{Bound, InputBars, Rhs};
use crate::Workspace;
use crate::field::VectorField;

/// The sides of the guards along one solve, with scratch.
#[derive(Debug, Workspace)]
pub(super) struct Events<T: Real> {
    /// +1 where the guard is not negative, −1 where it is.
    sides: Vec<T>,
    /// Guard values at the state last looked at.
    values: Vec<T>,
    /// How far past its crossing each guard was at the end of the step; zero where it had not crossed.
    past: Vec<T>,
    /// Cotangents of the guard values.
    guard_bars: Vec<T>,
    /// f⁻, the field before the guard at hand flips, and what that changes.
    before: Vec<T>,
    previous: Vec<T>,
    jump: Vec<T>,
    /// Sides while guards flip one after the other.
    current: Vec<T>,
    /// How the cotangent of x⁺ pairs with rates.
    outgoing: Vec<T>,
    /// The zero rate, and a cotangent of rates.
    zero_rate: Vec<T>,
    rate_bar: Vec<T>,
    /// States and cotangents of states.
    state: Vec<T>,
    state_bar: Vec<T>,
    /// Cotangents that nobody asks for.
    unused_control_bar: Vec<T>,
    unused_params_bar: Vec<T>,
    /// Seconds of the solve.
    #[workspace(plain)]
    span: f64,
}

/// Part of the span up to which a crossing counts as located; beyond, the guard has jumped.
const LOCATED: f64 = 1e-9;

impl<T: Real> Events<T> {
    /// For `guards` guards, states of `n` and rates of `m` entries. Without guards nothing is allocated.
    pub fn new(guards: usize, n: usize, m: usize, controls: usize, params: usize) -> Self {
        let zeros = |len: usize| vec![T::zero(); if guards == 0 { 0 } else { len }];
        Events {
            sides: zeros(guards),
            values: zeros(guards),
            past: zeros(guards),
            guard_bars: zeros(guards),
            before: zeros(m),
            previous: zeros(m),
            jump: zeros(m),
            current: zeros(guards),
            outgoing: zeros(m),
            zero_rate: zeros(m),
            rate_bar: zeros(m),
            state: zeros(n),
            state_bar: zeros(n),
            unused_control_bar: zeros(controls),
            unused_params_bar: zeros(params),
            span: 0.0,
        }
    }

    /// The sides of the guards now.
    pub fn sides(&self) -> &[T] {
        &self.sides
    }

    /// Takes the sides from the state that a solve over `span` seconds starts at, and freezes them.
    pub fn start(&mut self, rhs: &mut impl Rhs<T>, time: T, span: f64, state: &[T]) {
        self.span = span;
        if self.sides.is_empty() {
            return;
        }
        rhs.guard(time, state, &mut self.values);
        for (side, g) in self.sides.iter_mut().zip(&self.values) {
            *side = T::select(g.lt(T::zero()), -T::one(), T::one());
        }
        rhs.freeze(Some(&self.sides));
    }

    /// Whether a step that ends at `next` has taken any guard to its other side.
    pub fn crossed(&mut self, rhs: &mut impl Rhs<T>, time: T, next: &[T]) -> bool {
        if self.sides.is_empty() {
            return false;
        }
        rhs.guard(time, next, &mut self.values);
        for ((past, side), g) in self.past.iter_mut().zip(&self.sides).zip(&self.values) {
            *past = (-(*side * *g)).max(T::zero());
        }
        self.past.iter().any(|p| p.gt(T::zero()).any())
    }

    /// The step size in [0, h] at which the first of the guards that crossed is at zero: regula falsi with
    /// the Illinois rule. `trial` makes the step of a given size and writes the guards at its end.
    pub fn locate(&mut self, h: f64, span: f64, mut trial: impl FnMut(f64, &mut [T])) -> f64 {
        // The largest −side·g among the guards that cross; negative before the first crossing, positive
        // after.
        let mut at = |events: &mut Self, size: f64| {
            trial(size, &mut events.values);
            events.furthest()
        };
        let (mut low, mut high) = (0.0, h);
        let mut value_low = at(self, 0.0);
        let mut value_high = at(self, h);
        if value_low >= 0.0 {
            return 0.0;
        }
        let mut kept_side = 0;
        for _ in 0..100 {
            if high - low <= 1e-15 * span {
                break;
            }
            let guess = (high - value_high * (high - low) / (value_high - value_low)).clamp(low, high);
            let value = at(self, guess);
            if value == 0.0 || guess == low || guess == high {
                return guess;
            }
            if value < 0.0 {
                (low, value_low) = (guess, value);
                // The same end kept twice: halve its value, so that it moves.
                value_high *= if kept_side == 1 { 0.5 } else { 1.0 };
                kept_side = 1;
            } else {
                (high, value_high) = (guess, value);
                value_low *= if kept_side == -1 { 0.5 } else { 1.0 };
                kept_side = -1;
            }
        }
        high
    }

    /// Largest −side·g over the guards and lanes that had crossed at the end of the step.
    fn furthest(&self) -> f64 {
        let mut furthest = f64::NEG_INFINITY;
        for ((past, side), g) in self.past.iter().zip(&self.sides).zip(&self.values) {
            let candidate = T::select(past.gt(T::zero()), -(*side * *g), T::lit(f64::NEG_INFINITY));
            furthest = furthest.max(candidate.max_lane());
        }
        furthest
    }

    /// Flips the guards that stand at zero, freezes the new sides, and corrects the state.
    pub fn cross<F: VectorField<T>>(&mut self, bound: &mut Bound<'_, T, F>, time: T, state: &mut [T]) {
        bound.guard(time, state, &mut self.values);
        self.current.copy_from_slice(&self.sides);
        // Flip what crossed and is at zero, up to round-off of how far it went.
        for ((past, side), g) in self.past.iter_mut().zip(&mut self.sides).zip(&self.values) {
            let arrived = past.gt(T::zero()) & (-(*side * *g)).ge(-(*past * T::lit(1e-9)));
            *side = T::select(arrived, -*side, *side);
            *past = T::select(arrived, T::one(), T::zero());
        }
        self.correct(bound, time, state);
    }

    /// Makes the correction again for a crossing known from before; `sides` are those before and after.
    pub fn replay<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        time: T,
        sides: (&[T], &[T]),
        state: &mut [T],
    ) {
        bound.guard(time, state, &mut self.values);
        self.start_crossing(sides);
        self.correct(bound, time, state);
    }

    /// Takes the sides before a crossing, and which guards flip in it.
    fn start_crossing(&mut self, sides: (&[T], &[T])) {
        self.current.copy_from_slice(sides.0);
        for ((past, before), after) in self.past.iter_mut().zip(sides.0).zip(sides.1) {
            *past = T::select((*before * *after).lt(T::zero()), T::one(), T::zero());
        }
    }

    /// Corrects the state for the guards marked in `past`, which flip from `current` on; leaves the new sides
    /// frozen.
    fn correct<F: VectorField<T>>(&mut self, bound: &mut Bound<'_, T, F>, time: T, state: &mut [T]) {
        self.evaluate_before(bound, time, state);
        for j in 0..self.past.len() {
            let flipped = self.past[j].gt(T::zero());
            if flipped.any() {
                self.flip(bound, time, state, j);
                // x⁺ = x ⊕ (f⁻ − f⁺) Δt,  Δt = −g / ġ
                let guard_rate = self.guard_rate(bound, time, state, j);
                let met = flipped & self.is_located(j, guard_rate);
                let delay = -safe_quotient(met, self.values[j], guard_rate);
                bound.field.advance(state, &self.jump, delay, &mut self.state);
                state.copy_from_slice(&self.state);
            }
        }
    }

    /// The pullback of [`Events::cross`] at the state before the correction: `state_bar` comes in as that of
    /// x⁺ and goes out as that of x. `sides` are those before and after.
    pub fn cross_vjp<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        time: T,
        state: &[T],
        sides: (&[T], &[T]),
        state_bar: &mut [T],
        bars: &mut InputBars<'_, T>,
    ) {
        bound.guard(time, state, &mut self.values);
        self.start_crossing(sides);
        self.evaluate_before(bound, time, state);
        self.state_bar.copy_from_slice(state_bar);
        self.pair_with_rates(bound.field, state);
        self.outgoing.copy_from_slice(&self.rate_bar);
        for j in 0..sides.0.len() {
            let flipped = self.past[j].gt(T::zero());
            if flipped.any() {
                self.flip(bound, time, state, j);
                // Δt̄ = (f⁻ − f⁺)·x̄⁺
                let mut delay_bar = T::zero();
                for (jump, bar) in self.jump.iter().zip(&self.outgoing) {
                    delay_bar += *jump * *bar;
                }
                // Δt = −g / ġ with g = 0:  ḡ = −Δt̄ / ġ
                let guard_rate = self.guard_rate(bound, time, state, j);
                let met = flipped & self.is_located(j, guard_rate);
                self.guard_bars.fill(T::zero());
                self.guard_bars[j] = -safe_quotient(met, delay_bar, guard_rate);
                bound.guard_vjp(time, state, &self.guard_bars, state_bar, bars);
            }
        }
    }

    /// f⁻ with the sides of before, frozen.
    fn evaluate_before<F: VectorField<T>>(&mut self, bound: &mut Bound<'_, T, F>, time: T, state: &[T]) {
        bound.freeze(Some(&self.current));
        bound.eval(time, state, &mut self.before);
        self.previous.copy_from_slice(&self.before);
    }

    /// Flips guard j where it is marked, freezes that, and leaves in `jump` what it changes, f before less f after.
    fn flip<F: VectorField<T>>(&mut self, bound: &mut Bound<'_, T, F>, time: T, state: &[T], j: usize) {
        let flipped = self.past[j].gt(T::zero());
        self.current[j] = T::select(flipped, -self.current[j], self.current[j]);
        bound.freeze(Some(&self.current));
        bound.eval(time, state, &mut self.jump);
        for (jump, previous) in self.jump.iter_mut().zip(&mut self.previous) {
            let after = *jump;
            *jump = *previous - after;
            *previous = after;
        }
    }

    /// Whether guard j, with its value at hand, is at zero rather than beyond a jump.
    fn is_located(&self, j: usize, guard_rate: T) -> T::Mask {
        self.values[j].abs().le(guard_rate.abs() * T::lit(LOCATED * self.span))
    }

    /// ġⱼ = ∇gⱼ·f⁻, with f⁻ in `before`.
    fn guard_rate<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        time: T,
        state: &[T],
        j: usize,
    ) -> T {
        self.guard_bars.fill(T::zero());
        self.guard_bars[j] = T::one();
        self.state_bar.fill(T::zero());
        let mut unused = InputBars {
            params: &mut self.unused_params_bar,
            control: &mut self.unused_control_bar,
            time: &mut T::zero(),
        };
        bound.guard_vjp(time, state, &self.guard_bars, &mut self.state_bar, &mut unused);
        self.pair_with_rates(bound.field, state);
        let mut rate = T::zero();
        for (bar, f) in self.rate_bar.iter().zip(&self.before) {
            rate += *bar * *f;
        }
        rate
    }

    /// `rate_bar`: how the cotangent in `state_bar` pairs with rates at `state`.
    fn pair_with_rates<F: VectorField<T>>(&mut self, field: &F, state: &[T]) {
        self.rate_bar.fill(T::zero());
        field.advance_vjp(
            state,
            &self.zero_rate,
            T::one(),
            &self.state_bar,
            &mut self.state,
            &mut self.rate_bar,
        );
    }
}

/// a / b where `mask` holds and b is not zero; 0 elsewhere.
fn safe_quotient<T: Real>(mask: T::Mask, a: T, b: T) -> T {
    let usable = mask & b.abs().gt(T::zero());
    T::select(usable, a / T::select(usable, b, T::one()), T::zero())
}
