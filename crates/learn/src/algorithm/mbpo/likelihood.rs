//! The likelihood of steps under a network that puts out means, variances and whether the episode ends.
//!
//! For each of d numbers the network puts out a mean and a raw logarithm of the variance, and at last a logit
//! of the end. Logarithms of variances are bounded softly by parameters that are learned too; these follow the
//! network's parameters in the flat vector, least first.

use pullback_math::{Real, differentiable};

use crate::Number;
use crate::nn::gaussian::{softplus, softplus_vjp};
use crate::nn::{Network, Tape};

/// Weight of the distance between the bounds of logarithms of variances.
const BOUND_WEIGHT: f64 = 0.01;

/// min + softplus(max − softplus(max − raw) − min).
#[differentiable]
pub fn bounded<T: Real>(raw: T, min: T, max: T) -> T {
    min + softplus(max - softplus(max - raw) - min)
}

/// ((y − μ)² e^{−l} + l)/2 with l = ln σ²: less the log density, up to a constant.
#[differentiable]
pub fn negative_log_density<T: Real>(mean: T, log_variance: T, #[constant] target: T) -> T {
    let error = mean - target;
    (error * error * (-log_variance).exp() + log_variance) * T::lit(0.5)
}

/// Cross entropy softplus(z) − t z of the logit z of an end.
#[differentiable]
pub fn cross_entropy<T: Real>(logit: T, #[constant] ended: T) -> T {
    softplus(logit) - logit * ended
}

/// Inputs and targets, normalized, and ends: a row each.
#[derive(Clone, Debug, Default)]
pub struct ModelRows<F> {
    /// Observation, then action.
    pub inputs: Vec<F>,
    /// Change of the observation, then reward.
    pub targets: Vec<F>,
    /// 1 where the episode ended for good, else 0.
    pub ended: Vec<F>,
}

/// Memory of [`Likelihood`].
pub struct LikelihoodMemory<F: Number> {
    /// Of the network.
    pub tape: Tape<F>,
    bar: Vec<F>,
    /// The gradient; [`Likelihood::add_gradient`] adds to it.
    pub params_bar: Vec<F>,
}

/// A network whose outputs are distributions of d numbers and of the end.
///
/// Numbers that do not vary are left out: their variances would fall to the least, and the slopes of their
/// densities would drown all others in the bound of the gradient.
#[derive(Clone, Copy, Debug)]
pub struct Likelihood<'a> {
    /// The network.
    pub network: &'a Network,
    /// Deviation of each number before it was normalized; 0 of those that do not vary.
    pub deviations: &'a [f64],
}

