//! `pullback mpc`: an episode by looking ahead, kept as it goes; the same command goes on after an interruption and
//! ends as if there had been none.

use std::path::{Path, PathBuf};

use pullback_control::mpc::{Episode, Progress};
use pullback_control::task::{Judgment, Planning};
use pullback_control::{PlannerConfig, RunOptions};
use pullback_core::files::noting_inputs;
use pullback_core::{ConfigError, csv};
use pullback_plot::{Figure, LinePanel, Panel, Series, compact};
use pullback_tasks::files::{FileOptions, is_file_name};
use pullback_tasks::planning::file::FileTask;
use pullback_tasks::planning::{CONTROL_TASKS, ControlTask, RobotTask, TaskOptions};
use serde::Serialize;
use serde_json::Value;

use crate::args::MpcOptions;
use crate::output::{CliError, Output};
use crate::progress;

/// What a run was made with.
#[derive(Serialize)]
struct Config<'a> {
    task: &'a str,
    planner: &'a PlannerConfig,
    horizon: usize,
    apply: usize,
    spacing: usize,
    interpolation: pullback_control::Interpolation,
    steps: usize,
    control_step: f64,
    seed: u64,
}

#[derive(Serialize)]
struct Summary {
    task: String,
    planner: &'static str,
    seed: u64,
    /// Control steps, and seconds of each.
    steps: usize,
    control_step: f64,
    /// Loss of the episode.
    cost: f64,
    #[serde(flatten)]
    judgment: Judgment,
    /// Plans, and how many of them an earlier, interrupted run had made.
    plans: usize,
    resumed: usize,
    rollouts: usize,
    gradients: usize,
    /// Seconds spent planning, and per plan.
    planning_seconds: f64,
    seconds_per_plan: f64,
    files: Vec<PathBuf>,
}

pub fn run(options: &MpcOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let settings = match &options.settings {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|e| {
            ConfigError::new(format!("--settings is no JSON object such as {{\"samples\": 64}}: {e}"))
        })?,
    };
    let (name, build) = (options.planner.name, options.planner.value);
    let planner = build(name, &settings)?;
    let (task, inputs) = noting_inputs(|| task(options));
    let task = task?;
    let planning = planning(options, &task, &planner)?;

    let stem =
        Path::new(&options.task).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let (folder, _lock) = output.run_folder(&format!("mpc-{stem}-{name}-{seed}"))?;
    let config = Config {
        task: task.name(),
        planner: &planner,
        horizon: planning.horizon,
        apply: planning.apply,
        spacing: planning.spacing,
        interpolation: planning.interpolation,
        steps: planning.steps,
        control_step: task.dt(),
        seed,
    };
    let config_file = folder.join("config.json");
    let bar = progress::bar(planning.steps, &stem);
    let mut watch = |Progress { step, part, cost }: Progress| {
        bar.set_position(step as u64);
        bar.set_message(format!("{stem}: {} ({part})", compact(cost, 4)));
    };
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let run = RunOptions { planning, threads, seed, folder: Some(folder.clone()), inputs };
    crate::interrupt::listen()?;
    let episode = task.run(&planner, &run, &mut watch)?;
    bar.finish_and_clear();

    output.write(&config_file, serde_json::to_string_pretty(&config)?.as_bytes())?;
    let judgment = task.judge(&episode.states);
    let mut files = vec![config_file, folder.join("run.jsonl"), folder.join("checkpoint.json")];
    files.extend(write_tables(&task, &episode, planning, &folder, output)?);
    let picture = folder.join("progress.png");
    figure(&stem, name, &task, &episode).save_png(&picture)?;
    let page = folder.join("replay.html");
    let saved = task.replay(&episode).save(&page);
    saved.map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?;
    let result = folder.join("result.json");
    files.extend([picture, page, result.clone()]);
    let summary = Summary {
        task: task.name().to_owned(),
        planner: name,
        seed,
        steps: planning.steps,
        control_step: task.dt(),
        cost: episode.cost(),
        judgment,
        plans: episode.rounds.len(),
        resumed: episode.resumed,
        rollouts: episode.rounds.iter().map(|r| r.rollouts).sum(),
        gradients: episode.rounds.iter().map(|r| r.gradients).sum(),
        planning_seconds: episode.seconds(),
        seconds_per_plan: episode.seconds() / episode.rounds.len().max(1) as f64,
        files,
    };
    output.write(&result, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

/// A built-in task, or that of a file.
fn task(options: &MpcOptions) -> Result<RobotTask, ConfigError> {
    let file = &options.task;
    if is_file_name(file) {
        if options.model.is_some() {
            return Err(ConfigError::new(format!("{file} is a model; --model belongs to tasks by name")));
        }
        let defaults = FileTask::default();
        let asked = FileTask {
            targets: options.target.clone(),
            keyframe: options.keyframe.clone(),
            file: FileOptions {
                contact: options.contact.map(|entry| entry.value),
                ..options.reading.file_options()
            },
            from_distance: options.from_distance,
            bound: options.bound,
            control_step: options.control_step.unwrap_or(defaults.control_step),
            time: options.time.unwrap_or(defaults.time),
            effort: options.effort.unwrap_or(defaults.effort),
            within: options.within.unwrap_or(defaults.within),
            ..defaults
        };
        let mut task = asked.build(file)?;
        // A run goes on only where the same was asked for.
        task.0.name = format!("{file}, {asked:?}");
        return Ok(task);
    }
    let told = TaskOptions { model: options.model.clone(), from_distance: options.from_distance };
    let task = (CONTROL_TASKS.find(file)?.value)(&told)?;
    let only_files = [
        ("--target", !options.target.is_empty()),
        ("--keyframe", options.keyframe.is_some()),
        ("--contact", options.contact.is_some()),
        ("how a file is read", options.reading.given()),
        ("--bound", options.bound.is_some()),
        ("--control-step", options.control_step.is_some()),
        ("--effort", options.effort.is_some()),
        ("--within", options.within.is_some()),
    ];
    match only_files.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(ConfigError::new(format!("{file}: {option} belongs to model files"))),
        None => Ok(task),
    }
}

