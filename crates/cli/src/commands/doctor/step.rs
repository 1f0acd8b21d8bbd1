//! `pullback doctor` on a scene or model file of which nothing is asked: is its step small enough?

use std::path::PathBuf;

use pullback_core::ConfigError;
use pullback_core::rollout::Inputs;
use pullback_tasks::files::is_file_name;
use pullback_tasks::objectives::TASKS;
use pullback_tasks::scenes::{self, SCENES, SceneOptions};
use pullback_tasks::stability::{StepLimit, step_limit, warnings};
use serde::Serialize;

use crate::args::DoctorOptions;
use crate::output::{CliError, Output, print_notes};
use crate::progress;
use crate::run_folder::RunFolder;

/// Seconds of the motion that is looked at, where they are not given.
const TIME: f64 = 1.0;
/// Rows of the motion that are kept.
const ROWS: usize = 400;

#[derive(Serialize)]
struct Summary {
    scene: String,
    /// Seconds per step of the scene.
    dt: f64,
    /// Of the steps inside, at the time at which the largest stable one is smallest; nothing if none is too
    /// large.
    limit: Option<Limit>,
    warnings: Vec<String>,
    /// Why the motion ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    files: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Limit {
    time: f64,
    #[serde(flatten)]
    limit: StepLimit,
}

/// Whether a name is that of a scene or file, and of no task.
pub fn is_scene(name: &str) -> bool {
    is_file_name(name) || (TASKS.find(name).is_err() && SCENES.find(name).is_ok())
}

pub fn run(options: &DoctorOptions, output: &Output) -> Result<bool, CliError> {
    let name = &options.task;
    if options.lines.is_some() || options.distance.is_some() || !options.vary.is_empty() {
        let why = "--lines, --distance and --vary are about gradients: give --target or --loss";
        return Err(ConfigError::new(format!("{name}: {why}")).into());
    }
    let built = SceneOptions { file: options.reading.file_options(), ..SceneOptions::default() };
    let scene = scenes::build(name, built)?;
    print_notes(scene.notes());
    let time = options.time.unwrap_or(TIME.min(scene.horizon()));
    let steps = (time / scene.dt()).round();
    if !(1.0..=1e7).contains(&steps) {
        let why = format!("--time must be from one step of {} s to ten million of them", scene.dt());
        return Err(ConfigError::new(format!("{name}: {why}, got {time}")).into());
    }
    let steps = steps as usize;
    let layout = scene.layout();
    let (state, params) = (layout.state.defaults(), layout.params.defaults());
    let inputs = Inputs { state, controls: scene.controls(steps), params };
    let (stride, mut rows) = (steps.div_ceil(ROWS), Vec::new());
    let bar = progress::bar(steps, name);
    let simulated = scene.simulate(&inputs, steps, &mut |at| {
        if at.step % stride == 0 || at.last() {
            rows.push((at.step as f64 * scene.dt(), at.state.to_vec()));
            bar.set_position(at.step as u64);
        }
    });
    bar.finish_and_clear();

    let limit = step_limit(scene.as_ref(), &inputs, &rows)?.map(|(time, limit)| Limit { time, limit });
    let warnings = warnings(scene.as_ref(), &inputs, &rows, simulated.as_ref().err());
    let place = RunFolder::new("doctor", name).setting("time", options.time, None).setting(
        "reading",
        options.reading.words(),
        String::new(),
    );
    let file = output.folder(&place.name())?.join("step.json");
    let failed = simulated.err().map(|e| e.to_string());
    let files = vec![file.clone()];
    let summary = Summary { scene: name.clone(), dt: scene.dt(), limit, warnings, failed, files };
    output.write(&file, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary, time))?;
    Ok(summary.warnings.is_empty() && summary.failed.is_none())
}

fn text(summary: &Summary, time: f64) -> String {
    let mut text = match &summary.limit {
        None => format!("{}: no step is too large for its scheme\n", summary.scene),
        Some(Limit { time: when, limit }) => {
            format!("{} over {time} s: {} (at {when:.4} s)\n", summary.scene, limit.sentence())
        }
    };
    for warning in &summary.warnings {
        text += &format!("warning: {warning}\n");
    }
    if let Some(failed) = &summary.failed {
        text += &format!("the motion failed: {failed}\n");
    }
    text += "gradients: --target of a state of a model file, or --loss FILE\n";
    text + &summary.files[0].display().to_string()
}
