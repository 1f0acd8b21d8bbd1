//! Joints and actuators: coordinates, velocities, limits, forces.

use pullback_math::{Flat, Mask, Quat, Real, Vec3, select};

use super::{Sensed, SensorBars};
use crate::constraint::joints::{angle_and_axis_vjp, limit_violation_vjp};
use crate::constraint::params::LimitParams;
use crate::constraint::set::{ConstraintSet, Source};
use crate::model::{Joint, JointQuantity};

/// Whether a quantity of a joint needs the dynamics.
pub(super) fn needs_dynamics(what: JointQuantity) -> bool {
    use JointQuantity::{ActuatorForce, LimitForce, LimitPosition, LimitVelocity};
    matches!(what, ActuatorForce | LimitPosition | LimitVelocity | LimitForce)
}

impl<T: Real> Sensed<'_, T> {
    /// A scalar quantity of a joint.
    pub(super) fn joint_value(&self, j: usize, what: JointQuantity) -> T {
        let joint = &self.robot.model.joints[j];
        match what {
            JointQuantity::Position => self.q[joint.q],
            JointQuantity::Velocity => self.v[joint.v],
            JointQuantity::ActuatorForce => self.actuation[joint.v],
            JointQuantity::LimitPosition | JointQuantity::LimitVelocity | JointQuantity::LimitForce => {
                let mut value = T::zero();
                self.for_each_limit(j, |set, block, first| {
                    value += select(first, self.limit_row(set, block, joint, what), T::zero());
                });
                value
            }
            JointQuantity::Quaternion | JointQuantity::Spin => T::zero(),
        }
    }

    /// The pullback of [`Sensed::joint_value`]: *adds* to `bars`.
    pub(super) fn joint_value_vjp(
        &self,
        j: usize,
        what: JointQuantity,
        bar: T,
        bars: &mut SensorBars<'_, T>,
    ) {
        let joint = &self.robot.model.joints[j];
        match what {
            JointQuantity::Position => bars.q[joint.q] += bar,
            JointQuantity::Velocity => bars.v[joint.v] += bar,
            JointQuantity::ActuatorForce => {
                bars.actuators.joint[joint.v] += bar;
            }
            JointQuantity::LimitPosition | JointQuantity::LimitVelocity | JointQuantity::LimitForce => {
                self.for_each_limit(j, |set, block, first| {
                    self.limit_row_vjp(set, block, j, what, select(first, bar, T::zero()), bars);
                });
            }
            JointQuantity::Quaternion | JointQuantity::Spin => {}
        }
    }

    /// Visits the limits of a joint that act, with the lanes in which each is the first.
    fn for_each_limit(&self, j: usize, mut visit: impl FnMut(&ConstraintSet<T>, usize, T::Mask)) {
        let Some(set) = self.constraints else { return };
        let mut none = T::Mask::splat(true);
        for (i, block) in set.blocks.iter().enumerate() {
            if !matches!(block.source, Source::Limit { joint, .. } if joint == j) {
                continue;
            }
            let acts = set.weights[i].rows[0].gt(T::zero());
            visit(set, i, acts & none);
            none = none & !acts;
        }
    }

    fn limit_row(&self, set: &ConstraintSet<T>, block: usize, joint: &Joint, what: JointQuantity) -> T {
        let row = set.blocks[block].row;
        match what {
            JointQuantity::LimitForce => set.force[row],
            JointQuantity::LimitVelocity => {
                let mut velocity = [T::zero()];
                set.multiply(block, self.v, &mut velocity);
                velocity[0]
            }
            _ => set.position[row] - self.limit_margin(joint),
        }
    }

    fn limit_margin(&self, joint: &Joint) -> T {
        let constraints = self.robot.index.constraints.as_ref();
        let j = self.robot.tree.dof_joint[joint.v];
        let limit = constraints.and_then(|index| index.joints[j].limit);
        limit.map_or(T::zero(), |limit| limit.read(self.params).margin)
    }

    fn limit_row_vjp(
        &self,
        set: &ConstraintSet<T>,
        block: usize,
        j: usize,
        what: JointQuantity,
        bar: T,
        bars: &mut SensorBars<'_, T>,
    ) {
        let b = set.blocks[block];
        let (Source::Limit { upper, .. }, Some(index)) = (b.source, &self.robot.index.constraints) else {
            return;
        };
        let joint = &self.robot.model.joints[j];
        let quat = index.joints[j].cone.map(|cone| (cone, Quat::read(&self.q[joint.q..])));
        match (what, quat) {
            (JointQuantity::LimitForce, _) => bars.rows[b.row] += bar,
            (JointQuantity::LimitVelocity, quat) => {
                for (entry, k) in set.jacobian(block).iter().zip(set.dofs(block)) {
                    bars.v[*k] += *entry * bar;
                }
                if let Some((_, quat)) = quat {
                    // J = −axis
                    let axis_bar = -(Vec3::read(&self.v[joint.v..]) * bar);
                    angle_and_axis_vjp(quat, (T::zero(), axis_bar)).add_to(&mut bars.q[joint.q..]);
                }
            }
            (_, Some((cone, quat))) => {
                cone.add([bar], bars.params);
                angle_and_axis_vjp(quat, (-bar, Vec3::zero())).add_to(&mut bars.q[joint.q..]);
                if let Some(limit) = index.joints[j].limit {
                    limit.add(LimitParams { margin: -bar, ..LimitParams::default() }, bars.params);
                }
            }
            (_, None) => {
                let geoms = self.robot.geoms(self.kinematics, self.params);
                limit_violation_vjp(&geoms, index, (j, upper), bar, (&mut *bars.q, &mut *bars.params));
            }
        }
    }

    /// Unit quaternion of a ball joint.
    pub(super) fn ball_orientation(&self, j: usize) -> Quat<T> {
        Quat::read(&self.q[self.robot.model.joints[j].q..]).normalize()
    }

    /// The pullback of [`Sensed::ball_orientation`]: *adds* to `bars`.
    pub(super) fn ball_orientation_vjp(&self, j: usize, bar: Quat<T>, bars: &mut SensorBars<'_, T>) {
        let first = self.robot.model.joints[j].q;
        Quat::read(&self.q[first..]).normalize_vjp(bar).add_to(&mut bars.q[first..]);
    }
}
