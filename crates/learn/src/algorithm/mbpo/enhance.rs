//! Two ways to learn from the gradients of a step (Qiao et al., 2021, section 5).
//!
//! *Sample enhancement* makes further samples near a true one, to first order in the action. *Policy
//! enhancement* expands ∂Q/∂a by one step: ∂Q/∂a = ∂r/∂a + γ ∂V(o′)/∂o′ ∂o′/∂a (Eq. 13). V includes the worth
//! of entropy, as the critics do.

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::super::sac::learner::{GuidedRows, SoftLearner};
use super::transitions::{Step, Transitions, normalized};
use crate::nn::Normalizer;

/// What is made of the gradients of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Enhancement {
    /// Nothing.
    #[default]
    None,
    /// The policy follows them.
    Policy,
    /// They make more samples.
    Sample {
        /// Samples beside each true one.
        count: usize,
        /// Deviation of actions.
        delta: f64,
    },
}

/// aₖ = a + Δ, o′ₖ = o′ + ∂o′/∂a Δ, rₖ = r + ∂r/∂a Δ, with aₖ in [−1, 1]: `count` times into `to`.
pub fn push_neighbors(step: Step<'_>, count: usize, delta: f64, random: &mut Random, to: &mut Transitions) {
    let acts = step.action.len();
    for _ in 0..count {
        let near = |a: &f32| (a + (delta * random.normal()) as f32).clamp(-1.0, 1.0);
        let action: Vec<f32> = step.action.iter().map(near).collect();
        let change: Vec<f32> = action.iter().zip(step.action).map(|(a, b)| a - b).collect();
        let along = |row: usize| {
            let slopes = &step.jacobian[row * acts..(row + 1) * acts];
            slopes.iter().zip(&change).map(|(slope, d)| slope * d).sum::<f32>()
        };
        let next: Vec<f32> = step.next.iter().enumerate().map(|(row, x)| x + along(row)).collect();
        let reward = step.reward + along(step.next.len());
        to.push(Step { action: &action, next: &next, reward, ..step });
    }
}

/// ∂Q/∂a of the steps at `indices`, by what the learner values now.
pub fn guides(
    data: &Transitions,
    indices: &[usize],
    gamma: f64,
    normalizer: Option<&Normalizer>,
    learner: &mut SoftLearner,
    to: &mut GuidedRows,
) {
    to.observations.clear();
    to.actions.clear();
    to.gradients.clear();
    let (mut next, mut slopes) = (Vec::new(), Vec::new());
    for i in indices {
        let step = data.get(*i);
        normalized(normalizer, step.observation, &mut to.observations);
        normalized(normalizer, step.next, &mut next);
        to.actions.extend_from_slice(step.action);
    }
    learner.value_gradients(&next, &mut slopes);
    let (seen, acts) = (data.spaces().observation(), data.spaces().actions);
    for (i, slope) in indices.iter().zip(slopes.chunks_exact(seen)) {
        let step = data.get(*i);
        let discount = if step.terminated { 0.0 } else { gamma };
        for k in 0..acts {
            // ∂r/∂a + γ Σ ∂V/∂o′ ∂o′/∂a
            let mut sum = f64::from(step.jacobian[seen * acts + k]);
            for (row, slope) in slope.iter().enumerate() {
                let scale = normalizer.map_or(1.0, |normalizer| normalizer.scale()[row]);
                sum += discount * f64::from(*slope) * scale * f64::from(step.jacobian[row * acts + k]);
            }
            to.gradients.push(sum as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sac::learner_config;
    use super::*;
    use crate::env::Spaces;

    const SPACES: Spaces = Spaces { points: 0, vector: 2, actions: 1 };

    fn step(jacobian: &[f32]) -> Step<'_> {
        Step {
            observation: &[1.0, 2.0],
            action: &[0.5],
            reward: 3.0,
            next: &[1.5, 2.5],
            terminated: false,
            jacobian,
        }
    }

    #[test]
    fn neighbors_lie_on_the_tangent() {
        let jacobian = [2.0, -1.0, 10.0];
        let mut data = Transitions::new(SPACES, 20, false);
        push_neighbors(step(&jacobian), 9, 1e-2, &mut Random::new(1), &mut data);
        assert_eq!(data.len(), 9);
        for i in 0..9 {
            let near = data.get(i);
            let d = near.action[0] - 0.5;
            assert!(d != 0.0 && d.abs() < 0.05);
            assert!((near.next[0] - 1.5 - 2.0 * d).abs() < 1e-6 && (near.next[1] - 2.5 + d).abs() < 1e-6);
            assert!((near.reward - 3.0 - 10.0 * d).abs() < 1e-5);
            assert_eq!(near.observation, [1.0, 2.0]);
        }
    }

    /// Without a value beyond, the guide is the gradient of the reward; with one, differences of V agree.
    #[test]
    fn guides_expand_the_value_by_one_step() {
        let mut learner = SoftLearner::new(learner_config(&[8], &[8]), SPACES, 3).unwrap();
        let jacobian = [2.0, -1.0, 10.0];
        let mut data = Transitions::new(SPACES, 20, true);
        data.push(step(&jacobian));
        data.push(Step { terminated: true, ..step(&jacobian) });
        let mut rows = GuidedRows::default();
        guides(&data, &[0, 1], 0.9, None, &mut learner, &mut rows);
        assert_eq!(rows.gradients[1], 10.0);
        let mut slopes = Vec::new();
        learner.value_gradients(&[1.5, 2.5, 1.5, 2.5], &mut slopes);
        let expected = 10.0 + 0.9 * (2.0 * slopes[0] - slopes[1]);
        assert!((rows.gradients[0] - expected).abs() < 1e-5);
        assert_eq!((&rows.actions[..], &rows.observations[..2]), (&[0.5, 0.5][..], &[1.0, 2.0][..]));
    }
}
