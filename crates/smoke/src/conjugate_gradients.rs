//! The solver: A x = b by conjugate gradients, preconditioned by a V-cycle of multigrid.
//!
//! A is symmetric, so the pullback of x = A⁻¹ b is the same solve. A maps constants to zero; right-hand sides
//! are divergences of flows that pass no wall, whose sum is zero, so a solution exists, and differences of
//! neighbors do not depend on which one is found.
//!
//! Vectors are in double precision, the V-cycle M in single: it sees the residual over its first length, and what it
//! returns need not be exact. Round-off makes M a little different every time, so β is that of flexible conjugate
//! gradients (Notay 2000), (r′ − r)ᵀz′ / rᵀz.

use pullback_core::Workspace;

use super::laplacian::Level;
use super::multigrid::Multigrid;
use super::padded::Padded;
use super::sums::{dot, fold, total};

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
pub(crate) struct Solver<const D: usize> {
    /// Preconditioner, in single precision.
    multigrid: Multigrid<f32, D>,
    /// Solution x.
    pub solution: Vec<f64>,
    /// Residual r.
    residual: Vec<f64>,
    direction: Vec<f64>,
    /// A times direction.
    image: Vec<f64>,
    /// Two numbers per block.
    sums: [Vec<f64>; 2],
}

/// What a right-hand side is written to.
pub(crate) struct RightHandSide<'a, const D: usize> {
    /// Its grid, which says where fluid is.
    pub level: &'a Level<f32, D>,
    /// The right-hand side, zero where no fluid is.
    pub b: &'a mut [f64],
    /// A number per block.
    pub sums: &'a mut [f64],
}

impl<const D: usize> Workspace for Solver<D> {
    fn heap_bytes(&self) -> usize {
        let vectors = [&self.solution, &self.residual, &self.direction, &self.image];
        let vectors = vectors.iter().map(|v| v.heap_bytes()).sum::<usize>();
        self.multigrid.heap_bytes() + vectors + self.sums.heap_bytes()
    }
}

impl<const D: usize> Solver<D> {
    pub fn new(padded: &Padded<D>, fluid: Vec<bool>) -> Self {
        let zeros = vec![0.0; padded.len];
        Solver {
            multigrid: Multigrid::new(padded, fluid),
            solution: zeros.clone(),
            residual: zeros.clone(),
            direction: zeros.clone(),
            image: zeros,
            sums: std::array::from_fn(|_| vec![0.0; padded.blocks()]),
        }
    }

    /// The right-hand side b, which `Solver::solve` overwrites.
    pub fn right_hand_side(&mut self) -> RightHandSide<'_, D> {
        let Solver { multigrid, residual, sums: [sums, _], .. } = self;
        RightHandSide { level: &multigrid.levels[0], b: residual, sums }
    }

    /// Solves A x = b into `solution`. A right-hand side of length `noise` is round-off, which need not have a
    /// solution.
    pub fn solve(&mut self, tolerance: SolveTolerance, noise: f64) -> Solved {
        let at_start = self.residual_squared();
        let relative = tolerance.relative.max(50.0 * f64::EPSILON);
        let enough = (relative * relative * at_start).max(noise * noise);
        let mut solved = Solved { residual: 0.0, iterations: 0, converged: true };
        if at_start <= enough || !at_start.is_finite() {
            // Nothing to solve; or not a number, which whoever looks at the result will see.
            self.solution.fill(if at_start.is_finite() { 0.0 } else { at_start });
            return solved;
        }
        self.solution.fill(0.0);
        self.direction.fill(0.0);
        // p = z = M r
        let scale = at_start.sqrt();
        let [mut r_z, _] = self.precondition(scale);
        self.turn(scale, 0.0);
        loop {
            // α = rᵀz / pᵀAp
            let Solver { multigrid, direction, image, sums: [sums, _], .. } = self;
            let p_a_p = multigrid.levels[0].apply(direction, image, sums);
            let length = r_z / p_a_p;
            let r_r = self.advance(length);
            solved.iterations += 1;
            solved.residual = (r_r / at_start).sqrt();
            solved.converged = r_r <= enough;
            if solved.converged || solved.iterations >= tolerance.iterations || !r_r.is_finite() {
                return solved;
            }
            // β = (r′ − r)ᵀz′ / rᵀz with r′ − r = −α A p, p = z′ + β p
            let [next, image_z] = self.precondition(scale);
            self.turn(scale, -length * image_z / r_z);
            r_z = next;
        }
    }

    /// rᵀr
    fn residual_squared(&mut self) -> f64 {
        let Solver { multigrid, residual, sums: [sums, _], .. } = self;
        let padded = &multigrid.levels[0].padded;
        padded.for_blocks(padded.dense(sums, 1), |at, sum| {
            let r = &residual[at.start..][..at.len];
            sum[0] = dot(r, r);
        });
        total(sums)
    }

    /// z = M r, of which the finest level's x is so many times less; returns rᵀz and (A p)ᵀz.
    fn precondition(&mut self, scale: f64) -> [f64; 2] {
        let Solver { multigrid, residual, image, sums, .. } = self;
        let Level { padded, b, .. } = &mut multigrid.levels[0];
        padded.for_blocks(padded.part(b), |at, b| {
            for (b, r) in b.iter_mut().zip(&residual[at.start..]) {
                *b = (*r * scale.recip()) as f32;
            }
        });
        multigrid.cycle();
        let Level { padded, x, .. } = &multigrid.levels[0];
        padded.for_blocks(sums.each_mut().map(|sums| padded.dense(sums, 1)), |at, [r_z, image_z]| {
            let z = &x[at.start..][..at.len];
            let times_z =
                |y: &[f64]| fold(&y[at.start..][..at.len], z, |sum, y, z| f64::from(z).mul_add(y, sum));
            (r_z[0], image_z[0]) = (times_z(residual), times_z(image));
        });
        sums.each_ref().map(|sums| total(sums) * scale)
    }

    /// x += α p, r −= α A p with the length α; returns rᵀr.
    fn advance(&mut self, length: f64) -> f64 {
        let Solver { multigrid, solution, residual, direction, image, sums: [sums, _] } = self;
        let padded = &multigrid.levels[0].padded;
        let parts = ((padded.part(solution), padded.part(residual)), padded.dense(sums, 1));
        padded.for_blocks(parts, |at, ((x, r), sum)| {
            let (p, image) = (&direction[at.start..][..at.len], &image[at.start..][..at.len]);
            for i in 0..at.len {
                x[i] += length * p[i];
                r[i] -= length * image[i];
            }
            sum[0] = dot(r, r);
        });
        total(sums)
    }

    /// p = z + β p, with the share β that is kept
    fn turn(&mut self, scale: f64, kept: f64) {
        let Solver { multigrid, direction, .. } = self;
        let Level { padded, x, .. } = &multigrid.levels[0];
        padded.for_blocks(padded.part(direction), |at, p| {
            for (p, z) in p.iter_mut().zip(&x[at.start..]) {
                *p = scale * f64::from(*z) + kept * *p;
            }
        });
    }
}
