//! [`Level`]: the discrete Laplacian of one grid, and its relaxation.
//!
//! (A x)_c = Σ (x_c − x_nb) over the fluid neighbors nb of a fluid cell c: minus the Laplacian times h², with
//! no flow through walls and obstacles. x is zero in solid cells and in the halo beyond walls, so
//! A x = d x − Σ x_nb over all neighbors, with d the number of fluid ones. A is symmetric.

use pullback_core::Workspace;
use pullback_math::{Real, select};

use super::padded::{Padded, RowAt};

/// One grid of the hierarchy with its vectors.
#[derive(Clone, Debug)]
pub(crate) struct Level<P, const D: usize> {
    pub padded: Padded<D>,
    /// Fluid neighbors of every cell, d; 0 in solid cells.
    diagonal: Vec<P>,
    /// 1/d; 0 in solid cells.
    inverse: Vec<P>,
    /// 1 over the number of fluid cells.
    per_cell: P,
    /// Whether some cell is solid.
    pub has_solids: bool,
    /// Right-hand side.
    pub b: Vec<P>,
    /// Solution, and a second buffer for relaxation.
    pub x: Vec<P>,
    pub y: Vec<P>,
}

impl<P: Real, const D: usize> Workspace for Level<P, D> {
    fn heap_bytes(&self) -> usize {
        [&self.diagonal, &self.inverse, &self.b, &self.x, &self.y].iter().map(|v| v.heap_bytes()).sum()
    }
}

/// The values around a row: at the row itself, and one cell lower and higher along each axis.
struct Around<'a, P, const D: usize> {
    middle: &'a [P],
    low: [&'a [P]; D],
    high: [&'a [P]; D],
}

impl<'a, P: Real, const D: usize> Around<'a, P, D> {
    #[inline(always)]
    fn new(padded: &Padded<D>, x: &'a [P], start: usize) -> Self {
        let n = padded.cells[0];
        Around {
            middle: &x[start..][..n],
            low: padded.strides.map(|s| &x[start - s..][..n]),
            high: padded.strides.map(|s| &x[start + s..][..n]),
        }
    }
    /// Σ x_nb
    #[inline(always)]
    fn sum(&self, i: usize) -> P {
        let mut sum = self.low[0][i] + self.high[0][i];
        for a in 1..D {
            sum += self.low[a][i] + self.high[a][i];
        }
        sum
    }
}

impl<P: Real, const D: usize> Level<P, D> {
    /// The level of cells of which some are fluid.
    pub fn new(padded: Padded<D>, fluid: &[bool]) -> Self {
        let zeros = vec![P::zero(); padded.len];
        let (mut diagonal, mut inverse) = (zeros.clone(), zeros.clone());
        for (i, _) in fluid.iter().enumerate().filter(|(_, fluid)| **fluid) {
            let neighbors = neighbors(&padded, i).filter(|nb| fluid[*nb]).count();
            if neighbors > 0 {
                diagonal[padded.index(i)] = P::lit(neighbors as f64);
                inverse[padded.index(i)] = P::lit(1.0 / neighbors as f64);
            }
        }
        let cells = inverse.iter().filter(|x| x.lane(0) > 0.0).count();
        let per_cell = P::lit(1.0 / cells.max(1) as f64);
        let has_solids = fluid.iter().any(|f| !f);
        Level {
            padded,
            diagonal,
            inverse,
            per_cell,
            has_solids,
            b: zeros.clone(),
            x: zeros.clone(),
            y: zeros,
        }
    }

    /// x = ω d⁻¹ b: a step of relaxation from zero.
    pub fn relax_from_zero(&mut self, ω: P) {
        let Level { padded, inverse, b, x, .. } = self;
        padded.for_rows(padded.part(x), |at, row| {
            let (b, inverse) = (&b[padded.span(&at)], &inverse[padded.span(&at)]);
            for i in 0..row.len() {
                row[i] = ω * inverse[i] * b[i];
            }
        });
    }

    /// y = x + ω d⁻¹ (b − A x), then x and y change places.
    pub fn relax(&mut self, ω: P) {
        let Level { padded, inverse, b, x, y, .. } = self;
        fill_periodic(padded, x);
        padded.for_rows(padded.part(y), |at, row| {
            let around = Around::new(padded, x, at.start);
            let n = row.len();
            let (b, inverse) = (&b[at.start..][..n], &inverse[at.start..][..n]);
            for i in 0..n {
                let change = inverse[i] * (b[i] + around.sum(i)) - around.middle[i];
                row[i] = around.middle[i] + ω * change;
            }
        });
        std::mem::swap(x, y);
    }

    /// y = b − A x
    pub fn residual(&mut self) {
        let Level { padded, diagonal, inverse, b, x, y, .. } = self;
        fill_periodic(padded, x);
        padded.for_rows(padded.part(y), |at, row| {
            let around = Around::new(padded, x, at.start);
            let n = row.len();
            let (b, inverse) = (&b[at.start..][..n], &inverse[at.start..][..n]);
            let diagonal = &diagonal[at.start..][..n];
            for i in 0..n {
                row[i] = diagonal[i] * (inverse[i] * (b[i] + around.sum(i)) - around.middle[i]);
            }
        });
    }

    /// out = A v; returns vᵀ A v. `sums` has a place per row.
    pub fn apply(&self, v: &mut [P], out: &mut [P], sums: &mut [P]) -> P {
        let Level { padded, diagonal, inverse, .. } = self;
        fill_periodic(padded, v);
        let v = &*v;
        padded.for_rows((padded.part(out), padded.dense(sums, 1)), |at, (row, sum)| {
            let around = Around::new(padded, v, at.start);
            let n = row.len();
            let (inverse, diagonal) = (&inverse[at.start..][..n], &diagonal[at.start..][..n]);
            for i in 0..n {
                row[i] = diagonal[i] * (around.middle[i] - inverse[i] * around.sum(i));
            }
            sum[0] = dot(around.middle, row);
        });
        total(sums)
    }

    /// 1 over the number of fluid cells.
    pub fn per_cell(&self) -> P {
        self.per_cell
    }

    /// Which cells of a row are fluid.
    #[inline(always)]
    pub fn fluid_row<'a>(&'a self, at: &RowAt<D>) -> impl Fn(usize) -> P::Mask + 'a {
        let inverse = &self.inverse[self.padded.span(at)];
        move |i| inverse[i].gt(P::zero())
    }

    /// Subtracts from b its mean over fluid cells. `sums` has a place per row.
    pub fn subtract_mean_of_b(&mut self, sums: &mut [P]) {
        let Level { padded, inverse, b, per_cell, .. } = self;
        padded.for_rows(padded.dense(sums, 1), |at, out| out[0] = sum(&b[padded.span(&at)]));
        let mean = total(sums) * *per_cell;
        padded.for_rows(padded.part(b), |at, row| {
            for (b, inverse) in row.iter_mut().zip(&inverse[padded.span(&at)]) {
                *b = select(inverse.gt(P::zero()), *b - mean, P::zero());
            }
        });
    }

    /// x = 0 in solid cells.
    pub fn clear_solids(&mut self) {
        let Level { padded, inverse, x, .. } = self;
        padded.for_rows(padded.part(x), |at, row| {
            for (x, inverse) in row.iter_mut().zip(&inverse[padded.span(&at)]) {
                *x = select(inverse.gt(P::zero()), *x, P::zero());
            }
        });
    }
}

