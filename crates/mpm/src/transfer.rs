//! Transfer from particles to grid (P2G), from grid to particles (G2P), and the pullbacks of both.
//!
//! The adjoint of scatter is gather, and the other way round. So all four passes are loops over tiles, cells
//! and particles with the functions of [`stencil`](super::stencil).

use pullback_math::{Flat, Real, Scalar, Vec3, select};

use super::blocks::BLOCK_NODES;
use super::grid::Grid;
use super::stencil::{Affine, Differences, Totals, add, gather, gather_value, load, position_bar, scatter};
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
        let MpmWorkspace { kernel, blocks, relative_positions, weights, .. } = ws;
        let MpmWorkspace { tile, node_momenta, particle_momenta, .. } = ws;
        let top = self.grid.nodes.map(|n| (n as i32 - 3).max(0));
        blocks.build(|p| {
            let base = kernel.base(at.x[p]);
            let base = [base[0].clamp(0, top[0]), base[1].clamp(0, top[1]), base[2].clamp(0, top[2])];
            relative_positions[p] = kernel.relative(at.x[p], base);
            base
        });
        for (weights, p) in weights.iter_mut().zip(blocks.sequence()) {
            *weights = kernel.weights(relative_positions[*p as usize]);
        }
        node_momenta[..blocks.slots() * BLOCK_NODES].fill(T::Quad::default());
        for t in 0..blocks.tiles() {
            tile.fill(T::Quad::default());
            for (corner, places) in blocks.cells(t) {
                let mut totals = Totals::zero();
                for (p, weights) in blocks.sequence()[places.clone()].iter().zip(&weights[places]) {
                    let momentum = to_quads(&particle_momenta[*p as usize]);
                    scatter(&mut totals, &kernel.around(weights), momentum);
                }
                add::<T>(tile, corner, &totals.rows());
            }
            blocks.add_tile::<T>(t, tile, node_momenta);
        }
    }

    /// G2P: gathers v′ and C′ from the nodes, and advects the particles. Overwrites the momenta of the
    /// particles.
    pub(super) fn g2p<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, weights, tile, node_velocities, .. } = ws;
        // The momenta have been scattered.
        let gathered = &mut ws.particle_momenta;
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, node_velocities, tile);
            for (corner, places) in blocks.cells(t) {
                let velocities = Differences::new(&load::<T>(tile, corner));
                for (p, weights) in blocks.sequence()[places.clone()].iter().zip(&weights[places]) {
                    gathered[*p as usize] = from_row::<T>(gather(&velocities, &kernel.around(weights)));
                }
            }
        }
        self.advect(gathered, at, out);
    }

    /// v′, C′ and x′ of all particles from what they have gathered.
    fn advect<T: Scalar>(&self, gathered: &[AffineMomentum<T>], at: &View<'_, T>, out: &mut ViewMut<'_, T>) {
        let (dt, inverse_d) = (T::lit(self.dt), self.inverse_d::<T>());
        let (low, high) = self.limits();
        for (p, gathered) in gathered.iter().enumerate() {
            let Affine { value, columns } = to_quads(gathered);
            let [vx, vy, vz, _] = T::entries(value);
            let [x, y, z] = columns.map(|c| c * inverse_d.everywhere());
            let ([a, b, c, _], [d, e, f, _], [g, h, i, _]) = (T::entries(x), T::entries(y), T::entries(z));
            out.c[p] = [a, b, c, d, e, f, g, h, i];
            out.v[p] = [vx, vy, vz];
            let moved = |a: usize, v: T| (at.x[p][a] + dt * v).max(low[a]).min(high[a]);
            out.x[p] = [moved(0, vx), moved(1, vy), moved(2, vz)];
            if self.grid.flat {
                out.x[p][2] = at.x[p][2];
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
        self.gather_velocities(ws);
        self.advect_vjp(ws, at, next_bar, out);
        let MpmWorkspace { kernel, blocks, relative_positions, weights, slopes, .. } = ws;
        let MpmWorkspace { velocities, gathered_bars, tile, tile_bar, .. } = ws;
        let (node_velocities, velocity_bars) = (&ws.node_velocities, &mut ws.node_bars);
        for (slopes, p) in slopes.iter_mut().zip(blocks.sequence()) {
            *slopes = kernel.slopes(relative_positions[*p as usize]);
        }
        velocity_bars[..blocks.slots() * BLOCK_NODES].fill(T::Quad::default());
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, node_velocities, tile);
            tile_bar.fill(T::Quad::default());
            for (corner, places) in blocks.cells(t) {
                let (rows, mut totals_bar) = (load::<T>(tile, corner), Totals::zero());
                for i in places {
                    let (p, stencil) = (blocks.sequence()[i] as usize, kernel.around(&weights[i]));
                    let gathered_bar = to_quads(&gathered_bars[p]);
                    scatter(&mut totals_bar, &stencil, gathered_bar);
                    position_bar(&rows, kernel, &stencil, &slopes[i], gathered_bar, velocities[p])
                        .add_to(&mut out.x[p]);
                }
                add::<T>(tile_bar, corner, &totals_bar.rows());
            }
            blocks.add_tile::<T>(t, tile_bar, velocity_bars);
        }
    }

    /// v′ of all particles into the workspace.
    fn gather_velocities<T: Scalar>(&self, ws: &mut MpmWorkspace<T>) {
        let MpmWorkspace { kernel, blocks, weights, tile, node_velocities, velocities, .. } = ws;
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, node_velocities, tile);
            for (corner, places) in blocks.cells(t) {
                let nodes = Differences::new(&load::<T>(tile, corner));
                for (p, weights) in blocks.sequence()[places.clone()].iter().zip(&weights[places]) {
                    velocities[*p as usize] = gather_value(&nodes, &kernel.around(weights));
                }
            }
        }
    }

    /// The pullback of [`Mpm::advect`] at v′: cotangents of what is gathered into the workspace, *adds* to x̄.
    fn advect_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        next_bar: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let (dt, inverse_d, zero) = (T::lit(self.dt), self.inverse_d::<T>(), T::zero());
        let (low, high) = self.limits();
        let MpmWorkspace { velocities, gathered_bars, .. } = ws;
        for (p, (velocity, bar)) in velocities.iter().zip(gathered_bars).enumerate() {
            let v = T::entries(*velocity);
            // x′ = x + Δt v′, clamped to the limits
            let unclamped_bar = |a: usize| {
                let moved = at.x[p][a] + dt * v[a];
                let clamped = moved.lt(low[a]) | moved.gt(high[a]);
                select(clamped, zero, next_bar.x[p][a])
            };
            let mut moved_bar = Vec3::new(unclamped_bar(0), unclamped_bar(1), unclamped_bar(2));
            let mut v_bar = Vec3::read(&next_bar.v[p]) + moved_bar * dt;
            if self.grid.flat {
                // z′ = z
                (moved_bar.z, v_bar.z) = (next_bar.x[p][2], next_bar.v[p][2]);
            }
            moved_bar.add_to(&mut out.x[p]);
            let [a, b, c, d, e, f, g, h, i] = next_bar.c[p];
            let column = |c: [T; 4]| T::entries(T::quad(c) * inverse_d.everywhere());
            let columns = [column([a, b, c, zero]), column([d, e, f, zero]), column([g, h, i, zero])];
            *bar = from_columns([v_bar.x, v_bar.y, v_bar.z, zero], columns);
        }
    }

    /// The pullback of [`Mpm::p2g`] from the cotangents of momenta and masses of the nodes: *adds* to x̄, and
    /// replaces the momenta of the particles by their cotangents.
    pub(super) fn p2g_vjp<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, out: &mut ViewMut<'_, T>) {
        let MpmWorkspace { kernel, blocks, weights, slopes, .. } = ws;
        let MpmWorkspace { tile_bar, particle_momenta, node_bars: momentum_bars, .. } = ws;
        for t in 0..blocks.tiles() {
            blocks.load_tile::<T>(t, momentum_bars, tile_bar);
            for (corner, places) in blocks.cells(t) {
                let rows_bar = load::<T>(tile_bar, corner);
                let momentum_bars = Differences::new(&rows_bar);
                for i in places {
                    let (p, stencil) = (blocks.sequence()[i] as usize, kernel.around(&weights[i]));
                    let momentum_bar = gather(&momentum_bars, &stencil);
                    let ([value_bar, ..], momentum) =
                        (T::quads(momentum_bar), to_quads(&particle_momenta[p]));
                    position_bar(&rows_bar, kernel, &stencil, &slopes[i], momentum, value_bar)
                        .add_to(&mut out.x[p]);
                    particle_momenta[p] = from_row::<T>(momentum_bar);
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

/// The momentum of a particle from value and columns side by side.
#[inline(always)]
fn from_row<T: Scalar>(row: T::Row) -> AffineMomentum<T> {
    let [value, a, b, c] = T::quads(row).map(T::entries);
    from_columns(value, [a, b, c])
}

/// The momentum of a particle from value and columns.
#[inline(always)]
fn from_columns<T: Real>([px, py, pz, m]: [T; 4], columns: [[T; 4]; 3]) -> AffineMomentum<T> {
    let [[a0, a1, a2, a3], [b0, b1, b2, b3], [c0, c1, c2, c3]] = columns;
    [[px, py, pz, m, a0, a1, a2, a3], [b0, b1, b2, b3, c0, c1, c2, c3]]
}
