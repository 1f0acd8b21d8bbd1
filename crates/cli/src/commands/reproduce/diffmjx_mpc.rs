//! `pullback reproduce diffmjx-mpc`: balls swapped in a hand of muscles, and a ball hit and caught, by looking ahead.
//!
//! Every run has a folder of its own; a comparison that was killed goes on from them.

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_plot::{Figure, LinePanel, Panel, Report, Section, Series, Stat, Table, Tone, compact};
use pullback_tasks::Results;
use pullback_tasks::diffmjx::mpc::{
    self, Comparison, MUSCLE_TASKS, MuscleRun, MuscleTask, PROPOSED, RunProgress, Size,
};

use super::Summary;
use crate::args::ReproduceOptions;
use crate::output::{CliError, Output};
use crate::progress;

/// Where `cargo xtask assets` puts MyoSuite's models, from the project's root.
const ASSETS: &str = "out/assets/myosuite";

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let mut size = if options.quick { Size::quick() } else { Size::full() };
    size.seeds = options.seeds.unwrap_or(size.seeds);
    if size.seeds == 0 {
        return Err(ConfigError::new("a comparison needs at least one seed").into());
    }
    let models = models(options)?;
    let (folder, _lock) = output.run_folder("reproduce-diffmjx-mpc")?;
    let comparison = Comparison {
        size: &size,
        models: models.as_deref(),
        folder: &folder,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let bar = progress::bar(comparison.controls()?, "diffmjx-mpc");
    let runs = comparison.run(&|RunProgress { task, contender, applied }| {
        bar.inc(applied as u64);
        bar.set_message(format!("{task}: {contender}"));
    })?;
    bar.finish_and_clear();

    let mut results = Results::new("diffmjx-mpc");
    mpc::add_results(&runs, &mut results);
    let hands = match &models {
        Some(folder) => format!("Muscles are MyoSuite's, from {}.", folder.display()),
        None => "Muscles are our own models; `cargo xtask assets` fetches MyoSuite's, the paper's.".into(),
    };
    results.notes.push(hands);
    results.notes.push(
        "Seconds are those of planning on one core; runs are made side by side, one on each. Where the paper is \
         silent (places and speeds of the ball, the clipping of gradients) the settings are ours."
            .into(),
    );

    let mut files = Vec::new();
    let mut report = Report::new(
        "Muscles that look ahead",
        "DiffMJX (Paulus, Geist et al. 2025), Figs. 1 and 10, on our own simulator",
    );
    report.sections.push(Section::new("At a glance").stats(stats(&runs)));
    for task in &MUSCLE_TASKS {
        let of_task: Vec<&MuscleRun> = runs.iter().filter(|run| run.task == task.name).collect();
        report.sections.push(section(task, &of_task, &folder, &mut files)?);
    }
    report.footer = results.notes.join(" ");
    let (index, data, all) =
        (folder.join("index.html"), folder.join("results.json"), folder.join("runs.json"));
    report.save(&index)?;
    output.write(&data, serde_json::to_string_pretty(&results)?.as_bytes())?;
    output.write(&all, serde_json::to_string_pretty(&runs)?.as_bytes())?;
    files.splice(0..0, [index, data, all]);
    Summary { results, files }.print(output)
}

/// The folder of MyoSuite's models: the one asked for, or the usual one if it is there and time is not short.
fn models(options: &ReproduceOptions) -> Result<Option<PathBuf>, ConfigError> {
    let usual = Path::new(ASSETS);
    let chosen = match &options.models {
        Some(folder) => Some(folder.clone()),
        None => Some(usual.to_owned()).filter(|folder| folder.exists() && !options.quick),
    };
    for task in chosen.iter().flat_map(|_| &MUSCLE_TASKS) {
        let file = chosen.as_deref().unwrap_or(usual).join(task.model);
        if !file.exists() {
            let why = "--models takes the folder that `cargo xtask assets` makes";
            return Err(ConfigError::new(format!("{} is not there; {why}", file.display())));
        }
    }
    Ok(chosen)
}

