//! Finding contacts: the narrow phase over all pairs that may touch, and its pullback.
//!
//! Geoms are placed once. With `MANY_PAIRS` or more, a broad phase lists the pairs to look at, in the same
//! order; balls and boxes around the geoms are compared next (`apart`). Pairs left out have no contact, so
//! that forces and gradients keep every bit.

use std::ops::Range;

use pullback_collision::{
    BroadPhase, Collider, Contact, Kind, SOFT_REACH, ShapeBar, collide_soft, collide_soft_vjp, excludes_limit,
};
use pullback_core::Workspace;
use pullback_math::{Force, Mask, Real, Transform, Vec3};

use super::apart::{bounding_spheres_apart, boxes_apart};
use super::geoms::GeomView;
use crate::complementarity::rows::pair_margin;
use crate::model::Model;
use crate::pairs::GeomPair;

/// Number of pairs from which a broad phase pays.
pub(crate) const MANY_PAIRS: usize = 64;

/// A pair of geoms that are near each other, and where its contacts lie.
#[derive(Clone, Copy, Debug)]
pub struct FoundPair {
    /// The two geoms; normals point from the first to the second.
    pub geoms: (usize, usize),
    /// Number of the explicit pair whose law they follow; `None` for that of the two geoms.
    pub explicit: Option<usize>,
    first: usize,
    count: usize,
    /// Distance up to which its contacts count, m, over all lanes.
    reach: f64,
}

impl FoundPair {
    /// The geoms and the law of their contacts.
    pub fn pair(&self) -> GeomPair {
        GeomPair { geoms: self.geoms, explicit: self.explicit }
    }

