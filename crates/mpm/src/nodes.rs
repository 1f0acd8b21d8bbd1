//! The grid operation of a substep and its pullback: packs of nodes under gravity, colliders, floor and
//! walls.
//!
//! A block of nodes visits only the colliders near it, and floor and walls only where it is at the edge of
//! the grid. The others leave velocities as they are.

use std::ops::Range;

use pullback_articulated::geom_lanes::{GeomLanes, GeomLanesBar};
use pullback_math::{Force, Mask, Real, Scalar, Select, Vec3, select};

use super::blocks::{BLOCK, BLOCK_LINES};
use super::colliders::Reaction;
use super::grid::{
    Floor, Grid, NodeCollider, WallMask, apply_walls, apply_walls_vjp, contact_range, has_mass, velocity,
    velocity_vjp,
};
use super::record::Record;
use super::system::Mpm;
use super::workspace::MpmWorkspace;

impl Mpm {
    /// The grid operation: velocities of the nodes from their momenta, and the reactions on coupled
    /// colliders.
    pub(super) fn grid_op<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        let MpmWorkspace { blocks, node_momenta, node_rest, node_offsets, .. } = ws;
        let MpmWorkspace { colliders, bounds, nearby, impulse_fractions, reactions, .. } = ws;
        reactions.fill(Reaction::default());
        let gravity_dt: Vec3<T::Pack> = self.gravity_dt(params).map(T::fill);
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.find_nearby(bounds, corner, nearby);
            let boundary = BlockBoundary::new(self, colliders, corner, nearby, impulse_fractions, params);
            for (n, offset) in node_offsets.iter().enumerate() {
                let at = lines_of_pack::<T>(slot, n);
                let (p, m) = pack_nodes(&node_momenta[at.clone()]);
                let velocities = &mut node_rest[at];
                if !has_mass(m).any() {
                    velocities.fill(Record::default());
                    continue;
                }
                let v = boundary.apply(*offset, m, velocity(p, m, gravity_dt), reactions);
                unpack_nodes(&v, &T::Pack::zero(), velocities);
            }
        }
    }

    /// g Δt, m/s.
    pub(super) fn gravity_dt<T: Real>(&self, params: &[T]) -> Vec3<T> {
        self.robot.index().gravity.read(params) * T::lit(self.dt)
    }

    /// The pullback of [`Mpm::gravity_dt`]: *adds* to the cotangent of the parameters.
    pub(super) fn gravity_dt_vjp<T: Real>(&self, gravity_dt_bar: Vec3<T>, params_bar: &mut [T]) {
        self.robot.index().gravity.add(gravity_dt_bar * T::lit(self.dt), params_bar);
    }

    /// Distance beyond which a collider does not act, m.
    pub(super) fn contact_range(&self) -> f64 {
        contact_range(self.grid.softness)
    }

    /// Positions of the nodes at `offset` in the block with the lowest node `corner`, m.
    pub(super) fn node_positions<P: Real>(&self, corner: Vec3<P>, offset: Vec3<P>) -> Vec3<P> {
        (corner + offset) * P::lit(self.grid.spacing)
    }

    /// Places the geoms that deflect and their bounding volumes into the workspace.
    pub(super) fn place_geoms<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        let MpmWorkspace { robot, colliders, bounds, .. } = ws;
        let scene = self.robot.geoms(&robot.kinematics, params);
        for ((g, collider), bound) in self.geoms.iter().zip(colliders).zip(bounds) {
            let placed = scene.placed(*g);
            *collider = scene.lanes(&robot.sweep, *g, &placed);
            let lane = |v: Vec3<T>| v.map(|c| c.lane(0));
            *bound = BoundingVolume {
                center: lane(placed.pose.translation),
                normal: lane(placed.pose.rotation.c2),
                radius: placed.collider.bounding_radius(),
            };
        }
    }

    /// The pullback of [`Mpm::place_geoms`]: cotangents of bodies into the workspace, *adds* to those of the
    /// parameters.
    pub(super) fn place_geoms_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace { robot, collider_bars, body_velocity_bars, wrenches, .. } = ws;
        let scene = self.robot.geoms(&robot.kinematics, params);
        body_velocity_bars.fill(Force::zero());
        wrenches.fill(Force::zero());
        for (g, bar) in self.geoms.iter().zip(collider_bars.iter()) {
            let placed = scene.placed(*g);
            scene.lanes_vjp(*g, &placed, bar, body_velocity_bars, wrenches, params_bar);
        }
    }

    /// Lists the colliders that may act on a block of nodes, by their index in `geoms`.
    pub(super) fn find_nearby(&self, bounds: &[BoundingVolume], corner: [usize; 3], nearby: &mut Vec<usize>) {
        nearby.clear();
        // Bounding sphere of the block, its radius larger than half the diagonal of 3 cells.
        let [x, y, z] = corner.map(|c| (c as f64 + 1.5) * self.grid.spacing);
        let (center, radius) = (Vec3::new(x, y, z), 2.7 * self.grid.spacing);
        let range = self.contact_range();
        nearby.extend((0..bounds.len()).filter(|i| bounds[*i].distance(center) - radius <= range));
    }

    /// The pullback of [`Mpm::grid_op`]: replaces the cotangents of the nodes' velocities by those of their
    /// momenta and masses, writes those of colliders and impulse fractions into the workspace, and *adds* to
    /// those of the parameters.
    pub(super) fn grid_op_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace { blocks, node_momenta, node_rest, node_offsets, .. } = ws;
        let node_bars = &mut node_rest[node_momenta.len()..];
        let MpmWorkspace { colliders, collider_bars, bounds, nearby, reaction_bars, .. } = ws;
        let MpmWorkspace { impulse_fractions, impulse_fraction_bars, .. } = ws;
        impulse_fraction_bars.fill(T::Pack::zero());
        collider_bars.fill(GeomLanesBar::default());
        let gravity_dt: Vec3<T::Pack> = self.gravity_dt(params).map(T::fill);
        let (mut gravity_dt_bar, mut floor_friction_bar) = (Vec3::<T::Pack>::zero(), T::Pack::zero());
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.find_nearby(bounds, corner, nearby);
            let boundary = BlockBoundary::new(self, colliders, corner, nearby, impulse_fractions, params);
            for (n, offset) in node_offsets.iter().enumerate() {
                let at = lines_of_pack::<T>(slot, n);
                let (p, m) = pack_nodes(&node_momenta[at.clone()]);
                let bars = &mut node_bars[at];
                if !has_mass(m).any() {
                    bars.fill(Record::default());
                    continue;
                }
                let (out_bar, _) = pack_nodes(bars);
                let v = velocity(p, m, gravity_dt);
                let mut boundary_bars = BoundaryBars {
                    colliders: collider_bars,
                    impulse_fractions: impulse_fraction_bars,
                    floor_friction: &mut floor_friction_bar,
                };
                let (v_bar, m_from_impulses) =
                    boundary.apply_vjp(*offset, m, v, out_bar, reaction_bars, &mut boundary_bars);
                let (p_bar, m_bar, pack_gravity_bar) = velocity_vjp(p, m, gravity_dt, v_bar);
                let m_bar = m_bar + m_from_impulses;
                gravity_dt_bar += pack_gravity_bar;
                unpack_nodes(&p_bar, &m_bar, bars);
            }
        }
        self.gravity_dt_vjp(T::total_vector(gravity_dt_bar), params_bar);
        params_bar[self.index.floor_friction] += T::total(floor_friction_bar);
    }
}

