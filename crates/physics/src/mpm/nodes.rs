//! The part of a substep that happens on the nodes, and its pullback: packs of nodes meet colliders, floor and walls.
//!
//! A block of nodes looks only at the colliders that are near it, and at floor and walls only where it lies at the edge of the
//! grid; the others leave velocities as they are.

use pullback_math::{Flat, Force, Mask, Real, Scalar, Select, Vec3, select};

use super::blocks::{BLOCK, BLOCK_NODES};
use super::cloud::Grid;
use super::colliders::Reaction;
use super::grid::{Edges, Floor, bounded, bounded_vjp, there, velocity, velocity_vjp};
use super::system::Mpm;
use super::workspace::MpmWorkspace;
use crate::articulated::wide_geom::{WideGeom, WideGeomBar};

impl Mpm {
    /// Momenta become velocities.
    pub(super) fn on_grid<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        let MpmWorkspace {
            blocks,
            momenta,
            velocities,
            places,
            colliders,
            bounds,
            near,
            reactions,
            shares,
            ..
        } = ws;
        reactions.fill(Reaction::zero());
        let pull: Vec3<T::Pack> = self.pull(params).map(T::fill);
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.look_around(bounds, corner, near);
            let around = Around::new(self, colliders, corner, near, shares, params);
            for (n, place) in places.iter().enumerate() {
                let at = slot * BLOCK_NODES + n * T::WIDTH;
                let (p, m) = node_pack::<T>(&momenta[at..at + T::WIDTH]);
                let velocities = &mut velocities[at..at + T::WIDTH];
                if !there(m).any() {
                    velocities.fill(T::Quad::default());
                    continue;
                }
                let v = around.forward(*place, m, velocity(p, m, pull), reactions);
                for (i, velocity) in velocities.iter_mut().enumerate() {
                    *velocity = T::vector_quad(T::unpack_vector(&v, i));
                }
            }
        }
    }

    pub(super) fn pull<T: Real>(&self, params: &[T]) -> Vec3<T> {
        Vec3::read(&params[self.robot.index().gravity..]) * T::lit(self.dt)
    }

    /// Distance beyond which a collider is not felt: there its strength is below a tenth.
    pub(super) fn felt(&self) -> f64 {
        10f64.ln() / self.grid.softness
    }

    /// Places the colliders for the nodes, once per substep: everywhere they are read from the workspace.
    pub(super) fn place_geoms<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        let MpmWorkspace { robot, colliders, bounds, .. } = ws;
        let scene = self.robot.contacts(&robot.kinematics, params);
        for ((g, collider), bound) in self.geoms.iter().zip(colliders).zip(bounds) {
            let placed = scene.placed(*g);
            *collider = scene.wide(&robot.sweep, *g, &placed);
            let first = |v: Vec3<T>| v.map(|c| c.lane(0));
            *bound = Bound {
                centre: first(placed.pose.translation),
                up: first(placed.pose.rotation.c2),
                reach: placed.collider.bounding_radius(),
            };
        }
    }

    /// The colliders that a block may feel, by their number in `geoms`.
    pub(super) fn look_around(&self, bounds: &[Bound], corner: [usize; 3], near: &mut Vec<usize>) {
        near.clear();
        // A ball around the block, its radius larger than half the diagonal of 3 cells.
        let [x, y, z] = corner.map(|c| (c as f64 + 1.5) * self.grid.spacing);
        let (centre, radius) = (Vec3::new(x, y, z), 2.7 * self.grid.spacing);
        let felt = self.felt();
        for (i, bound) in bounds.iter().enumerate() {
            let between = centre - bound.centre;
            let gap =
                if bound.reach.is_finite() { between.norm() - bound.reach } else { between.dot(bound.up) };
            if gap - radius <= felt {
                near.push(i);
            }
        }
    }

    /// The pullback of [`Mpm::on_grid`] from the cotangents of velocities in `bars`: those of momenta in their place, those of
    /// colliders into the workspace, the rest into the parameters.
    pub(super) fn on_grid_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace {
            blocks,
            momenta,
            bars,
            places,
            colliders,
            bounds,
            near,
            geom_bars,
            reactions,
            shares,
            share_bars,
            ..
        } = ws;
        share_bars.fill(T::Pack::zero());
        geom_bars.fill(WideGeomBar::default());
        let pull: Vec3<T::Pack> = self.pull(params).map(T::fill);
        let zero = Vec3::new(T::Pack::zero(), T::Pack::zero(), T::Pack::zero());
        let (mut pull_bar, mut floor_bar) = (zero, T::Pack::zero());
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.look_around(bounds, corner, near);
            let around = Around::new(self, colliders, corner, near, shares, params);
            for (n, place) in places.iter().enumerate() {
                let at = slot * BLOCK_NODES + n * T::WIDTH;
                let (p, m) = node_pack::<T>(&momenta[at..at + T::WIDTH]);
                let bars = &mut bars[at..at + T::WIDTH];
                if !there(m).any() {
                    bars.fill(T::Quad::default());
                    continue;
                }
                let (out_bar, _) = node_pack::<T>(bars);
                let v = velocity(p, m, pull);
                let mut bars_of = AroundBars { geoms: geom_bars, shares: share_bars, floor: &mut floor_bar };
                let (v_bar, moved) = around.backward(*place, m, v, out_bar, reactions, &mut bars_of);
                let (p_bar, m_bar, pulled) = velocity_vjp(p, m, pull, v_bar);
                let m_bar = m_bar + moved;
                pull_bar += pulled;
                for (i, bar) in bars.iter_mut().enumerate() {
                    let p = T::unpack_vector(&p_bar, i);
                    *bar = T::quad([p.x, p.y, p.z, T::unpack(&m_bar, i)]);
                }
            }
        }
        (T::total_vector(pull_bar) * T::lit(self.dt)).add_to(&mut params_bar[self.robot.index().gravity..]);
        params_bar[self.floor] += T::total(floor_bar);
    }

    /// The pullback of the colliders' poses, velocities and sizes on the nodes: those of bodies into the workspace, the rest into the
    /// parameters.
    pub(super) fn geoms_vjp<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T], params_bar: &mut [T]) {
        let MpmWorkspace { robot, geom_bars, velocity_bars, wrenches, .. } = ws;
        let scene = self.robot.contacts(&robot.kinematics, params);
        velocity_bars.fill(Force::zero());
        wrenches.fill(Force::zero());
        for (g, bar) in self.geoms.iter().zip(geom_bars.iter()) {
            let placed = scene.placed(*g);
            scene.wide_vjp(*g, &placed, bar, velocity_bars, wrenches, params_bar);
        }
    }
}

