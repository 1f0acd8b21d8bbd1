//! `pullback optimize`: a search with a budget of simulations, logged as it goes; the same command goes on
//! after an interruption and ends as if there had been none.

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_core::files::noting_inputs;
use pullback_optim::search::{Search, SearchError, lowest_so_far};
use pullback_optim::{Best, Failures};
use pullback_plot::{Figure, LinePanel, Series, compact};
use pullback_tasks::motion::Motion;
use serde::Serialize;
use serde_json::Value;

use crate::args::OptimizeOptions;
use crate::commands::{objective, pictures};
use crate::output::{CliError, Output};
use crate::progress;
use crate::run_folder::RunFolder;
use crate::{controls, interrupt};

#[derive(Serialize)]
struct Summary {
    task: String,
    /// What was asked of a scene or model file.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<PathBuf>,
    method: &'static str,
    settings: String,
    seed: u64,
    episodes: usize,
    /// Episodes read back from an earlier, interrupted run.
    resumed: usize,
    /// Episodes whose simulation failed.
    failures: Failures,
    best: Best,
    names: Vec<String>,
    units: Vec<String>,
    files: Vec<PathBuf>,
}

pub fn run(options: &OptimizeOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let (task, method, budget) = (&options.task, options.method.name, options.budget);
    let (objective, inputs) = noting_inputs(|| objective::build(task, &options.goal, &options.reading));
    let objective = objective?;
    let settings = match &options.settings {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|e| {
            ConfigError::new(format!("--settings is no JSON object such as {{\"steps\": 20}}: {e}"))
        })?,
    };
    let search_by = (options.method.value)(method, &settings)?;
    let usual = (options.method.value)(method, &Value::Null)?;
    let place = RunFolder::new("optimize", task)
        .file(options.goal.loss.as_deref())
        .part(method)
        .part(seed.to_string())
        .setting("settings", search_by.settings(), usual.settings())
        .setting("reading", options.reading.words(), String::new());
    let (folder, _lock) = output.run_folder(&place.name())?;
    let log = folder.join("run.jsonl");
    let bar = progress::bar(budget, task);
    let watch = |episodes: usize, best: f64| {
        bar.set_position(episodes as u64);
        bar.set_message(format!("{task}: {}", compact(best, 5)));
    };
    let search_by = search_by.as_ref();
    let search =
        Search { objective: objective.as_ref(), task, inputs: &inputs, method: search_by, budget, seed };
    interrupt::listen()?;
    let (found, interrupted) = match search.run(Some(&log), watch) {
        Err(SearchError::Interrupted(found)) if found.best.is_some() => (*found, true),
        ended => (ended?, false),
    };
    bar.finish_and_clear();
    let Some(best) = found.best else {
        return Err(ConfigError::new("a budget of nothing finds nothing; give --budget").into());
    };
    let failed = found.failures.words(found.losses.len());
    if let Some(why) = failed.as_ref().filter(|_| !best.loss.is_finite()) {
        return Err(ConfigError::new(format!("{task}: {why} (the log is {})", log.display())).into());
    }
    if let Some(why) = failed {
        eprintln!("note: {why}");
    }

    let (picture, result) = (folder.join("progress.png"), folder.join("result.json"));
    figure(task, method, &found.losses).save_png(&picture)?;
    let mut files = vec![result.clone(), log, picture];
    let pictures = objective.pictures(&best.x)?;
    if let Some(figure) = pictures::figure(&format!("{task} by {method}"), 4, pictures) {
        let file = folder.join("result.png");
        figure.save_png(&file)?;
        files.push(file);
    }
    if let Some(motion) = objective.motion(&best.x)? {
        files.extend(save_motion(&folder, task, motion, output)?);
    }
    let summary = Summary {
        task: task.clone(),
        loss: options.goal.loss.clone(),
        method,
        settings: found.settings,
        seed,
        episodes: found.losses.len(),
        resumed: found.resumed,
        failures: found.failures,
        best,
        names: objective.names(),
        units: objective.units(),
        files,
    };
    output.write(&result, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    if interrupted {
        let (done, line) = (summary.episodes, interrupt::command_line());
        return Err(CliError::Partial(format!(
            "interrupted after {done} of {budget} simulations; go on with: {line}"
        )));
    }
    Ok(true)
}

/// What the best point moves: its controls, and a page that plays it where there is something to show.
fn save_motion(folder: &Path, task: &str, motion: Motion, output: &Output) -> Result<Vec<PathBuf>, CliError> {
    let Motion { layout, dt, inputs, rows, replay } = motion;
    let mut files = controls::write(folder, &layout, &inputs, (dt, rows.len().saturating_sub(1)), output)?;
    if let Some(mut replay) = replay {
        let page = folder.join("replay.html");
        replay.title = task.into();
        replay.save(&page).map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?;
        files.push(page);
    }
    Ok(files)
}

fn text(summary: &Summary) -> String {
    /// Variables shown; the rest is in the file.
    const SHOWN: usize = 12;
    let mut text = format!(
        "{} by {}: loss {} after {} simulations{}\n",
        summary.task,
        summary.method,
        compact(summary.best.loss, 6),
        summary.episodes,
        if summary.resumed > 0 {
            format!(", {} of them from the log", summary.resumed)
        } else {
            String::new()
        }
    );
    let variables = summary.names.iter().zip(&summary.units).zip(&summary.best.x);
    for ((name, unit), x) in variables.take(SHOWN) {
        let unit = if unit == "1" { "" } else { unit };
        text += &format!("  {name:32} {:>12} {unit}\n", compact(*x, 6));
    }
    if summary.names.len() > SHOWN {
        text += &format!("  and {} more in {}\n", summary.names.len() - SHOWN, summary.files[0].display());
    }
    let files: Vec<String> = summary.files.iter().map(|f| f.display().to_string()).collect();
    text + &files.join("\n")
}

fn figure(task: &str, method: &str, losses: &[f64]) -> Figure {
    let numbered = |values: &[f64]| values.iter().enumerate().map(|(i, x)| (i as f64 + 1.0, *x)).collect();
    let lowest = lowest_so_far(losses);
    let panel = LinePanel {
        title: format!("{task} by {method}"),
        x_label: "simulation".into(),
        y_label: "loss".into(),
        log_y: lowest.iter().all(|x| *x > 0.0),
        series: vec![
            Series::new("each", 7, numbered(losses)).dots(),
            Series::new("lowest so far", 0, numbered(&lowest)),
        ],
        ..LinePanel::default()
    };
    Figure::single(panel.into())
}
