//! Predictive sampling (Howell et al. 2022): the best of many noisy copies of the plan, itself included.

use pullback_core::ConfigError;
use pullback_core::settings::{check_memory, check_ranges};
use pullback_optim::methods::Settings;
use serde::{Deserialize, Serialize};

use crate::candidates::{Candidates, Precision, lowest};
use crate::error::PlanError;
use crate::noise::{Noise, stream};
use crate::planner::{LENGTH, Moment, Outcome, PLANS, Planner, ROUNDS};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::{Plan, Spline};

/// Settings of [`Sampling`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingConfig {
    /// Plans per round, the last one included (256).
    pub samples: usize,
    /// Rounds per plan, each about the best so far (1).
    pub rounds: usize,
    /// Deviation of each knot, in the box scaled to [−1, 1] (0.3).
    pub sigma: f64,
    /// Color of the noise (white).
    pub noise: Noise,
    /// Numbers that samples are simulated with (f64).
    pub precision: Precision,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        SamplingConfig { samples: 256, rounds: 1, sigma: 0.3, noise: Noise::White, precision: Precision::F64 }
    }
}

impl Settings for SamplingConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let ranges = [
            ("samples", self.samples as f64, PLANS),
            ("rounds", self.rounds as f64, ROUNDS),
            ("sigma", self.sigma, LENGTH),
        ];
        check_ranges(name, &ranges)
    }
}

/// Noisy copies of a plan and their costs; what all sampling planners share.
pub struct Samples<'a, S: PlanSystem, L> {
    candidates: Candidates<'a, S, L>,
    /// The plans, the one they are drawn around first.
    pub plans: Vec<Vec<f64>>,
    /// Their costs.
    pub costs: Vec<f64>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Samples<'a, S, L> {
    /// Memory for `count` plans.
    pub fn new(
        problem: Problem<'a, S, L>,
        spline: &Spline,
        count: usize,
        precision: Precision,
    ) -> Result<Self, ConfigError> {
        check_memory("planner", "samples", 8.0 * count as f64 * spline.len() as f64)?;
        let candidates = Candidates::new(problem, count, precision)?;
        Ok(Samples { candidates, plans: vec![vec![0.0; spline.len()]; count], costs: Vec::new() })
    }

    /// Draws plans about `mean`, with a deviation per entry, and finds their costs.
    pub fn draw(
        &mut self,
        from: &[f64],
        (spline, phase): (&Spline, usize),
        (mean, sigma): (&[f64], &dyn Fn(usize) -> f64),
        noise: Noise,
        (seed, round): (u64, usize),
    ) -> Result<(), PlanError> {
        for (i, plan) in self.plans.iter_mut().enumerate() {
            if i == 0 {
                plan.copy_from_slice(mean);
                continue;
            }
            noise.fill(&mut stream(seed, round, i), spline.bounds().len(), plan);
            plan.iter_mut().zip(mean).enumerate().for_each(|(k, (z, mean))| *z = mean + sigma(k) * *z);
            spline.bounds().clamp(plan);
        }
        self.candidates.costs(from, spline, phase, &self.plans, &mut self.costs)
    }

    /// The cost of one plan.
    pub fn cost(
        &mut self,
        from: &[f64],
        spline: &Spline,
        phase: usize,
        plan: &[f64],
    ) -> Result<f64, PlanError> {
        let mut cost = Vec::new();
        self.candidates.costs(from, spline, phase, &[plan.to_vec()], &mut cost)?;
        Ok(cost[0])
    }
}

/// The planner.
pub struct Sampling<'a, S: PlanSystem, L> {
    config: SamplingConfig,
    spline: Spline,
    samples: Samples<'a, S, L>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Sampling<'a, S, L> {
    /// Memory for plans of a problem.
    pub fn new(
        problem: Problem<'a, S, L>,
        spline: Spline,
        config: SamplingConfig,
    ) -> Result<Self, ConfigError> {
        problem.check_bounded("sampling")?;
        config.check("sampling")?;
        let samples = Samples::new(problem, &spline, config.samples, config.precision)?;
        Ok(Sampling { config, spline, samples })
    }
}

impl<S: PlanSystem, L: PlanLoss> Planner for Sampling<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let SamplingConfig { samples, rounds, sigma, noise, .. } = self.config;
        let mut before = f64::INFINITY;
        let mut after = f64::INFINITY;
        for round in 0..rounds {
            let (at, about) =
                ((&self.spline, plan.phase), (&plan.knots[..], &(|_| sigma) as &dyn Fn(usize) -> f64));
            self.samples.draw(from, at, about, noise, (moment.seed, round))?;
            let best = lowest(&self.samples.costs).ok_or(PlanError::NoPlan { step: moment.step })?;
            if round == 0 {
                before = self.samples.costs[0];
            }
            after = self.samples.costs[best];
            plan.knots.copy_from_slice(&self.samples.plans[best]);
            (moment.watch)(round, after);
        }
        Ok(Outcome { before, after, rollouts: samples * rounds, gradients: 0 })
    }
}
