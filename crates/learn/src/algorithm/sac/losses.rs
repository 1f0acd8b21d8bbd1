//! Losses of the soft actor-critic over rows of a batch, with their gradients.
//!
//! With a = tanh(μ + σ ε) and Q the smaller of two critics:
//! critics follow y = r + γ (Q̄(o′, a′) − α log π(a′|o′)), the policy follows α log π(a|o) − Q(o, a).

use std::ops::Range;

use super::batch::Batch;
use crate::Number;
use crate::algorithm::parts::PartMemory;
use crate::nn::gaussian::{
    squashed_entropy_sample, squashed_entropy_sample_vjp, squashed_sample, squashed_sample_vjp,
};
use crate::nn::{Network, Policy, PolicyTape, Tape};

/// Inputs of a critic: observation, then action, row by row.
pub fn join<F: Copy>(observations: &[F], seen: usize, actions: &[F], acts: usize, joined: &mut Vec<F>) {
    joined.clear();
    for (o, a) in observations.chunks_exact(seen).zip(actions.chunks_exact(acts)) {
        joined.extend_from_slice(o);
        joined.extend_from_slice(a);
    }
}

/// Number of critics.
pub const CRITICS: usize = 2;

/// Memory of all losses for one part of a batch.
pub struct SoftMemory<F: Number> {
    policy_tape: PolicyTape<F>,
    critic_tapes: [Tape<F>; CRITICS],
    actions: Vec<F>,
    joined: Vec<F>,
    joined_bar: Vec<F>,
    values: Vec<F>,
    /// Which critic is the smaller one.
    pub(super) smaller: Vec<usize>,
    value_bar: Vec<F>,
    mean_bar: Vec<F>,
    log_std_bar: Vec<F>,
    action_bar: Vec<F>,
    observation_bar: Vec<F>,
    /// The gradient; losses add to it.
    pub params_bar: Vec<F>,
}

impl<F: Number> SoftMemory<F> {
    /// Memory for batches of at most `rows` rows, and gradients of `params` parameters.
    pub fn new(policy: &Policy, critic: &Network, rows: usize, params: usize) -> Self {
        let zeros = |n: usize| vec![F::zero(); n];
        SoftMemory {
            policy_tape: policy.tape(rows),
            critic_tapes: std::array::from_fn(|_| critic.tape(rows)),
            actions: Vec::new(),
            joined: Vec::new(),
            joined_bar: zeros(rows * critic.inputs()),
            values: zeros(rows),
            smaller: vec![0; rows],
            value_bar: zeros(rows),
            mean_bar: zeros(rows * policy.actions()),
            log_std_bar: zeros(rows * policy.actions()),
            action_bar: zeros(rows * policy.actions()),
            observation_bar: zeros(rows * policy.inputs()),
            params_bar: zeros(params),
        }
    }
}

impl PartMemory for SoftMemory<f32> {
    fn gradient(&mut self) -> &mut Vec<f32> {
        &mut self.params_bar
    }
}

/// Gradients of the value with respect to actions that were taken.
#[derive(Clone, Copy, Debug)]
pub struct Guides<'a, F> {
    /// ∂Q/∂a at the actions taken.
    pub gradients: &'a [F],
    /// The actions taken; rows count less the farther the policy's action is from them.
    pub actions: Option<&'a [F]>,
}

impl<F: Number> Guides<'_, F> {
    /// w = e^{−‖a − a₀‖}, constant under differentiation (Qiao et al., Eq. 16).
    pub(super) fn weight(&self, action: &[F], taken: Range<usize>) -> f64 {
        let Some(actions) = self.actions else { return 1.0 };
        let pairs = action.iter().zip(&actions[taken]);
        (-pairs.map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum::<f64>().sqrt()).exp()
    }
}

/// A policy, critics and a temperature as they stand.
#[derive(Clone, Copy, Debug)]
pub struct Soft<'a, F> {
    /// The policy.
    pub policy: &'a Policy,
    /// Its parameters.
    pub policy_params: &'a [F],
    /// The network of each critic.
    pub critic: &'a Network,
    /// Parameters of the critics whose smaller value counts.
    pub critics: &'a [Vec<F>],
    /// Temperature α.
    pub alpha: f64,
}

