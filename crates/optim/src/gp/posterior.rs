//! The Gaussian process given its data: mean and variance anywhere, for many points at once.
//!
//! With K = k(X, X) + σₙ² I = L Lᵀ and α = K⁻¹ (y − m) (Rasmussen and Williams, equations 2.25 and 2.26)
//!   mean(x) = m + k(x, X) α,   variance(x) = k(x, x) − |v|²,  v = L⁻¹ k(X, x).
//! Their gradients use ∂k/∂x = σ² κ' 2 (x − x')/ℓ² and w = L⁻ᵀ v: ∂variance = −2 Σ w ∂k. A batch of B points
//! costs one triangular solve of B columns, and a second one for gradients. The variance is that of the loss
//! without noise.

use faer::Mat;

use super::cholesky::Factor;
use super::kernel::{Kernel, Points, dot, weighted_differences};

/// What the kernel is scaled by.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyper {
    /// Length scale ℓ of every variable, in units of the box [−1, 1].
    pub scales: Vec<f64>,
    /// Variance σ² of the signal.
    pub signal: f64,
    /// Variance σₙ² of the noise.
    pub noise: f64,
}

/// What says how a loss may be at places not yet tried.
pub trait Predict {
    /// Means and standard deviations at `z`, with gradients if asked for.
    fn predict(&self, z: &[Vec<f64>], with_gradient: bool) -> Batch;
}

/// A Gaussian process that has seen data.
#[derive(Clone, Debug)]
pub struct Posterior {
    kernel: Kernel,
    hyper: Hyper,
    points: Points,
    factor: Factor,
    /// The constant mean m, the most likely one.
    mean: f64,
    /// K⁻¹ (y − m).
    alpha: Vec<f64>,
}

/// Prediction at several points.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Means.
    pub mean: Vec<f64>,
    /// Standard deviations.
    pub sd: Vec<f64>,
    /// Gradients of the means, one row per point; empty if not asked for.
    pub mean_gradient: Vec<Vec<f64>>,
    /// Gradients of the standard deviations.
    pub sd_gradient: Vec<Vec<f64>>,
}

/// Smallest variance that is divided by, relative to the signal.
pub(super) const SMALLEST_VARIANCE: f64 = 1e-14;

/// Writes the lower triangle of k(X, X) + σₙ² I.
pub fn covariance(kernel: Kernel, hyper: &Hyper, points: &Points, matrix: &mut Mat<f64>) {
    for j in 0..points.len() {
        let column = &mut matrix.col_as_slice_mut(j)[j..points.len()];
        points.squares(j, &points.get(j), &hyper.scales, column);
        kernel.apply_value(hyper.signal, column);
        column[0] += hyper.noise;
    }
}

impl Posterior {
    /// Conditions on values `y` at points; `None` if the covariance cannot be factored, which finite numbers
    /// do not bring about.
    pub fn new(kernel: Kernel, hyper: Hyper, points: Points, y: &[f64]) -> Option<Self> {
        let factor = Factor::new(points.len(), |matrix| covariance(kernel, &hyper, &points, matrix))?;
        Some(Posterior::with_factor(kernel, hyper, points, y, factor))
    }

    /// The same where the factor of the covariance of all points is at hand.
    pub(crate) fn with_factor(
        kernel: Kernel,
        hyper: Hyper,
        points: Points,
        y: &[f64],
        factor: Factor,
    ) -> Self {
        let mut posterior = Posterior { kernel, hyper, points, factor, mean: 0.0, alpha: Vec::new() };
        posterior.set_values(y);
        posterior
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }
    /// Whether there are no data.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
    /// The hyperparameters.
    pub fn hyper(&self) -> &Hyper {
        &self.hyper
    }
    /// The constant mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Adds a point; its value is given with all others by `Posterior::set_values`.
    pub fn append(&mut self, z: &[f64]) {
        let mut covariances = vec![0.0; self.len()];
        self.points.squares(0, z, &self.hyper.scales, &mut covariances);
        self.kernel.apply_value(self.hyper.signal, &mut covariances);
        self.factor.append(&covariances, self.hyper.signal + self.hyper.noise);
        self.points.push(z);
    }

