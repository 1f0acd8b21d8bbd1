//! Contacts as constraints: their frame, their rows, and the pullback of both.
//!
//! The rows of a contact are the relative velocity of the second body against the first at the contact point,
//! along (normal, t₁, t₂), then the relative spin about these axes.

use pullback_collision::{Contact, INACTIVE, Kind};
use pullback_math::{Force, Mask, Motion, Real, Vec3, differentiable, select};

use super::between::Columns;
use super::contact_law::{condim, contact_law, contact_law_vjp};
use super::cost::{Cost, MOST_ROWS, Weights};
use super::params::ContactLaw;
use super::set::{ConstraintSet, Source};
use super::softness::{
    LEAST, Response, SoftnessParams, distant_response, distant_response_vjp, friction_damping,
    friction_damping_vjp, response, response_vjp, weight, weight_vjp,
};
use super::{Constrained, ConstraintBars, Fields, Seen};
use crate::contact::distance::DistantSpline;
use crate::contact::{ContactSet, FoundPair, GeomView};
use crate::model::FrictionCone;

/// Tangents of a contact: t₁ along `hint` if that is given, else along y or z, whichever is farther from the
/// normal; t₂ = n × t₁.
#[differentiable]
#[inline]
pub(crate) fn contact_tangents<T: Real>(normal: Vec3<T>, hint: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    let (zero, one) = (T::zero(), T::one());
    let along_y = normal.y.abs().lt(T::lit(0.5));
    let axis = Vec3::new(zero, select(along_y, one, zero), select(along_y, zero, one));
    let start = select(hint.norm_squared().lt(T::lit(0.25)), axis, hint);
    let flat = start - normal * normal.dot(start);
    let long = flat.norm_squared().gt(T::lit(LEAST * LEAST));
    let first = select(long, flat.normalize(), Vec3::new(one, zero, zero));
    (first, normal.cross(first))
}

/// The geom whose z axis the first tangent follows: a capsule on a plane.
pub(crate) fn tangent_hint<T: Real>(geoms: &GeomView<'_, T>, (a, b): (usize, usize)) -> Option<usize> {
    let kind = |geom: usize| geoms.collider(geom).kind;
    (kind(a) == Kind::Plane && kind(b) == Kind::Capsule).then_some(b)
}

/// Normal and tangents of a contact in a slot of a pair, as its rows have them.
pub fn contact_frame<T: Real>(
    geoms: &GeomView<'_, T>,
    contacts: &ContactSet<T>,
    pair: &FoundPair,
    slot: usize,
) -> [Vec3<T>; 3] {
    let hint = tangent_hint(geoms, pair.geoms);
    frame(&contacts.contacts()[slot], hint.map_or(Vec3::zero(), |geom| contacts.pose(geom).rotation.c2))
}

/// Normal and tangents of a contact.
fn frame<T: Real>(contact: &Contact<T>, hint: Vec3<T>) -> [Vec3<T>; 3] {
    let (first, second) = contact_tangents(contact.normal, hint);
    [contact.normal, first, second]
}

/// A motion, linear at the contact, along the rows: linear along the axes, then angular about them.
#[inline(always)]
fn along<T: Real>(axes: &[Vec3<T>; 3], motion: Motion<T>) -> [T; MOST_ROWS] {
    let (v, w) = (motion.linear, motion.angular);
    [axes[0].dot(v), axes[1].dot(v), axes[2].dot(v), axes[0].dot(w), axes[1].dot(w), axes[2].dot(w)]
}

/// Motion of the second body against the first at a point.
fn relative_motion<T: Real>(
    at: &Constrained<'_, T>,
    motions: &[Motion<T>],
    (first, second): (usize, usize),
    point: Vec3<T>,
) -> Motion<T> {
    let of = |body: usize| motions[body].velocity_at(point - at.between.origin(body));
    Motion::new(motions[second].angular - motions[first].angular, of(second) - of(first))
}

/// Where the rows of a contact lie: bodies of the first and second geom, arms of its position from the points
/// of their trees, axes.
pub(super) struct ContactRows<T> {
    pub bodies: (usize, usize),
    pub arms: (Vec3<T>, Vec3<T>),
    pub axes: [Vec3<T>; 3],
}