/// A sphere around a collider, or the half space of a plane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BoundingVolume {
    /// Center of the sphere, or a point of the plane, m.
    center: Vec3<f64>,
    /// Normal of the plane.
    normal: Vec3<f64>,
    /// Radius of the sphere, m; infinite for a plane.
    radius: f64,
}

impl BoundingVolume {
    /// Signed distance of a point, m.
    fn distance(&self, x: Vec3<f64>) -> f64 {
        let offset = x - self.center;
        if self.radius.is_finite() { offset.norm() - self.radius } else { offset.dot(self.normal) }
    }
}

/// Where pack `n` of the nodes in a slot is among the lines of nodes.
#[inline(always)]
pub(super) fn lines_of_pack<T: Scalar>(slot: usize, n: usize) -> Range<usize> {
    const { assert!(T::WIDTH.is_multiple_of(BLOCK)) };
    let (first, lines) = (slot * BLOCK_LINES, T::WIDTH / BLOCK);
    first + n * lines..first + (n + 1) * lines
}

/// Momenta and masses of a pack of nodes.
#[inline(always)]
pub(super) fn pack_nodes<T: Scalar>(lines: &[Record<T>]) -> (Vec3<T::Pack>, T::Pack) {
    let number = |i: usize, c: usize| lines[i / BLOCK].0[BLOCK * (i % BLOCK) + c];
    let p = T::pack_vectors(|i| Vec3 { x: number(i, 0), y: number(i, 1), z: number(i, 2) });
    (p, T::pack(|i| number(i, 3)))
}

