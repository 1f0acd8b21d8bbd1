//! L-BFGS in the box, for any number of variables.
//!
//! Variables on a wall whose descent leads outside are held for the step; the two loops (`two_loop.rs`) work
//! in the others, and the trial is clamped to the box. The line search asks for sufficient decrease along the
//! clamped step and shortens by the slopes at both ends; each trial is an episode. The search ends where no
//! decrease is found along the steepest descent either.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use serde::{Deserialize, Serialize};

use super::descent::{clipped_gradient, dot, largest, minus};
use super::{Settings, Start, bytes, settings};
use crate::run::{Run, SearchMethod, Stop};
use crate::two_loop::Pairs;

/// Settings of [`Lbfgs`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LbfgsConfig {
    /// Pairs remembered (10).
    pub memory: usize,
    /// Largest coordinate of the first step in the box scaled to [−1, 1] (0.1).
    pub first_step: f64,
    /// Trials of a line search (20).
    pub trials: usize,
    /// Ends when no entry of the clipped gradient exceeds this part of the largest seen (1e-14).
    pub gradient_tolerance: f64,
    /// Where to begin (own).
    pub start: Start,
}

impl Default for LbfgsConfig {
    fn default() -> Self {
        LbfgsConfig { memory: 10, first_step: 0.1, trials: 20, gradient_tolerance: 1e-14, start: Start::Own }
    }
}

impl Settings for LbfgsConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        let ranges = [
            ("memory", self.memory as f64, Range::Within(1.0, 1e4)),
            ("first_step", self.first_step, Range::Above(0.0, 2.0)),
            ("trials", self.trials as f64, Range::Within(1.0, 1e4)),
            ("gradient_tolerance", self.gradient_tolerance, Range::Below(0.0, 1.0)),
        ];
        check_ranges(name, &ranges)
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lbfgs {
    /// Its settings.
    pub config: LbfgsConfig,
}

/// Where the search is, and the pairs it remembers.
#[derive(Clone, Debug)]
struct LbfgsState {
    z: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    /// Accepted steps.
    pairs: Pairs,
}

impl SearchMethod for Lbfgs {
    fn name(&self) -> &'static str {
        "lbfgs"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn check(&self, dim: usize) -> Result<(), ConfigError> {
        self.config.check(self.name())?;
        check_memory(self.name(), "memory", bytes(2.0 * self.config.memory as f64 * dim as f64))
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let config = &self.config;
        let z = config.start.point(run, random);
        let mut gradient = vec![0.0; z.len()];
        let loss = run.value_grad(&z, &mut gradient)?;
        let mut state = LbfgsState { z, loss, gradient, pairs: Pairs::new(config.memory) };
        let mut steepest: f64 = 0.0;
        loop {
            let slope = largest(&clipped_gradient(&state.z, &state.gradient));
            steepest = steepest.max(slope);
            if slope <= config.gradient_tolerance * steepest {
                return Ok(());
            }
            if !state.step(run, config)? {
                if state.pairs.is_empty() {
                    return Ok(());
                }
                state.pairs.clear();
            }
        }
    }
}

impl LbfgsState {
    /// One line search; false when no decrease was found.
    fn step(&mut self, run: &mut Run<'_>, config: &LbfgsConfig) -> Result<bool, Stop> {
        let clipped = clipped_gradient(&self.z, &self.gradient);
        let mut direction = self.pairs.direction(&clipped);
        // Without pairs, and where the model is no descent, the steepest one of a length of our own.
        let guess = config.first_step / largest(&clipped);
        if self.pairs.is_empty() || dot(&direction, &clipped) >= 0.0 {
            direction = clipped.iter().map(|g| -guess * g).collect();
        }
        let (mut scale, mut gradient) = (1.0, vec![0.0; self.z.len()]);
        for _ in 0..config.trials {
            let moved = self.z.iter().zip(&direction).map(|(z, d)| (z + scale * d).clamp(-1.0, 1.0));
            let there: Vec<f64> = moved.collect();
            let s = minus(&there, &self.z);
            if largest(&s) == 0.0 {
                break;
            }
            let loss = run.value_grad(&there, &mut gradient)?;
            let slope = dot(&s, &self.gradient);
            // Sufficient decrease for the step that was possible inside the box.
            if loss < self.loss && loss <= self.loss + 1e-4 * slope {
                let y = minus(&gradient, &self.gradient);
                self.pairs.push(s, y);
                (self.z, self.loss, self.gradient) = (there, loss, gradient);
                return Ok(true);
            }
            // Up to the zero of the slope, taken as linear, but no less than a tenth and no more than half.
            let end = dot(&s, &gradient);
            scale *= if end > 0.0 { (slope / (slope - end)).clamp(0.1, 0.5) } else { 0.25 };
        }
        Ok(false)
    }
}
