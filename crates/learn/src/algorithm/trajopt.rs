//! Trajectory optimization: one sequence of actions for all environments, moved along gradients through the
//! physics (Xing et al., 2025, appendix C).
//!
//! One epoch: all environments begin new episodes and play the sequence, window after window. The loss of a
//! window is less the mean over environments of the sum of its rewards; its gradient ends where the window
//! begins. Episodes that end early count until then. After the episode all windows take one step of the
//! optimizer.

use pullback_core::random::Random;
use pullback_core::settings::Range;
use pullback_core::{ConfigError, StepError};
use serde::{Deserialize, Serialize};

use super::presets::Preset;
use super::ranges::{RATE, check, check_counts, check_given, check_rows};
use super::returns::Episodes;
use super::saved::Saved;
use super::{Actor, Algorithm, Report, TrainError};
use crate::env::{EnvShard, Spaces, StepBars, StepOutput, VecEnv};
use crate::nn::clip::clip_norm;
use crate::nn::{Optimizer, OptimizerConfig};
use crate::run::Checkpoint;

/// Settings. Every key must be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrajOptConfig {
    /// Environments.
    pub envs: usize,
    /// Steps of a window.
    pub horizon: usize,
    /// Epochs of a run, an episode each.
    pub epochs: usize,
    /// How actions move.
    pub optimizer: OptimizerConfig,
    /// Rate of learning.
    pub lr: f64,
    /// Bound of the norm of the gradient of a window.
    pub grad_clip: f64,
    /// Bound of the norm of the cotangent of each environment's state on the way back.
    pub env_gradient_limit: Option<f64>,
}

/// The settings of the paper.
pub fn config() -> TrajOptConfig {
    TrajOptConfig {
        envs: 16,
        horizon: 32,
        epochs: 50,
        optimizer: OptimizerConfig::adam_w([0.7, 0.95]),
        lr: 0.01,
        grad_clip: 0.5,
        env_gradient_limit: None,
    }
}

/// The settings of a preset: half the environments of other algorithms.
pub fn preset(preset: &Preset) -> TrajOptConfig {
    TrajOptConfig { envs: (preset.envs / 2).max(1), ..config() }
}

/// Uses of random numbers under a seed.
const STARTS: u64 = 0x90;

/// A sequence of actions and what it learns with.
pub struct TrajOpt {
    config: TrajOptConfig,
    seed: u64,
    epoch: usize,
    width: usize,
    /// Step after step; empty before the first epoch, which knows how long an episode is.
    actions: Vec<f32>,
    optimizer: Optimizer,
    episodes: Episodes,
    memory: Vec<WindowMemory>,
}

/// What a shard remembers of an episode.
#[derive(Default)]
struct WindowMemory {
    out: StepOutput<f32>,
    actions: Vec<f32>,
    /// Whether the first episode of each environment goes on, now and at each step of the window.
    alive: Vec<bool>,
    counted: Vec<bool>,
    /// Rewards of counted steps, step after step.
    rewards: Vec<f32>,
    /// Gradient of each action of the window.
    gradient: Vec<f32>,
    failed: usize,
}

impl TrajOpt {
    /// A sequence of zeros.
    pub fn new(config: TrajOptConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        check_counts(&[("envs", config.envs), ("horizon", config.horizon), ("epochs", config.epochs)])?;
        check(&[("lr", config.lr, RATE), ("grad_clip", config.grad_clip, Range::Positive)])?;
        check_given(&[("env_gradient_limit", config.env_gradient_limit, Range::Positive)])?;
        check_rows("envs", (config.envs * config.horizon) as f64, spaces.observation() + spaces.actions)?;
        Ok(TrajOpt {
            optimizer: Optimizer::new(config.optimizer, 0)?,
            episodes: Episodes::new(config.envs),
            width: spaces.actions,
            actions: Vec::new(),
            memory: Vec::new(),
            epoch: 0,
            seed,
            config,
        })
    }

