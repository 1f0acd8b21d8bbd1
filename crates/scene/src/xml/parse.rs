//! From text to a tree of elements: limits against hostile input, and positions.
//!
//! The text is scanned once before it reaches the XML parser. The scan knows just enough XML (comments,
//! quotes, tags) to bound depth, number of elements and attributes per element, so that neither the parser
//! nor any recursion below can be driven into quadratic time or a stack overflow. Document types, and with
//! them entity bombs, are refused by the parser.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use pullback_core::files::read_to_string_at_most;

use super::{Attribute, Element};
use crate::{ImportError, Place};

/// Deepest nesting of elements.
const MAX_DEPTH: usize = 192;
/// Largest size of a file, bytes.
pub const MAX_BYTES: usize = 32 << 20;
/// Most elements in one file.
pub const MAX_ELEMENTS: usize = 300_000;
/// Most attributes of one element.
const MAX_ATTRIBUTES: usize = 128;
/// Longest name, and what names are made of, bytes.
const MAX_NAME_BYTES: usize = 1024;
/// Attributes that are names or become parts of names.
const NAMES: [&str; 3] = ["name", "prefix", "sep"];
/// Most namespace declarations in one file.
const MAX_NAMESPACES: usize = 64;

/// The text of a file of at most [`MAX_BYTES`].
pub fn read_text(path: &Path) -> Result<String, ImportError> {
    let refuse = |why: String| ImportError::new(&Place::whole(&path.display().to_string()), why);
    read_to_string_at_most(path, MAX_BYTES as u64).map_err(|e| refuse(format!("cannot be read: {e}")))
}

/// Refuses a text that would drive a parser of XML into quadratic time or a stack overflow.
pub fn check(text: &str) -> Result<(), String> {
    check_limits(text, 0).map_err(|(_, why)| why)
}

/// The tree of a text; `name` stands for the file in messages, `depth` counts the elements around it.
pub fn parse(text: &str, name: &str, depth: usize) -> Result<Element, ImportError> {
    if text.len() > MAX_BYTES {
        let why = format!("is larger than {MAX_BYTES} bytes; split off unused parts");
        return Err(ImportError::new(&Place::whole(name), why));
    }
    let text = &*strict(text);
    let lines = Lines::new(text, name);
    check_limits(text, depth).map_err(|(at, why)| ImportError::new(&lines.place(at), why))?;
    // Some files end with zero bytes.
    let document = roxmltree::Document::parse(text.trim_end_matches('\0')).map_err(|e| {
        let pos = e.pos();
        let place = Place { file: lines.file.clone(), line: pos.row as usize, column: pos.col as usize };
        let hint =
            if text.contains("<xacro:") { "; a xacro file must be expanded by `xacro` first" } else { "" };
        ImportError::new(&place, format!("not well-formed XML: {e}{hint}"))
    })?;
    let root = convert(document.root_element(), &lines);
    check_names(&root)?;
    Ok(root)
}

/// Refuses names that no one gave: copies and parameters repeat them many times.
fn check_names(e: &Element) -> Result<(), ImportError> {
    let long = |a: &&Attribute| NAMES.contains(&a.name.as_str()) && a.value.len() > MAX_NAME_BYTES;
    if let Some(a) = e.attributes.iter().find(long) {
        let why = format!("has {} bytes, at most {MAX_NAME_BYTES} are read; shorten it", a.value.len());
        return Err(e.error_in(&a.name, why));
    }
    e.children.iter().try_for_each(check_names)
}

/// The name of an element; names of the macro language xacro keep their prefix.
fn tag(node: roxmltree::Node) -> String {
    let name = node.tag_name();
    match name.namespace() {
        Some(namespace) if namespace.ends_with("xacro") => format!("xacro:{}", name.name()),
        _ => name.name().to_string(),
    }
}

/// The text as a strict parser takes it: comments and declarations are blank, for real files have `--` inside
/// comments and blanks before the declaration, and a blank stands between attributes.
fn strict(text: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    // What is before `kept` is in `plain`; nothing is copied until something changes.
    let (mut at, mut kept) = (0, 0);
    while let Some(open) = text[at..].find('<').map(|i| at + i) {
        let rest = &text[open..];
        let (end, blank) = if let Some(inside) = rest.strip_prefix("<!--") {
            (inside.find("-->").map(|i| open + i + 7), true)
        } else if rest.starts_with("<![CDATA[") {
            (rest.find("]]>").map(|i| open + i + 3), false)
        } else if rest.starts_with("<?") {
            (rest.find("?>").map(|i| open + i + 2), true)
        } else {
            let (mut end, mut quote) = (None, None);
            for (i, b) in rest.bytes().enumerate() {
                match (quote, b) {
                    (Some(q), b) if b == q => {
                        quote = None;
                        if rest.as_bytes().get(i + 1).is_some_and(u8::is_ascii_alphabetic) {
                            plain.push_str(&text[kept..=open + i]);
                            plain.push(' ');
                            kept = open + i + 1;
                        }
                    }
                    (None, b'"' | b'\'') => quote = Some(b),
                    (None, b'>') => {
                        end = Some(open + i + 1);
                        break;
                    }
                    _ => {}
                }
            }
            (end, false)
        };
        let Some(end) = end else { break };
        if blank {
            plain.push_str(&text[kept..open]);
            plain.extend(text[open..end].chars().map(|c| if c == '\n' { c } else { ' ' }));
            kept = end;
        }
        at = end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(&text[kept..]);
    Cow::Owned(plain)
}

/// Recursion is bounded by [`MAX_DEPTH`], which the scan has checked.
fn convert(node: roxmltree::Node, lines: &Lines) -> Element {
    let mut element = Element {
        tag: tag(node),
        attributes: Vec::new(),
        children: Vec::new(),
        place: lines.place(node.range().start),
        stray_text: None,
        scope: 0,
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
        if child.is_element() {
            element.children.push(convert(child, lines));
        } else if child.is_text() && child.text().is_some_and(|t| !t.trim().is_empty()) {
            element.stray_text.get_or_insert_with(|| lines.place(child.range().start));
        }
    }
    element
}

/// Bounds depth, elements, attributes and namespaces; the offset and the complaint if one is exceeded.
fn check_limits(text: &str, mut depth: usize) -> Result<(), (usize, String)> {
    let bytes = text.as_bytes();
    let skip_past =
        |from: usize, end: &str| text.get(from..).and_then(|t| t.find(end)).map(|i| from + i + end.len());
    let (mut at, mut elements) = (0, 0);
    if text.matches("xmlns").count() > MAX_NAMESPACES {
        return Err((0, format!("declares more than {MAX_NAMESPACES} namespaces; use none")));
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
            return Err((open, format!("more than the limit of {MAX_ELEMENTS} elements; split the model")));
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
    /// The last offset asked for and its column; offsets come nearly in order, so an endless line stays
    /// cheap.
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
