//! [`Replay`]: the last steps of all environments, and transitions over n of them.
//!
//! Observations are kept once, as they were: what follows a step is the observation n steps later. Only what
//! was seen when the time of an episode was up is kept beside them, since the next episode has begun there.

use std::collections::BTreeMap;

use pullback_core::random::Random;

use super::batch::Batch;
use crate::algorithm::TrainError;
use crate::algorithm::collect::Rows;
use crate::algorithm::parts::below;
use crate::algorithm::saved::Saved;
use crate::env::Spaces;
use crate::nn::Normalizer;

/// How an episode went on after a step.
const GOES_ON: u64 = 0;
const TERMINATED: u64 = 1;
const TRUNCATED: u64 = 2;

/// A ring of steps; a slot holds one step of every environment.
pub struct Replay {
    spaces: Spaces,
    envs: usize,
    slots: usize,
    /// Steps put in so far.
    count: usize,
    observations: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    ends: Vec<u8>,
    /// What was seen at the end of episodes whose time was up, by place in the ring.
    last_seen: BTreeMap<usize, Vec<f32>>,
}

impl Replay {
    /// Room for about `capacity` transitions, at least two steps.
    pub fn new(spaces: Spaces, envs: usize, capacity: usize) -> Self {
        Replay {
            spaces,
            envs,
            slots: (capacity / envs).max(2),
            count: 0,
            observations: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            ends: Vec::new(),
            last_seen: BTreeMap::new(),
        }
    }

    /// Steps that are there.
    fn len(&self) -> usize {
        self.count.min(self.slots)
    }

    /// Transitions over `n` steps that can be drawn.
    pub fn transitions(&self, n: usize) -> usize {
        self.len().saturating_sub(n) * self.envs
    }

    /// Takes whole steps of all environments, in place of the oldest.
    pub fn push(&mut self, rows: &Rows) {
        let (seen, acts, envs) = (self.spaces.observation(), self.spaces.actions, self.envs);
        for first in (0..rows.len()).step_by(envs) {
            let slot = self.count % self.slots;
            put(&mut self.observations, slot, &rows.raw[first * seen..(first + envs) * seen]);
            put(&mut self.actions, slot, &rows.actions[first * acts..(first + envs) * acts]);
            put(&mut self.rewards, slot, &rows.rewards[first..first + envs]);
            let end = |i: usize| match (rows.terminated[i], rows.truncated[i]) {
                (true, _) => TERMINATED as u8,
                (_, true) => TRUNCATED as u8,
                _ => GOES_ON as u8,
            };
            let ends: Vec<u8> = (first..first + envs).map(end).collect();
            put(&mut self.ends, slot, &ends);
            for env in 0..envs {
                let i = first + env;
                self.last_seen.remove(&(slot * envs + env));
                if ends[env] == TRUNCATED as u8 {
                    let row = rows.next_raw[i * seen..(i + 1) * seen].to_vec();
                    self.last_seen.insert(slot * envs + env, row);
                }
            }
            self.count += 1;
        }
    }

    /// Draws `size` transitions over up to `n` steps.
    pub fn sample(
        &self,
        size: usize,
        n: usize,
        gamma: f64,
        normalizer: Option<&Normalizer>,
        random: &mut Random,
        batch: &mut Batch<f32>,
    ) {
        batch.clear();
        let oldest = self.count - self.len();
        for _ in 0..size {
            let drawn = below(self.transitions(n), random);
            let (step, env) = (oldest + drawn / self.envs, drawn % self.envs);
            self.append(step, env, n, gamma, batch);
        }
        if let Some(normalizer) = normalizer {
            for rows in [&mut batch.observations, &mut batch.next_observations] {
                let raw = rows.clone();
                normalizer.normalize(&raw, rows);
            }
        }
    }

    /// Appends the transition that begins with `step` of `env`.
    fn append(&self, step: usize, env: usize, n: usize, gamma: f64, batch: &mut Batch<f32>) {
        let (seen, acts) = (self.spaces.observation(), self.spaces.actions);
        let at = |step: usize| (step % self.slots) * self.envs + env;
        let observation = |place: usize| &self.observations[place * seen..(place + 1) * seen];
        batch.observations.extend_from_slice(observation(at(step)));
        batch.actions.extend_from_slice(&self.actions[at(step) * acts..(at(step) + 1) * acts]);

        // R = Σ γᵏ r_k up to n steps or the end of the episode
        let (mut sum, mut discount) = (0.0, 1.0);
        for k in step..step + n {
            let place = at(k);
            sum += discount * f64::from(self.rewards[place]);
            discount *= gamma;
            let end = u64::from(self.ends[place]);
            if end != GOES_ON {
                let last = self.last_seen.get(&place).filter(|_| end == TRUNCATED);
                discount = if last.is_some() { discount } else { 0.0 };
                batch.next_observations.extend_from_slice(last.map_or(observation(place), |row| row));
                batch.rewards.push(sum as f32);
                batch.discounts.push(discount as f32);
                return;
            }
        }
        batch.next_observations.extend_from_slice(observation(at(step + n)));
        batch.rewards.push(sum as f32);
        batch.discounts.push(discount as f32);
    }

