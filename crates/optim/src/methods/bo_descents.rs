//! Bayesian optimization whose trials are descents: from each proposed point a gradient descent goes down,
//! and all its points enter the model (BO-Leap's strategy without leaps).

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::bo::first_episodes;
use super::descent::{DescentConfig, descend};
use super::settings;
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

impl SearchMethod for BoDescents {
    fn name(&self) -> &'static str {
        "bo-descents"
    }
    fn settings(&self) -> String {
        settings(self.name(), self)
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
