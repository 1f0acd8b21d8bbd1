//! [`RunFolder`]: the folder of a run, held by one process at a time.
//!
//! A checkpoint is a single file, so that tensors and settings cannot be of different epochs. It is written to
//! a temporary name, synchronized with the disk and renamed, after the one before it was renamed to
//! `checkpoint.previous.safetensors`. At any moment one of the two is whole; reading checks lengths and
//! checksum.
//!
//! The lock is the system's, on `run.lock` ([`FolderLock`]).

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use pullback_core::files::{self, FolderLock, NewFile, remove_temporaries, rename, write_atomically};
use serde::Serialize;
use serde_json::Value;

use super::config::first_difference;
use super::{Checkpoint, RunError};

/// Name of the settings in the folder of a run.
pub const CONFIG_FILE: &str = "config.json";
/// Name of the last checkpoint.
pub const CHECKPOINT_FILE: &str = "checkpoint.safetensors";
/// Name of the checkpoint before the last.
pub const PREVIOUS_FILE: &str = "checkpoint.previous.safetensors";

/// A folder that no other process trains in.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked until it is dropped.
    _lock: FolderLock,
}

/// A checkpoint that was read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// What training goes on from.
    pub checkpoint: Checkpoint,
    /// Why the last checkpoint was not taken but the one before; to be shown to the user.
    pub note: Option<String>,
}

impl RunFolder {
    /// Makes the folder or opens it again, and locks it. A folder whose `config.json` differs is refused.
    pub fn open(path: &Path, config: &impl Serialize) -> Result<Self, RunError> {
        fs::create_dir_all(path).map_err(RunError::file(path))?;
        let folder = RunFolder { path: path.to_owned(), _lock: FolderLock::acquire(path)? };
        remove_temporaries(path).map_err(RunError::file(path))?;
        folder.check_config(config)?;
        Ok(folder)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a checkpoint, and the one before it.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<(), RunError> {
        let (last, previous) = (self.path.join(CHECKPOINT_FILE), self.path.join(PREVIOUS_FILE));
        let bytes = checkpoint.to_bytes().map_err(|what| RunError::content(&last, what))?;
        let failed = RunError::file(&last);
        let mut file = NewFile::create(&last).map_err(&failed)?;
        file.write_all(&bytes).map_err(&failed)?;
        // Whole on the disk before the last one gives its name away.
        file.sync().map_err(&failed)?;
        match rename(&last, &previous) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => file.publish().map_err(&failed),
        }
    }

    /// The last checkpoint that is whole; `None` if none was saved.
    pub fn load(&self) -> Result<Option<Restored>, RunError> {
        RunFolder::peek(&self.path)
    }

    /// The last checkpoint of a folder, which another process may be training in.
    pub fn peek(folder: &Path) -> Result<Option<Restored>, RunError> {
        let mut problems = Vec::new();
        for name in [CHECKPOINT_FILE, PREVIOUS_FILE] {
            let path = folder.join(name);
            let bytes = match files::read(&path) {
                Ok(bytes) => bytes,
                // Between two renames the last is missing and the previous one is good.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(RunError::file(&path)(error)),
            };
            match Checkpoint::from_bytes(&bytes) {
                Ok(checkpoint) => {
                    let note = (!problems.is_empty()).then(|| {
                        let (problems, epoch) = (problems.join(", "), checkpoint.epoch);
                        format!("{}: {problems}; going on from epoch {epoch} of {name}", folder.display())
                    });
                    return Ok(Some(Restored { checkpoint, note }));
                }
                Err(what) => problems.push(format!("{name} is damaged: {what}")),
            }
        }
        if problems.is_empty() {
            return Ok(None);
        }
        Err(RunError::NoGoodCheckpoint { folder: folder.to_owned(), reason: problems.join(", ") })
    }

