//! What a robot is: a tree of bodies with joints, geoms, sites and actuators, compiled and checked.
//!
//! Conventions are MuJoCo's. Body 0 is the world. Bodies stand parent before child, joints and geoms in body order. A free
//! joint has 7 coordinates (position, unit quaternion wxyz) and 6 velocities (linear in the world frame, angular in the
//! body frame); a ball joint 4 and 3; hinge and slide 1 and 1. Importers and builders fill the plain structs and call
//! [`Model::compile`], which assigns indices and refuses what makes no sense.

use pullback_core::ConfigError;
use pullback_math::{Quat, SymMat3, Vec3};

use super::heightfield::Heightfield;

/// A rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Unique name.
    pub name: String,
    /// Index of the parent; the world is its own.
    pub parent: usize,
    /// Position of the body frame in the parent's, m.
    pub position: Vec3<f64>,
    /// Orientation of the body frame in the parent's.
    pub orientation: Quat<f64>,
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass in the body frame, m.
    pub com: Vec3<f64>,
    /// Inertia about the centre of mass, axes of the body frame, kg m².
    pub inertia: SymMat3<f64>,
}

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
    /// First coordinate; set by [`Model::compile`].
    pub q: usize,
    /// First velocity; set by [`Model::compile`].
    pub v: usize,
}

impl Joint {
    /// A joint at the origin of `body` and along a unit `axis` (unused by free and ball joints), without limits, spring, damping or
    /// armature; its coordinate is 0 where the bodies stand as described.
    ///
    /// ```
    /// use pullback_math::Vec3;
    /// use pullback_physics::articulated::{Joint, JointKind};
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
            q: 0,
            v: 0,
        }
    }
}

/// A shape, in its own frame. Sizes in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// The half space z ≤ 0.
    Plane,
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A segment along z, rounded.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the segment.
        half_length: f64,
    },
    /// A round bar along z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the length.
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half axes.
        radii: Vec3<f64>,
    },
    /// A box.
    Box {
        /// Half sizes.
        half: Vec3<f64>,
    },
    /// A tube around a circle about z; it collides only with spheres, particles and nodes of a grid.
    Torus {
        /// Radius of the circle.
        ring: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// The convex hull of a mesh.
    Mesh {
        /// Index into [`Model::meshes`].
        mesh: usize,
    },
    /// Terrain; only on bodies fixed to the world.
    Heightfield {
        /// Index into [`Model::heightfields`].
        field: usize,
    },
}

/// A triangle mesh, in the frame of the geoms that use it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Unique name.
    pub name: String,
    /// Corners, m.
    pub vertices: Vec<Vec3<f64>>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[usize; 3]>,
    /// Vertices of the convex hull, as indices.
    pub hull: Vec<usize>,
}

/// MuJoCo's parameters of soft contact, for the contact models that use them; others ignore them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSoftness {
    /// Dimension of the contact force: 1 frictionless, 3 sliding, 4 with torsion, 6 with rolling.
    pub dimension: u32,
    /// The geom of higher priority sets the parameters of a contact.
    pub priority: i32,
    /// Weight of this geom's parameters between geoms of equal priority.
    pub mix: f64,
    /// Time constant (s) and damping ratio of the contact; both negative: −stiffness and −damping.
    pub reference: [f64; 2],
    /// Impedance: smallest, largest, width (m), midpoint, power.
    pub impedance: [f64; 5],
    /// Part of the margin in which a contact is found but exerts no force, m.
    pub gap: f64,
}

impl Default for ContactSoftness {
    fn default() -> Self {
        ContactSoftness {
            dimension: 3,
            priority: 0,
            mix: 1.0,
            reference: [0.02, 1.0],
            impedance: [0.9, 0.95, 0.001, 0.5, 2.0],
            gap: 0.0,
        }
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
    /// Distance at which contact begins, m.
    pub margin: f64,
    /// How a soft contact of this geom behaves.
    pub softness: ContactSoftness,
    /// Colour and opacity.
    pub rgba: [f32; 4],
}

impl Geom {
    /// A grey shape in the frame of `body`, which collides with all others, with MuJoCo's friction.
    ///
    /// ```
    /// use pullback_physics::articulated::{Geom, Shape};
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
            softness: ContactSoftness::default(),
            rgba: [0.5, 0.5, 0.5, 1.0],
        }
    }
}

