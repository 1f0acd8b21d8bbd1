//! [`Ensemble`]: probabilistic models of the environment, fitted to the same steps from different beginnings.
//!
//! Each member sees the steps drawn with replacement, in an order of its own. It is fitted until held-out
//! errors stop falling, and goes back to its best parameters. The members with the least errors are the elites.

use std::ops::Range;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::TrainError;
use super::super::learned::Learned;
use super::super::parts::{below, permutation};
use super::super::ranges::{RATE, check, check_counts};
use super::super::saved::Saved;
use super::likelihood::{Likelihood, ModelRows};
use super::transitions::Transitions;
use crate::env::Spaces;
use crate::nn::{InputShape, Network, NetworkConfig, OptimizerConfig, Tape, Tensor};

/// Settings of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Each network.
    pub network: NetworkConfig,
    /// Networks.
    pub members: usize,
    /// Networks that predict.
    pub elites: usize,
    /// How they learn.
    pub optimizer: OptimizerConfig,
    /// Rate of learning.
    pub lr: f64,
    /// Bound of the norm of a gradient.
    pub grad_clip: f64,
    /// Rows of a batch.
    pub batch: usize,
    /// Share of the steps that is held out.
    pub holdout: f64,
    /// Most steps that are held out.
    pub max_holdout: usize,
    /// Passes without a fall of the held-out error by 1 % after which a member stops.
    pub patience: usize,
    /// Most rows that a pass sees.
    pub pass_rows: usize,
    /// Most passes of one fit.
    pub max_passes: usize,
}

/// Bounds of logarithms of variances at the start, of normalized numbers.
const LOG_VARIANCES: [f64; 2] = [-10.0, 0.5];
/// Deviations below this count as 0: such numbers do not vary.
const LEAST_DEVIATION: f64 = 1e-6;

/// Uses of random numbers under a seed.
const INIT: u64 = 0xa0;
const FIT: u64 = 0xa1;

/// Mean and deviation of each column; 0 where it does not vary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Scaling {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Scaling {
    fn of(rows: &[f32], width: usize) -> Self {
        let n = (rows.len() / width) as f64;
        let mut scaling = Scaling { mean: vec![0.0; width], deviation: vec![0.0; width] };
        rows.iter().enumerate().for_each(|(i, x)| scaling.mean[i % width] += f64::from(*x) / n);
        for (i, x) in rows.iter().enumerate() {
            scaling.deviation[i % width] += (f64::from(*x) - scaling.mean[i % width]).powi(2) / n;
        }
        for x in &mut scaling.deviation {
            *x = if x.sqrt() < LEAST_DEVIATION { 0.0 } else { x.sqrt() };
        }
        scaling
    }

    fn apply(&self, rows: &mut [f32]) {
        let width = self.mean.len();
        for (i, x) in rows.iter_mut().enumerate() {
            let (mean, deviation) = (self.mean[i % width], self.deviation[i % width]);
            *x = if deviation > 0.0 { ((f64::from(*x) - mean) / deviation) as f32 } else { 0.0 };
        }
    }
}

/// What a fit came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fitted {
    /// Mean square of the elites' normalized errors on held-out steps.
    pub error: f64,
    /// Mean number of passes.
    pub passes: f64,
}

/// Predictions of rows.
#[derive(Clone, Debug, Default)]
pub struct Predicted {
    /// Observations after the step.
    pub next: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f32>,
    /// Whether the episode ended.
    pub terminated: Vec<bool>,
}

/// Networks and what they learn with.
pub struct Ensemble {
    config: ModelConfig,
    spaces: Spaces,
    seed: u64,
    /// Fits so far.
    fits: u64,
    network: Network,
    members: Vec<Learned>,
    elites: Vec<usize>,
    inputs: Scaling,
    targets: Scaling,
}

