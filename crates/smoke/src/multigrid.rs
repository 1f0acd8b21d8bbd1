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
use pullback_math::{Real, select};

use super::laplacian::Level;
use super::padded::Padded;

/// Relaxation steps before and after the coarse correction.
const STEPS: usize = 2;
/// Error that relaxation leaves on the coarsest level.
const COARSEST_ERROR: f64 = 0.05;

/// The levels, finest first, and steps of relaxation.
#[derive(Clone, Debug)]
pub(crate) struct Multigrid<P, const D: usize> {
    pub levels: Vec<Level<P, D>>,
    /// Step lengths of relaxation on all levels but the coarsest.
    steps: [P; STEPS],
    /// Those on the coarsest.
    coarsest: Vec<P>,
    /// A plane of a level for every plane of the next coarser one.
    halves: Vec<P>,
}

impl<P: Real, const D: usize> Workspace for Multigrid<P, D> {
    fn heap_bytes(&self) -> usize {
        let levels = self.levels.capacity() * size_of::<Level<P, D>>();
        levels
            + self.coarsest.heap_bytes()
            + self.halves.heap_bytes()
            + self.levels.iter().map(Level::heap_bytes).sum::<usize>()
    }
}

/// Lengths of `count` Chebyshev steps for eigenvalues of d⁻¹A between `low` and 2.
fn chebyshev<P: Real>(count: usize, low: f64) -> impl Iterator<Item = P> {
    let (middle, half) = (0.5 * (2.0 + low), 0.5 * (2.0 - low));
    let roots = (0..count).map(|k| (PI * (k as f64 + 0.5) / count as f64).cos()).collect();
    leja(roots).into_iter().map(move |root| P::lit(1.0 / (middle + half * root)))
}

