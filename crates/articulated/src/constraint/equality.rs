//! Points and frames that are held together.
//!
//! *Connect*: r = p₁ − p₂ of a point on each body. *Weld*: also s·vec(Q) with Q = q₂* q₁ of a frame on each
//! body and s the torque scale. With w = R₂ᵀ (ω₁ − ω₂), Q̇ = ½ (0, w) Q, so a row of the rotation is
//! (s/2) vec((0, w) Q), and its rate along the motion (s/2) (vec((0, ẇ) Q) − ½ |w|² vec Q) with
//! ẇ = R₂ᵀ (α₁ − α₂ − ω₂ × ω₁).
//!
//! The reference acceleration subtracts J̇ v, so that the residual J a − a_ref holds the whole relative
//! acceleration. Its pullback goes through the accelerations of the bodies.

use pullback_math::{Force, Mat3, Motion, Quat, Real, Vec3, differentiable, select};

use super::between::Columns;
use super::cost::{Cost, MOST_ROWS};
use super::params::{ConnectParams, EqualityBlocks, WeldParams};
use super::set::{ConstraintSet, Source};
use super::softness::{Response, response, response_vjp, weight, weight_vjp};
use super::{Constrained, ConstraintBars, Fields, joints, tendon};
use crate::model::EqualityKind;

/// Row of a rotation that goes with relative angular velocity `omega`.
#[differentiable]
#[inline]
fn turning<T: Real>(q: Quat<T>, second: Mat3<T>, omega: Vec3<T>, scale: T) -> Vec3<T> {
    let w = second.transpose() * omega;
    (w * q.w + w.cross(q.vector())) * (scale * T::lit(0.5))
}

/// Second derivative of s·vec(Q).
#[differentiable]
#[inline]
fn turning_rate<T: Real>(
    q: Quat<T>,
    second: Mat3<T>,
    omega: Vec3<T>,
    omega_second: Vec3<T>,
    alpha: Vec3<T>,
    scale: T,
) -> Vec3<T> {
    let w = second.transpose() * omega;
    let rate = second.transpose() * (alpha - omega_second.cross(omega));
    let product = rate * q.w + rate.cross(q.vector());
    (product - q.vector() * (w.norm_squared() * T::lit(0.5))) * (scale * T::lit(0.5))
}

/// Acceleration of a point of a body that moves with `velocity` and `acceleration`.
#[differentiable]
#[inline]
pub(crate) fn point_acceleration<T: Real>(
    velocity: Motion<T>,
    acceleration: Motion<T>,
    point: Vec3<T>,
) -> Vec3<T> {
    acceleration.velocity_at(point) + velocity.angular.cross(velocity.velocity_at(point))
}

/// Orientation of the first frame in the second.
#[differentiable]
#[inline]
fn relative<T: Real>(first: Mat3<T>, second: Mat3<T>) -> Quat<T> {
    Quat::from_mat3(second.transpose() * first)
}

/// What is held: a point, or a frame.
#[derive(Clone, Copy)]
struct Held<T> {
    bodies: (usize, usize),
    params: WeldParams<T>,
    welded: bool,
    /// Points in the world.
    points: [Vec3<T>; 2],
    /// Orientations of the frames in the world, and of the first in the second.
    frames: [Mat3<T>; 2],
    q: Quat<T>,
    r: [T; MOST_ROWS],
    size: T,
}

impl<T: Real> Held<T> {
    fn new(at: &Constrained<'_, T>, number: usize) -> Option<Self> {
        let params = at.geoms.params;
        let (bodies, held, welded) =
            match (&at.geoms.model.equalities[number].kind, at.index.equalities[number]) {
                (EqualityKind::Connect { bodies, .. }, EqualityBlocks::Connect(block)) => {
                    let ConnectParams { first, second, softness } = block.read(params);
                    let (first_orientation, second_orientation) = (Quat::identity(), Quat::identity());
                    let torquescale = T::one();
                    let held = WeldParams {
                        first,
                        first_orientation,
                        second,
                        second_orientation,
                        torquescale,
                        softness,
                    };
                    (*bodies, held, false)
                }
                (EqualityKind::Weld { bodies, .. }, EqualityBlocks::Weld(block)) => {
                    (*bodies, block.read(params), true)
                }
                _ => return None,
            };
        let poses = bodies.map(|b| at.geoms.kinematics.world_from_body[b]);
        let points = [poses[0].point(held.first), poses[1].point(held.second)];
        let frames = [
            poses[0].rotation * held.first_orientation.normalize().to_mat3(),
            poses[1].rotation * held.second_orientation.normalize().to_mat3(),
        ];
        let q = relative(frames[0], frames[1]);
        let gap = points[0] - points[1];
        let turn = if welded { q.vector() * held.torquescale } else { Vec3::zero() };
        let r = [gap.x, gap.y, gap.z, turn.x, turn.y, turn.z];
        let size = (gap.norm_squared() + turn.norm_squared()).sqrt();
        Some(Held { bodies: (bodies[0], bodies[1]), params: held, welded, points, frames, q, r, size })
    }