/// The task's planning with the changes asked for.
fn planning(
    options: &MpcOptions,
    task: &RobotTask,
    planner: &PlannerConfig,
) -> Result<Planning, ConfigError> {
    let mut planning = task.planning();
    if planner.plans_once() && (options.horizon.is_some() || options.apply.is_some()) {
        let why = "one plan spans the episode; --horizon and --apply belong to other planners, --time changes the episode";
        return Err(ConfigError::new(format!("shooting: {why}")));
    }
    if matches!(planner, PlannerConfig::Ilqr(_))
        && (options.spacing.is_some() || options.interpolation.is_some())
    {
        return Err(ConfigError::new(
            "ilqr plans every control; --spacing and --interpolation belong to other planners",
        ));
    }
    if let Some(time) = options.time {
        let steps = (time / task.dt()).round();
        if !(1.0..1e8).contains(&steps) {
            return Err(ConfigError::new(format!(
                "--time must be at least one control of {} s, got {time}",
                task.dt()
            )));
        }
        planning.steps = steps as usize;
    }
    planning.horizon = options.horizon.unwrap_or(planning.horizon);
    planning.apply = options.apply.unwrap_or(planning.apply.min(planning.horizon));
    planning.spacing = options.spacing.unwrap_or(planning.spacing);
    planning.interpolation = options.interpolation.map_or(planning.interpolation, |entry| entry.value);
    for (option, value) in
        [("--horizon", planning.horizon), ("--apply", planning.apply), ("--spacing", planning.spacing)]
    {
        if value == 0 {
            return Err(ConfigError::new(format!("{option} must be at least 1")));
        }
    }
    if planning.apply > planning.horizon {
        let Planning { apply, horizon, .. } = planning;
        return Err(ConfigError::new(format!(
            "--apply {apply} is more than the horizon of {horizon} controls"
        )));
    }
    Ok(planning)
}

