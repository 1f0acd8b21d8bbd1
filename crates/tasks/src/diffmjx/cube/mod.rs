//! DiffMJX, Fig. 9: the side of a cube from motion capture of its tosses, and more of its parameters.
//!
//! A recording is cut into segments of five samples. From the first, the next four are simulated, and the residuals
//! are differences of position, rotation matrix, velocity and angular velocity, velocities over the time between
//! samples. Where the cube is too small in simulation it misses the floor within a segment, and only contacts from
//! distance have a gradient; where fixed steps are as long as the time between samples, gradients are those of the
//! steps.
//!
//! The mass of a single body leaves no trace in its motion: all forces of soft contact scale with it. What can be
//! told is inertia over mass.

mod fit;
mod recordings;
mod simulator;

pub use fit::{Descent, Estimate, Fit, descend, fit};
pub use recordings::{Segment, Toss, made_tosses, read_tosses, segments};
pub use simulator::Simulator;

use serde::{Deserialize, Serialize};

/// Half width of the block, m: the unit of length of the recordings.
const UNIT: f64 = 0.0524;
/// Seconds between samples.
pub const SAMPLE: f64 = 1.0 / 148.0;
/// Samples of a segment, the first included.
const SEGMENT: usize = 5;
/// Published side, m.
pub const SIDE: f64 = 2.0 * UNIT;
/// Published mass, kg.
const MASS: f64 = 0.37;
/// Length over which a rotation moves what it turns, m.
const LEVER: f64 = UNIT;
/// Entries of a state: position, orientation, velocity, angular velocity in the body.
const STATE: usize = 13;
/// Residuals of a sample: position, rotation matrix, velocity, angular velocity.
const RESIDUALS: usize = 18;

/// What is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quantity {
    /// Length of an edge, m. The inertia follows, at uniform density.
    Side,
    /// Inertia over that of uniform density.
    Inertia,
    /// Mass, kg, with inertia over mass held.
    Mass,
    /// Sliding friction.
    Friction,
    /// Time constant of contacts, s (`solref`).
    TimeConstant,
    /// Damping ratio of contacts (`solref`); the larger, the less the cube bounces.
    DampingRatio,
    /// Height of the floor, m.
    Floor,
}

impl Quantity {
    /// Name and unit.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Side => ("side", "m"),
            Quantity::Inertia => ("inertia over that of uniform density", "1"),
            Quantity::Mass => ("mass", "kg"),
            Quantity::Friction => ("friction", "1"),
            Quantity::TimeConstant => ("time constant of contacts", "s"),
            Quantity::DampingRatio => ("damping ratio of contacts", "1"),
            Quantity::Floor => ("height of the floor", "m"),
        }
    }
}

/// Values of all quantities, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cube<T> {
    /// Values.
    pub values: [T; 7],
}

/// All quantities.
pub const QUANTITIES: [Quantity; 7] = [
    Quantity::Side,
    Quantity::Inertia,
    Quantity::Mass,
    Quantity::Friction,
    Quantity::TimeConstant,
    Quantity::DampingRatio,
    Quantity::Floor,
];

impl Default for Cube<f64> {
    /// The settings of the paper.
    fn default() -> Self {
        Cube { values: [SIDE, 1.0, MASS, 0.4, 0.02, 1.0, 0.0] }
    }
}

/// How segments are simulated and differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Euler steps as long as the time between samples (MJX).
    Fixed,
    /// The same, with contacts from distance on the way back.
    FixedDistant,
    /// Adaptive steps (DiffMJX).
    Adaptive,
    /// The same, with contacts from distance on the way back.
    AdaptiveDistant,
}

impl Way {
    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Fixed => "fixed steps",
            Way::FixedDistant => "fixed steps, from distance",
            Way::Adaptive => "adaptive steps",
            Way::AdaptiveDistant => "adaptive steps, from distance",
        }
    }
}

/// All ways.
pub const WAYS: [Way; 4] = [Way::Fixed, Way::FixedDistant, Way::Adaptive, Way::AdaptiveDistant];
