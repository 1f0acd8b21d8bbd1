//! [`Target`]: a reader that is fed damaged files, and the table of all readers.

use std::fs;
use std::path::PathBuf;

use pullback_core::registry::Registry;

use crate::mutate::Structure;
use crate::targets;

/// A reader.
#[derive(Clone, Copy)]
pub struct Target {
    /// How its files are built.
    pub structure: Structure,
    /// Folders of the project whose files with an ending join the corpus.
    pub beside: &'static [(&'static str, &'static str)],
    /// Files that are made, because they depend on the version of the engine.
    pub made: fn() -> Vec<Vec<u8>>,
    /// Reads an input as a user's file and goes on as far as users do; what the reader answers. A panic, an abort, too much
    /// memory or time is a failure; any answer is none.
    pub feed: fn(&[u8], &mut Scratch) -> String,
}

impl Target {
    /// A reader of the files in its folder of the corpus.
    pub const fn new(structure: Structure, feed: fn(&[u8], &mut Scratch) -> String) -> Self {
        Target { structure, beside: &[], made: Vec::new, feed }
    }

    /// The same with files of tests: folders of the project and endings.
    pub const fn beside(self, beside: &'static [(&'static str, &'static str)]) -> Self {
        Target { beside, ..self }
    }

    /// The same with files that are made.
    pub const fn made(self, made: fn() -> Vec<Vec<u8>>) -> Self {
        Target { made, ..self }
    }
}

/// Every target by name.
pub const TARGETS: Registry<Target> =
    Registry::new("fuzz target", &[targets::models::TABLE, targets::meshes::TABLE, targets::data::TABLE]);

/// The same with readers that break on purpose, by which tests see that a failure is noticed.
pub const WITH_BROKEN: Registry<Target> = Registry::new(
    "fuzz target",
    &[targets::models::TABLE, targets::meshes::TABLE, targets::data::TABLE, targets::broken::TABLE],
);

/// A folder for readers that take paths.
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// In a folder that exists.
    pub fn new(folder: PathBuf) -> Self {
        Scratch { folder }
    }

    /// The input as a file of this name.
    pub fn file(&self, name: &str, input: &[u8]) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, input).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// The folder.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }
}

/// What a reader said, in words.
pub fn answer<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "read".into(),
        Err(error) => error.to_string(),
    }
}
