//! Models in motion under MuJoCo's convex model: microseconds per step, forward and with gradients, beside MuJoCo on
//! the same motion, in the same run.
//!
//! *Motion.* Every case settles from its start under small random controls and is then given small random velocities.
//! The [`WINDOW`] steps from there are what every repetition repeats. MuJoCo gets the same file, start state and
//! controls. Lanes differ by their velocities at the start.
//!
//! *Forward.* A step of the whole system, on one thread. MuJoCo's is `mujoco.rollout`, which starts every
//! solve from the last one's result; ours starts from the unconstrained acceleration, so that a step is a
//! function of the state alone. MuJoCo without warm start is measured too.
//!
//! *Gradient.* A step and its pullback to state, control and all parameters. MuJoCo has no adjoint; its
//! derivative is `mjd_transitionFD`, the Jacobians of a step in state and control by one-sided differences.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use pullback_core::integrator::Integrated;
use pullback_core::random::Random;
use pullback_core::{Bars, ConfigError, Described, Point, StepError, System, VectorField};
use pullback_math::{Real, f32x16, f64x8};
use pullback_physics::articulated::Articulated;
use pullback_physics::articulated::contact::ContactSolverWorkspace;
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf, read_mjcf};
use pullback_tasks::files::system;
use pullback_tasks::scenes::SceneOptions;
use pullback_tasks::{Goal, Results, Row};
use serde_json::{Value, json};

use super::peer;
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, median, race};

/// Steps of the motion that is repeated.
const WINDOW: usize = 200;
/// Bound of random velocities at the start, m/s and rad/s.
const VELOCITY: f64 = 0.05;
/// Start states: the most lanes.
const STATES: usize = 16;
/// Times that ours and MuJoCo take turns.
const TURNS: usize = 2;
/// Interleaved repetitions of ours in one turn.
const ROUNDS: usize = 15;

/// Where a model is.
#[derive(Clone)]
pub enum Source {
    /// One of our own, which the program contains.
    Text(&'static str),
    /// A file.
    File(String),
}

/// What is measured.
pub struct Motion {
    pub name: &'static str,
    pub source: Source,
    /// Bound of random controls around those of the start.
    pub bound: f64,
    /// State and control at the start; those of the first keyframe if none.
    pub start: Option<(Vec<f64>, Vec<f64>)>,
    /// Seconds before anything is measured.
    pub settle: f64,
    /// Most that a step and its pullback may cost, in steps.
    pub gradient_limit: f64,
}

/// A model in motion.
pub struct Case {
    pub name: &'static str,
    source: Source,
    system: Integrated<Articulated>,
    params: Vec<f64>,
    /// One start state per lane; scalars have the first.
    states: Vec<Vec<f64>>,
    /// Of all steps of the window.
    controls: Vec<f64>,
}

/// How the motion went: means per step.
struct Course {
    iterations: f64,
    rows: f64,
    contacts: f64,
    least_contacts: usize,
    end: Vec<f64>,
}

impl Case {
    /// Settles a model from its start.
    pub fn new(motion: &Motion, seed: u64) -> Result<Case, CliError> {
        let Motion { name, bound, ref source, settle, .. } = *motion;
        let model = match source {
            Source::Text(xml) => parse_mjcf(xml, None, &ImportOptions::default()),
            Source::File(file) => {
                let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..Default::default() };
                read_mjcf(Path::new(file), &options)
            }
        };
        let model = model.map_err(|e| ConfigError::new(e.to_string()))?;
        let system = system(Articulated::new(model)?, SceneOptions::default())?;
        let (start, control) = match &motion.start {
            Some(start) => start.clone(),
            None => {
                let first = system.field().model().keyframes.first();
                let first = first.ok_or_else(|| ConfigError::new(format!("{name} has no keyframe")))?;
                (first.state(), first.controls())
            }
        };
        let mut random = Random::new(seed);
        let mut draw = |steps: usize| -> Vec<f64> {
            let all = control.repeat(steps);
            all.into_iter().map(|u| u + random.uniform(-bound, bound)).collect()
        };
        let steps = (settle / system.dt()).round() as usize;
        let (settling, controls) = (draw(steps), draw(WINDOW));
        let (places, params) = (system.field().coordinates(), system.layout().params.defaults());
        let velocities = places.nq..places.nq + places.nv;
        let mut case =
            Case { name, source: source.clone(), system, params, states: vec![start; STATES], controls };
        let settled = Runner::<f64>::new(&case).run(steps, &settling)?.to_vec();
        case.states.fill(settled);
        for state in &mut case.states {
            state[velocities.clone()].iter_mut().for_each(|v| *v += random.uniform(-VELOCITY, VELOCITY));
        }
        Ok(case)
    }

