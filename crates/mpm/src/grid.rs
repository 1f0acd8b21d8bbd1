//! [`Grid`], and boundary conditions on its nodes: gravity, colliders, floor and walls.
//!
//! Functions run on packs of nodes. A collider has the influence s = min(exp(−α d), 1) at signed distance d,
//! where s > 0.1 (PlasticineLab): v ← v_c + (1 − s) u + s P(u), with u = v − v_c. P is Coulomb friction: it
//! removes the inward part of u and shortens the tangential part by μ times it. A coupled body takes the
//! fraction β of that change (`impact`).

use pullback_articulated::Model;
use pullback_articulated::geom_lanes::{GeomLanes, GeomLanesBar, PointContacts};
use pullback_collision::{Contact, MAX_CONTACTS};
use pullback_math::{Motion, Real, Vec3, differentiable, select};

use super::impact::Impact;

/// Boundary condition at the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// Coulomb friction.
    Friction,
    /// No slip for what moves down.
    Sticky,
}

/// The background grid, with a corner at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Nodes along each axis.
    pub nodes: [usize; 3],
    /// Distance between nodes, m.
    pub spacing: f64,
    /// Thickness of the floor and of each wall, in nodes.
    pub margin: usize,
    /// Whether the third axis is one node thick.
    pub flat: bool,
    /// Boundary condition at the floor.
    pub floor: Floor,
    /// Coulomb friction of the floor, where it has any.
    pub floor_friction: f64,
    /// Softness α of colliders, 1/m: their influence decays as exp(−α d) with the distance d.
    pub softness: f64,
}

impl Grid {
    /// A unit cube of `n` nodes along each axis with a sticky floor, as the scenes of papers 0 and 2 have it.
    pub fn cube(n: usize) -> Self {
        Grid {
            nodes: [n; 3],
            spacing: 1.0 / n as f64,
            margin: 3,
            flat: false,
            floor: Floor::Sticky,
            floor_friction: 0.0,
            softness: 666.0,
        }
    }

    /// A unit square of `n` nodes along x and y. It has walls but no floor. Its gravity should lie in the
    /// plane, and its nodes are at z = 0 for colliders.
    pub fn square(n: usize) -> Self {
        Grid { nodes: [n, n, 4], flat: true, ..Grid::cube(n) }
    }
}

/// Smallest mass of a node with material, in units of the smallest positive float. A round 10⁻¹⁵ kg would
/// drop nodes at the surface of the material, and lose their momentum.
const MIN_MASS: f64 = 1e6;
/// Smallest influence of a collider that acts on a node.
const MIN_INFLUENCE: f64 = 0.1;

/// Where nodes have material.
#[inline(always)]
pub(crate) fn has_mass<T: Real>(mass: T) -> T::Mask {
    mass.gt(T::lit(MIN_MASS * T::MIN_POSITIVE))
}

/// Distance beyond which colliders of softness α do not act, m: exp(−α d) = [`MIN_INFLUENCE`].
pub(super) fn contact_range(softness: f64) -> f64 {
    MIN_INFLUENCE.recip().ln() / softness
}

/// v = p/m + g Δt, and 0 where there is no material.
#[differentiable]
#[inline(always)]
pub fn velocity<T: Real>(momentum: Vec3<T>, mass: T, gravity_dt: Vec3<T>) -> Vec3<T> {
    let filled = mass.gt(T::lit(MIN_MASS * T::MIN_POSITIVE));
    let v = momentum * select(filled, mass, T::one()).recip() + gravity_dt;
    v * select(filled, T::one(), T::zero())
}

/// Coulomb friction of a velocity u at a surface at rest with unit normal n: removes the inward part, and
/// shortens the tangential part by μ times it.
#[differentiable]
#[inline(always)]
pub fn deflect<T: Real>(u: Vec3<T>, n: Vec3<T>, friction: T) -> Vec3<T> {
    let inward = u.dot(n).min(T::zero());
    let along = u - n * inward;
    let speed = along.norm();
    let moving = speed.gt(T::lit(1e-12));
    let scale = (T::one() + friction * inward / select(moving, speed, T::one())).max(T::zero());
    along * scale
}

