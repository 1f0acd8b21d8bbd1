//! The stored corpus: for each target a folder of small sound files, and of files that once broke a reader.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pullback_core::registry::Entry;

use crate::mutate::LONGEST;
use crate::target::Target;

/// The folder with a folder per target.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The files of a target, those of a folder in the order of their names; longer ones than are fed are left out.
pub fn read(target: &Entry<Target>) -> io::Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    let own = folder().join(target.name);
    if own.is_dir() {
        files.extend(listed(&own, "")?);
    }
    for (folder, ending) in target.value.beside {
        files.extend(listed(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder), ending)?);
    }
    let mut contents = files.iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
    contents.extend((target.value.made)());
    contents.retain(|content| content.len() <= LONGEST);
    match contents.is_empty() {
        true => Err(io::Error::other(format!(
            "{} is empty: the target needs a file to begin with",
            own.display()
        ))),
        false => Ok(contents),
    }
}

/// The files of a folder whose names have an ending.
fn listed(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let wrong = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", folder.display()));
    let entries = fs::read_dir(folder).map_err(wrong)?.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let paths = entries.iter().map(fs::DirEntry::path);
    let wanted = |path: &PathBuf| path.is_file() && path.to_string_lossy().ends_with(ending);
    let mut files: Vec<PathBuf> = paths.filter(wanted).collect();
    files.sort();
    Ok(files)
}