    /// Makes room for an episode's actions.
    fn begin(&mut self, env: &VecEnv<f32>) -> Result<(), ConfigError> {
        let length = env.episode_length() * self.width;
        if self.actions.len() != length {
            self.actions = vec![0.0; length];
            self.optimizer = Optimizer::new(self.config.optimizer, length)?;
        }
        let spaces = env.spaces();
        let memory = |range: std::ops::Range<usize>| WindowMemory {
            out: StepOutput::new(range.len(), spaces),
            alive: vec![true; range.len()],
            ..WindowMemory::default()
        };
        self.memory = env.shard_ranges().into_iter().map(memory).collect();
        Ok(())
    }

    /// Plays a window and adds up its gradient over environments; returns its norm.
    fn window(
        &mut self,
        env: &mut VecEnv<f32>,
        first: usize,
        gradient: &mut [f32],
    ) -> Result<f64, TrainError> {
        let (epoch, limit) = (self.epoch, self.config.env_gradient_limit);
        let actions = &self.actions[first..first + gradient.len()];
        let scale = 1.0 / self.config.envs as f32;
        let done = env.run_with(&mut self.memory, |shard, memory| {
            shard.limit_gradients(limit);
            forward(shard, actions, memory)?;
            backward(shard, scale, memory)
        });
        let done = done.into_iter().collect::<Result<(), StepError>>();
        done.map_err(|source| TrainError::Physics { epoch, source })?;
        gradient.fill(0.0);
        for memory in &self.memory {
            gradient.iter_mut().zip(&memory.gradient).for_each(|(sum, x)| *sum += x);
        }
        let what = "the gradient of a window";
        clip_norm(gradient, self.config.grad_clip).map_err(|_| TrainError::Diverged {
            epoch,
            what,
            value: f64::NAN,
            env: None,
        })
    }

    /// Takes the rewards of a window into the statistics of episodes.
    fn count(&mut self, steps: usize) {
        let mut first = 0;
        for memory in &self.memory {
            let n = memory.alive.len();
            for i in (0..steps * n).filter(|i| memory.counted[*i]) {
                let later = memory.counted.get(i + n).copied().unwrap_or(memory.alive[i % n]);
                self.episodes.add(first + i % n, f64::from(memory.rewards[i]), !later);
            }
            first += n;
        }
    }
}

/// Plays `actions` in a shard, recorded.
fn forward(
    shard: &mut dyn EnvShard<f32>,
    actions: &[f32],
    memory: &mut WindowMemory,
) -> Result<(), StepError> {
    let (n, width) = (shard.envs(), shard.spaces().actions);
    let WindowMemory { out, actions: repeated, alive, counted, rewards, gradient, failed } = memory;
    counted.clear();
    rewards.clear();
    gradient.clear();
    gradient.resize(actions.len(), 0.0);
    shard.record(actions.len() / width);
    for action in actions.chunks_exact(width) {
        repeated.clear();
        (0..n).for_each(|_| repeated.extend_from_slice(action));
        shard.step(repeated, out)?;
        counted.extend_from_slice(alive);
        rewards.extend_from_slice(&out.rewards);
        for env in 0..n {
            *failed += usize::from(alive[env] && out.failed[env]);
            alive[env] &= !out.done(env);
        }
    }
    shard.stop_recording();
    Ok(())
}

