//! Generalized forces that joints and actuators make, and their pullback.
//!
//! - Damping: −c v on every velocity.
//! - Springs: −k (q − q_rest); for ball and free joints, −k times the rotation vector from rest and the
//!   displacement.
//! - Limits, under the penalty model: k·d − c·d·v where a coordinate is d beyond its range. The force is
//!   continuous, so gradients converge. Under the convex model limits are constraints.
//! - Actuators: gear·(gain·u + bias₀ + bias₁·length + bias₂·velocity), control and force clamped to their
//!   ranges. The length is gear·q of a hinge or slide, gear·(rotation vector) of a ball joint, and 0 of a
//!   free joint, as in MuJoCo.

use pullback_core::Point;
use pullback_math::{Flat, Quat, Real, Vec3, differentiable, select};

use super::dynamics::ArticulatedWorkspace;
use super::field::Articulated;
use super::kinematic_params::{BodyPose, body_pose};
use super::model::{Actuator, ActuatorTarget, Joint, JointKind, Model};
use super::params::{ActuatorBlocks, ActuatorParams, JointParams, JointRange, LimitSpring, ParamIndex};

/// Force of a limited hinge or slide at `q`, moving with `v`.
#[differentiable]
#[inline(always)]
fn limit_force<T: Real>(q: T, v: T, spring: LimitSpring<T>, range: JointRange<T>) -> T {
    let below = (range.lower - q).max(T::zero());
    let above = (q - range.upper).max(T::zero());
    spring.stiffness * (below - above) - spring.damping * (below + above) * v
}

/// Force of an actuator before its gear.
#[differentiable]
#[inline(always)]
fn actuator_force<T: Real>(
    control: T,
    length: T,
    velocity: T,
    params: ActuatorParams<T>,
    #[constant] control_range: (T, T),
    #[constant] force_range: (T, T),
) -> T {
    let u = control.max(control_range.0).min(control_range.1);
    let [constant, by_length, by_velocity] = params.bias;
    let force = params.gain * u + constant + by_length * length + by_velocity * velocity;
    force.max(force_range.0).min(force_range.1)
}

/// The rotation vector that turns `rest` into `q`, in the frame of `rest`.
#[differentiable]
#[inline(always)]
fn rotation_from<T: Real>(q: Quat<T>, rest: Quat<T>) -> Vec3<T> {
    let turn = rest.normalize().conjugate() * q.normalize();
    turn.log()
}

/// The rotation vector of a ball joint, by which actuators measure its length.
#[differentiable]
#[inline(always)]
fn rotation_of<T: Real>(q: Quat<T>) -> Vec3<T> {
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
                    tau[joint.v] += limit_force(q, v, spring.read(params), range.read(params));
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

/// The forces of all actuators (`qfrc_actuator`): their sum on each joint, clamped to the joint's range.
pub fn actuator_forces<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    (q, v, control): (&[T], &[T], &[T]),
    tau: &mut [T],
) {
    tau.fill(T::zero());
    for (a, actuator) in model.actuators.iter().enumerate() {
        let at = Transmission::new(model, actuator, &index.actuators[a], params, (q, v));
        let force = at.force(control[a]);
        for (k, gear) in at.dofs.zip(at.gear) {
            tau[k] += *gear * force;
        }
    }
    for joint in &model.joints {
        if let Some((low, high)) = joint.actuator_force_range {
            tau[joint.v] = tau[joint.v].max(T::lit(low)).min(T::lit(high));
        }
    }
}

