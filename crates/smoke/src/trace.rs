//! Tracing: where the smoke of a point was a step ago, and linear interpolation there.
//!
//! A point at place i was at p = i − (Δt/h) u, in units of cells. Beyond a wall p is held at the last value
//! before it, where its derivative is zero. Interpolation is linear between the 2^D values around p, so the
//! trace has kinks where p passes from one cell to the next; there the derivative is that of the upper cell.

use pullback_math::{Real, Scalar, select};

use super::padded::{Padded, Place, RowAt};
use super::rows::Piece;
use super::stencil::{Candidate, Stencil, integer};

/// Points of a row that are traced together, a register of them: [`Scalar::Row`].
pub(crate) const TILE: usize = 16;

/// Most pairs of corners of a cell, those of a cube. A pair are neighbors along the first axis.
const MOST_PAIRS: usize = 4;

/// The values at the corners of the cells of a run, pair by pair, lower and upper.
pub(crate) type Corners<T> = [[<T as Scalar>::Row; 2]; MOST_PAIRS];

/// A run of at most [`TILE`] points of a row.
#[derive(Clone, Copy, Debug)]
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
    /// The sum of the velocities of a mean, at so many points from one on.
    #[inline(always)]
    fn sum<T: Scalar>(&self, u: &[T], start: usize, count: usize) -> T::Row {
        let at = |k: usize| read_repeating(u, start.wrapping_add_signed(self.offsets[k]), count);
        match self.count {
            1 => at(0),
            2 => at(0) + at(1),
            _ => (at(0) + at(1)) + (at(2) + at(3)),
        }
    }
    #[inline(always)]
    fn weight(&self) -> f64 {
        1.0 / self.count as f64
    }
}

/// How points of a field are traced.
#[derive(Clone, Copy)]
pub(crate) struct Tracer<'a, T: Scalar, const D: usize> {
    pub padded: &'a Padded<D>,
    axes: [Axis<T>; D],
    /// From a cell to the first corner of every pair.
    pairs: [usize; MOST_PAIRS],
    /// −Δt/h, positive to trace forward.
    minus_scale: T::Row,
}

/// How they are traced along an axis.
#[derive(Clone, Copy)]
struct Axis<T: Scalar> {
    mean: Mean,
    /// From the sum of the velocities of a mean to a displacement.
    minus_scale: T::Row,
    /// Largest place of a point between walls, and of a cell.
    limit: T::Row,
    top: T::Row,
}

/// Where the points of a run were; numbers past its end mean nothing.
pub(crate) struct Traces<T: Scalar, const D: usize> {
    count: usize,
    /// The cell along each axis.
    cell: [T::Row; D],
    /// Its corners as rows.
    stencil: Stencil<T, D>,
    /// Place in the cell along each axis, 0 to 1.
    fraction: [T::Row; D],
    /// Which places are not held at a wall, 1 or 0.
    free: [T::Row; D],
}

impl<'a, T: Scalar, const D: usize> Tracer<'a, T, D> {
    pub fn new(padded: &'a Padded<D>, place: Place, scale: f64) -> Self {
        let axis = |b: usize| {
            let mean = Mean::new(padded, place, b);
            let limit = padded.cells[b] as f64 - if place == Place::Face(b) { 0.0 } else { 1.0 };
            Axis {
                mean,
                minus_scale: T::lit(-scale * mean.weight()).along(),
                limit: T::lit(limit).along(),
                top: T::lit((padded.cells[b] - 1) as f64).along(),
            }
        };
        let pair = |r: usize| (1..D).map(|a| (r >> (a - 1) & 1) * padded.strides[a]).sum();
        Tracer {
            padded,
            axes: std::array::from_fn(axis),
            pairs: std::array::from_fn(pair),
            minus_scale: T::lit(-scale).along(),
        }
    }

    /// Where the points of a run were.
    #[inline(always)]
    pub fn trace(&self, velocity: &[Vec<T>; D], at: &RowAt<D>, run: Run) -> Traces<T, D> {
        let (start, zeros) = (at.start + run.first, [T::Row::zero(); D]);
        let (mut cell, mut fraction, mut free) = (zeros, zeros, zeros);
        let mut stencil = Candidate::new();
        // Axis by axis, without a loop: that one would be kept, and its arrays in memory.
        (cell[0], fraction[0], free[0]) = self.along::<0>(velocity, at, run, &mut stencil);
        (cell[1], fraction[1], free[1]) = self.along::<1>(velocity, at, run, &mut stencil);
        if D == 3 {
            (cell[D - 1], fraction[D - 1], free[D - 1]) = self.along::<2>(velocity, at, run, &mut stencil);
        }
        Traces { count: run.count, cell, stencil: stencil.at(self.padded, start), fraction, free }
    }

