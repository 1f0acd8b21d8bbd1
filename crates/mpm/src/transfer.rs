//! Transfer from particles to grid (P2G), from grid to particles (G2P), and the pullbacks of both.
//!
//! The adjoint of scatter is gather, and the other way round. So all four passes are loops over tiles, chunks
//! of their particles and cells with the functions of [`stencil`](super::stencil). They work on records of the
//! particles in the order of the blocks. What a state has in its own order is read there by chunks, so that
//! many reads are under way at once.

use std::ops::Range;

use pullback_math::{Real, Scalar};

use super::blocks::Blocks;
use super::grid::Grid;
use super::halves::{Half, Lines};
use super::parallel::{both, in_parts};
use super::record::Record;
use super::stencil::{
    CHUNK, Kernel, TILE_LENGTH, Weights, gather, gather_value, load, position_bar, scatter, store,
};
use super::system::Mpm;
use super::view::{View, ViewMut};
use super::workspace::MpmWorkspace;

/// Smallest and largest position of particles along each axis, m.
pub(super) fn position_limits(grid: &Grid) -> ([f64; 3], [f64; 3]) {
    ([grid.spacing; 3], grid.nodes.map(|n| (n as f64 - 2.0) * grid.spacing))
}

impl Mpm {
    /// Sorts the particles into blocks.
    pub(super) fn sort_particles<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, at: &View<'_, T>) {
        let MpmWorkspace { kernel, blocks, .. } = ws;
        let top = self.grid.nodes.map(|n| (n as i32 - 3).max(0));
        blocks.build(|p| {
            let base = kernel.base(at.x[p]);
            std::array::from_fn(|a| base[a].clamp(0, top[a]) as usize)
        });
    }

    /// P2G: scatters mass and momentum to the nodes. Leaves the momenta in the order of the blocks, with the
    /// positions in their spare places.
    pub(super) fn p2g<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, at: &View<'_, T>) {
        let MpmWorkspace { kernel, blocks, particles, node_momenta, node_rest, shared_nodes, .. } = ws;
        let ([first, second], unsorted) = (blocks.halves(particles), &**node_rest);
        let [low, high] = blocks.lines_of_halves(node_momenta, shared_nodes);
        let run = |half, nodes| scatter_momenta(kernel, blocks, unsorted, at.x, half, nodes);
        both(self.threads, || run(first, low), || run(second, high));
        blocks.add_shared(node_momenta, shared_nodes);
    }

    /// G2P: gathers v′ and C′ from the nodes, and advects the particles.
    pub(super) fn g2p<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        at: &View<'_, T>,
        out: &mut ViewMut<'_, T>,
    ) {
        let MpmWorkspace { kernel, blocks, particles, node_rest, .. } = ws;
        let (scale, [first, second]) = (self.gathered_scale::<T>(), blocks.halves(particles));
        let run = |half| gather_velocities(kernel, blocks, node_rest, scale, half);
        both(self.threads, || run(first), || run(second));
        let (moves, places, gathered) = (self.moves::<T>(), blocks.places(), &**particles);
        let out = (&mut *out.x, (&mut *out.v, &mut *out.c));
        in_parts(self.threads, 0..places.len(), out, &|of, (x, (v, c))| {
            advect(&moves, &places[of.clone()], gathered, &at.x[of], x, v, c);
        });
    }

    /// The pullback of [`Mpm::g2p`] from x̄′, v̄′ and C̄′: v̄ of the nodes and x̄ of the particles, in the spare
    /// places of their records, into the workspace.
    pub(super) fn g2p_vjp<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, next_bar: &View<'_, T>) {
        let MpmWorkspace { kernel, blocks, particles, node_momenta, node_rest, shared_nodes, .. } = ws;
        let (velocities, bars) = node_rest.split_at_mut(node_momenta.len());
        let [first, second] = blocks.halves(particles);
        let [low, high] = blocks.lines_of_halves(bars, shared_nodes);
        let (scale, moves) = (self.gathered_scale::<T>(), self.moves::<T>());
        let run = |half, nodes| {
            gather_velocities_vjp(kernel, blocks, velocities, scale, &moves, next_bar, half, nodes);
        };
        both(self.threads, || run(first, low), || run(second, high));
        blocks.add_shared(bars, shared_nodes);
    }

    /// The pullback of [`Mpm::p2g`] from the cotangents of momenta and masses of the nodes: replaces the
    /// momenta of the particles by their cotangents, and adds to x̄ in their spare places.
    pub(super) fn p2g_vjp<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, at: &View<'_, T>) {
        let MpmWorkspace { kernel, blocks, particles, node_momenta, node_rest, .. } = ws;
        let ([first, second], bars) = (blocks.halves(particles), &node_rest[node_momenta.len()..]);
        let run = |half| scatter_momenta_vjp(kernel, blocks, bars, at.x, half);
        both(self.threads, || run(first), || run(second));
    }

    /// What multiplies Σ w v and Σ w v offset: 1, and D⁻¹ = 4/h² of quadratic B-splines (APIC), 1/m².
    fn gathered_scale<T: Scalar>(&self) -> T::Row {
        let inverse_d = T::lit(4.0 / (self.grid.spacing * self.grid.spacing)).everywhere();
        T::row(&[T::one().everywhere(), inverse_d, inverse_d, inverse_d])
    }

    /// How particles move.
    fn moves<T: Scalar>(&self) -> Moves<T::Quad> {
        let (low, high) = position_limits(&self.grid);
        let quad = |x: [f64; 3], flat: f64| {
            let z = if self.grid.flat { flat } else { x[2] };
            T::quad([x[0], x[1], z, 0.0].map(T::lit))
        };
        Moves {
            dt: quad([self.dt; 3], 0.0),
            low: quad(low, f64::NEG_INFINITY),
            high: quad(high, f64::INFINITY),
        }
    }
}

