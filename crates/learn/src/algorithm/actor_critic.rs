//! [`ActorCritic`]: a policy that follows first-order gradients through the physics over a short horizon, and
//! critics that see beyond it.
//!
//! One epoch: run all environments over the horizon, move the policy along the gradient, fit the critics to
//! λ-returns, move the temperature. [SAPO](super::sapo), [SHAC](super::shac) and [APG](super::apg) are settings of
//! it.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::Range;
use serde::{Deserialize, Serialize};

use super::critics::{CriticConfig, Critics};
use super::horizon::{ActorObjective, EntropyBonus, HorizonMemory, Timing};
use super::ranges::{DISCOUNT, RATE, check, check_counts, check_given, check_rows};
use super::returns::Episodes;
use super::saved::Saved;
use super::trust::TrustConfig;
use super::{Actor, Algorithm, PolicyActor, Report, TrainError};
use crate::env::{Spaces, VecEnv};
use crate::nn::clip::clip_norm;
use crate::nn::{InputShape, NetworkConfig};
use crate::nn::{LogStd, Policy};
use crate::nn::{Normalizer, Statistics};
use crate::nn::{Optimizer, OptimizerConfig};
use crate::run::Checkpoint;

/// Settings. Every key must be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorCriticConfig {
    /// Environments.
    pub envs: usize,
    /// Steps of a horizon.
    pub horizon: usize,
    /// Epochs of a run.
    pub epochs: usize,
    /// Discount γ.
    pub gamma: f64,
    /// λ of TD(λ).
    pub lambda: f64,
    /// The rates of actor and critics fall along a line to this at the end of the run.
    pub lr_floor: f64,
    /// Rows that observation statistics begin with, mean 0 and variance 1; without it observations are not
    /// normalized.
    pub normalize_observations: Option<f64>,
    /// Whether gradients flow through what policy and critics see.
    #[serde(default = "yes")]
    pub observation_gradients: bool,
    /// Bound of the norm of the cotangent of each environment's state on the way back.
    pub env_gradient_limit: Option<f64>,
    /// Weighs environments by how far their gradients can be trusted; costs another horizon and its pullback.
    pub trust: Option<TrustConfig>,
    /// Norm of the cotangent of an environment's state beyond which its episode ends with the epoch.
    pub restart_above: Option<f64>,
    /// The policy.
    pub actor: ActorConfig,
    /// Value functions at the end of the horizon.
    pub critic: Option<CriticConfig>,
    /// What entropy is worth.
    pub entropy: Option<EntropyConfig>,
}

/// Runs that were saved before there was a choice had these gradients.
fn yes() -> bool {
    true
}

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorConfig {
    /// Its network.
    pub network: NetworkConfig,
    /// Where deviations of actions come from.
    pub log_std: LogStd,
    /// How it learns.
    pub optimizer: OptimizerConfig,
    /// Rate of learning at the start.
    pub lr: f64,
    /// Bound of the norm of a gradient.
    pub grad_clip: f64,
}

/// Settings of the entropy of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntropyConfig {
    /// Temperature α at the start.
    pub alpha: f64,
    /// Target entropy per action: H̄ = target · actions.
    pub target: f64,
    /// Rate of learning of ln α; without it α stays.
    pub lr: Option<f64>,
    /// How ln α learns.
    pub optimizer: OptimizerConfig,
    /// Bound of the gradient of ln α.
    pub grad_clip: f64,
    /// Whether entropy is normalized to about 0 to 1.
    pub normalize: bool,
    /// Whether critics learn values with entropy.
    pub soft_value: bool,
}

impl ActorCriticConfig {
    /// Refuses a number that is out of its range.
    fn check(&self) -> Result<(), ConfigError> {
        check_counts(&[("envs", self.envs), ("horizon", self.horizon), ("epochs", self.epochs)])?;
        check(&[
            ("gamma", self.gamma, DISCOUNT),
            ("lambda", self.lambda, DISCOUNT),
            ("lr_floor", self.lr_floor, RATE),
            ("actor.lr", self.actor.lr, RATE),
            ("actor.grad_clip", self.actor.grad_clip, Range::Positive),
        ])?;
        check_given(&[
            ("normalize_observations", self.normalize_observations, Range::Positive),
            ("env_gradient_limit", self.env_gradient_limit, Range::Positive),
            ("trust.step", self.trust.map(|trust| trust.step), Range::Positive),
            ("trust.tolerance", self.trust.map(|trust| trust.tolerance), Range::Positive),
            ("restart_above", self.restart_above, Range::NotNegative),
        ])?;
        let Some(entropy) = &self.entropy else { return Ok(()) };
        check(&[
            ("entropy.alpha", entropy.alpha, Range::Positive),
            ("entropy.target", entropy.target, Range::Within(-1e3, 1e3)),
            ("entropy.grad_clip", entropy.grad_clip, Range::Positive),
        ])?;
        check_given(&[("entropy.lr", entropy.lr, RATE)])
    }
}

