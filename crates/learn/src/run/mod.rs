//! Runs of training: a folder with metrics, events and checkpoints that other programs read.

pub mod checkpoint;
mod config;
mod crc32c;
mod error;
pub mod events;
mod files;
pub mod folder;
pub mod metrics;
pub mod table;

#[cfg(test)]
mod test_folder;

pub use checkpoint::{Checkpoint, TensorData};
pub use error::RunError;
pub use events::EventWriter;
pub use folder::{Restored, RunFolder};
pub use metrics::Metrics;
pub use table::MetricsTable;
