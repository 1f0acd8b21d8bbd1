//! [`Task`]: what is to be done, and how it is planned unless told otherwise.
//!
//! A new task is a system, a start, a loss per step, bounds of the controls, a horizon, an episode and a measure of
//! success.

use std::path::PathBuf;

use pullback_core::ConfigError;
use pullback_core::files::{Fingerprint, InputFile};
use pullback_core::settings::check_memory;
use pullback_optim::RunName;
use serde::Serialize;

use crate::bounds::ControlBox;
use crate::error::PlanError;
use crate::mpc::{self, Episode, Pace, Progress, RunFolder};
use crate::planner::PlannerConfig;
use crate::problem::{PlanLoss, PlanSystem, Problem};
use crate::spline::{Interpolation, Spline};

/// A number that a state has.
pub type Measure = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// What counts as success: a measure of the state that is within a limit, to the end or once.
pub struct Success {
    /// What is measured, such as `distance of the tip`.
    pub what: String,
    /// Its unit.
    pub unit: &'static str,
    /// The measure.
    pub measure: Measure,
    /// The limit.
    pub limit: f64,
    /// Control steps, at the end of the episode, for which it must hold; 0 where once, at any time, suffices.
    pub hold: usize,
}

/// How an episode was judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgment {
    /// What was measured.
    pub what: String,
    /// Its unit.
    pub unit: &'static str,
    /// At the end.
    pub last: f64,
    /// The largest over the steps for which it must hold.
    pub worst_held: f64,
    /// The lowest of the episode.
    pub lowest: f64,
    /// The limit.
    pub limit: f64,
    /// Whether it held.
    pub solved: bool,
    /// The control step from which on it held to the end, or the first at which it did where once suffices.
    pub solved_from: Option<usize>,
}

impl Success {
    /// Judges the states of an episode.
    pub fn judge(&self, states: &[Vec<f64>]) -> Judgment {
        let measured: Vec<f64> = states.iter().map(|state| (self.measure)(state)).collect();
        let held = measured.iter().rev().take_while(|x| **x <= self.limit).count();
        let lowest = measured.iter().copied().fold(f64::INFINITY, f64::min);
        let once = measured.iter().position(|x| *x <= self.limit).filter(|_| self.hold == 0);
        let tail = &measured[measured.len().saturating_sub(self.hold.max(1))..];
        Judgment {
            what: self.what.clone(),
            unit: self.unit,
            last: measured.last().copied().unwrap_or(f64::NAN),
            worst_held: tail.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            lowest,
            limit: self.limit,
            solved: once.is_some() || held >= self.hold.max(1),
            solved_from: once.or_else(|| (held > 0).then(|| measured.len() - held)),
        }
    }
}

/// How a task is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planning {
    /// Control steps that are planned ahead.
    pub horizon: usize,
    /// Control steps that are applied of each plan.
    pub apply: usize,
    /// Control steps between knots.
    pub spacing: usize,
    /// What happens between knots.
    pub interpolation: Interpolation,
    /// Control steps of the episode.
    pub steps: usize,
}

/// A task.
pub struct Task<S, L> {
    /// Its name, with all that changes it: an interrupted run goes on only under the same name.
    pub name: String,
    /// The system.
    pub system: S,
    /// Its parameters.
    pub params: Vec<f64>,
    /// Where an episode starts.
    pub start: Vec<f64>,
    /// The control that the first plan holds.
    pub nominal: Vec<f64>,
    /// Bounds of the controls.
    pub bounds: Vec<(f64, f64)>,
    /// Loss per control step, and at the end of a horizon.
    pub loss: L,
    /// Steps of the system per control.
    pub substeps: usize,
    /// Seconds per control.
    pub dt: f64,
    /// How it is planned unless told otherwise.
    pub planning: Planning,
    /// What counts as success.
    pub success: Success,
}

/// How a run is made.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How it is planned.
    pub planning: Planning,
    /// Threads; the result does not depend on their number.
    pub threads: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// A folder that exists, where the run is kept and from which it goes on.
    pub folder: Option<PathBuf>,
    /// Files that the task was made of: a run goes on only where they have the same content.
    pub inputs: Vec<InputFile>,
}

impl RunOptions {
    /// An episode on all cores with seed 0 that no folder keeps.
    pub fn new(planning: Planning) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        RunOptions { planning, threads, seed: 0, folder: None, inputs: Vec::new() }
    }
}

impl<S: PlanSystem, L: PlanLoss> Task<S, L> {
    /// Runs an episode, or what an interrupted run left of it.
    pub fn run(
        &self,
        planner: &PlannerConfig,
        options: &RunOptions,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Episode, PlanError> {
        let Planning { horizon, apply, spacing, interpolation, steps } = options.planning;
        let once = planner.plans_once();
        let (horizon, apply) = if once { (steps, steps) } else { (horizon, apply) };
        let state = self.system.layout().state.len();
        for (what, found, wanted) in [
            ("start", self.start.len(), state),
            ("control", self.nominal.len(), self.system.layout().control.len()),
            ("bounds", self.bounds.len(), self.system.layout().control.len()),
            ("params", self.params.len(), self.system.layout().params.len()),
        ] {
            if found != wanted {
                return Err(ConfigError::new(format!(
                    "{}: {what} has {found} entries, not {wanted}",
                    self.name
                ))
                .into());
            }
        }
        if self.nominal.is_empty() {
            return Err(ConfigError::new(format!("{}: there is nothing to control", self.name)).into());
        }
        let entries = (state + self.nominal.len()) as f64;
        for (what, count) in [("horizon", horizon), ("steps", steps)] {
            check_memory("planning", what, 8.0 * count as f64 * entries)?;
        }
        let bounds = ControlBox::new(&self.bounds)?;
        let problem = Problem {
            system: &self.system,
            loss: &self.loss,
            params: &self.params,
            bounds: &bounds,
            horizon,
            substeps: self.substeps,
            threads: options.threads,
        };
        let spline = Spline::new(&bounds, horizon, spacing, interpolation);
        let mut made = planner.planner(problem, spline)?;
        let folder = options.folder.clone().map(|folder| {
            let planner = serde_json::to_string(planner).unwrap_or_default();
            let pace = format!("horizon {horizon}, apply {apply}, spacing {spacing}, {interpolation:?}");
            let name = RunName::new(&self.name, format!("{planner}, {pace}"), options.seed)
                .with_inputs(options.inputs.iter().cloned())
                .with_inputs([self.numbers()]);
            RunFolder { folder, name }
        });
        let pace = Pace { steps, apply };
        let from = (&self.start[..], &self.nominal[..]);
        mpc::run(&problem, made.as_mut(), from, pace, options.seed, folder.as_ref(), watch)
    }

    /// Parameters, start, bounds and times by their content.
    fn numbers(&self) -> InputFile {
        let (low, high): (Vec<f64>, Vec<f64>) = self.bounds.iter().copied().unzip();
        let all =
            [&self.params, &self.start, &self.nominal, &low, &high, &vec![self.dt, self.substeps as f64]];
        let hash = all.iter().fold(Fingerprint::default(), |hash, numbers| hash.numbers(numbers));
        InputFile::new("parameters, start and bounds", hash)
    }
}
