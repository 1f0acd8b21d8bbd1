//! [`Tensor`]: where a tensor lies in the flat vector of parameters.

use std::ops::Range;

/// A named tensor, row-major in the flat vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Path of the tensor in the network, such as `hidden.0.weight`.
    pub name: String,
    /// Its sizes; a weight has outputs, then inputs.
    pub shape: Vec<usize>,
    /// Its place in the flat vector.
    pub range: Range<usize>,
}

/// The tensors of a network, one after another.
#[derive(Clone, Debug, Default)]
pub struct TensorList {
    tensors: Vec<Tensor>,
}

impl TensorList {
    /// Appends a tensor and returns its place.
    pub fn push(&mut self, name: impl Into<String>, shape: &[usize]) -> Range<usize> {
        let start = self.num_params();
        let range = start..start + shape.iter().product::<usize>();
        self.tensors.push(Tensor { name: name.into(), shape: shape.to_vec(), range: range.clone() });
        range
    }
    /// Length of the flat vector.
    pub fn num_params(&self) -> usize {
        self.tensors.last().map_or(0, |last| last.range.end)
    }
    /// The tensors in order.
    pub fn as_slice(&self) -> &[Tensor] {
        &self.tensors
    }
}
