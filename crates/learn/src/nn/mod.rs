//! Networks, optimizers and what surrounds them.
//!
//! A [`Network`] or [`Policy`] is a description; parameters are one flat vector beside it. Optimizers, weights
//! in files and gradient checks see that vector, and [`Tensor`]s say what lies where.

mod activation;
#[cfg(test)]
mod check;
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
mod tensors;
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
