//! [`LineLog`]: a file that grows by one JSON value per line, and is read back after its process was killed.
//!
//! The first line says what the log is about. A line is written in one piece; a last line that a killed process
//! left half written is dropped.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

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

/// A log that is open at its end.
#[derive(Debug)]
pub struct LineLog {
    path: PathBuf,
    file: File,
    /// Where each line ends.
    ends: Vec<u64>,
}

impl LineLog {
    /// Opens the log at `path`, or begins it; returns what its lines hold. A log with another first line than
    /// `about` is refused.
    pub fn open<A, L>(path: &Path, about: &A) -> Result<(Self, Vec<L>), LogError>
    where
        A: Serialize + DeserializeOwned + PartialEq + Debug,
        L: DeserializeOwned,
    {
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
        let (mut kept, mut ends, mut text) = (Vec::new(), Vec::new(), String::new());
        loop {
            text.clear();
            let read = reader.read_line(&mut text).map_err(failed)?;
            // A half-written last line has no end.
            if read == 0 || !text.ends_with('\n') {
                break;
            }
            let line = ends.len() + 1;
            if line == 1 {
                let found: A = serde_json::from_str(&text).map_err(|e| wrong(1, e.to_string()))?;
                if found != *about {
                    return Err(wrong(1, format!("this is the log of another run, {found:?}")));
                }
            } else {
                kept.push(serde_json::from_str(&text).map_err(|e| wrong(line, e.to_string()))?);
            }
            ends.push(ends.last().copied().unwrap_or(0) + read as u64);
        }
        let mut log = LineLog { path: path.to_owned(), file, ends };
        log.cut()?;
        if log.ends.is_empty() {
            log.add(about)?;
        }
        Ok((log, kept))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line.
    pub fn add(&mut self, what: &impl Serialize) -> Result<(), LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(what).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)?;
        self.ends.push(self.ends.last().copied().unwrap_or(0) + line.len() as u64);
        Ok(())
    }

    /// Drops all lines after the first one but `count`.
    pub fn keep(&mut self, count: usize) -> Result<(), LogError> {
        self.ends.truncate(count + 1);
        self.cut()
    }

    /// Ends the file after the last whole line.
    fn cut(&mut self) -> Result<(), LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        self.file.set_len(self.ends.last().copied().unwrap_or(0)).map_err(failed)?;
        self.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(())
    }
}
