//! Runs of training: a folder with metrics, events and checkpoints that other programs read.

mod error;
mod files;
pub mod metrics;
pub mod table;

#[cfg(test)]
mod test_folder;

pub use error::RunError;
pub use metrics::Metrics;
pub use table::MetricsTable;
