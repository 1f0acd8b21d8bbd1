//! `pullback reproduce gradsim`: physics from pixels, each experiment beside the paper's figures and on a page of its own.
//!
//! Results are written down one by one; a run that was killed goes on from them.

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_core::registry::Entry;
use pullback_gradsim::{EXPERIMENTS, Exhibit, Experiment, Setting};
use pullback_optim::RunName;
use pullback_plot::{Report, Section, Stat, Table, Tone, compact};
use pullback_tasks::Results;
use pullback_tasks::part_log::PartLog;

use super::Summary;
use crate::args::ReproduceOptions;
use crate::output::{CliError, Output};
use crate::progress;

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let chosen = chosen(options)?;
    if options.seeds == Some(0) {
        return Err(ConfigError::new("--seeds 0 would run nothing; give at least 1").into());
    }
    let (folder, _lock) = output.run_folder("reproduce-gradsim")?;
    let log_file = folder.join(if options.quick { "run-quick.jsonl" } else { "run.jsonl" });
    let name = RunName::new("gradsim", format!("quick {}", options.quick), 0);
    let log = PartLog::open(&log_file, &name).map_err(pullback_gradsim::ExperimentError::from)?;

    let bar = progress::bar(chosen.len(), "gradsim");
    let progress = |part: &str| bar.set_message(part.chars().take(32).collect::<String>());
    let seeds = options.seeds.map(|n| n as usize);
    let setting = Setting { quick: options.quick, seeds, log: &log, progress: &progress };
    let (mut results, mut files, mut sections) = (Results::new("gradsim"), Vec::new(), Vec::new());
    for entry in chosen {
        progress(entry.name);
        let exhibit = (entry.value)(&setting)?;
        files.extend(page(entry, &exhibit, &folder, output)?);
        sections.push(glance(entry, &exhibit.results));
        results.rows.extend(exhibit.results.rows);
        results.goals.extend(exhibit.results.goals);
        results.notes.extend(exhibit.results.notes);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if log.resumed() > 0 {
        let (parts, file) = (log.resumed(), log_file.display());
        results.notes.push(format!("{parts} results are from {file}; remove it to compute them anew."));
    }

    let mut report =
        Report::new("Physics from pixels", "gradSim (Jatavallabhula et al., ICLR 2021) on our own simulator");
    report.sections = sections;
    let (index, data) = (folder.join("index.html"), folder.join("results.json"));
    report.save(&index)?;
    output.write(&data, serde_json::to_string_pretty(&results)?.as_bytes())?;
    files.splice(0..0, [index, data, log_file]);
    Summary { results, files }.print(output)
}

/// The experiments asked for.
fn chosen(options: &ReproduceOptions) -> Result<Vec<&'static Entry<Experiment>>, ConfigError> {
    if options.tasks.is_empty() {
        return Ok(EXPERIMENTS.entries().collect());
    }
    options.tasks.iter().map(|name| Ok(EXPERIMENTS.find(name)?)).collect()
}

/// The page of an experiment and its pictures.
fn page(
    entry: &Entry<Experiment>,
    exhibit: &Exhibit,
    folder: &Path,
    output: &Output,
) -> Result<Vec<PathBuf>, CliError> {
    let mut report = Report::new(entry.name, entry.description());
    report.sections = exhibit.sections.clone();
    report.sections.push(Section::new("Figures").table(table(&exhibit.results)));
    report.footer = exhibit.results.notes.join(" ");
    let file = folder.join(format!("{}.html", entry.name));
    report.save(&file)?;
    let mut files = vec![file];
    for picture in &exhibit.pictures {
        let file = folder.join(format!("{}.png", picture.name));
        output.write(&file, &picture.png)?;
        files.push(file);
    }
    Ok(files)
}

/// What the front page says of an experiment.
fn glance(entry: &Entry<Experiment>, results: &Results) -> Section {
    let stats = results.goals.iter().map(|goal| Stat {
        tone: if goal.met { Tone::Good } else { Tone::Bad },
        ..Stat::new(
            goal.name.clone(),
            compact(goal.value, 3),
            format!("{} {}", goal.must_be, compact(goal.limit, 3)),
        )
    });
    let link = ("pictures and curves".to_owned(), format!("{}.html", entry.name));
    let section = Section::new(entry.summary).stats(stats.collect()).table(table(results));
    section.links(vec![link])
}

/// Every figure beside the paper's.
fn table(results: &Results) -> Table {
    let rows = results.rows.iter().map(|row| {
        let unit = if row.unit == "1" { String::new() } else { format!(" {}", row.unit) };
        let paper = row.peer.map_or_else(String::new, |x| compact(x, 4) + &unit);
        vec![row.case.clone(), row.metric.clone(), compact(row.value, 4) + &unit, paper]
    });
    let header = ["case", "figure", "ours", "paper"].map(String::from).to_vec();
    Table { caption: String::new(), header, rows: rows.collect() }
}