    /// Cells of a run along axis `B`, places in them, and which are not held.
    #[inline(always)]
    fn along<const B: usize>(
        &self,
        velocity: &[Vec<T>; D],
        at: &RowAt<D>,
        run: Run,
        stencil: &mut Candidate<T, D>,
    ) -> (T::Row, T::Row, T::Row) {
        let axis = &self.axes[B];
        let own = if B == 0 { along_row::<T>(run) } else { T::lit(at.place[B] as f64).along() };
        // p = i − (Δt/h) u
        let moved = axis.mean.sum(&velocity[B], at.start + run.first, run.count);
        let (inside, free) = self.hold(B, moved.mul_add(axis.minus_scale, own));
        let cell = floor(inside).min(axis.top);
        stencil.add(B, self.padded.strides[B], cell - own);
        (cell, inside - cell, free)
    }

    /// Places within the grid along axis b, and 1 where they are not held at a wall, else 0.
    #[inline(always)]
    fn hold(&self, b: usize, place: T::Row) -> (T::Row, T::Row) {
        let (zero, one) = (T::Row::zero(), T::Row::one());
        if self.padded.periodic[b] {
            let n = T::lit(self.padded.cells[b] as f64).along();
            let turns = T::numbers(place / n).map(|turns| T::lit(f64::from(turns.cell())));
            return ((place - T::row_of(&turns) * n).max(zero).min(n), one);
        }
        let limit = self.axes[b].limit;
        let held = place.lt(zero) | place.gt(limit);
        (place.max(zero).min(limit), select(held, zero, one))
    }

    /// Lowest corners of the cells of a run, in a padded array.
    #[inline(always)]
    fn cells(&self, traces: &Traces<T, D>) -> [u32; TILE] {
        let lows = traces.cell.map(T::numbers);
        std::array::from_fn(|i| {
            // The first entry of a padded array is in the halo.
            let cell = |b: usize| (lows[b][i].lane(0) + 1.0) * self.padded.strides[b] as f64;
            integer((0..D).map(cell).sum()) as u32
        })
    }

    /// The values at the corners of the cells of a run.
    #[inline(always)]
    pub fn corners(&self, field: &[T], traces: &Traces<T, D>) -> Corners<T> {
        if traces.stencil.fits {
            traces.stencil.corners(self.padded, field)
        } else {
            self.gather(field, traces)
        }
    }

    /// The same, number by number.
    #[inline(never)]
    fn gather(&self, field: &[T], traces: &Traces<T, D>) -> Corners<T> {
        let mut values = [[[T::zero(); TILE]; 2]; MOST_PAIRS];
        let len = field.len() - self.pairs[(1 << (D - 1)) - 1];
        let pairs = self.pairs.map(|pair| field.get(pair..pair + len).unwrap_or(&[]));
        let cells = self.cells(traces);
        for i in 0..traces.count {
            let cell = cells[i] as usize;
            for r in 0..1 << (D - 1) {
                (values[r][1][i], values[r][0][i]) = (pairs[r][cell + 1], pairs[r][cell]);
            }
        }
        values.map(|pair| pair.each_ref().map(T::row_of))
    }

    /// Where the corners of the cells of a run are, by the numbers of points and corners.
    #[inline(always)]
    pub fn places(&self, traces: &Traces<T, D>) -> impl Fn(usize, usize) -> usize {
        let (cells, pairs) = (self.cells(traces), self.pairs);
        move |i, c| cells[i] as usize + pairs[c / 2] + c % 2
    }

    /// The field where the points of a run were.
    #[inline(always)]
    pub fn interpolate(&self, field: &[T], traces: &Traces<T, D>) -> T::Row {
        let corners = self.corners(field, traces);
        let mut values = [T::Row::zero(); MOST_PAIRS];
        for r in 0..1 << (D - 1) {
            values[r] = mix(corners[r][0], corners[r][1], traces.fraction[0]);
        }
        for b in 1..D {
            for c in 0..1 << (D - 1 - b) {
                values[c] = mix(values[2 * c], values[2 * c + 1], traces.fraction[b]);
            }
        }
        values[0]
    }

