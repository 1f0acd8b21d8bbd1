//! Acquisition functions, and the search for the point they favor.
//!
//! All are to be minimized, as losses are: the lower confidence bound μ − α σ (BO-Leap, α = 1), the expected
//! improvement below the best loss, negated, and minus its logarithm, which keeps a gradient where the
//! improvement itself vanishes (Ament and others, 2023; see `normal.rs`). The search descends from many
//! starts at once by projected gradients with Barzilai and Borwein's step lengths (Birgin, Martínez and
//! Raydan, 2000), all starts of a step in one batch of the posterior; a start that has settled, or has come
//! to where another one is, leaves the batch.

use serde::{Deserialize, Serialize};

use super::kernel::dot;
use super::normal::{cumulative, density, log_improvement};
use super::posterior::Predict;

/// What makes a point worth a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Acquisition {
    /// μ − α σ.
    LowerBound {
        /// Weight of the uncertainty.
        alpha: f64,
    },
    /// −E max(best − f, 0).
    Improvement,
    /// −ln E max(best − f, 0).
    LogImprovement,
}

impl Acquisition {
    /// The value, lower is better, with its derivatives by mean and standard deviation.
    pub fn value(self, mean: f64, sd: f64, best: f64) -> (f64, f64, f64) {
        let u = (best - mean) / sd;
        match self {
            Acquisition::LowerBound { alpha } => (mean - alpha * sd, 1.0, -alpha),
            // −σ h(u), h = φ + u Φ, ∂μ = Φ, ∂σ = −φ
            Acquisition::Improvement => {
                let (below, peak) = (cumulative(u), density(u));
                (-sd * (peak + u * below), below, -peak)
            }
            // −ln σ − ln h(u), u' = −1/σ by μ and −u/σ by σ
            Acquisition::LogImprovement => {
                let (log, slope) = log_improvement(u);
                (-sd.ln() - log, slope / sd, (u * slope - 1.0) / sd)
            }
        }
    }

    /// Values at several points, with gradients if asked for.
    pub fn at(
        self,
        posterior: &dyn Predict,
        best: f64,
        z: &[Vec<f64>],
        with_gradient: bool,
    ) -> (Vec<f64>, Vec<Vec<f64>>) {
        let batch = posterior.predict(z, with_gradient);
        let (mut values, mut gradients) = (Vec::with_capacity(z.len()), Vec::new());
        for j in 0..z.len() {
            let (value, by_mean, by_sd) = self.value(batch.mean[j], batch.sd[j], best);
            values.push(value);
            if with_gradient {
                let parts = batch.mean_gradient[j].iter().zip(&batch.sd_gradient[j]);
                gradients.push(parts.map(|(m, s)| by_mean * m + by_sd * s).collect());
            }
        }
        (values, gradients)
    }
}

/// Values that a step is compared with: it may rise above the last, not above all of them.
const MEMORY: usize = 4;
/// A start that moves less than this has settled.
const SETTLED: f64 = 1e-5;
/// Starts closer than this become one.
const SAME: f64 = 1e-3;

/// One descent.
struct Start {
    z: Vec<f64>,
    gradient: Vec<f64>,
    /// The last values, the present one last.
    values: Vec<f64>,
    step: f64,
    rejected: usize,
    active: bool,
    best: (f64, Vec<f64>),
}

/// The lowest acquisition found by descending from `starts` in the box [−1, 1], for at most `steps` batches.
pub fn descend(
    acquisition: Acquisition,
    posterior: &dyn Predict,
    best: f64,
    starts: Vec<Vec<f64>>,
    steps: usize,
) -> Option<(f64, Vec<f64>)> {
    let (values, gradients) = acquisition.at(posterior, best, &starts, true);
    let mut all: Vec<Start> = starts
        .into_iter()
        .zip(values)
        .zip(gradients)
        .map(|((z, value), gradient)| {
            let largest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
            // First a tenth of the box's half width.
            let step = 0.1 / largest.max(1e-12);
            let active = value.is_finite() && largest > 0.0;
            let best = (value, z.clone());
            Start { z, gradient, values: vec![value], step, rejected: 0, active, best }
        })
        .collect();
    for _ in 0..steps {
        let moving: Vec<usize> = (0..all.len()).filter(|i| all[*i].active).collect();
        if moving.is_empty() {
            break;
        }
        let trials: Vec<Vec<f64>> = moving.iter().map(|i| all[*i].trial()).collect();
        let (values, gradients) = acquisition.at(posterior, best, &trials, true);
        for (((i, trial), value), gradient) in moving.iter().zip(trials).zip(values).zip(gradients) {
            all[*i].judge(trial, value, gradient);
        }
        merge(&mut all);
    }
    let finite = all.into_iter().map(|start| start.best).filter(|(value, _)| value.is_finite());
    finite.min_by(|a, b| a.0.total_cmp(&b.0))
}

impl Start {
    /// A step down, taken back into the box.
    fn trial(&self) -> Vec<f64> {
        let moved = self.z.iter().zip(&self.gradient).map(|(z, g)| z - self.step * g);
        moved.map(|z| z.clamp(-1.0, 1.0)).collect()
    }

