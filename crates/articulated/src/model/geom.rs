//! Shapes on bodies: what collides, and what is seen.

use super::constraint::Softness;
use super::fluid::FluidShape;
use pullback_collision::Shape;
use pullback_math::{Quat, Vec3};

/// How soft the contacts of a geom are, by MuJoCo's parameters. The convex model reads them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSoftness {
    /// Dimension of the contact force: 1 frictionless, 3 sliding, 4 with torsion, 6 with rolling.
    pub condim: u32,
    /// The geom of higher priority sets the parameters of a contact.
    pub priority: i32,
    /// Weight of this geom's parameters between geoms of equal priority.
    pub solmix: f64,
    /// Reference and impedance.
    pub softness: Softness,
    /// Distance beyond the margin at which a contact is still found, though it exerts no force, m.
    pub gap: f64,
}

impl Default for ContactSoftness {
    fn default() -> Self {
        ContactSoftness { condim: 3, priority: 0, solmix: 1.0, softness: Softness::default(), gap: 0.0 }
    }
}

/// A shape on a body, for contact and for looking at.
#[derive(Clone, Debug, PartialEq)]
pub struct Geom {
    /// Unique name.
    pub name: String,
    /// The body that carries it.
    pub body: usize,
    /// What it is.
    pub shape: Shape,
    /// Position in the body frame, m.
    pub position: Vec3<f64>,
    /// Orientation in the body frame.
    pub orientation: Quat<f64>,
    /// Bits that collide with others' `collides_with`.
    pub collision_bits: u32,
    /// Bits this collides with.
    pub collides_with: u32,
    /// Sliding, torsional and rolling friction.
    pub friction: [f64; 3],
    /// Distance at which contact begins, m; that of a pair is the sum.
    pub margin: f64,
    /// How soft its contacts are.
    pub contact: ContactSoftness,
    /// Half sizes of a plane as it is seen, 0 for endless, m; rays end on it there alone.
    pub extent: [f64; 2],
    /// How it meets a medium, if as an ellipsoid.
    pub fluid: Option<FluidShape>,
    /// Color and opacity; that of its material where it has none of its own.
    pub rgba: [f32; 4],
    /// Its material.
    pub material: Option<usize>,
    /// Its group; those above 2 are hidden.
    pub group: i32,
}

impl Geom {
    /// A gray shape in the frame of `body`, which collides with all others, with MuJoCo's friction.
    ///
    /// ```
    /// use pullback_articulated::{Geom, Shape};
    /// let ball = Geom { friction: [0.5, 0.0, 0.0], ..Geom::new("ball", 1, Shape::Sphere { radius: 0.1 }) };
    /// ```
    pub fn new(name: impl Into<String>, body: usize, shape: Shape) -> Self {
        Geom {
            name: name.into(),
            body,
            shape,
            position: Vec3::zero(),
            orientation: Quat::identity(),
            collision_bits: 1,
            collides_with: 1,
            friction: [1.0, 0.005, 0.0001],
            margin: 0.0,
            contact: ContactSoftness::default(),
            extent: [0.0; 2],
            fluid: None,
            rgba: [0.5, 0.5, 0.5, 1.0],
            material: None,
            group: 0,
        }
    }
}
