//! Files: what is written appears whole or not at all, a folder has one writer, and what is read is a regular file of
//! bounded size that leaves a fingerprint.

mod atomic;
pub mod crc32c;
mod inputs;
mod lock;
mod regular;

pub use atomic::{NewFile, remove_temporaries, rename, write_atomically};
pub use inputs::{
    Fingerprint, InputFile, noting_inputs, read, read_at_most, read_to_string, read_to_string_at_most,
};
pub use lock::{FolderLock, LOCK_FILE, LockError, lock_file};
pub use regular::{MOST_FILE_BYTES, open_own, open_regular};
