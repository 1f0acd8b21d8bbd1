//! What a model measures: named outputs, under MuJoCo's names.

/// A frame that moves with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameObject {
    /// The inertial frame of a body (`body`).
    Inertial(usize),
    /// The frame of a body (`xbody`).
    Body(usize),
    /// A geom.
    Geom(usize),
    /// A site.
    Site(usize),
}

/// What is measured of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameQuantity {
    /// `framepos`, m.
    Position,
    /// `framequat`.
    Orientation,
    /// `framexaxis`, `frameyaxis`, `framezaxis`: a column of the rotation.
    Axis(usize),
    /// `framelinvel`, m/s.
    LinearVelocity,
    /// `frameangvel`, rad/s.
    AngularVelocity,
    /// `framelinacc`, against free fall, m/s².
    LinearAcceleration,
    /// `frameangacc`, rad/s².
    AngularAcceleration,
}

/// What is measured at a site, in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteQuantity {
    /// `gyro`: angular velocity, rad/s.
    Gyro,
    /// `velocimeter`: linear velocity, m/s.
    Velocimeter,
    /// `accelerometer`: linear acceleration against free fall, m/s².
    Accelerometer,
    /// `magnetometer`: the magnetic field.
    Magnetometer,
    /// `force`: what the parent exerts on the body of the site and everything beyond, N.
    Force,
    /// `torque`: the same about the site, N m.
    Torque,
    /// `touch`: sum of the normal forces of contacts inside the site, N.
    Touch,
    /// `rangefinder`: distance to the nearest geom along z, m; −1 if there is none.
    Range,
}

/// What is measured of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointQuantity {
    /// `jointpos`: coordinate of a hinge or slide.
    Position,
    /// `jointvel`: its velocity.
    Velocity,
    /// `ballquat`: orientation of a ball joint.
    Quaternion,
    /// `ballangvel`: its angular velocity in the child frame.
    Spin,
    /// `jointactuatorfrc`: force of all actuators.
    ActuatorForce,
    /// `jointlimitpos`: distance from the limit that acts, less the margin; 0 if none does.
    LimitPosition,
    /// `jointlimitvel`: its rate.
    LimitVelocity,
    /// `jointlimitfrc`: its force.
    LimitForce,
}

/// What is measured of an actuator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActuatorQuantity {
    /// `actuatorpos`: length of its transmission.
    Length,
    /// `actuatorvel`: velocity of its transmission.
    Velocity,
    /// `actuatorfrc`: force before its gear.
    Force,
}

/// What is measured of a tendon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TendonQuantity {
    /// `tendonpos`: its length.
    Length,
    /// `tendonvel`: the rate of its length.
    Velocity,
    /// `tendonactuatorfrc`: sum of the forces of the actuators on it.
    ActuatorForce,
}

/// What is measured of a body and everything beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubtreeQuantity {
    /// `subtreecom`, m.
    Center,
    /// `subtreelinvel`: velocity of the center, m/s.
    LinearVelocity,
    /// `subtreeangmom`: angular momentum about the center, kg m²/s.
    AngularMomentum,
}

/// What a sensor measures.
#[derive(Clone, Debug, PartialEq)]
pub enum SensorKind {
    /// A joint.
    Joint(usize, JointQuantity),
    /// An actuator.
    Actuator(usize, ActuatorQuantity),
    /// A tendon.
    Tendon(usize, TendonQuantity),
    /// A frame, in the world or in another frame.
    Frame {
        /// The frame.
        object: FrameObject,
        /// The frame it is seen from; the world if none.
        reference: Option<FrameObject>,
        /// What of it.
        what: FrameQuantity,
    },
    /// At a site.
    Site(usize, SiteQuantity),
    /// A body and everything beyond it.
    Subtree(usize, SubtreeQuantity),
    /// `clock`: time, s.
    Clock,
    /// `e_potential`: potential energy of weight and springs, J.
    PotentialEnergy,
    /// `e_kinetic`: kinetic energy, J.
    KineticEnergy,
    /// A sensor that is kept by name but not read, and why.
    Unsupported(String),
}

impl SensorKind {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            SensorKind::Joint(_, JointQuantity::Quaternion)
            | SensorKind::Frame { what: FrameQuantity::Orientation, .. } => 4,
            SensorKind::Joint(_, JointQuantity::Spin)
            | SensorKind::Frame { .. }
            | SensorKind::Subtree(..) => 3,
            SensorKind::Site(_, SiteQuantity::Touch | SiteQuantity::Range) => 1,
            SensorKind::Site(..) => 3,
            SensorKind::Joint(..)
            | SensorKind::Actuator(..)
            | SensorKind::Tendon(..)
            | SensorKind::Clock
            | SensorKind::PotentialEnergy
            | SensorKind::KineticEnergy => 1,
            SensorKind::Unsupported(_) => 0,
        }
    }

    /// Whether it reads nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named output of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// Unique name.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
    /// Largest absolute reading; 0 for none. Directions and orientations have none.
    pub cutoff: f64,
}
