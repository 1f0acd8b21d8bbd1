//! [`Checkpoint`]: everything that training goes on from, as one safetensors file.
//!
//! Tensors are read by any program that knows the format. Its metadata have one entry, `checkpoint`, a JSON
//! object with the epoch, whatever else training needs (`meta`), and a CRC-32C of both and of all tensors. A
//! file that was cut off or whose bits changed does not decode. Equal checkpoints are equal files.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pullback_core::files::crc32c::Crc32c;
use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// State of a run between two epochs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// Epochs that are done.
    pub epoch: u64,
    /// Shape and numbers of each tensor, by name.
    pub tensors: BTreeMap<String, (Vec<usize>, TensorData)>,
    /// What is no tensor: counters, states of random numbers, seconds.
    pub meta: Value,
}

/// Numbers of a tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorData {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Counters and states of random numbers.
    U64(Vec<u64>),
}

impl TensorData {
    /// How many numbers.
    pub fn len(&self) -> usize {
        match self {
            TensorData::F32(data) => data.len(),
            TensorData::F64(data) => data.len(),
            TensorData::U64(data) => data.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn dtype(&self) -> Dtype {
        match self {
            TensorData::F32(_) => Dtype::F32,
            TensorData::F64(_) => Dtype::F64,
            TensorData::U64(_) => Dtype::U64,
        }
    }

    /// Little-endian bytes in blocks that stay in the cache.
    fn for_each_block(&self, mut visit: impl FnMut(&[u8])) {
        fn encode<T: Copy, const N: usize>(
            data: &[T],
            bytes: fn(T) -> [u8; N],
            visit: &mut impl FnMut(&[u8]),
        ) {
            let mut block = vec![0; BLOCK * N];
            for part in data.chunks(BLOCK) {
                let block = &mut block[..part.len() * N];
                for (to, x) in block.as_chunks_mut::<N>().0.iter_mut().zip(part) {
                    *to = bytes(*x);
                }
                visit(block);
            }
        }
        match self {
            TensorData::F32(data) => encode(data, f32::to_le_bytes, &mut visit),
            TensorData::F64(data) => encode(data, f64::to_le_bytes, &mut visit),
            TensorData::U64(data) => encode(data, u64::to_le_bytes, &mut visit),
        }
    }

    fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        let (four, eight) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
        Some(match dtype {
            Dtype::F32 => TensorData::F32(four.iter().map(|b| f32::from_le_bytes(*b)).collect()),
            Dtype::F64 => TensorData::F64(eight.iter().map(|b| f64::from_le_bytes(*b)).collect()),
            Dtype::U64 => TensorData::U64(eight.iter().map(|b| u64::from_le_bytes(*b)).collect()),
            _ => return None,
        })
    }
}

/// Numbers that are encoded at a time.
const BLOCK: usize = 4096;

/// Name of the entry of the metadata.
const ABOUT: &str = "checkpoint";

/// The entry of the metadata.
#[derive(Serialize, Deserialize)]
struct About {
    epoch: u64,
    meta: Value,
    crc32c: u32,
}

/// A tensor as the format sees it; its bytes are made when they are asked for.
struct Encoded<'a> {
    shape: &'a [usize],
    data: &'a TensorData,
}

impl View for Encoded<'_> {
    fn dtype(&self) -> Dtype {
        self.data.dtype()
    }
    fn shape(&self) -> &[usize] {
        self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = Vec::with_capacity(self.data_len());
        self.data.for_each_block(|block| bytes.extend_from_slice(block));
        Cow::Owned(bytes)
    }
    fn data_len(&self) -> usize {
        self.data.len() * self.dtype().bitsize() / 8
    }
}

impl Checkpoint {
    /// A checkpoint without tensors.
    pub fn new(epoch: u64) -> Self {
        Checkpoint { epoch, ..Default::default() }
    }

    /// The same with `meta`.
    pub fn with_meta(mut self, meta: Value) -> Self {
        self.meta = meta;
        self
    }

    /// The same with one tensor more.
    pub fn with_tensor(mut self, name: impl Into<String>, shape: &[usize], data: TensorData) -> Self {
        self.tensors.insert(name.into(), (shape.to_vec(), data));
        self
    }

