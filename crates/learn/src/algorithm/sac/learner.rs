//! [`SoftLearner`]: policy, twin critics with slow targets, and temperature; one update from one batch.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::Range;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::ranges::{RATE, check, check_given};
use super::batch::Batch;
use super::losses::{CRITICS, Guides, Soft, SoftMemory, add_critic_gradient};
use crate::algorithm::TrainError;
use crate::algorithm::learned::Learned;
use crate::algorithm::parts::{self, PART};
use crate::algorithm::saved::Saved;
use crate::env::Spaces;
use crate::nn::{InputShape, LogStd, Network, NetworkConfig, OptimizerConfig, Policy};

/// Settings of the learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftConfig {
    /// The policy.
    pub actor: NetworkConfig,
    /// Where deviations of actions come from.
    pub log_std: LogStd,
    /// Each of two critics.
    pub critic: NetworkConfig,
    /// How all learn.
    pub optimizer: OptimizerConfig,
    /// Rate of learning of the policy.
    pub actor_lr: f64,
    /// Of the critics.
    pub critic_lr: f64,
    /// Bound of the norm of a gradient, for each.
    pub grad_clip: f64,
    /// Share of the old targets that stays after each update.
    pub target: f64,
    /// Temperature α at the start.
    pub alpha: f64,
    /// Rate of learning of ln α; without it α stays.
    pub alpha_lr: Option<f64>,
    /// Target entropy per action: H̄ = target_entropy · actions.
    pub target_entropy: f64,
}

/// Uses of random numbers under a seed.
const ACTOR_INIT: u64 = 0x70;
const CRITIC_INIT: u64 = 0x71;
const NOISE: u64 = 0x72;

/// What an update came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Updated {
    /// Loss of the policy.
    pub actor_loss: f64,
    /// Mean loss of the critics.
    pub critic_loss: f64,
    /// Norm of the policy's gradient.
    pub actor_norm: f64,
    /// Mean norm of the critics' gradients.
    pub critic_norm: f64,
    /// Mean entropy.
    pub entropy: f64,
    /// Temperature.
    pub alpha: f64,
}

impl Updated {
    /// Adds a share of another.
    pub fn add(&mut self, other: Updated, share: f64) {
        self.actor_loss += other.actor_loss * share;
        self.critic_loss += other.critic_loss * share;
        self.actor_norm += other.actor_norm * share;
        self.critic_norm += other.critic_norm * share;
        self.entropy += other.entropy * share;
        self.alpha = other.alpha;
    }
}

/// Rows by which a policy moves along gradients that are given, in place of those of the critics.
#[derive(Clone, Debug, Default)]
pub struct GuidedRows {
    /// Normalized observations.
    pub observations: Vec<f32>,
    /// ∂Q/∂a at the actions taken.
    pub gradients: Vec<f32>,
    /// The actions taken.
    pub actions: Vec<f32>,
}

/// Networks and what they learn with.
pub struct SoftLearner {
    config: SoftConfig,
    seed: u64,
    /// Updates so far.
    updates: u64,
    policy: Policy,
    critic: Network,
    actor: Learned,
    critics: Vec<Learned>,
    targets: Vec<Vec<f32>>,
    temperature: Learned,
    /// Target entropy H̄.
    target_entropy: f64,
    memory: Vec<SoftMemory<f32>>,
    critic_memory: Vec<Vec<SoftMemory<f32>>>,
    noise: Vec<f32>,
    aims: Vec<f32>,
}