/// A named frame on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Unique name.
    pub name: String,
    /// The body that carries it.
    pub body: usize,
    /// Position in the body frame, m.
    pub position: Vec3<f64>,
    /// Orientation in the body frame.
    pub orientation: Quat<f64>,
}

/// What an actuator pulls on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActuatorTarget {
    /// A joint.
    Joint(usize),
}

/// Generalised force gear·(gain·u + bias₀ + bias₁·length + bias₂·velocity), with length = gear·coordinate. A motor has gain
/// 1; a position servo gain kp, bias₁ −kp, bias₂ −kv; a velocity servo gain kv, bias₂ −kv.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator {
    /// Unique name.
    pub name: String,
    /// What it pulls on.
    pub target: ActuatorTarget,
    /// Gear of each velocity of the target (one used for hinge and slide, three for ball, six for free).
    pub gear: [f64; 6],
    /// Force per unit of control.
    pub gain: f64,
    /// Constant, length and velocity terms of the force.
    pub bias: [f64; 3],
    /// Limits of the control, if limited.
    pub control_range: Option<(f64, f64)>,
    /// Limits of the force before the gear, if limited.
    pub force_range: Option<(f64, f64)>,
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

/// A named configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keyframe {
    /// Name.
    pub name: String,
    /// Coordinates.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Controls.
    pub control: Vec<f64>,
}

/// How a model asks to be stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// Semi-implicit Euler.
    #[default]
    Euler,
    /// Runge-Kutta of order four.
    Rk4,
    /// Implicit in velocity, with Coriolis terms.
    Implicit,
    /// Implicit in velocity, without Coriolis terms.
    ImplicitFast,
}

/// The shape of the set of admissible friction forces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionCone {
    /// A pyramid.
    #[default]
    Pyramidal,
    /// A cone.
    Elliptic,
}

/// How the damping of compliant contact sets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactDamping {
    /// In proportion to depth, with friction bounded by μ·ke·depth (dFlex): the force is continuous.
    #[default]
    ByDepth,
    /// At once, with friction bounded by μ times the whole normal force (Warp): the force jumps at touch, so gradients of
    /// fixed steps miss how the instant of touch moves.
    Plain,
}

/// Who owns stiffness, damping and friction slope of compliant contact. Friction coefficients are the geoms' in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactMaterials {
    /// All contacts share them: `contact.stiffness` and so on.
    #[default]
    Shared,
    /// Every geom has its own, `GEOM.stiffness` and so on, and two geoms that touch mix theirs.
    PerGeom,
}

/// A constant of a contact, from those of its two geoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaterialMixing {
    /// The larger one.
    #[default]
    Larger,
    /// Their average (Warp).
    Average,
}

/// Settings of the whole model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOptions {
    /// Gravity, m/s².
    pub gravity: Vec3<f64>,
    /// Time step, s.
    pub timestep: f64,
    /// Whether contacts act.
    pub contact: bool,
    /// Whether joint limits act.
    pub limits: bool,
    /// Whether Euler steps treat joint damping implicitly.
    pub implicit_damping: bool,
    /// How the model asks to be stepped.
    pub integrator: Integrator,
    /// Shape of the friction cone.
    pub cone: FrictionCone,
    /// Ratio of frictional to normal impedance of contacts (`impratio`).
    pub impedance_ratio: f64,
    /// Whether contacts between a body and its parent are left out.
    pub filter_parent: bool,
    /// Whether the time constant of a soft contact is kept at two time steps or more.
    pub reference_safety: bool,
    /// How the damping of compliant contact sets in.
    pub contact_damping: ContactDamping,
    /// Who owns the constants of compliant contact.
    pub contact_materials: ContactMaterials,
    /// How two geoms in compliant contact mix friction and what else is theirs.
    pub material_mixing: MaterialMixing,
}

impl Default for ModelOptions {
    fn default() -> Self {
        ModelOptions {
            gravity: Vec3::new(0.0, 0.0, -9.81),
            timestep: 0.002,
            contact: true,
            limits: true,
            implicit_damping: true,
            integrator: Integrator::Euler,
            cone: FrictionCone::Pyramidal,
            impedance_ratio: 1.0,
            filter_parent: true,
            reference_safety: true,
            contact_damping: ContactDamping::default(),
            contact_materials: ContactMaterials::default(),
            material_mixing: MaterialMixing::default(),
        }
    }
}

