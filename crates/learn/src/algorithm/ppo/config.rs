//! Settings of PPO.

use pullback_core::ConfigError;
use pullback_core::settings::Range;
use serde::{Deserialize, Serialize};

use crate::algorithm::presets::Preset;
use crate::algorithm::ranges::{DISCOUNT, check, check_counts, check_given};
use crate::algorithm::sapo;
use crate::nn::{LogStd, NetworkConfig, OptimizerConfig, ScheduleConfig};

/// Settings. Every key must be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PpoConfig {
    /// Environments.
    pub envs: usize,
    /// Steps of a horizon.
    pub horizon: usize,
    /// Epochs of a run.
    pub epochs: usize,
    /// Discount γ.
    pub gamma: f64,
    /// λ of generalized advantage estimation.
    pub lambda: f64,
    /// Passes over the rows of an epoch.
    pub mini_epochs: usize,
    /// Batches per pass, of shuffled rows.
    pub batches: usize,
    /// ε of the ratio of densities.
    pub clip: f64,
    /// ε of the change of normalized values; without it they may move freely.
    pub value_clip: Option<f64>,
    /// Worth of entropy.
    pub entropy: f64,
    /// Whether advantages of a batch are brought to mean 0 and deviation 1.
    pub normalize_advantages: bool,
    /// Rows that observation statistics begin with; without it observations are not normalized.
    pub normalize_observations: Option<f64>,
    /// Rows that statistics of returns begin with; without it values are not normalized.
    pub normalize_values: Option<f64>,
    /// The policy.
    pub actor: NetworkConfig,
    /// Where deviations of actions come from.
    pub log_std: LogStd,
    /// The value function.
    pub critic: NetworkConfig,
    /// How both learn.
    pub optimizer: OptimizerConfig,
    /// At which rate.
    pub schedule: ScheduleConfig,
    /// Bound of the norm of a gradient, for each.
    pub grad_clip: f64,
}

impl PpoConfig {
    /// Refuses a number that is out of its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let PpoConfig { envs, horizon, epochs, mini_epochs, batches, .. } = *self;
        check_counts(&[
            ("envs", envs),
            ("horizon", horizon),
            ("epochs", epochs),
            ("mini_epochs", mini_epochs),
            ("batches", batches),
        ])?;
        check(&[
            ("gamma", self.gamma, DISCOUNT),
            ("lambda", self.lambda, DISCOUNT),
            ("clip", self.clip, Range::Positive),
            ("entropy", self.entropy, Range::NotNegative),
            ("grad_clip", self.grad_clip, Range::Positive),
        ])?;
        check_given(&[
            ("value_clip", self.value_clip, Range::Positive),
            ("normalize_observations", self.normalize_observations, Range::Positive),
            ("normalize_values", self.normalize_values, Range::Positive),
        ])
    }
}

/// The settings of Xing et al. (Table 4) for networks of these widths.
pub fn config(actor: &[usize], critic: &[usize]) -> PpoConfig {
    PpoConfig {
        envs: 64,
        horizon: 32,
        epochs: 2000,
        gamma: 0.99,
        lambda: 0.95,
        mini_epochs: 5,
        batches: 4,
        clip: 0.2,
        value_clip: Some(0.2),
        entropy: 0.0,
        normalize_advantages: true,
        normalize_observations: Some(1.0),
        normalize_values: Some(1.0),
        actor: sapo::network(actor),
        log_std: LogStd::PerState { min: 0.1_f64.ln(), max: 0.0 },
        critic: sapo::network(critic),
        optimizer: OptimizerConfig::adam_w([0.9, 0.999]),
        schedule: ScheduleConfig::KlAdaptive { rate: 5e-4, target: 0.008 },
        grad_clip: 0.5,
    }
}

/// The settings of a preset.
pub fn preset(preset: &Preset) -> PpoConfig {
    let config = config(preset.actor, preset.critic);
    PpoConfig {
        envs: preset.envs,
        epochs: preset.epochs,
        gamma: preset.gamma,
        actor: preset.encoded(config.actor),
        critic: preset.encoded(config.critic),
        ..config
    }
}
