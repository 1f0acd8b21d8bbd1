//! [`Particles`]: the particles of a scene as a builder writes them down, in named groups.

use std::ops::Range;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_math::Vec3;

use super::material::Material;

/// A named run of particles of one material.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleGroup {
    /// Name of the group.
    pub name: String,
    /// Index of its first particle.
    pub first: usize,
    /// Number of its particles.
    pub count: usize,
    /// Material with the initial parameters of every particle.
    pub material: Material,
    /// Volume of each particle at rest, m³.
    pub volume: f64,
    /// Mass per volume, kg/m³.
    pub density: f64,
}

impl ParticleGroup {
    /// Indices of its particles.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// All particles of a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// Named runs of particles, in the order of their indices.
    pub groups: Vec<ParticleGroup>,
    /// Initial positions, m.
    pub positions: Vec<Vec3<f64>>,
    /// Initial velocities, m/s.
    pub velocities: Vec<Vec3<f64>>,
}

impl Particles {
    /// Adds a group of particles of one material: density in kg/m³, volume of each particle at rest in m³,
    /// positions in m and a velocity in m/s.
    pub fn add(
        &mut self,
        name: &str,
        material: Material,
        density: f64,
        volume: f64,
        positions: &[Vec3<f64>],
        velocity: Vec3<f64>,
    ) -> Result<(), ConfigError> {
        if self.groups.iter().any(|g| g.name == name) {
            return Err(ConfigError::new(format!("two groups are called `{name}`; rename one")));
        }
        if positions.is_empty() || !(density > 0.0 && volume > 0.0) {
            return Err(ConfigError::new(format!("`{name}` needs particles, a density and a volume")));
        }
        let first = self.positions.len();
        self.positions.extend(positions);
        self.velocities.extend(std::iter::repeat_n(velocity, positions.len()));
        let count = positions.len();
        self.groups.push(ParticleGroup { name: name.into(), first, count, material, volume, density });
        Ok(())
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}

/// Uniformly random positions in a box with the center and the edges given, m.
pub fn random_box(count: usize, center: Vec3<f64>, edges: Vec3<f64>, seed: u64) -> Vec<Vec3<f64>> {
    let mut random = Random::new(seed);
    let mut at = |center: f64, edge: f64| center + edge * random.uniform(-0.5, 0.5);
    (0..count)
        .map(|_| Vec3::new(at(center.x, edges.x), at(center.y, edges.y), at(center.z, edges.z)))
        .collect()
}
