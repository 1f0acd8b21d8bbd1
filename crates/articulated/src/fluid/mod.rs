//! Forces of a medium on the bodies that move through it (`density`, `viscosity`, `wind`), and their pullback.
//!
//! A body with geoms of `fluidshape="ellipsoid"` feels the medium through these geoms alone ([`ellipsoid`]);
//! any other body with mass through the box that has its inertia (`inertia_box`). Either is a [`FluidPart`],
//! and its force a function of the body's pose and velocity: a push before the dynamics.
//!
//! *Implicit steps* (`slope`) need the derivative of the forces over velocity, and its pullback second
//! derivatives: the pullback of a part over dual numbers.

pub mod ellipsoid;
mod inertia_box;
mod slope;

use pullback_core::Block;
use pullback_core::layout::{LayoutBuilder, Slice};
use pullback_math::{Cotangent, Flat, Force, Mat3, Motion, Quat, Real, Transform, Vec3, differentiable};

use super::contact::{MotionBars, pose_wrench};
use super::field::Articulated;
use super::kinematics::Kinematics;
use super::model::{Geom, Model, Shape};
use super::params::{BodyParams, GeomParams, ParamIndex};
use super::rnea::Push;
use ellipsoid::{
    EllipsoidInputs, EllipsoidParams, HalfAxes, added_mass, ellipsoid_force, ellipsoid_force_vjp,
};
use inertia_box::{BoxInputs, box_force, box_force_vjp};

pub(crate) use slope::{FluidWorkspace, SlopeBars};

/// Least divisor, and least mass that feels the medium.
const LEAST: f64 = 1e-15;

/// The medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Medium<T> {
    /// Density, kg/m³.
    pub density: T,
    /// Dynamic viscosity, Pa s.
    pub viscosity: T,
    /// Its velocity in the world, m/s.
    pub wind: Vec3<T>,
}

/// Motion of a frame against the medium, in the frame.
#[differentiable]
#[inline(always)]
fn flow<T: Real>(frame: Transform<T>, motion: Motion<T>, wind: Vec3<T>) -> Motion<T> {
    let local = frame.inverse_motion(motion);
    Motion::new(local.angular, local.linear - frame.inverse_direction(wind))
}

/// What the medium acts on.
#[derive(Clone, Debug)]
pub struct FluidPart {
    body: usize,
    kind: PartKind,
}

#[derive(Clone, Debug)]
enum PartKind {
    /// A whole body, by axes of its inertial frame. They are those of the model as described and do not follow
    /// inertia that changes later.
    InertiaBox { axes: Mat3<f64> },
    /// A geom.
    Ellipsoid {
        geom: usize,
        half_axes: HalfAxes,
        /// Where the ellipsoid of a mesh is in the frame of the geom, and its half axes.
        placed: (Transform<f64>, Vec3<f64>),
        params: Block<EllipsoidParams<f64>>,
    },
}

/// Where the parameters of a medium lie, and what it acts on.
#[derive(Clone, Debug)]
pub struct FluidIndex {
    /// The medium.
    pub medium: Block<Medium<f64>>,
    /// What it acts on.
    pub parts: Vec<FluidPart>,
}

/// Adds `density`, `viscosity`, `wind` and, for each geom that meets the medium as an ellipsoid,
/// `GEOM.fluidcoef`, `GEOM.added_mass` and `GEOM.added_inertia`; nothing where the medium is a vacuum.
pub(super) fn add_slices(model: &Model, builder: &mut LayoutBuilder) -> Option<FluidIndex> {
    let o = &model.options;
    if o.density == 0.0 && o.viscosity == 0.0 {
        return None;
    }
    let medium = builder.param_block([
        Slice::new("density", 1, "kg/m^3").default(&[o.density]),
        Slice::new("viscosity", 1, "Pa s").default(&[o.viscosity]),
        Slice::new("wind", 3, "m/s").default(&[o.wind.x, o.wind.y, o.wind.z]),
    ]);
    let mut moves = vec![false; model.bodies.len()];
    let mut parts = Vec::new();
    for (body, b) in model.bodies.iter().enumerate().skip(1) {
        moves[body] = moves[b.parent] || model.joints_of(body).next().is_some();
        if !moves[body] || b.mass < LEAST {
            continue;
        }
        let before = parts.len();
        for (geom, g) in model.geoms.iter().enumerate().filter(|(_, g)| g.body == body) {
            parts.extend(ellipsoid_part(model, geom, g, builder).map(|kind| FluidPart { body, kind }));
        }
        if parts.len() == before {
            let axes = b.inertial_orientation.to_mat3();
            parts.push(FluidPart { body, kind: PartKind::InertiaBox { axes } });
        }
    }
    Some(FluidIndex { medium, parts })
}

