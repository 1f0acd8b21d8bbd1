//! Networks, optimizers and what surrounds them.

pub mod activation;
#[cfg(test)]
mod check;
pub mod encoder;
pub mod gaussian;
pub mod init;
pub mod layer;
pub mod layer_norm;
pub mod linear;
pub mod mlp;
pub mod network;
pub mod policy;
pub mod product;
pub mod rows;
pub mod tensors;
