//! Settings of MBPO.

use pullback_core::ConfigError;
use pullback_core::settings::Range;
use serde::{Deserialize, Serialize};

use super::enhance::Enhancement;
use super::ensemble::ModelConfig;
use super::rollout::Lengths;
use crate::algorithm::presets::Preset;
use crate::algorithm::ranges::{DISCOUNT, check, check_counts, check_given};
use crate::algorithm::sac::learner::SoftConfig;
use crate::algorithm::sac::learner_config;
use crate::nn::{Activation, Init, LayerNorm, NetworkConfig, OptimizerConfig};

/// Settings. Every key must be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MbpoConfig {
    /// Epochs of a run.
    pub epochs: usize,
    /// Steps of the environment per epoch.
    pub steps: usize,
    /// Discount γ.
    pub gamma: f64,
    /// Steps of uniform actions at the start, without updates.
    pub warm_up: usize,
    /// True steps that are kept.
    pub capacity: usize,
    /// Steps of the model that are kept.
    pub model_capacity: usize,
    /// Steps between fits of the model.
    pub model_every: usize,
    /// Rollouts of the model per step of the environment.
    pub rollouts: usize,
    /// Steps of a rollout.
    pub lengths: Lengths,
    /// Updates of the policy per step of the environment.
    pub updates: usize,
    /// Rows of a batch.
    pub batch: usize,
    /// Share of true steps in a batch.
    pub real_share: f64,
    /// Rows that observation statistics begin with; without it observations are not normalized.
    pub normalize_observations: Option<f64>,
    /// What is made of the gradients of steps.
    pub enhancement: Enhancement,
    /// Models.
    pub model: ModelConfig,
    /// Policy and critics.
    pub learner: SoftConfig,
}

impl MbpoConfig {
    /// Refuses a number that is out of its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_counts(&[
            ("epochs", self.epochs),
            ("steps", self.steps),
            ("capacity", self.capacity),
            ("model_capacity", self.model_capacity),
            ("model_every", self.model_every),
            ("batch", self.batch),
        ])?;
        check(&[
            ("gamma", self.gamma, DISCOUNT),
            ("real_share", self.real_share, Range::Within(0.0, 1.0)),
            // Models are fitted to these steps first.
            ("warm_up", self.warm_up as f64, Range::Within(10.0, 1e9)),
        ])?;
        if let Enhancement::Sample { count, delta } = self.enhancement {
            check(&[
                ("enhancement.sample.count", count as f64, Range::Within(1.0, 1e4)),
                ("enhancement.sample.delta", delta, Range::Above(0.0, 2.0)),
            ])?;
        }
        check_given(&[("normalize_observations", self.normalize_observations, Range::Positive)])
    }
}

/// A network as PyTorch begins it.
pub(super) fn network(hidden: &[usize], activation: Activation) -> NetworkConfig {
    let (layer_norm, init) = (LayerNorm::None, Init::Default);
    NetworkConfig { hidden: hidden.to_vec(), activation, layer_norm, init, encoder: None }
}

/// Janner et al.'s settings with networks of these widths, and models of two layers of 128.
pub fn config(actor: &[usize], critic: &[usize]) -> MbpoConfig {
    let optimizer = OptimizerConfig::adam_w([0.9, 0.999]);
    MbpoConfig {
        epochs: 100,
        steps: 1000,
        gamma: 0.99,
        warm_up: 1000,
        capacity: 1_000_000,
        model_capacity: 400_000,
        model_every: 250,
        rollouts: 100,
        lengths: Lengths { first: 1, last: 5, from: 20, to: 100 },
        updates: 20,
        batch: 256,
        real_share: 0.05,
        normalize_observations: Some(1.0),
        enhancement: Enhancement::None,
        model: ModelConfig {
            network: network(&[128, 128], Activation::Silu),
            members: 7,
            elites: 5,
            optimizer,
            lr: 1e-3,
            grad_clip: 10.0,
            batch: 256,
            holdout: 0.2,
            max_holdout: 5000,
            patience: 5,
            pass_rows: 10_000,
            max_passes: 50,
        },
        learner: SoftConfig {
            actor: network(actor, Activation::Relu),
            critic: network(critic, Activation::Relu),
            actor_lr: 3e-4,
            critic_lr: 3e-4,
            grad_clip: 10.0,
            alpha_lr: Some(3e-4),
            ..learner_config(actor, critic)
        },
    }
}

/// The settings of a preset; the environment is one.
pub fn preset(preset: &Preset, enhancement: Enhancement) -> MbpoConfig {
    let mut config = config(preset.actor, preset.critic);
    (config.epochs, config.gamma, config.enhancement) = (preset.epochs, preset.gamma, enhancement);
    for network in [&mut config.model.network, &mut config.learner.actor, &mut config.learner.critic] {
        *network = preset.encoded(network.clone());
    }
    config
}
