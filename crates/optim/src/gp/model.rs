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
//! Each loss added costs n² (`cholesky.rs`); hyperparameters are fitted anew when the points have grown by a
//! tenth, from where they were. Between fits the model is exact for the hyperparameters it has. Above
//! [`ModelConfig::exact_limit`] points it is local (`local.rs`). Where [`ModelConfig::gradients`] asks for
//! it, predictions are also conditioned on gradients (`derivative.rs`); hyperparameters are fitted to the
//! losses alone.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{self, Range, check_ranges};
use serde::{Deserialize, Serialize};

use super::acquisition::{Acquisition, descend};
use super::derivative::{GradientPosterior, Slope, gradient_noise};
use super::hyper::{Fit, FitConfig, Start, fit, prior_mode};
use super::kernel::{Kernel, Points};
use super::local::{nearest_posterior, selection};
use super::outcome::Outcomes;
use super::posterior::{Hyper, Posterior, Predict};

/// Points that may be factored at once: their matrix has 3.2 GB.
pub(super) const MOST_FACTORED: f64 = 2e4;

/// Settings of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Kernel (Matérn 5/2, BoTorch's when BO-Leap was published).
    pub kernel: Kernel,
    /// Acquisition function (lower bound, α = 1, as in BO-Leap).
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
    /// Points of a neighborhood above the limit (400).
    pub neighbors: usize,
    /// Gradients to be conditioned on, those at the lowest losses (0: none, as in BO-Leap). Each weighs as
    /// many losses as there are variables, in knowledge and in time; above `exact_limit` such numbers there
    /// are none.
    pub gradients: usize,
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
            neighbors: 400,
            gradients: 0,
        }
    }
}

impl ModelConfig {
    /// Refuses a number that is out of its range; `name` is what the settings belong to.
    pub fn check(&self, name: &str) -> Result<(), ConfigError> {
        let alpha = match self.acquisition {
            Acquisition::LowerBound { alpha } => alpha,
            Acquisition::Improvement | Acquisition::LogImprovement => 0.0,
        };
        let ranges = [
            ("alpha", alpha, Range::NotNegative),
            ("refit_growth", self.refit_growth, Range::Within(1.0, 100.0)),
            ("candidates", self.candidates as f64, Range::Within(1.0, 1e7)),
            ("starts", self.starts as f64, Range::Within(1.0, 1e6)),
            ("steps", self.steps as f64, Range::Within(0.0, 1e6)),
            ("exact_limit", self.exact_limit as f64, Range::Within(1.0, MOST_FACTORED)),
            ("neighbors", self.neighbors as f64, Range::Within(1.0, MOST_FACTORED)),
            ("gradients", self.gradients as f64, Range::Within(0.0, 1e6)),
        ];
        check_ranges(name, &ranges)?;
        self.fit.check(name)
    }

    /// Refuses sizes for which there is no memory in a search of `dim` variables.
    pub(crate) fn check_memory(&self, name: &str, dim: usize) -> Result<(), ConfigError> {
        let bytes = 8.0 * self.candidates as f64 * dim as f64;
        settings::check_memory(name, "candidates", bytes)
    }
}

/// A Gaussian process over losses in the box [−1, 1].
#[derive(Clone, Debug)]
pub struct LossModel {
    config: ModelConfig,
    points: Points,
    losses: Vec<f64>,
    /// Gradients of losses as they are; kept only if the model is to be conditioned on them.
    slopes: Vec<Slope>,
    outcomes: Outcomes,
    hyper: Hyper,
    /// Points at the last fit of hyperparameters, and what it left for the next; none before the first.
    fitted: Option<(usize, Start)>,
    /// Of all points, or of a selection above the limit.
    posterior: Option<Posterior>,
    /// Of all points and some gradients, and how many losses it has seen.
    with_slopes: Option<(usize, GradientPosterior)>,
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
            slopes: Vec::new(),
            outcomes: Outcomes::new(&[]),
            hyper: prior_mode(dim, &config.fit),
            fitted: None,
            posterior: None,
            with_slopes: None,
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
    /// Present hyperparameters, for standardized losses.
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