/// `costs.csv`: the loss at every control step; `plans.csv`: what every plan came to; `trajectory.csv`: states and
/// controls; `plan.csv`: the controls still planned at the end.
fn write_tables(
    task: &RobotTask,
    episode: &Episode,
    planning: Planning,
    folder: &Path,
    output: &Output,
) -> Result<Vec<PathBuf>, CliError> {
    let (layout, dt) = (task.layout(), task.dt());
    let controls = layout.control.entry_names();
    let nu = controls.len();
    let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let mut costs = "step,time,cost\n".to_owned();
    let mut trajectory = format!(
        "step,time,{},{}\n",
        csv::line(layout.state.entry_names()),
        csv::line(controls.iter().map(|name| format!("control.{name}")))
    );
    for (step, (state, cost)) in episode.states.iter().zip(&episode.costs).enumerate() {
        let time = step as f64 * dt;
        costs += &format!("{step},{time},{cost}\n");
        // At the end no control is about to act; the last one is repeated.
        let acting = step.min(planning.steps - 1) * nu;
        trajectory +=
            &format!("{step},{time},{},{}\n", list(state), list(&episode.controls[acting..acting + nu]));
    }
    let mut plans = "step,time,before,after,rollouts,gradients,seconds\n".to_owned();
    for r in &episode.rounds {
        let before = r.before.map_or(String::new(), |cost| cost.to_string());
        let time = r.step as f64 * dt;
        plans +=
            &format!("{},{time},{before},{},{},{},{}\n", r.step, r.after, r.rollouts, r.gradients, r.seconds);
    }
    let mut plan = format!("knot,{}\n", csv::line(&controls));
    for (i, knot) in episode.plan.knots.chunks(nu.max(1)).enumerate() {
        plan += &format!("{i},{}\n", list(knot));
    }
    let tables =
        [("costs.csv", costs), ("plans.csv", plans), ("trajectory.csv", trajectory), ("plan.csv", plan)];
    let mut files = Vec::new();
    for (name, table) in tables {
        let path = folder.join(name);
        output.write(&path, table.as_bytes())?;
        files.push(path);
    }
    Ok(files)
}

fn text(summary: &Summary) -> String {
    let Judgment { what, unit, last, limit, solved, .. } = &summary.judgment;
    let verdict = if *solved { "solved" } else { "not solved" };
    let earlier = match summary.resumed {
        0 => String::new(),
        resumed => format!(", {resumed} of them from an earlier run"),
    };
    let mut text = format!(
        "{} by {}: {verdict}, cost {}\n  {what}: {} {unit} at the end (at most {limit})\n",
        summary.task.split(',').next().unwrap_or_default(),
        summary.planner,
        compact(summary.cost, 6),
        compact(*last, 4),
    );
    text += &format!(
        "  {} plans{earlier}, {} s each: {} rollouts, {} gradients\n",
        summary.plans,
        compact(summary.seconds_per_plan, 3),
        summary.rollouts,
        summary.gradients
    );
    let files: Vec<String> = summary.files.iter().map(|f| f.display().to_string()).collect();
    text + &files.join("\n")
}

/// Loss over time, and what every plan promised.
fn figure(task: &str, planner: &str, run: &RobotTask, episode: &Episode) -> Figure {
    let costs = episode.costs.iter().enumerate().map(|(i, cost)| (i as f64 * run.dt(), *cost)).collect();
    let plans = episode.rounds.iter().map(|r| (r.step as f64 * run.dt(), r.after)).collect();
    let panel = |title: String, y_label: &str, points: Vec<(f64, f64)>| -> Panel {
        LinePanel {
            title,
            x_label: "time (s)".into(),
            y_label: y_label.into(),
            series: vec![Series::new("", 0, points)],
            ..LinePanel::default()
        }
        .into()
    };
    let panels = vec![
        panel(format!("{task} by {planner}"), "loss of the step", costs),
        panel(String::new(), "loss planned over the horizon", plans),
    ];
    Figure::grid(task, 1, panels).sized(7.5, 6.0)
}
