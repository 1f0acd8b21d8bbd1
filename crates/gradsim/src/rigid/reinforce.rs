//! REINFORCE over the mass (gradSim H.1): a search through a simulator that gives no gradient.

use pullback_core::random::Random;
use pullback_video::{Frame, VideoError};

use super::toss::Toss;

/// Table 5, and a rate, which the paper does not tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reinforce {
    /// Masses drawn at every step (5).
    pub samples: usize,
    /// Steps (125).
    pub steps: usize,
    /// Standard deviation of the masses drawn, kg (0.05).
    pub noise: f64,
    /// Factor of rewards after every step (0.925).
    pub decay: f64,
    /// Length of a step per unit of the gradient, kg² (0.01).
    pub rate: f64,
}

impl Default for Reinforce {
    fn default() -> Self {
        Reinforce { samples: 5, steps: 125, noise: 0.05, decay: 0.925, rate: 0.01 }
    }
}

/// The mass that is found from a guess (kg), by rewards −|I − I*| summed over frames and normalized in each step.
pub fn reinforce(
    toss: &Toss,
    video: &[Frame],
    guess: f64,
    config: Reinforce,
    seed: u64,
) -> Result<f64, VideoError> {
    let Reinforce { samples, steps, noise, decay, rate } = config;
    let (mut mean, mut random, mut scale) = (guess, Random::stream(4, &[seed]), 1.0);
    let frames: Vec<usize> = video.iter().map(|frame| frame.step).collect();
    for _ in 0..steps {
        let drawn: Vec<f64> = (0..samples).map(|_| (mean + noise * random.normal()).max(1e-3)).collect();
        let mut rewards = Vec::with_capacity(samples);
        for mass in &drawn {
            rewards.push(-distance(&toss.film(&toss.with_mass(*mass), &frames)?, video));
        }
        let center = rewards.iter().sum::<f64>() / samples as f64;
        let spread = rewards.iter().map(|r| (r - center).powi(2)).sum::<f64>() / samples as f64;
        // ∇ log p(m) = (m − mean) / σ²
        let gradient = drawn.iter().zip(&rewards).map(|(mass, reward)| {
            let normalized = (reward - center) / spread.sqrt().max(1e-12);
            scale * normalized * (mass - mean) / (noise * noise)
        });
        mean = (mean + rate * gradient.sum::<f64>() / samples as f64).max(1e-3);
        scale *= decay;
    }
    Ok(mean)
}

/// Σ over frames of the norm of the difference of the pictures.
fn distance(a: &[Frame], b: &[Frame]) -> f64 {
    let norm = |(a, b): (&Frame, &Frame)| {
        let colors = a.image.color.iter().zip(&b.image.color).map(|(a, b)| (*a - *b).norm_squared());
        let alphas = a.image.alpha.iter().zip(&b.image.alpha).map(|(a, b)| (a - b).powi(2));
        (colors.sum::<f64>() + alphas.sum::<f64>()).sqrt()
    };
    a.iter().zip(b).map(norm).sum()
}
