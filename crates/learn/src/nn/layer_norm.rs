//! [`LayerNorm`]: rows of mean zero and variance one, then a learned scale and shift.
//!
//! x̂ = (x − mean) / √(variance + ε), y = x̂ · scale + shift. A constant row has x̂ = 0, and its pullback is
//! finite.

use std::ops::Range;

use pullback_math::Real;
use serde::{Deserialize, Serialize};

use super::rows::registers;
use super::tensors::TensorList;
use crate::Number;

/// ε of the variance.
pub const EPSILON: f64 = 1e-5;

/// Rows that are normalized together: few enough to stay in the nearest cache.
pub const BLOCK: usize = 16;

/// Where the rows of a hidden layer are normalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerNorm {
    /// Nowhere.
    #[default]
    None,
    /// Between the linear map and the activation.
    Before,
    /// After the activation.
    After,
}

/// The normalization of rows of one width.
#[derive(Clone, Debug)]
pub struct Norm {
    width: usize,
    pub(super) scale: Range<usize>,
    pub(super) shift: Range<usize>,
}

impl Norm {
    /// Appends scale and shift.
    pub fn new(name: &str, width: usize, tensors: &mut TensorList) -> Self {
        let scale = tensors.push(format!("{name}.weight"), &[width]);
        let shift = tensors.push(format!("{name}.bias"), &[width]);
        Norm { width, scale, shift }
    }

    /// Scale one, shift zero.
    pub fn init(&self, params: &mut [f64]) {
        params[self.scale.clone()].fill(1.0);
        params[self.shift.clone()].fill(0.0);
    }

    /// The kernel for numbers `F`.
    pub fn kernel<F: Number>(&self) -> NormKernel<F> {
        let lanes = F::Lanes::LANES;
        let last = self.width - (registers::<F>(self.width) - 1) * lanes;
        NormKernel {
            per_width: F::from_f64(1.0 / self.width as f64),
            mask: F::Lanes::from_lanes(|i| if i < last { 1.0 } else { 0.0 }),
        }
    }
}

/// Constants of the normalization of rows.
#[derive(Clone, Copy, Debug)]
pub struct NormKernel<F: Number> {
    per_width: F,
    /// One where the last register of a row holds numbers, zero in its padding.
    mask: F::Lanes,
}

impl<F: Number> NormKernel<F> {
    /// Turns rows x into x̂, and writes 1 / √(variance + ε) of each.
    ///
    /// One pass for each quantity: rows do not wait for each other's sums, and roots are taken of whole
    /// registers.
    #[inline(always)]
    pub fn rows(&self, x: &mut [F::Lanes], inverse: &mut [F]) {
        let registers = x.len() / inverse.len();
        // mean = Σ x / n
        for (x, mean) in x.chunks_exact(registers).zip(&mut *inverse) {
            let sum = x.iter().fold(F::Lanes::zero(), |sum, x| sum + *x);
            *mean = F::sum(sum) * self.per_width;
        }
        // variance = Σ (x − mean)² / n
        for (x, variance) in x.chunks_exact_mut(registers).zip(&mut *inverse) {
            let mean = variance.splat();
            x.iter_mut().for_each(|x| *x -= mean);
            if let Some(last) = x.last_mut() {
                *last *= self.mask;
            }
            let sum = x.iter().fold(F::Lanes::zero(), |sum, d| d.mul_add(*d, sum));
            *variance = F::sum(sum) * self.per_width;
        }
        for inverse in inverse.iter_mut() {
            *inverse = F::one() / (*inverse + F::from_f64(EPSILON)).sqrt();
        }
        // x̂ = (x − mean) / √(variance + ε)
        for (x, inverse) in x.chunks_exact_mut(registers).zip(inverse) {
            let factor = inverse.splat();
            x.iter_mut().for_each(|x| *x *= factor);
        }
    }

    /// Turns rows ȳ into x̄, and adds to the cotangents of scale and shift. At most [`BLOCK`] rows.
    #[inline(always)]
    pub fn rows_vjp(
        &self,
        x_hat: &[F::Lanes],
        inverse: &[F],
        scale: &[F::Lanes],
        bar: &mut [F::Lanes],
        scale_bar: &mut [F::Lanes],
        shift_bar: &mut [F::Lanes],
    ) {
        let registers = scale.len();
        // scale_bar += Σ ȳ x̂, shift_bar += Σ ȳ
        for (bar, x_hat) in bar.chunks_exact(registers).zip(x_hat.chunks_exact(registers)) {
            let sums = scale_bar.iter_mut().zip(&mut *shift_bar);
            for ((bar, x_hat), (scale_bar, shift_bar)) in bar.iter().zip(x_hat).zip(sums) {
                *scale_bar = bar.mul_add(*x_hat, *scale_bar);
                *shift_bar += *bar;
            }
        }
        // x̂_bar = ȳ scale, its mean, and mean(x̂_bar x̂)
        let mut means = [[F::zero(); 2]; BLOCK];
        let rows = bar.chunks_exact_mut(registers).zip(x_hat.chunks_exact(registers));
        for ((bar, x_hat), means) in rows.zip(&mut means) {
            let (mut sum, mut along) = (F::Lanes::zero(), F::Lanes::zero());
            for ((bar, x_hat), scale) in bar.iter_mut().zip(x_hat).zip(scale) {
                *bar *= *scale;
                sum += *bar;
                along = bar.mul_add(*x_hat, along);
            }
            *means = [F::sum(sum) * self.per_width, F::sum(along) * self.per_width];
        }
        // x̄ = (x̂_bar − mean(x̂_bar) − x̂ mean(x̂_bar x̂)) / √(variance + ε)
        let rows = bar.chunks_exact_mut(registers).zip(x_hat.chunks_exact(registers));
        for (((bar, x_hat), [sum, along]), inverse) in rows.zip(means).zip(inverse) {
            let (sum, along, inverse) = (sum.splat(), along.splat(), inverse.splat());
            for (bar, x_hat) in bar.iter_mut().zip(x_hat) {
                *bar = (*bar - sum - *x_hat * along) * inverse;
            }
            if let Some(last) = bar.last_mut() {
                *last *= self.mask;
            }
        }
    }
}
