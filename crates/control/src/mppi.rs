//! Model-predictive path integral control (Williams et al. 2017): the mean of noisy plans, weighted by
//! exp(−cost/λ).

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

/// Settings of [`Mppi`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MppiConfig {
    /// Plans per round, the last mean included (256).
    pub samples: usize,
    /// Rounds per plan, each about the last mean (2).
    pub rounds: usize,
    /// Deviation of each knot, in the box scaled to [−1, 1] (0.3).
    pub sigma: f64,
    /// λ in parts of the distance from the lowest to the mean cost of a round (0.1).
    pub temperature: f64,
    /// Color of the noise (white).
    pub noise: Noise,
    /// Numbers that samples are simulated with (f64).
    pub precision: Precision,
}

impl Default for MppiConfig {
    fn default() -> Self {
        MppiConfig {
            samples: 256,
            rounds: 2,
            sigma: 0.3,
            temperature: 0.1,
            noise: Noise::White,
            precision: Precision::F64,
        }
    }
}

impl Settings for MppiConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let ranges = [
            ("samples", self.samples as f64, PLANS),
            ("rounds", self.rounds as f64, ROUNDS),
            ("sigma", self.sigma, LENGTH),
            ("temperature", self.temperature, Range::Above(0.0, 1e6)),
        ];
        check_ranges(name, &ranges)
    }
}

/// The planner.
pub struct Mppi<'a, S: PlanSystem, L> {
    config: MppiConfig,
    spline: Spline,
    samples: Samples<'a, S, L>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Mppi<'a, S, L> {
    /// Memory for plans of a problem.
    pub fn new(problem: Problem<'a, S, L>, spline: Spline, config: MppiConfig) -> Result<Self, ConfigError> {
        problem.check_bounded("mppi")?;
        config.check("mppi")?;
        let samples = Samples::new(problem, &spline, config.samples, config.precision)?;
        Ok(Mppi { config, spline, samples })
    }

    /// Writes Σ wᵢ planᵢ / Σ wᵢ with wᵢ = exp(−(costᵢ − lowest)/λ).
    fn mean(&self, best: usize, mean: &mut [f64]) {
        let Samples { plans, costs, .. } = &self.samples;
        let finite: Vec<f64> = costs.iter().copied().filter(|c| c.is_finite()).collect();
        let spread = finite.iter().map(|c| c - costs[best]).sum::<f64>() / finite.len() as f64;
        let λ = (self.config.temperature * spread).max(f64::MIN_POSITIVE);
        mean.fill(0.0);
        let mut total = 0.0;
        for (plan, cost) in plans.iter().zip(costs).filter(|(_, cost)| cost.is_finite()) {
            let w = (-(cost - costs[best]) / λ).exp();
            total += w;
            mean.iter_mut().zip(plan).for_each(|(mean, z)| *mean += w * z);
        }
        mean.iter_mut().for_each(|mean| *mean /= total);
    }
}

impl<S: PlanSystem, L: PlanLoss> Planner for Mppi<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    /// A mean may be worse than what it is made of, so the best plan seen is what counts.
    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let MppiConfig { samples, rounds, sigma, noise, .. } = self.config;
        let (mut mean, mut before, mut after) = (plan.knots.clone(), f64::INFINITY, f64::INFINITY);
        let phase = plan.phase;
        for round in 0..rounds {
            let about = (&mean[..], &(|_| sigma) as &dyn Fn(usize) -> f64);
            self.samples.draw(from, (&self.spline, phase), about, noise, (moment.seed, round))?;
            let best = lowest(&self.samples.costs).ok_or(PlanError::NoPlan { step: moment.step })?;
            if round == 0 {
                before = self.samples.costs[0];
            }
            if self.samples.costs[best] < after {
                after = self.samples.costs[best];
                plan.knots.copy_from_slice(&self.samples.plans[best]);
            }
            self.mean(best, &mut mean);
            (moment.watch)(round, after);
        }
        let cost = self.samples.cost(from, &self.spline, phase, &mean)?;
        if cost < after {
            (after, plan.knots) = (cost, mean);
        }
        Ok(Outcome { before, after, rollouts: samples * rounds + 1, gradients: 0 })
    }
}
