//! SAPO, soft analytic policy optimization: maximum-entropy learning through the physics (Xing et al., ICLR 2025).
//!
//! The actor maximizes rewards and entropy over a short horizon and the soft value beyond (Eq. 19); critics learn
//! soft values (Eq. 20). Five design choices tell it from SHAC ([`Design`]); each can be taken back on its own.

use serde::{Deserialize, Serialize};

use super::actor_critic::{ActorConfig, ActorCriticConfig, EntropyConfig};
use super::critics::CriticConfig;
use super::presets::Preset;
use super::shac;
use crate::nn::Activation;
use crate::nn::Init;
use crate::nn::LayerNorm;
use crate::nn::LogStd;
use crate::nn::NetworkConfig;
use crate::nn::OptimizerConfig;

/// Which of the paper's design choices hold (section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// Entropy is rewarded, with a temperature that adjusts itself (I).
    pub entropy: bool,
    /// Critics learn values with entropy.
    pub soft_value: bool,
    /// Entropy is normalized (II).
    pub normalized_entropy: bool,
    /// Deviations of actions depend on the state (III).
    pub state_dependent_std: bool,
    /// Two critics and no target network (IV).
    pub critic_ensemble: bool,
    /// SiLU, normalization before activations, AdamW and tighter clipping (V).
    pub architecture: bool,
}

impl Default for Design {
    fn default() -> Self {
        Design {
            entropy: true,
            soft_value: true,
            normalized_entropy: true,
            state_dependent_std: true,
            critic_ensemble: true,
            architecture: true,
        }
    }
}

/// Bounds of the logarithm of a deviation that depends on the state.
const LOG_STD: LogStd = LogStd::PerState { min: -5.0, max: 2.0 };
/// Share of the means of gradients that stays at each step.
const BETAS: [f64; 2] = [0.7, 0.95];

/// A network of SAPO.
pub fn network(hidden: &[usize]) -> NetworkConfig {
    NetworkConfig {
        hidden: hidden.to_vec(),
        activation: Activation::Silu,
        layer_norm: LayerNorm::Before,
        init: Init::Orthogonal { gain: 1.0 },
        encoder: None,
    }
}

/// The paper's settings (Table 4) for networks of these widths.
pub fn config(actor: &[usize], critic: &[usize], design: Design) -> ActorCriticConfig {
    let shac = shac::config(actor, critic);
    let (optimizer, grad_clip) = match design.architecture {
        true => (OptimizerConfig::adam_w(BETAS), 0.5),
        false => (OptimizerConfig::adam(BETAS), 1.0),
    };
    let [actor_network, critic_network] = match design.architecture {
        true => [network(actor), network(critic)],
        false => [shac::actor_network(actor), shac::critic_network(critic)],
    };
    let actor = ActorConfig {
        network: actor_network,
        log_std: if design.state_dependent_std { LOG_STD } else { shac.actor.log_std },
        optimizer,
        lr: 2e-3,
        grad_clip,
    };
    let old = shac.critic.as_ref().and_then(|critic| critic.target);
    let critic = CriticConfig {
        network: critic_network,
        count: if design.critic_ensemble { 2 } else { 1 },
        optimizer,
        lr: 5e-4,
        grad_clip,
        iterations: 16,
        batches: 4,
        target: if design.critic_ensemble { None } else { old },
    };
    let entropy = EntropyConfig {
        alpha: 1.0,
        target: -0.5,
        lr: Some(5e-3),
        optimizer,
        grad_clip,
        normalize: design.normalized_entropy,
        soft_value: design.soft_value,
    };
    ActorCriticConfig {
        actor,
        critic: Some(critic),
        entropy: design.entropy.then_some(entropy),
        normalize_observations: Some(1.0),
        ..shac
    }
}

/// The settings of a preset.
pub fn preset(preset: &Preset) -> ActorCriticConfig {
    preset.apply(config(preset.actor, preset.critic, Design::default()))
}
