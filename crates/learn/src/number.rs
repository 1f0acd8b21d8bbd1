//! [`Number`]: what networks compute with, and how many of them a register holds.
//!
//! Kernels of networks are written once, over registers of [`Number::Lanes`]. Training runs them on sixteen
//! `f32` at a time. Gradient checks run the same lines on eight `f64`, and on dual numbers one by one.

use pullback_math::{Dual, Real, f32x8, f32x16, f64x8};

/// `f32` in training; `f64` and dual numbers where gradients are checked.
pub trait Number: Real {
    /// A register of numbers.
    type Lanes: Real;

    /// The number in every lane.
    fn splat(self) -> Self::Lanes;
    /// The sum over lanes.
    fn sum(lanes: Self::Lanes) -> Self;
    /// eˣ of every lane; arguments beyond ±87 count as ±87, so that the result is normal and finite in `f32`.
    fn exp_lanes(x: Self::Lanes) -> Self::Lanes;
    /// The transpose of a square.
    #[inline(always)]
    fn transpose_square(square: [[Self; 8]; 8]) -> [[Self; 8]; 8] {
        std::array::from_fn(|i| std::array::from_fn(|j| square[j][i]))
    }
    /// The numbers of registers, one after another.
    fn numbers(lanes: &[Self::Lanes]) -> &[Self];
    /// The numbers of registers, to be written.
    fn numbers_mut(lanes: &mut [Self::Lanes]) -> &mut [Self];

    /// The number nearest to `x`.
    fn from_f64(x: f64) -> Self;
    /// The value, without a tangent.
    fn to_f64(self) -> f64;
}

/// Largest |x| of [`Number::exp_lanes`]: e⁻⁸⁷ is a normal `f32`.
const EXP_LIMIT: f64 = 87.0;

macro_rules! float_number {
    ($f:ident, $lanes:ident, $square:ident, $exp:expr) => {
        impl Number for $f {
            type Lanes = $lanes;

            #[inline(always)]
            fn splat(self) -> $lanes {
                $lanes::splat(self)
            }
            #[inline(always)]
            fn sum(lanes: $lanes) -> $f {
                lanes.reduce_add()
            }
            #[inline(always)]
            fn exp_lanes(x: $lanes) -> $lanes {
                $exp(x)
            }
            #[inline(always)]
            fn transpose_square(square: [[$f; 8]; 8]) -> [[$f; 8]; 8] {
                $square::transpose(square.map($square::from)).map($square::to_array)
            }
            #[inline(always)]
            fn numbers(lanes: &[$lanes]) -> &[$f] {
                bytemuck::cast_slice(lanes)
            }
            #[inline(always)]
            fn numbers_mut(lanes: &mut [$lanes]) -> &mut [$f] {
                bytemuck::cast_slice_mut(lanes)
            }
            #[inline(always)]
            fn from_f64(x: f64) -> $f {
                x as $f
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
float_number!(f32, f32x16, f32x8, exp_f32);
float_number!(f64, f64x8, f64x8, exp_in_range);

impl Number for Dual<f64> {
    type Lanes = Self;

    fn splat(self) -> Self {
        self
    }
    fn sum(lanes: Self) -> Self {
        lanes
    }
    fn exp_lanes(x: Self) -> Self {
        exp_in_range(x)
    }
    fn numbers(lanes: &[Self]) -> &[Self] {
        lanes
    }
    fn numbers_mut(lanes: &mut [Self]) -> &mut [Self] {
        lanes
    }
    fn from_f64(x: f64) -> Self {
        Self::lit(x)
    }
    fn to_f64(self) -> f64 {
        self.lane(0)
    }
}

/// eˣ by the scalar's own function.
#[inline(always)]
fn exp_in_range<T: Real>(x: T) -> T {
    // In this order a NaN stays one.
    Real::exp(T::lit(-EXP_LIMIT).max(T::lit(EXP_LIMIT).min(x)))
}

/// eˣ = 2ⁿ eʳ with n = round(x / ln 2), |r| ≤ ln 2 / 2, and eʳ by its series to r⁶.
///
/// The range needs no infinities and no subnormals, whose handling is half of a general exponential.
#[inline(always)]
fn exp_f32(x: f32x16) -> f32x16 {
    // In this order a NaN stays one.
    let x = f32x16::splat(-EXP_LIMIT as f32).fast_max(f32x16::splat(EXP_LIMIT as f32).fast_min(x));
    let n = (x * f32x16::splat(std::f32::consts::LOG2_E)).round_ties_even();
    // ln 2 in two parts: n times the first is exact.
    let r = n.mul_neg_add(f32x16::splat(0.693_359_4), x);
    let r = n.mul_neg_add(f32x16::splat(-2.121_944_4e-4), r);
    let series = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let mut sum = f32x16::splat(series[0]);
    for c in &series[1..] {
        sum = sum.mul_add(r, f32x16::splat(*c));
    }
    // 2ⁿ by the exponent's bits: (n + 127) · 2²³ read as an integer.
    let exponent = ((n + f32x16::splat(127.0)) * f32x16::splat(8_388_608.0)).fast_round_int();
    sum * bytemuck::cast::<_, f32x16>(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units in the last place over the range, its ends beyond it, and NaN.
    #[test]
    fn exponentials_of_registers() {
        for step in -2000..2000 {
            let x = step as f32 * 0.0434;
            let y = f32::exp_lanes(f32x16::splat(x)).to_array()[7];
            let exact = f64::from(x).exp();
            assert!((f64::from(y) / exact - 1.0).abs() < 2.4e-7, "e^{x} = {exact}, got {y}");
        }
        let limit = |x: f32| f32::exp_lanes(f32x16::splat(x)).to_array()[0];
        assert_eq!(limit(f32::INFINITY), limit(87.0));
        assert_eq!(limit(-1e30), limit(-87.0));
        assert!(limit(f32::NAN).is_nan());
    }
}
