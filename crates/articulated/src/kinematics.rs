//! Where everything is: poses of the bodies, axes of the degrees of freedom, inertias in the world.
//!
//! All spatial quantities are in world axes, about one point per tree: where the root body is now. In this
//! form composite inertias and forces are plain sums, with no transforms in the sweeps. The point is held
//! constant under differentiation; results do not depend on it.

use pullback_core::Workspace;
use pullback_math::{Flat, Mat3, Motion, Quat, Real, SpatialInertia, Transform, Vec3};

use super::kinematic_params::{anchor, axis, parent_from_body};
use super::model::Model;
use super::params::ParamIndex;
use super::tree::{GroupKind, Tree};

/// Everything that depends on the configuration alone.
#[derive(Clone, Debug, Workspace)]
pub struct Kinematics<T> {
    /// World pose of each body.
    pub world_from_body: Vec<Transform<T>>,
    /// Axis of each degree of freedom, about its tree's point.
    pub axes: Vec<Motion<T>>,
    /// Inertia of each body, about its tree's point.
    pub inertias: Vec<SpatialInertia<T>>,
    /// The point of each body's tree.
    pub origins: Vec<Vec3<T>>,
}

impl<T: Real> Kinematics<T> {
    /// Memory for a model.
    pub fn new(tree: &Tree) -> Self {
        let (n, nv) = (tree.bodies(), tree.dof_body.len());
        Kinematics {
            world_from_body: vec![Transform::identity(); n],
            axes: vec![Motion::zero(); nv],
            inertias: vec![SpatialInertia::zero(); n],
            origins: vec![Vec3::zero(); n],
        }
    }

    /// Poses, axes and inertias at coordinates `q`. `mocap` holds position and quaternion of every body whose
    /// pose is an input; where it is empty they stand as described.
    pub fn update(
        &mut self,
        model: &Model,
        tree: &Tree,
        index: &ParamIndex,
        params: &[T],
        (q, mocap): (&[T], &[T]),
    ) {
        for b in 1..tree.bodies() {
            let offset = match tree.mocap[b].filter(|_| !mocap.is_empty()) {
                Some(number) => {
                    let pose = &mocap[7 * number..];
                    Transform::from_quat(Quat::read(&pose[3..]).normalize(), Vec3::read(pose))
                }
                None => parent_from_body(model, index, params, b),
            };
            let mut pose = self.world_from_body[tree.parent[b]] * offset;
            let is_root = tree.root[b] == b;
            // The root's point is where its first joint leaves it: a free body's own position.
            let start = match tree.groups[b].first() {
                Some(group) if group.kind == GroupKind::Translation => Vec3::read(&q[group.q..]),
                _ => pose.translation,
            };
            let origin = if is_root { without_tangent(start) } else { self.origins[tree.parent[b]] };
            self.origins[b] = origin;
            for group in &tree.groups[b] {
                let joint = &model.joints[group.joint];
                let anchor = anchor(joint, index, params, group.joint);
                let k = group.dofs.start;
                match group.kind {
                    GroupKind::Hinge => {
                        let (axis, reference) = axis(joint, index, params, group.joint);
                        let axis = pose.direction(axis);
                        let point = pose.point(anchor);
                        let turn = rotation(axis, q[group.q] - reference);
                        pose.rotation = turn * pose.rotation;
                        pose.translation = point - pose.direction(anchor);
                        self.axes[k] = Motion::new(axis, (point - origin).cross(axis));
                    }
                    GroupKind::Slide => {
                        let (axis, reference) = axis(joint, index, params, group.joint);
                        let axis = pose.direction(axis);
                        pose.translation += axis * (q[group.q] - reference);
                        self.axes[k] = Motion::new(Vec3::zero(), axis);
                    }
                    GroupKind::Translation => {
                        pose = Transform::new(Mat3::identity(), Vec3::read(&q[group.q..]));
                        for (i, axis) in unit_vectors().into_iter().enumerate() {
                            self.axes[k + i] = Motion::new(Vec3::zero(), axis);
                        }
                    }
                    GroupKind::Ball => {
                        let point = pose.point(anchor);
                        pose.rotation = pose.rotation * Quat::read(&q[group.q..]).normalize().to_mat3();
                        pose.translation = point - pose.direction(anchor);
                        for (i, unit) in unit_vectors().into_iter().enumerate() {
                            let axis = pose.direction(unit);
                            self.axes[k + i] = Motion::new(axis, (point - origin).cross(axis));
                        }
                    }
                }
            }
            self.world_from_body[b] = pose;
            let about_origin = Transform::new(pose.rotation, pose.translation - origin);
            self.inertias[b] = about_origin.inertia(index.body(b).read(params).spatial_inertia());
        }
    }

