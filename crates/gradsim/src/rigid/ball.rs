//! Speed and gravity of a bouncing ball from a video (`demo_bounce2d` of gradSim's code).
//!
//! The ball flies in the plane y = 0. A step in which it would sink into the ground is split at the instant of impact, so
//! that gradients know how that instant moves.

use pullback_core::input_map::{InputEntry, InputMap, LinearMap, Transform, Variable};
use pullback_core::layout::{Layout, Slice};
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{Bars, Block, ConfigError, Described, Info, Point, Schedule, StepError, System};
use pullback_math::{Real, Vec3};
use pullback_optim::least_squares::{Part, RolloutResiduals};
use pullback_physics::point_mass::{ElasticPointMassParams, elastic_step, elastic_step_vjp};
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::{Scene, Sphere};
use pullback_tasks::Goal;
use pullback_video::{Footage, Frame, Pixels, Shot, Visible, film};
use serde::{Deserialize, Serialize};

use super::object::COLOR;
use crate::deformable::filmed::{Fit, fit, loss};
use crate::deformable::shots::{every, orbit};
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;
use crate::{AdamRate, descend};

/// Radius, first place (x and height of the center), m; part of the speed that a bounce returns.
const RADIUS: f64 = 0.75;
const START: [f64; 2] = [-7.5, 5.0];
const RESTITUTION: f64 = 0.8;
/// Seconds of a step, steps, and steps between frames.
const DT: f64 = 1.0 / 30.0;
const STEPS: usize = 100;
const STRIDE: usize = 4;
/// Speed along x, m/s, and gravity, m/s²: true values and guesses.
const TRUTH: [f64; 2] = [1.0, 9.0];
const GUESS: [f64; 2] = [3.0, 10.0];
/// Steps of Adam and their rate.
const DESCENT: (AdamRate, usize) = (AdamRate { rate: 0.1, fall: 1.0 }, 25);
const LONGER: (AdamRate, usize) = (AdamRate { rate: 0.1, fall: 1e-4 }, 120);
const PIXELS: usize = 64;

/// A ball above a ground. State: x, height of the center, and their rates; parameters: restitution, gravity.
#[derive(Clone, Debug)]
struct BouncingBall {
    layout: Layout,
    params: Block<ElasticPointMassParams<f64>>,
}

impl BouncingBall {
    fn new() -> Result<Self, ConfigError> {
        let mut builder = Layout::builder()
            .state(Slice::new("position", 2, "m").default(&START))
            .state(Slice::new("velocity", 2, "m/s"));
        let params = builder.param_block([
            Slice::new("restitution", 1, "1").default(&[RESTITUTION]),
            Slice::new("gravity", 1, "m/s^2").default(&[9.81]),
        ]);
        Ok(BouncingBall { layout: builder.build()?, params })
    }
}

impl Described for BouncingBall {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Real> System<T> for BouncingBall {
    type Workspace = ();
    fn workspace(&self) {}

    fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let (x, dt, radius) = (at.state, T::lit(DT), T::lit(RADIUS));
        let (height, rate) = elastic_step(x[1] - radius, x[3], self.params.read(at.params), dt, true);
        next.copy_from_slice(&[x[0] + x[2] * dt, height + radius, x[2], rate]);
        Ok(Info::one())
    }

    fn step_vjp(
        &self,
        _ws: &mut (),
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let (x, dt, radius) = (at.state, T::lit(DT), T::lit(RADIUS));
        let (params, bar) = (self.params.read(at.params), (next_bar[1], next_bar[3]));
        let (height, rate, params_bar, (), ()) = elastic_step_vjp(x[1] - radius, x[3], params, dt, true, bar);
        bars.state[0] += next_bar[0];
        bars.state[1] += height;
        bars.state[2] += next_bar[2] + next_bar[0] * dt;
        bars.state[3] += rate;
        self.params.add(params_bar, bars.params);
        Ok(())
    }
}

/// The ball as a camera sees it.
#[derive(Clone, Copy, Debug)]
struct VisibleBall;

impl<T: Real> Visible<T> for VisibleBall {
    type Workspace = ();

    fn workspace(&self) {}

    fn scene(&self) -> Scene<T> {
        let ball = Sphere { center: Vec3::zero(), radius: T::lit(RADIUS), color: COLOR.map(T::lit) };
        Scene { spheres: vec![ball], ..Scene::default() }
    }

    fn place(&self, _ws: &mut (), at: Point<'_, T>, scene: &mut Scene<T>) {
        scene.spheres[0].center = Vec3::new(at.state[0], T::zero(), at.state[1]);
    }

    fn place_vjp(&self, _ws: &mut (), _at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        let center = scene_bar.spheres[0].center;
        bars.state[0] += center.x;
        bars.state[1] += center.z;
    }
}

type FromVideo<'a> = RolloutResiduals<&'a BouncingBall, Footage<VisibleBall>, LinearMap>;

/// A ball in front of a camera.
struct Stage {
    rollout: Rollout<BouncingBall>,
    shot: Shot,
}

