//! Robots, soft bodies and particles as browsers show them: recorded motion as a page that plays, or live.
//!
//! A [`Stage`] says which shapes there are and where they are at a state. A [`Recorder`] makes stages, and pages
//! of recorded states.

mod ball;
mod mpm;
mod points;
mod robot;
mod world;

use pullback_core::rollout::Inputs;
use pullback_core::{Described, Point};
use pullback_physics::articulated::Articulated;
use pullback_physics::mpm::Mpm;
use pullback_physics::world::World;
use pullback_replay::{ContactMark, Frame, Pose, Replay};

pub(crate) use ball::ball_page;
pub(crate) use mpm::MpmStage;
pub(crate) use points::{HeightStage, PendulumStage};
pub(crate) use robot::RobotStage;
pub(crate) use world::WorldStage;

/// Frames per second of motion that a screen shows.
const FRAMES_PER_SECOND: f64 = 60.0;

/// At most this many soft vertices are kept over all frames: 4.8 MB.
const MOST_VERTICES: f64 = 6e5;

/// At most this many particles are kept over all frames: 8 MB.
const MOST_PARTICLES: usize = 1_000_000;

/// Color of fluids.
pub(crate) const WATER: [f32; 4] = [0.20, 0.50, 0.82, 1.0];

/// Colors of soft parts, in turn.
pub(crate) const COLORS: [[f32; 4]; 4] =
    [[0.86, 0.48, 0.25, 1.0], [0.25, 0.52, 0.78, 1.0], [0.42, 0.66, 0.36, 1.0], [0.72, 0.42, 0.66, 1.0]];

/// Where everything is at a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instant {
    /// Pose of each body of [`Stage::shapes`].
    pub poses: Vec<Pose>,
    /// Contacts, where the scene has marks for them.
    pub contacts: Vec<ContactMark>,
    /// Vertices of each soft shape, m.
    pub soft: Vec<Vec<[f64; 3]>>,
}

/// What is seen of a scene.
pub trait Stage: Send {
    /// Bodies, shapes and soft shapes, without frames.
    fn shapes(&self, params: &[f64]) -> Replay;
    /// Where they are at a state.
    fn instant(&mut self, at: Point<'_, f64>) -> Instant;
    /// How many frames of a motion are kept.
    fn pace(&self) -> Pace;
    /// Mass that a force on a body feels at the reference configuration, kg; none of bodies that do not move.
    fn felt_mass(&self, _body: usize) -> Option<f64> {
        None
    }
    /// Position of the origin of a body, m, for stages that know its pullback.
    fn body_position(&mut self, _body: usize, _params: &[f64], _state: &[f64]) -> Option<[f64; 3]> {
        None
    }
    /// The pullback of [`Stage::body_position`]: *adds* to the cotangents of parameters and state.
    fn body_position_vjp(
        &mut self,
        _body: usize,
        (_params, _state): (&[f64], &[f64]),
        _position_bar: [f64; 3],
        (_params_bar, _state_bar): (&mut [f64], &mut [f64]),
    ) {
    }
}

/// How many frames of a motion are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As many as a screen shows.
    Screen,
    /// The same, fewer where so many vertices in each frame leave no room.
    Vertices(usize),
    /// All for which there is room, with so many particles in each: actions take milliseconds.
    Particles(usize),
}

/// Makes stages, and pages of recorded states.
pub struct Recorder {
    title: String,
    /// Seconds for which each control acts.
    dt: f64,
    make: Box<dyn Fn() -> Box<dyn Stage> + Send + Sync>,
}

impl Recorder {
    /// Of a scene whose controls act for `dt` seconds each.
    pub fn new<S: Stage + 'static>(
        title: impl Into<String>,
        dt: f64,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        Recorder { title: title.into(), dt, make: Box::new(move || Box::new(make())) }
    }

    /// A stage of its own.
    pub fn stage(&self) -> Box<dyn Stage> {
        (self.make)()
    }

    /// The page of times and states of a motion under inputs, with `controls` numbers for each step.
    pub fn replay(&self, inputs: &Inputs<f64>, controls: usize, rows: &[(f64, Vec<f64>)]) -> Replay {
        record(self.stage().as_mut(), &self.title, (inputs, controls, self.dt), rows)
    }
}