impl Likelihood<'_> {
    /// Outputs of the network for `numbers` numbers.
    pub fn outputs(numbers: usize) -> usize {
        2 * numbers + 1
    }

    /// Length of the flat vector: the network's parameters, then bounds.
    pub fn num_params(&self) -> usize {
        self.network.num_params() + 2 * self.deviations.len()
    }

    /// The numbers that vary.
    fn varying(&self) -> Vec<usize> {
        (0..self.deviations.len()).filter(|k| self.deviations[*k] > 0.0).collect()
    }

    /// Memory for batches of at most `rows` rows.
    pub fn memory<F: Number>(&self, rows: usize) -> LikelihoodMemory<F> {
        LikelihoodMemory {
            tape: self.network.tape(rows),
            bar: vec![F::zero(); rows * self.network.outputs()],
            params_bar: vec![F::zero(); self.num_params()],
        }
    }

    /// Mean of less the log likelihoods of all rows, and what the bounds cost; adds to the gradient.
    pub fn add_gradient<F: Number>(
        &self,
        params: &[F],
        rows: &ModelRows<F>,
        memory: &mut LikelihoodMemory<F>,
    ) -> F {
        let (d, width, varying) = (self.deviations.len(), self.network.outputs(), self.varying());
        let (weights, bounds) = params.split_at(self.network.num_params());
        let (min, max) = bounds.split_at(d);
        let LikelihoodMemory { tape, bar, params_bar } = memory;
        let (weights_bar, bounds_bar) = params_bar.split_at_mut(weights.len());
        let (min_bar, max_bar) = bounds_bar.split_at_mut(d);
        let outputs = self.network.forward(weights, &rows.inputs, tape);
        let n = rows.ended.len();
        let row_weight = F::from_f64(1.0 / n as f64);
        let weight = F::from_f64(1.0 / (n * varying.len().max(1)) as f64);
        bar.fill(F::zero());
        let mut loss = F::zero();
        for (i, (output, bar)) in outputs.chunks_exact(width).zip(bar.chunks_exact_mut(width)).enumerate() {
            for k in varying.iter().copied() {
                let (mean, raw, target) = (output[k], output[d + k], rows.targets[i * d + k]);
                let log_variance = bounded(raw, min[k], max[k]);
                loss += negative_log_density(mean, log_variance, target) * weight;
                let (mean_bar, l_bar, ()) = negative_log_density_vjp(mean, log_variance, target, weight);
                let (raw_bar, least, most) = bounded_vjp(raw, min[k], max[k], l_bar);
                (bar[k], bar[d + k]) = (mean_bar, raw_bar);
                min_bar[k] += least;
                max_bar[k] += most;
            }
            let (logit, ended) = (output[2 * d], rows.ended[i]);
            loss += cross_entropy(logit, ended) * row_weight;
            (bar[2 * d], ()) = cross_entropy_vjp(logit, ended, row_weight);
        }
        // + w Σ (max − min)/d
        let share = F::from_f64(BOUND_WEIGHT / d as f64);
        for k in 0..d {
            loss += (max[k] - min[k]) * share;
            min_bar[k] -= share;
            max_bar[k] += share;
        }
        self.network.backward(weights, tape, &bar[..n * width], None, Some(weights_bar));
        loss
    }

    /// Mean square of errors of the means of numbers that vary.
    pub fn mean_square(&self, params: &[f32], rows: &ModelRows<f32>, tape: &mut Tape<f32>) -> f64 {
        let (d, width, batch) = (self.deviations.len(), self.network.outputs(), tape.max_rows());
        let varying = self.varying();
        let inputs = rows.inputs.chunks(batch * self.network.inputs());
        let mut sum = 0.0;
        for (inputs, targets) in inputs.zip(rows.targets.chunks(batch * d)) {
            let outputs = self.network.forward(&params[..self.network.num_params()], inputs, tape);
            for (output, target) in outputs.chunks_exact(width).zip(targets.chunks_exact(d)) {
                sum += varying.iter().map(|k| f64::from(output[*k] - target[*k]).powi(2)).sum::<f64>();
            }
        }
        sum / (rows.ended.len() * varying.len().max(1)) as f64
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::random::Random;

    use super::*;
    use crate::nn::check::{Map, check, config, normals};
    use crate::nn::{Activation, InputShape, LayerNorm};

    const ROWS: usize = 4;
    const NUMBERS: usize = 3;

    struct ModelLoss(Network);

    impl ModelLoss {
        fn both<F: Number>(&self, x: &[F]) -> (F, Vec<F>) {
            let lift = |x: Vec<f64>| x.into_iter().map(F::from_f64).collect::<Vec<F>>();
            let rows = ModelRows {
                inputs: lift(normals(ROWS * 5, 1)),
                targets: lift(normals(ROWS * NUMBERS, 2)),
                ended: lift(vec![0.0, 1.0, 0.0, 0.0]),
            };
            let likelihood = Likelihood { network: &self.0, deviations: &[1.0, 0.0, 2.0] };
            let mut memory = likelihood.memory(ROWS);
            (likelihood.add_gradient(x, &rows, &mut memory), memory.params_bar)
        }
    }

    impl Map for ModelLoss {
        fn groups(&self) -> Vec<(&'static str, usize)> {
            vec![("weight", self.0.num_params()), ("bound", 2 * NUMBERS)]
        }
        fn outputs(&self) -> usize {
            1
        }
        fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
            y[0] = self.both(x).0;
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
            x_bar.iter_mut().zip(self.both(x).1).for_each(|(to, g)| *to += g * y_bar[0]);
        }
    }

    #[test]
    fn likelihoods_pass_the_check() {
        let config = config(&[6], Activation::Silu, LayerNorm::None);
        let network = Network::new(InputShape::vector(5), Likelihood::outputs(NUMBERS), &config).unwrap();
        let mut x = network.init(&mut Random::new(3));
        x.extend([-1.0, -2.0, -3.0, 0.5, 0.3, 0.1]);
        check(&ModelLoss(network), &x);
    }

    #[test]
    fn variances_stay_between_their_bounds() {
        for raw in [-100.0, -3.0, 0.0, 3.0, 100.0] {
            let bounded = bounded(raw, -10.0, 0.5);
            assert!((-10.0..=0.5 + 3e-5).contains(&bounded), "{raw} {bounded}");
        }
    }
}
