//! [`evaluate`]: whole episodes under a policy as it stands.

use pullback_core::StepError;
use pullback_core::random::Random;

use crate::algorithm::{Actor, PolicyActor};
use crate::env::{StepOutput, VecEnv};
use crate::nn::PolicyTape;
use crate::nn::gaussian::squashed_sample;

/// How episodes come out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Undiscounted return of each environment's first episode.
    pub returns: Vec<f64>,
    /// Its length.
    pub lengths: Vec<usize>,
    /// States of the environment that was watched, at the start and after each action.
    pub states: Vec<Vec<f64>>,
}

impl Evaluation {
    /// Mean return, and half of its 95 % interval by the normal distribution.
    pub fn mean(&self) -> (f64, f64) {
        let n = self.returns.len() as f64;
        let mean = self.returns.iter().sum::<f64>() / n;
        let variance = self.returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        (mean, 1.96 * (variance / n).sqrt())
    }
}

/// The first episode of every environment under `seed`; actions are means, or drawn with noise. The states of
/// the environment `watched` are kept.
pub fn evaluate(
    actor: Actor<'_>,
    env: &mut VecEnv<f32>,
    seed: u64,
    stochastic: bool,
    watched: Option<usize>,
) -> Result<Evaluation, StepError> {
    let (n, spaces) = (env.envs(), env.spaces());
    env.reset(seed);
    let mut player = Player::new(actor, env, stochastic.then_some(seed));
    let mut out = StepOutput::new(n, spaces);
    env.observe(&mut out.observations);
    let mut actions = vec![0.0; n * spaces.actions];
    let mut found = Evaluation { returns: vec![0.0; n], lengths: vec![0; n], states: Vec::new() };
    let mut over = vec![false; n];
    found.states.extend(watched.map(|env_index| env.state(env_index)));
    for t in 0..env.episode_length() {
        player.act(t, &out.observations, &mut actions);
        env.step(&actions, &mut out)?;
        for i in 0..n {
            if !over[i] {
                found.returns[i] += f64::from(out.rewards[i]);
                found.lengths[i] += 1;
                over[i] = out.done(i);
                if watched == Some(i) && !over[i] {
                    found.states.push(env.state(i));
                }
            }
        }
        if over.iter().all(|over| *over) {
            break;
        }
    }
    match found.returns.iter().position(|value| !value.is_finite()) {
        Some(i) => {
            let (entry, value) = (format!("the return of environment {i}"), found.returns[i]);
            Err(StepError::NotFinite { entry, value, step: found.lengths[i] })
        }
        None => Ok(found),
    }
}

/// What acts in all environments.
enum Player<'a> {
    Policy { actor: PolicyActor<'a>, tape: Box<PolicyTape<f32>>, normalized: Vec<f32>, noise: Option<u64> },
    Sequence { sequence: &'a [f32], width: usize },
}

impl<'a> Player<'a> {
    fn new(actor: Actor<'a>, env: &VecEnv<f32>, noise: Option<u64>) -> Self {
        match actor {
            Actor::Policy(actor) => {
                let normalized = vec![0.0; env.envs() * env.spaces().observation()];
                Player::Policy { actor, tape: Box::new(actor.policy.tape(env.envs())), normalized, noise }
            }
            Actor::Sequence(sequence) => Player::Sequence { sequence, width: env.spaces().actions },
        }
    }

    /// Actions of all environments at step `t`.
    fn act(&mut self, t: usize, observations: &[f32], actions: &mut [f32]) {
        match self {
            Player::Policy { actor, tape, normalized, noise } => {
                match actor.normalizer {
                    Some(normalizer) => normalizer.normalize(observations, normalized),
                    None => normalized.copy_from_slice(observations),
                }
                actor.policy.forward(actor.params, normalized, tape);
                let width = actor.policy.actions();
                for (i, action) in actions.iter_mut().enumerate() {
                    let key = [7, t as u64, (i / width) as u64, (i % width) as u64];
                    let noise = noise.map_or(0.0, |seed| Random::stream(seed, &key).normal() as f32);
                    let (mean, log_std) = (tape.mean()[i], tape.log_std()[i]);
                    *action = match actor.squashed {
                        true => squashed_sample(mean, log_std, noise),
                        false => (mean + log_std.exp() * noise).clamp(-1.0, 1.0),
                    };
                }
            }
            Player::Sequence { sequence, width } => {
                let action = sequence.chunks_exact(*width).nth(t);
                for row in actions.chunks_exact_mut(*width) {
                    match action {
                        Some(action) => row.copy_from_slice(action),
                        None => row.fill(0.0),
                    }
                }
            }
        }
    }
}
