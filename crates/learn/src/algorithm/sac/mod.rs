//! SAC, the soft actor-critic (Haarnoja et al., 2018), with the settings of Xing et al. (2025, Table 4) and
//! those of Li et al. (2023) where these are silent.
//!
//! One epoch: act in all environments for a horizon, keep the steps in a replay buffer, then update critics,
//! policy and temperature from batches of it. No gradient of the physics is used.

pub mod batch;
pub mod learner;
pub mod losses;
#[cfg(test)]
mod losses_check;
pub mod replay;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::Range;
use serde::{Deserialize, Serialize};

use super::collect::{Behavior, Collector, Draw};
use super::presets::Preset;
use super::ranges::{DISCOUNT, check, check_counts, check_given, check_rows};
use super::returns::Episodes;
use super::saved::Saved;
use super::{Actor, Algorithm, PolicyActor, Report, TrainError, sapo};
use crate::env::{Spaces, VecEnv};
use crate::nn::{InputShape, LogStd, Normalizer, OptimizerConfig, Statistics};
use crate::run::Checkpoint;
use batch::Batch;
use learner::{SoftConfig, SoftLearner, Updated};
use replay::Replay;

/// Settings. Every key must be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SacConfig {
    /// Environments.
    pub envs: usize,
    /// Steps of each environment per epoch.
    pub horizon: usize,
    /// Epochs of a run.
    pub epochs: usize,
    /// Discount γ.
    pub gamma: f64,
    /// Steps whose rewards a transition sums.
    pub n_step: usize,
    /// Transitions that are kept.
    pub capacity: usize,
    /// Rows of a batch.
    pub batch: usize,
    /// Updates per epoch.
    pub updates: usize,
    /// Epochs of uniform actions at the start, without updates.
    pub warm_up: usize,
    /// Rows that observation statistics begin with; without it observations are not normalized.
    pub normalize_observations: Option<f64>,
    /// Networks and how they learn.
    pub learner: SoftConfig,
}

/// The learner of Xing et al. (Table 4) for networks of these widths.
pub fn learner_config(actor: &[usize], critic: &[usize]) -> SoftConfig {
    SoftConfig {
        actor: sapo::network(actor),
        log_std: LogStd::PerState { min: -5.0, max: 2.0 },
        critic: sapo::network(critic),
        optimizer: OptimizerConfig::adam_w([0.9, 0.999]),
        actor_lr: 5e-4,
        critic_lr: 5e-4,
        grad_clip: 0.5,
        target: 0.995,
        alpha: 1.0,
        alpha_lr: Some(5e-3),
        target_entropy: -0.5,
    }
}

/// The settings of Xing et al. (Table 4) for networks of these widths.
pub fn config(actor: &[usize], critic: &[usize]) -> SacConfig {
    SacConfig {
        envs: 64,
        horizon: 32,
        epochs: 2000,
        gamma: 0.99,
        n_step: 3,
        capacity: 1_000_000,
        batch: 2048,
        updates: 8,
        warm_up: 1,
        normalize_observations: Some(1.0),
        learner: learner_config(actor, critic),
    }
}

/// The settings of a preset.
pub fn preset(preset: &Preset) -> SacConfig {
    let mut config = config(preset.actor, preset.critic);
    (config.envs, config.epochs, config.gamma) = (preset.envs, preset.epochs, preset.gamma);
    // Table 6: half the environments, half the batch.
    config.batch = config.envs * config.horizon;
    config.learner.actor = preset.encoded(config.learner.actor);
    config.learner.critic = preset.encoded(config.learner.critic);
    config
}

impl SacConfig {
    /// Refuses a number that is out of its range.
    fn check(&self) -> Result<(), ConfigError> {
        let SacConfig { envs, horizon, epochs, n_step, capacity, batch, .. } = *self;
        check_counts(&[
            ("envs", envs),
            ("horizon", horizon),
            ("epochs", epochs),
            ("n_step", n_step),
            ("capacity", capacity),
            ("batch", batch),
        ])?;
        check(&[("gamma", self.gamma, DISCOUNT)])?;
        check_given(&[("normalize_observations", self.normalize_observations, Range::Positive)])
    }
}

