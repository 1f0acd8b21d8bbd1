//! Soft constraints as MuJoCo describes them: their softness, equalities, and pairs of geoms with a law of
//! their own.

use pullback_math::{Quat, Vec3};

/// How soft a constraint is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softness {
    /// Time constant (s) and damping ratio; both negative: −stiffness and −damping.
    pub solref: [f64; 2],
    /// Impedance: smallest, largest, width (m or rad), midpoint, power.
    pub solimp: [f64; 5],
}

impl Default for Softness {
    fn default() -> Self {
        Softness { solref: [0.02, 1.0], solimp: [0.9, 0.95, 0.001, 0.5, 2.0] }
    }
}

/// What an equality constraint holds together.
#[derive(Clone, Debug, PartialEq)]
pub enum EqualityKind {
    /// A point of one body to a point of another.
    Connect {
        /// The two bodies.
        bodies: [usize; 2],
        /// The point in the frame of each, m.
        anchors: [Vec3<f64>; 2],
    },
    /// A frame of one body to a frame of another.
    Weld {
        /// The two bodies.
        bodies: [usize; 2],
        /// Origin of the frame in the frame of each body, m.
        anchors: [Vec3<f64>; 2],
        /// Orientation of the frame in the frame of each body.
        orientations: [Quat<f64>; 2],
        /// Length by which rotations are compared with translations, m.
        torquescale: f64,
    },
    /// A hinge or slide to a polynomial of another: q₁ − q₁⁰ = Σ cₙ (q₂ − q₂⁰)ⁿ, or c₀ without another.
    Joint {
        /// The joint.
        joint: usize,
        /// The joint it follows.
        other: Option<usize>,
        /// Coefficients, the constant first.
        polycoef: [f64; 5],
    },
    /// The length of a tendon is a polynomial of that of another, both counted from the reference configuration.
    Tendon {
        /// The tendon that follows.
        tendon: usize,
        /// The tendon it follows; none: it keeps its length.
        other: Option<usize>,
        /// Coefficients, the constant first.
        polycoef: [f64; 5],
    },
}

/// An equality constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Equality {
    /// Unique name.
    pub name: String,
    /// What it holds together.
    pub kind: EqualityKind,
    /// How soft it is.
    pub softness: Softness,
}

/// A pair of geoms that always collides, with a law of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactPair {
    /// The two geoms.
    pub geoms: (usize, usize),
    /// Dimension of the contact force: 1 frictionless, 3 sliding, 4 with torsion, 6 with rolling.
    pub condim: u32,
    /// Friction: two of sliding, torsional, two of rolling.
    pub friction: [f64; 5],
    /// How soft it is.
    pub softness: Softness,
    /// Time constant and damping ratio of friction under an elliptic cone; zeros: those of `softness`.
    pub solreffriction: [f64; 2],
    /// Distance below which the contact acts, m.
    pub margin: f64,
    /// Distance beyond the margin at which the contact is still found, m.
    pub gap: f64,
}

impl ContactPair {
    /// A pair with MuJoCo's defaults.
    pub fn new(first: usize, second: usize) -> Self {
        ContactPair {
            geoms: (first, second),
            condim: 3,
            friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            softness: Softness::default(),
            solreffriction: [0.0; 2],
            margin: 0.0,
            gap: 0.0,
        }
    }
}