impl<F: Number> Soft<'_, F> {
    fn sizes(&self) -> (usize, usize) {
        (self.policy.inputs(), self.policy.actions())
    }

    /// Draws actions at rows of observations.
    fn draw(&self, observations: &[F], noise: &[F], memory: &mut SoftMemory<F>) {
        self.policy.forward(self.policy_params, observations, &mut memory.policy_tape);
        let tape = &memory.policy_tape;
        let moments = tape.mean().iter().zip(tape.log_std()).zip(noise);
        memory.actions.clear();
        memory
            .actions
            .extend(moments.map(|((mean, log_std), noise)| squashed_sample(*mean, *log_std, *noise)));
    }

    /// Draws actions and takes the smaller critic's value of each.
    fn act(&self, observations: &[F], noise: &[F], memory: &mut SoftMemory<F>) {
        let (seen, acts) = self.sizes();
        self.draw(observations, noise, memory);
        join(observations, seen, &memory.actions, acts, &mut memory.joined);
        for (index, params) in self.critics.iter().enumerate() {
            let values = self.critic.forward(params, &memory.joined, &mut memory.critic_tapes[index]);
            for (row, value) in values.iter().enumerate() {
                if index == 0 || value.to_f64() < memory.values[row].to_f64() {
                    (memory.values[row], memory.smaller[row]) = (*value, index);
                }
            }
        }
    }

    /// −log π of the action of a row.
    fn entropy(&self, row: usize, noise: &[F], memory: &SoftMemory<F>) -> F {
        let (acts, tape) = (self.policy.actions(), &memory.policy_tape);
        let range = row * acts..(row + 1) * acts;
        range.fold(F::zero(), |sum, k| {
            sum + squashed_entropy_sample(tape.mean()[k], tape.log_std()[k], noise[k])
        })
    }

    /// y = r + γᵏ (Q(o′, a′) − α log π(a′|o′)) of rows `range`.
    pub fn targets(
        &self,
        batch: &Batch<F>,
        range: Range<usize>,
        noise: &[F],
        memory: &mut SoftMemory<F>,
        targets: &mut [F],
    ) {
        let seen = self.policy.inputs();
        self.act(&batch.next_observations[range.start * seen..range.end * seen], noise, memory);
        for (row, i) in range.enumerate() {
            let soft = memory.values[row] + self.entropy(row, noise, memory) * F::from_f64(self.alpha);
            targets[row] = batch.rewards[i] + batch.discounts[i] * soft;
        }
    }

    /// The policy's loss scale · Σ (α log π(a|o) − Q(o, a)) over rows `range`, and the sum of their entropies;
    /// adds to the gradient.
    pub fn add_policy_gradient(
        &self,
        observations: &[F],
        range: Range<usize>,
        noise: &[F],
        scale: f64,
        memory: &mut SoftMemory<F>,
    ) -> (F, f64) {
        let (seen, n) = (self.policy.inputs(), range.len());
        self.act(&observations[range.start * seen..range.end * seen], noise, memory);
        let (scale, alpha) = (F::from_f64(scale), F::from_f64(self.alpha));
        let (mut loss, mut entropies) = (F::zero(), 0.0);
        for row in 0..n {
            let h = self.entropy(row, noise, memory);
            entropies += h.to_f64();
            loss -= (memory.values[row] + h * alpha) * scale;
        }
        memory.value_bar[..n].fill(-scale);
        self.value_vjp(n, memory);
        self.action_vjp(n, noise, -(scale * alpha), None, memory);
        (loss, entropies)
    }

    /// The policy's loss −scale · Σ w (g · a + α h) over rows `range`, with gradients g = ∂Q/∂a that are given
    /// (Qiao et al., Eq. 14), and the sum of entropies; adds to the gradient.
    pub fn add_guided_gradient(
        &self,
        observations: &[F],
        range: Range<usize>,
        noise: &[F],
        scale: f64,
        guides: Guides<'_, F>,
        memory: &mut SoftMemory<F>,
    ) -> (F, f64) {
        let (seen, acts) = self.sizes();
        self.draw(&observations[range.start * seen..range.end * seen], noise, memory);
        let mut weights = vec![F::zero(); range.len()];
        let (mut loss, mut entropies) = (F::zero(), 0.0);
        for (row, i) in range.clone().enumerate() {
            let (here, there) = (row * acts..(row + 1) * acts, i * acts..(i + 1) * acts);
            let weight = guides.weight(&memory.actions[here.clone()], there.clone());
            weights[row] = F::from_f64(scale * weight);
            let h = self.entropy(row, noise, memory);
            entropies += h.to_f64();
            loss -= weights[row] * F::from_f64(self.alpha) * h;
            for (k, g) in here.zip(&guides.gradients[there]) {
                loss -= weights[row] * *g * memory.actions[k];
                memory.action_bar[k] = -(weights[row] * *g);
            }
        }
        self.action_vjp(range.len(), noise, -F::from_f64(self.alpha), Some(&weights), memory);
        (loss, entropies)
    }

    /// V(o) = Q(o, a) − α log π(a|o) of rows, and its derivative with respect to each row of observations,
    /// through critic and policy.
    pub fn value_gradient(
        &self,
        observations: &[F],
        noise: &[F],
        memory: &mut SoftMemory<F>,
        values: &mut [F],
        gradient: &mut [F],
    ) {
        let n = values.len();
        self.act(observations, noise, memory);
        for row in 0..n {
            values[row] = memory.values[row] + self.entropy(row, noise, memory) * F::from_f64(self.alpha);
        }
        memory.value_bar[..n].fill(F::one());
        self.value_vjp(n, memory);
        gradient.copy_from_slice(&memory.observation_bar[..gradient.len()]);
        self.moments_vjp(n, noise, F::from_f64(self.alpha), None, memory);
        let used = n * self.policy.actions();
        let SoftMemory { policy_tape, mean_bar, log_std_bar, .. } = memory;
        let bars = (&mean_bar[..used], &log_std_bar[..used]);
        self.policy.backward(self.policy_params, policy_tape, bars.0, bars.1, Some(gradient), None);
    }

    /// The pullback of the smaller value: `value_bar` to `action_bar` and `observation_bar`.
    fn value_vjp(&self, n: usize, memory: &mut SoftMemory<F>) {
        let (seen, acts) = self.sizes();
        let width = seen + acts;
        memory.joined_bar[..n * width].fill(F::zero());
        let mut masked = vec![F::zero(); n];
        for (index, params) in self.critics.iter().enumerate() {
            for row in 0..n {
                let counts = memory.smaller[row] == index;
                masked[row] = if counts { memory.value_bar[row] } else { F::zero() };
            }
            // Tapes are those of `act`.
            let SoftMemory { critic_tapes, joined_bar, .. } = memory;
            let bar = Some(&mut joined_bar[..n * width]);
            self.critic.backward(params, &mut critic_tapes[index], &masked, bar, None);
        }
        for row in 0..n {
            let bar = &memory.joined_bar[row * width..(row + 1) * width];
            memory.observation_bar[row * seen..(row + 1) * seen].copy_from_slice(&bar[..seen]);
            memory.action_bar[row * acts..(row + 1) * acts].copy_from_slice(&bar[seen..]);
        }
    }

    /// The pullback of actions and entropies to means and deviations; `entropy_bar` is times the weight of a
    /// row.
    fn moments_vjp(
        &self,
        n: usize,
        noise: &[F],
        entropy_bar: F,
        weights: Option<&[F]>,
        memory: &mut SoftMemory<F>,
    ) {
        let acts = self.policy.actions();
        for k in 0..n * acts {
            let (mean, log_std) = (memory.policy_tape.mean()[k], memory.policy_tape.log_std()[k]);
            let bar = weights.map_or(entropy_bar, |weights| entropy_bar * weights[k / acts]);
            let (m, s, ()) = squashed_sample_vjp(mean, log_std, noise[k], memory.action_bar[k]);
            let (m2, s2, ()) = squashed_entropy_sample_vjp(mean, log_std, noise[k], bar);
            (memory.mean_bar[k], memory.log_std_bar[k]) = (m + m2, s + s2);
        }
    }

    /// The same, and on to the policy's parameters.
    fn action_vjp(
        &self,
        n: usize,
        noise: &[F],
        entropy_bar: F,
        weights: Option<&[F]>,
        memory: &mut SoftMemory<F>,
    ) {
        self.moments_vjp(n, noise, entropy_bar, weights, memory);
        let used = n * self.policy.actions();
        let SoftMemory { policy_tape, mean_bar, log_std_bar, params_bar, .. } = memory;
        let bars = (&mean_bar[..used], &log_std_bar[..used]);
        self.policy.backward(self.policy_params, policy_tape, bars.0, bars.1, None, Some(params_bar));
    }
}

