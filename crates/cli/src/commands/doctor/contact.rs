//! `pullback doctor FILE`: which settings make gradients through the contacts of a model right.

use std::path::PathBuf;

use pullback_core::ConfigError;
use pullback_plot::{Report, Section, Stat, Table, Tone};
use pullback_tasks::contact_doctor::{self, Case, Judged, Verdict};
use pullback_tasks::files;
use serde::Serialize;

use super::percent;
use crate::args::DoctorOptions;
use crate::output::{CliError, Output, print_notes};
use crate::progress;
use crate::run_folder::RunFolder;

/// Change of velocities, m/s or rad/s, where none is given.
const CHANGE: f64 = 0.5;
/// Seconds simulated, and distance from which contacts act, m, where they are not given.
const TIME: f64 = 1.0;
const DISTANCE: f64 = 0.1;

#[derive(Serialize)]
struct Summary {
    model: String,
    time: f64,
    points: usize,
    #[serde(flatten)]
    verdict: Verdict,
    files: Vec<PathBuf>,
}

pub fn run(options: &DoctorOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let file = &options.task;
    if options.lines.is_some() {
        return Err(ConfigError::new(format!("{file}: --lines belongs to a task")).into());
    }
    let (time, distance) = (options.time.unwrap_or(TIME), options.distance.unwrap_or(DISTANCE));
    let model = files::read_model_with(file, options.reading.file_options())?;
    print_notes(&model.notes);
    let case = Case::new(model, time, &options.target, &options.vary, CHANGE)?;
    let settings = contact_doctor::settings(&case.model, distance);
    let bar = progress::bar(settings.len() * options.points, "contacts");
    let verdict = contact_doctor::judge(&case, &settings, options.points, seed, || bar.inc(1))?;
    bar.finish_and_clear();

    let place = RunFolder::new("doctor", file)
        .setting("target", &options.target, &Vec::new())
        .setting("vary", &options.vary, &Vec::new())
        .setting("time", time, TIME)
        .setting("distance", distance, DISTANCE)
        .setting("points", options.points, 48)
        .setting("seed", seed, 0)
        .setting("reading", options.reading.words(), String::new());
    let folder = output.folder(&place.name())?;
    let (page, data) = (folder.join("index.html"), folder.join("doctor.json"));
    report(file, &verdict).save(&page)?;
    let files = vec![page, data];
    let summary = Summary { model: file.clone(), time, points: options.points, verdict, files };
    output.write(&summary.files[1], serde_json::to_string(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

fn cells(judged: &Judged) -> [String; 6] {
    [
        judged.setting.name.clone(),
        percent(judged.agreeing),
        percent(judged.downhill),
        percent(judged.zero),
        percent(judged.failed),
        format!("{:.2e}", judged.seconds),
    ]
}

const HEADER: [&str; 6] = ["setting", "agrees", "goes down", "no gradient", "failed", "seconds"];

fn text(summary: &Summary) -> String {
    let Verdict { judged, recommended, advice } = &summary.verdict;
    let best = &judged[*recommended].setting.name;
    let mut text = format!("{}: {best}\n{advice}\n\n", summary.model);
    let [name, rest @ ..] = HEADER;
    text += &format!("  {name:56}");
    text += &(rest.map(|cell| format!("{cell:>12}")).concat() + "\n");
    for (i, judged) in judged.iter().enumerate() {
        let [name, rest @ ..] = cells(judged);
        let mark = if i == *recommended { '*' } else { ' ' };
        text += &format!("{mark} {name:56}{}\n", rest.map(|cell| format!("{cell:>12}")).concat());
    }
    let files: Vec<String> = summary.files.iter().map(|f| f.display().to_string()).collect();
    text + "\n" + &files.join("\n")
}

fn report(file: &str, verdict: &Verdict) -> Report {
    let best = &verdict.judged[verdict.recommended];
    let tone = if best.agreeing >= 0.95 { Tone::Good } else { Tone::Bad };
    // A card holds a few words: the rest of the name is its note.
    let (use_this, with) = best.setting.name.split_once(", ").unwrap_or((&best.setting.name, ""));
    let glance = Section::new("In a word")
        .stats(vec![
            Stat { tone, ..Stat::new("use", use_this, with) },
            Stat::new("agrees with differences", percent(best.agreeing), "of the starts"),
            Stat::new("goes down", percent(best.downhill), "of the starts"),
            Stat::new("a gradient takes", format!("{:.2e} s", best.seconds), "median"),
        ])
        .paragraph(verdict.advice.clone());
    let table = Table {
        caption: "Gradients of every setting against one motion of adaptive steps at tolerance 1e-11.".into(),
        header: HEADER.map(String::from).to_vec(),
        rows: verdict.judged.iter().map(|judged| cells(judged).to_vec()).collect(),
    };
    let mut page = Report::new(format!("Contacts of {file}"), "Which settings make gradients right?");
    page.sections = vec![glance, Section::new("What was seen").table(table)];
    page
}