impl Ensemble {
    /// Models that know nothing.
    pub fn new(config: ModelConfig, spaces: Spaces, seed: u64) -> Result<Self, ConfigError> {
        check(&[
            ("model.members", config.members as f64, settings::Range::Within(1.0, 1e3)),
            ("model.elites", config.elites as f64, settings::Range::Within(1.0, config.members as f64)),
            ("model.lr", config.lr, RATE),
            ("model.grad_clip", config.grad_clip, settings::Range::Positive),
            ("model.holdout", config.holdout, settings::Range::Below(0.0, 1.0)),
        ])?;
        check_counts(&[
            ("model.batch", config.batch),
            ("model.pass_rows", config.pass_rows),
            ("model.max_passes", config.max_passes),
        ])?;
        let (seen, numbers) = (spaces.observation(), spaces.observation() + 1);
        let input = InputShape { points: spaces.points, vector: spaces.vector + spaces.actions };
        let network = Network::new(input, Likelihood::outputs(numbers), &config.network)?;
        let members = (0..config.members).map(|i| {
            let mut init = network.init(&mut Random::stream(seed, &[INIT, i as u64]));
            LOG_VARIANCES.iter().for_each(|x| init.extend(std::iter::repeat_n(*x, numbers)));
            Learned::new(&init, config.optimizer, config.grad_clip)
        });
        let plain = |n: usize| Scaling { mean: vec![0.0; n], deviation: vec![1.0; n] };
        Ok(Ensemble {
            members: members.collect::<Result<_, _>>()?,
            elites: (0..config.elites).collect(),
            inputs: plain(seen + spaces.actions),
            targets: plain(numbers),
            fits: 0,
            network,
            spaces,
            seed,
            config,
        })
    }

