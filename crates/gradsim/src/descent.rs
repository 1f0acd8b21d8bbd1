//! [`descend`]: Adam over an objective in the units of its variables, as gradSim's experiments use it.

use pullback_core::StepError;
use pullback_optim::Objective;
use serde::{Deserialize, Serialize};

/// Length of steps along each variable, in its unit, and how it falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamRate {
    /// Length of the first steps.
    pub rate: f64,
    /// Length of the last steps, over that of the first; falls geometrically.
    pub fall: f64,
    /// Multiples of each step that are tried, of which the one with the lowest loss is taken; a single one is taken untried.
    pub trials: &'static [f64],
}

impl AdamRate {
    /// The same length throughout.
    pub const fn constant(rate: f64) -> Self {
        AdamRate::falling(rate, 1.0)
    }

    /// A length that falls to `fall` of the first.
    pub const fn falling(rate: f64, fall: f64) -> Self {
        AdamRate { rate, fall, trials: &[1.0] }
    }

    /// Length of step `t` of `steps`.
    fn at(self, t: usize, steps: usize) -> f64 {
        self.rate * self.fall.powf(t as f64 / steps.max(2).saturating_sub(1) as f64)
    }
}

/// Losses of a descent, and its lowest point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// Loss of the start and after each step.
    pub losses: Vec<f64>,
    /// Where the loss was lowest.
    pub best: Vec<f64>,
}

impl Descent {
    /// The lowest loss.
    pub fn lowest(&self) -> f64 {
        self.losses.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Decays of the means of gradients and of their squares.
const BETAS: (f64, f64) = (0.9, 0.999);

/// `steps` steps of Adam from `start`, inside the bounds; `visit` sees every point with its loss, the start first.
pub fn descend(
    objective: &dyn Objective,
    start: &[f64],
    (rate, steps): (AdamRate, usize),
    mut visit: impl FnMut(usize, &[f64], f64),
) -> Result<Descent, StepError> {
    let bounds = objective.bounds();
    let (mut x, mut gradient) = (start.to_vec(), vec![0.0; start.len()]);
    let (mut mean, mut square) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let mut found = Descent { losses: Vec::with_capacity(steps + 1), best: x.clone() };
    for t in 0..=steps {
        let loss = objective.value_grad(&x, &mut gradient)?;
        if loss < found.lowest() {
            found.best.copy_from_slice(&x);
        }
        found.losses.push(loss);
        visit(t, &x, loss);
        if t == steps {
            break;
        }
        // x ← x − η m̂ / (√v̂ + ε), with the bias of the first steps taken out
        let unbiased = |beta: f64| 1.0 - beta.powi(t as i32 + 1);
        let (first, second) = (unbiased(BETAS.0), unbiased(BETAS.1));
        let mut step = vec![0.0; x.len()];
        for i in 0..x.len() {
            mean[i] = BETAS.0 * mean[i] + (1.0 - BETAS.0) * gradient[i];
            square[i] = BETAS.1 * square[i] + (1.0 - BETAS.1) * gradient[i] * gradient[i];
            let root = (square[i] / second).sqrt();
            if root > 0.0 {
                step[i] = -rate.at(t, steps) * mean[i] / first / root;
            }
        }
        let moved = |by: f64| -> Vec<f64> {
            let steps = x.iter().zip(&step).zip(&bounds);
            steps.map(|((x, d), (low, high))| (x + by * d).clamp(*low, *high)).collect()
        };
        let mut best = (f64::INFINITY, moved(rate.trials[0]));
        for by in rate.trials.iter().filter(|_| rate.trials.len() > 1) {
            let to = moved(*by);
            // A trial that cannot be simulated is not taken.
            let loss = objective.value(&to).unwrap_or(f64::INFINITY);
            if loss < best.0 {
                best = (loss, to);
            }
        }
        x = best.1;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (x − 3)² + 100 (y + 1)²
    struct Bowl;

    impl Objective for Bowl {
        fn names(&self) -> Vec<String> {
            vec!["x".into(), "y".into()]
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(-5.0, 2.0), (-5.0, 5.0)]
        }
        fn start(&self) -> Vec<f64> {
            vec![0.0; 2]
        }
        fn value(&self, x: &[f64]) -> Result<f64, StepError> {
            Ok((x[0] - 3.0).powi(2) + 100.0 * (x[1] + 1.0).powi(2))
        }
        fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            grad.copy_from_slice(&[2.0 * (x[0] - 3.0), 200.0 * (x[1] + 1.0)]);
            self.value(x)
        }
    }

    #[test]
    fn adam_descends_and_stays_inside_the_bounds() {
        for trials in [&[1.0][..], &[0.5, 1.0, 2.0]] {
            let rate = AdamRate { rate: 0.3, fall: 0.01, trials };
            let found = descend(&Bowl, &[0.0; 2], (rate, 100), |_, x, _| assert!(x[0] <= 2.0)).unwrap();
            assert_eq!(found.losses.len(), 101);
            assert!((found.best[0] - 2.0).abs() < 1e-12 && (found.best[1] + 1.0).abs() < 1e-2, "{found:?}");
            assert!((found.lowest() - 1.0).abs() < 1e-2);
        }
    }
}
