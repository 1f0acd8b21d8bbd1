//! Laplace's approximation: errors, intervals and correlations of what was found.
//!
//! Around the minimum the misfit is a parabola with the curvature JᵀJ, so the unknowns scatter with the covariance
//! s² (JᵀJ)⁻¹, s² = |r|²/(m − n). It holds for noise that is independent and of the size that the residuals show. It is
//! computed in the searched variables; intervals go through the transforms, so that those of a positive quantity are
//! positive. Variables of single parts are eliminated first, so their errors are in those of the unknowns.
//!
//! Where there are many groups of parts, errors by groups are given beside these: H⁻¹ (Σ g gᵀ) H⁻¹ G/(G − 1), H = JᵀJ,
//! with the gradient g = Σ Jᵀr of each of G groups (Liang and Zeger 1986). They assume neither independence within a group
//! nor a model that is right: they say how far the best fit would move with other data of the same kind.
//!
//! Combinations that the data do not tell are left out of the covariance, and quantities in them have no error
//! (`identifiability.rs`).

use std::collections::BTreeMap;

use faer::Mat;
use pullback_core::StepError;
use serde::Serialize;

use super::gauss_newton::{eliminate, free_unknowns, linearize, shared_triangle};
use super::identifiability::{Untold, untold};
use super::problem::{LeastSquares, Place, residual_count};
use super::triangle::{Eliminated, column_norm};
use crate::search::t_quantile;

/// How far off a quantity may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Standard error.
    pub error: f64,
    /// Ends of the 95 % interval.
    pub interval: (f64, f64),
}

/// A quantity that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Where the search began.
    pub start: f64,
    /// Its value.
    pub value: f64,
    /// From the curvature of the misfit and the size of the residuals; none where the data do not tell the quantity.
    pub error: Option<Errors>,
    /// From the scatter of groups of parts, where there are enough.
    pub by_groups: Option<Errors>,
    /// Whether it ended on a bound with the misfit still falling beyond it.
    pub at_bound: bool,
}

/// What the data say at a minimum.
#[derive(Clone, Debug, Serialize)]
pub struct Laplace {
    /// The quantities.
    pub estimates: Vec<Estimate>,
    /// Correlations of their errors, row by row; none where a quantity is not told.
    pub correlations: Vec<Vec<Option<f64>>>,
    /// Combinations that the data do not tell.
    pub untold: Vec<Untold>,
    /// Relative standard errors of the independent combinations, the best told first; none where nothing is known.
    pub combinations: Vec<Option<f64>>,
    /// s², the mean square of the weighted residuals.
    pub variance: f64,
    /// Residuals.
    pub residuals: usize,
    /// Residuals less variables.
    pub freedom: usize,
    /// Groups of parts.
    pub groups: usize,
}

/// Errors by groups need so many groups more than there are unknowns.
const SPARE_GROUPS: usize = 3;
/// A quantity with more than this part of its own size in combinations that are not told is not told itself.
const IN_UNTOLD: f64 = 0.01;

/// Errors at a place, which should be a minimum.
pub fn laplace(problem: &dyn LeastSquares, at: &Place) -> Result<Laplace, StepError> {
    let unknowns = problem.unknowns();
    let n = unknowns.len();
    let parts = eliminate(&linearize(problem, at)?, 0.0);
    let triangle = shared_triangle(&parts, n);
    let bounds: Vec<(f64, f64)> = unknowns.iter().map(|u| u.bounds()).collect();
    let free = free_unknowns(&triangle, &at.shared, &bounds);
    let sizes: Vec<f64> = unknowns.iter().zip(&at.shared).map(|(u, z)| u.size(*z)).collect();

    // s² = |r|²/(m − n), at least 1 where that is known
    let locals: usize = (0..problem.parts()).map(|part| problem.locals(part)).sum();
    let residuals = residual_count(problem);
    let freedom = residuals.saturating_sub(free.len() + locals);
    let least = if problem.noise_is_known() { 1.0 } else { 0.0 };
    let variance = (column_norm(&triangle, n).powi(2) / freedom.max(1) as f64).max(least);

    // J diag(size) = U Σ Vᵀ: columns of V are combinations of relative changes.
    let spectrum = Spectrum::new(&triangle, &free, &sizes);
    let scatter = if freedom > 0 { variance.sqrt() } else { f64::INFINITY };
    let untold = untold(&spectrum.combinations(scatter), &free, unknowns);
    let told = spectrum.told(scatter);
    let missing = |i: usize| {
        let inside: f64 = spectrum.beyond(told).map(|k| spectrum.v[(i, k)].powi(2)).sum();
        inside.sqrt() > IN_UNTOLD
    };
    let covariance = spectrum.covariance(told, variance);

    let groups = group_gradients(problem, &parts, &free, &sizes);
    let enough = groups.len() >= free.len() + SPARE_GROUPS;
    let by_groups = enough.then(|| spectrum.sandwich(told, &groups));

    let place = |j: usize| free.iter().position(|f| *f == j);
    let errors = |j: usize, covariance: &Mat<f64>, freedom: f64| {
        let i = place(j).filter(|i| freedom > 0.0 && !missing(*i))?;
        let (z, error) = (at.shared[j], covariance[(i, i)].max(0.0).sqrt() * sizes[j]);
        let reach = t_quantile(freedom) * error;
        let ends = (unknowns[j].eval(z - reach).0, unknowns[j].eval(z + reach).0);
        Some(Errors { error: error * unknowns[j].eval(z).1.abs(), interval: ends })
    };
    let estimate = |j: usize| {
        let unknown = &unknowns[j];
        Estimate {
            name: unknown.quantity.name.clone(),
            unit: unknown.quantity.unit.clone().into_owned(),
            start: unknown.quantity.start,
            value: unknown.eval(at.shared[j]).0,
            error: errors(j, &covariance, freedom as f64),
            by_groups: by_groups.as_ref().and_then(|c| errors(j, c, groups.len() as f64 - 1.0)),
            at_bound: place(j).is_none(),
        }
    };
    let correlation = |a: usize, b: usize| {
        let (i, j) = (place(a).filter(|i| !missing(*i))?, place(b).filter(|j| !missing(*j))?);
        let both = covariance[(i, i)] * covariance[(j, j)];
        (both > 0.0).then(|| covariance[(i, j)] / both.sqrt())
    };
    Ok(Laplace {
        estimates: (0..n).map(estimate).collect(),
        correlations: (0..n).map(|a| (0..n).map(|b| correlation(a, b)).collect()).collect(),
        untold,
        combinations: spectrum.values.iter().map(|s| Some(scatter / s).filter(|x| x.is_finite())).collect(),
        variance,
        residuals,
        freedom,
        groups: groups.len(),
    })
}