    fn likelihood(&self) -> Likelihood<'_> {
        Likelihood { network: &self.network, deviations: &self.targets.deviation }
    }

    /// All steps as rows, and new statistics of them.
    fn rows(&mut self, data: &Transitions) -> ModelRows<f32> {
        let mut rows = ModelRows::default();
        for i in 0..data.len() {
            let step = data.get(i);
            rows.inputs.extend_from_slice(step.observation);
            rows.inputs.extend_from_slice(step.action);
            rows.targets.extend(step.next.iter().zip(step.observation).map(|(next, o)| next - o));
            rows.targets.push(step.reward);
            rows.ended.push(f32::from(u8::from(step.terminated)));
        }
        self.inputs = Scaling::of(&rows.inputs, self.inputs.mean.len());
        self.targets = Scaling::of(&rows.targets, self.targets.mean.len());
        self.inputs.apply(&mut rows.inputs);
        self.targets.apply(&mut rows.targets);
        rows
    }

    /// Fits all members to the steps, on the threads of the pool that is installed.
    pub fn fit(&mut self, data: &Transitions, epoch: usize) -> Result<Fitted, TrainError> {
        let rows = self.rows(data);
        let n = data.len();
        let order = permutation(n, &mut Random::stream(self.seed, &[FIT, self.fits]));
        let held = ((n as f64 * self.config.holdout) as usize).clamp(1, self.config.max_holdout);
        let (held, kept) = order.split_at(held.min(n / 2));
        let test = part(&rows, held);
        let mut members = std::mem::take(&mut self.members);
        let found: Vec<Result<(f64, usize), TrainError>> = members
            .par_iter_mut()
            .enumerate()
            .map(|(i, member)| self.fit_member(i, member, &rows, kept, &test, epoch))
            .collect();
        self.members = members;
        let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.elites = (0..found.len()).collect();
        self.elites.sort_by(|a, b| found[*a].0.total_cmp(&found[*b].0));
        self.elites.truncate(self.config.elites);
        self.fits += 1;
        let share = 1.0 / self.elites.len() as f64;
        Ok(Fitted {
            error: self.elites.iter().map(|i| found[*i].0 * share).sum(),
            passes: found.iter().map(|f| f.1 as f64).sum::<f64>() / found.len() as f64,
        })
    }

    /// Fits one member; returns its held-out error and the passes it took.
    fn fit_member(
        &self,
        index: usize,
        member: &mut Learned,
        rows: &ModelRows<f32>,
        kept: &[usize],
        test: &ModelRows<f32>,
        epoch: usize,
    ) -> Result<(f64, usize), TrainError> {
        let ModelConfig { batch, lr, patience, max_passes, pass_rows, .. } = self.config;
        let likelihood = self.likelihood();
        let mut random = Random::stream(self.seed, &[FIT, self.fits, index as u64]);
        let drawn: Vec<usize> = kept.iter().map(|_| kept[below(kept.len(), &mut random)]).collect();
        let mut memory = likelihood.memory(batch);
        let mut best =
            (likelihood.mean_square(&member.params, test, &mut memory.tape), member.params.clone());
        let (mut bar_to_beat, mut waited, mut passes) = (best.0, 0, 0);
        while passes < max_passes && waited < patience {
            let order = permutation(drawn.len(), &mut random);
            for indices in order.chunks(batch).take(pass_rows.div_ceil(batch)) {
                let indices: Vec<usize> = indices.iter().map(|i| drawn[*i]).collect();
                memory.params_bar.fill(0.0);
                likelihood.add_gradient(&member.params, &part(rows, &indices), &mut memory);
                member.step(lr, &mut memory.params_bar, "the gradient of a model", epoch)?;
            }
            let error = likelihood.mean_square(&member.params, test, &mut memory.tape);
            if error < best.0 {
                best = (error, member.params.clone());
            }
            waited = if error < 0.99 * bar_to_beat { 0 } else { waited + 1 };
            bar_to_beat = if waited == 0 { error } else { bar_to_beat };
            passes += 1;
        }
        member.params = best.1;
        Ok((best.0, passes))
    }

    /// What follows rows of observations and actions: each row by an elite and with noise of its own.
    pub fn predict(
        &self,
        observations: &[f32],
        actions: &[f32],
        random: &mut Random,
        tape: &mut Tape<f32>,
        to: &mut Predicted,
    ) {
        let (seen, acts) = (self.spaces.observation(), self.spaces.actions);
        let n = actions.len() / acts;
        to.next.clear();
        to.next.extend_from_slice(observations);
        to.rewards.resize(n, 0.0);
        to.terminated.resize(n, false);
        let elites: Vec<usize> = (0..n).map(|_| self.elites[below(self.elites.len(), random)]).collect();
        for member in &self.elites {
            let rows: Vec<usize> = (0..n).filter(|i| elites[*i] == *member).collect();
            let mut inputs = Vec::with_capacity(rows.len() * (seen + acts));
            for i in &rows {
                inputs.extend_from_slice(&observations[i * seen..(i + 1) * seen]);
                inputs.extend_from_slice(&actions[i * acts..(i + 1) * acts]);
            }
            self.inputs.apply(&mut inputs);
            let (weights, bounds) = self.members[*member].params.split_at(self.network.num_params());
            let outputs = self.network.forward(weights, &inputs, tape);
            for (i, output) in rows.iter().zip(outputs.chunks_exact(self.network.outputs())) {
                self.draw(output, bounds, random, *i, to);
            }
        }
    }

    /// Draws what follows row `i` from the outputs of a network.
    fn draw(&self, output: &[f32], bounds: &[f32], random: &mut Random, i: usize, to: &mut Predicted) {
        let (seen, d) = (self.spaces.observation(), self.spaces.observation() + 1);
        let (min, max) = bounds.split_at(d);
        for k in 0..d {
            // y = μ + σ ε, by the statistics of the data
            let log_variance = super::likelihood::bounded(output[d + k], min[k], max[k]);
            let y = f64::from(output[k]) + f64::from(0.5 * log_variance).exp() * random.normal();
            let y = (self.targets.mean[k] + self.targets.deviation[k] * y) as f32;
            if k < seen {
                to.next[i * seen + k] += y;
            } else {
                to.rewards[i] = y;
            }
        }
        to.terminated[i] = output[2 * d] > 0.0;
    }

    /// Memory of [`Ensemble::predict`] for at most `rows` rows.
    pub fn tape(&self, rows: usize) -> Tape<f32> {
        self.network.tape(rows)
    }

    /// The flat vector of a member as tensors.
    fn tensors(&self) -> Vec<Tensor> {
        let (first, numbers) = (self.network.num_params(), self.spaces.observation() + 1);
        let bound =
            |name: &str, range: Range<usize>| Tensor { name: name.into(), shape: vec![numbers], range };
        let mut tensors = self.network.tensors().to_vec();
        tensors.push(bound("min_log_variance", first..first + numbers));
        tensors.push(bound("max_log_variance", first + numbers..first + 2 * numbers));
        tensors
    }

    /// Puts everything into a checkpoint.
    pub fn save(&self, to: &mut Saved<'_>) {
        let tensors = self.tensors();
        for (i, member) in self.members.iter().enumerate() {
            member.save(&format!("model{i}"), &tensors, to);
        }
        to.value("model", &(self.fits, &self.elites, &self.inputs, &self.targets));
    }

    /// Takes everything out of a checkpoint.
    pub fn load(&mut self, from: &mut Saved<'_>) -> Result<(), TrainError> {
        let tensors = self.tensors();
        for (i, member) in self.members.iter_mut().enumerate() {
            member.load(&format!("model{i}"), &tensors, from)?;
        }
        (self.fits, self.elites, self.inputs, self.targets) = from.read_value("model")?;
        Ok(())
    }
}

