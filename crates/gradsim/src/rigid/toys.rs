//! Pendula and a bouncing ball from videos (gradSim C.3 and its demonstration of a ball).

use std::f64::consts::FRAC_PI_2;

use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Variable};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{ConfigError, Described, Schedule, System, VectorField};
use pullback_math::{Dual, SymMat3, Vec3};
use pullback_optim::least_squares::{Part, RolloutResiduals};
use pullback_physics::articulated::{Articulated, Body, ContactModel, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_plot::Section;
use pullback_render::{Camera, Lens, Material, Paint, Settings, shapes};
use pullback_tasks::Goal;
use pullback_video::{Footage, Frame, Pixels, Shot, Visible, VisibleRobot, VisibleRods, film};

use super::fit::{EXACT, Found, gauss_newton};
use super::toss::softened;
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;

/// Multiples of the guess that are tried.
const GUESSES: [f64; 5] = [1.0, 0.85, 1.15, 0.7, 1.3];

/// A quantity: its entry, name, unit, truth and guess.
type Quantity = (InputEntry, &'static str, &'static str, f64, f64);

/// A system in front of a camera, and what is asked of its video.
struct Toy<F, V> {
    name: &'static str,
    field: F,
    visible: V,
    shot: Shot,
    /// Seconds per frame, substeps, and frames in all.
    time: (f64, usize, usize),
    method: Method,
    /// Every so many frames one is compared.
    every: usize,
    quantities: Vec<Quantity>,
}

impl<F, V> Toy<F, V>
where
    F: VectorField<f64> + VectorField<Dual<f64>> + Clone,
    Integrated<F>: System<f64> + System<Dual<f64>>,
    V: Visible<f64> + Visible<Dual<f64>> + Clone,
{
    fn frames(&self) -> Vec<usize> {
        (0..=self.time.2).step_by(self.every).collect()
    }

    fn rollout(&self) -> Result<Rollout<Integrated<F>>, ConfigError> {
        let (dt, substeps, steps) = self.time;
        let integrator = Integrator::fixed(self.method);
        let system = Integrated::new(self.field.clone(), dt / substeps as f64, integrator)?;
        Rollout::new(system, steps, Schedule::Revolve { slots: 1 })?.with_substeps(substeps)
    }

    fn map(&self) -> (LinearMap, Vec<Transform>) {
        let variable =
            |(_, name, unit, _, guess): &Quantity| Variable::new(*name, *unit, (-1e3, 1e3), *guess);
        let variables = self.quantities.iter().map(variable).collect();
        let map = LinearMap::direct(variables, self.quantities.iter().map(|q| q.0));
        (map, vec![Transform::Identity; self.quantities.len()])
    }

    fn inputs(&self, rollout: &Rollout<Integrated<F>>, values: &[f64]) -> Inputs<f64> {
        let mut inputs = Inputs::<f64>::defaults(&rollout.system, rollout.steps());
        self.map().0.apply(values, &mut inputs);
        inputs
    }

    fn film(&self, values: &[f64]) -> Result<Vec<Frame>, ExperimentError> {
        let rollout = self.rollout()?;
        Ok(film(&rollout, &self.inputs(&rollout, values), &self.visible, &self.shot, &self.frames())?)
    }

    /// The fit from the guess; where it does not meet the video, the best of fits from other guesses too.
    fn find(&self) -> Result<Found, ExperimentError> {
        let truth: Vec<f64> = self.quantities.iter().map(|q| q.3).collect();
        let video = self.film(&truth)?;
        let mut best: Option<Found> = None;
        for factor in GUESSES {
            let guess = self.quantities.iter().map(|q| q.4 * factor).collect();
            let found = self.find_from(guess, &video)?;
            if best.as_ref().is_none_or(|best| found.loss < best.loss) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.loss < EXACT) {
                break;
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// Fits more and more frames.
    fn find_from(&self, guess: Vec<f64>, video: &[Frame]) -> Result<Found, ExperimentError> {
        let rollout = self.rollout()?;
        let mut all = Found { values: guess, ..Found::default() };
        let mut count = 3;
        loop {
            let seen = video[..count].to_vec();
            let steps = seen.last().map_or(1, |frame| frame.step);
            let footage = Footage::new(self.visible.clone(), self.shot, Pixels::default(), vec![seen])?;
            let Inputs { state, controls, params } = Inputs::<f64>::defaults(&rollout.system, steps);
            let residuals = footage.residual_count(0);
            let part = Part { state, controls, steps, residuals, ..Part::default() };
            let problem: RolloutResiduals<_, _, _> =
                RolloutResiduals::new(&rollout.system, footage, self.map(), params, vec![part])?;
            let problem = problem.with_substeps(rollout.substeps());
            let last = count == video.len();
            let found = gauss_newton(&problem, &all.values, if last { 50 } else { 8 })?;
            all = Found { steps: all.steps + found.steps, ..found };
            if last {
                return Ok(all);
            }
            count = (2 * count).min(video.len());
        }
    }

    fn exhibit(&self, setting: &Setting<'_>, exhibit: &mut Exhibit) -> Result<(), ExperimentError> {
        let found = setting.part(&format!("{} {}", self.name, self.shot.settings.width), || self.find())?;
        let mut worst: f64 = 0.0;
        for ((_, name, unit, truth, _), value) in self.quantities.iter().zip(&found.values) {
            let error = (value / truth - 1.0).abs();
            worst = worst.max(error);
            exhibit.row(self.name, &format!("{name} from video"), (*value, unit), None);
            exhibit.row(self.name, &format!("{name}: relative error"), (error, "1"), None);
        }
        exhibit.goal(Goal::at_most(format!("{} from video: largest relative error", self.name), worst, 1e-3));
        let values = |of: fn(&Quantity) -> f64| self.quantities.iter().map(of).collect::<Vec<f64>>();
        let mut sheet = Sheet::new();
        let shown = (self.frames().len() / 8).max(1);
        for values in [values(|q| q.3), values(|q| q.4), found.values] {
            let video = self.film(&values)?;
            sheet = sheet.with_row(video.iter().step_by(shown).map(|frame| &frame.image));
        }
        let section = Section::new(format!("{} from a video", self.name));
        let caption = "The video given, that of the guess, and that of what was found.";
        let alt = "Three rows of frames; the first and the third are alike.";
        let name = format!("toy-{}", self.name.replace(' ', "-"));
        let section = exhibit.sheet(section, &name, &sheet, (caption, alt))?;
        exhibit.section(section);
        Ok(())
    }
}

/// A camera in front, `distance` m from `target`.
fn shot(target: Vec3<f64>, distance: f64, pixels: usize) -> Shot {
    let half_height = Camera::<f64>::half_height_of_degrees(60.0);
    let camera = Camera::orbit(Lens::default(), target, distance, -FRAC_PI_2, 0.1, half_height);
    softened(Shot { camera, settings: Settings::new(pixels, pixels) }, 1.0)
}

fn pendulum(pixels: usize) -> Result<Toy<SimplePendulum, VisibleRods>, ConfigError> {
    let field = SimplePendulum::default();
    Ok(Toy {
        name: "pendulum",
        visible: VisibleRods::from(&field),
        shot: shot(Vec3::new(0.0, 0.0, -0.6), 3.0, pixels),
        time: (1.0 / 30.0, 4, 60),
        method: Method::Rk4,
        every: 3,
        quantities: vec![
            (InputEntry::Params(field.layout().params.index_of("length")?), "length", "m", 1.2, 0.8),
            (InputEntry::State(0), "first angle", "rad", 1.0, 0.6),
        ],
        field,
    })
}

fn double(pixels: usize) -> Result<Toy<DoublePendulum, VisibleRods>, ConfigError> {
    let field = DoublePendulum::default();
    let length = |name: &str| Ok::<_, ConfigError>(InputEntry::Params(field.layout().params.index_of(name)?));
    Ok(Toy {
        name: "double pendulum",
        visible: VisibleRods::from(&field),
        shot: shot(Vec3::new(0.0, 0.0, -1.0), 4.0, pixels),
        time: (1.0 / 30.0, 8, 60),
        method: Method::Rk4,
        every: 2,
        quantities: vec![
            (length("upper.length")?, "upper length", "m", 1.0, 0.8),
            (length("lower.length")?, "lower length", "m", 0.8, 1.0),
            (InputEntry::State(0), "first upper angle", "rad", 1.2, 1.0),
            (InputEntry::State(1), "first lower angle", "rad", 0.7, 0.5),
        ],
        field,
    })
}

/// A ball of radius 0.75 m that starts 5 m high with 1 m/s, under 9 m/s² (gradSim's code). It bounces off a spring.
fn ball(pixels: usize) -> Result<Toy<Articulated, VisibleRobot>, ConfigError> {
    const RADIUS: f64 = 0.75;
    let mut model = Model::new("ball");
    let inertia = SymMat3::identity() * (0.4 * RADIUS * RADIUS);
    model.bodies.push(Body {
        name: "ball".into(),
        position: Vec3::new(-2.0, 0.0, 5.0),
        mass: 1.0,
        inertia,
        ..Body::default()
    });
    model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    let smooth = |geom: Geom| Geom { friction: [0.0; 3], ..geom };
    model.geoms.push(smooth(Geom::new("ground", 0, Shape::Plane)));
    model.geoms.push(smooth(Geom::new("sphere", 1, Shape::Sphere { radius: RADIUS })));
    model.options.contact_model = ContactModel::Penalty;
    model.options.gravity = Vec3::new(0.0, 0.0, -9.0);
    let robot = Articulated::new(model.compile()?)?;
    let params = &robot.layout().params;
    let gravity = params.slice("gravity")?.range.start + 2;
    let velocity = robot.layout().state.slice("free.velocity")?.range.start;
    let orange = Paint::Uniform(Vec3::new(0.9, 0.4, 0.1));
    let floor = shapes::rectangle(1, 1, 60.0, 60.0);
    let visible = VisibleRobot::bare(&robot)
        .with_mesh("ball", &shapes::sphere(2, RADIUS), orange, Material::matt().smoothed())?
        .with_still(&floor, Paint::Uniform(Vec3::new(0.35, 0.4, 0.45)), Material::matt());
    Ok(Toy {
        name: "bouncing ball",
        visible,
        shot: shot(Vec3::new(0.0, 0.0, 2.5), 9.0, pixels),
        time: (1.0 / 30.0, 32, 100),
        method: Method::SemiImplicitEuler,
        every: 4,
        quantities: vec![
            (InputEntry::State(velocity), "speed", "m/s", 1.0, 3.0),
            (InputEntry::Params(gravity), "gravity", "m/s^2", -9.0, -10.0),
        ],
        field: robot,
    })
}

/// All three.
pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let (mut exhibit, pixels) = (Exhibit::default(), setting.size(128, 64));
    pendulum(pixels)?.exhibit(setting, &mut exhibit)?;
    double(pixels)?.exhibit(setting, &mut exhibit)?;
    ball(pixels)?.exhibit(setting, &mut exhibit)?;
    Ok(exhibit)
}
