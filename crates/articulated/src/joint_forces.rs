//! Generalized forces that joints make by themselves, and their pullback.
//!
//! - Damping: −c v on every velocity.
//! - Springs: −k (q − q_rest); for ball and free joints, −k times the rotation vector from rest and the
//!   displacement.
//! - Limits, under the penalty model: k·d − c·d·v where a coordinate is d beyond its range. The force is
//!   continuous, so gradients converge. [`ContactDamping::Plain`] is Warp's k·d − c·v, which jumps at the
//!   limit. Under the convex model limits are constraints.

use pullback_math::{Flat, Quat, Real, Vec3, differentiable, select};

use super::kinematic_params::{BodyPose, body_pose};
use super::model::{ContactDamping, Joint, JointKind, Model};
use super::params::{JointParams, JointRange, LimitSpring, ParamIndex};

/// Force of a limited hinge or slide at `q`, moving with `v`.
#[differentiable]
#[inline(always)]
fn limit_force<T: Real>(
    q: T,
    v: T,
    spring: LimitSpring<T>,
    range: JointRange<T>,
    #[constant] form: ContactDamping,
) -> T {
    let below = (range.lower - q).max(T::zero());
    let above = (q - range.upper).max(T::zero());
    let resistance = if form == ContactDamping::ByDepth {
        spring.damping * (below + above) * v
    } else {
        select((below + above).gt(T::zero()), spring.damping * v, T::zero())
    };
    spring.stiffness * (below - above) - resistance
}

/// The rotation vector that turns `rest` into `q`, in the frame of `rest`.
#[differentiable]
#[inline(always)]
pub(super) fn rotation_from<T: Real>(q: Quat<T>, rest: Quat<T>) -> Vec3<T> {
    let turn = rest.normalize().conjugate() * q.normalize();
    turn.log()
}

/// The rotation vector of a ball joint, by which actuators measure its length.
#[differentiable]
#[inline(always)]
pub(super) fn rotation_of<T: Real>(q: Quat<T>) -> Vec3<T> {
    let turn = q.normalize();
    turn.log()
}

/// Adds the forces of springs, dampers and limits of all joints to `tau` (`qfrc_passive`).
pub fn passive_forces<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    (q, v): (&[T], &[T]),
    tau: &mut [T],
) {
    for (j, joint) in model.joints.iter().enumerate() {
        let blocks = index.joints[j];
        let p = blocks.params.read(params);
        for k in joint.v..joint.v + joint.kind.velocities() {
            tau[k] -= p.damping * v[k];
        }
        match joint.kind {
            JointKind::Hinge | JointKind::Slide => {
                let (q, v) = (q[joint.q], v[joint.v]);
                tau[joint.v] -= p.stiffness * (q - p.springref);
                if let (Some(range), Some(spring)) = (blocks.range, blocks.limit_spring) {
                    let (spring, range) = (spring.read(params), range.read(params));
                    tau[joint.v] += limit_force(q, v, spring, range, model.options.limit_damping);
                }
            }
            // Springs of ball and free joints are rare: skip their logarithm unless the model has one.
            JointKind::Ball | JointKind::Free if joint.stiffness > 0.0 => {
                let (at, rest, displacement) = rest_of(model, index, params, joint, q);
                for (i, x) in displacement.into_iter().flat_map(|d| [d.x, d.y, d.z]).enumerate() {
                    tau[joint.v + i] -= p.stiffness * x;
                }
                let turn = rotation_from(at, rest);
                let first = joint.v + joint.kind.velocities() - 3;
                for (i, x) in [turn.x, turn.y, turn.z].into_iter().enumerate() {
                    tau[first + i] -= p.stiffness * x;
                }
            }
            JointKind::Ball | JointKind::Free => {}
        }
    }
}

