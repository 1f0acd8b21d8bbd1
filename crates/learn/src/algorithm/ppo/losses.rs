//! Losses of PPO over rows of a batch, with their gradients.

use pullback_math::{Real, differentiable, select};

use crate::Number;
use crate::algorithm::parts::PartMemory;
use crate::nn::gaussian::{entropy, entropy_vjp, kl_divergence, log_density, log_density_vjp};
use crate::nn::{Network, Policy, PolicyTape, Tape};

/// −min(ρ A, clamp(ρ, 1 − ε, 1 + ε) A) with ρ = e^{log ρ}.
#[differentiable]
pub fn clipped_surrogate<T: Real>(log_ratio: T, #[constant] advantage: T, #[constant] clip: T) -> T {
    let ratio = log_ratio.exp();
    let (low, high) = (T::one() - clip, T::one() + clip);
    let held = select(ratio.gt(high), high, select(ratio.lt(low), low, ratio));
    let (free, bound) = (ratio * advantage, held * advantage);
    -select(bound.lt(free), bound, free)
}

/// max((v − R)², (v_c − R)²)/2 with v_c = v₀ + clamp(v − v₀, −ε, ε).
#[differentiable]
pub fn clipped_square<T: Real>(value: T, #[constant] old: T, #[constant] aim: T, #[constant] clip: T) -> T {
    let change = value - old;
    let held = old + select(change.gt(clip), clip, select(change.lt(-clip), -clip, change));
    let (free, bound) = (value - aim, held - aim);
    let (free, bound) = (free * free, bound * bound);
    select(bound.gt(free), bound, free) * T::lit(0.5)
}

/// What the policy was, and what came of its actions: a row each.
#[derive(Clone, Debug, Default)]
pub struct PolicyRows<F> {
    /// Normalized observations.
    pub observations: Vec<F>,
    /// Means of the policy that acted.
    pub means: Vec<F>,
    /// Logarithms of its deviations.
    pub log_stds: Vec<F>,
    /// Its actions.
    pub actions: Vec<F>,
    /// Advantages.
    pub advantages: Vec<F>,
}

/// Memory of [`PolicyLoss`].
pub struct PolicyMemory<F: Number> {
    tape: PolicyTape<F>,
    mean_bar: Vec<F>,
    log_std_bar: Vec<F>,
    /// The gradient; [`PolicyLoss::add_gradient`] adds to it.
    pub params_bar: Vec<F>,
}

impl<F: Number> PolicyMemory<F> {
    /// Memory for batches of at most `rows` rows.
    pub fn new(policy: &Policy, rows: usize) -> Self {
        let zeros = |n| vec![F::zero(); n];
        PolicyMemory {
            tape: policy.tape(rows),
            mean_bar: zeros(rows * policy.actions()),
            log_std_bar: zeros(rows * policy.actions()),
            params_bar: zeros(policy.num_params()),
        }
    }
}

impl PartMemory for PolicyMemory<f32> {
    fn gradient(&mut self) -> &mut Vec<f32> {
        &mut self.params_bar
    }
}

/// The clipped surrogate less the worth of entropy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyLoss<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// ε of the clipping.
    pub clip: f64,
    /// Worth of entropy.
    pub entropy: f64,
    /// Factor of each row: one over the rows of a batch.
    pub scale: f64,
}