impl Articulated {
    /// The force of each actuator before its gear (`actuator_force`), at the state last evaluated.
    pub fn actuator_force<T: Real>(&self, ws: &ArticulatedWorkspace<T>, at: Point<'_, T>) -> Vec<T> {
        let state = if self.coupling.is_some() { &ws.coupled.state } else { at.state };
        let (q, v) = state.split_at(self.model.nq);
        let force = |(a, actuator)| {
            let blocks = &self.index.actuators[a];
            Transmission::new(&self.model, actuator, blocks, at.params, (q, v)).force(at.control[a])
        };
        self.model.actuators.iter().enumerate().map(force).collect()
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
                    let (q, v, spring_bar, range_bar) =
                        limit_force_vjp(q, v, spring.read(params), range.read(params), bar);
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

/// The pullback of [`actuator_forces`], which gave `tau`, with cotangent `tau_bar`: *adds* to the cotangents
/// of coordinates, velocities, controls and parameters. `tau_bar` becomes that of the sums before they were
/// clamped.
pub fn actuator_forces_vjp<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    (q, v, control): (&[T], &[T], &[T]),
    (tau, tau_bar): (&[T], &mut [T]),
    (q_bar, v_bar, control_bar): (&mut [T], &mut [T], &mut [T]),
    params_bar: &mut [T],
) {
    for joint in &model.joints {
        if let Some((low, high)) = joint.actuator_force_range {
            let inside = tau[joint.v].gt(T::lit(low)) & tau[joint.v].lt(T::lit(high));
            tau_bar[joint.v] = select(inside, tau_bar[joint.v], T::zero());
        }
    }
    for (a, actuator) in model.actuators.iter().enumerate() {
        let blocks = &index.actuators[a];
        let at = Transmission::new(model, actuator, blocks, params, (q, v));
        let force = at.force(control[a]);
        let mut force_bar = T::zero();
        for ((k, gear), gear_bar) in at.dofs.clone().zip(at.gear).zip(&mut params_bar[blocks.gear.clone()]) {
            force_bar += tau_bar[k] * *gear;
            *gear_bar += tau_bar[k] * force;
        }
        let (u, length, velocity, actuator_bar, (), ()) = at.force_vjp(control[a], force_bar);
        control_bar[a] += u;
        blocks.params.add(actuator_bar, params_bar);
        let gear_bar = &mut params_bar[blocks.gear.clone()];
        for ((k, gear), gear_bar) in at.dofs.clone().zip(at.gear).zip(gear_bar.iter_mut()) {
            v_bar[k] += velocity * *gear;
            *gear_bar += velocity * v[k];
        }
        match at.length_source {
            LengthSource::Nothing => {}
            LengthSource::Coordinate(x) => {
                q_bar[x] += length * at.gear[0];
                gear_bar[0] += length * q[x];
            }
            LengthSource::Rotation(x) => {
                // length = gear · log q
                let ball = Quat::read(&q[x..]);
                (rotation_of(ball) * length).add_to(gear_bar);
                rotation_of_vjp(ball, Vec3::read(at.gear) * length).add_to(&mut q_bar[x..]);
            }
        }
    }
}

/// What the length of an actuator is measured by, and where that begins among the coordinates.
#[derive(Clone, Copy)]
enum LengthSource {
    /// The coordinate of a hinge or slide.
    Coordinate(usize),
    /// The rotation vector of a ball joint.
    Rotation(usize),
    /// A free joint has no length.
    Nothing,
}

/// An actuator at work: where it acts, and with what.
struct Transmission<'a, T> {
    dofs: std::ops::Range<usize>,
    length_source: LengthSource,
    gear: &'a [T],
    params: ActuatorParams<T>,
    length: T,
    velocity: T,
    control_range: (T, T),
    force_range: (T, T),
}

