//! [`Picture`]: a field over a plane, for whoever draws.

/// A scalar field over a rectangle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// Rows from low to high, in each from left to right.
    pub values: Vec<Vec<f64>>,
    /// Places of the first and the last value of a row, and name of that axis with its unit.
    pub across: ((f64, f64), String),
    /// The same of the rows.
    pub up: ((f64, f64), String),
}
