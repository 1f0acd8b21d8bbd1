//! What is wrong with a file, and where.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The file as a whole.
    pub fn whole(file: &str) -> Self {
        Place { file: file.into(), line: 0, column: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// A file that cannot be read as a model: the place, what is wrong and what to do about it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{place}: {message}")]
pub struct ImportError {
    /// Where.
    pub place: Place,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl ImportError {
    /// An error at a place.
    pub fn new(place: &Place, message: impl Into<String>) -> Self {
        ImportError { place: place.clone(), message: message.into() }
    }
}
