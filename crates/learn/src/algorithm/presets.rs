//! Settings of the papers by name.

use pullback_core::ConfigError;
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{ARTICULATED_ADJOINT, DFLEX, REWARPED};

use super::actor_critic::ActorCriticConfig;
use crate::nn::{EncoderConfig, NetworkConfig};

/// What a preset says besides an algorithm's own settings.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Widths of the actor's and of a critic's hidden layers.
    pub actor: &'static [usize],
    /// Of a critic's.
    pub critic: &'static [usize],
    /// Environments.
    pub envs: usize,
    /// Epochs.
    pub epochs: usize,
    /// Discount γ.
    pub gamma: f64,
    /// Whether points are read by an encoder.
    pub encoder: bool,
    /// SHAC's own rate of learning of the critic, and what stays of its target network, where these are meant.
    pub shac: Option<(f64, f64)>,
}

/// Every preset by name.
pub const PRESETS: Registry<Preset> = Registry::new("preset", &[TABLE]);

/// The preset asked for, or that of the task.
pub fn preset(task: &str, asked: Option<&str>) -> Result<(&'static str, Preset), ConfigError> {
    let entry = match asked {
        Some(name) => PRESETS.find(name)?,
        None => {
            let of_task = |entry: &&Entry<Preset>| {
                let of_paper = |paper: &&str| entry.name == format!("{paper}-{task}");
                entry.name == task || ["dflex", "rewarped"].iter().any(of_paper)
            };
            PRESETS.entries().find(of_task).ok_or_else(|| {
                let names: Vec<&str> = PRESETS.names().collect();
                ConfigError::new(format!(
                    "{task} has no preset of its own; give --preset: {}",
                    names.join(", ")
                ))
            })?
        }
    };
    Ok((entry.name, entry.value))
}

const fn dflex(actor: &'static [usize], critic: &'static [usize]) -> Preset {
    Preset { actor, critic, envs: 64, epochs: 2000, gamma: 0.99, encoder: false, shac: None }
}

const fn diffrl(actor: &'static [usize], critic: &'static [usize], critic_lr: f64, target: f64) -> Preset {
    Preset { shac: Some((critic_lr, target)), ..dflex(actor, critic) }
}

const fn particles(epochs: usize) -> Preset {
    Preset { actor: &[512, 256], critic: &[256, 256], envs: 32, epochs, encoder: true, ..dflex(&[], &[]) }
}

/// A pendulum of `links` links: 100 epochs each, rewards that are not discounted.
const fn pendulum(links: usize) -> Preset {
    Preset { epochs: 100 * links, gamma: 1.0, ..dflex(&[64, 64], &[64, 64]) }
}

const TABLE: &[Entry<Preset>] = &[
    Entry::cited(
        "dflex-cartpole",
        "cart-pole",
        DFLEX.whole(),
        Preset { epochs: 500, ..dflex(&[64, 64], &[64, 64]) },
    ),
    Entry::cited("dflex-hopper", "4.1 M steps", REWARPED.at("Tables 4, 5"), dflex(&[128, 64, 32], &[64, 64])),
    Entry::cited("dflex-cheetah", "4.1 M steps", REWARPED.at("Table 4"), dflex(&[128, 64, 32], &[64, 64])),
    Entry::cited("dflex-ant", "4.1 M steps", REWARPED.at("Tables 4, 5"), dflex(&[128, 64, 32], &[64, 64])),
    Entry::cited(
        "dflex-humanoid",
        "4.1 M steps",
        REWARPED.at("Tables 4, 5"),
        dflex(&[256, 128], &[128, 128]),
    ),
    Entry::cited(
        "dflex-snu-humanoid",
        "4.1 M steps",
        REWARPED.at("Tables 4, 5"),
        dflex(&[512, 256], &[256, 256]),
    ),
    Entry::cited(
        "diffrl-hopper",
        "SHAC as its code has it",
        DFLEX.at("Hopper"),
        Preset { envs: 256, ..diffrl(&[128, 64, 32], &[64, 64], 2e-4, 0.2) },
    ),
    Entry::cited(
        "diffrl-ant",
        "SHAC as its code has it",
        DFLEX.at("Ant"),
        diffrl(&[128, 64, 32], &[64, 64], 2e-3, 0.2),
    ),
    Entry::cited(
        "diffrl-humanoid",
        "SHAC as its code has it",
        DFLEX.at("Humanoid"),
        diffrl(&[256, 128], &[128, 128], 5e-4, 0.995),
    ),
    Entry::cited("rewarped-ant-run", "4.1 M steps", REWARPED.at("Table 6"), dflex(&[128, 64, 32], &[64, 64])),
    Entry::cited(
        "rewarped-hand-reorient",
        "4.1 M steps",
        REWARPED.at("Table 6"),
        dflex(&[512, 256], &[256, 256]),
    ),
    Entry::cited("rewarped-rolling-flat", "4.1 M steps", REWARPED.at("Table 6"), particles(4000)),
    Entry::cited("rewarped-fluid-move", "4.1 M steps", REWARPED.at("Table 6"), particles(4000)),
    Entry::cited("rewarped-soft-jumper", "6.1 M steps", REWARPED.at("Table 6"), particles(6000)),
    Entry::cited("rewarped-hand-flip", "6.1 M steps", REWARPED.at("Table 6"), particles(6000)),
    Entry::cited("adjoint-pendulum-1", "100 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(1)),
    Entry::cited("adjoint-pendulum-2", "200 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(2)),
    Entry::cited("adjoint-pendulum-3", "300 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(3)),
    Entry::cited("adjoint-pendulum-4", "400 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(4)),
    Entry::cited("adjoint-pendulum-5", "500 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(5)),
    Entry::cited("adjoint-pendulum-6", "600 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(6)),
    Entry::cited("adjoint-pendulum-7", "700 epochs", ARTICULATED_ADJOINT.at("Figure 4"), pendulum(7)),
    Entry::cited(
        "adjoint-ant",
        "epochs of 1000 steps; how many the paper does not say",
        ARTICULATED_ADJOINT.at("Figure 5"),
        Preset { epochs: 300, ..dflex(&[128, 128], &[128, 128]) },
    ),
    Entry::new(
        "cartpole-pixels",
        "cart-pole from pictures",
        Preset { epochs: 500, ..dflex(&[64, 64], &[64, 64]) },
    ),
];

impl Preset {
    /// Environments, epochs and encoders of settings that follow gradients of the physics.
    pub fn apply(&self, mut config: ActorCriticConfig) -> ActorCriticConfig {
        (config.envs, config.epochs, config.gamma) = (self.envs, self.epochs, self.gamma);
        config.actor.network = self.encoded(config.actor.network);
        if let Some(critic) = &mut config.critic {
            critic.network = self.encoded(critic.network.clone());
        }
        config
    }

    /// A network with an encoder where points are read by one.
    pub fn encoded(&self, network: NetworkConfig) -> NetworkConfig {
        NetworkConfig { encoder: self.encoder.then(EncoderConfig::default), ..network }
    }
}
