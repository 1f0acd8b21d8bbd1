//! Gauss-Newton with Levenberg-Marquardt damping in a box.
//!
//! A step solves (JᵀJ + λ D²) δ = −Jᵀ r by orthogonal triangles (`triangle.rs`), with D the largest norm that each column
//! of J has had (Moré 1978), so that steps do not depend on units. λ follows the ratio of actual to predicted decrease
//! (Nielsen 1999). Unknowns on a bound that the gradient pushes outward are held for the step.

use faer::Mat;
use pullback_core::settings::{Range, check_ranges};
use pullback_core::{ConfigError, StepError};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::problem::{LeastSquares, Place, cost};
use super::triangle::{Eliminated, PartTriangle, column_norm, solve, stack, triangle};
use crate::methods::Settings;

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussNewton {
    /// Steps at most (100).
    pub steps: usize,
    /// First damping λ (1e-3).
    pub damping: f64,
    /// Ends when a step would lower the cost, and does lower it, by less than this part of it (1e-12).
    pub cost_tolerance: f64,
    /// Ends when no unknown moves by more than this part of its size (1e-10).
    pub step_tolerance: f64,
}

impl Default for GaussNewton {
    fn default() -> Self {
        GaussNewton { steps: 100, damping: 1e-3, cost_tolerance: 1e-12, step_tolerance: 1e-10 }
    }
}

impl Settings for GaussNewton {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let part = Range::Below(0.0, 1.0);
        let ranges = [
            ("steps", self.steps as f64, Range::Within(1.0, 1e9)),
            // Damping that is zero does not grow.
            ("damping", self.damping, Range::Above(0.0, MOST_DAMPING)),
            ("cost_tolerance", self.cost_tolerance, part),
            ("step_tolerance", self.step_tolerance, part),
        ];
        check_ranges(name, &ranges)
    }
}

/// Why the steps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The cost no longer falls, or steps no longer move.
    Converged,
    /// No step along the linear model lowers the cost.
    Stuck,
    /// All steps that were allowed are taken.
    Steps,
}

/// Where the steps are: all that the next one depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussNewtonState {
    /// The place.
    pub at: Place,
    /// ½ |r|² there.
    pub cost: f64,
    /// Steps taken.
    pub steps: usize,
    /// Why there are no more, if there are none.
    pub end: Option<End>,
    damping: f64,
    /// Factor by which damping grows when a step fails again.
    growth: f64,
    /// D.
    scales: Vec<f64>,
}

impl GaussNewtonState {
    /// Whether this is a state of a problem of this size.
    pub(super) fn fits(&self, problem: &dyn LeastSquares) -> bool {
        let n = problem.unknowns().len();
        let locals = (0..problem.parts()).map(|part| problem.locals(part));
        (self.at.shared.len(), self.scales.len()) == (n, n) && locals.eq(self.at.locals.iter().map(Vec::len))
    }
}

/// Damping beyond which no step is worth a try.
const MOST_DAMPING: f64 = 1e16;
/// A step is kept if the cost falls by at least this part of what was predicted.
const ENOUGH: f64 = 1e-4;

impl GaussNewton {
    /// At a start.
    pub fn begin(&self, problem: &dyn LeastSquares, start: Vec<f64>) -> Result<GaussNewtonState, StepError> {
        let (at, n) = (Place::new(problem, start), problem.unknowns().len());
        // A start whose simulation fails says why.
        let mut out = Vec::new();
        for part in 0..problem.parts() {
            out.resize(problem.residual_count(part), 0.0);
            problem.residuals(part, &at.of(part), &mut out)?;
        }
        let cost = cost(problem, &at);
        let scales = vec![0.0; n];
        Ok(GaussNewtonState { at, cost, steps: 0, end: None, damping: self.damping, growth: 2.0, scales })
    }

    /// Takes one step down, or finds that there is none.
    pub fn step(&self, problem: &dyn LeastSquares, state: &mut GaussNewtonState) -> Result<(), StepError> {
        if state.steps >= self.steps {
            state.end = Some(End::Steps);
            return Ok(());
        }
        if state.cost == 0.0 {
            state.end = Some(End::Converged);
            return Ok(());
        }
        let parts = linearize(problem, &state.at)?;
        let bounds: Vec<(f64, f64)> = problem.unknowns().iter().map(|u| u.bounds()).collect();
        let undamped = shared_triangle(&eliminate(&parts, 0.0), bounds.len());
        for (j, scale) in state.scales.iter_mut().enumerate() {
            *scale = scale.max(column_norm(&undamped, j));
        }
        let free = free_unknowns(&undamped, &state.at.shared, &bounds);
        while state.damping <= MOST_DAMPING {
            let trial = damped_step(&parts, state, &free, &bounds);
            let predicted = state.cost - 0.5 * trial.predicted;
            let next = cost(problem, &trial.to);
            let ratio = (state.cost - next) / predicted;
            let still = self.is_still(problem, &state.at, &trial.to);
            let done = predicted.abs() <= self.cost_tolerance * state.cost;
            if ratio > ENOUGH && predicted > 0.0 && next < state.cost {
                let small = done && state.cost - next <= self.cost_tolerance * state.cost;
                state.damping *= (1.0 - (2.0 * ratio - 1.0).powi(3)).max(1.0 / 3.0);
                state.damping = state.damping.max(1e-15);
                state.growth = 2.0;
                (state.at, state.cost) = (trial.to, next);
                state.steps += 1;
                state.end = (small || still).then_some(End::Converged);
                return Ok(());
            }
            if done || still {
                state.end = Some(End::Converged);
                return Ok(());
            }
            state.damping *= state.growth;
            state.growth *= 2.0;
        }
        state.end = Some(End::Stuck);
        Ok(())
    }

