//! The first-order gradient of a policy over a short horizon, through policy, observation, reward and physics.
//!
//! In every environment the actor's loss is −Σ γᵏ (r_k + α ĥ_k) − γᴷ V(s_K) over each piece of an episode in the
//! horizon, summed and divided by the number of steps (SHAC; SAPO, Eq. 19). A piece ends with the horizon or with
//! its episode; where the episode ended for good V is 0, where its time was up V is that of what was seen last.
//! Actions are a = tanh(μ + σ ε) with noise that is drawn beforehand, so that the loss is a function of the
//! policy's parameters; ĥ is a one-sample estimate of the entropy with noise of its own.

use std::time::{Duration, Instant};

use pullback_core::StepError;
use pullback_core::random::Random;

use super::returns::{Outcome, lambda_returns};
use crate::Number;
use crate::env::{EnvShard, Spaces, StepBars, StepOutput};
use crate::nn::Normalizer;
use crate::nn::gaussian::{
    squashed_entropy_sample, squashed_entropy_sample_vjp, squashed_sample, squashed_sample_vjp,
};
use crate::nn::{Network, Tape};
use crate::nn::{Policy, PolicyTape};

/// What the actor maximizes.
#[derive(Clone, Copy, Debug)]
pub struct ActorObjective<'a, F> {
    /// The policy.
    pub policy: &'a Policy,
    /// Its parameters.
    pub params: &'a [F],
    /// Statistics by which observations are normalized, as they were when the horizon began.
    pub normalizer: Option<&'a Normalizer>,
    /// Whether gradients flow through what policy and critics see; without it they flow through rewards and physics alone.
    pub observation_gradients: bool,
    /// The value function at the end of the horizon, and parameters of each of an ensemble; the actor sees their mean.
    pub critic: Option<(&'a Network, &'a [Vec<F>])>,
    /// Steps.
    pub horizon: usize,
    /// Discount γ.
    pub gamma: f64,
    /// Worth of entropy.
    pub entropy: Option<EntropyBonus>,
    /// Factor of the loss: 1 / (steps × environments).
    pub scale: f64,
    /// Seed of the noise, and what tells this horizon from others.
    pub noise: (u64, u64),
}

/// What entropy h is worth: α · scale · (h + offset).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntropyBonus {
    /// Temperature α.
    pub alpha: f64,
    /// Added to h.
    pub offset: f64,
    /// Factor.
    pub scale: f64,
}

impl EntropyBonus {
    /// α (h + |H̄|)/(2 |H̄|), about 0 to 1 where h is between −|H̄| and |H̄| (SAPO, design choice II).
    pub fn normalized(alpha: f64, target: f64) -> Self {
        EntropyBonus { alpha, offset: target.abs(), scale: 0.5 / target.abs() }
    }

    /// α h.
    pub fn plain(alpha: f64) -> Self {
        EntropyBonus { alpha, offset: 0.0, scale: 1.0 }
    }

    fn of(&self, h: f64) -> f64 {
        self.alpha * self.scale * (h + self.offset)
    }
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Steps of the environments.
    pub forward: Duration,
    /// Their pullbacks.
    pub backward: Duration,
    /// Networks.
    pub networks: Duration,
}

/// Memory of one shard over a horizon, and what it holds afterwards. Rows are step after step, environment after
/// environment.
pub struct HorizonMemory<F: Number> {
    pub(super) spaces: Spaces,
    pub(super) envs: usize,
    policy_tapes: Vec<PolicyTape<F>>,
    pub(super) critic_tape: Option<Tape<F>>,
    noise: Vec<F>,
    entropy_noise: Vec<F>,
    pub(super) out: StepOutput<F>,
    /// Observations as they were, and as the networks saw them.
    pub raw: Vec<F>,
    /// Normalized observations.
    pub observations: Vec<F>,
    /// Actions.
    pub actions: Vec<F>,
    /// Normalized observations after each step, before any episode began anew.
    pub final_observations: Vec<F>,
    /// Rewards without entropy.
    pub rewards: Vec<F>,
    /// One-sample estimates of the entropy.
    pub entropies: Vec<F>,
    /// Smallest value of the ensemble after each step; 0 where the episode ended for good.
    pub next_values: Vec<f64>,
    /// Whether each episode ended, and whether for good.
    pub done: Vec<bool>,
    /// Whether for good.
    pub terminated: Vec<bool>,
    /// Whether the physics left the finite numbers.
    pub failed: Vec<bool>,
    /// γᵏ, k counted from the beginning of the piece.
    pub(super) discounts: Vec<f64>,
    /// What each environment's part of the gradient counts for.
    pub weights: Vec<f64>,
    /// The loss.
    pub loss: F,
    /// Gradient with respect to the policy's parameters.
    pub policy_bar: Vec<F>,
    /// Largest norm of the cotangent of each environment's state over the horizon.
    pub gradient_norms: Vec<f64>,
    /// Where the time went.
    pub timing: Timing,
    pub(super) bars: BarMemory<F>,
}