    /// Takes the trial, or shortens the step.
    fn judge(&mut self, trial: Vec<f64>, value: f64, gradient: Vec<f64>) {
        let s: Vec<f64> = trial.iter().zip(&self.z).map(|(a, b)| a - b).collect();
        let highest = self.values.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
        let moved = s.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let low_enough = value <= highest + 1e-4 * dot(&s, &self.gradient);
        if !low_enough {
            self.step *= 0.2;
            self.rejected += 1;
            self.active = self.rejected < 8 && moved > SETTLED;
            return;
        }
        let y: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        let (ss, sy) = (dot(&s, &s), dot(&s, &y));
        // λ = sᵀs / sᵀy, the inverse of the mean curvature along the step.
        let length = if sy > 1e-14 * ss { ss / sy } else { 4.0 * self.step };
        let largest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        // No step is wider than the box.
        self.step = length.min(2.0 / largest.max(1e-300));
        self.active = moved > SETTLED && largest > 0.0;
        self.rejected = 0;
        if self.values.len() == MEMORY {
            self.values.remove(0);
        }
        self.values.push(value);
        if value < self.best.0 {
            self.best = (value, trial.clone());
        }
        (self.z, self.gradient) = (trial, gradient);
    }
}

/// Of two starts at the same place the second rests.
fn merge(all: &mut [Start]) {
    for i in 1..all.len() {
        let (before, rest) = all.split_at_mut(i);
        let near = |other: &Start| other.z.iter().zip(&rest[0].z).all(|(a, b)| (a - b).abs() < SAME);
        if rest[0].active && before.iter().any(near) {
            rest[0].active = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp::kernel::{Kernel, Points};
    use crate::gp::posterior::{Hyper, Posterior};

    const ALL: [Acquisition; 3] =
        [Acquisition::LowerBound { alpha: 1.0 }, Acquisition::Improvement, Acquisition::LogImprovement];

    fn posterior(kernel: Kernel) -> Posterior {
        let mut points = Points::new(2);
        let mut y = Vec::new();
        for i in 0..12 {
            let z = [(1.7 * f64::from(i)).sin(), (2.3 * f64::from(i)).cos()];
            points.push(&z);
            y.push(z[0] * z[0] + 0.5 * z[1]);
        }
        let hyper = Hyper { scales: vec![0.7, 1.1], signal: 1.3, noise: 1e-3 };
        Posterior::new(kernel, hyper, points, &y).unwrap()
    }

    #[test]
    fn gradients_agree_with_differences() {
        for kernel in [Kernel::SquaredExponential, Kernel::Matern52] {
            let posterior = posterior(kernel);
            for acquisition in ALL {
                let z = vec![vec![0.3, -0.2], vec![-0.9, 0.8], vec![0.05, 0.6]];
                let (_, gradients) = acquisition.at(&posterior, -0.3, &z, true);
                for (z, gradient) in z.iter().zip(&gradients) {
                    for k in 0..2 {
                        let h = 1e-5;
                        let moved = |by: f64| {
                            let mut z = z.clone();
                            z[k] += by;
                            acquisition.at(&posterior, -0.3, &[z], false).0[0]
                        };
                        let numeric = (moved(h) - moved(-h)) / (2.0 * h);
                        let off = (numeric - gradient[k]).abs();
                        assert!(off < 1e-6 * (1.0 + numeric.abs()), "{acquisition:?} {k}: {off}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_logarithm_orders_as_the_improvement_does() {
        for (mean, sd) in [(0.0, 1.0), (2.0, 0.5), (-1.0, 0.1), (0.5, 2.0)] {
            let plain = Acquisition::Improvement.value(mean, sd, 0.2).0;
            let log = Acquisition::LogImprovement.value(mean, sd, 0.2).0;
            assert!((-plain - (-log).exp()).abs() < 1e-14);
        }
        // Where the improvement underflows its logarithm still tells better from worse.
        assert_eq!(Acquisition::Improvement.value(50.0, 1.0, 0.0).0, 0.0);
        let at = |mean| Acquisition::LogImprovement.value(mean, 1.0, 0.0).0;
        assert!(at(50.0) < at(51.0) && at(51.0).is_finite());
    }

    #[test]
    fn the_descent_ends_no_higher_than_a_fine_grid() {
        let posterior = posterior(Kernel::Matern52);
        for acquisition in ALL {
            let axis = |i: i32| -1.0 + 0.02 * f64::from(i);
            let grid: Vec<Vec<f64>> = (0..101 * 101).map(|i| vec![axis(i % 101), axis(i / 101)]).collect();
            let (values, _) = acquisition.at(&posterior, -0.3, &grid, false);
            let lowest = values.iter().fold(f64::INFINITY, |m, v| m.min(*v));
            let starts: Vec<Vec<f64>> = grid.iter().step_by(997).cloned().collect();
            let (value, z) = descend(acquisition, &posterior, -0.3, starts, 60).unwrap();
            assert!(value <= lowest + 1e-6, "{acquisition:?}: {value} {lowest}");
            assert!(z.iter().all(|z| z.abs() <= 1.0));
        }
    }
}
