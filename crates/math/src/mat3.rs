//! 3×3 matrices, stored by columns.
//!
//! Columns, because M v = v.x c₀ + v.y c₁ + v.z c₂ needs no shuffles and because the columns of a rotation
//! are the axes of the child frame seen from the parent. The flat order is column-major.
//!
//! Singular point: a matrix whose determinant is below the smallest normal number has the zero matrix for its
//! [`inverse`](Mat3::inverse), with zero pullback, so that nothing infinite leaves. Close to singular the
//! inverse is as large as 1/det says; scale tiny matrices first (entries of 10⁻¹³ already make a vanishing
//! determinant in `f32`).

use std::ops::{Index, IndexMut, Mul};

use crate::linear::linear_space;
use crate::{MulVjp, Real, Vec3, differentiable};

/// A 3×3 matrix.
///
/// ```
/// use pullback_math::{Mat3, Vec3};
/// let stretch = Mat3::diagonal(Vec3::new(2.0, 1.0, 1.0));
/// assert_eq!((stretch * Vec3::new(1.0, 1.0, 0.0)).x, 2.0);
/// assert_eq!(stretch.determinant(), 2.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mat3<T> {
    /// First column.
    pub c0: Vec3<T>,
    /// Second column.
    pub c1: Vec3<T>,
    /// Third column.
    pub c2: Vec3<T>,
}

linear_space!(Mat3 { c0: Vec3<T>, c1: Vec3<T>, c2: Vec3<T> });

impl<T: Real> Mat3<T> {
    /// The matrix with these entries, written as on paper: row by row.
    #[differentiable]
    #[inline(always)]
    pub fn new(m00: T, m01: T, m02: T, m10: T, m11: T, m12: T, m20: T, m21: T, m22: T) -> Self {
        Mat3 { c0: Vec3::new(m00, m10, m20), c1: Vec3::new(m01, m11, m21), c2: Vec3::new(m02, m12, m22) }
    }
    /// The matrix with these columns.
    #[differentiable]
    #[inline(always)]
    pub fn from_cols(c0: Vec3<T>, c1: Vec3<T>, c2: Vec3<T>) -> Self {
        Mat3 { c0, c1, c2 }
    }
    /// The matrix with these rows.
    #[differentiable]
    #[inline(always)]
    pub fn from_rows(r0: Vec3<T>, r1: Vec3<T>, r2: Vec3<T>) -> Self {
        Mat3::from_cols(r0, r1, r2).transpose()
    }
    /// The zero matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        Mat3::from_cols(Vec3::zero(), Vec3::zero(), Vec3::zero())
    }
    /// The identity.
    #[inline(always)]
    pub fn identity() -> Self {
        Mat3::diagonal(Vec3::new(T::one(), T::one(), T::one()))
    }
    /// diag(d)
    #[differentiable]
    #[inline(always)]
    pub fn diagonal(d: Vec3<T>) -> Self {
        let o = T::zero();
        Mat3::from_cols(Vec3::new(d.x, o, o), Vec3::new(o, d.y, o), Vec3::new(o, o, d.z))
    }
    /// The diagonal (m₀₀, m₁₁, m₂₂).
    #[differentiable]
    #[inline(always)]
    pub fn diagonal_part(self) -> Vec3<T> {
        Vec3::new(self.c0.x, self.c1.y, self.c2.z)
    }
    /// a bᵀ
    #[differentiable]
    #[inline(always)]
    pub fn outer(a: Vec3<T>, b: Vec3<T>) -> Self {
        Mat3::from_cols(a * b.x, a * b.y, a * b.z)
    }
    /// The matrix of the cross product: skew(v) a = v × a
    #[differentiable]
    #[inline(always)]
    pub fn skew(v: Vec3<T>) -> Self {
        let o = T::zero();
        Mat3::new(o, -v.z, v.y, v.z, o, -v.x, -v.y, v.x, o)
    }
    /// The vector of the antisymmetric part: skew(vee(M)) = (M − Mᵀ)/2
    #[differentiable]
    #[inline(always)]
    pub fn vee(self) -> Vec3<T> {
        let Mat3 { c0, c1, c2 } = self;
        Vec3::new(c1.z - c2.y, c2.x - c0.z, c0.y - c1.x) * T::lit(0.5)
    }
    /// (M + Mᵀ)/2
    #[differentiable]
    #[inline(always)]
    pub fn symmetric_part(self) -> Self {
        (self + self.transpose()) * T::lit(0.5)
    }

    /// Column `i`.
    #[inline(always)]
    pub fn col(self, i: usize) -> Vec3<T> {
        [self.c0, self.c1, self.c2][i]
    }
    /// Pullback of [`Mat3::col`].
    #[inline(always)]
    pub fn col_vjp(self, i: usize, out_bar: Vec3<T>) -> (Self, ()) {
        let mut columns = [Vec3::zero(); 3];
        columns[i] = out_bar;
        (Mat3::from_cols(columns[0], columns[1], columns[2]), ())
    }
    /// Row `i`.
    #[inline(always)]
    pub fn row(self, i: usize) -> Vec3<T> {
        Vec3::new(self.c0[i], self.c1[i], self.c2[i])
    }
    /// Pullback of [`Mat3::row`].
    #[inline(always)]
    pub fn row_vjp(self, i: usize, out_bar: Vec3<T>) -> (Self, ()) {
        (self.col_vjp(i, out_bar).0.transpose(), ())
    }
    /// Every entry through `f`, for example from one scalar type to another.
    #[inline(always)]
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Mat3<U> {
        Mat3 { c0: self.c0.map(&f), c1: self.c1.map(&f), c2: self.c2.map(&f) }
    }
    /// `f` of the entries of both at each place.
    #[inline(always)]
    pub fn zip<U: Real, V>(self, other: Mat3<U>, f: impl Fn(T, U) -> V) -> Mat3<V> {
        Mat3 { c0: self.c0.zip(other.c0, &f), c1: self.c1.zip(other.c1, &f), c2: self.c2.zip(other.c2, &f) }
    }

    /// Mᵀ
    #[inline(always)]
    pub fn transpose(self) -> Self {
        Mat3::from_cols(self.row(0), self.row(1), self.row(2))
    }
    /// Pullback of [`Mat3::transpose`].
    #[inline(always)]
    pub fn transpose_vjp(self, out_bar: Self) -> Self {
        out_bar.transpose()
    }
    /// Mᵀ v
    #[differentiable]
    #[inline(always)]
    pub fn transpose_mul(self, v: Vec3<T>) -> Vec3<T> {
        Vec3::new(self.c0.dot(v), self.c1.dot(v), self.c2.dot(v))
    }
    /// tr M
    #[differentiable]
    #[inline(always)]
    pub fn trace(self) -> T {
        self.c0.x + self.c1.y + self.c2.z
    }
    /// Σᵢⱼ Mᵢⱼ²
    #[differentiable]
    #[inline(always)]
    pub fn frobenius_squared(self) -> T {
        self.c0.norm_squared() + self.c1.norm_squared() + self.c2.norm_squared()
    }
    /// The matrix of cofactors, ∂(det M)/∂M.
    #[differentiable]
    #[inline(always)]
    pub fn cofactor(self) -> Self {
        Mat3::from_cols(self.c1.cross(self.c2), self.c2.cross(self.c0), self.c0.cross(self.c1))
    }
    /// det M
    #[inline(always)]
    pub fn determinant(self) -> T {
        self.c0.dot(self.c1.cross(self.c2))
    }
    /// d det M = cof(M) : dM
    #[inline(always)]
    pub fn determinant_vjp(self, out_bar: T) -> Self {
        self.cofactor() * out_bar
    }
    /// M⁻¹, and the zero matrix where |det M| is below the smallest normal number.
    #[inline(always)]
    pub fn inverse(self) -> Self {
        let cofactor = self.cofactor();
        let det = self.c0.dot(cofactor.c0);
        let regular = det.abs().ge(T::lit(T::MIN_POSITIVE));
        let scale = T::select(regular, T::select(regular, det, T::one()).recip(), T::zero());
        cofactor.transpose() * scale
    }
    /// d(M⁻¹) = −M⁻¹ dM M⁻¹, and 0 where the inverse is
    #[inline(always)]
    pub fn inverse_vjp(self, out_bar: Self) -> Self {
        let inverse_transposed = self.inverse().transpose();
        -(inverse_transposed * out_bar * inverse_transposed)
    }
}

