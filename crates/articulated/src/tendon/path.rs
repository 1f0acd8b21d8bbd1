//! Paths of spatial tendons: straight pieces between sites, and the way around geoms between them.

use pullback_math::{Force, Mask, Motion, MulVjp, Real, Transform, Vec3, differentiable, select};

use super::span::{Anchor, SpanInputs, SpanOutputBars, add_pull};
use super::wrap::{Decision, Surface, Wrapped, decide, wrap, wrap_vjp};
use crate::constraint::equality::{point_acceleration, point_acceleration_vjp};
use crate::contact::pose_wrench;
use crate::params::GeomParams;

/// Length below which the direction of a straight piece does not turn with its ends, m.
const SHORTEST: f64 = 1e-12;

/// A geom that a path may wrap around.
#[derive(Clone, Copy, Debug)]
pub(super) struct Obstacle {
    pub geom: usize,
    pub body: usize,
    pub slot: usize,
    pub surface: Surface,
    pub sidesite: Option<usize>,
}

/// A part of a path between two sites.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub from: Anchor,
    pub to: Anchor,
    pub obstacle: Option<Obstacle>,
    pub divisor: f64,
}

/// A path around an obstacle.
struct Around<T: Real> {
    frame: Transform<T>,
    body_from_geom: Transform<T>,
    ends: (Vec3<T>, Vec3<T>),
    radius: T,
    how: Decision<T>,
}

/// A straight piece: adds the pulls on the two ends, `share` of them, and returns that share of its length.
#[inline(always)]
fn straight<T: Real>(
    at: &SpanInputs<'_, T>,
    (slot0, body0, x0): (usize, usize, Vec3<T>),
    (slot1, body1, x1): (usize, usize, Vec3<T>),
    share: T,
    pulls: &mut [Force<T>],
) -> T {
    let d = x1 - x0;
    let n = d.normalize() * share;
    add_pull(pulls, slot0, -n, at.arm(body0, x0));
    add_pull(pulls, slot1, n, at.arm(body1, x1));
    d.norm() * share
}

/// The pullback of [`straight`]: cotangents of the two ends.
#[inline(always)]
fn straight_vjp<T: Real>(
    at: &SpanInputs<'_, T>,
    (slot0, body0, x0): (usize, usize, Vec3<T>),
    (slot1, body1, x1): (usize, usize, Vec3<T>),
    share: T,
    (length_bar, motions): (T, &[Motion<T>]),
) -> (Vec3<T>, Vec3<T>) {
    let d = x1 - x0;
    let length = d.norm();
    let n = d.normalize();
    // φ = L̄ |d| + n·(u₁(x₁) − u₀(x₀))
    let (u0, u1) = (motions[slot0], motions[slot1]);
    let change = u1.velocity_at(at.arm(body1, x1)) - u0.velocity_at(at.arm(body0, x0));
    let extended = length.gt(T::lit(SHORTEST));
    let inverse = select(extended, select(extended, length, T::one()).recip(), T::zero());
    let bar = n * length_bar + (change - n * n.dot(change)) * inverse;
    ((-(bar + n.cross(u0.angular))) * share, (bar + n.cross(u1.angular)) * share)
}

/// Second derivative of a distance |d| whose ends differ in velocity and acceleration by these.
#[differentiable]
#[inline]
fn distance_acceleration<T: Real>(d: Vec3<T>, velocity: Vec3<T>, acceleration: Vec3<T>) -> T {
    let n = d.normalize();
    let along = n.dot(velocity);
    n.dot(acceleration) + (velocity.dot(velocity) - along * along) / d.norm().max(T::lit(SHORTEST))
}

