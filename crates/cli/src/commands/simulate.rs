//! `pullback simulate`: a trajectory as CSV, as NumPy arrays and as a picture.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use pullback_core::interrupt::asked;
use pullback_core::layout::Section;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Point, csv};
use pullback_plot::compact;
use pullback_tasks::Scene;
use pullback_tasks::files::{FileOptions, find_keyframe};
use pullback_tasks::scenes::{self, SceneOptions};
use pullback_tasks::stability::warnings;
use serde::Serialize;

use crate::args::SimulateOptions;
use crate::commands::filming::Filming;
use crate::commands::inspect::SolverReport;
use crate::commands::{pictures, trajectory};
use crate::controls::{self, Sequence};
use crate::interrupt;
use crate::npz::Npz;
use crate::output::{CliError, Output, note_keyframes, print_notes};
use crate::progress;
use crate::run_folder::RunFolder;

/// More steps than this are surely a slip of the keyboard.
const MOST_STEPS: f64 = 1e8;
/// Bytes of the controls of all steps: 1 GiB.
const MOST_CONTROL_BYTES: f64 = (1u64 << 30) as f64;

#[derive(Serialize)]
struct Summary {
    scene: String,
    steps: usize,
    dt: f64,
    accepted_inner_steps: usize,
    rejected_inner_steps: usize,
    /// What the constraint solver took at most, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    solver: Option<SolverReport>,
    names: Vec<String>,
    final_state: Vec<f64>,
    /// What is doubtful about the motion.
    warnings: Vec<String>,
    files: Vec<PathBuf>,
}

