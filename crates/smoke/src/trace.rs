//! Tracing: where the smoke of a point was a step ago, and linear interpolation there.
//!
//! A point at place i was at p = i − (Δt/h) u, in units of cells. Beyond a wall p is held at the last value
//! before it, where its derivative is zero. Interpolation is linear between the 2^D values around p, so the
//! trace has kinks where p passes from one cell to the next; there the derivative is that of the upper cell.

use pullback_math::{Real, Scalar, select};

use super::padded::{Padded, Place, RowAt};
use super::rows::Piece;

/// Points of a row that are traced together, a register of them: [`Scalar::Row`].
pub(crate) const TILE: usize = 16;

/// Most pairs of corners of a cell, those of a cube. A pair are neighbors along the first axis.
const MOST_PAIRS: usize = 4;

/// The values at the corners of the cells of a run, pair by pair, lower and upper.
pub(crate) type Corners<T> = [[[T; TILE]; 2]; MOST_PAIRS];

/// A run of at most [`TILE`] points of a row.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// First point, from the start of the row.
    pub first: usize,
    pub count: usize,
}

impl Run {
    /// The runs of a row of n points.
    #[inline(always)]
    pub fn of_row(n: usize) -> impl Iterator<Item = Run> {
        (0..n).step_by(TILE).map(move |first| Run { first, count: (n - first).min(TILE) })
    }
}

/// Velocity at the points where a field stands, along axis b: its own values, or the mean of two or four.
#[derive(Clone, Copy)]
struct Mean {
    /// Added to the index of a point.
    offsets: [isize; 4],
    count: usize,
}

impl Mean {
    fn new<const D: usize>(padded: &Padded<D>, place: Place, b: usize) -> Mean {
        let up = padded.strides[b] as isize;
        match place {
            Place::Cell => Mean { offsets: [0, up, 0, 0], count: 2 },
            Place::Face(a) if a == b => Mean { offsets: [0; 4], count: 1 },
            Place::Face(a) => {
                let down = -(padded.strides[a] as isize);
                Mean { offsets: [0, up, down, up + down], count: 4 }
            }
        }
    }
    #[inline(always)]
    fn offsets(&self) -> &[isize] {
        &self.offsets[..self.count]
    }
    #[inline(always)]
    fn weight(&self) -> f64 {
        1.0 / self.count as f64
    }
}

/// How points of a field are traced.
#[derive(Clone, Copy)]
pub(crate) struct Tracer<'a, const D: usize> {
    pub padded: &'a Padded<D>,
    means: [Mean; D],
    /// Largest place along axes with walls.
    limits: [f64; D],
    /// From a cell to the first corner of every pair.
    pairs: [usize; MOST_PAIRS],
    /// Δt/h, negative to trace forward.
    scale: f64,
}

/// Where the points of a run were; numbers past its end mean nothing.
pub(crate) struct Traces<T: Scalar, const D: usize> {
    count: usize,
    /// Lowest corner of the cell.
    cell: [u32; TILE],
    /// Place in the cell along each axis, 0 to 1.
    fraction: [T::Row; D],
    /// Which places are not held at a wall, 1 or 0.
    free: [T::Row; D],
}

impl<'a, const D: usize> Tracer<'a, D> {
    pub fn new(padded: &'a Padded<D>, place: Place, scale: f64) -> Self {
        let limit = |a: usize| padded.cells[a] as f64 - if place == Place::Face(a) { 0.0 } else { 1.0 };
        let pair = |r: usize| (1..D).map(|a| (r >> (a - 1) & 1) * padded.strides[a]).sum();
        Tracer {
            padded,
            means: std::array::from_fn(|b| Mean::new(padded, place, b)),
            limits: std::array::from_fn(limit),
            pairs: std::array::from_fn(pair),
            scale,
        }
    }

