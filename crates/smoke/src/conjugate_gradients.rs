//! The solver: A x = b by conjugate gradients, preconditioned by a V-cycle of multigrid.
//!
//! A is symmetric, so the pullback of x = A⁻¹ b is the same solve. A maps constants to zero; right-hand sides
//! are divergences of flows that pass no wall, whose sum is zero, so a solution exists, and differences of
//! neighbors do not depend on which one is found. Round-off leaves a sum, which the coarse levels would blow up
//! until differences of neighbors drown in it: means are taken out of right-hand sides and of what the V-cycle
//! returns.

use pullback_core::Workspace;
use pullback_math::{Mask, Real, select};

use super::laplacian::{dot, sum, total};
use super::multigrid::Multigrid;
use super::padded::Padded;

/// How far a solve goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveTolerance {
    /// Residual at the end over that at the start, in the sense of squares; round-off is not pursued.
    pub relative: f64,
    /// Iterations at most.
    pub iterations: usize,
}

impl Default for SolveTolerance {
    /// 10⁻¹⁰ in at most 200 iterations.
    fn default() -> Self {
        SolveTolerance { relative: 1e-10, iterations: 200 }
    }
}

/// What a solve took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Solved {
    pub iterations: usize,
    /// Residual at the end over that at the start.
    pub residual: f64,
    pub converged: bool,
}

impl Solved {
    /// Takes the larger of every number.
    pub fn add(&mut self, other: Solved) {
        self.iterations = self.iterations.max(other.iterations);
        self.residual = self.residual.max(other.residual);
        self.converged &= other.converged;
    }
}

/// The solver with its vectors.
#[derive(Clone, Debug)]
pub(crate) struct Solver<P, const D: usize> {
    /// Preconditioner; its finest right-hand side is the residual r.
    multigrid: Multigrid<P, D>,
    /// Solution x.
    pub solution: Vec<P>,
    direction: Vec<P>,
    /// A times direction.
    image: Vec<P>,
    /// A number per row, twice.
    sums: Vec<P>,
    means: Vec<P>,
}

impl<P: Real, const D: usize> Workspace for Solver<P, D> {
    fn heap_bytes(&self) -> usize {
        let vectors = [&self.solution, &self.direction, &self.image, &self.sums, &self.means];
        self.multigrid.heap_bytes() + vectors.iter().map(|v| v.heap_bytes()).sum::<usize>()
    }
}

impl<P: Real, const D: usize> Solver<P, D> {
    pub fn new(padded: &Padded<D>, fluid: Vec<bool>) -> Self {
        let zeros = vec![P::zero(); padded.len];
        Solver {
            multigrid: Multigrid::new(padded, fluid),
            solution: zeros.clone(),
            direction: zeros.clone(),
            image: zeros,
            sums: vec![P::zero(); padded.rows],
            means: vec![P::zero(); padded.rows],
        }
    }

    /// The right-hand side b, which `Solver::solve` overwrites.
    pub fn right_hand_side(&mut self) -> &mut [P] {
        &mut self.multigrid.levels[0].b
    }

    /// Solves A x = b into `solution`. A right-hand side of length `noise` is round-off, which need not have a
    /// solution.
    pub fn solve(&mut self, tolerance: SolveTolerance, noise: P) -> Solved {
        self.multigrid.levels[0].subtract_mean_of_b(&mut self.means);
        let at_start = self.residual_squared();
        let relative = tolerance.relative.max(50.0 * P::EPSILON);
        let enough = P::lit(relative * relative) * at_start;
        let enough = enough.max(noise * noise);
        self.solution.fill(P::zero());
        let mut solved = Solved { residual: 0.0, iterations: 0, converged: true };
        if !at_start.gt(enough).all() {
            // Nothing to solve; or not a number, which whoever looks at the result will see.
            let nothing = if at_start.is_finite().all() { P::zero() } else { at_start };
            self.solution.fill(nothing);
            return solved;
        }
        // p = z = M r
        self.direction.fill(P::zero());
        let (mut r_z, mean) = self.precondition();
        self.turn(mean, P::zero());
        loop {
            // α = rᵀz / pᵀAp
            let Solver { multigrid, direction, image, sums, .. } = self;
            let p_a_p = multigrid.levels[0].apply(direction, image, sums);
            let r_r = self.advance(r_z / p_a_p);
            solved.iterations += 1;
            solved.residual = (r_r / at_start).sqrt().lane(0);
            solved.converged = r_r.le(enough).all();
            if solved.converged || solved.iterations >= tolerance.iterations || !r_r.is_finite().all() {
                return solved;
            }
            // β = r′ᵀz′ / rᵀz, p = z + β p
            let (next, mean) = self.precondition();
            self.turn(mean, next / r_z);
            r_z = next;
        }
    }

    /// Length of a vector with a halo.
    pub fn length(&mut self, of: impl Fn(usize) -> P + Sync) -> P {
        let Solver { multigrid, sums, .. } = self;
        let padded = &multigrid.levels[0].padded;
        padded.for_rows(padded.dense(sums, 1), |at, sum| {
            sum[0] = padded.span(&at).fold(P::zero(), |sum, i| of(i).mul_add(of(i), sum));
        });
        total(sums).sqrt()
    }

    /// rᵀr
    fn residual_squared(&mut self) -> P {
        let Solver { multigrid, sums, .. } = self;
        let level = &multigrid.levels[0];
        level.padded.for_rows(level.padded.dense(sums, 1), |at, sum| {
            let r = &level.b[level.padded.span(&at)];
            sum[0] = dot(r, r);
        });
        total(sums)
    }

    /// z = M r into the finest level's x; returns rᵀz and the mean of z.
    fn precondition(&mut self) -> (P, P) {
        self.multigrid.cycle();
        let Solver { multigrid, sums, means, .. } = self;
        let level = &multigrid.levels[0];
        let parts = (level.padded.dense(sums, 1), level.padded.dense(means, 1));
        level.padded.for_rows(parts, |at, (product, mean)| {
            let span = level.padded.span(&at);
            product[0] = dot(&level.b[span.clone()], &level.x[span.clone()]);
            mean[0] = sum(&level.x[span]);
        });
        (total(sums), total(means) * level.per_cell())
    }

    /// x += α p, r −= α A p with the length α; returns rᵀr.
    fn advance(&mut self, length: P) -> P {
        let Solver { multigrid, solution, direction, image, sums, .. } = self;
        let level = &mut multigrid.levels[0];
        let padded = &level.padded;
        let parts = ((padded.part(solution), padded.part(&mut level.b)), padded.dense(sums, 1));
        padded.for_rows(parts, |at, ((x, r), sum)| {
            let (p, image) = (&direction[padded.span(&at)], &image[padded.span(&at)]);
            for i in 0..x.len() {
                x[i] += length * p[i];
                r[i] -= length * image[i];
            }
            sum[0] = dot(r, r);
        });
        total(sums)
    }

    /// p = z − mean + β p in fluid cells, with the share β that is kept.
    fn turn(&mut self, mean: P, kept: P) {
        let Solver { multigrid, direction, .. } = self;
        let level = &multigrid.levels[0];
        level.padded.for_rows(level.padded.part(direction), |at, p| {
            let (z, fluid) = (&level.x[level.padded.span(&at)], level.fluid_row(&at));
            for i in 0..p.len() {
                p[i] = select(fluid(i), z[i] - mean + kept * p[i], P::zero());
            }
        });
    }
}
