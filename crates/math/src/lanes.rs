//! [`Real`] for SIMD lanes: one value carries 4 to 16 environments.
//!
//! The types are `wide`'s; its elementary functions are polynomials over the whole register. They differ from
//! the standard library's by a few units in the last place, which is how far a lane may be from the scalar
//! run.

use std::ops::{BitAnd, BitOr, Not};

pub use wide::{f32x4, f32x8, f32x16, f64x4, f64x8};

use crate::{Mask, Real, Select};

/// A lane mask: all bits of a lane are set where it is true.
#[derive(Clone, Copy, Debug)]
pub struct LaneMask<L>(L);

macro_rules! real_lanes {
    ($t:ident, $f:ident, $bits:ident, $n:literal) => {
        impl BitAnd for LaneMask<$t> {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                LaneMask(self.0 & other.0)
            }
        }
        impl BitOr for LaneMask<$t> {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                LaneMask(self.0 | other.0)
            }
        }
        impl Not for LaneMask<$t> {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                LaneMask(!self.0)
            }
        }
        impl Mask for LaneMask<$t> {
            #[inline(always)]
            fn splat(value: bool) -> Self {
                LaneMask($t::splat($f::from_bits(if value { $bits::MAX } else { 0 })))
            }
            #[inline(always)]
            fn all(self) -> bool {
                self.0.all()
            }
            #[inline(always)]
            fn any(self) -> bool {
                self.0.any()
            }
        }

        impl Select for $t {
            type Mask = LaneMask<$t>;
            #[inline(always)]
            fn select(mask: LaneMask<$t>, if_true: $t, if_false: $t) -> $t {
                mask.0.bitselect(if_true, if_false)
            }
        }

        impl Real for $t {
            const LANES: usize = $n;
            const EPSILON: f64 = $f::EPSILON as f64;
            const MIN_POSITIVE: f64 = $f::MIN_POSITIVE as f64;

            type Primal = $t;
            const HAS_TANGENT: bool = false;
            #[inline(always)]
            fn primal(self) -> $t {
                self
            }
            #[inline(always)]
            fn tangent(self) -> $t {
                Self::zero()
            }
            #[inline(always)]
            fn from_parts(primal: $t, _tangent: $t) -> $t {
                primal
            }

            #[inline(always)]
            fn lit(x: f64) -> $t {
                $t::splat(x as $f)
            }
            #[inline(always)]
            fn from_lanes(mut lane: impl FnMut(usize) -> f64) -> $t {
                // A loop: `array::from_fn` would be compiled anew for each of a thousand closures.
                let mut lanes = [0.0; $n];
                for (i, to) in lanes.iter_mut().enumerate() {
                    *to = lane(i) as $f;
                }
                $t::from(lanes)
            }
            #[inline(always)]
            fn lane(self, i: usize) -> f64 {
                f64::from(self.to_array()[i])
            }
            #[inline(always)]
            fn lt(self, other: $t) -> LaneMask<$t> {
                LaneMask(self.simd_lt(other))
            }
            #[inline(always)]
            fn le(self, other: $t) -> LaneMask<$t> {
                LaneMask(self.simd_le(other))
            }
            #[inline(always)]
            fn gt(self, other: $t) -> LaneMask<$t> {
                LaneMask(self.simd_gt(other))
            }
            #[inline(always)]
            fn ge(self, other: $t) -> LaneMask<$t> {
                LaneMask(self.simd_ge(other))
            }
            #[inline(always)]
            fn is_finite(self) -> LaneMask<$t> {
                LaneMask($t::is_finite(self))
            }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                $t::mul_add(self, a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn sin_cos(self) -> ($t, $t) {
                $t::sin_cos(self)
            }
            #[inline(always)]
            fn asin(self) -> $t {
                $t::asin(self)
            }
            #[inline(always)]
            fn acos(self) -> $t {
                $t::acos(self)
            }
            #[inline(always)]
            fn atan2(self, x: $t) -> $t {
                $t::atan2(self, x)
            }
            #[inline(always)]
            fn exp(self) -> $t {
                $t::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> $t {
                $t::ln(self)
            }
            #[inline(always)]
            fn tanh(self) -> $t {
                $t::tanh(self)
            }
            #[inline(always)]
            fn abs(self) -> $t {
                $t::abs(self)
            }
        }
    };
}

real_lanes!(f32x4, f32, u32, 4);
real_lanes!(f64x4, f64, u64, 4);
real_lanes!(f64x8, f64, u64, 8);
real_lanes!(f32x8, f32, u32, 8);
real_lanes!(f32x16, f32, u32, 16);
