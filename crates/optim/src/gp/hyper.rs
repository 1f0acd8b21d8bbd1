//! Hyperparameters by maximum a posteriori: the marginal likelihood (Rasmussen and Williams, equations 5.8
//! and 5.9) with priors.
//!
//!   log p(y) = −½ (y − m)ᵀα − ½ ln det K − ½ n ln 2π,   ∂/∂θ = ½ Σ (αα − K⁻¹)ᵢⱼ ∂Kᵢⱼ/∂θ
//!
//! The constant mean m is always the most likely one, so it adds nothing to the gradient. Variables are ln ℓ,
//! ln σ² and ln σₙ². Priors are log-normal, as BoTorch's defaults: ℓ with location √2 + ½ ln d and scale √3
//! in the unit cube (Hvarfner and others, 2024; our box is twice as wide), σₙ² with −4 and 1; σ² has mode 1,
//! for standardized values. Their densities are those of ℓ, σ², σₙ² themselves.
//!
//! A fit ends when a step gains, or is expected to gain, less than 1e-7 of log density per point, 1e-4 in all
//! for a thousand points. A cold fit starts on a few hundred of the points, where several starts cost little,
//! and ends on all of them. Above [`FitConfig::shared_above`] variables all share one length scale: hundreds
//! of length scales cannot be told apart by as many points, and distances are then computed once per fit.

use faer::Mat;
use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_ranges};
use serde::{Deserialize, Serialize};

use super::cholesky::{Factor, factor_in_place, invert};
use super::kernel::{Kernel, Points, dot, weighted_squares};
use super::lbfgs::{LbfgsConfig, MEMORY, minimize};
use super::model::MOST_FACTORED;
use super::posterior::Hyper;
use crate::two_loop::Pairs;

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitConfig {
    /// Above this number of variables they share one length scale (50).
    pub shared_above: usize,
    /// A fit looks at no more points than this, drawn at random (1,500).
    pub most_points: usize,
    /// Points of the first stage of a cold fit (200).
    pub first_points: usize,
    /// Starts of the first stage, the first at the priors' modes (3).
    pub starts: usize,
    /// Steps of L-BFGS at most (60).
    pub max_steps: usize,
    /// Smallest variance of the noise (1e-6).
    pub noise_floor: f64,
}

impl Default for FitConfig {
    fn default() -> Self {
        FitConfig {
            shared_above: 50,
            most_points: 1500,
            first_points: 200,
            starts: 3,
            max_steps: 60,
            noise_floor: 1e-6,
        }
    }
}

impl FitConfig {
    /// Refuses a number that is out of its range; `name` is what the settings belong to.
    pub fn check(&self, name: &str) -> Result<(), ConfigError> {
        let points = Range::Within(2.0, MOST_FACTORED);
        let ranges = [
            ("most_points", self.most_points as f64, points),
            ("first_points", self.first_points as f64, points),
            ("starts", self.starts as f64, Range::Within(1.0, 1e4)),
            ("max_steps", self.max_steps as f64, Range::Within(0.0, 1e6)),
            // The noise is searched from here to ten times the variance of the losses.
            ("noise_floor", self.noise_floor, Range::Above(0.0, 1.0)),
        ];
        check_ranges(name, &ranges)
    }
}

/// A log-normal density: location and scale of the logarithm.
#[derive(Clone, Copy, Debug)]
struct LogNormal {
    location: f64,
    scale: f64,
}

impl LogNormal {
    /// Log density at e^t, and its derivative by t.
    fn log_density(self, t: f64) -> (f64, f64) {
        let u = (t - self.location) / self.scale;
        let constant = -self.scale.ln() - 0.5 * std::f64::consts::TAU.ln();
        (constant - t - 0.5 * u * u, -1.0 - u / self.scale)
    }
    /// Logarithm of the value with the highest density.
    fn mode(self) -> f64 {
        self.location - self.scale * self.scale
    }
}

