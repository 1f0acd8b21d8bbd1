//! Masses from videos when the model of motion or of pictures is wrong (gradSim Table 4 left).
//!
//! An object of a known shape and unknown density gets a known push, flies, and meets the ground. Its video is compared with
//! that of a model that leaves something out.

use pullback_core::input_map::{InputEntry, LinearMap, Transform, Variable};
use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Described};
use pullback_math::{Quat, SymMat3, Vec3};
use pullback_physics::articulated::{Articulated, Body, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::soft::mesh::{Diagonals, Split, TetMesh, box_grid, cloth_grid, solid_icosphere};
use pullback_physics::soft::{Cloth, Placement, SoftBody, SoftContact, Solid};
use pullback_physics::world::World;
use pullback_plot::{BarSeries, BarsPanel, Figure, Section};
use pullback_render::{Light, Material, Mesh, Paint};
use pullback_tasks::Goal;
use pullback_video::{Channels, Frame, Pixels, Shot, VisibleWorld, film};
use serde::{Deserialize, Serialize};

use super::filmed::{Field, Filmed, Seen, fit};
use super::rigid_body::VisibleBody;
use super::shots::{every, hard, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// Density of every object before the unknown factor, kg/m³, and mass per area of cloths, kg/m².
const DENSITY: f64 = 10.0;
const AREA_DENSITY: f64 = 2.0;
/// The unknown factor and its guesses lie within this factor of 1.
const FACTOR: f64 = 2.0;
/// Steps of 1/60 s, substeps, and steps that the push lasts.
const STEPS: (usize, usize) = (45, 32);
const PUSHED: usize = 6;
/// Speed that the push gives to the object of factor 1, m/s.
const PUSH: f64 = 2.0;
/// Friction of the ground.
const FRICTION: f64 = 0.5;
/// Pixels along each side; steps between frames.
const PIXELS: usize = 64;
const STRIDE: usize = 3;
/// Steps of Gauss-Newton at most.
const FIT_STEPS: usize = 15;

/// What an object is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A rigid body.
    Rigid,
    /// An elastic solid.
    Deformable,
    /// A sheet.
    Cloth,
}

/// What a model leaves out or gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Friction,
    Elasticity,
    RigidAsDeformable,
    DeformableAsRigid,
    Rendering,
    Nothing,
}

/// Faults with the paper's mean relative error.
const FAULTS: [(Fault, &str, f64); 6] = [
    (Fault::Friction, "unmodeled friction", 0.1866),
    (Fault::Elasticity, "unmodeled elasticity", 0.2281),
    (Fault::RigidAsDeformable, "rigid as deformable", 0.3462),
    (Fault::DeformableAsRigid, "deformable as rigid", 0.4974),
    (Fault::Rendering, "other renderer", 0.1793),
    (Fault::Nothing, "perfect model", 0.1071),
];

/// An object and its unknown factor.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    nature: Nature,
    ball: bool,
    /// Radius, or half the length of edges, m.
    size: Vec3<f64>,
    turn: Quat<f64>,
    height: f64,
    /// Direction and strength of the push, m/s.
    push: Vec3<f64>,
    factor: f64,
    guess: f64,
}

/// One estimate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Estimate {
    truth: f64,
    guess: f64,
    found: f64,
}

impl Object {
    /// One of each nature by its number.
    pub fn draw(nature: Nature, seed: usize) -> Self {
        let mut random = Random::new(7 + seed as u64);
        let mut among = |low: f64, high: f64| random.uniform(low, high);
        let ball = seed.is_multiple_of(2);
        let edge = among(0.4, 0.6);
        let size = if ball {
            Vec3::new(edge, edge, edge)
        } else {
            Vec3::new(edge, among(0.4, 0.6), among(0.3, 0.5))
        };
        let axis = Vec3::new(among(-1.0, 1.0), among(-1.0, 1.0), among(-1.0, 1.0)).normalize();
        let half = 0.5 * among(0.0, 0.6);
        let axis = axis * half.sin();
        Object {
            nature,
            ball,
            size,
            turn: Quat::new(half.cos(), axis.x, axis.y, axis.z),
            height: among(0.9, 1.2),
            push: Vec3::new(PUSH * among(0.7, 1.0), PUSH * among(-0.2, 0.2), PUSH * among(0.0, 0.3)),
            factor: FACTOR.powf(among(-1.0, 1.0)),
            guess: FACTOR.powf(among(-1.0, 1.0)),
        }
    }

