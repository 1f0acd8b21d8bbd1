//! The robot of a model file as a task: named states or points that should reach values.

use std::path::Path;

use pullback_control::Interpolation;
use pullback_control::task::{Measure, Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_core::{ConfigError, Described};
use pullback_physics::articulated::losses::PointTarget;

use super::{BuiltTask, RobotTask, distance, moving, place};
use crate::files::{self, FileOptions};

/// A name and what it should be: one number for a state, three for a site or a body.
pub type Target = (String, Vec<f64>);

/// What is asked of the robot of a file.
#[derive(Clone, Debug)]
pub struct FileTask {
    /// Where states and points should be.
    pub targets: Vec<Target>,
    /// The start, by name or number of a keyframe; the first keyframe, or the pose in the file, if none.
    pub keyframe: Option<String>,
    /// How the file is read.
    pub file: FileOptions,
    /// Distance from which contacts act on the way back, m.
    pub from_distance: Option<f64>,
    /// Bounds ± of controls that have none.
    pub bound: Option<f64>,
    /// Seconds that a control is held, and that are planned ahead.
    pub control_step: f64,
    /// Seconds planned ahead.
    pub horizon: f64,
    /// Seconds of the episode.
    pub time: f64,
    /// Weight of a control at the end of its range, beside a target missed by one.
    pub effort: f64,
    /// The task is solved when every target is met to within this.
    pub within: f64,
}

impl Default for FileTask {
    fn default() -> Self {
        FileTask {
            targets: Vec::new(),
            keyframe: None,
            file: FileOptions::default(),
            from_distance: None,
            bound: None,
            control_step: 0.02,
            horizon: 0.5,
            time: 2.0,
            effort: 1e-3,
            within: 0.05,
        }
    }
}

impl FileTask {
    /// The task of the robot in `file`.
    pub fn build(&self, file: &str) -> BuiltTask {
        let wrong = |what: String| ConfigError::new(format!("{file}: {what}"));
        if self.targets.is_empty() {
            let why = "say what the motion is for, as --target hinge.q=0 or --target SITE=0.1,0,0.5; `pullback list FILE` has the names of states";
            return Err(wrong(why.into()));
        }
        let within = self.within;
        if !(self.effort >= 0.0 && self.effort.is_finite()) {
            return Err(wrong(format!("the effort must be finite and not negative, got {}", self.effort)));
        }
        for (name, value) in [
            ("the control step", self.control_step),
            ("the horizon", self.horizon),
            ("the time", self.time),
            ("the limit of success", within),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(wrong(format!("{name} must be positive, got {value}")));
            }
        }
        let robot = moving(files::read_model_with(file, self.file.clone())?, self.from_distance)?;
        let keyframes = robot.field().model().keyframes.clone();
        let key = match &self.keyframe {
            Some(wanted) => Some(files::find_keyframe(&keyframes, wanted)?),
            None => keyframes.first(),
        };

        // How far the worst target is missed.
        let mut misses: Vec<Measure> = Vec::new();
        for (name, value) in &self.targets {
            match value[..] {
                [value] => {
                    let entry = robot.layout().state.index_of(name)?;
                    misses.push(Box::new(move |state| (state[entry] - value).abs()));
                }
                [x, y, z] => {
                    let point = place(&robot, name)?;
                    misses.push(Box::new(move |state| distance(point(state), [x, y, z])));
                }
                _ => {
                    return Err(wrong(format!("--target {name}: one number for a state, three for a point")));
                }
            }
        }
        let success = Success {
            what: "the target missed most".into(),
            unit: "m or rad",
            measure: Box::new(move |state| misses.iter().map(|miss| miss(state)).fold(0.0, f64::max)),
            limit: within,
            hold: 5,
        };

        let substeps = (self.control_step / robot.dt()).round().max(1.0) as usize;
        let dt = robot.dt() * substeps as f64;
        let steps = |seconds: f64| (seconds / dt).round().max(1.0) as usize;
        let horizon = steps(self.horizon);
        let planning = Planning {
            horizon,
            apply: (horizon / 8).max(1),
            spacing: (horizon / 8).max(1),
            interpolation: Interpolation::Linear,
            steps: steps(self.time),
        };
        let stem = Path::new(file).file_stem().map_or(file.into(), |s| s.to_string_lossy().into_owned());
        let mut task = RobotTask::new(stem, robot, key, substeps, planning, success);
        for (i, bounds) in task.0.bounds.iter_mut().enumerate() {
            let free = !(bounds.0.is_finite() && bounds.1.is_finite());
            match self.bound.filter(|bound| *bound > 0.0) {
                _ if !free => {}
                Some(bound) => *bounds = (-bound, bound),
                None => {
                    let name = task.0.system.layout().control.entry_name(i);
                    let why = "has no range; give --bound LIMIT for controls without one";
                    return Err(wrong(format!("control `{name}` {why}")));
                }
            }
        }
        let weights = Weights { running: 1.0, terminal: 5.0 };
        for (name, value) in &self.targets {
            task = match value[..] {
                [value] => task.state(name, &[value], Norm::Square, weights)?,
                _ => {
                    let point = task.chain(name)?;
                    task.point(
                        PointTarget::new(point, Norm::Square, weights).at([value[0], value[1], value[2]]),
                    )
                }
            };
        }
        Ok(task.effort(self.effort))
    }
}
