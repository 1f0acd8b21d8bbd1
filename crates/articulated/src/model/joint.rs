//! Joints, and what pulls on them or ties them together.

use pullback_math::Vec3;

use super::constraint::Softness;

/// How a joint moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Six degrees of freedom; only for children of the world.
    Free,
    /// Rotation about a point.
    Ball,
    /// Rotation about an axis.
    Hinge,
    /// Translation along an axis.
    Slide,
}

impl JointKind {
    /// Number of coordinates.
    pub fn coordinates(self) -> usize {
        match self {
            JointKind::Free => 7,
            JointKind::Ball => 4,
            JointKind::Hinge | JointKind::Slide => 1,
        }
    }
    /// Number of velocities.
    pub fn velocities(self) -> usize {
        match self {
            JointKind::Free => 6,
            JointKind::Ball => 3,
            JointKind::Hinge | JointKind::Slide => 1,
        }
    }
}

/// A joint between a body and its parent; several on one body act in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Unique name.
    pub name: String,
    /// The body it moves.
    pub body: usize,
    /// How it moves.
    pub kind: JointKind,
    /// Anchor in the body frame, m; unused by free joints.
    pub anchor: Vec3<f64>,
    /// Unit axis in the body frame, for hinge and slide.
    pub axis: Vec3<f64>,
    /// Coordinate of the configuration in which the bodies stand as described (`ref`), rad or m.
    pub reference: f64,
    /// Viscous damping of each velocity, N m s/rad or N s/m.
    pub damping: f64,
    /// Spring stiffness, N m/rad or N/m.
    pub stiffness: f64,
    /// Coordinate at which the spring is at rest (`springref`), for hinge and slide.
    pub spring_reference: f64,
    /// Rotor inertia added to the diagonal of the mass matrix, kg m² or kg.
    pub armature: f64,
    /// Limits of the coordinate, if limited; for ball joints (0, largest angle).
    pub range: Option<(f64, f64)>,
    /// How soft its limits are.
    pub limit: Softness,
    /// Distance from a limit at which it begins to act, rad or m.
    pub margin: f64,
    /// Dry friction of each velocity, N m or N.
    pub frictionloss: f64,
    /// How soft its dry friction is.
    pub friction: Softness,
    /// Limits of the sum of all actuator forces on it, for hinge and slide.
    pub actuator_force_range: Option<(f64, f64)>,
    /// Whether what carries the bodies' weight counts among its actuators' forces where forces are printed
    /// (`actuatorgravcomp`). The motion does not depend on it.
    pub gravity_by_actuator: bool,
    /// First coordinate; set by [`Model::compile`](super::Model::compile).
    pub q: usize,
    /// First velocity; set by [`Model::compile`](super::Model::compile).
    pub v: usize,
}

impl Joint {
    /// A joint at the origin of `body` and along a unit `axis` (unused by free and ball joints), without
    /// limits, spring, damping or armature; its coordinate is 0 where the bodies stand as described.
    ///
    /// ```
    /// use pullback_math::Vec3;
    /// use pullback_articulated::{Joint, JointKind};
    /// let knee = Joint::new("knee", 2, JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0));
    /// let knee = Joint { damping: 0.1, range: Some((0.0, 2.5)), ..knee };
    /// ```
    pub fn new(name: impl Into<String>, body: usize, kind: JointKind, axis: Vec3<f64>) -> Self {
        Joint {
            name: name.into(),
            body,
            kind,
            anchor: Vec3::zero(),
            axis,
            reference: 0.0,
            damping: 0.0,
            stiffness: 0.0,
            spring_reference: 0.0,
            armature: 0.0,
            range: None,
            limit: Softness::default(),
            margin: 0.0,
            frictionloss: 0.0,
            friction: Softness::default(),
            actuator_force_range: None,
            gravity_by_actuator: false,
            q: 0,
            v: 0,
        }
    }
}

/// Ties a joint to another: coordinate = multiplier · coordinate of `of` + offset. Both are hinges or slides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimic {
    /// The joint that follows.
    pub joint: usize,
    /// The joint it follows.
    pub of: usize,
    /// Ratio of the coordinates.
    pub multiplier: f64,
    /// Coordinate of `joint` when that of `of` is 0, rad or m.
    pub offset: f64,
}