/// A ball that holds a collider, or the half space of a plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Its middle, or a point of the plane, m.
    centre: Vec3<f64>,
    /// Normal of the plane.
    up: Vec3<f64>,
    /// Radius, m; infinite for a plane.
    reach: f64,
}

impl Bound {
    /// At the origin.
    pub fn zero() -> Self {
        Bound { centre: Vec3::zero(), up: Vec3::zero(), reach: 0.0 }
    }
}

/// Momenta and masses of a pack of nodes.
#[inline(always)]
pub(super) fn node_pack<T: Scalar>(nodes: &[T::Quad]) -> (Vec3<T::Pack>, T::Pack) {
    let p = T::pack_vectors(|i| T::quad_vector(nodes[i]));
    (p, T::pack(|i| T::entries(nodes[i])[3]))
}

/// What is around a block of nodes: colliders one after the other, then floor and walls.
struct Around<'a, T: Scalar> {
    mpm: &'a Mpm,
    colliders: &'a [WideGeom<T::Pack>],
    near: &'a [usize],
    shares: &'a [T::Pack],
    /// Lowest node.
    corner: Vec3<T::Pack>,
    /// Whether floor or walls are there.
    at_edge: bool,
    friction: T::Pack,
    sticky: bool,
}

/// Cotangents of what is around a block.
struct AroundBars<'b, P> {
    geoms: &'b mut [WideGeomBar<P>],
    shares: &'b mut [P],
    floor: &'b mut P,
}

impl<'a, T: Scalar> Around<'a, T> {
    fn new(
        mpm: &'a Mpm,
        colliders: &'a [WideGeom<T::Pack>],
        corner: [usize; 3],
        near: &'a [usize],
        shares: &'a [T::Pack],
        params: &[T],
    ) -> Self {
        let Grid { nodes, margin, flat, floor, .. } = mpm.grid;
        let axes = if flat { 2 } else { 3 };
        let at_edge = (0..axes).any(|a| corner[a] < margin || corner[a] + BLOCK + margin > nodes[a]);
        let [x, y, z] = corner.map(|c| T::Pack::lit(c as f64));
        let (friction, sticky) = (params[mpm.floor].fill(), floor == Floor::Sticky);
        Around { mpm, colliders, near, shares, corner: Vec3 { x, y, z }, at_edge, friction, sticky }
    }

    /// Positions of the nodes at `place` in the block, m.
    fn position(&self, place: Vec3<T::Pack>) -> Vec3<T::Pack> {
        (self.corner + place) * T::Pack::lit(self.mpm.grid.spacing)
    }