/// Neighbors of cell `i`, counted without halo.
fn neighbors<const D: usize>(padded: &Padded<D>, i: usize) -> impl Iterator<Item = usize> + '_ {
    (0..D).flat_map(move |a| {
        let n = padded.cells[a];
        let stride: usize = padded.cells[..a].iter().product();
        let at = i / stride % n;
        let low = if at > 0 { Some(i - stride) } else { padded.periodic[a].then(|| i + (n - 1) * stride) };
        let high =
            if at + 1 < n { Some(i + stride) } else { padded.periodic[a].then(|| i - (n - 1) * stride) };
        low.into_iter().chain(high)
    })
}

/// Fills the halo of periodic axes with the other end.
fn fill_periodic<P: Real, const D: usize>(padded: &Padded<D>, x: &mut [P]) {
    for a in (0..D).filter(|a| padded.periodic[*a]) {
        let (stride, n) = (padded.strides[a], padded.cells[a]);
        for first in (0..padded.len).step_by(stride * (n + 2)) {
            x.copy_within(first + n * stride..first + (n + 1) * stride, first);
            x.copy_within(first + stride..first + 2 * stride, first + (n + 1) * stride);
        }
    }
}

/// Numbers that are summed side by side.
const SIDE_BY_SIDE: usize = 16;

/// aᵀ b, in an order that depends on the length alone.
#[inline(always)]
pub(crate) fn dot<P: Real>(a: &[P], b: &[P]) -> P {
    let mut sums = [P::zero(); SIDE_BY_SIDE];
    let (a_chunks, b_chunks) = (a.chunks_exact(SIDE_BY_SIDE), b.chunks_exact(SIDE_BY_SIDE));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest = rest.fold(P::zero(), |sum, (a, b)| a.mul_add(*b, sum));
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..SIDE_BY_SIDE {
            sums[i] = a[i].mul_add(b[i], sums[i]);
        }
    }
    total(&sums) + rest
}

/// Sum of a row, in an order that depends on the length alone.
#[inline(always)]
pub(crate) fn sum<P: Real>(x: &[P]) -> P {
    let mut sums = [P::zero(); SIDE_BY_SIDE];
    let chunks = x.chunks_exact(SIDE_BY_SIDE);
    let rest = chunks.remainder().iter().fold(P::zero(), |sum, x| sum + *x);
    for chunk in chunks {
        for i in 0..SIDE_BY_SIDE {
            sums[i] += chunk[i];
        }
    }
    total(&sums) + rest
}

/// Sum of all entries, pairwise, so that round-off grows with the logarithm of their number.
pub(crate) fn total<P: Real>(x: &[P]) -> P {
    match x {
        [] => P::zero(),
        [x] => *x,
        _ => {
            let (low, high) = x.split_at(x.len() / 2);
            total(low) + total(high)
        }
    }
}
