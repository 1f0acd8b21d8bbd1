//! Softness of a constraint: impedance, reference acceleration and regularization, by MuJoCo's parameters
//! `solref` and `solimp` ("Computation", "Solver parameters" in its documentation).
//!
//! With r the violation, d(r) ∈ (0, 1) the impedance, and k, b stiffness and damping of the reference,
//! a_ref = −b ṙ − k d(r) r. The regularization R = (1 − d)/d · A, where A approximates the inverse inertia
//! that the constraint sees.

use crate::contact::distance::{DistantSpline, nearness, nearness_vjp, softplus, softplus_vjp};
use pullback_math::{Cotangent, Mask, Real, differentiable, select};

/// Impedances are kept in [`LEAST_IMPEDANCE`, `MOST_IMPEDANCE`].
const LEAST_IMPEDANCE: f64 = 1e-4;
const MOST_IMPEDANCE: f64 = 0.9999;
/// Smallest width, stiffness denominator and regularization.
pub(crate) const LEAST: f64 = 1e-15;
/// The reference that stands in for one with mixed signs.
const DEFAULT_SOLREF: [f64; 2] = [0.02, 1.0];

/// Parameters of a soft constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct SoftnessParams<T> {
    /// Time constant (s) and damping ratio; both negative: −stiffness and −damping.
    pub solref: [T; 2],
    /// Impedance: smallest, largest, width, midpoint, power.
    pub solimp: [T; 5],
}

/// A constraint's response to its violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Response<T> {
    /// Impedance d(r).
    pub impedance: T,
    /// Acceleration k d(r) r.
    pub pull: T,
    /// Damping b, 1/s.
    pub damping: T,
}

#[differentiable]
#[inline(always)]
fn clamped<T: Real>(x: T) -> T {
    x.max(T::lit(LEAST_IMPEDANCE)).min(T::lit(MOST_IMPEDANCE))
}

/// xᵖ; a square, which is usual, without a logarithm.
#[inline(always)]
fn raised<T: Real>(x: T, power: T) -> T {
    let two = T::lit(2.0);
    if !(power.ge(two) & power.le(two)).all() {
        return x.powf(power);
    }
    let square = x * x;
    if T::HAS_TANGENT { T::from_parts(square.primal(), x.powf(power).tangent()) } else { square }
}

/// The pullback of [`raised`].
#[inline(always)]
fn raised_vjp<T: Real>(x: T, power: T, bar: T) -> (T, T) {
    x.powf_vjp(power, bar)
}

/// A spline from (0, 0) to (1, 1): m (x/m)ᵖ below the midpoint m, 1 − (1 − m) ((1 − x)/(1 − m))ᵖ above it.
#[differentiable]
#[inline]
pub(crate) fn rise<T: Real>(x: T, middle: T, power: T) -> T {
    let one = T::one();
    let (middle, power) = (clamped(middle), power.max(one));
    let rising = middle * raised(x / middle, power);
    let leveling = one - (one - middle) * raised((one - x) / (one - middle), power);
    select(x.le(middle), rising, leveling)
}

/// Impedance at a violation r: d = d₀ + y (d_w − d₀), where y rises from 0 to 1 as |r| does from 0 to the width.
#[differentiable]
#[inline]
pub fn impedance<T: Real>(solimp: [T; 5], r: T) -> T {
    let (first, last) = (clamped(solimp[0]), clamped(solimp[1]));
    let thin = solimp[2].le(T::lit(LEAST));
    let x = (r.abs() / select(thin, T::one(), solimp[2])).min(T::one());
    let y = rise(x, solimp[3], solimp[4]);
    select(thin, (first + last) * T::lit(0.5), first + y * (last - first))
}

/// Impedance of a contact that acts from distance: as above at r ≤ 0, a spline of its own beyond.
#[differentiable]
#[inline]
fn distant_impedance<T: Real>(solimp: [T; 5], r: T, #[constant] distant: [T; 5]) -> T {
    let (far, near) = (clamped(distant[0]), clamped(distant[1]));
    let beyond = far + nearness(r, distant) * (near - far);
    select(r.gt(T::zero()), beyond, impedance(solimp, r))
}

/// Stiffness k of the reference, 1/s².
#[differentiable]
#[inline]
fn stiffness<T: Real>(solref: [T; 2], last: T) -> T {
    let period = last * solref[0] * solref[1];
    let standard = (period * period).max(T::lit(LEAST)).recip();
    select(solref[0].gt(T::zero()), standard, -solref[0] / (last * last))
}

/// Damping b of the reference, 1/s.
#[differentiable]
#[inline]
pub fn damping<T: Real>(solref: [T; 2], last: T) -> T {
    let standard = T::lit(2.0) / (last * solref[0]).max(T::lit(LEAST));
    select(solref[1].gt(T::zero()), standard, -solref[1] / last)
}

/// The reference that is used: the default one where signs are mixed, and a time constant of `shortest` or
/// more.
#[differentiable]
#[inline]
pub fn safe_solref<T: Real>(solref: [T; 2], #[constant] shortest: T) -> [T; 2] {
    let zero = T::zero();
    let mixed = (solref[0].gt(zero) & solref[1].le(zero)) | (solref[0].le(zero) & solref[1].gt(zero));
    let constant = select(mixed, T::lit(DEFAULT_SOLREF[0]), solref[0]);
    let ratio = select(mixed, T::lit(DEFAULT_SOLREF[1]), solref[1]);
    [select(constant.gt(zero), constant.max(shortest), constant), ratio]
}

