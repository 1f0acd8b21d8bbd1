//! REINFORCE (Williams 1992) as gradSim's appendix H.1 uses it: a mass from rewards of sampled masses, without gradients of
//! the simulation.
//!
//! Masses m_i ~ N(μ, σ²) are rolled out; with rewards R_i normalized over the samples and multiplied by a decay that falls
//! from step to step, μ ← μ + η Σ R_i (m_i − μ)/σ² / n.

use pullback_core::random::Random;

use crate::experiment::ExperimentError;

/// Table 5: samples of a step, steps, σ in kg, and the factor of the decay.
const SAMPLES: usize = 5;
pub const STEPS: usize = 125;
const NOISE: f64 = 0.05;
const DECAY: f64 = 0.925;
/// η, which the paper does not name, kg².
pub const RATE: f64 = 0.01;
/// Masses are at least this, kg.
const LEAST: f64 = 1e-3;

/// The mean of the masses after the last step; `loss` is the sum of the squared differences of the frames.
pub fn reinforce(
    start: f64,
    random: &mut Random,
    mut loss: impl FnMut(f64) -> Result<f64, ExperimentError>,
) -> Result<f64, ExperimentError> {
    let (mut mean, mut decay) = (start, 1.0);
    for _ in 0..STEPS {
        let masses: [f64; SAMPLES] = std::array::from_fn(|_| (mean + NOISE * random.normal()).max(LEAST));
        let mut rewards = [0.0; SAMPLES];
        for (reward, mass) in rewards.iter_mut().zip(masses) {
            *reward = -loss(mass)?;
        }
        let advantages = normalized(rewards);
        let slope: f64 = advantages.iter().zip(masses).map(|(r, m)| r * (m - mean) / NOISE.powi(2)).sum();
        mean = (mean + RATE * decay * slope / SAMPLES as f64).max(LEAST);
        decay *= DECAY;
    }
    Ok(mean)
}

/// With mean 0 and standard deviation 1; zero where all are equal.
fn normalized(rewards: [f64; SAMPLES]) -> [f64; SAMPLES] {
    let mean = rewards.iter().sum::<f64>() / SAMPLES as f64;
    let spread = (rewards.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / SAMPLES as f64).sqrt();
    rewards.map(|r| if spread > 0.0 { (r - mean) / spread } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_moves_toward_the_highest_reward() {
        let found = reinforce(1.0, &mut Random::new(1), |m| Ok((m - 1.3).powi(2))).unwrap();
        assert!((found - 1.3).abs() < 0.1, "{found}");
    }
}
