//! [`Mlp`]: hidden layers one after another.

use pullback_core::Workspace;
use pullback_core::random::Random;

use super::activation::Activation;
use super::init::Init;
use super::layer::{Layer, LayerTape};
use super::layer_norm::LayerNorm;
use super::linear::Scratch;
use super::rows::Rows;
use super::tensors::TensorList;
use crate::Number;

/// A chain of layers; an empty one passes its input on.
#[derive(Clone, Debug)]
pub struct Mlp {
    pub(super) layers: Vec<Layer>,
    inputs: usize,
}

/// What the pullback of a chain reads.
#[derive(Clone, Debug)]
pub struct MlpTape<F: Number> {
    layers: Vec<LayerTape<F>>,
}

impl<F: Number> MlpTape<F> {
    /// Output of the last layer; `None` if there are no layers.
    pub fn output(&self) -> Option<&Rows<F>> {
        self.layers.last().map(|last| &last.output)
    }
    /// Output of the last layer, and where its cotangent goes before `backward`.
    pub fn last_mut(&mut self) -> Option<(&mut Rows<F>, &mut Rows<F>)> {
        self.layers.last_mut().map(|last| (&mut last.output, &mut last.bar))
    }
}

impl<F: Number> Workspace for MlpTape<F> {
    fn heap_bytes(&self) -> usize {
        let own = self.layers.capacity() * size_of::<LayerTape<F>>();
        own + self.layers.iter().map(Workspace::heap_bytes).sum::<usize>()
    }
}

impl Mlp {
    /// Appends the tensors of layers of these widths: `{name}.0.weight`, …
    pub fn new(
        name: &str,
        inputs: usize,
        widths: &[usize],
        layer_norm: LayerNorm,
        activation: Activation,
        tensors: &mut TensorList,
    ) -> Self {
        let ends = std::iter::once(&inputs).chain(widths).zip(widths).enumerate();
        let layers = ends
            .map(|(i, (from, to))| {
                Layer::new(&format!("{name}.{i}"), (*from, *to), layer_norm, activation, tensors)
            })
            .collect();
        Mlp { layers, inputs }
    }

    /// Numbers the last layer puts out.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(self.inputs, |last| last.shape().1)
    }

    /// Inputs and outputs of the layers.
    pub fn shapes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.layers.iter().map(Layer::shape)
    }

    /// Fills the parameters.
    pub fn init(&self, init: Init, random: &mut Random, params: &mut [f64]) {
        self.layers.iter().for_each(|layer| layer.init(init, random, params));
    }

    /// Memory for `max_rows` rows.
    pub fn tape<F: Number>(&self, max_rows: usize) -> MlpTape<F> {
        MlpTape { layers: self.layers.iter().map(|layer| layer.tape(max_rows)).collect() }
    }

    /// Runs the layers on `rows` rows of x.
    pub fn forward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        tape: &mut MlpTape<F>,
        scratch: &mut Scratch<F>,
    ) {
        for (i, layer) in self.layers.iter().enumerate() {
            let (before, rest) = tape.layers.split_at_mut(i);
            let x = before.last().map_or(x, |previous| &previous.output);
            layer.forward(params, rows, x, &mut rest[0], scratch);
        }
    }

    /// Takes the cotangent of the output where [`MlpTape::last_mut`] says; writes that of x.
    pub fn backward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        x: &Rows<F>,
        tape: &mut MlpTape<F>,
        mut x_bar: Option<&mut Rows<F>>,
        mut params_bar: Option<&mut [F]>,
        scratch: &mut Scratch<F>,
    ) {
        for (i, layer) in self.layers.iter().enumerate().rev() {
            let (before, rest) = tape.layers.split_at_mut(i);
            let params_bar = params_bar.as_deref_mut();
            match before.last_mut() {
                Some(LayerTape { output, bar, .. }) => {
                    layer.backward(params, rows, output, &mut rest[0], Some(bar), params_bar, scratch);
                }
                None => {
                    layer.backward(params, rows, x, &mut rest[0], x_bar.take(), params_bar, scratch);
                }
            }
        }
    }
}
