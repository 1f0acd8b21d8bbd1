//! Separable CMA-ES (Ros and Hansen, PPSN 2008): the covariance is diagonal, for thousands of variables.
//!
//! Time and memory of a generation are linear in the number of variables. With as many variances as variables
//! instead of their pairs, the rates of learning are (n + 2)/3 times those of CMA-ES. Coordinates
//! outside the box are put on its wall, and the distribution is told the repaired point.
//!
//! Limits: valleys that are narrow along no axis are followed slowly. There are no restarts.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use serde::{Deserialize, Serialize};

use super::cma_state::{CmaState, ranking};
use super::{Settings, Start, bytes, check_population, settings};
use crate::run::{Run, SearchMethod, Stop, clamp_to_box};

/// Settings of [`SepCmaEs`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SepCmaEsConfig {
    /// Points per generation; 0 stands for 4 + ⌊3 ln n⌋ (0).
    pub population: usize,
    /// First step size in the box scaled to [−1, 1] (0.6).
    pub sigma: f64,
    /// First mean (own).
    pub start: Start,
}

impl Default for SepCmaEsConfig {
    fn default() -> Self {
        SepCmaEsConfig { population: 0, sigma: 0.6, start: Start::Own }
    }
}

impl Settings for SepCmaEsConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        check_population(name, self.population)?;
        check_ranges(name, &[("sigma", self.sigma, Range::Above(0.0, 10.0))])
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct SepCmaEs {
    /// Its settings.
    pub config: SepCmaEsConfig,
}

impl SearchMethod for SepCmaEs {
    fn name(&self) -> &'static str {
        "sep-cma-es"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn check(&self, dim: usize) -> Result<(), ConfigError> {
        self.config.check(self.name())?;
        check_memory(self.name(), "population", bytes(self.config.population as f64 * dim as f64))
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let population = match self.config.population {
            0 => CmaState::default_population(run.dim()),
            given => given,
        };
        let mut state = SepCmaState::new(self.config.start.point(run, random), self.config.sigma, population);
        loop {
            let points = state.ask(random);
            let losses = run.values(&points)?;
            state.tell(&points, &losses);
        }
    }
}

/// N(mean, σ² diag(variance)) and the paths it came along.
#[derive(Clone, Debug)]
struct SepCmaState {
    mean: Vec<f64>,
    sigma: f64,
    variance: Vec<f64>,
    path_sigma: Vec<f64>,
    path_c: Vec<f64>,
    /// Weights of the best half.
    weights: Vec<f64>,
    population: usize,
    generation: i32,
}

impl SepCmaState {
    fn new(mean: Vec<f64>, sigma: f64, population: usize) -> Self {
        let n = mean.len();
        let middle = ((population as f64 + 1.0) / 2.0).ln();
        let raw: Vec<f64> = (1..=population / 2).map(|i| middle - (i as f64).ln()).collect();
        let sum: f64 = raw.iter().sum();
        let weights = raw.iter().map(|w| w / sum).collect();
        let zeros = || vec![0.0; n];
        let (variance, path_sigma, path_c) = (vec![1.0; n], zeros(), zeros());
        SepCmaState { mean, sigma, variance, path_sigma, path_c, weights, population, generation: 0 }
    }

    /// The next generation, in the box.
    fn ask(&self, random: &mut Random) -> Vec<Vec<f64>> {
        let mut one = || {
            let axes = self.mean.iter().zip(&self.variance);
            let x: Vec<f64> = axes.map(|(m, v)| m + self.sigma * v.sqrt() * random.normal()).collect();
            clamp_to_box(&x)
        };
        (0..self.population).map(|_| one()).collect()
    }

    fn tell(&mut self, points: &[Vec<f64>], losses: &[f64]) {
        let n = self.mean.len() as f64;
        let mu_eff = 1.0 / self.weights.iter().map(|w| w * w).sum::<f64>();
        let c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0);
        let d_sigma = 1.0 + 2.0 * (((mu_eff - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma;
        let c_c = (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n);
        let separable = (n + 2.0) / 3.0;
        let c_1 = (separable * 2.0 / ((n + 1.3).powi(2) + mu_eff)).min(0.5);
        let c_mu = separable * 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0).powi(2) + mu_eff);
        let c_mu = c_mu.clamp(0.0, 1.0 - c_1);
        let chi = n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
        let best: Vec<&Vec<f64>> = ranking(losses).into_iter().map(|i| &points[i]).collect();
        self.generation = self.generation.saturating_add(1);

        // pσ ← (1 − cσ) pσ + √(cσ(2 − cσ) μeff) C^(−1/2) y,  y = (m' − m)/σ
        let mut y = vec![0.0; self.mean.len()];
        for (w, x) in self.weights.iter().zip(&best) {
            for (y, (x, m)) in y.iter_mut().zip(x.iter().zip(&self.mean)) {
                *y += w * (x - m) / self.sigma;
            }
        }
        let push = (c_sigma * (2.0 - c_sigma) * mu_eff).sqrt();
        for (p, (y, v)) in self.path_sigma.iter_mut().zip(y.iter().zip(&self.variance)) {
            *p = (1.0 - c_sigma) * *p + push * y / v.sqrt();
        }
        let length = self.path_sigma.iter().map(|p| p * p).sum::<f64>().sqrt();
        // hσ: no rank-one push while σ still grows fast
        let settled = (1.0 - (1.0 - c_sigma).powi(2 * self.generation.min(1 << 20))).sqrt();
        let h = if length / settled < (1.4 + 2.0 / (n + 1.0)) * chi { 1.0 } else { 0.0 };
        let push = h * (c_c * (2.0 - c_c) * mu_eff).sqrt();
        // C ← (1 − c₁ − cμ) C + c₁ pc² + cμ Σ w y²
        for i in 0..y.len() {
            self.path_c[i] = (1.0 - c_c) * self.path_c[i] + push * y[i];
            let of = |x: &Vec<f64>| ((x[i] - self.mean[i]) / self.sigma).powi(2);
            let spread: f64 = self.weights.iter().zip(&best).map(|(w, x)| w * of(x)).sum();
            let kept = 1.0 - c_1 - c_mu + c_1 * (1.0 - h) * c_c * (2.0 - c_c);
            let variance = kept * self.variance[i] + c_1 * self.path_c[i].powi(2) + c_mu * spread;
            self.variance[i] = variance.max(1e-20);
        }
        self.mean.iter_mut().zip(&y).for_each(|(m, y)| *m += self.sigma * y);
        // σ ← σ exp((cσ/dσ)(‖pσ‖/E‖N(0, I)‖ − 1)), no wider than the box
        self.sigma = (self.sigma * ((c_sigma / d_sigma) * (length / chi - 1.0)).exp()).clamp(1e-12, 10.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_functions::Shape;
    use crate::{RunLog, TestFunction, optimize};

    #[test]
    fn a_hundred_variables_find_the_bottom_of_a_bowl() {
        let function = TestFunction::new(Shape::Ackley, 100);
        let mut run = Run::new(&function, 20_000, RunLog::none()).unwrap();
        optimize(&SepCmaEs { config: SepCmaEsConfig { sigma: 0.1, ..Default::default() } }, &mut run, 3)
            .unwrap();
        let (first, best) = (run.losses()[0], run.best().unwrap().loss);
        assert!(best < 0.01 * first, "{first} {best}");
    }
}