/// Uses of random numbers under a seed.
const SAMPLE: u64 = 0x80;

/// A learner, its replay buffer, and what they have seen.
pub struct Sac {
    config: SacConfig,
    seed: u64,
    epoch: usize,
    learner: SoftLearner,
    replay: Replay,
    normalizer: Option<Normalizer>,
    episodes: Episodes,
    collector: Collector,
    batch: Batch<f32>,
}

impl Sac {
    /// A policy that knows nothing.
    pub fn new(config: SacConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let SacConfig { envs, n_step, .. } = config;
        let width = 2 * spaces.observation() + spaces.actions + 3;
        check_rows("capacity", config.capacity as f64, width)?;
        check_rows("batch", config.batch as f64, width)?;
        check_rows("envs", envs as f64 * config.horizon as f64, width)?;
        if config.capacity / envs <= n_step {
            let message =
                format!("capacity {} holds no {n_step} steps of {envs} environments", config.capacity);
            return Err(ConfigError::new(message));
        }
        let input = InputShape { points: spaces.points, vector: spaces.vector };
        let count = config.normalize_observations;
        let normalizer = count.map(|count| Normalizer::new(input, count, Statistics::PerEntry));
        Ok(Sac {
            learner: SoftLearner::new(config.learner.clone(), spaces, seed)?,
            replay: Replay::new(spaces, envs, config.capacity),
            normalizer: normalizer.transpose()?,
            episodes: Episodes::new(envs),
            collector: Collector::default(),
            batch: Batch::default(),
            epoch: 0,
            seed,
            config,
        })
    }

    /// Acts for a horizon and keeps the steps.
    fn collect(&mut self, env: &mut VecEnv<f32>) -> Result<(), TrainError> {
        let (epoch, envs) = (self.epoch, self.config.envs);
        let behavior = Behavior {
            policy: self.learner.policy(),
            params: self.learner.params(),
            normalizer: self.normalizer.as_ref(),
            draw: if epoch < self.config.warm_up { Draw::Uniform } else { Draw::Squashed },
            noise: (self.seed, epoch as u64),
        };
        let done = self.collector.collect(env, behavior, self.config.horizon);
        done.map_err(|source| TrainError::Physics { epoch, source })?;
        self.replay.push(&self.collector.rows);
        self.collector.count_episodes(&mut self.episodes, envs);
        if let Some(normalizer) = &mut self.normalizer {
            let kept = normalizer.update(&self.collector.rows.raw);
            let what = "an observation";
            let env = |row: usize| Some(row % envs);
            kept.map_err(|e| TrainError::Diverged { epoch, what, value: e.value, env: env(e.row) })?;
        }
        Ok(())
    }

    /// Updates from batches of the replay buffer; means over them.
    fn improve(&mut self) -> Result<Updated, TrainError> {
        let SacConfig { updates, batch, n_step, gamma, .. } = self.config;
        let mut mean = Updated { alpha: self.learner.alpha(), ..Updated::default() };
        if self.epoch < self.config.warm_up || self.replay.transitions(n_step) == 0 {
            return Ok(mean);
        }
        for _ in 0..updates {
            let mut random = Random::stream(self.seed, &[SAMPLE, self.learner.updates()]);
            let normalizer = self.normalizer.as_ref();
            self.replay.sample(batch, n_step, gamma, normalizer, &mut random, &mut self.batch);
            mean.add(self.learner.update(&self.batch, None, self.epoch)?, 1.0 / updates as f64);
        }
        Ok(mean)
    }
}

impl Algorithm for Sac {
    fn epochs(&self) -> usize {
        self.config.epochs
    }
    fn epoch(&self) -> usize {
        self.epoch
    }
    fn envs(&self) -> usize {
        self.config.envs
    }
    fn steps_per_epoch(&self) -> usize {
        self.config.envs * self.config.horizon
    }

