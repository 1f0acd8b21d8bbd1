//! [`Collector`]: plain steps of all environments under a policy, without gradients of the physics.

use pullback_core::StepError;
use pullback_core::random::Random;

use super::returns::Episodes;
use crate::env::{EnvShard, Spaces, StepOutput, VecEnv};
use crate::nn::gaussian::{sample, squashed_sample};
use crate::nn::{Normalizer, Policy, PolicyTape};

/// How actions are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// μ + σ ε; environments clip it.
    Plain,
    /// tanh(μ + σ ε).
    Squashed,
    /// Uniform in [−1, 1], whatever the policy says.
    Uniform,
}

/// Who acts.
#[derive(Clone, Copy, Debug)]
pub struct Behavior<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Its parameters.
    pub params: &'a [f32],
    /// By which observations are normalized.
    pub normalizer: Option<&'a Normalizer>,
    /// How actions are drawn.
    pub draw: Draw,
    /// Seed of the noise, and what tells these steps from others.
    pub noise: (u64, u64),
}

/// What tells noise of actions from other random numbers under a seed.
const ACTIONS: u64 = 0x61;

impl Behavior<'_> {
    /// Normalized observations.
    fn normalize(&self, raw: &[f32], normalized: &mut [f32]) {
        match self.normalizer {
            Some(normalizer) => normalizer.normalize(raw, normalized),
            None => normalized.copy_from_slice(raw),
        }
    }

    /// Draws the action of one environment.
    fn act(&self, tape: &PolicyTape<f32>, row: usize, random: &mut Random, action: &mut [f32]) {
        let first = row * action.len();
        for (k, a) in action.iter_mut().enumerate() {
            let moments = || (tape.mean()[first + k], tape.log_std()[first + k]);
            *a = match self.draw {
                Draw::Uniform => random.uniform(-1.0, 1.0) as f32,
                Draw::Plain => sample(moments().0, moments().1, random.normal() as f32),
                Draw::Squashed => squashed_sample(moments().0, moments().1, random.normal() as f32),
            };
        }
    }
}

/// What environments went through: a row per step and environment, step after step.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Observations as they were.
    pub raw: Vec<f32>,
    /// Normalized observations.
    pub observations: Vec<f32>,
    /// Means of actions.
    pub means: Vec<f32>,
    /// Logarithms of their standard deviations.
    pub log_stds: Vec<f32>,
    /// Actions.
    pub actions: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f32>,
    /// Observations after the step as they were, before any episode began anew.
    pub next_raw: Vec<f32>,
    /// Whether the episode ended for good.
    pub terminated: Vec<bool>,
    /// Whether it ended because its time was up.
    pub truncated: Vec<bool>,
    /// Whether the physics left the finite numbers.
    pub failed: Vec<bool>,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rewards.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }
    /// Whether an episode ended with row `i`.
    pub fn done(&self, i: usize) -> bool {
        self.terminated[i] || self.truncated[i]
    }

    fn clear(&mut self) {
        let numbers = [
            &mut self.raw,
            &mut self.observations,
            &mut self.means,
            &mut self.log_stds,
            &mut self.actions,
            &mut self.rewards,
            &mut self.next_raw,
        ];
        numbers.into_iter().for_each(Vec::clear);
        [&mut self.terminated, &mut self.truncated, &mut self.failed].into_iter().for_each(Vec::clear);
    }

    /// Appends rows `range` of `from`.
    fn extend(&mut self, from: &Rows, range: std::ops::Range<usize>) {
        fn part<X: Copy>(to: &mut Vec<X>, from: &[X], range: &std::ops::Range<usize>, rows: usize) {
            let width = from.len() / rows;
            to.extend_from_slice(&from[range.start * width..range.end * width]);
        }
        let rows = from.len();
        part(&mut self.raw, &from.raw, &range, rows);
        part(&mut self.observations, &from.observations, &range, rows);
        part(&mut self.means, &from.means, &range, rows);
        part(&mut self.log_stds, &from.log_stds, &range, rows);
        part(&mut self.actions, &from.actions, &range, rows);
        part(&mut self.rewards, &from.rewards, &range, rows);
        part(&mut self.next_raw, &from.next_raw, &range, rows);
        part(&mut self.terminated, &from.terminated, &range, rows);
        part(&mut self.truncated, &from.truncated, &range, rows);
        part(&mut self.failed, &from.failed, &range, rows);
    }
}

