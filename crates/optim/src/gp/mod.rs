//! Gaussian processes over losses, and what they propose to try next.
//!
//! [`LossModel`] is what searches use; the parts below it are a textbook's chapters.

mod acquisition;
mod cholesky;
pub mod derivative;
pub mod hyper;
pub mod kernel;
pub mod lbfgs;
pub mod local;
pub mod model;
pub mod normal;
pub mod outcome;
mod posterior;
#[cfg(test)]
mod tests;

pub use acquisition::Acquisition;
pub use derivative::{GradientPosterior, Slope};
pub use hyper::FitConfig;
pub use kernel::Kernel;
pub use model::{LossModel, ModelConfig};
pub use posterior::{Hyper, Posterior, Predict};
