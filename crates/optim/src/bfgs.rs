//! Quasi-Newton descent with the BFGS update (Nocedal and Wright, chapter 6), for a few dozen variables.
//!
//! A halving line search asks for sufficient decrease; variables are kept inside the objective's bounds by
//! clamping. Where the curvature along a step is not positive the inverse Hessian starts anew.

use pullback_core::StepError;

use crate::objective::Objective;

/// When to stop, and how far to go first.
///
/// ```
/// use pullback_optim::BfgsConfig;
/// let short = BfgsConfig { max_steps: 10, ..BfgsConfig::default() };
/// assert!(short.max_steps < BfgsConfig::default().max_steps);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BfgsConfig {
    /// Steps before giving up (100).
    pub max_steps: usize,
    /// Stop when no entry of the gradient exceeds this (1e-12).
    pub gradient_tolerance: f64,
    /// Length of the first step, in the units of the variables (0.1).
    pub first_step: f64,
}

impl Default for BfgsConfig {
    fn default() -> Self {
        BfgsConfig { max_steps: 100, gradient_tolerance: 1e-12, first_step: 0.1 }
    }
}

/// An iterate of the descent.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    /// The variables.
    pub x: Vec<f64>,
    /// The objective there.
    pub value: f64,
}

/// The descent so far.
#[derive(Clone, Debug)]
pub struct BfgsState {
    /// Accepted points, the start first.
    pub path: Vec<Iterate>,
    /// Gradients computed.
    pub gradients: usize,
    gradient: Vec<f64>,
    inverse_hessian: Vec<Vec<f64>>,
    fresh: bool,
}

/// Descends from `start`; the last point of the path is the lowest.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::losses::{Norm, StateTarget, Weights};
/// use pullback_core::{Described, Inputs, Rollout, Schedule};
/// use pullback_optim::{BfgsConfig, Objective, RolloutObjective, bfgs};
/// // How fast must a body be thrown up to be where it was after a second?
/// let rollout = Rollout::new(falling(0.01), 100, Schedule::StoreAll)?;
/// let home = StateTarget::new(rollout.system.layout(), "height", Norm::Square, Weights::at_end(1.0))?;
/// let base = Inputs::defaults(&rollout.system, 100);
/// let objective = RolloutObjective::select(rollout, home, base, "state.velocity")?.with_bounds(&[(0.0, 20.0)])?;
/// let found = bfgs(&objective, &objective.start(), &BfgsConfig::default())?;
/// assert!((found.best().x[0] - 9.81 / 2.0).abs() < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bfgs(objective: &dyn Objective, start: &[f64], config: &BfgsConfig) -> Result<BfgsState, StepError> {
    let n = start.len();
    let mut gradient = vec![0.0; n];
    let value = objective.value_grad(start, &mut gradient)?;
    let mut state = BfgsState {
        path: vec![Iterate { x: start.to_vec(), value }],
        gradients: 1,
        gradient,
        inverse_hessian: vec![vec![0.0; n]; n],
        fresh: true,
    };
    for _ in 0..config.max_steps {
        let converged = state.gradient.iter().all(|g| g.abs() <= config.gradient_tolerance);
        if converged || !state.step(objective, config)? {
            break;
        }
    }
    Ok(state)
}

impl BfgsState {
    /// The lowest point so far.
    pub fn best(&self) -> &Iterate {
        &self.path[self.path.len() - 1]
    }

    /// One step; false when no decrease can be found.
    fn step(&mut self, objective: &dyn Objective, config: &BfgsConfig) -> Result<bool, StepError> {
        if self.fresh {
            let size = dot(&self.gradient, &self.gradient).sqrt();
            for (i, row) in self.inverse_hessian.iter_mut().enumerate() {
                row.fill(0.0);
                row[i] = config.first_step / size;
            }
        }
        let direction: Vec<f64> = self.inverse_hessian.iter().map(|row| -dot(row, &self.gradient)).collect();
        let bounds = objective.bounds();
        let Iterate { x, value } = self.best().clone();
        let mut scale = 1.0;
        while scale > 1e-9 {
            let moved = x.iter().zip(&direction).zip(&bounds);
            let trial: Vec<f64> =
                moved.map(|((x, d), (low, high))| (x + scale * d).clamp(*low, *high)).collect();
            let mut gradient = vec![0.0; x.len()];
            let trial_value = objective.value_grad(&trial, &mut gradient)?;
            self.gradients += 1;
            // Sufficient decrease for the step that was possible inside the bounds.
            let s: Vec<f64> = trial.iter().zip(&x).map(|(a, b)| a - b).collect();
            if trial_value < value && trial_value <= value + 1e-4 * dot(&s, &self.gradient) {
                let y: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
                self.fresh = !self.update(&s, &y);
                self.gradient = gradient;
                self.path.push(Iterate { x: trial, value: trial_value });
                return Ok(true);
            }
            scale *= 0.5;
        }
        Ok(false)
    }

    /// H ← (I − s yᵀ/sᵀy) H (I − y sᵀ/sᵀy) + s sᵀ/sᵀy; false where sᵀy is not positive.
    fn update(&mut self, s: &[f64], y: &[f64]) -> bool {
        let sy = dot(s, y);
        if sy <= f64::MIN_POSITIVE {
            return false;
        }
        let hy: Vec<f64> = self.inverse_hessian.iter().map(|row| dot(row, y)).collect();
        let along = (1.0 + dot(y, &hy) / sy) / sy;
        for (i, row) in self.inverse_hessian.iter_mut().enumerate() {
            for (j, h) in row.iter_mut().enumerate() {
                *h += along * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / sy;
            }
        }
        true
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, (1 − x)² + 100 (y − x²)².
    struct Valley;
    impl Objective for Valley {
        fn names(&self) -> Vec<String> {
            ["x", "y"].map(String::from).to_vec()
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(-2.0, 2.0), (-1.0, 3.0)]
        }
        fn start(&self) -> Vec<f64> {
            vec![-1.2, 1.0]
        }
        fn value(&self, p: &[f64]) -> Result<f64, StepError> {
            Ok((1.0 - p[0]).powi(2) + 100.0 * (p[1] - p[0] * p[0]).powi(2))
        }
        fn value_grad(&self, p: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            let lift = p[1] - p[0] * p[0];
            grad.copy_from_slice(&[-2.0 * (1.0 - p[0]) - 400.0 * p[0] * lift, 200.0 * lift]);
            self.value(p)
        }
    }

    #[test]
    fn the_end_of_rosenbrocks_valley_is_found() {
        let descent = bfgs(&Valley, &Valley.start(), &BfgsConfig::default()).unwrap();
        let best = descent.best();
        assert!((best.x[0] - 1.0).abs() < 1e-8 && (best.x[1] - 1.0).abs() < 1e-8, "{best:?}");
        assert!(descent.path.windows(2).all(|w| w[1].value < w[0].value));
    }

    #[test]
    fn bounds_are_kept() {
        struct Slope;
        impl Objective for Slope {
            fn names(&self) -> Vec<String> {
                vec!["x".into()]
            }
            fn bounds(&self) -> Vec<(f64, f64)> {
                vec![(0.0, 1.0)]
            }
            fn start(&self) -> Vec<f64> {
                vec![0.5]
            }
            fn value(&self, p: &[f64]) -> Result<f64, StepError> {
                Ok(p[0])
            }
            fn value_grad(&self, p: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
                grad[0] = 1.0;
                Ok(p[0])
            }
        }
        assert_eq!(bfgs(&Slope, &[0.5], &BfgsConfig::default()).unwrap().best().x, [0.0]);
    }
}
