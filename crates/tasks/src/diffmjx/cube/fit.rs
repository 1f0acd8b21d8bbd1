//! Identification: the side by Adam, chosen quantities by Gauss-Newton.
//!
//! Standard errors are from the covariance H⁻¹ (Σ gₜ gₜᵀ) H⁻¹ G / (G − 1), H = Jᵀ J, with the gradient gₜ = Σ Jₛᵀ rₛ of
//! each of G tosses (Liang and Zeger 1986). They assume neither residuals of one size nor independence within a toss
//! nor a model that is right: they say how far the best fit would move with other tosses of the same kind. They do
//! not say how far the best fit of a wrong model is from the truth.

use std::collections::BTreeMap;

use faer::Mat;
use faer::linalg::solvers::Solve;
use pullback_math::Dual;
use pullback_optim::methods::adam::{AdamConfig, AdamState};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::ExperimentError;
use super::{Cube, QUANTITIES, Quantity, RESIDUALS, SEGMENT, Segment, Simulator, Way};
use crate::part_log::PartLog;

/// The side after each step of Adam.
#[derive(Clone, Debug)]
pub struct Descent {
    /// How gradients were computed.
    pub way: Way,
    /// Sides, m; shorter if the search failed.
    pub sides: Vec<f64>,
}

/// Range of sides that the search stays in, m.
const SIDES: (f64, f64) = (0.04, 0.16);
/// Residuals of a segment.
const SEGMENT_RESIDUALS: usize = (SEGMENT - 1) * RESIDUALS;
/// First step of Adam, m.
const RATE: f64 = 0.002;

/// The side by Adam with the paper's settings, β = (0.5, 0.9); the step is halved every third of the way.
/// `log` holds losses and slopes by side; `part` names the segments there.
pub fn descend(
    (simulator, way, part): (&Simulator, Way, &str),
    segments: &[Segment],
    start: f64,
    steps: usize,
    log: &PartLog,
) -> Result<Descent, ExperimentError> {
    let (middle, half) = (0.5 * (SIDES.0 + SIDES.1), 0.5 * (SIDES.1 - SIDES.0));
    let config = AdamConfig { beta1: 0.5, beta2: 0.9, ..AdamConfig::default() };
    let (mut adam, mut z) = (AdamState::new(1), [(start - middle) / half]);
    let mut sides = vec![start];
    for step in 0..steps {
        let mut cube = Cube::default();
        cube.values[0] = middle + half * z[0];
        let part = format!("cube {part} by {}, side {:?}", way.name(), cube.values[0]);
        let (loss, slope) = log.part(&part, || {
            let (loss, gradient) = simulator.loss_gradient(segments, &cube)?;
            Ok::<(f64, f64), ExperimentError>((loss, gradient.values[0]))
        })?;
        let rate = RATE / half * 0.5f64.powi((3 * step / steps) as i32);
        // What is round-off of the free flight is no gradient.
        let slope = slope * half;
        adam.step(&config, rate, &mut z, &[if slope.abs() > 1e-9 * loss { slope } else { 0.0 }]);
        sides.push(middle + half * z[0]);
    }
    Ok(Descent { way, sides })
}

/// What Gauss-Newton found for one quantity.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Estimate {
    /// Which.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// Standard error; none where the motion does not depend on it, or where all segments are of one toss.
    pub error: Option<f64>,
}

/// The result of Gauss-Newton.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fit {
    /// All quantities.
    pub estimates: Vec<Estimate>,
    /// Correlations of those that can be told, row by row.
    pub correlations: Vec<Vec<f64>>,
    /// Which these are.
    pub told: Vec<Quantity>,
    /// The cube.
    pub cube: Cube<f64>,
    /// Root mean square of the residuals, m: before, after, and after on segments that were held back.
    pub misfits: [f64; 3],
    /// Steps taken.
    pub iterations: usize,
    /// Tosses that the segments are from.
    pub tosses: usize,
}

/// Residuals of some segments, and their derivatives by the quantities listed; those by others are zero.
fn linearize(
    simulator: &Simulator,
    segments: &[Segment],
    cube: &Cube<f64>,
    by: &[Quantity],
) -> Result<(Vec<f64>, Vec<Vec<f64>>), ExperimentError> {
    let columns: Result<Vec<Vec<Dual<f64>>>, ExperimentError> = (0..QUANTITIES.len())
        .map(|quantity| {
            if quantity > 0 && !by.contains(&QUANTITIES[quantity]) {
                return Ok(vec![Dual::new(0.0, 0.0); segments.len() * SEGMENT_RESIDUALS]);
            }
            let parts: Result<Vec<_>, ExperimentError> =
                segments.par_iter().map(|segment| simulator.residuals(segment, cube, quantity)).collect();
            Ok(parts?.concat())
        })
        .collect();
    let columns = columns?;
    let residuals = columns[0].iter().map(|x| x.value).collect();
    Ok((residuals, columns.iter().map(|c| c.iter().map(|x| x.tangent).collect()).collect()))
}

fn root_mean_square(x: &[f64]) -> f64 {
    (x.iter().map(|x| x * x).sum::<f64>() / x.len().max(1) as f64).sqrt()
}