pub(super) fn contact_rows<T: Real>(
    at: &Constrained<'_, T>,
    contacts: &ContactSet<T>,
    (pair, slot): (usize, usize),
) -> ContactRows<T> {
    let found = &contacts.pairs()[pair];
    let (first, second) = found.geoms;
    let bodies = (at.geoms.model.geoms[first].body, at.geoms.model.geoms[second].body);
    let position = contacts.contacts()[slot].position;
    let arms = (position - at.between.origin(bodies.0), position - at.between.origin(bodies.1));
    ContactRows { bodies, arms, axes: contact_frame(at.geoms, contacts, found, slot) }
}

/// Slope of the friction cone in scaled coordinates: μ = friction √(R₁/R₀), R₁ = R₀/impratio.
#[differentiable]
#[inline]
fn cone_slope<T: Real>(friction: T, impratio: T) -> T {
    friction / impratio.max(T::lit(LEAST)).sqrt()
}

/// Weights of a contact with friction.
///
/// Pyramid: every edge has R = 2 μ² R₀ with R₀ = (1 − d)/d · A (1 + friction²). Elliptic: R₀ = (1 − d)/d · A,
/// Rⱼ = R₀/impratio · friction₀²/frictionⱼ².
#[differentiable]
fn contact_weights<T: Real>(
    impedance: T,
    inverse_inertia: T,
    friction: [T; 5],
    impratio: T,
    #[constant] cost: Cost,
) -> Weights<T> {
    let zero = T::zero();
    let mu = cone_slope(friction[0], impratio);
    if cost == Cost::Pyramid {
        let edge = weight(impedance, inverse_inertia * (T::one() + friction[0] * friction[0]));
        let rows = edge / (T::lit(2.0) * mu * mu);
        Weights { rows: [rows, zero, zero, zero, zero, zero], friction, mu }
    } else if cost == Cost::Elliptic {
        let first = weight(impedance, inverse_inertia);
        let scale = first * impratio.max(T::lit(LEAST)) / (friction[0] * friction[0]);
        Weights {
            rows: [
                first,
                scale * friction[0] * friction[0],
                scale * friction[1] * friction[1],
                scale * friction[2] * friction[2],
                scale * friction[3] * friction[3],
                scale * friction[4] * friction[4],
            ],
            friction,
            mu,
        }
    } else {
        let rows = weight(impedance, inverse_inertia);
        Weights { rows: [rows, zero, zero, zero, zero, zero], friction, mu }
    }
}

/// Sum of the inverse weights of two bodies.
fn inverse_inertia<T: Real>(at: &Constrained<'_, T>, (a, b): (usize, usize)) -> T {
    let of = |body: usize| at.index.bodies[body].map_or(T::zero(), |w| w.read(at.geoms.params)[0]);
    of(a) + of(b)
}

/// What all contacts of a pair share.
struct Pair<T> {
    cost: Cost,
    dim: usize,
    bodies: (usize, usize),
    law: ContactLaw<T>,
    inverse_inertia: T,
    impratio: T,
    /// Whether friction has a damping of its own.
    own_damping: bool,
    hint: Option<usize>,
    /// Distance from which it acts beside the margin, m, and how, if contacts act from distance.
    distant: Option<(T, DistantSpline<T>)>,
}

impl<T: Real> Pair<T> {
    /// Distance below which its contacts act, m.
    fn reach(&self) -> T {
        self.distant.map_or(self.law.margin, |(width, _)| self.law.margin + width)
    }

    /// The response of a contact at a violation r.
    #[inline(always)]
    fn response(&self, r: T, shortest: T) -> Response<T> {
        match self.distant {
            None => response(self.law.softness, r, r, shortest),
            Some((_, spline)) => distant_response(self.law.softness, r, shortest, spline),
        }
    }

    /// The pullback of [`Pair::response`]: cotangents of the softness and of r.
    fn response_vjp(&self, r: T, shortest: T, bar: Response<T>) -> (SoftnessParams<T>, T) {
        match self.distant {
            None => {
                let (softness, r_bar, size_bar, ()) = response_vjp(self.law.softness, r, r, shortest, bar);
                (softness, r_bar + size_bar)
            }
            Some((_, spline)) => {
                let (softness, r_bar, (), ()) =
                    distant_response_vjp(self.law.softness, r, shortest, spline, bar);
                (softness, r_bar)
            }
        }
    }
}