    /// Writes the settings of a new run, compares those of an old one.
    fn check_config(&self, config: &impl Serialize) -> Result<(), RunError> {
        let path = self.path.join(CONFIG_FILE);
        let wrong =
            |error: serde_json::Error| RunError::content(&path, format!("{error}; remove the folder"));
        let text = serde_json::to_string_pretty(config).map_err(wrong)? + "\n";
        let stored = match files::read_to_string(&path) {
            Ok(stored) => stored,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return write_atomically(&path, text.as_bytes()).map_err(RunError::file(&path));
            }
            Err(error) => return Err(RunError::file(&path)(error)),
        };
        let stored: Value = serde_json::from_str(&stored).map_err(wrong)?;
        // Through text, as the stored ones went: an `f32` has other digits as a `Value`.
        let asked: Value = serde_json::from_str(&text).map_err(wrong)?;
        match first_difference(&stored, &asked) {
            None => Ok(()),
            Some(difference) => Err(RunError::OtherConfig { folder: self.path.clone(), difference }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::TensorData;
    use crate::run::test_folder::TestFolder;
    use pullback_core::files::LOCK_FILE;
    use serde_json::json;

    fn checkpoint(epoch: u64) -> Checkpoint {
        Checkpoint::new(epoch).with_tensor("w", &[100], TensorData::F32(vec![epoch as f32; 100]))
    }

    #[test]
    fn the_last_checkpoint_is_loaded() {
        let test = TestFolder::new("folder-last");
        let folder = RunFolder::open(test.path(), &json!({"seed": 1})).unwrap();
        assert_eq!(folder.load().unwrap(), None);
        for epoch in 1..=3 {
            folder.save(&checkpoint(epoch)).unwrap();
            assert_eq!(folder.load().unwrap(), Some(Restored { checkpoint: checkpoint(epoch), note: None }));
        }
    }

    #[test]
    fn a_damaged_checkpoint_falls_back_to_the_previous_one() {
        let test = TestFolder::new("folder-damaged");
        let folder = RunFolder::open(test.path(), &json!({})).unwrap();
        folder.save(&checkpoint(1)).unwrap();
        folder.save(&checkpoint(2)).unwrap();
        let last = test.join(CHECKPOINT_FILE);
        let bytes = fs::read(&last).unwrap();
        // Half written.
        fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
        let restored = folder.load().unwrap().unwrap();
        assert_eq!(restored.checkpoint, checkpoint(1));
        let note = restored.note.unwrap();
        assert!(note.contains("checkpoint.safetensors is damaged"), "{note}");
        assert!(note.contains("going on from epoch 1"), "{note}");
        // Of the right length, but a page of it never reached the disk.
        let mut holes = bytes.clone();
        let length = holes.len();
        holes[length - 64..].fill(0);
        fs::write(&last, &holes).unwrap();
        assert_eq!(folder.load().unwrap().unwrap().checkpoint, checkpoint(1));
        // Killed between the two renames.
        fs::remove_file(&last).unwrap();
        assert_eq!(folder.load().unwrap(), Some(Restored { checkpoint: checkpoint(1), note: None }));
        // Neither is whole: training does not start anew unasked.
        fs::write(&last, b"").unwrap();
        fs::write(test.join(PREVIOUS_FILE), b"abc").unwrap();
        let message = folder.load().unwrap_err().to_string();
        assert!(message.contains("remove both to train from the start"), "{message}");
    }

    #[test]
    fn a_second_holder_is_refused_until_the_first_is_gone() {
        let test = TestFolder::new("folder-lock");
        let first = RunFolder::open(test.path(), &json!({})).unwrap();
        let message = RunFolder::open(test.path(), &json!({})).unwrap_err().to_string();
        assert!(message.contains(&format!("in use by process {}", std::process::id())), "{message}");
        drop(first);
        RunFolder::open(test.path(), &json!({})).unwrap();
        // The number of a process that is gone does not matter.
        fs::write(test.join(LOCK_FILE), "4000000\n").unwrap();
        RunFolder::open(test.path(), &json!({})).unwrap();
    }

    #[test]
    fn other_settings_are_refused_by_name() {
        #[derive(Serialize)]
        struct Config {
            task: &'static str,
            rate: f32,
        }
        let test = TestFolder::new("folder-config");
        let open = |rate| RunFolder::open(test.path(), &Config { task: "ant", rate });
        open(0.1).unwrap();
        open(0.1).unwrap();
        let message = open(0.2).unwrap_err().to_string();
        assert!(message.contains("`rate` is 0.1 there and 0.2 here"), "{message}");
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed() {
        let test = TestFolder::new("folder-leftovers");
        let killed = NewFile::create(&test.join(CHECKPOINT_FILE)).unwrap();
        std::mem::forget(killed);
        let folder = RunFolder::open(test.path(), &json!({})).unwrap();
        assert_eq!(folder.load().unwrap(), None);
        let left = fs::read_dir(test.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(left.into_iter().all(|name| name == CONFIG_FILE || name == LOCK_FILE));
    }
}