/// The inverse of [`pack_nodes`].
#[inline(always)]
pub(super) fn unpack_nodes<T: Scalar>(p: &Vec3<T::Pack>, m: &T::Pack, lines: &mut [Record<T>]) {
    for (n, line) in lines.iter_mut().enumerate() {
        for i in 0..BLOCK {
            let (p, m) = (T::unpack_vector(p, n * BLOCK + i), T::unpack(m, n * BLOCK + i));
            line.0[BLOCK * i..][..BLOCK].copy_from_slice(&[p.x, p.y, p.z, m]);
        }
    }
}

/// The lowest node of a block in every lane.
pub(super) fn corner_lanes<P: Real>(corner: [usize; 3]) -> Vec3<P> {
    let [x, y, z] = corner.map(|c| P::lit(c as f64));
    Vec3 { x, y, z }
}

/// Boundary conditions of a block of nodes: colliders one after the other, then floor and walls.
struct BlockBoundary<'a, T: Scalar> {
    mpm: &'a Mpm,
    colliders: &'a [GeomLanes<T::Pack>],
    nearby: &'a [usize],
    impulse_fractions: &'a [T::Pack],
    contact_range: T::Pack,
    /// Lowest node.
    corner: Vec3<T::Pack>,
    /// Whether some of its nodes are in floor or walls.
    at_walls: bool,
    friction: T::Pack,
    sticky: bool,
}

/// Cotangents of the boundary conditions of a block.
struct BoundaryBars<'b, P> {
    colliders: &'b mut [GeomLanesBar<P>],
    impulse_fractions: &'b mut [P],
    floor_friction: &'b mut P,
}

impl<'a, T: Scalar> BlockBoundary<'a, T> {
    fn new(
        mpm: &'a Mpm,
        colliders: &'a [GeomLanes<T::Pack>],
        corner: [usize; 3],
        nearby: &'a [usize],
        impulse_fractions: &'a [T::Pack],
        params: &[T],
    ) -> Self {
        let Grid { nodes, margin, flat, floor, .. } = mpm.grid;
        let axes = if flat { 2 } else { 3 };
        BlockBoundary {
            mpm,
            colliders,
            nearby,
            impulse_fractions,
            contact_range: T::Pack::lit(mpm.contact_range()),
            corner: corner_lanes(corner),
            at_walls: (0..axes).any(|a| corner[a] < margin || corner[a] + BLOCK + margin > nodes[a]),
            friction: params[mpm.index.floor_friction].fill(),
            sticky: floor == Floor::Sticky,
        }
    }

    /// Which of the nodes at `offset` in the block are in floor and walls.
    fn walls(&self, offset: Vec3<T::Pack>) -> WallMask<T::Pack> {
        let Grid { nodes, margin, flat, .. } = self.mpm.grid;
        let (node, zero, one) = (self.corner + offset, T::Pack::zero(), T::Pack::one());
        let mask = |inside: &dyn Fn(T::Pack, usize) -> <T::Pack as Select>::Mask| {
            let axis = |x: T::Pack, a: usize| select(inside(x, a), one, zero);
            Vec3 { x: axis(node.x, 0), y: axis(node.y, 1), z: if flat { zero } else { axis(node.z, 2) } }
        };
        WallMask {
            low: mask(&|x, _| x.lt(T::Pack::lit(margin as f64))),
            high: mask(&|x, a| x.ge(T::Pack::lit(nodes[a] as f64 - margin as f64))),
        }
    }

