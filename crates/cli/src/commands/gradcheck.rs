//! `pullback gradcheck`: the validator on built-in scenes.

use pullback_core::ConfigError;
use pullback_core::directions::{Direction, gradcheck_along};
use pullback_core::gradcheck::{Options, Report, gradcheck};
use pullback_core::random::Random;
use pullback_optim::Objective;
use pullback_tasks::Checking;
use pullback_tasks::files::FileOptions;
use pullback_tasks::scenes::{self, SCENES, SceneOptions};
use rayon::prelude::*;
use serde::Serialize;

use crate::args::GradcheckOptions;
use crate::commands::objective;
use crate::output::{CliError, Output, print_notes};
use crate::progress;
use crate::style::{self, Color};

/// One check of a scene.
#[derive(Serialize)]
pub struct Checked {
    pub scene: String,
    pub what: String,
    pub passed: bool,
    pub worst_forward_error: f64,
    pub worst_difference_error: f64,
    /// Entries that disagree.
    wrong: Vec<String>,
    pub report: Report,
}

impl Checked {
    fn new(scene: String, what: String, report: Report) -> Self {
        Checked {
            scene,
            what,
            passed: report.passed(),
            worst_forward_error: report.worst_forward(),
            worst_difference_error: report.worst_difference(),
            wrong: report.failures().map(|e| e.name.clone()).collect(),
            report,
        }
    }
}

#[derive(Serialize)]
struct Summary {
    tolerance: f64,
    seed: u64,
    passed: bool,
    checks: Vec<Checked>,
}

/// The gradients of these scenes, one after the other on every core; results in the order of the names.
pub fn check(names: &[&str], built: SceneOptions, checking: Checking) -> Result<Vec<Checked>, CliError> {
    let bar = progress::bar(names.len(), "gradients");
    let of_scene = |name: &&str| -> Result<Vec<Checked>, CliError> {
        let scene = scenes::build(name, built.clone())?;
        print_notes(scene.notes());
        let checked = |(what, report): (String, Report)| Checked::new(scene.name().into(), what, report);
        let checks = scene.gradcheck(checking)?.into_iter().map(checked).collect();
        bar.inc(1);
        Ok(checks)
    };
    let checks: Result<Vec<Vec<Checked>>, CliError> =
        names.par_iter().with_max_len(1).map(of_scene).collect();
    bar.finish_and_clear();
    Ok(checks?.into_iter().flatten().collect())
}

/// Scene, how many checks and entries, and the largest errors.
fn a_line_per_scene(checks: &[Checked]) -> String {
    let mut text = format!("{:28} checks  entries  error, forward mode  error, differences\n", "scene");
    for of_scene in checks.chunk_by(|a, b| a.scene == b.scene) {
        let entries: usize = of_scene.iter().map(|check| check.report.entries.len()).sum();
        let worst = |error: fn(&Checked) -> f64| of_scene.iter().map(error).fold(0.0, f64::max);
        text += &format!(
            "{:28} {:>6}  {entries:>7}  {:>19.1e}  {:>18.1e}  {}\n",
            of_scene[0].scene,
            of_scene.len(),
            worst(|check| check.worst_forward_error),
            worst(|check| check.worst_difference_error),
            if of_scene.iter().all(|check| check.passed) {
                String::new()
            } else {
                style::out(Color::Red, "FAILED")
            }
        );
    }
    text + "\n"
}

/// The gradient of a loss of a scene or model file, at its start moved off all symmetries.
fn check_loss(options: &GradcheckOptions, seed: u64) -> Result<Vec<Checked>, CliError> {
    let scene = &options.scene;
    let other = [options.contact.is_some(), options.steps.is_some()];
    if other.contains(&true) || options.collision_softness != 0.0 || options.from_distance != 0.0 {
        let why = "--contact, --steps, --collision-softness and --from-distance go without --loss: its file has them";
        return Err(ConfigError::new(format!("{scene}: {why}")).into());
    }
    let goal = objective::goal(scene, &options.goal, &options.reading)?;
    let mut random = Random::new(seed);
    let moved = |(x, (low, high)): (f64, (f64, f64))| {
        let width = if (high - low).is_finite() { 0.1 * (high - low) } else { 0.1 * x.abs().max(1.0) };
        (x + width * random.uniform(-0.5, 0.5)).clamp(low, high)
    };
    let x: Vec<f64> = goal.start().into_iter().zip(goal.bounds()).map(moved).collect();
    let settings = Options {
        forward_tolerance: options.tolerance,
        difference_tolerance: 1e-4,
        seed,
        ..Options::default()
    };
    let report = match x.len() <= EVERY_VARIABLE {
        true => gradcheck(goal.objective(), &x, &settings),
        false => {
            let all = Direction { name: "all variables".into(), entries: vec![1.0; x.len()] };
            let mut directions = vec![all];
            directions.extend((0..ALONG).map(|k| Direction {
                name: format!("random direction {k}"),
                entries: x.iter().map(|_| random.normal()).collect(),
            }));
            gradcheck_along(goal.objective(), &x, &directions, &settings)
        }
    };
    let loss = options.goal.loss.as_ref().map_or(String::new(), |file| file.display().to_string());
    Ok(vec![Checked::new(scene.clone(), format!("the loss of {loss}"), report)])
}

/// Losses of so many variables are checked in each of them, others along random directions.
const EVERY_VARIABLE: usize = 200;
const ALONG: usize = 8;

pub fn run(options: &GradcheckOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let names: Vec<&str> =
        if options.scene == "all" { SCENES.names().collect() } else { vec![options.scene.as_str()] };
    let contact = options.contact.map(|entry| entry.value);
    let file = FileOptions { contact, ..options.reading.file_options() };
    let (collision_softness, from_distance) = (options.collision_softness, options.from_distance);
    let built = SceneOptions { file, collision_softness, from_distance, ..SceneOptions::default() };
    let thorough = Checking { seed, tolerance: options.tolerance, steps: options.steps };
    let checks = match &options.goal.loss {
        Some(_) => check_loss(options, seed)?,
        None => check(&names, built, thorough)?,
    };
    let passed = checks.iter().all(|c| c.passed);
    let summary = Summary { tolerance: options.tolerance, seed, passed, checks };
    output.print(&summary, || {
        let brief = options.scene == "all" && !options.verbose;
        let mut text = if brief { a_line_per_scene(&summary.checks) } else { String::new() };
        for check in summary.checks.iter().filter(|check| !brief || !check.passed) {
            text += &format!("{}: {}\n{}\n\n", check.scene, check.what, check.report);
        }
        let verdict = match passed {
            true => style::out(Color::Green, "all passed"),
            false => style::out(Color::Red, "SOME FAILED"),
        };
        let n = summary.checks.len();
        text + &format!("{n} checks at {:e} against forward mode: {verdict}", options.tolerance)
    })?;
    Ok(passed)
}
