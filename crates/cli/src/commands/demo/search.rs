//! The demo's part on global search: what the doctor says of two tasks, and whether searches bear it out.

use std::sync::{Mutex, PoisonError};

use pullback_core::StepError;
use pullback_optim::search::lowest_so_far;
use pullback_optim::{
    DoctorConfig, Examination, Landscape, LandscapeConfig, Objective, Run, RunLog, build_method, examine,
    optimize,
};
use pullback_plot::{Figure, HeatmapPanel, LinePanel, Section, Series, Stat, Table, compact};
use pullback_tasks::objectives;
use rayon::prelude::*;
use serde_json::Value;

use super::Chapter;
use crate::commands::{doctor, landscape};
use crate::output::CliError;

/// A task whose gradients the doctor trusts, and one with plateaus.
const TASKS: [&str; 2] = ["cartpole", "pinball-2"];
/// Methods; the points of the first two are drawn.
const METHODS: [&str; 4] = ["bo-leap", "cma-es", "random", "lbfgs"];
/// Simulations of one search.
const BUDGET: usize = 150;
/// Searches of each method on each task.
const SEEDS: u64 = 5;

/// One search.
struct Searched {
    /// Lowest loss after each simulation.
    lowest: Vec<f64>,
    /// Every point asked for, in no order.
    points: Vec<Vec<f64>>,
    /// The lowest point.
    best: Option<Vec<f64>>,
}

/// Verdicts, searches, and a landscape with the points that two of them looked at.
pub fn part(seed: u64) -> Result<Chapter, CliError> {
    let (mut rows, mut advice, mut charts, mut ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut pictures = Vec::new();
    for task in TASKS {
        let objective = objectives::build(task)?;
        let found = examine(objective.as_ref(), &DoctorConfig { seed, ..DoctorConfig::default() }, || ())?;
        rows.push(verdict(task, &found));
        advice.push(format!("The doctor on {task}: {}", found.advice));
        let runs: Result<Vec<Vec<Searched>>, CliError> =
            METHODS.iter().map(|method| searches(objective.as_ref(), method, seed)).collect();
        let runs = runs?;
        let medians: Vec<Vec<f64>> = runs.iter().map(|of_method| median(of_method)).collect();
        charts.push(chart(task, found.dim, &medians).into());
        ends.push(medians.iter().map(|m| m.last().copied().unwrap_or(f64::NAN)).collect::<Vec<f64>>());
        if found.dim == 2 {
            let config = LandscapeConfig { dims: (0, 1), points: (61, 61), difference_step: 1e-4 };
            let map = Landscape::evaluate(objective.as_ref(), &config, || {})?;
            let first = METHODS.iter().zip(&runs).filter_map(|(method, runs)| Some((method, runs.first()?)));
            pictures.extend(first.take(2).map(|(method, run)| picture(task, method, &map, run).into()));
        }
    }
    let header = ["task", "variables", "gradients are", "points without one", "valleys on a line"];
    let stat = Stat::new(
        "BO-Leap ahead of CMA-ES",
        format!("{} ×", compact(ends[0][1] / ends[0][0], 2)),
        format!("lower loss on {} after {BUDGET} simulations", TASKS[0]),
    );
    let mut section = Section::new("Where to look, and whether gradients help")
        .paragraph(
            "A descent finds the nearest valley; a search looks for the lowest one. Before it starts, the doctor samples a \
             task and says what its gradients are worth. The forces on a cart with a pole are a smooth task; two bars that \
             guide a falling ball are not.",
        )
        .table(Table {
            caption: "pullback doctor TASK".into(),
            header: header.map(String::from).to_vec(),
            rows,
        });
    for text in advice {
        section = section.paragraph(text);
    }
    section = section
        .paragraph(format!(
            "Searches bear it out. On {}, BO-Leap and L-BFGS, which use gradients, end below CMA-ES and random points, which do \
             not. On {}, gradients are no advantage: a bar that the ball misses has none, and a plain descent (L-BFGS) is \
             caught in the first valley.",
            TASKS[0], TASKS[1]
        ))
        .figure(
            &Figure::grid("", 2, charts).sized(12.0, 4.6),
            format!(
                "The lowest loss so far by simulation, medians of {SEEDS} seeds. Try: pullback optimize {} --method bo-leap \
                 --budget {BUDGET}",
                TASKS[0]
            ),
            "Two charts of falling curves, one curve per method of search",
        )?
        .figure(
            &Figure::grid("", 2, pictures).sized(12.0, 5.0),
            "The loss over the angles of both bars. Each dot is one simulation: BO-Leap looks everywhere and descends in \
             between; CMA-ES draws a cloud together.",
            "Two heat maps with plateaus, ridges and jumps under the points of two searches",
        )?;
    Ok(Chapter::new(stat, section))
}

/// A landscape under the points that a search looked at.
fn picture(task: &str, method: &str, map: &Landscape, run: &Searched) -> HeatmapPanel {
    HeatmapPanel {
        arrows: Vec::new(),
        overlays: vec![Series::new("", 1, run.points.iter().map(|x| (x[0], x[1])).collect()).dots()],
        markers: run.best.iter().map(|x| (x[0], x[1], "lowest".into())).collect(),
        ..landscape::panel(&format!("{task}: where {method} looked"), map, &map.adjoint)
    }
}

/// A row on what the doctor says.
fn verdict(task: &str, found: &Examination) -> Vec<String> {
    vec![
        task.to_owned(),
        found.dim.to_string(),
        doctor::word(found.verdict).to_owned(),
        doctor::percent(found.zero_gradients),
        compact(found.valleys, 3),
    ]
}

/// Searches with one method from several seeds.
fn searches(objective: &dyn Objective, method: &str, seed: u64) -> Result<Vec<Searched>, CliError> {
    let search_by = build_method(method, &Value::Null)?;
    let one = |seed: u64| -> Result<Searched, CliError> {
        let recorder = Recorder { objective, points: Mutex::default() };
        let mut run = Run::new(&recorder, BUDGET, RunLog::none())?;
        optimize(search_by.as_ref(), &mut run, seed)?;
        let mut lowest = lowest_so_far(run.losses());
        // A search that has nothing left to do stays where it is.
        lowest.resize(BUDGET, lowest.last().copied().unwrap_or(f64::NAN));
        let best = run.best().map(|best| best.x.clone());
        drop(run);
        let points = recorder.points.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Searched { lowest, points, best })
    };
    (seed..seed + SEEDS).into_par_iter().map(one).collect()
}

