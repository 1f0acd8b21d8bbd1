//! [`Learned`]: parameters of a network and the optimizer that moves them.

use pullback_core::ConfigError;

use super::TrainError;
use super::saved::Saved;
use crate::nn::clip::clip_norm;
use crate::nn::{Optimizer, OptimizerConfig, Tensor};

/// Parameters and what they learn with.
pub struct Learned {
    /// The parameters.
    pub params: Vec<f32>,
    optimizer: Optimizer,
    config: OptimizerConfig,
    grad_clip: f64,
}

impl Learned {
    /// Parameters that begin as `init`; gradients are clipped to the norm `grad_clip`.
    pub fn new(init: &[f64], config: OptimizerConfig, grad_clip: f64) -> Result<Self, ConfigError> {
        let params: Vec<f32> = init.iter().map(|x| *x as f32).collect();
        Ok(Learned { optimizer: Optimizer::new(config, params.len())?, params, config, grad_clip })
    }

    /// Moves the parameters along `gradient`, which is clipped; returns the norm it had.
    pub fn step(
        &mut self,
        rate: f64,
        gradient: &mut [f32],
        what: &'static str,
        epoch: usize,
    ) -> Result<f64, TrainError> {
        let norm = clip_norm(gradient, self.grad_clip);
        let diverged = |_| TrainError::Diverged { epoch, what, value: f64::NAN, env: None };
        let norm = norm.map_err(diverged)?;
        self.optimizer.step(rate, &mut self.params, gradient);
        Ok(norm)
    }

    /// Puts everything into a checkpoint.
    pub fn save(&self, name: &str, tensors: &[Tensor], to: &mut Saved<'_>) {
        to.tensors(name, tensors, &self.params);
        to.optimizer(&format!("{name}.optimizer"), self.optimizer.state());
    }

    /// Takes everything out of a checkpoint.
    pub fn load(&mut self, name: &str, tensors: &[Tensor], from: &mut Saved<'_>) -> Result<(), TrainError> {
        self.params = from.read_tensors(name, tensors)?;
        let state = from.read_optimizer(&format!("{name}.optimizer"))?;
        self.optimizer = Optimizer::resume(self.config, self.params.len(), state)?;
        Ok(())
    }
}
