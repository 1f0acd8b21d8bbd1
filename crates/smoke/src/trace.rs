//! Tracing: where the smoke of a point was a step ago, and linear interpolation there.
//!
//! A point at place i was at p = i − (Δt/h) u, in units of cells. Beyond a wall p is held at the last value
//! before it, where its derivative is zero. Interpolation is linear between the 2^D values around p, so the
//! trace has kinks where p passes from one cell to the next; there the derivative is that of the upper cell.

use pullback_math::{Real, Scalar, select};

use super::padded::{Padded, Place, RowAt};

/// Points of a row that are traced together.
pub(crate) const TILE: usize = 32;

/// Most corners of a cell, those of a cube.
const MOST_CORNERS: usize = 8;

/// A run of at most [`TILE`] points of a row.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// First point, from the start of the row.
    pub first: usize,
    pub count: usize,
}

impl Run {
    /// The runs of a row of n points.
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
    fn offsets(&self) -> &[isize] {
        &self.offsets[..self.count]
    }
    fn weight<T: Real>(&self) -> T {
        T::lit(1.0 / self.count as f64)
    }
}

/// How points of a field are traced.
#[derive(Clone, Copy)]
pub(crate) struct Tracer<'a, const D: usize> {
    pub padded: &'a Padded<D>,
    means: [Mean; D],
    /// Largest place along axes with walls.
    limits: [f64; D],
    /// From a cell to its corners.
    corners: [usize; MOST_CORNERS],
    /// Δt/h, negative to trace forward.
    scale: f64,
}

/// Where the points of a run were.
pub(crate) struct Traces<T, const D: usize> {
    /// Lowest corner of the cell.
    cell: [usize; TILE],
    /// Place in the cell along each axis, 0 to 1.
    fraction: [[T; TILE]; D],
    /// Which places are not held at a wall, 1 or 0.
    free: [[T; TILE]; D],
}

impl<'a, const D: usize> Tracer<'a, D> {
    pub fn new(padded: &'a Padded<D>, place: Place, scale: f64) -> Self {
        let limit = |a: usize| padded.cells[a] as f64 - if place == Place::Face(a) { 0.0 } else { 1.0 };
        let corner = |c: usize| (0..D).map(|a| (c >> a & 1) * padded.strides[a]).sum();
        Tracer {
            padded,
            means: std::array::from_fn(|b| Mean::new(padded, place, b)),
            limits: std::array::from_fn(limit),
            corners: std::array::from_fn(|c| if c < 1 << D { corner(c) } else { 0 }),
            scale,
        }
    }

    /// Where the points of a run were.
    #[inline(always)]
    pub fn trace<T: Scalar>(&self, velocity: &[Vec<T>; D], at: &RowAt<D>, run: Run) -> Traces<T, D> {
        let zeros = [[T::zero(); TILE]; D];
        let mut traces = Traces { cell: [0; TILE], fraction: zeros, free: zeros };
        let Run { first, count } = run;
        for b in 0..D {
            // u at the points
            let (mean, mut moved) = (self.means[b], [T::zero(); TILE]);
            for offset in mean.offsets() {
                let u = &velocity[b][(at.start + first).wrapping_add_signed(*offset)..][..count];
                moved[..count].iter_mut().zip(u).for_each(|(sum, u)| *sum += *u);
            }
            // p = i − (Δt/h) u
            let per_cell = mean.weight::<T>() * T::lit(-self.scale);
            let place: [T; TILE] = std::array::from_fn(|i| {
                let own = if b == 0 { first + i } else { at.place[b] };
                moved[i].mul_add(per_cell, T::lit(own as f64))
            });
            self.locate(b, &place, &mut traces, count);
        }
        traces
    }

    /// Cell and fraction of places along axis b.
    #[inline(always)]
    fn locate<T: Scalar>(&self, b: usize, place: &[T; TILE], traces: &mut Traces<T, D>, count: usize) {
        let (n, stride) = (self.padded.cells[b], self.padded.strides[b]);
        let (zero, one, limit) = (T::zero(), T::one(), T::lit(self.limits[b]));
        for i in 0..count {
            let (p, free) = if self.padded.periodic[b] {
                let turns = T::lit(f64::from((place[i] * T::lit(1.0 / n as f64)).cell()));
                (place[i] - turns * T::lit(n as f64), one)
            } else {
                let held = place[i].lt(zero) | place[i].gt(limit);
                (place[i].max(zero).min(limit), select(held, zero, one))
            };
            let low = p.cell().clamp(0, n as i32 - 1);
            traces.cell[i] += (low as usize + 1) * stride;
            traces.fraction[b][i] = p - T::lit(f64::from(low));
            traces.free[b][i] = free;
        }
    }

