//! [`Policy`]: a network whose outputs are means and deviations of a diagonal Gaussian.

use std::ops::Range;

use pullback_core::random::Random;
use pullback_core::{ConfigError, Workspace};
use pullback_math::select;
use serde::{Deserialize, Serialize};

use super::network::{InputShape, Network, NetworkConfig, Tape};
use super::tensors::{Tensor, TensorList};
use crate::Number;

/// Where logarithms of standard deviations come from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LogStd {
    /// Outputs of the network after the means, clamped (SAPO: −5 to 2).
    PerState {
        /// Least logarithm.
        min: f64,
        /// Largest logarithm.
        max: f64,
    },
    /// Parameters after those of the network, the same in every state (SHAC, PPO).
    Shared {
        /// The logarithm to begin with.
        init: f64,
    },
}

/// The description of a stochastic policy.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(super) network: Network,
    actions: usize,
    log_std: LogStd,
    /// Place of shared logarithms in the flat vector; empty where the network puts them out.
    shared: Range<usize>,
    tensors: TensorList,
}

/// What the pullback of a policy reads.
#[derive(Clone, Debug)]
pub struct PolicyTape<F: Number> {
    network: Tape<F>,
    mean: Vec<F>,
    log_std: Vec<F>,
    output_bar: Vec<F>,
    /// Numbers in use: rows times actions.
    len: usize,
}

impl<F: Number> PolicyTape<F> {
    /// Means of the last `forward`: rows by actions.
    pub fn mean(&self) -> &[F] {
        &self.mean[..self.len]
    }
    /// Logarithms of standard deviations of the last `forward`: rows by actions.
    pub fn log_std(&self) -> &[F] {
        &self.log_std[..self.len]
    }
    /// Rows of the last `forward`.
    pub fn rows(&self) -> usize {
        self.network.rows()
    }
}

impl<F: Number> Workspace for PolicyTape<F> {
    fn heap_bytes(&self) -> usize {
        let own = self.mean.heap_bytes() + self.log_std.heap_bytes() + self.output_bar.heap_bytes();
        own + self.network.heap_bytes()
    }
}

impl Policy {
    /// The policy of `actions` actions for rows of `input`.
    pub fn new(
        input: InputShape,
        actions: usize,
        config: &NetworkConfig,
        log_std: LogStd,
    ) -> Result<Self, ConfigError> {
        let outputs = match log_std {
            LogStd::PerState { min, max } => {
                if !(min.is_finite() && max.is_finite() && min < max) {
                    let message = format!("log_std: {min} to {max} is no range; SAPO clamps to -5 and 2");
                    return Err(ConfigError::new(message));
                }
                2 * actions
            }
            LogStd::Shared { init } => {
                if !init.is_finite() {
                    return Err(ConfigError::new(format!("log_std: begins as {init}; give a finite number")));
                }
                actions
            }
        };
        let network = Network::new(input, outputs, config)?;
        let mut tensors = TensorList::default();
        for tensor in network.tensors() {
            tensors.push(tensor.name.clone(), &tensor.shape);
        }
        let shared = match log_std {
            LogStd::PerState { .. } => 0..0,
            LogStd::Shared { .. } => tensors.push("log_std", &[actions]),
        };
        Ok(Policy { network, actions, log_std, shared, tensors })
    }

    /// Length of the flat vector of parameters.
    pub fn num_params(&self) -> usize {
        self.tensors.num_params()
    }
    /// Where tensors lie in the flat vector.
    pub fn tensors(&self) -> &[Tensor] {
        self.tensors.as_slice()
    }
    /// Numbers in a row of observations.
    pub fn inputs(&self) -> usize {
        self.network.inputs()
    }
    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// Parameters to begin with.
    pub fn init(&self, random: &mut Random) -> Vec<f64> {
        let mut params = self.network.init(random);
        if let LogStd::Shared { init } = self.log_std {
            params.extend(std::iter::repeat_n(init, self.actions));
        }
        params
    }

    /// Memory for batches of at most `max_rows` rows.
    pub fn tape<F: Number>(&self, max_rows: usize) -> PolicyTape<F> {
        let zeros = |n| vec![F::zero(); max_rows * n];
        PolicyTape {
            network: self.network.tape(max_rows),
            mean: zeros(self.actions),
            log_std: zeros(self.actions),
            output_bar: zeros(self.network.outputs()),
            len: 0,
        }
    }

    /// Means and logarithms of standard deviations of each row of observations.
    ///
    /// Panics where the lengths do not fit, as [`Network::forward`] does.
    pub fn forward<F: Number>(&self, params: &[F], obs: &[F], tape: &mut PolicyTape<F>) {
        assert_eq!(params.len(), self.num_params(), "parameters of the policy");
        let n = self.actions;
        let output = self.network.forward(&params[..self.network.num_params()], obs, &mut tape.network);
        let means = tape.mean.chunks_exact_mut(n);
        let log_stds = tape.log_std.chunks_exact_mut(n);
        let rows = output.chunks_exact(self.network.outputs());
        tape.len = rows.len() * n;
        for ((row, mean), log_std) in rows.zip(means).zip(log_stds) {
            mean.copy_from_slice(&row[..n]);
            match self.log_std {
                LogStd::PerState { min, max } => {
                    let (min, max) = (F::from_f64(min), F::from_f64(max));
                    for (log_std, x) in log_std.iter_mut().zip(&row[n..]) {
                        *log_std = min.max(max.min(*x));
                    }
                }
                LogStd::Shared { .. } => log_std.copy_from_slice(&params[self.shared.clone()]),
            }
        }
    }

