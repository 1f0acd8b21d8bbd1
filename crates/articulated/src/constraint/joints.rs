//! Constraints in joint space: limits, dry friction, and coordinates that follow others.

use pullback_math::{Flat, Mask, Quat, Real, Vec3, differentiable, select};

use super::cost::Cost;
use super::params::{ConstraintIndex, FrictionParams, LimitParams, PolynomialParams};
use super::set::{ConstraintSet, Source};
use super::softness::{Response, response, response_vjp, weight, weight_vjp};
use super::{Constrained, ConstraintBars, Seen};
use crate::contact::GeomView;
use crate::model::EqualityKind;
use crate::params::JointRange;

/// Angle of a rotation, in [0, π], and its axis.
#[differentiable]
#[inline]
pub(crate) fn angle_and_axis<T: Real>(q: Quat<T>) -> (T, Vec3<T>) {
    let turn = q.normalize();
    let vector = turn.log();
    (vector.norm(), vector.normalize())
}

/// Sign of the row of a limit: the coordinate leaves the lower end as it rises.
pub(crate) fn sign<T: Real>(upper: bool) -> T {
    if upper { -T::one() } else { T::one() }
}

/// Distance of a coordinate from the end of its range.
pub(crate) fn distance<T: Real>(range: JointRange<T>, q: T, upper: bool) -> T {
    if upper { range.upper - q } else { q - range.lower }
}

/// The cotangent of a range from that of the distance from one end.
pub(super) fn range_bar<T: Real>(distance_bar: T, upper: bool) -> JointRange<T> {
    if upper {
        JointRange { lower: T::zero(), upper: distance_bar }
    } else {
        JointRange { lower: -distance_bar, upper: T::zero() }
    }
}

/// Distance of a coordinate from an end of its range less the margin, or 0 without a range.
pub(crate) fn limit_violation<T: Real>(
    geoms: &GeomView<'_, T>,
    index: &ConstraintIndex,
    q: &[T],
    (joint, upper): (usize, bool),
) -> T {
    let (Some(limit), Some(range)) = (index.joints[joint].limit, geoms.index.joints[joint].range) else {
        return T::zero();
    };
    let at = q[geoms.model.joints[joint].q];
    distance(range.read(geoms.params), at, upper) - limit.read(geoms.params).margin
}

/// The pullback of [`limit_violation`]: *adds* to the cotangents of coordinates and parameters.
pub(crate) fn limit_violation_vjp<T: Real>(
    geoms: &GeomView<'_, T>,
    index: &ConstraintIndex,
    (joint, upper): (usize, bool),
    bar: T,
    (q_bar, params_bar): (&mut [T], &mut [T]),
) {
    let (Some(limit), Some(range)) = (index.joints[joint].limit, geoms.index.joints[joint].range) else {
        return;
    };
    q_bar[geoms.model.joints[joint].q] += bar * sign(upper);
    range.add(range_bar(bar, upper), params_bar);
    limit.add(LimitParams { margin: -bar, ..LimitParams::default() }, params_bar);
}

/// Appends dry friction.
pub(super) fn push_friction<T: Real>(at: &Constrained<'_, T>, set: &mut ConstraintSet<T>) {
    for (j, joint) in at.geoms.model.joints.iter().enumerate() {
        let Some(block) = at.index.joints[j].friction else { continue };
        let FrictionParams { softness, loss } = block.read(at.geoms.params);
        let Response { impedance, damping, .. } = response(softness, T::zero(), T::zero(), at.shortest);
        for k in joint.v..joint.v + joint.kind.velocities() {
            let block = set.push(Source::Friction(k), Cost::Huber, 1, [k]);
            set.jacobian_mut(block).0[0] = T::one();
            let row = set.blocks[block].row;
            set.reference[row] = -(damping * at.v[k]);
            let weights = &mut set.weights[block];
            weights.rows[0] = weight(impedance, dof_weight(at, j, k));
            weights.friction[0] = loss;
        }
    }
}

/// Inverse weight of a degree of freedom of a joint.
fn dof_weight<T: Real>(at: &Constrained<'_, T>, joint: usize, k: usize) -> T {
    let blocks = &at.index.joints[joint];
    match blocks.rotation_weight {
        Some(rotation) if k >= at.geoms.model.joints[joint].v + 3 => rotation.read(at.geoms.params)[0],
        _ => blocks.weight.read(at.geoms.params)[0],
    }
}

