//! [`LossModel`]: what a search knows about a loss, and where it would look next.
//!
//! ```
//! use pullback_core::random::Random;
//! use pullback_optim::gp::{LossModel, ModelConfig};
//!
//! let mut random = Random::new(1);
//! let mut model = LossModel::new(ModelConfig::default(), 1);
//! for _ in 0..12 {
//!     model.fit(&mut random);
//!     let z = model.propose(&mut random);
//!     model.add(&z, (z[0] - 0.3).powi(2));
//! }
//! assert!((model.lowest().unwrap().0[0] - 0.3).abs() < 0.05);
//! ```
//!
//! Each loss added costs n² (`cholesky.rs`); hyperparameters are fitted anew when the points have grown by a tenth, from where they
//! were. Between fits the model is exact for the hyperparameters it has. Above [`ModelConfig::exact_limit`] points it
//! is local (`local.rs`).

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::acquisition::{Acquisition, descend};
use super::hyper::{Fit, FitConfig, Start, fit, prior_mode};
use super::kernel::{Kernel, Points};
use super::local::{around, selection};
use super::outcome::Outcomes;
use super::posterior::{Hyper, Posterior};

/// Settings of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Kernel (Matérn 5/2, BoTorch's in paper 0's time).
    pub kernel: Kernel,
    /// Acquisition function (lower bound, α = 1, as in paper 0).
    pub acquisition: Acquisition,
    /// How hyperparameters are fitted.
    pub fit: FitConfig,
    /// Fit anew when the number of points has grown by this factor (1.1); 1 fits every time.
    pub refit_growth: f64,
    /// Candidates compared before descending (512).
    pub candidates: usize,
    /// Candidates to descend from (10).
    pub starts: usize,
    /// Steps of these descents at most (50).
    pub steps: usize,
    /// More points than this are not factored at once (3,000).
    pub exact_limit: usize,
    /// Points of a neighbourhood above the limit (400).
    pub neighbours: usize,
}

impl Default for ModelConfig {
    fn default() -> Self {
        ModelConfig {
            kernel: Kernel::Matern52,
            acquisition: Acquisition::LowerBound { alpha: 1.0 },
            fit: FitConfig::default(),
            refit_growth: 1.1,
            candidates: 512,
            starts: 10,
            steps: 50,
            exact_limit: 3000,
            neighbours: 400,
        }
    }
}

/// A Gaussian process over losses in the box [−1, 1].
#[derive(Clone, Debug)]
pub struct LossModel {
    config: ModelConfig,
    points: Points,
    losses: Vec<f64>,
    outcomes: Outcomes,
    hyper: Hyper,
    /// Points at the last fit of hyperparameters, and what it left for the next; none before the first.
    fitted: Option<(usize, Start)>,
    /// Of all points, or of a selection above the limit.
    posterior: Option<Posterior>,
    /// Which points the posterior has, in its order.
    selected: Vec<usize>,
}

impl LossModel {
    /// A model of `dim` variables that knows nothing.
    pub fn new(config: ModelConfig, dim: usize) -> Self {
        LossModel {
            config,
            points: Points::new(dim),
            losses: Vec::new(),
            outcomes: Outcomes::new(&[]),
            hyper: prior_mode(dim, &config.fit),
            fitted: None,
            posterior: None,
            selected: Vec::new(),
        }
    }

