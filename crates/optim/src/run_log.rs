//! [`RunLog`]: every episode of a run, line after line, and what a run that starts again reads back.
//!
//! The first line says what the run is; each further line is an [`Episode`] as JSON. A line is written in one
//! piece after its episode; a last line that a killed process left half written is dropped. Searches are
//! deterministic, so a run resumes by searching anew and taking the logged episodes instead of simulating
//! them (`run.rs`): no state of a method is saved.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

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

/// A log that cannot be written, read or continued.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path}, line {line}: {what}; remove the file to start anew")]
    Content {
        /// The log.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// Where episodes go, and come from when a run starts again.
#[derive(Debug, Default)]
pub struct RunLog {
    file: Option<(PathBuf, File)>,
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
        let failed = |source| LogError::File { path: path.to_owned(), source };
        let wrong = |line, what: String| LogError::Content { path: path.to_owned(), line, what };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let mut reader = BufReader::new(&mut file);
        let (mut kept, mut whole, mut line, mut text) = (VecDeque::new(), 0, 0, String::new());
        loop {
            text.clear();
            let read = reader.read_line(&mut text).map_err(failed)?;
            // A half-written last line has no end.
            if read == 0 || !text.ends_with('\n') {
                break;
            }
            line += 1;
            if line == 1 {
                let found: RunName = serde_json::from_str(&text).map_err(|e| wrong(1, e.to_string()))?;
                if found != *name {
                    return Err(wrong(1, format!("this is the log of another run, {found:?}")));
                }
            } else {
                kept.push_back(serde_json::from_str(&text).map_err(|e| wrong(line, e.to_string()))?);
            }
            whole += read as u64;
        }
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut log = RunLog { file: Some((path.to_owned(), file)), kept, taken: 0 };
        if line == 0 {
            log.write_line(name)?;
        }
        Ok(log)
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
            let path = self.file.as_ref().map(|(path, _)| path.clone()).unwrap_or_default();
            let what = "the search would not have come here: it was written with other settings or by another version";
            return Err(LogError::Content { path, line: self.taken + 1, what: what.into() });
        }
        Ok(Some(episode))
    }

    /// Writes an episode down.
    pub fn add(&mut self, episode: &Episode) -> Result<(), LogError> {
        self.write_line(episode)
    }

    fn write_line(&mut self, what: &impl Serialize) -> Result<(), LogError> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let failed = |source| LogError::File { path: path.clone(), source };
        let mut line = serde_json::to_vec(what).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(failed)
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