    /// Velocities of the nodes at `offset` after all boundary conditions, for nodes of mass m. *Adds* the
    /// reactions on coupled colliders.
    fn apply(
        &self,
        offset: Vec3<T::Pack>,
        m: T::Pack,
        mut v: Vec3<T::Pack>,
        reactions: &mut [Reaction<T::Pack>],
    ) -> Vec3<T::Pack> {
        let Grid { softness, .. } = self.mpm.grid;
        let x = self.mpm.node_positions(self.corner, offset);
        for i in self.nearby {
            let collider = &self.colliders[*i];
            if !collider.is_beyond(self.contact_range, x) {
                let before = v;
                let model = self.mpm.robot.model();
                v = NodeCollider { geom: collider, model, softness }.collide_nodes(
                    x,
                    v,
                    self.impulse_fractions[*i],
                );
                if let Some(reaction) = reactions.get_mut(*i) {
                    reaction.add(x - collider.body_origin, (before - v) * m);
                }
            }
        }
        if !self.at_walls {
            return v;
        }
        let WallMask { low, high } = self.walls(offset);
        apply_walls(v, self.friction, low, high, self.sticky)
    }

    /// The pullback of [`BlockBoundary::apply`]: returns the cotangents of velocities and masses, *adds* to
    /// the others.
    fn apply_vjp(
        &self,
        offset: Vec3<T::Pack>,
        m: T::Pack,
        v: Vec3<T::Pack>,
        out_bar: Vec3<T::Pack>,
        reaction_bars: &[Reaction<T::Pack>],
        bars: &mut BoundaryBars<'_, T::Pack>,
    ) -> (Vec3<T::Pack>, T::Pack) {
        let mut m_bar = T::Pack::zero();
        let v_bar = self.remaining_vjp(self.nearby, offset, (m, &mut m_bar), v, out_bar, reaction_bars, bars);
        (v_bar, m_bar)
    }

    /// The pullback of the colliders `nearby`, floor and walls, by recursion to the last of them: returns the
    /// cotangent of the velocity before the first.
    fn remaining_vjp(
        &self,
        nearby: &[usize],
        offset: Vec3<T::Pack>,
        (m, m_bar): (T::Pack, &mut T::Pack),
        v: Vec3<T::Pack>,
        out_bar: Vec3<T::Pack>,
        reaction_bars: &[Reaction<T::Pack>],
        bars: &mut BoundaryBars<'_, T::Pack>,
    ) -> Vec3<T::Pack> {
        let [i, rest @ ..] = nearby else {
            if !self.at_walls {
                return out_bar;
            }
            let WallMask { low, high } = self.walls(offset);
            let (v_bar, friction_bar, (), (), ()) =
                apply_walls_vjp(v, self.friction, low, high, self.sticky, out_bar);
            *bars.floor_friction += friction_bar;
            return v_bar;
        };
        let (collider, model) = (&self.colliders[*i], self.mpm.robot.model());
        let x = self.mpm.node_positions(self.corner, offset);
        if collider.is_beyond(self.contact_range, x) {
            return self.remaining_vjp(rest, offset, (m, m_bar), v, out_bar, reaction_bars, bars);
        }
        let (softness, fraction) = (self.mpm.grid.softness, self.impulse_fractions[*i]);
        let node_collider = NodeCollider { geom: collider, model, softness };
        let after = node_collider.collide_nodes(x, v, fraction);
        let mut after_bar =
            self.remaining_vjp(rest, offset, (m, &mut *m_bar), after, out_bar, reaction_bars, bars);
        let mut from_impulse = None;
        if let Some(reaction_bar) = reaction_bars.get(*i) {
            // impulse = m (v − after)
            let change = v - after;
            let (impulse_bar, origin_bar) = reaction_bar.add_vjp(x - collider.body_origin, change * m);
            bars.colliders[*i].body_origin += origin_bar;
            *m_bar += change.dot(impulse_bar);
            after_bar -= impulse_bar * m;
            from_impulse = Some(impulse_bar * m);
        }
        let (v_bar, fraction_bar) =
            node_collider.collide_nodes_vjp(x, v, fraction, after_bar, &mut bars.colliders[*i]);
        bars.impulse_fractions[*i] += fraction_bar;
        from_impulse.map_or(v_bar, |bar| v_bar + bar)
    }
}