    fn volume(&self) -> f64 {
        let box_of_radii = self.size.x * self.size.y * self.size.z;
        if self.ball { std::f64::consts::PI * 4.0 / 3.0 * box_of_radii } else { 8.0 * box_of_radii }
    }

    fn tets(&self) -> Result<TetMesh, ConfigError> {
        let mesh = if self.ball {
            solid_icosphere(3, self.size.x)
        } else {
            box_grid(4, 4, 4, self.size * 2.0, Split::Five)
        };
        mesh.map_err(|error| ConfigError::new(error.to_string()))
    }

    fn placement(&self) -> Placement {
        Placement::at(0.0, 0.0, self.height).turned(self.turn)
    }

    fn shot(&self) -> Shot {
        orbit(Vec3::new(0.8, 0.0, 0.6), 4.0, 0.35, PIXELS)
    }

    /// As an elastic solid or a cloth.
    pub fn soft(&self) -> Result<Subject<World, VisibleWorld>, ExperimentError> {
        let mut body = SoftBody::new();
        body.contact = SoftContact { stiffness: 2e3, damping: 500.0, friction_slope: 10.0, radius: 0.02 };
        if self.nature == Nature::Cloth {
            let mesh = cloth_grid(8, 8, 2.0 * self.size.x, 2.0 * self.size.y, Diagonals::Alternating)
                .map_err(|error| ConfigError::new(error.to_string()))?;
            let material =
                Cloth { density: AREA_DENSITY, bending: 0.5, lift: 1.0, drag: 1.0, ..Cloth::default() };
            body.add_cloth("object", &mesh, material, self.placement())?;
        } else {
            let material = Solid { density: DENSITY, mu: 2e3, lambda: 2e3, damping: 2.0, ..Solid::default() };
            body.add_solid("object", &self.tets()?, material, self.placement())?;
        }
        let masses = body.masses.clone();
        let world = World::new(ground()?, body)?.with_particle_forces()?;
        let look = Paint::Uniform(COLOR);
        let visible = VisibleWorld::new(&world).with_look("object", look, Material::matt())?;
        let filmed = Filmed::new(world, STEPS, visible, self.shot(), every(STRIDE, STEPS.0))?;
        let layout = filmed.rollout.system.layout();
        let entries = layout.params.slice("object.mass")?.range.clone();
        let force = layout.control.slice("particle_force")?.range.clone();
        let mut base = filmed.inputs();
        let controls = layout.control.len();
        for step in 0..PUSHED {
            let forces = base.controls[step * controls..][force.clone()].as_chunks_mut::<3>().0;
            for (force, mass) in forces.iter_mut().zip(&masses) {
                let f = self.push * (mass * 60.0 / PUSHED as f64);
                *force = [f.x, f.y, f.z];
            }
        }
        Ok(Subject { filmed, base, masses: entries.zip(masses).collect(), damping: "soft_contact.damping" })
    }

