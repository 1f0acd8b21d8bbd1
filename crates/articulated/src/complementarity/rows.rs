//! Rows of the complementarity model: coordinates that follow others, dry friction, limits and contacts, and
//! their pullback.
//!
//! A row has a Jacobian J and the velocity that it leaves, its target: 0 of friction, restitution and
//! Baumgarte's push of a limit or a contact. Rows of a contact are the relative velocity of the second body
//! against the first along the normal and one or two tangents.

use pullback_collision::{Contact, INACTIVE};
use pullback_core::Block;
use pullback_math::{Flat, Force, Mask, Quat, Real, Vec3, differentiable, select};

use super::params::{ComplementarityIndex, ImpulseLaw};
use crate::constraint::between::{Between, Columns};
use crate::constraint::contact::{contact_tangents, contact_tangents_vjp, tangent_hint};
use crate::constraint::contact_law::condim;
use crate::constraint::cost::Cost;
use crate::constraint::joints::{
    angle_and_axis, angle_and_axis_vjp, distance, sign, value_and_slope, value_and_slope_vjp,
};
use crate::constraint::set::{ConstraintSet, Source};
use crate::contact::penalty::{mix, mix_vjp, pair_friction, pair_friction_vjp};
use crate::contact::{ConstraintBars, ContactSet, FoundPair, Smooth};
use crate::model::{EqualityKind, FrictionDirections, Model};
use crate::pairs::GeomPair;
use crate::params::JointRange;

/// Slip below which friction along it takes the directions of the contact's frame, m/s.
const LEAST_SLIP: f64 = 1e-4;

/// Where rows are evaluated.
pub(super) struct At<'a, T> {
    pub smooth: &'a Smooth<'a, T>,
    pub index: &'a ComplementarityIndex,
    pub between: Between<'a, T>,
    pub law: ImpulseLaw<T>,
    /// Velocity at the end of the step without rows.
    pub free: &'a [T],
}

/// Cotangents of a block on the way back.
pub(super) struct BlockBars<'a, T> {
    /// Of its Jacobian, row by row.
    pub jacobian: &'a mut [T],
    /// Of the free velocities of its rows.
    pub residual: &'a [T],
    /// Of its coefficient of friction or its dry friction.
    pub bound: T,
    /// Of the velocity at the end of the step without rows.
    pub free: &'a mut [T],
    /// Of what all rows share.
    pub law: &'a mut ImpulseLaw<T>,
}

/// The velocity of separation that a row leaves at least, from the distance, the velocity before the step,
/// restitution and erp.
///
/// - Overlap: −e v⁻ if the sides approach, plus erp·depth/h.
/// - A gap: −gap/h, which just closes it (a speculative contact); −e v⁻ if v⁻ would close it and e > 0.
#[differentiable]
#[inline]
fn least_velocity<T: Real>(distance: T, velocity: T, restitution: T, erp: T, #[constant] dt: f64) -> T {
    let zero = T::zero();
    let closing = -(distance * T::lit(1.0 / dt));
    let rebound = select(velocity.lt(zero), -(restitution * velocity), zero);
    let bounces = velocity.lt(closing) & restitution.gt(zero);
    select(distance.lt(zero), rebound + erp * closing, select(bounces, rebound, closing))
}

/// The direction of sliding, or `hint` where sliding is slow.
#[differentiable]
#[inline]
fn slip_direction<T: Real>(normal: Vec3<T>, slip: Vec3<T>, hint: Vec3<T>) -> Vec3<T> {
    let flat = slip - normal * normal.dot(slip);
    select(flat.norm_squared().gt(T::lit(LEAST_SLIP * LEAST_SLIP)), flat.normalize(), hint)
}

/// Distance below which the contacts of a pair have rows, m.
pub(crate) fn pair_margin(model: &Model, pair: GeomPair) -> f64 {
    let (a, b) = pair.geoms;
    match pair.explicit {
        Some(number) => model.pairs[number].margin,
        None => model.geoms[a].margin + model.geoms[b].margin,
    }
}

