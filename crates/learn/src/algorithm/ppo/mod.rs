//! PPO, proximal policy optimization (Schulman et al., 2017), with the settings of Xing et al. (2025, Table 4)
//! and those of Li et al. (2023) where these are silent.
//!
//! One epoch: act over a horizon, judge every action by generalized advantage estimation, then move policy and
//! critic over shuffled batches of the same rows. The ratio of new to old densities is clipped, and the rate of
//! learning follows the KL divergence between the two. No gradient of the physics is used.

mod config;
pub mod losses;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::collect::{Behavior, Collector, Draw};
use super::learned::Learned;
use super::parts::{self, PART, gather, permutation};
use super::ranges::check_rows;
use super::returns::{Episodes, Outcome, lambda_returns};
use super::saved::Saved;
use super::{Actor, Algorithm, PolicyActor, Report, TrainError};
use crate::env::{Spaces, VecEnv};
use crate::nn::{InputShape, Network, Normalizer, Policy, Schedule, Statistics};
use crate::run::Checkpoint;
pub use config::{PpoConfig, config, preset};
use losses::{PolicyLoss, PolicyMemory, PolicyRows, ValueLoss, ValueMemory, ValueRows};

/// A policy, its value function, and all that they learn with.
pub struct Ppo {
    config: PpoConfig,
    seed: u64,
    epoch: usize,
    policy: Policy,
    critic_network: Network,
    actor: Learned,
    critic: Learned,
    schedule: Schedule,
    observations: Option<Normalizer>,
    values: Option<Normalizer>,
    episodes: Episodes,
    collector: Collector,
    actor_memory: Vec<PolicyMemory<f32>>,
    critic_memory: Vec<ValueMemory<f32>>,
}

/// Uses of random numbers under a seed.
const ACTOR_INIT: u64 = 0;
const CRITIC_INIT: u64 = 1;
const SHUFFLE: u64 = 2;

/// Rows of an epoch as the losses read them.
struct Judged {
    advantages: Vec<f32>,
    /// Normalized values of the critic, and normalized returns.
    old: Vec<f32>,
    aims: Vec<f32>,
}

/// Means over the batches of an epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    actor_loss: f64,
    critic_loss: f64,
    actor_norm: f64,
    critic_norm: f64,
    kl: f64,
}

impl Ppo {
    /// A policy that knows nothing.
    pub fn new(config: PpoConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        check_rows("envs", (config.envs * config.horizon) as f64, spaces.observation() + spaces.actions)?;
        let input = InputShape { points: spaces.points, vector: spaces.vector };
        let policy = Policy::new(input, spaces.actions, &config.actor, config.log_std)?;
        let critic_network = Network::new(input, 1, &config.critic)?;
        let actor = policy.init(&mut Random::stream(seed, &[ACTOR_INIT]));
        let critic = critic_network.init(&mut Random::stream(seed, &[CRITIC_INIT]));
        let normalizer = |count: Option<f64>, input: InputShape| {
            count.map(|count| Normalizer::new(input, count, Statistics::PerEntry)).transpose()
        };
        Ok(Ppo {
            actor: Learned::new(&actor, config.optimizer, config.grad_clip)?,
            critic: Learned::new(&critic, config.optimizer, config.grad_clip)?,
            schedule: Schedule::new(config.schedule)?,
            observations: normalizer(config.normalize_observations, input)?,
            values: normalizer(config.normalize_values, InputShape::vector(1))?,
            episodes: Episodes::new(config.envs),
            collector: Collector::default(),
            actor_memory: Vec::new(),
            critic_memory: Vec::new(),
            epoch: 0,
            seed,
            policy,
            critic_network,
            config,
        })
    }

    /// Acts over a horizon in all environments.
    fn collect(&mut self, env: &mut VecEnv<f32>) -> Result<(), TrainError> {
        let behavior = Behavior {
            policy: &self.policy,
            params: &self.actor.params,
            normalizer: self.observations.as_ref(),
            draw: Draw::Plain,
            noise: (self.seed, self.epoch as u64),
        };
        let done = self.collector.collect(env, behavior, self.config.horizon);
        done.map_err(|source| TrainError::Physics { epoch: self.epoch, source })
    }