    /// The pullback of [`Tracer::interpolate`]: adds to the cotangent of the field, and returns the result and the
    /// cotangents of the velocities at the points.
    #[inline(always)]
    pub fn interpolate_vjp(
        &self,
        field: &[T],
        traces: &Traces<T, D>,
        out_bar: T::Row,
        field_bar: &mut [T],
    ) -> (T::Row, [T::Row; D]) {
        // Forward, with the values of every stage kept, and the differences along the first axis.
        let corners = self.corners(field, traces);
        let zeros = [T::Row::zero(); MOST_PAIRS];
        let (mut stages, mut slopes) = ([zeros; 2], zeros);
        for r in 0..1 << (D - 1) {
            let [low, high] = corners[r];
            slopes[r] = high - low;
            stages[0][r] = mix(low, high, traces.fraction[0]);
        }
        for b in 1..D - 1 {
            for c in 0..1 << (D - 1 - b) {
                stages[b][c] = mix(stages[b - 1][2 * c], stages[b - 1][2 * c + 1], traces.fraction[b]);
            }
        }
        let value = mix(stages[D - 2][0], stages[D - 2][1], traces.fraction[D - 1]);
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
        let mut shares = [[T::Row::zero(); 2]; MOST_PAIRS];
        for r in 0..1 << (D - 1) {
            place_bars[0] += bars[r] * slopes[r];
            let high = bars[r] * traces.fraction[0];
            shares[r] = [bars[r] - high, high];
        }
        if traces.stencil.fits {
            traces.stencil.corners_vjp(self.padded, &shares, field_bar);
        } else {
            self.scatter(&shares, traces, field_bar);
        }
        // p = i − (Δt/h) u
        for b in 0..D {
            place_bars[b] = place_bars[b] * traces.free[b] * self.minus_scale;
        }
        (value, place_bars)
    }

    /// Adds to the corners of the cells of a run: first to all lower ones of pairs, then to the upper ones, since
    /// what is read right after it was written has to be waited for.
    #[inline(never)]
    fn scatter(&self, shares: &Corners<T>, traces: &Traces<T, D>, field_bar: &mut [T]) {
        let (cells, shares) = (self.cells(traces), shares.map(|pair| pair.map(T::numbers)));
        for side in 0..2 {
            for i in 0..traces.count {
                let cell = cells[i] as usize + side;
                for r in 0..1 << (D - 1) {
                    field_bar[cell + self.pairs[r]] += shares[r][side][i];
                }
            }
        }
    }

