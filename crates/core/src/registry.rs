//! Registries: tables of what can be asked for by name, with one lookup and one error for all of them.
//!
//! A table is a `const` slice of [`Entry`]s beside the code that builds them. A [`Registry`] joins the tables
//! of one kind. Name, summary and source of an entry are known without building it. Two entries of one name
//! do not compile.
//!
//! ```
//! use pullback_core::registry::{Entry, Registry};
//! const LINEAR: &[Entry<fn(f64) -> f64>] = &[Entry::new("twice", "2 x", |x| 2.0 * x)];
//! const POWERS: &[Entry<fn(f64) -> f64>] = &[Entry::new("square", "x²", |x| x * x)];
//! const FUNCTIONS: Registry<fn(f64) -> f64> = Registry::new("function", &[LINEAR, POWERS]);
//!
//! assert_eq!((FUNCTIONS.find("square").unwrap().value)(3.0), 9.0);
//! assert_eq!(
//!     FUNCTIONS.find("sqare").unwrap_err().to_string(),
//!     "no function is called `sqare` (did you mean `square`?); there is twice, square"
//! );
//! ```
//!
//! ```compile_fail,E0080
//! use pullback_core::registry::{Entry, Registry};
//! const TWICE: &[Entry<u8>] = &[Entry::new("one", "1", 1), Entry::new("one", "also 1", 1)];
//! const NUMBERS: Registry<u8> = Registry::new("number", &[TWICE]);
//! NUMBERS.find("one");
//! ```

use serde::Serialize;
use thiserror::Error;

use crate::error::ConfigError;
use crate::sources::Citation;

/// Something that can be asked for by name.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry<V> {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from, unless it is our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Citation>,
    /// What the name stands for: a builder, or the thing itself.
    #[serde(skip)]
    pub value: V,
}

impl<V> Entry<V> {
    /// An entry of our own.
    pub const fn new(name: &'static str, summary: &'static str, value: V) -> Self {
        Entry { name, summary, source: None, value }
    }

    /// An entry that follows a source.
    pub const fn cited(name: &'static str, summary: &'static str, source: Citation, value: V) -> Self {
        Entry { name, summary, source: Some(source), value }
    }

    /// Summary, with the source in brackets.
    pub fn description(&self) -> String {
        match self.source {
            None => self.summary.to_owned(),
            Some(source) => format!("{} ({source})", self.summary),
        }
    }
}

/// All entries of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Registry<V: 'static> {
    kind: &'static str,
    tables: &'static [&'static [Entry<V>]],
    otherwise: Option<&'static str>,
}

impl<V> Registry<V> {
    /// The entries of all `tables`, each of which is a `kind`: a scene, a task.
    pub const fn new(kind: &'static str, tables: &'static [&'static [Entry<V>]]) -> Self {
        let registry = Registry { kind, tables, otherwise: None };
        registry.assert_names_differ();
        registry
    }

    /// Says in errors what may be given in place of a name: "the path of a file".
    pub const fn or(self, otherwise: &'static str) -> Self {
        Registry { kind: self.kind, tables: self.tables, otherwise: Some(otherwise) }
    }

    /// What the entries are.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// All entries, table by table.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry<V>> + use<V> {
        self.tables.iter().copied().flatten()
    }

    /// The names of all entries in the same order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<V> {
        self.entries().map(|entry| entry.name)
    }

    /// The entry called `name`.
    pub fn find(&self, name: &str) -> Result<&'static Entry<V>, UnknownName> {
        self.entries().find(|entry| entry.name == name).ok_or_else(|| self.unknown(name))
    }

    /// The error that nothing is called `name`.
    pub fn unknown(&self, name: &str) -> UnknownName {
        UnknownName {
            kind: self.kind,
            name: name.to_owned(),
            nearest: nearest(name, self.names()),
            known: self.names().collect(),
            otherwise: self.otherwise,
        }
    }

    /// Panics, at compile time, if two entries have the same name.
    const fn assert_names_differ(&self) {
        let (mut table, mut row) = (0, 0);
        while table < self.tables.len() {
            if row == self.tables[table].len() {
                (table, row) = (table + 1, 0);
                continue;
            }
            let (mut t, mut r) = (table, row + 1);
            while t < self.tables.len() {
                if r == self.tables[t].len() {
                    (t, r) = (t + 1, 0);
                    continue;
                }
                assert!(!same(self.tables[table][row].name, self.tables[t][r].name), "a name occurs twice");
                r += 1;
            }
            row += 1;
        }
    }
}

