//! Spatial vectors: motions and forces of rigid bodies as six numbers each.
//!
//! A [`Motion`] is (ω, v): angular velocity, and linear velocity of the point that passes through the origin
//! of the frame. A [`Force`] is (n, f): moment about that origin, and force. They are dual spaces: their
//! pairing m·f is a power and does not depend on the frame, so the two types do not mix. The operations
//! follow Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapter 2, with his cross products (2.31)
//! and (2.32). Everything is polynomial: there are no singular points.

use crate::linear::linear_space;
use crate::{Real, Vec3, differentiable};

/// A spatial motion: velocity, acceleration or joint axis of a rigid body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion<T> {
    /// Angular part, rad/s for a velocity.
    pub angular: Vec3<T>,
    /// Linear part at the frame's origin, m/s for a velocity.
    pub linear: Vec3<T>,
}

/// A spatial force: wrench, momentum or impulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force<T> {
    /// Moment about the frame's origin, N m for a wrench.
    pub moment: Vec3<T>,
    /// Force, N for a wrench.
    pub force: Vec3<T>,
}

linear_space!(Motion { angular: Vec3<T>, linear: Vec3<T> });
linear_space!(Force { moment: Vec3<T>, force: Vec3<T> });

impl<T: Real> Motion<T> {
    /// The motion (ω, v).
    #[differentiable]
    #[inline(always)]
    pub fn new(angular: Vec3<T>, linear: Vec3<T>) -> Self {
        Motion { angular, linear }
    }
    /// No motion.
    #[inline(always)]
    pub fn zero() -> Self {
        Motion::new(Vec3::zero(), Vec3::zero())
    }

    /// Power of a force under a motion: m·f = ω·n + v·f
    #[differentiable]
    #[inline(always)]
    pub fn dot(self, force: Force<T>) -> T {
        self.angular.dot(force.moment) + self.linear.dot(force.force)
    }

    /// Rate of change of `m` carried along by the motion: (ω × m_ω, ω × m_v + v × m_ω)
    #[differentiable]
    #[inline(always)]
    pub fn cross_motion(self, m: Self) -> Self {
        Motion {
            angular: self.angular.cross(m.angular),
            linear: self.angular.cross(m.linear) + self.linear.cross(m.angular),
        }
    }

    /// Rate of change of `f` carried along by the motion: (ω × n + v × f, ω × f)
    ///
    /// Dual of [`Motion::cross_motion`]: (v × m)·f = −m·(v ×* f).
    #[differentiable]
    #[inline(always)]
    pub fn cross_force(self, f: Force<T>) -> Force<T> {
        Force {
            moment: self.angular.cross(f.moment) + self.linear.cross(f.force),
            force: self.angular.cross(f.force),
        }
    }

    /// Linear velocity of the body's point at `point`: v + ω × p
    #[differentiable]
    #[inline(always)]
    pub fn velocity_at(self, point: Vec3<T>) -> Vec3<T> {
        self.linear + self.angular.cross(point)
    }
}

impl<T: Real> Force<T> {
    /// The force (n, f).
    #[differentiable]
    #[inline(always)]
    pub fn new(moment: Vec3<T>, force: Vec3<T>) -> Self {
        Force { moment, force }
    }
    /// No force.
    #[inline(always)]
    pub fn zero() -> Self {
        Force::new(Vec3::zero(), Vec3::zero())
    }
    /// The force `force` (N) acting at `point` (m): (p × f, f)
    #[differentiable]
    #[inline(always)]
    pub fn at_point(force: Vec3<T>, point: Vec3<T>) -> Self {
        Force::new(point.cross(force), force)
    }
}
