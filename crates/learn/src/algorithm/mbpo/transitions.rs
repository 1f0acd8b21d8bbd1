//! [`Transitions`]: a ring of single steps, of the environment or of a model, as they were.

use super::super::TrainError;
use super::super::sac::batch::Batch;
use super::super::saved::Saved;
use crate::env::Spaces;
use crate::nn::Normalizer;

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Observation o.
    pub observation: &'a [f32],
    /// Action a.
    pub action: &'a [f32],
    /// Reward r.
    pub reward: f32,
    /// Observation o′ after it, before any episode began anew.
    pub next: &'a [f32],
    /// Whether the episode ended there for good.
    pub terminated: bool,
    /// ∂(o′, r)/∂a, a row for each number of o′ and one for r; empty where it is not kept.
    pub jacobian: &'a [f32],
}

/// The last steps, oldest first overwritten.
pub struct Transitions {
    spaces: Spaces,
    capacity: usize,
    jacobian: usize,
    /// Steps put in so far.
    count: usize,
    observations: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    next: Vec<f32>,
    /// 1 where the episode ended for good, else 0.
    terminated: Vec<f32>,
    jacobians: Vec<f32>,
}

impl Transitions {
    /// Room for `capacity` steps, with Jacobians if asked for.
    pub fn new(spaces: Spaces, capacity: usize, jacobians: bool) -> Self {
        let size = (spaces.observation() + 1) * spaces.actions;
        Transitions {
            spaces,
            capacity,
            jacobian: if jacobians { size } else { 0 },
            count: 0,
            observations: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            next: Vec::new(),
            terminated: Vec::new(),
            jacobians: Vec::new(),
        }
    }

    /// Steps that are there.
    pub fn len(&self) -> usize {
        self.count.min(self.capacity)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Sizes of observations and actions.
    pub fn spaces(&self) -> Spaces {
        self.spaces
    }

    /// Takes a step, in place of the oldest where the ring is full.
    pub fn push(&mut self, step: Step<'_>) {
        let slot = self.count % self.capacity;
        put(&mut self.observations, slot, step.observation);
        put(&mut self.actions, slot, step.action);
        put(&mut self.rewards, slot, &[step.reward]);
        put(&mut self.next, slot, step.next);
        put(&mut self.terminated, slot, &[f32::from(u8::from(step.terminated))]);
        put(&mut self.jacobians, slot, &step.jacobian[..self.jacobian]);
        self.count += 1;
    }

    /// The step in slot `i`.
    pub fn get(&self, i: usize) -> Step<'_> {
        let (seen, acts) = (self.spaces.observation(), self.spaces.actions);
        Step {
            observation: &self.observations[i * seen..(i + 1) * seen],
            action: &self.actions[i * acts..(i + 1) * acts],
            reward: self.rewards[i],
            next: &self.next[i * seen..(i + 1) * seen],
            terminated: self.terminated[i] > 0.5,
            jacobian: &self.jacobians[i * self.jacobian..(i + 1) * self.jacobian],
        }
    }

    /// Appends the step in slot `i` to a batch, normalized.
    pub fn append(&self, i: usize, gamma: f64, normalizer: Option<&Normalizer>, batch: &mut Batch<f32>) {
        let step = self.get(i);
        normalized(normalizer, step.observation, &mut batch.observations);
        normalized(normalizer, step.next, &mut batch.next_observations);
        batch.actions.extend_from_slice(step.action);
        batch.rewards.push(step.reward);
        batch.discounts.push(if step.terminated { 0.0 } else { gamma as f32 });
    }

    /// Puts everything into a checkpoint.
    pub fn save(&self, name: &str, to: &mut Saved<'_>) {
        to.u64s(&format!("{name}.count"), &[self.count as u64]);
        for (part, values) in [
            ("observations", &self.observations),
            ("actions", &self.actions),
            ("rewards", &self.rewards),
            ("next", &self.next),
            ("terminated", &self.terminated),
            ("jacobians", &self.jacobians),
        ] {
            to.f32s(&format!("{name}.{part}"), values);
        }
    }

    /// Takes everything out of a checkpoint.
    pub fn load(&mut self, name: &str, from: &mut Saved<'_>) -> Result<(), TrainError> {
        let wrong = |part: &str| TrainError::Checkpoint(format!("{name}.{part} has another length"));
        let count = from.read_u64s(&format!("{name}.count"))?;
        self.count = *count.first().ok_or_else(|| wrong("count"))? as usize;
        let (n, seen, acts) = (self.len(), self.spaces.observation(), self.spaces.actions);
        let mut read = |part: &str, width: usize| {
            let values = from.read_f32s(&format!("{name}.{part}"))?;
            if values.len() == n * width { Ok(values) } else { Err(wrong(part)) }
        };
        self.observations = read("observations", seen)?;
        self.actions = read("actions", acts)?;
        self.rewards = read("rewards", 1)?;
        self.next = read("next", seen)?;
        self.terminated = read("terminated", 1)?;
        self.jacobians = read("jacobians", self.jacobian)?;
        Ok(())
    }
}

/// Appends a row, normalized.
pub fn normalized(normalizer: Option<&Normalizer>, row: &[f32], to: &mut Vec<f32>) {
    let first = to.len();
    to.extend_from_slice(row);
    if let Some(normalizer) = normalizer {
        normalizer.normalize(row, &mut to[first..]);
    }
}

/// Writes a row, the first time by appending it.
fn put(ring: &mut Vec<f32>, slot: usize, row: &[f32]) {
    let first = slot * row.len();
    if ring.len() == first {
        ring.extend_from_slice(row);
    } else {
        ring[first..first + row.len()].copy_from_slice(row);
    }
}