/// Appends dry friction.
pub(super) fn push_friction<T: Real>(at: &At<'_, T>, set: &mut ConstraintSet<T>) {
    for (j, joint) in at.smooth.geoms.model.joints.iter().enumerate() {
        let Some(loss) = at.index.joints[j].friction else { continue };
        for k in joint.v..joint.v + joint.kind.velocities() {
            let block = set.push(Source::Friction(k), Cost::Huber, 1, [k]);
            set.jacobian_mut(block).0[0] = T::one();
            set.weights[block].rows[0] = T::one();
            set.weights[block].friction[0] = loss.read(at.smooth.geoms.params)[0];
            finish(at, set, block);
        }
    }
}

/// A coordinate and the one it follows: r = x₁ − p(x₂).
struct Tie<T> {
    /// Coordinate and degree of freedom of each.
    first: (usize, usize),
    second: Option<(usize, usize)>,
    x: T,
    slope: T,
    r: T,
}

fn tie_at<T: Real>(at: &At<'_, T>, number: usize) -> Option<(Block<[f64; 5]>, Tie<T>)> {
    let model = at.smooth.geoms.model;
    let EqualityKind::Joint { joint, other, .. } = model.equalities[number].kind else { return None };
    let block = at.index.ties[number]?;
    let displaced = |j: usize| at.smooth.q[model.joints[j].q] - T::lit(model.joints[j].reference);
    let x = other.map_or(T::zero(), displaced);
    let (value, slope) = value_and_slope(block.read(at.smooth.geoms.params), x);
    let places = |j: usize| (model.joints[j].q, model.joints[j].v);
    let (first, second) = (places(joint), other.map(places));
    Some((block, Tie { first, second, x, slope, r: displaced(joint) - value }))
}

/// Appends coordinates that follow others: rows without bounds, with −erp r / h as their target.
pub(super) fn push_ties<T: Real>(at: &At<'_, T>, set: &mut ConstraintSet<T>) {
    for number in 0..at.index.ties.len() {
        let Some((_, tie)) = tie_at(at, number) else { continue };
        let (first, second) = (Some(tie.first.1), tie.second.map(|s| s.1));
        let falling = [first.max(second), second.and(first.min(second))];
        let source = Source::Equality(number);
        let block = set.push(source, Cost::Quadratic, 1, falling.into_iter().flatten());
        let (jacobian, dofs) = set.jacobian_mut(block);
        for (entry, k) in jacobian.iter_mut().zip(dofs) {
            *entry = if *k == tie.first.1 { T::one() } else { -tie.slope };
        }
        let row = set.blocks[block].row;
        set.position[row] = tie.r;
        set.reference[row] = -(at.law.erp * tie.r * T::lit(1.0 / at.smooth.dt));
        set.weights[block].rows[0] = T::one();
        finish(at, set, block);
    }
}

/// The pullback of a coordinate that follows another.
pub(super) fn tie_vjp<T: Real>(
    at: &At<'_, T>,
    (set, block, number): (&ConstraintSet<T>, usize, usize),
    bars: &mut BlockBars<'_, T>,
    out: &mut ConstraintBars<'_, T>,
) {
    let Some((coefficients, tie)) = tie_at(at, number) else { return };
    // b = J v* + erp r / h,  J = (1, −p'(x₂))
    let rate_bar = bars.residual[0] * T::lit(1.0 / at.smooth.dt);
    let r_bar = at.law.erp * rate_bar;
    bars.law.erp += tie.r * rate_bar;
    let followed = set.dofs(block).iter().position(|k| tie.second.is_some_and(|s| s.1 == *k));
    let slope_bar = followed.map_or(T::zero(), |place| -bars.jacobian[place]);
    let polycoef = coefficients.read(at.smooth.geoms.params);
    let (polycoef_bar, x_bar) = value_and_slope_vjp(polycoef, tie.x, (-r_bar, slope_bar));
    coefficients.add(polycoef_bar, out.params);
    out.q[tie.first.0] += r_bar;
    if let Some((q, _)) = tie.second {
        out.q[q] += x_bar;
    }
}

/// The free velocity of the rows of a block against their target.
fn finish<T: Real>(at: &At<'_, T>, set: &mut ConstraintSet<T>, block: usize) {
    let (row, dim) = (set.blocks[block].row, set.blocks[block].dim);
    let mut free = [T::zero(); 3];
    set.multiply(block, at.free, &mut free);
    for i in 0..dim {
        set.residual[row + i] = free[i] - set.reference[row + i];
    }
}

