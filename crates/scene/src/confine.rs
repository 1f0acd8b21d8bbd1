//! Where the files that a model names may be.
//!
//! As in MuJoCo they may be anywhere. A model that one does not trust is confined to folders, its own for one: a file that
//! is elsewhere, be it by `..`, by an absolute path or through a link, is refused before it is opened.

use std::path::{Path, PathBuf};

/// Refuses a file outside of all `folders`; none stand for anywhere.
pub(crate) fn check(file: &Path, folders: &[PathBuf]) -> Result<(), String> {
    if folders.is_empty() {
        return Ok(());
    }
    // What is not there is refused when it is opened.
    let Ok(real) = file.canonicalize() else { return Ok(()) };
    let inside = |folder: &PathBuf| plain(folder).canonicalize().is_ok_and(|folder| real.starts_with(folder));
    match folders.iter().any(inside) {
        true => Ok(()),
        false => Err(
            "is outside of the model's folder, to which it is confined; move it there, or drop --confined \
                      if you trust the model"
                .into(),
        ),
    }
}

/// The folder of a file.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    plain(file.parent().unwrap_or(Path::new(""))).to_owned()
}

/// An empty path stands for the working folder.
fn plain(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_files_inside_are_let_through() {
        let root = std::env::temp_dir().join(format!("pullback-confine-{}", std::process::id()));
        let inner = root.join("model");
        fs::create_dir_all(inner.join("meshes")).unwrap();
        fs::write(inner.join("meshes/a.stl"), "").unwrap();
        fs::write(root.join("secret"), "").unwrap();
        let folders = [inner.clone()];
        assert!(check(&inner.join("meshes/a.stl"), &folders).is_ok());
        assert!(check(&inner.join("meshes/../meshes/a.stl"), &folders).is_ok());
        assert!(check(&inner.join("../secret"), &folders).unwrap_err().contains("outside"));
        assert!(check(&inner.join("../secret"), &[]).is_ok());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("secret"), inner.join("link")).unwrap();
            assert!(check(&inner.join("link"), &folders).is_err());
        }
        assert_eq!(folder_of(Path::new("a.xml")), Path::new("."));
        fs::remove_dir_all(&root).unwrap();
    }
}