fn scale_prior(dim: usize) -> LogNormal {
    // The box [−1, 1] is twice the unit cube.
    LogNormal { location: 2.0_f64.sqrt() + 0.5 * (dim as f64).ln() + 2.0_f64.ln(), scale: 3.0_f64.sqrt() }
}
const SIGNAL_PRIOR: LogNormal = LogNormal { location: 1.0, scale: 1.0 };
const NOISE_PRIOR: LogNormal = LogNormal { location: -4.0, scale: 1.0 };
/// Smallest and largest length scale.
const SCALES: (f64, f64) = (0.05, 1e3);
/// Smallest and largest signal variance.
const SIGNALS: (f64, f64) = (1e-3, 1e3);

/// Hyperparameters before any data: the modes of the priors.
pub fn prior_mode(dim: usize, config: &FitConfig) -> Hyper {
    Hyper {
        scales: vec![scale_prior(dim).mode().exp(); dim],
        signal: SIGNAL_PRIOR.mode().exp(),
        noise: NOISE_PRIOR.mode().exp().max(config.noise_floor),
    }
}

/// The objective of a fit, −(log p(y) + log priors)/n, with the memory to evaluate it many times.
pub struct Likelihood<'a> {
    kernel: Kernel,
    points: &'a Points,
    y: &'a [f64],
    shared: bool,
    /// Squared distances, kept when one length scale divides them all.
    squares: Option<Mat<f64>>,
    /// The covariance, then its factor.
    matrix: Mat<f64>,
    /// Where the factor is that of the covariance; nowhere if it could not be made.
    factored_at: Option<Vec<f64>>,
    inverse: Mat<f64>,
    slopes: Mat<f64>,
    scratch: Mat<f64>,
}

impl<'a> Likelihood<'a> {
    /// Of values `y` at points.
    pub fn new(kernel: Kernel, points: &'a Points, y: &'a [f64], config: &FitConfig) -> Self {
        let n = points.len();
        let shared = points.dim() > config.shared_above;
        let squares = shared.then(|| {
            let mut squares = Mat::zeros(n, n);
            let ones = vec![1.0; points.dim()];
            for j in 0..n {
                points.squares(j, &points.get(j), &ones, &mut squares.col_as_slice_mut(j)[j..n]);
            }
            squares
        });
        let square = || Mat::zeros(n, n);
        Likelihood {
            kernel,
            points,
            y,
            shared,
            squares,
            matrix: square(),
            factored_at: None,
            inverse: square(),
            slopes: square(),
            scratch: square(),
        }
    }

    /// Logarithms of hyperparameters: one ln ℓ or all of them, ln σ², ln σₙ².
    pub fn pack(&self, hyper: &Hyper) -> Vec<f64> {
        let scales = if self.shared { &hyper.scales[..1] } else { &hyper.scales[..] };
        scales.iter().chain([&hyper.signal, &hyper.noise]).map(|x| x.ln()).collect()
    }
    /// Hyperparameters from their logarithms.
    pub fn unpack(&self, theta: &[f64]) -> Hyper {
        let (scales, rest) = theta.split_at(theta.len() - 2);
        let scale = |k: usize| scales[if self.shared { 0 } else { k }].exp();
        Hyper {
            scales: (0..self.points.dim()).map(scale).collect(),
            signal: rest[0].exp(),
            noise: rest[1].exp(),
        }
    }

    fn bounds(&self, config: &FitConfig) -> Vec<(f64, f64)> {
        let logarithms = |(low, high): (f64, f64)| (low.ln(), high.ln());
        let count = if self.shared { 1 } else { self.points.dim() };
        let mut bounds = vec![logarithms(SCALES); count];
        bounds.extend([logarithms(SIGNALS), logarithms((config.noise_floor, 1e1))]);
        bounds
    }

