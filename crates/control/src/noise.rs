//! [`Noise`]: how samples differ from a plan, and streams of random numbers that no order changes.

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

/// The color of noise along the knots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Knots are independent.
    #[default]
    White,
    /// A random walk from knot to knot: slow motions, which muscles and heavy bodies follow (DiffMJX, section 6).
    Brown,
}

impl Noise {
    /// Fills `out`, knot after knot of `width` controls, with noise of mean square 1.
    pub fn fill(self, random: &mut Random, width: usize, out: &mut [f64]) {
        out.iter_mut().for_each(|x| *x = random.normal());
        if self == Noise::Brown && width > 0 {
            let knots = out.len() / width;
            // The variance of knot k is k + 1; its mean over the knots is (knots + 1)/2.
            let scale = (2.0 / (knots as f64 + 1.0)).sqrt();
            for i in width..out.len() {
                out[i] += out[i - width];
            }
            out.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

/// The random numbers of one sample of one round of one plan.
pub fn stream(seed: u64, round: usize, sample: usize) -> Random {
    let mixed = Random::new(seed).bits() ^ round as u64;
    Random::new(Random::new(mixed).bits() ^ sample as u64)
}