    /// Adds a loss with its gradient by the coordinates of the box.
    pub(crate) fn add_with_gradient(&mut self, z: &[f64], loss: f64, gradient: &[f64]) {
        let usable = loss.is_finite() && gradient.iter().all(|g| g.is_finite());
        if self.wants_gradients() && usable {
            self.slopes.push(Slope { point: self.len(), gradient: gradient.to_vec() });
        }
        self.add(z, loss);
    }

    /// Whether gradients are made use of.
    pub(crate) fn wants_gradients(&self) -> bool {
        self.config.gradients > 0
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
        (self.posterior, self.with_slopes) = (None, None);
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

    /// Conditions on gradients as well, where that is wanted and possible.
    fn condition_on_gradients(&mut self) {
        let n = self.len();
        if self.with_slopes.as_ref().is_some_and(|(seen, _)| *seen == n) {
            return;
        }
        self.with_slopes = None;
        let room = self.config.exact_limit.saturating_sub(n) / self.points.dim().max(1);
        let count = self.config.gradients.min(room).min(self.slopes.len());
        if count == 0 {
            return;
        }
        let Outcomes { y, scale, .. } = &self.outcomes;
        let standard = |slope: &Slope| Slope {
            point: slope.point,
            gradient: slope.gradient.iter().map(|g| g / scale).collect(),
        };
        let mut slopes: Vec<Slope> = self.slopes.iter().map(standard).collect();
        let (kernel, hyper, points) = (self.config.kernel, self.hyper.clone(), self.points.clone());
        let gradient_noise = gradient_noise(kernel, &hyper, &slopes);
        slopes.sort_by(|a, b| self.losses[a.point].total_cmp(&self.losses[b.point]));
        let posterior = GradientPosterior::new(kernel, hyper, points, y, &slopes[..count], gradient_noise);
        self.with_slopes = posterior.map(|posterior| (n, posterior));
    }

    /// The posterior of the whole box, with gradients where they are conditioned on.
    fn global_posterior(&self) -> Option<&dyn Predict> {
        let with_slopes = self.with_slopes.as_ref().map(|(_, posterior)| posterior as &dyn Predict);
        with_slopes.or(self.posterior.as_ref().filter(|p| !p.is_empty()).map(|p| p as &dyn Predict))
    }

    /// The posterior of the neighbors of `z`.
    fn local_posterior(&self, z: &[f64]) -> Option<Posterior> {
        let data = (&self.points, &self.outcomes.y[..]);
        nearest_posterior(self.config.kernel, &self.hyper, data, z, self.config.neighbors)
    }

    /// Mean and standard deviation of the loss at `z`.
    pub fn predict(&mut self, z: &[f64]) -> (f64, f64) {
        if self.outcomes.y.len() < self.len() || self.posterior.is_none() {
            // What a selection draws here depends on the points alone.
            self.update(&mut Random::new(self.len() as u64));
        }
        self.condition_on_gradients();
        let local = if self.is_local() { self.local_posterior(z) } else { None };
        let local = local.as_ref().map(|posterior| posterior as &dyn Predict);
        let Some(posterior) = local.or_else(|| self.global_posterior()) else { return (0.0, 1.0) };
        let batch = posterior.predict(&[z.to_vec()], false);
        let Outcomes { shift, scale, .. } = self.outcomes;
        (shift + scale * batch.mean[0], scale * batch.sd[0])
    }

    /// Where to look next: the best acquisition found; anywhere as long as nothing is known.
    pub fn propose(&mut self, random: &mut Random) -> Vec<f64> {
        if self.outcomes.y.len() < self.len() {
            self.update(random);
        }
        self.condition_on_gradients();
        let candidates = self.candidates(random);
        let anywhere = candidates[0].clone();
        let Some(posterior) = self.global_posterior() else { return anywhere };
        let ModelConfig { acquisition, steps, .. } = self.config;
        let best = self.outcomes.y.iter().fold(f64::INFINITY, |m, y| m.min(*y));
        let (values, _) = acquisition.at(posterior, best, &candidates, false);
        let mut order: Vec<usize> = (0..candidates.len()).filter(|i| values[*i].is_finite()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let starts = order.iter().take(self.config.starts).map(|i| candidates[*i].clone());
        let found = if self.is_local() {
            // Each start in its own neighborhood.
            let settle = |z: Vec<f64>| descend(acquisition, &self.local_posterior(&z)?, best, vec![z], steps);
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
            // Some twenty variables move at most, by a fraction of the box that differs from candidate to
            // candidate.
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