impl Stage {
    fn new() -> Result<Self, ConfigError> {
        let rollout = Rollout::new(BouncingBall::new()?, STEPS, Schedule::StoreAll)?;
        Ok(Stage { rollout, shot: orbit(Vec3::new(-1.0, 0.0, 3.0), 15.0, 0.1, PIXELS) })
    }

    fn map() -> (LinearMap, Vec<Transform>) {
        let speed = Variable::new("speed", "m/s", (-20.0, 20.0), GUESS[0]);
        let gravity = Variable::new("gravity", "m/s^2", (0.1, 50.0), GUESS[1]);
        let entries = [InputEntry::State(2), InputEntry::Params(1)];
        (LinearMap::direct(vec![speed, gravity], entries), vec![Transform::Identity; 2])
    }

    fn inputs(&self, values: &[f64]) -> Inputs<f64> {
        let mut inputs = Inputs::defaults(&self.rollout.system, STEPS);
        Stage::map().0.apply(values, &mut inputs);
        inputs
    }

    fn film(&self, values: &[f64], stride: usize) -> Result<Vec<Frame>, ExperimentError> {
        Ok(film(&self.rollout, &self.inputs(values), &VisibleBall, &self.shot, &every(stride, STEPS))?)
    }

    /// The beginning of a video as a problem.
    fn problem(&self, video: &[Frame]) -> Result<FromVideo<'_>, ExperimentError> {
        let steps = video.last().map_or(1, |frame| frame.step);
        let footage = Footage::new(VisibleBall, self.shot, Pixels::default(), vec![video.to_vec()])?;
        let residuals = footage.residual_count(0);
        let state = self.inputs(&GUESS).state;
        let part = Part { state, steps, residuals, ..Part::default() };
        let params = self.inputs(&GUESS).params;
        Ok(RolloutResiduals::new(&self.rollout.system, footage, Stage::map(), params, vec![part])?)
    }
}

/// What was found by Gauss-Newton, and along a descent.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    fit: Fit,
    short: Vec<f64>,
    long: Vec<f64>,
    losses: Vec<f64>,
}

fn find(stage: &Stage) -> Result<Found, ExperimentError> {
    let video = stage.film(&TRUTH, STRIDE)?;
    let mut fitted = Fit { found: GUESS.to_vec(), losses: Vec::new() };
    for frames in [3, 6, 12, video.len()] {
        fitted = fit(&stage.problem(&video[..frames])?, &fitted.found, 30)?;
    }
    let problem = stage.problem(&video)?;
    let short = descend(&loss(&problem), &GUESS, DESCENT, |_, _, _| {})?;
    let long = descend(&loss(&problem), &GUESS, LONGER, |_, _, _| {})?;
    Ok(Found { fit: fitted, short: short.best, long: long.best, losses: long.losses })
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let stage = Stage::new()?;
    let found = setting.part("bouncing ball", || find(&stage))?;
    let (mut exhibit, case) = (Exhibit::default(), "bouncing ball from video");
    for (i, name) in ["speed", "gravity"].into_iter().enumerate() {
        let error = |values: &[f64]| ((values[i] / TRUTH[i] - 1.0).abs(), "1");
        let metric = |how: &str| format!("relative error of {name}, {how}");
        exhibit.row(case, &metric("Gauss-Newton"), error(&found.fit.found), None);
        exhibit.row(case, &metric("25 steps of Adam"), error(&found.short), None);
        exhibit.row(case, &metric("120 steps of Adam, rates that fall"), error(&found.long), None);
        exhibit.row(case, &metric("the guess"), error(&GUESS), None);
        let name = format!("{case}: relative error of {name}");
        exhibit.goal(Goal::at_most(name, error(&found.fit.found).0, 1e-4));
    }
    let mut sheet = Sheet::new();
    for values in [&TRUTH[..], &GUESS, &found.fit.found] {
        let video = stage.film(values, STEPS / 6)?;
        sheet = sheet.with_row(video.iter().map(|frame| &frame.image));
    }
    let caption = "The video given, the guess and the fit.";
    let alt = "Three rows of frames of a ball.";
    let section =
        exhibit.sheet(Section::new("A bouncing ball from a video"), "ball", &sheet, (caption, alt))?;
    let points = found.losses.iter().enumerate().map(|(i, x)| (i as f64, *x)).collect();
    let panel = LinePanel {
        x_label: "step of Adam".into(),
        y_label: "mean square of pixels".into(),
        series: vec![Series::new("", 0, points)],
        log_y: true,
        ..LinePanel::default()
    };
    let caption = "Gradient descent through the bounces.";
    let figure = Figure::single(panel.into());
    let section = exhibit.figure(section, "ball-descent", &figure, (caption, "A curve that falls."))?;
    exhibit.section(section);
    exhibit.note(format!(
        "Bouncing ball: gradSim's demo_bounce2d (radius {RADIUS} m, from {} m, {STEPS} steps of 1/30 s, every fourth a frame, \
         speed {} found from {}, gravity {} from {}); a bounce returns {RESTITUTION} of the speed; {PIXELS} x {PIXELS} pixels.",
        START[1], TRUTH[0], GUESS[0], TRUTH[1], GUESS[1],
    ));
    Ok(exhibit)
}