/// Velocity of the first row of a block before the step.
fn velocity_before<T: Real>(at: &At<'_, T>, set: &ConstraintSet<T>, block: usize) -> T {
    let mut velocity = T::zero();
    for (entry, k) in set.jacobian(block).iter().zip(set.dofs(block)) {
        velocity += *entry * at.smooth.v[*k];
    }
    velocity
}

/// Distance of a limit, and the axis of a ball joint.
fn limit_distance<T: Real>(at: &At<'_, T>, j: usize, upper: bool) -> Option<(T, Vec3<T>)> {
    let (geoms, joint) = (at.smooth.geoms, &at.smooth.geoms.model.joints[j]);
    match (geoms.index.joints[j].range, at.index.joints[j].cone) {
        (Some(range), _) => {
            Some((distance(range.read(geoms.params), at.smooth.q[joint.q], upper), Vec3::zero()))
        }
        (None, Some(cone)) if upper => {
            let (angle, axis) = angle_and_axis(Quat::read(&at.smooth.q[joint.q..]));
            Some((cone.read(geoms.params)[0] - angle, axis))
        }
        _ => None,
    }
}

/// Appends the limits that are near.
pub(super) fn push_limits<T: Real>(at: &At<'_, T>, set: &mut ConstraintSet<T>) {
    for (j, joint) in at.smooth.geoms.model.joints.iter().enumerate() {
        for upper in [false, true] {
            let Some((distance, axis)) = limit_distance(at, j, upper) else { continue };
            let near = distance.lt(T::lit(joint.margin));
            if !near.any() {
                continue;
            }
            let (source, v) = (Source::Limit { joint: j, upper }, joint.v);
            let block = if at.index.joints[j].cone.is_some() {
                let block = set.push(source, Cost::OneSided, 1, [v + 2, v + 1, v]);
                set.jacobian_mut(block).0.copy_from_slice(&[-axis.z, -axis.y, -axis.x]);
                block
            } else {
                let block = set.push(source, Cost::OneSided, 1, [v]);
                set.jacobian_mut(block).0[0] = sign(upper);
                block
            };
            let (row, dt) = (set.blocks[block].row, at.smooth.dt);
            set.position[row] = distance;
            let velocity = velocity_before(at, set, block);
            set.reference[row] = least_velocity(distance, velocity, T::zero(), at.law.erp, dt);
            set.weights[block].rows[0] = select(near, T::one(), T::zero());
            finish(at, set, block);
        }
    }
}

/// The pullback of a row of dry friction.
pub(super) fn friction_vjp<T: Real>(at: &At<'_, T>, k: usize, bars: &BlockBars<'_, T>, params_bar: &mut [T]) {
    if let Some(loss) = at.index.joints[at.smooth.tree.dof_joint[k]].friction {
        loss.add([bars.bound], params_bar);
    }
}

/// The pullback of [`least_velocity`] of the first row of a block: *adds* to the cotangents of the velocity
/// before the step, the Jacobian and erp. Returns those of distance and restitution.
fn target_vjp<T: Real>(
    at: &At<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    restitution: T,
    bars: &mut BlockBars<'_, T>,
    v_bar: &mut [T],
) -> (T, T) {
    let (distance, velocity) = (set.position[set.blocks[block].row], velocity_before(at, set, block));
    let (distance_bar, velocity_bar, restitution_bar, erp_bar, ()) =
        least_velocity_vjp(distance, velocity, restitution, at.law.erp, at.smooth.dt, -bars.residual[0]);
    bars.law.erp += erp_bar;
    let row = set.jacobian(block).iter().zip(set.dofs(block)).zip(bars.jacobian.iter_mut());
    for ((entry, k), bar) in row {
        *bar += at.smooth.v[*k] * velocity_bar;
        v_bar[*k] += *entry * velocity_bar;
    }
    (distance_bar, restitution_bar)
}

