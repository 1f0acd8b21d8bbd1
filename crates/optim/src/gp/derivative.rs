//! A Gaussian process that has also seen gradients, with the squared exponential kernel.
//!
//! Values and gradients of n points in d variables are n (d + 1) joint normal numbers. With r = x − x' and Λ = diag(1/ℓ²)
//!   cov(f, f') = k,   cov(∂f, f') = −k Λ r,   cov(f, ∂f') = k Λ r,   cov(∂f, ∂f') = k (Λ − Λ r rᵀ Λ)
//! (Rasmussen and Williams, equation 9.1). The cost is (n (d + 1))³/3 once, so it is for a few hundred numbers, where
//! each gradient is worth d values.

use faer::Mat;

use super::cholesky::Factor;
use super::kernel::{Kernel, dot};
use super::posterior::Hyper;

/// The posterior given values and gradients.
#[derive(Clone, Debug)]
pub struct GradientPosterior {
    hyper: Hyper,
    points: Vec<Vec<f64>>,
    factor: Factor,
    mean: f64,
    alpha: Vec<f64>,
}

impl GradientPosterior {
    /// Conditions on values and gradients at points; the mean of the process is the mean of the values. The noise of a gradient's
    /// entry is that of the values over ℓ², which is the same relative to its own variance σ²/ℓ². `None` if the
    /// covariance cannot be factored, as where an entry is not a number.
    pub fn new(hyper: Hyper, points: Vec<Vec<f64>>, y: &[f64], gradients: &[Vec<f64>]) -> Option<Self> {
        let (n, d) = (points.len(), hyper.scales.len());
        let factor = Factor::new(n * (d + 1), |matrix| fill(&hyper, &points, matrix))?;
        let mean = y.iter().sum::<f64>() / n.max(1) as f64;
        let pairs = y.iter().zip(gradients);
        let mut alpha: Vec<f64> =
            pairs.flat_map(|(y, gradient)| [y - mean].into_iter().chain(gradient.iter().copied())).collect();
        factor.solve(&mut alpha);
        Some(GradientPosterior { hyper, points, factor, mean, alpha })
    }

    /// Mean and standard deviation at `z`.
    pub fn predict(&self, z: &[f64]) -> (f64, f64) {
        let d = z.len();
        let mut k = Vec::with_capacity(self.alpha.len());
        let mut block = vec![vec![0.0; d + 1]; d + 1];
        for x in &self.points {
            joint(&self.hyper, z, x, &mut block);
            k.extend_from_slice(&block[0]);
        }
        let mean = self.mean + dot(&k, &self.alpha);
        let mut v = k;
        let n = v.len();
        self.factor.solve_lower(faer::MatMut::from_column_major_slice_mut(&mut v, n, 1));
        (mean, (self.hyper.signal - dot(&v, &v)).max(0.0).sqrt())
    }
}

/// Covariance of (f, ∂f) at `x` with (f, ∂f) at `other`.
fn joint(hyper: &Hyper, x: &[f64], other: &[f64], block: &mut [Vec<f64>]) {
    // Λ r
    let differences = x.iter().zip(other).zip(&hyper.scales);
    let pull: Vec<f64> = differences.map(|((x, other), scale)| (x - other) / (scale * scale)).collect();
    let s: f64 = pull.iter().zip(&hyper.scales).map(|(p, scale)| (p * scale).powi(2)).sum();
    let k = hyper.signal * Kernel::SquaredExponential.shape(s).0;
    block[0][0] = k;
    for a in 0..x.len() {
        block[a + 1][0] = -k * pull[a];
        block[0][a + 1] = k * pull[a];
        for b in 0..x.len() {
            let own = if a == b { 1.0 / (hyper.scales[a] * hyper.scales[a]) } else { 0.0 };
            block[a + 1][b + 1] = k * (own - pull[a] * pull[b]);
        }
    }
}

