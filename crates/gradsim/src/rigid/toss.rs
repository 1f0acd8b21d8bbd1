//! [`Toss`]: a rigid body that a known impulse sets in motion, in front of a camera, and the problems its video poses.

use std::f64::consts::FRAC_PI_2;

use pullback_core::input_map::{InputEntry, LinearMap, Transform, Variable};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{ConfigError, Described, Schedule};
use pullback_math::{Quat, Vec3};
use pullback_optim::least_squares::{Compare, Part, RolloutResiduals};
use pullback_physics::articulated::{
    Articulated, Body, ContactDamping, ContactModel, Geom, Joint, JointKind,
};
use pullback_physics::articulated::{Model, Shape};
use pullback_render::{Camera, Lens, Material, Mesh, Paint, Settings, SoftRas};
use pullback_render::{Method as Rendering, shapes};
use pullback_video::{Footage, Frame, Pixels, Shot, VideoError, VisibleRobot, film};

use super::solid::Solid;

/// Frames per second, and frames of a video (gradSim H.1: 2 s).
pub const RATE: f64 = 30.0;
/// Frames of a whole video.
pub const FRAMES: usize = 60;

/// The ground that a body falls on, by a compliant law at every vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Stiffness ke, N/m.
    pub ke: f64,
    /// Damping kd, N s/m² (in proportion to depth).
    pub kd: f64,
    /// Slope of friction at rest kf, N s/m.
    pub kf: f64,
    /// Coefficient of friction μ.
    pub mu: f64,
}

/// How a body starts and what pushes it.
#[derive(Clone, Debug)]
pub struct Start {
    /// Position of the center of mass, m.
    pub position: Vec3<f64>,
    /// Orientation.
    pub orientation: Quat<f64>,
    /// Velocity of the center of mass, m/s.
    pub velocity: Vec3<f64>,
    /// Angular velocity, rad/s.
    pub spin: Vec3<f64>,
    /// Impulse at the center of mass, N s, spread over the first frame.
    pub impulse: Vec3<f64>,
    /// Its moment about the center of mass, N m s.
    pub twist: Vec3<f64>,
}

/// How a body and its video look.
#[derive(Clone, Debug)]
pub struct Look {
    /// Color.
    pub paint: Paint<f64>,
    /// Material.
    pub material: Material<f64>,
    /// Pixels along each side.
    pub pixels: usize,
}

/// A body in motion in front of a camera.
pub struct Toss {
    /// The motion: a step per frame.
    pub rollout: Rollout<Integrated<Articulated>>,
    /// What it starts from, with the mass as the model has it.
    pub inputs: Inputs<f64>,
    /// What is seen.
    pub visible: VisibleRobot,
    /// From where.
    pub shot: Shot,
    /// The mass, kg, and entries of the parameters that are in proportion to it, with their values per kg.
    pub mass: f64,
    proportional: Vec<(usize, f64)>,
}

/// Residuals of a toss against its video.
pub type FromVideo<'a> = RolloutResiduals<&'a Integrated<Articulated>, Footage<VisibleRobot>, LinearMap>;

/// The mesh at its center of mass.
pub fn centered(mesh: &Mesh) -> Mesh {
    let center = Solid::of(mesh).center;
    mesh.moved(|x| x - center)
}

/// Numbers of a vector, each drawn between −reach and reach.
pub fn anywhere(random: &mut Random, reach: f64) -> Vec3<f64> {
    let mut draw = || random.uniform(-reach, reach);
    Vec3::new(draw(), draw(), draw())
}

/// Any orientation.
pub fn turned(random: &mut Random) -> Quat<f64> {
    let mut draw = || random.normal();
    Quat::new(draw(), draw(), draw(), draw()).normalize()
}

