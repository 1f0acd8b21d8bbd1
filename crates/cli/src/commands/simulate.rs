//! `pullback simulate`: a trajectory as CSV, as NumPy arrays and as a picture.

use std::io;
use std::path::PathBuf;

use pullback_core::layout::Section;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Point, csv};
use pullback_plot::{Figure, LinePanel, Panel, Series};
use pullback_tasks::Scene;
use pullback_tasks::files::{FileOptions, find_keyframe};
use pullback_tasks::scenes::{self, SceneOptions};
use serde::Serialize;

use crate::args::SimulateOptions;
use crate::commands::filming::Filming;
use crate::commands::inspect::SolverReport;
use crate::commands::pictures;
use crate::npz::Npz;
use crate::output::{CliError, Output, note_keyframes, print_notes};
use crate::progress;

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
    let steps = steps(options.time.unwrap_or(scene.horizon()), scene.dt())?;
    check_controls(steps, scene.layout().control.len())?;
    let inputs = inputs(scene.as_ref(), steps, options)?;

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
    let mut controls = Vec::new();
    let bar = progress::bar(steps, &options.scene);
    let info = scene.simulate(&inputs, steps, &mut |at| {
        let nu = scene.layout().control.len();
        // At the end no control is about to act; the last one is repeated.
        let control = if at.last() { &inputs.controls[(steps - 1) * nu..] } else { at.control };
        filming.see(at.step, Point { params: &inputs.params, state: at.state, control });
        if page_stride < stride && (at.step % page_stride == 0 || at.last()) {
            page_rows.push((at.step as f64 * scene.dt(), at.state.to_vec()));
        }
        if at.step % stride == 0 || at.last() {
            let time = at.step as f64 * scene.dt();
            let values: Vec<String> = at.state.iter().map(f64::to_string).collect();
            table += &format!("{time},{}\n", values.join(","));
            rows.push((time, at.state.to_vec()));
            controls.extend_from_slice(control);
            bar.set_position(at.step as u64);
        }
    })?;
    bar.finish_and_clear();

    let folder = output.folder(&format!("simulate-{}", scene.name()))?;
    let (data, picture) = (folder.join("trajectory.csv"), folder.join("trajectory.png"));
    output.write(&data, table.as_bytes())?;
    figure(scene.as_ref(), &rows).save_png(&picture)?;
    let arrays = folder.join("trajectory.npz");
    let packed = npz(scene.as_ref(), &rows, &controls);
    let packed = packed.map_err(|source| CliError::Write { path: arrays.clone(), source })?;
    output.write(&arrays, &packed)?;
    let mut files = vec![data, arrays, picture];
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
        steps,
        dt: scene.dt(),
        accepted_inner_steps: info.accepted,
        rejected_inner_steps: info.rejected,
        solver: (info.solver.rows > 0).then(|| SolverReport::new(info.solver)),
        names,
        final_state: rows.pop().map(|(_, state)| state).unwrap_or_default(),
        files,
    };
    if options.keyframe.is_none() {
        note_keyframes(scene.keyframes());
    }
    output.print(&summary, || {
        let mut text = format!("{} for {} steps of {} s\n", summary.scene, steps, summary.dt);
        for (i, (name, x)) in summary.names.iter().zip(&summary.final_state).take(PRINTED).enumerate() {
            text += &format!("  {name:16} {x:>14.8} {}\n", scene.layout().state.unit(i));
        }
        if summary.names.len() > PRINTED {
            text += &format!("  and {} more\n", summary.names.len() - PRINTED);
        }
        for file in &summary.files {
            text += &format!("{}\n", file.display());
        }
        text
    })?;
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

/// The scene's defaults, or a keyframe, with `NAME=VALUE` settings applied.
fn inputs(scene: &dyn Scene, steps: usize, options: &SimulateOptions) -> Result<Inputs<f64>, ConfigError> {
    let layout = scene.layout();
    let mut state = layout.state.defaults();
    let mut control = None;
    let mut params = layout.params.defaults();
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
    let controls = control.map_or_else(|| scene.controls(steps), |u| u.repeat(steps));
    Ok(Inputs { state, controls, params })
}

/// One panel per slice of the state, over time; where there are many, one panel per unit.
pub fn figure(scene: &dyn Scene, rows: &[(f64, Vec<f64>)]) -> Figure {
    let state = &scene.layout().state;
    let over_time = |i: usize| rows.iter().map(|(t, x)| (*t, x[i])).collect::<Vec<_>>();
    let panel = |y_label: String, series: Vec<Series>| -> Panel {
        LinePanel { x_label: "time (s)".into(), y_label, series, ..LinePanel::default() }.into()
    };
    let mut panels: Vec<Panel> = Vec::new();
    if state.slices().len() <= 6 && state.len() <= 6 * DRAWN {
        for slice in state.slices() {
            let series = slice.range.clone().enumerate().map(|(k, i)| {
                let label = if slice.len() == 1 { String::new() } else { slice.entry_name(k) };
                Series::new(label, k, over_time(i))
            });
            panels.push(panel(format!("{} ({})", slice.name, slice.unit), series.collect()));
        }
    } else {
        let mut units: Vec<&str> = Vec::new();
        for slice in state.slices() {
            if !units.contains(&slice.unit.as_ref()) {
                units.push(&slice.unit);
            }
        }
        for unit in units {
            let all: Vec<usize> = (0..state.len()).filter(|i| state.unit(*i) == unit).collect();
            // Of thousands of particles a few dozen stand for the rest.
            let entries: Vec<usize> = all.iter().copied().step_by(all.len().div_ceil(DRAWN).max(1)).collect();
            // As many names as colors.
            let label = |k: usize, i: usize| if k < LABELED { state.entry_name(i) } else { String::new() };
            let series = entries.iter().enumerate().map(|(k, i)| Series::new(label(k, *i), k, over_time(*i)));
            panels.push(panel(format!("state ({unit})"), series.collect()));
        }
    }
    let count = panels.len();
    Figure::grid(scene.name(), 1, panels).sized(7.5, 0.6 + 3.0 * count as f64)
}

/// Entries of the final state that are printed.
const PRINTED: usize = 48;
/// Lines of one panel.
const DRAWN: usize = 48;
/// Lines of one panel that get a name in its legend.
const LABELED: usize = 8;