/// The pullback of [`dof_weight`].
fn dof_weight_vjp<T: Real>(at: &Constrained<'_, T>, joint: usize, k: usize, bar: T, params_bar: &mut [T]) {
    let blocks = &at.index.joints[joint];
    match blocks.rotation_weight {
        Some(rotation) if k >= at.geoms.model.joints[joint].v + 3 => rotation.add([bar], params_bar),
        _ => blocks.weight.add([bar], params_bar),
    }
}

/// The pullback of a row of dry friction.
pub(super) fn friction_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    seen: Seen<'_, T>,
    bars: &mut ConstraintBars<'_, T>,
) {
    let b = set.blocks[block];
    let Source::Friction(k) = b.source else { return };
    let j = at.tree.dof_joint[k];
    let Some(params) = at.index.joints[j].friction else { return };
    let FrictionParams { softness, .. } = params.read(at.geoms.params);
    let Response { impedance, damping, .. } = response(softness, T::zero(), T::zero(), at.shortest);
    let weights = b.cost.weights_vjp(&set.residual[b.row..b.row + 1], &set.weights[block], seen.y);
    let (impedance_bar, inertia_bar) = weight_vjp(impedance, dof_weight(at, j, k), weights.rows[0]);
    dof_weight_vjp(at, j, k, inertia_bar, bars.params);
    // a_ref = −b v
    let reference_bar = seen.reference[0];
    bars.v[k] -= damping * reference_bar;
    let bar = Response { impedance: impedance_bar, pull: T::zero(), damping: -(reference_bar * at.v[k]) };
    let (softness, _, _, ()) = response_vjp(softness, T::zero(), T::zero(), at.shortest, bar);
    let loss = weights.friction[0] + seen.weights.friction[0];
    params.add(FrictionParams { softness, loss }, bars.params);
}

/// Which lanes of a limit act.
fn limit_acts<T: Real>(at: &Constrained<'_, T>, source: Source, r: T) -> T::Mask {
    match (at.held, source) {
        (Some(held), Source::Limit { joint, upper }) => held.limit_acts(joint, upper, r),
        _ => r.lt(T::zero()),
    }
}

/// Appends the limits that act.
pub(super) fn push_limits<T: Real>(at: &Constrained<'_, T>, set: &mut ConstraintSet<T>) {
    let params = at.geoms.params;
    for (j, joint) in at.geoms.model.joints.iter().enumerate() {
        let Some(block) = at.index.joints[j].limit else { continue };
        let LimitParams { softness, margin } = block.read(params);
        let mut push = |source: Source, distance: T, dofs: &[usize], jacobian: &[T]| {
            let acts = limit_acts(at, source, distance - margin);
            if !acts.any() {
                return;
            }
            let block = set.push(source, Cost::OneSided, 1, dofs.iter().copied());
            set.jacobian_mut(block).0.copy_from_slice(jacobian);
            let r = distance - margin;
            let Response { impedance, pull, damping } = response(softness, r, r, at.shortest);
            let mut velocity = [T::zero()];
            set.multiply(block, at.v, &mut velocity);
            let row = set.blocks[block].row;
            set.position[row] = distance;
            set.reference[row] = -(damping * velocity[0]) - pull;
            let weight = weight(impedance, dof_weight(at, j, joint.v));
            set.weights[block].rows[0] = select(acts, weight, T::zero());
        };
        match (at.geoms.index.joints[j].range, at.index.joints[j].cone) {
            (Some(range), _) => {
                let (range, q) = (range.read(params), at.q[joint.q]);
                for upper in [false, true] {
                    let source = Source::Limit { joint: j, upper };
                    push(source, distance(range, q, upper), &[joint.v], &[sign(upper)]);
                }
            }
            (None, Some(cone)) => {
                let (angle, axis) = angle_and_axis(Quat::read(&at.q[joint.q..]));
                let distance = cone.read(params)[0] - angle;
                let source = Source::Limit { joint: j, upper: true };
                push(source, distance, &[joint.v + 2, joint.v + 1, joint.v], &[-axis.z, -axis.y, -axis.x]);
            }
            (None, None) => {}
        }
    }
}