/// Median over searches after each simulation.
fn median(searches: &[Searched]) -> Vec<f64> {
    let at = |k: usize| {
        let mut losses: Vec<f64> = searches.iter().map(|s| s.lowest[k]).collect();
        losses.sort_by(f64::total_cmp);
        losses[losses.len() / 2]
    };
    (0..BUDGET).map(at).collect()
}

/// The lowest loss by simulation, a curve per method.
fn chart(task: &str, dim: usize, medians: &[Vec<f64>]) -> LinePanel {
    let curve = |(color, (method, losses)): (usize, (&&str, &Vec<f64>))| {
        let points = losses.iter().enumerate().map(|(k, loss)| (k as f64 + 1.0, *loss)).collect();
        Series::new(*method, color, points)
    };
    LinePanel {
        title: format!("{task}, {dim} variables"),
        x_label: "simulation".into(),
        y_label: "lowest loss so far".into(),
        series: METHODS.iter().zip(medians).enumerate().map(curve).collect(),
        log_y: true,
        ..LinePanel::default()
    }
}

/// An objective that keeps every point it was asked for.
struct Recorder<'a> {
    objective: &'a dyn Objective,
    points: Mutex<Vec<Vec<f64>>>,
}

impl Recorder<'_> {
    fn keep(&self, x: &[f64]) {
        self.points.lock().unwrap_or_else(PoisonError::into_inner).push(x.to_vec());
    }
}

impl Objective for Recorder<'_> {
    fn names(&self) -> Vec<String> {
        self.objective.names()
    }
    fn units(&self) -> Vec<String> {
        self.objective.units()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.objective.bounds()
    }
    fn start(&self) -> Vec<f64> {
        self.objective.start()
    }
    fn floor(&self) -> Option<f64> {
        self.objective.floor()
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        self.keep(x);
        self.objective.value(x)
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        self.keep(x);
        self.objective.value_grad(x, grad)
    }
}
