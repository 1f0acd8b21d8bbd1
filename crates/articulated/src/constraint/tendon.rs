//! Constraints of tendons: limits, dry friction, and lengths that follow others.
//!
//! A row is c₁ J₁ + c₂ J₂ over the moments of one or two tendons. With f its force, z = C J λ and b its damping, the
//! cotangent of a moment is c (f λ − z a − b z v).

use pullback_math::{Mask, Real, select};

use super::between::merged;
use super::cost::Cost;
use super::joints::{distance, range_bar, sign, value_and_slope, value_and_slope_vjp};
use super::params::{ConstraintIndex, FrictionParams, LimitParams, PolynomialParams};
use super::set::{ConstraintSet, Source};
use super::softness::{Response, response, response_vjp, weight, weight_vjp};
use super::{Constrained, ConstraintBars, Seen};
use crate::contact::GeomView;
use crate::model::EqualityKind;

/// A tendon and its factor in a row.
type Term<T> = (usize, T);

/// Appends a row with the moments of one or two tendons; none where these never move.
fn push_row<T: Real>(
    at: &Constrained<'_, T>,
    set: &mut ConstraintSet<T>,
    (source, cost): (Source, Cost),
    first: Term<T>,
    second: Option<Term<T>>,
) -> Option<usize> {
    let columns = |t: usize| &at.tendons.set.columns[t][..];
    let other = second.map_or(&[][..], |(t, _)| columns(t));
    if columns(first.0).is_empty() && other.is_empty() {
        return None;
    }
    let block = set.push(source, cost, 1, merged(columns(first.0), other));
    let (jacobian, dofs) = set.jacobian_mut(block);
    for (tendon, factor) in [Some(first), second].into_iter().flatten() {
        at.tendons.set.for_each_moment(at.tendons.inputs, at.tendons.spans, tendon, |k, moment| {
            // Degrees of freedom that carry the whole tendon have no column; their moment is zero.
            if let Some(number) = dofs.iter().position(|dof| *dof == k) {
                jacobian[number] += factor * moment;
            }
        });
    }
    Some(block)
}

/// J v of a row.
fn velocity<T: Real>(at: &Constrained<'_, T>, set: &ConstraintSet<T>, block: usize) -> T {
    let mut velocity = [T::zero()];
    set.multiply(block, at.v, &mut velocity);
    velocity[0]
}

/// The pullback of the moment in a row: *adds* to the cotangents of tendons, axes, velocities and parameters. Returns
/// the cotangent of its factor.
fn row_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    block: usize,
    (tendon, factor): Term<T>,
    (z, velocity_bar): (T, T),
    bars: &mut ConstraintBars<'_, T>,
) -> T {
    let force = set.force[set.blocks[block].row];
    let bar = |k: usize| force * at.lambda[k] - z * at.acceleration[k] + velocity_bar * at.v[k];
    let mut factor_bar = T::zero();
    at.tendons.set.for_each_moment(at.tendons.inputs, at.tendons.spans, tendon, |k, moment| {
        factor_bar += moment * bar(k);
        bars.v[k] += factor * moment * velocity_bar;
    });
    let to = (&mut bars.tendons.spans.pulls[..], &mut *bars.axes, &mut *bars.params);
    at.tendons.set.row_vjp(at.tendons.inputs, at.tendons.spans, tendon, |k| factor * bar(k), to);
    factor_bar
}

fn inverse_weight<T: Real>(at: &Constrained<'_, T>, tendon: usize) -> T {
    at.index.tendons[tendon].weight.read(at.geoms.params)[0]
}

/// Appends dry friction.
pub(super) fn push_friction<T: Real>(at: &Constrained<'_, T>, set: &mut ConstraintSet<T>) {
    for (t, blocks) in at.index.tendons.iter().enumerate() {
        let Some(block) = blocks.friction else { continue };
        let FrictionParams { softness, loss } = block.read(at.geoms.params);
        let Response { impedance, damping, .. } = response(softness, T::zero(), T::zero(), at.shortest);
        let kind = (Source::TendonFriction(t), Cost::Huber);
        let Some(block) = push_row(at, set, kind, (t, T::one()), None) else { continue };
        let row = set.blocks[block].row;
        set.reference[row] = -(damping * velocity(at, set, block));
        set.weights[block].rows[0] = weight(impedance, inverse_weight(at, t));
        set.weights[block].friction[0] = loss;
    }
}

