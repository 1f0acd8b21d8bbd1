//! Densities, samples and entropies of Gaussians, one action at a time; a diagonal Gaussian is their sum.
//!
//! A policy is N(mean, e^{2 log_std}), either as it is or squashed by tanh into (−1, 1). For the squashed one
//! u is what tanh is taken of: log π(tanh u) = log N(u) − log(1 − tanh² u).

use std::f64::consts::{LN_2, PI};

use pullback_math::{Real, differentiable, select};

/// u = mean + e^{log_std} noise.
#[differentiable]
pub fn sample<T: Real>(mean: T, log_std: T, #[constant] noise: T) -> T {
    mean + log_std.exp() * noise
}

/// tanh u.
#[differentiable]
pub fn squashed_sample<T: Real>(mean: T, log_std: T, #[constant] noise: T) -> T {
    sample(mean, log_std, noise).tanh()
}

/// log(1 + eˣ), by the exponential of −|x|, which does not overflow.
#[differentiable]
pub fn softplus<T: Real>(x: T) -> T {
    let positive = x.gt(T::zero());
    let exp = select(positive, -x, x).exp();
    select(positive, x, T::zero()) + (T::one() + exp).ln()
}

/// log(1 − tanh² u) = 2 (ln 2 − u − softplus(−2 u)), which stays finite where tanh u rounds to ±1.
#[differentiable]
pub fn log_squash_slope<T: Real>(u: T) -> T {
    (T::lit(LN_2) - u - softplus(T::lit(-2.0) * u)) * T::lit(2.0)
}

/// log N(u) = −z²/2 − log_std − ln √(2π) with z = (u − mean) / e^{log_std}.
#[differentiable]
pub fn log_density<T: Real>(u: T, mean: T, log_std: T) -> T {
    let z = (u - mean) * (-log_std).exp();
    T::lit(-0.5) * z * z - log_std - T::lit(0.5 * (2.0 * PI).ln())
}

/// log π(tanh u) = log N(u) − log(1 − tanh² u).
#[differentiable]
pub fn squashed_log_density<T: Real>(u: T, mean: T, log_std: T) -> T {
    log_density(u, mean, log_std) - log_squash_slope(u)
}

/// −log π of the squashed sample u = mean + e^{log_std} noise: an estimate of the entropy.
///
/// Here z = noise, so that −log N(u) = noise²/2 + log_std + ln √(2π) has no mean in it.
#[differentiable]
pub fn squashed_entropy_sample<T: Real>(mean: T, log_std: T, #[constant] noise: T) -> T {
    let u = sample(mean, log_std, noise);
    T::lit(0.5) * noise * noise + log_std + T::lit(0.5 * (2.0 * PI).ln()) + log_squash_slope(u)
}

/// Entropy log_std + ln √(2πe).
#[differentiable]
pub fn entropy<T: Real>(log_std: T) -> T {
    log_std + T::lit(0.5 * (2.0 * PI).ln() + 0.5)
}

