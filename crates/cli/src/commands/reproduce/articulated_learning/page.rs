//! Curves, tables and the page.

use std::path::{Path, PathBuf};

use pullback_learn::run::MetricsTable;
use pullback_learn::run::compare::{CompareOptions, Comparison};
use pullback_plot::{Figure, LinePanel, Panel, Report, Section, Series, Table, compact};
use pullback_tasks::Results;

use super::transfer::Transfer;
use super::{CURVE, Found, PAPER_MBPO, PAPER_POLICY, most};
use crate::output::{CliError, Output};

/// Steps of an epoch.
const EPOCH: f64 = 1000.0;

const CURVES: &str = "\
    Fig. 4 c, d and Fig. 5 b: mean return of the episodes that ended in an epoch, actions with noise; the dashed \
    line is the largest return that is possible.";
const RELATIVE: &str = "Fig. 4 b: the largest return over the largest that is possible.";

/// Writes page, pictures and results; returns their files.
pub fn write(
    found: &[Found],
    transfer: &Result<Transfer, String>,
    results: &Results,
    folder: &Path,
    output: &Output,
) -> Result<Vec<PathBuf>, CliError> {
    let [index, picture, relative_picture, data] =
        ["index.html", "curves.png", "relative.png", "results.json"].map(|name| folder.join(name));
    let (curves, relative) = (curves(found)?, relative(found));
    curves.save_png(&picture)?;
    relative.save_png(&relative_picture)?;
    let mut report = Report::new(
        "Learning with gradients of articulated bodies",
        "Qiao et al., ICML 2021, section 6.2: MBPO, and MBPO with gradients of the physics",
    );
    report.sections = vec![
        Section::new("Pendula")
            .figure(&relative, RELATIVE, "Relative return over the number of links, ours and the paper's.")?
            .table(pendula(found)),
        Section::new("Curves").figure(
            &curves,
            CURVES,
            "Curves of returns over epochs, one panel per task.",
        )?,
        Section::new("Ant").table(ant(found)),
    ];
    if let Ok(transfer) = transfer {
        report.sections.push(Section::new("The ant in MuJoCo").table(moved(transfer)));
    }
    report.footer = results.notes.join(" ");
    report.save(&index)?;
    output.write(&data, serde_json::to_string_pretty(results)?.as_bytes())?;
    Ok(vec![index, data, picture, relative_picture])
}

/// Returns over epochs, one panel per task.
fn curves(found: &[Found]) -> Result<Figure, CliError> {
    let mut tasks: Vec<&str> = found.iter().map(|one| one.contender.task).collect();
    tasks.dedup();
    let mut labels: Vec<&str> = Vec::new();
    let mut panels = Vec::new();
    for task in tasks {
        let mut series = Vec::new();
        for one in found.iter().filter(|one| one.contender.task == task) {
            let reported = MetricsTable::read(&one.folders[0].join("metrics.csv"))?.column(CURVE).is_some();
            let metric = if reported { CURVE.into() } else { CompareOptions::default().metric };
            let options = CompareOptions { metric, ..CompareOptions::default() };
            let comparison = Comparison::of(&one.folders, options)?;
            let Some(group) = comparison.groups.first() else { continue };
            // A label keeps its color in all panels and stands in the first one that has it.
            let label = one.contender.label;
            let known = labels.iter().position(|l| *l == label);
            if known.is_none() {
                labels.push(label);
            }
            let (steps, curve) = (group.curve.steps.iter().map(|s| s / EPOCH), &group.curve);
            let points = steps.clone().zip(curve.mean.iter().copied()).collect();
            let band = steps.zip(&curve.interval).map(|(s, (low, high))| (s, *low, *high)).collect();
            let (name, color) = (if known.is_none() { label } else { "" }, known.unwrap_or(labels.len() - 1));
            series.push(Series::new(name, color, points).with_band(band));
        }
        let links = found.iter().find(|one| one.contender.task == task).and_then(Found::links);
        let last = series.iter().flat_map(|s| &s.points).map(|p| p.0).fold(1.0, f64::max);
        if let Some(n) = links {
            series.push(Series::new("", 7, vec![(0.0, most(n)), (last, most(n))]).dashed());
        }
        panels.push(Panel::from(LinePanel {
            title: task.to_owned(),
            x_label: "epochs of 1,000 steps".into(),
            y_label: "return".into(),
            series,
            ..LinePanel::default()
        }));
    }
    let columns = panels.len().min(3);
    Ok(Figure::grid("", columns, panels))
}

