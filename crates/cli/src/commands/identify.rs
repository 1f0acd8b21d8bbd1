//! `pullback identify`: parameters of a scene from recordings of its motion, as text, JSON and a page; the same command goes
//! on after an interruption and ends as if there had been none.

mod page;
mod video;

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_core::files::noting_inputs;
use pullback_optim::RunName;
use pullback_optim::least_squares::{Estimate, FitMethod, Fitted, StartResult, Untold};
use pullback_plot::compact;
use pullback_tasks::Scene;
use pullback_tasks::files::{FileOptions, find_keyframe, is_file_name};
use pullback_tasks::identify::{
    Asked, ChannelReport, IDENTIFICATIONS, Identified, Made, Question, RunSettings, Setup, Table, Truth,
    identify,
};
use pullback_tasks::scenes::{self, SceneOptions};
use serde::Serialize;
use serde_json::Value;

use crate::args::{IdentifyOptions, Seen};
use crate::output::{CliError, Output, print_notes};
use crate::progress;

/// Noise that tasks with a made-up truth add, as a part of the spread.
const NOISE: f64 = 0.01;
/// A quantity may be so many standard errors off its made-up truth.
const OFF: f64 = 5.0;
/// Residuals that follow each other with a higher correlation than this are no independent noise.
const CORRELATED: f64 = 0.5;

/// The result in JSON.
#[derive(Serialize)]
struct Summary {
    what: String,
    recordings: Vec<String>,
    method: String,
    seed: u64,
    quantities: Vec<Quantity>,
    correlations: Vec<Vec<Option<f64>>>,
    untold: Vec<Untold>,
    remarks: Vec<String>,
    channels: Vec<ChannelReport>,
    residuals: usize,
    mean_square: f64,
    starts: Vec<StartResult>,
    best_start: usize,
    resumed: usize,
    /// Quantities with a made-up truth that are too far from it.
    off: Vec<String>,
    files: Vec<PathBuf>,
}

/// A quantity, with its made-up truth if it has one.
#[derive(Serialize)]
struct Quantity {
    #[serde(flatten)]
    estimate: Estimate,
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<f64>,
}

/// What is to be done.
struct Job {
    scene: Box<dyn Scene>,
    tables: Vec<Table>,
    question: Question,
    truth: Option<Truth>,
}