    /// Puts everything into a checkpoint.
    pub fn save(&self, name: &str, to: &mut Saved<'_>) {
        to.u64s(&format!("{name}.count"), &[self.count as u64]);
        to.f32s(&format!("{name}.observations"), &self.observations);
        to.f32s(&format!("{name}.actions"), &self.actions);
        to.f32s(&format!("{name}.rewards"), &self.rewards);
        // Ends are few: place and kind of each.
        let ends = self.ends.iter().enumerate().filter(|(_, end)| u64::from(**end) != GOES_ON);
        let ends: Vec<u64> = ends.flat_map(|(place, end)| [place as u64, u64::from(*end)]).collect();
        to.u64s(&format!("{name}.ends"), &ends);
        let last: Vec<f32> = self.last_seen.values().flatten().copied().collect();
        to.f32s(&format!("{name}.last_seen"), &last);
    }

    /// Takes everything out of a checkpoint.
    pub fn load(&mut self, name: &str, from: &mut Saved<'_>) -> Result<(), TrainError> {
        let wrong = |part: &str| TrainError::Checkpoint(format!("{name}.{part} has another length"));
        let (seen, acts) = (self.spaces.observation(), self.spaces.actions);
        let count = from.read_u64s(&format!("{name}.count"))?;
        self.count = *count.first().ok_or_else(|| wrong("count"))? as usize;
        self.observations = from.read_f32s(&format!("{name}.observations"))?;
        self.actions = from.read_f32s(&format!("{name}.actions"))?;
        self.rewards = from.read_f32s(&format!("{name}.rewards"))?;
        let places = self.len() * self.envs;
        for (part, found, width) in [
            ("observations", self.observations.len(), seen),
            ("actions", self.actions.len(), acts),
            ("rewards", self.rewards.len(), 1),
        ] {
            if found != places * width {
                return Err(wrong(part));
            }
        }
        self.ends = vec![GOES_ON as u8; places];
        self.last_seen.clear();
        let last = from.read_f32s(&format!("{name}.last_seen"))?;
        let mut rows = last.chunks_exact(seen);
        for pair in from.read_u64s(&format!("{name}.ends"))?.chunks_exact(2) {
            let place = pair[0] as usize;
            *self.ends.get_mut(place).ok_or_else(|| wrong("ends"))? = pair[1] as u8;
            if pair[1] == TRUNCATED {
                let row = rows.next().ok_or_else(|| wrong("last_seen"))?;
                self.last_seen.insert(place, row.to_vec());
            }
        }
        Ok(())
    }
}

/// Writes a slot, the first time by appending it.
fn put<X: Copy>(ring: &mut Vec<X>, slot: usize, row: &[X]) {
    let first = slot * row.len();
    if ring.len() == first {
        ring.extend_from_slice(row);
    } else {
        ring[first..first + row.len()].copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACES: Spaces = Spaces { points: 0, vector: 1, actions: 1 };

    /// Step t of environment e sees 100 e + t and is rewarded t; ends by step and environment.
    fn filled(steps: usize, capacity: usize, end: impl Fn(usize, usize) -> (bool, bool)) -> Replay {
        let mut replay = Replay::new(SPACES, 2, capacity);
        for t in 0..steps {
            let seen: Vec<f32> = (0..2).map(|e| (100 * e + t) as f32).collect();
            let ends: Vec<(bool, bool)> = (0..2).map(|e| end(t, e)).collect();
            replay.push(&Rows {
                raw: seen.clone(),
                actions: seen.iter().map(|x| -x).collect(),
                rewards: vec![t as f32; 2],
                next_raw: seen.iter().map(|x| x + 0.5).collect(),
                terminated: ends.iter().map(|e| e.0).collect(),
                truncated: ends.iter().map(|e| e.1).collect(),
                ..Rows::default()
            });
        }
        replay
    }

    fn drawn(replay: &Replay) -> Vec<[f32; 5]> {
        let mut batch = Batch::default();
        replay.sample(500, 3, 0.5, None, &mut Random::new(1), &mut batch);
        let row = |i: usize| {
            let Batch { observations, actions, rewards, next_observations, discounts } = &batch;
            [observations[i], actions[i], rewards[i], next_observations[i], discounts[i]]
        };
        (0..500).map(row).collect()
    }

    #[test]
    fn transitions_span_three_steps() {
        // A ring of 10 slots after 17 steps holds steps 7 to 16.
        let replay = filled(17, 20, |_, _| (false, false));
        assert_eq!(replay.transitions(3), 14);
        let rows = drawn(&replay);
        for [seen, action, reward, next, discount] in rows.iter().copied() {
            let t = seen % 100.0;
            assert!((7.0..=13.0).contains(&t));
            let sum = t + 0.5 * (t + 1.0) + 0.25 * (t + 2.0);
            assert_eq!((action, reward, next, discount), (-seen, sum, seen + 3.0, 0.125));
        }
        assert!(rows.iter().any(|row| row[0] == 113.0) && rows.iter().any(|row| row[0] == 7.0));
    }

    #[test]
    fn transitions_stop_at_ends_of_episodes() {
        // Environment 0 ends for good with step 11, environment 1 runs out of time there.
        let replay = filled(17, 20, |t, e| (t == 11 && e == 0, t == 11 && e == 1));
        for [seen, _, reward, next, discount] in drawn(&replay) {
            if seen == 10.0 {
                assert_eq!((reward, discount), (10.0 + 0.5 * 11.0, 0.0));
            }
            if seen == 110.0 {
                assert_eq!((reward, next, discount), (10.0 + 0.5 * 11.0, 111.5, 0.25));
            }
        }
    }
}
