//! Rigid transforms between frames.
//!
//! `parent_from_child` holds the child's orientation and origin as seen from the parent:
//! x_parent = R x_child + p. Transforms compose by adjacent names, `a_from_b * b_from_c`. The same transform
//! carries motions, forces and inertias (Featherstone 2008, §2.8), with the origin of the frame as the point
//! velocities and moments refer to:
//!
//! ```text
//! motion   ω' = R ω          v' = R v + p × ω'
//! force    f' = R f          n' = R n + p × f'
//! inertia  h' = R h + m p    I' = R I Rᵀ + (2 (p·Rh) 1 − p (Rh)ᵀ − (Rh) pᵀ) + m (p·p 1 − p pᵀ)
//! ```
//!
//! R is taken to be a rotation: the inverse is its transpose. Cotangents are those of its nine entries as
//! each formula is written; they are exact through [`Quat::to_mat3`](crate::Quat::to_mat3), which stays on
//! the manifold. `+` and `*` by a scalar exist so that cotangents can be added up; they make no rigid
//! transforms.

use std::ops::Mul;

use crate::linear::linear_space;
use crate::{Force, Mat3, Motion, MulVjp, Quat, Real, SpatialInertia, SymMat3, Vec3, differentiable};

/// A rigid transform; name it `parent_from_child`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transform<T> {
    /// Axes of the child in the parent, as columns.
    pub rotation: Mat3<T>,
    /// Origin of the child in the parent, m.
    pub translation: Vec3<T>,
}

linear_space!(Transform { rotation: Mat3<T>, translation: Vec3<T> });

impl<T: Real> Transform<T> {
    /// The transform x ↦ R x + p.
    #[differentiable]
    #[inline(always)]
    pub fn new(rotation: Mat3<T>, translation: Vec3<T>) -> Self {
        Transform { rotation, translation }
    }
    /// The transform of an orientation, a unit quaternion, and a position.
    #[differentiable]
    #[inline(always)]
    pub fn from_quat(orientation: Quat<T>, translation: Vec3<T>) -> Self {
        Transform::new(orientation.to_mat3(), translation)
    }
    /// The frame itself.
    #[inline(always)]
    pub fn identity() -> Self {
        Transform::new(Mat3::identity(), Vec3::zero())
    }

    /// `child_from_parent`: x ↦ Rᵀ (x − p)
    #[differentiable]
    #[inline(always)]
    pub fn inverse(self) -> Self {
        Transform::new(self.rotation.transpose(), -self.rotation.transpose_mul(self.translation))
    }

    /// A point of the child, seen from the parent: R x + p
    #[differentiable]
    #[inline(always)]
    pub fn point(self, x: Vec3<T>) -> Vec3<T> {
        self.rotation * x + self.translation
    }
    /// A point of the parent, seen from the child: Rᵀ (x − p)
    #[differentiable]
    #[inline(always)]
    pub fn inverse_point(self, x: Vec3<T>) -> Vec3<T> {
        self.rotation.transpose_mul(x - self.translation)
    }
    /// A direction of the child, seen from the parent: R d
    #[differentiable]
    #[inline(always)]
    pub fn direction(self, d: Vec3<T>) -> Vec3<T> {
        self.rotation * d
    }
    /// A direction of the parent, seen from the child: Rᵀ d
    #[differentiable]
    #[inline(always)]
    pub fn inverse_direction(self, d: Vec3<T>) -> Vec3<T> {
        self.rotation.transpose_mul(d)
    }