/// The pullback of a row of a limit.
pub(super) fn limit_vjp<T: Real>(
    at: &At<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    bars: &mut BlockBars<'_, T>,
    out: &mut ConstraintBars<'_, T>,
) {
    let Source::Limit { joint: j, upper } = set.blocks[block].source else { return };
    let (distance_bar, _) = target_vjp(at, set, block, T::zero(), bars, out.v);
    let q = at.smooth.geoms.model.joints[j].q;
    match (at.smooth.geoms.index.joints[j].range, at.index.joints[j].cone) {
        (Some(range), _) => {
            let (lower, higher) = if upper { (T::zero(), distance_bar) } else { (-distance_bar, T::zero()) };
            range.add(JointRange { lower, upper: higher }, out.params);
            out.q[q] += sign::<T>(upper) * distance_bar;
        }
        (None, Some(cone)) => {
            cone.add([distance_bar], out.params);
            // J = −axis, falling
            let axis_bar = -Vec3::new(bars.jacobian[2], bars.jacobian[1], bars.jacobian[0]);
            let quat = Quat::read(&at.smooth.q[q..]);
            angle_and_axis_vjp(quat, (-distance_bar, axis_bar)).add_to(&mut out.q[q..]);
        }
        (None, None) => {}
    }
}

/// What the contacts of a pair share.
struct Pair<T> {
    bodies: (usize, usize),
    dim: usize,
    friction: T,
    restitution: T,
    hint: Option<usize>,
    along_slip: bool,
}

fn pair_at<T: Real>(at: &At<'_, T>, pair: &FoundPair) -> Pair<T> {
    let (geoms, (a, b)) = (at.smooth.geoms, pair.geoms);
    let along_slip = geoms.model.options.complementarity.friction == FrictionDirections::AlongSlip;
    let dim = match (condim(geoms, pair.pair()), along_slip) {
        (1, _) => 1,
        (_, true) => 2,
        (_, false) => 3,
    };
    let of = |geom: usize| at.index.restitution[geom].read(geoms.params)[0];
    Pair {
        bodies: (geoms.model.geoms[a].body, geoms.model.geoms[b].body),
        dim,
        friction: pair_friction(geoms, pair.pair()),
        restitution: mix(of(a), of(b), geoms.model.options.material_mixing),
        hint: tangent_hint(geoms, (a, b)),
        along_slip: along_slip && dim > 1,
    }
}

/// A contact's frame and what it depends on.
struct Frame<T> {
    /// Normal and tangents.
    axes: [Vec3<T>; 3],
    /// What the first tangent follows, and what it follows where sliding is slow.
    direction: Vec3<T>,
    hint: Vec3<T>,
    /// Relative velocity at the end of the step without rows; zero unless friction is along it.
    slip: Vec3<T>,
}

fn frame_at<T: Real>(
    at: &At<'_, T>,
    contacts: &ContactSet<T>,
    (pair, contact): (&Pair<T>, &Contact<T>),
    dofs: &[usize],
) -> Frame<T> {
    let hint = pair.hint.map_or(Vec3::zero(), |geom| contacts.pose(geom).rotation.c2);
    let (mut slip, mut direction) = (Vec3::zero(), hint);
    if pair.along_slip {
        at.between.for_each_column(pair.bodies, contact.position, dofs, |_, k, motion, _| {
            slip += motion.linear * at.free[k];
        });
        direction = slip_direction(contact.normal, slip, hint);
    }
    let (first, second) = contact_tangents(contact.normal, direction);
    Frame { axes: [contact.normal, first, second], direction, hint, slip }
}

