//! Short rollouts of the model under the policy, from observations of the environment.

use pullback_core::random::Random;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::parts::{PART, below};
use super::ensemble::{Ensemble, Predicted};
use super::transitions::{Step, Transitions, normalized};
use crate::env::Ends;
use crate::nn::gaussian::squashed_sample;
use crate::nn::{Normalizer, Policy};

/// Steps of a rollout: from `first` up to epoch `from` along a line to `last` at epoch `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// Steps at the start.
    pub first: usize,
    /// Steps at the end.
    pub last: usize,
    /// Epoch from which they change.
    pub from: usize,
    /// Epoch up to which they change.
    pub to: usize,
}

impl Lengths {
    /// Steps at an epoch.
    pub fn at(&self, epoch: usize) -> usize {
        let span = self.to.saturating_sub(self.from).max(1) as f64;
        let part = (epoch.saturating_sub(self.from) as f64 / span).min(1.0);
        (self.first as f64 + part * (self.last as f64 - self.first as f64)).floor() as usize
    }
}

/// Who acts in the model.
#[derive(Clone, Copy)]
pub struct Imagined<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Its parameters.
    pub params: &'a [f32],
    /// By which observations are normalized.
    pub normalizer: Option<&'a Normalizer>,
    /// Whether an episode ends where this is seen, if that is known.
    pub ends_where: &'a Ends,
    /// Steps of a rollout.
    pub length: usize,
    /// Seed of the noise, and what tells these rollouts from others.
    pub noise: (u64, u64),
}

/// What tells noise of rollouts from other random numbers under a seed.
const ROLLOUT: u64 = 0xb0;

/// Steps of one part of the rollouts.
#[derive(Default)]
struct Steps {
    observations: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    next: Vec<f32>,
    terminated: Vec<bool>,
}

impl Imagined<'_> {
    /// Puts `count` rollouts from observations of `real` into `model`, on the threads of the pool that is
    /// installed.
    pub fn roll_out(&self, ensemble: &Ensemble, real: &Transitions, count: usize, model: &mut Transitions) {
        let parts: Vec<usize> = (0..count.div_ceil(PART)).collect();
        let run = |part: &usize| {
            let mut random = Random::stream(self.noise.0, &[ROLLOUT, self.noise.1, *part as u64]);
            self.part(ensemble, real, PART.min(count - part * PART), &mut random)
        };
        let found: Vec<Steps> = parts.par_iter().map(run).collect();
        let (seen, acts) = (real.spaces().observation(), real.spaces().actions);
        for steps in &found {
            for i in 0..steps.rewards.len() {
                model.push(Step {
                    observation: &steps.observations[i * seen..(i + 1) * seen],
                    action: &steps.actions[i * acts..(i + 1) * acts],
                    reward: steps.rewards[i],
                    next: &steps.next[i * seen..(i + 1) * seen],
                    terminated: steps.terminated[i],
                    jacobian: &[],
                });
            }
        }
    }

    /// `count` rollouts, step after step; those that end drop out, as do those that leave the finite numbers.
    fn part(&self, ensemble: &Ensemble, real: &Transitions, count: usize, random: &mut Random) -> Steps {
        let seen = real.spaces().observation();
        let mut at: Vec<f32> =
            (0..count).flat_map(|_| real.get(below(real.len(), random)).observation.to_vec()).collect();
        let (mut tape, mut model_tape) = (self.policy.tape(count), ensemble.tape(count));
        let (mut predicted, mut steps) = (Predicted::default(), Steps::default());
        for _ in 0..self.length {
            if at.is_empty() {
                break;
            }
            // a ~ π(· | o), o′ and r by the model
            let mut rows = Vec::with_capacity(at.len());
            at.chunks_exact(seen).for_each(|row| normalized(self.normalizer, row, &mut rows));
            self.policy.forward(self.params, &rows, &mut tape);
            let moments = tape.mean().iter().zip(tape.log_std());
            let actions: Vec<f32> = moments
                .map(|(mean, log_std)| squashed_sample(*mean, *log_std, random.normal() as f32))
                .collect();
            ensemble.predict(&at, &actions, random, &mut model_tape, &mut predicted);
            for (ended, next) in predicted.terminated.iter_mut().zip(predicted.next.chunks_exact(seen)) {
                *ended = (self.ends_where)(next).unwrap_or(*ended);
            }

            let acts = self.policy.actions();
            let mut going_on = Vec::new();
            for i in 0..predicted.rewards.len() {
                let next = &predicted.next[i * seen..(i + 1) * seen];
                if !next.iter().all(|x| x.is_finite()) || !predicted.rewards[i].is_finite() {
                    continue;
                }
                steps.observations.extend_from_slice(&at[i * seen..(i + 1) * seen]);
                steps.actions.extend_from_slice(&actions[i * acts..(i + 1) * acts]);
                steps.rewards.push(predicted.rewards[i]);
                steps.next.extend_from_slice(next);
                steps.terminated.push(predicted.terminated[i]);
                if !predicted.terminated[i] {
                    going_on.extend_from_slice(next);
                }
            }
            at = going_on;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_along_a_line() {
        let lengths = Lengths { first: 1, last: 5, from: 20, to: 100 };
        assert_eq!([0, 20, 39, 40, 99, 100, 500].map(|epoch| lengths.at(epoch)), [1, 1, 1, 2, 4, 5, 5]);
        assert_eq!(Lengths { first: 2, last: 2, from: 0, to: 0 }.at(7), 2);
    }
}
