//! The primal problem, min over a of ½ (a − a₀)ᵀ M (a − a₀) + s(J a − a_ref), by Newton's method with an exact
//! line search, island by island.
//!
//! The cost is convex and piecewise smooth, so the Newton direction with a line search converges from
//! anywhere, and near the optimum quadratically; where all costs are piecewise quadratic, in finitely many
//! steps. Where the line search creeps along a curved valley, full steps are tried (`watchdog.rs`). It starts at a₀, so the result is a function of the state alone. On lanes all environments iterate
//! together; those that have converged stand still.
//!
//! A file's `tolerance` bounds MuJoCo's measure of the gradient, |g| / tr M. Gradients by the implicit
//! function theorem hold at the optimum, so the solver goes on to 10⁻⁴ of it, or to round-off.

use pullback_core::{SolverInfo, Workspace};
use pullback_math::{Mask, Real, select};

use super::hessian::Hessian;
use super::islands::Islands;
use super::set::ConstraintSet;
use super::watchdog::{Attempts, Iterate, Watchdog};
use crate::mass_matrix::MassMatrix;
use crate::model::SolverOptions;
use crate::tree::Tree;

/// Part of the file's tolerance that the solver goes to.
const FINER: f64 = 1e-4;
/// Newton steps that are allowed in any case: limits of files count on a warm start, which there is none of.
const LEAST_ITERATIONS: usize = 100;
/// Round-off of a gradient or a step, in units of the round-off of its terms.
pub(super) const ROUND_OFF: f64 = 32.0;

/// Memory of the solver.
#[derive(Clone, Debug, Workspace)]
pub struct Newton<T> {
    /// The islands of the last solve.
    pub islands: Islands,
    /// Columns for which islands and sparsity were found last.
    columns: Vec<usize>,
    hessian: Hessian<T>,
    /// M (a − a₀), gradient, step, M·step.
    momentum: Vec<T>,
    gradient: Vec<T>,
    step: Vec<T>,
    step_momentum: Vec<T>,
    /// J·step.
    row_step: Vec<T>,
    scratch: Vec<T>,
    watchdog: Watchdog<T>,
    /// Whether the factors of each island belong to its solution.
    fresh: Vec<bool>,
    /// What the last solve took.
    #[workspace(plain)]
    pub info: SolverInfo,
}

/// The problem: structure, inertia, and when to stop.
pub struct Problem<'a, T> {
    /// Structure.
    pub tree: &'a Tree,
    /// The mass matrix.
    pub mass: &'a MassMatrix<T>,
    /// When to stop.
    pub options: SolverOptions,
}

impl<T: Real> Newton<T> {
    /// Memory for a model, and so many rows; more are allocated when first met.
    pub fn new(tree: &Tree, rows: usize) -> Self {
        let zeros = || vec![T::zero(); tree.dof_body.len()];
        Newton {
            islands: Islands::new(tree),
            columns: Vec::new(),
            hessian: Hessian::new(tree),
            momentum: zeros(),
            gradient: zeros(),
            step: zeros(),
            step_momentum: zeros(),
            row_step: Vec::with_capacity(rows),
            scratch: zeros(),
            watchdog: Watchdog::new(tree.dof_body.len(), rows),
            fresh: Vec::new(),
            info: SolverInfo::default(),
        }
    }

    /// Solves for the acceleration, which comes in as a₀. Residuals, forces and curvatures at the optimum stay
    /// in `constraints`.
    pub fn solve(
        &mut self,
        problem: &Problem<'_, T>,
        constraints: &mut ConstraintSet<T>,
        acceleration: &mut [T],
    ) {
        if !constraints.same_columns(&mut self.columns) {
            self.islands.update(constraints);
            self.hessian.analyze(problem.tree, constraints);
        }
        self.info = SolverInfo {
            constraints: constraints.blocks.len(),
            rows: constraints.rows(),
            islands: self.islands.count(),
            converged: true,
            ..SolverInfo::default()
        };
        if constraints.blocks.is_empty() {
            return;
        }
        self.row_step.clear();
        self.row_step.resize(constraints.rows(), T::zero());
        self.watchdog.resize(constraints.rows());
        self.fresh.clear();
        self.fresh.resize(self.islands.count(), false);
        for island in 0..self.islands.count() {
            self.solve_island(island, problem, constraints, acceleration);
        }
        let zero = |f: &T| f.le(T::zero()) & f.ge(T::zero());
        self.info.active = constraints.force.iter().filter(|f| !zero(f).all()).count();
    }