pub(super) struct BarMemory<F> {
    pub rewards: Vec<F>,
    pub final_observations: Vec<F>,
    pub observations: Vec<F>,
    /// Of normalized observations.
    pub normalized: Vec<F>,
    pub actions: Vec<F>,
    pub mean: Vec<F>,
    pub log_std: Vec<F>,
    pub values: Vec<F>,
    pub norms: Vec<f64>,
}

impl<F: Number> HorizonMemory<F> {
    /// Memory for a shard of `envs` environments.
    pub fn new(
        spaces: Spaces,
        envs: usize,
        horizon: usize,
        policy: &Policy,
        critic: Option<&Network>,
    ) -> Self {
        let zeros = |n: usize| vec![F::zero(); n];
        let (rows, seen, actions) = (horizon * envs, spaces.observation(), spaces.actions);
        HorizonMemory {
            spaces,
            envs,
            policy_tapes: (0..horizon).map(|_| policy.tape(envs)).collect(),
            critic_tape: critic.map(|critic| critic.tape(envs)),
            noise: zeros(rows * actions),
            entropy_noise: zeros(rows * actions),
            out: StepOutput::new(envs, spaces),
            raw: zeros(rows * seen),
            observations: zeros(rows * seen),
            actions: zeros(rows * actions),
            final_observations: zeros(rows * seen),
            rewards: zeros(rows),
            entropies: zeros(rows),
            next_values: vec![0.0; rows],
            done: vec![false; rows],
            terminated: vec![false; rows],
            failed: vec![false; rows],
            discounts: vec![1.0; rows],
            weights: vec![1.0; envs],
            loss: F::zero(),
            policy_bar: zeros(policy.num_params()),
            gradient_norms: vec![0.0; envs],
            timing: Timing::default(),
            bars: BarMemory {
                rewards: zeros(envs),
                final_observations: zeros(envs * seen),
                observations: zeros(envs * seen),
                normalized: zeros(envs * seen),
                actions: zeros(envs * actions),
                mean: zeros(envs * actions),
                log_std: zeros(envs * actions),
                values: zeros(envs),
                norms: vec![0.0; envs],
            },
        }
    }

    /// Number of environments.
    pub fn envs(&self) -> usize {
        self.envs
    }

    /// λ-returns of every environment, rows as everywhere; entropy is part of the reward where it is worth something.
    pub fn targets(&self, gamma: f64, lambda: f64, entropy: Option<EntropyBonus>) -> Vec<f64> {
        let (n, horizon) = (self.envs, self.rewards.len() / self.envs);
        let mut targets = vec![0.0; self.rewards.len()];
        let mut returns = vec![0.0; horizon];
        for env in 0..n {
            let outcome = |t: usize| {
                let at = t * n + env;
                let bonus = entropy.map_or(0.0, |bonus| bonus.of(self.entropies[at].to_f64()));
                Outcome {
                    reward: self.rewards[at].to_f64() + bonus,
                    next_value: self.next_values[at],
                    done: self.done[at],
                }
            };
            let outcomes: Vec<Outcome> = (0..horizon).map(outcome).collect();
            lambda_returns(&outcomes, gamma, lambda, &mut returns);
            returns.iter().enumerate().for_each(|(t, g)| targets[t * n + env] = *g);
        }
        targets
    }
}

