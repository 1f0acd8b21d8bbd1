//! A V-cycle of multigrid: a symmetric approximation of A⁻¹ for conjugate gradients (Tatebe 1993).
//!
//! Cells are halved along every axis from level to level as long as their numbers are even. A coarse cell is
//! fluid if one of its children is. Corrections are interpolated linearly between centers of cells, residuals
//! come down by the transpose. Relaxation takes two Chebyshev steps on the upper part of the spectrum before
//! and after, on the coarsest level as many as the whole spectrum needs; polynomials of d⁻¹A are symmetric in
//! the sense of d, so the cycle is symmetric.
//!
//! Limitations: beside obstacles interpolation takes zero from solid coarse cells, which costs conjugate
//! gradients a few iterations more. Numbers of cells with a large odd factor have a large coarsest level.

use std::f64::consts::PI;

use pullback_core::Workspace;
use pullback_math::Real;

use super::laplacian::Level;
use super::padded::{Padded, RowAt};

/// Relaxation steps before and after the coarse correction.
const STEPS: usize = 2;
/// Error that relaxation leaves on the coarsest level.
const COARSEST_ERROR: f64 = 0.05;
/// Coarse cells that are interpolated together.
const TILE: usize = 32;

/// The levels, finest first, and steps of relaxation.
#[derive(Clone, Debug)]
pub(crate) struct Multigrid<P, const D: usize> {
    pub levels: Vec<Level<P, D>>,
    /// Step lengths of relaxation on all levels but the coarsest.
    steps: [P; STEPS],
    /// Those on the coarsest.
    coarsest: Vec<P>,
}

impl<P: Real, const D: usize> Workspace for Multigrid<P, D> {
    fn heap_bytes(&self) -> usize {
        let levels = self.levels.capacity() * size_of::<Level<P, D>>();
        levels + self.coarsest.heap_bytes() + self.levels.iter().map(Level::heap_bytes).sum::<usize>()
    }
}

/// Lengths of `count` Chebyshev steps for eigenvalues of d⁻¹A between `low` and 2.
fn chebyshev<P: Real>(count: usize, low: f64) -> impl Iterator<Item = P> {
    let (middle, half) = (0.5 * (2.0 + low), 0.5 * (2.0 - low));
    (0..count).map(move |k| {
        let root = (PI * (k as f64 + 0.5) / count as f64).cos();
        P::lit(1.0 / (middle + half * root))
    })
}

/// Chebyshev steps that leave `error` of what has eigenvalues between `low` and 2: T_m((2 + low)/(2 − low)) = 1/error.
fn steps_for(error: f64, low: f64) -> usize {
    ((1.0 / error).acosh() / ((2.0 + low) / (2.0 - low)).acosh()).ceil() as usize
}

impl<P: Real, const D: usize> Multigrid<P, D> {
    /// The hierarchy over cells of which some are fluid.
    pub fn new(padded: &Padded<D>, fluid: Vec<bool>) -> Self {
        let mut levels = vec![Level::new(padded.clone(), &fluid)];
        let (mut cells, mut fluid) = (padded.cells, fluid);
        while cells.iter().all(|n| n % 2 == 0 && *n >= 4) {
            let coarse = Padded::new(cells.map(|n| n / 2), padded.periodic);
            fluid = coarsened(cells, &fluid, coarse.interior);
            levels.push(Level::new(coarse, &fluid));
            cells = cells.map(|n| n / 2);
        }
        // Smallest eigenvalue but zero: of a wave over the longest axis.
        let lowest = |a: usize| {
            let waves = if padded.periodic[a] { 2.0 } else { 1.0 };
            (1.0 - (waves * PI / cells[a] as f64).cos()) / D as f64
        };
        let lowest = (0..D).map(lowest).fold(f64::INFINITY, f64::min).min(1.0);
        let mut steps = chebyshev(STEPS, 1.0 / D as f64);
        Multigrid {
            levels,
            steps: std::array::from_fn(|_| steps.next().unwrap_or(P::one())),
            coarsest: chebyshev(steps_for(COARSEST_ERROR, lowest), lowest).collect(),
        }
    }

    /// x ≈ A⁻¹ b on the finest level.
    pub fn cycle(&mut self) {
        self.cycle_at(0);
    }

    fn cycle_at(&mut self, l: usize) {
        if l + 1 == self.levels.len() {
            let level = &mut self.levels[l];
            for (k, ω) in self.coarsest.iter().enumerate() {
                if k == 0 { level.relax_from_zero(*ω) } else { level.relax(*ω) }
            }
            return;
        }
        let level = &mut self.levels[l];
        level.relax_from_zero(self.steps[0]);
        self.steps[1..].iter().for_each(|ω| level.relax(*ω));
        level.residual();
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        restrict(&fine[l], &mut coarse[0]);
        self.cycle_at(l + 1);
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        interpolate(&coarse[0], &mut fine[l]);
        let level = &mut self.levels[l];
        self.steps.iter().rev().for_each(|ω| level.relax(*ω));
    }
}