fn pair_at<T: Real>(at: &Constrained<'_, T>, pair: &FoundPair) -> Pair<T> {
    let (a, b) = pair.geoms;
    let dim = condim(at.geoms, pair.pair());
    let cost = match (dim, at.geoms.model.options.cone) {
        (1, _) => Cost::OneSided,
        (_, FrictionCone::Pyramidal) => Cost::Pyramid,
        (_, FrictionCone::Elliptic) => Cost::Elliptic,
    };
    let bodies = (at.geoms.model.geoms[a].body, at.geoms.model.geoms[b].body);
    let law = contact_law(at, pair.pair());
    let [x, y] = law.solreffriction;
    let mixed = (x.gt(T::zero()) & y.le(T::zero())) | (x.le(T::zero()) & y.gt(T::zero()));
    let given = !(x.ge(T::zero()) & x.le(T::zero()) & y.ge(T::zero()) & y.le(T::zero()));
    Pair {
        cost,
        dim,
        bodies,
        law,
        inverse_inertia: inverse_inertia(at, bodies),
        impratio: at.index.impratio.read(at.geoms.params)[0],
        own_damping: cost == Cost::Elliptic && given.any() && !mixed.any(),
        hint: tangent_hint(at.geoms, (a, b)),
        distant: at.geoms.distant.and_then(|distant| {
            let width = distant.width_of((a, b));
            (width > 0.0).then(|| (T::lit(width), distant.spline()))
        }),
    }
}

/// Which lanes of a contact act; `number` is its own in the pair.
#[inline(always)]
fn acts<T: Real>(
    at: &Constrained<'_, T>,
    pair: &Pair<T>,
    found: &FoundPair,
    number: usize,
    contact: &Contact<T>,
) -> T::Mask {
    let r = contact.distance - pair.reach();
    let acts = match at.held {
        Some(held) if pair.distant.is_none() => held.contact_acts(found.pair(), number, r),
        _ => r.lt(T::zero()),
    };
    acts & contact.distance.lt(T::lit(0.5 * INACTIVE))
}

/// Appends the contacts that act.
pub(super) fn push_contacts<T: Real>(
    at: &Constrained<'_, T>,
    contacts: &ContactSet<T>,
    set: &mut ConstraintSet<T>,
) {
    for (number, found) in contacts.pairs().iter().enumerate() {
        let mut prepared: Option<Pair<T>> = None;
        let mut pushed = false;
        for slot in found.contacts() {
            let contact = contacts.contacts()[slot];
            // A cheap refusal before the law is read.
            if !contact.distance.lt(T::lit(contacts.reach(found))).any() {
                continue;
            }
            let pair = prepared.get_or_insert_with(|| pair_at(at, found));
            let mask = acts(at, pair, found, slot - found.contacts().start, &contact);
            if !mask.any() {
                continue;
            }
            let (first, second) = pair.bodies;
            let source = Source::Contact { pair: number, slot };
            let block = if pushed {
                set.push_like_last(source)
            } else {
                let (kind, bodies) = ((pair.cost, pair.dim), (first, second));
                at.between.push(set, source, kind, Columns::Apart, bodies)
            };
            let Some(block) = block else { continue };
            pushed = true;
            let hint = pair.hint.map_or(Vec3::zero(), |geom| contacts.pose(geom).rotation.c2);
            let axes = frame(&contact, hint);

            // J = frame · (J₂ − J₁)
            at.between.fill(
                set,
                block,
                Columns::Apart,
                (second, first),
                (contact.position, contact.position),
                |motion| along(&axes, motion),
            );

            // a_ref = −b J v − k d r on the normal
            let r = contact.distance - pair.law.margin;
            let Response { impedance, pull, damping } = pair.response(r, at.shortest);
            let relative = relative_motion(at, at.velocities, pair.bodies, contact.position);
            let velocity = along(&axes, relative);
            let sliding = if pair.own_damping {
                friction_damping(pair.law.solreffriction, pair.law.softness.solimp, at.shortest)
            } else {
                damping
            };
            let row = set.blocks[block].row;
            set.position[row] = contact.distance;
            set.reference[row] = -(damping * velocity[0]) - pull;
            for i in 1..pair.dim {
                set.reference[row + i] = -(sliding * velocity[i]);
            }
            let mut weights =
                contact_weights(impedance, pair.inverse_inertia, pair.law.friction, pair.impratio, pair.cost);
            for weight in &mut weights.rows {
                *weight = select(mask, *weight, T::zero());
            }
            set.weights[block] = weights;
        }
    }
}

