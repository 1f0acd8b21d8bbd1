//! Quaternions (w, x, y, z), Hamilton's product: rotations without singular orientations.
//!
//! A unit quaternion is a rotation; q and −q are the same one. Cotangents are those of the four components,
//! unconstrained: they are exact for each function as it is written, on and off the unit sphere. [`rotate`]
//! and [`to_mat3`] are the same polynomial, v + 2w u×v + 2u×(u×v) with u the vector part, and equal q v q*
//! for unit q.
//!
//! | function | where | value and derivative used |
//! |---|---|---|
//! | `normalize` | q = 0 | the identity, derivative 0 |
//! | `exp` | r = 0 | exact: a power series in \|r\|² |
//! | `log` | ±identity | exact: a power series in (\|u\|/w)² |
//! | `log` | angle π (w = 0) | π u/\|u\|, jumps to −π u/\|u\| at w < 0; derivative of the side w ≥ 0 |
//! | `log` | q = 0 | 0, derivative 0 |
//! | `from_mat3` | two components equally large | the first in the order w, x, y, z; only the sign of q depends on it |
//!
//! [`rotate`]: Quat::rotate
//! [`to_mat3`]: Quat::to_mat3

use std::ops::Mul;

use crate::linear::linear_space;
use crate::{Linear, Mat3, MulVjp, Real, Select, Vec3, differentiable};

/// A quaternion w + x i + y j + z k.
///
/// ```
/// use pullback_math::{Quat, Vec3};
/// let quarter = Quat::from_axis_angle(Vec3::new(0.0, 0.0, 1.0), std::f64::consts::FRAC_PI_2);
/// let turned = quarter.to_mat3() * Vec3::new(1.0, 0.0, 0.0);
/// assert!((turned - Vec3::new(0.0, 1.0, 0.0)).norm() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quat<T> {
    /// Real part.
    pub w: T,
    /// Coefficient of i.
    pub x: T,
    /// Coefficient of j.
    pub y: T,
    /// Coefficient of k.
    pub z: T,
}

linear_space!(Quat { w: T, x: T, y: T, z: T });

impl<T: Real> Quat<T> {
    /// The quaternion w + x i + y j + z k.
    #[differentiable]
    #[inline(always)]
    pub fn new(w: T, x: T, y: T, z: T) -> Self {
        Quat { w, x, y, z }
    }
    /// The quaternion of a real and a vector part.
    #[differentiable]
    #[inline(always)]
    pub fn from_parts(w: T, u: Vec3<T>) -> Self {
        Quat::new(w, u.x, u.y, u.z)
    }
    /// The vector part (x, y, z).
    #[differentiable]
    #[inline(always)]
    pub fn vector(self) -> Vec3<T> {
        Vec3::new(self.x, self.y, self.z)
    }
    /// No rotation.
    #[inline(always)]
    pub fn identity() -> Self {
        Quat::from_parts(T::one(), Vec3::zero())
    }
    /// The zero quaternion, which is no rotation but a cotangent.
    #[inline(always)]
    pub fn zero() -> Self {
        Quat::from_parts(T::zero(), Vec3::zero())
    }

