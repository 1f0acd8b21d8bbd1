//! [`Encoder`]: features of a cloud of points and a vector beside it.
//!
//! The same layers run on every point; the average over points, which does not depend on their order, goes
//! through one more layer. The vector goes through a layer of its own, and both results stand side by side.
//! All layers are linear, normalized, then activated (SAPO's encoder of particles).
//!
//! Hundreds of points in each row would make the largest part of a tape. Points are taken in chunks instead:
//! the tape keeps their coordinates alone, and the pullback runs the layers of a chunk once more, in memory
//! that stays in the cache.

use pullback_core::random::Random;
use pullback_core::{ConfigError, Workspace};
use pullback_math::Real;
use serde::{Deserialize, Serialize};

use super::activation::Activation;
use super::init::Init;
use super::layer::{Layer, LayerTape};
use super::layer_norm::LayerNorm;
use super::linear::{Scratch, add, load};
use super::mlp::{Mlp, MlpTape};
use super::network::InputShape;
use super::rows::Rows;
use super::tensors::TensorList;
use crate::Number;

/// Points whose layers run at once.
const CHUNK: usize = 128;

/// Sizes of an encoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// Widths of the layers of each point.
    pub point_layers: Vec<usize>,
    /// Width of the layer after the average.
    pub point_output: usize,
    /// Width of the layer of the vector; without a vector there is none.
    pub vector_output: usize,
}

impl Default for EncoderConfig {
    /// SAPO's: 64, 128, 256, average, 64; beside it 128.
    fn default() -> Self {
        EncoderConfig { point_layers: vec![64, 128, 256], point_output: 64, vector_output: 128 }
    }
}

/// Layers for points and a vector.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub(super) input: InputShape,
    pub(super) points: Mlp,
    pub(super) pooled: Layer,
    pub(super) vector: Option<Layer>,
}

/// What the pullback of an encoder reads.
#[derive(Clone, Debug)]
pub struct EncoderTape<F: Number> {
    /// Coordinates of a chunk of points, and their cotangent.
    chunk: Rows<F>,
    chunk_bar: Rows<F>,
    points: MlpTape<F>,
    average: Rows<F>,
    average_bar: Rows<F>,
    pooled: LayerTape<F>,
    vector: Rows<F>,
    vector_bar: Rows<F>,
    vector_layer: Option<LayerTape<F>>,
}

impl<F: Number> Workspace for EncoderTape<F> {
    fn heap_bytes(&self) -> usize {
        let rows = [&self.chunk, &self.chunk_bar, &self.average, &self.average_bar];
        let rows = rows.into_iter().chain([&self.vector, &self.vector_bar]);
        let layers = self.points.heap_bytes() + self.pooled.heap_bytes() + self.vector_layer.heap_bytes();
        rows.map(Workspace::heap_bytes).sum::<usize>() + layers
    }
}

impl Encoder {
    /// Appends the tensors of the encoder.
    pub fn new(
        input: InputShape,
        config: &EncoderConfig,
        activation: Activation,
        tensors: &mut TensorList,
    ) -> Result<Self, ConfigError> {
        if input.points == 0 {
            return Err(ConfigError::new("encoder: the observation has no points; leave the encoder out"));
        }
        if config.point_layers.is_empty() {
            return Err(ConfigError::new("encoder.point_layers: needs at least one layer"));
        }
        let norm = LayerNorm::Before;
        let points = Mlp::new("encoder.points", 3, &config.point_layers, norm, activation, tensors);
        let shape = (points.outputs(), config.point_output);
        let pooled = Layer::new("encoder.pooled", shape, norm, activation, tensors);
        let vector = (input.vector > 0).then(|| {
            let shape = (input.vector, config.vector_output);
            Layer::new("encoder.vector", shape, norm, activation, tensors)
        });
        Ok(Encoder { input, points, pooled, vector })
    }

    /// Numbers put out for each row.
    pub fn outputs(&self) -> usize {
        self.pooled.shape().1 + self.vector.as_ref().map_or(0, |vector| vector.shape().1)
    }

    /// Inputs and outputs of all layers.
    pub fn shapes(&self) -> impl Iterator<Item = (usize, usize)> {
        let others = std::iter::once(&self.pooled).chain(&self.vector).map(Layer::shape);
        self.points.shapes().chain(others)
    }

    /// Fills the parameters.
    pub fn init(&self, init: Init, random: &mut Random, params: &mut [f64]) {
        self.points.init(init, random, params);
        self.pooled.init(init, random, params);
        if let Some(vector) = &self.vector {
            vector.init(init, random, params);
        }
    }

    /// Memory for `max_rows` rows.
    pub fn tape<F: Number>(&self, max_rows: usize) -> EncoderTape<F> {
        let average = self.points.outputs();
        let vector_rows = if self.vector.is_some() { max_rows } else { 0 };
        let chunk = CHUNK.min(max_rows * self.input.points);
        EncoderTape {
            chunk: Rows::new(chunk, 3),
            chunk_bar: Rows::new(chunk, 3),
            points: self.points.tape(chunk),
            average: Rows::new(max_rows, average),
            average_bar: Rows::new(max_rows, average),
            pooled: self.pooled.tape(max_rows),
            vector: Rows::new(vector_rows, self.input.vector),
            vector_bar: Rows::new(vector_rows, self.input.vector),
            vector_layer: self.vector.as_ref().map(|vector| vector.tape(max_rows)),
        }
    }