    /// Number of losses added.
    pub fn len(&self) -> usize {
        self.losses.len()
    }
    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }
    /// Present hyperparameters, for standardised losses.
    pub fn hyper(&self) -> &Hyper {
        &self.hyper
    }
    /// The point with the lowest loss, and the loss.
    pub fn lowest(&self) -> Option<(Vec<f64>, f64)> {
        let i = (0..self.len()).min_by(|a, b| self.losses[*a].total_cmp(&self.losses[*b]))?;
        Some((self.points.get(i), self.losses[i]))
    }

    /// Adds a loss; infinite where the simulation failed. Coordinates outside the box are taken to its wall.
    pub fn add(&mut self, z: &[f64], loss: f64) {
        let inside = |z: &f64| if z.is_nan() { 0.0 } else { z.clamp(-1.0, 1.0) };
        let z: Vec<f64> = z.iter().map(inside).collect();
        self.points.push(&z);
        self.losses.push(if loss.is_nan() { f64::INFINITY } else { loss });
    }

    /// Takes in all that was added, and fits hyperparameters where that is due.
    pub fn fit(&mut self, random: &mut Random) {
        let n = self.len();
        let due = self
            .fitted
            .as_ref()
            .is_none_or(|(before, _)| n as f64 >= self.config.refit_growth * *before as f64);
        // Two points say nothing about length scales.
        if due && n > 2 {
            self.refit(random);
        } else {
            self.update(random);
        }
    }

    /// Fits hyperparameters now, whether due or not; says how it went.
    pub fn refit(&mut self, random: &mut Random) -> Fit {
        self.outcomes = Outcomes::new(&self.losses);
        let start = self.fitted.take().map(|(_, start)| start);
        let mut found =
            fit(self.config.kernel, &self.points, &self.outcomes.y, start.as_ref(), &self.config.fit, random);
        self.hyper = found.start.hyper.clone();
        self.fitted = Some((self.len(), found.start.clone()));
        self.posterior = None;
        match found.factor.take().filter(|_| !self.is_local()) {
            Some(factor) => {
                self.selected = (0..self.len()).collect();
                let (kernel, hyper, points) = (self.config.kernel, self.hyper.clone(), self.points.clone());
                let posterior = Posterior::with_factor(kernel, hyper, points, &self.outcomes.y, factor);
                self.posterior = Some(posterior);
            }
            None => self.update(random),
        }
        found
    }

    /// Forgets the fit of hyperparameters: the next one starts cold.
    pub fn forget_fit(&mut self) {
        self.fitted = None;
        self.hyper = prior_mode(self.points.dim(), &self.config.fit);
        self.posterior = None;
    }

    /// Takes new points into the posterior.
    fn update(&mut self, random: &mut Random) {
        let n = self.len();
        self.outcomes = Outcomes::new(&self.losses);
        // New points are the last ones; a selection is made anew with the hyperparameters.
        let known = self.selected.last().map_or(0, |last| last + 1);
        match &mut self.posterior {
            Some(posterior) => {
                for i in known..n {
                    posterior.append(&self.points.get(i));
                    self.selected.push(i);
                }
                let y: Vec<f64> = self.selected.iter().map(|i| self.outcomes.y[*i]).collect();
                posterior.set_values(&y);
            }
            None => {
                self.selected = selection(&self.outcomes.y, self.config.exact_limit, random);
                let y: Vec<f64> = self.selected.iter().map(|i| self.outcomes.y[*i]).collect();
                let points = self.points.subset(&self.selected);
                self.posterior = Posterior::new(self.config.kernel, self.hyper.clone(), points, &y);
            }
        }
    }

    /// Whether a factor of all points would be too large.
    fn is_local(&self) -> bool {
        self.len() > self.config.exact_limit
    }

    /// The posterior of the neighbours of `z`.
    fn around(&self, z: &[f64]) -> Option<Posterior> {
        let data = (&self.points, &self.outcomes.y[..]);
        around(self.config.kernel, &self.hyper, data, z, self.config.neighbours)
    }

    /// Mean and standard deviation of the loss at `z`.
    pub fn predict(&mut self, z: &[f64]) -> (f64, f64) {
        if self.outcomes.y.len() < self.len() || self.posterior.is_none() {
            // What a selection draws here depends on the points alone.
            self.update(&mut Random::new(self.len() as u64));
        }
        let local = if self.is_local() { self.around(z) } else { None };
        let Some(posterior) = local.as_ref().or(self.posterior.as_ref()) else { return (0.0, 1.0) };
        let batch = posterior.predict(&[z.to_vec()], false);
        let Outcomes { shift, scale, .. } = self.outcomes;
        (shift + scale * batch.mean[0], scale * batch.sd[0])
    }

    /// Where to look next: the best acquisition found; anywhere as long as nothing is known.
    pub fn propose(&mut self, random: &mut Random) -> Vec<f64> {
        if self.outcomes.y.len() < self.len() {
            self.update(random);
        }
        let candidates = self.candidates(random);
        let anywhere = candidates[0].clone();
        let Some(posterior) = self.posterior.as_ref().filter(|p| !p.is_empty()) else { return anywhere };
        let ModelConfig { acquisition, steps, .. } = self.config;
        let best = self.outcomes.y.iter().fold(f64::INFINITY, |m, y| m.min(*y));
        let (values, _) = acquisition.at(posterior, best, &candidates, false);
        let mut order: Vec<usize> = (0..candidates.len()).filter(|i| values[*i].is_finite()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let starts = order.iter().take(self.config.starts).map(|i| candidates[*i].clone());
        let found = if self.is_local() {
            // Each start in its own neighbourhood.
            let settle = |z: Vec<f64>| descend(acquisition, &self.around(&z)?, best, vec![z], steps);
            starts.filter_map(settle).min_by(|a, b| a.0.total_cmp(&b.0))
        } else {
            descend(acquisition, posterior, best, starts.collect(), steps)
        };
        found.map_or(anywhere, |(_, z)| z)
    }

    /// Points anywhere, the first of them certainly, and a quarter near the lowest losses.
    fn candidates(&self, random: &mut Random) -> Vec<Vec<f64>> {
        let dim = self.points.dim();
        let count = self.config.candidates.max(1);
        let mut order: Vec<usize> = (0..self.len()).collect();
        let kept = order.len().min(4);
        if kept < order.len() {
            order.select_nth_unstable_by(kept, |a, b| self.losses[*a].total_cmp(&self.losses[*b]));
        }
        let lowest: Vec<Vec<f64>> = order[..kept].iter().map(|i| self.points.get(*i)).collect();
        let mut candidates = Vec::with_capacity(count);
        for i in 0..count {
            if i % 4 != 3 || lowest.is_empty() {
                candidates.push((0..dim).map(|_| random.uniform(-1.0, 1.0)).collect());
                continue;
            }
            // Some twenty variables move at most, by a fraction of the box that differs from candidate to candidate.
            let spread = 0.5 * 10.0_f64.powf(-random.uniform(0.0, 2.0));
            let chance = (20.0 / dim as f64).min(1.0);
            let moved = lowest[(i / 4) % lowest.len()].iter().map(|z| {
                let (by, moves) = (spread * random.normal(), random.uniform(0.0, 1.0) < chance);
                if moves { (z + by).clamp(-1.0, 1.0) } else { *z }
            });
            candidates.push(moved.collect());
        }
        candidates
    }
}
