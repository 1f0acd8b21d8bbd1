//! Adam (Kingma and Ba, 2015) in the box: each step is projected onto it.
//!
//! Steps have nearly the same length along every variable whatever the loss' unit, which suits the scaled
//! box; the rate falls along half a cosine over the steps allowed, so that the end is not a dance around the
//! minimum.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_ranges};
use serde::{Deserialize, Serialize};

use super::{Settings, Start, settings};
use crate::run::{Run, SearchMethod, Stop};

/// Settings of [`Adam`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Length of the first steps along each variable of the box scaled to [−1, 1] (0.05).
    pub rate: f64,
    /// Decay of the mean of gradients (0.9).
    pub beta1: f64,
    /// Decay of the mean of their squares (0.999).
    pub beta2: f64,
    /// Steps; 0 stands for the whole budget (0).
    pub steps: usize,
    /// Where to begin (own).
    pub start: Start,
}

impl Default for AdamConfig {
    fn default() -> Self {
        AdamConfig { rate: 0.05, beta1: 0.9, beta2: 0.999, steps: 0, start: Start::Own }
    }
}

impl Settings for AdamConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let AdamConfig { rate, beta1, beta2, .. } = *self;
        let decay = Range::Below(0.0, 1.0);
        let ranges =
            [("rate", rate, Range::Above(0.0, 2.0)), ("beta1", beta1, decay), ("beta2", beta2, decay)];
        check_ranges(name, &ranges)
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Adam {
    /// Its settings.
    pub config: AdamConfig,
}

/// Means of the gradients so far.
#[derive(Clone, Debug)]
pub struct AdamState {
    mean: Vec<f64>,
    square: Vec<f64>,
    /// β₁ᵗ and β₂ᵗ.
    decayed: (f64, f64),
}

impl AdamState {
    /// No gradient yet.
    pub fn new(dim: usize) -> Self {
        AdamState { mean: vec![0.0; dim], square: vec![0.0; dim], decayed: (1.0, 1.0) }
    }

    /// Moves `z` by one step against the gradient, inside the box.
    pub fn step(&mut self, config: &AdamConfig, rate: f64, z: &mut [f64], gradient: &[f64]) {
        let AdamConfig { beta1, beta2, .. } = *config;
        self.decayed = (self.decayed.0 * beta1, self.decayed.1 * beta2);
        for (i, g) in gradient.iter().enumerate() {
            self.mean[i] = beta1 * self.mean[i] + (1.0 - beta1) * g;
            self.square[i] = beta2 * self.square[i] + (1.0 - beta2) * g * g;
            // z ← z − η m̂/√v̂, with the bias of the first steps taken out
            let (m, v) = (self.mean[i] / (1.0 - self.decayed.0), self.square[i] / (1.0 - self.decayed.1));
            if v > 0.0 {
                z[i] = (z[i] - rate * m / v.sqrt()).clamp(-1.0, 1.0);
            }
        }
    }
}

impl SearchMethod for Adam {
    fn name(&self) -> &'static str {
        "adam"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn check(&self, _dim: usize) -> Result<(), ConfigError> {
        self.config.check(self.name())
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let config = &self.config;
        let mut z = config.start.point(run, random);
        let mut gradient = vec![0.0; z.len()];
        let mut state = AdamState::new(z.len());
        let steps = if config.steps == 0 { run.remaining() } else { config.steps };
        for t in 0..steps {
            run.value_grad(&z, &mut gradient)?;
            let cosine = (std::f64::consts::PI * t as f64 / steps as f64).cos();
            state.step(config, 0.5 * config.rate * (1.0 + cosine), &mut z, &gradient);
        }
        Ok(())
    }
}