/// A policy, its critics, and all that they learn with.
pub struct ActorCritic {
    config: ActorCriticConfig,
    seed: u64,
    epoch: usize,
    spaces: Spaces,
    policy: Policy,
    params: Vec<f32>,
    optimizer: Optimizer,
    critics: Option<Critics>,
    temperature: Option<Temperature>,
    normalizer: Option<Normalizer>,
    episodes: Episodes,
    memory: Vec<HorizonMemory<f32>>,
}

/// ln α and what it learns with.
struct Temperature {
    log_alpha: f32,
    optimizer: Optimizer,
    /// Target entropy H̄.
    target: f64,
}

impl ActorCritic {
    /// An actor that knows nothing.
    pub fn new(config: ActorCriticConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        check_rows("envs", (config.envs * config.horizon) as f64, spaces.observation() + spaces.actions)?;
        let input = InputShape { points: spaces.points, vector: spaces.vector };
        let policy = Policy::new(input, spaces.actions, &config.actor.network, config.actor.log_std)?;
        let init = policy.init(&mut Random::stream(seed, &[0]));
        let params: Vec<f32> = init.into_iter().map(|x| x as f32).collect();
        let critic = config.critic.clone().map(|critic| Critics::new(critic, input, seed));
        let temperature = config.entropy.as_ref().map(|entropy| {
            let target = entropy.target * spaces.actions as f64;
            let optimizer = Optimizer::new(entropy.optimizer, 1)?;
            Ok::<_, ConfigError>(Temperature { log_alpha: entropy.alpha.ln() as f32, optimizer, target })
        });
        let count = config.normalize_observations;
        let normalizer = count.map(|count| Normalizer::new(input, count, Statistics::PerEntry));
        Ok(ActorCritic {
            optimizer: Optimizer::new(config.actor.optimizer, params.len())?,
            critics: critic.transpose()?,
            temperature: temperature.transpose()?,
            normalizer: normalizer.transpose()?,
            episodes: Episodes::new(config.envs),
            memory: Vec::new(),
            epoch: 0,
            seed,
            spaces,
            policy,
            params,
            config,
        })
    }

    /// A rate of learning at this epoch.
    fn rate(&self, start: f64) -> f64 {
        let part = self.epoch as f64 / self.config.epochs as f64;
        start + (self.config.lr_floor - start) * part.min(1.0)
    }

    /// What entropy is worth now.
    fn bonus(&self) -> Option<EntropyBonus> {
        let (config, temperature) = (self.config.entropy.as_ref()?, self.temperature.as_ref()?);
        let alpha = f64::from(temperature.log_alpha).exp();
        Some(match config.normalize {
            true => EntropyBonus::normalized(alpha, temperature.target),
            false => EntropyBonus::plain(alpha),
        })
    }

