//! `<include file="…"/>`, replaced by the children of the other file's root.
//!
//! Paths are relative to the folder of the main file or else of the file that includes, as in MuJoCo, and a
//! file may be included once, which also ends loops. Depth is counted through includes; the sizes of all
//! files together are bounded. Text between elements is ignored; an empty attribute counts as absent, unless
//! it is a keyword or a class.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::ImportOptions;
use crate::xml::{self, Attribute, Element, MAX_BYTES};
use crate::{ImportError, Place, confine};

/// Attributes that are an error, or mean something, if they are empty.
const KEYWORDS: [&str; 9] =
    ["class", "childclass", "prefix", "sep", "type", "mode", "angle", "limited", "shellinertia"];

/// Reads files and puts includes in their place.
pub(super) struct TreeReader<'a> {
    /// Folder of the main file.
    folder: Option<PathBuf>,
    /// Folders that files must be in, if any are.
    confined_to: &'a [PathBuf],
    /// Folders of the files that are being read, the innermost last.
    around: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    bytes: usize,
}

impl<'a> TreeReader<'a> {
    /// A reader of includes relative to `folder`; without one an include is an error.
    pub fn new(folder: Option<PathBuf>, options: &'a ImportOptions) -> Self {
        let confined_to = &options.confined_to;
        TreeReader { folder, confined_to, around: Vec::new(), seen: HashSet::new(), bytes: 0 }
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
        confine::check(path, self.confined_to).map_err(refuse)?;
        let canonical = path.canonicalize().map_err(|e| refuse(format!("cannot be opened: {e}")))?;
        if !self.seen.insert(canonical) {
            return Err(refuse("is included twice or includes itself; include every file once".into()));
        }
        self.around.push(path.parent().map(Path::to_path_buf).unwrap_or_default());
        let root = self.read_text_at(&xml::read_text(path)?, &name, depth);
        self.around.pop();
        root
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
        let matters = |a: &Attribute| !a.value.trim().is_empty() || KEYWORDS.contains(&a.name.as_str());
        element.attributes.retain(matters);
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
        let beside = self.around.last().map(|f| f.join(file)).filter(|f| f.is_file());
        let path =
            Some(folder.join(file)).filter(|f| f.is_file()).or(beside).unwrap_or_else(|| folder.join(file));
        let included = self.read_file_at(&path, depth).map_err(|mut e| {
            if e.place.line == 0 {
                e = include.error(format!("`{}` {}", e.place.file, e.message));
            }
            e
        })?;
        Ok(included.children)
    }
}
