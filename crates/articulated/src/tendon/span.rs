//! Spans: lengths between points of bodies, with the wrenches by which a unit of force along them acts.
//!
//! A span is a path of straight pieces and arcs (a spatial tendon), or a transmission of an actuator: a wrench at a
//! site, the pose of a site seen from another, a slider-crank, the contacts of a body. Each gives a length L and, for every body it holds, a
//! *pull* F_b: a force f along the span pushes body b by f F_b, and the length changes by Σ F_b·V_b where bodies
//! move with V_b. For paths and cranks F is the derivative of L; for sites it is what MuJoCo takes for it. Forces of
//! all spans are added up as wrenches on bodies and go to the joints in one sweep: no Jacobian is formed.
//!
//! *Pullback.* All that follows sees L and F alone, so [`Spans::update_vjp`] takes their cotangents: a number per span
//! and a motion U_b per pull.

use std::ops::Range;

use pullback_collision::broad_phase::Pair;
use pullback_core::{Block, Workspace};
use pullback_math::{Flat, Force, Mat3, Motion, MulVjp, Quat, Real, Transform, Vec3, differentiable, select};

use super::path::{Leg, Obstacle};
use super::wrap::Surface;
use crate::contact::pose_wrench;
use crate::kinematics::Kinematics;
use crate::model::{Model, PathItem, Shape};
use crate::pairs::candidate_pairs;
use crate::params::{ParamIndex, SiteParams};

/// A site, and the pull on its body.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    pub(super) site: usize,
    pub(super) body: usize,
    pub(super) slot: usize,
}

/// What a span is.
#[derive(Clone, Debug)]
enum SpanKind {
    /// The path of a tendon.
    Path(Vec<Leg>),
    /// A force and torque at a site, by a gear of six numbers in its frame. It has no length.
    Wrench { at: Anchor, gear: Range<usize> },
    /// Position and rotation of a site, seen from another, by a gear of six numbers. `common` is the pull on the
    /// last body that carries both, so that nothing before it moves the span.
    Relative { at: Anchor, reference: Anchor, common: Option<(usize, usize)>, gear: Range<usize> },
    /// A crank, a rod and a slider.
    Crank { crank: Anchor, slider: Anchor, rod: Block<[f64; 1]> },
    /// Contacts of a body, which set its pulls (`actuator/adhesion.rs`). It has no length.
    Contacts,
}

/// The spans of a model.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    kinds: Vec<SpanKind>,
    /// Pulls of each span.
    slots: Vec<Range<usize>>,
    /// Body of each pull.
    pub bodies: Vec<usize>,
    /// Spans of contacts, each with its body.
    adhesive: Vec<(usize, usize)>,
}

/// Lengths and pulls.
#[derive(Clone, Debug, Default, Workspace)]
pub struct SpanState<T> {
    /// Length of each span.
    pub length: Vec<T>,
    /// Rate of change of each length.
    pub velocity: Vec<T>,
    /// Wrench on a body per unit of force along the span, about the point of the body's tree.
    pub pulls: Vec<Force<T>>,
}

/// Cotangents of [`SpanState`]; that of a pull is a motion.
#[derive(Clone, Debug, Default, Workspace)]
pub struct SpanBars<T> {
    /// Of lengths.
    pub length: Vec<T>,
    /// Of pulls.
    pub pulls: Vec<Motion<T>>,
}

impl<T: Real> SpanBars<T> {
    /// Memory for spans.
    pub fn new(spans: &Spans) -> Self {
        SpanBars { length: vec![T::zero(); spans.len()], pulls: vec![Motion::zero(); spans.bodies.len()] }
    }

    /// Sets all to zero.
    pub fn clear(&mut self) {
        self.length.fill(T::zero());
        self.pulls.fill(Motion::zero());
    }
}