    fn objective(&self) -> ActorObjective<'_, f32> {
        ActorObjective {
            policy: &self.policy,
            params: &self.params,
            normalizer: self.normalizer.as_ref(),
            observation_gradients: self.config.observation_gradients,
            critic: self.critics.as_ref().map(|critics| (critics.network(), critics.bootstrap())),
            horizon: self.config.horizon,
            gamma: self.config.gamma,
            entropy: self.bonus(),
            scale: 1.0 / (self.config.horizon * self.config.envs) as f64,
            noise: (self.seed, self.epoch as u64),
        }
    }

    /// Runs the horizon and its gradient in all environments.
    fn roll_out(&mut self, env: &mut VecEnv<f32>) -> Result<(), TrainError> {
        if self.memory.len() != env.shards() {
            let critic = self.critics.as_ref().map(Critics::network);
            let memory = |range: std::ops::Range<usize>| {
                HorizonMemory::new(self.spaces, range.len(), self.config.horizon, &self.policy, critic)
            };
            self.memory = env.shard_ranges().into_iter().map(memory).collect();
        }
        let mut memory = std::mem::take(&mut self.memory);
        let (objective, limit) = (self.objective(), self.config.env_gradient_limit);
        let (trust, restart_above, seed) = (self.config.trust, self.config.restart_above, env.seed());
        let done = env.run_with(&mut memory, |shard, memory| {
            shard.limit_gradients(limit);
            let start = trust.map(|_| shard.snapshot());
            objective.forward(shard, memory)?;
            if let (Some(config), Some(start)) = (trust, &start) {
                objective.weigh(config, shard, memory, (seed, start))?;
            }
            objective.backward(shard, memory)?;
            for (i, norm) in memory.gradient_norms.iter().enumerate() {
                // One that was not finite is infinite here.
                if restart_above.is_some_and(|limit| *norm > limit) {
                    shard.restart(i);
                }
            }
            Ok(())
        });
        self.memory = memory;
        let epoch = self.epoch;
        done.into_iter().collect::<Result<(), _>>().map_err(|source| TrainError::Physics { epoch, source })
    }

    /// Moves the policy along its gradient; returns the norm before clipping.
    fn improve_policy(&mut self) -> Result<f64, TrainError> {
        let mut gradient = vec![0.0; self.params.len()];
        for part in &self.memory {
            gradient.iter_mut().zip(&part.policy_bar).for_each(|(sum, x)| *sum += x);
        }
        let norm = clip_norm(&mut gradient, self.config.actor.grad_clip);
        let norm = norm.map_err(|_| self.diverged("the gradient of the policy", f64::NAN))?;
        let rate = self.rate(self.config.actor.lr);
        self.optimizer.step(rate, &mut self.params, &gradient);
        Ok(norm)
    }

    /// Fits the critics; returns their loss and the norm of their gradients.
    fn fit_critics(&mut self, env: &VecEnv<f32>) -> Result<(f64, f64), TrainError> {
        let bonus = self.bonus().filter(|_| self.config.entropy.as_ref().is_some_and(|e| e.soft_value));
        let Some(config) = &self.config.critic else { return Ok((f64::NAN, f64::NAN)) };
        let rate = self.rate(config.lr);
        let (gamma, lambda) = (self.config.gamma, self.config.lambda);
        let targets: Vec<Vec<f64>> = self.memory.iter().map(|m| m.targets(gamma, lambda, bonus)).collect();
        let (mut rows, mut aims) = (Vec::new(), Vec::new());
        self.by_step(|part, envs| {
            rows.extend_from_slice(&self.memory[part].observations[scaled(&envs, self.spaces.observation())]);
            aims.extend(targets[part][envs].iter().map(|x| *x as f32));
        });
        let epoch = self.epoch;
        match &mut self.critics {
            Some(critics) => critics.fit(&rows, &aims, rate, env.pool(), epoch),
            None => Ok((f64::NAN, f64::NAN)),
        }
    }

    /// Visits the rows of each step, shard after shard.
    fn by_step(&self, mut visit: impl FnMut(usize, std::ops::Range<usize>)) {
        for t in 0..self.config.horizon {
            for (part, memory) in self.memory.iter().enumerate() {
                let n = memory.envs();
                visit(part, t * n..(t + 1) * n);
            }
        }
    }

    /// Moves ln α so that the mean entropy meets its target; returns the mean entropy.
    fn adjust_temperature(&mut self) -> Result<f64, TrainError> {
        let entropies = self.memory.iter().flat_map(|m| &m.entropies);
        let rows = (self.config.horizon * self.config.envs) as f64;
        let mean = entropies.map(|h| f64::from(*h)).sum::<f64>() / rows;
        if let (Some(Temperature { log_alpha, optimizer, target }), Some(config)) =
            (&mut self.temperature, &self.config.entropy)
            && let Some(lr) = config.lr
        {
            // L = |H̄| α (h − H̄), dL/d ln α = L
            let alpha = f64::from(*log_alpha).exp();
            let mut gradient = [(target.abs() * alpha * (mean - *target)) as f32];
            let clipped = clip_norm(&mut gradient, config.grad_clip);
            if clipped.is_err() {
                return Err(self.diverged("the entropy", mean));
            }
            let part = self.epoch as f64 / self.config.epochs as f64;
            let rate = lr + (self.config.lr_floor - lr) * part.min(1.0);
            let mut value = [*log_alpha];
            optimizer.step(rate, &mut value, &gradient);
            *log_alpha = value[0];
        }
        Ok(mean)
    }

    /// Takes rewards and observations of the horizon into the statistics.
    fn keep_statistics(&mut self) -> Result<(), TrainError> {
        let width = self.spaces.observation();
        let mut rows = Vec::new();
        self.by_step(|part, envs| {
            rows.extend_from_slice(&self.memory[part].raw[scaled(&envs, width)]);
        });
        if let Some(normalizer) = &mut self.normalizer {
            let kept = normalizer.update(&rows);
            kept.map_err(|e| TrainError::Diverged {
                epoch: self.epoch,
                what: "an observation",
                value: e.value,
                env: Some(e.row % self.config.envs),
            })?;
        }
        let mut first = 0;
        for memory in &self.memory {
            let n = memory.envs();
            for t in 0..self.config.horizon {
                for env in 0..n {
                    let at = t * n + env;
                    self.episodes.add(first + env, f64::from(memory.rewards[at]), memory.done[at]);
                }
            }
            first += n;
        }
        Ok(())
    }

    /// The error that something left the finite numbers, with the first environment whose gradient did.
    fn diverged(&self, what: &'static str, value: f64) -> TrainError {
        let norms = self.memory.iter().flat_map(|m| &m.gradient_norms);
        let env = norms.enumerate().find(|(_, norm)| !norm.is_finite()).map(|(env, _)| env);
        TrainError::Diverged { epoch: self.epoch, what, value, env }
    }

    fn timing(&self) -> Timing {
        let mut all = Timing::default();
        for Timing { forward, backward, networks } in self.memory.iter().map(|m| m.timing) {
            all.forward += forward;
            all.backward += backward;
            all.networks += networks;
        }
        all
    }
}

