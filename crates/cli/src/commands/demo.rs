//! `pullback demo`: a short tour that ends in one HTML page with pictures.

mod motion;
mod search;

use std::time::Instant;

use pullback_core::registry::{Entry, Registry};
use pullback_core::rollout::Inputs;
use pullback_core::sources::{BO_LEAP, DIFFMJX, GRADSIM};
use pullback_optim::{BfgsConfig, Landscape, LandscapeConfig, bfgs};
use pullback_plot::{Figure, LinePanel, Report, Section, Series, Stat, Table, Tone};
use pullback_tasks::diffmjx::toy;
use pullback_tasks::scenes::{self, SCENES, SceneOptions};
use pullback_tasks::{Checking, objectives};
use serde::Serialize;

use crate::args::DemoOptions;
use crate::bench::measure_checkpoints;
use crate::commands::{gradcheck, landscape, reproduce, trajectory};
use crate::output::{CliError, Output};
use crate::progress;

/// A part of the tour: made with a seed, it adds a section to the page.
pub type Part = fn(u64) -> Result<Chapter, CliError>;

/// The parts of the tour in the order of the page.
pub const PARTS: Registry<Part> = Registry::new("part of the demo", &[TABLE]);

const TABLE: &[Entry<Part>] = &[
    Entry::new("motion", "an ant, a cloth and water in motion", motion::part),
    Entry::cited(
        "contact",
        "which contact models give right gradients of a bouncing point",
        DIFFMJX.at("Fig. 4"),
        |_| contact(),
    ),
    Entry::cited(
        "identification",
        "length and damping of a pendulum from a recorded swing",
        GRADSIM.at("C.3"),
        |_| identification(),
    ),
    Entry::cited("chaos", "a double pendulum and the landscape it makes", GRADSIM.at("C.3"), |_| chaos()),
    Entry::cited(
        "search",
        "what the doctor says of two tasks, and global search on them",
        BO_LEAP.whole(),
        search::part,
    ),
    Entry::new("memory", "a gradient over 100,000 steps under four checkpoint schedules", |_| checkpoints()),
    Entry::new("gradients", "every scene through the validator", gradients),
];

/// What a part of the tour adds to the page.
pub struct Chapter {
    /// A figure at a glance.
    stat: Option<Stat>,
    section: Section,
    /// Whether each gradient check passed.
    checks: Vec<bool>,
}

impl Chapter {
    /// A section and its figure at a glance, without checks.
    fn new(stat: impl Into<Option<Stat>>, section: Section) -> Self {
        Chapter { stat: stat.into(), section, checks: Vec::new() }
    }
}

#[derive(Serialize)]
struct Summary {
    page: std::path::PathBuf,
    seconds: f64,
    checks_passed: usize,
    checks: usize,
}

pub fn run(options: &DemoOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let start = Instant::now();
    let folder = output.folder("demo")?;
    let parts: Vec<&Entry<Part>> =
        if options.parts.is_empty() { PARTS.entries().collect() } else { options.parts.clone() };
    let bar = progress::bar(parts.len(), "demo");
    let mut chapters = Vec::new();
    for part in parts {
        chapters.push((part.value)(seed)?);
        bar.inc(1);
    }

    let checks: Vec<bool> = chapters.iter().flat_map(|part| &part.checks).copied().collect();
    let passed = checks.iter().filter(|passed| **passed).count();
    let seconds = start.elapsed().as_secs_f64();
    let mut stats: Vec<Stat> = chapters.iter_mut().filter_map(|part| part.stat.take()).collect();
    stats.push(Stat::new("this tour", format!("{seconds:.1} s"), "no compilation, no warm-up"));
    let mut report =
        Report::new("Pullback", "A differentiable multiphysics engine: every function has its pullback.");
    report.sections = vec![Section::new("At a glance").stats(stats)];
    report.sections.extend(chapters.into_iter().map(|part| part.section));
    let page = folder.join("index.html");
    report.save(&page)?;
    bar.finish_and_clear();

    let summary = Summary { page, seconds, checks_passed: passed, checks: checks.len() };
    output.print(&summary, || {
        let checks = match summary.checks {
            0 => String::new(),
            all => format!("{passed} of {all} gradient checks passed\n"),
        };
        format!("{checks}open {} in a browser", summary.page.display())
    })?;
    Ok(passed == checks.len())
}

