//! How bodies and joints stand, as parameters: pose of each body in its parent, axis, anchor and reference of
//! each joint.
//!
//! They are left out of the layout unless asked for ([`super::Articulated::with_kinematic_params`]).
//! Orientations and axes are normalized where they are used.
//!
//! *Pullback.* The sweeps leave the cotangent of every joint axis S_k, and the wrench W_b that everything on
//! and beyond body b exerts on a small motion of it. A parameter moves axes directly, and everything beyond
//! by a small motion, so its cotangent is local to its body: no further sweep is needed.

use std::collections::HashSet;

use pullback_core::Block;
use pullback_core::layout::{LayoutBuilder, Slice};
use pullback_math::{Cotangent, Flat, Force, Quat, Real, Transform, Vec3};

use super::kinematics::{Kinematics, rotation};
use super::model::{Body, Joint, JointKind, Model};
use super::params::ParamIndex;
use super::tree::{Group, GroupKind, Tree};

/// Pose of a body in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct BodyPose<T> {
    /// Position, m.
    pub position: Vec3<T>,
    /// Orientation, normalized where it is used.
    pub orientation: Quat<T>,
}

/// Direction of a hinge or slide.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct JointAxis<T> {
    /// Axis in the body frame, normalized where it is used.
    pub axis: Vec3<T>,
    /// Coordinate at which the body stands in its pose.
    pub reference: T,
}

/// Where the kinematic parameters of a joint lie.
#[derive(Clone, Copy, Debug)]
pub struct JointKinematics {
    /// Anchor of a hinge or ball.
    pub anchor: Option<Block<Vec3<f64>>>,
    /// Direction of a hinge or slide.
    pub axis: Option<Block<JointAxis<f64>>>,
}

/// Where the kinematic parameters lie.
#[derive(Clone, Debug)]
pub struct KinematicIndex {
    bodies: Vec<Block<BodyPose<f64>>>,
    /// Joints.
    pub joints: Vec<JointKinematics>,
}

impl KinematicIndex {
    /// The pose of a body other than the world.
    #[inline(always)]
    pub fn body(&self, body: usize) -> Block<BodyPose<f64>> {
        self.bodies[body - 1]
    }
}

/// Adds the slices of the kinematic parameters to a layout.
///
/// The pose of a body is `BODY.position` and `BODY.orientation`; where a geom has the same name, and so owns
/// those names, `BODY.body_position` and `BODY.body_orientation`. The pose of a free body is where its spring
/// is at rest.
pub fn add_slices(model: &Model, builder: &mut LayoutBuilder) -> KinematicIndex {
    let mut index = KinematicIndex { bodies: Vec::new(), joints: Vec::new() };
    let geoms: HashSet<&str> = model.geoms.iter().map(|g| g.name.as_str()).collect();
    for body in model.bodies.iter().skip(1) {
        let taken = geoms.contains(body.name.as_str());
        let name = |what: &str| format!("{}.{}{what}", body.name, if taken { "body_" } else { "" });
        let (p, o) = (body.position, body.orientation);
        index.bodies.push(builder.param_block([
            Slice::new(name("position"), 3, "m").default(&[p.x, p.y, p.z]),
            Slice::new(name("orientation"), 4, "1").default(&[o.w, o.x, o.y, o.z]).normalized(),
        ]));
    }
    for joint in &model.joints {
        let name = |what: &str| format!("{}.{what}", joint.name);
        let anchor = matches!(joint.kind, JointKind::Hinge | JointKind::Ball).then(|| {
            let a = joint.anchor;
            builder.param_block([Slice::new(name("anchor"), 3, "m").default(&[a.x, a.y, a.z])])
        });
        let axis = matches!(joint.kind, JointKind::Hinge | JointKind::Slide).then(|| {
            let (a, unit) = (joint.axis, if joint.kind == JointKind::Hinge { "rad" } else { "m" });
            builder.param_block([
                Slice::new(name("axis"), 3, "1").default(&[a.x, a.y, a.z]).normalized(),
                Slice::new(name("reference"), 1, unit).default(&[joint.reference]),
            ])
        });
        index.joints.push(JointKinematics { anchor, axis });
    }
    index
}

