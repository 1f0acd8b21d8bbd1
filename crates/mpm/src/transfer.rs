//! From particles to nodes and back, and the pullbacks of both.
//!
//! The adjoint of scatter is gather, and the other way round, so all four passes are loops over tiles, cells and particles with
//! the functions of [`stencil`](super::stencil).

use pullback_math::{Flat, Real, Scalar, Vec3, select};

use super::blocks::BLOCK_NODES;
use super::cloud::Grid;
use super::stencil::{Affine, Kernel, gather, load, position_bar, scatter, store, value};
use super::stress::Handed;
use super::system::Mpm;
use super::view::{View, ViewMut};
use super::workspace::MpmWorkspace;

/// Smallest and largest place that a particle may take along each axis, m.
pub(super) fn limits(grid: &Grid) -> ([f64; 3], [f64; 3]) {
    ([grid.spacing; 3], grid.nodes.map(|n| (n as f64 - 2.0) * grid.spacing))
}

impl Mpm {
    /// Sorts the particles, scatters mass and momentum, and adds them up at the nodes.
    pub(super) fn to_grid<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, at: &View<'_, T>) {
        let MpmWorkspace { kernel, blocks, tile, momenta, handed, .. } = ws;
        let top = self.grid.nodes.map(|n| (n as i32 - 3).max(0));
        blocks.build(|p| {
            let base = kernel.base(at.x[p]);
            std::array::from_fn(|a| base[a].clamp(0, top[a]) as usize)
        });
        momenta[..blocks.slots() * BLOCK_NODES].fill(T::Quad::default());
        for t in 0..blocks.tiles() {
            tile.fill(T::Quad::default());
            for (corner, base, particles) in blocks.cells(t) {
                let middle = Kernel::<T>::middle(base);
                let mut rows = load::<T>(tile, corner);
                for p in particles {
                    let p = *p as usize;
                    scatter(&mut rows, &kernel.at(at.x[p], middle), handed_out(&handed[p]));
                }
                store::<T>(tile, corner, &rows);
            }
            blocks.collect::<T>(t, tile, momenta);
        }
    }

    /// Gathers velocities v′ and C′ from the nodes, and moves the particles.
    pub(super) fn to_particles<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, tile, velocities, .. } = ws;
        let (dt, four) = (T::lit(self.dt), T::lit(4.0 / (self.grid.spacing * self.grid.spacing)));
        let (low, high) = self.limits();
        for t in 0..blocks.tiles() {
            blocks.spread::<T>(t, velocities, tile);
            for (corner, base, particles) in blocks.cells(t) {
                let (middle, rows) = (Kernel::<T>::middle(base), load::<T>(tile, corner));
                for p in particles {
                    let p = *p as usize;
                    let got = gather(&rows, &kernel.at(at.x[p], middle));
                    let [vx, vy, vz, _] = T::entries(got.value);
                    let column = |a: usize| T::entries(got.columns[a] * four.everywhere());
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

    /// The pullback of [`Mpm::to_particles`]: v̄ of the nodes from x̄′, v̄′ and C̄′, and x̄.
    pub(super) fn to_particles_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        next_bar: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, tile, tile_bar, velocities, bars, .. } = ws;
        let (dt, four) = (T::lit(self.dt), T::lit(4.0 / (self.grid.spacing * self.grid.spacing)));
        let (low, high) = self.limits();
        bars[..blocks.slots() * BLOCK_NODES].fill(T::Quad::default());
        for t in 0..blocks.tiles() {
            blocks.spread::<T>(t, velocities, tile);
            tile_bar.fill(T::Quad::default());
            for (corner, base, particles) in blocks.cells(t) {
                let (middle, rows) = (Kernel::<T>::middle(base), load::<T>(tile, corner));
                let mut rows_bar = load::<T>(tile_bar, corner);
                for p in particles {
                    let p = *p as usize;
                    let stencil = kernel.at(at.x[p], middle);
                    let got = value(&rows, &stencil);
                    let v = T::entries(got);
                    // x′ = x + Δt v′ within the limits
                    let moved_bar = |a: usize| {
                        let moved = at.x[p][a] + dt * v[a];
                        let held = moved.lt(low[a]) | moved.gt(high[a]);
                        select(held, T::zero(), next_bar.x[p][a])
                    };
                    let mut straight = Vec3::new(moved_bar(0), moved_bar(1), moved_bar(2));
                    let mut v_bar = Vec3::read(&next_bar.v[p]) + straight * dt;
                    if self.grid.flat {
                        // z′ = z
                        (straight.z, v_bar.z) = (next_bar.x[p][2], next_bar.v[p][2]);
                    }
                    let c = next_bar.c[p];
                    let column =
                        |a: usize| T::quad([c[a], c[a + 1], c[a + 2], T::zero()]) * four.everywhere();
                    let what =
                        Affine { value: T::vector_quad(v_bar), columns: [column(0), column(3), column(6)] };
                    scatter(&mut rows_bar, &stencil, what);
                    let x_bar = position_bar(&rows, &stencil, what, got);
                    (x_bar + straight).add_to(&mut out.x[p]);
                }
                store::<T>(tile_bar, corner, &rows_bar);
            }
            blocks.collect::<T>(t, tile_bar, bars);
        }
    }

    /// The pullback of [`Mpm::to_grid`]: x̄ from the cotangents of the nodes, and those of what particles handed out in the
    /// place of it.
    pub(super) fn to_grid_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, tile, bars, handed, .. } = ws;
        for t in 0..blocks.tiles() {
            blocks.spread::<T>(t, bars, tile);
            for (corner, base, particles) in blocks.cells(t) {
                let (middle, rows) = (Kernel::<T>::middle(base), load::<T>(tile, corner));
                for p in particles {
                    let p = *p as usize;
                    let stencil = kernel.at(at.x[p], middle);
                    let got = gather(&rows, &stencil);
                    position_bar(&rows, &stencil, handed_out(&handed[p]), got.value).add_to(&mut out.x[p]);
                    handed[p] = as_handed(got);
                }
            }
        }
    }

    /// [`limits`] as numbers.
    fn limits<T: Real>(&self) -> ([T; 3], [T; 3]) {
        let (low, high) = limits(&self.grid);
        (low.map(T::lit), high.map(T::lit))
    }
}

/// What a particle hands out, as quads.
#[inline(always)]
fn handed_out<T: Scalar>(handed: &Handed<T>) -> Affine<T::Quad> {
    let [[px, py, pz, m, a0, a1, a2, a3], [b0, b1, b2, b3, c0, c1, c2, c3]] = *handed;
    Affine {
        value: T::quad([px, py, pz, m]),
        columns: [T::quad([a0, a1, a2, a3]), T::quad([b0, b1, b2, b3]), T::quad([c0, c1, c2, c3])],
    }
}

/// The way back of [`handed_out`].
#[inline(always)]
fn as_handed<T: Scalar>(what: Affine<T::Quad>) -> Handed<T> {
    let [a, b, c] = what.columns;
    let ([px, py, pz, m], [a0, a1, a2, a3]) = (T::entries(what.value), T::entries(a));
    let ([b0, b1, b2, b3], [c0, c1, c2, c3]) = (T::entries(b), T::entries(c));
    [[px, py, pz, m, a0, a1, a2, a3], [b0, b1, b2, b3, c0, c1, c2, c3]]
}