/// Every scene through the validator.
fn gradients(seed: u64) -> Result<Chapter, CliError> {
    let names: Vec<&str> = SCENES.names().collect();
    let checks =
        gradcheck::check(&names, SceneOptions::default(), Checking { seed, tolerance: 1e-8, steps: None })?;
    let row = |c: &gradcheck::Checked| {
        vec![
            c.scene.clone(),
            c.what.clone(),
            c.report.entries.len().to_string(),
            format!("{:.1e}", c.worst_forward_error),
            format!("{:.1e}", c.worst_difference_error),
            if c.passed { "passed".into() } else { "failed".into() },
        ]
    };
    let rows = checks.iter().map(row).collect();
    let header = ["scene", "where", "entries", "error, forward mode", "error, differences", ""];
    let section = Section::new("Every gradient is checked")
        .paragraph(
            "Each entry of each gradient is computed three ways: by the pullback, by dual numbers and by \
             extrapolated central differences. The largest relative errors:",
        )
        .table(Table {
            caption: "pullback gradcheck all".into(),
            header: header.map(String::from).to_vec(),
            rows,
        });
    let checks: Vec<bool> = checks.iter().map(|check| check.passed).collect();
    let passed = checks.iter().filter(|passed| **passed).count();
    let stat = Stat {
        tone: if passed == checks.len() { Tone::Good } else { Tone::Bad },
        ..Stat::new(
            "gradient checks",
            format!("{passed} / {}", checks.len()),
            "adjoint = forward mode = finite differences",
        )
    };
    Ok(Chapter { checks, ..Chapter::new(stat, section) })
}

/// A bouncing point under six contact models.
fn contact() -> Result<Chapter, CliError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let toy = toy::run(1000, threads, |_| {})?;
    let best = toy.cases[2].fraction_right();
    let stat = Stat::new(
        "right contact gradients",
        format!("{:.1} %", 100.0 * best),
        "penalty contact, adaptive steps",
    );
    let section = Section::new("Which contact gradients can be trusted?")
        .paragraph(
            "A point falls on a surface; the loss is the distance of its final height from 1 m. Large steps make a saw of \
             the loss, and the gradient is that of its teeth. A velocity that flips within a step has wrong gradients \
             even where steps are small and the loss looks smooth. Small or adaptive steps through stiff contact, and \
             splitting the step at the impact, give right ones: dots lie on the true curve.",
        )
        .figure(
            &reproduce::toy_figure(&toy),
            "Loss (top) and its gradient (bottom) against the initial height, for the six contact models of \
             DiffMJX, Fig. 4. Reproduce with: pullback reproduce diffmjx-toy",
            "Twelve panels: gradients of penalty and elastic contact at several time steps against the true gradient",
        )?;
    Ok(Chapter::new(stat, section))
}

/// A pendulum's length and damping from a recorded swing, by gradient descent.
fn identification() -> Result<Chapter, CliError> {
    let objective = objectives::build("pendulum-identify")?;
    let truth = objective.start();
    let descent = bfgs(objective.as_ref(), &[1.6, 0.6], &BfgsConfig::default())?;
    let (path, evaluations, end) = (&descent.path, descent.gradients, &descent.best().x);
    let error = end.iter().zip(&truth).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    let config = LandscapeConfig { dims: (0, 1), points: (61, 61), difference_step: 1e-4 };
    let map = Landscape::evaluate(objective.as_ref(), &config, || {})?;
    let mut picture = landscape::panel("loss, and the way down", &map, &map.adjoint);
    picture.overlays = vec![Series::new("descent", 1, path.iter().map(|p| (p.x[0], p.x[1])).collect())];
    picture.markers = vec![(truth[0], truth[1], "truth".into()), (1.6, 0.6, "start".into())];
    let losses = LinePanel {
        title: "loss".into(),
        x_label: "step".into(),
        y_label: "mean squared error (rad^{2})".into(),
        series: vec![Series::new("", 0, path.iter().enumerate().map(|(i, p)| (i as f64, p.value)).collect())],
        log_y: true,
        ..LinePanel::default()
    };
    let figure = Figure::grid("", 2, vec![picture.into(), losses.into()]).sized(12.0, 5.0);
    let stat = Stat::new(
        "identified from a swing",
        format!("{error:.0e}"),
        "largest relative error, length and damping",
    );
    let section = Section::new("From a recording to physical parameters")
        .paragraph(format!(
            "A pendulum swings for 4 s; only its angle is recorded. {evaluations} gradients through 200 steps of RK4 find its \
             length ({:.6} m, truth {}) and damping ({:.6} N m s/rad, truth {}).",
            end[0], truth[0], end[1], truth[1]
        ))
        .figure(
            &figure,
            "Left: the loss over length and damping with the descent directions of the adjoint. Right: the loss along \
             the way.",
            "A heat map with a path that ends at the true parameters, and a falling curve",
        )?;
    Ok(Chapter::new(stat, section))
}