/// Appends the contacts that are near.
pub(super) fn push_contacts<T: Real>(at: &At<'_, T>, contacts: &ContactSet<T>, set: &mut ConstraintSet<T>) {
    for (number, found) in contacts.pairs().iter().enumerate() {
        let margin = T::lit(pair_margin(at.smooth.geoms.model, found.pair()));
        let mut prepared: Option<Pair<T>> = None;
        for slot in found.contacts() {
            let contact = contacts.contacts()[slot];
            let near = contact.distance.lt(margin) & contact.distance.lt(T::lit(0.5 * INACTIVE));
            if !near.any() {
                continue;
            }
            let pair = prepared.get_or_insert_with(|| pair_at(at, found));
            let (source, kind) = (Source::Contact { pair: number, slot }, (Cost::OneSided, pair.dim));
            let Some(block) = at.between.push(set, source, kind, Columns::Apart, pair.bodies) else {
                continue;
            };

            // J = frame · (J₂ − J₁)
            let Frame { axes, .. } = frame_at(at, contacts, (pair, &contact), set.dofs(block));
            let ends = (pair.bodies.1, pair.bodies.0);
            let points = (contact.position, contact.position);
            at.between.fill(set, block, Columns::Apart, ends, points, |motion| {
                let [normal, first, second] = axes.map(|axis| axis.dot(motion.linear));
                let zero = T::zero();
                [normal, first, second, zero, zero, zero]
            });
            let (row, velocity) = (set.blocks[block].row, velocity_before(at, set, block));
            set.position[row] = contact.distance;
            set.reference[row] =
                least_velocity(contact.distance, velocity, pair.restitution, at.law.erp, at.smooth.dt);
            set.weights[block].rows[0] = select(near, T::one(), T::zero());
            set.weights[block].friction[0] = pair.friction;
            finish(at, set, block);
        }
    }
}

/// The pullback of the rows of a contact.
pub(super) fn contact_vjp<T: Real>(
    at: &At<'_, T>,
    contacts: &mut ContactSet<T>,
    set: &ConstraintSet<T>,
    block: usize,
    bars: &mut BlockBars<'_, T>,
    out: &mut ConstraintBars<'_, T>,
) {
    let Source::Contact { pair: number, slot } = set.blocks[block].source else { return };
    let (found, contact) = (contacts.pairs()[number], contacts.contacts()[slot]);
    let geoms = at.smooth.geoms;
    let pair = pair_at(at, &found);
    pair_friction_vjp(geoms, found.pair(), bars.bound, &mut contacts.friction_bars);
    let (distance_bar, restitution_bar) = target_vjp(at, set, block, pair.restitution, bars, out.v);
    let (a, b) = found.geoms;
    let of = |geom: usize| at.index.restitution[geom].read(geoms.params)[0];
    let (first, second, ()) = mix_vjp(of(a), of(b), geoms.model.options.material_mixing, restitution_bar);
    at.index.restitution[a].add([first], out.params);
    at.index.restitution[b].add([second], out.params);

    // J_ik = axis_i · velocity_k
    let dofs = set.dofs(block);
    let Frame { axes, direction, hint, slip } = frame_at(at, contacts, (&pair, &contact), dofs);
    let mut axis_bars = [Vec3::zero(); 3];
    at.between.for_each_column(pair.bodies, contact.position, dofs, |number, _, motion, _| {
        for (bar, row) in axis_bars.iter_mut().zip(bars.jacobian.chunks(dofs.len())) {
            *bar += motion.linear * row[number];
        }
    });

    // The frame.
    let (mut normal_bar, direction_bar) =
        contact_tangents_vjp(contact.normal, direction, (axis_bars[1], axis_bars[2]));
    normal_bar += axis_bars[0];
    let (mut slip_bar, mut hint_bar) = (Vec3::zero(), direction_bar);
    if pair.along_slip {
        let (from_slip, along, rest) = slip_direction_vjp(contact.normal, slip, hint, direction_bar);
        normal_bar += from_slip;
        (slip_bar, hint_bar) = (along, rest);
    }

    // velocity_k = ± (velocity of the point along axis k),  slip = Σ velocity_k v*_k
    let mut position_bar = Vec3::zero();
    at.between.for_each_column(pair.bodies, contact.position, dofs, |number, k, motion, (arm, sign)| {
        let mut push = slip_bar * at.free[k];
        for (axis, row) in axes.iter().zip(bars.jacobian.chunks(dofs.len())) {
            push += *axis * row[number];
        }
        bars.free[k] += motion.linear.dot(slip_bar);
        let push = push * sign;
        out.axes[k] += Force::at_point(push, arm);
        // F·(ω × δp) = δp·(F × ω)
        position_bar += push.cross(at.between.kinematics.axes[k].angular);
    });
    let bar = &mut contacts.contact_bars[slot];
    bar.position += position_bar;
    bar.normal += normal_bar;
    bar.distance += distance_bar;
    if let Some(geom) = pair.hint {
        contacts.axis_bars[geom] += hint_bar;
    }
}
