//! ∂(o′, r)/∂a of one step of an environment, by one pullback for all rows.
//!
//! The first environment is the true one. The others become copies of it, one for each number of the
//! observation and one for the reward, and take the same action; each pulls back its own unit cotangent. Copies
//! fill lanes that would be idle.

use pullback_core::StepError;

use crate::env::{EnvSnapshot, StepBars, StepOutput, VecEnv};

/// Environments that a Jacobian needs.
pub fn copies(observation: usize) -> usize {
    observation + 1
}

/// Takes `action` in the first environment; `jacobian` has a row for each number of o′, then one for r.
///
/// Where the context of a task changes at random, copies see changes of their own after the step.
pub fn step_with_jacobian(
    env: &mut VecEnv<f32>,
    action: &[f32],
    out: &mut StepOutput<f32>,
    jacobian: &mut Vec<f32>,
) -> Result<(), StepError> {
    let (n, spaces) = (env.envs(), env.spaces());
    let (seen, acts) = (spaces.observation(), spaces.actions);
    let first = env.snapshot().part(0, 1, n);
    let mut all = EnvSnapshot::default();
    (0..n).for_each(|_| all.append(first.clone()));
    let seed = env.seed();
    env.restore(seed, &all);

    env.run(|shard| shard.record(1));
    let taken = env.step(&action.repeat(n), out);
    env.run(|shard| shard.stop_recording());
    taken?;

    // Row i is eᵢᵀ ∂(o′, r)/∂a.
    let rows = env.run(|shard| {
        let (first, count) = (shard.first_env(), shard.envs());
        let none = vec![0.0; count * seen];
        let (mut seen_bars, mut reward_bars) = (none.clone(), vec![0.0; count]);
        for env in 0..count {
            match first + env {
                row if row < seen => seen_bars[env * seen + row] = 1.0,
                _ => reward_bars[env] = 1.0,
            }
        }
        let mut action_bars = vec![0.0; count * acts];
        let bars = StepBars {
            rewards: &reward_bars,
            final_observations: &seen_bars,
            observations: &none,
            actions: &mut action_bars,
        };
        shard.begin_backward();
        shard.step_vjp(0, bars, &mut vec![0.0; count])?;
        Ok(action_bars)
    });
    jacobian.clear();
    for part in rows {
        jacobian.extend_from_slice(&part?);
    }
    jacobian.truncate(copies(seen) * acts);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::toy;
    use super::*;

    /// v′ = v + (2 a − v/2) dt, x′ = x + v′ dt, r = 2 − x′² − v′²/10 − a²/100, at several steps of an episode.
    #[test]
    fn jacobians_are_those_of_the_equations() {
        let mut env = toy::env(3, 2, 4);
        let (mut out, mut jacobian) = (StepOutput::new(3, toy::SPACES), Vec::new());
        for action in [0.5_f32, -0.25, 0.75, -0.5] {
            step_with_jacobian(&mut env, &[action], &mut out, &mut jacobian).unwrap();
            let (x, v) = (out.final_observations[0], out.final_observations[1]);
            let (dv, dx) = (0.4, 0.08);
            let expected = [dx, dv, -2.0 * x * dx - 0.2 * v * dv - 0.02 * action];
            for (found, expected) in jacobian.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
    }

    /// The first environment goes on as if it were alone.
    #[test]
    fn copies_leave_the_true_environment_alone() {
        let (mut with, mut alone) = (toy::env(3, 1, 4), toy::env(1, 1, 4));
        let (mut out, mut jacobian) = (StepOutput::new(3, toy::SPACES), Vec::new());
        let mut single = StepOutput::new(1, toy::SPACES);
        // Longer than an episode.
        for t in 0..40 {
            let action = [(t as f32).sin()];
            step_with_jacobian(&mut with, &action, &mut out, &mut jacobian).unwrap();
            alone.step(&action, &mut single).unwrap();
            assert_eq!(out.observations[..2], single.observations[..]);
            assert_eq!(out.rewards[0], single.rewards[0]);
        }
    }
}