/// A coarse cell is fluid if one of its children is.
fn coarsened<const D: usize>(cells: [usize; D], fluid: &[bool], coarse_len: usize) -> Vec<bool> {
    let mut coarse = vec![false; coarse_len];
    for (mut i, fluid) in fluid.iter().enumerate() {
        let (mut at, mut stride) = (0, 1);
        for n in cells {
            at += i % n / 2 * stride;
            i /= n;
            stride *= n / 2;
        }
        coarse[at] |= fluid;
    }
    coarse
}

/// Weights of the nearer and the farther of two neighbors in linear interpolation between centers of cells.
const NEAR: f64 = 0.75;
const FAR: f64 = 0.25;

/// The place `offset` cells beyond place `at` of an axis of n cells: around periodic axes, and that of the last
/// cell before a wall.
fn reflected(at: isize, n: usize, periodic: bool) -> usize {
    if periodic { at.rem_euclid(n as isize) as usize } else { at.clamp(0, n as isize - 1) as usize }
}

/// Rows that a row takes from, by their starts and weights: along every axis but the first, the places that
/// `sources` names.
fn source_rows<P: Real, const D: usize, const N: usize>(
    from: &Padded<D>,
    at: &RowAt<D>,
    sources: impl Fn(usize) -> [(isize, f64); N],
    mut visit: impl FnMut(usize, P),
) {
    let axis = |a: usize| {
        sources(at.place[a]).map(|(place, weight)| {
            let place = reflected(place, from.cells[a], from.periodic[a]);
            ((place + 1) * from.strides[a], weight)
        })
    };
    for (along_1, weight_1) in axis(1) {
        if D == 2 {
            visit(1 + along_1, P::lit(weight_1));
        } else {
            for (along_2, weight_2) in axis(D - 1) {
                visit(1 + along_1 + along_2, P::lit(weight_1 * weight_2));
            }
        }
    }
}

/// b of the coarse level = the transpose of [`interpolate`] of y of the fine level, 4/2^D times.
fn restrict<P: Real, const D: usize>(fine: &Level<P, D>, coarse: &mut Level<P, D>) {
    let (from, y) = (&fine.padded, &fine.y);
    let n = from.cells[0];
    let scale = P::lit(4.0 / f64::from(1u32 << D));
    let (near, far) = (P::lit(NEAR) * scale, P::lit(FAR) * scale);
    let Level { padded, b, .. } = coarse;
    padded.for_rows(padded.part(b), |at, out| {
        let place = |at: usize| {
            let low = 2 * at as isize;
            [(low - 1, FAR), (low, NEAR), (low + 1, NEAR), (low + 2, FAR)]
        };
        for first in (0..out.len()).step_by(TILE) {
            let out = &mut out[first..];
            let count = out.len().min(TILE);
            // Fine cells 2·first − 1 to 2·(first + count), summed over rows.
            let mut sums = [P::zero(); 2 * TILE + 2];
            source_rows(from, &at, place, |start, weight: P| {
                let row = &y[start + 2 * first..][..2 * count];
                for (sum, y) in sums[1..].iter_mut().zip(row) {
                    *sum += weight * *y;
                }
                let end = |at: isize| y[start + reflected(at, n, from.periodic[0])];
                sums[0] += weight * end(2 * first as isize - 1);
                sums[2 * count + 1] += weight * end(2 * (first + count) as isize);
            });
            for (i, out) in out[..count].iter_mut().enumerate() {
                let s = &sums[2 * i..2 * i + 4];
                *out = far * (s[0] + s[3]) + near * (s[1] + s[2]);
            }
        }
    });
}

/// x of the fine level += x of the coarse level, interpolated linearly.
fn interpolate<P: Real, const D: usize>(coarse: &Level<P, D>, fine: &mut Level<P, D>) {
    let (from, coarse_x) = (&coarse.padded, &coarse.x);
    let n = from.cells[0];
    let (near, far) = (P::lit(NEAR), P::lit(FAR));
    let Level { padded, x, has_solids, .. } = &mut *fine;
    padded.for_rows(padded.part(x), |at, out| {
        let place = |at: usize| {
            let parent = (at / 2) as isize;
            [(parent, NEAR), (if at.is_multiple_of(2) { parent - 1 } else { parent + 1 }, FAR)]
        };
        for first in (0..n).step_by(TILE) {
            let count = (n - first).min(TILE);
            // Coarse cells first − 1 to first + count, summed over rows.
            let mut sums = [P::zero(); TILE + 2];
            source_rows(from, &at, place, |start, weight: P| {
                let row = &coarse_x[start + first..][..count];
                for (sum, x) in sums[1..].iter_mut().zip(row) {
                    *sum += weight * *x;
                }
                let end = |at: isize| coarse_x[start + reflected(at, n, from.periodic[0])];
                sums[0] += weight * end(first as isize - 1);
                sums[count + 1] += weight * end((first + count) as isize);
            });
            let out = &mut out[2 * first..][..2 * count];
            for (i, pair) in out.chunks_exact_mut(2).enumerate() {
                let s = &sums[i..i + 3];
                pair[0] += near * s[1] + far * s[0];
                pair[1] += near * s[1] + far * s[2];
            }
        }
    });
    if *has_solids {
        fine.clear_solids();
    }
}