impl<T: Real> SpanState<T> {
    /// Memory for spans.
    pub fn new(spans: &Spans) -> Self {
        SpanState {
            length: vec![T::zero(); spans.len()],
            velocity: vec![T::zero(); spans.len()],
            pulls: vec![Force::zero(); spans.bodies.len()],
        }
    }
}

/// Where spans are evaluated.
pub struct SpanInputs<'a, T> {
    /// The model.
    pub model: &'a Model,
    /// Where its parameters lie.
    pub index: &'a ParamIndex,
    /// The parameters.
    pub params: &'a [T],
    /// Poses of the bodies.
    pub kinematics: &'a Kinematics<T>,
}

/// What the pullback of spans adds to.
pub struct SpanOutputBars<'a, T> {
    /// Wrenches on displacements of the bodies.
    pub wrenches: &'a mut [Force<T>],
    /// Cotangents of the parameters.
    pub params: &'a mut [T],
}

/// Builds the spans of a model.
#[derive(Default)]
pub struct SpanBuilder {
    spans: Spans,
    first: usize,
    /// Pairs of geoms that may touch, found for the first span that asks.
    pairs: Option<Vec<Pair>>,
}

impl SpanBuilder {
    fn slot(&mut self, body: usize) -> usize {
        let of_span = &self.spans.bodies[self.first..];
        match of_span.iter().position(|b| *b == body) {
            Some(slot) => self.first + slot,
            None => {
                self.spans.bodies.push(body);
                self.spans.bodies.len() - 1
            }
        }
    }

    fn anchor(&mut self, model: &Model, site: usize) -> Anchor {
        let body = model.sites[site].body;
        Anchor { site, body, slot: self.slot(body) }
    }

    fn finish(&mut self, kind: SpanKind) -> usize {
        self.spans.kinds.push(kind);
        self.spans.slots.push(self.first..self.spans.bodies.len());
        self.first = self.spans.bodies.len();
        self.spans.kinds.len() - 1
    }

    /// The path of a tendon; `items` were checked by the model.
    pub fn path(&mut self, model: &Model, items: &[PathItem]) -> usize {
        let (mut legs, mut divisor) = (Vec::new(), 1.0);
        let (mut from, mut over): (Option<Anchor>, Option<(usize, Option<usize>)>) = (None, None);
        for item in items {
            match *item {
                PathItem::Pulley(by) => (from, over, divisor) = (None, None, by),
                PathItem::Wrap { geom, sidesite } => over = Some((geom, sidesite)),
                PathItem::Site(site) => {
                    let to = self.anchor(model, site);
                    if let Some(from) = from {
                        let obstacle = over.take().map(|(geom, sidesite)| {
                            let body = model.geoms[geom].body;
                            let round = matches!(model.geoms[geom].shape, Shape::Sphere { .. });
                            let surface = if round { Surface::Sphere } else { Surface::Cylinder };
                            Obstacle { geom, body, slot: self.slot(body), surface, sidesite }
                        });
                        legs.push(Leg { from, to, obstacle, divisor });
                    }
                    from = Some(to);
                }
            }
        }
        self.finish(SpanKind::Path(legs))
    }

    /// A wrench at a site.
    pub fn wrench(&mut self, model: &Model, site: usize, gear: Range<usize>) -> usize {
        let at = self.anchor(model, site);
        self.finish(SpanKind::Wrench { at, gear })
    }

    /// The pose of a site, seen from another.
    pub fn relative(&mut self, model: &Model, site: usize, reference: usize, gear: Range<usize>) -> usize {
        let (at, reference) = (self.anchor(model, site), self.anchor(model, reference));
        let above =
            |body: usize| std::iter::successors(Some(body), |b| (*b != 0).then(|| model.bodies[*b].parent));
        let shared = above(at.body).find(|b| above(reference.body).any(|c| c == *b)).unwrap_or(0);
        let common = (shared != 0).then(|| (shared, self.slot(shared)));
        self.finish(SpanKind::Relative { at, reference, common, gear })
    }

