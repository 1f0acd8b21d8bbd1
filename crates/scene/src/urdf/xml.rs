//! Typed access to XML with the line in every error.

use pullback_math::Vec3;
use roxmltree::{Document, Node};

use super::{MAX_NODES, UrdfError};

/// Elements that say nothing about motion; ignored wherever they stand.
const SILENT: [&str; 4] = ["visual", "material", "gazebo", "transmission"];

/// A document, the name of its file, and what may be ignored in it.
pub(super) struct Xml<'a> {
    pub document: Document<'a>,
    pub file: &'a str,
    pub allow: &'a [String],
    /// Byte at which each line begins, so that lines are found without reading the text again.
    line_starts: Vec<usize>,
}

impl<'a> Xml<'a> {
    pub fn parse(text: &'a str, file: &'a str, allow: &'a [String]) -> Result<Self, UrdfError> {
        let options = roxmltree::ParsingOptions { nodes_limit: MAX_NODES, ..Default::default() };
        match Document::parse_with_options(text, options) {
            Ok(document) => {
                let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
                let line_starts = std::iter::once(0).chain(breaks).collect();
                Ok(Xml { document, file, allow, line_starts })
            }
            Err(e) => Err(UrdfError::At { file: file.into(), line: e.pos().row, reason: e.to_string() }),
        }
    }

    pub fn line(&self, node: Node) -> u32 {
        let start = node.range().start;
        self.line_starts.partition_point(|line| *line <= start) as u32
    }

    pub fn error(&self, node: Node, reason: impl Into<String>) -> UrdfError {
        UrdfError::At { file: self.file.into(), line: self.line(node), reason: reason.into() }
    }

    /// Whether the element may be ignored.
    pub fn allowed(&self, name: &str) -> bool {
        self.allow.iter().any(|a| a == name)
    }

    /// Whether the attribute is to be read as absent.
    pub fn ignores(&self, node: Node, attribute: &str) -> bool {
        self.allowed(&format!("{}@{attribute}", node.tag_name().name()))
    }

    /// Refuses attributes and children that are not among those given.
    pub fn only(&self, node: Node, attributes: &[&str], children: &[&str]) -> Result<(), UrdfError> {
        let element = node.tag_name().name();
        for attribute in node.attributes() {
            let name = attribute.name();
            if !attributes.contains(&name) && !self.ignores(node, name) {
                let reason = format!(
                    "attribute `{name}` of `{element}` is not known; remove it or allow `{element}@{name}`"
                );
                return Err(self.error(node, reason));
            }
        }
        for child in node.children() {
            let name = child.tag_name().name();
            if child.is_text() && child.text().is_some_and(|t| !t.trim().is_empty()) {
                return Err(self.error(child, format!("text inside `{element}` has no meaning")));
            }
            if child.is_element()
                && !children.contains(&name)
                && !SILENT.contains(&name)
                && !self.allowed(name)
            {
                let reason =
                    format!("element `{name}` in `{element}` is not read; remove it or allow `{name}`");
                return Err(self.error(child, reason));
            }
        }
        Ok(())
    }

    /// The only child of that name, if any.
    pub fn child<'n>(&self, node: Node<'n, 'n>, name: &str) -> Result<Option<Node<'n, 'n>>, UrdfError> {
        let mut found = node.children().filter(|c| c.has_tag_name(name));
        let first = found.next();
        match found.next() {
            Some(second) => Err(self.error(second, format!("a second `{name}`; keep one"))),
            None => Ok(first),
        }
    }

    pub fn required_child<'n>(&self, node: Node<'n, 'n>, name: &str) -> Result<Node<'n, 'n>, UrdfError> {
        let missing = || self.error(node, format!("`{}` needs a `{name}`", node.tag_name().name()));
        self.child(node, name)?.ok_or_else(missing)
    }

    pub fn text<'n>(&self, node: Node<'n, 'n>, attribute: &str) -> Result<&'n str, UrdfError> {
        let missing =
            || self.error(node, format!("`{}` needs the attribute `{attribute}`", node.tag_name().name()));
        node.attribute(attribute).filter(|t| !t.is_empty()).ok_or_else(missing)
    }

    /// Exactly N finite numbers, if the attribute is there.
    fn numbers<const N: usize>(&self, node: Node, attribute: &str) -> Result<Option<[f64; N]>, UrdfError> {
        let Some(text) = node.attribute(attribute) else { return Ok(None) };
        let mut values = [0.0; N];
        let mut words = text.split_ascii_whitespace();
        for value in &mut values {
            let parsed = words.next().and_then(|w| w.parse::<f64>().ok()).filter(|x| x.is_finite());
            *value = parsed.ok_or_else(|| self.miscounted::<N>(node, attribute, text))?;
        }
        if words.next().is_some() {
            return Err(self.miscounted::<N>(node, attribute, text));
        }
        Ok(Some(values))
    }

    fn miscounted<const N: usize>(&self, node: Node, attribute: &str, text: &str) -> UrdfError {
        let text: String = text.chars().take(60).collect();
        let plural = if N == 1 { "" } else { "s" };
        self.error(node, format!("`{attribute}` needs {N} finite number{plural}, got `{text}`"))
    }

    pub fn number(&self, node: Node, attribute: &str) -> Result<Option<f64>, UrdfError> {
        Ok(self.numbers::<1>(node, attribute)?.map(|[x]| x))
    }

    pub fn required_number(&self, node: Node, attribute: &str) -> Result<f64, UrdfError> {
        let missing =
            || self.error(node, format!("`{}` needs the attribute `{attribute}`", node.tag_name().name()));
        self.number(node, attribute)?.ok_or_else(missing)
    }

    /// A number above zero.
    pub fn size(&self, node: Node, attribute: &str) -> Result<f64, UrdfError> {
        let value = self.required_number(node, attribute)?;
        if value > 0.0 {
            Ok(value)
        } else {
            Err(self.error(node, format!("`{attribute}` must be positive, got {value}")))
        }
    }

    pub fn vector(&self, node: Node, attribute: &str) -> Result<Option<Vec3<f64>>, UrdfError> {
        Ok(self.numbers::<3>(node, attribute)?.map(|[x, y, z]| Vec3::new(x, y, z)))
    }
}
