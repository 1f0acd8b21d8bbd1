//! `pullback reproduce`: a paper's result beside ours.

mod articulated_adjoint;
mod articulated_learning;
mod bo_leap;
mod contender;
mod diffmjx;
mod diffmjx_mpc;
mod gradsim;
mod sapo;

use std::path::PathBuf;

use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{ARTICULATED_ADJOINT, BO_LEAP, DIFFMJX, GRADSIM, REWARPED};
use pullback_core::{ConfigError, csv};
use pullback_plot::{Figure, LinePanel, Panel, Series};
use pullback_tasks::Results;
use pullback_tasks::diffmjx::toy::{self as diffmjx_toy, Case, Toy};
use serde::Serialize;

use crate::args::ReproduceOptions;
use crate::output::{CliError, Output, results_text};
use crate::progress;

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    results: Results,
    files: Vec<PathBuf>,
}

impl Summary {
    /// Prints figures, goals and files; returns whether every goal was met.
    fn print(mut self, output: &Output) -> Result<bool, CliError> {
        self.results.note_missing();
        output.print(&self, || {
            let files: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
            results_text(&self.results) + "\n\n" + &files.join("\n")
        })?;
        Ok(self.results.all_met())
    }
}

/// How an experiment of a paper is run; whether every goal was met.
pub type Experiment = fn(&ReproduceOptions, &Output) -> Result<bool, CliError>;

/// Every experiment by name.
pub const EXPERIMENTS: Registry<Experiment> = Registry::new("experiment", &[TABLE]);

const TABLE: &[Entry<Experiment>] = &[
    Entry::cited(
        "diffmjx-toy",
        "gradients of a bouncing point under six contact models",
        DIFFMJX.at("Fig. 4"),
        |options, output| diffmjx_toy(options.points, output),
    ),
    Entry::cited(
        "diffmjx",
        "tosses of five shapes, integrators, hovering, billiard, and the side of a cube from its tosses",
        DIFFMJX.at("Figs. 5, 7, 8, 9, S3, S5, S6"),
        diffmjx::run,
    ),
    Entry::cited(
        "diffmjx-mpc",
        "two balls swapped in a hand of muscles, and a ball hit and caught: gradients, samples and both",
        DIFFMJX.at("Figs. 1, 10"),
        diffmjx_mpc::run,
    ),
    Entry::cited(
        "bo-leap",
        "lowest loss of six methods on every task, mean and 95 % interval over seeds",
        BO_LEAP.at("Figs. 2 to 7"),
        bo_leap::run,
    ),
    Entry::cited(
        "articulated-adjoint",
        "memory and time of gradients of standing quadrupeds; a throw, a golf shot and a car beside CMA-ES",
        ARTICULATED_ADJOINT.at("Tables 1 to 3, Figs. 3 and 6 to 8"),
        articulated_adjoint::run,
    ),
    Entry::cited(
        "articulated-learning",
        "MBPO with gradients of the physics: pendula of 1 to 7 links, an ant, and the ant's policy in MuJoCo",
        ARTICULATED_ADJOINT.at("Tables 4 and 5, Figs. 4 and 5"),
        articulated_learning::run,
    ),
    Entry::cited(
        "gradsim",
        "physical parameters, control and shapes of smoke from pictures, with imperfect models, landscapes and rates",
        GRADSIM.at("Tables 1 to 4, Figs. 3 to 7, 11, 12"),
        gradsim::run,
    ),
    Entry::cited(
        "sapo",
        "returns of SAPO, SHAC and their rivals on DFlex's tasks, with ablations",
        REWARPED.at("Tables 13, 14"),
        sapo::run,
    ),
];

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let (bo_leap, mpc, learning, gradsim) = ("bo-leap", "diffmjx-mpc", "articulated-learning", "gradsim");
    for (option, given, of) in [
        ("--data", options.data.is_some(), &["diffmjx"][..]),
        ("--models", options.models.is_some(), &[mpc]),
        ("--seeds", options.seeds.is_some(), &[bo_leap, mpc, "sapo", learning, gradsim]),
        ("--budget", options.budget.is_some(), &[bo_leap, learning]),
        ("--tasks", !options.tasks.is_empty(), &[bo_leap, gradsim]),
    ] {
        if given && !of.contains(&options.what.name) {
            let why = format!("{}: {option} belongs to {}", options.what.name, of.join(" and "));
            return Err(ConfigError::new(why).into());
        }
    }
    crate::interrupt::listen()?;
    (options.what.value)(options, output)
}

fn diffmjx_toy(points: usize, output: &Output) -> Result<bool, CliError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let bar = progress::bar(9, "diffmjx-toy");
    let toy = diffmjx_toy::run(points, threads, |_| bar.inc(1))?;
    bar.finish_and_clear();

    let folder = output.folder("reproduce-diffmjx-toy")?;
    let (picture, data) = (folder.join("diffmjx-toy.png"), folder.join("diffmjx-toy.csv"));
    toy_figure(&toy).save_png(&picture)?;
    output.write(&data, toy_csv(&toy).as_bytes())?;

    Summary { results: toy.results(), files: vec![picture, data] }.print(output)
}

/// Loss over gradient, one column per case of the paper: penalty contact above, elastic contact below.
pub fn toy_figure(toy: &Toy) -> Figure {
    let against_height =
        |values: &[f64]| toy.heights.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>();
    let axes = |title: String, y_label: &str, y_range, series| {
        Panel::from(LinePanel {
            title,
            x_label: "initial height q_{0} (m)".into(),
            y_label: y_label.into(),
            series,
            x_range: Some((0.0, 3.0)),
            y_range: Some(y_range),
            ..LinePanel::default()
        })
    };
    let loss = |case: &Case| {
        let series = vec![Series::new("", 7, against_height(&case.loss))];
        axes(case.name.into(), "loss |q_{N} − 1| (m)", (0.0, 1.3), series)
    };
    let gradient = |case: &Case| {
        // One legend serves all panels.
        let first = case.name == toy.cases[1].name;
        let label = |text: &'static str| if first { text } else { "" };
        let series = vec![
            Series::new(label("adjoint"), 0, against_height(&case.gradient)).dots(),
            Series::new(label("true"), 1, against_height(&case.truth)),
        ];
        axes(format!("{:.1} % right", 100.0 * case.fraction_right()), "dL/dq_{0}", (-1.6, 1.6), series)
    };
    let paper: Vec<&Case> = toy.cases.iter().filter(|c| c.paper_says_right.is_some()).collect();
    let mut panels = Vec::new();
    for row in paper.chunks(3) {
        panels.extend(row.iter().map(|case| loss(case)));
        panels.extend(row.iter().map(|case| gradient(case)));
    }
    Figure::grid("A point falls on a surface: loss and gradient against its height", 3, panels)
        .sized(11.5, 12.5)
}

fn toy_csv(toy: &Toy) -> String {
    let mut table = String::from("height");
    for case in &toy.cases {
        let name = case.name.replace(' ', "_");
        let columns = ["loss", "gradient", "true_gradient"].map(|what| format!("{name}.{what}"));
        table += &format!(",{}", csv::line(columns));
    }
    table.push('\n');
    for (i, height) in toy.heights.iter().enumerate() {
        table += &height.to_string();
        for case in &toy.cases {
            table += &format!(",{},{},{}", case.loss[i], case.gradient[i], case.truth[i]);
        }
        table.push('\n');
    }
    table
}
