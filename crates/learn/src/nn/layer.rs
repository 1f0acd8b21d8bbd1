//! [`Layer`]: a linear map, a normalization and an activation, in one pass over each row.

use pullback_core::Workspace;
use pullback_core::random::Random;
use pullback_math::Real;

use super::activation::Activation;
use super::init::Init;
use super::layer_norm::{BLOCK, LayerNorm, Norm};
use super::linear::{Linear, Scratch, add, load};
use super::rows::Rows;
use super::tensors::TensorList;
use crate::Number;

/// A hidden layer.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(super) linear: Linear,
    pub(super) norm: Option<(Order, Norm)>,
    pub(super) activation: Activation,
}

/// Where the normalization stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    BeforeActivation,
    AfterActivation,
}

/// What the pullback of a layer reads.
#[derive(Clone, Debug)]
pub struct LayerTape<F: Number> {
    /// x̂ of the normalization; empty without one.
    normalized: Rows<F>,
    /// 1 / √(variance + ε) of each row.
    inverse: Vec<F>,
    /// Slope of the activation.
    slope: Rows<F>,
    /// What the layer puts out.
    pub output: Rows<F>,
    /// Its cotangent, before `backward`; afterwards that of the linear map.
    pub bar: Rows<F>,
}

impl<F: Number> Workspace for LayerTape<F> {
    fn heap_bytes(&self) -> usize {
        let rows = [&self.normalized, &self.slope, &self.output, &self.bar];
        rows.iter().map(|rows| rows.heap_bytes()).sum::<usize>() + self.inverse.heap_bytes()
    }
}

impl Layer {
    /// Appends the tensors of the layer.
    pub fn new(
        name: &str,
        (inputs, outputs): (usize, usize),
        layer_norm: LayerNorm,
        activation: Activation,
        tensors: &mut TensorList,
    ) -> Self {
        let linear = Linear::new(name, inputs, outputs, tensors);
        let order = match layer_norm {
            LayerNorm::None => None,
            LayerNorm::Before => Some(Order::BeforeActivation),
            LayerNorm::After => Some(Order::AfterActivation),
        };
        let norm = order.map(|order| (order, Norm::new(&format!("{name}.norm"), outputs, tensors)));
        Layer { linear, norm, activation }
    }

    /// Inputs and outputs.
    pub fn shape(&self) -> (usize, usize) {
        self.linear.shape()
    }

    /// Fills the parameters.
    pub fn init(&self, init: Init, random: &mut Random, params: &mut [f64]) {
        self.linear.init(init, random, params);
        if let Some((_, norm)) = &self.norm {
            norm.init(params);
        }
    }

    /// Memory for `max_rows` rows.
    pub fn tape<F: Number>(&self, max_rows: usize) -> LayerTape<F> {
        let outputs = self.shape().1;
        let normed = if self.norm.is_some() { max_rows } else { 0 };
        LayerTape {
            normalized: Rows::new(normed, outputs),
            inverse: vec![F::zero(); normed],
            slope: Rows::new(max_rows, outputs),
            output: Rows::new(max_rows, outputs),
            bar: Rows::new(max_rows, outputs),
        }
    }