    fn solve_island(
        &mut self,
        island: usize,
        problem: &Problem<'_, T>,
        constraints: &mut ConstraintSet<T>,
        acceleration: &mut [T],
    ) {
        let Newton {
            islands,
            hessian,
            momentum,
            gradient,
            step,
            step_momentum,
            row_step,
            scratch,
            watchdog,
            ..
        } = self;
        let (dofs, blocks, groups) = (islands.dofs(island), islands.blocks(island), islands.groups(island));
        let (tree, mass, options) = (problem.tree, problem.mass, problem.options);
        let mut trace = T::zero();
        for &k in dofs {
            momentum[k] = T::zero();
            trace += mass.packed[tree.row[k]];
        }
        let scale = trace.recip();
        constraints.evaluate_all(groups, acceleration, scratch);
        let mut fresh = false;
        let mut iterations = 0;
        let mut size;
        let (mut before, mut last) = (T::lit(f64::INFINITY), T::lit(f64::INFINITY));
        let mut attempts = Attempts::<T>::new();
        loop {
            // g = M (a − a₀) − Jᵀ f
            for &k in dofs {
                gradient[k] = momentum[k];
            }
            constraints.subtract_forces(groups, scratch, gradient);
            size = scale * norm(dofs, gradient);
            let round_off = T::lit(ROUND_OFF * T::EPSILON) * largest(dofs, momentum) * scale;
            let mut small = size.le(round_off.max(T::lit(FINER * options.tolerance)));
            let mut at = Iterate { dofs, blocks, acceleration, momentum };
            let judged = (small, size, &mut before);
            if watchdog.end(&mut attempts, iterations, judged, &mut at, constraints) {
                fresh = false;
                continue;
            }
            // A step that does not halve the gradient may have met the round-off of residuals times stiffness.
            let stalled = !size.le(before * T::lit(0.5)) & !attempts.ahead;
            if (stalled & !small).any() {
                let relative = T::lit(ROUND_OFF * T::EPSILON);
                let noise = constraints.force_round_off(dofs, blocks, acceleration, relative, step);
                small = small | (stalled & size.le(noise * scale));
            }
            if small.all() || iterations == options.iterations.max(LEAST_ITERATIONS) {
                self.info.converged &= small.all();
                break;
            }
            iterations += 1;

            // p = −H⁻¹ g
            if !fresh {
                hessian.assemble(tree, mass, constraints, dofs, groups);
                hessian.factorize(tree, mass, dofs);
            }
            for &k in dofs {
                step[k] = select(small, T::zero(), -gradient[k]);
            }
            hessian.solve(dofs, step);
            // A Hessian that round-off has made useless gives a step that leads up, or none that is a number.
            let descent = dofs.iter().fold(T::zero(), |sum, k| sum - gradient[*k] * step[*k]);
            let down = descent.gt(T::zero()) & descent.lt(T::lit(f64::INFINITY));
            if !(small | down).all() {
                self.info.converged &= (small | stalled | down).all();
                if (small | !down).all() {
                    break;
                }
                dofs.iter().for_each(|k| step[*k] = select(down, step[*k], T::zero()));
            }
            // No better direction is known once the Hessian itself is rounded.
            let least = select(stalled, T::lit(T::EPSILON.sqrt()), T::lit(ROUND_OFF * T::EPSILON));
            if (small | largest(dofs, step).le(largest(dofs, acceleration) * least)).all() {
                break;
            }

            // a ← a + α p
            mass.multiply_rows(tree, dofs, step, step_momentum);
            constraints.multiply_all(groups, step, scratch, row_step);
            let (mut slope, mut curve) = (T::zero(), T::zero());
            for &k in dofs {
                slope += step[k] * momentum[k];
                curve += step[k] * step_momentum[k];
            }
            if (stalled & !small).any() {
                let moved = dofs.iter().map(|k| step[*k] * momentum[*k]);
                let lost = stalled & descent_is_lost(constraints, blocks, row_step, moved);
                if (small | lost).all() {
                    break;
                }
            }
            let at = Iterate { dofs, blocks, acceleration, momentum };
            watchdog.begin(&mut attempts, iterations, (size, descent), &at, constraints);
            // Of two full steps the first may raise the gradient.
            before = select(attempts.full, size.max(last), size);
            last = size;
            let mut alpha = T::one();
            if !attempts.full.all() {
                let searched = line_search(constraints, blocks, row_step, (slope, curve), &options);
                alpha = select(attempts.full, alpha, searched);
            }
            for &k in dofs {
                at.acceleration[k] += alpha * step[k];
                at.momentum[k] += alpha * step_momentum[k];
            }
            fresh = true;
            for &block in blocks {
                let b = constraints.blocks[block];
                for i in b.row..b.row + b.dim {
                    constraints.residual[i] += alpha * row_step[i];
                }
                fresh &= !constraints.evaluate_cost(block);
            }
        }
        if T::HAS_TANGENT {
            // One more step from the optimum gives the tangent by the implicit function theorem.
            hessian.assemble(tree, mass, constraints, dofs, groups);
            hessian.factorize(tree, mass, dofs);
            for &k in dofs {
                step[k] = -gradient[k];
            }
            hessian.solve(dofs, step);
            for &k in dofs {
                let moved = acceleration[k] + step[k];
                acceleration[k] = T::from_parts(acceleration[k].primal(), moved.tangent());
            }
            constraints.evaluate_all(groups, acceleration, scratch);
            fresh = true;
        }
        self.fresh[island] = fresh;
        self.info.iterations = self.info.iterations.max(iterations);
        self.info.residual = self.info.residual.max(size.max_lane());
    }