/// The response of a constraint to a violation `r`, whose impedance depends on `size` (|r| of all rows).
#[differentiable]
#[inline]
pub fn response<T: Real>(softness: SoftnessParams<T>, r: T, size: T, #[constant] shortest: T) -> Response<T> {
    let d = impedance(softness.solimp, size);
    let solref = safe_solref(softness.solref, shortest);
    let last = clamped(softness.solimp[1]);
    Response { impedance: d, pull: stiffness(solref, last) * d * r, damping: damping(solref, last) }
}

/// The response of a contact that acts from distance: pull −k d s ln(1 + e^{−r/s}).
#[differentiable]
#[inline]
pub(crate) fn distant_response<T: Real>(
    softness: SoftnessParams<T>,
    r: T,
    #[constant] shortest: T,
    #[constant] distant: DistantSpline<T>,
) -> Response<T> {
    let d = distant_impedance(softness.solimp, r, distant.solimp);
    let solref = safe_solref(softness.solref, shortest);
    let last = clamped(softness.solimp[1]);
    let depth = softplus(-r, distant.softplus);
    Response { impedance: d, pull: -(stiffness(solref, last) * d * depth), damping: damping(solref, last) }
}

/// Damping of friction under an elliptic cone, from `solreffriction`.
#[differentiable]
#[inline]
pub fn friction_damping<T: Real>(solref: [T; 2], solimp: [T; 5], #[constant] shortest: T) -> T {
    damping(safe_solref(solref, shortest), clamped(solimp[1]))
}

/// Weight D = 1/R of a row, with R = (1 − d)/d · A.
#[differentiable]
#[inline]
pub fn weight<T: Real>(impedance: T, inverse_inertia: T) -> T {
    ((T::one() - impedance) * inverse_inertia / impedance).max(T::lit(LEAST)).recip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::check_vjp;
    use pullback_core::gradcheck::Options;

    const SOLIMP: [f64; 5] = [0.8, 0.97, 0.02, 0.3, 3.5];

    #[test]
    fn impedance_rises_from_the_first_to_the_last() {
        assert_eq!(impedance(SOLIMP, 0.0), 0.8);
        assert!((impedance(SOLIMP, 0.02) - 0.97).abs() < 1e-15);
        assert_eq!(impedance(SOLIMP, -1.0), impedance(SOLIMP, 1.0));
        let mut last = 0.0;
        for i in 0..100 {
            let d = impedance(SOLIMP, 0.02 * f64::from(i) / 99.0);
            assert!(d > last);
            last = d;
        }
        // A width of zero and equal ends are constant.
        assert_eq!(impedance([0.5, 0.9, 0.0, 0.5, 2.0], 0.3), 0.7);
        assert_eq!(impedance([0.9, 0.9, 0.1, 0.5, 2.0], 0.05), 0.9);
    }

    #[test]
    fn references_have_both_signs() {
        let soft = SoftnessParams { solref: [0.1, 0.5], solimp: SOLIMP };
        let r = response(soft, -0.03, 0.03, 0.004);
        let k = 1.0 / (0.97f64 * 0.1 * 0.5).powi(2);
        assert!((r.pull - k * 0.97 * -0.03).abs() < 1e-12);
        assert!((r.damping - 2.0 / (0.97 * 0.1)).abs() < 1e-12);
        let r = response(SoftnessParams { solref: [-900.0, -30.0], ..soft }, -0.03, 0.03, 0.004);
        assert!((r.pull - 900.0 / 0.97f64.powi(2) * 0.97 * -0.03).abs() < 1e-12);
        assert!((r.damping - 30.0 / 0.97).abs() < 1e-12);
        // A time constant below two steps is raised; mixed signs are the default.
        let stiff = response(SoftnessParams { solref: [1e-4, 1.0], ..soft }, -0.03, 0.03, 0.004);
        assert!((stiff.damping - 2.0 / (0.97 * 0.004)).abs() < 1e-9);
        let mixed = response(SoftnessParams { solref: [0.3, -1.0], ..soft }, -0.03, 0.03, 0.004);
        assert!((mixed.damping - 2.0 / (0.97 * 0.02)).abs() < 1e-9);
    }

    #[test]
    fn pullbacks_are_exact() {
        for (solref, r) in
            [([0.1, 0.5], -0.003), ([0.1, 0.5], 0.013), ([-900.0, -30.0], -0.004), ([0.05, 1.0], -0.2)]
        {
            let [t, ratio] = solref;
            let [d0, dw, width, middle, power] = SOLIMP;
            check_vjp!(
                |softness: SoftnessParams<T>, r: T| -> Response<T> { response(softness, r, r, T::lit(0.004)) },
                |bar| {
                    let (softness, r, size, ()) = response_vjp(softness, r, r, T::lit(0.004), bar);
                    (softness, r + size)
                },
                at [t, ratio, d0, dw, width, middle, power, r],
                Options::default()
            )
            .assert_passed();
        }
    }
}