    /// Gives the values at all points.
    pub(crate) fn set_values(&mut self, y: &[f64]) {
        (self.mean, self.alpha) = most_likely_mean(&self.factor, y, y.len());
    }

    /// Gradients of mean and standard deviation at `z`.
    fn gradients(&self, z: &[f64], sd: f64, slope: &[f64], w: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let of_mean: Vec<f64> = slope.iter().zip(&self.alpha).map(|(s, a)| s * a).collect();
        let of_variance: Vec<f64> = slope.iter().zip(w).map(|(s, w)| s * w).collect();
        let (mut mean, mut deviation) = (Vec::with_capacity(z.len()), Vec::with_capacity(z.len()));
        // Without data, or where the variance is cut off, the deviation is flat.
        let half = if sd * sd > SMALLEST_VARIANCE * self.hyper.signal { 0.5 / sd } else { 0.0 };
        for (k, (z, scale)) in z.iter().zip(&self.hyper.scales).enumerate() {
            let x = self.points.coordinate(k);
            // ∂k/∂z = σ² κ' 2 (z − x)/ℓ²
            let twice = 2.0 / (scale * scale);
            mean.push(twice * weighted_differences(&of_mean, x, *z));
            // ∂variance = −2 Σ w ∂k, ∂sd = ∂variance / (2 sd)
            deviation.push(-2.0 * half * twice * weighted_differences(&of_variance, x, *z));
        }
        (mean, deviation)
    }
}

impl Predict for Posterior {
    fn predict(&self, z: &[Vec<f64>], with_gradient: bool) -> Batch {
        let (n, b) = (self.len(), z.len());
        let signal = self.hyper.signal;
        let mut v = Mat::<f64>::zeros(n, b);
        let mut slopes = if with_gradient { Mat::<f64>::zeros(n, b) } else { Mat::new() };
        let mut batch = Batch::default();
        for (j, z) in z.iter().enumerate() {
            let k = &mut v.col_as_slice_mut(j)[..n];
            self.points.squares(0, z, &self.hyper.scales, k);
            if with_gradient {
                self.kernel.apply(signal, k, &mut slopes.col_as_slice_mut(j)[..n]);
            } else {
                self.kernel.apply_value(signal, k);
            }
            // m + k α
            batch.mean.push(self.mean + dot(k, &self.alpha));
        }
        self.factor.solve_lower(v.as_mut());
        for j in 0..b {
            let v = &v.col_as_slice(j)[..n];
            let variance = (signal - dot(v, v)).max(SMALLEST_VARIANCE * signal);
            batch.sd.push(variance.sqrt());
        }
        if with_gradient {
            self.factor.solve_upper(v.as_mut());
            for (j, z) in z.iter().enumerate() {
                let (slope, w) = (&slopes.col_as_slice(j)[..n], &v.col_as_slice(j)[..n]);
                let (mean, sd) = self.gradients(z, batch.sd[j], slope, w);
                batch.mean_gradient.push(mean);
                batch.sd_gradient.push(sd);
            }
        }
        batch
    }
}

/// m = 1ᵀK⁻¹y / 1ᵀK⁻¹1 and α = K⁻¹ (y − m 1), where 1 has ones for the first `values` of the data: what comes
/// after them are entries of gradients, whose mean is zero.
pub(crate) fn most_likely_mean(factor: &Factor, y: &[f64], values: usize) -> (f64, Vec<f64>) {
    let (mut alpha, mut ones) = (y.to_vec(), vec![0.0; y.len()]);
    ones[..values].fill(1.0);
    factor.solve(&mut alpha);
    factor.solve(&mut ones);
    let total: f64 = ones[..values].iter().sum();
    let mean = if total > 0.0 { alpha[..values].iter().sum::<f64>() / total } else { 0.0 };
    for (a, one) in alpha.iter_mut().zip(&ones) {
        *a -= mean * one;
    }
    (mean, alpha)
}