/// A compiled model; immutable once made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Name.
    pub name: String,
    /// Bodies, the world first, parents before children.
    pub bodies: Vec<Body>,
    /// Joints, in body order.
    pub joints: Vec<Joint>,
    /// Geoms, in body order.
    pub geoms: Vec<Geom>,
    /// Sites.
    pub sites: Vec<Site>,
    /// Actuators.
    pub actuators: Vec<Actuator>,
    /// Meshes that geoms refer to.
    pub meshes: Vec<Mesh>,
    /// Terrain that geoms refer to.
    pub heightfields: Vec<Heightfield>,
    /// Joints that follow others.
    pub mimics: Vec<Mimic>,
    /// Pairs of geoms that always collide.
    pub pairs: Vec<(usize, usize)>,
    /// Sliding friction of each of `pairs`, in place of that of their geoms; may end early.
    pub pair_friction: Vec<f64>,
    /// Pairs of bodies that never collide.
    pub excludes: Vec<(usize, usize)>,
    /// Named configurations.
    pub keyframes: Vec<Keyframe>,
    /// Settings.
    pub options: ModelOptions,
    /// Number of coordinates; set by [`Model::compile`].
    pub nq: usize,
    /// Number of velocities; set by [`Model::compile`].
    pub nv: usize,
}

impl Model {
    /// A model with nothing but the world.
    pub fn new(name: impl Into<String>) -> Self {
        let world = Body {
            name: "world".into(),
            parent: 0,
            position: Vec3::zero(),
            orientation: Quat::identity(),
            mass: 0.0,
            com: Vec3::zero(),
            inertia: SymMat3::zero(),
        };
        Model { name: name.into(), bodies: vec![world], ..Model::default() }
    }

    /// Checks the model and assigns coordinates and velocities to its joints.
    pub fn compile(mut self) -> Result<Model, ConfigError> {
        self.check_bodies()?;
        self.check_joints()?;
        let (mut nq, mut nv) = (0, 0);
        for joint in &mut self.joints {
            (joint.q, joint.v) = (nq, nv);
            nq += joint.kind.coordinates();
            nv += joint.kind.velocities();
            if joint.kind == JointKind::Free {
                joint.anchor = Vec3::zero();
            }
        }
        (self.nq, self.nv) = (nq, nv);
        self.check_the_rest()?;
        Ok(self)
    }

