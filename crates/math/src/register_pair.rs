//! [`RegisterPair`]: two SIMD registers in lockstep.
//!
//! Long chains of dependent operations (the rotations of a Jacobi sweep) leave a processor waiting for one
//! result at a time. On a `RegisterPair` every operation is done on two independent registers, so that each
//! chain fills the other's waiting. It is also what holds eight numbers where a register holds four.

use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

use crate::cotangent::Carrier;
use crate::{Cotangent, Mask, Packing, Real, Select, Vec3};

/// Two registers; every operation acts on both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegisterPair<T>(pub T, pub T);

macro_rules! operators {
    ($($trait:ident $f:ident, $assign:ident $f_assign:ident);*) => {$(
        impl<T: Real> $trait for RegisterPair<T> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: Self) -> Self {
                RegisterPair(self.0.$f(o.0), self.1.$f(o.1))
            }
        }
        impl<T: Real> $assign for RegisterPair<T> {
            #[inline(always)]
            fn $f_assign(&mut self, o: Self) {
                *self = $trait::$f(*self, o);
            }
        }
    )*};
}
operators!(Add add, AddAssign add_assign; Sub sub, SubAssign sub_assign; Mul mul, MulAssign mul_assign; Div div, DivAssign div_assign);

impl<T: Real> Neg for RegisterPair<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        RegisterPair(-self.0, -self.1)
    }
}

impl<T: Real> Cotangent for RegisterPair<T> {
    #[inline(always)]
    fn zero_like(&self) -> Self {
        Self::zero()
    }
    #[inline(always)]
    fn accumulate(&mut self, other: Self) {
        *self += other;
    }
}
impl<T: Real> Carrier for RegisterPair<T> {}

impl<M: Mask> BitAnd for RegisterPair<M> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, o: Self) -> Self {
        RegisterPair(self.0 & o.0, self.1 & o.1)
    }
}
impl<M: Mask> BitOr for RegisterPair<M> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, o: Self) -> Self {
        RegisterPair(self.0 | o.0, self.1 | o.1)
    }
}
impl<M: Mask> Not for RegisterPair<M> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        RegisterPair(!self.0, !self.1)
    }
}
impl<M: Mask> Mask for RegisterPair<M> {
    #[inline(always)]
    fn splat(value: bool) -> Self {
        RegisterPair(M::splat(value), M::splat(value))
    }
    #[inline(always)]
    fn all(self) -> bool {
        self.0.all() && self.1.all()
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.any() || self.1.any()
    }
}

impl<T: Real> Select for RegisterPair<T> {
    type Mask = RegisterPair<T::Mask>;
    #[inline(always)]
    fn select(mask: Self::Mask, if_true: Self, if_false: Self) -> Self {
        RegisterPair(T::select(mask.0, if_true.0, if_false.0), T::select(mask.1, if_true.1, if_false.1))
    }
}

impl<T: Real> Packing for RegisterPair<T> {
    type Pack = Self;
    const WIDTH: usize = 1;
    #[inline(always)]
    fn pack(mut value: impl FnMut(usize) -> Self) -> Self {
        value(0)
    }
    #[inline(always)]
    fn pack_vectors(mut value: impl FnMut(usize) -> Vec3<Self>) -> Vec3<Self> {
        value(0)
    }
    #[inline(always)]
    fn unpack(pack: &Self, _i: usize) -> Self {
        *pack
    }
}

macro_rules! both {
    ($($f:ident),*) => {$(
        #[inline(always)]
        fn $f(self) -> Self {
            RegisterPair(self.0.$f(), self.1.$f())
        }
    )*};
}

macro_rules! compare {
    ($($f:ident),*) => {$(
        #[inline(always)]
        fn $f(self, o: Self) -> Self::Mask {
            RegisterPair(self.0.$f(o.0), self.1.$f(o.1))
        }
    )*};
}

impl<T: Real> Real for RegisterPair<T> {
    const LANES: usize = 2 * T::LANES;
    const EPSILON: f64 = T::EPSILON;
    const MIN_POSITIVE: f64 = T::MIN_POSITIVE;

    type Primal = RegisterPair<T::Primal>;
    const HAS_TANGENT: bool = T::HAS_TANGENT;
    #[inline(always)]
    fn primal(self) -> Self::Primal {
        RegisterPair(self.0.primal(), self.1.primal())
    }
    #[inline(always)]
    fn tangent(self) -> Self::Primal {
        RegisterPair(self.0.tangent(), self.1.tangent())
    }
    #[inline(always)]
    fn from_parts(primal: Self::Primal, tangent: Self::Primal) -> Self {
        RegisterPair(T::from_parts(primal.0, tangent.0), T::from_parts(primal.1, tangent.1))
    }

    #[inline(always)]
    fn lit(x: f64) -> Self {
        RegisterPair(T::lit(x), T::lit(x))
    }
    #[inline(always)]
    fn from_lanes(mut lane: impl FnMut(usize) -> f64) -> Self {
        RegisterPair(T::from_lanes(&mut lane), T::from_lanes(|i| lane(T::LANES + i)))
    }
    #[inline(always)]
    fn lane(self, i: usize) -> f64 {
        if i < T::LANES { self.0.lane(i) } else { self.1.lane(i - T::LANES) }
    }

    compare!(lt, le, gt, ge);
    #[inline(always)]
    fn is_finite(self) -> Self::Mask {
        RegisterPair(self.0.is_finite(), self.1.is_finite())
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        RegisterPair(self.0.mul_add(a.0, b.0), self.1.mul_add(a.1, b.1))
    }
    both!(sqrt, recip, asin, acos, exp, ln, tanh, abs);
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (a, b) = (self.0.sin_cos(), self.1.sin_cos());
        (RegisterPair(a.0, b.0), RegisterPair(a.1, b.1))
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        RegisterPair(self.0.atan2(x.0), self.1.atan2(x.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dual, Mat3, f64x4, svd};

    #[test]
    fn each_half_is_what_it_would_be_alone() {
        type Both = RegisterPair<f64x4>;
        let lane = |i: usize| 0.3 + 0.2 * i as f64;
        let x = Both::from_lanes(lane);
        let y = (x.sin() * x.exp() - x.ln() / x.sqrt()).max(x);
        let alone = |x: f64x4| Real::max(Real::sin(x) * Real::exp(x) - Real::ln(x) / Real::sqrt(x), x);
        let halves = RegisterPair(alone(x.0), alone(x.1));
        for i in 0..8 {
            assert_eq!((x.lane(i), y.lane(i)), (lane(i), halves.lane(i)));
        }
        assert!(x.lt(Both::lit(1.5)).any() && !x.lt(Both::lit(1.5)).all());
    }

    #[test]
    fn tangents_stay_with_their_half() {
        let entry =
            |i: usize| RegisterPair(Dual::new(1.0 + i as f64, 0.5), Dual::new(2.0 - i as f64, i as f64));
        let f = Mat3::from_cols(
            Vec3::new(entry(0), entry(3), entry(1)),
            Vec3::new(entry(5), entry(2), entry(7)),
            Vec3::new(entry(4), entry(8), entry(6)),
        );
        let both = svd(f).sigma.x;
        assert_eq!((both.0, both.1), (svd(f.map(|x| x.0)).sigma.x, svd(f.map(|x| x.1)).sigma.x));
    }
}
