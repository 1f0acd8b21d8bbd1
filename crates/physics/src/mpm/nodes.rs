//! The part of a substep that happens on the nodes, and its pullback: packs of nodes meet colliders, floor and walls.

use pullback_math::{Flat, Force, Mask, Real, Scalar, Vec3};

use super::blocks::{BLOCK, BLOCK_NODES, Blocks};
use super::colliders::Reaction;
use super::grid::{Edges, Floor, bounded, bounded_vjp, there, velocity, velocity_vjp};
use super::system::{Mpm, MpmWorkspace};
use crate::articulated::ArticulatedWorkspace;
use crate::articulated::contact::Scene;
use crate::articulated::wide_geom::WideGeomBar;

impl Mpm {
    /// Visits the nodes in use, a pack at a time: the first of them, positions, walls.
    pub(super) fn for_each_pack<T: Scalar>(
        &self,
        blocks: &Blocks,
        mut visit: impl FnMut(usize, Vec3<T::Pack>, Edges<T::Pack>),
    ) {
        for slot in 0..blocks.nodes.len() {
            let corner = blocks.corner(blocks.nodes[slot]);
            for first in (0..BLOCK_NODES).step_by(T::WIDTH) {
                let node = |i: usize| {
                    let k = first + i;
                    [k / (BLOCK * BLOCK), k / BLOCK % BLOCK, k % BLOCK]
                };
                let place = |i: usize, a: usize| (corner[a] + node(i)[a]) as f64;
                let x = T::pack_vectors(|i| {
                    let at = |a: usize| T::lit(place(i, a) * self.grid.spacing);
                    Vec3 { x: at(0), y: at(1), z: at(2) }
                });
                let margin = self.grid.margin as f64;
                let rule = |holds: bool| if holds { T::one() } else { T::zero() };
                let walls = |test: &dyn Fn(f64, f64) -> bool| {
                    T::pack_vectors(|i| {
                        let at = |a: usize| {
                            let there = !(self.grid.flat && a == 2);
                            rule(there && test(place(i, a), self.grid.nodes[a] as f64))
                        };
                        Vec3 { x: at(0), y: at(1), z: at(2) }
                    })
                };
                let low = walls(&|at, _| at < margin);
                let high = walls(&|at, n| at >= n - margin);
                visit(slot * BLOCK_NODES + first, x, Edges { low, high });
            }
        }
    }

    /// Momenta become velocities.
    pub(super) fn on_grid<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        let MpmWorkspace { robot, blocks, momenta, velocities, reactions, shares, .. } = ws;
        reactions.fill(Reaction::zero());
        velocities.resize(momenta.len(), T::Quad::default());
        let scene = self.robot.contacts(&robot.kinematics, params);
        let pull: Vec3<T::Pack> = self.pull(params).map(T::fill);
        let (friction, sticky) = (params[self.floor].fill(), self.grid.floor == Floor::Sticky);
        self.for_each_pack::<T>(blocks, |at, x, edges| {
            let (p, m) = node_pack::<T>(&momenta[at..]);
            if !there(m).any() {
                velocities[at..at + T::WIDTH].fill(T::Quad::default());
                return;
            }
            let mut v = velocity(p, m, pull);
            for (i, g) in self.geoms.iter().enumerate() {
                let geom = scene.wide(&robot.sweep, &scene.placed(*g));
                if !geom.away(x, self.felt()) {
                    let before = v;
                    v = geom.meet(x, v, shares[i], self.grid.softness);
                    if let Some(reaction) = reactions.get_mut(i) {
                        reaction.add(x - geom.frame, (before - v) * m);
                    }
                }
            }
            let v = bounded(v, friction, edges.low, edges.high, sticky);
            for i in 0..T::WIDTH {
                velocities[at + i] = T::vector_quad(T::unpack_vector(&v, i));
            }
        });
    }

    pub(super) fn pull<T: Real>(&self, params: &[T]) -> Vec3<T> {
        Vec3::read(&params[self.robot.index().gravity..]) * T::lit(self.dt)
    }

    /// Distance beyond which a collider is not felt: there its strength is below a tenth.
    pub(super) fn felt<P: Real>(&self) -> P {
        P::lit(10f64.ln() / self.grid.softness)
    }

    /// The pullback of [`Mpm::on_grid`] from the tiles' cotangents of velocities: those of momenta into `bars`, those of
    /// colliders into the workspace, the rest into the parameters.
    pub(super) fn on_grid_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace { robot, blocks, momenta, tiles, bars, geom_bars, .. } = ws;
        let (reactions, shares, share_bars) = (&ws.reactions, &ws.shares, &mut ws.share_bars);
        share_bars.fill(T::Pack::zero());
        bars.resize(momenta.len(), T::Quad::default());
        for slot in 0..blocks.nodes.len() {
            blocks.collect::<T>(slot, tiles, &mut bars[slot * BLOCK_NODES..][..BLOCK_NODES]);
        }
        geom_bars.fill(WideGeomBar::zero());
        let scene = self.robot.contacts(&robot.kinematics, params);
        let pull: Vec3<T::Pack> = self.pull(params).map(T::fill);
        let (friction, sticky) = (params[self.floor].fill(), self.grid.floor == Floor::Sticky);
        let zero = Vec3::new(T::Pack::zero(), T::Pack::zero(), T::Pack::zero());
        let (mut pull_bar, mut floor_bar) = (zero, T::Pack::zero());
        self.for_each_pack::<T>(blocks, |at, x, edges| {
            let (p, m) = node_pack::<T>(&momenta[at..]);
            if !there(m).any() {
                bars[at..at + T::WIDTH].fill(T::Quad::default());
                return;
            }
            let out_bar = T::pack_vectors(|i| T::quad_vector(bars[at + i]));
            let met =
                Met { mpm: self, scene: &scene, robot, reactions, shares, x, m, friction, edges, sticky };
            let v = velocity(p, m, pull);
            let (v_bar, moved) = met.back(0, v, out_bar, geom_bars, share_bars, &mut floor_bar);
            let (p_bar, m_bar, pulled) = velocity_vjp(p, m, pull, v_bar);
            let m_bar = m_bar + moved;
            pull_bar += pulled;
            for i in 0..T::WIDTH {
                let p = T::unpack_vector(&p_bar, i);
                bars[at + i] = T::quad([p.x, p.y, p.z, T::unpack(&m_bar, i)]);
            }
        });
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