    /// Iterations, rows and contacts of the motion of the first start state.
    fn course(&self) -> Result<Course, CliError> {
        let robot = self.system.field();
        let mut ws = VectorField::<f64>::workspace(robot);
        let mut course =
            Course { iterations: 0.0, rows: 0.0, contacts: 0.0, least_contacts: usize::MAX, end: Vec::new() };
        let mut runner = Runner::<f64>::new(self);
        let nu = robot.layout().control.len();
        for step in 0..WINDOW {
            let control = &self.controls[step * nu..(step + 1) * nu];
            robot.accelerations(&mut ws, Point { params: &self.params, state: &runner.state, control });
            let contacts = ws.contacts.iter().filter(|(_, contact)| contact.distance < 0.0).count();
            course.contacts += contacts as f64 / WINDOW as f64;
            course.least_contacts = course.least_contacts.min(contacts);
            if let ContactSolverWorkspace::Convex(convex) = &ws.resolve {
                course.iterations += convex.newton.info.iterations as f64 / WINDOW as f64;
                course.rows += convex.newton.info.rows as f64 / WINDOW as f64;
            }
            runner.step(control)?;
        }
        course.end = runner.state;
        Ok(course)
    }

    /// What a peer needs to repeat the motion.
    pub fn exported(&self) -> Value {
        let (model, file) = match &self.source {
            Source::Text(xml) => (Some(xml), None),
            Source::File(file) => (None, Some(file)),
        };
        json!({
            "model": model, "file": file, "state": self.states[0], "controls": self.controls, "steps": WINDOW,
            "velocity": VELOCITY,
        })
    }
}

/// Memory to run a case, `T::LANES` environments side by side.
struct Runner<'a, T: Real> {
    case: &'a Case,
    ws: <Integrated<Articulated> as System<T>>::Workspace,
    params: Vec<T>,
    controls: Vec<T>,
    start: Vec<T>,
    state: Vec<T>,
    next: Vec<T>,
    next_bar: Vec<T>,
    state_bar: Vec<T>,
    control_bar: Vec<T>,
    params_bar: Vec<T>,
}

impl<'a, T: Real> Runner<'a, T> {
    fn new(case: &'a Case) -> Self {
        let layout = case.system.layout();
        let all = |values: &[f64]| values.iter().map(|x| T::lit(*x)).collect::<Vec<T>>();
        let start: Vec<T> =
            (0..layout.state.len()).map(|k| T::from_lanes(|lane| case.states[lane][k])).collect();
        let zeros = |n: usize| vec![T::zero(); n];
        Runner {
            case,
            ws: System::<T>::workspace(&case.system),
            params: all(&case.params),
            controls: all(&case.controls),
            state: start.clone(),
            next: start.clone(),
            next_bar: vec![T::one(); start.len()],
            state_bar: zeros(start.len()),
            control_bar: zeros(layout.control.len()),
            params_bar: zeros(layout.params.len()),
            start,
        }
    }

    /// One step; `next` is then the state before it.
    fn step(&mut self, control: &[T]) -> Result<(), StepError> {
        let Runner { case, ws, params, state, next, .. } = self;
        case.system.step(ws, Point { params, state, control }, next)?;
        std::mem::swap(state, next);
        Ok(())
    }

    /// So many steps from where it is, and the state there.
    fn run(&mut self, steps: usize, controls: &[T]) -> Result<&[T], StepError> {
        let nu = self.case.system.layout().control.len();
        for step in 0..steps {
            self.step(&controls[step * nu..(step + 1) * nu])?;
        }
        Ok(&self.state)
    }

