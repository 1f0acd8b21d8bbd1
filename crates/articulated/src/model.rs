//! What a robot is: a tree of bodies with joints, geoms, sites and actuators, compiled and checked.
//!
//! Conventions are MuJoCo's. Body 0 is the world. Bodies stand parent before child, joints and geoms in body
//! order. A free joint has 7 coordinates (position, unit quaternion wxyz) and 6 velocities (linear in the
//! world frame, angular in the body frame); a ball joint 4 and 3; hinge and slide 1 and 1. Importers and
//! builders fill the plain structs and call [`Model::compile`], which assigns indices and refuses what makes
//! no sense.

mod actuator;
mod check;
mod constraint;
mod fluid;
mod geom;
mod joint;
mod options;
mod sensor;
mod tendon;
mod visual;

use pullback_collision::{Collider, Kind, is_iterated, max_soft_contacts};
use pullback_core::ConfigError;
use pullback_math::{Quat, Real, SymMat3, Vec3};

pub use actuator::{ActivationDynamics, Actuator, Bias, Gain, Muscle, Transmission};
pub use constraint::{ContactPair, Equality, EqualityKind, Softness};
pub use fluid::{FluidShape, MeshEllipsoid};
pub use geom::{ContactSoftness, Geom};
pub use joint::{Joint, JointKind, Mimic};
pub use options::{
    CONTACT_MODELS, ComplementarityOptions, ContactMaterials, ContactModel, ContactOverride, FrictionCone,
    FrictionDirections, ImpulseScheme, MaterialMixing, ModelIntegrator, ModelOptions, SolverOptions,
};
pub use pullback_collision::{ContactDamping, Heightfield, Hull, Mesh, Shape};
pub use sensor::{
    ActuatorQuantity, FrameObject, FrameQuantity, JointQuantity, Sensor, SensorKind, SiteQuantity,
    SubtreeQuantity, TendonQuantity,
};
pub use tendon::{PathItem, Tendon, TendonPath};
pub use visual::{
    Camera, Following, Headlight, Light, LightKind, Material, Projection, Texture, TextureKind, TextureMark,
    TexturePattern, TextureSource, Visual,
};

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
    /// Center of mass in the body frame, m.
    pub com: Vec3<f64>,
    /// Inertia about the center of mass, axes of the body frame, kg m².
    pub inertia: SymMat3<f64>,
    /// Orientation of the inertial frame, along principal axes of the inertia, in the body frame (`iquat`).
    pub inertial_orientation: Quat<f64>,
    /// Part of its weight that a force at the center of mass carries (`gravcomp`).
    pub gravity_compensation: f64,
    /// Whether its pose is an input (`mocap`); it has no joints and hangs from the world.
    pub mocap: bool,
}

impl Default for Body {
    /// A massless child of the world in the frame of the world.
    fn default() -> Self {
        Body {
            name: String::new(),
            parent: 0,
            position: Vec3::zero(),
            orientation: Quat::identity(),
            mass: 0.0,
            com: Vec3::zero(),
            inertia: SymMat3::zero(),
            inertial_orientation: Quat::identity(),
            gravity_compensation: 0.0,
            mocap: false,
        }
    }
}

/// A named frame on a body, with a shape that sensors of touch look into and that is seen.
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
    /// Its shape; it collides with nothing.
    pub shape: Shape,
    /// Color and opacity.
    pub rgba: [f32; 4],
    /// Its material.
    pub material: Option<usize>,
    /// Its group; those above 2 are hidden.
    pub group: i32,
}

impl Site {
    /// A small gray ball in the frame of `body`.
    pub fn new(name: impl Into<String>, body: usize) -> Self {
        Site {
            name: name.into(),
            body,
            position: Vec3::zero(),
            orientation: Quat::identity(),
            shape: Shape::Sphere { radius: 0.005 },
            rgba: [0.5, 0.5, 0.5, 1.0],
            material: None,
            group: 0,
        }
    }
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
    /// Activations of the actuators that have one.
    pub activation: Vec<f64>,
    /// Controls.
    pub control: Vec<f64>,
    /// Position and unit quaternion of every mocap body, 7 numbers each, in body order.
    pub mocap: Vec<f64>,
}

