//! A Gaussian process that has also seen gradients.
//!
//! Values at n points and gradients at m of them, in d variables, are n + m d joint normal numbers. With k =
//! σ² κ(s), r = x − x' and Λ = diag(1/ℓ²) (Rasmussen and Williams, section 9.4)
//!   cov(∂f, f') = 2 σ² κ' Λ r,   cov(f, ∂f') = −2 σ² κ' Λ r,   cov(∂f, ∂f') = −2 σ² κ' Λ − 4 σ² κ'' Λ r rᵀ Λ.
//! The cost is (n + m d)³/3 once, so it is for some thousand numbers, where each gradient is worth d values.

use faer::Mat;

use super::cholesky::Factor;
use super::kernel::{Kernel, Points, dot};
use super::posterior::{Batch, Hyper, Predict, SMALLEST_VARIANCE, covariance, most_likely_mean};

/// A gradient at one of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Slope {
    /// Which point.
    pub point: usize,
    /// The gradient there.
    pub gradient: Vec<f64>,
}

/// The posterior given values and gradients.
#[derive(Clone, Debug)]
pub struct GradientPosterior {
    kernel: Kernel,
    hyper: Hyper,
    points: Points,
    /// Points that have a gradient.
    sloped: Vec<Vec<f64>>,
    factor: Factor,
    mean: f64,
    alpha: Vec<f64>,
}

/// What the derivatives of the covariance between two points are made of.
struct Pair {
    /// Λ r.
    pull: Vec<f64>,
    /// 2 σ² κ'.
    first: f64,
    /// 4 σ² κ''.
    second: f64,
}

impl Pair {
    fn new(kernel: Kernel, hyper: &Hyper, x: &[f64], other: &[f64]) -> Self {
        let differences = x.iter().zip(other).zip(&hyper.scales);
        let pull: Vec<f64> = differences.map(|((x, other), scale)| (x - other) / (scale * scale)).collect();
        let s: f64 = pull.iter().zip(&hyper.scales).map(|(p, scale)| (p * scale).powi(2)).sum();
        let (first, second) = (2.0 * hyper.signal * kernel.shape(s).1, 4.0 * hyper.signal * kernel.second(s));
        Pair { pull, first, second }
    }

    /// cov(f, ∂f').
    fn value_by_slope(&self) -> impl Iterator<Item = f64> + '_ {
        self.pull.iter().map(|p| -self.first * p)
    }

    /// Entry (a, b) of cov(∂f, ∂f').
    fn slope_by_slope(&self, hyper: &Hyper, a: usize, b: usize) -> f64 {
        let own = if a == b { self.first / (hyper.scales[a] * hyper.scales[a]) } else { 0.0 };
        -own - self.second * self.pull[a] * self.pull[b]
    }

    /// to ← to + cov(∂f, ∂f') u.
    fn add_slopes(&self, hyper: &Hyper, u: &[f64], to: &mut [f64]) {
        let along = self.second * dot(&self.pull, u);
        for (((to, u), pull), scale) in to.iter_mut().zip(u).zip(&self.pull).zip(&hyper.scales) {
            *to -= self.first * u / (scale * scale) + along * pull;
        }
    }
}

impl GradientPosterior {
    /// Conditions on values `y` at points and on gradients at some of them. The noise of a gradient's entry,
    /// relative to its variance, is `gradient_noise` or that of the values if this is more. `None` if the
    /// covariance cannot be factored, as where an entry is not a number.
    pub fn new(
        kernel: Kernel,
        hyper: Hyper,
        points: Points,
        y: &[f64],
        slopes: &[Slope],
        gradient_noise: f64,
    ) -> Option<Self> {
        let (n, d) = (points.len(), points.dim());
        let sloped: Vec<Vec<f64>> = slopes.iter().map(|slope| points.get(slope.point)).collect();
        let factor = Factor::new(n + slopes.len() * d, |matrix| {
            covariance(kernel, &hyper, &points, matrix);
            slope_covariance(kernel, &hyper, &points, &sloped, matrix);
            let noise = gradient_noise.max(hyper.noise / hyper.signal);
            for (i, variance) in (n..).zip(slope_variances(kernel, &hyper).cycle().take(sloped.len() * d)) {
                matrix[(i, i)] += noise * variance;
            }
        })?;
        let entries = slopes.iter().flat_map(|slope| slope.gradient.iter());
        let data: Vec<f64> = y.iter().chain(entries).copied().collect();
        let (mean, alpha) = most_likely_mean(&factor, &data, n);
        Some(GradientPosterior { kernel, hyper, points, sloped, factor, mean, alpha })
    }