/// Pose of body `b` in its parent: position, and orientation as given, not normalized.
#[inline(always)]
pub(super) fn body_pose<T: Real>(
    body: &Body,
    index: &ParamIndex,
    params: &[T],
    b: usize,
) -> (Vec3<T>, Quat<T>) {
    match &index.kinematics {
        Some(k) => {
            let BodyPose { position, orientation } = k.body(b).read(params);
            (position, orientation)
        }
        None => {
            let o = body.orientation;
            let orientation = Quat::new(T::lit(o.w), T::lit(o.x), T::lit(o.y), T::lit(o.z));
            (body.position.map(T::lit), orientation)
        }
    }
}

/// The transform to the parent of body `b` from its frame before its joints move.
#[inline(always)]
pub(super) fn parent_from_body<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    b: usize,
) -> Transform<T> {
    let (position, orientation) = body_pose(&model.bodies[b], index, params, b);
    // The model's own quaternions are units already.
    let unit = if index.kinematics.is_some() { orientation.normalize() } else { orientation };
    Transform::from_quat(unit, position)
}

/// Anchor in the body frame.
#[inline(always)]
pub(super) fn anchor<T: Real>(joint: &Joint, index: &ParamIndex, params: &[T], j: usize) -> Vec3<T> {
    match index.kinematics.as_ref().and_then(|k| k.joints[j].anchor) {
        Some(anchor) => anchor.read(params),
        None => joint.anchor.map(T::lit),
    }
}

/// Unit axis in the body frame, and reference, of a hinge or slide.
#[inline(always)]
pub(super) fn axis<T: Real>(joint: &Joint, index: &ParamIndex, params: &[T], j: usize) -> (Vec3<T>, T) {
    match index.kinematics.as_ref().and_then(|k| k.joints[j].axis) {
        Some(block) => {
            let JointAxis { axis, reference } = block.read(params);
            (axis.normalize(), reference)
        }
        None => (joint.axis.map(T::lit), T::lit(joint.reference)),
    }
}

/// What the pullback runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct KinematicInputs<'a, T> {
    pub model: &'a Model,
    pub tree: &'a Tree,
    pub index: &'a ParamIndex,
    pub params: &'a [T],
    pub kinematics: &'a Kinematics<T>,
    pub q: &'a [T],
    /// Cotangent of every S_k.
    pub axis_bars: &'a [Force<T>],
}