impl SoftLearner {
    /// A learner that knows nothing.
    pub fn new(config: SoftConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        check(&[
            ("learner.target", config.target, Range::Below(0.0, 1.0)),
            ("learner.alpha", config.alpha, Range::Positive),
            ("learner.actor_lr", config.actor_lr, RATE),
            ("learner.critic_lr", config.critic_lr, RATE),
            ("learner.grad_clip", config.grad_clip, Range::Positive),
            ("learner.target_entropy", config.target_entropy, Range::Within(-1e3, 1e3)),
        ])?;
        check_given(&[("learner.alpha_lr", config.alpha_lr, RATE)])?;
        let Spaces { points, vector, actions } = spaces;
        let policy = Policy::new(InputShape { points, vector }, actions, &config.actor, config.log_std)?;
        let critic = Network::new(InputShape { points, vector: vector + actions }, 1, &config.critic)?;
        let (optimizer, clip) = (config.optimizer, config.grad_clip);
        let init = policy.init(&mut Random::stream(seed, &[ACTOR_INIT]));
        let critics = (0..CRITICS).map(|i| {
            let init = critic.init(&mut Random::stream(seed, &[CRITIC_INIT, i as u64]));
            Learned::new(&init, optimizer, clip)
        });
        let critics = critics.collect::<Result<Vec<_>, _>>()?;
        Ok(SoftLearner {
            actor: Learned::new(&init, optimizer, clip)?,
            targets: critics.iter().map(|critic| critic.params.clone()).collect(),
            critics,
            temperature: Learned::new(&[config.alpha.ln()], optimizer, f64::INFINITY)?,
            target_entropy: config.target_entropy * actions as f64,
            memory: Vec::new(),
            critic_memory: (0..CRITICS).map(|_| Vec::new()).collect(),
            noise: Vec::new(),
            aims: Vec::new(),
            updates: 0,
            policy,
            critic,
            seed,
            config,
        })
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
    /// Its parameters.
    pub fn params(&self) -> &[f32] {
        &self.actor.params
    }
    /// Temperature α.
    pub fn alpha(&self) -> f64 {
        f64::from(self.temperature.params[0]).exp()
    }
    /// Updates so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Critics towards their targets, the policy along the critics or along `guided`, the temperature towards
    /// the target entropy, the targets towards the critics.
    pub fn update(
        &mut self,
        batch: &Batch<f32>,
        guided: Option<&GuidedRows>,
        epoch: usize,
    ) -> Result<Updated, TrainError> {
        let (critic_loss, critic_norm) = self.update_critics(batch, epoch)?;
        let (actor_loss, actor_norm, entropy) = self.update_policy(batch, guided, epoch)?;
        if let Some(rate) = self.config.alpha_lr {
            // L = α (h − H̄), dL/d ln α = L
            let mut gradient = [(self.alpha() * (entropy - self.target_entropy)) as f32];
            self.temperature.step(rate, &mut gradient, "the entropy", epoch)?;
        }
        // Q̄ ← τ Q̄ + (1 − τ) Q
        let keep = self.config.target as f32;
        for (target, critic) in self.targets.iter_mut().zip(&self.critics) {
            for (target, x) in target.iter_mut().zip(&critic.params) {
                *target = keep * *target + (1.0 - keep) * x;
            }
        }
        self.updates += 1;
        let alpha = self.alpha();
        Ok(Updated { actor_loss, critic_loss, actor_norm, critic_norm, entropy, alpha })
    }

    /// Noise of actions, `what` tells uses in one update apart.
    fn draw_noise(&mut self, rows: usize, what: u64) {
        let width = self.policy.actions();
        self.noise.resize(rows * width, 0.0);
        let (seed, updates) = (self.seed, self.updates);
        self.noise.par_chunks_mut(PART * width).enumerate().for_each(|(part, noise)| {
            let mut random = Random::stream(seed, &[NOISE, updates, what, part as u64]);
            noise.iter_mut().for_each(|x| *x = random.normal() as f32);
        });
    }

    fn reserve(&mut self, rows: usize) {
        let (policy, critic) = (&self.policy, &self.critic);
        let actor = || SoftMemory::new(policy, critic, PART, policy.num_params());
        parts::reserve(&mut self.memory, rows, actor);
        for memory in &mut self.critic_memory {
            parts::reserve(memory, rows, || SoftMemory::new(policy, critic, PART, critic.num_params()));
        }
    }

    /// Moves the critics; returns their mean loss and the mean norm of their gradients.
    fn update_critics(&mut self, batch: &Batch<f32>, epoch: usize) -> Result<(f64, f64), TrainError> {
        let (n, acts) = (batch.len(), self.policy.actions());
        self.reserve(n);
        self.draw_noise(n, 0);
        let soft = Soft {
            policy: &self.policy,
            policy_params: &self.actor.params,
            critic: &self.critic,
            critics: &self.targets,
            alpha: f64::from(self.temperature.params[0]).exp(),
        };
        self.aims.resize(n, 0.0);
        let parts = self.aims.par_chunks_mut(PART).zip(&mut self.memory).enumerate();
        parts.for_each(|(i, (aims, memory))| {
            let range = i * PART..i * PART + aims.len();
            let noise = &self.noise[range.start * acts..range.end * acts];
            soft.targets(batch, range, noise, memory, aims);
        });
        let (aims, network, scale) = (&self.aims, &self.critic, 1.0 / n as f64);
        let rate = self.config.critic_lr;
        let critics = self.critics.par_iter_mut().zip(&mut self.critic_memory);
        let found: Vec<Result<(f64, f64), TrainError>> = critics
            .map(|(critic, memory)| {
                let params = &critic.params;
                let [loss] = parts::sum_gradients(n, memory, |range, memory| {
                    [f64::from(add_critic_gradient(network, params, batch, aims, range, scale, memory))]
                });
                let gradient = &mut memory[0].params_bar;
                Ok((loss, critic.step(rate, gradient, "the gradient of a critic", epoch)?))
            })
            .collect();
        let mut sums = (0.0, 0.0);
        for one in found {
            let (loss, norm) = one?;
            sums = (sums.0 + loss / CRITICS as f64, sums.1 + norm / CRITICS as f64);
        }
        Ok(sums)
    }

    /// Moves the policy; returns its loss, the norm of its gradient and the mean entropy.
    fn update_policy(
        &mut self,
        batch: &Batch<f32>,
        guided: Option<&GuidedRows>,
        epoch: usize,
    ) -> Result<(f64, f64, f64), TrainError> {
        let acts = self.policy.actions();
        let rows = guided.map_or(&batch.observations, |guided| &guided.observations);
        let n = rows.len() / self.policy.inputs();
        self.reserve(n);
        self.draw_noise(n, 1);
        let critics: Vec<Vec<f32>> = self.critics.iter().map(|critic| critic.params.clone()).collect();
        let soft = Soft {
            policy: &self.policy,
            policy_params: &self.actor.params,
            critic: &self.critic,
            critics: &critics,
            alpha: f64::from(self.temperature.params[0]).exp(),
        };
        let (noise, scale) = (&self.noise, 1.0 / n as f64);
        let [loss, entropies] = parts::sum_gradients(n, &mut self.memory, |range, memory| {
            let noise = &noise[range.start * acts..range.end * acts];
            let (loss, entropies) = match guided {
                None => soft.add_policy_gradient(rows, range, noise, scale, memory),
                Some(GuidedRows { gradients, actions, .. }) => {
                    let guides = Guides { gradients, actions: Some(actions) };
                    soft.add_guided_gradient(rows, range, noise, scale, guides, memory)
                }
            };
            [f64::from(loss), entropies]
        });
        let gradient = &mut self.memory[0].params_bar;
        let norm = self.actor.step(self.config.actor_lr, gradient, "the gradient of the policy", epoch)?;
        Ok((loss, norm, entropies / n as f64))
    }

    /// ∂V/∂o of V(o) = min Q(o, a) − α log π(a|o) at rows of normalized observations.
    pub fn value_gradients(&mut self, rows: &[f32], gradients: &mut Vec<f32>) {
        let (seen, acts) = (self.policy.inputs(), self.policy.actions());
        let n = rows.len() / seen;
        self.reserve(n);
        self.draw_noise(n, 2);
        let critics: Vec<Vec<f32>> = self.critics.iter().map(|critic| critic.params.clone()).collect();
        let soft = Soft {
            policy: &self.policy,
            policy_params: &self.actor.params,
            critic: &self.critic,
            critics: &critics,
            alpha: f64::from(self.temperature.params[0]).exp(),
        };
        gradients.resize(rows.len(), 0.0);
        let parts = rows.par_chunks(PART * seen).zip(gradients.par_chunks_mut(PART * seen));
        let parts = parts.zip(self.noise.par_chunks(PART * acts)).zip(&mut self.memory);
        parts.for_each(|(((rows, gradients), noise), memory)| {
            let mut values = vec![0.0; rows.len() / seen];
            soft.value_gradient(rows, noise, memory, &mut values, gradients);
        });
    }

    /// Puts everything into a checkpoint.
    pub fn save(&self, to: &mut Saved<'_>) {
        self.actor.save("actor", self.policy.tensors(), to);
        for (i, (critic, target)) in self.critics.iter().zip(&self.targets).enumerate() {
            critic.save(&format!("critic{i}"), self.critic.tensors(), to);
            to.tensors(&format!("target_critic{i}"), self.critic.tensors(), target);
        }
        self.temperature.save("temperature", &log_alpha(), to);
        to.u64s("updates", &[self.updates]);
    }

    /// Takes everything out of a checkpoint.
    pub fn load(&mut self, from: &mut Saved<'_>) -> Result<(), TrainError> {
        self.actor.load("actor", self.policy.tensors(), from)?;
        for i in 0..CRITICS {
            self.critics[i].load(&format!("critic{i}"), self.critic.tensors(), from)?;
            self.targets[i] = from.read_tensors(&format!("target_critic{i}"), self.critic.tensors())?;
        }
        self.temperature.load("temperature", &log_alpha(), from)?;
        self.updates = from.read_u64s("updates")?.first().copied().unwrap_or(0);
        Ok(())
    }
}

/// ln α as a tensor.
fn log_alpha() -> [crate::nn::Tensor; 1] {
    [crate::nn::Tensor { name: "log_alpha".into(), shape: vec![1], range: 0..1 }]
}