    /// Normalized values of normalized observations.
    fn values_at(&mut self, rows: &[f32], pool: &ThreadPool) -> Vec<f32> {
        let network = &self.critic_network;
        let (width, n) = (network.inputs(), rows.len() / network.inputs());
        let mut values = vec![0.0; n];
        let work = |(rows, values): (&[f32], &mut [f32])| {
            let mut tape = network.tape(values.len());
            values.copy_from_slice(network.forward(&self.critic.params, rows, &mut tape));
        };
        pool.install(|| rows.par_chunks(PART * width).zip(values.par_chunks_mut(PART)).for_each(work));
        values
    }

    /// Advantages and returns of the horizon.
    fn judge(&mut self, pool: &ThreadPool) -> Result<Judged, TrainError> {
        let mut next = self.collector.rows.next_raw.clone();
        if let Some(normalizer) = &self.observations {
            normalizer.normalize(&self.collector.rows.next_raw, &mut next);
        }
        let seen = std::mem::take(&mut self.collector.rows.observations);
        let (values, next_values) = (self.values_at(&seen, pool), self.values_at(&next, pool));
        self.collector.rows.observations = seen;
        let (mean, scale) = statistics(self.values.as_ref());
        let value = |v: f32| mean + f64::from(v) / scale;

        // A = G − V, where G is the λ-return: generalized advantage estimation
        let (rows, n) = (&self.collector.rows, self.config.envs);
        let mut returns = vec![0.0; rows.len()];
        let mut column = vec![0.0; self.config.horizon];
        for env in 0..n {
            let outcome = |i: usize| Outcome {
                reward: f64::from(rows.rewards[i]),
                next_value: if rows.terminated[i] { 0.0 } else { value(next_values[i]) },
                done: rows.done(i),
            };
            let outcomes: Vec<Outcome> = (env..rows.len()).step_by(n).map(outcome).collect();
            lambda_returns(&outcomes, self.config.gamma, self.config.lambda, &mut column);
            column.iter().enumerate().for_each(|(t, g)| returns[t * n + env] = *g);
        }
        let old: Vec<f64> = values.iter().map(|v| value(*v)).collect();
        let advantages = returns.iter().zip(&old).map(|(g, v)| (g - v) as f32).collect();

        // Values and returns by statistics that know these returns.
        if let Some(normalizer) = &mut self.values {
            normalizer.update(&returns).map_err(|e| TrainError::Diverged {
                epoch: self.epoch,
                what: "a return",
                value: e.value,
                env: Some(e.row % n),
            })?;
        }
        self.preserve_values((mean, scale));
        let (mean, scale) = statistics(self.values.as_ref());
        let normal = |x: &f64| ((x - mean) * scale) as f32;
        Ok(Judged {
            advantages,
            old: old.iter().map(normal).collect(),
            aims: returns.iter().map(normal).collect(),
        })
    }

    /// Changes the critic's last layer so that values stay what they were under the statistics `old` (van Hasselt
    /// et al., 2016): v′ = f v + (mean − mean′) scale′ with f = scale′ / scale.
    fn preserve_values(&mut self, old: (f64, f64)) {
        let (mean, scale) = statistics(self.values.as_ref());
        let (factor, shift) = (scale / old.1, (old.0 - mean) * scale);
        for tensor in self.critic_network.tensors() {
            let shift = match tensor.name.as_str() {
                "output.weight" => 0.0,
                "output.bias" => shift,
                _ => continue,
            };
            for x in &mut self.critic.params[tensor.range.clone()] {
                *x = (f64::from(*x) * factor + shift) as f32;
            }
        }
    }