    /// A slider-crank.
    pub fn crank(&mut self, model: &Model, crank: usize, slider: usize, rod: Block<[f64; 1]>) -> usize {
        let (crank, slider) = (self.anchor(model, crank), self.anchor(model, slider));
        self.finish(SpanKind::Crank { crank, slider, rod })
    }

    /// The contacts of a body, with a pull on it and on every body that it may touch.
    pub fn adhesive(&mut self, model: &Model, body: usize) -> usize {
        self.slot(body);
        let pairs = self.pairs.take().unwrap_or_else(|| candidate_pairs(model));
        for (a, b) in &pairs {
            let (a, b) = (model.geoms[*a].body, model.geoms[*b].body);
            if a == body || b == body {
                self.slot(if a == body { b } else { a });
            }
        }
        self.pairs = Some(pairs);
        let span = self.finish(SpanKind::Contacts);
        self.spans.adhesive.push((span, body));
        span
    }

    /// The spans.
    pub fn build(self) -> Spans {
        self.spans
    }
}

impl<T: Real> SpanInputs<'_, T> {
    pub(super) fn site(&self, site: usize) -> SiteParams<T> {
        match self.index.sites[site] {
            Some(block) => block.read(self.params),
            None => SiteParams::of(&self.model.sites[site]),
        }
    }

    /// Position of a site in the world.
    pub(super) fn point(&self, at: Anchor) -> Vec3<T> {
        self.kinematics.world_from_body[at.body].point(self.site(at.site).position)
    }

    /// The frame of a site in the world.
    fn frame(&self, at: Anchor) -> Transform<T> {
        self.kinematics.world_from_body[at.body] * self.site(at.site).body_from_site()
    }

    /// The vector to a point of a body from the point of its tree.
    pub(super) fn arm(&self, body: usize, point: Vec3<T>) -> Vec3<T> {
        point - self.kinematics.origins[body]
    }

    /// The pullback of [`SpanInputs::point`].
    pub(super) fn point_vjp(
        &self,
        at: Anchor,
        point: Vec3<T>,
        bar: Vec3<T>,
        bars: &mut SpanOutputBars<'_, T>,
    ) {
        bars.wrenches[at.body] += Force::at_point(bar, self.arm(at.body, point));
        if let Some(block) = self.index.sites[at.site] {
            let position = self.kinematics.world_from_body[at.body].inverse_direction(bar);
            block.add(SiteParams { position, orientation: Quat::zero() }, bars.params);
        }
    }

    /// The pullback of [`SpanInputs::frame`].
    fn frame_vjp(&self, at: Anchor, bar: Transform<T>, bars: &mut SpanOutputBars<'_, T>) {
        let (pose, site) = (self.kinematics.world_from_body[at.body], self.site(at.site));
        let (body_bar, local_bar) = pose.mul_vjp(site.body_from_site(), bar);
        bars.wrenches[at.body] += pose_wrench(pose, body_bar, self.kinematics.origins[at.body]);
        if let Some(block) = self.index.sites[at.site] {
            block.add(site.body_from_site_vjp(local_bar), bars.params);
        }
    }
}

/// Length of a rod's end from the slider, along the slider.
#[differentiable]
#[inline(always)]
fn crank_length<T: Real>(axis: Vec3<T>, v: Vec3<T>, rod: T) -> T {
    let along = axis.dot(v);
    let det = along * along + rod * rod - v.dot(v);
    select(det.gt(T::zero()), along - det.max(T::zero()).sqrt(), along)
}

/// Derivatives of [`crank_length`] with respect to `v` and `axis`.
#[differentiable]
#[inline(always)]
fn crank_slopes<T: Real>(axis: Vec3<T>, v: Vec3<T>, rod: T) -> (Vec3<T>, Vec3<T>) {
    let along = axis.dot(v);
    let det = along * along + rod * rod - v.dot(v);
    let reaches = det.gt(T::zero());
    let inverse = select(reaches, det, T::one()).sqrt().recip();
    let inverse = select(reaches, inverse, T::zero());
    let rest = T::one() - along * inverse;
    (axis * rest + v * inverse, v * rest)
}