    /// The window from its start, with or without the pullback of every step; whether all stayed finite.
    fn window(&mut self, pull_back: bool) -> Result<bool, StepError> {
        let nu = self.case.system.layout().control.len();
        self.state.copy_from_slice(&self.start);
        let controls = std::mem::take(&mut self.controls);
        for bar in [&mut self.control_bar, &mut self.params_bar, &mut self.state_bar] {
            bar.fill(T::zero());
        }
        for step in 0..WINDOW {
            let control = &controls[step * nu..(step + 1) * nu];
            self.step(control)?;
            if pull_back {
                let Runner { case, ws, params, next, next_bar, state_bar, control_bar, params_bar, .. } =
                    self;
                let bars = Bars { params: params_bar, state: state_bar, control: control_bar };
                case.system.step_vjp(ws, Point { params, state: next, control }, next_bar, bars)?;
            }
        }
        self.controls = controls;
        let all = self.state.iter().chain(&self.state_bar).chain(&self.control_bar).chain(&self.params_bar);
        Ok(all.flat_map(|x| (0..T::LANES).map(|lane| x.lane(lane))).all(f64::is_finite))
    }
}

/// A repetition is a window; times are per step of one environment.
fn contender<'a, T: Real>(
    case: &'a Case,
    name: &str,
    pull_back: bool,
) -> Result<Option<Contender<'a>>, CliError> {
    let mut runner = Runner::<T>::new(case);
    if !runner.window(pull_back)? {
        return Ok(None);
    }
    // Runs are deterministic: what succeeds once succeeds always.
    let run = move |calls| {
        for _ in 0..calls {
            let _ = black_box(runner.window(pull_back));
        }
    };
    Ok(Some(Contender::new(name, run).per_call(WINDOW * T::LANES)))
}

/// Names of contenders.
pub const SCALARS: [&str; 3] = ["f64", "f64x8", "f32x16"];

fn name(scalar: &str, pull_back: bool) -> String {
    format!("{scalar}{}", if pull_back { " step and pullback" } else { " step" })
}

/// MuJoCo's figures over all turns, and who it is.
#[derive(Default)]
struct Peer {
    name: String,
    rollout: Vec<f64>,
    cold: Vec<f64>,
    differences: Vec<f64>,
    last: Value,
}

impl Peer {
    fn add(&mut self, found: Value) {
        let numbers = |key: &str| found[key].as_array().into_iter().flatten().filter_map(Value::as_f64);
        self.rollout.extend(numbers("rollout"));
        self.cold.extend(numbers("cold"));
        self.differences.extend(numbers("transition_fd"));
        self.name = found["version"].as_str().unwrap_or("MuJoCo").to_owned();
        self.last = found;
    }

    /// A figure of how the motion went.
    fn number(&self, key: &str) -> f64 {
        self.last[key].as_f64().unwrap_or(f64::NAN)
    }