/// Memory of one shard.
struct ShardMemory {
    tape: PolicyTape<f32>,
    normalized: Vec<f32>,
    actions: Vec<f32>,
    out: StepOutput<f32>,
    rows: Rows,
}

/// Memory of all shards, and the rows of the last horizon.
#[derive(Default)]
pub struct Collector {
    shards: Vec<ShardMemory>,
    /// Rows of the last horizon.
    pub rows: Rows,
}

impl Collector {
    /// Takes `horizon` steps in every environment.
    pub fn collect(
        &mut self,
        env: &mut VecEnv<f32>,
        behavior: Behavior<'_>,
        horizon: usize,
    ) -> Result<(), StepError> {
        let (spaces, ranges) = (env.spaces(), env.shard_ranges());
        if self.shards.len() != ranges.len() {
            let memory = |n: usize| ShardMemory {
                tape: behavior.policy.tape(n),
                normalized: vec![0.0; n * spaces.observation()],
                actions: vec![0.0; n * spaces.actions],
                out: StepOutput::new(n, spaces),
                rows: Rows::default(),
            };
            self.shards = ranges.iter().map(|range| memory(range.len())).collect();
        }
        let done = env
            .run_with(&mut self.shards, |shard, memory| run_shard(shard, behavior, horizon, spaces, memory));
        done.into_iter().collect::<Result<(), _>>()?;
        self.rows.clear();
        for t in 0..horizon {
            for (memory, range) in self.shards.iter().zip(&ranges) {
                self.rows.extend(&memory.rows, t * range.len()..(t + 1) * range.len());
            }
        }
        Ok(())
    }

    /// Takes the rewards of the last horizon into the statistics of episodes.
    pub fn count_episodes(&self, episodes: &mut Episodes, envs: usize) {
        for i in 0..self.rows.len() {
            episodes.add(i % envs, f64::from(self.rows.rewards[i]), self.rows.done(i));
        }
    }
}

fn run_shard(
    shard: &mut dyn EnvShard<f32>,
    behavior: Behavior<'_>,
    horizon: usize,
    spaces: Spaces,
    memory: &mut ShardMemory,
) -> Result<(), StepError> {
    let ShardMemory { tape, normalized, actions, out, rows } = memory;
    let (seed, key) = behavior.noise;
    let stream = |env: usize| Random::stream(seed, &[ACTIONS, key, (shard.first_env() + env) as u64]);
    let mut noise: Vec<Random> = (0..shard.envs()).map(stream).collect();
    rows.clear();
    shard.observe(&mut out.observations);
    for _ in 0..horizon {
        // a_t ~ π(· | o_t)
        behavior.normalize(&out.observations, normalized);
        behavior.policy.forward(behavior.params, normalized, tape);
        let each = actions.chunks_exact_mut(spaces.actions).zip(&mut noise).enumerate();
        each.for_each(|(row, (action, random))| behavior.act(tape, row, random, action));
        rows.raw.extend_from_slice(&out.observations);
        rows.observations.extend_from_slice(normalized);
        rows.means.extend_from_slice(tape.mean());
        rows.log_stds.extend_from_slice(tape.log_std());
        rows.actions.extend_from_slice(actions);

        // o_{t+1}, r_t
        shard.step(actions, out)?;
        rows.rewards.extend_from_slice(&out.rewards);
        rows.next_raw.extend_from_slice(&out.final_observations);
        rows.terminated.extend_from_slice(&out.terminated);
        rows.truncated.extend_from_slice(&out.truncated);
        rows.failed.extend_from_slice(&out.failed);
    }
    Ok(())
}
