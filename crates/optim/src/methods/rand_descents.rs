//! RandDescents of paper 0: one descent after another, each from a random point of the box, until the budget is spent.

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::descent::{DescentConfig, StepRule, descend};
use super::settings;
use crate::run::{Method, Run, Stop};

/// Settings of [`RandDescents`]; those of its descents are [`DescentConfig`]'s.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandDescentsConfig {
    /// Steps of each descent at most, J (100).
    pub max_steps: usize,
    /// The rule of the step length (adaptive).
    pub rule: StepRule,
    /// α, or the first length in the scaled box (0.1).
    pub step: f64,
    /// A descent is halted when the loss has stagnated for more than this many steps (3).
    pub patience: usize,
}

impl Default for RandDescentsConfig {
    fn default() -> Self {
        let DescentConfig { rule, step, patience, .. } = DescentConfig::default();
        RandDescentsConfig { max_steps: 100, rule, step, patience }
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandDescents {
    /// Its settings.
    pub config: RandDescentsConfig,
}

impl Method for RandDescents {
    fn name(&self) -> &'static str {
        "rand-descents"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let RandDescentsConfig { max_steps, rule, step, patience } = self.config;
        let config = DescentConfig { max_steps, rule, step, patience, ..DescentConfig::default() };
        loop {
            let start = run.anywhere(random);
            descend(run, start, &config)?;
        }
    }
}
