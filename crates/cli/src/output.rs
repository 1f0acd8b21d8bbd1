//! Where results go: one JSON object or readable text on standard output, files in a folder.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pullback_core::files::{FolderLock, LockError};
use pullback_core::{ConfigError, StepError};
use pullback_physics::articulated::Keyframe;
use pullback_plot::PlotError;
use pullback_tasks::Results;
use pullback_tasks::diffmjx::toy::ToyError;
use pullback_tasks::files::keyframe_names;
use serde::Serialize;
use thiserror::Error;

use crate::finite::{NotFinite, first_not_finite};
use crate::style::{self, Color};

/// Anything that ends the program with exit code 2.
#[derive(Debug, Error)]
pub enum CliError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Step(#[from] StepError),
    #[error(transparent)]
    Toy(#[from] ToyError),
    #[error(transparent)]
    Experiment(#[from] pullback_tasks::diffmjx::ExperimentError),
    #[error(transparent)]
    Gradsim(#[from] pullback_gradsim::ExperimentError),
    #[error(transparent)]
    Plot(#[from] PlotError),
    #[error(transparent)]
    Search(#[from] pullback_optim::search::SearchError),
    #[error(transparent)]
    Identify(#[from] pullback_tasks::identify::IdentifyError),
    #[error(transparent)]
    FromVideo(#[from] pullback_tasks::identify::FromVideoError),
    #[error(transparent)]
    Plan(#[from] pullback_control::PlanError),
    #[error(transparent)]
    Train(#[from] pullback_learn::algorithm::TrainError),
    #[error(transparent)]
    Compare(#[from] pullback_tasks::bo_leap::CompareError),
    #[error(transparent)]
    Run(#[from] pullback_learn::run::RunError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    View(#[from] pullback_view::ViewError),
    #[error("Ctrl-C cannot be caught: {0}")]
    Signals(std::io::Error),
    /// Ctrl-C ended the run, and what there is was written and printed; a line on how to go on.
    #[error("{0}")]
    Partial(String),
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot encode the result as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the result is no result: {0}; check inputs, step and settings")]
    NotFinite(NotFinite),
}

/// How and where to write.
pub struct Output {
    pub json: bool,
    /// Files alone: nothing on standard output but JSON that was asked for.
    pub quiet: bool,
    pub out: Option<PathBuf>,
}

impl Output {
    /// The folder for files of this run, created if need be.
    pub fn folder(&self, default: &str) -> Result<PathBuf, CliError> {
        let folder = self.out.clone().unwrap_or_else(|| Path::new("out").join(default));
        std::fs::create_dir_all(&folder)
            .map_err(|source| CliError::Write { path: folder.clone(), source })?;
        Ok(folder)
    }

    /// The same for a run that goes on from files in its folder: no other process may use the folder meanwhile.
    pub fn run_folder(&self, default: &str) -> Result<(PathBuf, FolderLock), CliError> {
        let folder = self.folder(default)?;
        let lock = FolderLock::acquire(&folder)?;
        Ok((folder, lock))
    }

    /// Writes a file whole or not at all.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), CliError> {
        pullback_core::files::write_atomically(path, bytes)
            .map_err(|source| CliError::Write { path: path.to_path_buf(), source })
    }

    /// Prints `value` as JSON, or `text` for people. Numbers that are not finite are an error afterwards, which JSON holds
    /// too; where a value may have none, its field is an `Option`.
    pub fn print(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), CliError> {
        let wrong = first_not_finite(value).map(CliError::NotFinite);
        if !self.quiet || self.json {
            let line = match &wrong {
                _ if !self.json => text(),
                None => serde_json::to_string_pretty(value)?,
                Some(error) => {
                    let mut object = serde_json::to_value(value)?;
                    if let Some(entries) = object.as_object_mut() {
                        entries.insert("error".into(), error.to_string().into());
                    }
                    serde_json::to_string_pretty(&object)?
                }
            };
            write_line(&line)?;
        }
        wrong.map_or(Ok(()), Err)
    }
}

/// Writes to standard output.
fn write_line(line: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(line.trim_end().as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush());
    match written {
        // A reader that went away (`| head`) is no error.
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::Write { path: "standard output".into(), source })
        }
        _ => Ok(()),
    }
}

/// Says on standard error that a model has keyframes of which none was asked for.
pub fn note_keyframes(keyframes: &[Keyframe]) {
    if !keyframes.is_empty() {
        let names = keyframe_names(keyframes);
        eprintln!("note: this is the pose of the bodies in the file; --keyframe takes {names}");
    }
}

/// Says on standard error what a model file says that is not used.
pub fn print_notes(notes: &[String]) {
    notes.iter().for_each(|note| eprintln!("note: {note}"));
}

/// Rows and goals as text.
pub fn results_text(results: &Results) -> String {
    let mut text = String::new();
    let case_width = results.rows.iter().map(|r| r.case.len()).max().unwrap_or(0);
    let metric_width = results.rows.iter().map(|r| r.metric.len()).max().unwrap_or(0);
    for row in &results.rows {
        let value = pullback_plot::compact(row.value, 4);
        let unit = if row.unit == "1" { "" } else { row.unit.as_str() };
        text += &format!("{:case_width$}  {:metric_width$}  {value:>10} {unit}\n", row.case, row.metric);
    }
    if !results.goals.is_empty() {
        text += "\ngoals\n";
    }
    for goal in &results.goals {
        let mark = match goal.met {
            true => style::out(Color::Green, "met   "),
            false => style::out(Color::Red, "MISSED"),
        };
        let (value, limit) = (pullback_plot::compact(goal.value, 4), pullback_plot::compact(goal.limit, 4));
        text += &format!("  {mark}  {}: {value} ({} {limit})\n", goal.name, goal.must_be);
    }
    for note in &results.notes {
        text += &format!("\n{note}");
    }
    text
}