pub fn run(options: &IdentifyOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    crate::interrupt::listen()?;
    if options.from == Seen::Video {
        return video::run(options, seed, output);
    }
    if options.exact_pixels {
        return Err(ConfigError::new("--exact-pixels is for --from video").into());
    }
    let (job, inputs) =
        noting_inputs(|| if options.data.is_empty() { made_up(options, seed) } else { recorded(options) });
    let job = job?;
    let method = method(options)?;
    let setup = Setup::new(job.scene.as_ref(), &options.what, &job.tables, &job.question)?;
    let name = Path::new(&options.what)
        .file_stem()
        .map_or(options.what.clone(), |s| s.to_string_lossy().into_owned());
    let (folder, _lock) = output.run_folder(&format!("identify-{name}-{}-{seed}", options.method.name))?;
    let asked = serde_json::to_string(&job.question.asked)?;
    let settings = format!(
        "step {}, {asked}, free {:?}, noise {:?}, {} starts, budget {}",
        setup.dt, job.question.free, job.question.noise, options.starts, options.budget
    );
    let settings = RunSettings {
        method: &method,
        starts: options.starts,
        seed,
        budget: options.budget,
        log: Some((folder.clone(), RunName::new(&options.what, settings, seed).with_inputs(inputs))),
    };
    let bar = progress::bar(options.starts, &name);
    let watch = |round: usize, start: usize, steps: usize, cost: f64| {
        let what = if round == 0 { format!("start {}", start + 1) } else { format!("noise, round {round}") };
        bar.set_position(if round == 0 { start as u64 } else { options.starts as u64 });
        bar.set_message(format!("{name}: {what}, step {steps}, {}", compact(cost, 4)));
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
    let pool =
        pool.map_err(|e| ConfigError::new(format!("cannot start {} threads: {e}", options.threads)))?;
    let found = pool.install(|| identify(job.scene.as_ref(), &setup, &settings, &watch))?;
    bar.finish_and_clear();

    let (page, data) = (folder.join("index.html"), folder.join("result.json"));
    let mut summary =
        summary(options, seed, &setup, found.fitted.at.shared.len(), &found, job.truth.as_ref());
    summary.method = method.settings();
    let pictures = page::save(&summary, &setup, &found, &folder, &page)?;
    summary.files = [vec![page, data.clone()], pictures].concat();
    output.write(&data, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(summary.off.is_empty())
}

/// The method with its settings.
fn method(options: &IdentifyOptions) -> Result<FitMethod, CliError> {
    let settings: Value = match &options.settings {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|e| {
            ConfigError::new(format!("--settings is no JSON object such as {{\"steps\": 20}}: {e}"))
        })?,
    };
    Ok((options.method.value)(&settings)?)
}

/// A task with a made-up truth.
fn made_up(options: &IdentifyOptions, seed: u64) -> Result<Job, CliError> {
    let what = &options.what;
    if is_file_name(what) || (IDENTIFICATIONS.find(what).is_err() && scenes::SCENES.find(what).is_ok()) {
        let why = "give recordings of its motion as --data FILE.csv, and what to find as --fit PATTERNS";
        return Err(ConfigError::new(format!("{what}: {why}")).into());
    }
    let entry = IDENTIFICATIONS.find(what).map_err(ConfigError::from)?;
    let own =
        [options.fit.is_empty(), options.free.is_empty(), options.keyframe.is_none(), options.dt.is_none()];
    if own.contains(&false) || options.contact.is_some() || options.reading.given() {
        let why = "--fit, --free, --keyframe, --dt and how a file is read need --data; a task has its own";
        return Err(ConfigError::new(format!("{what}: {why}")).into());
    }
    let noise = match &options.noise[..] {
        [] => NOISE,
        [text] => text.trim().parse().map_err(|_| {
            ConfigError::new(format!(
                "--noise {text}: a task takes one number, the part of the spread that is noise"
            ))
        })?,
        _ => return Err(ConfigError::new("--noise: a task takes one number").into()),
    };
    let Made { scene, tables, mut question, truth } = entry.value.make(entry.name, noise, seed)?;
    let Asked { start, bounds, transform, .. } = &mut question.asked;
    start.extend(options.start.iter().cloned());
    bounds.extend(options.bounds.iter().cloned());
    transform.extend(options.transform.iter().cloned());
    Ok(Job { scene, tables, question, truth: Some(truth) })
}

/// Recordings of a scene or of the robot of a file.
fn recorded(options: &IdentifyOptions) -> Result<Job, CliError> {
    let built = SceneOptions {
        dt: options.dt,
        file: FileOptions {
            contact: options.contact.map(|entry| entry.value),
            ..options.reading.file_options()
        },
        ..SceneOptions::default()
    };
    let scene = scenes::build(&options.what, built)?;
    print_notes(scene.notes());
    let tables = options.data.iter().map(|path| Table::read(path)).collect::<Result<Vec<_>, _>>()?;
    let from = match &options.keyframe {
        Some(wanted) => {
            let key = find_keyframe(scene.keyframes(), wanted)?;
            Some((key.state(), key.controls()))
        }
        None => None,
    };
    let asked = Asked {
        fit: options.fit.clone(),
        start: options.start.clone(),
        bounds: options.bounds.clone(),
        transform: options.transform.clone(),
    };
    let noise = options.noise.iter().map(|text| {
        let (name, sigma) = text.split_once('=').unwrap_or(("*", text));
        let sigma = sigma.trim().parse().map_err(|_| {
            ConfigError::new(format!("--noise {text}: `{}` is not a number; write NAME=SIGMA", sigma.trim()))
        })?;
        Ok((name.trim().to_owned(), sigma))
    });
    let noise = noise.collect::<Result<_, ConfigError>>()?;
    Ok(Job {
        scene,
        tables,
        question: Question { asked, free: options.free.clone(), noise, from },
        truth: None,
    })
}

fn summary(
    options: &IdentifyOptions,
    seed: u64,
    setup: &Setup,
    unknowns: usize,
    found: &Identified,
    truth: Option<&Truth>,
) -> Summary {
    let laplace = &found.fitted.laplace;
    let (quantities, off) = quantities(&found.fitted, truth.map(|t| &t.values[..]));
    Summary {
        what: options.what.clone(),
        recordings: setup.recordings.clone(),
        method: String::new(),
        seed,
        quantities,
        correlations: laplace.correlations.clone(),
        untold: laplace.untold.clone(),
        remarks: remarks(&found.fitted, &found.channels, unknowns),
        channels: found.channels.clone(),
        residuals: laplace.residuals,
        mean_square: laplace.variance,
        starts: found.fitted.starts.clone(),
        best_start: found.fitted.best,
        resumed: found.fitted.resumed,
        off,
        files: Vec::new(),
    }
}

/// What was found beside its truth, and what is too far from it.
fn quantities(fitted: &Fitted, truth: Option<&[(String, f64)]>) -> (Vec<Quantity>, Vec<String>) {
    let truth_of = |name: &str| truth.and_then(|t| t.iter().find(|v| v.0 == name)).map(|v| v.1);
    let quantity = |e: &Estimate| Quantity { estimate: e.clone(), truth: truth_of(&e.name) };
    let quantities: Vec<Quantity> = fitted.laplace.estimates.iter().map(quantity).collect();
    let is_off = |q: &&Quantity| {
        let (Some(truth), Some(errors)) = (q.truth, q.estimate.error) else { return false };
        // Without noise errors are round-off, and so is the distance.
        (q.estimate.value - truth).abs() > OFF * errors.error + 1e-6 * truth.abs()
    };
    let off = quantities.iter().filter(is_off).map(|q| q.estimate.name.clone()).collect();
    (quantities, off)
}

/// What a reader should know before trusting the errors.
fn remarks(fitted: &Fitted, channels: &[ChannelReport], unknowns: usize) -> Vec<String> {
    let (mut all, laplace) = (Vec::new(), &fitted.laplace);
    for estimate in laplace.estimates.iter().filter(|e| e.at_bound) {
        all.push(format!(
            "`{}` ended on its bound {}: the data ask for a value beyond it (--bounds)",
            estimate.name,
            compact(estimate.value, 4)
        ));
    }
    let correlated: Vec<&str> =
        channels.iter().filter(|c| c.autocorrelation > CORRELATED).map(|c| c.name.as_str()).collect();
    if !correlated.is_empty() {
        let names = some(&correlated);
        all.push(format!(
            "residuals of {names} follow each other: something in the motion is not in the model, and errors from the size \
             of residuals are too small{}",
            if laplace.estimates.iter().any(|e| e.by_groups.is_some()) { "; trust those by recordings" } else { "" }
        ));
    }
    for (i, row) in laplace.correlations.iter().enumerate().take(unknowns) {
        for (j, c) in row.iter().enumerate().take(i) {
            if c.is_some_and(|c| c.abs() > 0.99) {
                let (a, b) = (&laplace.estimates[j].name, &laplace.estimates[i].name);
                all.push(format!(
                    "the data hardly tell `{a}` from `{b}`: the correlation of their errors is {:.4}",
                    c.unwrap_or(0.0)
                ));
            }
        }
    }
    all.extend(fitted.failures.words(fitted.searched));
    let (starts, agreeing) = (fitted.starts.len(), fitted.agreeing());
    if starts > 1 {
        all.push(format!("{agreeing} of {starts} starts ended at the lowest misfit"));
    }
    all
}

/// A few names of many.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let first: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
    let rest = names.len().saturating_sub(SHOWN);
    first.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
}

