//! Files: what is written appears whole or not at all, a folder has one writer, and what is read leaves a fingerprint.

mod atomic;
pub mod crc32c;
mod inputs;
mod lock;

pub use atomic::{NewFile, remove_temporaries, rename, write_atomically};
pub use inputs::{Fingerprint, InputFile, noting_inputs, read, read_to_string};
pub use lock::{FolderLock, LOCK_FILE, LockError, lock_file};
