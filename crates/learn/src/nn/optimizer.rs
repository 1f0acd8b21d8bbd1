//! Steps along gradients: SGD with momentum, Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019).
//!
//! Formulas and defaults are PyTorch's. The learning rate is an argument of each step, since schedules change
//! it.

use pullback_core::ConfigError;
use pullback_core::settings::{Range, check_ranges};
use serde::{Deserialize, Serialize};

/// An algorithm and its constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum OptimizerConfig {
    /// p ← p − rate b with b ← momentum b + g.
    Sgd {
        /// Share of the last step that goes on (0).
        #[serde(default)]
        momentum: f64,
    },
    /// p ← p − rate m̂ / (√v̂ + ε) with means m of g and v of g².
    Adam {
        /// Share of the means that stays at each step (0.9, 0.999).
        #[serde(default = "default_betas")]
        betas: [f64; 2],
        /// ε, which keeps steps of vanishing gradients finite (1e-8).
        #[serde(default = "default_epsilon")]
        epsilon: f64,
    },
    /// Adam after p ← (1 − rate decay) p.
    AdamW {
        /// Share of the means that stays at each step (0.9, 0.999; SAPO and SHAC: 0.7, 0.95).
        #[serde(default = "default_betas")]
        betas: [f64; 2],
        /// ε, which keeps steps of vanishing gradients finite (1e-8).
        #[serde(default = "default_epsilon")]
        epsilon: f64,
        /// Decay of parameters per unit of learning rate (0.01).
        #[serde(default = "default_weight_decay")]
        weight_decay: f64,
    },
}

fn default_betas() -> [f64; 2] {
    [0.9, 0.999]
}
fn default_epsilon() -> f64 {
    1e-8
}
fn default_weight_decay() -> f64 {
    0.01
}

impl OptimizerConfig {
    /// Adam with PyTorch's ε.
    pub fn adam(betas: [f64; 2]) -> Self {
        OptimizerConfig::Adam { betas, epsilon: default_epsilon() }
    }
    /// AdamW with PyTorch's ε and decay.
    pub fn adam_w(betas: [f64; 2]) -> Self {
        let (epsilon, weight_decay) = (default_epsilon(), default_weight_decay());
        OptimizerConfig::AdamW { betas, epsilon, weight_decay }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let share = |name: &str, x: f64| {
            let message = || ConfigError::new(format!("optimizer: {name} is {x}; it must be in [0, 1)"));
            if (0.0..1.0).contains(&x) { Ok(()) } else { Err(message()) }
        };
        match *self {
            OptimizerConfig::Sgd { momentum } => share("momentum", momentum),
            OptimizerConfig::Adam { betas, epsilon } | OptimizerConfig::AdamW { betas, epsilon, .. } => {
                share("betas[0]", betas[0])?;
                share("betas[1]", betas[1])?;
                check_ranges("optimizer", &[("epsilon", epsilon, Range::Positive)])?;
                let decay = match *self {
                    OptimizerConfig::AdamW { weight_decay, .. } => weight_decay,
                    _ => 0.0,
                };
                check_ranges("optimizer", &[("weight_decay", decay, Range::NotNegative)])
            }
        }
    }

    /// Whether the first and the second mean are kept.
    fn means(&self) -> [bool; 2] {
        match *self {
            OptimizerConfig::Sgd { momentum } => [momentum > 0.0, false],
            OptimizerConfig::Adam { .. } | OptimizerConfig::AdamW { .. } => [true, true],
        }
    }
}

/// What an optimizer remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerState {
    /// Steps taken.
    pub count: u64,
    /// Momentum, or the mean m of gradients; empty where there is none.
    pub first: Vec<f32>,
    /// The mean v of squares of gradients; empty where there is none.
    pub second: Vec<f32>,
}

/// An algorithm with its memory.
#[derive(Clone, Debug)]
pub struct Optimizer {
    config: OptimizerConfig,
    state: OptimizerState,
    params: usize,
}

impl Optimizer {
    /// An optimizer of `params` parameters that has taken no step.
    pub fn new(config: OptimizerConfig, params: usize) -> Result<Self, ConfigError> {
        config.validate()?;
        let [first, second] = config.means().map(|kept| vec![0.0; if kept { params } else { 0 }]);
        Ok(Optimizer { config, state: OptimizerState { count: 0, first, second }, params })
    }

    /// An optimizer that goes on from a saved state.
    pub fn resume(
        config: OptimizerConfig,
        params: usize,
        state: OptimizerState,
    ) -> Result<Self, ConfigError> {
        let mut optimizer = Optimizer::new(config, params)?;
        let expected = (optimizer.state.first.len(), optimizer.state.second.len());
        let found = (state.first.len(), state.second.len());
        if expected != found {
            return Err(ConfigError::new(format!(
                "optimizer: a state of {found:?} moments does not fit {expected:?}; \
                 it belongs to another network or algorithm"
            )));
        }
        optimizer.state = state;
        Ok(optimizer)
    }

    /// The state to save.
    pub fn state(&self) -> &OptimizerState {
        &self.state
    }