/// A geom that meets the medium as an ellipsoid.
fn ellipsoid_part(model: &Model, geom: usize, g: &Geom, builder: &mut LayoutBuilder) -> Option<PartKind> {
    let shape = g.fluid.as_ref()?;
    let size = model.collider::<f64>(g).size;
    let (half_axes, axes) = match g.shape {
        Shape::Sphere { radius: r } => (HalfAxes::Sphere, Vec3::new(r, r, r)),
        Shape::Capsule { radius: r, half_length: h } => (HalfAxes::Capsule, Vec3::new(r, r, r + h)),
        Shape::Cylinder { radius: r, half_length: h } => (HalfAxes::Cylinder, Vec3::new(r, r, h)),
        Shape::Ellipsoid { .. } | Shape::Box { .. } => (HalfAxes::Sizes, size),
        Shape::Plane | Shape::Torus { .. } | Shape::Mesh { .. } | Shape::Heightfield { .. } => {
            (HalfAxes::Fixed, shape.mesh?.half_axes)
        }
    };
    let pose = shape.mesh.map_or(Transform::identity(), |m| Transform::from_quat(m.orientation, m.position));
    let (mass, inertia) = added_mass(axes);
    let name = |what: &str| format!("{}.{what}", g.name);
    let params = builder.param_block([
        Slice::new(name("fluidcoef"), 5, "1").default(&shape.coefficients),
        Slice::new(name("added_mass"), 3, "m^3").default(&[mass.x, mass.y, mass.z]),
        Slice::new(name("added_inertia"), 3, "m^5").default(&[inertia.x, inertia.y, inertia.z]),
    ]);
    Some(PartKind::Ellipsoid { geom, half_axes, placed: (pose, axes), params })
}

/// Most numbers that the force of a part depends on: motion (6), pose (12), medium (5), then its own.
const WIDTH: usize = 44;
const MOTION: usize = 0;
const POSE: usize = 6;
const MEDIUM: usize = 18;
const OWN: usize = 23;
/// After sizes, position and orientation of a geom.
const ELLIPSOID: usize = OWN + 10;

type Numbers<T> = [T; WIDTH];

impl FluidPart {
    /// The force on the body about the point of its tree.
    fn force<T: Real>(&self, x: &Numbers<T>) -> Force<T> {
        match &self.kind {
            PartKind::InertiaBox { axes } => box_force(BoxInputs::read(x), axes.map(T::lit)),
            PartKind::Ellipsoid { half_axes, placed, .. } => {
                ellipsoid_force(EllipsoidInputs::read(x), *half_axes, lift(*placed))
            }
        }
    }

    /// The pullback of [`FluidPart::force`].
    fn force_vjp<T: Real>(&self, x: &Numbers<T>, bar: Force<T>) -> Numbers<T> {
        let mut bars = [T::zero(); WIDTH];
        match &self.kind {
            PartKind::InertiaBox { axes } => {
                box_force_vjp(BoxInputs::read(x), axes.map(T::lit), bar).0.write(&mut bars);
            }
            PartKind::Ellipsoid { half_axes, placed, .. } => {
                let inputs = EllipsoidInputs::read(x);
                ellipsoid_force_vjp(inputs, *half_axes, lift(*placed), bar).0.write(&mut bars);
            }
        }
        bars
    }
}

fn lift<T: Real>((pose, axes): (Transform<f64>, Vec3<f64>)) -> (Transform<T>, Vec3<T>) {
    let (rotation, translation) = (pose.rotation.map(T::lit), pose.translation.map(T::lit));
    (Transform::new(rotation, translation), axes.map(T::lit))
}

/// The medium around a robot at a configuration.
struct Immersed<'a, T> {
    model: &'a Model,
    index: &'a ParamIndex,
    fluid: &'a FluidIndex,
    params: &'a [T],
    kinematics: &'a Kinematics<T>,
}

