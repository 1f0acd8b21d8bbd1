//! Control by looking ahead: episodes of tasks by name and of the robots of files.

use std::path::PathBuf;

use pullback::core::ConfigError;
use pullback::planning::{PLANNERS, PlannerConfig, RunOptions, spline};
use pullback::tasks::files::{FileOptions, is_file_name};
use pullback::tasks::planning::file::FileTask;
use pullback::tasks::planning::{CONTROL_TASKS, ControlTask, RobotTask, TaskOptions};
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::{Flat, array};
use crate::error::{Error, detached, refuse};
use crate::objective::parsed;

/// What is asked, by the names of `pullback.mpc`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asking {
    planner: String,
    settings: String,
    horizon: Option<usize>,
    apply: Option<usize>,
    spacing: Option<usize>,
    interpolation: Option<String>,
    time: Option<f64>,
    targets: Option<Vec<(String, Vec<f64>)>>,
    keyframe: Option<String>,
    from_distance: Option<f64>,
    bound: Option<f64>,
    control_step: Option<f64>,
    effort: Option<f64>,
    within: Option<f64>,
    seed: u64,
    threads: usize,
    folder: Option<PathBuf>,
}

/// An episode: what came of it as JSON, its page, and states, controls and costs.
type Episode<'py> = (String, String, Flat<'py>, Flat<'py>, Flat<'py>);

/// An episode of a task by looking ahead.
#[pyfunction]
pub fn mpc<'py>(py: Python<'py>, task: String, asking: Asking) -> PyResult<Episode<'py>> {
    let settings = parsed(&asking.settings)?;
    let (told, page, states, controls, costs) = detached(py, || run(&task, asking, &settings))?;
    Ok((told, page, array(py, states), array(py, controls), array(py, costs)))
}

type Ran = (String, String, Vec<f64>, Vec<f64>, Vec<f64>);

fn run(name: &str, asking: Asking, settings: &serde_json::Value) -> Result<Ran, Error> {
    let planner = PLANNERS.find(&asking.planner).map_err(ConfigError::from)?;
    let planner = (planner.value)(planner.name, settings)?;
    let task = task(name, &asking)?;
    let planning = planning(&task, &planner, &asking)?;
    if let Some(folder) = &asking.folder {
        std::fs::create_dir_all(folder).map_err(|e| refuse(format!("{}: {e}", folder.display())))?;
    }
    let Asking { threads, seed, folder, .. } = asking;
    let options = RunOptions { planning, threads, seed, folder, inputs: Vec::new() };
    let episode = task.run(&planner, &options, &mut |_| {}).map_err(|e| refuse(e.to_string()))?;
    let told = json!({
        "task": task.name(),
        "planner": asking.planner,
        "seed": seed,
        "dt": task.dt(),
        "cost": episode.cost(),
        "judgment": task.judge(&episode.states),
        "plans": episode.rounds.len(),
        "resumed": episode.resumed,
        "seconds": episode.seconds(),
        "states": task.layout().state.entry_names(),
        "controls": task.layout().control.entry_names(),
    });
    let page = task.replay(&episode).to_html().map_err(|e| refuse(e.to_string()))?;
    Ok((told.to_string(), page, episode.states.concat(), episode.controls, episode.costs))
}

/// A built-in task, or that of a file.
fn task(name: &str, asking: &Asking) -> Result<RobotTask, Error> {
    if is_file_name(name) {
        let defaults = FileTask::default();
        let asked = FileTask {
            targets: asking.targets.clone().unwrap_or_default(),
            keyframe: asking.keyframe.clone(),
            file: FileOptions::default(),
            from_distance: asking.from_distance,
            bound: asking.bound,
            control_step: asking.control_step.unwrap_or(defaults.control_step),
            time: asking.time.unwrap_or(defaults.time),
            effort: asking.effort.unwrap_or(defaults.effort),
            within: asking.within.unwrap_or(defaults.within),
            ..defaults
        };
        let mut task = asked.build(name)?;
        // A run goes on only where the same was asked for.
        task.0.name = format!("{name}, {asked:?}");
        return Ok(task);
    }
    let of_files = [
        ("targets", asking.targets.is_some()),
        ("keyframe", asking.keyframe.is_some()),
        ("bound", asking.bound.is_some()),
        ("control_step", asking.control_step.is_some()),
        ("effort", asking.effort.is_some()),
        ("within", asking.within.is_some()),
    ];
    if let Some((option, _)) = of_files.iter().find(|(_, given)| *given) {
        return Err(refuse(format!("{name}: {option} belongs to model files")));
    }
    let entry = CONTROL_TASKS.find(name).map_err(ConfigError::from)?;
    Ok((entry.value)(&TaskOptions { model: None, from_distance: asking.from_distance })?)
}

/// The task's planning with the changes asked for.
fn planning(
    task: &RobotTask,
    planner: &PlannerConfig,
    asking: &Asking,
) -> Result<pullback::planning::task::Planning, Error> {
    let mut planning = task.planning();
    if planner.plans_once() && (asking.horizon.is_some() || asking.apply.is_some()) {
        return Err(refuse(
            "shooting: one plan spans the episode; horizon and apply belong to other planners",
        ));
    }
    let knots = asking.spacing.is_some() || asking.interpolation.is_some();
    if matches!(planner, PlannerConfig::Ilqr(_)) && knots {
        return Err(refuse("ilqr plans every control; spacing and interpolation belong to other planners"));
    }
    if let Some(time) = asking.time {
        let steps = (time / task.dt()).round();
        if !(1.0..1e8).contains(&steps) {
            return Err(refuse(format!("time must be at least one control of {} s, got {time}", task.dt())));
        }
        planning.steps = steps as usize;
    }
    planning.horizon = asking.horizon.unwrap_or(planning.horizon);
    planning.apply = asking.apply.unwrap_or(planning.apply.min(planning.horizon));
    planning.spacing = asking.spacing.unwrap_or(planning.spacing);
    if let Some(name) = &asking.interpolation {
        planning.interpolation = spline::INTERPOLATIONS.find(name).map_err(ConfigError::from)?.value;
    }
    let sizes = [("horizon", planning.horizon), ("apply", planning.apply), ("spacing", planning.spacing)];
    if let Some((option, _)) = sizes.iter().find(|(_, size)| *size == 0) {
        return Err(refuse(format!("{option} must be at least 1")));
    }
    if planning.apply > planning.horizon {
        let (apply, horizon) = (planning.apply, planning.horizon);
        return Err(refuse(format!("apply = {apply} is more than the horizon of {horizon} controls")));
    }
    Ok(planning)
}