/// A pair on the way back: what its contacts share, and the cotangents of that.
pub(super) struct PairBars<T> {
    number: usize,
    pair: Pair<T>,
    law: ContactLaw<T>,
    inverse_inertia: T,
    impratio: T,
}

impl<T: Real> PairBars<T> {
    /// Begins with the pair of this number.
    pub fn begin(at: &Constrained<'_, T>, contacts: &ContactSet<T>, number: usize) -> Self {
        PairBars {
            number,
            pair: pair_at(at, &contacts.pairs()[number]),
            law: ContactLaw::default(),
            inverse_inertia: T::zero(),
            impratio: T::zero(),
        }
    }

    /// Whether it is the pair of this number.
    pub fn is(&self, number: usize) -> bool {
        self.number == number
    }

    /// Hands the cotangents on to the parameters.
    pub fn end(self, at: &Constrained<'_, T>, contacts: &mut ContactSet<T>, params_bar: &mut [T]) {
        let pair = contacts.pairs()[self.number].pair();
        contact_law_vjp(at, pair, self.law, &mut contacts.friction_bars, params_bar);
        at.index.impratio.add([self.impratio], params_bar);
        let (first, second) = self.pair.bodies;
        for block in [first, second].into_iter().filter_map(|body| at.index.bodies[body]) {
            block.add([self.inverse_inertia, T::zero()], params_bar);
        }
    }
}