/// Numbers of rows of `width` numbers.
fn scaled(rows: &std::ops::Range<usize>, width: usize) -> std::ops::Range<usize> {
    rows.start * width..rows.end * width
}

impl Algorithm for ActorCritic {
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
        self.roll_out(env)?;
        let loss: f64 = self.memory.iter().map(|m| f64::from(m.loss)).sum();
        if !loss.is_finite() {
            return Err(self.diverged("the loss of the policy", loss));
        }
        let actor_norm = self.improve_policy()?;
        let clock = std::time::Instant::now();
        let (critic_loss, critic_norm) = self.fit_critics(env)?;
        let critic_seconds = clock.elapsed().as_secs_f64();
        let entropy = self.adjust_temperature()?;
        self.keep_statistics()?;
        self.epoch += 1;

        let episodes = self.episodes.statistics();
        let rewards = self.memory.iter().flat_map(|m| &m.rewards).map(|r| f64::from(*r));
        let failed = self.memory.iter().flat_map(|m| &m.failed).filter(|f| **f).count();
        let norms = || self.memory.iter().flat_map(|m| m.gradient_norms.iter().copied());
        let weights = self.memory.iter().flat_map(|m| m.weights.iter().copied());
        let exploded = norms().filter(|norm| !norm.is_finite()).count();
        let alpha = self.temperature.as_ref().map_or(f64::NAN, |t| f64::from(t.log_alpha).exp());
        let timing = self.timing();
        Ok(vec![
            ("return_mean", episodes.return_mean),
            ("return_std", episodes.return_std),
            ("length_mean", episodes.length_mean),
            ("episodes", episodes.finished as f64),
            ("reward_mean", rewards.sum::<f64>() / self.steps_per_epoch() as f64),
            ("actor_loss", loss),
            ("actor_grad_norm", actor_norm),
            ("critic_loss", critic_loss),
            ("critic_grad_norm", critic_norm),
            ("entropy", entropy),
            ("alpha", alpha),
            ("failed", failed as f64),
            ("exploded", exploded as f64),
            ("trust_mean", weights.clone().sum::<f64>() / self.config.envs as f64),
            ("gradient_norm_max", norms().filter(|norm| norm.is_finite()).fold(0.0, f64::max)),
            ("forward_seconds", timing.forward.as_secs_f64()),
            ("backward_seconds", timing.backward.as_secs_f64()),
            ("policy_seconds", timing.networks.as_secs_f64()),
            ("critic_seconds", critic_seconds),
        ])
    }

    fn actor(&self) -> Actor<'_> {
        Actor::Policy(PolicyActor {
            policy: &self.policy,
            params: &self.params,
            normalizer: self.normalizer.as_ref(),
            squashed: true,
        })
    }

    fn save(&self, to: &mut Checkpoint) {
        to.epoch = self.epoch as u64;
        let mut saved = Saved::new(to);
        saved.tensors("actor", self.policy.tensors(), &self.params);
        saved.optimizer("actor.optimizer", self.optimizer.state());
        if let Some(critics) = &self.critics {
            critics.save(&mut saved);
        }
        if let Some(Temperature { log_alpha, optimizer, .. }) = &self.temperature {
            saved.f32s("temperature.log_alpha", &[*log_alpha]);
            saved.optimizer("temperature.optimizer", optimizer.state());
        }
        saved.value("normalizer", &self.normalizer);
        saved.value("episodes", &self.episodes);
    }

    fn load(&mut self, from: &Checkpoint) -> Result<(), TrainError> {
        self.epoch = from.epoch as usize;
        let mut copy = from.clone();
        let mut saved = Saved::new(&mut copy);
        self.params = saved.read_tensors("actor", self.policy.tensors())?;
        let state = saved.read_optimizer("actor.optimizer")?;
        self.optimizer = Optimizer::resume(self.config.actor.optimizer, self.params.len(), state)?;
        if let Some(critics) = &mut self.critics {
            critics.load(&mut saved)?;
        }
        if let (Some(temperature), Some(config)) = (&mut self.temperature, &self.config.entropy) {
            let value = saved.read_f32s("temperature.log_alpha")?;
            temperature.log_alpha = value.first().copied().unwrap_or(0.0);
            let state = saved.read_optimizer("temperature.optimizer")?;
            temperature.optimizer = Optimizer::resume(config.optimizer, 1, state)?;
        }
        self.normalizer = saved.read_value("normalizer")?;
        self.episodes = saved.read_value("episodes")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sapo::Design;
    use super::super::{apg, sapo, shac, toy};
    use super::*;

    /// SAPO, SHAC and APG, small.
    fn configs() -> [ActorCriticConfig; 3] {
        let design = Design::default();
        [sapo::config(&[16], &[16], design), shac::config(&[16], &[16]), apg::config(&[16])].map(|config| {
            let config = ActorCriticConfig { envs: 20, horizon: 16, epochs: 60, ..config };
            ActorCriticConfig { actor: ActorConfig { lr: 1e-2, ..config.actor }, ..config }
        })
    }

    #[test]
    fn policies_improve() {
        for config in configs() {
            let mut learner = ActorCritic::new(config, toy::SPACES, 0).unwrap();
            let (before, after) = toy::improvement(&mut learner);
            // Rest at 0 from the start would give 50.
            assert!(after > before + 1.0 && after > 45.0, "{before} {after}");
        }
    }

    #[test]
    fn bits_depend_on_the_seed_alone() {
        for config in configs() {
            toy::check_bits(&|| Box::new(ActorCritic::new(config.clone(), toy::SPACES, 1).unwrap()), 5);
        }
    }

    /// The first action of a horizon sees nothing that depends on the policy, the others do.
    #[test]
    fn gradients_through_observations_can_be_cut() {
        let gradient = |horizon: usize, observation_gradients: bool| {
            let config = apg::config(&[16]);
            let config = ActorCriticConfig { envs: 20, horizon, observation_gradients, ..config };
            let mut learner = ActorCritic::new(config, toy::SPACES, 0).unwrap();
            learner.roll_out(&mut toy::env(20, 1, 0)).unwrap();
            learner.memory.iter().flat_map(|m| m.policy_bar.clone()).collect::<Vec<f32>>()
        };
        assert_eq!(gradient(1, true), gradient(1, false));
        let difference = |(a, b): (f32, f32)| (a - b).abs();
        let pairs = gradient(4, true).into_iter().zip(gradient(4, false));
        assert!(pairs.map(difference).fold(0.0, f32::max) > 1e-4);
    }

    /// A policy that is lost says so, and names what.
    #[test]
    fn divergence_is_named() {
        let config = configs()[0].clone();
        let mut learner = ActorCritic::new(config, toy::SPACES, 0).unwrap();
        learner.params.fill(f32::NAN);
        let message = learner.learn(&mut toy::env(20, 1, 0)).unwrap_err().to_string();
        assert!(message.starts_with("epoch 0: "), "{message}");
    }
}