/// x′ = x + Δt v′, held between limits. In two dimensions z stays as it is.
struct Moves<Q> {
    dt: Q,
    low: Q,
    high: Q,
}

impl<Q: Real> Moves<Q> {
    /// x + Δt v′
    #[inline(always)]
    fn moved<T: Scalar<Quad = Q>>(&self, [x, y, z]: [T; 3], velocity: Q) -> Q {
        T::quad([x, y, z, T::zero()]) + velocity * self.dt
    }

    /// Its cotangent from that of x′.
    #[inline(always)]
    fn vjp<T: Scalar<Quad = Q>>(&self, x: [T; 3], velocity: Q, next_bar: Q) -> Q {
        let moved = self.moved(x, velocity);
        let held = moved.lt(self.low) | moved.gt(self.high);
        Q::select(held, Q::zero(), next_bar)
    }
}

/// P2G of the particles of a half.
fn scatter_momenta<T: Scalar>(
    kernel: &Kernel<T>,
    blocks: &Blocks,
    unsorted: &[Record<T>],
    x: &[[T; 3]],
    mut half: Half<'_, T>,
    mut nodes: Lines<'_, T>,
) {
    let (mut tile, mut weights, mask) = (empty_tile::<T>(), Weights::new(), Record::<T>::mask());
    nodes.clear();
    for t in half.tiles.clone() {
        tile.fill(T::Quad::default());
        for places in blocks.chunks(t) {
            let momenta = half.records(&places);
            for (to, p) in momenta.iter_mut().zip(&blocks.order()[places.clone()]) {
                *to = unsorted[*p as usize];
                to.set_spare(x[*p as usize]);
            }
            find_weights(&mut weights, kernel, blocks, t, &places, |i| momenta[i].spare());
            for (corner, particles) in blocks.cells(&places) {
                let mut rows = load::<T>(&tile, corner);
                for i in particles {
                    scatter(&mut rows, &kernel.around(&weights, i), momenta[i].row() * mask);
                }
                store::<T>(&mut tile, corner, &rows);
            }
        }
        blocks.add_tile::<T>(t, &tile, &mut nodes);
    }
}

/// v′ and C′ of the particles of a half, in the order of the blocks.
fn gather_velocities<T: Scalar>(
    kernel: &Kernel<T>,
    blocks: &Blocks,
    velocities: &[Record<T>],
    scale: T::Row,
    mut half: Half<'_, T>,
) {
    let (mut tile, mut weights) = (empty_tile::<T>(), Weights::new());
    for t in half.tiles.clone() {
        blocks.load_tile::<T>(t, velocities, &mut tile);
        for places in blocks.chunks(t) {
            let records = half.records(&places);
            find_weights(&mut weights, kernel, blocks, t, &places, |i| records[i].spare());
            for (i, (record, corner)) in records.iter_mut().zip(blocks.corners(&places)).enumerate() {
                let gathered = gather(&load::<T>(&tile, corner), &kernel.around(&weights, i));
                *record = Record::of(gathered * scale);
            }
        }
    }
}

/// x′, v′ and C′ of particles from what they have gathered.
fn advect<T: Scalar>(
    moves: &Moves<T::Quad>,
    places: &[u32],
    gathered: &[Record<T>],
    before: &[[T; 3]],
    x: &mut [[T; 3]],
    v: &mut [[T; 3]],
    c: &mut [[T; 9]],
) {
    let zero = T::zero();
    for (p, place) in places.iter().enumerate() {
        let [vx, vy, vz, _, c0, c1, c2, _, c3, c4, c5, _, c6, c7, c8, _] = gathered[*place as usize].0;
        (v[p], c[p]) = ([vx, vy, vz], [c0, c1, c2, c3, c4, c5, c6, c7, c8]);
        let moved = moves.moved(before[p], T::quad([vx, vy, vz, zero]));
        let [next_x, next_y, next_z, _] = T::entries(moved.max(moves.low).min(moves.high));
        x[p] = [next_x, next_y, next_z];
    }
}

