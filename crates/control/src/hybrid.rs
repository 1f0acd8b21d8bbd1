//! Sampling proposes, gradients polish: the best few of many noisy plans are descended from, side by side on lanes.
//!
//! Samples see across contacts and ridges where gradients vanish or mislead; gradients find the precise end that
//! samples in many dimensions do not hit. The plan of the step before is among the starts.

use pullback_core::ConfigError;
use pullback_core::settings::{Range, check_ranges};
use pullback_math::f64x8;
use pullback_optim::methods::Settings;
use serde::{Deserialize, Serialize};

use crate::descent::{Descent, DescentConfig};
use crate::error::PlanError;
use crate::planner::{Moment, Outcome, Planner};
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::sampling::{Samples, SamplingConfig};
use crate::spline::{Plan, Spline};

/// Settings of [`Hybrid`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HybridConfig {
    /// How plans are proposed; one round.
    pub sampling: SamplingConfig,
    /// How they are polished.
    pub descent: DescentConfig,
    /// Plans that are polished, the last one and the best samples (8).
    pub starts: usize,
}

impl Default for HybridConfig {
    fn default() -> Self {
        let descent = DescentConfig { iterations: 16, ..DescentConfig::default() };
        HybridConfig { sampling: SamplingConfig::default(), descent, starts: 8 }
    }
}

impl Settings for HybridConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        self.sampling.check(name)?;
        self.descent.check(name)?;
        check_ranges(
            name,
            &[("starts", self.starts as f64, Range::Within(1.0, self.sampling.samples as f64))],
        )?;
        match self.sampling.rounds {
            1 => Ok(()),
            rounds => {
                Err(ConfigError::new(format!("{name}: `rounds` is {rounds}; there is one round of samples")))
            }
        }
    }
}

/// The planner.
pub struct Hybrid<'a, S: PlanSystem, L> {
    config: HybridConfig,
    spline: Spline,
    samples: Samples<'a, S, L>,
    descent: Descent<'a, S, L, f64x8>,
}

impl<'a, S: PlanSystem, L: PlanLoss> Hybrid<'a, S, L> {
    /// Memory for plans of a problem.
    pub fn new(
        problem: Problem<'a, S, L>,
        spline: Spline,
        config: HybridConfig,
    ) -> Result<Self, ConfigError> {
        problem.check_bounded("hybrid")?;
        config.check("hybrid")?;
        let HybridConfig { sampling, starts, .. } = config;
        let samples = Samples::new(problem, &spline, sampling.samples, sampling.precision)?;
        Ok(Hybrid { config, spline, samples, descent: Descent::new(problem, starts)? })
    }
}

impl<S: PlanSystem, L: PlanLoss> Planner for Hybrid<'_, S, L> {
    fn spline(&self) -> &Spline {
        &self.spline
    }

    fn plan(&mut self, from: &[f64], plan: &mut Plan, moment: &mut Moment<'_>) -> Result<Outcome, PlanError> {
        let HybridConfig { sampling, descent, starts } = self.config;
        let at = (&self.spline, plan.phase);
        let about = (&plan.knots[..], &(|_| sampling.sigma) as &dyn Fn(usize) -> f64);
        self.samples.draw(from, at, about, sampling.noise, (moment.seed, 0))?;
        let costs = &self.samples.costs;
        let before = costs[0];

        // The plan itself first, then the best samples; where few can be simulated, the best again.
        let mut order: Vec<usize> = (1..costs.len()).filter(|i| costs[*i].is_finite()).collect();
        order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        let own = before.is_finite().then_some(0);
        let chosen: Vec<usize> = own.into_iter().chain(order).collect();
        let Some(first) = chosen.first() else { return Err(PlanError::NoPlan { step: moment.step }) };
        let mut plans: Vec<Vec<f64>> =
            (0..starts).map(|i| self.samples.plans[*chosen.get(i).unwrap_or(first)].clone()).collect();

        let found = self.descent.run(&descent, from, at, &mut plans, moment.watch)?;
        let (after, knots) = found.best.ok_or(PlanError::NoPlan { step: moment.step })?;
        plan.knots = knots;
        Ok(Outcome { before, after, rollouts: sampling.samples + starts, gradients: found.gradients })
    }
}
