//! Bayesian optimisation whose trials are descents: from each proposed point a gradient descent goes down, and all its points
//! enter the model (paper 0's strategy without leaps).

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::bo::first_episodes;
use super::descent::{DescentConfig, StepRule, descend};
use super::settings;
use crate::gp::ModelConfig;
use crate::run::{Method, Run, Stop};

/// Bayesian optimisation with descents.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoDescents {
    /// Episodes at random points first, in parallel (10).
    pub first: usize,
    /// Steps of a descent at most, J (100).
    pub max_steps: usize,
    /// The rule of the step length (adaptive).
    pub rule: StepRule,
    /// α, or the first length in the scaled box (0.1).
    pub step: f64,
    /// A descent is halted when the loss has stagnated for more than this many steps (3).
    pub patience: usize,
    /// The model.
    pub model: ModelConfig,
}

impl Default for BoDescents {
    fn default() -> Self {
        let DescentConfig { rule, step, patience, .. } = DescentConfig::default();
        BoDescents { first: 10, max_steps: 100, rule, step, patience, model: ModelConfig::default() }
    }
}

impl Method for BoDescents {
    fn name(&self) -> &'static str {
        "bo-descents"
    }
    fn settings(&self) -> String {
        settings(self.name(), self)
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let BoDescents { max_steps, rule, step, patience, .. } = *self;
        let descent = DescentConfig { max_steps, rule, step, patience, ..DescentConfig::default() };
        let mut model = first_episodes(run, self.first, self.model, random)?;
        loop {
            model.fit(random);
            let start = model.propose(random);
            for (z, loss) in descend(run, start, &descent)?.path {
                model.add(&z, loss);
            }
        }
    }
}