/// The gradient of −scale · Σ r over counted steps of the window.
fn backward(shard: &mut dyn EnvShard<f32>, scale: f32, memory: &mut WindowMemory) -> Result<(), StepError> {
    let (n, spaces) = (shard.envs(), shard.spaces());
    let none = vec![0.0; n * spaces.observation()];
    let (mut reward_bars, mut action_bars, mut norms) =
        (vec![0.0; n], vec![0.0; n * spaces.actions], vec![0.0; n]);
    shard.begin_backward();
    for (t, gradient) in memory.gradient.chunks_exact_mut(spaces.actions).enumerate().rev() {
        for (bar, counts) in reward_bars.iter_mut().zip(&memory.counted[t * n..]) {
            *bar = if *counts { -scale } else { 0.0 };
        }
        let bars = StepBars {
            rewards: &reward_bars,
            final_observations: &none,
            observations: &none,
            actions: &mut action_bars,
        };
        shard.step_vjp(t, bars, &mut norms)?;
        for row in action_bars.chunks_exact(spaces.actions) {
            gradient.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
    }
    Ok(())
}

impl Algorithm for TrajOpt {
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
        self.config.envs * self.actions.len() / self.width
    }

    fn learn(&mut self, env: &mut VecEnv<f32>) -> Result<Report, TrainError> {
        self.begin(env)?;
        env.reset(Random::stream(self.seed, &[STARTS, self.epoch as u64]).bits());
        self.episodes = Episodes::new(self.config.envs);
        let mut gradient = vec![0.0; self.actions.len()];
        let (mut norm, mut windows) = (0.0, 0.0);
        for (i, part) in gradient.chunks_mut(self.config.horizon * self.width).enumerate() {
            norm += self.window(env, i * self.config.horizon * self.width, part)?;
            windows += 1.0;
            self.count(part.len() / self.width);
        }
        self.optimizer.step(self.config.lr, &mut self.actions, &gradient);
        self.epoch += 1;

        let episodes = self.episodes.statistics();
        let size = self.actions.iter().map(|a| f64::from(a.abs())).sum::<f64>() / self.actions.len() as f64;
        Ok(vec![
            ("return_mean", episodes.return_mean),
            ("return_std", episodes.return_std),
            ("length", episodes.length_mean),
            ("episodes", episodes.finished as f64),
            ("actor_grad_norm", norm / windows),
            ("action_size", size),
            ("failed", self.memory.iter().map(|m| m.failed).sum::<usize>() as f64),
        ])
    }

    fn actor(&self) -> Actor<'_> {
        Actor::Sequence(&self.actions)
    }

    fn save(&self, to: &mut Checkpoint) {
        to.epoch = self.epoch as u64;
        let mut saved = Saved::new(to);
        saved.f32s("actions", &self.actions);
        saved.optimizer("optimizer", self.optimizer.state());
    }

    fn load(&mut self, from: &Checkpoint) -> Result<(), TrainError> {
        self.epoch = from.epoch as usize;
        let mut copy = from.clone();
        let mut saved = Saved::new(&mut copy);
        self.actions = saved.read_f32s("actions")?;
        let state = saved.read_optimizer("optimizer")?;
        self.optimizer = Optimizer::resume(self.config.optimizer, self.actions.len(), state)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;

    fn small() -> TrajOptConfig {
        TrajOptConfig { envs: 20, horizon: 10, lr: 0.03, ..config() }
    }

    #[test]
    fn a_sequence_brings_the_point_near() {
        let mut trajopt = TrajOpt::new(small(), toy::SPACES, 1).unwrap();
        let (before, after) = toy::improvement(&mut trajopt);
        assert!(after > before + 10.0, "{before} {after}");
    }

    #[test]
    fn trajopt_depends_on_the_seed_alone() {
        toy::check_bits(&|| Box::new(TrajOpt::new(small(), toy::SPACES, 1).unwrap()), 5);
    }

    /// The gradient of a window against differences of the mean return, in which some episodes end early.
    #[test]
    fn gradients_of_windows_are_those_of_returns() {
        let config = TrajOptConfig { horizon: 25, grad_clip: 1e9, ..small() };
        let mut trajopt = TrajOpt::new(config, toy::SPACES, 1).unwrap();
        let mut env = toy::env(20, 1, 0);
        trajopt.begin(&env).unwrap();
        let outward = |t: usize| 0.1 + 0.02 * t as f32;
        trajopt.actions = (0..25).map(outward).collect();
        let mut value = |trajopt: &mut TrajOpt, gradient: &mut [f32]| {
            env.reset(5);
            trajopt.begin(&env).unwrap();
            trajopt.episodes = Episodes::new(20);
            trajopt.window(&mut env, 0, gradient).unwrap();
            trajopt.count(25);
            let found = trajopt.episodes.statistics();
            assert!(found.finished == 20 && found.length_mean < 25.0);
            found.return_mean
        };
        let (mut gradient, mut unused) = (vec![0.0; 25], vec![0.0; 25]);
        value(&mut trajopt, &mut gradient);
        for t in [0, 4, 9] {
            let mut moved = |by: f32| {
                trajopt.actions[t] = outward(t) + by;
                let found = value(&mut trajopt, &mut unused);
                trajopt.actions[t] = outward(t);
                found
            };
            let slope = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            assert!((slope + f64::from(gradient[t])).abs() < 2e-2 * slope.abs(), "{slope} {}", gradient[t]);
        }
    }
}
