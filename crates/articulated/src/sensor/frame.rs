//! Frames that move with bodies: where they are, how they move, and what acts on them.

use pullback_math::{Cotangent, Flat, Force, Motion, MulVjp, Quat, Real, Transform, Vec3, differentiable};

use super::{Sensed, SensorBars};
use crate::contact::pose_wrench;
use crate::field::Articulated;
use crate::kinematic_params::{axis, body_pose};
use crate::model::{FrameObject, FrameQuantity, SiteQuantity};
use crate::params::{BodyParams, GeomParams};
use crate::tree::GroupKind;

/// A frame in motion, about the point of its body's tree.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub(super) struct FrameState<T> {
    pub pose: Transform<T>,
    pub velocity: Motion<T>,
    /// Against free fall.
    pub acceleration: Motion<T>,
    /// What the parent exerts on the body and everything beyond.
    pub force: Force<T>,
}

impl<T: Real> FrameState<T> {
    /// The cotangent of a pose alone.
    pub fn of_pose(pose: Transform<T>) -> Self {
        FrameState { pose, velocity: Motion::zero(), acceleration: Motion::zero(), force: Force::zero() }
    }
}

/// Acceleration of the origin of a frame.
#[differentiable]
#[inline]
fn origin_acceleration<T: Real>(frame: FrameState<T>) -> Vec3<T> {
    let point = frame.pose.translation;
    frame.acceleration.velocity_at(point) + frame.velocity.angular.cross(frame.velocity.velocity_at(point))
}

/// A quantity of a frame in the world; `origin` is the point of its tree.
#[differentiable]
fn in_world<T: Real>(
    frame: FrameState<T>,
    #[constant] origin: Vec3<T>,
    #[constant] what: FrameQuantity,
) -> Vec3<T> {
    if what == FrameQuantity::Position {
        frame.pose.translation + origin
    } else if what == FrameQuantity::Axis(0) {
        frame.pose.rotation.c0
    } else if what == FrameQuantity::Axis(1) {
        frame.pose.rotation.c1
    } else if what == FrameQuantity::Axis(2) {
        frame.pose.rotation.c2
    } else if what == FrameQuantity::LinearVelocity {
        frame.velocity.velocity_at(frame.pose.translation)
    } else if what == FrameQuantity::AngularVelocity {
        frame.velocity.angular
    } else if what == FrameQuantity::LinearAcceleration {
        origin_acceleration(frame)
    } else {
        frame.acceleration.angular
    }
}

/// A quantity of a frame as seen from another that moves.
#[differentiable]
fn in_frame<T: Real>(
    frame: FrameState<T>,
    reference: FrameState<T>,
    #[constant] origins: (Vec3<T>, Vec3<T>),
    #[constant] what: FrameQuantity,
) -> Vec3<T> {
    let seen = in_world(frame, origins.0, what);
    let relative = if what == FrameQuantity::Position {
        seen - in_world(reference, origins.1, what)
    } else if what == FrameQuantity::LinearVelocity {
        let apart = in_world(frame, origins.0, FrameQuantity::Position)
            - in_world(reference, origins.1, FrameQuantity::Position);
        seen - in_world(reference, origins.1, what) - reference.velocity.angular.cross(apart)
    } else if what == FrameQuantity::AngularVelocity {
        seen - reference.velocity.angular
    } else {
        seen
    };
    reference.pose.inverse_direction(relative)
}

/// A quantity at a site, in its frame.
#[differentiable]
fn at_site<T: Real>(frame: FrameState<T>, field: Vec3<T>, #[constant] what: SiteQuantity) -> Vec3<T> {
    if what == SiteQuantity::Gyro {
        frame.pose.inverse_direction(frame.velocity.angular)
    } else if what == SiteQuantity::Velocimeter {
        frame.pose.inverse_motion(frame.velocity).linear
    } else if what == SiteQuantity::Accelerometer {
        frame.pose.inverse_direction(origin_acceleration(frame))
    } else if what == SiteQuantity::Magnetometer {
        frame.pose.inverse_direction(field)
    } else if what == SiteQuantity::Force {
        frame.pose.inverse_force(frame.force).force
    } else {
        frame.pose.inverse_force(frame.force).moment
    }
}

/// Whether a quantity of a frame needs accelerations.
pub(super) fn needs_dynamics(what: FrameQuantity) -> bool {
    matches!(what, FrameQuantity::LinearAcceleration | FrameQuantity::AngularAcceleration)
}

