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
use crate::{Force, Mat3, Motion, MulVjp, Quat, Real, SpatialInertia, SymMat3, Vec3};

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
    #[inline(always)]
    pub fn new(rotation: Mat3<T>, translation: Vec3<T>) -> Self {
        Transform { rotation, translation }
    }
    /// Pullback of [`Transform::new`].
    #[inline(always)]
    pub fn new_vjp(_rotation: Mat3<T>, _translation: Vec3<T>, out_bar: Self) -> (Mat3<T>, Vec3<T>) {
        (out_bar.rotation, out_bar.translation)
    }
    /// The transform of an orientation, a unit quaternion, and a position.
    #[inline(always)]
    pub fn from_quat(orientation: Quat<T>, translation: Vec3<T>) -> Self {
        Transform::new(orientation.to_mat3(), translation)
    }
    /// Pullback of [`Transform::from_quat`].
    #[inline(always)]
    pub fn from_quat_vjp(orientation: Quat<T>, _translation: Vec3<T>, out_bar: Self) -> (Quat<T>, Vec3<T>) {
        (orientation.to_mat3_vjp(out_bar.rotation), out_bar.translation)
    }
    /// The frame itself.
    #[inline(always)]
    pub fn identity() -> Self {
        Transform::new(Mat3::identity(), Vec3::zero())
    }

    /// `child_from_parent`: x ↦ Rᵀ (x − p)
    #[inline(always)]
    pub fn inverse(self) -> Self {
        Transform::new(self.rotation.transpose(), -self.rotation.transpose_mul(self.translation))
    }
    /// Pullback of (Rᵀ, −Rᵀ p).
    #[inline(always)]
    pub fn inverse_vjp(self, out_bar: Self) -> Self {
        let (r_bar, p_bar) = self.rotation.transpose_mul_vjp(self.translation, -out_bar.translation);
        Transform::new(r_bar + out_bar.rotation.transpose(), p_bar)
    }

    /// A point of the child, seen from the parent: R x + p
    #[inline(always)]
    pub fn point(self, x: Vec3<T>) -> Vec3<T> {
        self.rotation * x + self.translation
    }
    /// Pullback of [`Transform::point`].
    #[inline(always)]
    pub fn point_vjp(self, x: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        let (r_bar, x_bar) = self.rotation.mul_vjp(x, out_bar);
        (Transform::new(r_bar, out_bar), x_bar)
    }
    /// A point of the parent, seen from the child: Rᵀ (x − p)
    #[inline(always)]
    pub fn inverse_point(self, x: Vec3<T>) -> Vec3<T> {
        self.rotation.transpose_mul(x - self.translation)
    }
    /// Pullback of [`Transform::inverse_point`].
    #[inline(always)]
    pub fn inverse_point_vjp(self, x: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        let (r_bar, x_bar) = self.rotation.transpose_mul_vjp(x - self.translation, out_bar);
        (Transform::new(r_bar, -x_bar), x_bar)
    }
    /// A direction of the child, seen from the parent: R d
    #[inline(always)]
    pub fn direction(self, d: Vec3<T>) -> Vec3<T> {
        self.rotation * d
    }
    /// Pullback of [`Transform::direction`].
    #[inline(always)]
    pub fn direction_vjp(self, d: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        let (r_bar, d_bar) = self.rotation.mul_vjp(d, out_bar);
        (Transform::new(r_bar, Vec3::zero()), d_bar)
    }
    /// A direction of the parent, seen from the child: Rᵀ d
    #[inline(always)]
    pub fn inverse_direction(self, d: Vec3<T>) -> Vec3<T> {
        self.rotation.transpose_mul(d)
    }
    /// Pullback of [`Transform::inverse_direction`].
    #[inline(always)]
    pub fn inverse_direction_vjp(self, d: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        let (r_bar, d_bar) = self.rotation.transpose_mul_vjp(d, out_bar);
        (Transform::new(r_bar, Vec3::zero()), d_bar)
    }

    /// A motion of the child frame, in the parent frame: (R ω, R v + p × R ω)
    #[inline(always)]
    pub fn motion(self, m: Motion<T>) -> Motion<T> {
        let (linear, angular) = self.twist(m.linear, m.angular);
        Motion { angular, linear }
    }
    /// Pullback of [`Transform::motion`].
    #[inline(always)]
    pub fn motion_vjp(self, m: Motion<T>, out_bar: Motion<T>) -> (Self, Motion<T>) {
        let (bar, linear, angular) = self.twist_vjp(m.linear, m.angular, out_bar.linear, out_bar.angular);
        (bar, Motion { angular, linear })
    }
    /// A motion of the parent frame, in the child frame: (Rᵀ ω, Rᵀ (v − p × ω))
    #[inline(always)]
    pub fn inverse_motion(self, m: Motion<T>) -> Motion<T> {
        let (linear, angular) = self.inverse_twist(m.linear, m.angular);
        Motion { angular, linear }
    }
    /// Pullback of [`Transform::inverse_motion`].
    #[inline(always)]
    pub fn inverse_motion_vjp(self, m: Motion<T>, out_bar: Motion<T>) -> (Self, Motion<T>) {
        let (bar, linear, angular) =
            self.inverse_twist_vjp(m.linear, m.angular, out_bar.linear, out_bar.angular);
        (bar, Motion { angular, linear })
    }
    /// A force of the child frame, in the parent frame: (R n + p × R f, R f)
    #[inline(always)]
    pub fn force(self, f: Force<T>) -> Force<T> {
        let (moment, force) = self.twist(f.moment, f.force);
        Force { moment, force }
    }
    /// Pullback of [`Transform::force`].
    #[inline(always)]
    pub fn force_vjp(self, f: Force<T>, out_bar: Force<T>) -> (Self, Force<T>) {
        let (bar, moment, force) = self.twist_vjp(f.moment, f.force, out_bar.moment, out_bar.force);
        (bar, Force { moment, force })
    }
    /// A force of the parent frame, in the child frame: (Rᵀ (n − p × f), Rᵀ f)
    #[inline(always)]
    pub fn inverse_force(self, f: Force<T>) -> Force<T> {
        let (moment, force) = self.inverse_twist(f.moment, f.force);
        Force { moment, force }
    }
    /// Pullback of [`Transform::inverse_force`].
    #[inline(always)]
    pub fn inverse_force_vjp(self, f: Force<T>, out_bar: Force<T>) -> (Self, Force<T>) {
        let (bar, moment, force) = self.inverse_twist_vjp(f.moment, f.force, out_bar.moment, out_bar.force);
        (bar, Force { moment, force })
    }

    /// The inertia of a body of the child frame, about the origin of the parent frame.
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
    /// Each term of `inertia`, pulled back.
    #[inline(always)]
    pub fn inertia_vjp(self, i: SpatialInertia<T>, out_bar: SpatialInertia<T>) -> (Self, SpatialInertia<T>) {
        let (p, h) = (self.translation, self.rotation * i.first_moment);
        // I' = R I Rᵀ + C(p, R h) + m P(p)
        let (rotational, mut r_bar) = i.rotational.congruence_vjp(self.rotation, out_bar.rotational);
        let (mut p_bar, mut h_bar) = cross_inertia_vjp(p, h, out_bar.rotational);
        let (point_bar, mut mass_bar) = SymMat3::point_inertia(p).mul_vjp(i.mass, out_bar.rotational);
        p_bar += SymMat3::point_inertia_vjp(p, point_bar);
        // h' = R h + m p
        h_bar += out_bar.first_moment;
        p_bar += out_bar.first_moment * i.mass;
        mass_bar += out_bar.mass + p.dot(out_bar.first_moment);
        let (r_bar_h, first_moment) = self.rotation.mul_vjp(i.first_moment, h_bar);
        r_bar += r_bar_h;
        (Transform::new(r_bar, p_bar), SpatialInertia { mass: mass_bar, first_moment, rotational })
    }
    /// The inertia of a body of the parent frame, about the origin of the child frame.
    #[inline(always)]
    pub fn inverse_inertia(self, i: SpatialInertia<T>) -> SpatialInertia<T> {
        self.inverse().inertia(i)
    }
    /// Pullback of [`Transform::inverse_inertia`].
    #[inline(always)]
    pub fn inverse_inertia_vjp(
        self,
        i: SpatialInertia<T>,
        out_bar: SpatialInertia<T>,
    ) -> (Self, SpatialInertia<T>) {
        let (inverse_bar, i_bar) = self.inverse().inertia_vjp(i, out_bar);
        (self.inverse_vjp(inverse_bar), i_bar)
    }

    /// What motions and forces share: (R a + p × R b, R b), where b is what a moves with.
    #[inline(always)]
    fn twist(self, a: Vec3<T>, b: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let b = self.rotation * b;
        (self.rotation * a + self.translation.cross(b), b)
    }
    #[inline(always)]
    fn twist_vjp(self, a: Vec3<T>, b: Vec3<T>, a_out: Vec3<T>, b_out: Vec3<T>) -> (Self, Vec3<T>, Vec3<T>) {
        let (p_bar, turned_bar) = self.translation.cross_vjp(self.rotation * b, a_out);
        let (r_bar_a, a_bar) = self.rotation.mul_vjp(a, a_out);
        let (r_bar_b, b_bar) = self.rotation.mul_vjp(b, turned_bar + b_out);
        (Transform::new(r_bar_a + r_bar_b, p_bar), a_bar, b_bar)
    }
    /// The inverse of `twist`: (Rᵀ (a − p × b), Rᵀ b).
    #[inline(always)]
    fn inverse_twist(self, a: Vec3<T>, b: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let shifted = a - self.translation.cross(b);
        (self.rotation.transpose_mul(shifted), self.rotation.transpose_mul(b))
    }
    #[inline(always)]
    fn inverse_twist_vjp(
        self,
        a: Vec3<T>,
        b: Vec3<T>,
        a_out: Vec3<T>,
        b_out: Vec3<T>,
    ) -> (Self, Vec3<T>, Vec3<T>) {
        let shifted = a - self.translation.cross(b);
        let (r_bar_a, a_bar) = self.rotation.transpose_mul_vjp(shifted, a_out);
        let (r_bar_b, b_bar) = self.rotation.transpose_mul_vjp(b, b_out);
        let (p_bar, b_bar_shift) = self.translation.cross_vjp(b, -a_bar);
        (Transform::new(r_bar_a + r_bar_b, p_bar), a_bar, b_bar + b_bar_shift)
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
