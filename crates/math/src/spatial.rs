//! Spatial vectors: motions and forces of rigid bodies as six numbers each.
//!
//! A [`Motion`] is (ω, v): angular velocity, and linear velocity of the point that passes through the origin
//! of the frame. A [`Force`] is (n, f): moment about that origin, and force. They are dual spaces: their
//! pairing m·f is a power and does not depend on the frame, so the two types do not mix. The operations
//! follow Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapter 2, with his cross products (2.31)
//! and (2.32). Everything is polynomial: there are no singular points.

use crate::linear::linear_space;
use crate::{Real, Vec3};

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
    #[inline(always)]
    pub fn new(angular: Vec3<T>, linear: Vec3<T>) -> Self {
        Motion { angular, linear }
    }
    /// Pullback of [`Motion::new`].
    #[inline(always)]
    pub fn new_vjp(_angular: Vec3<T>, _linear: Vec3<T>, out_bar: Self) -> (Vec3<T>, Vec3<T>) {
        (out_bar.angular, out_bar.linear)
    }
    /// No motion.
    #[inline(always)]
    pub fn zero() -> Self {
        Motion::new(Vec3::zero(), Vec3::zero())
    }

    /// Power of a force under a motion: m·f = ω·n + v·f
    #[inline(always)]
    pub fn dot(self, force: Force<T>) -> T {
        self.angular.dot(force.moment) + self.linear.dot(force.force)
    }
    /// d(m·f) = f·dm + m·df
    #[inline(always)]
    pub fn dot_vjp(self, force: Force<T>, out_bar: T) -> (Self, Force<T>) {
        let motion_bar = Motion::new(force.moment, force.force) * out_bar;
        (motion_bar, Force::new(self.angular, self.linear) * out_bar)
    }

    /// Rate of change of `m` carried along by the motion: (ω × m_ω, ω × m_v + v × m_ω)
    #[inline(always)]
    pub fn cross_motion(self, m: Self) -> Self {
        Motion {
            angular: self.angular.cross(m.angular),
            linear: self.angular.cross(m.linear) + self.linear.cross(m.angular),
        }
    }
    /// The three cross products, each pulled back.
    #[inline(always)]
    pub fn cross_motion_vjp(self, m: Self, out_bar: Self) -> (Self, Self) {
        let (w_bar, mw_bar) = self.angular.cross_vjp(m.angular, out_bar.angular);
        let (w_bar_v, mv_bar) = self.angular.cross_vjp(m.linear, out_bar.linear);
        let (v_bar, mw_bar_v) = self.linear.cross_vjp(m.angular, out_bar.linear);
        (Motion::new(w_bar + w_bar_v, v_bar), Motion::new(mw_bar + mw_bar_v, mv_bar))
    }

    /// Rate of change of `f` carried along by the motion: (ω × n + v × f, ω × f)
    ///
    /// Dual of [`Motion::cross_motion`]: (v × m)·f = −m·(v ×* f).
    #[inline(always)]
    pub fn cross_force(self, f: Force<T>) -> Force<T> {
        Force {
            moment: self.angular.cross(f.moment) + self.linear.cross(f.force),
            force: self.angular.cross(f.force),
        }
    }
    /// The three cross products, each pulled back.
    #[inline(always)]
    pub fn cross_force_vjp(self, f: Force<T>, out_bar: Force<T>) -> (Self, Force<T>) {
        let (w_bar, n_bar) = self.angular.cross_vjp(f.moment, out_bar.moment);
        let (v_bar, f_bar) = self.linear.cross_vjp(f.force, out_bar.moment);
        let (w_bar_f, f_bar_w) = self.angular.cross_vjp(f.force, out_bar.force);
        (Motion::new(w_bar + w_bar_f, v_bar), Force::new(n_bar, f_bar + f_bar_w))
    }

    /// Linear velocity of the body's point at `point`: v + ω × p
    #[inline(always)]
    pub fn velocity_at(self, point: Vec3<T>) -> Vec3<T> {
        self.linear + self.angular.cross(point)
    }
    /// Pullback of [`Motion::velocity_at`].
    #[inline(always)]
    pub fn velocity_at_vjp(self, point: Vec3<T>, out_bar: Vec3<T>) -> (Self, Vec3<T>) {
        let (angular_bar, point_bar) = self.angular.cross_vjp(point, out_bar);
        (Motion::new(angular_bar, out_bar), point_bar)
    }
}

impl<T: Real> Force<T> {
    /// The force (n, f).
    #[inline(always)]
    pub fn new(moment: Vec3<T>, force: Vec3<T>) -> Self {
        Force { moment, force }
    }
    /// Pullback of [`Force::new`].
    #[inline(always)]
    pub fn new_vjp(_moment: Vec3<T>, _force: Vec3<T>, out_bar: Self) -> (Vec3<T>, Vec3<T>) {
        (out_bar.moment, out_bar.force)
    }
    /// No force.
    #[inline(always)]
    pub fn zero() -> Self {
        Force::new(Vec3::zero(), Vec3::zero())
    }
    /// The force `force` (N) acting at `point` (m): (p × f, f)
    #[inline(always)]
    pub fn at_point(force: Vec3<T>, point: Vec3<T>) -> Self {
        Force::new(point.cross(force), force)
    }
    /// Pullback of [`Force::at_point`].
    #[inline(always)]
    pub fn at_point_vjp(force: Vec3<T>, point: Vec3<T>, out_bar: Self) -> (Vec3<T>, Vec3<T>) {
        let (point_bar, force_bar) = point.cross_vjp(force, out_bar.moment);
        (out_bar.force + force_bar, point_bar)
    }
}