    /// Where the points of a run were.
    #[inline(always)]
    pub fn trace<T: Scalar>(&self, velocity: &[Vec<T>; D], at: &RowAt<D>, run: Run) -> Traces<T, D> {
        let zeros = [T::Row::zero(); D];
        let mut traces = Traces { count: run.count, cell: [0; TILE], fraction: zeros, free: zeros };
        let mut lows = [[T::zero(); TILE]; D];
        for b in 0..D {
            // u at the points
            let (mean, u, start) = (&self.means[b], &velocity[b], at.start + run.first);
            let mut moved = read(u, start, run.count);
            for offset in &mean.offsets()[1..] {
                moved += read(u, start.wrapping_add_signed(*offset), run.count);
            }
            // p = i − (Δt/h) u
            let own = if b == 0 { along_row::<T>(run.first) } else { T::lit(at.place[b] as f64).along() };
            let place = moved.mul_add(T::lit(-self.scale * mean.weight()).along(), own);
            let (inside, free) = self.hold::<T>(b, place);
            let low = floor(inside).min(T::lit((self.padded.cells[b] - 1) as f64).along());
            (traces.fraction[b], traces.free[b]) = (inside - low, free);
            lows[b] = T::numbers(low);
        }
        for i in 0..TILE {
            // The first entry of a padded array is in the halo.
            let cell = |b: usize| (lows[b][i].lane(0) + 1.0) * self.padded.strides[b] as f64;
            traces.cell[i] = whole((0..D).map(cell).sum());
        }
        traces
    }

    /// Places within the grid along axis b, and 1 where they are not held at a wall, else 0.
    #[inline(always)]
    fn hold<T: Scalar>(&self, b: usize, place: T::Row) -> (T::Row, T::Row) {
        let (zero, one) = (T::Row::zero(), T::Row::one());
        if self.padded.periodic[b] {
            let n = T::lit(self.padded.cells[b] as f64).along();
            let turns = T::numbers(place / n).map(|turns| T::lit(f64::from(turns.cell())));
            return ((place - T::row_of(&turns) * n).max(zero).min(n), one);
        }
        let limit = T::lit(self.limits[b]).along();
        let held = place.lt(zero) | place.gt(limit);
        (place.max(zero).min(limit), select(held, zero, one))
    }

    /// The values at the corners of the cells of a run.
    #[inline(always)]
    pub fn corners<T: Scalar>(&self, field: &[T], traces: &Traces<T, D>) -> Corners<T> {
        let mut values = [[[T::zero(); TILE]; 2]; MOST_PAIRS];
        let len = field.len() - self.pairs[(1 << (D - 1)) - 1];
        let pairs = self.pairs.map(|pair| field.get(pair..pair + len).unwrap_or(&[]));
        for i in 0..traces.count {
            let cell = traces.cell[i] as usize;
            for r in 0..1 << (D - 1) {
                (values[r][1][i], values[r][0][i]) = (pairs[r][cell + 1], pairs[r][cell]);
            }
        }
        values
    }

    /// Where corner c of the cell of point i is.
    #[inline(always)]
    pub fn corner<T: Scalar>(&self, traces: &Traces<T, D>, i: usize, c: usize) -> usize {
        traces.cell[i] as usize + self.pairs[c / 2] + c % 2
    }

    /// The field where the points of a run were.
    #[inline(always)]
    pub fn interpolate<T: Scalar>(&self, field: &[T], traces: &Traces<T, D>) -> T::Row {
        let corners = self.corners(field, traces);
        let mut values = [T::Row::zero(); MOST_PAIRS];
        for r in 0..1 << (D - 1) {
            values[r] = mix(T::row_of(&corners[r][0]), T::row_of(&corners[r][1]), traces.fraction[0]);
        }
        for b in 1..D {
            for c in 0..1 << (D - 1 - b) {
                values[c] = mix(values[2 * c], values[2 * c + 1], traces.fraction[b]);
            }
        }
        values[0]
    }

    /// The pullback of [`Tracer::interpolate`]: adds to the cotangent of the field, and returns those of the velocities
    /// at the points.
    #[inline(always)]
    pub fn interpolate_vjp<T: Scalar>(
        &self,
        field: &[T],
        traces: &Traces<T, D>,
        out_bar: T::Row,
        field_bar: &mut [T],
    ) -> [T::Row; D] {
        // Forward, with the values of every stage kept, and the differences along the first axis.
        let corners = self.corners(field, traces);
        let zeros = [T::Row::zero(); MOST_PAIRS];
        let (mut stages, mut slopes) = ([zeros; 2], zeros);
        for r in 0..1 << (D - 1) {
            let [low, high] = corners[r].each_ref().map(T::row_of);
            slopes[r] = high - low;
            stages[0][r] = mix(low, high, traces.fraction[0]);
        }
        for b in 1..D - 1 {
            for c in 0..1 << (D - 1 - b) {
                stages[b][c] = mix(stages[b - 1][2 * c], stages[b - 1][2 * c + 1], traces.fraction[b]);
            }
        }
        // Back through v = low + (high − low) f
        let (mut bars, mut place_bars) = (zeros, [T::Row::zero(); D]);
        bars[0] = out_bar;
        for b in (1..D).rev() {
            for c in (0..1 << (D - 1 - b)).rev() {
                let (low, high, bar) = (stages[b - 1][2 * c], stages[b - 1][2 * c + 1], bars[c]);
                place_bars[b] += bar * (high - low);
                bars[2 * c + 1] = bar * traces.fraction[b];
                bars[2 * c] = bar - bars[2 * c + 1];
            }
        }
        let mut shares = [[[T::zero(); TILE]; 2]; MOST_PAIRS];
        for r in 0..1 << (D - 1) {
            place_bars[0] += bars[r] * slopes[r];
            let high = bars[r] * traces.fraction[0];
            shares[r] = [bars[r] - high, high].map(T::numbers);
        }
        self.scatter(&shares, traces, field_bar);
        // p = i − (Δt/h) u
        let minus_scale = T::lit(-self.scale).along();
        std::array::from_fn(|b| place_bars[b] * traces.free[b] * minus_scale)
    }