    /// The pose of a body, seen from the point of its tree.
    #[inline(always)]
    pub(crate) fn about_point(&self, body: usize) -> Transform<T> {
        Transform::new(self.world_from_body[body].rotation, self.arm(body))
    }

    /// From the point of a body's tree to the origin of the body.
    #[inline(always)]
    pub fn arm(&self, body: usize) -> Vec3<T> {
        self.world_from_body[body].translation - self.origins[body]
    }

    /// Column k of the Jacobian of a point on a body: its velocity when only degree of freedom k moves, at
    /// unit speed.
    pub fn point_jacobian(&self, tree: &Tree, body: usize, point: Vec3<T>, columns: &mut [Vec3<T>]) {
        columns.fill(Vec3::zero());
        self.for_each_dof_above(tree, body, |k| {
            columns[k] = self.axes[k].velocity_at(point - self.origins[body]);
        });
    }

    pub(crate) fn for_each_dof_above(&self, tree: &Tree, body: usize, mut visit: impl FnMut(usize)) {
        let mut b = body;
        while b != 0 {
            for group in &tree.groups[b] {
                group.dofs.clone().for_each(&mut visit);
            }
            b = tree.parent[b];
        }
    }

    /// Total mass and its center, world frame.
    pub fn center_of_mass(&self) -> (T, Vec3<T>) {
        let (mass, moment) = self.first_moment();
        (mass, moment * mass.recip())
    }

    /// Total mass and Σ m c.
    fn first_moment(&self) -> (T, Vec3<T>) {
        let (mut mass, mut moment) = (T::zero(), Vec3::zero());
        for (inertia, origin) in self.inertias.iter().zip(&self.origins) {
            mass += inertia.mass;
            moment += inertia.first_moment + *origin * inertia.mass;
        }
        (mass, moment)
    }

    /// Potential energy in a uniform gravity field, zero at height zero.
    pub fn potential_energy(&self, gravity: Vec3<T>) -> T {
        // −g · Σ m c, which is zero where nothing has mass
        -gravity.dot(self.first_moment().1)
    }

    /// Kinetic energy of bodies that move with `velocities`.
    pub fn kinetic_energy(&self, velocities: &[Motion<T>]) -> T {
        let mut energy = T::zero();
        for (inertia, velocity) in self.inertias.iter().zip(velocities) {
            energy += inertia.kinetic_energy(*velocity);
        }
        energy
    }
}

/// The value without its derivative.
fn without_tangent<T: Real>(point: Vec3<T>) -> Vec3<T> {
    point.map(|x| T::from_parts(x.primal(), T::Primal::zero()))
}

fn unit_vectors<T: Real>() -> [Vec3<T>; 3] {
    let (o, i) = (T::zero(), T::one());
    [Vec3::new(i, o, o), Vec3::new(o, i, o), Vec3::new(o, o, i)]
}

/// Rodrigues: R = cos θ 1 + sin θ [a] + (1 − cos θ) a aᵀ, for a unit axis.
#[inline(always)]
pub(super) fn rotation<T: Real>(axis: Vec3<T>, angle: T) -> Mat3<T> {
    let (sin, cos) = angle.sin_cos();
    let swept = axis * (T::one() - cos);
    let turned = axis * sin;
    Mat3::from_rows(
        Vec3::new(swept.x * axis.x + cos, swept.x * axis.y - turned.z, swept.x * axis.z + turned.y),
        Vec3::new(swept.y * axis.x + turned.z, swept.y * axis.y + cos, swept.y * axis.z - turned.x),
        Vec3::new(swept.z * axis.x - turned.y, swept.z * axis.y + turned.x, swept.z * axis.z + cos),
    )
}