/// KL(N₀ ‖ N₁) = log_std₁ − log_std₀ + (e^{2 log_std₀} + (mean₀ − mean₁)²) e^{−2 log_std₁} / 2 − 1/2.
#[differentiable]
pub fn kl_divergence<T: Real>(mean_0: T, log_std_0: T, mean_1: T, log_std_1: T) -> T {
    let ratio = (log_std_0 - log_std_1).exp();
    let z = (mean_0 - mean_1) * (-log_std_1).exp();
    log_std_1 - log_std_0 + (ratio * ratio + z * z - T::one()) * T::lit(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;
    use crate::nn::check::{Map, check};

    /// All functions at a point (u, mean, log_std, mean₁, log_std₁) and a constant noise.
    struct All {
        noise: f64,
    }

    impl Map for All {
        fn groups(&self) -> Vec<(&'static str, usize)> {
            vec![("x", 5)]
        }
        fn outputs(&self) -> usize {
            8
        }
        fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
            let (&[u, mean, log_std, mean_1, log_std_1], noise) =
                (x.first_chunk().unwrap(), F::lit(self.noise));
            y.copy_from_slice(&[
                sample(mean, log_std, noise),
                squashed_sample(mean, log_std, noise),
                log_squash_slope(u),
                log_density(u, mean, log_std),
                squashed_log_density(u, mean, log_std),
                squashed_entropy_sample(mean, log_std, noise),
                entropy(log_std),
                kl_divergence(mean, log_std, mean_1, log_std_1),
            ]);
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
            let (&[u, mean, log_std, mean_1, log_std_1], noise) = (x.first_chunk().unwrap(), self.noise);
            let mut add = |i: usize, bar: f64| x_bar[i] += bar;
            for (f, bar) in [
                sample_vjp(mean, log_std, noise, y_bar[0]),
                squashed_sample_vjp(mean, log_std, noise, y_bar[1]),
                squashed_entropy_sample_vjp(mean, log_std, noise, y_bar[5]),
            ]
            .iter()
            .flat_map(|(mean, log_std, ())| [(1, *mean), (2, *log_std)])
            {
                add(f, bar);
            }
            add(0, log_squash_slope_vjp(u, y_bar[2]));
            for (u, mean, log_std) in [
                log_density_vjp(u, mean, log_std, y_bar[3]),
                squashed_log_density_vjp(u, mean, log_std, y_bar[4]),
            ] {
                add(0, u);
                add(1, mean);
                add(2, log_std);
            }
            add(2, entropy_vjp(log_std, y_bar[6]));
            let kl = kl_divergence_vjp(mean, log_std, mean_1, log_std_1, y_bar[7]);
            for (i, bar) in [(1, kl.0), (2, kl.1), (3, kl.2), (4, kl.3)] {
                add(i, bar);
            }
        }
    }

    #[test]
    fn all_functions_pass_the_check() {
        // The last has u = 0, where softplus changes its branch.
        check(&All { noise: 0.8 }, &[0.4, 0.3, -0.7, -0.2, 0.1]);
        check(&All { noise: -1.7 }, &[-2.4, -1.3, 0.7, 0.5, -0.4]);
        check(&All { noise: 0.5 }, &[0.0, 0.2, 0.3, 0.6, -0.1]);
    }

    #[test]
    fn saturated_actions_have_finite_densities() {
        for u in [-1e4_f32, -40.0, 40.0, 1e4] {
            // log(1 − tanh² u) = ln 4 − 2 |u| far out.
            let expected = 4.0_f32.ln() - 2.0 * u.abs();
            assert!((log_squash_slope(u) / expected - 1.0).abs() < 1e-6);
            assert_eq!(log_squash_slope_vjp(u, 1.0), -2.0 * u.signum());
            assert!(squashed_log_density(u, 0.0, 0.0).is_finite());
            assert!(squashed_entropy_sample(u, -2.0, 0.3).is_finite());
        }
    }

    /// The squashed density integrates to one over (−1, 1), and the entropy sample is its logarithm.
    #[test]
    fn squashed_densities_integrate_to_one() {
        let (mean, log_std, n) = (0.3_f64, -0.4, 20_000);
        let middle = |i: usize| -1.0 + 2.0 * (i as f64 + 0.5) / n as f64;
        let sum: f64 = (0..n).map(|i| squashed_log_density(middle(i).atanh(), mean, log_std).exp()).sum();
        assert!((sum * 2.0 / n as f64 - 1.0).abs() < 1e-6);
        let noise = 1.3;
        let u = sample(mean, log_std, noise);
        let both = squashed_entropy_sample(mean, log_std, noise) + squashed_log_density(u, mean, log_std);
        assert!(both.abs() < 1e-14);
    }

    /// Entropy and divergence are means of log densities: by quadrature over ±12 deviations.
    #[test]
    fn entropies_and_divergences_are_means() {
        let (m0, s0, m1, s1, n) = (0.3_f64, -0.4, -0.2, 0.1, 4000);
        let (mut h, mut kl) = (0.0, 0.0);
        for i in 0..n {
            let z = -12.0 + 24.0 * (i as f64 + 0.5) / n as f64;
            let u = m0 + f64::exp(s0) * z;
            let weight = log_density(u, m0, s0).exp() * f64::exp(s0) * 24.0 / n as f64;
            h -= weight * log_density(u, m0, s0);
            kl += weight * (log_density(u, m0, s0) - log_density(u, m1, s1));
        }
        assert!((h - entropy(s0)).abs() < 1e-10);
        assert!((kl - kl_divergence(m0, s0, m1, s1)).abs() < 1e-10);
    }
}
