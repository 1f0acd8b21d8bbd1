//! [`Real`] for plain `f64` and `f32`.

use crate::{Real, Select};

macro_rules! real_float {
    ($t:ident) => {
        impl Select for $t {
            type Mask = bool;
            #[inline(always)]
            fn select(mask: bool, if_true: $t, if_false: $t) -> $t {
                if mask { if_true } else { if_false }
            }
        }

        impl Real for $t {
            const LANES: usize = 1;
            const EPSILON: f64 = $t::EPSILON as f64;
            const MIN_POSITIVE: f64 = $t::MIN_POSITIVE as f64;

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
                x as $t
            }
            #[inline(always)]
            fn from_lanes(mut lane: impl FnMut(usize) -> f64) -> $t {
                lane(0) as $t
            }
            #[inline(always)]
            fn lane(self, _i: usize) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn lt(self, other: $t) -> bool {
                self < other
            }
            #[inline(always)]
            fn le(self, other: $t) -> bool {
                self <= other
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                if cfg!(target_feature = "fma") { $t::mul_add(self, a, b) } else { self * a + b }
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn sin_cos(self) -> ($t, $t) {
                ($t::sin(self), $t::cos(self))
            }
            #[inline(always)]
            fn sin(self) -> $t {
                $t::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> $t {
                $t::cos(self)
            }
            #[inline(always)]
            fn tan(self) -> $t {
                $t::tan(self)
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

real_float!(f64);
real_float!(f32);