/// The lower triangle of the joint covariance, with noise.
fn fill(hyper: &Hyper, points: &[Vec<f64>], matrix: &mut Mat<f64>) {
    let size = hyper.scales.len() + 1;
    let mut block = vec![vec![0.0; size]; size];
    for (i, x) in points.iter().enumerate() {
        for (j, other) in points[..=i].iter().enumerate() {
            joint(hyper, x, other, &mut block);
            for (a, row) in block.iter().enumerate() {
                for (b, k) in row.iter().enumerate() {
                    matrix[(i * size + a, j * size + b)] = *k;
                }
            }
        }
        matrix[(i * size, i * size)] += hyper.noise;
        for (a, scale) in hyper.scales.iter().enumerate() {
            matrix[(i * size + a + 1, i * size + a + 1)] += hyper.noise / (scale * scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp::kernel::Points;
    use crate::gp::posterior::Posterior;
    use pullback_core::random::Random;

    /// A smooth function of three variables with its gradient.
    fn smooth(z: &[f64]) -> (f64, Vec<f64>) {
        let value = (1.5 * z[0]).sin() * z[1] + 0.5 * z[2] * z[2];
        (value, vec![1.5 * (1.5 * z[0]).cos() * z[1], (1.5 * z[0]).sin(), z[2]])
    }

    fn data(n: usize) -> (Vec<Vec<f64>>, Vec<f64>, Vec<Vec<f64>>) {
        let mut random = Random::new(4);
        let points: Vec<Vec<f64>> =
            (0..n).map(|_| (0..3).map(|_| random.uniform(-1.0, 1.0)).collect()).collect();
        let (y, gradients) = points.iter().map(|z| smooth(z)).unzip();
        (points, y, gradients)
    }

    fn hyper() -> Hyper {
        Hyper { scales: vec![1.2, 1.5, 1.5], signal: 1.0, noise: 1e-6 }
    }

    #[test]
    fn gradients_make_predictions_better_and_surer() {
        let (points, y, gradients) = data(12);
        let with = GradientPosterior::new(hyper(), points.clone(), &y, &gradients).unwrap();
        let mut list = Points::new(3);
        points.iter().for_each(|z| list.push(z));
        let without = Posterior::new(Kernel::SquaredExponential, hyper(), list, &y).unwrap();
        let mut random = Random::new(5);
        let (mut with_error, mut without_error) = (0.0, 0.0);
        for _ in 0..200 {
            let z: Vec<f64> = (0..3).map(|_| random.uniform(-1.0, 1.0)).collect();
            let ((mean, sd), batch) = (with.predict(&z), without.predict(std::slice::from_ref(&z), false));
            with_error += (mean - smooth(&z).0).powi(2);
            without_error += (batch.mean[0] - smooth(&z).0).powi(2);
            assert!(sd <= batch.sd[0] + 1e-9);
        }
        assert!(with_error < 0.05 * without_error, "{with_error} {without_error}");
    }

    #[test]
    fn the_prediction_passes_through_values_with_the_given_slopes() {
        let (points, y, gradients) = data(8);
        let hyper = Hyper { noise: 1e-10, ..hyper() };
        let posterior = GradientPosterior::new(hyper, points.clone(), &y, &gradients).unwrap();
        for (z, (y, gradient)) in points.iter().zip(y.iter().zip(&gradients)) {
            assert!((posterior.predict(z).0 - y).abs() < 1e-4);
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut z = z.clone();
                    z[k] += by;
                    posterior.predict(&z).0
                };
                let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                assert!((slope - gradient[k]).abs() < 1e-3, "{slope} {}", gradient[k]);
            }
        }
    }

    #[test]
    fn covariances_of_gradients_are_differences_of_covariances() {
        let (x, other, hyper, h) = ([0.3, -0.4, 0.1], [-0.2, 0.5, 0.6], hyper(), 1e-4);
        let mut block = vec![vec![0.0; 4]; 4];
        joint(&hyper, &x, &other, &mut block);
        let k = |dx: [f64; 3], dy: [f64; 3]| {
            let mut block = vec![vec![0.0; 4]; 4];
            let add = |p: [f64; 3], d: [f64; 3]| [p[0] + d[0], p[1] + d[1], p[2] + d[2]];
            joint(&hyper, &add(x, dx), &add(other, dy), &mut block);
            block[0][0]
        };
        for a in 0..3 {
            let unit = |a: usize, by: f64| std::array::from_fn(|i| if i == a { by } else { 0.0 });
            let zero = [0.0; 3];
            let by_x = (k(unit(a, h), zero) - k(unit(a, -h), zero)) / (2.0 * h);
            let by_other = (k(zero, unit(a, h)) - k(zero, unit(a, -h))) / (2.0 * h);
            assert!((block[a + 1][0] - by_x).abs() < 1e-7 && (block[0][a + 1] - by_other).abs() < 1e-7);
            for b in 0..3 {
                let ahead = k(unit(a, h), unit(b, h)) - k(unit(a, h), unit(b, -h));
                let back = k(unit(a, -h), unit(b, h)) - k(unit(a, -h), unit(b, -h));
                let numeric = (ahead - back) / (4.0 * h * h);
                assert!((block[a + 1][b + 1] - numeric).abs() < 1e-6, "{a} {b}");
            }
        }
    }
}
