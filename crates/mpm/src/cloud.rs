//! [`Cloud`]: the particles of a scene as a builder writes them down; [`Grid`]: the box they live in.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_math::Vec3;

use super::grid::Floor;

/// What a part is made of, with the parameters of its particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stuff {
    /// Fixed-corotated elastic: Young's modulus (Pa), Poisson's ratio.
    FixedCorotated(f64, f64),
    /// Neo-Hookean elastic: Young's modulus (Pa), Poisson's ratio.
    NeoHookean(f64, f64),
    /// Elastoplastic in Hencky strain: Young's modulus (Pa), Poisson's ratio, yield stress (Pa).
    VonMises(f64, f64, f64),
    /// PlasticineLab's corotated plasticine: Young's modulus (Pa), Poisson's ratio, yield stress (Pa).
    Plasticine(f64, f64, f64),
    /// Weakly compressible fluid: Young's modulus (Pa), Poisson's ratio.
    Fluid(f64, f64),
    /// Drucker-Prager sand: Young's modulus (Pa), Poisson's ratio, friction angle (rad).
    Sand(f64, f64, f64),
}

/// A named run of particles of one material.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its first particle.
    pub first: usize,
    /// Number of its particles.
    pub count: usize,
    /// What it is made of.
    pub stuff: Stuff,
    /// Volume of each particle at rest, m³.
    pub volume: f64,
    /// Mass per volume, kg/m³.
    pub density: f64,
}

/// All particles of a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// Named runs of particles.
    pub parts: Vec<Part>,
    /// Initial positions, m.
    pub positions: Vec<Vec3<f64>>,
    /// Initial velocities, m/s.
    pub velocities: Vec<Vec3<f64>>,
}

impl Cloud {
    /// Adds particles of one material at the places given.
    pub fn add(
        &mut self,
        name: &str,
        stuff: Stuff,
        density: f64,
        volume: f64,
        positions: &[Vec3<f64>],
        velocity: Vec3<f64>,
    ) -> Result<(), ConfigError> {
        if self.parts.iter().any(|p| p.name == name) {
            return Err(ConfigError::new(format!("two parts are called `{name}`; rename one")));
        }
        if positions.is_empty() || !(density > 0.0 && volume > 0.0) {
            return Err(ConfigError::new(format!("`{name}` needs particles, a density and a volume")));
        }
        let first = self.positions.len();
        self.positions.extend(positions);
        self.velocities.extend(std::iter::repeat_n(velocity, positions.len()));
        let count = positions.len();
        self.parts.push(Part { name: name.into(), first, count, stuff, volume, density });
        Ok(())
    }

    /// Number of particles.
    pub fn particles(&self) -> usize {
        self.positions.len()
    }
}

/// Random places in a box with centre and edges given, m.
pub fn random_box(count: usize, centre: Vec3<f64>, edges: Vec3<f64>, seed: u64) -> Vec<Vec3<f64>> {
    let mut random = Random::new(seed);
    let mut at = |centre: f64, edge: f64| centre + edge * random.uniform(-0.5, 0.5);
    (0..count)
        .map(|_| Vec3::new(at(centre.x, edges.x), at(centre.y, edges.y), at(centre.z, edges.z)))
        .collect()
}

/// The box that particles live in, with a corner at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Nodes along each axis.
    pub nodes: [usize; 3],
    /// Distance of nodes, m.
    pub spacing: f64,
    /// Nodes at each face that nothing leaves through.
    pub margin: usize,
    /// Whether the third axis is one node thick.
    pub flat: bool,
    /// How the floor holds.
    pub floor: Floor,
    /// Friction of the floor, where it has any.
    pub floor_friction: f64,
    /// α of colliders, 1/m: how fast their strength falls with distance.
    pub softness: f64,
}

impl Grid {
    /// A unit cube of `n` nodes along each axis with a sticky floor, as in BO-Leap and Rewarped.
    pub fn cube(n: usize) -> Self {
        Grid {
            nodes: [n; 3],
            spacing: 1.0 / n as f64,
            margin: 3,
            flat: false,
            floor: Floor::Sticky,
            floor_friction: 0.0,
            softness: 666.0,
        }
    }

    /// A unit square of `n` nodes along each axis; z is no axis of it. It has walls but no floor, its gravity should lie
    /// in the plane, and it meets colliders at z = 0.
    pub fn square(n: usize) -> Self {
        Grid { nodes: [n, n, 4], flat: true, ..Grid::cube(n) }
    }
}