/// The pullback of a row of a limit, with y = J λ and z = C y.
pub(super) fn limit_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    (y, z): (&[T], &[T]),
    bars: &mut ConstraintBars<'_, T>,
) {
    let b = set.blocks[block];
    let Source::Limit { joint: j, upper } = b.source else { return };
    let joint = &at.geoms.model.joints[j];
    let Some(block_params) = at.index.joints[j].limit else { return };
    let params = at.geoms.params;
    let LimitParams { softness, margin } = block_params.read(params);
    let ball = at.index.joints[j].cone.map(|cone| {
        let (angle, axis) = angle_and_axis(Quat::read(&at.q[joint.q..]));
        (cone.read(params)[0] - angle, axis, cone)
    });
    let r = match (&ball, at.geoms.index.joints[j].range) {
        (Some((distance, ..)), _) => *distance,
        (None, Some(range)) => distance(range.read(params), at.q[joint.q], upper),
        (None, None) => return,
    } - margin;
    let acts = limit_acts(at, b.source, r);
    let Response { impedance, damping, .. } = response(softness, r, r, at.shortest);
    let weights = b.cost.weights_vjp(&set.residual[b.row..b.row + 1], &set.weights[block], y);
    let weight_bar = select(acts, weights.rows[0], T::zero());
    let (impedance_bar, inertia_bar) = weight_vjp(impedance, dof_weight(at, j, joint.v), weight_bar);
    dof_weight_vjp(at, j, joint.v, inertia_bar, bars.params);
    // a_ref = −b J v − pull
    let mut velocity = [T::zero()];
    set.multiply(block, at.v, &mut velocity);
    let velocity_bar = -(damping * z[0]);
    let bar = Response { impedance: impedance_bar, pull: -z[0], damping: -(z[0] * velocity[0]) };
    let (softness_bar, r_bar, size_bar, ()) = response_vjp(softness, r, r, at.shortest, bar);
    let distance_bar = r_bar + size_bar;
    block_params.add(LimitParams { softness: softness_bar, margin: -distance_bar }, bars.params);
    for (entry, k) in set.jacobian(block).iter().zip(set.dofs(block)) {
        bars.v[*k] += *entry * velocity_bar;
    }
    match (ball, at.geoms.index.joints[j].range) {
        (Some((_, _, cone)), _) => {
            cone.add([distance_bar], bars.params);
            // J = −axis, along λ, a and v
            let of = |x: &[T]| Vec3::read(&x[joint.v..]);
            let force = set.force[b.row];
            let axis_bar = -(of(at.lambda) * force - of(at.acceleration) * z[0] + of(at.v) * velocity_bar);
            let quat = Quat::read(&at.q[joint.q..]);
            angle_and_axis_vjp(quat, (-distance_bar, axis_bar)).add_to(&mut bars.q[joint.q..]);
        }
        (None, Some(range)) => {
            range.add(range_bar(distance_bar, upper), bars.params);
            bars.q[joint.q] += sign::<T>(upper) * distance_bar;
        }
        (None, None) => {}
    }
}

/// Value and slope of a polynomial.
#[differentiable]
#[inline]
pub(crate) fn value_and_slope<T: Real>(c: [T; 5], x: T) -> (T, T) {
    let value = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
    let slope = c[1] + x * (T::lit(2.0) * c[2] + x * (T::lit(3.0) * c[3] + x * (T::lit(4.0) * c[4])));
    (value, slope)
}

/// Appends an equality between coordinates.
pub(super) fn push_polynomial<T: Real>(
    at: &Constrained<'_, T>,
    number: usize,
    params: PolynomialParams<T>,
    set: &mut ConstraintSet<T>,
) {
    let Some(tie) = Tie::new(at, number, params) else { return };
    let dofs = tie.dofs();
    let block = set.push(Source::Equality(number), Cost::Quadratic, 1, dofs.iter().flatten().copied());
    let (jacobian, columns) = set.jacobian_mut(block);
    for (entry, k) in jacobian.iter_mut().zip(columns) {
        *entry = if *k == tie.first.1 { T::one() } else { -tie.slope };
    }
    let Response { impedance, pull, damping } = response(params.softness, tie.r, tie.r, at.shortest);
    let mut velocity = [T::zero()];
    set.multiply(block, at.v, &mut velocity);
    let row = set.blocks[block].row;
    set.position[row] = tie.r;
    set.reference[row] = -(damping * velocity[0]) - pull;
    set.weights[block].rows[0] = weight(impedance, tie.inverse_inertia(at));
}

