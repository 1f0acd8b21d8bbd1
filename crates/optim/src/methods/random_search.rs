//! Random search: points drawn uniformly in the box until the budget is spent.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use serde::{Deserialize, Serialize};

use super::{MOST_POINTS, Settings, bytes, settings};
use crate::run::{Run, SearchMethod, Stop};

/// Settings of [`RandomSearch`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomSearchConfig {
    /// Points simulated side by side (16); the points do not depend on it.
    pub batch: usize,
}

impl Default for RandomSearchConfig {
    fn default() -> Self {
        RandomSearchConfig { batch: 16 }
    }
}

impl Settings for RandomSearchConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        check_ranges(name, &[("batch", self.batch as f64, Range::Within(1.0, MOST_POINTS))])
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomSearch {
    /// Its settings.
    pub config: RandomSearchConfig,
}

impl SearchMethod for RandomSearch {
    fn name(&self) -> &'static str {
        "random"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn check(&self, dim: usize) -> Result<(), ConfigError> {
        self.config.check(self.name())?;
        check_memory(self.name(), "batch", bytes(self.config.batch as f64 * dim as f64))
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        loop {
            let points: Vec<Vec<f64>> = (0..self.config.batch).map(|_| run.sample_uniform(random)).collect();
            run.values(&points)?;
        }
    }
}
