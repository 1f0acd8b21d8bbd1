//! `<include file="…"/>`, replaced by the children of the other file's root.
//!
//! Paths are relative to the folder of the main file, as in MuJoCo, and a file may be included once, which
//! also ends loops. Depth is counted through includes; the sizes of all files together are bounded.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::xml::{self, Element, MAX_BYTES};
use crate::{ImportError, Place};

/// Reads files and puts includes in their place.
pub(super) struct TreeReader {
    /// Folder of the main file.
    folder: Option<PathBuf>,
    seen: HashSet<PathBuf>,
    bytes: usize,
}

impl TreeReader {
    /// A reader of includes relative to `folder`; without one an include is an error.
    pub fn new(folder: Option<PathBuf>) -> Self {
        TreeReader { folder, seen: HashSet::new(), bytes: 0 }
    }

    /// The tree of a file.
    pub fn read_file(&mut self, path: &Path) -> Result<Element, ImportError> {
        self.read_file_at(path, 0)
    }

    /// The tree of a text; `name` stands for the file in messages.
    pub fn read_text(&mut self, text: &str, name: &str) -> Result<Element, ImportError> {
        self.read_text_at(text, name, 0)
    }

    fn read_file_at(&mut self, path: &Path, depth: usize) -> Result<Element, ImportError> {
        let name = path.display().to_string();
        let refuse = |why: String| ImportError::new(&Place::whole(&name), why);
        let canonical = path.canonicalize().map_err(|e| refuse(format!("cannot be opened: {e}")))?;
        if !self.seen.insert(canonical) {
            return Err(refuse("is included twice or includes itself; include every file once".into()));
        }
        self.read_text_at(&xml::read_text(path)?, &name, depth)
    }

    fn read_text_at(&mut self, text: &str, name: &str, depth: usize) -> Result<Element, ImportError> {
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            let why = format!("the files together are larger than {MAX_BYTES} bytes; split off unused parts");
            return Err(ImportError::new(&Place::whole(name), why));
        }
        let mut root = xml::parse(text, name, depth)?;
        self.resolve(&mut root, depth)?;
        Ok(root)
    }

    /// Recursion is bounded by the depth that parsing has checked.
    fn resolve(&mut self, element: &mut Element, depth: usize) -> Result<(), ImportError> {
        element.no_text()?;
        for mut child in std::mem::take(&mut element.children) {
            if child.tag == "include" {
                element.children.extend(self.include(&child, depth + 1)?);
            } else {
                self.resolve(&mut child, depth + 1)?;
                element.children.push(child);
            }
        }
        Ok(())
    }

    fn include(&mut self, include: &Element, depth: usize) -> Result<Vec<Element>, ImportError> {
        let file = include.required("file")?;
        if !include.children.is_empty() {
            return Err(include.error("must be empty; move its children out"));
        }
        let folder =
            self.folder.clone().ok_or_else(|| include.error("a text has no folder; read a file instead"))?;
        let included = self.read_file_at(&folder.join(file), depth).map_err(|mut e| {
            if e.place.line == 0 {
                e = include.error(format!("`{}` {}", e.place.file, e.message));
            }
            e
        })?;
        Ok(included.children)
    }
}