/// Position and rotation of a frame seen from another, along a gear.
#[differentiable]
#[inline(always)]
fn relative_length<T: Real>(
    frame: Transform<T>,
    reference: Transform<T>,
    linear: Vec3<T>,
    angular: Vec3<T>,
) -> T {
    let between = reference.inverse_point(frame.translation);
    let turn = Quat::from_mat3(reference.rotation.transpose() * frame.rotation);
    between.dot(linear) + turn.log().dot(angular)
}

/// Adds a pull: force f at a point.
#[inline(always)]
pub(super) fn add_pull<T: Real>(pulls: &mut [Force<T>], slot: usize, f: Vec3<T>, arm: Vec3<T>) {
    pulls[slot] += Force::at_point(f, arm);
}

impl Spans {
    /// Number of spans.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Pulls of a span.
    pub fn slots(&self, span: usize) -> Range<usize> {
        self.slots[span].clone()
    }

    /// Spans whose pulls come from contacts, each with its body.
    pub fn adhesive(&self) -> &[(usize, usize)] {
        &self.adhesive
    }

    /// Whether a span wraps around geoms.
    pub fn wraps(&self, span: usize) -> bool {
        matches!(&self.kinds[span], SpanKind::Path(legs) if legs.iter().any(|leg| leg.obstacle.is_some()))
    }

    /// Lengths and pulls of all spans.
    pub fn update<T: Real>(&self, at: &SpanInputs<'_, T>, state: &mut SpanState<T>) {
        let SpanState { length, pulls, .. } = state;
        pulls.fill(Force::zero());
        for (length, kind) in length.iter_mut().zip(&self.kinds) {
            *length = match kind {
                SpanKind::Path(legs) => {
                    let mut total = T::zero();
                    legs.iter().for_each(|leg| total += leg.update(at, pulls));
                    total
                }
                SpanKind::Wrench { at: anchor, gear } => {
                    let frame = at.frame(*anchor);
                    let (linear, angular) = read_gear(at.params, gear);
                    add_pull(
                        pulls,
                        anchor.slot,
                        frame.direction(linear),
                        at.arm(anchor.body, frame.translation),
                    );
                    pulls[anchor.slot].moment += frame.direction(angular);
                    T::zero()
                }
                SpanKind::Relative { at: anchor, reference, common, gear } => {
                    let (frame, from) = (at.frame(*anchor), at.frame(*reference));
                    let (linear, angular) = read_gear(at.params, gear);
                    let (force, moment) = (from.direction(linear), from.direction(angular));
                    let arms =
                        (at.arm(anchor.body, frame.translation), at.arm(reference.body, from.translation));
                    add_pull(pulls, anchor.slot, force, arms.0);
                    pulls[anchor.slot].moment += moment;
                    add_pull(pulls, reference.slot, -force, arms.1);
                    pulls[reference.slot].moment -= moment;
                    if let Some((_, slot)) = common {
                        pulls[*slot].moment -= (arms.0 - arms.1).cross(force);
                    }
                    relative_length(frame, from, linear, angular)
                }
                SpanKind::Crank { crank, slider, rod } => {
                    let (end, frame, rod) = (at.point(*crank), at.frame(*slider), rod.read(at.params)[0]);
                    let (axis, v) = (frame.rotation.col(2), end - frame.translation);
                    let (by_v, by_axis) = crank_slopes(axis, v, rod);
                    add_pull(pulls, crank.slot, by_v, at.arm(crank.body, end));
                    add_pull(pulls, slider.slot, -by_v, at.arm(slider.body, frame.translation));
                    pulls[slider.slot].moment += axis.cross(by_axis);
                    crank_length(axis, v, rod)
                }
                SpanKind::Contacts => T::zero(),
            };
        }
    }