/// Largest returns over the largest possible ones: Fig. 4 b.
fn relative(found: &[Found]) -> Figure {
    let of = |label: &str| -> Vec<(f64, f64)> {
        let ours = found.iter().filter(|one| one.contender.label == label);
        ours.filter_map(|one| one.links().map(|n| (n as f64, one.largest() / most(n)))).collect()
    };
    let paper = |table: &[(f64, f64)]| -> Vec<(f64, f64)> {
        table.iter().enumerate().map(|(i, (mean, _))| ((i + 1) as f64, mean / most(i + 1))).collect()
    };
    let panel = LinePanel {
        x_label: "links".into(),
        y_label: "largest return over the largest possible".into(),
        series: vec![
            Series::new(super::POLICY, 0, of(super::POLICY)),
            Series::new(super::MBPO, 1, of(super::MBPO)),
            Series::new(format!("{}, paper", super::POLICY), 0, paper(&PAPER_POLICY)).dashed(),
            Series::new(format!("{}, paper", super::MBPO), 1, paper(&PAPER_MBPO)).dashed(),
        ],
        ..LinePanel::default()
    };
    Figure::single(panel.into()).sized(7.5, 5.0)
}

/// Table 4 with our columns.
fn pendula(found: &[Found]) -> Table {
    let rows = found.iter().filter_map(|one| {
        let n = one.links()?;
        let mean =
            |of: &dyn Fn(usize) -> f64| (0..one.runs.len()).map(of).sum::<f64>() / one.runs.len() as f64;
        let (paper, deviation) = one.paper()?;
        Some(vec![
            n.to_string(),
            one.contender.label.into(),
            one.runs.len().to_string(),
            compact(mean(&|i| one.runs[i].epochs as f64), 3),
            compact(one.largest(), 4),
            format!("{paper} ± {deviation}"),
            most(n).to_string(),
            compact(mean(&|i| one.runs[i].return_mean), 4),
            compact(mean(&|i| one.runs[i].seconds / 60.0), 3),
        ])
    });
    let header = [
        "links",
        "method",
        "seeds",
        "epochs",
        "largest return",
        "paper",
        "possible",
        "at the end",
        "minutes",
    ];
    Table {
        caption: "Table 4: largest returns. At the end: of mean actions.".into(),
        header: header.map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

fn ant(found: &[Found]) -> Table {
    let rows = found.iter().filter(|one| one.links().is_none()).map(|one| {
        let mean =
            |of: &dyn Fn(usize) -> f64| (0..one.runs.len()).map(of).sum::<f64>() / one.runs.len() as f64;
        vec![
            one.contender.label.to_owned(),
            one.runs.len().to_string(),
            compact(mean(&|i| one.runs[i].epochs as f64), 3),
            compact(mean(&|i| one.runs[i].return_mean), 4),
            compact(mean(&|i| one.runs[i].stochastic_return_mean), 4),
            compact(one.largest(), 4),
            compact(mean(&|i| one.runs[i].seconds / 60.0), 3),
        ]
    });
    let header = ["method", "seeds", "epochs", "return at the end", "with noise", "largest", "minutes"];
    Table {
        caption: "The paper gives curves alone.".into(),
        header: header.map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

/// Table 5 with our rows.
fn moved(transfer: &Transfer) -> Table {
    let rows = transfer.played.iter().map(|one| {
        vec![
            one.label.clone(),
            one.here.map_or_else(|| "–".into(), |x| compact(x, 4)),
            format!("{} ± {}", compact(one.there.0, 4), compact(one.there.1, 3)),
            one.paper.map_or_else(String::new, |(mean, deviation)| format!("{mean} ± {deviation}")),
        ]
    });
    let header = ["policy", "here", "in MuJoCo", "paper"];
    Table {
        caption: format!(
            "Table 5: returns in MuJoCo {} of policies trained here, without more training.",
            transfer.version
        ),
        header: header.map(String::from).to_vec(),
        rows: rows.collect(),
    }
}
