//! [`Target`]: where the particles should be, as masses on a grid, with the distance of every node to it.

use pullback_core::ConfigError;
use pullback_math::Vec3;

use super::distance_transform::distances;
use super::mass_grid::{Cells, MassGrid};
use super::solid::Solid;

/// Target mass above which a node belongs to the target, kg: PlasticineLab's, with particles of 6.1 × 10⁻⁵
/// kg.
pub const THRESHOLD: f64 = 1e-4;

/// Masses on a grid to be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    cells: Cells,
    masses: Vec<f64>,
    distances: Vec<f64>,
    mass: f64,
    largest: f64,
    center: Vec3<f64>,
}

impl Target {
    /// Masses of all nodes, kg, z fastest; nodes above `threshold` belong to the target.
    pub fn from_masses(cells: Cells, masses: Vec<f64>, threshold: f64) -> Result<Self, ConfigError> {
        if masses.len() != cells.count() {
            return Err(ConfigError::new(format!(
                "a target of {} masses does not fit a grid of {:?} nodes",
                masses.len(),
                cells.nodes
            )));
        }
        if let Some(i) = masses.iter().position(|m| !(m.is_finite() && *m >= 0.0)) {
            return Err(ConfigError::new(format!(
                "mass {i} of a target is {} kg; masses must be finite and not negative",
                masses[i]
            )));
        }
        let largest = masses.iter().copied().fold(0.0, f64::max);
        if largest <= threshold {
            return Err(ConfigError::new(format!(
                "no node of a target is above the threshold of {threshold} kg (largest {largest}): lower it, or check masses"
            )));
        }
        let distances = distances(&cells, |i| masses[i] > threshold);
        let mass: f64 = masses.iter().sum();
        let moments = masses.iter().enumerate().map(|(i, m)| cells.position(i) * *m);
        let center = moments.fold(Vec3::zero(), |sum, moment| sum + moment) * (1.0 / mass);
        Ok(Target { cells, mass, largest, distances, masses, center })
    }

    /// The masses of particles, kg, at their positions, m.
    pub fn from_particles(
        cells: Cells,
        positions: &[Vec3<f64>],
        masses: &[f64],
        threshold: f64,
    ) -> Result<Self, ConfigError> {
        if positions.len() != masses.len() {
            let (n, m) = (positions.len(), masses.len());
            return Err(ConfigError::new(format!("a target of {n} positions has {m} masses; give one each")));
        }
        let mut grid = MassGrid::new(cells);
        let x: Vec<[f64; 3]> = positions.iter().map(|x| [x.x, x.y, x.z]).collect();
        grid.scatter(&x, masses);
        let (inside, total) = (grid.masses().iter().sum::<f64>(), masses.iter().sum::<f64>());
        if (inside - total).abs() > 1e-9 * total {
            return Err(ConfigError::new(format!(
                "{} kg of a target's {total} kg lie beyond its grid: move it, or enlarge the grid",
                total - inside
            )));
        }
        Target::from_masses(cells, grid.masses().to_vec(), threshold)
    }

    /// A solid filled with `count` random particles that weigh `mass` kg together.
    ///
    /// ```
    /// use pullback_math::Vec3;
    /// use pullback_mpm::losses::{Cells, Solid, Target, target::THRESHOLD};
    /// let ball = Solid::Sphere { radius: 0.1 }.at(Vec3::new(0.5, 0.5, 0.3));
    /// let target = Target::from_solid(Cells::cube(64), &ball, 0.6104, 10_000, 0, THRESHOLD)?;
    /// assert!((target.mass() - 0.6104).abs() < 1e-12);
    /// # Ok::<(), pullback_core::ConfigError>(())
    /// ```
    pub fn from_solid(
        cells: Cells,
        solid: &Solid,
        mass: f64,
        count: usize,
        seed: u64,
        threshold: f64,
    ) -> Result<Self, ConfigError> {
        let places = solid.sample(count, seed)?;
        Target::from_particles(cells, &places, &vec![mass / count as f64; count], threshold)
    }

    /// The grid.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }
    /// Masses of all nodes, kg.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }
    /// Distance of all nodes to the nearest one that belongs to the target, m.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }
    /// Sum of all masses, kg.
    pub fn mass(&self) -> f64 {
        self.mass
    }
    /// Largest mass of a node, kg.
    pub fn largest(&self) -> f64 {
        self.largest
    }
    /// Center of mass, m.
    pub fn center(&self) -> Vec3<f64> {
        self.center
    }
}
