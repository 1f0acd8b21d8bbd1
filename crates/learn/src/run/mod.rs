//! Runs of training: a folder with settings, metrics, events and checkpoints that other programs read.
//!
//! | file | what it holds |
//! |---|---|
//! | `config.json` | settings; a rerun with other settings is refused |
//! | `metrics.csv` | one row per report |
//! | `events.out.tfevents.*` | the same numbers for TensorBoard |
//! | `checkpoint.safetensors` | what training goes on from |
//! | `checkpoint.previous.safetensors` | the one before |
//! | `run.lock` | held while a process trains in the folder |
//!
//! [`RunRecorder`] keeps all of them in step. A run that is killed and started again goes on from its last
//! checkpoint and leaves the metrics of an uninterrupted run, columns of wall time excepted. [`compare`] reads
//! such folders back and says which settings did better.
//!
//! ```
//! use pullback_learn::run::{Checkpoint, RunRecorder};
//! # let path = std::env::temp_dir().join(format!("pullback-run-doc-{}", std::process::id()));
//! let config = serde_json::json!({"task": "hopper", "algorithm": "sapo", "seed": 0});
//! let (mut run, restored) = RunRecorder::open(&path, &config)?;
//! let first = restored.map_or(1, |r| r.checkpoint.epoch + 1);
//! for epoch in first..=3 {
//!     let steps = 1024 * epoch;
//!     run.report(epoch, steps, &[("return_mean", 10.0 * epoch as f64), ("seconds", 0.5)])?;
//!     run.save(&Checkpoint::new(epoch).with_meta(serde_json::json!({"steps": steps})))?;
//! }
//! # drop(run);
//! # std::fs::remove_dir_all(&path).ok();
//! # Ok::<(), pullback_learn::run::RunError>(())
//! ```

pub mod checkpoint;
pub mod compare;
mod config;
mod error;
pub mod events;
pub mod folder;
pub mod metrics;
pub mod recorder;
pub mod statistics;
pub mod table;

#[cfg(test)]
mod test_folder;

pub use checkpoint::{Checkpoint, TensorData};
pub use error::RunError;
pub use events::EventWriter;
pub use folder::{Restored, RunFolder};
pub use metrics::Metrics;
pub use recorder::RunRecorder;
pub use table::MetricsTable;