impl<T: Real> Sensed<'_, T> {
    /// The body of a frame.
    fn body_of(&self, object: FrameObject) -> usize {
        match object {
            FrameObject::Inertial(body) | FrameObject::Body(body) => body,
            FrameObject::Geom(geom) => self.robot.model.geoms[geom].body,
            FrameObject::Site(site) => self.robot.model.sites[site].body,
        }
    }

    /// Position and orientation of a frame in its body, the orientation as given.
    fn local(&self, object: FrameObject) -> (Vec3<T>, Quat<T>) {
        let model = &self.robot.model;
        let fixed = |position: Vec3<f64>, o: Quat<f64>| {
            (position.map(T::lit), Quat::new(T::lit(o.w), T::lit(o.x), T::lit(o.y), T::lit(o.z)))
        };
        match object {
            FrameObject::Body(_) => (Vec3::zero(), Quat::identity()),
            FrameObject::Inertial(0) => (Vec3::zero(), Quat::identity()),
            FrameObject::Inertial(body) => {
                let (_, orientation) = fixed(Vec3::zero(), model.bodies[body].inertial_orientation);
                (self.robot.index.body(body).read(self.params).com, orientation)
            }
            FrameObject::Geom(geom) => match self.robot.index.geoms.get(geom) {
                Some(block) => {
                    let GeomParams { position, orientation, .. } = block.read(self.params);
                    (position, orientation)
                }
                None => fixed(model.geoms[geom].position, model.geoms[geom].orientation),
            },
            FrameObject::Site(site) => fixed(model.sites[site].position, model.sites[site].orientation),
        }
    }

    /// Whether nothing moves a body; as in MuJoCo it then reads no acceleration, not even that against free fall.
    fn stands(&self, mut body: usize) -> bool {
        let tree = &self.robot.tree;
        while body != 0 && tree.groups[body].is_empty() {
            body = tree.parent[body];
        }
        body == 0
    }

    pub(super) fn frame(&self, object: FrameObject) -> FrameState<T> {
        let body = self.body_of(object);
        let (position, orientation) = self.local(object);
        FrameState {
            pose: self.kinematics.about_point(body) * Transform::from_quat(orientation.normalize(), position),
            velocity: self.velocities[body],
            acceleration: match self.accelerations.get(body) {
                Some(acceleration) if !self.stands(body) => *acceleration,
                _ => Motion::zero(),
            },
            force: self.forces.get(body).copied().unwrap_or(Force::zero()),
        }
    }

    /// The pullback of [`Sensed::frame`]: *adds* to `bars`.
    pub(super) fn frame_vjp(&self, object: FrameObject, bar: FrameState<T>, bars: &mut SensorBars<'_, T>) {
        let body = self.body_of(object);
        let as_force = |m: Motion<T>| Force::new(m.angular, m.linear);
        bars.velocities[body] += as_force(bar.velocity);
        if self.accelerates {
            if !self.stands(body) {
                bars.accelerations[body] += as_force(bar.acceleration);
            }
            bars.forces[body] += Motion::new(bar.force.moment, bar.force.force);
        }
        let (position, orientation) = self.local(object);
        let unit = orientation.normalize();
        let (body_bar, local_bar) =
            self.kinematics.about_point(body).mul_vjp(Transform::from_quat(unit, position), bar.pose);
        let (pose, origin) = (self.kinematics.world_from_body[body], self.kinematics.origins[body]);
        bars.wrenches[body] += pose_wrench(pose, body_bar, origin);
        let (unit_bar, position) = Transform::from_quat_vjp(unit, position, local_bar);
        match object {
            FrameObject::Geom(geom) => {
                if let Some(block) = self.robot.index.geoms.get(geom) {
                    let orientation = orientation.normalize_vjp(unit_bar);
                    let bar = GeomParams { size: Vec3::zero(), position, orientation, friction: T::zero() };
                    block.add(bar, bars.params);
                }
            }
            FrameObject::Inertial(body) if body > 0 => {
                let none = pullback_math::SymMat3::zero();
                let bar = BodyParams { mass: T::zero(), com: position, inertia: none };
                self.robot.index.body(body).add(bar, bars.params);
            }
            FrameObject::Inertial(_) | FrameObject::Body(_) | FrameObject::Site(_) => {}
        }
    }

    fn origin(&self, object: FrameObject) -> Vec3<T> {
        self.kinematics.origins[self.body_of(object)]
    }

    /// A quantity of a frame other than its orientation.
    pub(super) fn frame_value(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
        what: FrameQuantity,
    ) -> Vec3<T> {
        match reference {
            None => in_world(self.frame(object), self.origin(object), what),
            Some(other) => {
                let origins = (self.origin(object), self.origin(other));
                in_frame(self.frame(object), self.frame(other), origins, what)
            }
        }
    }

    /// The pullback of [`Sensed::frame_value`]: *adds* to `bars`.
    pub(super) fn frame_value_vjp(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
        what: FrameQuantity,
        bar: Vec3<T>,
        bars: &mut SensorBars<'_, T>,
    ) {
        match reference {
            None => {
                let (frame_bar, (), ()) = in_world_vjp(self.frame(object), self.origin(object), what, bar);
                self.frame_vjp(object, frame_bar, bars);
            }
            Some(other) => {
                let origins = (self.origin(object), self.origin(other));
                let (frame_bar, other_bar, (), ()) =
                    in_frame_vjp(self.frame(object), self.frame(other), origins, what, bar);
                self.frame_vjp(object, frame_bar, bars);
                self.frame_vjp(other, other_bar, bars);
            }
        }
    }

    /// Orientation of a frame in the world, with the sign that products along the chain give it.
    fn orientation(&self, object: FrameObject) -> Quat<T> {
        self.orientations[self.body_of(object)] * self.local(object).1.normalize()
    }

    /// Orientation of a frame, in the world or in another.
    pub(super) fn frame_orientation(&self, object: FrameObject, reference: Option<FrameObject>) -> Quat<T> {
        let seen = self.orientation(object);
        reference.map_or(seen, |other| self.orientation(other).conjugate() * seen)
    }

    /// The pullback of [`Sensed::frame_orientation`]: *adds* to `bars`.
    pub(super) fn frame_orientation_vjp(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
        bar: Quat<T>,
        bars: &mut SensorBars<'_, T>,
    ) {
        let mut seen_bar = bar;
        if let Some(other) = reference {
            let (seen, from) = (self.orientation(object), self.orientation(other));
            let (conjugate_bar, own) = from.conjugate().mul_vjp(seen, bar);
            seen_bar = own;
            self.orientation_vjp(other, conjugate_bar.conjugate(), bars);
        }
        self.orientation_vjp(object, seen_bar, bars);
    }

    fn orientation_vjp(&self, object: FrameObject, bar: Quat<T>, bars: &mut SensorBars<'_, T>) {
        let body = self.body_of(object);
        let (outer, (_, given)) = (self.orientations[body], self.local(object));
        let (outer_bar, unit_bar) = outer.mul_vjp(given.normalize(), bar);
        // δq = ½ δφ ⊗ q for turns δφ on the left
        let turn = (outer_bar * outer.conjugate()).vector() * T::lit(0.5);
        bars.wrenches[body] += Force::new(turn, Vec3::zero());
        if let FrameObject::Geom(geom) = object
            && let Some(block) = self.robot.index.geoms.get(geom)
        {
            let orientation = given.normalize_vjp(unit_bar);
            let (size, position) = (Vec3::zero(), Vec3::zero());
            block.add(GeomParams { size, position, orientation, friction: T::zero() }, bars.params);
        }
    }

    /// A quantity at a site, in its frame.
    pub(super) fn site_value(&self, site: usize, what: SiteQuantity) -> Vec3<T> {
        let field = self.robot.model.options.magnetic.map(T::lit);
        at_site(self.frame(FrameObject::Site(site)), field, what)
    }

    /// The pullback of [`Sensed::site_value`]: *adds* to `bars`.
    pub(super) fn site_value_vjp(
        &self,
        site: usize,
        what: SiteQuantity,
        bar: Vec3<T>,
        bars: &mut SensorBars<'_, T>,
    ) {
        let object = FrameObject::Site(site);
        let field = self.robot.model.options.magnetic.map(T::lit);
        let (frame_bar, _, ()) = at_site_vjp(self.frame(object), field, what, bar);
        self.frame_vjp(object, frame_bar, bars);
    }
}

/// Orientation of every body as the product of those along its chain, so that signs do not jump.
pub(super) fn body_orientations<T: Real>(
    robot: &Articulated,
    params: &[T],
    (q, mocap): (&[T], &[T]),
    out: &mut [Quat<T>],
) {
    let (model, tree, index) = (&robot.model, &robot.tree, &robot.index);
    for b in 1..tree.bodies() {
        let mut orientation = match tree.mocap[b].filter(|_| !mocap.is_empty()) {
            Some(number) => Quat::read(&mocap[7 * number + 3..]).normalize(),
            None => out[tree.parent[b]] * body_pose(&model.bodies[b], index, params, b).1.normalize(),
        };
        for group in &tree.groups[b] {
            let joint = &model.joints[group.joint];
            match group.kind {
                GroupKind::Hinge => {
                    let (axis, reference) = axis(joint, index, params, group.joint);
                    orientation = orientation * Quat::from_axis_angle(axis, q[group.q] - reference);
                }
                GroupKind::Slide => {}
                // A free joint places its body in the world.
                GroupKind::Translation => orientation = Quat::identity(),
                GroupKind::Ball => orientation = orientation * Quat::read(&q[group.q..]).normalize(),
            }
        }
        out[b] = orientation;
    }
}