    fn dim(&self) -> usize {
        if self.welded { 6 } else { 3 }
    }

    /// Rows of a relative motion: linear at the points, and angular.
    fn rows(&self, linear: Vec3<T>, angular: Vec3<T>) -> [T; MOST_ROWS] {
        let turn = if self.welded {
            turning(self.q, self.frames[1], angular, self.params.torquescale)
        } else {
            Vec3::zero()
        };
        [linear.x, linear.y, linear.z, turn.x, turn.y, turn.z]
    }

    fn arms(&self, at: &Constrained<'_, T>) -> [Vec3<T>; 2] {
        [self.points[0] - at.between.origin(self.bodies.0), self.points[1] - at.between.origin(self.bodies.1)]
    }

    /// J̇ v.
    fn bias(&self, at: &Constrained<'_, T>) -> [T; MOST_ROWS] {
        let (first, second) = self.bodies;
        let [p, q] = self.arms(at);
        let (v, a) = (at.velocities, at.bias_accelerations);
        let linear = point_acceleration(v[first], a[first], p) - point_acceleration(v[second], a[second], q);
        let turn = if self.welded {
            let omega = v[first].angular - v[second].angular;
            let alpha = a[first].angular - a[second].angular;
            turning_rate(self.q, self.frames[1], omega, v[second].angular, alpha, self.params.torquescale)
        } else {
            Vec3::zero()
        };
        [linear.x, linear.y, linear.z, turn.x, turn.y, turn.z]
    }

    /// Sums of the inverse weights of both bodies: translation and rotation.
    fn inverse_inertia(&self, at: &Constrained<'_, T>) -> [T; 2] {
        let of = |b: usize| at.index.bodies[b].map_or([T::zero(); 2], |w| w.read(at.geoms.params));
        let ([a, b], [c, d]) = (of(self.bodies.0), of(self.bodies.1));
        [a + c, b + d]
    }
}

/// Appends all equalities.
pub(super) fn push_equalities<T: Real>(at: &Constrained<'_, T>, set: &mut ConstraintSet<T>) {
    for (number, blocks) in at.index.equalities.iter().enumerate() {
        if let EqualityBlocks::Joint(block) = blocks {
            joints::push_polynomial(at, number, block.read(at.geoms.params), set);
        } else if let EqualityBlocks::Tendon(block) = blocks {
            tendon::push_polynomial(at, number, block.read(at.geoms.params), set);
        } else if let Some(held) = Held::new(at, number) {
            push_held(at, number, &held, set);
        }
    }
}

fn push_held<T: Real>(at: &Constrained<'_, T>, number: usize, held: &Held<T>, set: &mut ConstraintSet<T>) {
    let (first, second) = held.bodies;
    let dim = held.dim();
    // The points are apart, so what carries both bodies turns one about the other.
    let (source, kind, columns) = (Source::Equality(number), (Cost::Quadratic, dim), Columns::All);
    let Some(block) = at.between.push(set, source, kind, columns, (first, second)) else { return };
    let points = (held.points[0], held.points[1]);
    let rows = |motion: Motion<T>| held.rows(motion.linear, motion.angular);
    at.between.fill(set, block, columns, (first, second), points, rows);
    let Response { impedance, pull, damping } =
        response(held.params.softness, T::one(), held.size, at.shortest);
    let mut velocity = [T::zero(); MOST_ROWS];
    set.multiply(block, at.v, &mut velocity);
    let bias = held.bias(at);
    let inertia = held.inverse_inertia(at);
    let row = set.blocks[block].row;
    for i in 0..dim {
        set.position[row + i] = held.r[i];
        set.reference[row + i] = -(damping * velocity[i]) - pull * held.r[i] - bias[i];
        set.weights[block].rows[i] = weight(impedance, inertia[i / 3]);
    }
}

/// Rows of an equality along motions of the bodies; zero for one between coordinates.
pub(super) fn held_rows<T: Real>(
    at: &Constrained<'_, T>,
    number: usize,
    motions: &[Motion<T>],
) -> [T; MOST_ROWS] {
    let Some(held) = Held::new(at, number) else { return [T::zero(); MOST_ROWS] };
    let ([p, q], (first, second)) = (held.arms(at), held.bodies);
    let linear = motions[first].velocity_at(p) - motions[second].velocity_at(q);
    held.rows(linear, motions[first].angular - motions[second].angular)
}

