//! Files that survive a loss of power: whole or not at all, and on the disk when the call returns.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Ending of files that are being written. Those of a killed process are removed when its folder is opened.
const TEMPORARY: &str = ".tmp";

/// Writes `bytes` under a temporary name beside `path`, which [`publish`] renames; they are on the disk then.
pub(crate) fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}{TEMPORARY}"));
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(temporary)
}

/// Renames `from` to `to` and synchronizes the folder, so that the new name outlives a loss of power.
pub(crate) fn publish(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(to.parent().unwrap_or(Path::new(".")))
}

/// Replaces `path` as a whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    publish(&write_temporary(path, bytes)?, path)
}

/// Removes what killed processes left half written. Only the holder of the folder's lock may call it.
pub(crate) fn remove_temporaries(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(TEMPORARY) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Folders can be opened and synchronized on Unix alone; elsewhere the system orders renames by itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_folder::TestFolder;

    #[test]
    fn a_file_is_replaced_and_leftovers_are_removed() {
        let folder = TestFolder::new("files");
        let path = folder.join("a.txt");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A process killed before the rename.
        write_temporary(&path, b"thr").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        remove_temporaries(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }
}
