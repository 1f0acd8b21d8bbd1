//! Transmissions: length and velocity that an actuator sees, and the generalized force that its force makes.

use pullback_math::{Flat, Quat, Real, Vec3, differentiable};

use super::{ActuatorBars, ActuatorBlocks, ActuatorInputs};
use crate::joint_forces::{rotation_of, rotation_of_vjp};
use crate::model::{Actuator, JointKind, Model, Transmission};
use crate::tendon::TendonState;
use crate::tendon::span::SpanBuilder;

/// What an actuator's force acts along.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line {
    /// The degrees of freedom of a joint.
    Joint {
        kind: JointKind,
        /// First coordinate and velocity.
        q: usize,
        v: usize,
        /// Whether the gear of rotations is in the frame of the parent.
        in_parent: bool,
    },
    /// A tendon, times a gear.
    Tendon(usize),
    /// A span, times a gear if it is `scaled`.
    Span { span: usize, scaled: bool },
}

/// The span of an actuator that has one of its own.
pub(crate) fn span_of(
    model: &Model,
    actuator: &Actuator,
    blocks: &ActuatorBlocks,
    builder: &mut SpanBuilder,
) -> Option<usize> {
    match actuator.transmission {
        Transmission::Site { site, reference: None } => {
            Some(builder.wrench(model, site, blocks.gear.clone()))
        }
        Transmission::Site { site, reference: Some(other) } => {
            Some(builder.relative(model, site, other, blocks.gear.clone()))
        }
        Transmission::SliderCrank { crank, slider, .. } => {
            blocks.rod.map(|rod| builder.crank(model, crank, slider, rod))
        }
        Transmission::Body(body) => Some(builder.adhesive(model, body)),
        _ => None,
    }
}

impl Line {
    /// What an actuator acts along, given its span.
    pub fn new(model: &Model, actuator: &Actuator, span: Option<usize>) -> Self {
        let joint = |j: usize, in_parent: bool| {
            let joint = &model.joints[j];
            Line::Joint { kind: joint.kind, q: joint.q, v: joint.v, in_parent }
        };
        match (actuator.transmission, span) {
            (Transmission::Joint(j), _) => joint(j, false),
            (Transmission::JointInParent(j), _) => joint(j, true),
            (Transmission::Tendon(t), _) => Line::Tendon(t),
            (Transmission::SliderCrank { .. }, Some(span)) => Line::Span { span, scaled: true },
            (_, Some(span)) => Line::Span { span, scaled: false },
            (_, None) => unreachable!("every transmission but joint and tendon has a span"),
        }
    }
}

/// A gear of the parent's frame in that of the child.
#[differentiable]
#[inline(always)]
fn child_gear<T: Real>(q: Quat<T>, gear: Vec3<T>) -> Vec3<T> {
    let turn = q.normalize();
    turn.inverse_rotate(gear)
}

/// The moment of a joint transmission: entries of the generalized force per unit of force.
fn joint_moment<T: Real>(kind: JointKind, in_parent: bool, q: &[T], gear: &[T]) -> [T; 6] {
    let mut moment = [T::zero(); 6];
    moment[..kind.velocities()].copy_from_slice(&gear[..kind.velocities()]);
    if let (true, Some(at)) = (in_parent, rotation_at(kind)) {
        child_gear(Quat::read(&q[at.0..]), Vec3::read(&gear[at.1..])).write(&mut moment[at.1..]);
    }
    moment
}

/// First coordinate and velocity of a joint's rotation.
fn rotation_at(kind: JointKind) -> Option<(usize, usize)> {
    match kind {
        JointKind::Ball => Some((0, 0)),
        JointKind::Free => Some((3, 3)),
        JointKind::Hinge | JointKind::Slide => None,
    }
}

/// The pullback of [`joint_moment`].
fn joint_moment_vjp<T: Real>(
    (kind, in_parent): (JointKind, bool),
    q: &[T],
    gear: &[T],
    moment_bar: [T; 6],
    q_bar: &mut [T],
    gear_bar: &mut [T],
) {
    let turned = if in_parent { rotation_at(kind) } else { None };
    let plain = turned.map_or(kind.velocities(), |at| at.1);
    for (bar, x) in gear_bar[..plain].iter_mut().zip(&moment_bar) {
        *bar += *x;
    }
    if let Some((at, v)) = turned {
        let bar = Vec3::read(&moment_bar[v..]);
        let (turn_bar, g_bar) = child_gear_vjp(Quat::read(&q[at..]), Vec3::read(&gear[v..]), bar);
        turn_bar.add_to(&mut q_bar[at..]);
        g_bar.add_to(&mut gear_bar[v..]);
    }
}

