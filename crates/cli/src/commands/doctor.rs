//! `pullback doctor`: what to know about a task before choosing a method, as text, JSON and a page.

mod contact;
mod step;

use std::path::PathBuf;

use pullback_core::ConfigError;
use pullback_optim::doctor::Line;
use pullback_optim::{DoctorConfig, Examination, Verdict, examine};
use pullback_plot::{Figure, LinePanel, Report, Section, Series, Stat, Table, Tone, compact};
use serde::Serialize;

use crate::args::DoctorOptions;
use crate::commands::objective;
use crate::output::{CliError, Output};
use crate::progress;
use crate::run_folder::RunFolder;

#[derive(Serialize)]
struct Summary {
    task: String,
    config: DoctorConfig,
    #[serde(flatten)]
    found: Examination,
    files: Vec<PathBuf>,
}

pub fn run(options: &DoctorOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let task = &options.task;
    if options.goal.loss.is_none() && options.target.is_empty() && step::is_scene(task) {
        return step::run(options, output);
    }
    if options.goal.loss.is_none() && pullback_tasks::files::is_file_name(task) {
        return contact::run(options, seed, output);
    }
    let of_file = [options.time, options.distance].iter().any(Option::is_some);
    if of_file || !options.target.is_empty() || !options.vary.is_empty() {
        let why = "--target, --vary, --time and --distance belong to a model file without --loss; a task has its own";
        return Err(ConfigError::new(format!("{task}: {why}")).into());
    }
    let objective = objective::build(task, &options.goal, &options.reading)?;
    let usual = DoctorConfig::default();
    let lines = options.lines.unwrap_or(usual.lines);
    let config = DoctorConfig { points: options.points, lines, seed, ..usual };
    let bar = progress::bar(config.points + config.lines, task);
    let found = examine(objective.as_ref(), &config, || bar.inc(1))?;
    bar.finish_and_clear();

    let place = RunFolder::new("doctor", task)
        .file(options.goal.loss.as_deref())
        .setting("points", config.points, usual.points)
        .setting("lines", config.lines, usual.lines)
        .setting("seed", seed, 0)
        .setting("reading", options.reading.words(), String::new());
    let folder = output.folder(&place.name())?;
    let (page, data) = (folder.join("index.html"), folder.join("doctor.json"));
    report(task, &config, &found)?.save(&page)?;
    let summary = Summary { task: task.clone(), config, found, files: vec![page, data] };
    output.write(&summary.files[1], serde_json::to_string(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

/// The verdict in a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Trustworthy => "trustworthy",
        Verdict::Rugged => "rugged",
        Verdict::Plateaued => "plateaued",
        Verdict::Misleading => "misleading",
    }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn text(summary: &Summary) -> String {
    let found = &summary.found;
    let mut text = format!("{}: {}\n{}\n\n", summary.task, word(found.verdict), found.advice);
    for (what, value) in figures(found) {
        text += &format!("{what:58} {value:>10}\n");
    }
    text += "\nstep along the gradient   agrees with it   goes down   median difference / gradient\n";
    for s in &found.scales {
        let (agreeing, downhill) = (percent(s.agreeing), percent(s.downhill));
        let ratio = compact(s.median_ratio, 3);
        text += &format!("{:>23.0e} {agreeing:>16} {downhill:>11} {ratio:>30}\n", s.scale);
    }
    let files: Vec<String> = summary.files.iter().map(|f| f.display().to_string()).collect();
    text + "\n" + &files.join("\n")
}

/// Name and value of every figure that is not about one scale.
fn figures(found: &Examination) -> Vec<(&'static str, String)> {
    vec![
        ("variables", found.dim.to_string()),
        ("simulations", found.episodes.to_string()),
        ("points where the simulation failed", found.failures.to_string()),
        ("points without any gradient", percent(found.zero_gradients)),
        ("entries of gradients that are zero", percent(found.zero_entries)),
        ("lowest loss seen", compact(found.range.0, 4)),
        ("highest loss seen", compact(found.range.1, 4)),
        ("valleys on a line across the box (median)", compact(found.valleys, 3)),
        ("total variation of a line over its range (median)", compact(found.variation, 3)),
        ("neighbors on lines at the same height", percent(found.flat)),
        ("jumps of more than a quarter of the range", percent(found.jumps)),
    ]
}

fn report(task: &str, config: &DoctorConfig, found: &Examination) -> Result<Report, CliError> {
    let tone = if found.verdict == Verdict::Trustworthy { Tone::Good } else { Tone::Bad };
    let glance = Section::new("In a word")
        .stats(vec![
            Stat {
                tone,
                ..Stat::new("gradients are", word(found.verdict), format!("{} variables", found.dim))
            },
            Stat::new("without a gradient", percent(found.zero_gradients), "of the points"),
            Stat::new("valleys", compact(found.valleys, 3), "on a line across the box"),
        ])
        .paragraph(found.advice.clone());
    let curve = |label: &str, color: usize, of: fn(&pullback_optim::doctor::AtScale) -> f64| {
        let points = found.scales.iter().map(|s| (s.scale, 100.0 * of(s))).collect();
        Series::new(label, color, points)
    };
    let scales = LinePanel {
        title: "steps along the gradient".into(),
        x_label: "length of the step, box from −1 to 1".into(),
        y_label: "share of the points (%)".into(),
        series: vec![
            curve("difference agrees within a tenth", 0, |s| s.agreeing),
            curve("the loss goes down", 1, |s| s.downhill),
        ],
        y_range: Some((0.0, 105.0)),
        log_x: true,
        ..LinePanel::default()
    };
    let line = |(i, line): (usize, &Line)| {
        Series::new("", i, line.places.iter().copied().zip(line.losses.iter().copied()).collect())
    };
    let lines = LinePanel {
        title: "the loss along straight lines across the box".into(),
        x_label: "place on the line".into(),
        y_label: "loss".into(),
        series: found.lines.iter().enumerate().map(line).collect(),
        ..LinePanel::default()
    };
    let rows = figures(found).into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect();
    let figure = Figure::grid("", 2, vec![scales.into(), lines.into()]).sized(12.0, 4.6);
    let evidence = Section::new("What was seen").figure(
        &figure,
        "Left: how far along its gradient a point finds what the gradient promised. Right: the landscape.",
        "Two charts: agreement of gradients with differences over step length, and losses along lines.",
    )?;
    let evidence =
        evidence.table(Table { caption: String::new(), header: vec!["figure".into(), "value".into()], rows });
    let mut page = Report::new(format!("Examination of {task}"), "Can its gradients be trusted?");
    page.sections = vec![glance, evidence];
    page.footer = format!(
        "pullback doctor {task} --points {} --lines {} --seed {}",
        config.points, config.lines, config.seed
    );
    Ok(page)
}
