//! [`Network`]: hidden layers and a linear output, with an encoder before them where there are points.
//!
//! A network is a description. Its parameters are one flat vector, so optimizers, checkpoints and gradient
//! checks see a vector. What the pullback reads is in a [`Tape`], made once; neither way allocates.

use pullback_core::random::Random;
use pullback_core::settings::check_memory;
use pullback_core::{ConfigError, Workspace};
use serde::{Deserialize, Serialize};

use super::activation::Activation;
use super::encoder::{Encoder, EncoderConfig, EncoderTape};
use super::init::Init;
use super::layer_norm::LayerNorm;
use super::linear::{Linear, Scratch, add, load};
use super::mlp::{Mlp, MlpTape};
use super::rows::Rows;
use super::tensors::{Tensor, TensorList};
use crate::Number;

/// Sizes and functions of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Activation of all hidden layers.
    pub activation: Activation,
    /// Where rows of hidden layers are normalized.
    #[serde(default)]
    pub layer_norm: LayerNorm,
    /// How linear layers begin.
    #[serde(default)]
    pub init: Init,
    /// What reads points; without it they are numbers as any others.
    #[serde(default)]
    pub encoder: Option<EncoderConfig>,
}

/// Parts of a row of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputShape {
    /// Points, three numbers each, first in the row.
    pub points: usize,
    /// Numbers after the points.
    pub vector: usize,
}

impl InputShape {
    /// A row without points.
    pub fn vector(numbers: usize) -> Self {
        InputShape { points: 0, vector: numbers }
    }
    /// Numbers of a row.
    pub fn len(&self) -> usize {
        3 * self.points + self.vector
    }
    /// Whether a row has no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The description of a network.
#[derive(Clone, Debug)]
pub struct Network {
    pub(super) input: InputShape,
    init: Init,
    pub(super) encoder: Option<Encoder>,
    pub(super) hidden: Mlp,
    pub(super) output: Linear,
    tensors: TensorList,
}

/// What the pullback of a network reads, and memory of both ways.
#[derive(Clone, Debug)]
pub struct Tape<F: Number> {
    max_rows: usize,
    /// Rows of the last `forward`.
    rows: usize,
    /// The input as given, for the encoder; empty without one.
    input: Vec<F>,
    encoder: Option<EncoderTape<F>>,
    /// What enters the hidden layers.
    features: Rows<F>,
    features_bar: Rows<F>,
    hidden: MlpTape<F>,
    output: Rows<F>,
    output_bar: Rows<F>,
    /// Outputs without padding.
    dense: Vec<F>,
    scratch: Scratch<F>,
}

impl<F: Number> Tape<F> {
    /// Rows of the last `forward`.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Largest number of rows.
    pub fn max_rows(&self) -> usize {
        self.max_rows
    }
    /// Outputs of the last `forward`, row after row.
    pub fn output(&self) -> &[F] {
        &self.dense[..self.rows * self.output.columns()]
    }
}

impl<F: Number> Workspace for Tape<F> {
    fn heap_bytes(&self) -> usize {
        let rows = [&self.features, &self.features_bar, &self.output, &self.output_bar];
        let rows: usize = rows.iter().map(|rows| rows.heap_bytes()).sum();
        let numbers = self.input.heap_bytes() + self.dense.heap_bytes();
        numbers + rows + self.encoder.heap_bytes() + self.hidden.heap_bytes() + self.scratch.heap_bytes()
    }
}

impl Network {
    /// The network for rows of `input`, with `outputs` numbers for each.
    pub fn new(input: InputShape, outputs: usize, config: &NetworkConfig) -> Result<Self, ConfigError> {
        if input.is_empty() {
            return Err(ConfigError::new("network: rows of inputs have no numbers"));
        }
        if outputs == 0 {
            return Err(ConfigError::new("network: needs at least one output"));
        }
        let encoder = config.encoder.as_ref();
        let sizes = encoder.map(|e| e.point_layers.iter().chain([&e.point_output, &e.vector_output]));
        if config.hidden.iter().chain(sizes.into_iter().flatten()).any(|width| *width == 0) {
            return Err(ConfigError::new("network: a layer of width 0; leave it out"));
        }

        // Numbers of the widest matrices; a network and what it learns with keep several of each.
        let widths = [&[input.len()], &config.hidden[..], &[outputs]].concat();
        let encoder_widths =
            encoder.map_or(Vec::new(), |e| [&[3], &e.point_layers[..], &[e.point_output]].concat());
        let numbers = [widths, encoder_widths];
        let numbers = numbers.iter().flat_map(|widths| widths.windows(2)).map(|w| w[0] as f64 * w[1] as f64);
        check_memory("network", "hidden", 4.0 * size_of::<f32>() as f64 * numbers.sum::<f64>())?;

        let mut tensors = TensorList::default();
        let encoder = config
            .encoder
            .as_ref()
            .map(|encoder| Encoder::new(input, encoder, config.activation, &mut tensors))
            .transpose()?;
        let features = encoder.as_ref().map_or(input.len(), Encoder::outputs);
        let hidden =
            Mlp::new("hidden", features, &config.hidden, config.layer_norm, config.activation, &mut tensors);
        let output = Linear::new("output", hidden.outputs(), outputs, &mut tensors);
        Ok(Network { input, init: config.init, encoder, hidden, output, tensors })
    }