impl PolicyLoss<'_> {
    /// The loss of rows `range`, and the sum of KL(old ‖ new) over them; adds to the gradient.
    pub fn add_gradient<F: Number>(
        &self,
        params: &[F],
        rows: &PolicyRows<F>,
        range: std::ops::Range<usize>,
        memory: &mut PolicyMemory<F>,
    ) -> (F, f64) {
        let (width, n) = (self.policy.inputs(), self.policy.actions());
        let PolicyMemory { tape, mean_bar, log_std_bar, params_bar } = memory;
        self.policy.forward(params, &rows.observations[range.start * width..range.end * width], tape);
        let [clip, scale, worth] = [self.clip, self.scale, self.entropy * self.scale].map(F::from_f64);
        let (mut loss, mut kl) = (F::zero(), 0.0);
        for (row, i) in range.clone().enumerate() {
            // log ρ = Σ log N(a; μ, σ) − log N(a; μ₀, σ₀)
            let mut log_ratio = F::zero();
            for k in 0..n {
                let (now, then) = (row * n + k, i * n + k);
                let (mean, log_std) = (tape.mean()[now], tape.log_std()[now]);
                let (old_mean, old_log_std) = (rows.means[then], rows.log_stds[then]);
                let a = rows.actions[then];
                log_ratio += log_density(a, mean, log_std) - log_density(a, old_mean, old_log_std);
                loss -= worth * entropy(log_std);
                kl += kl_divergence(old_mean, old_log_std, mean, log_std).to_f64();
            }
            loss += clipped_surrogate(log_ratio, rows.advantages[i], clip) * scale;
            let (log_ratio_bar, (), ()) = clipped_surrogate_vjp(log_ratio, rows.advantages[i], clip, scale);
            for k in 0..n {
                let (now, then) = (row * n + k, i * n + k);
                let (mean, log_std) = (tape.mean()[now], tape.log_std()[now]);
                let (_, m, s) = log_density_vjp(rows.actions[then], mean, log_std, log_ratio_bar);
                mean_bar[now] = m;
                log_std_bar[now] = s + entropy_vjp(log_std, -worth);
            }
        }
        let used = range.len() * n;
        let bars = (&mean_bar[..used], &log_std_bar[..used]);
        self.policy.backward(params, tape, bars.0, bars.1, None, Some(params_bar));
        (loss, kl)
    }
}

/// Where values were, and where they should be: a row each.
#[derive(Clone, Debug, Default)]
pub struct ValueRows<F> {
    /// Normalized observations.
    pub observations: Vec<F>,
    /// Values of the critic before the epoch.
    pub old: Vec<F>,
    /// Returns.
    pub aims: Vec<F>,
}

/// Memory of [`ValueLoss`].
pub struct ValueMemory<F: Number> {
    /// Of the network.
    pub tape: Tape<F>,
    bar: Vec<F>,
    /// The gradient; [`ValueLoss::add_gradient`] adds to it.
    pub params_bar: Vec<F>,
}

impl<F: Number> ValueMemory<F> {
    /// Memory for batches of at most `rows` rows.
    pub fn new(network: &Network, rows: usize) -> Self {
        ValueMemory {
            tape: network.tape(rows),
            bar: vec![F::zero(); rows],
            params_bar: vec![F::zero(); network.num_params()],
        }
    }
}

impl PartMemory for ValueMemory<f32> {
    fn gradient(&mut self) -> &mut Vec<f32> {
        &mut self.params_bar
    }
}

/// Half of clipped squares.
#[derive(Clone, Copy, Debug)]
pub struct ValueLoss<'a> {
    /// The critic.
    pub network: &'a Network,
    /// ε of the clipping; without it values may move freely.
    pub clip: Option<f64>,
    /// Factor of each row: one over the rows of a batch.
    pub scale: f64,
}