/// The pullback of G2P for the particles of a half.
fn gather_velocities_vjp<T: Scalar>(
    kernel: &Kernel<T>,
    blocks: &Blocks,
    velocities: &[Record<T>],
    scale: T::Row,
    moves: &Moves<T::Quad>,
    next_bar: &View<'_, T>,
    mut half: Half<'_, T>,
    mut nodes: Lines<'_, T>,
) {
    let (mut tile, mut tile_bar, mut weights) = (empty_tile::<T>(), empty_tile::<T>(), Weights::new());
    let (mut bars, mut x_bars) = ([Record::default(); CHUNK], [T::Quad::default(); CHUNK]);
    let (mask, none) = (Record::<T>::mask(), T::Quad::default());
    nodes.clear();
    for t in half.tiles.clone() {
        blocks.load_tile::<T>(t, velocities, &mut tile);
        tile_bar.fill(T::Quad::default());
        for places in blocks.chunks(t) {
            let records = half.records(&places);
            find_weights(&mut weights, kernel, blocks, t, &places, |i| records[i].spare());
            let of_chunk = bars.iter_mut().zip(&mut x_bars).zip(&blocks.order()[places.clone()]);
            of_chunk.for_each(|((bar, x_bar), p)| (*bar, *x_bar) = read_bars(next_bar, *p as usize));
            for (i, (record, corner)) in records.iter_mut().zip(blocks.corners(&places)).enumerate() {
                let (rows, stencil) = (load::<T>(&tile, corner), kernel.around(&weights, i));
                let velocity = gather_value(&rows, &stencil);
                // x′ = x + Δt v′
                let moved_bar = moves.vjp::<T>(record.spare(), velocity, x_bars[i]);
                let of_moved = T::row(&[moved_bar * moves.dt, none, none, none]);
                let gathered_bar = bars[i].row() * scale + of_moved;
                bars[i] = Record::of(gathered_bar);
                let of_weights = position_bar(&rows, kernel, &stencil, gathered_bar, velocity);
                *record = Record::of(record.row().mul_add(mask, of_weights));
                let ([x, y, z], [dx, dy, dz, _]) = (record.spare(), T::entries(moved_bar));
                record.set_spare([x + dx, y + dy, z + dz]);
            }
            for (corner, particles) in blocks.cells(&places) {
                let mut rows_bar = load::<T>(&tile_bar, corner);
                for i in particles {
                    scatter(&mut rows_bar, &kernel.around(&weights, i), bars[i].row());
                }
                store::<T>(&mut tile_bar, corner, &rows_bar);
            }
        }
        blocks.add_tile::<T>(t, &tile_bar, &mut nodes);
    }
}

/// v̄′ and C̄′ of particle `p` as a record, and x̄′.
#[inline(always)]
fn read_bars<T: Scalar>(next_bar: &View<'_, T>, p: usize) -> (Record<T>, T::Quad) {
    let ([x, y, z], [vx, vy, vz], zero) = (next_bar.x[p], next_bar.v[p], T::zero());
    let [c0, c1, c2, c3, c4, c5, c6, c7, c8] = next_bar.c[p];
    let bar = Record([vx, vy, vz, zero, c0, c1, c2, zero, c3, c4, c5, zero, c6, c7, c8, zero]);
    (bar, T::quad([x, y, z, zero]))
}

/// The pullback of P2G for the particles of a half.
fn scatter_momenta_vjp<T: Scalar>(
    kernel: &Kernel<T>,
    blocks: &Blocks,
    momentum_bars: &[Record<T>],
    x: &[[T; 3]],
    mut half: Half<'_, T>,
) {
    let (mut tile_bar, mut weights, mask) = (empty_tile::<T>(), Weights::new(), Record::<T>::mask());
    for t in half.tiles.clone() {
        blocks.load_tile::<T>(t, momentum_bars, &mut tile_bar);
        for places in blocks.chunks(t) {
            let order = &blocks.order()[places.clone()];
            find_weights(&mut weights, kernel, blocks, t, &places, |i| x[order[i] as usize]);
            let records = half.records(&places);
            for (i, (record, corner)) in records.iter_mut().zip(blocks.corners(&places)).enumerate() {
                let (rows_bar, stencil) = (load::<T>(&tile_bar, corner), kernel.around(&weights, i));
                let momentum_bar = gather(&rows_bar, &stencil);
                let (before, [value_bar, ..]) = (record.row(), T::quads(momentum_bar));
                let momentum = before * mask;
                let x_bar = position_bar(&rows_bar, kernel, &stencil, momentum, value_bar);
                *record = Record::of(momentum_bar.mul_add(mask, before - momentum) + x_bar);
            }
        }
    }
}

fn empty_tile<T: Scalar>() -> [T::Quad; TILE_LENGTH] {
    [T::Quad::default(); TILE_LENGTH]
}

/// Finds the weights of a chunk of particles of tile `t` from their positions.
#[inline(always)]
fn find_weights<T: Scalar>(
    weights: &mut Weights<T>,
    kernel: &Kernel<T>,
    blocks: &Blocks,
    t: usize,
    places: &Range<usize>,
    x: impl Fn(usize) -> [T; 3],
) {
    for (i, base) in blocks.bases(t, places).enumerate() {
        let u = kernel.relative(x(i), base);
        (weights.u[0][i], weights.u[1][i], weights.u[2][i]) = (u[0], u[1], u[2]);
    }
    weights.find(kernel, places.len());
}
