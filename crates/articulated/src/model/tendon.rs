//! Tendons: lengths that springs, actuators and constraints act along.

use super::constraint::Softness;

/// A step of the path of a spatial tendon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathItem {
    /// A site that it passes through.
    Site(usize),
    /// A geom that it wraps around, a sphere or cylinder, between two sites.
    Wrap {
        /// The geom.
        geom: usize,
        /// A site on the side that it shall pass; inside the geom if it shall run inside.
        sidesite: Option<usize>,
    },
    /// A pulley, which begins a new branch; lengths until the next count divided by its divisor.
    Pulley(f64),
}

/// What the length of a tendon is.
#[derive(Clone, Debug, PartialEq)]
pub enum TendonPath {
    /// Σ coefficient · coordinate of joints. Of a ball or free joint it is the first coordinate, and the moment is the
    /// coefficient of the first velocity, as in MuJoCo.
    Fixed(Vec<(usize, f64)>),
    /// The length of a path through sites and around geoms, m.
    Spatial(Vec<PathItem>),
}

/// A tendon.
#[derive(Clone, Debug, PartialEq)]
pub struct Tendon {
    /// Unique name.
    pub name: String,
    /// What its length is.
    pub path: TendonPath,
    /// Spring stiffness, N/m.
    pub stiffness: f64,
    /// Lengths between which the spring is slack; none: its length where the joints' springs rest.
    pub springlength: Option<(f64, f64)>,
    /// Viscous damping, N s/m.
    pub damping: f64,
    /// Inertia of motion along it, kg; for fixed tendons and paths without geoms.
    pub armature: f64,
    /// Limits of the length, if limited.
    pub range: Option<(f64, f64)>,
    /// How soft its limits are.
    pub limit: Softness,
    /// Distance from a limit at which it begins to act, m.
    pub margin: f64,
    /// Dry friction, N.
    pub frictionloss: f64,
    /// How soft its dry friction is.
    pub friction: Softness,
    /// Limits of the sum of all actuator forces on it.
    pub actuator_force_range: Option<(f64, f64)>,
    /// Radius it is drawn with, m.
    pub width: f64,
    /// Color and opacity.
    pub rgba: [f32; 4],
}

impl Tendon {
    /// A tendon that exerts no force by itself.
    ///
    /// ```
    /// use pullback_articulated::{PathItem, Tendon, TendonPath};
    /// let flexor = Tendon::new("flexor", TendonPath::Spatial(vec![PathItem::Site(0), PathItem::Site(1)]));
    /// let sprung = Tendon { stiffness: 100.0, ..flexor };
    /// ```
    pub fn new(name: impl Into<String>, path: TendonPath) -> Self {
        Tendon {
            name: name.into(),
            path,
            stiffness: 0.0,
            springlength: None,
            damping: 0.0,
            armature: 0.0,
            range: None,
            limit: Softness::default(),
            margin: 0.0,
            frictionloss: 0.0,
            friction: Softness::default(),
            actuator_force_range: None,
            width: 0.003,
            rgba: [0.5, 0.5, 0.5, 1.0],
        }
    }
}