    /// Features of each row of `input`.
    pub fn forward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        input: &[F],
        tape: &mut EncoderTape<F>,
        scratch: &mut Scratch<F>,
        features: &mut Rows<F>,
    ) {
        // average = Σ features of points / points
        let registers = tape.average.registers();
        tape.average.lanes_mut()[..rows * registers].fill(F::Lanes::zero());
        for start in (0..rows * self.input.points).step_by(CHUNK) {
            let count = self.run_chunk(params, start, rows, input, tape, scratch);
            if let Some(output) = tape.points.output() {
                for i in 0..count {
                    let sum = tape.average.row_mut((start + i) / self.input.points);
                    sum.iter_mut().zip(output.row(i)).for_each(|(sum, x)| *sum += *x);
                }
            }
        }
        let share = F::from_f64(1.0 / self.input.points as f64).splat();
        tape.average.lanes_mut()[..rows * registers].iter_mut().for_each(|x| *x *= share);
        self.pooled.forward(params, rows, &tape.average, &mut tape.pooled, scratch);

        if let (Some(layer), Some(layer_tape)) = (&self.vector, &mut tape.vector_layer) {
            for (i, row) in input.chunks_exact(self.input.len()).enumerate() {
                load(&row[3 * self.input.points..], tape.vector.row_mut(i));
            }
            layer.forward(params, rows, &tape.vector, layer_tape, scratch);
        }

        // features = (pooled, vector)
        for i in 0..rows {
            let (pooled, vector) = features.numbers_mut(i).split_at_mut(self.pooled.shape().1);
            pooled.copy_from_slice(tape.pooled.output.numbers(i));
            if let Some(layer_tape) = &tape.vector_layer {
                vector.copy_from_slice(layer_tape.output.numbers(i));
            }
        }
    }

    /// Runs the layers of points on a chunk from point `start` of the batch on; returns how many points it has.
    fn run_chunk<F: Number>(
        &self,
        params: &[F],
        start: usize,
        rows: usize,
        input: &[F],
        tape: &mut EncoderTape<F>,
        scratch: &mut Scratch<F>,
    ) -> usize {
        let count = CHUNK.min(rows * self.input.points - start);
        for i in 0..count {
            let at = self.coordinates(start + i);
            load(&input[at..at + 3], tape.chunk.row_mut(i));
        }
        self.points.forward(params, count, &tape.chunk, &mut tape.points, scratch);
        count
    }

    /// Where the coordinates of a point of the batch begin in the input.
    fn coordinates(&self, point: usize) -> usize {
        point / self.input.points * self.input.len() + 3 * (point % self.input.points)
    }

    /// Adds to the cotangents of inputs and parameters.
    pub fn backward<F: Number>(
        &self,
        params: &[F],
        rows: usize,
        input: &[F],
        features_bar: &Rows<F>,
        tape: &mut EncoderTape<F>,
        (mut input_bar, mut params_bar): (Option<&mut [F]>, Option<&mut [F]>),
        scratch: &mut Scratch<F>,
    ) {
        for i in 0..rows {
            let (pooled, vector) = features_bar.numbers(i).split_at(self.pooled.shape().1);
            load(pooled, tape.pooled.bar.row_mut(i));
            if let Some(layer_tape) = &mut tape.vector_layer {
                load(vector, layer_tape.bar.row_mut(i));
            }
        }

        if let (Some(layer), Some(layer_tape)) = (&self.vector, &mut tape.vector_layer) {
            let x_bar = input_bar.is_some().then_some(&mut tape.vector_bar);
            let bars = params_bar.as_deref_mut();
            layer.backward(params, rows, &tape.vector, layer_tape, x_bar, bars, scratch);
            if let Some(input_bar) = input_bar.as_deref_mut() {
                for (i, row) in input_bar.chunks_exact_mut(self.input.len()).enumerate() {
                    add::<F>(tape.vector_bar.row(i), &mut row[3 * self.input.points..]);
                }
            }
        }

        let bars = params_bar.as_deref_mut();
        let average_bar = Some(&mut tape.average_bar);
        self.pooled.backward(params, rows, &tape.average, &mut tape.pooled, average_bar, bars, scratch);
        let share = F::from_f64(1.0 / self.input.points as f64).splat();
        for start in (0..rows * self.input.points).step_by(CHUNK) {
            let count = self.run_chunk(params, start, rows, input, tape, scratch);
            // The cotangent of each point's features is that of the average / points.
            if let Some((_, bar)) = tape.points.last_mut() {
                for i in 0..count {
                    let from = tape.average_bar.row((start + i) / self.input.points);
                    bar.row_mut(i).iter_mut().zip(from).for_each(|(bar, from)| *bar = *from * share);
                }
            }
            let EncoderTape { chunk, chunk_bar, points, .. } = tape;
            let x_bar = input_bar.is_some().then_some(&mut *chunk_bar);
            self.points.backward(params, count, chunk, points, x_bar, params_bar.as_deref_mut(), scratch);
            if let Some(input_bar) = input_bar.as_deref_mut() {
                for i in 0..count {
                    let at = self.coordinates(start + i);
                    add::<F>(chunk_bar.row(i), &mut input_bar[at..at + 3]);
                }
            }
        }
    }
}
