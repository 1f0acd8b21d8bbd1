//! [`Level`]: the discrete Laplacian of one grid, and its relaxation.
//!
//! (A x)_c = Σ (x_c − x_nb) over the fluid neighbors nb of a fluid cell c: minus the Laplacian times h², with
//! no flow through walls and obstacles. x is zero in solid cells and in the halo beyond walls, so
//! A x = d x − Σ x_nb over all neighbors, with d the number of fluid ones. A is symmetric.

use pullback_core::Workspace;
use pullback_math::Real;

use super::padded::Padded;
use super::rows::Piece;
use super::sums::{dot, total};

/// One grid of the hierarchy with its vectors, zero in the halo beyond walls. Sweeps take whole blocks: where there is
/// no fluid they write zero, but in the halo of periodic axes, which is filled before it is read.
#[derive(Clone, Debug)]
pub(crate) struct Level<P, const D: usize> {
    pub padded: Padded<D>,
    /// Fluid neighbors of every cell, d; 0 in solid cells.
    diagonal: Vec<P>,
    /// 1/d; 0 in solid cells.
    pub inverse: Vec<P>,
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

/// The values around a piece: at the piece itself, and one cell lower and higher along each axis.
struct Around<'a, P, const D: usize> {
    middle: &'a [P],
    low: [&'a [P]; D],
    high: [&'a [P]; D],
}

impl<'a, P: Real, const D: usize> Around<'a, P, D> {
    #[inline(always)]
    fn new(padded: &Padded<D>, x: &'a [P], at: Piece) -> Self {
        Around {
            middle: &x[at.start..][..at.len],
            low: padded.strides.map(|s| &x[at.start - s..][..at.len]),
            high: padded.strides.map(|s| &x[at.start + s..][..at.len]),
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
        Level { padded, diagonal, inverse, b: zeros.clone(), x: zeros.clone(), y: zeros }
    }

    /// Fluid neighbors of the cells of a piece; 0 in solid cells and in the halo.
    #[inline(always)]
    pub fn diagonal(&self, at: Piece) -> &[P] {
        &self.diagonal[at.start..][..at.len]
    }

    /// x = ω d⁻¹ b: a step of relaxation from zero.
    pub fn relax_from_zero(&mut self, ω: P) {
        let Level { padded, inverse, b, x, .. } = self;
        padded.for_blocks(padded.part(x), |at, x| {
            let (b, inverse) = (&b[at.start..][..x.len()], &inverse[at.start..][..x.len()]);
            for i in 0..x.len() {
                x[i] = ω * inverse[i] * b[i];
            }
        });
    }

    /// y = x + ω d⁻¹ (b − A x), then x and y change places.
    pub fn relax(&mut self, ω: P) {
        let Level { padded, inverse, b, x, y, .. } = self;
        fill_periodic(padded, x);
        padded.for_blocks(padded.part(y), |at, y| {
            let around = Around::new(padded, x, at);
            let (b, inverse) = (&b[at.start..][..at.len], &inverse[at.start..][..at.len]);
            for i in 0..at.len {
                let change = inverse[i] * (b[i] + around.sum(i)) - around.middle[i];
                y[i] = around.middle[i] + ω * change;
            }
        });
        std::mem::swap(x, y);
    }

    /// y = b − A x
    pub fn residual(&mut self) {
        let Level { padded, diagonal, inverse, b, x, y, .. } = self;
        fill_periodic(padded, x);
        padded.for_blocks(padded.part(y), |at, y| {
            let around = Around::new(padded, x, at);
            let (b, inverse) = (&b[at.start..][..at.len], &inverse[at.start..][..at.len]);
            let diagonal = &diagonal[at.start..][..at.len];
            for i in 0..at.len {
                y[i] = diagonal[i] * (inverse[i] * (b[i] + around.sum(i)) - around.middle[i]);
            }
        });
    }
}

impl<const D: usize> Level<f32, D> {
    /// out = A v in double precision; returns vᵀ A v. `sums` has a place per block.
    pub fn apply(&self, v: &mut [f64], out: &mut [f64], sums: &mut [f64]) -> f64 {
        let padded = &self.padded;
        fill_periodic(padded, v);
        let v = &*v;
        padded.for_blocks((padded.part(out), padded.dense(sums, 1)), |at, (out, sum)| {
            let (around, diagonal) = (Around::new(padded, v, at), self.diagonal(at));
            for i in 0..at.len {
                let image = f64::from(diagonal[i]) * around.middle[i] - around.sum(i);
                out[i] = if diagonal[i] > 0.0 { image } else { 0.0 };
            }
            sum[0] = dot(around.middle, out);
        });
        total(sums)
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
