//! Random search: points drawn uniformly in the box until the budget is spent.

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::settings;
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
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        loop {
            let points: Vec<Vec<f64>> =
                (0..self.config.batch.max(1)).map(|_| run.sample_uniform(random)).collect();
            run.values(&points)?;
        }
    }
}