    /// Coordinates in which all bodies stand as described.
    pub fn reference_configuration(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.nq];
        for joint in &self.joints {
            let body = &self.bodies[joint.body];
            match joint.kind {
                JointKind::Free => {
                    let (p, o) = (body.position, body.orientation);
                    q[joint.q..joint.q + 7].copy_from_slice(&[p.x, p.y, p.z, o.w, o.x, o.y, o.z]);
                }
                JointKind::Ball => q[joint.q] = 1.0,
                JointKind::Hinge | JointKind::Slide => q[joint.q] = joint.reference,
            }
        }
        q
    }

    /// Sliding friction that a pair of geoms brings itself.
    pub fn friction_of_pair(&self, a: usize, b: usize) -> Option<f64> {
        let listed = self.pairs.iter().zip(&self.pair_friction);
        listed.rev().find(|(pair, _)| **pair == (a, b) || **pair == (b, a)).map(|(_, friction)| *friction)
    }

    /// Joints of a body, in order.
    pub fn joints_of(&self, body: usize) -> impl Iterator<Item = &Joint> {
        self.joints.iter().filter(move |j| j.body == body)
    }

    fn check_bodies(&self) -> Result<(), ConfigError> {
        if self.bodies.is_empty() {
            return Err(ConfigError::new("a model needs a world"));
        }
        unique("body", self.bodies.iter().map(|b| b.name.as_str()))?;
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let refuse = |why: String| Err(ConfigError::new(format!("body `{}`: {why}", body.name)));
            if body.parent >= i {
                return refuse("its parent must stand before it".into());
            }
            if !(body.mass.is_finite() && body.mass >= 0.0) {
                return refuse(format!("mass {} is not a mass", body.mass));
            }
            let finite = |v: Vec3<f64>| v.x.is_finite() && v.y.is_finite() && v.z.is_finite();
            if !(finite(body.position) && finite(body.com)) {
                return refuse("its position or centre of mass is not finite".into());
            }
            if (body.orientation.norm_squared() - 1.0).abs() > 1e-9 {
                return refuse("its orientation is not a unit quaternion".into());
            }
        }
        Ok(())
    }

    fn check_joints(&self) -> Result<(), ConfigError> {
        unique("joint", self.joints.iter().map(|j| j.name.as_str()))?;
        for (i, joint) in self.joints.iter().enumerate() {
            let refuse = |why: &str| Err(ConfigError::new(format!("joint `{}`: {why}", joint.name)));
            if joint.body == 0 || joint.body >= self.bodies.len() {
                return refuse("it belongs to no body");
            }
            if i > 0 && self.joints[i - 1].body > joint.body {
                return refuse("joints must stand in body order");
            }
            // Joints stand in body order, so those of one body are neighbours.
            let same_body = |other: Option<&Joint>| other.is_some_and(|j| j.body == joint.body);
            let alone = !same_body(self.joints.get(i + 1)) && (i == 0 || !same_body(self.joints.get(i - 1)));
            if joint.kind == JointKind::Free && (self.bodies[joint.body].parent != 0 || !alone) {
                return refuse("a free joint must be the only joint of a child of the world");
            }
            let directed = matches!(joint.kind, JointKind::Hinge | JointKind::Slide);
            if directed && (joint.axis.norm() - 1.0).abs() > 1e-9 {
                return refuse("its axis is not a unit vector");
            }
            for value in [joint.damping, joint.stiffness, joint.armature] {
                if !(value.is_finite() && value >= 0.0) {
                    return refuse("damping, stiffness and armature must not be negative");
                }
            }
            if joint.range.is_some_and(|(low, high)| low.is_nan() || high.is_nan() || low > high) {
                return refuse("its range is empty");
            }
        }
        Ok(())
    }

    /// Terrain does not move.
    fn check_terrain(&self) -> Result<(), ConfigError> {
        for g in &self.geoms {
            let Shape::Heightfield { field } = g.shape else { continue };
            let refuse = |why: &str| Err(ConfigError::new(format!("geom `{}`: {why}", g.name)));
            if field >= self.heightfields.len() {
                return refuse("its heightfield does not exist");
            }
            let mut body = g.body;
            while body != 0 {
                if self.joints_of(body).next().is_some() {
                    return refuse("a heightfield must be on a body that does not move; put it in the world");
                }
                body = self.bodies[body].parent;
            }
        }
        Ok(())
    }

    fn check_the_rest(&self) -> Result<(), ConfigError> {
        unique("actuator", self.actuators.iter().map(|a| a.name.as_str()))?;
        unique("geom", self.geoms.iter().map(|g| g.name.as_str()))?;
        unique("site", self.sites.iter().map(|s| s.name.as_str()))?;
        let bodies = self.bodies.len();
        if self.geoms.iter().any(|g| g.body >= bodies) || self.sites.iter().any(|s| s.body >= bodies) {
            return Err(ConfigError::new("a geom or site belongs to no body"));
        }
        unique("heightfield", self.heightfields.iter().map(|f| f.name.as_str()))?;
        self.heightfields.iter().try_for_each(Heightfield::check)?;
        self.check_terrain()?;
        for actuator in &self.actuators {
            let ActuatorTarget::Joint(joint) = actuator.target;
            if joint >= self.joints.len() {
                return Err(ConfigError::new(format!("actuator `{}` pulls on no joint", actuator.name)));
            }
        }
        for mimic in &self.mimics {
            let scalar = |j: usize| self.joints.get(j).is_some_and(|j| j.kind.coordinates() == 1);
            if !scalar(mimic.joint) || !scalar(mimic.of) || mimic.joint == mimic.of {
                return Err(ConfigError::new("a mimic ties a hinge or slide to another hinge or slide"));
            }
        }
        for key in &self.keyframes {
            if key.q.len() != self.nq || key.v.len() != self.nv || key.control.len() != self.actuators.len() {
                return Err(ConfigError::new(format!("keyframe `{}` does not fit the model", key.name)));
            }
        }
        Ok(())
    }
}

fn unique<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ConfigError::new(format!("two {kind}s are called `{name}`")));
        }
    }
    Ok(())
}