    /// Moves policy and critic over shuffled batches.
    fn improve(&mut self, judged: &Judged) -> Result<Moved, TrainError> {
        let n = judged.aims.len();
        let batch = n.div_ceil(self.config.batches);
        let (seen, acts) = (self.policy.inputs(), self.policy.actions());
        parts::reserve(&mut self.actor_memory, batch, || PolicyMemory::new(&self.policy, PART));
        parts::reserve(&mut self.critic_memory, batch, || ValueMemory::new(&self.critic_network, PART));
        let (mut rows, mut aims) = (PolicyRows::default(), ValueRows::default());
        let mut moved = Moved::default();
        let share = 1.0 / (self.config.mini_epochs * n.div_ceil(batch)) as f64;
        for pass in 0..self.config.mini_epochs {
            let key = [SHUFFLE, self.epoch as u64, pass as u64];
            let order = permutation(n, &mut Random::stream(self.seed, &key));
            let mut pass_kl = 0.0;
            for indices in order.chunks(batch) {
                let from = &self.collector.rows;
                gather(&from.observations, seen, indices, &mut rows.observations);
                gather(&from.means, acts, indices, &mut rows.means);
                gather(&from.log_stds, acts, indices, &mut rows.log_stds);
                gather(&from.actions, acts, indices, &mut rows.actions);
                gather(&judged.advantages, 1, indices, &mut rows.advantages);
                if self.config.normalize_advantages {
                    normalize(&mut rows.advantages);
                }
                gather(&from.observations, seen, indices, &mut aims.observations);
                gather(&judged.old, 1, indices, &mut aims.old);
                gather(&judged.aims, 1, indices, &mut aims.aims);
                let one = self.move_along(&rows, &aims)?;
                moved.actor_loss += one.actor_loss * share;
                moved.critic_loss += one.critic_loss * share;
                moved.actor_norm += one.actor_norm * share;
                moved.critic_norm += one.critic_norm * share;
                pass_kl += one.kl / n as f64;
            }
            self.schedule.observe_kl(pass_kl);
            moved.kl = pass_kl;
        }
        Ok(moved)
    }

    /// One step of policy and critic along the gradients of one batch.
    fn move_along(&mut self, rows: &PolicyRows<f32>, aims: &ValueRows<f32>) -> Result<Moved, TrainError> {
        let n = aims.aims.len();
        let scale = 1.0 / n as f64;
        let PpoConfig { clip, entropy, value_clip, .. } = self.config;
        let loss = PolicyLoss { policy: &self.policy, clip, entropy, scale };
        let params = &self.actor.params;
        let [actor_loss, kl] = parts::sum_gradients(n, &mut self.actor_memory, |range, memory| {
            let (loss, kl) = loss.add_gradient(params, rows, range, memory);
            [f64::from(loss), kl]
        });
        let loss = ValueLoss { network: &self.critic_network, clip: value_clip, scale };
        let params = &self.critic.params;
        let [critic_loss] = parts::sum_gradients(n, &mut self.critic_memory, |range, memory| {
            [f64::from(loss.add_gradient(params, aims, range, memory))]
        });
        let (rate, epoch) = (self.schedule.rate(), self.epoch);
        let gradient = &mut self.actor_memory[0].params_bar;
        let actor_norm = self.actor.step(rate, gradient, "the gradient of the policy", epoch)?;
        let gradient = &mut self.critic_memory[0].params_bar;
        let critic_norm = self.critic.step(rate, gradient, "the gradient of the critic", epoch)?;
        Ok(Moved { actor_loss, critic_loss, actor_norm, critic_norm, kl })
    }

    /// Takes rewards and observations of the horizon into the statistics.
    fn keep_statistics(&mut self) -> Result<(), TrainError> {
        let envs = self.config.envs;
        if let Some(normalizer) = &mut self.observations {
            let kept = normalizer.update(&self.collector.rows.raw);
            kept.map_err(|e| TrainError::Diverged {
                epoch: self.epoch,
                what: "an observation",
                value: e.value,
                env: Some(e.row % envs),
            })?;
        }
        self.collector.count_episodes(&mut self.episodes, envs);
        Ok(())
    }
}

/// Mean and 1/deviation of values.
fn statistics(values: Option<&Normalizer>) -> (f64, f64) {
    values.map_or((0.0, 1.0), |normalizer| (normalizer.mean()[0], normalizer.scale()[0]))
}

/// Mean 0 and deviation 1.
fn normalize(values: &mut [f32]) {
    let n = values.len() as f64;
    let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let square = values.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let scale = 1.0 / (square.sqrt() + 1e-8);
    values.iter_mut().for_each(|x| *x = ((f64::from(*x) - mean) * scale) as f32);
}

