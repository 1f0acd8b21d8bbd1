//! [`Object`]: a rigid body in the shape of a closed mesh, of one density. [`Thrown`]: such a body that is pushed in front of
//! a camera, in free space or above a ground.
//!
//! Mass and inertia are volume integrals over the mesh. The unknown is the mass m; the inertia about the center of mass is
//! m times that of the shape. Contact is gradSim's: corners of the mesh against a plane, by the penalty law.

use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Variable};
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described};
use pullback_math::{Flat, Quat, SymMat3, Vec3};
use pullback_physics::articulated::{Articulated, Body, Geom, Joint, JointKind, Model, Shape};
use pullback_render::{Material, Mesh, Paint};
use pullback_scene::mesh::{MeshError, MeshInertia, TriangleMesh, convex_hull, mass_properties};
use pullback_video::{Frame, Pixels, Shot};

use crate::deformable::filmed::{Filmed, FromMotion, FromVideo};
use crate::deformable::rigid_body::VisibleBody;
use crate::experiment::ExperimentError;

/// Color of objects that are filmed.
pub const COLOR: Vec3<f64> = Vec3 { x: 0.8, y: 0.3, z: 0.05 };
/// Radius of the balls that stand for corners in contact, m.
const CORNER: f64 = 1e-6;

/// A body of one density in the shape of a closed mesh.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its surface, with the center of mass at the origin.
    pub mesh: Mesh,
    /// Volume, m³.
    pub volume: f64,
    /// Inertia about the center of mass over the mass, m².
    shape: SymMat3<f64>,
}

impl Object {
    /// A mesh whose axes are scaled.
    pub fn new(mesh: &Mesh, scale: Vec3<f64>) -> Result<Self, ConfigError> {
        let scaled = mesh.moved(|x| Vec3::new(x.x * scale.x, x.y * scale.y, x.z * scale.z));
        let triangles = scaled.topology.faces.iter().map(|face| face.map(|v| v as usize)).collect();
        let solid = TriangleMesh { vertices: scaled.vertices.clone(), triangles };
        let found = mass_properties(&solid, MeshInertia::Exact).map_err(unusable)?;
        let mesh = scaled.moved(|x| x - found.com);
        Ok(Object { mesh, volume: found.volume, shape: found.inertia.map(|x| x / found.volume) })
    }

    /// Corners of the convex hull: the only ones that can meet a plane first.
    fn corners(&self) -> Result<Vec<Vec3<f64>>, ConfigError> {
        let hull = convex_hull(&self.mesh.vertices).map_err(unusable)?;
        Ok(hull.vertices.iter().map(|v| self.mesh.vertices[*v]).collect())
    }

    /// Lowest height of its surface over that of its center in an orientation, m; negative.
    pub fn lowest(&self, orientation: Quat<f64>) -> f64 {
        self.mesh.vertices.iter().map(|x| orientation.rotate(*x).z).fold(f64::INFINITY, f64::min)
    }
}

fn unusable(error: MeshError) -> ConfigError {
    ConfigError::new(error.to_string())
}

/// How an object begins to move.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Of the center of mass, m.
    pub position: Vec3<f64>,
    /// Of the mesh.
    pub orientation: Quat<f64>,
    /// m/s.
    pub velocity: Vec3<f64>,
    /// rad/s.
    pub spin: Vec3<f64>,
}

/// A known force that is held for some steps.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    /// N.
    pub force: Vec3<f64>,
    /// Where it acts at the start, from the center of mass, m; its torque is held too.
    pub arm: Vec3<f64>,
    /// First step, and the one after the last.
    pub steps: (usize, usize),
}

/// Everything of a thrown object but what is searched for.
#[derive(Clone, Debug)]
pub struct Throw<'a> {
    /// The body.
    pub object: &'a Object,
    /// Its first state.
    pub start: Start,
    /// What pushes it.
    pub pushes: Vec<Push>,
    /// Whether it is heavy above a ground at z = 0; otherwise it floats in free space.
    pub ground: bool,
}

/// How a throw is filmed.
#[derive(Clone, Debug)]
pub struct Filming {
    /// Steps of 1/60 s and substeps of each.
    pub steps: (usize, usize),
    /// From where.
    pub shot: Shot,
    /// Steps that have a frame.
    pub frames: Vec<usize>,
}

/// A quantity to be found.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The slice of the parameters that it sets; the mass sets the inertia too.
    slice: &'static str,
}

/// Mass, and the constants of contact.
pub const MASS: Quantity = Quantity { name: "mass", unit: "kg", slice: "object.mass" };
/// Stiffness ke.
pub const KE: Quantity = Quantity { name: "ke", unit: "N/m", slice: "contact.stiffness" };
/// Damping kd, in proportion to depth.
pub const KD: Quantity = Quantity { name: "kd", unit: "N s/m^2", slice: "contact.damping" };
/// Slope of friction kf.
pub const KF: Quantity = Quantity { name: "kf", unit: "N s/m", slice: "contact.friction_slope" };
/// Coefficient of friction.
pub const MU: Quantity = Quantity { name: "mu", unit: "1", slice: "ground.friction" };

/// A thrown object in front of a camera.
pub struct Thrown {
    /// The motion and its pictures.
    pub filmed: Filmed<Articulated, VisibleBody>,
    /// What it starts from when nothing has been found.
    pub base: Inputs<f64>,
    shape: SymMat3<f64>,
}