/// Rows at `indices`.
fn part(rows: &ModelRows<f32>, indices: &[usize]) -> ModelRows<f32> {
    let n = rows.ended.len();
    let columns = |from: &[f32]| {
        let (width, mut to) = (from.len() / n, Vec::new());
        super::super::parts::gather(from, width, indices, &mut to);
        to
    };
    ModelRows { inputs: columns(&rows.inputs), targets: columns(&rows.targets), ended: columns(&rows.ended) }
}

#[cfg(test)]
mod tests {
    use super::super::config::{config, network};
    use super::super::transitions::Step;
    use super::*;
    use crate::nn::Activation;

    /// x′ = x + a/2 beside a clock that goes on by 0.01: the clock is predicted as it goes, and x is learned as
    /// if there were no clock.
    #[test]
    fn numbers_that_do_not_vary_leave_the_others_alone() {
        let spaces = Spaces { points: 0, vector: 2, actions: 1 };
        let mut data = Transitions::new(spaces, 1000, false);
        let mut random = Random::new(1);
        for i in 0..1000 {
            let (x, a) = (random.uniform(-1.0, 1.0) as f32, random.uniform(-1.0, 1.0) as f32);
            let (clock, tick) = ((i % 64) as f32 / 64.0, 1.0 / 64.0);
            let (observation, next) = ([x, clock], [x + 0.5 * a, clock + tick]);
            let (action, terminated) = ([a], false);
            data.push(Step {
                observation: &observation,
                action: &action,
                reward: x,
                next: &next,
                terminated,
                jacobian: &[],
            });
        }
        let settings = ModelConfig { network: network(&[32], Activation::Silu), ..config(&[8], &[8]).model };
        let mut ensemble = Ensemble::new(ModelConfig { batch: 64, lr: 1e-2, ..settings }, spaces, 2).unwrap();
        let fitted = ensemble.fit(&data, 0).unwrap();
        assert!(fitted.error < 0.02, "{}", fitted.error);
        let (mut tape, mut found) = (ensemble.tape(1), Predicted::default());
        ensemble.predict(&[0.2, 0.5], &[0.4], &mut random, &mut tape, &mut found);
        assert_eq!(found.next[1], 0.5 + 1.0 / 64.0);
    }
}
