//! Files that appear whole or not at all, and that are on the disk when the call returns.
//!
//! A file is written under a temporary name in the same folder, synchronized and renamed; then the folder is synchronized.
//! Temporary files are made by `create_new`, which follows no link and opens no file that is there.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// How names of temporary files begin and end.
const TEMPORARY: (&str, &str) = (".pullback-", ".tmp");

/// A file on its way. Dropped before [`NewFile::publish`], it leaves nothing behind.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    published: bool,
}

impl NewFile {
    /// Begins the file that is to be called `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let (begin, end) = TEMPORARY;
        loop {
            let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
            let temporary = path.with_file_name(format!("{begin}{}-{unique}{end}", process::id()));
            match File::create_new(&temporary) {
                Ok(file) => return Ok(NewFile { path: path.to_owned(), temporary, file, published: false }),
                // Left by an earlier process of the same number, or put there by somebody else.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Another handle of the same file, for a writer that keeps it.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Waits until all that was written is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the file its name, in place of whatever has it.
    pub fn publish(mut self) -> io::Result<()> {
        self.sync()?;
        rename(&self.temporary, &self.path)?;
        self.published = true;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.published {
            // The error that kept the file from its name is the one that matters.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes `bytes` to `path`: no reader, and no reader after a crash, sees half a file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.publish()
}

/// Renames within a folder and synchronizes it, so that the new name outlives a loss of power.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    match sync_folder(to.parent().unwrap_or(Path::new("."))) {
        // Folders that may not be read, and file systems that synchronize none.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Folders can be opened and synchronized on Unix alone; elsewhere the system orders renames by itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Removes what killed processes left half written. Only the holder of the folder's lock may call it.
pub fn remove_temporaries(folder: &Path) -> io::Result<()> {
    let (begin, end) = TEMPORARY;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(begin) && name.ends_with(end) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a test's own.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("pullback-atomic-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_replaces_another_and_leaves_nothing_behind() {
        let folder = folder("replace");
        let path = folder.join("a.txt");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        drop(NewFile::create(&path).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write_atomically(&folder.join("no/such/folder.txt"), b"x").is_err());
        // A name as long as a file system takes leaves room for the temporary one.
        write_atomically(&folder.join("n".repeat(255)), b"long").unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_killed_processes_left_is_removed() {
        let folder = folder("leftovers");
        let path = folder.join("a.txt");
        write_atomically(&path, b"one").unwrap();
        let mut killed = NewFile::create(&path).unwrap();
        killed.write_all(b"tw").unwrap();
        std::mem::forget(killed);
        fs::write(folder.join(".mine.tmp"), b"kept").unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        remove_temporaries(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn planted_links_lead_nowhere() {
        let folder = folder("links");
        let victim = folder.join("victim.txt");
        fs::write(&victim, b"precious").unwrap();
        let path = folder.join("a.txt");
        // The temporary names that come next, and the name itself.
        let taken = NewFile::create(&path).unwrap().temporary.clone();
        let taken = taken.file_name().unwrap().to_string_lossy().into_owned();
        let number = taken.trim_end_matches(TEMPORARY.1).rsplit('-').next().unwrap();
        let number: u64 = number.parse().unwrap();
        for k in number + 1..number + 40 {
            let name = format!("{}{}-{k}{}", TEMPORARY.0, process::id(), TEMPORARY.1);
            std::os::unix::fs::symlink(&victim, folder.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_atomically(&path, b"mine").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        fs::remove_dir_all(&folder).unwrap();
    }
}
