//! Bayesian optimization whose trials are descents: from each proposed point a gradient descent goes down,
//! and all its points enter the model (BO-Leap's strategy without leaps).

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use serde::{Deserialize, Serialize};

use super::bo::first_episodes;
use super::descent::{DescentConfig, descend};
use super::{MOST_POINTS, Settings, bytes, settings};
use crate::gp::ModelConfig;
use crate::run::{Run, SearchMethod, Stop};

/// Bayesian optimization with descents.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoDescents {
    /// Episodes at random points first, in parallel (10).
    pub first: usize,
    /// The descents.
    pub descent: DescentConfig,
    /// The model.
    pub model: ModelConfig,
}

impl Default for BoDescents {
    fn default() -> Self {
        BoDescents { first: 10, descent: DescentConfig::default(), model: ModelConfig::default() }
    }
}

impl Settings for BoDescents {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        check_ranges(name, &[("first", self.first as f64, Range::Within(0.0, MOST_POINTS))])?;
        self.descent.check(name)?;
        self.model.check(name)
    }
}

impl SearchMethod for BoDescents {
    fn name(&self) -> &'static str {
        "bo-descents"
    }
    fn settings(&self) -> String {
        settings(self.name(), self)
    }
    fn check(&self, dim: usize) -> Result<(), ConfigError> {
        Settings::check(self, self.name())?;
        check_memory(self.name(), "first", bytes(self.first as f64 * dim as f64))?;
        self.model.check_memory(self.name(), dim)
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let mut model = first_episodes(run, self.first, self.model, random)?;
        loop {
            model.fit(random);
            let start = model.propose(random);
            for place in descend(run, start, &self.descent)?.path {
                model.add_with_gradient(&place.z, place.loss, &place.gradient);
            }
        }
    }
}
