//! [`Critics`]: an ensemble of value functions, fitted to λ-returns.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::Range;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::ranges::{RATE, check, check_counts, check_given};
use super::saved::Saved;
use crate::nn::clip::clip_norm;
use crate::nn::{InputShape, Network, NetworkConfig, Tape};
use crate::nn::{Optimizer, OptimizerConfig};

/// Settings of the critics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CriticConfig {
    /// The network of each.
    pub network: NetworkConfig,
    /// How many. The actor sees their mean, targets are made of their minimum.
    pub count: usize,
    /// How they learn.
    pub optimizer: OptimizerConfig,
    /// Rate of learning at the start; it falls along a line to `lr_floor`.
    pub lr: f64,
    /// Bound of the norm of a gradient, for each critic.
    pub grad_clip: f64,
    /// Passes over the data of an epoch.
    pub iterations: usize,
    /// Batches per pass, in the order of the steps.
    pub batches: usize,
    /// Share α of an old target network that stays after each epoch, target ← α target + (1 − α) critic; without
    /// it there is no target network.
    pub target: Option<f64>,
}

impl CriticConfig {
    /// Refuses a number that is out of its range.
    fn check(&self) -> Result<(), ConfigError> {
        let counts = [("critic.iterations", self.iterations), ("critic.batches", self.batches)];
        check_counts(&counts)?;
        check(&[
            ("critic.count", self.count as f64, Range::Within(1.0, 1e3)),
            ("critic.lr", self.lr, RATE),
            ("critic.grad_clip", self.grad_clip, Range::Positive),
        ])?;
        check_given(&[("critic.target", self.target, Range::Below(0.0, 1.0))])
    }
}

/// Rows that one thread computes: gradients are sums over such parts, in order.
const PART: usize = 256;

/// Value functions and what they learn with.
pub struct Critics {
    config: CriticConfig,
    network: Network,
    params: Vec<Vec<f32>>,
    targets: Vec<Vec<f32>>,
    optimizers: Vec<Optimizer>,
    memory: Vec<Vec<PartMemory>>,
}

/// Memory of one part of a batch.
struct PartMemory {
    tape: Tape<f32>,
    bar: Vec<f32>,
    params_bar: Vec<f32>,
}

impl Critics {
    /// Critics that know nothing.
    pub fn new(config: CriticConfig, input: InputShape, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let network = Network::new(input, 1, &config.network)?;
        let params: Vec<Vec<f32>> = (0..config.count)
            .map(|i| {
                let init = network.init(&mut Random::stream(seed, &[1, i as u64]));
                init.into_iter().map(|x| x as f32).collect()
            })
            .collect();
        let optimizers = params.iter().map(|p| Optimizer::new(config.optimizer, p.len()));
        Ok(Critics {
            optimizers: optimizers.collect::<Result<_, _>>()?,
            targets: if config.target.is_some() { params.clone() } else { Vec::new() },
            memory: Vec::new(),
            params,
            network,
            config,
        })
    }

    /// The network of each critic.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Parameters of the critics that values of states come from.
    pub fn bootstrap(&self) -> &[Vec<f32>] {
        if self.targets.is_empty() { &self.params } else { &self.targets }
    }

