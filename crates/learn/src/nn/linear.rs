//! [`Linear`]: y = W x + b for every row of a batch.

use std::ops::Range;

use pullback_core::Workspace;
use pullback_core::random::Random;
use pullback_math::Real;

use super::init::Init;
use super::product::{Left, Start, product};
use super::rows::{Rows, registers};
use super::tensors::TensorList;
use super::transpose::transpose;
use crate::Number;

/// A linear map with bias; the weight has a row for each output.
#[derive(Clone, Debug)]
pub struct Linear {
    inputs: usize,
    outputs: usize,
    pub(super) weight: Range<usize>,
    pub(super) bias: Range<usize>,
}

/// Memory that layers share: weights and gradients in rows of registers.
#[derive(Clone, Debug)]
pub struct Scratch<F: Number> {
    weight: Vec<F::Lanes>,
    gradient: Vec<F::Lanes>,
    pub(super) vectors: [Vec<F::Lanes>; 4],
}

impl<F: Number> Scratch<F> {
    /// Memory for layers that each have at most these `inputs` and `outputs`.
    pub fn new(layers: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (mut matrix, mut vector) = (0, 0);
        for (inputs, outputs) in layers {
            matrix = matrix.max(inputs * registers::<F>(outputs)).max(outputs * registers::<F>(inputs));
            vector = vector.max(registers::<F>(outputs));
        }
        let zeros = |n| vec![F::Lanes::zero(); n];
        Scratch {
            weight: zeros(matrix),
            gradient: zeros(matrix),
            vectors: std::array::from_fn(|_| zeros(vector)),
        }
    }
}

impl<F: Number> Workspace for Scratch<F> {
    fn heap_bytes(&self) -> usize {
        let vectors: usize = self.vectors.iter().map(Vec::capacity).sum();
        (self.weight.capacity() + self.gradient.capacity() + vectors) * size_of::<F::Lanes>()
    }
}

impl Linear {
    /// Appends weight and bias.
    pub fn new(name: &str, inputs: usize, outputs: usize, tensors: &mut TensorList) -> Self {
        let weight = tensors.push(format!("{name}.weight"), &[outputs, inputs]);
        let bias = tensors.push(format!("{name}.bias"), &[outputs]);
        Linear { inputs, outputs, weight, bias }
    }

    /// Inputs and outputs.
    pub fn shape(&self) -> (usize, usize) {
        (self.inputs, self.outputs)
    }

    /// Fills weight and bias.
    pub fn init(&self, init: Init, random: &mut Random, params: &mut [f64]) {
        let (weight, bias) = params[self.weight.start..self.bias.end].split_at_mut(self.weight.len());
        init.fill(self.inputs, weight, bias, random);
    }

    /// Y = X Wᵀ + 1 bᵀ for `rows` rows.
    pub fn forward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        y: &mut Rows<F>,
        scratch: &mut Scratch<F>,
    ) {
        if self.outputs == 1 {
            return self.forward_one(params, rows, x, y, scratch);
        }
        let registers = y.registers();
        transpose(&params[self.weight.clone()], self.inputs, y.stride(), F::numbers_mut(&mut scratch.weight));
        let bias = &mut scratch.vectors[0][..registers];
        load(&params[self.bias.clone()], bias);
        let a = Left::plain(F::numbers(x.lanes()), x.stride());
        let shape = (rows, self.inputs);
        product(shape, a, &scratch.weight, registers, Start::Row(bias), y.lanes_mut());
    }

    /// y = w · x + b: critics have one output, and a product would leave the rest of its register idle.
    fn forward_one<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        y: &mut Rows<F>,
        scratch: &mut Scratch<F>,
    ) {
        let weight = &mut scratch.weight[..x.registers()];
        load(&params[self.weight.clone()], weight);
        let bias = params[self.bias.start];
        for i in 0..rows {
            let terms = x.row(i).iter().zip(&*weight);
            let sum = terms.fold(F::Lanes::zero(), |sum, (x, w)| x.mul_add(*w, sum));
            y.numbers_mut(i)[0] = F::sum(sum) + bias;
        }
    }

    /// X̄ = Ȳ W; W̄ += Ȳᵀ X, b̄ += Σ ȳ.
    pub fn backward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        y_bar: &Rows<F>,
        x_bar: Option<&mut Rows<F>>,
        params_bar: Option<&mut [F]>,
        scratch: &mut Scratch<F>,
    ) {
        let bars = F::numbers(y_bar.lanes());
        if let Some(x_bar) = x_bar {
            let registers = x_bar.registers();
            let weight = params[self.weight.clone()].chunks_exact(self.inputs);
            for (row, padded) in weight.zip(scratch.weight.chunks_exact_mut(registers)) {
                load(row, padded);
            }
            let a = Left::plain(bars, y_bar.stride());
            let shape = (rows, self.outputs);
            product(shape, a, &scratch.weight, registers, Start::Zero, x_bar.lanes_mut());
        }
        if let Some(params_bar) = params_bar {
            let registers = x.registers();
            let a = Left::transposed(bars, y_bar.stride());
            let shape = (self.outputs, rows);
            product(shape, a, x.lanes(), registers, Start::Zero, &mut scratch.gradient);
            let weight_bar = params_bar[self.weight.clone()].chunks_exact_mut(self.inputs);
            for (bar, sum) in weight_bar.zip(scratch.gradient.chunks_exact(registers)) {
                add::<F>(sum, bar);
            }
            let sum = &mut scratch.vectors[0][..y_bar.registers()];
            sum.fill(F::Lanes::zero());
            for bars in y_bar.lanes().chunks_exact(y_bar.registers()).take(rows) {
                sum.iter_mut().zip(bars).for_each(|(sum, bar)| *sum += *bar);
            }
            add::<F>(sum, &mut params_bar[self.bias.clone()]);
        }
    }
}

/// Puts numbers into registers; their padding becomes zero.
#[inline(always)]
pub fn load<F: Number<Lanes = L>, L: Real>(numbers: &[F], lanes: &mut [L]) {
    let padded = F::numbers_mut(lanes);
    padded[..numbers.len()].copy_from_slice(numbers);
    padded[numbers.len()..].fill(F::zero());
}

/// Adds what registers hold to numbers.
#[inline(always)]
pub fn add<F: Number>(lanes: &[F::Lanes], numbers: &mut [F]) {
    for (number, lane) in numbers.iter_mut().zip(F::numbers(lanes)) {
        *number += *lane;
    }
}