/// Momenta and masses of a pack of nodes.
#[inline(always)]
pub(super) fn node_pack<T: Scalar>(nodes: &[T::Quad]) -> (Vec3<T::Pack>, T::Pack) {
    let p = T::pack_vectors(|i| T::quad_vector(nodes[i]));
    (p, T::pack(|i| T::entries(nodes[i])[3]))
}

/// The colliders around a pack of nodes, one after the other, then floor and walls.
struct Met<'a, 's, T: Scalar> {
    mpm: &'a Mpm,
    scene: &'a Scene<'s, T>,
    robot: &'a ArticulatedWorkspace<T>,
    /// Cotangents of what the nodes do to the colliders; empty where these feel nothing.
    reactions: &'a [Reaction<T::Pack>],
    shares: &'a [T::Pack],
    x: Vec3<T::Pack>,
    m: T::Pack,
    friction: T::Pack,
    edges: Edges<T::Pack>,
    sticky: bool,
}

impl<T: Scalar> Met<'_, '_, T> {
    /// Cotangents of the velocity before collider `i` and of the mass that moved it: goes on to the last one, and comes back.
    fn back(
        &self,
        i: usize,
        v: Vec3<T::Pack>,
        out_bar: Vec3<T::Pack>,
        geom_bars: &mut [WideGeomBar<T::Pack>],
        share_bars: &mut [T::Pack],
        floor_bar: &mut T::Pack,
    ) -> (Vec3<T::Pack>, T::Pack) {
        let Some(g) = self.mpm.geoms.get(i) else {
            let Edges { low, high } = self.edges;
            let (v_bar, friction_bar, (), (), ()) =
                bounded_vjp(v, self.friction, low, high, self.sticky, out_bar);
            *floor_bar += friction_bar;
            return (v_bar, T::Pack::zero());
        };
        let geom = self.scene.wide(&self.robot.sweep, &self.scene.placed(*g));
        if geom.away(self.x, self.mpm.felt()) {
            return self.back(i + 1, v, out_bar, geom_bars, share_bars, floor_bar);
        }
        let (softness, share) = (self.mpm.grid.softness, self.shares[i]);
        let met = geom.meet(self.x, v, share, softness);
        let (mut met_bar, mut m_bar) = self.back(i + 1, met, out_bar, geom_bars, share_bars, floor_bar);
        let mut before_bar = None;
        if let Some(reaction) = self.reactions.get(i) {
            // impulse = m (v − met)
            let change = v - met;
            let (impulse_bar, frame_bar) = reaction.add_vjp(self.x - geom.frame, change * self.m);
            geom_bars[i].frame += frame_bar;
            m_bar += change.dot(impulse_bar);
            met_bar -= impulse_bar * self.m;
            before_bar = Some(impulse_bar * self.m);
        }
        let (v_bar, share_bar) = geom.meet_vjp(self.x, v, share, softness, met_bar, &mut geom_bars[i]);
        share_bars[i] += share_bar;
        (before_bar.map_or(v_bar, |bar| v_bar + bar), m_bar)
    }
}
