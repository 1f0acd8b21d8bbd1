//! RandDescents (BO-Leap, section 5.1): one descent after another, each from a random point of the box, until
//! the budget is spent.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::descent::{DescentConfig, descend};
use super::{Settings, settings};
use crate::run::{Run, SearchMethod, Stop};

/// The method.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandDescents {
    /// The descents.
    pub descent: DescentConfig,
}

impl Settings for RandDescents {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        self.descent.check(name)
    }
}

impl SearchMethod for RandDescents {
    fn name(&self) -> &'static str {
        "rand-descents"
    }
    fn settings(&self) -> String {
        settings(self.name(), self)
    }
    fn check(&self, _dim: usize) -> Result<(), ConfigError> {
        Settings::check(self, self.name())
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        loop {
            let start = run.sample_uniform(random);
            descend(run, start, &self.descent)?;
        }
    }
}
