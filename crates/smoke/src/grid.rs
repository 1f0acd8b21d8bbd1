//! [`Grid`]: cells, borders and obstacles.

use pullback_core::ConfigError;

/// What is beyond the grid along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// Walls at both ends, along which smoke slips.
    Wall,
    /// The other end.
    Periodic,
}

/// Cubic cells in `D` dimensions; the last axis points up.
///
/// Cells are numbered with the first axis fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<const D: usize> {
    /// Cells along each axis.
    pub cells: [usize; D],
    /// Edge of a cell, m.
    pub spacing: f64,
    /// What is beyond each axis.
    pub borders: [Border; D],
    /// Which cells are solid; empty if none is.
    solid: Vec<bool>,
}

impl<const D: usize> Grid<D> {
    /// A box of cells among walls.
    pub fn new(cells: [usize; D], spacing: f64) -> Self {
        Grid { cells, spacing, borders: [Border::Wall; D], solid: Vec::new() }
    }

    /// The same with other borders.
    pub fn with_borders(self, borders: [Border; D]) -> Self {
        Grid { borders, ..self }
    }

    /// Makes the cells solid whose center, in m, is in an obstacle.
    pub fn with_obstacle(mut self, covers: impl Fn([f64; D]) -> bool) -> Self {
        self.solid.resize(self.len(), false);
        for i in 0..self.len() {
            self.solid[i] |= covers(self.center(i));
        }
        self
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.iter().product()
    }
    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether cell `i` is solid.
    pub fn is_solid(&self, i: usize) -> bool {
        self.solid.get(i).copied().unwrap_or(false)
    }
    /// Names of the axes: x and z in two dimensions, x, y and z in three.
    pub fn axis_names() -> &'static [&'static str] {
        if D == 2 { &["x", "z"] } else { &["x", "y", "z"] }
    }
    /// The axis that points up.
    pub fn up() -> usize {
        D - 1
    }
    /// Place of cell `i` along each axis.
    pub fn place(&self, mut i: usize) -> [usize; D] {
        self.cells.map(|n| {
            let at = i % n;
            i /= n;
            at
        })
    }
    /// Center of cell `i`, m.
    pub fn center(&self, i: usize) -> [f64; D] {
        self.place(i).map(|at| (at as f64 + 0.5) * self.spacing)
    }
    /// Extent along each axis, m.
    pub fn extent(&self) -> [f64; D] {
        self.cells.map(|n| n as f64 * self.spacing)
    }

    /// A grid on which smoke can move.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !(D == 2 || D == 3) {
            return Err(ConfigError::new(format!("smoke moves in 2 or 3 dimensions, not in {D}")));
        }
        if self.cells.iter().any(|n| *n < 4) || !(self.spacing.is_finite() && self.spacing > 0.0) {
            let (cells, spacing) = (self.cells, self.spacing);
            return Err(ConfigError::new(format!(
                "a grid needs 4 cells or more along each axis and a positive spacing, got {cells:?} and {spacing} m"
            )));
        }
        if !(0..self.len()).any(|i| !self.is_solid(i)) {
            return Err(ConfigError::new("obstacles cover the whole grid; leave room for smoke"));
        }
        Ok(())
    }
}