/// The pullback of [`passive_forces`] with cotangent `tau_bar`: *adds* to the cotangents of coordinates,
/// velocities and parameters.
pub fn passive_forces_vjp<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    (q, v): (&[T], &[T]),
    tau_bar: &[T],
    (q_bar, v_bar): (&mut [T], &mut [T]),
    params_bar: &mut [T],
) {
    for (j, joint) in model.joints.iter().enumerate() {
        let blocks = index.joints[j];
        let p = blocks.params.read(params);
        let mut p_bar = JointParams::default();
        for k in joint.v..joint.v + joint.kind.velocities() {
            p_bar.damping -= tau_bar[k] * v[k];
            v_bar[k] -= tau_bar[k] * p.damping;
        }
        match joint.kind {
            JointKind::Hinge | JointKind::Slide => {
                let bar = tau_bar[joint.v];
                let (q, v) = (q[joint.q], v[joint.v]);
                p_bar.stiffness -= bar * (q - p.springref);
                q_bar[joint.q] -= bar * p.stiffness;
                p_bar.springref += bar * p.stiffness;
                if let (Some(range), Some(spring)) = (blocks.range, blocks.limit_spring) {
                    let (at, between) = (spring.read(params), range.read(params));
                    let (q, v, spring_bar, range_bar, ()) =
                        limit_force_vjp(q, v, at, between, model.options.limit_damping, bar);
                    q_bar[joint.q] += q;
                    v_bar[joint.v] += v;
                    spring.add(spring_bar, params_bar);
                    range.add(range_bar, params_bar);
                }
            }
            JointKind::Ball | JointKind::Free if joint.stiffness > 0.0 => {
                let (at, rest, displacement) = rest_of(model, index, params, joint, q);
                for (i, x) in displacement.into_iter().flat_map(|d| [d.x, d.y, d.z]).enumerate() {
                    p_bar.stiffness -= tau_bar[joint.v + i] * x;
                    q_bar[joint.q + i] -= tau_bar[joint.v + i] * p.stiffness;
                }
                let turn = rotation_from(at, rest);
                let first = joint.v + joint.kind.velocities() - 3;
                let bar = Vec3::read(&tau_bar[first..]);
                p_bar.stiffness -= bar.dot(turn);
                let (at_bar, rest_bar) = rotation_from_vjp(at, rest, -(bar * p.stiffness));
                at_bar.add_to(&mut q_bar[joint.q + joint.kind.coordinates() - 4..]);
                if let (Some(k), JointKind::Free) = (&index.kinematics, joint.kind) {
                    let position = Vec3::read(&tau_bar[joint.v..]) * p.stiffness;
                    k.body(joint.body).add(BodyPose { position, orientation: rest_bar }, params_bar);
                }
            }
            JointKind::Ball | JointKind::Free => {}
        }
        blocks.params.add(p_bar, params_bar);
    }
}

/// Whether a hinge or slide has limits that act, and so a range among its parameters.
pub(super) fn has_range(model: &Model, joint: &Joint) -> bool {
    let directed = matches!(joint.kind, JointKind::Hinge | JointKind::Slide);
    directed && model.options.limits && joint.range.is_some()
}

/// Orientation, orientation at rest, and displacement of a free joint.
pub(super) fn rest_of<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    joint: &Joint,
    q: &[T],
) -> (Quat<T>, Quat<T>, Option<Vec3<T>>) {
    let at = Quat::read(&q[joint.q + joint.kind.coordinates() - 4..]);
    if joint.kind == JointKind::Ball {
        return (at, Quat::identity(), None);
    }
    let (position, rest) = body_pose(&model.bodies[joint.body], index, params, joint.body);
    (at, rest, Some(Vec3::read(&q[joint.q..]) - position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_damping_acts_beyond_the_range_alone() {
        let spring = LimitSpring { stiffness: 1e3, damping: 10.0 };
        let range = JointRange { lower: -1.0, upper: 0.5 };
        let at = |q: f64, form| limit_force(q, 2.0, spring, range, form);
        assert_eq!(at(0.4, ContactDamping::Plain), 0.0);
        // k d − c v, and k d − c d v
        assert!((at(-1.1, ContactDamping::Plain) - (100.0 - 20.0)).abs() < 1e-9);
        assert!((at(0.6, ContactDamping::Plain) - (-100.0 - 20.0)).abs() < 1e-9);
        assert!((at(-1.1, ContactDamping::ByDepth) - (100.0 - 2.0)).abs() < 1e-9);
    }
}