    /// Whether a step moves no unknown by more than the tolerance.
    fn is_still(&self, problem: &dyn LeastSquares, from: &Place, to: &Place) -> bool {
        let unknowns = problem.unknowns().iter().zip(from.shared.iter().zip(&to.shared));
        let mut shared = unknowns.map(|(u, (a, b))| (a - b).abs() <= self.step_tolerance * u.size(*a));
        let locals = from.locals.iter().flatten().zip(to.locals.iter().flatten());
        shared.all(|still| still) && locals.into_iter().all(|(a, b)| (a - b).abs() <= self.step_tolerance)
    }
}

/// The triangles of all parts.
pub fn linearize(problem: &dyn LeastSquares, at: &Place) -> Result<Vec<PartTriangle>, StepError> {
    let part = |part: usize| {
        let linearized = problem.linearize(part, &at.of(part))?;
        Ok(PartTriangle::new(&linearized, problem.locals(part)))
    };
    (0..problem.parts()).into_par_iter().map(part).collect()
}

/// All parts without their own variables.
pub fn eliminate(parts: &[PartTriangle], damping: f64) -> Vec<Eliminated> {
    parts.iter().map(|part| part.eliminate(damping)).collect()
}

/// The triangle of the unknowns and r over all parts.
pub fn shared_triangle(parts: &[Eliminated], unknowns: usize) -> Mat<f64> {
    let tails: Vec<&Mat<f64>> = parts.iter().map(|part| &part.tail).collect();
    triangle(stack(&tails, unknowns + 1))
}

/// Unknowns that are not on a bound with the descent leading outward.
pub fn free_unknowns(triangle: &Mat<f64>, x: &[f64], bounds: &[(f64, f64)]) -> Vec<usize> {
    let n = x.len();
    // g = Jᵀ r
    let slope = |j: usize| (0..triangle.nrows()).map(|i| triangle[(i, j)] * triangle[(i, n)]).sum::<f64>();
    let held = |j: &usize| {
        let (low, high) = bounds[*j];
        (x[*j] <= low && slope(*j) >= 0.0) || (x[*j] >= high && slope(*j) <= 0.0)
    };
    (0..n).filter(|j| !held(j)).collect()
}

/// Where a step leads.
struct Trial {
    to: Place,
    /// |r|² there by the linear model.
    predicted: f64,
}

/// The damped step, cut off at the bounds.
fn damped_step(
    parts: &[PartTriangle],
    state: &GaussNewtonState,
    free: &[usize],
    bounds: &[(f64, f64)],
) -> Trial {
    let n = bounds.len();
    let eliminated = eliminate(parts, state.damping);
    let whole = shared_triangle(&eliminated, n);
    // Free columns, and a row √λ D for each.
    let k = free.len();
    let rows = whole.nrows();
    let system = Mat::from_fn(rows + k, k + 1, |i, j| {
        let column = if j < k { free[j] } else { n };
        if i < rows {
            return whole[(i, column)];
        }
        let scale = if j == i - rows { state.scales[free[j]] } else { return 0.0 };
        state.damping.sqrt() * if scale > 0.0 { scale } else { 1.0 }
    });
    let solved = solve(&triangle(system));
    let mut to = state.at.clone();
    let mut step = vec![0.0; n];
    for (j, by) in free.iter().zip(solved) {
        let (low, high) = bounds[*j];
        to.shared[*j] = (state.at.shared[*j] + by).clamp(low, high);
        step[*j] = to.shared[*j] - state.at.shared[*j];
    }
    let mut predicted = 0.0;
    for ((part, eliminated), local) in parts.iter().zip(&eliminated).zip(&mut to.locals) {
        let own = eliminated.local_step(&step);
        predicted += part.predicted(&step, &own);
        local.iter_mut().zip(&own).for_each(|(x, by)| *x += by);
    }
    Trial { to, predicted }
}
