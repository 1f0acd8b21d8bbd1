//! What happens on the nodes: momentum becomes velocity, gravity pulls, colliders deflect, floor and walls hold.
//!
//! Nodes are taken a pack at a time. A collider acts with strength s = min(exp(−α d), 1) at signed distance d, where s > 0.1
//! (PlasticineLab): v ← v_c + (1 − s) u + s P(u), with u = v − v_c, and P takes the inward part of u away and shrinks the rest
//! by μ times it. A body that gives way takes the share β of that change (`share`).

use pullback_math::{Motion, Real, Vec3, differentiable, select};

use super::share::Approach;
use crate::articulated::Model;
use crate::articulated::wide_geom::{PointContacts, WideGeom, WideGeomBar};
use crate::collision::{Contact, MAX_CONTACTS};

/// Masses below this many times the smallest float, kg, are no material. Not a round 10⁻¹⁵: nodes at the rim carry that little, and
/// dropping them would lose momentum.
const NO_MASS: f64 = 1e6;

/// Where there is material.
#[inline(always)]
pub fn there<T: Real>(mass: T) -> T::Mask {
    mass.gt(T::lit(NO_MASS * T::MIN_POSITIVE))
}
/// Strength below which a collider does not act.
const WEAKEST: f64 = 0.1;

/// v = p/m + g Δt, and 0 where there is no material.
#[differentiable]
#[inline(always)]
pub fn velocity<T: Real>(momentum: Vec3<T>, mass: T, pull: Vec3<T>) -> Vec3<T> {
    let is = mass.gt(T::lit(NO_MASS * T::MIN_POSITIVE));
    let v = momentum * select(is, mass, T::one()).recip() + pull;
    v * select(is, T::one(), T::zero())
}

/// A velocity against something at rest with unit normal n and friction μ: the inward part goes, the rest shrinks by μ times it.
#[differentiable]
#[inline(always)]
pub fn deflect<T: Real>(u: Vec3<T>, n: Vec3<T>, friction: T) -> Vec3<T> {
    let inward = u.dot(n).min(T::zero());
    let along = u - n * inward;
    let speed = along.norm();
    let moving = speed.gt(T::lit(1e-12));
    let kept = (T::one() + friction * inward / select(moving, speed, T::one())).max(T::zero());
    along * kept
}

/// Strength of a collider at distance d, 0 where it does not act.
#[differentiable]
#[inline(always)]
fn strength<T: Real>(distance: T, #[constant] softness: T) -> T {
    let strength = (-(softness * distance)).min(T::zero()).exp();
    select(strength.gt(T::lit(WEAKEST)), strength, T::zero())
}

/// What a node brings to a collider that it approaches at speed u: m s u², m s² u², and the impulse m s u n.
#[differentiable]
#[inline(always)]
fn approach<T: Real>(
    v: Vec3<T>,
    mass: T,
    distance: T,
    normal: Vec3<T>,
    body: Motion<T>,
    #[constant] arm: Vec3<T>,
    #[constant] softness: T,
) -> (T, T, Vec3<T>) {
    let u = v - body.velocity_at(arm);
    let inward = u.dot(normal).min(T::zero());
    let acts = strength(distance, softness);
    let impulse = mass * acts * inward;
    (impulse * inward, impulse * acts * inward, normal * impulse)
}

/// A velocity deflected by a collider at distance d.
#[differentiable]
#[inline(always)]
pub fn meet<T: Real>(
    v: Vec3<T>,
    distance: T,
    normal: Vec3<T>,
    body: Motion<T>,
    friction: T,
    share: T,
    #[constant] arm: Vec3<T>,
    #[constant] softness: T,
) -> Vec3<T> {
    let collider = body.velocity_at(arm);
    let u = v - collider;
    let acts = strength(distance, softness) * share;
    v + (deflect(u, normal, friction) - u) * acts
}

/// How the floor z = 0 holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// By Coulomb friction.
    Friction,
    /// What moves down sticks.
    Sticky,
}

/// Where a pack of nodes is, for floor and walls: 1 where the rule holds, 0 elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Edges<P> {
    /// At the lower wall of each axis.
    pub low: Vec3<P>,
    /// At the upper wall of each axis.
    pub high: Vec3<P>,
}

/// Floor, then walls: nothing moves outwards.
#[differentiable]
#[inline(always)]
pub fn bounded<T: Real>(
    v: Vec3<T>,
    friction: T,
    #[constant] low: Vec3<T>,
    #[constant] high: Vec3<T>,
    #[constant] sticky: bool,
) -> Vec3<T> {
    let up = Vec3::new(T::zero(), T::zero(), T::one());
    let down = select(v.z.lt(T::zero()), low.z, T::zero());
    let stuck = v * T::zero();
    let slid = deflect(v, up, friction);
    let held = if sticky { stuck } else { slid };
    let v = v + (held - v) * down;
    Vec3::new(wall(v.x, low.x, high.x), wall(v.y, low.y, high.y), wall(v.z, low.z, high.z))
}