impl Toss {
    /// A body of a mesh around its center of mass, of uniform density (kg/m³); on a ground it falls by gravity.
    pub fn new(
        mesh: &Mesh,
        density: f64,
        start: &Start,
        ground: Option<Ground>,
        look: &Look,
        substeps: usize,
    ) -> Result<Self, ConfigError> {
        let solid = Solid::of(mesh);
        let mass = density * solid.volume;
        let model = model(mesh, (mass, solid.inertia * density), ground)?;
        let robot = Articulated::new(model)?.with_pushes(&["body"])?;

        let dt = 1.0 / (RATE * substeps as f64);
        let visible =
            VisibleRobot::bare(&robot).with_mesh("body", mesh, look.paint.clone(), look.material)?;
        let visible =
            if ground.is_some() { visible.with_still(&floor(), FLOOR, Material::matt()) } else { visible };
        let system = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler))?;
        let layout = system.layout();
        let mut inputs = Inputs::<f64>::defaults(&system, FRAMES);
        let vector = |v: Vec3<f64>| [v.x, v.y, v.z];
        let o = start.orientation;
        let mut set = |name: &str, values: &[f64]| -> Result<(), ConfigError> {
            inputs.state[layout.state.slice(name)?.range.clone()].copy_from_slice(values);
            Ok(())
        };
        set("free.position", &vector(start.position))?;
        set("free.orientation", &[o.w, o.x, o.y, o.z])?;
        set("free.velocity", &vector(start.velocity))?;
        // In the frame of the body.
        set("free.spin", &vector(o.conjugate().rotate(start.spin)))?;
        for (name, impulse) in [("body.force", start.impulse), ("body.torque", start.twist)] {
            let first = layout.control.slice(name)?.range.start;
            inputs.controls[first..first + 3].copy_from_slice(&vector(impulse * RATE));
        }
        if let Some(Ground { ke, kd, kf, .. }) = ground {
            for (name, x) in [("stiffness", ke), ("damping", kd), ("friction_slope", kf)] {
                inputs.params[layout.params.index_of(&format!("contact.{name}"))?] = x;
            }
        }
        let mut proportional = Vec::new();
        for name in ["body.mass", "body.inertia"] {
            for entry in layout.params.slice(name)?.range.clone() {
                proportional.push((entry, inputs.params[entry] / mass));
            }
        }
        let rollout =
            Rollout::new(system, FRAMES, Schedule::Revolve { slots: 1 })?.with_substeps(substeps)?;
        Ok(Toss { rollout, inputs, visible, shot: shot(look.pixels, ground.is_some()), mass, proportional })
    }

    /// The mass as a variable, then parameters by name, each with its bounds; all searched by logarithms.
    pub fn map(
        &self,
        mass: (f64, f64),
        others: &[(&str, (f64, f64))],
    ) -> Result<(LinearMap, Vec<Transform>), ConfigError> {
        let params = &self.rollout.system.layout().params;
        let mut variables = vec![Variable::new("mass", "kg", mass, self.mass)];
        let mut entries = Vec::new();
        for (name, bounds) in others {
            let all = params.select(name)?;
            let unit = params.unit(all[0]).to_owned();
            variables.push(Variable::new(*name, unit, *bounds, self.inputs.params[all[0]]));
            entries.push(all);
        }
        let count = variables.len();
        let mut map = LinearMap::new(variables);
        for (entry, per_mass) in &self.proportional {
            map.tie(InputEntry::Params(*entry), 0.0, [(0, *per_mass)]);
        }
        for (i, all) in entries.iter().enumerate() {
            all.iter().for_each(|entry| map.tie(InputEntry::Params(*entry), 0.0, [(i + 1, 1.0)]));
        }
        Ok((map, vec![Transform::Log; count]))
    }

    /// The inputs with another mass.
    pub fn with_mass(&self, mass: f64) -> Inputs<f64> {
        let mut inputs = self.inputs.clone();
        self.proportional.iter().for_each(|(entry, per_mass)| inputs.params[*entry] = mass * per_mass);
        inputs
    }

    /// The inputs with another mass and other parameters, by the names that [`Toss::map`] takes.
    pub fn with(&self, values: &[f64], others: &[(&str, (f64, f64))]) -> Result<Inputs<f64>, ConfigError> {
        let mut inputs = self.with_mass(values[0]);
        for ((name, _), x) in others.iter().zip(&values[1..]) {
            let entries = self.rollout.system.layout().params.select(name)?;
            entries.into_iter().for_each(|entry| inputs.params[entry] = *x);
        }
        Ok(inputs)
    }

    /// The video at these frames.
    pub fn film(&self, inputs: &Inputs<f64>, frames: &[usize]) -> Result<Vec<Frame>, VideoError> {
        film(&self.rollout, inputs, &self.visible, &self.shot, frames)
    }

    /// A video as a problem that ends with its last frame.
    pub fn video_problem(
        &self,
        map: (LinearMap, Vec<Transform>),
        video: Vec<Frame>,
        pixels: Pixels,
    ) -> Result<FromVideo<'_>, VideoError> {
        let steps = video.last().map_or(1, |frame| frame.step);
        let footage = Footage::new(self.visible.clone(), self.shot, pixels, vec![video])?;
        let residuals = footage.residual_count(0);
        Ok(self.problem(map, footage, steps, residuals))
    }

    /// What `compare` makes of the first steps, as a problem.
    pub fn problem<C: Compare<f64>>(
        &self,
        map: (LinearMap, Vec<Transform>),
        compare: C,
        steps: usize,
        residuals: usize,
    ) -> RolloutResiduals<&Integrated<Articulated>, C, LinearMap> {
        let Inputs { state, controls, params } = self.inputs.clone();
        let controls = controls[..controls.len() / FRAMES * steps].to_vec();
        let part = Part { state, controls, steps, residuals, ..Part::default() };
        let problem = RolloutResiduals::new(&self.rollout.system, compare, map, params, vec![part]);
        let problem = problem.unwrap_or_else(|_| unreachable!("the inputs are those of the system"));
        problem.with_substeps(self.rollout.substeps())
    }
}