impl ValueLoss<'_> {
    /// The loss of rows `range`; adds to the gradient.
    pub fn add_gradient<F: Number>(
        &self,
        params: &[F],
        rows: &ValueRows<F>,
        range: std::ops::Range<usize>,
        memory: &mut ValueMemory<F>,
    ) -> F {
        let width = self.network.inputs();
        let ValueMemory { tape, bar, params_bar } = memory;
        let inputs = &rows.observations[range.start * width..range.end * width];
        let values = self.network.forward(params, inputs, tape);
        let (clip, scale) = (F::from_f64(self.clip.unwrap_or(f64::MAX.sqrt())), F::from_f64(self.scale));
        let mut loss = F::zero();
        for ((i, value), bar) in range.clone().zip(values).zip(&mut *bar) {
            loss += clipped_square(*value, rows.old[i], rows.aims[i], clip) * scale;
            (*bar, (), (), ()) = clipped_square_vjp(*value, rows.old[i], rows.aims[i], clip, scale);
        }
        self.network.backward(params, tape, &bar[..range.len()], None, Some(params_bar));
        loss
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::random::Random;

    use super::*;
    use crate::nn::check::{Map, check, config, normals};
    use crate::nn::{Activation, InputShape, LayerNorm, LogStd};

    const ROWS: usize = 5;
    const WIDTH: usize = 3;

    fn lift<F: Number>(x: &[f64]) -> Vec<F> {
        x.iter().map(|x| F::from_f64(*x)).collect()
    }

    /// Losses as maps of the parameters of policy and critic.
    struct Losses {
        policy: Policy,
        critic: Network,
        rows: PolicyRows<f64>,
        old: Vec<f64>,
    }

    impl Losses {
        fn new() -> Self {
            let network = config(&[6], Activation::Silu, LayerNorm::Before);
            let input = InputShape::vector(WIDTH);
            let log_std = LogStd::PerState { min: -2.3, max: 0.5 };
            Losses {
                policy: Policy::new(input, 2, &network, log_std).unwrap(),
                critic: Network::new(input, 1, &network).unwrap(),
                rows: PolicyRows {
                    observations: normals(ROWS * WIDTH, 1),
                    means: normals(ROWS * 2, 2).iter().map(|x| 0.1 * x).collect(),
                    log_stds: normals(ROWS * 2, 3).iter().map(|x| 0.1 * x).collect(),
                    actions: normals(ROWS * 2, 4),
                    advantages: normals(ROWS, 5),
                },
                old: normals(ROWS, 6).iter().map(|x| 0.3 * x).collect(),
            }
        }

        fn params(&self) -> Vec<f64> {
            let mut params = self.policy.init(&mut Random::new(7));
            params.extend(self.critic.init(&mut Random::new(8)));
            params
        }

        /// Both losses and both gradients.
        fn both<F: Number>(&self, x: &[F]) -> [(F, Vec<F>); 2] {
            let (actor, critic) = x.split_at(self.policy.num_params());
            let rows = PolicyRows {
                observations: lift(&self.rows.observations),
                means: lift(&self.rows.means),
                log_stds: lift(&self.rows.log_stds),
                actions: lift(&self.rows.actions),
                advantages: lift(&self.rows.advantages),
            };
            let loss = PolicyLoss { policy: &self.policy, clip: 0.2, entropy: 0.3, scale: 0.2 };
            let mut memory = PolicyMemory::new(&self.policy, ROWS);
            let (first, kl) = loss.add_gradient(actor, &rows, 0..2, &mut memory);
            let (second, _) = loss.add_gradient(actor, &rows, 2..ROWS, &mut memory);
            assert!(kl > 0.0);
            let PolicyRows { observations, advantages: aims, .. } = rows;
            let values = ValueRows { observations, old: lift(&self.old), aims };
            let loss = ValueLoss { network: &self.critic, clip: Some(0.2), scale: 0.2 };
            let mut value_memory = ValueMemory::new(&self.critic, ROWS);
            let value = loss.add_gradient(critic, &values, 0..ROWS, &mut value_memory);
            [(first + second, memory.params_bar), (value, value_memory.params_bar)]
        }
    }

    impl Map for Losses {
        fn groups(&self) -> Vec<(&'static str, usize)> {
            vec![("policy", self.policy.num_params()), ("critic", self.critic.num_params())]
        }
        fn outputs(&self) -> usize {
            2
        }
        fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
            let [(policy, _), (value, _)] = self.both(x);
            y.copy_from_slice(&[policy, value]);
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
            let [(_, policy), (_, value)] = self.both(x);
            let bars = policy.iter().map(|g| g * y_bar[0]).chain(value.iter().map(|g| g * y_bar[1]));
            x_bar.iter_mut().zip(bars).for_each(|(to, x)| *to += x);
        }
    }

    #[test]
    fn losses_of_ppo_pass_the_check() {
        let losses = Losses::new();
        check(&losses, &losses.params());
    }

    /// Ratios beyond 1 ± ε count only where they make the loss worse.
    #[test]
    fn surrogates_are_clipped_on_one_side() {
        let bar = |ratio: f64, advantage: f64| clipped_surrogate_vjp(ratio.ln(), advantage, 0.2, 1.0).0;
        assert_eq!((bar(1.3, 1.0), bar(0.7, -1.0)), (0.0, 0.0));
        assert!((bar(0.7, 1.0) + 0.7).abs() < 1e-15 && (bar(1.3, -1.0) - 1.3).abs() < 1e-15);
        assert!((clipped_surrogate(1.3_f64.ln(), 2.0, 0.2) + 2.4).abs() < 1e-15);
    }

    /// Values that moved beyond ε towards their aim are left.
    #[test]
    fn values_are_clipped_around_the_old() {
        assert_eq!(clipped_square_vjp(0.5, 0.0, 1.0, 0.2, 1.0).0, 0.0);
        assert_eq!(clipped_square(0.5, 0.0, 1.0, 0.2), 0.5 * 0.8 * 0.8);
        assert_eq!(clipped_square_vjp(-0.5, 0.0, 1.0, 0.2, 1.0).0, -1.5);
    }
}