impl<T: Real> Mul<Vec3<T>> for Mat3<T> {
    type Output = Vec3<T>;
    #[inline(always)]
    fn mul(self, v: Vec3<T>) -> Vec3<T> {
        self.c0 * v.x + self.c1 * v.y + self.c2 * v.z
    }
}
impl<T: Real> MulVjp<Vec3<T>> for Mat3<T> {
    // ō·(dM v + M dv) = (ō vᵀ) : dM + (Mᵀ ō)·dv
    #[inline(always)]
    fn mul_vjp(self, v: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        (Mat3::outer(out_bar, v), self.transpose_mul(out_bar))
    }
}

impl<T: Real> Mul for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Mat3::from_cols(self * other.c0, self * other.c1, self * other.c2)
    }
}
impl<T: Real> MulVjp for Mat3<T> {
    // C̄ : (dA B + A dB) = (C̄ Bᵀ) : dA + (Aᵀ C̄) : dB
    #[inline(always)]
    fn mul_vjp(self, other: Self, out_bar: Self) -> (Self, Self) {
        (out_bar * other.transpose(), self.transpose() * out_bar)
    }
}

impl<T> Index<(usize, usize)> for Mat3<T> {
    type Output = T;
    /// Entry (row, column).
    #[inline(always)]
    fn index(&self, (row, col): (usize, usize)) -> &T {
        &[&self.c0, &self.c1, &self.c2][col][row]
    }
}
impl<T> IndexMut<(usize, usize)> for Mat3<T> {
    #[inline(always)]
    fn index_mut(&mut self, (row, col): (usize, usize)) -> &mut T {
        match col {
            0 => &mut self.c0[row],
            1 => &mut self.c1[row],
            _ => &mut self.c2[row],
        }
    }
}