impl<T: Real> KinematicInputs<'_, T> {
    /// Adds the cotangents of all kinematic parameters; `wrench` of a body is W_b.
    pub fn add_bars(&self, at: &KinematicIndex, wrench: impl Fn(usize) -> Force<T>, params_bar: &mut [T]) {
        for b in 1..self.tree.bodies() {
            let parent = self.kinematics.world_from_body[self.tree.parent[b]];
            let start = parent * parent_from_body(self.model, self.index, self.params, b);
            let mut after = self.kinematics.world_from_body[b];
            let mut beyond = wrench(b);
            let groups = &self.tree.groups[b];
            for (i, group) in groups.iter().enumerate().rev() {
                // The pose before the group: after undoing it, or where the body started.
                let pose = if i == 0 { start } else { self.pose_before(group, after) };
                self.group_bars(at, group, (pose, after), beyond, params_bar);
                for k in group.dofs.clone() {
                    beyond += self.kinematics.axes[k].cross_force(self.axis_bars[k]);
                }
                after = pose;
            }
            // A free joint places its body in the world, whatever the pose in the parent; so does an input.
            if groups.first().is_some_and(|g| g.kind == GroupKind::Translation) || self.model.bodies[b].mocap
            {
                continue;
            }
            let arm = start.translation - self.kinematics.origins[b];
            let (position_bar, turn_bar) = (beyond.force, beyond.moment - arm.cross(beyond.force));
            let given = at.body(b).read(self.params).orientation;
            let orientation = turn_to_quat(parent.inverse_direction(turn_bar), given);
            let position = parent.inverse_direction(position_bar);
            at.body(b).add(BodyPose { position, orientation }, params_bar);
        }
    }

    /// The pose from which a group led to `after`; only hinges and slides come after other groups, and balls.
    fn pose_before(&self, group: &Group, after: Transform<T>) -> Transform<T> {
        let joint = &self.model.joints[group.joint];
        let c = anchor(joint, self.index, self.params, group.joint);
        match group.kind {
            GroupKind::Hinge => {
                let (axis, reference) = axis(joint, self.index, self.params, group.joint);
                // A hinge turns about its own axis, which it leaves as it was.
                let turn = rotation(after.direction(axis), reference - self.q[group.q]);
                let turned = turn * after.rotation;
                Transform::new(turned, after.point(c) - turned * c)
            }
            GroupKind::Slide => {
                let (axis, reference) = axis(joint, self.index, self.params, group.joint);
                let moved = after.direction(axis) * (self.q[group.q] - reference);
                Transform::new(after.rotation, after.translation - moved)
            }
            GroupKind::Ball => {
                let turn = Quat::read(&self.q[group.q..]).normalize().to_mat3();
                let turned = after.rotation * turn.transpose();
                Transform::new(turned, after.point(c) - turned * c)
            }
            GroupKind::Translation => after,
        }
    }

    /// Cotangents of one group's joint, from its axes' and the wrench on everything beyond.
    fn group_bars(
        &self,
        at: &KinematicIndex,
        group: &Group,
        (pose, after): (Transform<T>, Transform<T>),
        beyond: Force<T>,
        params_bar: &mut [T],
    ) {
        let joint = &self.model.joints[group.joint];
        if joint.kind == JointKind::Free {
            return;
        }
        let JointKinematics { anchor: anchor_block, axis: axis_block } = at.joints[group.joint];
        let origin = self.kinematics.origins[joint.body];
        let c = anchor(joint, self.index, self.params, group.joint);
        let point = after.point(c) - origin;
        let about_point = |f: Force<T>| f.moment - point.cross(f.force);

        // S = (a, (point − o) × a), point = R c + p; beyond, δp = (R − R') δc
        if let Some(block) = anchor_block {
            let mut point_bar = Vec3::zero();
            for k in group.dofs.clone() {
                point_bar += self.kinematics.axes[k].angular.cross(self.axis_bars[k].force);
            }
            let bar =
                pose.inverse_direction(point_bar + beyond.force) - after.inverse_direction(beyond.force);
            block.add(bar, params_bar);
        }
        let Some(block) = axis_block else { return };

        let k = group.dofs.start;
        let (unit, reference) = axis(joint, self.index, self.params, group.joint);
        let (moved, world) = (self.q[group.q] - reference, pose.direction(unit));
        let bar = if group.kind == GroupKind::Hinge {
            // Beyond turns about the point by sin θ δa + (1 − cos θ) a × δa, for δa across a.
            let (sin, cos) = moved.sin_cos();
            let turn_bar = about_point(beyond);
            about_point(self.axis_bars[k]) + turn_bar * sin + turn_bar.cross(world) * (T::one() - cos)
        } else {
            // Beyond shifts by (q − ref) δa.
            self.axis_bars[k].force + beyond.force * moved
        };
        let axis = block.read(self.params).axis.normalize_vjp(pose.inverse_direction(bar));
        block.add(JointAxis { axis, reference: -self.kinematics.axes[k].dot(beyond) }, params_bar);
    }
}

/// The cotangent of a quaternion, normalized where it is used, from that of small turns on its left.
pub(super) fn turn_to_quat<T: Real>(turn_bar: Vec3<T>, q: Quat<T>) -> Quat<T> {
    // δq = ½ δφ ⊗ q for units
    let turned = Quat::from_parts(T::zero(), turn_bar) * q.normalize();
    turned * (T::lit(2.0) * q.norm_squared().sqrt().recip())
}