    /// Covariances of the loss at `z` with all data.
    fn covariances(&self, z: &[f64], k: &mut [f64]) {
        let (values, slopes) = k.split_at_mut(self.points.len());
        self.points.squares(0, z, &self.hyper.scales, values);
        self.kernel.apply_value(self.hyper.signal, values);
        for (x, k) in self.sloped.iter().zip(slopes.chunks_mut(z.len())) {
            let pair = Pair::new(self.kernel, &self.hyper, z, x);
            k.iter_mut().zip(pair.value_by_slope()).for_each(|(k, c)| *k = c);
        }
    }

    /// Σ u ∂k/∂z over all data.
    fn pull_back(&self, z: &[f64], u: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; z.len()];
        let (values, slopes) = u.split_at(self.points.len());
        for (i, u) in values.iter().enumerate() {
            let pair = Pair::new(self.kernel, &self.hyper, z, &self.points.get(i));
            gradient.iter_mut().zip(&pair.pull).for_each(|(g, p)| *g += u * pair.first * p);
        }
        for (x, u) in self.sloped.iter().zip(slopes.chunks(z.len())) {
            Pair::new(self.kernel, &self.hyper, z, x).add_slopes(&self.hyper, u, &mut gradient);
        }
        gradient
    }
}

impl Predict for GradientPosterior {
    fn predict(&self, z: &[Vec<f64>], with_gradient: bool) -> Batch {
        let (size, signal) = (self.alpha.len(), self.hyper.signal);
        let mut v = Mat::<f64>::zeros(size, z.len());
        let mut batch = Batch::default();
        for (j, z) in z.iter().enumerate() {
            let k = &mut v.col_as_slice_mut(j)[..size];
            self.covariances(z, k);
            batch.mean.push(self.mean + dot(k, &self.alpha));
        }
        self.factor.solve_lower(v.as_mut());
        for j in 0..z.len() {
            let v = &v.col_as_slice(j)[..size];
            batch.sd.push((signal - dot(v, v)).max(SMALLEST_VARIANCE * signal).sqrt());
        }
        if with_gradient {
            self.factor.solve_upper(v.as_mut());
            for (j, z) in z.iter().enumerate() {
                batch.mean_gradient.push(self.pull_back(z, &self.alpha));
                // ∂variance = −2 Σ w ∂k, ∂sd = ∂variance / (2 sd), and flat where the variance is cut off
                let sd = batch.sd[j];
                let share = if sd * sd > SMALLEST_VARIANCE * signal { -1.0 / sd } else { 0.0 };
                let of_variance = self.pull_back(z, &v.col_as_slice(j)[..size]);
                batch.sd_gradient.push(of_variance.iter().map(|g| share * g).collect());
            }
        }
        batch
    }
}

/// Variance of each entry of a gradient that is not known: −2 σ² κ'(0)/ℓ².
fn slope_variances(kernel: Kernel, hyper: &Hyper) -> impl Iterator<Item = f64> + Clone + '_ {
    let steepness = -2.0 * hyper.signal * kernel.shape(0.0).1;
    hyper.scales.iter().map(move |scale| steepness / (scale * scale))
}

/// Noise of gradients relative to their variance, for [`GradientPosterior::new`]. A process whose length
/// scales were fitted to values has a variance of its gradient. Gradients of the same landscape have that
/// variance. Where most of them are larger, as among ripples that the values cannot resolve, the excess is
/// noise.
pub fn gradient_noise(kernel: Kernel, hyper: &Hyper, slopes: &[Slope]) -> f64 {
    let steepness = |slope: &Slope| {
        let squares = slope.gradient.iter().zip(slope_variances(kernel, hyper)).map(|(g, v)| g * g / v);
        squares.sum::<f64>() / slope.gradient.len() as f64
    };
    let mut all: Vec<f64> = slopes.iter().map(steepness).collect();
    all.sort_by(f64::total_cmp);
    // E g² = variance (1 + gradient_noise)
    all.get(all.len() / 2).map_or(0.0, |median| (median - 1.0).max(0.0))
}

