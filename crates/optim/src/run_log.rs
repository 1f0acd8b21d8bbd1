//! [`RunLog`]: every episode of a run, line after line, and what a run that starts again reads back.
//!
//! The first line of the file says what the run is; each further line is an [`Episode`] (`line_log.rs`). Searches
//! are deterministic, so a run resumes by searching anew and taking the logged episodes instead of simulating
//! them (`run.rs`): no state of a method is saved.

use std::collections::VecDeque;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::line_log::{LineLog, LogError};

/// What a log is about: a log resumes only the run it was written by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunName {
    /// The task.
    pub task: String,
    /// The method with its settings.
    pub method: String,
    /// Number of variables.
    pub dim: usize,
    /// Seed of the method's random numbers.
    pub seed: u64,
}

/// One simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Where, in the box scaled to [−1, 1].
    pub z: Vec<f64>,
    /// Loss; infinite where the simulation failed.
    #[serde(with = "finite_or_null")]
    pub loss: f64,
    /// Gradient by z, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<f64>>,
}

/// Where episodes go, and come from when a run starts again.
#[derive(Debug, Default)]
pub struct RunLog {
    file: Option<LineLog>,
    /// Episodes of an earlier run that have not been asked for yet.
    kept: VecDeque<Episode>,
    taken: usize,
}

impl RunLog {
    /// A log in memory only.
    pub fn none() -> Self {
        RunLog::default()
    }

    /// Opens the log at `path`, or begins it.
    pub fn open(path: &Path, name: &RunName) -> Result<Self, LogError> {
        let (file, kept) = LineLog::open(path, name)?;
        Ok(RunLog { file: Some(file), kept: kept.into(), taken: 0 })
    }

    /// Episodes that can be read back.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The next episode of the earlier run, which must have been at `z`.
    pub fn take(&mut self, z: &[f64], with_gradient: bool) -> Result<Option<Episode>, LogError> {
        let Some(episode) = self.kept.pop_front() else { return Ok(None) };
        self.taken += 1;
        if episode.z != z || episode.gradient.is_some() != with_gradient {
            let what = "the search would not have come here: it was written with other settings or by another version";
            let path = self.file.as_ref().map(|file| file.path().to_owned()).unwrap_or_default();
            return Err(LogError::Content { path, line: self.taken + 1, what: what.into() });
        }
        Ok(Some(episode))
    }

    /// Writes an episode down.
    pub fn add(&mut self, episode: &Episode) -> Result<(), LogError> {
        self.file.as_mut().map_or(Ok(()), |file| file.add(episode))
    }
}

/// JSON has no infinity: null stands for it.
mod finite_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*x).filter(|x| x.is_finite()).serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
