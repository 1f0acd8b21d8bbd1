//! Vectors in space.

use std::ops::{Index, IndexMut};

use crate::linear::linear_space;
use crate::{Real, differentiable};

/// A vector in space.
///
/// ```
/// use pullback_math::Vec3;
/// let (a, b) = (Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 2.0, 0.0));
/// assert_eq!((a.cross(b).z, a.dot(b), b.norm()), (2.0, 0.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3<T> {
    /// First component.
    pub x: T,
    /// Second component.
    pub y: T,
    /// Third component.
    pub z: T,
}

impl<T: Real> Vec3<T> {
    /// The vector (x, y, z).
    #[differentiable]
    #[inline(always)]
    pub fn new(x: T, y: T, z: T) -> Self {
        Vec3 { x, y, z }
    }
    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        Self::new(T::zero(), T::zero(), T::zero())
    }
    /// Every component through `f`, for example from one scalar type to another.
    #[inline(always)]
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Vec3<U> {
        Vec3 { x: f(self.x), y: f(self.y), z: f(self.z) }
    }
    /// `f` of the components of both at each place.
    #[inline(always)]
    pub fn zip<U: Real, V>(self, other: Vec3<U>, f: impl Fn(T, U) -> V) -> Vec3<V> {
        Vec3 { x: f(self.x, other.x), y: f(self.y, other.y), z: f(self.z, other.z) }
    }

    /// a·b
    #[inline(always)]
    pub fn dot(self, other: Self) -> T {
        self.x * other.x + self.y * other.y + self.z * other.z
    }
    /// d(a·b) = b·da + a·db
    #[inline(always)]
    pub fn dot_vjp(self, other: Self, out_bar: T) -> (Self, Self) {
        (other * out_bar, self * out_bar)
    }

    /// a × b
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Vec3 {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }
    /// c̄·(da × b + a × db) = (b × c̄)·da + (c̄ × a)·db
    #[inline(always)]
    pub fn cross_vjp(self, other: Self, out_bar: Self) -> (Self, Self) {
        (other.cross(out_bar), out_bar.cross(self))
    }

    /// |a|²
    #[inline(always)]
    pub fn norm_squared(self) -> T {
        self.dot(self)
    }
    /// d|a|² = 2 a·da
    #[inline(always)]
    pub fn norm_squared_vjp(self, out_bar: T) -> Self {
        self * (out_bar + out_bar)
    }

    /// |a|
    #[inline(always)]
    pub fn norm(self) -> T {
        self.norm_squared().sqrt()
    }
    /// d|a| = a·da / |a|, and 0 at a = 0
    #[inline(always)]
    pub fn norm_vjp(self, out_bar: T) -> Self {
        self * self.norm_squared().sqrt_vjp(out_bar + out_bar)
    }

    /// a / |a|, and 0 at a = 0.
    #[inline(always)]
    pub fn normalize(self) -> Self {
        let squared = self.norm_squared();
        let nonzero = squared.gt(T::zero());
        let scale = T::select(nonzero, squared, T::one()).sqrt().recip();
        self * T::select(nonzero, scale, T::zero())
    }
    /// d(a/|a|) = (da − n (n·da)) / |a|, and 0 at a = 0
    #[inline(always)]
    pub fn normalize_vjp(self, out_bar: Self) -> Self {
        let squared = self.norm_squared();
        let nonzero = squared.gt(T::zero());
        let scale = T::select(nonzero, T::select(nonzero, squared, T::one()).sqrt().recip(), T::zero());
        let n = self * scale;
        (out_bar - n * n.dot(out_bar)) * scale
    }
}

linear_space!(Vec3 { x: T, y: T, z: T });

impl<T> Index<usize> for Vec3<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        [&self.x, &self.y, &self.z][i]
    }
}
impl<T> IndexMut<usize> for Vec3<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        [&mut self.x, &mut self.y, &mut self.z][i]
    }
}