    /// The whole file. A shape that does not fit its numbers is an error that names the tensor.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        for (name, (shape, data)) in &self.tensors {
            if shape.iter().product::<usize>() != data.len() {
                return Err(format!("tensor `{name}` of shape {shape:?} has {} numbers", data.len()));
            }
        }
        let mut crc = begin_checksum(self.epoch, &self.meta);
        let mut encoded = Vec::new();
        for (name, (shape, data)) in &self.tensors {
            begin_tensor(&mut crc, name, data.dtype(), shape);
            data.for_each_block(|block| crc.add(block));
            encoded.push((name, Encoded { shape, data }));
        }
        let about = About { epoch: self.epoch, meta: self.meta.clone(), crc32c: crc.value() };
        let about = serde_json::to_string(&about).map_err(|error| error.to_string())?;
        // One entry: the format's map has no order, so that with more of them equal checkpoints would differ.
        let about = [(ABOUT.to_owned(), about)].into_iter().collect();
        safetensors::serialize(encoded, Some(about)).map_err(|error| error.to_string())
    }

    /// Reads a file back; what is wrong with it otherwise.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
        let about = header.metadata().as_ref().and_then(|entries| entries.get(ABOUT));
        let about = about.ok_or("it holds no checkpoint but other tensors")?;
        let About { epoch, meta, crc32c } = serde_json::from_str(about).map_err(|error| error.to_string())?;
        let mut crc = begin_checksum(epoch, &meta);
        let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
        let views: BTreeMap<&str, _> = file.iter().collect();
        let mut tensors = BTreeMap::new();
        for (name, view) in views {
            begin_tensor(&mut crc, name, view.dtype(), view.shape());
            crc.add(view.data());
            let data = TensorData::from_bytes(view.dtype(), view.data());
            let data = data.ok_or(format!("tensor `{name}` is neither f32 nor f64 nor u64"))?;
            tensors.insert(name.to_owned(), (view.shape().to_vec(), data));
        }
        if crc32c != crc.value() {
            return Err("its checksum is wrong, bits have changed since it was written".into());
        }
        Ok(Checkpoint { epoch, tensors, meta })
    }
}

fn begin_checksum(epoch: u64, meta: &Value) -> Crc32c {
    let mut crc = Crc32c::new();
    crc.add(format!("{epoch}\n{meta}\n").as_bytes());
    crc
}

/// The bytes of the tensor follow.
fn begin_tensor(crc: &mut Crc32c, name: &str, dtype: Dtype, shape: &[usize]) {
    crc.add(format!("{name}\n{dtype}{shape:?}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example() -> Checkpoint {
        Checkpoint::new(17)
            .with_tensor("actor.weight", &[2, 3], TensorData::F32(vec![1.0, -0.0, f32::NAN, 1e-40, 5.0, 6.0]))
            .with_tensor("return.mean", &[2], TensorData::F64(vec![1.0 / 3.0, f64::INFINITY]))
            .with_tensor("random", &[1], TensorData::U64(vec![u64::MAX - 1]))
            .with_tensor("none", &[0, 4], TensorData::F32(vec![]))
            .with_meta(json!({"steps": 12345678901234567u64, "rate": 0.1, "name": "käse\n"}))
    }

    #[test]
    fn what_is_written_is_read_back_bit_by_bit() {
        let checkpoint = example();
        let bytes = checkpoint.to_bytes().unwrap();
        let read = Checkpoint::from_bytes(&bytes).unwrap();
        assert_eq!((read.epoch, &read.meta), (17, &checkpoint.meta));
        // NaN is not equal to itself: compare the bytes.
        assert_eq!(read.to_bytes().unwrap(), bytes);
        assert_eq!(read.tensors["random"], checkpoint.tensors["random"]);
    }

    #[test]
    fn every_changed_or_missing_byte_is_noticed() {
        let bytes = example().to_bytes().unwrap();
        for i in 0..bytes.len() {
            assert!(Checkpoint::from_bytes(&bytes[..i]).is_err(), "cut off at {i}");
            let mut changed = bytes.clone();
            changed[i] ^= 4;
            assert!(Checkpoint::from_bytes(&changed).is_err(), "changed at {i}");
        }
    }

    #[test]
    fn a_shape_that_does_not_fit_is_named() {
        let wrong = Checkpoint::new(1).with_tensor("w", &[2, 2], TensorData::F32(vec![0.0; 3]));
        assert_eq!(wrong.to_bytes().unwrap_err(), "tensor `w` of shape [2, 2] has 3 numbers");
    }
}