/// A critic's loss scale · Σ (Q(o, a) − y)² over rows `range`; adds to the gradient.
pub fn add_critic_gradient<F: Number>(
    critic: &Network,
    params: &[F],
    batch: &Batch<F>,
    targets: &[F],
    range: Range<usize>,
    scale: f64,
    memory: &mut SoftMemory<F>,
) -> F {
    let n = range.len();
    let (seen, acts) = (batch.observations.len() / batch.len(), batch.actions.len() / batch.len());
    let observations = &batch.observations[range.start * seen..range.end * seen];
    let actions = &batch.actions[range.start * acts..range.end * acts];
    let SoftMemory { critic_tapes: [critic_tape, ..], joined, value_bar, params_bar, .. } = memory;
    join(observations, seen, actions, acts, joined);
    let values = critic.forward(params, joined, critic_tape);
    let scale = F::from_f64(scale);
    let mut loss = F::zero();
    for ((bar, value), target) in value_bar.iter_mut().zip(values).zip(&targets[range]) {
        // ∂(Q − y)² = 2 (Q − y)
        let error = *value - *target;
        loss += error * error * scale;
        *bar = error * scale * F::from_f64(2.0);
    }
    critic.backward(params, critic_tape, &value_bar[..n], None, Some(params_bar));
    loss
}
