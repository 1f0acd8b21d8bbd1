//! [`Real`]: what physics may ask of a scalar, with the pullback of each function.
//!
//! Derivatives are finite everywhere. At a singular point they take the value in this table, chosen so
//! that a chain never multiplies zero by infinity:
//!
//! | function | where | derivative used |
//! |---|---|---|
//! | `sqrt` | x ≤ 0 | 0 |
//! | `asin`, `acos` | \|x\| ≥ 1 | 0 |
//! | `abs` | x = 0 | 0 |
//! | `min`, `max` | a = b | all to the first argument |
//! | `atan2` | y = x = 0 | 0, 0 |
//! | `powf` | x ≤ 0 | 0 |
//! | `ln` | x ≤ 0 | 0 |
//!
//! `recip`, `tan`, `powi` with a negative exponent and division have no finite value at their poles; there,
//! and only there, the derivative is infinite with the value.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

use crate::cotangent::Carrier;
use crate::{AddVjp, Cotangent, DivVjp, Flat, MulVjp, NegVjp, Packing, SubVjp};

/// One truth value per lane.
pub trait Mask: Copy + Debug + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// The same truth value in every lane.
    fn splat(value: bool) -> Self;
    /// Whether every lane is true.
    fn all(self) -> bool;
    /// Whether any lane is true.
    fn any(self) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn splat(value: bool) -> bool {
        value
    }
    #[inline(always)]
    fn all(self) -> bool {
        self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

/// A value that can be chosen lane by lane.
pub trait Select: Copy {
    /// The truth value of each lane.
    type Mask: Mask;
    /// `if_true` where `mask` holds, `if_false` elsewhere.
    fn select(mask: Self::Mask, if_true: Self, if_false: Self) -> Self;
}

/// `if_true` where `mask` holds, `if_false` elsewhere: the branch-free `if` that runs on lanes.
///
/// ```
/// use pullback_math::{Real, select};
/// let x = -2.0f64;
/// assert_eq!(select(x.lt(0.0), -x, x), 2.0); // both sides are computed, on every lane
/// ```
#[inline(always)]
pub fn select<V: Select>(mask: V::Mask, if_true: V, if_false: V) -> V {
    V::select(mask, if_true, if_false)
}

/// Pullback of [`select`]: the cotangent goes to the side that was taken.
#[inline(always)]
pub fn select_vjp<V: Select + Cotangent>(mask: V::Mask, if_true: V, if_false: V, out_bar: V) -> ((), V, V) {
    ((), V::select(mask, out_bar, if_true.zero_like()), V::select(mask, if_false.zero_like(), out_bar))
}

/// A real scalar: `f64`, `f32`, SIMD lanes of either, or [`Dual`](crate::Dual) over any of them.
///
/// ```
/// use pullback_math::{Dual, Real};
/// fn norm<T: Real>(x: T, y: T) -> T {
///     (x * x + y * y).sqrt()
/// }
/// assert_eq!(norm(3.0f64, 4.0), 5.0);
/// assert_eq!(norm(Dual::new(3.0f64, 1.0), Dual::new(4.0, 0.0)).tangent, 0.6);
/// ```
pub trait Real:
    Select
    + Carrier
    + Packing
    + Flat<Self>
    + Debug
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + AddVjp
    + SubVjp
    + MulVjp
    + DivVjp
    + NegVjp
{
    /// How many environments one value carries.
    const LANES: usize;
    /// Unit round-off of the underlying float.
    const EPSILON: f64;
    /// Smallest normal number of the underlying float.
    const MIN_POSITIVE: f64;

    /// The scalar without its tangent: `T` for [`Dual<T>`](crate::Dual), the type itself for a plain number.
    ///
    /// Iterative algorithms run on the primal and attach the tangent of the converged result by its
    /// differential, because a derivative that follows the iterations is wrong where they stop early or
    /// divide by a vanishing gap.
    type Primal: Real;
    /// Whether values carry a tangent; a constant, so plain numbers pay nothing for the question.
    const HAS_TANGENT: bool;
    /// The value without its tangent.
    fn primal(self) -> Self::Primal;
    /// The tangent; zero for a plain number.
    fn tangent(self) -> Self::Primal;
    /// The value with a tangent; a plain number drops it.
    fn from_parts(primal: Self::Primal, tangent: Self::Primal) -> Self;

    /// The literal `x` in every lane.
    fn lit(x: f64) -> Self;
    /// A value whose lane `i` is `lane(i)`.
    fn from_lanes(lane: impl FnMut(usize) -> f64) -> Self;
    /// Lane `i`, without its tangent if there is one.
    fn lane(self, i: usize) -> f64;
    /// Zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::lit(0.0)
    }
    /// One.
    #[inline(always)]
    fn one() -> Self {
        Self::lit(1.0)
    }
    /// The largest lane.
    #[inline(always)]
    fn max_lane(self) -> f64 {
        (0..Self::LANES).map(|i| self.lane(i)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// `self <= other`.
    fn le(self, other: Self) -> Self::Mask;
    /// `self > other`.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// `self >= other`.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }
    /// Whether each lane, and its tangent if there is one, is neither infinite nor NaN.
    fn is_finite(self) -> Self::Mask;

    /// `self * a + b`, fused where the target has the instruction.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// d(x a + b) = a dx + x da + db
    #[inline(always)]
    fn mul_add_vjp(self, a: Self, _b: Self, out_bar: Self) -> (Self, Self, Self) {
        (out_bar * a, out_bar * self, out_bar)
    }

    /// `1 / x`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::one() / self
    }
    /// d(1/x) = −dx / x²
    #[inline(always)]
    fn recip_vjp(self, out_bar: Self) -> Self {
        let y = self.recip();
        -(out_bar * y * y)
    }

    /// Square root.
    fn sqrt(self) -> Self;
    /// d√x = dx / (2 √x), and 0 at x ≤ 0
    #[inline(always)]
    fn sqrt_vjp(self, out_bar: Self) -> Self {
        let positive = self.gt(Self::zero());
        let root = Self::select(positive, self, Self::one()).sqrt();
        Self::select(positive, out_bar * Self::lit(0.5) / root, Self::zero())
    }

    /// Sine and cosine together.
    fn sin_cos(self) -> (Self, Self);
    /// d(sin x, cos x) = (cos x, −sin x) dx
    #[inline(always)]
    fn sin_cos_vjp(self, (sin_bar, cos_bar): (Self, Self)) -> Self {
        let (sin, cos) = self.sin_cos();
        sin_bar * cos - cos_bar * sin
    }
    /// Sine.
    #[inline(always)]
    fn sin(self) -> Self {
        self.sin_cos().0
    }
    /// d sin x = cos x dx
    #[inline(always)]
    fn sin_vjp(self, out_bar: Self) -> Self {
        out_bar * self.cos()
    }
    /// Cosine.
    #[inline(always)]
    fn cos(self) -> Self {
        self.sin_cos().1
    }
    /// d cos x = −sin x dx
    #[inline(always)]
    fn cos_vjp(self, out_bar: Self) -> Self {
        -(out_bar * self.sin())
    }
    /// Tangent.
    #[inline(always)]
    fn tan(self) -> Self {
        let (sin, cos) = self.sin_cos();
        sin / cos
    }
    /// d tan x = dx / cos² x
    #[inline(always)]
    fn tan_vjp(self, out_bar: Self) -> Self {
        let cos = self.cos();
        out_bar / (cos * cos)
    }
    /// Inverse sine.
    fn asin(self) -> Self;
    /// d asin x = dx / √(1 − x²), and 0 at |x| ≥ 1
    #[inline(always)]
    fn asin_vjp(self, out_bar: Self) -> Self {
        let cos_squared = (Self::one() - self) * (Self::one() + self);
        let inside = cos_squared.gt(Self::zero());
        Self::select(inside, out_bar / Self::select(inside, cos_squared, Self::one()).sqrt(), Self::zero())
    }
    /// Inverse cosine.
    fn acos(self) -> Self;
    /// d acos x = −d asin x
    #[inline(always)]
    fn acos_vjp(self, out_bar: Self) -> Self {
        -self.asin_vjp(out_bar)
    }
    /// The angle of the point (x = `x`, y = `self`).
    fn atan2(self, x: Self) -> Self;
    /// d atan2(y, x) = (x dy − y dx) / (x² + y²), and 0 at the origin
    #[inline(always)]
    fn atan2_vjp(self, x: Self, out_bar: Self) -> (Self, Self) {
        // Both divided by the larger one, so that the square of a tiny radius does not vanish.
        let larger = x.abs().max(self.abs());
        let off_origin = larger.ge(Self::lit(Self::MIN_POSITIVE));
        let unit = Self::select(off_origin, larger, Self::one()).recip();
        let (y, x) = (self * unit, x * unit);
        let scale = out_bar * unit / Self::select(off_origin, x * x + y * y, Self::one());
        let scale = Self::select(off_origin, scale, Self::zero());
        (scale * x, -(scale * y))
    }

    /// Exponential.
    fn exp(self) -> Self;
    /// d eˣ = eˣ dx
    #[inline(always)]
    fn exp_vjp(self, out_bar: Self) -> Self {
        out_bar * self.exp()
    }
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// d ln x = dx / x, and 0 at x ≤ 0
    #[inline(always)]
    fn ln_vjp(self, out_bar: Self) -> Self {
        let positive = self.gt(Self::zero());
        Self::select(positive, out_bar / Self::select(positive, self, Self::one()), Self::zero())
    }
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// d tanh x = (1 − tanh² x) dx
    #[inline(always)]
    fn tanh_vjp(self, out_bar: Self) -> Self {
        let y = self.tanh();
        out_bar * (Self::one() - y * y)
    }
    /// `x` to an integer power.
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        let (mut base, mut exponent) = (if n < 0 { self.recip() } else { self }, n.unsigned_abs());
        let mut product = Self::one();
        while exponent > 0 {
            if exponent & 1 == 1 {
                product *= base;
            }
            base *= base;
            exponent >>= 1;
        }
        product
    }
    /// d xⁿ = n xⁿ⁻¹ dx
    #[inline(always)]
    fn powi_vjp(self, n: i32, out_bar: Self) -> (Self, ()) {
        (if n == 0 { Self::zero() } else { out_bar * Self::lit(f64::from(n)) * self.powi(n - 1) }, ())
    }
    /// `x` to a real power, for x > 0; 0 at x ≤ 0.
    #[inline(always)]
    fn powf(self, p: Self) -> Self {
        let positive = self.gt(Self::zero());
        let base = Self::select(positive, self, Self::one());
        Self::select(positive, (p * base.ln()).exp(), Self::zero())
    }
    /// d xᵖ = p xᵖ⁻¹ dx + xᵖ ln x dp, and 0 at x ≤ 0
    #[inline(always)]
    fn powf_vjp(self, p: Self, out_bar: Self) -> (Self, Self) {
        let positive = self.gt(Self::zero());
        let base = Self::select(positive, self, Self::one());
        let scale = Self::select(positive, out_bar * base.powf(p), Self::zero());
        (scale * p / base, scale * base.ln())
    }

    /// Absolute value.
    fn abs(self) -> Self;
    /// d|x| = sign(x) dx, and 0 at x = 0
    #[inline(always)]
    fn abs_vjp(self, out_bar: Self) -> Self {
        let zero = Self::zero();
        Self::select(self.gt(zero), out_bar, Self::select(self.lt(zero), -out_bar, zero))
    }
    /// The smaller value; the first of equals.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.le(other), self, other)
    }
    /// The cotangent goes to the value that was taken.
    #[inline(always)]
    fn min_vjp(self, other: Self, out_bar: Self) -> (Self, Self) {
        let first = self.le(other);
        (Self::select(first, out_bar, Self::zero()), Self::select(first, Self::zero(), out_bar))
    }
    /// The larger value; the first of equals.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.ge(other), self, other)
    }
    /// The cotangent goes to the value that was taken.
    #[inline(always)]
    fn max_vjp(self, other: Self, out_bar: Self) -> (Self, Self) {
        let first = self.ge(other);
        (Self::select(first, out_bar, Self::zero()), Self::select(first, Self::zero(), out_bar))
    }
}