/// Equality of texts at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// A name that no entry has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "no {kind} is called `{name}`{}; there is {}{}",
    nearest.map_or(String::new(), |nearest| format!(" (did you mean `{nearest}`?)")),
    known.join(", "),
    otherwise.map_or(String::new(), |otherwise| format!(", or {otherwise}"))
)]
pub struct UnknownName {
    /// What was asked for: a scene, a task.
    pub kind: &'static str,
    /// The name that was given.
    pub name: String,
    /// The entry whose name is most like it, if any is.
    pub nearest: Option<&'static str>,
    /// All names.
    pub known: Vec<&'static str>,
    /// What may be given in place of a name.
    pub otherwise: Option<&'static str>,
}

impl From<UnknownName> for ConfigError {
    fn from(error: UnknownName) -> Self {
        ConfigError::new(error.to_string())
    }
}

/// The candidate with the smallest edit distance from `name`, among those that differ in at most a third of
/// their letters or contain it.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Shorter names are contained in others by chance.
    const SHORTEST_PART: usize = 3;
    /// Longer names are not typed.
    const LONGEST: usize = 200;
    let is_part = |candidate: &str| name.len() >= SHORTEST_PART && candidate.contains(name);
    let near =
        |edits: usize, candidate: &str| 3 * edits <= name.len().max(candidate.len()) || is_part(candidate);
    candidates
        .filter(|candidate| name.len().max(candidate.len()) <= LONGEST)
        // The lengths alone need so many edits.
        .filter(|candidate| near(name.chars().count().abs_diff(candidate.chars().count()), candidate))
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(edits, candidate)| near(*edits, candidate))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean …?)`, or nothing where no candidate is near.
///
/// ```
/// use pullback_core::registry::did_you_mean;
/// assert_eq!(did_you_mean("knea", ["hip", "knee"]), " (did you mean `knee`?)");
/// assert_eq!(did_you_mean("rocket", ["hip", "knee"]), "");
/// ```
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates.into_iter())
        .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// Edit distance: the least number of letters inserted, deleted, replaced, or swapped with their neighbors,
/// that turns `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // d[i][j] is the distance between the first i letters of a and the first j of b.
    let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                d[i][j] = i + j;
                continue;
            }
            let replaced = d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            d[i][j] = replaced.min(d[i - 1][j] + 1).min(d[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d[i][j] = d[i][j].min(d[i - 2][j - 2] + 1);
            }
        }
    }
    d[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::GRADSIM;

    const SMALL: &[Entry<u8>] =
        &[Entry::cited("pendulum", "a rod", GRADSIM.at("C.3"), 1), Entry::new("double-pendulum", "two", 2)];
    const SOFT: &[Entry<u8>] = &[Entry::new("cloth-64", "a cloth", 3), Entry::new("cloth-256", "a cloth", 4)];
    const SCENES: Registry<u8> = Registry::new("scene", &[SMALL, &[], SOFT]).or("a file");

    #[test]
    fn entries_keep_the_order_of_their_tables() {
        assert_eq!(SCENES.entries().map(|e| e.value).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(SCENES.find("cloth-256").unwrap().value, 4);
        assert_eq!(SMALL[0].description(), "a rod (gradSim, C.3)");
        assert_eq!(SMALL[1].description(), "two");
    }

    #[test]
    fn an_unknown_name_is_answered_by_the_nearest_and_by_all() {
        let message = |name: &str| SCENES.find(name).unwrap_err().to_string();
        assert_eq!(
            message("pendulm"),
            "no scene is called `pendulm` (did you mean `pendulum`?); there is pendulum, double-pendulum, \
             cloth-64, cloth-256, or a file"
        );
        assert_eq!(
            message("rocket"),
            "no scene is called `rocket`; there is pendulum, double-pendulum, cloth-64, cloth-256, or a file"
        );
        assert_eq!(ConfigError::from(SCENES.find("x").unwrap_err()).0, message("x"));
    }

    #[test]
    fn the_nearest_name_has_the_fewest_edits() {
        let find = |name| nearest(name, SCENES.names());
        assert_eq!(find("doublependulum"), Some("double-pendulum"));
        assert_eq!(find("cloth"), Some("cloth-64"));
        assert_eq!(find("loth-65"), Some("cloth-64"));
        assert_eq!((find("el"), find("")), (None, None));
        assert_eq!((edit_distance("kitten", "sitting"), edit_distance("chaso", "chaos")), (3, 1));
        assert_eq!((edit_distance("", "abc"), edit_distance("µm", "mm")), (3, 1));
    }
}