/// A value with its error.
fn with_error(estimate: &Estimate) -> String {
    match estimate.error {
        Some(errors) => format!("{} ± {}", compact(estimate.value, 6), compact(errors.error, 2)),
        None if estimate.at_bound => format!("{} (at its bound)", compact(estimate.value, 4)),
        None => "cannot be told".into(),
    }
}

fn text(summary: &Summary) -> String {
    let unit = |unit: &str| if unit == "1" { String::new() } else { unit.to_owned() };
    let mut text = format!(
        "{}: {} quantities from {} measured values in {} recordings{}\n\n",
        summary.what,
        summary.quantities.len(),
        summary.residuals,
        summary.recordings.len(),
        if summary.resumed > 0 { format!(", {} steps read back", summary.resumed) } else { String::new() }
    );
    let width = summary.quantities.iter().map(|q| q.estimate.name.chars().count()).max().unwrap_or(0).max(9);
    let made_up = summary.quantities.iter().any(|q| q.truth.is_some());
    let groups = summary.quantities.iter().any(|q| q.estimate.by_groups.is_some());
    text += &format!("  {:width$}  {:>10}  {:>24}", "parameter", "start", "found");
    text += if made_up { "       truth" } else { "" };
    text += if groups { "  by recordings" } else { "" };
    text += "  unit\n";
    for Quantity { estimate, truth } in &summary.quantities {
        let found = with_error(estimate);
        text += &format!("  {:width$}  {:>10}  {found:>24}", estimate.name, compact(estimate.start, 4));
        if made_up {
            text += &format!("  {:>10}", truth.map_or(String::new(), |x| compact(x, 5)));
        }
        if groups {
            let error = estimate.by_groups.map_or(String::new(), |e| format!("± {}", compact(e.error, 2)));
            text += &format!("  {error:>13}");
        }
        text += &format!("  {}\n", unit(&estimate.unit));
    }
    for untold in &summary.untold {
        text += &format!("\ncannot be told: {}", untold.words);
    }
    for remark in &summary.remarks {
        text += &format!("\nnote: {remark}");
    }
    if !summary.off.is_empty() {
        text +=
            &format!("\nMISSED: more than {OFF} standard errors from the truth: {}", summary.off.join(", "));
    }
    text += if text.ends_with('\n') { "\n" } else { "\n\n" };
    let files: Vec<String> = summary.files.iter().map(|f| f.display().to_string()).collect();
    if summary.channels.is_empty() {
        return text + &files.join("\n");
    }
    let width = summary.channels.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).max(7);
    text += &format!(
        "  {:width$}  {:>8}  {:>12}  {:>12}  {:>12}  unit\n",
        "channel", "values", "spread", "misfit before", "misfit"
    );
    for c in summary.channels.iter().take(SHOWN) {
        let before = c.misfit.0.map_or("failed".into(), |x| compact(x, 3));
        let (spread, after) = (compact(c.spread, 3), compact(c.misfit.1, 3));
        text += &format!(
            "  {:width$}  {:>8}  {spread:>12}  {before:>13}  {after:>12}  {}\n",
            c.name,
            c.samples,
            unit(&c.unit)
        );
    }
    if summary.channels.len() > SHOWN {
        text += &format!("  and {} more in the result file\n", summary.channels.len() - SHOWN);
    }
    text + "\n" + &files.join("\n")
}

/// Channels that are printed.
const SHOWN: usize = 24;
