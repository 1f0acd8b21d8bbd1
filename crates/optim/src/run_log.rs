//! [`RunLog`]: every episode of a run, line after line, and what a run that starts again reads back.
//!
//! The first line of the file says what the run is ([`RunName`]); each further line is an [`Episode`] (`line_log.rs`). Searches
//! are deterministic, so a run resumes by searching anew and taking the logged episodes instead of simulating
//! them (`run.rs`): no state of a method is saved.

use std::collections::VecDeque;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::line_log::{LineLog, LogError, RunName};

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
    /// Why there is no loss or no gradient, where the simulation failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
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
        let wrong = |what: String| {
            let path = self.file.as_ref().map(|file| file.path().to_owned()).unwrap_or_default();
            Err(LogError::Content { path, line: self.taken + 1, what })
        };
        if episode.z != z || episode.gradient.is_some() != with_gradient {
            let why = "the search would not have come here: it was written with other settings or by another version";
            return wrong(why.into());
        }
        match episode.gradient.as_ref().map_or(z.len(), Vec::len) {
            length if length != z.len() => {
                wrong(format!("the gradient has {length} entries for {} variables", z.len()))
            }
            _ => Ok(Some(episode)),
        }
    }

    /// An error where the process was asked to stop and what was done is on the disk.
    pub fn unless_interrupted(&self) -> Result<(), LogError> {
        self.file.as_ref().map_or(Ok(()), |_| LogError::unless_interrupted())
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