    /// Adds to the corners of the cells of a run: first to all lower ones of pairs, then to the upper ones, since
    /// what is read right after it was written has to be waited for.
    #[inline(always)]
    fn scatter<T: Scalar>(&self, shares: &Corners<T>, traces: &Traces<T, D>, field_bar: &mut [T]) {
        for side in 0..2 {
            for i in 0..traces.count {
                let cell = traces.cell[i] as usize + side;
                for r in 0..1 << (D - 1) {
                    field_bar[cell + self.pairs[r]] += shares[r][side][i];
                }
            }
        }
    }

    /// The pullback of the mean velocities along axis b: adds to their cotangents in a piece of a padded array, from
    /// those at the points, which are zero in the halo.
    #[inline(always)]
    pub fn mean_vjp<T: Scalar>(&self, b: usize, flow_bar: &[T], at: Piece, velocity_bar: &mut [T]) {
        let (mean, n) = (&self.means[b], at.len);
        let weight = T::lit(mean.weight());
        let from = mean.offsets.map(|o| &flow_bar[at.start.wrapping_add_signed(-o)..][..n]);
        match mean.count {
            1 => (0..n).for_each(|i| velocity_bar[i] += from[0][i]),
            2 => (0..n).for_each(|i| velocity_bar[i] += (from[0][i] + from[1][i]) * weight),
            _ => (0..n).for_each(|i| {
                velocity_bar[i] += ((from[0][i] + from[1][i]) + (from[2][i] + from[3][i])) * weight;
            }),
        }
    }
}

/// A whole number from 0 to 2³² as an integer: the last bits of 2⁵² + x. A conversion that minds what is no number is
/// slower.
#[inline(always)]
fn whole(x: f64) -> u32 {
    (x + (1u64 << 52) as f64).to_bits() as u32
}

/// The largest whole numbers up to x ≥ 0, without tangents: those nearest to x, which 1/ε + x is rounded to, less 1
/// where they are larger.
#[inline(always)]
fn floor<R: Real>(x: R) -> R {
    let (x, large, one) = (x.primal(), R::Primal::lit(1.0 / R::EPSILON), R::Primal::one());
    let near = (x + large) - large;
    R::from_parts(select(near.gt(x), near - one, near), R::Primal::zero())
}

/// low + (high − low) f
#[inline(always)]
fn mix<R: Real>(low: R, high: R, f: R) -> R {
    (high - low).mul_add(f, low)
}

/// The numbers from `first` on.
#[inline(always)]
fn along_row<T: Scalar>(first: usize) -> T::Row {
    T::row_of(&std::array::from_fn(|i| T::lit((first + i) as f64)))
}

/// So many numbers from a place on, and zeros.
#[inline(always)]
pub(crate) fn read<T: Scalar>(from: &[T], start: usize, count: usize) -> T::Row {
    let from = &from[start..];
    if let (TILE, Some(all)) = (count, from.first_chunk()) {
        return T::row_of(all);
    }
    let mut all = [T::zero(); TILE];
    all[..count].copy_from_slice(&from[..count]);
    T::row_of(&all)
}

/// Writes the first so many numbers.
#[inline(always)]
pub(crate) fn write<T: Scalar>(row: T::Row, count: usize, to: &mut [T]) {
    let all = T::numbers(row);
    match to.first_chunk_mut() {
        Some(to) if count == TILE => *to = all,
        _ => to[..count].copy_from_slice(&all[..count]),
    }
}
