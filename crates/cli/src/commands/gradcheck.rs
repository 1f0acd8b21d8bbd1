//! `pullback gradcheck`: the validator on built-in scenes.

use pullback_core::gradcheck::Report;
use pullback_tasks::scenes::{self, SceneOptions};
use serde::Serialize;

use crate::args::GradcheckOptions;
use crate::output::{CliError, Output};

#[derive(Serialize)]
struct Checked {
    scene: String,
    what: String,
    passed: bool,
    worst_forward_error: f64,
    worst_difference_error: f64,
    /// Entries that disagree.
    wrong: Vec<String>,
    report: Report,
}

#[derive(Serialize)]
struct Summary {
    tolerance: f64,
    seed: u64,
    passed: bool,
    checks: Vec<Checked>,
}

pub fn run(options: &GradcheckOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let names: Vec<&str> =
        if options.scene == "all" { scenes::names() } else { vec![options.scene.as_str()] };
    let mut checks = Vec::new();
    for name in names {
        let scene = scenes::build(name, SceneOptions::default())?;
        for (what, report) in scene.gradcheck(seed, options.tolerance)? {
            checks.push(Checked {
                scene: scene.name().into(),
                what,
                passed: report.passed(),
                worst_forward_error: report.worst_forward(),
                worst_difference_error: report.worst_difference(),
                wrong: report.failures().map(|e| e.name.clone()).collect(),
                report,
            });
        }
    }
    let passed = checks.iter().all(|c| c.passed);
    let summary = Summary { tolerance: options.tolerance, seed, passed, checks };
    output.print(&summary, || {
        let mut text = String::new();
        for check in &summary.checks {
            text += &format!("{}: {}\n{}\n\n", check.scene, check.what, check.report);
        }
        let (n, verdict) = (summary.checks.len(), if passed { "all passed" } else { "SOME FAILED" });
        text + &format!("{n} checks at {:e} against forward mode: {verdict}", options.tolerance)
    })?;
    Ok(passed)
}
