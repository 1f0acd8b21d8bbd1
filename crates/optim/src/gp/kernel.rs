//! Kernels of the Gaussian process, and the points they are taken between.
//!
//! Both kernels are functions k = σ² κ(s) of the scaled squared distance s = Σ ((x − x')/ℓ)², with a length
//! scale ℓ for every variable. So one derivative, dκ/ds, gives those in the inputs, ∂k/∂x = σ² κ' 2 (x −
//! x')/ℓ², and in the length scales, ∂k/∂ln ℓ = −σ² κ' 2 (x − x')²/ℓ². In s both kernels are smooth where the
//! points meet, so there is nothing to divide by.
//!
//! Points are kept variable by variable, which lets every loop below run over contiguous lists; the
//! exponential is a polynomial without branches for the same reason.

use serde::{Deserialize, Serialize};

/// Covariance as a function of distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kernel {
    /// κ = e^(−s/2), infinitely smooth: BO-Leap's.
    SquaredExponential,
    /// κ = (1 + √(5s) + 5s/3) e^(−√(5s)), twice differentiable.
    Matern52,
}

impl Kernel {
    /// κ(s) and dκ/ds.
    pub fn shape(self, s: f64) -> (f64, f64) {
        match self {
            Kernel::SquaredExponential => {
                let e = exp_negative(-0.5 * s);
                (e, -0.5 * e)
            }
            Kernel::Matern52 => {
                let a = (5.0 * s).sqrt();
                let e = exp_negative(-a);
                ((1.0 + a + a * a * (1.0 / 3.0)) * e, -(5.0 / 6.0) * (1.0 + a) * e)
            }
        }
    }

    /// d²κ/ds².
    pub fn second(self, s: f64) -> f64 {
        match self {
            Kernel::SquaredExponential => 0.25 * exp_negative(-0.5 * s),
            Kernel::Matern52 => (25.0 / 12.0) * exp_negative(-(5.0 * s).sqrt()),
        }
    }

    /// s ← σ² κ(s), and `slope` ← σ² κ'(s).
    pub fn apply(self, signal: f64, s: &mut [f64], slope: &mut [f64]) {
        match self {
            Kernel::SquaredExponential => apply(s, slope, signal, |s| Kernel::SquaredExponential.shape(s)),
            Kernel::Matern52 => apply(s, slope, signal, |s| Kernel::Matern52.shape(s)),
        }
    }

    /// s ← σ² κ(s).
    pub(crate) fn apply_value(self, signal: f64, s: &mut [f64]) {
        match self {
            Kernel::SquaredExponential => {
                s.iter_mut().for_each(|s| *s = signal * Kernel::SquaredExponential.shape(*s).0);
            }
            Kernel::Matern52 => s.iter_mut().for_each(|s| *s = signal * Kernel::Matern52.shape(*s).0),
        }
    }
}

#[inline(always)]
fn apply(s: &mut [f64], slope: &mut [f64], signal: f64, shape: impl Fn(f64) -> (f64, f64)) {
    for (s, slope) in s.iter_mut().zip(slope) {
        let (k, dk) = shape(*s);
        (*s, *slope) = (signal * k, signal * dk);
    }
}

/// e^x for x ≤ 0, to 1e-15 of itself; e^−700 below that.
#[inline(always)]
fn exp_negative(x: f64) -> f64 {
    // Adding 3·2⁵¹ rounds to an integer and leaves it in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let x = x.max(-700.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // e^x = 2ⁿ e^r, |r| ≤ ln 2 / 2
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    const INVERSE_FACTORIALS: [f64; 13] = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let mut sum = 0.0;
    for c in INVERSE_FACTORIALS {
        sum = sum * r + c;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// A growing set of points, one list per variable.
#[derive(Clone, Debug, Default)]
pub struct Points {
    coordinates: Vec<Vec<f64>>,
    len: usize,
}

impl Points {
    /// No points yet, of `dim` variables.
    pub fn new(dim: usize) -> Self {
        Points { coordinates: vec![Vec::new(); dim], len: 0 }
    }
    /// Adds a point.
    pub fn push(&mut self, z: &[f64]) {
        for (list, z) in self.coordinates.iter_mut().zip(z) {
            list.push(*z);
        }
        self.len += 1;
    }
    /// Number of points.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Number of variables.
    pub fn dim(&self) -> usize {
        self.coordinates.len()
    }
    /// One point.
    pub fn get(&self, i: usize) -> Vec<f64> {
        self.coordinates.iter().map(|list| list[i]).collect()
    }
    /// One variable of all points.
    pub fn coordinate(&self, k: usize) -> &[f64] {
        &self.coordinates[k]
    }
    /// Some of the points.
    pub fn subset(&self, which: &[usize]) -> Points {
        let choose = |list: &Vec<f64>| which.iter().map(|i| list[*i]).collect();
        Points { coordinates: self.coordinates.iter().map(choose).collect(), len: which.len() }
    }

    /// s = Σ ((x − at)/ℓ)² of the points from `first` on.
    pub fn squares(&self, first: usize, at: &[f64], scales: &[f64], s: &mut [f64]) {
        s.fill(0.0);
        for ((list, at), scale) in self.coordinates.iter().zip(at).zip(scales) {
            let weight = 1.0 / scale;
            for (s, x) in s.iter_mut().zip(&list[first..]) {
                let r = (x - at) * weight;
                *s += r * r;
            }
        }
    }
}

/// Σ term(a, b) with eight partial sums, which the compiler keeps in one register.
#[inline(always)]
fn sum(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += term(*a, *b);
        }
    }
    let rest = n - n % 8;
    let tail: f64 = a[rest..].iter().zip(&b[rest..]).map(|(a, b)| term(*a, *b)).sum();
    sums.iter().sum::<f64>() + tail
}

/// aᵀb.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| a * b)
}

/// Σ w (x − at)².
pub(crate) fn weighted_squares(w: &[f64], x: &[f64], at: f64) -> f64 {
    sum(w, x, |w, x| w * ((x - at) * (x - at)))
}

/// Σ w (at − x).
pub(crate) fn weighted_differences(w: &[f64], x: &[f64], at: f64) -> f64 {
    sum(w, x, |w, x| w * (at - x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_agrees_with_the_library() {
        for i in 0..20_000 {
            let x = -0.035 * f64::from(i);
            let off = (exp_negative(x) - x.exp()).abs();
            assert!(off <= 1e-15 * x.exp(), "{x}: {off}");
        }
        assert_eq!(exp_negative(0.0), 1.0);
        assert!(exp_negative(-1e9) < 1e-300);
    }

    #[test]
    fn slopes_are_the_derivatives_of_the_shapes() {
        for kernel in [Kernel::SquaredExponential, Kernel::Matern52] {
            assert_eq!(kernel.shape(0.0).0, 1.0);
            for s in [1e-3, 0.1, 1.0, 3.0, 20.0] {
                let h = 1e-5 * s;
                let (ahead, back) = (kernel.shape(s + h).0, kernel.shape(s - h).0);
                let (numeric, own) = ((ahead - back) / (2.0 * h), kernel.shape(s).1);
                assert!(
                    (numeric - own).abs() < 1e-8 * own.abs().max(1e-2),
                    "{kernel:?} {s}: {numeric} {own}"
                );
            }
        }
        // Known values at distance 1: e^(−1/2), and (1 + √5 + 5/3) e^(−√5).
        assert!((Kernel::SquaredExponential.shape(1.0).0 - 0.606_530_659_712_633).abs() < 1e-14);
        assert!((Kernel::Matern52.shape(1.0).0 - 0.523_994_108_831_820_9).abs() < 1e-14);
    }
}
