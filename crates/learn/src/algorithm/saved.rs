//! [`Saved`]: networks, optimizers and counters in a checkpoint.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::TrainError;
use crate::nn::OptimizerState;
use crate::nn::Tensor;
use crate::run::{Checkpoint, TensorData};

/// A checkpoint that parts of an algorithm write to and read from, each under its own name.
pub struct Saved<'a> {
    checkpoint: &'a mut Checkpoint,
}

fn lacks(name: &str) -> TrainError {
    TrainError::Checkpoint(format!("it has no {name} of this shape"))
}

impl<'a> Saved<'a> {
    /// Writes to a checkpoint, or reads from it.
    pub fn new(checkpoint: &'a mut Checkpoint) -> Self {
        if !checkpoint.meta.is_object() {
            checkpoint.meta = serde_json::json!({});
        }
        Saved { checkpoint }
    }

    /// Writes the tensors of a flat vector of parameters.
    pub fn tensors(&mut self, name: &str, tensors: &[Tensor], params: &[f32]) {
        for tensor in tensors {
            let data = TensorData::F32(params[tensor.range.clone()].to_vec());
            self.checkpoint.tensors.insert(format!("{name}.{}", tensor.name), (tensor.shape.clone(), data));
        }
    }

    /// Reads the tensors of a flat vector of parameters.
    pub fn read_tensors(&mut self, name: &str, tensors: &[Tensor]) -> Result<Vec<f32>, TrainError> {
        let mut params = vec![0.0; tensors.iter().map(|t| t.range.end).max().unwrap_or(0)];
        for tensor in tensors {
            let full = format!("{name}.{}", tensor.name);
            match self.checkpoint.tensors.get(&full) {
                Some((shape, TensorData::F32(data))) if *shape == tensor.shape => {
                    params[tensor.range.clone()].copy_from_slice(data);
                }
                _ => return Err(lacks(&full)),
            }
        }
        Ok(params)
    }

    /// Writes numbers in single precision.
    pub fn f32s(&mut self, name: &str, values: &[f32]) {
        let data = TensorData::F32(values.to_vec());
        self.checkpoint.tensors.insert(name.into(), (vec![values.len()], data));
    }

    /// Reads numbers in single precision.
    pub fn read_f32s(&mut self, name: &str) -> Result<Vec<f32>, TrainError> {
        match self.checkpoint.tensors.get(name) {
            Some((_, TensorData::F32(data))) => Ok(data.clone()),
            _ => Err(lacks(name)),
        }
    }

    /// Writes numbers in double precision.
    pub fn f64s(&mut self, name: &str, values: &[f64]) {
        let data = TensorData::F64(values.to_vec());
        self.checkpoint.tensors.insert(name.into(), (vec![values.len()], data));
    }

    /// Reads numbers in double precision.
    pub fn read_f64s(&mut self, name: &str) -> Result<Vec<f64>, TrainError> {
        match self.checkpoint.tensors.get(name) {
            Some((_, TensorData::F64(data))) => Ok(data.clone()),
            _ => Err(lacks(name)),
        }
    }

    /// Writes counters.
    pub fn u64s(&mut self, name: &str, values: &[u64]) {
        let data = TensorData::U64(values.to_vec());
        self.checkpoint.tensors.insert(name.into(), (vec![values.len()], data));
    }

    /// Reads counters.
    pub fn read_u64s(&mut self, name: &str) -> Result<Vec<u64>, TrainError> {
        match self.checkpoint.tensors.get(name) {
            Some((_, TensorData::U64(data))) => Ok(data.clone()),
            _ => Err(lacks(name)),
        }
    }

    /// Writes what an optimizer remembers.
    pub fn optimizer(&mut self, name: &str, state: &OptimizerState) {
        self.u64s(&format!("{name}.count"), &[state.count]);
        self.f32s(&format!("{name}.first"), &state.first);
        self.f32s(&format!("{name}.second"), &state.second);
    }

    /// Reads what an optimizer remembers.
    pub fn read_optimizer(&mut self, name: &str) -> Result<OptimizerState, TrainError> {
        let count = self.read_u64s(&format!("{name}.count"))?.first().copied().unwrap_or(0);
        let first = self.read_f32s(&format!("{name}.first"))?;
        Ok(OptimizerState { count, first, second: self.read_f32s(&format!("{name}.second"))? })
    }

    /// Writes anything else.
    pub fn value(&mut self, name: &str, value: &impl Serialize) {
        if let (Some(meta), Ok(value)) = (self.checkpoint.meta.as_object_mut(), serde_json::to_value(value)) {
            meta.insert(name.into(), value);
        }
    }

    /// Reads anything else.
    pub fn read_value<V: DeserializeOwned>(&mut self, name: &str) -> Result<V, TrainError> {
        let value = self.checkpoint.meta.get(name).cloned().ok_or_else(|| lacks(name))?;
        serde_json::from_value(value).map_err(|e| TrainError::Checkpoint(format!("{name}: {e}")))
    }
}