impl Leg {
    /// How its length accelerates where bodies move and accelerate so. It is straight.
    pub fn bending<T: Real>(
        &self,
        at: &SpanInputs<'_, T>,
        velocities: &[Motion<T>],
        accelerations: &[Motion<T>],
    ) -> T {
        let [from, to] = [self.from, self.to].map(|end| {
            let point = at.point(end);
            let (arm, v) = (at.arm(end.body, point), velocities[end.body]);
            (point, v.velocity_at(arm), point_acceleration(v, accelerations[end.body], arm))
        });
        distance_acceleration(to.0 - from.0, to.1 - from.1, to.2 - from.2) * T::lit(1.0 / self.divisor)
    }

    /// The pullback of [`Leg::bending`].
    pub fn bending_vjp<T: Real>(
        &self,
        at: &SpanInputs<'_, T>,
        (velocities, accelerations): (&[Motion<T>], &[Motion<T>]),
        bar: T,
        (velocity_bars, acceleration_bars): (&mut [Force<T>], &mut [Force<T>]),
        bars: &mut SpanOutputBars<'_, T>,
    ) {
        let ends = [self.from, self.to];
        let [from, to] = ends.map(|end| {
            let point = at.point(end);
            let (arm, v) = (at.arm(end.body, point), velocities[end.body]);
            (point, v.velocity_at(arm), point_acceleration(v, accelerations[end.body], arm))
        });
        let (d_bar, v_bar, a_bar) = distance_acceleration_vjp(
            to.0 - from.0,
            to.1 - from.1,
            to.2 - from.2,
            bar * T::lit(1.0 / self.divisor),
        );
        for ((end, point), sign) in ends.into_iter().zip([from.0, to.0]).zip([-T::one(), T::one()]) {
            let (arm, velocity) = (at.arm(end.body, point), velocities[end.body]);
            let (rate, acceleration, arm_bar) =
                point_acceleration_vjp(velocity, accelerations[end.body], arm, a_bar * sign);
            acceleration_bars[end.body] += Force::new(acceleration.angular, acceleration.linear);
            velocity_bars[end.body] += Force::new(rate.angular, rate.linear);
            velocity_bars[end.body] += Force::at_point(v_bar * sign, arm);
            // F·(ω × δp) = δp·(F × ω)
            let point_bar = d_bar * sign + arm_bar + (v_bar * sign).cross(velocity.angular);
            at.point_vjp(end, point, point_bar, bars);
        }
    }

    /// Adds its pulls and returns its length.
    #[inline]
    pub fn update<T: Real>(&self, at: &SpanInputs<'_, T>, pulls: &mut [Force<T>]) -> T {
        let (x0, x1) = (at.point(self.from), at.point(self.to));
        let (from, to) = ((self.from.slot, self.from.body, x0), (self.to.slot, self.to.body, x1));
        let all = T::lit(self.divisor.recip());
        let Some(obstacle) = &self.obstacle else {
            return straight(at, from, to, all, pulls);
        };
        let Around { frame, ends, radius, how, .. } = at.obstacle(obstacle, (x0, x1));
        let mut length = T::zero();
        if how.wraps.any() {
            let path = wrap(obstacle.surface, ends, radius, how);
            let share = select(how.wraps, all, T::zero());
            let on = |point: Vec3<T>| (obstacle.slot, obstacle.body, frame.point(point));
            length += straight(at, from, on(path.first), share, pulls);
            length += path.arc * share;
            length += straight(at, on(path.last), to, share, pulls);
        }
        if !how.wraps.all() {
            length += straight(at, from, to, select(how.wraps, T::zero(), all), pulls);
        }
        length
    }