    /// Length of the flat vector of parameters.
    pub fn num_params(&self) -> usize {
        self.tensors.num_params()
    }
    /// Where tensors lie in the flat vector.
    pub fn tensors(&self) -> &[Tensor] {
        self.tensors.as_slice()
    }
    /// Numbers in a row of inputs.
    pub fn inputs(&self) -> usize {
        self.input.len()
    }
    /// Parts of a row of inputs.
    pub fn input_shape(&self) -> InputShape {
        self.input
    }
    /// Numbers in a row of outputs.
    pub fn outputs(&self) -> usize {
        self.output.shape().1
    }

    /// Parameters to begin with.
    pub fn init(&self, random: &mut Random) -> Vec<f64> {
        let mut params = vec![0.0; self.num_params()];
        if let Some(encoder) = &self.encoder {
            encoder.init(self.init, random, &mut params);
        }
        self.hidden.init(self.init, random, &mut params);
        self.output.init(self.init, random, &mut params);
        params
    }

    /// Memory for batches of at most `max_rows` rows.
    pub fn tape<F: Number>(&self, max_rows: usize) -> Tape<F> {
        let features = self.encoder.as_ref().map_or(self.inputs(), Encoder::outputs);
        let encoded = if self.encoder.is_some() { max_rows } else { 0 };
        let encoder_shapes = self.encoder.iter().flat_map(Encoder::shapes);
        Tape {
            max_rows,
            rows: 0,
            input: vec![F::zero(); encoded * self.inputs()],
            encoder: self.encoder.as_ref().map(|encoder| encoder.tape(max_rows)),
            features: Rows::new(max_rows, features),
            features_bar: Rows::new(max_rows, features),
            hidden: self.hidden.tape(max_rows),
            output: Rows::new(max_rows, self.outputs()),
            output_bar: Rows::new(max_rows, self.outputs()),
            dense: vec![F::zero(); max_rows * self.outputs()],
            scratch: Scratch::new(encoder_shapes.chain(self.hidden.shapes()).chain([self.output.shape()])),
        }
    }