pub fn run(options: &SimulateOptions, output: &Output) -> Result<bool, CliError> {
    let contact = options.contact.map(|entry| entry.value);
    let built = SceneOptions {
        dt: options.dt,
        integrator: options.integrator(),
        file: FileOptions { contact, ..options.reading.file_options() },
        collision_softness: options.collision_softness,
        ..SceneOptions::default()
    };
    let scene = scenes::build(&options.scene, built)?;
    print_notes(scene.notes());
    let sequence = match &options.controls {
        Some(file) => Some(controls::read(file, scene.layout(), scene.dt())?),
        None => None,
    };
    let steps = match &sequence {
        Some(sequence) => steps_of(sequence, options, scene.dt())?,
        None => steps(options.time.unwrap_or(scene.horizon()), scene.dt())?,
    };
    check_controls(steps, scene.layout().control.len())?;
    let inputs = inputs(scene.as_ref(), steps, options, sequence)?;

    // At most about 5000 rows and two million numbers: enough for any picture, small enough for any
    // spreadsheet. A page that plays may have twenty million.
    let stride_of = |numbers: usize| {
        let most_rows = (numbers / scene.layout().state.len().max(1)).clamp(2, 5000);
        steps.div_ceil(most_rows).max(1)
    };
    let (stride, page_stride) = (stride_of(2_000_000), stride_of(20_000_000));
    let mut filming = Filming::new(scene.as_ref(), &options.filming, (steps, scene.dt()))?;
    let names = scene.layout().state.entry_names();
    let mut table = format!("time,{}\n", csv::line(&names));
    let mut rows: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut page_rows: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut shown_controls = Vec::new();
    let bar = progress::bar(steps, &options.scene);
    interrupt::listen()?;
    let mut done = steps;
    let simulated = scene.simulate_while(&inputs, steps, &mut |at| {
        let interrupted = asked() && !at.last();
        let nu = scene.layout().control.len();
        // At the end no control is about to act; the last one is repeated.
        let control = if at.last() { &inputs.controls[(steps - 1) * nu..] } else { at.control };
        filming.see(at.step, Point { params: &inputs.params, state: at.state, control });
        if page_stride < stride && (at.step % page_stride == 0 || at.last()) {
            page_rows.push((at.step as f64 * scene.dt(), at.state.to_vec()));
        }
        if at.step % stride == 0 || at.last() || interrupted {
            let time = at.step as f64 * scene.dt();
            let values: Vec<String> = at.state.iter().map(f64::to_string).collect();
            table += &format!("{time},{}\n", values.join(","));
            rows.push((time, at.state.to_vec()));
            shown_controls.extend_from_slice(control);
            bar.set_position(at.step as u64);
        }
        if interrupted {
            done = at.step;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let warnings = warnings(scene.as_ref(), &inputs, &rows, simulated.as_ref().err());
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let info = simulated?;

    let folder = output.folder(&place(options).name())?;
    let (data, picture) = (folder.join("trajectory.csv"), folder.join("trajectory.png"));
    output.write(&data, table.as_bytes())?;
    trajectory::figure(scene.as_ref(), &rows).save_png(&picture)?;
    let arrays = folder.join("trajectory.npz");
    let packed = npz(scene.as_ref(), &rows, &shown_controls);
    let packed = packed.map_err(|source| CliError::Write { path: arrays.clone(), source })?;
    output.write(&arrays, &packed)?;
    let mut files = vec![data, arrays, picture];
    files.extend(controls::write(&folder, scene.layout(), &inputs, (scene.dt(), steps), output)?);
    if let Some(figure) = pictures::figure(scene.name(), 3, scene.pictures(&rows)) {
        let file = folder.join("pictures.png");
        figure.save_png(&file)?;
        files.push(file);
    }
    if let Some(replay) = scene.replay(&inputs, if page_rows.is_empty() { &rows } else { &page_rows }) {
        let page = folder.join("replay.html");
        replay.save(&page).map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?;
        files.push(page);
    }
    files.extend(filming.finish()?);

    let summary = Summary {
        scene: scene.name().into(),
        steps: done,
        dt: scene.dt(),
        accepted_inner_steps: info.accepted,
        rejected_inner_steps: info.rejected,
        solver: (info.solver.rows > 0).then(|| SolverReport::new(info.solver)),
        names,
        final_state: rows.pop().map(|(_, state)| state).unwrap_or_default(),
        warnings,
        files,
    };
    if options.keyframe.is_none() && options.controls.is_none() {
        note_keyframes(scene.keyframes());
    }
    output.print(&summary, || {
        let mut text = format!("{} for {} steps of {} s\n", summary.scene, summary.steps, summary.dt);
        text += &state_text(&scene.layout().state, &summary.final_state);
        for file in &summary.files {
            text += &format!("{}\n", file.display());
        }
        text
    })?;
    if done < steps {
        return Err(CliError::Partial(format!(
            "interrupted after {done} of {steps} steps, which are in {}; the whole motion: {}",
            folder.display(),
            interrupt::command_line()
        )));
    }
    Ok(true)
}

fn steps(time: f64, dt: f64) -> Result<usize, ConfigError> {
    let steps = (time / dt).round();
    if !(time.is_finite() && time > 0.0 && steps >= 1.0) {
        return Err(ConfigError::new(format!("--time must be at least one step of {dt} s, got {time}")));
    }
    if steps > MOST_STEPS {
        return Err(ConfigError::new(format!(
            "{time} s are {steps:e} steps of {dt} s: too many, raise --dt"
        )));
    }
    Ok(steps as usize)
}

/// As many steps as there are controls, or as --time asks for.
fn steps_of(sequence: &Sequence, options: &SimulateOptions, dt: f64) -> Result<usize, ConfigError> {
    let Some(time) = options.time else { return Ok(sequence.steps) };
    let steps = steps(time, dt)?;
    if steps <= sequence.steps {
        return Ok(steps);
    }
    let file = options.controls.as_ref().map_or(String::new(), |file| file.display().to_string());
    let there = sequence.steps as f64 * dt;
    Err(ConfigError::new(format!("{file}: its controls end after {there} s, before --time {time}")))
}

/// Where results go.
fn place(options: &SimulateOptions) -> RunFolder {
    let method = options.method.map(|entry| entry.name);
    RunFolder::new("simulate", &options.scene)
        .file(options.controls.as_deref())
        .setting("time", options.time, None)
        .setting("dt", options.dt, None)
        .setting("method", method, None)
        .setting("tolerance", options.tolerance, None)
        .setting("keyframe", &options.keyframe, &None)
        .setting("reading", options.reading.words(), String::new())
        .setting("contact", options.contact.map(|entry| entry.name), None)
        .setting("set", &options.set, &Vec::new())
        .setting("collision softness", options.collision_softness, 0.0)
}

/// Refuses more controls than memory should hold; the trajectory itself is kept at a stride.
fn check_controls(steps: usize, controls: usize) -> Result<(), ConfigError> {
    let bytes = steps as f64 * controls as f64 * size_of::<f64>() as f64;
    if bytes <= MOST_CONTROL_BYTES {
        return Ok(());
    }
    Err(ConfigError::new(format!(
        "{controls} controls of {steps} steps take {bytes:.1e} bytes, and at most {MOST_CONTROL_BYTES:.1e} are allowed: \
         shorten --time, or raise --dt"
    )))
}

/// The recorded rows as arrays: `time` (T), `state` (T × n), `control` (T × m, of the step that begins
/// there), `names` of the states and `control_names`.
fn npz(scene: &dyn Scene, rows: &[(f64, Vec<f64>)], controls: &[f64]) -> io::Result<Vec<u8>> {
    let layout = scene.layout();
    let times: Vec<f64> = rows.iter().map(|(time, _)| *time).collect();
    let states: Vec<f64> = rows.iter().flat_map(|(_, state)| state).copied().collect();
    let mut archive = Npz::default();
    archive.numbers("time", &[rows.len()], &times)?;
    archive.numbers("state", &[rows.len(), layout.state.len()], &states)?;
    archive.numbers("control", &[rows.len(), layout.control.len()], controls)?;
    archive.texts("names", &layout.state.entry_names())?;
    archive.texts("control_names", &layout.control.entry_names())?;
    archive.finish()
}

/// The scene's defaults, what comes with a sequence of controls, or a keyframe, with `NAME=VALUE` settings applied.
fn inputs(
    scene: &dyn Scene,
    steps: usize,
    options: &SimulateOptions,
    sequence: Option<Sequence>,
) -> Result<Inputs<f64>, ConfigError> {
    let layout = scene.layout();
    let mut state = layout.state.defaults();
    let mut control = None;
    let mut params = layout.params.defaults();
    let mut sequence = sequence;
    if let Some(Sequence { start, params: own, .. }) = &mut sequence {
        state = start.take().unwrap_or(state);
        params = own.take().unwrap_or(params);
    }
    if let Some(wanted) = &options.keyframe {
        let key = find_keyframe(scene.keyframes(), wanted)?;
        state = key.state();
        control = Some(key.controls());
    }
    for setting in &options.set {
        let (name, value) = setting.split_once('=').ok_or_else(|| {
            ConfigError::new(format!("--set {setting}: write NAME=VALUE, such as params.mass=2"))
        })?;
        let value: f64 = value
            .trim()
            .parse()
            .map_err(|_| ConfigError::new(format!("--set {setting}: `{}` is not a number", value.trim())))?;
        let (vector, pattern) = name.trim().split_once('.').unwrap_or((name.trim(), "*"));
        let set = |section: &Section, values: &mut [f64]| -> Result<(), ConfigError> {
            section.select(pattern)?.into_iter().for_each(|i| values[i] = value);
            section.check_bounds(&format!("--set {setting}"), values)
        };
        match vector {
            "state" => set(&layout.state, &mut state)?,
            "control" if options.controls.is_some() => {
                return Err(ConfigError::new(format!("--set {setting}: controls are those of --controls")));
            }
            "control" => set(&layout.control, control.get_or_insert_with(|| layout.control.defaults()))?,
            "params" => set(&layout.params, &mut params)?,
            other => {
                return Err(ConfigError::new(format!(
                    "--set {setting}: `{other}` is not one of state, control, params"
                )));
            }
        }
    }
    // Several settings may make up one quaternion.
    layout.state.check_directions("--set", &state)?;
    control.as_ref().map_or(Ok(()), |control| layout.control.check_directions("--set", control))?;
    layout.params.check_directions("--set", &params)?;
    let controls = match sequence {
        Some(mut sequence) => {
            sequence.controls.truncate(steps * layout.control.len());
            sequence.controls
        }
        None => control.map_or_else(|| scene.controls(steps), |u| u.repeat(steps)),
    };
    Ok(Inputs { state, controls, params })
}

/// A line per entry of a state; slices of many entries, as those of particles, are summed up.
fn state_text(section: &Section, state: &[f64]) -> String {
    /// Entries of a slice that are printed.
    const MANY: usize = 12;
    /// Lines that are printed.
    const LINES: usize = 48;
    let mut lines = Vec::new();
    for slice in section.slices() {
        let values = &state[slice.range.clone()];
        let unit = if slice.unit == "1" { "" } else { slice.unit.as_ref() };
        if values.len() <= MANY {
            let entry = |(i, x): (usize, &f64)| format!("  {:24} {x:>14.8} {unit}\n", slice.entry_name(i));
            lines.extend(values.iter().enumerate().map(entry));
        } else {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let (low, high, mean) = (compact(low, 4), compact(high, 4), compact(mean, 4));
            let count = values.len();
            lines.push(format!(
                "  {:24} {count} numbers from {low} to {high}, mean {mean} {unit}\n",
                slice.name
            ));
        }
    }
    let left_out = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if left_out > 0 {
        lines.push(format!("  and {left_out} more, in the files\n"));
    }
    lines.concat()
}