/// The pullback of a contact's rows.
pub(super) fn contact_vjp<T: Real>(
    at: &Constrained<'_, T>,
    contacts: &mut ContactSet<T>,
    set: &ConstraintSet<T>,
    block: usize,
    seen: Seen<'_, T>,
    shared: &mut PairBars<T>,
    (fields, bars): (&mut Fields<'_, T>, &mut ConstraintBars<'_, T>),
) {
    let b = set.blocks[block];
    let Seen { y, z, reference, .. } = seen;
    let Source::Contact { slot, pair: number } = b.source else { return };
    let pair = &shared.pair;
    let contact = contacts.contacts()[slot];
    let found = contacts.pairs()[number];
    let mask = acts(at, pair, &found, slot - found.contacts().start, &contact);
    let rows = b.row..b.row + b.dim;
    let (u, force) = (&set.residual[rows.clone()], &set.force[rows]);

    // Weights.
    let mut weights_bar = b.cost.weights_vjp(u, &set.weights[block], y);
    pullback_math::Cotangent::accumulate(&mut weights_bar, seen.weights);
    for weight in &mut weights_bar.rows {
        *weight = select(mask, *weight, T::zero());
    }
    let r = contact.distance - pair.law.margin;
    let Response { impedance, damping, .. } = pair.response(r, at.shortest);
    let (impedance_bar, inertia_bar, friction_bar, impratio_bar, ()) = contact_weights_vjp(
        impedance,
        pair.inverse_inertia,
        pair.law.friction,
        pair.impratio,
        pair.cost,
        weights_bar,
    );

    // a_ref = −b J v − pull on the normal
    let hint = pair.hint.map_or(Vec3::zero(), |geom| contacts.pose(geom).rotation.c2);
    let axes = frame(&contact, hint);
    let velocity = along(&axes, relative_motion(at, at.velocities, pair.bodies, contact.position));
    let sliding = if pair.own_damping {
        friction_damping(pair.law.solreffriction, pair.law.softness.solimp, at.shortest)
    } else {
        damping
    };
    let mut velocity_bar = [T::zero(); MOST_ROWS];
    velocity_bar[0] = -(damping * reference[0]);
    let (mut damping_bar, mut sliding_bar) = (-(reference[0] * velocity[0]), T::zero());
    for i in 1..b.dim {
        velocity_bar[i] = -(sliding * reference[i]);
        sliding_bar -= reference[i] * velocity[i];
    }
    let mut law_bar = ContactLaw { friction: friction_bar, ..ContactLaw::default() };
    if pair.own_damping {
        let (solref, solimp, ()) =
            friction_damping_vjp(pair.law.solreffriction, pair.law.softness.solimp, at.shortest, sliding_bar);
        law_bar.solreffriction = solref;
        law_bar.softness.solimp = solimp;
    } else {
        damping_bar += sliding_bar;
    }
    let response_bar = Response { impedance: impedance_bar, pull: -reference[0], damping: damping_bar };
    let (softness, r_bar) = pair.response_vjp(r, at.shortest, response_bar);
    pullback_math::Cotangent::accumulate(&mut law_bar.softness, softness);
    law_bar.margin -= r_bar;
    pullback_math::Cotangent::accumulate(&mut shared.law, law_bar);
    shared.impratio += impratio_bar;
    shared.inverse_inertia += inertia_bar;
    let (first, second) = pair.bodies;

    // J x for x of λ, a and v, with cotangents f, −z and that of the velocity.
    let mut axis_bars = [Vec3::zero(); 3];
    let mut position_bar = Vec3::zero();
    let negated: [T; MOST_ROWS] = std::array::from_fn(|i| if i < b.dim { -z[i] } else { T::zero() });
    let points = (contact.position - at.between.origin(first), contact.position - at.between.origin(second));
    for (field, row_bars) in [(0, force), (1, &negated[..b.dim]), (2, &velocity_bar[..b.dim])] {
        let (motion, bars) = fields.get(field, at, bars);
        let relative = relative_motion(at, motion, pair.bodies, contact.position);
        let (mut push, mut twist) = (Vec3::zero(), Vec3::zero());
        for (i, bar) in row_bars.iter().enumerate() {
            if i < 3 {
                push += axes[i] * *bar;
                axis_bars[i] += relative.linear * *bar;
            } else {
                twist += axes[i - 3] * *bar;
                axis_bars[i - 3] += relative.angular * *bar;
            }
        }
        // F·(ω × δp) = δp·(F × ω)
        position_bar += push.cross(relative.angular);
        bars[second] += Force::new(points.1.cross(push) + twist, push);
        bars[first] -= Force::new(points.0.cross(push) + twist, push);
    }
    if let Some(swept) = &seen.swept {
        let point = contact.position;
        // Rows of friction after the normal one: J_ik = axis·motion of column k.
        at.between.for_each_column(pair.bodies, point, set.dofs(block), |n, k, motion, (arm, sign)| {
            let (mut push, mut twist) = (Vec3::zero(), Vec3::zero());
            for (i, row) in swept.jacobian.chunks(b.columns).enumerate() {
                let i = i + 1;
                if i < 3 {
                    push += axes[i] * row[n];
                    axis_bars[i] += motion.linear * row[n];
                } else {
                    twist += axes[i - 3] * row[n];
                    axis_bars[i - 3] += motion.angular * row[n];
                }
            }
            let (push, twist) = (push * sign, twist * sign);
            bars.axes[k] += Force::new(arm.cross(push) + twist, push);
            position_bar += push.cross(at.between.kinematics.axes[k].angular);
        });
        if !fields.external.is_empty() {
            // Forces on bodies: what the sweeps add to those of the optimum.
            let relative = relative_motion(at, fields.external, pair.bodies, point);
            for (i, change) in (1..b.dim).zip(swept.change) {
                if i < 3 {
                    axis_bars[i] += relative.linear * change;
                    position_bar += (axes[i] * change).cross(relative.angular);
                } else {
                    axis_bars[i - 3] += relative.angular * change;
                }
            }
        }
    }
    let (mut normal_bar, hint_bar) = contact_tangents_vjp(contact.normal, hint, (axis_bars[1], axis_bars[2]));
    normal_bar += axis_bars[0];
    let bar = &mut contacts.contact_bars[slot];
    bar.position += position_bar;
    bar.normal += normal_bar;
    bar.distance += r_bar;
    if let Some(geom) = pair.hint {
        contacts.axis_bars[geom] += hint_bar;
    }
}