    /// Its contacts in [`ContactSet::contacts`].
    pub fn contacts(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// The contacts of one evaluation, pair by pair.
#[derive(Clone, Debug, Workspace)]
pub struct ContactSet<T> {
    /// Pose in the world of each geom that may touch.
    poses: Vec<Transform<T>>,
    /// Radius of a ball around each geom that holds it, m; infinite for a plane.
    radii: Vec<f64>,
    /// The geoms that are in a pair that may touch, ascending.
    members: Vec<usize>,
    pairs: Vec<FoundPair>,
    /// The explicit pairs, sorted by geoms, the smaller first.
    explicit: Vec<GeomPair>,
    /// Whether each geom is in one of the pairs.
    near: Vec<bool>,
    contacts: Vec<Contact<T>>,
    /// Cotangents of the contacts.
    pub contact_bars: Vec<Contact<T>>,
    /// Cotangents of the geoms' friction.
    pub friction_bars: Vec<T>,
    /// Cotangents of the geoms' z axes in the world.
    pub axis_bars: Vec<Vec3<T>>,
    shape_bars: Vec<ShapeBar<T>>,
    /// None where pairs are few.
    broad_phase: Option<BroadPhase>,
}

impl<T: Real> ContactSet<T> {
    /// Memory for the contacts of `pairs`; a broad phase culls them from `many` pairs on.
    pub fn new(model: &Model, pairs: &[(usize, usize)], many: usize) -> Self {
        let geoms = if pairs.is_empty() { 0 } else { model.geoms.len() };
        let kind = |geom: usize| model.collider::<f64>(&model.geoms[geom]).kind;
        let explicit = GeomPair::explicit(model);
        let all = || pairs.iter().flat_map(|pair| GeomPair::all(&explicit, *pair));
        let slots = |pair: GeomPair| model.contact_slots(kind(pair.geoms.0), kind(pair.geoms.1));
        let contacts = all().map(slots).sum();
        let near = all().count();
        let mut members: Vec<usize> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        members.sort_unstable();
        members.dedup();
        ContactSet {
            poses: vec![Transform::identity(); geoms],
            radii: model.geoms[..geoms].iter().map(|g| model.collider::<f64>(g).bounding_radius()).collect(),
            members,
            pairs: Vec::with_capacity(near),
            explicit,
            near: vec![false; geoms],
            contacts: Vec::with_capacity(contacts),
            contact_bars: Vec::with_capacity(contacts),
            friction_bars: vec![T::zero(); geoms],
            axis_bars: vec![Vec3::zero(); geoms],
            shape_bars: vec![no_shape_bar(); geoms],
            broad_phase: (pairs.len() >= many).then(|| BroadPhase::new(pairs.to_vec()).reserved(geoms)),
        }
    }

    /// The most contacts that there can be.
    pub fn capacity(&self) -> usize {
        self.contacts.capacity()
    }

    /// The pairs that are near each other.
    pub fn pairs(&self) -> &[FoundPair] {
        &self.pairs
    }

    /// Contacts of all pairs; an empty slot has a distance of [`INACTIVE`](pullback_collision::INACTIVE) or
    /// more.
    pub fn contacts(&self) -> &[Contact<T>] {
        &self.contacts
    }

    /// The pose in the world of a geom that may touch.
    pub fn pose(&self, geom: usize) -> Transform<T> {
        self.poses[geom]
    }

    /// The distance up to which contacts of a pair count, m, over all lanes: margin and gap.
    pub fn reach(&self, pair: &FoundPair) -> f64 {
        pair.reach
    }

    /// The contacts with the geoms of their pairs.
    pub fn iter(&self) -> impl Iterator<Item = ((usize, usize), &Contact<T>)> {
        self.pairs.iter().flat_map(|pair| self.contacts[pair.contacts()].iter().map(|c| (pair.geoms, c)))
    }

    /// Finds the contacts of all `pairs` that are near each other.
    pub fn find(&mut self, geoms: &GeomView<'_, T>, pairs: &[(usize, usize)]) {
        let ContactSet { poses, radii, members, pairs: found, explicit, near, contacts, broad_phase, .. } =
            self;
        let softness = geoms.model.options.collision_softness;
        // Soft distances may be that much below hard ones, and a part of these.
        let searched = |reach: f64| if softness == 0.0 { reach } else { 2.0 * reach + SOFT_REACH * softness };
        for &geom in members.iter() {
            poses[geom] = geoms.pose(geom);
            let collider = geoms.collider(geom);
            // That of a mesh does not change.
            if collider.kind != Kind::Mesh {
                radii[geom] = collider.bounding_radius();
            }
        }
        let candidates = match broad_phase {
            None => pairs,
            Some(phase) => phase.near(poses.len(), |geom| {
                // Contacts are computed to the round-off of T.
                let far = poses[geom].translation.map(|x| x.abs().max_lane()).norm();
                let reach = searched(reach_of(geoms, geom));
                let size = if radii[geom].is_finite() { far + radii[geom] } else { far };
                (geoms.collider(geom), poses[geom], 64.0 * T::EPSILON * size + reach)
            }),
        };
        found.clear();
        near.fill(false);
        contacts.clear();
        for pair in candidates.iter().flat_map(|pair| GeomPair::all(explicit, *pair)) {
            let ((a, b), reach) = (pair.geoms, reach(geoms, pair));
            if bounding_spheres_apart((radii[a], poses[a]), (radii[b], poses[b]), searched(reach)) {
                continue;
            }
            let (first, second) = (asked(geoms, a, reach), asked(geoms, b, reach));
            // The earlier kind comes first, so that normals point from it.
            let (a, b, first, second) =
                if first.kind <= second.kind { (a, b, first, second) } else { (b, a, second, first) };
            let (start, count) = (contacts.len(), geoms.model.contact_slots(first.kind, second.kind));
            if boxes_apart((&first, poses[a]), (&second, poses[b]), searched(reach)) {
                continue;
            }
            contacts.resize(start + count, Contact::default());
            collide_soft(&first, poses[a], &second, poses[b], softness, &mut contacts[start..]);
            let (limit, open) = (T::lit(reach), excludes_limit(first.kind, second.kind));
            let beyond = |d: T| if open { d.ge(limit).all() } else { d.gt(limit).all() };
            if contacts[start..].iter().all(|contact| beyond(contact.distance)) {
                contacts.truncate(start);
                continue;
            }
            found.push(FoundPair { geoms: (a, b), explicit: pair.explicit, first: start, count, reach });
            (near[a], near[b]) = (true, true);
        }
    }

    /// Sets all cotangents to zero.
    pub(crate) fn clear_bars(&mut self) {
        let zero = Contact { position: Vec3::zero(), normal: Vec3::zero(), distance: T::zero() };
        self.contact_bars.clear();
        self.contact_bars.resize(self.contacts.len(), zero);
        self.friction_bars.fill(T::zero());
        self.axis_bars.fill(Vec3::zero());
    }

    /// The pullback of [`ContactSet::find`] with the cotangents of contacts and friction at hand: *adds* to
    /// the wrenches on displacements of the bodies and to the parameters.
    pub fn find_vjp(&mut self, geoms: &GeomView<'_, T>, wrenches: &mut [Force<T>], params_bar: &mut [T]) {
        let ContactSet { poses, pairs, near, contact_bars, friction_bars, axis_bars, shape_bars, .. } = self;
        for (bar, axis) in shape_bars.iter_mut().zip(axis_bars.iter()) {
            *bar = no_shape_bar();
            bar.pose.rotation.c2 = *axis;
        }
        let softness = geoms.model.options.collision_softness;
        for pair in pairs.iter() {
            let (a, b) = pair.geoms;
            let bars = &contact_bars[pair.contacts()];
            if bars.iter().all(is_zero) {
                continue;
            }
            let (first, second) = (asked(geoms, a, pair.reach), asked(geoms, b, pair.reach));
            let (mut a_bar, mut b_bar) = (shape_bars[a], shape_bars[b]);
            collide_soft_vjp(&first, poses[a], &second, poses[b], softness, bars, &mut a_bar, &mut b_bar);
            (shape_bars[a], shape_bars[b]) = (a_bar, b_bar);
        }
        for geom in (0..near.len()).filter(|geom| near[*geom]) {
            geoms.placed_vjp(geom, shape_bars[geom], friction_bars[geom], wrenches, params_bar);
        }
    }
}

/// The shape of a geom, asked for contacts within the `reach` of its pair, m.
fn asked<'a, T: Real>(geoms: &GeomView<'a, T>, geom: usize, reach: f64) -> Collider<'a, T> {
    Collider { reach: 0.5 * reach, cutoff: reach, ..geoms.collider(geom) }
}

