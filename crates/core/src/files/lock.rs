//! [`FolderLock`]: a folder that one process at a time writes to.
//!
//! The lock is the system's. It ends with the process that holds it, however that ends. The number in the file is for
//! messages alone.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::regular::open_own;

/// Name of the file that is locked.
pub const LOCK_FILE: &str = "run.lock";

/// A folder that cannot be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process writes to it.
    #[error("{folder} is in use by {holder}: wait until it ends, or use another folder")]
    Held {
        /// The folder.
        folder: PathBuf,
        /// The process that holds the lock.
        holder: String,
    },
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// The file that is locked.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A folder that no other process writes to until this is dropped.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks a folder that exists.
    pub fn acquire(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(LOCK_FILE);
        let failed = |source| LockError::File { path: path.clone(), source };
        let mut file = open_own(&path).map_err(failed)?;
        if !lock_file(&file).map_err(failed)? {
            let number = fs::read_to_string(&path).unwrap_or_default();
            let holder = match number.trim() {
                "" => "another process".to_owned(),
                number => format!("process {number}"),
            };
            return Err(LockError::Held { folder: folder.to_owned(), holder });
        }
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.write_all(format!("{}\n", std::process::id()).as_bytes())
        };
        write(&mut file).map_err(failed)?;
        Ok(FolderLock { _file: file })
    }
}

/// Locks an open file; false if another handle holds the lock. File systems without locks are taken as they are.
pub fn lock_file(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_holder_and_links_are_refused() {
        let folder = std::env::temp_dir().join(format!("pullback-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let first = FolderLock::acquire(&folder).unwrap();
        let message = FolderLock::acquire(&folder).unwrap_err().to_string();
        assert!(message.contains(&format!("in use by process {}", std::process::id())), "{message}");
        drop(first);
        drop(FolderLock::acquire(&folder).unwrap());
        #[cfg(unix)]
        {
            let victim = folder.join("victim.txt");
            fs::write(&victim, b"precious").unwrap();
            fs::remove_file(folder.join(LOCK_FILE)).unwrap();
            std::os::unix::fs::symlink(&victim, folder.join(LOCK_FILE)).unwrap();
            assert!(FolderLock::acquire(&folder).unwrap_err().to_string().contains("remove it"));
            assert_eq!(fs::read(&victim).unwrap(), b"precious");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