    /// A motion of the child frame, in the parent frame: (R ω, R v + p × R ω)
    #[differentiable]
    #[inline(always)]
    pub fn motion(self, m: Motion<T>) -> Motion<T> {
        let (linear, angular) = self.twist(m.linear, m.angular);
        Motion { angular, linear }
    }
    /// A motion of the parent frame, in the child frame: (Rᵀ ω, Rᵀ (v − p × ω))
    #[differentiable]
    #[inline(always)]
    pub fn inverse_motion(self, m: Motion<T>) -> Motion<T> {
        let (linear, angular) = self.inverse_twist(m.linear, m.angular);
        Motion { angular, linear }
    }
    /// A force of the child frame, in the parent frame: (R n + p × R f, R f)
    #[differentiable]
    #[inline(always)]
    pub fn force(self, f: Force<T>) -> Force<T> {
        let (moment, force) = self.twist(f.moment, f.force);
        Force { moment, force }
    }
    /// A force of the parent frame, in the child frame: (Rᵀ (n − p × f), Rᵀ f)
    #[differentiable]
    #[inline(always)]
    pub fn inverse_force(self, f: Force<T>) -> Force<T> {
        let (moment, force) = self.inverse_twist(f.moment, f.force);
        Force { moment, force }
    }

    /// The inertia of a body of the child frame, about the origin of the parent frame.
    #[differentiable]
    #[inline(always)]
    pub fn inertia(self, i: SpatialInertia<T>) -> SpatialInertia<T> {
        let (p, h) = (self.translation, self.rotation * i.first_moment);
        SpatialInertia {
            mass: i.mass,
            first_moment: h + p * i.mass,
            rotational: i.rotational.congruence(self.rotation)
                + cross_inertia(p, h)
                + SymMat3::point_inertia(p) * i.mass,
        }
    }
    /// The inertia of a body of the parent frame, about the origin of the child frame.
    #[differentiable]
    #[inline(always)]
    pub fn inverse_inertia(self, i: SpatialInertia<T>) -> SpatialInertia<T> {
        self.inverse().inertia(i)
    }

    /// What motions and forces share: (R a + p × R b, R b), where b is what a moves with.
    #[differentiable]
    #[inline(always)]
    fn twist(self, a: Vec3<T>, b: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let b = self.rotation * b;
        (self.rotation * a + self.translation.cross(b), b)
    }
    /// The inverse of `twist`: (Rᵀ (a − p × b), Rᵀ b).
    #[differentiable]
    #[inline(always)]
    fn inverse_twist(self, a: Vec3<T>, b: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let shifted = a - self.translation.cross(b);
        (self.rotation.transpose_mul(shifted), self.rotation.transpose_mul(b))
    }
}

/// −\[p\]\[h\] − \[h\]\[p\] = 2 (p·h) 1 − p hᵀ − h pᵀ
#[inline(always)]
fn cross_inertia<T: Real>(p: Vec3<T>, h: Vec3<T>) -> SymMat3<T> {
    let two = T::lit(2.0);
    let [x, y, z] = [p.x * h.x * two, p.y * h.y * two, p.z * h.z * two];
    SymMat3 {
        xx: y + z,
        yy: x + z,
        zz: x + y,
        xy: -(p.x * h.y + p.y * h.x),
        xz: -(p.x * h.z + p.z * h.x),
        yz: -(p.y * h.z + p.z * h.y),
    }
}
/// C̄ : dC = 2 (tr(C̄) h − C̄ h)·dp + 2 (tr(C̄) p − C̄ p)·dh, with C̄ as a full matrix
#[inline(always)]
fn cross_inertia_vjp<T: Real>(p: Vec3<T>, h: Vec3<T>, out_bar: SymMat3<T>) -> (Vec3<T>, Vec3<T>) {
    (SymMat3::point_inertia_vjp(h, out_bar), SymMat3::point_inertia_vjp(p, out_bar))
}

impl<T: Real> Mul for Transform<T> {
    type Output = Self;
    // a_from_c = a_from_b * b_from_c: (R R', R p' + p)
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Transform::new(self.rotation * other.rotation, self.point(other.translation))
    }
}
impl<T: Real> MulVjp for Transform<T> {
    #[inline(always)]
    fn mul_vjp(self, other: Self, out_bar: Self) -> (Self, Self) {
        let (mut bar, translation) = self.point_vjp(other.translation, out_bar.translation);
        let (r_bar, rotation) = self.rotation.mul_vjp(other.rotation, out_bar.rotation);
        bar.rotation += r_bar;
        (bar, Transform { rotation, translation })
    }
}