/// Length and velocity that an actuator sees.
pub(super) fn length_and_velocity<T: Real>(
    at: &ActuatorInputs<'_, T>,
    a: usize,
    tendons: &TendonState<T>,
) -> (T, T) {
    let gear = &at.tendons.params[at.robot.index.actuators[a].gear.clone()];
    match at.robot.lines[a] {
        Line::Tendon(t) => (gear[0] * tendons.length[t], gear[0] * tendons.velocity[t]),
        Line::Span { span, scaled } => {
            let scale = if scaled { gear[0] } else { T::one() };
            (scale * tendons.spans.length[span], scale * tendons.spans.velocity[span])
        }
        Line::Joint { kind, q, v, in_parent } => {
            let moment = joint_moment(kind, in_parent, &at.tendons.q[q..], gear);
            let length = match kind {
                JointKind::Hinge | JointKind::Slide => gear[0] * at.tendons.q[q],
                JointKind::Ball => Vec3::read(&moment).dot(rotation_of(Quat::read(&at.tendons.q[q..]))),
                JointKind::Free => T::zero(),
            };
            let mut velocity = T::zero();
            for (m, v) in moment.iter().zip(&at.tendons.v[v..v + kind.velocities()]) {
                velocity += *m * *v;
            }
            (length, velocity)
        }
    }
}

/// The pullback of [`length_and_velocity`].
pub(super) fn length_and_velocity_vjp<T: Real>(
    at: &ActuatorInputs<'_, T>,
    a: usize,
    (length_bar, velocity_bar): (T, T),
    tendons: &mut TendonState<T>,
    bars: &mut ActuatorBars<'_, T>,
) {
    let place = at.robot.index.actuators[a].gear.clone();
    let gear = &at.tendons.params[place.clone()];
    let gear_bar = &mut bars.params[place];
    match at.robot.lines[a] {
        Line::Tendon(t) => {
            gear_bar[0] += length_bar * tendons.length[t] + velocity_bar * tendons.velocity[t];
            tendons.bars.length[t] += length_bar * gear[0];
            tendons.bars.velocity[t] += velocity_bar * gear[0];
        }
        Line::Span { span, scaled } => {
            let scale = if scaled { gear[0] } else { T::one() };
            if scaled {
                let (length, velocity) = (tendons.spans.length[span], tendons.spans.velocity[span]);
                gear_bar[0] += length_bar * length + velocity_bar * velocity;
            }
            tendons.bars.spans.length[span] += length_bar * scale;
            tendons.bars.span_velocity[span] += velocity_bar * scale;
        }
        Line::Joint { kind, q, v, in_parent } => {
            let (coordinates, q_bar) = (&at.tendons.q[q..], &mut bars.q[q..]);
            let moment = joint_moment(kind, in_parent, coordinates, gear);
            let mut moment_bar = [T::zero(); 6];
            for k in 0..kind.velocities() {
                moment_bar[k] = velocity_bar * at.tendons.v[v + k];
                bars.v[v + k] += velocity_bar * moment[k];
            }
            match kind {
                JointKind::Hinge | JointKind::Slide => {
                    q_bar[0] += length_bar * gear[0];
                    gear_bar[0] += length_bar * coordinates[0];
                }
                JointKind::Ball => {
                    // length = moment · log q
                    let ball = Quat::read(coordinates);
                    (rotation_of(ball) * length_bar).add_to(&mut moment_bar);
                    rotation_of_vjp(ball, Vec3::read(&moment) * length_bar).add_to(q_bar);
                }
                JointKind::Free => {}
            }
            joint_moment_vjp((kind, in_parent), coordinates, gear, moment_bar, q_bar, gear_bar);
        }
    }
}

/// Adds the generalized force of an actuator's force: to `tau`, or to what acts along tendons and spans.
pub(super) fn add_force<T: Real>(
    at: &ActuatorInputs<'_, T>,
    a: usize,
    force: T,
    tendons: &mut TendonState<T>,
    tau: &mut [T],
) {
    let gear = &at.tendons.params[at.robot.index.actuators[a].gear.clone()];
    match at.robot.lines[a] {
        Line::Tendon(t) => *at.robot.tendons.line(t, &mut tendons.active) += gear[0] * force,
        Line::Span { span, scaled } => {
            tendons.active.span[span] += if scaled { gear[0] * force } else { force };
        }
        Line::Joint { kind, q, v, in_parent } => {
            let moment = joint_moment(kind, in_parent, &at.tendons.q[q..], gear);
            for (m, tau) in moment.iter().zip(&mut tau[v..v + kind.velocities()]) {
                *tau += *m * force;
            }
        }
    }
}