    /// The objective and its gradient by the logarithms; infinite where the covariance cannot be factored.
    pub fn value_grad(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let n = self.points.len();
        let hyper = self.unpack(theta);
        self.fill(&hyper);
        self.factored_at = None;
        if !factor_in_place(self.matrix.as_mut()) {
            gradient.fill(0.0);
            return f64::INFINITY;
        }
        self.factored_at = Some(theta.to_vec());
        let log_determinant: f64 = (0..n).map(|i| 2.0 * self.matrix[(i, i)].ln()).sum();
        invert(self.matrix.as_ref(), self.inverse.as_mut(), self.scratch.as_mut());
        let (mean, alpha) = self.weights();

        // −log p(y)
        let fit: f64 = self.y.iter().zip(&alpha).map(|(y, a)| (y - mean) * a).sum();
        let mut value = 0.5 * (fit + log_determinant + n as f64 * std::f64::consts::TAU.ln());
        // ∂K/∂ln σₙ² = σₙ² I, and ∂K/∂ln σ² = K − σₙ² I
        let trace: f64 = (0..n).map(|i| self.inverse[(i, i)]).sum();
        let noise = hyper.noise * (dot(&alpha, &alpha) - trace);
        let count = gradient.len();
        gradient[count - 1] = -0.5 * noise;
        gradient[count - 2] = -0.5 * (fit - n as f64 - noise);
        self.scale_gradient(&hyper, &alpha, &mut gradient[..count - 2]);

        // Priors, each of its own variable.
        let prior = |k: usize| match count - k {
            1 => NOISE_PRIOR,
            2 => SIGNAL_PRIOR,
            _ => scale_prior(self.points.dim()),
        };
        for (k, (t, g)) in theta.iter().zip(gradient.iter_mut()).enumerate() {
            let (log_density, slope) = prior(k).log_density(*t);
            value -= log_density;
            *g = (*g - slope) / n as f64;
        }
        value / n as f64
    }

    /// Covariances into `matrix`, and their slopes σ² κ'.
    fn fill(&mut self, hyper: &Hyper) {
        let n = self.points.len();
        for j in 0..n {
            let column = &mut self.matrix.col_as_slice_mut(j)[j..n];
            match &self.squares {
                Some(squares) => {
                    let weight = 1.0 / (hyper.scales[0] * hyper.scales[0]);
                    let squares = &squares.col_as_slice(j)[j..n];
                    column.iter_mut().zip(squares).for_each(|(s, r)| *s = weight * r);
                }
                None => self.points.squares(j, &self.points.get(j), &hyper.scales, column),
            }
            self.kernel.apply(hyper.signal, column, &mut self.slopes.col_as_slice_mut(j)[j..n]);
            column[0] += hyper.noise;
        }
    }

    /// The most likely mean, and α = K⁻¹ (y − m), by the inverse at hand.
    fn weights(&self) -> (f64, Vec<f64>) {
        let n = self.points.len();
        let (mut alpha, mut ones) = (vec![0.0; n], vec![0.0; n]);
        // K⁻¹ y and K⁻¹ 1 from the lower triangle.
        for j in 0..n {
            let column = &self.inverse.col_as_slice(j)[j..n];
            alpha[j] += dot(&column[1..], &self.y[j + 1..]);
            ones[j] += column[1..].iter().sum::<f64>();
            let y = self.y[j];
            for ((a, one), k) in alpha[j..].iter_mut().zip(&mut ones[j..]).zip(column) {
                *a += k * y;
                *one += k;
            }
        }
        let mean = alpha.iter().sum::<f64>() / ones.iter().sum::<f64>();
        alpha.iter_mut().zip(&ones).for_each(|(a, one)| *a -= mean * one);
        (mean, alpha)
    }

    /// The factor of the covariance at θ, if that was the last to be evaluated.
    fn into_factor(self, theta: &[f64]) -> Option<Factor> {
        (self.factored_at.as_deref() == Some(theta)).then(|| Factor::from_lower(self.matrix))
    }

    /// −½ Σ (αα − K⁻¹) ∂K/∂ln ℓ, where ∂K/∂ln ℓ = −2 σ² κ' (x − x')²/ℓ².
    fn scale_gradient(&self, hyper: &Hyper, alpha: &[f64], gradient: &mut [f64]) {
        let n = self.points.len();
        gradient.fill(0.0);
        let mut w = vec![0.0; n];
        for j in 0..n {
            let w = &mut w[j..];
            let (slope, inverse) = (&self.slopes.col_as_slice(j)[j..n], &self.inverse.col_as_slice(j)[j..n]);
            for (((w, a), slope), inverse) in w.iter_mut().zip(&alpha[j..]).zip(slope).zip(inverse) {
                *w = (a * alpha[j] - inverse) * slope;
            }
            match &self.squares {
                Some(squares) => gradient[0] += dot(w, &squares.col_as_slice(j)[j..n]),
                None => {
                    for (k, g) in gradient.iter_mut().enumerate() {
                        let x = self.points.coordinate(k);
                        *g += weighted_squares(w, &x[j..], x[j]);
                    }
                }
            }
        }
        // Each pair once of two, and −½ · −2.
        for (g, scale) in gradient.iter_mut().zip(&hyper.scales) {
            *g *= 2.0 / (scale * scale);
        }
    }
}