    /// The pullback of [`Spans::update`] with the cotangents of lengths and pulls.
    pub fn update_vjp<T: Real>(
        &self,
        at: &SpanInputs<'_, T>,
        given: &SpanBars<T>,
        bars: &mut SpanOutputBars<'_, T>,
    ) {
        for (kind, bar) in self.kinds.iter().zip(&given.length) {
            match kind {
                SpanKind::Path(legs) => {
                    legs.iter().for_each(|leg| leg.update_vjp(at, *bar, &given.pulls, bars));
                }
                SpanKind::Wrench { at: anchor, gear } => {
                    let frame = at.frame(*anchor);
                    let (linear, angular) = read_gear(at.params, gear);
                    let u = given.pulls[anchor.slot];
                    // U·F = (R g)·u(x) + (R h)·ω
                    let arm = at.arm(anchor.body, frame.translation);
                    let velocity = u.velocity_at(arm);
                    let rotation = Mat3::outer(velocity, linear) + Mat3::outer(u.angular, angular);
                    let translation = frame.direction(linear).cross(u.angular);
                    at.frame_vjp(*anchor, Transform::new(rotation, translation), bars);
                    let gear_bar = &mut bars.params[gear.clone()];
                    frame.inverse_direction(velocity).add_to(gear_bar);
                    frame.inverse_direction(u.angular).add_to(&mut gear_bar[3..]);
                }
                SpanKind::Relative { at: anchor, reference, common, gear } => {
                    let (frame, from) = (at.frame(*anchor), at.frame(*reference));
                    let (linear, angular) = read_gear(at.params, gear);
                    let (mut frame_bar, mut from_bar, mut linear_bar, mut angular_bar) =
                        relative_length_vjp(frame, from, linear, angular, *bar);
                    // U·F = f·(u(x) − u_r(x_r) − ω_c × (x − x_r)) + m·(ω − ω_r)
                    let (u, v) = (given.pulls[anchor.slot], given.pulls[reference.slot]);
                    let shared = common.map_or(Vec3::zero(), |(_, slot)| given.pulls[slot].angular);
                    let force = from.direction(linear);
                    let arms =
                        (at.arm(anchor.body, frame.translation), at.arm(reference.body, from.translation));
                    let lever = if common.is_some() { arms.0 - arms.1 } else { Vec3::zero() };
                    let force_bar = u.velocity_at(arms.0) - v.velocity_at(arms.1) - shared.cross(lever);
                    let moment_bar = u.angular - v.angular;
                    frame_bar.translation += force.cross(u.angular - shared);
                    from_bar.translation -= force.cross(v.angular - shared);
                    from_bar.rotation += Mat3::outer(force_bar, linear) + Mat3::outer(moment_bar, angular);
                    linear_bar += from.inverse_direction(force_bar);
                    angular_bar += from.inverse_direction(moment_bar);
                    at.frame_vjp(*anchor, frame_bar, bars);
                    at.frame_vjp(*reference, from_bar, bars);
                    let gear_bar = &mut bars.params[gear.clone()];
                    linear_bar.add_to(gear_bar);
                    angular_bar.add_to(&mut gear_bar[3..]);
                }
                SpanKind::Crank { crank, slider, rod } => {
                    let (end, frame, length) = (at.point(*crank), at.frame(*slider), rod.read(at.params)[0]);
                    let (axis, v) = (frame.rotation.col(2), end - frame.translation);
                    let (by_v, by_axis) = crank_slopes(axis, v, length);
                    let (mut axis_bar, mut v_bar, mut rod_bar) = crank_length_vjp(axis, v, length, *bar);
                    // U·F = by_v·(u_c(x_c) − u_s(x_s)) + by_axis·(ω_s × axis)
                    let (u, w) = (given.pulls[crank.slot], given.pulls[slider.slot]);
                    let arms = (at.arm(crank.body, end), at.arm(slider.body, frame.translation));
                    let by_v_bar = u.velocity_at(arms.0) - w.velocity_at(arms.1);
                    let by_axis_bar = w.angular.cross(axis);
                    let (a, b, c) = crank_slopes_vjp(axis, v, length, (by_v_bar, by_axis_bar));
                    axis_bar += a + by_axis.cross(w.angular);
                    v_bar += b;
                    rod_bar += c;
                    rod.add([rod_bar], bars.params);
                    at.point_vjp(*crank, end, v_bar + by_v.cross(u.angular), bars);
                    let zero = Vec3::zero();
                    let rotation = Mat3::from_cols(zero, zero, axis_bar);
                    let translation = -(v_bar + by_v.cross(w.angular));
                    at.frame_vjp(*slider, Transform::new(rotation, translation), bars);
                }
                SpanKind::Contacts => {}
            }
        }
    }

