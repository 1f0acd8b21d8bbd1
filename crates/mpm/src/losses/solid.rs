//! Constructive solid geometry for targets and particles: primitives, transforms, unions and differences.
//!
//! A solid answers one question, whether it holds a place. [`Solid::sample`] draws places from the box around
//! it and keeps those inside, so combinations need no formula of their own; the cost grows as the solid fills
//! less of its box.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_math::{Quat, Vec3};

/// Rejected draws in a row at which a solid counts as empty.
const MAX_DRAWS: usize = 100_000;

/// A shape in space, m. Primitives are centered at the origin; those with an axis have it along z.
///
/// ```
/// use pullback_math::{Quat, Vec3};
/// use pullback_mpm::losses::Solid;
/// let hole = Solid::Sphere { radius: 0.08 }.at(Vec3::new(0.0, 0.0, 0.05));
/// let bowl = Solid::Sphere { radius: 0.1 }.difference(hole);
/// let scene = Solid::Union(vec![bowl, Solid::Box { half: Vec3::new(0.2, 0.2, 0.01) }.at(Vec3::new(0.0, 0.0, -0.1))]);
/// assert!(scene.contains(Vec3::new(0.0, 0.0, -0.09)) && !scene.contains(Vec3::new(0.0, 0.0, 0.0)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Solid {
    /// A box by half its edges.
    Box {
        /// Half its edges.
        half: Vec3<f64>,
    },
    /// A ball.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// A round bar along z.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Half its length.
        half_length: f64,
    },
    /// A rounded bar along z.
    Capsule {
        /// Its radius.
        radius: f64,
        /// Half the length of its straight part.
        half_length: f64,
    },
    /// A ring around z.
    Torus {
        /// From the center to the middle of the tube.
        ring: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// Everything in any of several.
    Union(Vec<Solid>),
    /// The first without the second.
    Difference(Box<Solid>, Box<Solid>),
    /// A solid moved by its position after it was turned.
    Transformed {
        /// What is moved.
        solid: Box<Solid>,
        /// How it is turned, a unit quaternion.
        orientation: Quat<f64>,
        /// Position of its origin.
        position: Vec3<f64>,
    },
}

impl Solid {
    /// Moved by `position`.
    pub fn at(self, position: Vec3<f64>) -> Self {
        Solid::Transformed { solid: Box::new(self), orientation: Quat::identity(), position }
    }
    /// Turned about the origin.
    pub fn rotated(self, orientation: Quat<f64>) -> Self {
        Solid::Transformed {
            solid: Box::new(self),
            orientation: orientation.normalize(),
            position: Vec3::zero(),
        }
    }
    /// What is in it and not in `other`.
    pub fn difference(self, other: Solid) -> Self {
        Solid::Difference(Box::new(self), Box::new(other))
    }
    /// What is in it or in `other`.
    pub fn union(self, other: Solid) -> Self {
        Solid::Union(vec![self, other])
    }

    /// Whether a point is inside or on the surface.
    pub fn contains(&self, x: Vec3<f64>) -> bool {
        match self {
            Solid::Box { half } => x.x.abs() <= half.x && x.y.abs() <= half.y && x.z.abs() <= half.z,
            Solid::Sphere { radius } => x.norm() <= *radius,
            Solid::Cylinder { radius, half_length } => x.x.hypot(x.y) <= *radius && x.z.abs() <= *half_length,
            Solid::Capsule { radius, half_length } => {
                let beyond = (x.z.abs() - half_length).max(0.0);
                Vec3::new(x.x, x.y, beyond).norm() <= *radius
            }
            Solid::Torus { ring, tube } => (x.x.hypot(x.y) - ring).hypot(x.z) <= *tube,
            Solid::Union(parts) => parts.iter().any(|s| s.contains(x)),
            Solid::Difference(a, b) => a.contains(x) && !b.contains(x),
            Solid::Transformed { solid, orientation, position } => {
                solid.contains(orientation.inverse_rotate(x - *position))
            }
        }
    }

