//! [`SineNetwork`]: one linear layer over sines of time under a tanh (gradSim's gear and walker).
//!
//! uᵢ = a tanh(Σₖ Wᵢₖ pₖ), pₖ = sin(ω t + 2πk/K).

use std::f64::consts::TAU;

use pullback_math::Real;

use super::Drive;
use crate::layout::Slice;

/// Most sines a network can have.
pub const MOST_PHASES: usize = 16;

/// Weights are parameters, `network.weight`, output after output.
#[derive(Clone, Debug)]
pub struct SineNetwork {
    /// Largest output a.
    amplitude: f64,
    /// Angular frequency ω, rad/s.
    frequency: f64,
    phases: usize,
    weights: Vec<f64>,
}

impl SineNetwork {
    /// A wave: output i starts as about a·sin(ω t + `lags[i]`), by Wᵢₖ = (2/K) cos(lagᵢ − 2πk/K). At least 3
    /// phases, at most [`MOST_PHASES`]; others are clamped.
    pub fn wave(amplitude: f64, frequency: f64, phases: usize, lags: &[f64]) -> Self {
        let phases = phases.clamp(3, MOST_PHASES);
        // Σₖ cos(lag − φₖ) sin(ωt + φₖ) = (K/2) sin(ωt + lag)
        let weight = |lag: f64, k: usize| 2.0 / phases as f64 * (lag - shift(k, phases)).cos();
        let weights = lags.iter().flat_map(|lag| (0..phases).map(move |k| weight(*lag, k))).collect();
        SineNetwork { amplitude, frequency, phases, weights }
    }

    /// pₖ and dpₖ/dt.
    fn sines<T: Real>(&self, time: T) -> ([T; MOST_PHASES], [T; MOST_PHASES]) {
        let (mut sines, mut slopes) = ([T::zero(); MOST_PHASES], [T::zero(); MOST_PHASES]);
        for k in 0..self.phases {
            let (sin, cos) = (time * T::lit(self.frequency) + T::lit(shift(k, self.phases))).sin_cos();
            (sines[k], slopes[k]) = (sin, cos * T::lit(self.frequency));
        }
        (sines, slopes)
    }
}

fn shift(k: usize, phases: usize) -> f64 {
    TAU * k as f64 / phases as f64
}

impl Drive for SineNetwork {
    fn outputs(&self) -> usize {
        self.weights.len() / self.phases
    }
    fn slice(&self) -> Slice {
        Slice::new("network.weight", self.weights.len(), "1").default(&self.weights)
    }

    fn eval<T: Real>(&self, params: &[T], time: T, out: &mut [T]) {
        let (p, _) = self.sines(time);
        for (u, weights) in out.iter_mut().zip(params.chunks_exact(self.phases)) {
            let mut sum = T::zero();
            for (w, p) in weights.iter().zip(&p) {
                sum += *w * *p;
            }
            *u = sum.tanh() * T::lit(self.amplitude);
        }
    }

    fn eval_vjp<T: Real>(&self, params: &[T], time: T, out_bar: &[T], params_bar: &mut [T]) -> T {
        let (p, p_dot) = self.sines(time);
        let mut time_bar = T::zero();
        let rows = params.chunks_exact(self.phases).zip(params_bar.chunks_exact_mut(self.phases));
        for (u_bar, (weights, bars)) in out_bar.iter().zip(rows) {
            let mut sum = T::zero();
            for (w, p) in weights.iter().zip(&p) {
                sum += *w * *p;
            }
            // W̄ᵢₖ += s̄ᵢ pₖ,  t̄ += s̄ᵢ Σₖ Wᵢₖ ṗₖ
            let sum_bar = sum.tanh_vjp(*u_bar * T::lit(self.amplitude));
            for k in 0..self.phases {
                bars[k] += sum_bar * p[k];
                time_bar += sum_bar * weights[k] * p_dot[k];
            }
        }
        time_bar
    }
}
