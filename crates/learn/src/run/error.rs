//! What can go wrong with the folder of a run; every message names the file and what would help.

use std::io;
use std::path::{Path, PathBuf};

use pullback_core::files::LockError;
use thiserror::Error;

/// A run that cannot be written, continued or read.
#[derive(Debug, Error)]
pub enum RunError {
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the remedy.
        what: String,
    },
    /// The folder belongs to a run with other settings.
    #[error(
        "{folder} holds a run with other settings: {difference}; \
         use the same settings to go on, or another folder"
    )]
    OtherConfig {
        /// The folder.
        folder: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// Another process trains in the folder, or it cannot be locked.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// No checkpoint of the folder can be read.
    #[error("no checkpoint in {folder} can be read ({reason}): remove both to train from the start")]
    NoGoodCheckpoint {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with each.
        reason: String,
    },
    /// A row of metrics does not fit those before it.
    #[error("{path}: {what}")]
    Row {
        /// The file.
        path: PathBuf,
        /// Which column, and the remedy.
        what: String,
    },
    /// Runs that cannot be compared.
    #[error("{0}")]
    Compare(String),
}

impl RunError {
    /// Names the file in an error of the system.
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> RunError + '_ {
        |source| RunError::File { path: path.to_owned(), source }
    }

    pub(crate) fn content(path: &Path, what: impl Into<String>) -> RunError {
        RunError::Content { path: path.to_owned(), what: what.into() }
    }
}