impl<T: Real> Immersed<'_, T> {
    /// What the force of a part depends on.
    fn gather(&self, part: &FluidPart, motion: Motion<T>) -> Numbers<T> {
        let mut x = [T::zero(); WIDTH];
        motion.write(&mut x[MOTION..]);
        self.kinematics.about_point(part.body).write(&mut x[POSE..]);
        self.fluid.medium.read(self.params).write(&mut x[MEDIUM..]);
        match &part.kind {
            PartKind::InertiaBox { .. } => {
                let body: BodyParams<T> = self.index.body(part.body).read(self.params);
                body.write(&mut x[OWN..]);
            }
            PartKind::Ellipsoid { geom, params, .. } => {
                match self.index.geoms.get(*geom) {
                    Some(block) => {
                        let GeomParams { size, position, orientation, .. } = block.read(self.params);
                        (size, position, orientation).write(&mut x[OWN..]);
                    }
                    None => {
                        let g = &self.model.geoms[*geom];
                        let (size, o) = (self.model.collider::<f64>(g).size, g.orientation);
                        let orientation = Quat::new(T::lit(o.w), T::lit(o.x), T::lit(o.y), T::lit(o.z));
                        (size.map(T::lit), g.position.map(T::lit), orientation).write(&mut x[OWN..]);
                    }
                }
                params.read(self.params).write(&mut x[ELLIPSOID..]);
            }
        }
        x
    }

    /// The pullback of [`Immersed::gather`]: *adds* to all cotangents.
    fn scatter(&self, part: &FluidPart, bars: &Numbers<T>, into: &mut MotionBars<'_, T>) {
        let Motion { angular, linear } = Motion::read(&bars[MOTION..]);
        into.velocities[part.body] += Force::new(angular, linear);
        let (pose, origin) = (self.kinematics.world_from_body[part.body], self.kinematics.origins[part.body]);
        into.wrenches[part.body] += pose_wrench(pose, Transform::read(&bars[POSE..]), origin);
        self.fluid.medium.add(Medium::read(&bars[MEDIUM..]), into.params);
        match &part.kind {
            PartKind::InertiaBox { .. } => {
                self.index.body(part.body).add(BodyParams::read(&bars[OWN..]), into.params);
            }
            PartKind::Ellipsoid { geom, params, .. } => {
                if let Some(block) = self.index.geoms.get(*geom) {
                    let (size, position, orientation) = Flat::read(&bars[OWN..]);
                    block.add(GeomParams { size, position, orientation, friction: T::zero() }, into.params);
                }
                params.add(EllipsoidParams::read(&bars[ELLIPSOID..]), into.params);
            }
        }
    }
}

impl Articulated {
    /// Whether a medium acts.
    pub(super) fn is_immersed(&self) -> bool {
        self.index.fluid.is_some()
    }

    fn immersed<'a, T>(&'a self, kinematics: &'a Kinematics<T>, params: &'a [T]) -> Option<Immersed<'a, T>> {
        let fluid = self.index.fluid.as_ref()?;
        Some(Immersed { model: &self.model, index: &self.index, fluid, params, kinematics })
    }

    /// Adds the forces of the medium to the pushes on bodies that move with `velocities`.
    pub(super) fn fluid_push<T: Real>(
        &self,
        kinematics: &Kinematics<T>,
        params: &[T],
        velocities: &[Motion<T>],
        pushes: &mut [Push<T>],
    ) {
        let Some(at) = self.immersed(kinematics, params) else { return };
        for part in &at.fluid.parts {
            let Force { moment, force } = part.force(&at.gather(part, velocities[part.body]));
            let push = &mut pushes[part.body];
            push.force += force;
            push.torque += moment - kinematics.arm(part.body).cross(force);
        }
    }

    /// The pullback of [`Articulated::fluid_push`]: *adds* to `bars`.
    pub(super) fn fluid_push_vjp<T: Real>(
        &self,
        kinematics: &Kinematics<T>,
        params: &[T],
        velocities: &[Motion<T>],
        push_bars: &[Push<T>],
        bars: &mut MotionBars<'_, T>,
    ) {
        let Some(at) = self.immersed(kinematics, params) else { return };
        for part in &at.fluid.parts {
            let x = at.gather(part, velocities[part.body]);
            let (force, arm, push_bar) =
                (part.force(&x).force, kinematics.arm(part.body), push_bars[part.body]);
            // push.force = f, push.torque = n − arm × f
            let bar = Force::new(push_bar.torque, push_bar.force + arm.cross(push_bar.torque));
            bars.wrenches[part.body] += Force::at_point(push_bar.torque.cross(force), arm);
            at.scatter(part, &part.force_vjp(&x, bar), bars);
        }
    }
}
