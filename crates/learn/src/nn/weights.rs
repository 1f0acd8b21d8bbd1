//! Weights in safetensors files, with names and shapes that are checked.
//!
//! A file holds one or several parts (`actor`, `critic.0`, …), each a flat vector with its tensors, in `f32`.
//! It is written here, entries in their order, so that the same weights give the same bytes; the crate's writer
//! orders metadata differently at each run. It is read by the crate, which checks offsets and lengths.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use safetensors::{Dtype, SafeTensors};
use thiserror::Error;

use super::tensors::Tensor;

/// A named flat vector and where its tensors lie.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// What names of tensors begin with, before a dot.
    pub name: &'a str,
    /// The tensors of the flat vector.
    pub tensors: &'a [Tensor],
    /// The flat vector.
    pub values: &'a [f32],
}

/// Why weights cannot be read.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WeightsError {
    /// The bytes are no safetensors file.
    #[error("not a safetensors file: {0}")]
    Format(String),
    /// A tensor is not there.
    #[error("tensor {name} is missing: the file belongs to a network of another shape")]
    Missing {
        /// Name of the tensor.
        name: String,
    },
    /// A tensor has another shape.
    #[error("tensor {name} has shape {found:?}, the network needs {expected:?}")]
    Shape {
        /// Name of the tensor.
        name: String,
        /// Shape the network needs.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },
    /// A tensor has numbers of another type.
    #[error("tensor {name} holds {found}, not F32")]
    Type {
        /// Name of the tensor.
        name: String,
        /// Type in the file.
        found: String,
    },
    /// A tensor that the network does not have.
    #[error("tensor {name} belongs to no layer: the file belongs to a network of another shape")]
    Unknown {
        /// Name of the tensor.
        name: String,
    },
    /// A number that is infinite or NaN.
    #[error("tensor {name} has the entry {value}")]
    NotFinite {
        /// Name of the tensor.
        name: String,
        /// The entry.
        value: f32,
    },
}

/// The bytes of a safetensors file.
///
/// Panics where a flat vector is shorter than its tensors say.
pub fn encode(parts: &[Part<'_>], metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut header = String::from("{\"__metadata__\":{");
    for (i, (key, value)) in metadata.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        _ = write!(header, "{comma}{}:{}", quoted(key), quoted(value));
    }
    header.push('}');
    let mut data = Vec::new();
    for part in parts {
        for tensor in part.tensors {
            let start = data.len();
            data.extend(part.values[tensor.range.clone()].iter().flat_map(|x| x.to_le_bytes()));
            let name = quoted(&format!("{}.{}", part.name, tensor.name));
            let (shape, end) = (&tensor.shape, data.len());
            _ = write!(
                header,
                ",{name}:{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"
            );
        }
    }
    header.push('}');
    // Spaces up to a multiple of eight, so that the data are aligned.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

/// A safetensors file that was read.
#[derive(Clone, Debug)]
pub struct Weights {
    metadata: BTreeMap<String, String>,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Weights {
    /// Reads a file of tensors of `f32`, all of them finite.
    pub fn decode(bytes: &[u8]) -> Result<Self, WeightsError> {
        let format = |error: safetensors::SafeTensorError| WeightsError::Format(error.to_string());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(format)?;
        let metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut tensors = BTreeMap::new();
        for (name, view) in SafeTensors::deserialize(bytes).map_err(format)?.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(WeightsError::Type { name, found: format!("{:?}", view.dtype()) });
            }
            let (numbers, _) = view.data().as_chunks::<4>();
            let values: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            if let Some(value) = values.iter().find(|x| !x.is_finite()) {
                return Err(WeightsError::NotFinite { name, value: *value });
            }
            tensors.insert(name, (view.shape().to_vec(), values));
        }
        Ok(Weights { metadata, tensors })
    }

    /// What was written beside the tensors.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The flat vector of part `part`: all of `tensors`, in their shapes, and no others.
    pub fn part(&self, part: &str, tensors: &[Tensor]) -> Result<Vec<f32>, WeightsError> {
        let mut values = vec![0.0; tensors.last().map_or(0, |last| last.range.end)];
        let prefix = format!("{part}.");
        for tensor in tensors {
            let name = format!("{prefix}{}", tensor.name);
            let Some((shape, numbers)) = self.tensors.get(&name) else {
                return Err(WeightsError::Missing { name });
            };
            if *shape != tensor.shape {
                let (expected, found) = (tensor.shape.clone(), shape.clone());
                return Err(WeightsError::Shape { name, expected, found });
            }
            values[tensor.range.clone()].copy_from_slice(numbers);
        }
        for name in self.tensors.keys() {
            let rest = name.strip_prefix(&prefix);
            if rest.is_some_and(|rest| !tensors.iter().any(|tensor| tensor.name == rest)) {
                return Err(WeightsError::Unknown { name: name.clone() });
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::random::Random;

    use super::*;
    use crate::nn::activation::Activation;
    use crate::nn::check::config;
    use crate::nn::layer_norm::LayerNorm;
    use crate::nn::network::{InputShape, Network};

    fn network(hidden: &[usize], layer_norm: LayerNorm) -> (Network, Vec<f32>) {
        let config = config(hidden, Activation::Silu, layer_norm);
        let network = Network::new(InputShape::vector(5), 2, &config).unwrap();
        let values = network.init(&mut Random::new(1)).iter().map(|x| *x as f32).collect();
        (network, values)
    }

    fn file() -> Vec<u8> {
        let (network, values) = network(&[7], LayerNorm::Before);
        let twice: Vec<f32> = values.iter().map(|x| 2.0 * x).collect();
        let part = |name, values| Part { name, tensors: network.tensors(), values };
        let metadata = [("task", "ant \"run\""), ("epoch", "12")].map(|(k, v)| (k.into(), v.into()));
        encode(&[part("actor", &values), part("critic.0", &twice)], &BTreeMap::from(metadata))
    }

    #[test]
    fn parts_come_back_to_the_bit() {
        let (network, values) = network(&[7], LayerNorm::Before);
        let weights = Weights::decode(&file()).unwrap();
        assert_eq!(weights.part("actor", network.tensors()).unwrap(), values);
        let twice = weights.part("critic.0", network.tensors()).unwrap();
        assert!(twice.iter().zip(&values).all(|(a, b)| *a == 2.0 * b));
        assert_eq!(weights.metadata()["task"], "ant \"run\"");
    }

    #[test]
    fn other_networks_are_refused_by_name() {
        let weights = Weights::decode(&file()).unwrap();
        let read = |part, hidden: &[usize], norm| {
            weights.part(part, network(hidden, norm).0.tensors()).unwrap_err().to_string()
        };
        assert!(read("actor", &[8], LayerNorm::Before).contains("actor.hidden.0.weight has shape [7, 5]"));
        assert!(read("actor", &[7, 7], LayerNorm::Before).contains("actor.hidden.1.weight is missing"));
        assert!(
            read("actor", &[7], LayerNorm::None).contains("actor.hidden.0.norm.bias belongs to no layer")
        );
        assert!(read("critic.1", &[7], LayerNorm::Before).contains("critic.1.hidden.0.weight is missing"));
    }

    #[test]
    fn broken_files_are_refused() {
        let mut bytes = file();
        assert!(matches!(Weights::decode(&bytes[..bytes.len() - 1]), Err(WeightsError::Format(_))));
        let last = bytes.len() - 4;
        bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
        let error = Weights::decode(&bytes).unwrap_err().to_string();
        assert_eq!(error, "tensor critic.0.output.bias has the entry NaN");
    }
}
