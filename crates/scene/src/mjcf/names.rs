//! Names: unique within their kind, made up where missing.

use std::collections::HashSet;

use crate::ImportError;
use crate::xml::Element;

/// The names taken so far, by kind of element.
pub(super) struct Names {
    taken: HashSet<(&'static str, String)>,
}

impl Names {
    /// Only the world has a name.
    pub fn new() -> Self {
        Names { taken: HashSet::from([("body", "world".to_string())]) }
    }

    /// Takes the name of an element, if it has one.
    pub fn register(&mut self, kind: &'static str, e: &Element) -> Result<(), ImportError> {
        match e.text("name") {
            Some(name) if !name.is_empty() && !self.taken.insert((kind, name.to_string())) => {
                Err(e.error_in("name", format!("another {kind} is called `{name}`; rename one")))
            }
            _ => Ok(()),
        }
    }

    /// Gives the nameless a name, `joint3` for the fourth joint.
    pub fn fill<'a>(&mut self, kind: &'static str, names: impl Iterator<Item = &'a mut String>) {
        for (i, name) in names.enumerate().filter(|(_, n)| n.is_empty()) {
            let mut made = format!("{kind}{i}");
            while !self.taken.insert((kind, made.clone())) {
                made.push('_');
            }
            *name = made;
        }
    }
}