    /// Outputs of each row of `input`.
    ///
    /// Panics where the lengths do not fit: `input` is whole rows, at most as many as the tape holds.
    pub fn forward<'t, F: Number>(&self, params: &[F], input: &[F], tape: &'t mut Tape<F>) -> &'t [F] {
        let rows = input.len() / self.inputs();
        assert_eq!(params.len(), self.num_params(), "parameters of the network");
        assert_eq!(input.len(), rows * self.inputs(), "inputs are not whole rows of {}", self.inputs());
        assert!(rows <= tape.max_rows, "{rows} rows on a tape for {}", tape.max_rows);
        tape.rows = rows;
        let Tape { encoder: encoder_tape, features, hidden, output, scratch, .. } = tape;
        match (&self.encoder, encoder_tape) {
            (Some(encoder), Some(encoder_tape)) => {
                tape.input[..input.len()].copy_from_slice(input);
                encoder.forward(params, rows, input, encoder_tape, scratch, features);
            }
            _ => {
                for (i, row) in input.chunks_exact(self.inputs()).enumerate() {
                    features.numbers_mut(i).copy_from_slice(row);
                }
            }
        }
        self.hidden.forward(params, rows, features, hidden, scratch);
        self.output.forward(params, rows, hidden.output().unwrap_or(features), output, scratch);
        for (i, row) in tape.dense.chunks_exact_mut(self.outputs()).take(rows).enumerate() {
            row.copy_from_slice(output.numbers(i));
        }
        &tape.dense[..rows * self.outputs()]
    }

    /// Adds to the cotangents of inputs and parameters of the last `forward`.
    ///
    /// Panics where the lengths do not fit.
    pub fn backward<F: Number>(
        &self,
        params: &[F],
        tape: &mut Tape<F>,
        output_bar: &[F],
        input_bar: Option<&mut [F]>,
        mut params_bar: Option<&mut [F]>,
    ) {
        let rows = tape.rows;
        assert_eq!(params.len(), self.num_params(), "parameters of the network");
        assert_eq!(output_bar.len(), rows * self.outputs(), "cotangents of the outputs");
        if let Some(bar) = &params_bar {
            assert_eq!(bar.len(), self.num_params(), "cotangents of the parameters");
        }
        if let Some(bar) = &input_bar {
            assert_eq!(bar.len(), rows * self.inputs(), "cotangents of the inputs");
        }
        let Tape { encoder: encoder_tape, features, features_bar, hidden, scratch, .. } = tape;
        for (i, row) in output_bar.chunks_exact(self.outputs()).enumerate() {
            load(row, tape.output_bar.row_mut(i));
        }

        // The features need a cotangent where an encoder or the caller asks for it.
        let wanted = input_bar.is_some() || self.encoder.is_some();
        let bars = params_bar.as_deref_mut();
        let mut x_bar = wanted.then_some(&mut *features_bar);
        let (x, last_bar) = match hidden.last_mut() {
            Some((output, bar)) => (&*output, Some(bar)),
            None => (&*features, x_bar.take()),
        };
        self.output.backward(params, rows, x, &tape.output_bar, last_bar, bars, scratch);
        let bars = params_bar.as_deref_mut();
        self.hidden.backward(params, rows, features, hidden, x_bar, bars, scratch);

        match (&self.encoder, encoder_tape) {
            (Some(encoder), Some(encoder_tape)) => {
                let input = &tape.input[..rows * self.inputs()];
                let bars = (input_bar, params_bar);
                encoder.backward(params, rows, input, features_bar, encoder_tape, bars, scratch);
            }
            _ => {
                for (i, bar) in
                    input_bar.into_iter().flat_map(|b| b.chunks_exact_mut(self.inputs())).enumerate()
                {
                    add::<F>(features_bar.row(i), bar);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::check::{check_network, config, normals};

    #[test]
    fn a_linear_network_passes_the_check() {
        check_network(InputShape::vector(9), 3, &config(&[], Activation::Elu, LayerNorm::None), 5);
    }

    #[test]
    fn a_deep_network_passes_the_check() {
        check_network(InputShape::vector(5), 2, &config(&[9, 8, 4], Activation::Silu, LayerNorm::Before), 3);
    }

    #[test]
    fn an_encoder_passes_the_check() {
        let encoder = EncoderConfig { point_layers: vec![4, 5], point_output: 3, vector_output: 4 };
        let config = NetworkConfig {
            encoder: Some(encoder),
            init: Init::Orthogonal { gain: 1.0 },
            ..config(&[6], Activation::Silu, LayerNorm::Before)
        };
        check_network(InputShape { points: 4, vector: 2 }, 2, &config, 2);
        check_network(InputShape { points: 3, vector: 0 }, 1, &config, 2);
    }

    /// Chunks of points that straddle rows give what rows give one by one.
    #[test]
    fn many_points_are_averaged_row_by_row() {
        let config = NetworkConfig {
            encoder: Some(EncoderConfig { point_layers: vec![8], point_output: 4, vector_output: 4 }),
            ..config(&[8], Activation::Silu, LayerNorm::Before)
        };
        let network = Network::new(InputShape { points: 100, vector: 3 }, 2, &config).unwrap();
        let params = network.init(&mut Random::new(1));
        let input = normals(5 * network.inputs(), 2);
        let (mut whole, mut single) = (network.tape(5), network.tape(1));
        let (mut bar, mut bar_single) = (vec![0.0; params.len()], vec![0.0; params.len()]);
        let y = network.forward(&params, &input, &mut whole).to_vec();
        network.backward(&params, &mut whole, &[1.0; 10], None, Some(&mut bar));
        for (i, row) in input.chunks_exact(network.inputs()).enumerate() {
            let y_single = network.forward(&params, row, &mut single);
            y_single.iter().zip(&y[2 * i..]).for_each(|(a, b)| assert!((a - b).abs() < 1e-13));
            network.backward(&params, &mut single, &[1.0; 2], None, Some(&mut bar_single));
        }
        bar.iter().zip(&bar_single).for_each(|(a, b)| assert!((a - b).abs() < 1e-11));
    }

    /// Values and gradients of `f32` are those of `f64` to 10⁻⁵, and the same bits at every run.
    #[test]
    fn single_precision_follows_double() {
        let encoder = Some(EncoderConfig { point_layers: vec![16, 33], point_output: 20, vector_output: 24 });
        for (activation, encoder) in [
            (Activation::Silu, None),
            (Activation::Elu, None),
            (Activation::Tanh, None),
            (Activation::Silu, encoder),
        ] {
            let input = InputShape { points: 9, vector: 10 };
            let config = NetworkConfig { encoder, ..config(&[64, 64], activation, LayerNorm::Before) };
            let network = Network::new(input, 3, &config).unwrap();
            let params = network.init(&mut Random::new(1));
            let (input, output_bar) = (normals(20 * input.len(), 2), normals(60, 3));
            let (y, x_bar, params_bar) = run(&network, &params, &input, &output_bar);
            let single = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<_>>();
            let result = run(&network, &single(&params), &single(&input), &single(&output_bar));
            for (double, single) in [(&y, &result.0), (&x_bar, &result.1), (&params_bar, &result.2)] {
                let size = double.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                for (a, b) in double.iter().zip(single) {
                    assert!((a - f64::from(*b)).abs() < 1e-5 * size, "{activation:?}: {a} {b} of {size}");
                }
            }
            let again = run(&network, &single(&params), &single(&input), &single(&output_bar));
            assert_eq!(result, again);
        }
    }

    fn run<F: Number>(network: &Network, params: &[F], input: &[F], bar: &[F]) -> (Vec<F>, Vec<F>, Vec<F>) {
        let mut tape = network.tape(input.len() / network.inputs());
        let y = network.forward(params, input, &mut tape).to_vec();
        let (mut x_bar, mut params_bar) = (vec![F::zero(); input.len()], vec![F::zero(); params.len()]);
        network.backward(params, &mut tape, bar, Some(&mut x_bar), Some(&mut params_bar));
        (y, x_bar, params_bar)
    }

    #[test]
    fn tensors_fill_the_flat_vector() {
        let config = config(&[64, 64], Activation::Silu, LayerNorm::Before);
        let network = Network::new(InputShape::vector(37), 1, &config).unwrap();
        let mut end = 0;
        for tensor in network.tensors() {
            assert_eq!(tensor.range.start, end);
            assert_eq!(tensor.range.len(), tensor.shape.iter().product::<usize>());
            end = tensor.range.end;
        }
        assert_eq!((end, network.num_params()), (6913, 6913));
        assert_eq!(network.tensors()[0].name, "hidden.0.weight");
        assert_eq!(network.tensors()[0].shape, [64, 37]);
    }

    #[test]
    fn configurations_are_read_and_refused() {
        let text = r#"{"hidden": [8], "activation": "silu", "layer_norm": "before",
            "init": {"orthogonal": {"gain": 1.0}}}"#;
        let read: NetworkConfig = serde_json::from_str(text).unwrap();
        assert_eq!((read.activation, read.layer_norm), (Activation::Silu, LayerNorm::Before));
        assert!(serde_json::from_str::<NetworkConfig>(r#"{"hiden": [8], "activation": "silu"}"#).is_err());
        let empty = NetworkConfig { hidden: vec![8, 0], ..read.clone() };
        assert!(Network::new(InputShape::vector(3), 1, &empty).is_err());
        let encoder = NetworkConfig { encoder: Some(EncoderConfig::default()), ..read };
        assert!(Network::new(InputShape::vector(3), 1, &encoder).is_err());
    }
}