/// A velocity along an axis between two walls.
#[differentiable]
#[inline(always)]
fn wall<T: Real>(v: T, #[constant] low: T, #[constant] high: T) -> T {
    let inward = v.max(T::zero());
    let v = v + (inward - v) * low;
    let inward = v.min(T::zero());
    v + (inward - v) * high
}

impl<P: Real> WideGeom<P> {
    /// Velocities of the nodes at `x` after the collider.
    #[inline(always)]
    pub fn meet(&self, model: &Model, x: Vec3<P>, mut v: Vec3<P>, share: P, softness: f64) -> Vec3<P> {
        for c in PointContacts::new(self, model, x).contacts() {
            let arm = x - self.tree_point;
            v = meet(v, c.distance, c.normal, self.body, self.friction, share, arm, P::lit(softness));
        }
        v
    }

    /// The pullback of [`WideGeom::meet`]: returns the cotangents of the velocities and of the share, *adds* to the collider's.
    pub fn meet_vjp(
        &self,
        model: &Model,
        x: Vec3<P>,
        v: Vec3<P>,
        share: P,
        softness: f64,
        out_bar: Vec3<P>,
        bar: &mut WideGeomBar<P>,
    ) -> (Vec3<P>, P) {
        let touch = PointContacts::new(self, model, x);
        let contacts = touch.contacts();
        let arm = x - self.tree_point;
        let mut before = [v; MAX_CONTACTS];
        for i in 1..contacts.len() {
            let (c, v) = (contacts[i - 1], before[i - 1]);
            before[i] = meet(v, c.distance, c.normal, self.body, self.friction, share, arm, P::lit(softness));
        }
        let mut contact_bars = [Contact::default(); MAX_CONTACTS];
        let (mut v_bar, mut share_bar) = (out_bar, P::zero());
        for i in (0..contacts.len()).rev() {
            let c = contacts[i];
            let (v, distance, normal, body, friction, shared, (), ()) = meet_vjp(
                before[i],
                c.distance,
                c.normal,
                self.body,
                self.friction,
                share,
                arm,
                P::lit(softness),
                v_bar,
            );
            v_bar = v;
            (contact_bars[i].distance, contact_bars[i].normal) = (distance, normal);
            bar.body += body;
            bar.friction += friction;
            share_bar += shared;
        }
        touch.vjp(&contact_bars, &mut bar.shape);
        (v_bar, share_bar)
    }

    /// Adds what the nodes at `x` bring to the collider.
    pub(super) fn approach(
        &self,
        model: &Model,
        x: Vec3<P>,
        v: Vec3<P>,
        m: P,
        softness: f64,
        sum: &mut Approach<P>,
    ) {
        for c in PointContacts::new(self, model, x).contacts() {
            let arm = x - self.tree_point;
            let (energy, given, impulse) =
                approach(v, m, c.distance, c.normal, self.body, arm, P::lit(softness));
            sum.energy += energy;
            sum.given += given;
            sum.reaction.add(x - self.frame, impulse);
        }
    }

    /// The pullback of [`WideGeom::approach`]: returns the cotangents of velocities and masses, *adds* to the collider's.
    pub(super) fn approach_vjp(
        &self,
        model: &Model,
        x: Vec3<P>,
        v: Vec3<P>,
        m: P,
        softness: f64,
        sum_bar: &Approach<P>,
        bar: &mut WideGeomBar<P>,
    ) -> (Vec3<P>, P) {
        let touch = PointContacts::new(self, model, x);
        let (arm, soft) = (x - self.tree_point, P::lit(softness));
        let mut contact_bars = [Contact::default(); MAX_CONTACTS];
        let (mut v_bar, mut m_bar) = (Vec3::zero(), P::zero());
        for (c, contact_bar) in touch.contacts().iter().zip(&mut contact_bars) {
            let (_, _, impulse) = approach(v, m, c.distance, c.normal, self.body, arm, soft);
            let (impulse_bar, frame_bar) = sum_bar.reaction.add_vjp(x - self.frame, impulse);
            bar.frame += frame_bar;
            let out_bar = (sum_bar.energy, sum_bar.given, impulse_bar);
            let (v, m, distance, normal, body, (), ()) =
                approach_vjp(v, m, c.distance, c.normal, self.body, arm, soft, out_bar);
            v_bar += v;
            m_bar += m;
            bar.body += body;
            (contact_bar.distance, contact_bar.normal) = (distance, normal);
        }
        touch.vjp(&contact_bars, &mut bar.shape);
        (v_bar, m_bar)
    }
}
