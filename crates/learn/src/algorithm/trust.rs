//! How far the gradient of each environment can be trusted over one horizon: adjoint against a difference.
//!
//! Where contacts switch or the motion is chaotic, the slope at a point says little about what a small change of
//! actions does. All actions of a horizon are moved by δ ξ, ξ = ±1, and the horizon is run once more. In each
//! environment the change of discounted rewards and values is compared with what the pullback foretells,
//!
//! f = (J(a + δ ξ) − J(a))/δ,   g = ∂J/∂a · ξ,   trust = 1 / (1 + ((f − g)/(|f| + |g|))² / tolerance²),
//!
//! so that trust is near 1 where both agree and falls to 0 where they do not. An environment whose episode ends
//! elsewhere than before has none.

use pullback_core::StepError;
use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::horizon::{ActorObjective, HorizonMemory};
use crate::Number;
use crate::env::{EnvShard, EnvSnapshot, StepBars};

/// Settings of trust.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustConfig {
    /// How far actions are moved, δ.
    pub step: f64,
    /// Relative error at which trust is one half.
    pub tolerance: f64,
}

impl Default for TrustConfig {
    fn default() -> Self {
        TrustConfig { step: 0.01, tolerance: 0.5 }
    }
}

impl<F: Number> ActorObjective<'_, F> {
    /// Weighs every environment of the last horizon, which began at `start`, by its trust.
    pub fn weigh(
        &self,
        config: TrustConfig,
        shard: &mut dyn EnvShard<F>,
        memory: &mut HorizonMemory<F>,
        (seed, start): (u64, &EnvSnapshot),
    ) -> Result<(), StepError> {
        let directions = self.directions(shard.first_env(), memory);
        let foretold = self.slopes(shard, memory, &directions)?;
        let end = shard.snapshot();
        shard.restore(seed, start);
        let found = self.moved(config.step, shard, memory, &directions)?;
        shard.restore(seed, &end);
        for env in 0..memory.envs {
            let (f, g) = (found[env], foretold[env]);
            let error = (f - g) / (f.abs() + g.abs()).max(f64::MIN_POSITIVE);
            let trust = 1.0 / (1.0 + (error / config.tolerance).powi(2));
            memory.weights[env] = if trust.is_finite() { trust } else { 0.0 };
        }
        Ok(())
    }

    /// ξ = ±1 for every action.
    fn directions(&self, first_env: usize, memory: &HorizonMemory<F>) -> Vec<f64> {
        let (n, acts) = (memory.envs, memory.spaces.actions);
        let mut directions = vec![0.0; memory.actions.len()];
        for env in 0..n {
            let mut random = Random::stream(self.noise.0, &[self.noise.1, (first_env + env) as u64, TRUST]);
            for t in 0..self.horizon {
                let row = (t * n + env) * acts..(t * n + env + 1) * acts;
                directions[row].iter_mut().for_each(|x| *x = if random.bits() & 1 == 0 { 1.0 } else { -1.0 });
            }
        }
        directions
    }

    /// ∂J/∂a · ξ of every environment, the policy held: its later actions do not follow.
    fn slopes(
        &self,
        shard: &mut dyn EnvShard<F>,
        memory: &mut HorizonMemory<F>,
        directions: &[f64],
    ) -> Result<Vec<f64>, StepError> {
        let (n, acts) = (memory.envs, memory.spaces.actions);
        let mut slopes = vec![0.0; n];
        shard.begin_backward();
        for t in (0..self.horizon).rev() {
            for env in 0..n {
                memory.bars.rewards[env] = F::from_f64(memory.discounts[t * n + env]);
            }
            // The cotangent of values is that of the loss, −scale times that of J.
            self.value_vjp(t, memory);
            let factor = F::from_f64(-1.0 / self.scale);
            memory.bars.final_observations.iter_mut().for_each(|x| *x *= factor);
            memory.bars.observations.fill(F::zero());
            let bars = &mut memory.bars;
            let step = StepBars {
                rewards: &bars.rewards,
                final_observations: &bars.final_observations,
                observations: &bars.observations,
                actions: &mut bars.actions,
            };
            shard.step_vjp(t, step, &mut bars.norms)?;
            for (k, bar) in bars.actions.iter().enumerate() {
                slopes[k / acts] += bar.to_f64() * directions[t * n * acts + k];
            }
        }
        Ok(slopes)
    }

    /// (J(a + δ ξ) − J(a))/δ of every environment; not a number where an episode ends elsewhere.
    fn moved(
        &self,
        delta: f64,
        shard: &mut dyn EnvShard<F>,
        memory: &mut HorizonMemory<F>,
        directions: &[f64],
    ) -> Result<Vec<f64>, StepError> {
        let (n, acts, seen) = (memory.envs, memory.spaces.actions, memory.spaces.observation());
        let mut change = vec![0.0; n];
        let mut normalized = vec![F::zero(); n * seen];
        for t in 0..self.horizon {
            let range = t * n * acts..(t + 1) * n * acts;
            let moved = memory.actions[range.clone()].iter().zip(&directions[range]);
            let actions: Vec<F> = moved.map(|(a, d)| *a + F::from_f64(delta * d)).collect();
            shard.step(&actions, &mut memory.out)?;
            let values = self.mean_values(memory, t, None);
            self.normalize(&memory.out.final_observations, &mut normalized);
            let moved_values = self.mean_values(memory, t, Some(&normalized));
            for env in 0..n {
                let at = t * n + env;
                if memory.out.done(env) != memory.done[at]
                    || memory.out.terminated[env] != memory.terminated[at]
                {
                    change[env] = f64::NAN;
                }
                let mut gain = memory.out.rewards[env].to_f64() - memory.rewards[at].to_f64();
                if self.sees_value(t, at, memory) {
                    gain += self.gamma * (moved_values[env] - values[env]);
                }
                change[env] += memory.discounts[at] * gain / delta;
            }
        }
        Ok(change)
    }

    /// Mean values of the ensemble at what was seen after step `t`, or at other rows.
    fn mean_values(&self, memory: &mut HorizonMemory<F>, t: usize, rows: Option<&[F]>) -> Vec<f64> {
        let (n, seen) = (memory.envs, memory.spaces.observation());
        let mut means = vec![0.0; n];
        if let (Some((critic, ensemble)), Some(tape)) = (self.critic, &mut memory.critic_tape) {
            let rows = rows.unwrap_or(&memory.final_observations[t * n * seen..(t + 1) * n * seen]);
            for params in ensemble {
                let values = critic.forward(params, rows, tape);
                means.iter_mut().zip(values).for_each(|(m, v)| *m += v.to_f64() / ensemble.len() as f64);
            }
        }
        means
    }
}

