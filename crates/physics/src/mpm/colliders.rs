//! The colliders of the material point method: geoms of an articulated model that is moved, not pushed.
//!
//! Joints follow the controls within their ranges whatever stands in the way.

use pullback_math::{Mask, Real, Scalar};

use super::system::Mpm;
use super::workspace::MpmWorkspace;

impl Mpm {
    /// Poses and velocities of the colliders.
    pub(super) fn move_colliders<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        q: &[T],
        control: &[T],
    ) {
        ws.robot_state[..q.len()].copy_from_slice(q);
        self.speeds(q, control, &mut ws.robot_state[q.len()..]);
        self.robot.motion(&mut ws.robot, params, &ws.robot_state);
    }

    /// q′ of the colliders.
    pub(super) fn advance_colliders<T: Scalar>(&self, ws: &MpmWorkspace<T>, q: &[T], next: &mut [T]) {
        let speeds = &ws.robot_state[q.len()..];
        self.robot.coordinates().advance_positions(q, speeds, T::lit(self.dt), next);
    }

    /// The pullback of [`Mpm::move_colliders`] and [`Mpm::advance_colliders`], from q̄′ and the cotangents of bodies in the
    /// workspace.
    pub(super) fn colliders_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        q: &[T],
        control: &[T],
        next_bar: &[T],
        out: &mut [T],
        control_bar: &mut [T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace { robot, robot_state, robot_bar, velocity_bars, wrenches, .. } = ws;
        robot_bar.fill(T::zero());
        self.robot.motion_vjp(robot, params, robot_state, velocity_bars, wrenches, robot_bar, params_bar);
        let (q_bar, speeds_bar) = robot_bar.split_at_mut(q.len());
        let speeds = &robot_state[q.len()..];
        let dt = T::lit(self.dt);
        self.robot.coordinates().advance_positions_vjp(q, speeds, dt, next_bar, q_bar, speeds_bar);
        for (bar, x) in out.iter_mut().zip(q_bar.iter()) {
            *bar += *x;
        }
        self.speeds_vjp(q, control, speeds_bar, out, control_bar);
    }

    /// Speeds of joints that stay within their ranges: (clamp(q + Δt u) − q)/Δt.
    fn speeds<T: Real>(&self, q: &[T], control: &[T], speeds: &mut [T]) {
        speeds.copy_from_slice(control);
        for (joint, place) in self.robot.model().joints.iter().zip(&self.robot.coordinates().joints) {
            if let (Some((low, high)), Some((at, v)), 1) = (joint.range, *place, joint.kind.velocities()) {
                let dt = T::lit(self.dt);
                let target = (q[at] + dt * control[v]).max(T::lit(low)).min(T::lit(high));
                speeds[v] = (target - q[at]) * dt.recip();
            }
        }
    }

    /// The pullback of [`Mpm::speeds`].
    fn speeds_vjp<T: Real>(
        &self,
        q: &[T],
        control: &[T],
        speeds_bar: &[T],
        q_bar: &mut [T],
        control_bar: &mut [T],
    ) {
        for (bar, x) in control_bar.iter_mut().zip(speeds_bar) {
            *bar += *x;
        }
        for (joint, place) in self.robot.model().joints.iter().zip(&self.robot.coordinates().joints) {
            if let (Some((low, high)), Some((at, v)), 1) = (joint.range, *place, joint.kind.velocities()) {
                let wanted = q[at] + T::lit(self.dt) * control[v];
                if wanted.lt(T::lit(low)).any() || wanted.gt(T::lit(high)).any() {
                    control_bar[v] -= speeds_bar[v];
                    q_bar[at] -= speeds_bar[v] * T::lit(1.0 / self.dt);
                }
            }
        }
    }
}