    /// x ← H⁻¹ x at the solution; degrees of freedom without constraints by M⁻¹.
    pub fn solve_hessian(&mut self, problem: &Problem<'_, T>, constraints: &ConstraintSet<T>, x: &mut [T]) {
        let Newton { islands, hessian, fresh, step, .. } = self;
        for &k in islands.all_dofs() {
            step[k] = x[k];
        }
        if islands.all_dofs().len() < x.len() {
            problem.mass.solve(problem.tree, x);
        }
        for island in 0..islands.count() {
            let (dofs, groups) = (islands.dofs(island), islands.groups(island));
            if !fresh[island] {
                hessian.assemble(problem.tree, problem.mass, constraints, dofs, groups);
                hessian.factorize(problem.tree, problem.mass, dofs);
                fresh[island] = true;
            }
            hessian.solve(dofs, step);
            dofs.iter().for_each(|k| x[*k] = step[*k]);
        }
    }
}

/// |x| over `dofs`.
fn norm<T: Real>(dofs: &[usize], x: &[T]) -> T {
    dofs.iter().fold(T::zero(), |sum, k| sum + x[*k] * x[*k]).sqrt()
}

/// Largest |x_k| over `dofs`.
fn largest<T: Real>(dofs: &[usize], x: &[T]) -> T {
    dofs.iter().fold(T::zero(), |most, k| most.max(x[*k].abs()))
}

/// Whether the slope of the cost along a step drowns in the round-off of its terms, so that there is no step
/// length; `moved` are the terms of the inertia.
fn descent_is_lost<T: Real>(
    constraints: &ConstraintSet<T>,
    blocks: &[usize],
    row_step: &[T],
    moved: impl Iterator<Item = T>,
) -> T::Mask {
    let rows = blocks.iter().flat_map(|block| {
        let b = &constraints.blocks[*block];
        b.row..b.row + b.dim
    });
    let (mut descent, mut terms) = (T::zero(), T::zero());
    for term in moved.chain(rows.map(|i| -(constraints.force[i] * row_step[i]))) {
        descent += term;
        terms += term.abs();
    }
    descent.abs().le(terms * T::lit(ROUND_OFF * T::EPSILON))
}

/// The step length at which the slope of the cost along `row_step` vanishes, to the relative tolerance. The
/// slope rises with the length, so Newton steps inside a bracket find it.
fn line_search<T: Real>(
    constraints: &ConstraintSet<T>,
    blocks: &[usize],
    row_step: &[T],
    (slope, curve): (T, T),
    options: &SolverOptions,
) -> T {
    let along = |alpha: T| {
        let (mut first, mut second) = (slope + alpha * curve, curve);
        for &block in blocks {
            let b = &constraints.blocks[block];
            let rows = b.row..b.row + b.dim;
            let (s, c) = b.cost.along(
                &constraints.residual[rows.clone()],
                &row_step[rows],
                alpha,
                &constraints.weights[block],
            );
            first += s;
            second += c;
        }
        (first, second)
    };
    let (zero, one) = (T::zero(), T::one());
    // At zero length the slope of a block is −f·J p.
    let mut start = slope;
    for &block in blocks {
        let b = &constraints.blocks[block];
        for i in b.row..b.row + b.dim {
            start -= constraints.force[i] * row_step[i];
        }
    }
    let enough = start.abs() * T::lit(options.ls_tolerance);
    // The slope is negative at `low` and positive at `high`, where that is known.
    let (mut low, mut high, mut bounded) = (zero, zero, T::Mask::splat(false));
    let mut alpha = one;
    for _ in 0..options.ls_iterations {
        let (first, second) = along(alpha);
        let flat = first.abs().le(enough);
        if flat.all() {
            break;
        }
        let beyond = first.gt(zero);
        low = select(beyond, low, alpha);
        high = select(beyond, alpha, high);
        bounded = bounded | beyond;
        let newton = alpha - first / second;
        let half = (low + high) * T::lit(0.5);
        let inside = newton.gt(low) & (newton.lt(high) | !bounded);
        let next = select(inside, newton, select(bounded, half, alpha + alpha));
        alpha = select(flat, alpha, next);
    }
    alpha
}
