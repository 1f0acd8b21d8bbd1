//! Gradient descent with momentum in the box: each step is projected onto it.
//!
//! The rate is given as the length of the first step, so that it needs no unit of the loss; from then on a step is as long
//! as the gradient is steep. A step that leaves the finite losses, or lands four times higher than the first loss, is taken
//! back and the rate is halved.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_ranges};
use serde::{Deserialize, Serialize};

use super::descent::largest;
use super::{Settings, Start, settings};
use crate::run::{Run, SearchMethod, Stop};

/// Settings of [`Sgd`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdConfig {
    /// Largest coordinate of the first step in the box scaled to [−1, 1] (0.02).
    pub rate: f64,
    /// Part of the last step that is taken again (0.9).
    pub momentum: f64,
    /// Where to begin (own).
    pub start: Start,
}

impl Default for SgdConfig {
    fn default() -> Self {
        SgdConfig { rate: 0.02, momentum: 0.9, start: Start::Own }
    }
}

impl Settings for SgdConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let SgdConfig { rate, momentum, .. } = *self;
        let ranges = [("rate", rate, Range::Above(0.0, 2.0)), ("momentum", momentum, Range::Below(0.0, 1.0))];
        check_ranges(name, &ranges)
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sgd {
    /// Its settings.
    pub config: SgdConfig,
}

/// A loss so many times the first one is too far up.
const TOO_HIGH: f64 = 4.0;

impl SearchMethod for Sgd {
    fn name(&self) -> &'static str {
        "sgd"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn check(&self, _dim: usize) -> Result<(), ConfigError> {
        self.config.check(self.name())
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let mut z = self.config.start.point(run, random);
        let (mut gradient, mut velocity) = (vec![0.0; z.len()], vec![0.0; z.len()]);
        let first = run.value_grad(&z, &mut gradient)?;
        let steepest = largest(&gradient);
        if steepest == 0.0 {
            return Ok(());
        }
        let mut rate = self.config.rate / steepest;
        let mut kept = (z.clone(), gradient.clone());
        loop {
            // v ← μ v − η ∇L, z ← z + v
            for i in 0..z.len() {
                velocity[i] = self.config.momentum * velocity[i] - rate * gradient[i];
                z[i] = (z[i] + velocity[i]).clamp(-1.0, 1.0);
            }
            let loss = run.value_grad(&z, &mut gradient)?;
            if loss <= TOO_HIGH * first {
                kept = (z.clone(), gradient.clone());
            } else {
                (z, gradient) = kept.clone();
                velocity.fill(0.0);
                rate *= 0.5;
            }
        }
    }
}