/// Influence s of a collider at distance d, 0 where it does not act.
#[differentiable]
#[inline(always)]
fn influence<T: Real>(distance: T, #[constant] softness: T) -> T {
    let influence = (-(softness * distance)).min(T::zero()).exp();
    select(influence.gt(T::lit(MIN_INFLUENCE)), influence, T::zero())
}

/// Impact of a node that approaches a collider at speed u: m s u², m s² u², and the impulse m s u n.
#[differentiable]
#[inline(always)]
fn impact<T: Real>(
    v: Vec3<T>,
    mass: T,
    distance: T,
    normal: Vec3<T>,
    motion: Motion<T>,
    #[constant] arm: Vec3<T>,
    #[constant] softness: T,
) -> (T, T, Vec3<T>) {
    let u = v - motion.velocity_at(arm);
    let inward = u.dot(normal).min(T::zero());
    let s = influence(distance, softness);
    let impulse = mass * s * inward;
    (impulse * inward, impulse * s * inward, normal * impulse)
}

/// Velocity of a node after a collider at distance d that takes the fraction β of the impulse.
#[differentiable]
#[inline(always)]
pub fn collide_node<T: Real>(
    v: Vec3<T>,
    distance: T,
    normal: Vec3<T>,
    motion: Motion<T>,
    friction: T,
    impulse_fraction: T,
    #[constant] arm: Vec3<T>,
    #[constant] softness: T,
) -> Vec3<T> {
    let u = v - motion.velocity_at(arm);
    let s = influence(distance, softness) * impulse_fraction;
    v + (deflect(u, normal, friction) - u) * s
}

/// Which nodes of a pack are in floor and walls: 1 for those that are, 0 for the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallMask<P> {
    /// In the lower wall of each axis; the lower wall of z is the floor.
    pub low: Vec3<P>,
    /// In the upper wall of each axis.
    pub high: Vec3<P>,
}

/// Velocity after floor and walls: nodes in them do not move outwards.
#[differentiable]
#[inline(always)]
pub fn apply_walls<T: Real>(
    v: Vec3<T>,
    friction: T,
    #[constant] low: Vec3<T>,
    #[constant] high: Vec3<T>,
    #[constant] sticky: bool,
) -> Vec3<T> {
    let up = Vec3::new(T::zero(), T::zero(), T::one());
    let on_floor = select(v.z.lt(T::zero()), low.z, T::zero());
    let stuck = v * T::zero();
    let sliding = deflect(v, up, friction);
    let stopped = if sticky { stuck } else { sliding };
    let v = v + (stopped - v) * on_floor;
    Vec3::new(between(v.x, low.x, high.x), between(v.y, low.y, high.y), between(v.z, low.z, high.z))
}

/// Velocity along one axis after its two walls.
#[differentiable]
#[inline(always)]
fn between<T: Real>(v: T, #[constant] low: T, #[constant] high: T) -> T {
    let inward = v.max(T::zero());
    let v = v + (inward - v) * low;
    let inward = v.min(T::zero());
    v + (inward - v) * high
}

/// A collider as the nodes of a grid see it.
#[derive(Clone, Copy)]
pub(super) struct NodeCollider<'a, P> {
    /// The geom, placed.
    pub geom: &'a GeomLanes<P>,
    /// The model that it was placed from.
    pub model: &'a Model,
    /// α, 1/m.
    pub softness: f64,
}

