//! [`Init`]: how weights of linear layers begin.

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

/// How weights and biases of all linear layers begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Init {
    /// Weights and biases uniform within ±1/√inputs, as PyTorch begins.
    #[default]
    Default,
    /// Weights with orthonormal rows or columns, whichever are fewer, times a gain; biases zero.
    Orthogonal {
        /// Factor of the orthogonal matrix.
        gain: f64,
    },
}

impl Init {
    /// Fills a weight of `outputs` by `inputs` and its bias.
    pub fn fill(self, inputs: usize, weight: &mut [f64], bias: &mut [f64], random: &mut Random) {
        match self {
            Init::Default => {
                let bound = 1.0 / (inputs as f64).sqrt();
                weight.iter_mut().chain(bias).for_each(|w| *w = random.uniform(-bound, bound));
            }
            Init::Orthogonal { gain } => {
                let outputs = weight.len() / inputs;
                let (count, length) = (outputs.min(inputs), outputs.max(inputs));
                let basis = orthonormal(count, length, random);
                for (n, w) in weight.iter_mut().enumerate() {
                    let (i, j) = (n / inputs, n % inputs);
                    *w = gain * if outputs <= inputs { basis[i][j] } else { basis[j][i] };
                }
                bias.fill(0.0);
            }
        }
    }
}

/// `count` orthonormal vectors, uniformly distributed: the factor Q of a Gaussian matrix whose R has a positive
/// diagonal. By Gram and Schmidt, each projection done twice, which leaves round-off alone.
fn orthonormal(count: usize, length: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    for _ in 0..count {
        let mut v: Vec<f64> = (0..length).map(|_| random.normal()).collect();
        for q in basis.iter().chain(&basis) {
            let along = dot(q, &v);
            v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
        }
        let norm = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|v| *v /= norm);
        basis.push(v);
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W Wᵀ = gain² I for wide weights, Wᵀ W for tall ones.
    #[test]
    fn orthogonal_weights_have_orthonormal_sides() {
        for (outputs, inputs) in [(5, 9), (9, 5), (7, 7)] {
            let (mut weight, mut bias) = (vec![0.0; outputs * inputs], vec![1.0; outputs]);
            let mut random = Random::new(3);
            Init::Orthogonal { gain: 2.0 }.fill(inputs, &mut weight, &mut bias, &mut random);
            assert!(bias.iter().all(|b| *b == 0.0));
            let n = outputs.min(inputs);
            let side = |i: usize| -> Vec<f64> {
                if outputs <= inputs {
                    weight[i * inputs..][..inputs].to_vec()
                } else {
                    weight.iter().skip(i).step_by(inputs).copied().collect()
                }
            };
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = side(i).iter().zip(side(j)).map(|(a, b)| a * b).sum();
                    assert!((product - if i == j { 4.0 } else { 0.0 }).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn default_weights_fill_their_bounds() {
        let (mut weight, mut bias) = (vec![0.0; 1600], vec![0.0; 100]);
        Init::Default.fill(16, &mut weight, &mut bias, &mut Random::new(1));
        let largest = weight.iter().chain(&bias).fold(0.0, |m: f64, w| m.max(w.abs()));
        assert!(largest < 0.25 && largest > 0.249, "{largest}");
    }
}
