//! Forward mode: a value with its directional derivative.
//!
//! `Dual<f64>` is the reference that every `_vjp` is checked against; `Dual<T>` inside a `_vjp` gives
//! Hessian-vector products. Comparisons look at the value only, so both take the same branches.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::cotangent::Carrier;
use crate::{Cotangent, Real, Select};

/// `value + tangent ε` with ε² = 0.
///
/// ```
/// use pullback_math::{Dual, Real};
/// let x = Dual::new(2.0f64, 1.0); // a variable
/// let y = x * x * x;
/// assert_eq!((y.value, y.tangent), (8.0, 12.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual<T> {
    /// The value.
    pub value: T,
    /// Its derivative along the chosen direction.
    pub tangent: T,
}

impl<T: Real> Dual<T> {
    /// A value that moves with `tangent`.
    #[inline(always)]
    pub fn new(value: T, tangent: T) -> Self {
        Dual { value, tangent }
    }
    /// A value that does not move.
    #[inline(always)]
    pub fn fixed(value: T) -> Self {
        Dual { value, tangent: T::zero() }
    }
}

impl<T: Real> Add for Dual<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Dual::new(self.value + o.value, self.tangent + o.tangent)
    }
}
impl<T: Real> Sub for Dual<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Dual::new(self.value - o.value, self.tangent - o.tangent)
    }
}
impl<T: Real> Mul for Dual<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Dual::new(self.value * o.value, self.tangent * o.value + self.value * o.tangent)
    }
}
impl<T: Real> Div for Dual<T> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let quotient = self.value / o.value;
        Dual::new(quotient, (self.tangent - quotient * o.tangent) / o.value)
    }
}
impl<T: Real> Neg for Dual<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual::new(-self.value, -self.tangent)
    }
}
impl<T: Real> AddAssign for Dual<T> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}
impl<T: Real> SubAssign for Dual<T> {
    #[inline(always)]
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}
impl<T: Real> MulAssign for Dual<T> {
    #[inline(always)]
    fn mul_assign(&mut self, o: Self) {
        *self = *self * o;
    }
}
impl<T: Real> DivAssign for Dual<T> {
    #[inline(always)]
    fn div_assign(&mut self, o: Self) {
        *self = *self / o;
    }
}

impl<T: Real> Cotangent for Dual<T> {
    #[inline(always)]
    fn zero_like(&self) -> Self {
        Self::zero()
    }
    #[inline(always)]
    fn accumulate(&mut self, other: Self) {
        *self += other;
    }
}
impl<T: Real> Carrier for Dual<T> {}

impl<T: Real> Select for Dual<T> {
    type Mask = T::Mask;
    #[inline(always)]
    fn select(mask: T::Mask, if_true: Self, if_false: Self) -> Self {
        Dual::new(
            T::select(mask, if_true.value, if_false.value),
            T::select(mask, if_true.tangent, if_false.tangent),
        )
    }
}

/// A scalar function's tangent is its pullback of the tangent: both multiply by f′(x).
macro_rules! lift {
    ($($f:ident $f_vjp:ident),*) => {$(
        #[inline(always)]
        fn $f(self) -> Self {
            Dual::new(self.value.$f(), self.value.$f_vjp(self.tangent))
        }
    )*};
}

impl<T: Real> Real for Dual<T> {
    const LANES: usize = T::LANES;
    const EPSILON: f64 = T::EPSILON;
    const MIN_POSITIVE: f64 = T::MIN_POSITIVE;

    type Primal = T;
    const HAS_TANGENT: bool = true;
    #[inline(always)]
    fn primal(self) -> T {
        self.value
    }
    #[inline(always)]
    fn tangent(self) -> T {
        self.tangent
    }
    #[inline(always)]
    fn from_parts(primal: T, tangent: T) -> Self {
        Dual::new(primal, tangent)
    }

    #[inline(always)]
    fn lit(x: f64) -> Self {
        Dual::fixed(T::lit(x))
    }
    #[inline(always)]
    fn from_lanes(lane: impl FnMut(usize) -> f64) -> Self {
        Dual::fixed(T::from_lanes(lane))
    }
    #[inline(always)]
    fn lane(self, i: usize) -> f64 {
        self.value.lane(i)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> T::Mask {
        self.value.lt(other.value)
    }
    #[inline(always)]
    fn le(self, other: Self) -> T::Mask {
        self.value.le(other.value)
    }
    #[inline(always)]
    fn is_finite(self) -> T::Mask {
        self.value.is_finite() & self.tangent.is_finite()
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Dual::new(
            self.value.mul_add(a.value, b.value),
            self.tangent * a.value + self.value * a.tangent + b.tangent,
        )
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (Dual::new(sin, self.tangent * cos), Dual::new(cos, -(self.tangent * sin)))
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let (slope_y, slope_x) = self.value.atan2_vjp(x.value, T::one());
        Dual::new(self.value.atan2(x.value), slope_y * self.tangent + slope_x * x.tangent)
    }
    lift!(sqrt sqrt_vjp, asin asin_vjp, acos acos_vjp, exp exp_vjp, ln ln_vjp, tanh tanh_vjp, abs abs_vjp);
}