    /// The pullback of [`Leg::update`].
    #[inline]
    pub fn update_vjp<T: Real>(
        &self,
        at: &SpanInputs<'_, T>,
        length_bar: T,
        motions: &[Motion<T>],
        bars: &mut SpanOutputBars<'_, T>,
    ) {
        let (x0, x1) = (at.point(self.from), at.point(self.to));
        let (from, to) = ((self.from.slot, self.from.body, x0), (self.to.slot, self.to.body, x1));
        let all = T::lit(self.divisor.recip());
        let given = (length_bar, motions);
        let Some(obstacle) = &self.obstacle else {
            let (bar0, bar1) = straight_vjp(at, from, to, all, given);
            at.point_vjp(self.from, x0, bar0, bars);
            at.point_vjp(self.to, x1, bar1, bars);
            return;
        };
        let around = at.obstacle(obstacle, (x0, x1));
        let Around { frame, ends, radius, how, .. } = around;
        let (mut bar0, mut bar1) = (Vec3::zero(), Vec3::zero());
        if how.wraps.any() {
            let path = wrap(obstacle.surface, ends, radius, how);
            let share = select(how.wraps, all, T::zero());
            let on = |point: Vec3<T>| (obstacle.slot, obstacle.body, frame.point(point));
            let (x0_bar, first_bar) = straight_vjp(at, from, on(path.first), share, given);
            let (last_bar, x1_bar) = straight_vjp(at, on(path.last), to, share, given);
            bar0 += x0_bar;
            bar1 += x1_bar;
            // Points of the surface, in its frame.
            let (mut frame_bar, first) = frame.point_vjp(path.first, first_bar);
            let (by_last, last) = frame.point_vjp(path.last, last_bar);
            frame_bar += by_last;
            let bar = Wrapped { first, last, arc: length_bar * share };
            let (p0_bar, p1_bar, radius_bar) = wrap_vjp(obstacle.surface, ends, radius, how, bar);
            for (x, bar, total) in [(x0, p0_bar, &mut bar0), (x1, p1_bar, &mut bar1)] {
                let (by_frame, x_bar) = frame.inverse_point_vjp(x, bar);
                frame_bar += by_frame;
                *total += x_bar;
            }
            at.obstacle_vjp(obstacle, around.body_from_geom, frame_bar, radius_bar, bars);
        }
        if !how.wraps.all() {
            let (b0, b1) = straight_vjp(at, from, to, select(how.wraps, T::zero(), all), given);
            bar0 += b0;
            bar1 += b1;
        }
        at.point_vjp(self.from, x0, bar0, bars);
        at.point_vjp(self.to, x1, bar1, bars);
    }
}

impl<T: Real> SpanInputs<'_, T> {
    /// The frame and the radius of an obstacle, and the ends and sidesite of a path seen in it.
    fn obstacle(&self, o: &Obstacle, ends: (Vec3<T>, Vec3<T>)) -> Around<T> {
        let params = self.index.geoms[o.geom].read(self.params);
        let body_from_geom = Transform::from_quat(params.orientation.normalize(), params.position);
        let frame = self.kinematics.world_from_body[o.body] * body_from_geom;
        let ends = (frame.inverse_point(ends.0), frame.inverse_point(ends.1));
        let side = o.sidesite.map(|site| {
            let body = self.model.sites[site].body;
            frame.inverse_point(self.kinematics.world_from_body[body].point(self.site(site).position))
        });
        let radius = params.size.x;
        let how = decide(o.surface, ends, radius, side);
        Around { frame, body_from_geom, ends, radius, how }
    }

    /// The pullback of the frame and radius of an obstacle.
    fn obstacle_vjp(
        &self,
        o: &Obstacle,
        body_from_geom: Transform<T>,
        frame_bar: Transform<T>,
        radius_bar: T,
        bars: &mut SpanOutputBars<'_, T>,
    ) {
        let pose = self.kinematics.world_from_body[o.body];
        let (body_bar, local_bar) = pose.mul_vjp(body_from_geom, frame_bar);
        bars.wrenches[o.body] += pose_wrench(pose, body_bar, self.kinematics.origins[o.body]);
        let block = self.index.geoms[o.geom];
        let given = block.read(self.params).orientation;
        let (unit_bar, position) =
            Transform::from_quat_vjp(given.normalize(), block.read(self.params).position, local_bar);
        let size = Vec3::new(radius_bar, T::zero(), T::zero());
        let orientation = given.normalize_vjp(unit_bar);
        let bar = GeomParams { size, position, orientation, friction: T::zero() };
        block.add(bar, bars.params);
    }
}