/// A free body; with a ground, small balls at its vertices touch it.
fn model(
    mesh: &Mesh,
    (mass, inertia): (f64, pullback_math::SymMat3<f64>),
    ground: Option<Ground>,
) -> Result<Model, ConfigError> {
    let mut model = Model::new("toss");
    model.bodies.push(Body { name: "body".into(), mass, inertia, ..Body::default() });
    model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    model.options.contact_model = ContactModel::Penalty;
    model.options.contact_damping = ContactDamping::ByDepth;
    match ground {
        None => model.options.gravity = Vec3::zero(),
        Some(Ground { mu, .. }) => {
            let friction = [mu, 0.0, 0.0];
            model.geoms.push(Geom { friction, ..Geom::new("ground", 0, Shape::Plane) });
            for (i, position) in mesh.vertices.iter().enumerate() {
                let geom = Geom::new(format!("vertex{i}"), 1, Shape::Sphere { radius: VERTEX });
                model.geoms.push(Geom { position: *position, friction, ..geom });
            }
        }
    }
    model.compile()
}

/// Radius of the balls at vertices, m.
const VERTEX: f64 = 1e-3;

/// A ground of a color of its own, wider than the view.
const FLOOR: Paint<f64> = Paint::Uniform(Vec3 { x: 0.35, y: 0.4, z: 0.45 });
fn floor() -> Mesh {
    shapes::rectangle(1, 1, 60.0, 60.0)
}

/// gradSim's camera, 8 m away and 30° above; outlines are a pixel soft.
fn shot(pixels: usize, ground: bool) -> Shot {
    let half_height = Camera::<f64>::half_height_of_degrees(60.0);
    let target = if ground { Vec3::new(0.0, 0.0, 1.0) } else { Vec3::zero() };
    let elevation = 30f64.to_radians();
    let camera = Camera::orbit(Lens::default(), target, 8.0, -FRAC_PI_2, elevation, half_height);
    softened(Shot { camera, settings: Settings::new(pixels, pixels) }, 1.0)
}

/// The same shot with outlines that are so many pixels soft.
pub fn softened(shot: Shot, pixels: f64) -> Shot {
    // The screen is two half heights high.
    let sigma = (2.0 * pixels / shot.settings.height as f64).powi(2);
    let method = Rendering::SoftRas(SoftRas { sigma, ..SoftRas::default() });
    Shot { settings: shot.settings.with_method(method), ..shot }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::gradcheck::{Options, gradcheck};
    use pullback_optim::least_squares::PartMap;

    #[test]
    fn videos_of_a_landing_body_have_exact_pullbacks() {
        let mesh = centered(&shapes::frustum(4, 0.7, 0.3, 0.9));
        let start = Start {
            position: Vec3::new(-0.5, 0.0, 0.55),
            orientation: Quat::new(1.0, 0.1, 0.05, 0.2).normalize(),
            velocity: Vec3::new(1.0, 0.1, -0.5),
            spin: Vec3::new(0.2, -0.3, 0.1),
            impulse: Vec3::new(1.0, 0.2, 0.1),
            twist: Vec3::new(0.05, 0.02, -0.1),
        };
        let look =
            Look { paint: Paint::Uniform(Vec3::new(0.9, 0.5, 0.1)), material: Material::matt(), pixels: 12 };
        let ground = Ground { ke: 300.0, kd: 60.0, kf: 40.0, mu: 0.5 };
        let toss = Toss::new(&mesh, 6.0, &start, Some(ground), &look, 8).unwrap();
        let others = [
            ("contact.stiffness", (1.0, 1e3)),
            ("contact.friction_slope", (1.0, 1e3)),
            ("*.friction", (0.1, 1.0)),
        ];
        let video = toss.film(&toss.inputs, &[3, 8]).unwrap();
        let problem =
            toss.video_problem(toss.map((0.1, 10.0), &others).unwrap(), video, Pixels::default()).unwrap();
        let at = [(1.1 * toss.mass).ln(), 270f64.ln(), 35f64.ln(), 0.45f64.ln()];
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: 1e-3, probes: 1, ..Options::default() };
        gradcheck(&PartMap { problem: &problem, part: 0 }, &at, &options).assert_passed();
    }
}