/// The pullback of [`add_force`], after that of the forces along tendons and spans: returns the cotangent of the force.
pub(super) fn add_force_vjp<T: Real>(
    at: &ActuatorInputs<'_, T>,
    a: usize,
    force: T,
    tendons: &mut TendonState<T>,
    tau_bar: &[T],
    bars: &mut ActuatorBars<'_, T>,
) -> T {
    let place = at.robot.index.actuators[a].gear.clone();
    let gear = &at.tendons.params[place.clone()];
    let gear_bar = &mut bars.params[place];
    match at.robot.lines[a] {
        Line::Tendon(t) => {
            let bar = at.robot.tendons.tendon_force_bar(t, tendons);
            gear_bar[0] += bar * force;
            bar * gear[0]
        }
        Line::Span { span, scaled } => {
            let bar = at.robot.tendons.span_force_bar(span, tendons);
            if !scaled {
                return bar;
            }
            gear_bar[0] += bar * force;
            bar * gear[0]
        }
        Line::Joint { kind, q, v, in_parent } => {
            let coordinates = &at.tendons.q[q..];
            let moment = joint_moment(kind, in_parent, coordinates, gear);
            let (mut moment_bar, mut bar) = ([T::zero(); 6], T::zero());
            for k in 0..kind.velocities() {
                moment_bar[k] = tau_bar[v + k] * force;
                bar += tau_bar[v + k] * moment[k];
            }
            joint_moment_vjp((kind, in_parent), coordinates, gear, moment_bar, &mut bars.q[q..], gear_bar);
            bar
        }
    }
}

/// Adds the moment row of an actuator (`actuator_moment`) to `row`, one entry per degree of freedom.
pub(crate) fn add_moment<T: Real>(
    at: &ActuatorInputs<'_, T>,
    a: usize,
    tendons: &TendonState<T>,
    row: &mut [T],
) {
    let gear = &at.tendons.params[at.robot.index.actuators[a].gear.clone()];
    match at.robot.lines[a] {
        Line::Tendon(t) => at.robot.tendons.add_row(&at.tendons, &tendons.spans, t, gear[0], row),
        Line::Span { span, scaled } => {
            let scale = if scaled { gear[0] } else { T::one() };
            let (tree, kinematics) = (at.tendons.tree, at.tendons.kinematics);
            at.robot.tendons.add_span_row(tree, kinematics, &tendons.spans, span, scale, row);
        }
        Line::Joint { kind, q, v, in_parent } => {
            let moment = joint_moment(kind, in_parent, &at.tendons.q[q..], gear);
            for (m, entry) in moment.iter().zip(&mut row[v..v + kind.velocities()]) {
                *entry += *m;
            }
        }
    }
}

fn dot<T: Real>(row: &[T], columns: &[usize], other: impl Fn(usize) -> T) -> T {
    let mut sum = T::zero();
    columns.iter().for_each(|k| sum += row[*k] * other(*k));
    sum
}

/// The pullback of [`add_moment`] with the cotangent of the row.
pub(crate) fn moment_vjp<T: Real>(
    at: &ActuatorInputs<'_, T>,
    a: usize,
    tendons: &mut TendonState<T>,
    (columns, row_bar): (&[usize], impl Fn(usize) -> T),
    bars: &mut ActuatorBars<'_, T>,
) {
    let moving = |k: usize| if columns.contains(&k) { row_bar(k) } else { T::zero() };
    let place = at.robot.index.actuators[a].gear.clone();
    let gear = &at.tendons.params[place.clone()];
    let TendonState { spans, bars: tendon_bars, other_row: row, .. } = tendons;
    let pull_bars = &mut tendon_bars.spans.pulls[..];
    match at.robot.lines[a] {
        Line::Tendon(t) => {
            row.fill(T::zero());
            at.robot.tendons.add_row(&at.tendons, spans, t, T::one(), row);
            bars.params[place.start] += dot(row, columns, &row_bar);
            let scaled = |k: usize| moving(k) * gear[0];
            let to = (pull_bars, &mut *bars.axes, &mut *bars.params);
            at.robot.tendons.row_vjp(&at.tendons, spans, t, scaled, to);
        }
        Line::Span { span, scaled } => {
            let scale = if scaled { gear[0] } else { T::one() };
            let (tree, kinematics) = (at.tendons.tree, at.tendons.kinematics);
            if scaled {
                row.fill(T::zero());
                at.robot.tendons.add_span_row(tree, kinematics, spans, span, T::one(), row);
                bars.params[place.start] += dot(row, columns, &row_bar);
            }
            let scaled = |k: usize| moving(k) * scale;
            let to = (pull_bars, &mut *bars.axes);
            at.robot.tendons.span_row_vjp(tree, kinematics, spans, span, scaled, to);
        }
        Line::Joint { kind, q, v, in_parent } => {
            let mut moment_bar = [T::zero(); 6];
            for (k, bar) in moment_bar[..kind.velocities()].iter_mut().enumerate() {
                *bar = row_bar(v + k);
            }
            let (coordinates, q_bar) = (&at.tendons.q[q..], &mut bars.q[q..]);
            let gear_bar = &mut bars.params[place];
            joint_moment_vjp((kind, in_parent), coordinates, gear, moment_bar, q_bar, gear_bar);
        }
    }
}