    /// The pullback of the mean velocities along axis b: adds to their cotangents in a piece of a padded array, from
    /// those at the points, which are zero in the halo.
    #[inline(always)]
    pub fn mean_vjp(&self, b: usize, flow_bar: &[T], at: Piece, velocity_bar: &mut [T]) {
        let (mean, n) = (&self.axes[b].mean, at.len);
        let weight = T::lit(mean.weight());
        let from = mean.offsets.map(|o| &flow_bar[at.start.wrapping_add_signed(-o)..][..n]);
        match mean.count {
            2 => (0..n).for_each(|i| velocity_bar[i] += (from[0][i] + from[1][i]) * weight),
            _ => (0..n).for_each(|i| {
                velocity_bar[i] += ((from[0][i] + from[1][i]) + (from[2][i] + from[3][i])) * weight;
            }),
        }
    }
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

/// The numbers of the points of a run, the last one repeated.
#[inline(always)]
fn along_row<T: Scalar>(run: Run) -> T::Row {
    let numbers = T::row_of(&std::array::from_fn(|i| T::lit(i as f64)));
    (numbers + T::lit(run.first as f64).along()).min(T::lit((run.first + run.count - 1) as f64).along())
}

/// So many numbers from a place on, and the last one again.
#[inline(always)]
fn read_repeating<T: Scalar>(from: &[T], start: usize, count: usize) -> T::Row {
    let from = &from[start..];
    match from.first_chunk() {
        Some(all) if count == TILE => T::row_of(all),
        _ => T::row_of(&std::array::from_fn(|i| from[i.min(count - 1)])),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::random::Random;
    use pullback_math::Dual;

    /// A flow that turns smoothly, and changes its sign along every axis; `cells` per step at most.
    fn swirl<const D: usize>(padded: &Padded<D>, cells: f64) -> [Vec<f64>; D] {
        std::array::from_fn(|b| {
            let wave = |i: usize| {
                let along = padded.strides.map(|stride| (i / stride % 7) as f64 + (i / stride) as f64);
                cells * (along.iter().sum::<f64>() * 0.03 + b as f64).sin() * (0.04 * i as f64).cos()
            };
            (0..padded.len).map(wave).collect()
        })
    }

    /// Corners as rows are those found number by number, and both pullbacks are the same sum. Returns how many runs
    /// were stencils, of how many.
    fn compare<const D: usize>(padded: &Padded<D>, velocity: &[Vec<f64>; D], place: Place) -> (usize, usize) {
        let tracer = Tracer::<f64, D>::new(padded, place, 1.0);
        let mut random = Random::new(4);
        let field: Vec<f64> = (0..padded.len).map(|_| random.uniform(-1.0, 1.0)).collect();
        let (mut fitting, mut all) = (0, 0);
        for row in 0..padded.rows {
            let at = padded.row(row);
            for run in Run::of_row(at.len) {
                let traces = tracer.trace(velocity, &at, run);
                all += 1;
                if !traces.stencil.fits {
                    continue;
                }
                fitting += 1;
                let (rows, numbers) = (tracer.corners(&field, &traces), tracer.gather(&field, &traces));
                let mut bars = [[[0.0; TILE]; 2]; MOST_PAIRS];
                for r in 0..1 << (D - 1) {
                    for side in 0..2 {
                        let [a, b] = [&rows, &numbers].map(|corners| f64::numbers(corners[r][side]));
                        assert_eq!(a[..run.count], b[..run.count], "row {row}, run {run:?}, {place:?}");
                        bars[r][side][..run.count].fill_with(|| random.uniform(-1.0, 1.0));
                    }
                }
                let bars = bars.map(|pair| pair.map(|bar| f64::row_of(&bar)));
                let [mut by_rows, mut by_numbers] = [(); 2].map(|()| vec![0.0; padded.len]);
                traces.stencil.corners_vjp(padded, &bars, &mut by_rows);
                tracer.scatter(&bars, &traces, &mut by_numbers);
                for (a, b) in by_rows.iter().zip(&by_numbers) {
                    assert!((a - b).abs() < 1e-13, "row {row}, run {run:?}, {place:?}: {a} and {b}");
                }
            }
        }
        (fitting, all)
    }

    #[test]
    fn rows_of_corners_are_those_found_one_by_one() {
        let (flat, deep) = (Padded::new([40, 9], [false; 2]), Padded::new([21, 6, 5], [true, false, true]));
        for (cells, least) in [(0.0, 0.9), (0.4, 0.7), (2.5, 0.2)] {
            for place in [Place::Cell, Place::Face(0), Place::Face(1)] {
                let found = [
                    compare(&flat, &swirl(&flat, cells), place),
                    compare(&deep, &swirl(&deep, cells), place),
                ];
                for (fitting, all) in found {
                    let share = fitting as f64 / all as f64;
                    assert!(share >= least, "{place:?} at {cells} cells per step: {fitting} of {all} fit");
                }
            }
        }
    }

    /// Tangents pass through rows as through numbers.
    #[test]
    fn rows_carry_tangents() {
        let padded = Padded::new([16, 4], [false; 2]);
        let velocity =
            swirl(&padded, 0.3).map(|u| u.into_iter().map(|u| Dual::new(u, 1.0)).collect::<Vec<_>>());
        let field: Vec<_> = (0..padded.len).map(|i| Dual::new(i as f64, (i * i) as f64)).collect();
        let tracer = Tracer::<Dual<f64>, 2>::new(&padded, Place::Cell, 1.0);
        let run = Run { first: 0, count: TILE };
        let traces = tracer.trace(&velocity, &padded.row(1), run);
        assert!(traces.stencil.fits);
        let (rows, numbers) = (tracer.corners(&field, &traces), tracer.gather(&field, &traces));
        assert_eq!(Dual::<f64>::numbers(rows[1][1]), Dual::<f64>::numbers(numbers[1][1]));
    }
}
