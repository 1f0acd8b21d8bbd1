//! The cross-entropy method (Rubinstein and Kroese 2004): rounds of samples, each drawn with mean and deviation of
//! the best of the round before.

use pullback_core::ConfigError;
use pullback_core::settings::{Range, check_ranges};
use pullback_optim::methods::Settings;
use serde::{Deserialize, Serialize};

use crate::candidates::{Precision, lowest};
use crate::error::PlanError;
use crate::noise::Noise;
use crate::planner::{LENGTH, Moment, Outcome, PLANS, Planner, ROUNDS};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::sampling::Samples;
use crate::spline::{Plan, Spline};

/// Settings of [`Cem`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CemConfig {
    /// Plans per round, the last mean included (128).
    pub samples: usize,
    /// Rounds per plan (4).
    pub rounds: usize,
    /// Plans that mean and deviation are taken of (16).
    pub elites: usize,
    /// Deviation of each knot in the first round, in the box scaled to [−1, 1] (0.5).
    pub sigma: f64,
    /// Deviation below which no knot falls (0.02).
    pub least_sigma: f64,
    /// Color of the noise (white).
    pub noise: Noise,
    /// Numbers that samples are simulated with (f64).
    pub precision: Precision,
}

impl Default for CemConfig {
    fn default() -> Self {
        CemConfig {
            samples: 128,
            rounds: 4,
            elites: 16,
            sigma: 0.5,
            least_sigma: 0.02,
            noise: Noise::White,
            precision: Precision::F64,
        }
    }
}

impl Settings for CemConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let ranges = [
            ("samples", self.samples as f64, PLANS),
            ("rounds", self.rounds as f64, ROUNDS),
            ("elites", self.elites as f64, Range::Within(1.0, self.samples as f64)),
            ("sigma", self.sigma, LENGTH),
            ("least_sigma", self.least_sigma, Range::Within(0.0, 10.0)),
        ];
        check_ranges(name, &ranges)
    }
}

/// The planner.
pub struct Cem<'a, S: PlanSystem, L> {
    config: CemConfig,
    spline: Spline,
    samples: Samples<'a, S, L>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Cem<'a, S, L> {
    /// Memory for plans of a problem.
    pub fn new(problem: Problem<'a, S, L>, spline: Spline, config: CemConfig) -> Result<Self, ConfigError> {
        problem.check_bounded("cem")?;
        config.check("cem")?;
        let samples = Samples::new(problem, &spline, config.samples, config.precision)?;
        Ok(Cem { config, spline, samples })
    }

    /// Mean and deviation of the plans with the lowest costs.
    fn fit(&self, mean: &mut [f64], deviation: &mut [f64]) {
        let Samples { plans, costs, .. } = &self.samples;
        let mut order: Vec<usize> = (0..costs.len()).filter(|i| costs[*i].is_finite()).collect();
        order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        order.truncate(self.config.elites);
        let count = order.len() as f64;
        for k in 0..mean.len() {
            mean[k] = order.iter().map(|i| plans[*i][k]).sum::<f64>() / count;
            let square = order.iter().map(|i| (plans[*i][k] - mean[k]).powi(2)).sum::<f64>() / count;
            deviation[k] = square.sqrt().max(self.config.least_sigma);
        }
    }
}

impl<S: PlanSystem, L: PlanLoss> Planner for Cem<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let CemConfig { samples, rounds, sigma, noise, .. } = self.config;
        let (mut mean, mut deviation) = (plan.knots.clone(), vec![sigma; plan.knots.len()]);
        let (mut before, mut after, phase) = (f64::INFINITY, f64::INFINITY, plan.phase);
        for round in 0..rounds {
            let about = (&mean[..], &(|k: usize| deviation[k]) as &dyn Fn(usize) -> f64);
            self.samples.draw(from, (&self.spline, phase), about, noise, (moment.seed, round))?;
            let best = lowest(&self.samples.costs).ok_or(PlanError::NoPlan { step: moment.step })?;
            if round == 0 {
                before = self.samples.costs[0];
            }
            if self.samples.costs[best] < after {
                after = self.samples.costs[best];
                plan.knots.copy_from_slice(&self.samples.plans[best]);
            }
            self.fit(&mut mean, &mut deviation);
            (moment.watch)(round, after);
        }
        let cost = self.samples.cost(from, &self.spline, phase, &mean)?;
        if cost < after {
            (after, plan.knots) = (cost, mean);
        }
        Ok(Outcome { before, after, rollouts: samples * rounds + 1, gradients: 0 })
    }
}