/// The pullback of a row of dry friction.
pub(super) fn friction_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    (block, t): (usize, usize),
    seen: Seen<'_, T>,
    bars: &mut ConstraintBars<'_, T>,
) {
    let b = set.blocks[block];
    let Some(params) = at.index.tendons[t].friction else { return };
    let FrictionParams { softness, .. } = params.read(at.geoms.params);
    let Response { impedance, damping, .. } = response(softness, T::zero(), T::zero(), at.shortest);
    let weights = b.cost.weights_vjp(&set.residual[b.row..b.row + 1], &set.weights[block], seen.y);
    let (impedance_bar, inertia_bar) = weight_vjp(impedance, inverse_weight(at, t), weights.rows[0]);
    at.index.tendons[t].weight.add([inertia_bar], bars.params);
    // a_ref = −b J v
    let reference_bar = seen.reference[0];
    let damping_bar = -(reference_bar * velocity(at, set, block));
    let bar = Response { impedance: impedance_bar, pull: T::zero(), damping: damping_bar };
    let (softness, _, _, ()) = response_vjp(softness, T::zero(), T::zero(), at.shortest, bar);
    let loss = weights.friction[0] + seen.weights.friction[0];
    params.add(FrictionParams { softness, loss }, bars.params);
    row_vjp(at, set, block, (t, T::one()), (seen.z[0], -(damping * reference_bar)), bars);
    if let Some(swept) = seen.swept {
        let dofs = set.dofs(block);
        let bar = |k: usize| dofs.iter().position(|dof| *dof == k).map_or(T::zero(), |n| swept.jacobian[n]);
        let to = (&mut bars.tendons.spans.pulls[..], &mut *bars.axes, &mut *bars.params);
        at.tendons.set.row_vjp(at.tendons.inputs, at.tendons.spans, t, bar, to);
    }
}

/// Distance of a length from an end of its range less the margin, or 0 without a range.
pub(crate) fn tendon_violation<T: Real>(
    geoms: &GeomView<'_, T>,
    index: &ConstraintIndex,
    length: T,
    (tendon, upper): (usize, bool),
) -> T {
    let (Some(limit), Some(range)) = (index.tendons[tendon].limit, geoms.index.tendons[tendon].range) else {
        return T::zero();
    };
    distance(range.read(geoms.params), length, upper) - limit.read(geoms.params).margin
}

/// The pullback of [`tendon_violation`]: *adds* to the cotangents of the parameters and returns that of the length.
pub(crate) fn tendon_violation_vjp<T: Real>(
    geoms: &GeomView<'_, T>,
    index: &ConstraintIndex,
    (tendon, upper): (usize, bool),
    bar: T,
    params_bar: &mut [T],
) -> T {
    let (Some(limit), Some(range)) = (index.tendons[tendon].limit, geoms.index.tendons[tendon].range) else {
        return T::zero();
    };
    range.add(range_bar(bar, upper), params_bar);
    limit.add(LimitParams { margin: -bar, ..LimitParams::default() }, params_bar);
    bar * sign(upper)
}

/// Which lanes of an end of a tendon's range act; r is its violation.
fn limit_acts<T: Real>(at: &Constrained<'_, T>, (tendon, upper): (usize, bool), r: T) -> T::Mask {
    at.held.map_or(r.lt(T::zero()), |held| held.tendon_limit_acts(tendon, upper, r))
}

/// Appends the limits that act.
pub(super) fn push_limits<T: Real>(at: &Constrained<'_, T>, set: &mut ConstraintSet<T>) {
    let params = at.geoms.params;
    for (t, blocks) in at.index.tendons.iter().enumerate() {
        let (Some(limit), Some(range)) = (blocks.limit, at.geoms.index.tendons[t].range) else { continue };
        let (LimitParams { softness, margin }, range) = (limit.read(params), range.read(params));
        for upper in [false, true] {
            let distance = distance(range, at.tendons.length[t], upper);
            let r = distance - margin;
            let acts = limit_acts(at, (t, upper), r);
            if !acts.any() {
                continue;
            }
            let kind = (Source::TendonLimit { tendon: t, upper }, Cost::OneSided);
            let Some(block) = push_row(at, set, kind, (t, sign(upper)), None) else { continue };
            let Response { impedance, pull, damping } = response(softness, r, r, at.shortest);
            let row = set.blocks[block].row;
            set.position[row] = distance;
            set.reference[row] = -(damping * velocity(at, set, block)) - pull;
            let weight = weight(impedance, inverse_weight(at, t));
            set.weights[block].rows[0] = select(acts, weight, T::zero());
        }
    }
}