    /// Where floor and walls hold the nodes at `place` in the block.
    fn edges(&self, place: Vec3<T::Pack>) -> Edges<T::Pack> {
        let Grid { nodes, margin, flat, .. } = self.mpm.grid;
        let (at, zero, one) = (self.corner + place, T::Pack::zero(), T::Pack::one());
        let walls = |holds: &dyn Fn(T::Pack, usize) -> <T::Pack as Select>::Mask| {
            let wall = |x: T::Pack, a: usize| select(holds(x, a), one, zero);
            Vec3 { x: wall(at.x, 0), y: wall(at.y, 1), z: if flat { zero } else { wall(at.z, 2) } }
        };
        Edges {
            low: walls(&|x, _| x.lt(T::Pack::lit(margin as f64))),
            high: walls(&|x, a| x.ge(T::Pack::lit(nodes[a] as f64 - margin as f64))),
        }
    }

    /// Velocities after everything, of nodes of mass m; what they do to coupled colliders into `reactions`.
    fn forward(
        &self,
        place: Vec3<T::Pack>,
        m: T::Pack,
        mut v: Vec3<T::Pack>,
        reactions: &mut [Reaction<T::Pack>],
    ) -> Vec3<T::Pack> {
        for i in self.near {
            let geom = &self.colliders[*i];
            let x = self.position(place);
            if !geom.away(x, T::Pack::lit(self.mpm.felt())) {
                let before = v;
                v = geom.meet(self.mpm.robot.model(), x, v, self.shares[*i], self.mpm.grid.softness);
                if let Some(reaction) = reactions.get_mut(*i) {
                    reaction.add(x - geom.frame, (before - v) * m);
                }
            }
        }
        if !self.at_edge {
            return v;
        }
        let Edges { low, high } = self.edges(place);
        bounded(v, self.friction, low, high, self.sticky)
    }

    /// The pullback of [`Around::forward`]: cotangents of velocities and masses.
    fn backward(
        &self,
        place: Vec3<T::Pack>,
        m: T::Pack,
        v: Vec3<T::Pack>,
        out_bar: Vec3<T::Pack>,
        reactions: &[Reaction<T::Pack>],
        bars: &mut AroundBars<'_, T::Pack>,
    ) -> (Vec3<T::Pack>, T::Pack) {
        let mut m_bar = T::Pack::zero();
        let v_bar = self.back(self.near, place, (m, &mut m_bar), v, out_bar, reactions, bars);
        (v_bar, m_bar)
    }

    /// Cotangent of the velocity before the colliders `near`: goes on to the last one, and comes back.
    #[allow(clippy::too_many_arguments)]
    fn back(
        &self,
        near: &[usize],
        place: Vec3<T::Pack>,
        (m, m_bar): (T::Pack, &mut T::Pack),
        v: Vec3<T::Pack>,
        out_bar: Vec3<T::Pack>,
        reactions: &[Reaction<T::Pack>],
        bars: &mut AroundBars<'_, T::Pack>,
    ) -> Vec3<T::Pack> {
        let [i, rest @ ..] = near else {
            if !self.at_edge {
                return out_bar;
            }
            let Edges { low, high } = self.edges(place);
            let (v_bar, friction_bar, (), (), ()) =
                bounded_vjp(v, self.friction, low, high, self.sticky, out_bar);
            *bars.floor += friction_bar;
            return v_bar;
        };
        let (geom, model) = (&self.colliders[*i], self.mpm.robot.model());
        let x = self.position(place);
        if geom.away(x, T::Pack::lit(self.mpm.felt())) {
            return self.back(rest, place, (m, m_bar), v, out_bar, reactions, bars);
        }
        let (softness, share) = (self.mpm.grid.softness, self.shares[*i]);
        let met = geom.meet(model, x, v, share, softness);
        let mut met_bar = self.back(rest, place, (m, &mut *m_bar), met, out_bar, reactions, bars);
        let mut before_bar = None;
        if let Some(reaction) = reactions.get(*i) {
            // impulse = m (v − met)
            let change = v - met;
            let (impulse_bar, frame_bar) = reaction.add_vjp(x - geom.frame, change * m);
            bars.geoms[*i].frame += frame_bar;
            *m_bar += change.dot(impulse_bar);
            met_bar -= impulse_bar * m;
            before_bar = Some(impulse_bar * m);
        }
        let (v_bar, share_bar) = geom.meet_vjp(model, x, v, share, softness, met_bar, &mut bars.geoms[*i]);
        bars.shares[*i] += share_bar;
        before_bar.map_or(v_bar, |bar| v_bar + bar)
    }
}
