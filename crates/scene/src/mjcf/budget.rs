//! How much copies may make of a file: `<replicate>`, what refers to its copies, and `<attach>` multiply elements and names.

use crate::xml::{Element, MAX_ELEMENTS};

/// Most bytes of tags, names and values that copies make: 256 MiB.
const MAX_COPIED_BYTES: usize = 1 << 28;
/// Bytes that an attribute or element takes besides its texts.
const OVERHEAD: usize = 96;

/// Elements and bytes copied so far, in all files of a model.
#[derive(Default)]
pub(super) struct Budget {
    elements: usize,
    bytes: usize,
}

impl Budget {
    /// Counts `times` copies of an element with all that is in it, each of whose names grows by `longer` bytes; why they are
    /// too much.
    pub fn spend(&mut self, e: &Element, times: usize, longer: usize) -> Result<(), String> {
        let (elements, bytes) = size(e, longer);
        self.elements = self.elements.saturating_add(elements.saturating_mul(times));
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(times));
        if self.elements > MAX_ELEMENTS {
            return Err(format!("copies make more than {MAX_ELEMENTS} elements; make fewer"));
        }
        if self.bytes > MAX_COPIED_BYTES {
            return Err(format!(
                "copies make more than {MAX_COPIED_BYTES} bytes of names and values; make fewer"
            ));
        }
        Ok(())
    }
}

/// Elements and bytes of an element with all that is in it. Recursion is bounded by the depth of the tree.
fn size(e: &Element, longer: usize) -> (usize, usize) {
    let texts: usize = e.attributes.iter().map(|a| a.name.len() + a.value.len() + longer + OVERHEAD).sum();
    let own = (1, OVERHEAD + e.tag.len() + texts);
    e.children.iter().fold(own, |(elements, bytes), child| {
        let (more, longer) = size(child, longer);
        (elements + more, bytes + longer)
    })
}
