//! The part of a substep that happens on the nodes, and its pullback: packs of nodes meet colliders, floor and walls.

use pullback_math::{Flat, Force, Mask, Motion, Real, Scalar, Transform, Vec3};

use super::blocks::{BLOCK, BLOCK_NODES, Blocks};
use super::grid::{Edges, Floor, WideGeom, WideGeomBar, bounded, bounded_vjp, there, velocity, velocity_vjp};
use super::system::{Mpm, MpmWorkspace};
use crate::articulated::ArticulatedWorkspace;
use crate::articulated::contact::Scene;
use crate::collision::ShapeBar;

impl Mpm {
    /// Visits the nodes in use, a pack at a time: the first of them, positions, walls.
    fn for_each_pack<T: Scalar>(
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
        let MpmWorkspace { robot, blocks, momenta, velocities, .. } = ws;
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
            for g in &self.geoms {
                let geom = self.wide(&scene, robot, *g);
                if self.near::<T>(&geom, x) {
                    v = geom.meet(x, v, self.grid.softness);
                }
            }
            let v = bounded(v, friction, edges.low, edges.high, sticky);
            for i in 0..T::WIDTH {
                velocities[at + i] = T::vector_quad(T::unpack_vector(&v, i));
            }
        });
    }

    fn pull<T: Real>(&self, params: &[T]) -> Vec3<T> {
        Vec3::read(&params[self.robot.index().gravity..]) * T::lit(self.dt)
    }

    fn wide<'a, T: Scalar>(
        &self,
        scene: &Scene<'a, T>,
        robot: &ArticulatedWorkspace<T>,
        geom: usize,
    ) -> WideGeom<'a, T::Pack> {
        let placed = scene.placed(geom);
        let fill = |v: Vec3<T>| v.map(T::fill);
        let body = robot.sweep.velocities[placed.body];
        WideGeom {
            collider: placed.collider.with_size(fill(placed.collider.size)),
            pose: Transform::new(placed.pose.rotation.map(T::fill), fill(placed.pose.translation)),
            body: Motion::new(fill(body.angular), fill(body.linear)),
            tree_point: fill(robot.kinematics.origins[placed.body]),
            friction: placed.friction.fill(),
        }
    }

    /// Whether any node of a pack may be close enough to a collider to feel it.
    fn near<T: Scalar>(&self, geom: &WideGeom<'_, T::Pack>, x: Vec3<T::Pack>) -> bool {
        let reach = geom.collider.bounding_radius();
        // Beyond ln(10)/α the strength is below a tenth.
        let felt = T::Pack::lit(10f64.ln() / self.grid.softness);
        let between = x - geom.pose.translation;
        let gap = if reach.is_finite() {
            between.norm() - T::Pack::lit(reach)
        } else {
            between.dot(geom.pose.rotation.c2)
        };
        !gap.gt(felt).all()
    }

    /// The pullback of [`Mpm::on_grid`] from the tiles' cotangents of velocities: those of momenta into `bars`, those of
    /// colliders' bodies into the workspace, the rest into the parameters.
    pub(super) fn on_grid_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace { robot, blocks, momenta, tiles, bars, geom_bars, velocity_bars, wrenches, .. } = ws;
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
            let met = Met { mpm: self, scene: &scene, robot, x, friction, edges, sticky };
            let v = velocity(p, m, pull);
            let v_bar = met.back(0, v, out_bar, geom_bars, &mut floor_bar);
            let (p_bar, m_bar, pulled) = velocity_vjp(p, m, pull, v_bar);
            pull_bar += pulled;
            for i in 0..T::WIDTH {
                let p = T::unpack_vector(&p_bar, i);
                bars[at + i] = T::quad([p.x, p.y, p.z, T::unpack(&m_bar, i)]);
            }
        });
        (T::total_vector(pull_bar) * T::lit(self.dt)).add_to(&mut params_bar[self.robot.index().gravity..]);
        params_bar[self.floor] += T::total(floor_bar);

        velocity_bars.fill(Force::zero());
        wrenches.fill(Force::zero());
        for (g, bar) in self.geoms.iter().zip(geom_bars.iter()) {
            let placed = scene.placed(*g);
            let body = bar.body;
            velocity_bars[placed.body] +=
                Force::new(T::total_vector(body.angular), T::total_vector(body.linear));
            let r = bar.shape.pose.rotation;
            let columns = [r.c0, r.c1, r.c2].map(T::total_vector);
            let rotation = pullback_math::Mat3::from_cols(columns[0], columns[1], columns[2]);
            let pose = Transform::new(rotation, T::total_vector(bar.shape.pose.translation));
            let shape = ShapeBar { pose, size: T::total_vector(bar.shape.size) };
            scene.placed_vjp(*g, &placed, shape, T::total(bar.friction), wrenches, params_bar);
        }
    }
}

/// Momenta and masses of a pack of nodes.
#[inline(always)]
fn node_pack<T: Scalar>(nodes: &[T::Quad]) -> (Vec3<T::Pack>, T::Pack) {
    let p = T::pack_vectors(|i| T::quad_vector(nodes[i]));
    (p, T::pack(|i| T::entries(nodes[i])[3]))
}

/// The colliders around a pack of nodes, one after the other, then floor and walls.
struct Met<'a, 's, T: Scalar> {
    mpm: &'a Mpm,
    scene: &'a Scene<'s, T>,
    robot: &'a ArticulatedWorkspace<T>,
    x: Vec3<T::Pack>,
    friction: T::Pack,
    edges: Edges<T::Pack>,
    sticky: bool,
}

impl<T: Scalar> Met<'_, '_, T> {
    /// Cotangent of the velocity before collider `i`: goes on to the last one, and comes back.
    fn back(
        &self,
        i: usize,
        v: Vec3<T::Pack>,
        out_bar: Vec3<T::Pack>,
        geom_bars: &mut [WideGeomBar<T::Pack>],
        floor_bar: &mut T::Pack,
    ) -> Vec3<T::Pack> {
        let Some(g) = self.mpm.geoms.get(i) else {
            let Edges { low, high } = self.edges;
            let (v_bar, friction_bar, (), (), ()) =
                bounded_vjp(v, self.friction, low, high, self.sticky, out_bar);
            *floor_bar += friction_bar;
            return v_bar;
        };
        let geom = self.mpm.wide(self.scene, self.robot, *g);
        if !self.mpm.near::<T>(&geom, self.x) {
            return self.back(i + 1, v, out_bar, geom_bars, floor_bar);
        }
        let softness = self.mpm.grid.softness;
        let met = geom.meet(self.x, v, softness);
        let v_bar = self.back(i + 1, met, out_bar, geom_bars, floor_bar);
        geom.meet_vjp(self.x, v, softness, v_bar, &mut geom_bars[i])
    }
}