impl Algorithm for Ppo {
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
        self.schedule.begin_epoch(self.epoch, self.config.epochs);
        let clock = std::time::Instant::now();
        self.collect(env)?;
        let collect_seconds = clock.elapsed().as_secs_f64();
        let clock = std::time::Instant::now();
        let judged = self.judge(env.pool())?;
        let moved = env.pool().install(|| self.improve(&judged))?;
        let update_seconds = clock.elapsed().as_secs_f64();
        self.keep_statistics()?;
        self.epoch += 1;

        let rows = &self.collector.rows;
        let mean = |values: &[f32]| values.iter().map(|x| f64::from(*x)).sum::<f64>() / values.len() as f64;
        let episodes = self.episodes.statistics();
        Ok(vec![
            ("return_mean", episodes.return_mean),
            ("return_std", episodes.return_std),
            ("length", episodes.length_mean),
            ("episodes", episodes.finished as f64),
            ("reward", mean(&rows.rewards)),
            ("actor_loss", moved.actor_loss),
            ("actor_grad_norm", moved.actor_norm),
            ("critic_loss", moved.critic_loss),
            ("critic_grad_norm", moved.critic_norm),
            ("kl", moved.kl),
            ("lr", self.schedule.rate()),
            ("log_std", mean(&rows.log_stds)),
            ("failed", rows.failed.iter().filter(|f| **f).count() as f64),
            ("collect_seconds", collect_seconds),
            ("update_seconds", update_seconds),
        ])
    }

    fn actor(&self) -> Actor<'_> {
        Actor::Policy(PolicyActor {
            policy: &self.policy,
            params: &self.actor.params,
            normalizer: self.observations.as_ref(),
            squashed: false,
        })
    }

    fn save(&self, to: &mut Checkpoint) {
        to.epoch = self.epoch as u64;
        let mut saved = Saved::new(to);
        self.actor.save("actor", self.policy.tensors(), &mut saved);
        self.critic.save("critic", self.critic_network.tensors(), &mut saved);
        saved.value("rate", &self.schedule.rate());
        saved.value("normalizer", &self.observations);
        saved.value("value_normalizer", &self.values);
        saved.value("episodes", &self.episodes);
    }

    fn load(&mut self, from: &Checkpoint) -> Result<(), TrainError> {
        self.epoch = from.epoch as usize;
        let mut copy = from.clone();
        let mut saved = Saved::new(&mut copy);
        self.actor.load("actor", self.policy.tensors(), &mut saved)?;
        self.critic.load("critic", self.critic_network.tensors(), &mut saved)?;
        self.schedule = Schedule::resume(self.config.schedule, saved.read_value("rate")?)?;
        self.observations = saved.read_value("normalizer")?;
        self.values = saved.read_value("value_normalizer")?;
        self.episodes = saved.read_value("episodes")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;

    fn small(epochs: usize) -> PpoConfig {
        PpoConfig { envs: 32, horizon: 25, epochs, ..config(&[32], &[32]) }
    }

    #[test]
    fn ppo_brings_the_point_home() {
        let mut ppo = Ppo::new(small(60), toy::SPACES, 1).unwrap();
        let (before, after) = toy::improvement(&mut ppo);
        assert!(after > 38.0 && before < 0.0, "{before} {after}");
    }

    #[test]
    fn ppo_depends_on_the_seed_alone() {
        toy::check_bits(&|| Box::new(Ppo::new(small(9), toy::SPACES, 1).unwrap()), 5);
    }

    /// New statistics of returns leave values as they were.
    #[test]
    fn values_outlive_their_statistics() {
        let mut ppo = Ppo::new(small(1), toy::SPACES, 1).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut values = || {
            let normalized = ppo.values_at(&[0.3, -0.2, 1.5, 0.7], &pool);
            let old = statistics(ppo.values.as_ref());
            ppo.values.as_mut().unwrap().update(&[100.0, 180.0, 140.0]).unwrap();
            ppo.preserve_values(old);
            normalized.iter().map(|v| old.0 + f64::from(*v) / old.1).collect::<Vec<f64>>()
        };
        let (before, after) = (values(), values());
        before.iter().zip(after).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} {b}"));
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        assert!(Ppo::new(PpoConfig { batches: 0, ..small(1) }, toy::SPACES, 0).is_err());
        assert!(Ppo::new(PpoConfig { clip: 0.0, ..small(1) }, toy::SPACES, 0).is_err());
    }
}