    /// Adds to the cotangents of observations and parameters of the last `forward`.
    ///
    /// Where a logarithm is clamped, nothing flows back. Panics where the lengths do not fit.
    pub fn backward<F: Number>(
        &self,
        params: &[F],
        tape: &mut PolicyTape<F>,
        mean_bar: &[F],
        log_std_bar: &[F],
        obs_bar: Option<&mut [F]>,
        params_bar: Option<&mut [F]>,
    ) {
        assert_eq!(mean_bar.len(), tape.len, "cotangents of the means");
        assert_eq!(log_std_bar.len(), tape.len, "cotangents of the logarithms of deviations");
        let (n, outputs) = (self.actions, self.network.outputs());
        let mut params_bar = params_bar;
        let output = tape.network.output().chunks_exact(outputs);
        let bars = tape.output_bar.chunks_exact_mut(outputs);
        for (i, (row, bar)) in output.zip(bars).enumerate() {
            let (mean_bar, log_std_bar) = (&mean_bar[i * n..][..n], &log_std_bar[i * n..][..n]);
            bar[..n].copy_from_slice(mean_bar);
            match self.log_std {
                LogStd::PerState { min, max } => {
                    let (min, max) = (F::from_f64(min), F::from_f64(max));
                    for j in 0..n {
                        let inside = row[n + j].gt(min) & row[n + j].lt(max);
                        bar[n + j] = select(inside, log_std_bar[j], F::zero());
                    }
                }
                LogStd::Shared { .. } => {
                    if let Some(params_bar) = params_bar.as_deref_mut() {
                        let shared = params_bar[self.shared.clone()].iter_mut();
                        shared.zip(log_std_bar).for_each(|(sum, bar)| *sum += *bar);
                    }
                }
            }
        }
        let output_bar = &tape.output_bar[..tape.network.rows() * outputs];
        let count = self.network.num_params();
        let params_bar = params_bar.map(|bar| &mut bar[..count]);
        self.network.backward(&params[..count], &mut tape.network, output_bar, obs_bar, params_bar);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::activation::Activation;
    use crate::nn::check::{Map, check, config, normals};
    use crate::nn::layer_norm::LayerNorm;

    struct PolicyMap(Policy);

    const ROWS: usize = 3;

    impl Map for PolicyMap {
        fn groups(&self) -> Vec<(&'static str, usize)> {
            vec![("observation", ROWS * self.0.inputs()), ("parameter", self.0.num_params())]
        }
        fn outputs(&self) -> usize {
            2 * ROWS * self.0.actions()
        }
        fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
            let (obs, params) = x.split_at(ROWS * self.0.inputs());
            let mut tape = self.0.tape(ROWS);
            self.0.forward(params, obs, &mut tape);
            let (mean, log_std) = y.split_at_mut(tape.len);
            mean.copy_from_slice(tape.mean());
            log_std.copy_from_slice(tape.log_std());
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
            let (obs, params) = x.split_at(ROWS * self.0.inputs());
            let (obs_bar, params_bar) = x_bar.split_at_mut(obs.len());
            let mut tape = self.0.tape(ROWS);
            self.0.forward(params, obs, &mut tape);
            let (mean_bar, log_std_bar) = y_bar.split_at(tape.len);
            self.0.backward(params, &mut tape, mean_bar, log_std_bar, Some(obs_bar), Some(params_bar));
        }
    }

    #[test]
    fn both_kinds_of_deviations_pass_the_check() {
        // The clamp is narrow enough to hold some logarithms and wide enough to let others through.
        for log_std in [LogStd::PerState { min: -0.3, max: 0.3 }, LogStd::Shared { init: -1.0 }] {
            let config = config(&[6], Activation::Silu, LayerNorm::Before);
            let policy = Policy::new(InputShape::vector(4), 2, &config, log_std).unwrap();
            let mut x = normals(ROWS * 4, 1);
            x.extend(policy.init(&mut Random::new(2)));
            if let LogStd::PerState { min, .. } = log_std {
                let mut tape = policy.tape(ROWS);
                policy.forward(&x[ROWS * 4..], &x[..ROWS * 4], &mut tape);
                let held = tape.log_std().iter().filter(|x| **x == min).count();
                assert!((1..2 * ROWS).contains(&held), "{:?}", tape.log_std());
            }
            check(&PolicyMap(policy), &x);
        }
    }

    #[test]
    fn shared_deviations_stand_at_the_end() {
        let config = config(&[6], Activation::Elu, LayerNorm::None);
        let policy = Policy::new(InputShape::vector(4), 2, &config, LogStd::Shared { init: -1.0 }).unwrap();
        let params = policy.init(&mut Random::new(2));
        assert_eq!(policy.tensors().last().map(|t| t.range.clone()), Some(params.len() - 2..params.len()));
        assert_eq!(params[params.len() - 2..], [-1.0, -1.0]);
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        let config = config(&[6], Activation::Elu, LayerNorm::None);
        let range = LogStd::PerState { min: 2.0, max: -5.0 };
        assert!(Policy::new(InputShape::vector(4), 2, &config, range).is_err());
    }
}
