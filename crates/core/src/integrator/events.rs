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
//! A guard that crosses and comes back within a step, as where a corner grazes the floor, is looked for in
//! the step and where it is nearest to zero (`touched_within`); the step is then shortened to end beyond the first
//! crossing.
//!
//! A guard that flips over and over, as where the motion slides along it or a ball comes to rest by ever smaller
//! bounces, is let go for the rest of the solve: its side is zero, and the state decides.
//!
//! Limitations: a guard that touches zero without crossing (ġ = 0) has no derivative there, and its
//! correction is left out; while a guard is let go, gradients are those of the steps.

use pullback_math::{Mask, Real};

use super::rhs::{Bound, InputBars, Rhs};
use crate::Workspace;
use crate::field::VectorField;

/// The sides of the guards along one solve, with scratch.
#[derive(Debug, Workspace)]
pub(super) struct Events<T: Real> {
    /// +1 where the guard is not negative, −1 where it is, 0 where it was let go.
    sides: Vec<T>,
    /// How often each guard has flipped in quick succession, and when it did last, s.
    flips: Vec<usize>,
    flipped_at: Vec<f64>,
    /// Guard values at the state last looked at, where the step starts, and within it.
    values: Vec<T>,
    first: Vec<T>,
    within: Vec<T>,
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
/// Part of how far a guard is past zero at the end of a step up to which it is at zero at the start, and parts of
/// the step at which to look whether it goes away first.
const AT_ZERO: f64 = 1e-9;
const AWAY: [f64; 6] = [1e-6, 1e-4, 1e-2, 0.1, 0.25, 0.5];
/// Part of a guard's values at both ends of a step below which the least within is looked at.
const NEARLY: f64 = 0.1;
/// Part of them up to which a guard beyond zero is round-off.
const SHALLOW: f64 = 1e-6;
/// Part of the span between flips that is quick succession, and how many flips of that kind there may be.
const QUICK: f64 = 1e-3;
const MOST_FLIPS: usize = 12;

impl<T: Real> Events<T> {
    /// For `guards` guards, states of `n` and rates of `m` entries. Without guards nothing is allocated.
    pub fn new(guards: usize, n: usize, m: usize, controls: usize, params: usize) -> Self {
        let zeros = |len: usize| vec![T::zero(); if guards == 0 { 0 } else { len }];
        Events {
            sides: zeros(guards),
            flips: vec![0; guards],
            flipped_at: vec![0.0; guards],
            values: zeros(guards),
            first: zeros(guards),
            within: zeros(guards),
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
        self.first.copy_from_slice(&self.values);
        self.flips.fill(0);
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

    /// The part of a step at which a guard is on its other side although it is not at the end, if one is seen.
    /// `guards_at` writes the state and the guards at a part of the step; [`Events::crossed`] has been asked for its end.
    ///
    /// Each guard is looked at in three places, and where the parabola through its values at the ends and in the middle
    /// is lowest if that is near zero.
    pub fn touched_within(&mut self, mut guards_at: impl FnMut(f64, &mut [T], &mut [T])) -> Option<f64> {
        if self.sides.is_empty() {
            return None;
        }
        // The middle last: the parabola goes through it.
        for part in [0.25, 0.75, 0.5] {
            guards_at(part, &mut self.state, &mut self.within);
            if self.is_beyond() {
                return Some(part);
            }
        }
        let (mut lowest, mut part) = (f64::INFINITY, None);
        for j in 0..self.sides.len() {
            for lane in 0..T::LANES {
                let of = |g: &[T]| self.sides[j].lane(lane) * g[j].lane(lane);
                let (a, m, b) = (of(&self.first), of(&self.within), of(&self.values));
                // a + c₁ θ + c₂ θ²
                let (c1, c2) = (4.0 * m - 3.0 * a - b, 2.0 * (a + b - 2.0 * m));
                let (at, low) = (-0.5 * c1 / c2, a - 0.25 * c1 * c1 / c2);
                let inside = c2 > 0.0 && at > 0.0 && at < 1.0 && b > 0.0;
                if inside && low < NEARLY * a.min(b) && low < lowest {
                    (lowest, part) = (low, Some(at));
                }
            }
        }
        let part = part?;
        guards_at(part, &mut self.state, &mut self.within);
        self.is_beyond().then_some(part)
    }

    /// Whether a guard is on its other side within a step, but not at its end.
    fn is_beyond(&self) -> bool {
        let beyond = |j: usize| {
            (0..T::LANES).any(|lane| {
                let of = |g: &[T]| self.sides[j].lane(lane) * g[j].lane(lane);
                let (a, b) = (of(&self.first), of(&self.values));
                b > 0.0 && of(&self.within) < -SHALLOW * a.max(b)
            })
        };
        (0..self.sides.len()).any(beyond)
    }

    /// The step was taken: the next starts where guards were last looked at.
    pub fn advance(&mut self) {
        self.first.copy_from_slice(&self.values);
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
        if value_low >= -AT_ZERO * value_high {
            // At zero from the crossing before: it crosses again at once, or goes away and comes back.
            let parted = AWAY.into_iter().map(|part| part * h).find_map(|size| {
                let value = at(self, size);
                (value < 0.0).then_some((size, value))
            });
            let Some(parted) = parted else { return 0.0 };
            (low, value_low) = parted;
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
        self.first.copy_from_slice(&self.values);
        self.correct(bound, time, state);
        self.let_go(time);
        bound.freeze(Some(&self.sides));
    }

    /// Lets guards go that flipped too often in quick succession.
    fn let_go(&mut self, time: T) {
        let now = time.max_lane();
        for j in 0..self.sides.len() {
            if self.past[j].gt(T::zero()).any() {
                let soon = now - self.flipped_at[j] < QUICK * self.span;
                self.flips[j] = if soon { self.flips[j] + 1 } else { 0 };
                self.flipped_at[j] = now;
                if self.flips[j] >= MOST_FLIPS {
                    self.sides[j] = T::zero();
                }
            }
        }
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