/// The pullback of a row of a limit, with y = J λ and z = C y.
pub(super) fn limit_vjp<T: Real>(
    at: &Constrained<'_, T>,
    set: &ConstraintSet<T>,
    (block, t, upper): (usize, usize, bool),
    (y, z): (&[T], &[T]),
    bars: &mut ConstraintBars<'_, T>,
) {
    let b = set.blocks[block];
    let (blocks, params) = (&at.index.tendons[t], at.geoms.params);
    let (Some(limit), Some(range)) = (blocks.limit, at.geoms.index.tendons[t].range) else { return };
    let LimitParams { softness, margin } = limit.read(params);
    let r = distance(range.read(params), at.tendons.length[t], upper) - margin;
    let Response { impedance, damping, .. } = response(softness, r, r, at.shortest);
    let weights = b.cost.weights_vjp(&set.residual[b.row..b.row + 1], &set.weights[block], y);
    let weight_bar = select(limit_acts(at, (t, upper), r), weights.rows[0], T::zero());
    let (impedance_bar, inertia_bar) = weight_vjp(impedance, inverse_weight(at, t), weight_bar);
    blocks.weight.add([inertia_bar], bars.params);
    // a_ref = −b J v − pull
    let damping_bar = -(z[0] * velocity(at, set, block));
    let bar = Response { impedance: impedance_bar, pull: -z[0], damping: damping_bar };
    let (softness_bar, r_bar, size_bar, ()) = response_vjp(softness, r, r, at.shortest, bar);
    let distance_bar = r_bar + size_bar;
    limit.add(LimitParams { softness: softness_bar, margin: -distance_bar }, bars.params);
    range.add(range_bar(distance_bar, upper), bars.params);
    bars.tendons.length[t] += sign::<T>(upper) * distance_bar;
    row_vjp(at, set, block, (t, sign(upper)), (z[0], -(damping * z[0])), bars);
}

/// A length and the one it follows.
struct Tie<T> {
    first: usize,
    second: Option<usize>,
    x: T,
    slope: T,
    r: T,
}

impl<T: Real> Tie<T> {
    fn new(at: &Constrained<'_, T>, number: usize, params: PolynomialParams<T>) -> Option<Self> {
        let EqualityKind::Tendon { tendon, other, .. } = at.geoms.model.equalities[number].kind else {
            return None;
        };
        let displaced = |t: usize| at.tendons.length[t] - T::lit(at.tendons.set.reference_lengths[t]);
        let x = other.map_or(T::zero(), displaced);
        let (value, slope) = value_and_slope(params.polycoef, x);
        Some(Tie { first: tendon, second: other, x, slope, r: displaced(tendon) - value })
    }

    fn inverse_inertia(&self, at: &Constrained<'_, T>) -> T {
        inverse_weight(at, self.first) + self.second.map_or(T::zero(), |t| inverse_weight(at, t))
    }
}

/// Appends an equality between lengths.
pub(super) fn push_polynomial<T: Real>(
    at: &Constrained<'_, T>,
    number: usize,
    params: PolynomialParams<T>,
    set: &mut ConstraintSet<T>,
) {
    let Some(tie) = Tie::new(at, number, params) else { return };
    let second = tie.second.map(|t| (t, -tie.slope));
    let kind = (Source::Equality(number), Cost::Quadratic);
    let Some(block) = push_row(at, set, kind, (tie.first, T::one()), second) else { return };
    let Response { impedance, pull, damping } = response(params.softness, tie.r, tie.r, at.shortest);
    let row = set.blocks[block].row;
    set.position[row] = tie.r;
    set.reference[row] = -(damping * velocity(at, set, block)) - pull;
    set.weights[block].rows[0] = weight(impedance, tie.inverse_inertia(at));
}

/// The pullback of an equality between lengths, with y = J λ and z = C y.
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
    for t in [Some(tie.first), tie.second].into_iter().flatten() {
        at.index.tendons[t].weight.add([inertia_bar], bars.params);
    }
    let damping_bar = -(z[0] * velocity(at, set, block));
    let bar = Response { impedance: impedance_bar, pull: -z[0], damping: damping_bar };
    let (softness, r_bar, size_bar, ()) = response_vjp(params.softness, tie.r, tie.r, at.shortest, bar);
    let r_bar = r_bar + size_bar;
    // r = x₁ − p(x₂),  J = J₁ − p'(x₂) J₂
    let seen = (z[0], -(damping * z[0]));
    bars.tendons.length[tie.first] += r_bar;
    row_vjp(at, set, block, (tie.first, T::one()), seen, bars);
    let slope_bar = match tie.second {
        Some(t) => -row_vjp(at, set, block, (t, -tie.slope), seen, bars),
        None => T::zero(),
    };
    let (polycoef, x_bar) = value_and_slope_vjp(params.polycoef, tie.x, (-r_bar, slope_bar));
    if let Some(t) = tie.second {
        bars.tendons.length[t] += x_bar;
    }
    PolynomialParams { polycoef, softness }
}