/// Adds the forces that the rows of an equality exert on bodies; none for one between coordinates.
pub(super) fn held_wrenches<T: Real>(
    at: &Constrained<'_, T>,
    number: usize,
    f: &[T],
    forces: &mut [Force<T>],
) {
    let Some(held) = Held::new(at, number) else { return };
    let ([p, q], (first, second)) = (held.arms(at), held.bodies);
    let push = Vec3::new(f[0], f[1], f[2]);
    let mut twist = Vec3::zero();
    if held.welded {
        let (turn, scale) = (Vec3::new(f[3], f[4], f[5]), held.params.torquescale);
        twist = turning_vjp(held.q, held.frames[1], Vec3::zero(), scale, turn).2;
    }
    forces[first] += Force::new(p.cross(push) + twist, push);
    forces[second] -= Force::new(q.cross(push) + twist, push);
}

/// The pullback of an equality's rows, with y = J λ and z = C y.
pub(super) fn equality_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    (y, z): (&[T], &[T]),
    fields: &mut Fields<'_, T>,
    bars: &mut ConstraintBars<'_, T>,
) {
    let Source::Equality(number) = set.blocks[block].source else { return };
    if let EqualityBlocks::Joint(params) = at.index.equalities[number] {
        let bar = joints::polynomial_vjp(at, set, block, params.read(at.geoms.params), (y, z), bars);
        params.add(bar, bars.params);
    } else if let EqualityBlocks::Tendon(params) = at.index.equalities[number] {
        let bar = tendon::polynomial_vjp(at, set, block, params.read(at.geoms.params), (y, z), bars);
        params.add(bar, bars.params);
    } else if let Some(held) = Held::new(at, number) {
        held_vjp(at, set, block, &held, (y, z), fields, bars);
    }
}