/// Writes the rows of gradients below those of the values, without noise.
fn slope_covariance(
    kernel: Kernel,
    hyper: &Hyper,
    points: &Points,
    sloped: &[Vec<f64>],
    matrix: &mut Mat<f64>,
) {
    let (n, d) = (points.len(), points.dim());
    for j in 0..n {
        let value_at = points.get(j);
        for (i, x) in sloped.iter().enumerate() {
            let pair = Pair::new(kernel, hyper, &value_at, x);
            for (a, k) in pair.value_by_slope().enumerate() {
                matrix[(n + i * d + a, j)] = k;
            }
        }
    }
    for (j, other) in sloped.iter().enumerate() {
        for (i, x) in sloped.iter().enumerate().skip(j) {
            let pair = Pair::new(kernel, hyper, x, other);
            for b in 0..d {
                for a in 0..d {
                    matrix[(n + i * d + a, n + j * d + b)] = pair.slope_by_slope(hyper, a, b);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp::posterior::Posterior;
    use pullback_core::random::Random;

    const KERNELS: [Kernel; 2] = [Kernel::SquaredExponential, Kernel::Matern52];

    /// A smooth function of three variables with its gradient.
    fn smooth(z: &[f64]) -> (f64, Vec<f64>) {
        let value = (1.5 * z[0]).sin() * z[1] + 0.5 * z[2] * z[2];
        (value, vec![1.5 * (1.5 * z[0]).cos() * z[1], (1.5 * z[0]).sin(), z[2]])
    }

    /// Points, values, and gradients at every first, second or third of them, as asked for.
    fn data(n: usize, every: usize) -> (Points, Vec<f64>, Vec<Slope>) {
        let mut random = Random::new(4);
        let (mut points, mut y, mut slopes) = (Points::new(3), Vec::new(), Vec::new());
        for point in 0..n {
            let z: Vec<f64> = (0..3).map(|_| random.uniform(-1.0, 1.0)).collect();
            let (value, gradient) = smooth(&z);
            points.push(&z);
            y.push(value);
            if point % every == 0 {
                slopes.push(Slope { point, gradient });
            }
        }
        (points, y, slopes)
    }

    fn hyper(noise: f64) -> Hyper {
        Hyper { scales: vec![1.2, 1.5, 1.5], signal: 1.0, noise }
    }

    fn moved(z: &[f64], k: usize, by: f64) -> Vec<f64> {
        let mut z = z.to_vec();
        z[k] += by;
        z
    }

    #[test]
    fn gradients_make_predictions_better_and_surer() {
        for (kernel, share) in KERNELS.into_iter().zip([0.05, 0.5]) {
            let (points, y, slopes) = data(12, 1);
            let with = GradientPosterior::new(kernel, hyper(1e-6), points.clone(), &y, &slopes, 0.0).unwrap();
            let without = Posterior::new(kernel, hyper(1e-6), points, &y).unwrap();
            let mut random = Random::new(5);
            let z: Vec<Vec<f64>> =
                (0..200).map(|_| (0..3).map(|_| random.uniform(-1.0, 1.0)).collect()).collect();
            let (with, without) = (with.predict(&z, false), without.predict(&z, false));
            let error = |batch: &Batch| -> f64 {
                z.iter().zip(&batch.mean).map(|(z, mean)| (mean - smooth(z).0).powi(2)).sum()
            };
            assert!(error(&with) < share * error(&without), "{} {}", error(&with), error(&without));
            assert!(with.sd.iter().zip(&without.sd).all(|(with, without)| *with <= without + 1e-9));
        }
    }

    #[test]
    fn without_gradients_it_is_the_plain_posterior() {
        let (points, y, _) = data(9, 1);
        for kernel in KERNELS {
            let plain = Posterior::new(kernel, hyper(1e-4), points.clone(), &y).unwrap();
            let ours = GradientPosterior::new(kernel, hyper(1e-4), points.clone(), &y, &[], 0.0).unwrap();
            let z = [vec![0.3, -0.2, 0.7], vec![-0.9, 0.1, 0.0]];
            let (plain, ours) = (plain.predict(&z, true), ours.predict(&z, true));
            for j in 0..2 {
                assert!((plain.mean[j] - ours.mean[j]).abs() < 1e-11);
                assert!((plain.sd[j] - ours.sd[j]).abs() < 1e-11);
                for k in 0..3 {
                    assert!((plain.mean_gradient[j][k] - ours.mean_gradient[j][k]).abs() < 1e-10);
                    assert!((plain.sd_gradient[j][k] - ours.sd_gradient[j][k]).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn the_prediction_passes_through_values_with_the_given_slopes() {
        for kernel in KERNELS {
            let (points, y, slopes) = data(12, 2);
            let posterior =
                GradientPosterior::new(kernel, hyper(1e-10), points.clone(), &y, &slopes, 0.0).unwrap();
            for slope in &slopes {
                let batch = posterior.predict(&[points.get(slope.point)], true);
                assert!((batch.mean[0] - y[slope.point]).abs() < 1e-4);
                for (got, given) in batch.mean_gradient[0].iter().zip(&slope.gradient) {
                    assert!((got - given).abs() < 1e-3, "{got} {given}");
                }
            }
        }
    }

    #[test]
    fn gradients_of_predictions_agree_with_differences() {
        for kernel in KERNELS {
            let (points, y, slopes) = data(10, 2);
            let posterior = GradientPosterior::new(kernel, hyper(1e-3), points, &y, &slopes, 0.0).unwrap();
            let (z, h) = (vec![0.31, -0.42, 0.13], 1e-5);
            let batch = posterior.predict(std::slice::from_ref(&z), true);
            for k in 0..3 {
                let ends = posterior.predict(&[moved(&z, k, h), moved(&z, k, -h)], false);
                let numeric = |list: &[f64]| (list[0] - list[1]) / (2.0 * h);
                assert!((numeric(&ends.mean) - batch.mean_gradient[0][k]).abs() < 1e-8, "{kernel:?}");
                assert!((numeric(&ends.sd) - batch.sd_gradient[0][k]).abs() < 1e-7, "{kernel:?}");
            }
        }
    }

    #[test]
    fn gradients_steeper_than_the_values_tell_are_doubted() {
        for kernel in KERNELS {
            let (points, y, slopes) = data(40, 1);
            assert!(gradient_noise(kernel, &hyper(1e-6), &slopes) < 0.5);
            // Ripples of amplitude 0.02 that no point resolves: slopes of amplitude 2.
            let rippled: Vec<Slope> = slopes
                .iter()
                .map(|slope| {
                    let z = points.get(slope.point);
                    let ripples = slope.gradient.iter().zip(&z).map(|(g, z)| g + 2.0 * (100.0 * z).cos());
                    Slope { point: slope.point, gradient: ripples.collect() }
                })
                .collect();
            let much = gradient_noise(kernel, &hyper(1e-6), &rippled);
            assert!(much > 1.0, "{much}");
            let error = |gradient_noise: f64| -> f64 {
                let (points, hyper) = (points.clone(), hyper(1e-6));
                let posterior =
                    GradientPosterior::new(kernel, hyper, points, &y, &rippled, gradient_noise).unwrap();
                let mut random = Random::new(6);
                let z: Vec<Vec<f64>> =
                    (0..100).map(|_| (0..3).map(|_| random.uniform(-1.0, 1.0)).collect()).collect();
                let means = posterior.predict(&z, false).mean;
                z.iter().zip(means).map(|(z, mean)| (mean - smooth(z).0).powi(2)).sum()
            };
            assert!(error(much) < 0.2 * error(0.0), "{kernel:?}: {} {}", error(much), error(0.0));
        }
    }

    #[test]
    fn covariances_of_gradients_are_differences_of_covariances() {
        let (x, other, hyper, h) = ([0.3, -0.4, 0.1], [-0.2, 0.5, 0.6], hyper(0.0), 1e-4);
        for kernel in KERNELS {
            let k = |x: &[f64], other: &[f64]| {
                let parts = x.iter().zip(other).zip(&hyper.scales);
                kernel.shape(parts.map(|((x, o), scale)| ((x - o) / scale).powi(2)).sum()).0
            };
            let pair = Pair::new(kernel, &hyper, &x, &other);
            for (b, analytic) in pair.value_by_slope().enumerate() {
                let by = |h: f64| moved(&other, b, h);
                let numeric = (k(&x, &by(h)) - k(&x, &by(-h))) / (2.0 * h);
                assert!((analytic - numeric).abs() < 1e-7, "{kernel:?} {b}");
                for a in 0..3 {
                    let corner = |p: f64, q: f64| k(&moved(&x, a, p), &by(q));
                    let cross = corner(h, h) - corner(h, -h) - corner(-h, h) + corner(-h, -h);
                    let numeric = cross / (4.0 * h * h);
                    assert!((pair.slope_by_slope(&hyper, a, b) - numeric).abs() < 1e-6, "{kernel:?} {a} {b}");
                }
            }
        }
    }
}