    /// Largest difference of a final state from this one's.
    fn difference(&self, end: &[f64]) -> f64 {
        let theirs: Vec<f64> =
            self.last["end"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        if theirs.len() != end.len() {
            return f64::NAN;
        }
        theirs.iter().zip(end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}

/// Measures all motions, `bench` names the folder. Returns the microseconds of a step and its pullback of each on lanes.
pub fn measure(
    results: &mut Results,
    bench: &str,
    motions: &[Motion],
    seed: u64,
    output: &Output,
) -> Result<Vec<[f64; 2]>, CliError> {
    let bar = progress::bar(motions.len() * TURNS * ROUNDS, bench);
    let mut missing = None;
    let (mut ratios, mut gradients) = (Vec::new(), Vec::new());
    for motion in motions {
        let case = Case::new(motion, seed)?;
        let (course, mut peer) = (case.course()?, Peer::default());
        let mut contenders = Vec::new();
        for pull_back in [false, true] {
            let [f64s, f64x8s, f32x16s] = SCALARS.map(|scalar| name(scalar, pull_back));
            contenders.extend(contender::<f64>(&case, &f64s, pull_back)?);
            contenders.extend(contender::<f64x8>(&case, &f64x8s, pull_back)?);
            contenders.extend(contender::<f32x16>(&case, &f32x16s, pull_back)?);
        }
        for _ in 0..TURNS {
            race(&mut contenders, ROUNDS, || bar.inc(1));
            if missing.is_none() {
                let input = (&*format!("{}.json", case.name), &*case.exported().to_string());
                match peer::run(output, (bench, "mujoco_contact"), input, &[]) {
                    Ok(found) => peer.add(found),
                    Err(why) => missing = Some(why),
                }
            }
        }
        gradients.push(report(results, (motion, &case), (&course, &contenders, &peer), &mut ratios));
    }
    bar.finish_and_clear();
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|r: &f64| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        results.goals.push(Goal::at_most("geometric mean: f64 step over MuJoCo's", mean, 1.0));
    }
    results.notes.extend(missing.map(|why| format!("MuJoCo was not measured: {why}")));
    results.notes.push(format!(
        "one thread; best of {TURNS} turns of ours and MuJoCo's with at least {ROUNDS} repetitions each \
         of the same {WINDOW} steps; lanes are per step of one environment; MuJoCo goes to its files' \
         tolerance, ours to round-off; mjd_transitionFD gives whole Jacobians of a step in state and \
         control, ours the gradient of one loss, in parameters as well"
    ));
    Ok(gradients)
}

/// Rows and goals of a case; returns the microseconds of a step and its pullback on lanes.
fn report(
    results: &mut Results,
    (motion, case): (&Motion, &Case),
    (course, contenders, peer): (&Course, &[Contender<'_>], &Peer),
    ratios: &mut Vec<f64>,
) -> [f64; 2] {
    let there = !peer.rollout.is_empty();
    let mut row = |metric: &str, value: f64, unit: &str, theirs: Option<f64>| {
        results.rows.push(Row {
            case: case.name.into(),
            metric: metric.into(),
            value,
            unit: unit.into(),
            peer: theirs.filter(|_| there),
            peer_name: there.then(|| peer.name.clone()).filter(|_| theirs.is_some()),
        });
    };
    let layout = case.system.layout();
    row("degrees of freedom", case.system.field().coordinates().nv as f64, "1", None);
    row("parameters", layout.params.len() as f64, "1", None);
    row("contacts per step", course.contacts, "1", Some(peer.number("contacts")));
    row("least contacts in a step", course.least_contacts as f64, "1", None);
    row("rows per step", course.rows, "1", Some(peer.number("rows")));
    row("Newton iterations per step", course.iterations, "1", Some(peer.number("iterations")));
    if there {
        row("largest difference of the final states", peer.difference(&course.end), "1", None);
    }

    let found = |scalar: &str, pull_back: bool| {
        let name = name(scalar, pull_back);
        contenders.iter().find(|c| c.name == name)
    };
    let us = |scalar: &str, pull_back: bool| found(scalar, pull_back).map_or(f64::NAN, |c| c.best * 1e-3);
    let typical = |scalar: &str| found(scalar, false).map_or(f64::NAN, |c| c.median() * 1e-3);
    let least = |times: &[f64]| times.iter().copied().fold(f64::NAN, f64::min);
    let (warm, cold, differences) = (least(&peer.rollout), least(&peer.cold), least(&peer.differences));
    for scalar in SCALARS {
        row(&format!("{scalar}: step"), us(scalar, false), "us", Some(warm));
        row(&format!("{scalar}: step, median"), typical(scalar), "us", Some(median(&peer.rollout)));
    }
    row("f64: step, peer without warm start", us("f64", false), "us", Some(cold));
    for scalar in SCALARS {
        let both = us(scalar, true);
        row(&format!("{scalar}: step and pullback, peer mjd_transitionFD"), both, "us", Some(differences));
    }
    for scalar in SCALARS {
        let ratio = us(scalar, true) / us(scalar, false);
        row(&format!("{scalar}: step and pullback over step"), ratio, "1", None);
    }

    let goal = |what: &str| format!("{}: {what}", case.name);
    let ratio = us("f64", true) / us("f64", false);
    results.goals.push(Goal::at_most(goal("f64 step and pullback over step"), ratio, motion.gradient_limit));
    if there {
        let ratio = us("f64", false) / warm;
        results.goals.push(Goal::at_most(goal("f64 step over MuJoCo's"), ratio, 1.0));
        ratios.push(ratio);
        let gain = warm / us("f64x8", false);
        results.goals.push(Goal::at_least(goal("f64x8 steps per core over MuJoCo's"), gain, 4.0));
    }
    [us("f64x8", true), us("f32x16", true)]
}
