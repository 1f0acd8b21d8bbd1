//! APG, analytic policy gradients: gradients through the physics over a short horizon, and nothing beyond (Freeman et
//! al., 2021).

use super::actor_critic::ActorCriticConfig;
use super::presets::Preset;
use super::shac;

/// The settings that SAPO is compared with (Xing et al., Table 4).
pub fn config(actor: &[usize]) -> ActorCriticConfig {
    ActorCriticConfig { critic: None, ..shac::config(actor, &[]) }
}

/// The settings of a preset.
pub fn preset(preset: &Preset) -> ActorCriticConfig {
    preset.apply(config(preset.actor))
}