/// The page of times and states of a robot that moved under inputs, with a control for each so many seconds; the
/// last one holds on.
pub fn replay(robot: &Articulated, (inputs, dt): (&Inputs<f64>, f64), rows: &[(f64, Vec<f64>)]) -> Replay {
    let controls = robot.layout().control.len();
    record(&mut RobotStage::new(robot.clone()), &robot.model().name, (inputs, controls, dt), rows)
}

/// The page of times and states of a world, soft bodies included.
pub(crate) fn world_replay(
    world: &World,
    title: &str,
    inputs: &Inputs<f64>,
    rows: &[(f64, Vec<f64>)],
) -> Replay {
    record(&mut WorldStage::new(world.clone()), title, (inputs, 0, 1.0), rows)
}

/// The page of times and states of particles and the tools among them.
pub(crate) fn mpm_replay(mpm: &Mpm, title: &str, rows: &[(f64, Vec<f64>)]) -> Replay {
    let inputs = Inputs { state: Vec::new(), controls: Vec::new(), params: mpm.layout().params.defaults() };
    record(&mut MpmStage::new(mpm.clone()), title, (&inputs, 0, 1.0), rows)
}

/// The page of times and states on a stage; the last control holds on.
fn record(
    stage: &mut dyn Stage,
    title: &str,
    (inputs, nu, dt): (&Inputs<f64>, usize, f64),
    rows: &[(f64, Vec<f64>)],
) -> Replay {
    let (rows, rate) = kept(stage.pace(), rows);
    let mut page = Replay { title: title.into(), fps: rate, ..stage.shapes(&inputs.params) };
    page.soft.iter_mut().for_each(|soft| soft.vertices.reserve(rows.len()));
    let last = (inputs.controls.len() / nu.max(1)).saturating_sub(1);
    for (time, state) in rows {
        let step = ((time / dt).round() as usize).min(last);
        let control = inputs.controls.get(step * nu..(step + 1) * nu).unwrap_or_default();
        let Instant { poses, contacts, soft } =
            stage.instant(Point { params: &inputs.params, state, control });
        page.frames.push(Frame { time: *time, poses, contacts });
        for (shape, vertices) in page.soft.iter_mut().zip(soft) {
            shape.vertices.push(vertices);
        }
    }
    page
}

/// Rows for which there is room, and how many there are per second.
fn kept(pace: Pace, rows: &[(f64, Vec<f64>)]) -> (Vec<&(f64, Vec<f64>)>, f64) {
    let seconds = rows.last().map_or(0.0, |(time, _)| *time);
    match pace {
        Pace::Screen => (decimate(rows, FRAMES_PER_SECOND), FRAMES_PER_SECOND),
        Pace::Vertices(vertices) => {
            let rate = MOST_VERTICES / (seconds.max(0.1) * vertices.max(1) as f64);
            let rate = rate.clamp(10.0, FRAMES_PER_SECOND);
            (decimate(rows, rate), rate)
        }
        Pace::Particles(particles) => {
            let keep = rows.len().div_ceil((MOST_PARTICLES / particles.max(1)).max(2)).max(1);
            let rows: Vec<&(f64, Vec<f64>)> = rows.iter().step_by(keep).collect();
            let seconds = rows.last().map_or(0.0, |(time, _)| *time).max(1e-3);
            let rate = rows.len() as f64 / seconds;
            (rows, rate)
        }
    }
}

/// Rows at most `rate` times a second.
fn decimate(rows: &[(f64, Vec<f64>)], rate: f64) -> Vec<&(f64, Vec<f64>)> {
    let mut due = f64::NEG_INFINITY;
    let mut kept = Vec::new();
    for row in rows {
        if row.0 >= due {
            due = row.0 + 1.0 / rate - 1e-9;
            kept.push(row);
        }
    }
    kept
}