/// Leja order (Reichel 1990): the largest first, then always the one with the largest product of distances from those
/// before. In ascending order dozens of steps would amplify round-off beyond what single precision holds.
fn leja(mut roots: Vec<f64>) -> Vec<f64> {
    let mut products: Vec<f64> = roots.clone();
    for first in 0..roots.len() {
        let next = (first..roots.len()).max_by(|a, b| products[*a].total_cmp(&products[*b])).unwrap_or(first);
        roots.swap(first, next);
        products.swap(first, next);
        for i in first + 1..roots.len() {
            let distance = 2.0 * (roots[i] - roots[first]).abs();
            products[i] = if first == 0 { distance } else { products[i] * distance };
        }
    }
    roots
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
        let halves = vec![P::zero(); padded.strides[D - 1] * padded.cells[D - 1] / 2];
        Multigrid {
            levels,
            halves,
            steps: std::array::from_fn(|_| steps.next().unwrap_or(P::one())),
            coarsest: chebyshev(steps_for(COARSEST_ERROR, lowest), lowest).collect(),
        }
    }

    /// x ≈ A⁻¹ b on the finest level.
    pub fn cycle(&mut self) {
        self.cycle_at(0);
    }

    fn cycle_at(&mut self, l: usize) {
        let Multigrid { levels, steps, coarsest, halves } = self;
        let (fine, coarser) = levels.split_at_mut(l + 1);
        let level = &mut fine[l];
        let [coarse, ..] = coarser else {
            for (k, ω) in coarsest.iter().enumerate() {
                if k == 0 { level.relax_from_zero(*ω) } else { level.relax(*ω) }
            }
            return;
        };
        level.relax_from_zero(steps[0]);
        steps[1..].iter().for_each(|ω| level.relax(*ω));
        level.residual();
        restrict(level, coarse, halves);
        self.cycle_at(l + 1);
        let Multigrid { levels, steps, halves, .. } = self;
        let (fine, coarser) = levels.split_at_mut(l + 1);
        let level = &mut fine[l];
        interpolate(&coarser[0], level, halves);
        steps.iter().rev().for_each(|ω| level.relax(*ω));
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

/// What the halo of an axis of n places takes before the first and after the last: the other end of a periodic axis,
/// the nearest beside a wall.
fn beside_ends(n: usize, periodic: bool) -> (usize, usize) {
    if periodic { (n, 1) } else { (1, n) }
}

/// The places before and after place `at` of an axis of n places, counted from 1.
fn beside(at: usize, n: usize, periodic: bool) -> (usize, usize) {
    let (before, after) = beside_ends(n, periodic);
    (if at > 1 { at - 1 } else { before }, if at < n { at + 1 } else { after })
}

/// b of the coarse level = the transpose of [`interpolate`] of y of the fine level, 4/2^D times: halved across
/// planes, then across rows, then along rows. `halves` has a fine plane per coarse plane.
fn restrict<P: Real, const D: usize>(fine: &Level<P, D>, coarse: &mut Level<P, D>, halves: &mut [P]) {
    let (from, y) = (&fine.padded, &fine.y);
    let Padded { cells, periodic, strides, .. } = *from;
    let (near, far, plane) = (P::lit(NEAR), P::lit(FAR), strides[D - 1]);
    let scale = P::lit(4.0 / f64::from(1u32 << D));
    let Level { padded, b, .. } = coarse;
    padded.for_planes((padded.part(b), padded.dense(halves, plane)), |at, (b, half)| {
        let (low, high) = (2 * at.index + 1, 2 * at.index + 2);
        let (below, _) = beside(low, cells[D - 1], periodic[D - 1]);
        let (_, above) = beside(high, cells[D - 1], periodic[D - 1]);
        let [below, low, high, above] = [below, low, high, above].map(|z| &y[z * plane..][..plane]);
        for i in 0..plane {
            half[i] = scale * (near * (low[i] + high[i]) + far * (below[i] + above[i]));
        }
        let along =
            |row: &mut [P], b: &mut [P]| restrict_row(row, periodic[0], &mut b[1..][..padded.cells[0]]);
        if D == 2 {
            return along(half, b);
        }
        let (n, stride) = (cells[1], strides[1]);
        let (first, last) = beside_ends(n, periodic[1]);
        half.copy_within(first * stride..(first + 1) * stride, 0);
        half.copy_within(last * stride..(last + 1) * stride, (n + 1) * stride);
        for (row, b) in b.chunks_exact_mut(padded.strides[1]).skip(1).take(n / 2).enumerate() {
            // In place of the lower of two rows, which no row after this one needs.
            let (below, rest) = half[2 * row * stride..].split_at_mut(stride);
            let (low, rest) = rest.split_at_mut(stride);
            let (high, above) = (&rest[..stride], &rest[stride..][..stride]);
            for i in 0..stride {
                low[i] = near * (low[i] + high[i]) + far * (below[i] + above[i]);
            }
            along(low, b);
        }
    });
}

/// Halves a row with its halo, which is filled first.
#[inline(always)]
fn restrict_row<P: Real>(row: &mut [P], periodic: bool, out: &mut [P]) {
    let (near, far, n) = (P::lit(NEAR), P::lit(FAR), 2 * out.len());
    let (first, last) = beside_ends(n, periodic);
    (row[0], row[n + 1]) = (row[first], row[last]);
    let pairs = row[..n].chunks_exact(2).zip(row[2..].chunks_exact(2));
    for (out, (low, high)) in out.iter_mut().zip(pairs) {
        *out = near * (low[1] + high[0]) + far * (low[0] + high[1]);
    }
}

/// x of the fine level += x of the coarse level, interpolated linearly: along rows, then across rows, then across
/// planes.
fn interpolate<P: Real, const D: usize>(coarse: &Level<P, D>, fine: &mut Level<P, D>, halves: &mut [P]) {
    let (from, coarse_x) = (&coarse.padded, &coarse.x);
    let (near, far) = (P::lit(NEAR), P::lit(FAR));
    let Padded { cells, periodic, strides, .. } = fine.padded;
    let plane = strides[D - 1];
    from.for_planes(from.dense(halves, plane), |at, half| {
        let x = &coarse_x[at.start..][..at.len];
        let along = |x: &[P], row: &mut [P]| interpolate_row(x, periodic[0], &mut row[1..][..cells[0]]);
        if D == 2 {
            return along(x, half);
        }
        let (n, stride) = (cells[1], strides[1]);
        for (x, rows) in
            x.chunks_exact(from.strides[1]).skip(1).zip(half[stride..].chunks_exact_mut(2 * stride))
        {
            along(x, rows);
        }
        // The row of coarse row r stands at 2r + 1; those before the first and after the last in the halo.
        let (first, last) = if periodic[1] { (n - 1, 1) } else { (1, n - 1) };
        half.copy_within(first * stride..(first + 1) * stride, 0);
        half.copy_within(last * stride..(last + 1) * stride, (n + 1) * stride);
        for row in (1..n).step_by(2) {
            let (own, rest) = half[row * stride..].split_at_mut(stride);
            let (out, next) = rest.split_at_mut(stride);
            for i in 0..stride {
                out[i] = near * own[i] + far * next[i];
            }
        }
        for row in (1..n).step_by(2).rev() {
            let (before, own) = half.split_at_mut(row * stride);
            let before = &before[row.saturating_sub(2) * stride..][..stride];
            for (own, before) in own.iter_mut().zip(before) {
                *own = near * *own + far * *before;
            }
        }
    });
    let halves = &*halves;
    let Level { padded, x, inverse, .. } = fine;
    padded.for_planes(padded.part(x), |at, x| {
        let own = at.index / 2;
        let (low, high) = beside(own + 1, cells[D - 1] / 2, periodic[D - 1]);
        let other = if at.index.is_multiple_of(2) { low } else { high } - 1;
        let (own, other) = (&halves[own * plane..][..plane], &halves[other * plane..][..plane]);
        let inverse = &inverse[at.start..][..plane];
        for i in 0..plane {
            let moved = x[i] + near * own[i] + far * other[i];
            x[i] = select(inverse[i].gt(P::zero()), moved, P::zero());
        }
    });
}

/// Doubles a row, given with its halo.
#[inline(always)]
fn interpolate_row<P: Real>(x: &[P], periodic: bool, out: &mut [P]) {
    let (near, far, n) = (P::lit(NEAR), P::lit(FAR), out.len() / 2);
    for (out, x) in out.chunks_exact_mut(2).zip(x.windows(3)) {
        out[0] = near * x[1] + far * x[0];
        out[1] = near * x[1] + far * x[2];
    }
    let (before, after) = beside_ends(n, periodic);
    out[0] = near * x[1] + far * x[before];
    out[2 * n - 1] = near * x[n] + far * x[after];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partial products of a hundred steps stay near 1 for every eigenvalue, whatever number of them was taken.
    #[test]
    fn many_steps_amplify_nothing() {
        let steps: Vec<f64> = chebyshev(100, 1e-3).collect();
        for eigenvalue in (0..=200).map(|i| 1e-3 + (2.0 - 1e-3) * f64::from(i) / 200.0) {
            let errors = steps.iter().scan(1.0, |error, ω| {
                *error *= 1.0 - ω * eigenvalue;
                Some(f64::abs(*error))
            });
            let most = errors.fold(0.0, f64::max);
            assert!(most < 1e3, "{most:e} at {eigenvalue}");
        }
    }

    /// ⟨y, M x⟩ = ⟨M y, x⟩ for the whole cycle, around periodic axes, between walls and beside obstacles.
    #[test]
    fn the_cycle_is_symmetric() {
        fn check<const D: usize>(cells: [usize; D], periodic: [bool; D], solid: usize) {
            let padded = Padded::new(cells, periodic);
            let fluid: Vec<bool> = (0..padded.interior).map(|i| solid == 0 || i % solid != 1).collect();
            let mut multigrid = Multigrid::<f64, D>::new(&padded, fluid.clone());
            assert!(multigrid.levels.len() > 1);
            let mut random = pullback_core::random::Random::new(5);
            let fluid: Vec<usize> =
                (0..padded.interior).filter(|i| fluid[*i]).map(|i| padded.index(i)).collect();
            let [x, y] = std::array::from_fn(|_| {
                let mut vector = vec![0.0; padded.len];
                fluid.iter().for_each(|i| vector[*i] = random.uniform(-1.0, 1.0));
                vector
            });
            let mut cycle = |b: &[f64]| {
                multigrid.levels[0].b.copy_from_slice(b);
                multigrid.cycle();
                multigrid.levels[0].x.clone()
            };
            let dot = |a: &[f64], b: &[f64]| fluid.iter().map(|i| a[*i] * b[*i]).sum::<f64>();
            let (m_x, m_y) = (cycle(&x), cycle(&y));
            let (one, other, size) = (dot(&y, &m_x), dot(&m_y, &x), (dot(&m_x, &m_x) * dot(&y, &y)).sqrt());
            assert!((one - other).abs() < 1e-13 * size, "{cells:?} {periodic:?}: {one} {other}");
            assert!(dot(&x, &m_x) > 0.0);
        }
        check([8, 12], [false, false], 0);
        check([12, 8], [true, false], 0);
        check([8, 12], [false, true], 17);
        check([8, 4, 12], [false, false, false], 0);
        check([4, 8, 8], [true, true, false], 0);
        check([8, 8, 4], [false, true, true], 29);
    }
}
