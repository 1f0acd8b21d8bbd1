//! `pullback optimize`: a search with a budget of simulations, logged as it goes; the same command goes on
//! after an interruption and ends as if there had been none.

use std::path::PathBuf;

use pullback_core::ConfigError;
use pullback_optim::Best;
use pullback_optim::search::{lowest_so_far, search};
use pullback_plot::{Figure, LinePanel, Series, compact};
use serde::Serialize;
use serde_json::Value;

use crate::args::OptimizeOptions;
use crate::commands::pictures;
use crate::output::{CliError, Output};
use crate::progress;

#[derive(Serialize)]
struct Summary {
    task: String,
    method: &'static str,
    settings: String,
    seed: u64,
    episodes: usize,
    /// Episodes read back from an earlier, interrupted run.
    resumed: usize,
    best: Best,
    names: Vec<String>,
    units: Vec<String>,
    files: Vec<PathBuf>,
}

pub fn run(options: &OptimizeOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let (task, method, budget) = (&options.task, options.method.name, options.budget);
    let objective = pullback_tasks::objectives::build(task)?;
    let settings = match &options.settings {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|e| {
            ConfigError::new(format!("--settings is no JSON object such as {{\"steps\": 20}}: {e}"))
        })?,
    };
    let search_by = (options.method.value)(method, &settings)?;
    let folder = output.folder(&format!("optimize-{task}-{method}-{seed}"))?;
    let log = folder.join("run.jsonl");
    let bar = progress::bar(budget, task);
    let watch = |episodes: usize, best: f64| {
        bar.set_position(episodes as u64);
        bar.set_message(format!("{task}: {}", compact(best, 5)));
    };
    let found = search(objective.as_ref(), (task, search_by.as_ref()), (budget, seed), &log, watch)?;
    bar.finish_and_clear();
    let Some(best) = found.best else {
        return Err(
            pullback_core::ConfigError::new("a budget of nothing finds nothing; give --budget").into()
        );
    };

    let (picture, result) = (folder.join("progress.png"), folder.join("result.json"));
    figure(task, method, &found.losses).save_png(&picture)?;
    let mut files = vec![result.clone(), log, picture];
    let pictures = objective.pictures(&best.x)?;
    if let Some(figure) = pictures::figure(&format!("{task} by {method}"), 4, pictures) {
        let file = folder.join("result.png");
        figure.save_png(&file)?;
        files.push(file);
    }
    let summary = Summary {
        task: task.clone(),
        method,
        settings: found.settings,
        seed,
        episodes: found.losses.len(),
        resumed: found.resumed,
        best,
        names: objective.names(),
        units: objective.units(),
        files,
    };
    output.write(&result, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(true)
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