    /// As a rigid body.
    pub fn rigid(&self) -> Result<Subject<Articulated, VisibleBody>, ExperimentError> {
        let mass = DENSITY * self.volume();
        let square = Vec3::new(self.size.x.powi(2), self.size.y.powi(2), self.size.z.powi(2));
        // I = m/3 (b² + c²) of a box of half edges, 2/5 m r² of a ball
        let share = if self.ball { 0.2 } else { 1.0 / 3.0 } * mass;
        let inertia = Vec3::new(square.y + square.z, square.x + square.z, square.x + square.y) * share;
        let mut model = Model::new("thrown");
        model.geoms.push(plane());
        model.bodies.push(Body {
            name: "object".into(),
            position: Vec3::new(0.0, 0.0, self.height),
            orientation: self.turn,
            mass,
            inertia: SymMat3::diagonal(inertia),
            ..Body::default()
        });
        model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
        let shape =
            if self.ball { Shape::Sphere { radius: self.size.x } } else { Shape::Box { half: self.size } };
        model.geoms.push(Geom { friction: [FRICTION, 0.0, 0.0], ..Geom::new("shape", 1, shape) });
        let robot = Articulated::new(model.compile()?)?.with_pushes(&["object"])?;
        let tets = self.tets()?;
        let faces = tets.surface().into_iter().map(|face| face.map(|v| v as u32)).collect();
        let visible =
            VisibleBody::new(Mesh::new(tets.positions, faces), Paint::Uniform(COLOR), Material::matt());
        let filmed = Filmed::new(robot, STEPS, visible, self.shot(), every(STRIDE, STEPS.0))?;
        let layout = filmed.rollout.system.layout();
        let mut base = filmed.inputs();
        for (name, value) in
            [("contact.stiffness", 2e4), ("contact.damping", 5e3), ("contact.friction_slope", 200.0)]
        {
            base.params[layout.params.slice(name)?.range.clone()].fill(value);
        }
        let first = layout.control.slice("object.force")?.range.start;
        let force = self.push * (mass * 60.0 / PUSHED as f64);
        for step in 0..PUSHED {
            let at = step * layout.control.len() + first;
            base.controls[at..at + 3].copy_from_slice(&[force.x, force.y, force.z]);
        }
        let slice = |name: &str| layout.params.slice(name).map(|slice| slice.range.clone());
        let entries = slice("object.mass")?.chain(slice("object.inertia")?);
        let masses = entries.map(|entry| (entry, base.params[entry])).collect();
        Ok(Subject { filmed, base, masses, damping: "contact.damping" })
    }
}

/// What is behind the objects of the other renderer.
const WALL: Vec3<f64> = Vec3 { x: 0.4, y: 0.4, z: 0.45 };
/// Color of objects.
const COLOR: Vec3<f64> = Vec3 { x: 0.8, y: 0.3, z: 0.05 };

fn plane() -> Geom {
    Geom { friction: [FRICTION, 0.0, 0.0], ..Geom::new("ground", 0, Shape::Plane) }
}

fn ground() -> Result<Model, ConfigError> {
    let mut model = Model::new("ground");
    model.geoms.push(plane());
    model.compile()
}

/// A model of an object.
pub struct Subject<F, V> {
    /// The scene.
    pub filmed: Filmed<F, V>,
    /// What it starts from at factor 1.
    pub base: Inputs<f64>,
    /// Parameters in proportion to the density, at factor 1.
    masses: Vec<(usize, f64)>,
    /// The parameter that damps contacts.
    damping: &'static str,
}