/// An earlier fit that the next one begins from.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Its hyperparameters.
    pub hyper: Hyper,
    /// What it learned of the objective's curvature.
    pub pairs: Pairs,
}

/// What a fit found and did.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The hyperparameters, and what the next fit may begin from.
    pub start: Start,
    /// The objective reached, −(log p(y) + log priors)/n.
    pub objective: f64,
    /// Evaluations with all points.
    pub evaluations: usize,
    /// The factor of the covariance of all points, where the last evaluation left it.
    pub factor: Option<Factor>,
}

/// Fits to values `y` at points; `start` is an earlier fit to begin from.
pub fn fit(
    kernel: Kernel,
    points: &Points,
    y: &[f64],
    start: Option<&Start>,
    config: &FitConfig,
    random: &mut Random,
) -> Fit {
    if points.len() > config.most_points {
        let (points, y) = random_subset(points, y, config.most_points, random);
        return Fit { factor: None, ..fit(kernel, &points, &y, start, config, random) };
    }
    let Start { hyper, mut pairs } = match start {
        Some(start) => start.clone(),
        None => first_stage(kernel, points, y, config, random),
    };
    let mut likelihood = Likelihood::new(kernel, points, y, config);
    let (theta, bounds) = (likelihood.pack(&hyper), likelihood.bounds(config));
    let tolerances =
        LbfgsConfig { max_steps: config.max_steps, value_tolerance: 1e-7, gradient_tolerance: 1e-5 };
    let found =
        minimize(|theta, g| likelihood.value_grad(theta, g), &theta, &bounds, &mut pairs, &tolerances);
    let hyper = if found.value.is_finite() { likelihood.unpack(&found.x) } else { hyper };
    Fit {
        start: Start { hyper, pairs },
        objective: found.value,
        evaluations: found.evaluations,
        factor: likelihood.into_factor(&found.x),
    }
}

/// The best of several starts on a few of the points.
fn first_stage(kernel: Kernel, points: &Points, y: &[f64], config: &FitConfig, random: &mut Random) -> Start {
    let mode = prior_mode(points.dim(), config);
    let (points, y) = random_subset(points, y, config.first_points, random);
    let mut likelihood = Likelihood::new(kernel, &points, &y, config);
    let bounds = likelihood.bounds(config);
    let rough = LbfgsConfig { max_steps: 30, value_tolerance: 1e-5, gradient_tolerance: 1e-3 };
    let mut best = (f64::INFINITY, likelihood.pack(&mode), Pairs::new(MEMORY));
    for i in 0..config.starts.max(1) {
        let mut theta = likelihood.pack(&mode);
        if i > 0 {
            theta.iter_mut().for_each(|t| *t += random.normal());
        }
        let mut pairs = Pairs::new(MEMORY);
        let found = minimize(|theta, g| likelihood.value_grad(theta, g), &theta, &bounds, &mut pairs, &rough);
        if found.value < best.0 {
            best = (found.value, found.x, pairs);
        }
    }
    Start { hyper: likelihood.unpack(&best.1), pairs: best.2 }
}

/// At most `count` of the points, drawn at random, with their values.
fn random_subset(points: &Points, y: &[f64], count: usize, random: &mut Random) -> (Points, Vec<f64>) {
    let which = draw(points.len(), count, random);
    (points.subset(&which), which.iter().map(|i| y[*i]).collect())
}

/// At most `count` of the numbers below n, drawn at random, in order.
pub fn draw(n: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    for i in 0..count.min(n) {
        let j = i + (random.bits() % (n - i) as u64) as usize;
        all.swap(i, j);
    }
    all.truncate(count);
    all.sort_unstable();
    all
}