    /// q* = w − x i − y j − z k: the inverse rotation of a unit quaternion.
    #[differentiable]
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Quat::new(self.w, -self.x, -self.y, -self.z)
    }
    /// |q|²
    #[inline(always)]
    pub fn norm_squared(self) -> T {
        self.inner(self)
    }
    /// d|q|² = 2 q·dq
    #[inline(always)]
    pub fn norm_squared_vjp(self, out_bar: T) -> Self {
        self * (out_bar + out_bar)
    }
    /// q / |q|, and the identity at q = 0.
    #[inline(always)]
    pub fn normalize(self) -> Self {
        let squared = self.norm_squared();
        let nonzero = squared.gt(T::zero());
        let scale = T::select(nonzero, squared, T::one()).sqrt().recip();
        Quat::select(nonzero, self * scale, Quat::identity())
    }
    /// d(q/|q|) = (dq − n (n·dq)) / |q|, and 0 at q = 0
    #[inline(always)]
    pub fn normalize_vjp(self, out_bar: Self) -> Self {
        let squared = self.norm_squared();
        let nonzero = squared.gt(T::zero());
        let scale = T::select(nonzero, T::select(nonzero, squared, T::one()).sqrt().recip(), T::zero());
        let n = self * scale;
        (out_bar - n * n.inner(out_bar)) * scale
    }

    /// The vector `v` turned by q: v + w t + u × t with t = 2 u × v
    #[differentiable]
    #[inline(always)]
    pub fn rotate(self, v: Vec3<T>) -> Vec3<T> {
        let u = self.vector();
        let t = u.cross(v) * T::lit(2.0);
        v + t * self.w + u.cross(t)
    }
    /// The vector `v` turned by q*.
    #[differentiable]
    #[inline(always)]
    pub fn inverse_rotate(self, v: Vec3<T>) -> Vec3<T> {
        self.conjugate().rotate(v)
    }
    /// The matrix of [`Quat::rotate`]: 1 + 2w \[u\] + 2 \[u\]²
    #[inline(always)]
    pub fn to_mat3(self) -> Mat3<T> {
        let Quat { w, x, y, z } = self;
        let (one, two) = (T::one(), T::lit(2.0));
        Mat3::new(
            one - two * (y * y + z * z),
            two * (x * y - w * z),
            two * (x * z + w * y),
            two * (x * y + w * z),
            one - two * (x * x + z * z),
            two * (y * z - w * x),
            two * (x * z - w * y),
            two * (y * z + w * x),
            one - two * (x * x + y * y),
        )
    }
    /// dM = 2 dw \[u\] + 2w \[du\] + 2 (du uᵀ + u duᵀ) − 4 (u·du) 1
    #[inline(always)]
    pub fn to_mat3_vjp(self, out_bar: Mat3<T>) -> Self {
        let (u, two) = (self.vector(), T::lit(2.0));
        let axial = Mat3::skew_vjp(u, out_bar);
        let quadratic = out_bar * u + out_bar.transpose_mul(u) - u * (two * out_bar.trace());
        Quat::from_parts(u.dot(axial) * two, (axial * self.w + quadratic) * two)
    }
    /// The quaternion of a rotation matrix, the largest of its four components positive.
    ///
    /// Each component c has 4c² on one combination of the diagonal; the largest of the four is at least 1 for
    /// any matrix, so the division is safe.
    #[inline(always)]
    pub fn from_mat3(m: Mat3<T>) -> Self {
        let (four_squared, numerator, _) = largest_component(m);
        numerator * (T::lit(0.5) / four_squared.sqrt())
    }
    /// q = n / (2 √d), with n and d linear in M where the choice of the largest component does not change
    #[inline(always)]
    pub fn from_mat3_vjp(m: Mat3<T>, out_bar: Self) -> Mat3<T> {
        let (d, n, [is_x, is_y, is_z]) = largest_component(m);
        let scale = T::lit(0.5) / d.sqrt();
        let n_bar = out_bar * scale;
        let d_bar = -(n.inner(out_bar) * scale * T::lit(0.5) / d);
        // d is 1 ± the diagonal; n holds d itself, one axial difference and two off-diagonal sums.
        let zero = T::zero();
        let Quat { w: a, x: b, y: c, z: e } = n_bar;
        let axial = |x: T, y: T, z: T| Mat3::skew(Vec3::new(x, y, z));
        let sums = |xy: T, xz: T, yz: T| Mat3::new(zero, xy, xz, xy, zero, yz, xz, yz, zero);
        let choice = |signs: [f64; 3], own_bar: T, off_diagonal: Mat3<T>| {
            let signs = Vec3::new(T::lit(signs[0]), T::lit(signs[1]), T::lit(signs[2]));
            Mat3::diagonal(signs * (d_bar + own_bar)) + off_diagonal
        };
        let m_bar = choice([1.0, 1.0, 1.0], a, axial(b, c, e));
        let m_bar =
            Mat3::select(is_x, choice([1.0, -1.0, -1.0], b, axial(a, zero, zero) + sums(c, e, zero)), m_bar);
        let m_bar =
            Mat3::select(is_y, choice([-1.0, 1.0, -1.0], c, axial(zero, a, zero) + sums(b, zero, e)), m_bar);
        Mat3::select(is_z, choice([-1.0, -1.0, 1.0], e, axial(zero, zero, a) + sums(zero, b, c)), m_bar)
    }
    /// The rotation by `angle` (rad) about `axis`, a unit vector.
    #[inline(always)]
    pub fn from_axis_angle(axis: Vec3<T>, angle: T) -> Self {
        let (sin, cos) = (angle * T::lit(0.5)).sin_cos();
        Quat::from_parts(cos, axis * sin)
    }
    /// d(cos a/2, sin(a/2) n) = (−sin(a/2), cos(a/2) n) da/2 + (0, sin(a/2) dn). By hand: sine and cosine are
    /// computed once.
    #[inline(always)]
    pub fn from_axis_angle_vjp(axis: Vec3<T>, angle: T, out_bar: Self) -> (Vec3<T>, T) {
        let half = T::lit(0.5);
        let (sin, cos) = (angle * half).sin_cos();
        let u_bar = out_bar.vector();
        (u_bar * sin, (axis.dot(u_bar) * cos - out_bar.w * sin) * half)
    }
}

/// 4c² of the largest component c of the rotation, 4c·q, and whether c is x, y or z.
#[inline(always)]
fn largest_component<T: Real>(m: Mat3<T>) -> (T, Quat<T>, [T::Mask; 3]) {
    let one = T::one();
    let (xx, yy, zz) = (m.c0.x, m.c1.y, m.c2.z);
    let [w2, x2, y2, z2] = [one + xx + yy + zz, one + xx - yy - zz, one - xx + yy - zz, one - xx - yy + zz];
    let axial = Mat3::skew_vjp(Vec3::zero(), m);
    let [xy, xz, yz] = [m.c0.y + m.c1.x, m.c0.z + m.c2.x, m.c1.z + m.c2.y];

    // A later component wins only if it is strictly larger than all before it.
    let is_z = z2.gt(w2.max(x2).max(y2));
    let is_y = y2.gt(w2.max(x2)) & !is_z;
    let is_x = x2.gt(w2) & !is_y & !is_z;
    let d = w2.max(x2).max(y2).max(z2);
    let n = Quat::from_parts(w2, axial);
    let n = Quat::select(is_x, Quat::new(axial.x, x2, xy, xz), n);
    let n = Quat::select(is_y, Quat::new(axial.y, xy, y2, yz), n);
    let n = Quat::select(is_z, Quat::new(axial.z, xz, yz, z2), n);
    (d, n, [is_x, is_y, is_z])
}

impl<T: Real> Mul for Quat<T> {
    type Output = Self;
    // (w, u)(w', u') = (w w' − u·u', w u' + w' u + u × u')
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Quat {
            w: self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
            x: self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            y: self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            z: self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
        }
    }
}
impl<T: Real> MulVjp for Quat<T> {
    // Multiplying by a quaternion has multiplying by its conjugate for adjoint: c̄·(da b) = (c̄ b*)·da
    #[inline(always)]
    fn mul_vjp(self, other: Self, out_bar: Self) -> (Self, Self) {
        (out_bar * other.conjugate(), self.conjugate() * out_bar)
    }
}
