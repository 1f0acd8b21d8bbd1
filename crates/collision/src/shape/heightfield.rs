//! Terrain: elevations over a grid, as MuJoCo's `hfield`.

use pullback_core::ConfigError;
use pullback_math::Vec3;

/// Elevations over a rectangle, in the frame of the geoms that use it. Between them the surface is flat on
/// triangles.
#[derive(Clone, Debug, PartialEq)]
pub struct Heightfield {
    /// Unique name.
    pub name: String,
    /// Number of rows, along y.
    pub rows: usize,
    /// Number of columns, along x.
    pub columns: usize,
    /// Half the width along x, half the width along y, elevation of the value 1, m.
    pub size: Vec3<f64>,
    /// How far the ground reaches below elevation 0, m.
    pub base: f64,
    /// Values from 0 to 1, row by row from the smallest y.
    pub values: Vec<f64>,
}

impl Heightfield {
    /// The corner of row and column, m.
    pub fn corner(&self, row: usize, column: usize) -> Vec3<f64> {
        let across = |i: usize, n: usize| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
        let unit = Vec3::new(
            across(column, self.columns),
            across(row, self.rows),
            self.values[row * self.columns + column],
        );
        unit.zip(self.size, |u, s| u * s)
    }

    /// The surface as a mesh: corners row by row, two triangles per cell, counter-clockwise seen from above.
    pub fn surface(&self) -> (Vec<Vec3<f64>>, Vec<[usize; 3]>) {
        let corners = (0..self.rows).flat_map(|r| (0..self.columns).map(move |c| self.corner(r, c)));
        let mut triangles = Vec::new();
        for r in 0..self.rows - 1 {
            for c in 0..self.columns - 1 {
                let at = r * self.columns + c;
                triangles.push([at, at + 1, at + self.columns + 1]);
                triangles.push([at, at + self.columns + 1, at + self.columns]);
            }
        }
        (corners.collect(), triangles)
    }

    /// Refuses sizes and values that make no ground.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |why: &str| Err(ConfigError::new(format!("heightfield `{}`: {why}", self.name)));
        let count = self.rows.checked_mul(self.columns);
        if self.rows < 2 || self.columns < 2 || count != Some(self.values.len()) {
            return refuse("it needs two rows and columns or more, and a value for each place");
        }
        if !self.values.iter().all(|x| (0.0..=1.0).contains(x)) {
            return refuse("its values must lie between 0 and 1");
        }
        if ![self.size.x, self.size.y, self.size.z, self.base].iter().all(|x| x.is_finite() && *x > 0.0) {
            return refuse("its sizes must be positive");
        }
        Ok(())
    }
}