/// Fits some quantities by Gauss-Newton with Levenberg's damping in logarithms, the floor in meters. Segments come
/// as those to fit and those to judge the fit by. Quantities whose column of the Jacobian is zero to round-off keep
/// their value.
pub fn fit(
    simulator: &Simulator,
    (segments, held_back): (&[Segment], &[Segment]),
    start: Cube<f64>,
    fitted: &[Quantity],
    most: usize,
) -> Result<Fit, ExperimentError> {
    // Logarithms keep positive what is positive; the floor is a height.
    let is_length = |i: usize| QUANTITIES[i] == Quantity::Floor;
    let scale = |cube: &Cube<f64>, i: usize| if is_length(i) { 0.01 } else { cube.values[i] };
    let mut cube = start;
    let (mut residuals, mut jacobian) = linearize(simulator, segments, &cube, fitted)?;
    let before = root_mean_square(&residuals);
    let (mut damping, mut iterations) = (1e-3, 0);
    let told_at = |jacobian: &[Vec<f64>], cube: &Cube<f64>| -> Vec<usize> {
        let size = |i: usize| root_mean_square(&jacobian[i]) * scale(cube, i);
        let largest = (0..QUANTITIES.len()).map(size).fold(0.0, f64::max);
        let may = |i: &usize| fitted.contains(&QUANTITIES[*i]) && size(*i) > 1e-7 * largest;
        (0..QUANTITIES.len()).filter(may).collect()
    };
    for _ in 0..most {
        iterations += 1;
        let told = told_at(&jacobian, &cube);
        let column = |i: usize, row: usize| jacobian[told[i]][row] * scale(&cube, told[i]);
        let n = told.len();
        let normal = Mat::from_fn(n, n, |i, j| {
            let sum: f64 = (0..residuals.len()).map(|r| column(i, r) * column(j, r)).sum();
            if i == j { sum * (1.0 + damping) } else { sum }
        });
        let step = Mat::from_fn(n, 1, |i, _| {
            -(0..residuals.len()).map(|r| column(i, r) * residuals[r]).sum::<f64>()
        });
        let step = normal.partial_piv_lu().solve(&step);
        let mut next = cube;
        for (i, &quantity) in told.iter().enumerate() {
            let by = step[(i, 0)].clamp(-0.5, 0.5);
            let value = &mut next.values[quantity];
            *value = if is_length(quantity) { *value + 0.01 * by } else { *value * by.exp() };
        }
        match linearize(simulator, segments, &next, fitted) {
            Ok((r, j)) if root_mean_square(&r) < root_mean_square(&residuals) => {
                let gain = 1.0 - root_mean_square(&r) / root_mean_square(&residuals);
                (cube, residuals, jacobian) = (next, r, j);
                damping = (damping * 0.3f64).max(1e-9);
                if gain < 1e-5 {
                    break;
                }
            }
            _ => damping *= 10.0,
        }
        if damping > 1e6 {
            break;
        }
    }
    let told: Vec<usize> = told_at(&jacobian, &cube);
    let n = told.len();
    let column = |i: usize, row: usize| jacobian[told[i]][row] * scale(&cube, told[i]);
    let normal =
        Mat::from_fn(n, n, |i, j| (0..residuals.len()).map(|r| column(i, r) * column(j, r)).sum::<f64>());
    let inverse = normal.partial_piv_lu().solve(&Mat::<f64>::identity(n, n));
    // gₜ = Σ Jₛᵀ rₛ over the segments of each toss
    let mut pulls: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (s, segment) in segments.iter().enumerate() {
        let rows = s * SEGMENT_RESIDUALS..(s + 1) * SEGMENT_RESIDUALS;
        let pull = pulls.entry(segment.toss).or_insert_with(|| vec![0.0; n]);
        for (i, pull) in pull.iter_mut().enumerate() {
            *pull += rows.clone().map(|r| column(i, r) * residuals[r]).sum::<f64>();
        }
    }
    // H⁻¹ (Σ gₜ gₜᵀ) H⁻¹ G / (G − 1)
    let tosses = pulls.len();
    let few = tosses as f64 / (tosses as f64 - 1.0);
    let scatter = Mat::from_fn(n, n, |i, j| few * pulls.values().map(|g| g[i] * g[j]).sum::<f64>());
    let covariance = &inverse * &scatter * &inverse;
    let deviation = |i: usize| covariance[(i, i)].sqrt();
    let estimates = (0..QUANTITIES.len())
        .filter(|quantity| fitted.contains(&QUANTITIES[*quantity]))
        .map(|quantity| {
            let place = told.iter().position(|t| *t == quantity);
            let error = place.map(|i| deviation(i) * scale(&cube, quantity)).filter(|e| e.is_finite());
            Estimate { quantity: QUANTITIES[quantity], value: cube.values[quantity], error }
        })
        .collect();
    let correlations = (0..n)
        .map(|i| (0..n).map(|j| covariance[(i, j)] / (deviation(i) * deviation(j))).collect())
        .collect();
    let held = linearize(simulator, held_back, &cube, &[])?.0;
    let misfits = [before, root_mean_square(&residuals), root_mean_square(&held)];
    let told = told.iter().map(|i| QUANTITIES[*i]).collect();
    Ok(Fit { estimates, correlations, told, cube, misfits, iterations, tosses })
}