    /// Moves `params` along `gradient`.
    ///
    /// Panics where lengths differ from those the optimizer was made for.
    pub fn step(&mut self, rate: f64, params: &mut [f32], gradient: &[f32]) {
        assert_eq!((params.len(), gradient.len()), (self.params, self.params), "parameters of the optimizer");
        let OptimizerState { count, first, second } = &mut self.state;
        *count += 1;
        match self.config {
            OptimizerConfig::Sgd { momentum } if momentum > 0.0 => {
                let (rate, momentum) = (rate as f32, momentum as f32);
                for ((p, g), b) in params.iter_mut().zip(gradient).zip(first) {
                    *b = momentum * *b + g;
                    *p -= rate * *b;
                }
            }
            OptimizerConfig::Sgd { .. } => {
                let rate = rate as f32;
                params.iter_mut().zip(gradient).for_each(|(p, g)| *p -= rate * g);
            }
            OptimizerConfig::Adam { betas, epsilon } => {
                adam(rate, betas, epsilon, 1.0, *count, params, gradient, first, second);
            }
            OptimizerConfig::AdamW { betas, epsilon, weight_decay } => {
                let keep = 1.0 - rate * weight_decay;
                adam(rate, betas, epsilon, keep, *count, params, gradient, first, second);
            }
        }
    }
}

/// One step of Adam from `keep` times the parameters.
fn adam(
    rate: f64,
    betas: [f64; 2],
    epsilon: f64,
    keep: f64,
    count: u64,
    params: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    // The means begin at zero: m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ).
    let unbiased = |beta: f64| 1.0 - beta.powf(count as f64);
    let (step, root) = ((rate / unbiased(betas[0])) as f32, (1.0 / unbiased(betas[1]).sqrt()) as f32);
    let [(b1, c1), (b2, c2)] = betas.map(|beta| (beta as f32, (1.0 - beta) as f32));
    let (epsilon, keep) = (epsilon as f32, keep as f32);
    for (((p, g), m), v) in params.iter_mut().zip(gradient).zip(first).zip(second) {
        *m = b1 * *m + c1 * g;
        *v = b2 * *v + c2 * g * g;
        *p = keep * *p - step * *m / (v.sqrt() * root + epsilon);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 0.01;

    /// Parameters after steps along given gradients.
    fn run(config: OptimizerConfig, gradients: &[f32]) -> f64 {
        let mut optimizer = Optimizer::new(config, 1).unwrap();
        let mut p = [0.5];
        gradients.iter().for_each(|g| optimizer.step(RATE, &mut p, &[*g]));
        f64::from(p[0])
    }

    /// The means as weighted sums over all gradients, in double precision.
    fn reference([b1, b2]: [f64; 2], decay: f64, gradients: &[f32]) -> f64 {
        let mut p = 0.5;
        for t in 1..=gradients.len() {
            let mean = |beta: f64, power: i32| {
                let terms = gradients[..t].iter().rev().enumerate();
                let sum: f64 = terms.map(|(age, g)| beta.powi(age as i32) * f64::from(*g).powi(power)).sum();
                sum * (1.0 - beta) / (1.0 - beta.powi(t as i32))
            };
            p = p * (1.0 - RATE * decay) - RATE * mean(b1, 1) / (mean(b2, 2).sqrt() + 1e-8);
        }
        p
    }

    #[test]
    fn adam_divides_the_mean_by_the_root_of_the_mean_square() {
        let gradients: Vec<f32> = (0..20).map(|i| (i as f32 * 0.9).sin() + 0.2).collect();
        for betas in [[0.9, 0.999], [0.7, 0.95]] {
            let plain = run(OptimizerConfig::adam(betas), &gradients);
            assert!((plain - reference(betas, 0.0, &gradients)).abs() < 1e-6);
            let decayed = run(OptimizerConfig::adam_w(betas), &gradients);
            assert!((decayed - reference(betas, 0.01, &gradients)).abs() < 1e-6);
        }
    }

    #[test]
    fn decay_is_apart_from_the_gradient() {
        assert!((run(OptimizerConfig::adam_w([0.9, 0.999]), &[0.0]) - 0.5 * (1.0 - 1e-4)).abs() < 1e-7);
    }

    #[test]
    fn momentum_sums_gradients() {
        let p = run(OptimizerConfig::Sgd { momentum: 0.9 }, &[1.0, 2.0]);
        assert!((p - (0.5 - RATE * (1.0 + (0.9 + 2.0)))).abs() < 1e-7);
        assert!((run(OptimizerConfig::Sgd { momentum: 0.0 }, &[1.0, 2.0]) - 0.47).abs() < 1e-7);
    }

    /// The bits after a resumption are those of one run.
    #[test]
    fn saved_states_go_on() {
        let config = OptimizerConfig::adam_w([0.7, 0.95]);
        let gradients = |i: usize| [0.1, -0.3, i as f32];
        let mut whole = Optimizer::new(config, 3).unwrap();
        let mut p = [1.0, 2.0, 3.0];
        (0..4).for_each(|i| whole.step(RATE, &mut p, &gradients(i)));
        let mut half = Optimizer::new(config, 3).unwrap();
        let mut q = [1.0, 2.0, 3.0];
        (0..2).for_each(|i| half.step(RATE, &mut q, &gradients(i)));
        let text = serde_json::to_string(half.state()).unwrap();
        let mut half = Optimizer::resume(config, 3, serde_json::from_str(&text).unwrap()).unwrap();
        (2..4).for_each(|i| half.step(RATE, &mut q, &gradients(i)));
        assert_eq!((p, whole.state()), (q, half.state()));
        assert!(Optimizer::resume(config, 2, half.state().clone()).is_err());
    }

    #[test]
    fn configurations_have_defaults() {
        let read = |text| serde_json::from_str::<OptimizerConfig>(text).unwrap();
        assert_eq!(read(r#"{"adamw": {}}"#), OptimizerConfig::adam_w([0.9, 0.999]));
        assert_eq!(read(r#"{"adam": {"betas": [0.7, 0.95]}}"#), OptimizerConfig::adam([0.7, 0.95]));
        assert!(Optimizer::new(OptimizerConfig::adam([1.0, 0.9]), 1).is_err());
    }
}