impl<P: Real> NodeCollider<'_, P> {
    /// Velocities of the nodes at `x` after the collider.
    #[inline(always)]
    pub(super) fn collide_nodes(&self, x: Vec3<P>, mut v: Vec3<P>, impulse_fraction: P) -> Vec3<P> {
        let (arm, softness) = (x - self.geom.tree_point, P::lit(self.softness));
        for c in PointContacts::new(self.geom, self.model, x).contacts() {
            v = self.collide_once(c, v, impulse_fraction, arm, softness);
        }
        v
    }

    /// Velocities after one slot of contacts.
    #[inline(always)]
    fn collide_once(
        &self,
        c: &Contact<P>,
        v: Vec3<P>,
        impulse_fraction: P,
        arm: Vec3<P>,
        softness: P,
    ) -> Vec3<P> {
        collide_node(
            v,
            c.distance,
            c.normal,
            self.geom.motion,
            self.geom.friction,
            impulse_fraction,
            arm,
            softness,
        )
    }

    /// The pullback of [`NodeCollider::collide_nodes`]: returns the cotangents of the velocities and of the
    /// impulse fraction, *adds* to those of the collider.
    pub(super) fn collide_nodes_vjp(
        &self,
        x: Vec3<P>,
        v: Vec3<P>,
        impulse_fraction: P,
        out_bar: Vec3<P>,
        bar: &mut GeomLanesBar<P>,
    ) -> (Vec3<P>, P) {
        let point_contacts = PointContacts::new(self.geom, self.model, x);
        let contacts = point_contacts.contacts();
        let (arm, softness) = (x - self.geom.tree_point, P::lit(self.softness));
        // Velocities before each slot.
        let mut before = [v; MAX_CONTACTS];
        for i in 1..contacts.len() {
            before[i] = self.collide_once(&contacts[i - 1], before[i - 1], impulse_fraction, arm, softness);
        }
        let mut contact_bars = [Contact::default(); MAX_CONTACTS];
        let (mut v_bar, mut impulse_fraction_bar) = (out_bar, P::zero());
        for i in (0..contacts.len()).rev() {
            let c = contacts[i];
            let (v, distance, normal, motion, friction, fraction, (), ()) = collide_node_vjp(
                before[i],
                c.distance,
                c.normal,
                self.geom.motion,
                self.geom.friction,
                impulse_fraction,
                arm,
                softness,
                v_bar,
            );
            v_bar = v;
            (contact_bars[i].distance, contact_bars[i].normal) = (distance, normal);
            bar.motion += motion;
            bar.friction += friction;
            impulse_fraction_bar += fraction;
        }
        point_contacts.vjp(&contact_bars, &mut bar.shape);
        (v_bar, impulse_fraction_bar)
    }

    /// Adds the impact of the nodes at `x` to `sum`.
    pub(super) fn add_impact(&self, x: Vec3<P>, v: Vec3<P>, m: P, sum: &mut Impact<P>) {
        let (arm, softness) = (x - self.geom.tree_point, P::lit(self.softness));
        for c in PointContacts::new(self.geom, self.model, x).contacts() {
            let (linear, quadratic, impulse) =
                impact(v, m, c.distance, c.normal, self.geom.motion, arm, softness);
            sum.linear += linear;
            sum.quadratic += quadratic;
            sum.reaction.add(x - self.geom.body_origin, impulse);
        }
    }

    /// The pullback of [`NodeCollider::add_impact`]: returns the cotangents of velocities and masses, *adds*
    /// to those of the collider.
    pub(super) fn add_impact_vjp(
        &self,
        x: Vec3<P>,
        v: Vec3<P>,
        m: P,
        sum_bar: &Impact<P>,
        bar: &mut GeomLanesBar<P>,
    ) -> (Vec3<P>, P) {
        let point_contacts = PointContacts::new(self.geom, self.model, x);
        let (arm, softness) = (x - self.geom.tree_point, P::lit(self.softness));
        let mut contact_bars = [Contact::default(); MAX_CONTACTS];
        let (mut v_bar, mut m_bar) = (Vec3::zero(), P::zero());
        for (c, contact_bar) in point_contacts.contacts().iter().zip(&mut contact_bars) {
            let (_, _, impulse) = impact(v, m, c.distance, c.normal, self.geom.motion, arm, softness);
            let (impulse_bar, origin_bar) = sum_bar.reaction.add_vjp(x - self.geom.body_origin, impulse);
            bar.body_origin += origin_bar;
            let out_bar = (sum_bar.linear, sum_bar.quadratic, impulse_bar);
            let (v, m, distance, normal, motion, (), ()) =
                impact_vjp(v, m, c.distance, c.normal, self.geom.motion, arm, softness, out_bar);
            v_bar += v;
            m_bar += m;
            bar.motion += motion;
            (contact_bar.distance, contact_bar.normal) = (distance, normal);
        }
        point_contacts.vjp(&contact_bars, &mut bar.shape);
        (v_bar, m_bar)
    }
}