/// The double pendulum: a trajectory and the landscape it makes.
fn chaos() -> Result<Chapter, CliError> {
    let scene = scenes::build("double-pendulum", SceneOptions::default())?;
    let steps = 1000;
    let inputs = Inputs {
        state: scene.layout().state.defaults(),
        controls: vec![0.0; steps * scene.layout().control.len()],
        params: scene.layout().params.defaults(),
    };
    let mut rows = Vec::new();
    scene.simulate(&inputs, steps, &mut |at| rows.push((at.step as f64 * scene.dt(), at.state.to_vec())))?;
    let objective = objectives::build("double-pendulum-reach")?;
    let config = LandscapeConfig { dims: (0, 1), points: (81, 81), difference_step: 1e-4 };
    let map = Landscape::evaluate(objective.as_ref(), &config, || {})?;
    let agreeing =
        map.cosines().iter().filter(|c| **c > 0.9).count() as f64 / map.cosines().len().max(1) as f64;
    let section = Section::new("Chaos, seen through its gradients")
        .paragraph(format!(
            "A double pendulum is let go; where is its tip after 2 s? The loss over both initial angles is rugged, yet the \
             adjoint is exact: it agrees in direction with finite differences at {:.1} % of the points.",
            100.0 * agreeing
        ))
        .figure(
            &landscape::figure("double-pendulum-reach", &map),
            "Squared distance of the tip from a target after 2 s, over both initial angles, with descent directions.",
            "Two heat maps with arrows, the same picture by adjoint and by finite differences",
        )?
        .figure(
            &trajectory::figure(scene.as_ref(), &rows),
            "Ten seconds of a double pendulum, RK4 with steps of 10 ms.",
            "Angles and rates of both rods over time",
        )?;
    Ok(Chapter::new(None, section))
}

/// Memory of a long gradient.
fn checkpoints() -> Result<Chapter, CliError> {
    let steps = 100_000;
    let all = measure_checkpoints(steps, || {})?;
    let same = all.iter().all(|m| m.gradient == all[0].gradient);
    let rows = all.iter().map(|m| {
        vec![
            m.name.clone(),
            m.predicted_bytes.to_string(),
            m.measured_bytes.to_string(),
            format!("{:.3}", m.recompute_factor),
            format!("{:.3}", m.seconds),
        ]
    });
    let header =
        ["schedule", "predicted peak (bytes)", "measured peak (bytes)", "forward steps / steps", "seconds"];
    let smallest = all.iter().map(|m| m.measured_bytes).min().unwrap_or(0);
    let stat = Stat::new(
        "100,000-step gradient",
        format!("{:.2} MB", smallest as f64 / 1e6),
        "smallest schedule, controls' gradient included",
    );
    let section = Section::new("Long gradients in little memory")
        .paragraph(format!(
            "The gradient of {steps} steps with respect to initial state, every control and every parameter, under four checkpoint \
             schedules. Peak memory is known before the run; {}.",
            if same { "all four give the same bits" } else { "the schedules disagree" }
        ))
        .table(Table {
            caption: "pullback bench checkpoint".into(),
            header: header.map(String::from).to_vec(),
            rows: rows.collect(),
        });
    Ok(Chapter::new(stat, section))
}