impl Keyframe {
    /// Coordinates, velocities and activations: the state of a robot.
    pub fn state(&self) -> Vec<f64> {
        [&self.q[..], &self.v, &self.activation].concat()
    }
    /// Controls of actuators and poses of mocap bodies: the control of a robot.
    pub fn controls(&self) -> Vec<f64> {
        [&self.control[..], &self.mocap].concat()
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
    /// Tendons.
    pub tendons: Vec<Tendon>,
    /// Actuators.
    pub actuators: Vec<Actuator>,
    /// Meshes that geoms refer to.
    pub meshes: Vec<Mesh>,
    /// Terrain that geoms refer to.
    pub heightfields: Vec<Heightfield>,
    /// Cameras; no force depends on them, nor on the four below.
    pub cameras: Vec<Camera>,
    /// Lights.
    pub lights: Vec<Light>,
    /// Materials that geoms and sites refer to.
    pub materials: Vec<Material>,
    /// Textures that materials and lights refer to.
    pub textures: Vec<Texture>,
    /// How it asks to be looked at.
    pub visual: Visual,
    /// Joints that follow others.
    pub mimics: Vec<Mimic>,
    /// Pairs of geoms that always collide.
    pub pairs: Vec<ContactPair>,
    /// Pairs of bodies that never collide.
    pub excludes: Vec<(usize, usize)>,
    /// Equality constraints.
    pub equalities: Vec<Equality>,
    /// Named outputs.
    pub sensors: Vec<Sensor>,
    /// Named configurations.
    pub keyframes: Vec<Keyframe>,
    /// What its file says that is not used, a line each; importers fill it.
    pub notes: Vec<String>,
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
        let world = Body { name: "world".into(), ..Body::default() };
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

    /// Poses of all bodies as described: at [`Model::reference_configuration`].
    pub fn reference_poses(&self) -> Vec<(Vec3<f64>, Quat<f64>)> {
        let mut poses = vec![(Vec3::zero(), Quat::identity()); self.bodies.len()];
        for (b, body) in self.bodies.iter().enumerate().skip(1) {
            let (position, orientation): (Vec3<f64>, Quat<f64>) = poses[body.parent];
            poses[b] =
                (position + orientation.rotate(body.position), orientation * body.orientation.normalize());
        }
        poses
    }

    /// Position and unit quaternion of every mocap body as described, 7 numbers each, in body order.
    pub fn mocap_poses(&self) -> Vec<f64> {
        let numbers = |b: &Body| {
            let (p, o) = (b.position, b.orientation);
            [p.x, p.y, p.z, o.w, o.x, o.y, o.z]
        };
        self.bodies.iter().filter(|b| b.mocap).flat_map(numbers).collect()
    }

    /// Number of activations.
    pub fn activations(&self) -> usize {
        self.actuators.iter().filter(|a| a.has_activation()).count()
    }

    /// Joints of a body, in order.
    pub fn joints_of(&self, body: usize) -> impl Iterator<Item = &Joint> {
        let first = self.joints.partition_point(|j| j.body < body);
        self.joints[first..].iter().take_while(move |j| j.body == body)
    }

    /// The most contacts that shapes of two kinds can have.
    pub(crate) fn contact_slots(&self, a: Kind, b: Kind) -> usize {
        let softness = self.options.collision_softness;
        let one = !self.options.several_contacts && softness == 0.0 && is_iterated(a, b);
        if one { 1 } else { max_soft_contacts(a, b, softness) }
    }

    /// The shape of a geom as the narrow phase sees it, with its sizes as described.
    pub fn collider<T: Real>(&self, geom: &Geom) -> Collider<'_, T> {
        Collider::of_shape(&geom.shape, &self.meshes, &self.heightfields)
    }
}
