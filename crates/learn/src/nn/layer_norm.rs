//! [`LayerNorm`]: rows of mean zero and variance one, then a learned scale and shift.
//!
//! x̂ = (x − mean) / √(variance + ε), y = x̂ · scale + shift. A constant row has x̂ = 0, and its pullback is finite.

use std::ops::Range;

use pullback_math::Real;
use serde::{Deserialize, Serialize};

use super::rows::registers;
use super::tensors::TensorList;
use crate::Number;

/// ε of the variance.
pub const EPSILON: f64 = 1e-5;

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
    /// Turns x into x̂, and returns 1 / √(variance + ε).
    #[inline(always)]
    pub fn row(&self, x: &mut [F::Lanes]) -> F {
        // mean = Σ x / n
        let mut sum = F::Lanes::zero();
        for x in x.iter() {
            sum += *x;
        }
        let mean = (F::sum(sum) * self.per_width).splat();
        // variance = Σ (x − mean)² / n
        let mut squares = F::Lanes::zero();
        for x in x.iter_mut() {
            *x -= mean;
        }
        if let Some(last) = x.last_mut() {
            *last *= self.mask;
        }
        for d in x.iter() {
            squares = d.mul_add(*d, squares);
        }
        let variance = F::sum(squares) * self.per_width;
        let inverse = F::one() / (variance + F::from_f64(EPSILON)).sqrt();
        let factor = inverse.splat();
        for x in x.iter_mut() {
            *x *= factor;
        }
        inverse
    }

    /// Turns ȳ into x̄, and adds to the cotangents of scale and shift.
    #[inline(always)]
    pub fn row_vjp(
        &self,
        x_hat: &[F::Lanes],
        inverse: F,
        scale: &[F::Lanes],
        bar: &mut [F::Lanes],
        scale_bar: &mut [F::Lanes],
        shift_bar: &mut [F::Lanes],
    ) {
        let n = bar.len();
        let (x_hat, scale, scale_bar, shift_bar) =
            (&x_hat[..n], &scale[..n], &mut scale_bar[..n], &mut shift_bar[..n]);
        // scale_bar += ȳ x̂, shift_bar += ȳ, x̂_bar = ȳ scale
        let (mut sum, mut along) = (F::Lanes::zero(), F::Lanes::zero());
        for j in 0..n {
            scale_bar[j] = bar[j].mul_add(x_hat[j], scale_bar[j]);
            shift_bar[j] += bar[j];
            bar[j] *= scale[j];
            sum += bar[j];
            along = bar[j].mul_add(x_hat[j], along);
        }
        // x̄ = (x̂_bar − mean(x̂_bar) − x̂ mean(x̂_bar x̂)) / √(variance + ε)
        let sum = (F::sum(sum) * self.per_width).splat();
        let along = (F::sum(along) * self.per_width).splat();
        let inverse = inverse.splat();
        for j in 0..n {
            bar[j] = (bar[j] - sum - x_hat[j] * along) * inverse;
        }
        if let Some(last) = bar.last_mut() {
            *last *= self.mask;
        }
    }
}