impl<'a, T: Real> Transmission<'a, T> {
    fn new(
        model: &Model,
        actuator: &Actuator,
        blocks: &ActuatorBlocks,
        params: &'a [T],
        (q, v): (&[T], &[T]),
    ) -> Self {
        let ActuatorTarget::Joint(target) = actuator.target;
        let joint = &model.joints[target];
        let dofs = joint.v..joint.v + joint.kind.velocities();
        let gear = &params[blocks.gear.clone()];
        let (length_source, length) = match joint.kind {
            JointKind::Hinge | JointKind::Slide => (LengthSource::Coordinate(joint.q), gear[0] * q[joint.q]),
            JointKind::Ball => {
                let turn = rotation_of(Quat::read(&q[joint.q..]));
                (LengthSource::Rotation(joint.q), Vec3::read(gear).dot(turn))
            }
            JointKind::Free => (LengthSource::Nothing, T::zero()),
        };
        let mut velocity = T::zero();
        for (k, gear) in dofs.clone().zip(gear) {
            velocity += *gear * v[k];
        }
        let range = |r: Option<(f64, f64)>| {
            let (low, high) = r.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            (T::lit(low), T::lit(high))
        };
        Transmission {
            length_source,
            gear,
            params: blocks.params.read(params),
            length,
            velocity,
            control_range: range(actuator.control_range),
            force_range: range(actuator.force_range),
            dofs,
        }
    }

    fn force(&self, control: T) -> T {
        let Transmission { length, velocity, params, control_range, force_range, .. } = *self;
        actuator_force(control, length, velocity, params, control_range, force_range)
    }

    /// Slope of the force over velocity; zero at the ends of the force range.
    fn velocity_slope(&self, control: T) -> T {
        let force = self.force(control);
        let inside = force.gt(self.force_range.0) & force.lt(self.force_range.1);
        select(inside, self.params.bias[2], T::zero())
    }

    fn force_vjp(&self, control: T, bar: T) -> (T, T, T, ActuatorParams<T>, (), ()) {
        let Transmission { length, velocity, params, control_range, force_range, .. } = *self;
        actuator_force_vjp(control, length, velocity, params, control_range, force_range, bar)
    }
}

/// Visits ∂τ_i/∂v_j of all actuators: gear_i · bias₂ · gear_j, and nothing of those at the ends of their force
/// range.
pub(super) fn velocity_gains<T: Real>(
    robot: &Articulated,
    params: &[T],
    (q, v, control): (&[T], &[T], &[T]),
    mut visit: impl FnMut(usize, usize, T),
) {
    for (a, actuator) in robot.model.actuators.iter().enumerate() {
        let at = Transmission::new(&robot.model, actuator, &robot.index.actuators[a], params, (q, v));
        let slope = at.velocity_slope(control[a]);
        for (i, x) in at.dofs.clone().zip(at.gear) {
            for (j, y) in at.dofs.clone().zip(at.gear) {
                visit(i, j, *x * slope * *y);
            }
        }
    }
}

/// The pullback of h μᵀ (∂τ/∂v) w: *adds* to the parameters.
pub(super) fn velocity_gains_vjp<T: Real>(
    robot: &Articulated,
    params: &[T],
    (q, v, control): (&[T], &[T], &[T]),
    h: T,
    (mu, w): (&[T], &[T]),
    params_bar: &mut [T],
) {
    for (a, actuator) in robot.model.actuators.iter().enumerate() {
        let blocks = &robot.index.actuators[a];
        let at = Transmission::new(&robot.model, actuator, blocks, params, (q, v));
        let slope = at.velocity_slope(control[a]);
        let (mut left, mut right) = (T::zero(), T::zero());
        for (k, gear) in at.dofs.clone().zip(at.gear) {
            left += *gear * mu[k];
            right += *gear * w[k];
        }
        let acts = slope.lt(T::zero()) | slope.gt(T::zero());
        let mut bar = ActuatorParams::default();
        bar.bias[2] = select(acts, h * left * right, T::zero());
        blocks.params.add(bar, params_bar);
        for (k, bar) in at.dofs.clone().zip(&mut params_bar[blocks.gear.clone()]) {
            *bar += h * slope * (mu[k] * right + left * w[k]);
        }
    }
}

/// Whether a hinge or slide has limits that act, and so a range among its parameters.
pub(super) fn has_range(model: &Model, joint: &Joint) -> bool {
    let directed = matches!(joint.kind, JointKind::Hinge | JointKind::Slide);
    directed && model.options.limits && joint.range.is_some()
}

/// Orientation, orientation at rest, and displacement of a free joint.
fn rest_of<T: Real>(
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
