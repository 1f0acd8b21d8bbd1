//! What benchmarks and reproductions print: rows of figures and goals that a script can check.

use serde::{Serialize, Serializer};

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub case: String,
    /// Which figure of it.
    pub metric: String,
    /// The figure; null where there is none ([`Results::note_missing`]).
    #[serde(serialize_with = "finite_or_null")]
    pub value: f64,
    /// Its unit; `1` for pure numbers.
    pub unit: String,
    /// The figure to compare with: a peer's in the same run, or the paper's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<f64>,
    /// Who that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_name: Option<String>,
}

/// A limit that a figure must keep.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What is asked.
    pub name: String,
    /// What was seen; null where nothing was, and then the goal is not met.
    #[serde(serialize_with = "finite_or_null")]
    pub value: f64,
    /// The limit.
    pub limit: f64,
    /// Whether the value must be `at most` or `at least` the limit.
    pub must_be: &'static str,
    /// Whether it is.
    pub met: bool,
}

impl Goal {
    /// `value` must not exceed `limit`.
    pub fn at_most(name: impl Into<String>, value: f64, limit: f64) -> Goal {
        Goal { name: name.into(), value, limit, must_be: "at most", met: value <= limit }
    }
    /// `value` must reach `limit`.
    pub fn at_least(name: impl Into<String>, value: f64, limit: f64) -> Goal {
        Goal { name: name.into(), value, limit, must_be: "at least", met: value >= limit }
    }
}

/// Rows and goals of one run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// What ran.
    pub name: String,
    /// The figures.
    pub rows: Vec<Row>,
    /// The limits.
    pub goals: Vec<Goal>,
    /// What a reader must know to read the figures.
    pub notes: Vec<String>,
}

impl Results {
    /// Nothing yet.
    pub fn new(name: impl Into<String>) -> Results {
        Results { name: name.into(), ..Results::default() }
    }
    /// Adds a figure.
    pub fn row(&mut self, case: &str, metric: &str, value: f64, unit: &str) {
        self.rows.push(Row {
            case: case.into(),
            metric: metric.into(),
            value,
            unit: unit.into(),
            peer: None,
            peer_name: None,
        });
    }
    /// Says in a note which figures are no numbers.
    pub fn note_missing(&mut self) {
        let missing = self.rows.iter().filter(|row| !row.value.is_finite());
        let missing: Vec<String> = missing.map(|row| format!("{}: {}", row.case, row.metric)).collect();
        if !missing.is_empty() {
            self.notes.push(format!("{} figures are no numbers: {}", missing.len(), missing.join("; ")));
        }
    }
    /// Whether every goal is met.
    pub fn all_met(&self) -> bool {
        self.goals.iter().all(|g| g.met)
    }
}

/// JSON has no infinity and no NaN.
fn finite_or_null<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
    Some(*x).filter(|x| x.is_finite()).serialize(to)
}