/// Singular values and right singular vectors of the scaled Jacobian.
pub(super) struct Spectrum {
    values: Vec<f64>,
    v: Mat<f64>,
}

/// Below this part of the largest, a singular value is round-off.
const ROUND_OFF: f64 = 1e-7;
/// A combination with a larger relative standard error than this is not told.
const HOPELESS: f64 = 1.0;

/// A combination of relative changes that the data do not tell.
pub(super) struct Combination {
    /// A change per free unknown.
    pub change: Vec<f64>,
    /// Whether it leaves the data the same, or is lost in their noise.
    pub exact: bool,
}

impl Spectrum {
    fn new(triangle: &Mat<f64>, free: &[usize], sizes: &[f64]) -> Self {
        let k = free.len();
        // At least as many rows as columns, so that there is a vector for every column.
        let rows = triangle.nrows().max(k);
        let scaled = Mat::from_fn(rows, k, |i, j| {
            if i < triangle.nrows() { triangle[(i, free[j])] * sizes[free[j]] } else { 0.0 }
        });
        match scaled.thin_svd() {
            Ok(svd) if k > 0 => {
                let values = svd.S().column_vector();
                Spectrum { values: (0..k).map(|i| values[i]).collect(), v: svd.V().to_owned() }
            }
            // Without a decomposition nothing is told.
            _ => Spectrum { values: vec![0.0; k], v: Mat::identity(k, k) },
        }
    }

    /// How many combinations are told, given the standard deviation of the noise.
    fn told(&self, scatter: f64) -> usize {
        self.values.iter().take_while(|s| !self.exact(**s) && scatter / **s <= HOPELESS).count()
    }

    fn exact(&self, value: f64) -> bool {
        value <= ROUND_OFF * self.values.first().copied().unwrap_or(0.0)
    }

    fn beyond(&self, told: usize) -> impl Iterator<Item = usize> + use<> {
        told..self.values.len()
    }

    fn combinations(&self, scatter: f64) -> Vec<Combination> {
        let of = |k: usize| Combination {
            change: (0..self.v.nrows()).map(|i| self.v[(i, k)]).collect(),
            exact: self.exact(self.values[k]),
        };
        self.beyond(self.told(scatter)).map(of).collect()
    }

    /// V Σ⁻² Vᵀ over what is told.
    fn inverse(&self, told: usize) -> Mat<f64> {
        let entry = |i: usize, j: usize| {
            (0..told).map(|k| self.v[(i, k)] * self.v[(j, k)] / self.values[k].powi(2)).sum()
        };
        Mat::from_fn(self.v.nrows(), self.v.nrows(), entry)
    }

    fn covariance(&self, told: usize, variance: f64) -> Mat<f64> {
        let inverse = self.inverse(told);
        Mat::from_fn(inverse.nrows(), inverse.ncols(), |i, j| variance * inverse[(i, j)])
    }

    /// H⁻¹ (Σ g gᵀ) H⁻¹ G/(G − 1)
    fn sandwich(&self, told: usize, gradients: &[Vec<f64>]) -> Mat<f64> {
        let inverse = self.inverse(told);
        let (k, count) = (inverse.nrows(), gradients.len() as f64);
        let few = count / (count - 1.0);
        let scatter = Mat::from_fn(k, k, |i, j| few * gradients.iter().map(|g| g[i] * g[j]).sum::<f64>());
        &inverse * &scatter * &inverse
    }
}

/// g = Σ Jᵀ r over the parts of each group, by relative changes of the free unknowns.
fn group_gradients(
    problem: &dyn LeastSquares,
    parts: &[Eliminated],
    free: &[usize],
    sizes: &[f64],
) -> Vec<Vec<f64>> {
    let mut groups: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (part, eliminated) in parts.iter().enumerate() {
        let rows = &eliminated.tail;
        let r = rows.ncols() - 1;
        let group = groups.entry(problem.cluster(part)).or_insert_with(|| vec![0.0; free.len()]);
        for (g, j) in group.iter_mut().zip(free) {
            *g += sizes[*j] * (0..rows.nrows()).map(|i| rows[(i, *j)] * rows[(i, r)]).sum::<f64>();
        }
    }
    groups.into_values().collect()
}