fn held_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    held: &Held<T>,
    (y, z): (&[T], &[T]),
    fields: &mut Fields<'_, T>,
    bars: &mut ConstraintBars<'_, T>,
) {
    let b = set.blocks[block];
    let Source::Equality(number) = b.source else { return };
    let (first, second) = held.bodies;
    let params = held.params;
    let Response { impedance, pull, damping } = response(params.softness, T::one(), held.size, at.shortest);
    let rows = b.row..b.row + b.dim;

    // Weights.
    let weights = b.cost.weights_vjp(&set.residual[rows.clone()], &set.weights[block], y);
    let inertia = held.inverse_inertia(at);
    let (mut impedance_bar, mut inertia_bar) = (T::zero(), [T::zero(); 2]);
    for i in 0..b.dim {
        let (impedance, inertia) = weight_vjp(impedance, inertia[i / 3], weights.rows[i]);
        impedance_bar += impedance;
        inertia_bar[i / 3] += inertia;
    }
    for body in [first, second] {
        if let Some(block) = at.index.bodies[body] {
            block.add(inertia_bar, bars.params);
        }
    }

    // a_ref = −b J v − k d r − J̇ v
    let mut velocity = [T::zero(); MOST_ROWS];
    set.multiply(block, at.v, &mut velocity);
    let (mut pull_bar, mut damping_bar) = (T::zero(), T::zero());
    let mut r_bar = [T::zero(); MOST_ROWS];
    let mut by_field = [[T::zero(); MOST_ROWS]; 3];
    for i in 0..b.dim {
        pull_bar -= z[i] * held.r[i];
        damping_bar -= z[i] * velocity[i];
        r_bar[i] = -(z[i] * pull);
        by_field[0][i] = set.force[b.row + i];
        by_field[1][i] = -z[i];
        by_field[2][i] = -(damping * z[i]);
    }
    let bar = Response { impedance: impedance_bar, pull: pull_bar, damping: damping_bar };
    let (softness, _, size_bar, ()) = response_vjp(params.softness, T::one(), held.size, at.shortest, bar);
    let still = held.size.le(T::zero());
    let per_size = select(still, T::zero(), size_bar / select(still, T::one(), held.size));
    for i in 0..b.dim {
        r_bar[i] += per_size * held.r[i];
    }
    let three = |x: &[T; MOST_ROWS], i: usize| Vec3::new(x[i], x[i + 1], x[i + 2]);

    // Positions: r = p₁ − p₂, and s vec(Q).
    let mut point_bars = [three(&r_bar, 0), -three(&r_bar, 0)];
    let mut q_bar = Quat::zero();
    let mut frame_bars = [Mat3::zero(); 2];
    let mut scale_bar = T::zero();
    if held.welded {
        let turn_bar = three(&r_bar, 3);
        q_bar += Quat::from_parts(T::zero(), turn_bar * params.torquescale);
        scale_bar += held.q.vector().dot(turn_bar);
    }

    // Motions λ and v.
    let arms = held.arms(at);
    for field in [0, 2] {
        let row_bars = &by_field[field];
        let (motion, motion_bars) = fields.get(field, at, bars);
        let push = three(row_bars, 0);
        let mut twist = Vec3::zero();
        if held.welded {
            let omega = motion[first].angular - motion[second].angular;
            let (q, frame, omega_bar, scale) =
                turning_vjp(held.q, held.frames[1], omega, params.torquescale, three(row_bars, 3));
            q_bar += q;
            frame_bars[1] += frame;
            scale_bar += scale;
            twist = omega_bar;
        }
        // F·(ω × δp) = δp·(F × ω)
        point_bars[0] += push.cross(motion[first].angular);
        point_bars[1] -= push.cross(motion[second].angular);
        motion_bars[first] += Force::new(arms[0].cross(push) + twist, push);
        motion_bars[second] -= Force::new(arms[1].cross(push) + twist, push);
    }

    // The whole acceleration, J a + J̇ v, of bodies that accelerate by a.
    let pushes = [three(&by_field[1], 0), -three(&by_field[1], 0)];
    for (i, body) in [first, second].into_iter().enumerate() {
        let acceleration = at.bias_accelerations[body] + fields.accelerations[body];
        let (v, a, point) = point_acceleration_vjp(at.velocities[body], acceleration, arms[i], pushes[i]);
        bars.velocities[body] += Force::new(v.angular, v.linear);
        bars.body_accelerations[body] += Force::new(a.angular, a.linear);
        point_bars[i] += point;
    }
    if held.welded {
        let of = |b: usize| (at.bias_accelerations[b] + fields.accelerations[b]).angular;
        let (v1, v2) = (at.velocities[first].angular, at.velocities[second].angular);
        let (q, frame, omega, omega_second, alpha, scale) = turning_rate_vjp(
            held.q,
            held.frames[1],
            v1 - v2,
            v2,
            of(first) - of(second),
            params.torquescale,
            three(&by_field[1], 3),
        );
        q_bar += q;
        frame_bars[1] += frame;
        scale_bar += scale;
        let spin = |x: Vec3<T>| Force::new(x, Vec3::zero());
        bars.velocities[first] += spin(omega);
        bars.velocities[second] += spin(omega_second - omega);
        bars.body_accelerations[first] += spin(alpha);
        bars.body_accelerations[second] -= spin(alpha);
        let (one, two) = relative_vjp(held.frames[0], held.frames[1], q_bar);
        frame_bars[0] += one;
        frame_bars[1] += two;
    }

    // Poses of the bodies, and where the frames are in them.
    let mut local = [(Vec3::zero(), Quat::zero()); 2];
    let locals = [(params.first, params.first_orientation), (params.second, params.second_orientation)];
    for (i, body) in [first, second].into_iter().enumerate() {
        let pose = at.geoms.kinematics.world_from_body[body];
        let mut wrench = Force::at_point(point_bars[i], arms[i]);
        for axis in 0..3 {
            wrench.moment += held.frames[i].col(axis).cross(frame_bars[i].col(axis));
        }
        bars.wrenches[body] += wrench;
        let (_, orientation) = locals[i];
        let turned = pose.rotation.transpose() * frame_bars[i];
        let unit_bar = orientation.normalize().to_mat3_vjp(turned);
        local[i] = (pose.rotation.transpose() * point_bars[i], orientation.normalize_vjp(unit_bar));
    }
    let [(first, first_orientation), (second, second_orientation)] = local;
    add_params(
        at,
        number,
        WeldParams { first, first_orientation, second, second_orientation, torquescale: scale_bar, softness },
        bars.params,
    );
}

fn add_params<T: Real>(at: &Constrained<'_, T>, number: usize, bar: WeldParams<T>, params_bar: &mut [T]) {
    let WeldParams { first, second, softness, .. } = bar;
    match at.index.equalities[number] {
        EqualityBlocks::Connect(block) => block.add(ConnectParams { first, second, softness }, params_bar),
        EqualityBlocks::Weld(block) => block.add(bar, params_bar),
        EqualityBlocks::Joint(_) | EqualityBlocks::Tendon(_) => {}
    }
}