impl Thrown {
    /// A throw in front of a camera.
    pub fn new(throw: &Throw<'_>, filming: Filming) -> Result<Self, ExperimentError> {
        let robot = Articulated::new(throw.model()?.compile()?)?.with_pushes(&["object"])?;
        let look = (Paint::Uniform(COLOR), Material::matt());
        let visible = VisibleBody::new(throw.object.mesh.clone(), look.0, look.1);
        let Filming { steps, shot, frames } = filming;
        let filmed = Filmed::new(robot, steps, visible, shot, frames)?;
        let base = throw.inputs(&filmed)?;
        Ok(Thrown { filmed, base, shape: throw.object.shape })
    }

    /// One variable for each quantity, searched by its logarithm.
    pub fn map(&self, quantities: &[Quantity]) -> Result<(LinearMap, Vec<Transform>), ConfigError> {
        let params = &self.filmed.rollout.system.layout().params;
        let variable = |q: &Quantity| Variable::new(q.name, q.unit, (1e-8, 1e8), 1.0);
        let mut map = LinearMap::new(quantities.iter().map(variable).collect());
        for (i, quantity) in quantities.iter().enumerate() {
            let entry = params.slice(quantity.slice)?.range.start;
            map.tie(InputEntry::Params(entry), 0.0, [(i, 1.0)]);
        }
        if let Some(i) = quantities.iter().position(|q| q.slice == MASS.slice) {
            let mut shape = [0.0; 6];
            self.shape.write(&mut shape);
            for (entry, weight) in params.slice("object.inertia")?.range.clone().zip(shape) {
                map.tie(InputEntry::Params(entry), 0.0, [(i, weight)]);
            }
        }
        Ok((map, vec![Transform::Log; quantities.len()]))
    }

    /// The inputs with these values of the quantities.
    pub fn inputs(&self, quantities: &[Quantity], values: &[f64]) -> Result<Inputs<f64>, ConfigError> {
        let mut inputs = self.base.clone();
        self.map(quantities)?.0.apply(values, &mut inputs);
        Ok(inputs)
    }

    /// Quantities by the beginning of a video.
    pub fn problem(
        &self,
        quantities: &[Quantity],
        video: &[Frame],
    ) -> Result<FromVideo<'_, Articulated, VisibleBody, LinearMap>, ExperimentError> {
        self.filmed.from_beginning(self.map(quantities)?, self.base.clone(), video, Pixels::default())
    }

    /// Quantities by the poses of the first frames of a motion (3D supervision).
    pub fn poses(
        &self,
        quantities: &[Quantity],
        values: &[f64],
        frames: usize,
    ) -> Result<FromMotion<'_, Articulated, LinearMap>, ExperimentError> {
        let coordinates = (0..7).map(|entry| vec![entry]).collect();
        let tracks = self.filmed.track(&self.inputs(quantities, values)?, coordinates)?.beginning(frames);
        self.filmed.from_motion(self.map(quantities)?, self.base.clone(), tracks)
    }
}

impl Throw<'_> {
    fn model(&self) -> Result<Model, ConfigError> {
        let mut model = Model::new("thrown");
        let mass = self.object.volume;
        model.bodies.push(Body {
            name: "object".into(),
            position: self.start.position,
            orientation: self.start.orientation,
            mass,
            inertia: self.object.shape.map(|x| mass * x),
            ..Body::default()
        });
        model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
        if !self.ground {
            model.options.gravity = Vec3::zero();
            return Ok(model);
        }
        // The larger friction of two geoms counts, so that of the ground is that of all contacts.
        let smooth = |geom: Geom| Geom { friction: [0.0; 3], ..geom };
        model.geoms.push(smooth(Geom::new("ground", 0, Shape::Plane)));
        for (i, position) in self.object.corners()?.into_iter().enumerate() {
            let ball = Geom::new(format!("corner{i}"), 1, Shape::Sphere { radius: CORNER });
            model.geoms.push(smooth(Geom { position, ..ball }));
        }
        Ok(model)
    }

    fn inputs(&self, filmed: &Filmed<Articulated, VisibleBody>) -> Result<Inputs<f64>, ConfigError> {
        let (layout, mut inputs) = (filmed.rollout.system.layout(), filmed.inputs());
        self.start.velocity.write(&mut inputs.state[layout.state.slice("free.velocity")?.range.clone()]);
        self.start.spin.write(&mut inputs.state[layout.state.slice("free.spin")?.range.clone()]);
        let controls = layout.control.len();
        let (force, torque) = (layout.control.slice("object.force")?, layout.control.slice("object.torque")?);
        for push in &self.pushes {
            for step in push.steps.0..push.steps.1.min(filmed.rollout.steps) {
                let control = &mut inputs.controls[step * controls..][..controls];
                push.force.add_to(&mut control[force.range.clone()]);
                push.arm.cross(push.force).add_to(&mut control[torque.range.clone()]);
            }
        }
        Ok(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_box_has_the_inertia_of_the_formula() {
        let cube = pullback_render::shapes::cuboid(Vec3::new(1.0, 1.0, 1.0)).moved(|x| x + Vec3::new(3.0, 0.0, 1.0));
        let object = Object::new(&cube, Vec3::new(1.0, 2.0, 3.0)).unwrap();
        assert!((object.volume - 6.0).abs() < 1e-12);
        let [xx, yy, zz] = [(4.0 + 9.0) / 12.0, (1.0 + 9.0) / 12.0, (1.0 + 4.0) / 12.0];
        let off = object.shape - SymMat3::diagonal(Vec3::new(xx, yy, zz));
        assert!(off.to_mat3().frobenius_squared() < 1e-20);
        assert!((object.lowest(Quat::identity()) + 1.5).abs() < 1e-12);
    }
}
