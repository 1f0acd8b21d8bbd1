//! What a file says that is not used, collected while it is read.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::Place;

/// Most notes of one file; what a user would not read is counted only.
const MOST: usize = 40;

/// Sentences with the place where each first applied; equal ones are counted.
#[derive(Default)]
pub(super) struct Notes {
    noted: RefCell<Noted>,
}

#[derive(Default)]
struct Noted {
    notes: Vec<(Place, String, usize)>,
    index: HashMap<String, usize>,
    beyond: usize,
}

impl Notes {
    /// Adds a sentence.
    pub fn add(&self, place: &Place, sentence: impl Into<String>) {
        let (mut noted, sentence) = (self.noted.borrow_mut(), sentence.into());
        if let Some(at) = noted.index.get(&sentence).copied() {
            noted.notes[at].2 += 1;
        } else if noted.notes.len() == MOST {
            noted.beyond += 1;
        } else {
            let next = noted.notes.len();
            noted.index.insert(sentence.clone(), next);
            noted.notes.push((place.clone(), sentence, 1));
        }
    }

    /// One line each, in the order of the file.
    pub fn into_lines(self) -> Vec<String> {
        let Noted { notes, beyond, .. } = self.noted.into_inner();
        let line = |(place, sentence, times): (Place, String, usize)| match times {
            1 => format!("{place}: {sentence}"),
            _ => format!("{place}: {sentence} ({times} times)"),
        };
        let mut lines: Vec<String> = notes.into_iter().map(line).collect();
        if beyond > 0 {
            lines.push(format!("and {beyond} more notes"));
        }
        lines
    }
}