/// Tells these random numbers from others.
const TRUST: u64 = 0x7472_7573;

#[cfg(test)]
mod tests {
    use super::super::actor_critic::ActorCritic;
    use super::super::{Algorithm, shac, toy};
    use super::*;

    fn learner(trust: Option<TrustConfig>) -> ActorCritic {
        let mut config = shac::config(&[8], &[8]);
        (config.envs, config.horizon, config.trust) = (16, 8, trust);
        ActorCritic::new(config, toy::SPACES, 0).unwrap()
    }

    fn reported(report: &super::super::Report, name: &str) -> f64 {
        report.iter().find(|(key, _)| *key == name).unwrap().1
    }

    /// Where the motion is smooth, differences agree with the adjoint, and nothing else changes.
    #[test]
    fn smooth_motions_are_trusted() {
        let (mut plain, mut weighed) = (learner(None), learner(Some(TrustConfig::default())));
        let (mut env, mut same) = (toy::env(16, 1, 0), toy::env(16, 1, 0));
        let (first, second) = (plain.learn(&mut env).unwrap(), weighed.learn(&mut same).unwrap());
        assert_eq!(reported(&first, "trust_mean"), 1.0);
        let trust = reported(&second, "trust_mean");
        assert!(trust > 0.99 && trust < 1.0, "{trust}");
        assert_eq!(env.snapshot(), same.snapshot());
        assert_eq!(reported(&first, "actor_loss"), reported(&second, "actor_loss"));
    }

    /// A step so large that actions are clipped has nothing to do with the slope.
    #[test]
    fn differences_that_disagree_take_trust_away() {
        let mut learner = learner(Some(TrustConfig { step: 3.0, tolerance: 0.1 }));
        let report = learner.learn(&mut toy::env(16, 1, 0)).unwrap();
        assert!(reported(&report, "trust_mean") < 0.5);
    }

    #[test]
    fn environments_with_steep_gradients_begin_anew() {
        let mut config = shac::config(&[8], &[8]);
        (config.envs, config.horizon, config.restart_above) = (16, 8, Some(0.0));
        let mut env = toy::env(16, 1, 0);
        ActorCritic::new(config, toy::SPACES, 0).unwrap().learn(&mut env).unwrap();
        let snapshot = env.snapshot();
        assert!(snapshot.ages.iter().all(|age| *age == 0) && snapshot.episodes.iter().all(|e| *e >= 1));
    }
}