    /// Fits every critic to `targets` at `rows`, by mean squares. Returns the mean loss of the last pass and the
    /// mean norm of gradients.
    pub fn fit(
        &mut self,
        rows: &[f32],
        targets: &[f32],
        rate: f64,
        pool: &rayon::ThreadPool,
        epoch: usize,
    ) -> Result<(f64, f64), TrainError> {
        let CriticConfig { iterations, batches, grad_clip, .. } = self.config;
        let (width, n) = (self.network.inputs(), targets.len());
        let batch = n.div_ceil(batches);
        self.reserve(batch);
        let network = &self.network;
        let critics = self.params.par_iter_mut().zip(&mut self.optimizers).zip(&mut self.memory);
        let fit_one =
            |((params, optimizer), memory): ((&mut Vec<f32>, &mut Optimizer), &mut Vec<PartMemory>)| {
                let (mut loss, mut norms) = (0.0, 0.0);
                for iteration in 0..iterations {
                    for first in (0..n).step_by(batch) {
                        let last = (first + batch).min(n);
                        let rows = &rows[first * width..last * width];
                        let sum = gradient(network, params, rows, &targets[first..last], memory);
                        let bar = &mut memory[0].params_bar;
                        norms += clip_norm(bar, grad_clip).map_err(|_| TrainError::Diverged {
                            epoch,
                            what: "the gradient of a critic",
                            value: f64::NAN,
                            env: None,
                        })?;
                        optimizer.step(rate, params, bar);
                        if iteration + 1 == iterations {
                            loss += sum / n as f64;
                        }
                    }
                }
                Ok((loss, norms / (iterations * batches) as f64))
            };
        let found: Vec<Result<(f64, f64), TrainError>> = pool.install(|| critics.map(fit_one).collect());
        let (mut loss, mut norm) = (0.0, 0.0);
        for one in found {
            let (l, g) = one?;
            loss += l / self.config.count as f64;
            norm += g / self.config.count as f64;
        }
        if let Some(alpha) = self.config.target {
            let keep = alpha as f32;
            for (target, critic) in self.targets.iter_mut().flatten().zip(self.params.iter().flatten()) {
                *target = keep * *target + (1.0 - keep) * critic;
            }
        }
        Ok((loss, norm))
    }

    fn reserve(&mut self, batch: usize) {
        let parts = batch.div_ceil(PART);
        if self.memory.len() == self.config.count && self.memory[0].len() == parts {
            return;
        }
        let part = || PartMemory {
            tape: self.network.tape(PART.min(batch)),
            bar: vec![0.0; PART],
            params_bar: vec![0.0; self.network.num_params()],
        };
        self.memory = (0..self.config.count).map(|_| (0..parts).map(|_| part()).collect()).collect();
    }

    /// Puts everything into a checkpoint.
    pub fn save(&self, to: &mut Saved<'_>) {
        for (i, params) in self.params.iter().enumerate() {
            to.tensors(&format!("critic{i}"), self.network.tensors(), params);
            to.optimizer(&format!("critic{i}.optimizer"), self.optimizers[i].state());
        }
        for (i, params) in self.targets.iter().enumerate() {
            to.tensors(&format!("target_critic{i}"), self.network.tensors(), params);
        }
    }

    /// Takes everything out of a checkpoint.
    pub fn load(&mut self, from: &mut Saved<'_>) -> Result<(), TrainError> {
        for i in 0..self.params.len() {
            self.params[i] = from.read_tensors(&format!("critic{i}"), self.network.tensors())?;
            let state = from.read_optimizer(&format!("critic{i}.optimizer"))?;
            self.optimizers[i] = Optimizer::resume(self.config.optimizer, self.params[i].len(), state)?;
        }
        for i in 0..self.targets.len() {
            self.targets[i] = from.read_tensors(&format!("target_critic{i}"), self.network.tensors())?;
        }
        Ok(())
    }
}

/// The gradient of mean squares into the first part's memory; returns the sum of squares.
fn gradient(
    network: &Network,
    params: &[f32],
    rows: &[f32],
    targets: &[f32],
    memory: &mut [PartMemory],
) -> f64 {
    let (width, n) = (network.inputs(), targets.len());
    let parts = rows.par_chunks(PART * width).zip(targets.par_chunks(PART)).zip(&mut *memory);
    let sums: Vec<f64> = parts
        .map(|((rows, targets), memory)| {
            let PartMemory { tape, bar, params_bar } = memory;
            let values = network.forward(params, rows, tape);
            let bar = &mut bar[..targets.len()];
            let mut sum = 0.0;
            for ((bar, value), target) in bar.iter_mut().zip(values).zip(targets) {
                // ∂(v − t)²/n = 2 (v − t)/n
                let error = value - target;
                sum += f64::from(error) * f64::from(error);
                *bar = 2.0 * error / n as f32;
            }
            params_bar.fill(0.0);
            network.backward(params, tape, bar, None, Some(params_bar));
            sum
        })
        .collect();
    let used = sums.len();
    let (first, rest) = memory.split_at_mut(1);
    for part in &rest[..used - 1] {
        first[0].params_bar.iter_mut().zip(&part.params_bar).for_each(|(sum, x)| *sum += x);
    }
    sums.into_iter().sum()
}