impl<F: Number> ActorObjective<'_, F> {
    /// Runs the horizon; the loss and all that is seen on the way are left in `memory`.
    pub fn forward(
        &self,
        shard: &mut dyn EnvShard<F>,
        memory: &mut HorizonMemory<F>,
    ) -> Result<(), StepError> {
        let (n, seen, acts) = (memory.envs, memory.spaces.observation(), memory.spaces.actions);
        self.draw_noise(shard.first_env(), memory);
        memory.timing = Timing::default();
        memory.weights.fill(1.0);
        memory.loss = F::zero();
        let mut clock = Instant::now();
        shard.record(self.horizon);
        shard.observe(&mut memory.out.observations);
        for t in 0..self.horizon {
            // o_t, normalized, and the policy there
            let rows = t * n * seen..(t + 1) * n * seen;
            memory.raw[rows.clone()].copy_from_slice(&memory.out.observations);
            let observations = &mut memory.observations[rows.clone()];
            self.normalize(&memory.out.observations, observations);
            self.policy.forward(self.params, observations, &mut memory.policy_tapes[t]);
            let range = t * n * acts..(t + 1) * n * acts;
            self.act(
                &memory.policy_tapes[t],
                &memory.noise[range.clone()],
                &mut memory.actions[range.clone()],
            );
            memory.timing.networks += lap(&mut clock);

            // s_{t+1}, r_t
            shard.step(&memory.actions[range.clone()], &mut memory.out)?;
            memory.timing.forward += lap(&mut clock);

            // h_t, V(o_{t+1}), and the loss
            let entropy_noise = &memory.entropy_noise[range];
            self.entropies(&memory.policy_tapes[t], entropy_noise, &mut memory.entropies[t * n..(t + 1) * n]);
            self.normalize(&memory.out.final_observations, &mut memory.final_observations[rows]);
            self.take_step(t, memory);
            memory.timing.networks += lap(&mut clock);
        }
        shard.stop_recording();
        Ok(())
    }

    /// The gradient of the loss of the last horizon, into `memory.policy_bar`.
    pub fn backward(
        &self,
        shard: &mut dyn EnvShard<F>,
        memory: &mut HorizonMemory<F>,
    ) -> Result<(), StepError> {
        let n = memory.envs;
        memory.policy_bar.fill(F::zero());
        memory.bars.observations.fill(F::zero());
        memory.gradient_norms.fill(0.0);
        shard.begin_backward();
        let mut clock = Instant::now();
        for t in (0..self.horizon).rev() {
            // −γᵏ r_k and −γᴷ V
            for env in 0..n {
                memory.bars.rewards[env] = -self.weight(memory.discounts[t * n + env] * memory.weights[env]);
            }
            self.value_vjp(t, memory);
            memory.timing.networks += lap(&mut clock);
            let BarMemory { rewards, final_observations, observations, actions, norms, .. } =
                &mut memory.bars;
            let bars = StepBars { rewards, final_observations, observations, actions };
            shard.step_vjp(t, bars, norms)?;
            for (most, norm) in memory.gradient_norms.iter_mut().zip(&memory.bars.norms) {
                *most = most.max(*norm);
            }
            memory.timing.backward += lap(&mut clock);

            // a_t = tanh(μ + σ ε), h_t = −log π at μ + σ ε̃
            self.action_vjp(t, memory);
            memory.bars.normalized.fill(F::zero());
            let HorizonMemory { policy_tapes, policy_bar, bars, .. } = memory;
            let (seen_bar, params_bar) = (Some(&mut bars.normalized[..]), Some(&mut policy_bar[..]));
            let tape = &mut policy_tapes[t];
            self.policy.backward(self.params, tape, &bars.mean, &bars.log_std, seen_bar, params_bar);
            self.normalize_vjp(&bars.normalized, &mut bars.observations);
            memory.timing.networks += lap(&mut clock);
        }
        Ok(())
    }

    /// γᵏ times the factor of the loss.
    fn weight(&self, discount: f64) -> F {
        F::from_f64(discount * self.scale)
    }

    /// Noise of actions and of entropies; that of an environment does not depend on its shard.
    fn draw_noise(&self, first_env: usize, memory: &mut HorizonMemory<F>) {
        let (n, acts) = (memory.envs, memory.spaces.actions);
        for env in 0..n {
            let mut random = Random::stream(self.noise.0, &[self.noise.1, (first_env + env) as u64]);
            for t in 0..self.horizon {
                let row = (t * n + env) * acts..(t * n + env + 1) * acts;
                memory.noise[row.clone()].iter_mut().for_each(|x| *x = F::from_f64(random.normal()));
                memory.entropy_noise[row].iter_mut().for_each(|x| *x = F::from_f64(random.normal()));
            }
        }
    }

    pub(super) fn normalize(&self, raw: &[F], out: &mut [F]) {
        match self.normalizer {
            Some(normalizer) => normalizer.normalize(raw, out),
            None => out.copy_from_slice(raw),
        }
    }

    fn normalize_vjp(&self, normalized_bar: &[F], bar: &mut [F]) {
        bar.fill(F::zero());
        if !self.observation_gradients {
            return;
        }
        match self.normalizer {
            Some(normalizer) => normalizer.normalize_vjp(normalized_bar, bar),
            None => bar.copy_from_slice(normalized_bar),
        }
    }

    fn act(&self, tape: &PolicyTape<F>, noise: &[F], actions: &mut [F]) {
        let moments = tape.mean().iter().zip(tape.log_std());
        for ((action, (mean, log_std)), noise) in actions.iter_mut().zip(moments).zip(noise) {
            *action = squashed_sample(*mean, *log_std, *noise);
        }
    }

    fn entropies(&self, tape: &PolicyTape<F>, noise: &[F], entropies: &mut [F]) {
        let acts = noise.len() / entropies.len();
        for (env, h) in entropies.iter_mut().enumerate() {
            *h = F::zero();
            for k in env * acts..(env + 1) * acts {
                *h += squashed_entropy_sample(tape.mean()[k], tape.log_std()[k], noise[k]);
            }
        }
    }

    /// Keeps what step `t` gave, and adds to the loss.
    fn take_step(&self, t: usize, memory: &mut HorizonMemory<F>) {
        let (n, seen) = (memory.envs, memory.spaces.observation());
        let rows = t * n..(t + 1) * n;
        memory.rewards[rows.clone()].copy_from_slice(&memory.out.rewards);
        memory.terminated[rows.clone()].copy_from_slice(&memory.out.terminated);
        memory.failed[rows.clone()].copy_from_slice(&memory.out.failed);
        let mut means = vec![F::zero(); n];
        let next_values = &mut memory.next_values[rows];
        next_values.fill(if self.critic.is_some() { f64::INFINITY } else { 0.0 });
        if let (Some((critic, ensemble)), Some(tape)) = (self.critic, &mut memory.critic_tape) {
            let seen = &memory.final_observations[t * n * seen..(t + 1) * n * seen];
            for params in ensemble {
                let values = critic.forward(params, seen, tape);
                for env in 0..n {
                    next_values[env] = next_values[env].min(values[env].to_f64());
                    means[env] += values[env] * F::from_f64(1.0 / ensemble.len() as f64);
                }
            }
        }
        for env in 0..n {
            let at = t * n + env;
            let done = memory.out.done(env);
            memory.done[at] = done;
            if memory.terminated[at] {
                memory.next_values[at] = 0.0;
            }
            // γᵏ begins anew with the horizon and with every episode.
            let fresh = t == 0 || memory.done[at - n];
            memory.discounts[at] = if fresh { 1.0 } else { memory.discounts[at - n] * self.gamma };
            let mut worth = memory.rewards[at];
            if let Some(bonus) = self.entropy {
                let h = memory.entropies[at] + F::from_f64(bonus.offset);
                worth += h * F::from_f64(bonus.alpha * bonus.scale);
            }
            if self.sees_value(t, at, memory) {
                worth += means[env] * F::from_f64(self.gamma);
            }
            memory.loss -= worth * self.weight(memory.discounts[at]);
        }
    }

    /// Whether a piece ends with a value.
    pub(super) fn sees_value(&self, t: usize, at: usize, memory: &HorizonMemory<F>) -> bool {
        !memory.terminated[at] && (memory.done[at] || t + 1 == self.horizon)
    }

    /// The pullback of values at the ends of pieces, into the cotangent of what was seen there.
    pub(super) fn value_vjp(&self, t: usize, memory: &mut HorizonMemory<F>) {
        let (n, seen) = (memory.envs, memory.spaces.observation());
        memory.bars.final_observations.fill(F::zero());
        let Some((critic, ensemble)) = self.critic else { return };
        let mut any = false;
        for env in 0..n {
            let at = t * n + env;
            let ends = self.sees_value(t, at, memory);
            let share = memory.discounts[at] * memory.weights[env] * self.gamma / ensemble.len() as f64;
            memory.bars.values[env] = if ends { -self.weight(share) } else { F::zero() };
            any |= ends;
        }
        if !any {
            return;
        }
        let HorizonMemory { critic_tape: Some(tape), final_observations, bars, .. } = memory else { return };
        bars.normalized.fill(F::zero());
        for params in ensemble {
            critic.forward(params, &final_observations[t * n * seen..(t + 1) * n * seen], tape);
            critic.backward(params, tape, &bars.values, Some(&mut bars.normalized), None);
        }
        self.normalize_vjp(&bars.normalized, &mut bars.final_observations);
    }

    /// The pullback of actions and entropies at step `t`.
    fn action_vjp(&self, t: usize, memory: &mut HorizonMemory<F>) {
        let (n, acts) = (memory.envs, memory.spaces.actions);
        let tape = &memory.policy_tapes[t];
        for env in 0..n {
            let weight = self.weight(memory.discounts[t * n + env] * memory.weights[env]);
            let entropy_bar = self.entropy.map(|bonus| -(weight * F::from_f64(bonus.alpha * bonus.scale)));
            for k in env * acts..(env + 1) * acts {
                let (mean, log_std) = (tape.mean()[k], tape.log_std()[k]);
                let at = t * n * acts + k;
                let (mut m, mut s, ()) =
                    squashed_sample_vjp(mean, log_std, memory.noise[at], memory.bars.actions[k]);
                if let Some(bar) = entropy_bar {
                    let (m2, s2, ()) =
                        squashed_entropy_sample_vjp(mean, log_std, memory.entropy_noise[at], bar);
                    m += m2;
                    s += s2;
                }
                (memory.bars.mean[k], memory.bars.log_std[k]) = (m, s);
            }
        }
    }
}

/// Time since the last call.
fn lap(clock: &mut Instant) -> Duration {
    let now = Instant::now();
    let passed = now - *clock;
    *clock = now;
    passed
}
