//! Networks, optimizers and what surrounds them.
//!
//! A [`Network`] or [`Policy`] is a description; parameters are one flat vector beside it. Optimizers, weights
//! in files and gradient checks see that vector, and [`Tensor`]s say what lies where.
//!
//! ```
//! use pullback_core::random::Random;
//! use pullback_learn::nn::{Activation, Init, InputShape, LayerNorm, Network, NetworkConfig};
//! use pullback_learn::nn::{Optimizer, OptimizerConfig};
//!
//! let config = NetworkConfig {
//!     hidden: vec![16, 16],
//!     activation: Activation::Silu,
//!     layer_norm: LayerNorm::Before,
//!     init: Init::Orthogonal { gain: 1.0 },
//!     encoder: None,
//! };
//! let network = Network::new(InputShape::vector(2), 1, &config)?;
//! let mut params: Vec<f32> = network.init(&mut Random::new(0)).iter().map(|x| *x as f32).collect();
//! let mut optimizer = Optimizer::new(OptimizerConfig::adam([0.9, 0.999]), network.num_params())?;
//!
//! // Three rows whose outputs are to become their products.
//! let (input, target) = ([0.5_f32, -1.0, 1.0, 2.0, -0.5, -0.3], [-0.5, 2.0, 0.15]);
//! let mut tape = network.tape(3);
//! let mut loss = f32::INFINITY;
//! for _ in 0..300 {
//!     let output = network.forward(&params, &input, &mut tape);
//!     let output_bar: Vec<f32> = output.iter().zip(target).map(|(y, t)| y - t).collect();
//!     loss = output_bar.iter().map(|e| 0.5 * e * e).sum();
//!     let mut params_bar = vec![0.0; params.len()];
//!     network.backward(&params, &mut tape, &output_bar, None, Some(&mut params_bar));
//!     optimizer.step(1e-2, &mut params, &params_bar);
//! }
//! assert!(loss < 1e-4, "{loss}");
//! # Ok::<(), pullback_core::ConfigError>(())
//! ```

mod activation;
#[cfg(test)]
pub(crate) mod check;
pub mod clip;
mod encoder;
pub mod gaussian;
mod init;
mod layer;
mod layer_norm;
mod linear;
mod mlp;
mod network;
pub mod normalizer;
pub mod onnx;
pub mod optimizer;
mod policy;
mod product;
mod protobuf;
mod rows;
pub mod schedule;
#[cfg(test)]
mod speed;
mod tensors;
mod transpose;
pub mod weights;

pub use activation::Activation;
pub use encoder::EncoderConfig;
pub use init::Init;
pub use layer_norm::LayerNorm;
pub use network::{InputShape, Network, NetworkConfig, Tape};
pub use normalizer::{Normalizer, Statistics};
pub use optimizer::{Optimizer, OptimizerConfig, OptimizerState};
pub use policy::{LogStd, Policy, PolicyTape};
pub use schedule::{Schedule, ScheduleConfig};
pub use tensors::Tensor;
pub use weights::{Weights, WeightsError};