/// Whether the cotangent of a contact vanishes in every lane; numbers with a tangent are never sure of it.
fn is_zero<T: Real>(bar: &Contact<T>) -> bool {
    let vanishes = |x: T| x.abs().le(T::zero()).all();
    let Contact { position: p, normal: n, distance } = *bar;
    !T::HAS_TANGENT && [distance, p.x, p.y, p.z, n.x, n.y, n.z].into_iter().all(vanishes)
}

fn no_shape_bar<T: Real>() -> ShapeBar<T> {
    ShapeBar { pose: Transform::identity() - Transform::identity(), size: Vec3::zero() }
}

/// Distance up to which the contacts of a pair count, m, over all lanes.
fn reach<T: Real>(geoms: &GeomView<'_, T>, pair: GeomPair) -> f64 {
    let width = geoms.distant.map_or(0.0, |distant| distant.width_of(pair.geoms));
    margin_and_gap(geoms, pair) + geoms.slack + width
}

/// That of the model of constraints, or 0.
fn margin_and_gap<T: Real>(geoms: &GeomView<'_, T>, pair: GeomPair) -> f64 {
    let Some(index) = &geoms.index.constraints else {
        return if geoms.index.complementarity.is_some() { pair_margin(geoms.model, pair) } else { 0.0 };
    };
    let ((a, b), margin) = (pair.geoms, |x: T| x.max_lane());
    if geoms.model.pairs.is_empty() && index.all_contacts.is_none() {
        let of = |geom: usize| {
            margin(index.geoms[geom].read(geoms.params).margin) + geoms.model.geoms[geom].contact.gap
        };
        return of(a) + of(b);
    }
    pair_gap(geoms.model, pair)
        + match (index.all_contacts, pair.explicit) {
            (Some(law), _) => margin(law.read(geoms.params).margin),
            (None, Some(number)) => margin(index.pairs[number].read(geoms.params).margin),
            (None, None) => {
                let of = |geom: usize| margin(index.geoms[geom].read(geoms.params).margin);
                of(a) + of(b)
            }
        }
}

/// Distance beyond the margin up to which contacts of a pair are there without acting, m.
pub(crate) fn pair_gap(model: &Model, pair: GeomPair) -> f64 {
    let (a, b) = pair.geoms;
    let of = |geom: usize| model.geoms[geom].contact.gap;
    pair.explicit.map_or(of(a) + of(b), |number| model.pairs[number].gap)
}

/// What a geom may add to the reach of its pairs, m, over all lanes.
fn reach_of<T: Real>(geoms: &GeomView<'_, T>, geom: usize) -> f64 {
    let width = geoms.slack + geoms.distant.map_or(0.0, |distant| distant.width());
    let Some(index) = &geoms.index.constraints else {
        let model = geoms.model;
        let own =
            if geoms.index.complementarity.is_some() { model.geoms[geom].margin } else { return width };
        return width + model.pairs.iter().fold(own, |reach, pair| reach.max(pair.margin));
    };
    let own = match index.all_contacts {
        Some(law) => law.read(geoms.params).margin,
        None => index.geoms[geom].read(geoms.params).margin,
    };
    let pairs = geoms.model.pairs.iter().zip(&index.pairs);
    let explicit = pairs.map(|(pair, law)| pair.gap + law.read(geoms.params).margin.max_lane());
    explicit.fold(own.max_lane() + geoms.model.geoms[geom].contact.gap, f64::max) + width
}
