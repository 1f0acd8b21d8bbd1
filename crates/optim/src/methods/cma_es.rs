//! CMA-ES in the box, restarted with a doubled population (IPOP; Auger and Hansen, CEC 2005) when a run has
//! converged.
//!
//! Boundary: a point outside the box is drawn again a few times, and then its coordinates are put on the
//! wall; the distribution is told the repaired point, so that its mean never leaves the box. A run has
//! converged when one of the usual criteria of the tutorial's appendix B.3 holds (losses flat, steps tiny,
//! covariance degenerate, steps exploding).

use std::collections::VecDeque;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use serde::{Deserialize, Serialize};

use super::cma_state::{CmaState, Weights};
use super::{MOST_POINTS, Settings, Start, bytes, check_population, settings};
use crate::run::{Run, SearchMethod, Stop};

/// Settings of [`CmaEs`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CmaEsConfig {
    /// Points per generation of the first run; 0 stands for 4 + ⌊3 ln n⌋ (0).
    pub population: usize,
    /// First step size in the box scaled to [−1, 1] (0.6: 0.3 of its width, the tutorial's advice).
    pub sigma: f64,
    /// Draws of a point before it is put on the wall (10).
    pub tries: usize,
    /// First mean of the first run (own); restarts begin anywhere.
    pub start: Start,
    /// Factor of the population at each restart; 0 ends the search when the first run has converged (2).
    pub restart_growth: usize,
    /// Losses that differ by no more than this times the larger of 1 and the lowest one's size are flat
    /// (1e-12).
    pub loss_tolerance: f64,
    /// Steps below this part of the first are tiny (1e-12).
    pub step_tolerance: f64,
}

impl Default for CmaEsConfig {
    fn default() -> Self {
        CmaEsConfig {
            population: 0,
            sigma: 0.6,
            tries: 10,
            start: Start::Own,
            restart_growth: 2,
            loss_tolerance: 1e-12,
            step_tolerance: 1e-12,
        }
    }
}

impl Settings for CmaEsConfig {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        check_population(name, self.population)?;
        let ranges = [
            ("sigma", self.sigma, Range::Above(0.0, 10.0)),
            ("tries", self.tries as f64, Range::Within(1.0, 1e4)),
            ("restart_growth", self.restart_growth as f64, Range::Within(0.0, 100.0)),
            ("loss_tolerance", self.loss_tolerance, Range::NotNegative),
            ("step_tolerance", self.step_tolerance, Range::Below(0.0, 1.0)),
        ];
        check_ranges(name, &ranges)
    }
}

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct CmaEs {
    /// Its settings.
    pub config: CmaEsConfig,
}

impl SearchMethod for CmaEs {
    fn name(&self) -> &'static str {
        "cma-es"
    }
    fn settings(&self) -> String {
        settings(self.name(), &self.config)
    }
    fn check(&self, dim: usize) -> Result<(), ConfigError> {
        self.config.check(self.name())?;
        let (population, n) = (self.config.population as f64, dim as f64);
        check_memory(self.name(), "population", bytes(population * n))?;
        // Covariance, basis and their products.
        check_memory("cma-es (sep-cma-es needs less)", "the covariance", bytes(4.0 * n * n))
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let config = &self.config;
        let mut mean = config.start.point(run, random);
        let mut population = match config.population {
            0 => CmaState::default_population(run.dim()),
            given => given,
        };
        loop {
            let mut state = CmaState::new(mean, config.sigma, population, Weights::Logarithmic);
            let mut convergence = Convergence::new(config, &state);
            while !convergence.is_converged(&state) {
                let points = state.ask_in_box(config.tries, random);
                let losses = run.values(&points)?;
                state.tell(&points, &losses);
                convergence.update(&losses);
            }
            if config.restart_growth == 0 {
                return Ok(());
            }
            population = (population * config.restart_growth).min(MOST_POINTS as usize);
            mean = run.sample_uniform(random);
        }
    }
}

/// The recent past of a run, by which its end is known.
struct Convergence<'a> {
    config: &'a CmaEsConfig,
    /// Best losses of the last 10 + ⌈30 n/λ⌉ generations.
    best: VecDeque<f64>,
    memory: usize,
    /// Best and worst of the last generation.
    last: (f64, f64),
}

impl<'a> Convergence<'a> {
    fn new(config: &'a CmaEsConfig, state: &CmaState) -> Self {
        let memory = 10 + (30 * state.mean.len()).div_ceil(state.population());
        Convergence { config, best: VecDeque::with_capacity(memory + 1), memory, last: (0.0, f64::INFINITY) }
    }

    fn update(&mut self, losses: &[f64]) {
        let range = |(low, high): (f64, f64), l: &f64| (l.min(low), l.max(high));
        self.last = losses.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
        self.best.push_back(self.last.0);
        if self.best.len() > self.memory {
            self.best.pop_front();
        }
    }

    fn is_converged(&self, state: &CmaState) -> bool {
        let (long, short) = state.axes();
        let (first, step) = (self.config.sigma, state.sigma);
        // Steps tiny, exploding or no numbers; covariance degenerate.
        let numb = step * long < self.config.step_tolerance * first;
        let lost = !step.is_finite() || step * long > 1e4 * first || long > 1e7 * short;
        // All losses of the last generation, and the best ones of the recent past, alike.
        let (low, high) = self.best.iter().fold(self.last, |(low, high), l| (l.min(low), l.max(high)));
        let flat = high - low <= self.config.loss_tolerance * low.abs().max(1.0) || low == f64::INFINITY;
        numb || lost || (self.best.len() == self.memory && flat)
    }
}