/// Curves, table and replays of a task.
fn section(
    task: &MuscleTask,
    runs: &[&MuscleRun],
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<Section, CliError> {
    let (heading, about) = match task.name {
        "in-hand-swap" => (
            "Two balls change places in a hand",
            "The cost is the distance of each ball from its goal, a place in the hand.",
        ),
        _ => (
            "A ball that would fly past is brought to a place",
            "The cost is the distance of the ball from its goal. At the start the ball misses all that could touch it.",
        ),
    };
    let figure = figure(task, runs);
    let picture = folder.join(format!("{}.png", task.name));
    figure.save_png(&picture)?;
    files.push(picture);
    let mut links = Vec::new();
    for run in runs.iter().filter(|run| run.seed == 0) {
        let name = format!("{}-{}.html", task.name, run.contender.replace(", ", "-").replace(' ', "-"));
        let page = folder.join(&name);
        if let Some(replay) = &run.replay {
            let saved = replay.save(&page);
            saved.map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?;
            files.push(page);
            links.push((format!("{}, played", run.contender), name));
        }
    }
    let (hours, compilation) = task.paper;
    let caption = format!(
        "Cost of every control step, one curve per seed. The paper's gradients with contacts from distance took \
         {hours} h and {compilation} h of compilation on a GPU."
    );
    let alt = "Cost against time by planner.";
    Ok(Section::new(heading).paragraph(about).figure(&figure, caption, alt)?.table(table(runs)).links(links))
}

/// Names of planners in the order of their first runs.
fn contenders<'a>(runs: &[&'a MuscleRun]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        if !names.contains(&&run.contender[..]) {
            names.push(&run.contender);
        }
    }
    names
}

fn figure(task: &MuscleTask, runs: &[&MuscleRun]) -> Figure {
    let names = contenders(runs);
    let series = runs.iter().map(|run| {
        let color = names.iter().position(|name| *name == run.contender).unwrap_or(0);
        let label = if run.seed == 0 { &run.contender[..] } else { "" };
        let at = |(i, cost): (usize, &f64)| (i as f64 * run.control_step, *cost);
        Series::new(label, color, run.costs.iter().enumerate().map(at).collect())
    });
    let panel = LinePanel {
        x_label: "time (s)".into(),
        y_label: "cost of the step (m)".into(),
        series: series.collect(),
        y_range: Some((0.0, 1.2 * highest(runs))),
        ..LinePanel::default()
    };
    Figure::grid(task.name, 1, vec![Panel::from(panel)]).sized(11.0, 7.5)
}

/// The highest cost of the runs that end well, or of all if none does: a ball that is lost leaves the figure.
fn highest(runs: &[&MuscleRun]) -> f64 {
    let any = runs.iter().any(|run| run.judgment.solved);
    let shown = runs.iter().filter(|run| run.judgment.solved || !any);
    shown.flat_map(|run| &run.costs).copied().fold(1e-3, f64::max)
}

fn table(runs: &[&MuscleRun]) -> Table {
    let header = [
        "planner",
        "solved",
        "solved at (s)",
        "miss at the end (m)",
        "cost",
        "planning (s)",
        "rollouts + gradients",
    ];
    let row = |name: &&str| {
        let of: Vec<&&MuscleRun> = runs.iter().filter(|run| run.contender == **name).collect();
        let each = |value: &dyn Fn(&MuscleRun) -> String| {
            of.iter().map(|run| value(run)).collect::<Vec<_>>().join(", ")
        };
        let solved = of.iter().filter(|run| run.judgment.solved).count();
        vec![
            (*name).to_owned(),
            format!("{solved} of {}", of.len()),
            each(&|run| run.solved_at.map_or("never".into(), |at| compact(at, 3))),
            each(&|run| compact(run.judgment.last, 2)),
            each(&|run| compact(run.cost, 4)),
            each(&|run| compact(run.seconds, 4)),
            format!("{} + {}", of[0].rollouts, of[0].gradients),
        ]
    };
    let caption =
        "Where there are several seeds, one figure for each, but for the rollouts and gradients of one."
            .into();
    Table {
        caption,
        header: header.map(str::to_owned).to_vec(),
        rows: contenders(runs).iter().map(row).collect(),
    }
}

/// How the paper's planner fared.
fn stats(runs: &[MuscleRun]) -> Vec<Stat> {
    let one = |task: &MuscleTask| {
        let of: Vec<&MuscleRun> =
            runs.iter().filter(|run| run.task == task.name && run.contender == PROPOSED).collect();
        let solved = of.iter().filter(|run| run.judgment.solved).count();
        let slowest = of.iter().map(|run| run.seconds).fold(0.0, f64::max);
        (!of.is_empty()).then(|| Stat {
            tone: if solved == of.len() { Tone::Good } else { Tone::Bad },
            ..Stat::new(
                format!("{} by gradients", task.name),
                format!("{solved} of {} seeds", of.len()),
                format!(
                    "{} min at most on one core; the paper {} h on a GPU",
                    compact(slowest / 60.0, 2),
                    compact(task.paper.0 + task.paper.1, 3)
                ),
            )
        })
    };
    MUSCLE_TASKS.iter().filter_map(one).collect()
}
