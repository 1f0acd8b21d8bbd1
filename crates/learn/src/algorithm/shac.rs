//! SHAC, short-horizon actor-critic: gradients through the physics over a few steps, a value beyond (Xu et al., ICLR
//! 2022).

use super::actor_critic::{ActorConfig, ActorCriticConfig};
use super::critics::CriticConfig;
use super::presets::Preset;
use crate::nn::Activation;
use crate::nn::Init;
use crate::nn::LayerNorm;
use crate::nn::LogStd;
use crate::nn::NetworkConfig;
use crate::nn::OptimizerConfig;

/// Share of the means of gradients that stays at each step.
const BETAS: [f64; 2] = [0.7, 0.95];

/// The network of an actor.
pub fn actor_network(hidden: &[usize]) -> NetworkConfig {
    NetworkConfig {
        hidden: hidden.to_vec(),
        activation: Activation::Elu,
        layer_norm: LayerNorm::After,
        init: Init::Default,
        encoder: None,
    }
}

/// The network of a critic.
pub fn critic_network(hidden: &[usize]) -> NetworkConfig {
    NetworkConfig { init: Init::Orthogonal { gain: std::f64::consts::SQRT_2 }, ..actor_network(hidden) }
}

/// The settings that SAPO is compared with (Xing et al., Table 4), for networks of these widths.
pub fn config(actor: &[usize], critic: &[usize]) -> ActorCriticConfig {
    let optimizer = OptimizerConfig::adam(BETAS);
    ActorCriticConfig {
        envs: 64,
        horizon: 32,
        epochs: 2000,
        gamma: 0.99,
        lambda: 0.95,
        lr_floor: 1e-5,
        normalize_observations: Some(1e-4),
        observation_gradients: true,
        env_gradient_limit: None,
        trust: None,
        restart_above: None,
        actor: ActorConfig {
            network: actor_network(actor),
            log_std: LogStd::Shared { init: -1.0 },
            optimizer,
            lr: 2e-3,
            grad_clip: 1.0,
        },
        critic: Some(CriticConfig {
            network: critic_network(critic),
            count: 1,
            optimizer,
            lr: 5e-4,
            grad_clip: 1.0,
            iterations: 16,
            batches: 4,
            target: Some(0.995),
        }),
        entropy: None,
    }
}

/// The settings of SHAC's own code, where they differ from task to task: rate of learning of the critic, and what
/// stays of its target network.
pub fn original(actor: &[usize], critic: &[usize], critic_lr: f64, target: f64) -> ActorCriticConfig {
    let config = config(actor, critic);
    let critic = config.critic.map(|critic| CriticConfig { lr: critic_lr, target: Some(target), ..critic });
    ActorCriticConfig { critic, ..config }
}

/// The settings of a preset.
pub fn preset(preset: &Preset) -> ActorCriticConfig {
    preset.apply(match preset.shac {
        None => config(preset.actor, preset.critic),
        Some((critic_lr, target)) => original(preset.actor, preset.critic, critic_lr, target),
    })
}