impl<F: Field, V: Seen> Subject<F, V>
where
    pullback_core::integrator::Integrated<F>:
        pullback_core::System<f64> + pullback_core::System<pullback_math::Dual<f64>>,
{
    fn set(&mut self, pattern: &str, value: f64) -> Result<(), ConfigError> {
        for entry in self.filmed.rollout.system.layout().params.select(pattern)? {
            self.base.params[entry] = value;
        }
        Ok(())
    }

    /// Leaves out what a fault leaves out.
    fn without(mut self, fault: Fault) -> Result<Self, ConfigError> {
        match fault {
            Fault::Friction => self.set("*.friction", 0.0)?,
            Fault::Elasticity => self.set(self.damping, 0.0)?,
            _ => {}
        }
        Ok(self)
    }

    fn inputs(&self, factor: f64) -> Inputs<f64> {
        let mut inputs = self.base.clone();
        self.masses.iter().for_each(|(entry, mass)| inputs.params[*entry] = factor * mass);
        inputs
    }

    fn video(&self, factor: f64) -> Result<Vec<Frame>, ExperimentError> {
        self.filmed.film(&self.inputs(factor))
    }

    /// The factor at which the model's video is most like the given one.
    fn estimate(&self, video: &[Frame], guess: f64) -> Result<f64, ExperimentError> {
        let bounds = (1.0 / (4.0 * FACTOR), 4.0 * FACTOR);
        let mut map = LinearMap::new(vec![Variable::new("density factor", "1", bounds, 1.0)]);
        for (entry, mass) in &self.masses {
            map.tie(InputEntry::Params(*entry), 0.0, [(0, *mass)]);
        }
        let pixels = Pixels { channels: Channels::Silhouette, ..Pixels::default() };
        let problem = self.filmed.video_problem(
            (map, vec![Transform::Log]),
            self.base.clone(),
            video.to_vec(),
            pixels,
        )?;
        let fits = [guess, 1.0].map(|start| fit(&problem, &[start], FIT_STEPS));
        let mut best = (f64::INFINITY, guess);
        for fit in fits {
            let fit = fit?;
            let loss = fit.losses[fit.losses.len() - 1];
            if loss < best.0 {
                best = (loss, fit.found[0]);
            }
        }
        Ok(best.1)
    }
}

/// Camera, material and lights.
type OtherLook = (Shot, Material<f64>, Vec<Light<f64>>);

/// A look that the model does not know: shiny, with a lamp, on gray, many samples per pixel and hard outlines.
fn other_look(object: &Object) -> Result<OtherLook, ExperimentError> {
    let shot = hard(object.shot());
    let shot = Shot { settings: shot.settings.with_supersampling(4), ..shot };
    let gray = |x: f64| Vec3::new(x, x, x);
    let lights = vec![Light::ambient(gray(0.2)), Light::point(Vec3::new(2.0, -4.0, 5.0), gray(0.9))];
    Ok((shot, Material::shiny(0.5, 30.0).smoothed(), lights))
}

impl Object {
    /// The true video of the object.
    fn recorded(&self, fault: Fault) -> Result<Vec<Frame>, ExperimentError> {
        if fault != Fault::Rendering {
            return match self.nature {
                Nature::Rigid => self.rigid()?.video(self.factor),
                _ => self.soft()?.video(self.factor),
            };
        }
        let (shot, material, lights) = other_look(self)?;
        let frames = every(STRIDE, STEPS.0);
        let paint = Paint::Uniform(COLOR);
        if self.nature == Nature::Rigid {
            let subject = self.rigid()?;
            let visible = subject.filmed.visible.clone().with_look(paint, material, lights, WALL);
            return Ok(film(
                &subject.filmed.rollout,
                &subject.inputs(self.factor),
                &visible,
                &shot,
                &frames,
            )?);
        }
        let subject = self.soft()?;
        let visible = subject.filmed.visible.clone().with_look("object", paint, material)?;
        let visible = visible.with_light(lights, WALL);
        Ok(film(&subject.filmed.rollout, &subject.inputs(self.factor), &visible, &shot, &frames)?)
    }

