//! [`Activation`]: elementwise functions of hidden layers, with their slopes.
//!
//! The slope is computed with the value, while the exponential is at hand, and kept: the pullback is then one
//! multiplication. Every activation maps zero to zero, which keeps the padding of rows zero.

use pullback_math::{Real, select};
use serde::{Deserialize, Serialize};

use crate::Number;

/// An elementwise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// x for x > 0, else eˣ − 1.
    Elu,
    /// x / (1 + e⁻ˣ).
    Silu,
    /// tanh x.
    Tanh,
    /// x for x > 0, else 0.
    Relu,
}

impl Activation {
    /// x ← f(x) and slope = f′(x).
    #[inline(always)]
    pub fn in_place<F: Number>(self, x: &mut [F::Lanes], slope: &mut [F::Lanes]) {
        match self {
            Activation::Elu => map_in_place::<F>(elu::<F>, x, slope),
            Activation::Silu => map_in_place::<F>(silu::<F>, x, slope),
            Activation::Tanh => map_in_place::<F>(tanh::<F>, x, slope),
            Activation::Relu => map_in_place::<F>(relu::<F>, x, slope),
        }
    }

    /// value = f(x) and slope = f′(x) for x of register j.
    #[inline(always)]
    pub fn map<F: Number>(
        self,
        x: impl Fn(usize) -> F::Lanes,
        value: &mut [F::Lanes],
        slope: &mut [F::Lanes],
    ) {
        match self {
            Activation::Elu => map::<F>(elu::<F>, x, value, slope),
            Activation::Silu => map::<F>(silu::<F>, x, value, slope),
            Activation::Tanh => map::<F>(tanh::<F>, x, value, slope),
            Activation::Relu => map::<F>(relu::<F>, x, value, slope),
        }
    }
}

#[inline(always)]
fn map<F: Number>(
    f: impl Fn(F::Lanes) -> (F::Lanes, F::Lanes),
    x: impl Fn(usize) -> F::Lanes,
    value: &mut [F::Lanes],
    slope: &mut [F::Lanes],
) {
    for (j, (value, slope)) in value.iter_mut().zip(slope).enumerate() {
        (*value, *slope) = f(x(j));
    }
}

#[inline(always)]
fn map_in_place<F: Number>(
    f: impl Fn(F::Lanes) -> (F::Lanes, F::Lanes),
    x: &mut [F::Lanes],
    slope: &mut [F::Lanes],
) {
    for (x, slope) in x.iter_mut().zip(slope) {
        (*x, *slope) = f(*x);
    }
}

/// f = x, f′ = 1 for x > 0; f = eˣ − 1, f′ = eˣ else
#[inline(always)]
fn elu<F: Number>(x: F::Lanes) -> (F::Lanes, F::Lanes) {
    let (zero, one) = (F::Lanes::zero(), F::Lanes::one());
    let positive = x.gt(zero);
    let exp = F::exp_lanes(select(positive, zero, x));
    (select(positive, x, exp - one), select(positive, one, exp))
}

/// f = x s, f′ = s + f (1 − s) with s = 1 / (1 + e⁻ˣ)
#[inline(always)]
fn silu<F: Number>(x: F::Lanes) -> (F::Lanes, F::Lanes) {
    let one = F::Lanes::one();
    let s = one / (one + F::exp_lanes(-x));
    let value = x * s;
    (value, value.mul_add(one - s, s))
}

/// f = tanh x, f′ = 1 − f²
#[inline(always)]
fn tanh<F: Number>(x: F::Lanes) -> (F::Lanes, F::Lanes) {
    let value = x.tanh();
    (value, F::Lanes::one() - value * value)
}

/// f = f′ = 0 for x ≤ 0; f = x, f′ = 1 else
#[inline(always)]
fn relu<F: Number>(x: F::Lanes) -> (F::Lanes, F::Lanes) {
    let (zero, one) = (F::Lanes::zero(), F::Lanes::one());
    let negative = x.le(zero);
    (select(negative, zero, x), select(negative, zero, one))
}