    /// The values at the corners of the cell of point i.
    #[inline(always)]
    pub fn corners<T: Scalar>(&self, field: &[T], traces: &Traces<T, D>, i: usize) -> [T; MOST_CORNERS] {
        let mut values = [T::zero(); MOST_CORNERS];
        let field = &field[traces.cell[i]..];
        for c in 0..1 << D {
            values[c] = field[self.corners[c]];
        }
        values
    }

    /// Where corner c of the cell of point i is.
    #[inline(always)]
    pub fn corner<T>(&self, traces: &Traces<T, D>, i: usize, c: usize) -> usize {
        traces.cell[i] + self.corners[c]
    }

    /// The field where point i was.
    #[inline(always)]
    pub fn interpolate<T: Scalar>(&self, field: &[T], traces: &Traces<T, D>, i: usize) -> T {
        let mut values = self.corners(field, traces, i);
        for b in 0..D {
            for c in 0..1 << (D - 1 - b) {
                let (low, high) = (values[2 * c], values[2 * c + 1]);
                values[c] = (high - low).mul_add(traces.fraction[b][i], low);
            }
        }
        values[0]
    }

    /// The pullback of [`Tracer::interpolate`]: adds to the cotangent of the field, and returns that of the
    /// displacement −(Δt/h) u.
    #[inline(always)]
    pub fn interpolate_vjp<T: Scalar>(
        &self,
        field: &[T],
        traces: &Traces<T, D>,
        i: usize,
        out_bar: T,
        field_bar: &mut [T],
    ) -> [T; D] {
        // Forward, with the values of every stage kept.
        let mut stages = [[T::zero(); MOST_CORNERS]; 4];
        stages[0] = self.corners(field, traces, i);
        for b in 0..D {
            for c in 0..1 << (D - 1 - b) {
                let (low, high) = (stages[b][2 * c], stages[b][2 * c + 1]);
                stages[b + 1][c] = (high - low).mul_add(traces.fraction[b][i], low);
            }
        }
        // Back through v = low + (high − low) f
        let (mut bars, mut place_bar) = ([T::zero(); MOST_CORNERS], [T::zero(); D]);
        bars[0] = out_bar;
        for b in (0..D).rev() {
            let (mut below, f) = ([T::zero(); MOST_CORNERS], traces.fraction[b][i]);
            for c in 0..1 << (D - 1 - b) {
                let (low, high) = (stages[b][2 * c], stages[b][2 * c + 1]);
                place_bar[b] += bars[c] * (high - low);
                below[2 * c + 1] = bars[c] * f;
                below[2 * c] = bars[c] - bars[c] * f;
            }
            place_bar[b] *= traces.free[b][i];
            bars = below;
        }
        let field_bar = &mut field_bar[traces.cell[i]..];
        for c in 0..1 << D {
            field_bar[self.corners[c]] += bars[c];
        }
        place_bar
    }

    /// The pullback of the velocities at all points: from cotangents of displacements of cells without halo, adds
    /// to that of component b of the velocity, its halo included.
    pub fn velocity_vjp<T: Scalar>(&self, b: usize, place_bar: &[T], velocity_bar: &mut [T]) {
        let (mean, n) = (self.means[b], self.padded.cells[0]);
        let per_cell = mean.weight::<T>() * T::lit(-self.scale);
        for row in 0..self.padded.rows {
            let at = self.padded.row(row);
            let place_bar = &place_bar[row * n..][..n];
            for offset in mean.offsets() {
                let bar = &mut velocity_bar[at.start.wrapping_add_signed(*offset)..][..n];
                bar.iter_mut().zip(place_bar).for_each(|(bar, p)| *bar += *p * per_cell);
            }
        }
    }
}