    /// `tape.output` of `rows` rows of x.
    pub fn forward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        tape: &mut LayerTape<F>,
        scratch: &mut Scratch<F>,
    ) {
        let LayerTape { normalized, inverse, slope, output, .. } = tape;
        let registers = output.registers();
        let Some((order, norm)) = &self.norm else {
            self.linear.forward(params, rows, x, output, scratch);
            let (output, slope) = (output.lanes_mut(), slope.lanes_mut());
            self.activation.in_place::<F>(&mut output[..rows * registers], slope);
            return;
        };
        self.linear.forward(params, rows, x, normalized, scratch);
        let [_, scale, shift, _] = &mut scratch.vectors;
        let (scale, shift) = (&mut scale[..registers], &mut shift[..registers]);
        load(&params[norm.scale.clone()], scale);
        load(&params[norm.shift.clone()], shift);
        let kernel = norm.kernel::<F>();

        // Blocks of rows: what goes in beside what comes out.
        let block = BLOCK * registers;
        let total = rows * registers;
        let blocks = normalized.lanes_mut()[..total].chunks_mut(block);
        let blocks = blocks.zip(inverse[..rows].chunks_mut(BLOCK));
        let outputs = output.lanes_mut().chunks_mut(block).zip(slope.lanes_mut().chunks_mut(block));
        for ((x, inverse), (y, slope)) in blocks.zip(outputs) {
            if *order == Order::AfterActivation {
                self.activation.in_place::<F>(x, slope);
            }
            kernel.rows(x, inverse);
            let rows = x.chunks_exact(registers).zip(y.chunks_exact_mut(registers));
            for ((x, y), slope) in rows.zip(slope.chunks_exact_mut(registers)) {
                let scaled = |j: usize| x[j].mul_add(scale[j], shift[j]);
                match order {
                    Order::BeforeActivation => self.activation.map::<F>(scaled, y, slope),
                    Order::AfterActivation => y.iter_mut().enumerate().for_each(|(j, y)| *y = scaled(j)),
                }
            }
        }
    }

    /// Takes the cotangent of the output from `tape.bar`; writes that of x, adds to those of parameters.
    pub fn backward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        tape: &mut LayerTape<F>,
        x_bar: Option<&mut Rows<F>>,
        mut params_bar: Option<&mut [F]>,
        scratch: &mut Scratch<F>,
    ) {
        let LayerTape { normalized, inverse, slope, bar, .. } = tape;
        let registers = bar.registers();
        let bars = &mut bar.lanes_mut()[..rows * registers];
        if let Some((order, norm)) = &self.norm {
            let [_, scale, scale_bar, shift_bar] = &mut scratch.vectors;
            let (scale, scale_bar, shift_bar) =
                (&mut scale[..registers], &mut scale_bar[..registers], &mut shift_bar[..registers]);
            load(&params[norm.scale.clone()], scale);
            scale_bar.fill(F::Lanes::zero());
            shift_bar.fill(F::Lanes::zero());
            let kernel = norm.kernel::<F>();

            // Blocks of rows: cotangents beside what the way forward kept.
            let block = BLOCK * registers;
            let blocks = bars.chunks_mut(block).zip(slope.lanes().chunks(block));
            let normalized = normalized.lanes().chunks(block).zip(inverse.chunks(BLOCK));
            for ((bars, slope), (x_hat, inverse)) in blocks.zip(normalized) {
                if *order == Order::BeforeActivation {
                    multiply(slope, bars);
                }
                kernel.rows_vjp(x_hat, inverse, scale, bars, scale_bar, shift_bar);
                if *order == Order::AfterActivation {
                    multiply(slope, bars);
                }
            }
            if let Some(params_bar) = params_bar.as_deref_mut() {
                add::<F>(scale_bar, &mut params_bar[norm.scale.clone()]);
                add::<F>(shift_bar, &mut params_bar[norm.shift.clone()]);
            }
        } else {
            multiply(slope.lanes(), bars);
        }
        self.linear.backward(params, rows, x, bar, x_bar, params_bar, scratch);
    }
}

/// bar ← slope · bar
#[inline(always)]
fn multiply<L: Real>(slope: &[L], bar: &mut [L]) {
    bar.iter_mut().zip(slope).for_each(|(bar, slope)| *bar *= *slope);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::check::{check_network, config, normals};
    use crate::nn::network::{InputShape, Network};

    const ACTIVATIONS: [Activation; 4] =
        [Activation::Elu, Activation::Silu, Activation::Tanh, Activation::Relu];
    const NORMS: [LayerNorm; 3] = [LayerNorm::None, LayerNorm::Before, LayerNorm::After];

    #[test]
    fn layers_of_all_kinds_pass_the_check() {
        for activation in ACTIVATIONS {
            for norm in NORMS {
                // Eleven numbers are more than one register of f64, and not two.
                check_network(InputShape::vector(3), 2, &config(&[11], activation, norm), 3);
            }
        }
    }

    /// ELU at 0 has slope 1; a constant row is normalized to zeros, with a finite pullback.
    #[test]
    fn singular_rows_have_finite_pullbacks() {
        for activation in ACTIVATIONS {
            for norm in NORMS {
                let network =
                    Network::new(InputShape::vector(3), 1, &config(&[4], activation, norm)).unwrap();
                let mut params = vec![0.0_f64; network.num_params()];
                let ones = network.tensors().iter().filter(|t| t.name.ends_with("weight"));
                ones.for_each(|t| params[t.range.clone()].fill(1.0));
                let mut tape = network.tape(1);
                let (mut x_bar, mut params_bar) = (vec![0.0; 3], vec![0.0; params.len()]);
                network.forward(&params, &[0.0; 3], &mut tape);
                network.backward(&params, &mut tape, &[1.0], Some(&mut x_bar), Some(&mut params_bar));
                assert!(x_bar.iter().chain(&params_bar).all(|b| b.is_finite()));
                if (activation, norm) == (Activation::Elu, LayerNorm::None) {
                    assert_eq!(x_bar, [4.0; 3]);
                }
            }
        }
    }

    /// A sum that is not a number must not be hidden by an activation.
    #[test]
    fn activations_pass_on_what_is_not_a_number() {
        for activation in ACTIVATIONS {
            for norm in NORMS {
                let network =
                    Network::new(InputShape::vector(2), 1, &config(&[4], activation, norm)).unwrap();
                let params: Vec<f32> = normals(network.num_params(), 1).iter().map(|p| *p as f32).collect();
                let y = network.forward(&params, &[f32::NAN, 1.0], &mut network.tape(1))[0];
                assert!(y.is_nan(), "{activation:?} {norm:?}: {y}");
            }
        }
    }
}
