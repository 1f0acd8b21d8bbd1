//! [`Schedule`]: how the learning rate changes over a run.

use pullback_core::ConfigError;
use serde::{Deserialize, Serialize};

/// Bounds of rates that follow the KL divergence.
const KL_BOUNDS: [f64; 2] = [1e-6, 1e-2];

/// Factor of one change of a rate that follows the KL divergence.
const KL_FACTOR: f64 = 1.5;

/// A rule and its constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleConfig {
    /// The same rate all along.
    Constant {
        /// The rate.
        rate: f64,
    },
    /// From `rate` at the first epoch along a line to `floor` at the end of the run.
    Linear {
        /// The rate to begin with.
        rate: f64,
        /// The rate at the end (SHAC and SAPO: 1e-5).
        floor: f64,
    },
    /// Follows the KL divergence between policies before and after an update (PPO of rl_games): divided by 1.5
    /// above twice the target, multiplied by 1.5 below half of it, within 1e-6 and 1e-2.
    KlAdaptive {
        /// The rate to begin with.
        rate: f64,
        /// The divergence to hold.
        target: f64,
    },
}

/// A rule with the rate it has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    config: ScheduleConfig,
    rate: f64,
}

impl Schedule {
    /// A schedule at its beginning.
    pub fn new(config: ScheduleConfig) -> Result<Self, ConfigError> {
        let (rate, other) = match config {
            ScheduleConfig::Constant { rate } => (rate, rate),
            ScheduleConfig::Linear { rate, floor } => (rate, floor),
            ScheduleConfig::KlAdaptive { rate, target } => (rate, target),
        };
        for x in [rate, other] {
            if !(x.is_finite() && x >= 0.0) {
                let message = format!("learning rate: {x} is none; give a number that is not negative");
                return Err(ConfigError::new(message));
            }
        }
        Ok(Schedule { config, rate })
    }

    /// A schedule that goes on from a saved rate.
    pub fn resume(config: ScheduleConfig, rate: f64) -> Result<Self, ConfigError> {
        Ok(Schedule { rate, ..Schedule::new(config)? })
    }

    /// The rate now.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Begins epoch `epoch` of `epochs`; changes linear rates.
    pub fn begin_epoch(&mut self, epoch: usize, epochs: usize) {
        if let ScheduleConfig::Linear { rate, floor } = self.config {
            let done = (epoch as f64 / epochs as f64).min(1.0);
            self.rate = rate * (1.0 - done) + floor * done;
        }
    }

    /// Takes the divergence of the last update; changes rates that follow it.
    pub fn observe_kl(&mut self, kl: f64) {
        if let ScheduleConfig::KlAdaptive { target, .. } = self.config {
            if kl > 2.0 * target {
                self.rate = (self.rate / KL_FACTOR).max(KL_BOUNDS[0]);
            }
            if kl < 0.5 * target {
                self.rate = (self.rate * KL_FACTOR).min(KL_BOUNDS[1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_their_floor() {
        let mut schedule = Schedule::new(ScheduleConfig::Linear { rate: 2e-3, floor: 1e-5 }).unwrap();
        let mut at = |epoch| {
            schedule.begin_epoch(epoch, 2000);
            schedule.rate()
        };
        assert_eq!((at(0), at(2000), at(3000)), (2e-3, 1e-5, 1e-5));
        assert!((at(1000) - 1.005e-3).abs() < 1e-12);
    }

    #[test]
    fn divergences_move_the_rate_within_bounds() {
        let config = ScheduleConfig::KlAdaptive { rate: 1e-3, target: 0.01 };
        let mut schedule = Schedule::new(config).unwrap();
        let mut after = |kl| {
            schedule.observe_kl(kl);
            schedule.rate()
        };
        assert_eq!((after(0.01), after(0.03), after(f64::NAN)), (1e-3, 1e-3 / 1.5, 1e-3 / 1.5));
        (0..30).for_each(|_| _ = after(1.0));
        assert_eq!(after(1.0), 1e-6);
        (0..30).for_each(|_| _ = after(0.0));
        assert_eq!(after(0.0), 1e-2);
    }

    #[test]
    fn rates_that_are_none_are_refused() {
        assert!(Schedule::new(ScheduleConfig::Constant { rate: f64::NAN }).is_err());
    }
}