/// A coordinate and the one it follows.
struct Tie<T> {
    /// Joint and degree of freedom.
    first: (usize, usize),
    second: Option<(usize, usize)>,
    x: T,
    slope: T,
    r: T,
}

impl<T: Real> Tie<T> {
    fn new(at: &Constrained<'_, T>, number: usize, params: PolynomialParams<T>) -> Option<Self> {
        let model = at.geoms.model;
        let EqualityKind::Joint { joint, other, .. } = model.equalities[number].kind else { return None };
        let displaced = |j: usize| at.q[model.joints[j].q] - T::lit(model.joints[j].reference);
        let x = other.map_or(T::zero(), displaced);
        let (value, slope) = value_and_slope(params.polycoef, x);
        let dof = |j: usize| (j, model.joints[j].v);
        Some(Tie { first: dof(joint), second: other.map(dof), x, slope, r: displaced(joint) - value })
    }

    /// Degrees of freedom, falling.
    fn dofs(&self) -> [Option<usize>; 2] {
        let (first, second) = (Some(self.first.1), self.second.map(|s| s.1));
        [first.max(second), if second.is_some() { first.min(second) } else { None }]
    }

    fn inverse_inertia(&self, at: &Constrained<'_, T>) -> T {
        let of = |(j, k): (usize, usize)| dof_weight(at, j, k);
        of(self.first) + self.second.map_or(T::zero(), of)
    }
}

/// The pullback of an equality between coordinates, with y = J λ and z = C y.
pub(super) fn polynomial_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    params: PolynomialParams<T>,
    (y, z): (&[T], &[T]),
    bars: &mut ConstraintBars<'_, T>,
) -> PolynomialParams<T> {
    let b = set.blocks[block];
    let Source::Equality(number) = b.source else { return PolynomialParams::default() };
    let Some(tie) = Tie::new(at, number, params) else { return PolynomialParams::default() };
    let Response { impedance, damping, .. } = response(params.softness, tie.r, tie.r, at.shortest);
    let weights = b.cost.weights_vjp(&set.residual[b.row..b.row + 1], &set.weights[block], y);
    let (impedance_bar, inertia_bar) = weight_vjp(impedance, tie.inverse_inertia(at), weights.rows[0]);
    for (j, k) in [Some(tie.first), tie.second].into_iter().flatten() {
        dof_weight_vjp(at, j, k, inertia_bar, bars.params);
    }
    let mut velocity = [T::zero()];
    set.multiply(block, at.v, &mut velocity);
    let velocity_bar = -(damping * z[0]);
    let bar = Response { impedance: impedance_bar, pull: -z[0], damping: -(z[0] * velocity[0]) };
    let (softness, r_bar, size_bar, ()) = response_vjp(params.softness, tie.r, tie.r, at.shortest, bar);
    let r_bar = r_bar + size_bar;
    for (entry, k) in set.jacobian(block).iter().zip(set.dofs(block)) {
        bars.v[*k] += *entry * velocity_bar;
    }
    // r = x₁ − p(x₂),  J = (1, −p'(x₂)) along λ, a and v
    let q = |j: usize| at.geoms.model.joints[j].q;
    bars.q[q(tie.first.0)] += r_bar;
    let slope_bar = tie.second.map_or(T::zero(), |(_, k)| {
        -(set.force[b.row] * at.lambda[k] - z[0] * at.acceleration[k] + velocity_bar * at.v[k])
    });
    let (polycoef, x_bar) = value_and_slope_vjp(params.polycoef, tie.x, (-r_bar, slope_bar));
    if let Some((j, _)) = tie.second {
        bars.q[q(j)] += x_bar;
    }
    PolynomialParams { polycoef, softness }
}