    fn learn(&mut self, env: &mut VecEnv<f32>) -> Result<Report, TrainError> {
        let finished = self.episodes.statistics().finished;
        let clock = std::time::Instant::now();
        self.collect(env)?;
        let collect_seconds = clock.elapsed().as_secs_f64();
        let clock = std::time::Instant::now();
        let updated = env.pool().install(|| self.improve())?;
        let update_seconds = clock.elapsed().as_secs_f64();
        self.epoch += 1;

        let rows = &self.collector.rows;
        let episodes = self.episodes.statistics();
        let reward = rows.rewards.iter().map(|r| f64::from(*r)).sum::<f64>() / rows.len() as f64;
        Ok(vec![
            ("return_mean", episodes.return_mean),
            ("return_max", episodes.return_max),
            ("return_now", self.episodes.mean_of_last(episodes.finished - finished)),
            ("return_std", episodes.return_std),
            ("length", episodes.length_mean),
            ("episodes", episodes.finished as f64),
            ("reward", reward),
            ("actor_loss", updated.actor_loss),
            ("actor_grad_norm", updated.actor_norm),
            ("critic_loss", updated.critic_loss),
            ("critic_grad_norm", updated.critic_norm),
            ("entropy", updated.entropy),
            ("alpha", updated.alpha),
            ("transitions", self.replay.transitions(self.config.n_step) as f64),
            ("failed", rows.failed.iter().filter(|f| **f).count() as f64),
            ("collect_seconds", collect_seconds),
            ("update_seconds", update_seconds),
        ])
    }

    fn actor(&self) -> Actor<'_> {
        Actor::Policy(PolicyActor {
            policy: self.learner.policy(),
            params: self.learner.params(),
            normalizer: self.normalizer.as_ref(),
            squashed: true,
        })
    }

    fn save(&self, to: &mut Checkpoint) {
        to.epoch = self.epoch as u64;
        let mut saved = Saved::new(to);
        self.learner.save(&mut saved);
        self.replay.save("replay", &mut saved);
        saved.value("normalizer", &self.normalizer);
        saved.value("episodes", &self.episodes);
    }

    fn load(&mut self, from: &Checkpoint) -> Result<(), TrainError> {
        self.epoch = from.epoch as usize;
        let mut copy = from.clone();
        let mut saved = Saved::new(&mut copy);
        self.learner.load(&mut saved)?;
        self.replay.load("replay", &mut saved)?;
        self.normalizer = saved.read_value("normalizer")?;
        self.episodes = saved.read_value("episodes")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;

    fn small(epochs: usize) -> SacConfig {
        let mut config = config(&[32], &[32]);
        (config.envs, config.horizon, config.epochs) = (32, 8, epochs);
        (config.capacity, config.batch, config.updates) = (4000, 256, 16);
        (config.learner.actor_lr, config.learner.critic_lr) = (3e-3, 3e-3);
        config.learner.alpha = 0.2;
        config
    }

    #[test]
    fn sac_brings_the_point_home() {
        let mut sac = Sac::new(small(40), toy::SPACES, 1).unwrap();
        let (before, after) = toy::improvement(&mut sac);
        assert!(after > 38.0 && before < 30.0, "{before} {after}");
    }

    /// The buffer is full and goes round.
    #[test]
    fn sac_depends_on_the_seed_alone() {
        let config = SacConfig { capacity: 1000, batch: 300, ..small(9) };
        toy::check_bits(&|| Box::new(Sac::new(config.clone(), toy::SPACES, 1).unwrap()), 5);
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        assert!(Sac::new(SacConfig { capacity: 64, ..small(1) }, toy::SPACES, 0).is_err());
        assert!(Sac::new(SacConfig { batch: 0, ..small(1) }, toy::SPACES, 0).is_err());
    }
}