    /// The video of a model at a factor, and the factor that it is given by a video.
    fn modeled(&self, fault: Fault, video: &[Frame]) -> Result<(f64, Vec<Frame>), ExperimentError> {
        let rigid = match fault {
            Fault::RigidAsDeformable => false,
            Fault::DeformableAsRigid => true,
            _ => self.nature == Nature::Rigid,
        };
        if rigid {
            let subject = self.rigid()?.without(fault)?;
            let found = subject.estimate(video, self.guess)?;
            return Ok((found, subject.video(found)?));
        }
        let subject = self.soft()?.without(fault)?;
        let found = subject.estimate(video, self.guess)?;
        Ok((found, subject.video(found)?))
    }
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let count = setting.seeds(10, 1);
    let (mut exhibit, mut errors) = (Exhibit::default(), Vec::new());
    for (fault, name, paper) in FAULTS {
        let natures: &[Nature] = match fault {
            Fault::RigidAsDeformable => &[Nature::Rigid],
            Fault::DeformableAsRigid => &[Nature::Deformable],
            _ => &[Nature::Rigid, Nature::Deformable, Nature::Cloth],
        };
        let mut estimates = Vec::new();
        for nature in natures {
            for seed in 0..count {
                let object = Object::draw(*nature, seed);
                estimates.push(setting.part(&format!("{name}: {nature:?} {seed}"), || {
                    let (found, _) = object.modeled(fault, &object.recorded(fault)?)?;
                    Ok::<_, ExperimentError>(Estimate { truth: object.factor, guess: object.guess, found })
                })?);
            }
        }
        let mean = |of: fn(&Estimate) -> f64| {
            estimates.iter().map(|e| (of(e) / e.truth - 1.0).abs()).sum::<f64>() / estimates.len() as f64
        };
        let error = mean(|e| e.found);
        let metric = format!("mean relative error of mass, {} objects", estimates.len());
        exhibit.row(name, &metric, (error, "1"), Some(paper));
        if fault == Fault::Nothing {
            exhibit.row("no video", "mean relative error of the guess", (mean(|e| e.guess), "1"), None);
            exhibit.goal(Goal::at_most("perfect model: mean relative error of mass", error, paper));
        }
        errors.push((name, error, paper));
    }
    let section = bars(&errors, &mut exhibit)?;
    exhibit.section(section);
    let section = show(&mut exhibit)?;
    exhibit.section(section);
    exhibit.note(format!(
        "Imperfect models: {count} objects of each kind (the paper has 30), balls and boxes and square cloths, of a density \
         within a factor of {FACTOR} of {DENSITY} kg/m³ ({AREA_DENSITY} kg/m² for cloth); a known push, {:.2} s of flight and \
         contact, silhouettes of {PIXELS} x {PIXELS} pixels. The other renderer has hard outlines, 16 samples per pixel, \
         highlights and a lamp.",
        STEPS.0 as f64 / 60.0,
    ));
    Ok(exhibit)
}

/// Bars of all faults.
fn bars(errors: &[(&str, f64, f64)], exhibit: &mut Exhibit) -> Result<Section, ExperimentError> {
    let series = |label: &str, color: usize, of: fn(&(&str, f64, f64)) -> f64| BarSeries {
        label: label.into(),
        values: errors.iter().map(of).collect(),
        intervals: Vec::new(),
        color,
    };
    let panel = BarsPanel {
        y_label: "mean relative error of mass".into(),
        categories: errors.iter().map(|e| e.0.to_owned()).collect(),
        series: vec![series("ours", 0, |e| e.1), series("paper", 1, |e| e.2)],
        show_values: true,
        ..BarsPanel::default()
    };
    let figure = Figure::single(panel.into()).sized(9.0, 4.2);
    let caption = "Mean relative error of masses by what the model gets wrong.";
    exhibit.figure(Section::new("Models that are wrong"), "imperfect", &figure, (caption, "Bars."))
}

/// Videos given and fitted under faults of the model.
fn show(exhibit: &mut Exhibit) -> Result<Section, ExperimentError> {
    let mut sheet = Sheet::new();
    for (fault, nature) in [
        (Fault::RigidAsDeformable, Nature::Rigid),
        (Fault::DeformableAsRigid, Nature::Deformable),
        (Fault::Rendering, Nature::Cloth),
    ] {
        let object = Object::draw(nature, 0);
        let video = object.recorded(fault)?;
        let (_, fitted) = object.modeled(fault, &video)?;
        for frames in [&video, &fitted] {
            sheet = sheet.with_row(frames.iter().step_by(2).map(|frame| &frame.image));
        }
    }
    let caption = "Pairs of rows, the video given above the model's: a rigid ball modeled as elastic, an elastic ball modeled as \
                   rigid, a cloth drawn by another renderer.";
    let section = Section::new("Videos given and fitted");
    exhibit.sheet(section, "imperfect-videos", &sheet, (caption, "Six rows of frames."))
}