    /// Lowest and highest corner of a box around it.
    pub fn bounds(&self) -> (Vec3<f64>, Vec3<f64>) {
        let around = |half: Vec3<f64>| (-half, half);
        match self {
            Solid::Box { half } => around(*half),
            Solid::Sphere { radius } => around(Vec3::new(*radius, *radius, *radius)),
            Solid::Cylinder { radius, half_length } => around(Vec3::new(*radius, *radius, *half_length)),
            Solid::Capsule { radius, half_length } => {
                around(Vec3::new(*radius, *radius, half_length + radius))
            }
            Solid::Torus { ring, tube } => around(Vec3::new(ring + tube, ring + tube, *tube)),
            Solid::Union(parts) => parts
                .iter()
                .map(Solid::bounds)
                .fold(NOTHING, |(low, high), (l, h)| (low.zip(l, f64::min), high.zip(h, f64::max))),
            Solid::Difference(a, _) => a.bounds(),
            Solid::Transformed { solid, orientation, position } => {
                let (low, high) = solid.bounds();
                (0..8).fold(NOTHING, |(l, h), corner| {
                    let side =
                        |bit: usize, low: f64, high: f64| if corner >> bit & 1 == 0 { low } else { high };
                    let at =
                        Vec3::new(side(0, low.x, high.x), side(1, low.y, high.y), side(2, low.z, high.z));
                    let at = orientation.rotate(at) + *position;
                    (l.zip(at, f64::min), h.zip(at, f64::max))
                })
            }
        }
    }

    /// `count` uniformly random points inside; the same seed gives the same points.
    pub fn sample(&self, count: usize, seed: u64) -> Result<Vec<Vec3<f64>>, ConfigError> {
        let ((low, high), mut random) = (self.bounds(), Random::new(seed));
        let mut points = Vec::with_capacity(count);
        let mut tries = 0;
        while points.len() < count {
            let mut between = |low: f64, high: f64| low + (high - low) * random.uniform(0.0, 1.0);
            let x = Vec3::new(between(low.x, high.x), between(low.y, high.y), between(low.z, high.z));
            if self.contains(x) {
                points.push(x);
                tries = 0;
            }
            tries += 1;
            if tries > MAX_DRAWS {
                return Err(ConfigError::new(format!(
                    "a solid to sample is empty, or fills less than 1/{MAX_DRAWS} of its box: check its sizes"
                )));
            }
        }
        Ok(points)
    }
}

const NOTHING: (Vec3<f64>, Vec3<f64>) = (
    Vec3 { x: f64::INFINITY, y: f64::INFINITY, z: f64::INFINITY },
    Vec3 { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY, z: f64::NEG_INFINITY },
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Volume by the share of random places in its box.
    fn volume(solid: &Solid) -> f64 {
        let ((low, high), n) = (solid.bounds(), 200_000);
        let mut random = Random::new(1);
        let mut inside = 0;
        for _ in 0..n {
            let mut at = |l: f64, h: f64| random.uniform(l, h);
            inside += usize::from(solid.contains(Vec3::new(
                at(low.x, high.x),
                at(low.y, high.y),
                at(low.z, high.z),
            )));
        }
        let edges = high - low;
        edges.x * edges.y * edges.z * inside as f64 / n as f64
    }

    #[test]
    fn solids_have_their_volumes() {
        let turn = Quat::from_axis_angle(Vec3::new(0.6, 0.0, 0.8), 0.7);
        let half = Vec3::new(0.1, 0.2, 0.3);
        let ball = Solid::Sphere { radius: 0.1 };
        for (solid, volume_of_it) in [
            (Solid::Box { half }, 0.048),
            (ball.clone(), 4.0 / 3.0 * PI * 1e-3),
            (Solid::Cylinder { radius: 0.1, half_length: 0.2 }, PI * 0.01 * 0.4),
            (Solid::Capsule { radius: 0.1, half_length: 0.2 }, PI * 0.01 * 0.4 + 4.0 / 3.0 * PI * 1e-3),
            (Solid::Torus { ring: 0.2, tube: 0.05 }, 2.0 * PI * PI * 0.2 * 0.0025),
            (Solid::Box { half }.rotated(turn).at(Vec3::new(1.0, 2.0, 3.0)), 0.048),
            (Solid::Box { half }.difference(ball.clone()), 0.048 - 4.0 / 3.0 * PI * 1e-3),
            (ball.clone().union(ball.at(Vec3::new(0.3, 0.0, 0.0))), 8.0 / 3.0 * PI * 1e-3),
        ] {
            let got = volume(&solid);
            assert!((got / volume_of_it - 1.0).abs() < 0.02, "{solid:?}: {got} {volume_of_it}");
        }
    }

    #[test]
    fn samples_are_inside_and_reproducible_and_empty_solids_say_so() {
        let turn = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), 0.5);
        let ring = Solid::Torus { ring: 0.2, tube: 0.05 }.rotated(turn).at(Vec3::new(0.5, 0.5, 0.5));
        let points = ring.sample(500, 3).unwrap();
        assert!(points.len() == 500 && points.iter().all(|x| ring.contains(*x)));
        assert_eq!(points, ring.sample(500, 3).unwrap());
        assert_ne!(points, ring.sample(500, 4).unwrap());
        let ball = Solid::Sphere { radius: 0.1 };
        assert!(ball.clone().difference(ball).sample(1, 0).is_err());
    }
}