    /// How the length of a path accelerates where bodies move and accelerate so; other spans have none.
    pub(super) fn bending<T: Real>(
        &self,
        at: &SpanInputs<'_, T>,
        span: usize,
        velocities: &[Motion<T>],
        accelerations: &[Motion<T>],
    ) -> T {
        let mut sum = T::zero();
        if let SpanKind::Path(legs) = &self.kinds[span] {
            legs.iter().for_each(|leg| sum += leg.bending(at, velocities, accelerations));
        }
        sum
    }

    /// The pullback of [`Spans::bending`]: *adds* to the cotangents of velocities and accelerations of bodies and to `bars`.
    pub(super) fn bending_vjp<T: Real>(
        &self,
        at: &SpanInputs<'_, T>,
        span: usize,
        motions: (&[Motion<T>], &[Motion<T>]),
        bar: T,
        motion_bars: (&mut [Force<T>], &mut [Force<T>]),
        bars: &mut SpanOutputBars<'_, T>,
    ) {
        let (velocity_bars, acceleration_bars) = motion_bars;
        if let SpanKind::Path(legs) = &self.kinds[span] {
            for leg in legs {
                leg.bending_vjp(at, motions, bar, (&mut *velocity_bars, &mut *acceleration_bars), bars);
            }
        }
    }

    /// Rates of change of all lengths where bodies move with `motions`.
    pub fn velocities<T: Real>(&self, motions: &[Motion<T>], state: &mut SpanState<T>) {
        for (span, slots) in self.slots.iter().enumerate() {
            state.velocity[span] = self.rate(slots, motions, &state.pulls);
        }
    }

    /// The pullback of [`Spans::velocities`] with cotangent `velocity_bar`.
    pub fn velocities_vjp<T: Real>(
        &self,
        motions: &[Motion<T>],
        state: &SpanState<T>,
        velocity_bar: &[T],
        pull_bars: &mut [Motion<T>],
        motion_bars: &mut [Force<T>],
    ) {
        for (slots, bar) in self.slots.iter().zip(velocity_bar) {
            for slot in slots.clone() {
                pull_bars[slot] += motions[self.bodies[slot]] * *bar;
                motion_bars[self.bodies[slot]] += state.pulls[slot] * *bar;
            }
        }
    }

    /// Σ F_b·V_b of a span.
    #[inline(always)]
    pub fn rate<T: Real>(&self, slots: &Range<usize>, motions: &[Motion<T>], pulls: &[Force<T>]) -> T {
        let mut rate = T::zero();
        for slot in slots.clone() {
            rate += motions[self.bodies[slot]].dot(pulls[slot]);
        }
        rate
    }
}

fn read_gear<T: Real>(params: &[T], gear: &Range<usize>) -> (Vec3<T>, Vec3<T>) {
    let gear = &params[gear.clone()];
    (Vec3::read(gear), Vec3::read(&gear[3..]))
}
