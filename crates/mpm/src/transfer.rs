//! Transfer from particles to grid (P2G), from grid to particles (G2P), and the pullbacks of both.
//!
//! The adjoint of scatter is gather, and the other way round. So all four passes are loops over tiles, cells
//! and particles with the functions of [`stencil`](super::stencil).

use pullback_math::{Flat, Mat3, Real, Scalar, Vec3, select};

use super::blocks::BLOCK_NODES;
use super::grid::Grid;
use super::stencil::{Affine, Kernel, gather, gather_value, load, position_bar, scatter, store};
use super::stress::AffineMomentum;
use super::system::Mpm;
use super::view::{View, ViewMut};
use super::workspace::MpmWorkspace;

/// Smallest and largest position of particles along each axis, m.
pub(super) fn position_limits(grid: &Grid) -> ([f64; 3], [f64; 3]) {
    ([grid.spacing; 3], grid.nodes.map(|n| (n as f64 - 2.0) * grid.spacing))
}

impl Mpm {
    /// P2G: sorts the particles, and scatters mass and momentum to the nodes.
    pub(super) fn p2g<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, at: &View<'_, T>) {
        let MpmWorkspace { kernel, blocks, tile, node_momenta, particle_momenta, .. } = ws;
        let top = self.grid.nodes.map(|n| (n as i32 - 3).max(0));
        blocks.build(|p| {
            let base = kernel.base(at.x[p]);
            std::array::from_fn(|a| base[a].clamp(0, top[a]) as usize)
        });
        node_momenta[..blocks.slots() * BLOCK_NODES].fill(T::Quad::default());
        for t in 0..blocks.tiles() {
            tile.fill(T::Quad::default());
            for (corner, base, particles) in blocks.cells(t) {
                let middle = Kernel::<T>::middle(base);
                let mut rows = load::<T>(tile, corner);
                for p in particles {
                    let p = *p as usize;
                    scatter(&mut rows, &kernel.at(at.x[p], middle), to_quads(&particle_momenta[p]));
                }
                store::<T>(tile, corner, &rows);
            }
            blocks.add_tile::<T>(t, tile, node_momenta);
        }
    }

    /// G2P: gathers v′ and C′ from the nodes, and advects the particles.
    pub(super) fn g2p<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, tile, node_velocities, .. } = ws;
        let (dt, inverse_d) = (T::lit(self.dt), self.inverse_d::<T>());
        let (low, high) = self.limits();
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, node_velocities, tile);
            for (corner, base, particles) in blocks.cells(t) {
                let (middle, rows) = (Kernel::<T>::middle(base), load::<T>(tile, corner));
                for p in particles {
                    let p = *p as usize;
                    let velocity = gather(&rows, &kernel.at(at.x[p], middle));
                    let [vx, vy, vz, _] = T::entries(velocity.value);
                    let column = |a: usize| T::entries(velocity.columns[a] * inverse_d.everywhere());
                    let ([a, b, c, _], [d, e, f, _], [g, h, i, _]) = (column(0), column(1), column(2));
                    out.c[p] = [a, b, c, d, e, f, g, h, i];
                    out.v[p] = [vx, vy, vz];
                    let moved = |a: usize, v: T| (at.x[p][a] + dt * v).max(low[a]).min(high[a]);
                    out.x[p] = [moved(0, vx), moved(1, vy), moved(2, vz)];
                    if self.grid.flat {
                        out.x[p][2] = at.x[p][2];
                    }
                }
            }
        }
    }

    /// The pullback of [`Mpm::g2p`] from x̄′, v̄′ and C̄′: v̄ of the nodes into the workspace, *adds* to x̄.
    pub(super) fn g2p_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        next_bar: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace {
            kernel, blocks, tile, tile_bar, node_velocities, node_bars: velocity_bars, ..
        } = ws;
        let (dt, inverse_d) = (T::lit(self.dt), self.inverse_d::<T>());
        let (low, high) = self.limits();
        velocity_bars[..blocks.slots() * BLOCK_NODES].fill(T::Quad::default());
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, node_velocities, tile);
            tile_bar.fill(T::Quad::default());
            for (corner, base, particles) in blocks.cells(t) {
                let (middle, rows) = (Kernel::<T>::middle(base), load::<T>(tile, corner));
                let mut rows_bar = load::<T>(tile_bar, corner);
                for p in particles {
                    let p = *p as usize;
                    let stencil = kernel.at(at.x[p], middle);
                    let velocity = gather_value(&rows, &stencil);
                    let v = T::entries(velocity);
                    // x′ = x + Δt v′, clamped to the limits
                    let unclamped_bar = |a: usize| {
                        let moved = at.x[p][a] + dt * v[a];
                        let clamped = moved.lt(low[a]) | moved.gt(high[a]);
                        select(clamped, T::zero(), next_bar.x[p][a])
                    };
                    let mut moved_bar = Vec3::new(unclamped_bar(0), unclamped_bar(1), unclamped_bar(2));
                    let mut v_bar = Vec3::read(&next_bar.v[p]) + moved_bar * dt;
                    if self.grid.flat {
                        // z′ = z
                        (moved_bar.z, v_bar.z) = (next_bar.x[p][2], next_bar.v[p][2]);
                    }
                    let c = Mat3::read(&next_bar.c[p]);
                    let column = |c: Vec3<T>| T::vector_quad(c) * inverse_d.everywhere();
                    let gathered_bar = Affine {
                        value: T::vector_quad(v_bar),
                        columns: [column(c.c0), column(c.c1), column(c.c2)],
                    };
                    scatter(&mut rows_bar, &stencil, gathered_bar);
                    let x_bar = position_bar(&rows, &stencil, gathered_bar, velocity);
                    (x_bar + moved_bar).add_to(&mut out.x[p]);
                }
                store::<T>(tile_bar, corner, &rows_bar);
            }
            blocks.add_tile::<T>(t, tile_bar, velocity_bars);
        }
    }

    /// The pullback of [`Mpm::p2g`] from the cotangents of momenta and masses of the nodes: *adds* to x̄, and
    /// replaces the momenta of the particles by their cotangents.
    pub(super) fn p2g_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, tile_bar, particle_momenta, node_bars: momentum_bars, .. } = ws;
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, momentum_bars, tile_bar);
            for (corner, base, particles) in blocks.cells(t) {
                let (middle, rows_bar) = (Kernel::<T>::middle(base), load::<T>(tile_bar, corner));
                for p in particles {
                    let p = *p as usize;
                    let stencil = kernel.at(at.x[p], middle);
                    let momentum_bar = gather(&rows_bar, &stencil);
                    let momentum = to_quads(&particle_momenta[p]);
                    position_bar(&rows_bar, &stencil, momentum, momentum_bar.value).add_to(&mut out.x[p]);
                    particle_momenta[p] = from_quads(momentum_bar);
                }
            }
        }
    }

    /// [`position_limits`] of the grid.
    fn limits<T: Real>(&self) -> ([T; 3], [T; 3]) {
        let (low, high) = position_limits(&self.grid);
        (low.map(T::lit), high.map(T::lit))
    }

    /// D⁻¹ = 4/h² of quadratic B-splines (APIC), 1/m².
    fn inverse_d<T: Real>(&self) -> T {
        T::lit(4.0 / (self.grid.spacing * self.grid.spacing))
    }
}

/// The momentum of a particle, as quads.
#[inline(always)]
fn to_quads<T: Scalar>(momentum: &AffineMomentum<T>) -> Affine<T::Quad> {
    let [[px, py, pz, m, a0, a1, a2, a3], [b0, b1, b2, b3, c0, c1, c2, c3]] = *momentum;
    Affine {
        value: T::quad([px, py, pz, m]),
        columns: [T::quad([a0, a1, a2, a3]), T::quad([b0, b1, b2, b3]), T::quad([c0, c1, c2, c3])],
    }
}

/// The inverse of [`to_quads`].
#[inline(always)]
fn from_quads<T: Scalar>(momentum: Affine<T::Quad>) -> AffineMomentum<T> {
    let [a, b, c] = momentum.columns;
    let ([px, py, pz, m], [a0, a1, a2, a3]) = (T::entries(momentum.value), T::entries(a));
    let ([b0, b1, b2, b3], [c0, c1, c2, c3]) = (T::entries(b), T::entries(c));
    [[px, py, pz, m, a0, a1, a2, a3], [b0, b1, b2, b3, c0, c1, c2, c3]]
}
