//! From files to one tree of elements: limits against hostile input, positions, includes.
//!
//! The text is scanned once before it reaches the XML parser. The scan knows just enough XML (comments, quotes, tags) to
//! bound depth, number of elements and attributes per element, so that neither the parser nor any recursion below can be
//! driven into quadratic time or a stack overflow. Document types, and with them entity bombs, are refused by the parser.
//!
//! `<include file="…"/>` is replaced by the children of the other file's root. Paths are relative to the folder of the main
//! file, as in MuJoCo, and a file may be included once, which also ends loops.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::element::{Attribute, Element};
use crate::{ImportError, Place};

/// Deepest nesting of elements, counted through includes.
pub const MAX_DEPTH: usize = 192;
/// Largest sum of the sizes of all files, bytes.
pub const MAX_BYTES: usize = 32 << 20;
/// Most elements in one file.
pub const MAX_ELEMENTS: usize = 300_000;
/// Most attributes of one element.
pub const MAX_ATTRIBUTES: usize = 128;
/// Most namespace declarations in one file.
const MAX_NAMESPACES: usize = 64;

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
        let size = std::fs::metadata(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        if !size.is_file() {
            return Err(refuse("is not a file".into()));
        }
        if size.len() > MAX_BYTES as u64 {
            return Err(refuse(format!(
                "is larger than {MAX_BYTES} bytes; split off meshes and unused parts"
            )));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|e| refuse(format!("cannot be read as UTF-8 text: {e}")))?;
        self.read_text_at(&text, &name, depth)
    }

    fn read_text_at(&mut self, text: &str, name: &str, depth: usize) -> Result<Element, ImportError> {
        let lines = Lines::new(text, name);
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            let why = format!("the files together are larger than {MAX_BYTES} bytes; split off unused parts");
            return Err(ImportError::new(&Place::whole(name), why));
        }
        check_limits(text, depth).map_err(|(at, why)| ImportError::new(&lines.place(at), why))?;
        let document = roxmltree::Document::parse(text).map_err(|e| {
            let pos = e.pos();
            let place = Place { file: lines.file.clone(), line: pos.row as usize, column: pos.col as usize };
            ImportError::new(&place, format!("not well-formed XML: {e}"))
        })?;
        self.convert(document.root_element(), &lines, depth)
    }

    /// Recursion is bounded by [`MAX_DEPTH`], which the scan has checked.
    fn convert(
        &mut self,
        node: roxmltree::Node,
        lines: &Lines,
        depth: usize,
    ) -> Result<Element, ImportError> {
        let mut element = Element {
            tag: node.tag_name().name().to_string(),
            attributes: Vec::new(),
            children: Vec::new(),
            place: lines.place(node.range().start),
        };
        for attribute in node.attributes() {
            element.attributes.push(Attribute {
                name: attribute.name().to_string(),
                value: attribute.value().to_string(),
                place: lines.place(attribute.range().start),
                used: Cell::new(false),
            });
        }
        for child in node.children() {
            if child.is_text() && child.text().is_some_and(|t| !t.trim().is_empty()) {
                let place = lines.place(child.range().start);
                return Err(ImportError::new(
                    &place,
                    "text between elements; MJCF keeps everything in attributes",
                ));
            }
            if !child.is_element() {
                continue;
            }
            let converted = self.convert(child, lines, depth + 1)?;
            if converted.tag == "include" {
                element.children.extend(self.include(&converted, depth + 1)?);
            } else {
                element.children.push(converted);
            }
        }
        Ok(element)
    }

    fn include(&mut self, include: &Element, depth: usize) -> Result<Vec<Element>, ImportError> {
        let file = include.text("file").ok_or_else(|| include.error("needs a `file`"))?;
        if !include.children.is_empty() {
            return Err(include.error("must be empty; move its children out"));
        }
        let folder =
            self.folder.clone().ok_or_else(|| include.error("a text has no folder; read a file instead"))?;
        let name = folder.join(file);
        let included = self.read_file_at(&name, depth).map_err(|mut e| {
            if e.place.line == 0 {
                e = include.error(format!("`{}` {}", e.place.file, e.message));
            }
            e
        })?;
        Ok(included.children)
    }
}

/// Bounds depth, elements, attributes and namespaces; the offset and the complaint if one is exceeded.
fn check_limits(text: &str, mut depth: usize) -> Result<(), (usize, String)> {
    let bytes = text.as_bytes();
    let skip_past =
        |from: usize, end: &str| text.get(from..).and_then(|t| t.find(end)).map(|i| from + i + end.len());
    let (mut at, mut elements) = (0, 0);
    if text.matches("xmlns").count() > MAX_NAMESPACES {
        return Err((0, format!("declares more than {MAX_NAMESPACES} namespaces; MJCF has none")));
    }
    while let Some(open) = text[at..].find('<').map(|i| at + i) {
        let rest = &bytes[open..];
        let skipped = if rest.starts_with(b"<!--") {
            skip_past(open + 4, "-->")
        } else if rest.starts_with(b"<![CDATA[") {
            skip_past(open, "]]>")
        } else if rest.starts_with(b"<?") {
            skip_past(open, "?>")
        } else {
            None
        };
        if let Some(next) = skipped {
            at = next;
            continue;
        }
        // Walk to the end of the tag, over quoted values, counting attributes.
        let closing = rest.starts_with(b"</");
        let (mut end, mut quote, mut attributes) = (open + 1, None, 0);
        while end < bytes.len() {
            match (quote, bytes[end]) {
                (Some(q), c) if c == q => quote = None,
                (None, c @ (b'"' | b'\'')) => quote = Some(c),
                (None, b'=') => attributes += 1,
                (None, b'>') => break,
                _ => {}
            }
            end += 1;
        }
        if attributes > MAX_ATTRIBUTES {
            return Err((open, format!("an element has more than {MAX_ATTRIBUTES} attributes")));
        }
        if closing {
            depth = depth.saturating_sub(1);
        } else {
            elements += 1;
            let empty = end < bytes.len() && bytes[end - 1] == b'/';
            depth += usize::from(!empty);
        }
        if depth > MAX_DEPTH {
            return Err((open, format!("elements are nested deeper than {MAX_DEPTH}; flatten the model")));
        }
        if elements > MAX_ELEMENTS {
            return Err((open, format!("more than {MAX_ELEMENTS} elements; split the model")));
        }
        at = (end + 1).min(bytes.len());
    }
    Ok(())
}

/// Where lines begin, so that a line is found by bisection and a column by counting on from the last place.
struct Lines<'a> {
    text: &'a str,
    file: Arc<str>,
    starts: Vec<usize>,
    /// The last offset asked for and its column; offsets come nearly in order, so an endless line stays cheap.
    last: Cell<(usize, usize)>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, name: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
        let starts = std::iter::once(0).chain(newlines).collect();
        Lines { text, file: name.into(), starts, last: Cell::new((0, 1)) }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1];
        let (last, last_column) = self.last.get();
        let (from, column) = if (start..=offset).contains(&last) { (last, last_column) } else { (start, 1) };
        let between = self.text.as_bytes().get(from..offset).unwrap_or_default();
        // Bytes that continue a character do not count.
        let column = column + between.iter().filter(|b| (**b & 0xC0) != 0x80).count();
        self.last.set((offset, column));
        Place { file: self.file.clone(), line, column }
    }
}
