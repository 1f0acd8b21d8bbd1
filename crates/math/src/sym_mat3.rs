//! Symmetric 3×3 matrices: six numbers instead of nine.
//!
//! The off-diagonal numbers each stand for two entries, so the cotangent of `xy` is the sum of the cotangents
//! of both. [`from_mat3`](SymMat3::from_mat3) and [`to_mat3`](SymMat3::to_mat3) are each other's inverse on
//! symmetric matrices, and their pullbacks do that book-keeping for everything built on them.

use std::ops::Mul;

use crate::linear::linear_space;
use crate::{Mat3, MulVjp, Real, Vec3, differentiable};

/// A symmetric 3×3 matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SymMat3<T> {
    /// Entry (0, 0).
    pub xx: T,
    /// Entry (1, 1).
    pub yy: T,
    /// Entry (2, 2).
    pub zz: T,
    /// Entries (0, 1) and (1, 0).
    pub xy: T,
    /// Entries (0, 2) and (2, 0).
    pub xz: T,
    /// Entries (1, 2) and (2, 1).
    pub yz: T,
}

linear_space!(SymMat3 { xx: T, yy: T, zz: T, xy: T, xz: T, yz: T });

impl<T: Real> SymMat3<T> {
    /// The zero matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        SymMat3::diagonal(Vec3::zero())
    }
    /// The identity.
    #[inline(always)]
    pub fn identity() -> Self {
        SymMat3::diagonal(Vec3::new(T::one(), T::one(), T::one()))
    }
    /// diag(d)
    #[differentiable]
    #[inline(always)]
    pub fn diagonal(d: Vec3<T>) -> Self {
        SymMat3 { xx: d.x, yy: d.y, zz: d.z, xy: T::zero(), xz: T::zero(), yz: T::zero() }
    }
    /// The symmetric part (M + Mᵀ)/2 of any matrix.
    #[differentiable]
    #[inline(always)]
    pub fn from_mat3(m: Mat3<T>) -> Self {
        let half = T::lit(0.5);
        SymMat3 {
            xx: m.c0.x,
            yy: m.c1.y,
            zz: m.c2.z,
            xy: (m.c0.y + m.c1.x) * half,
            xz: (m.c0.z + m.c2.x) * half,
            yz: (m.c1.z + m.c2.y) * half,
        }
    }
    /// All nine entries.
    #[differentiable]
    #[inline(always)]
    pub fn to_mat3(self) -> Mat3<T> {
        Mat3::from_cols(
            Vec3::new(self.xx, self.xy, self.xz),
            Vec3::new(self.xy, self.yy, self.yz),
            Vec3::new(self.xz, self.yz, self.zz),
        )
    }
    /// a aᵀ
    #[inline(always)]
    pub fn outer_square(a: Vec3<T>) -> Self {
        SymMat3 { xx: a.x * a.x, yy: a.y * a.y, zz: a.z * a.z, xy: a.x * a.y, xz: a.x * a.z, yz: a.y * a.z }
    }
    /// S̄ : (da aᵀ + a daᵀ) = 2 (S̄ a)·da, with S̄ as a full matrix
    #[inline(always)]
    pub fn outer_square_vjp(a: Vec3<T>, out_bar: Self) -> Vec3<T> {
        SymMat3::from_mat3_vjp(Mat3::zero(), out_bar) * a * T::lit(2.0)
    }
    /// Every entry through `f`, for example from one scalar type to another.
    #[inline(always)]
    pub fn map<U>(self, f: impl Fn(T) -> U) -> SymMat3<U> {
        SymMat3 {
            xx: f(self.xx),
            yy: f(self.yy),
            zz: f(self.zz),
            xy: f(self.xy),
            xz: f(self.xz),
            yz: f(self.yz),
        }
    }
    /// `f` of the entries of both at each place.
    #[inline(always)]
    pub fn zip<U: Real, V>(self, other: SymMat3<U>, f: impl Fn(T, U) -> V) -> SymMat3<V> {
        SymMat3 {
            xx: f(self.xx, other.xx),
            yy: f(self.yy, other.yy),
            zz: f(self.zz, other.zz),
            xy: f(self.xy, other.xy),
            xz: f(self.xz, other.xz),
            yz: f(self.yz, other.yz),
        }
    }

    /// tr S
    #[differentiable]
    #[inline(always)]
    pub fn trace(self) -> T {
        self.xx + self.yy + self.zz
    }
    /// R S Rᵀ: the matrix seen from another frame, for a rotation R; a congruence for any R.
    #[inline(always)]
    pub fn congruence(self, r: Mat3<T>) -> Self {
        SymMat3::from_mat3(r * self.to_mat3() * r.transpose())
    }
    /// Ō : (dR S Rᵀ + R dS Rᵀ + R S dRᵀ) = (2 Ō R S) : dR + (Rᵀ Ō R) : dS, with Ō as a full matrix
    #[inline(always)]
    pub fn congruence_vjp(self, r: Mat3<T>, out_bar: Self) -> (Self, Mat3<T>) {
        let out_bar_r = SymMat3::from_mat3_vjp(r, out_bar) * r;
        let s_bar = self.to_mat3_vjp(r.transpose() * out_bar_r);
        (s_bar, out_bar_r * self.to_mat3() * T::lit(2.0))
    }
    /// −\[p\]²= |p|² 1 − p pᵀ: the inertia of a unit point mass at p about the origin.
    #[inline(always)]
    pub fn point_inertia(p: Vec3<T>) -> Self {
        let squared = SymMat3::outer_square(p);
        SymMat3 {
            xx: squared.yy + squared.zz,
            yy: squared.xx + squared.zz,
            zz: squared.xx + squared.yy,
            xy: -squared.xy,
            xz: -squared.xz,
            yz: -squared.yz,
        }
    }
    /// Ō : (2 (p·dp) 1 − dp pᵀ − p dpᵀ) = 2 (tr(Ō) p − Ō p)·dp, with Ō as a full matrix
    #[inline(always)]
    pub fn point_inertia_vjp(p: Vec3<T>, out_bar: Self) -> Vec3<T> {
        let full = SymMat3::from_mat3_vjp(Mat3::zero(), out_bar);
        (p * out_bar.trace() - full * p) * T::lit(2.0)
    }
}

impl<T: Real> Mul<Vec3<T>> for SymMat3<T> {
    type Output = Vec3<T>;
    #[inline(always)]
    fn mul(self, v: Vec3<T>) -> Vec3<T> {
        self.to_mat3() * v
    }
}
impl<T: Real> MulVjp<Vec3<T>> for SymMat3<T> {
    // ō·(dS v + S dv) = (ō vᵀ) : dS + (S ō)·dv
    #[inline(always)]
    fn mul_vjp(self, v: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        (self.to_mat3_vjp(Mat3::outer(out_bar, v)), self * out_bar)
    }
}
