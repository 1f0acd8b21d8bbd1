//! The page of an identification: table, curves, residuals, correlations.

use std::path::{Path, PathBuf};

use pullback_plot::{
    Colormap, Figure, HeatmapPanel, LinePanel, Panel, Report, Section, Series, Stat, Table, Tone, compact,
};
use pullback_tasks::identify::{Curve, Identified, Setup};

use super::{Quantity, Summary, with_error};
use crate::output::CliError;

/// Channels that are drawn.
const DRAWN: usize = 12;
/// Recordings whose residuals are drawn.
const RECORDINGS: usize = 40;

/// Writes the page and its pictures; returns the pictures.
pub fn save(
    summary: &Summary,
    setup: &Setup,
    found: &Identified,
    folder: &Path,
    page: &Path,
) -> Result<Vec<PathBuf>, CliError> {
    let mut report = Report::new(format!("Identification of {}", summary.what), subtitle(summary));
    let worst = worst_recording(found);
    let (curves, left) = (curves(setup, found, worst), residuals(setup, found));
    let mut pictures = Vec::new();
    let mut keep = |name: &str, figure: &Figure| -> Result<(), CliError> {
        let path = folder.join(name);
        figure.save_png(&path)?;
        pictures.push(path);
        Ok(())
    };
    keep("curves.png", &curves)?;
    keep("residuals.png", &left)?;
    let mut motion = Section::new("Measured and simulated").figure(
        &curves,
        format!(
            "{}: measured values (dots) and the simulation with what was found (line).",
            setup.recordings[worst]
        ),
        "A chart per channel: measured dots and the simulated curve over time.",
    )?;
    motion = motion.figure(
        &left,
        "Simulated less measured over time, each recording in a color of its own. A pattern is something that the model lacks.",
        "A chart per channel: residuals over time.",
    )?;
    report.sections = vec![glance(summary, Some(setup.dt)), motion];
    if summary.quantities.len() > 1 {
        let correlations = correlations(summary);
        keep("correlations.png", &correlations)?;
        let names =
            summary.quantities.iter().enumerate().map(|(i, q)| format!("{} {}", i + 1, q.estimate.name));
        report.sections.push(Section::new("Correlations").figure(
            &correlations,
            format!(
                "Correlations of the errors: near 1 or −1 the data hardly tell two quantities apart; gray where one \
                 cannot be told. {}.",
                names.collect::<Vec<_>>().join(", ")
            ),
            "A matrix of correlations in color.",
        )?);
    }
    report.sections.push(details(summary));
    report.footer = format!("pullback identify {}; {}; seed {}", summary.what, summary.method, summary.seed);
    report.save(page)?;
    Ok(pictures)
}

pub(super) fn subtitle(summary: &Summary) -> String {
    let (quantities, values) = (summary.quantities.len(), summary.residuals);
    format!(
        "{quantities} quantities from {values} measured values in {} recordings",
        summary.recordings.len()
    )
}

pub(super) fn glance(summary: &Summary, dt: Option<f64>) -> Section {
    let told = summary.quantities.iter().filter(|q| q.estimate.error.is_some()).count();
    let all = summary.quantities.len();
    let tone = if told == all && summary.off.is_empty() { Tone::Good } else { Tone::Bad };
    let what = match summary.channels.len() {
        0 => "pixels and colors".to_owned(),
        channels => format!("{channels} channels"),
    };
    let mut stats = vec![
        Stat { tone, ..Stat::new("told by the data", format!("{told} of {all}"), "quantities") },
        Stat::new("measured values", summary.residuals.to_string(), what),
    ];
    stats.extend(dt.map(|dt| Stat::new("step", format!("{} s", compact(dt, 4)), "of the simulation")));
    let mut section = Section::new("What was found").stats(stats);
    let made_up = summary.quantities.iter().any(|q| q.truth.is_some());
    let groups = summary.quantities.iter().any(|q| q.estimate.by_groups.is_some());
    let mut header = vec!["parameter", "start", "found", "95 % interval"];
    if made_up {
        header.push("truth");
    }
    if groups {
        header.push("error by recordings");
    }
    header.push("unit");
    let row = |Quantity { estimate, truth }: &Quantity| {
        let interval = |i: (f64, f64)| format!("{} to {}", compact(i.0, 5), compact(i.1, 5));
        let mut row = vec![
            estimate.name.clone(),
            compact(estimate.start, 4),
            with_error(estimate),
            estimate.error.map_or(String::new(), |e| interval(e.interval)),
        ];
        if made_up {
            row.push(truth.map_or(String::new(), |x| compact(x, 6)));
        }
        if groups {
            row.push(estimate.by_groups.map_or(String::new(), |e| compact(e.error, 3)));
        }
        row.push(estimate.unit.clone());
        row
    };
    section = section.table(Table {
        caption: "Errors are one standard deviation, from the curvature of the misfit and the size of the residuals.".into(),
        header: header.into_iter().map(String::from).collect(),
        rows: summary.quantities.iter().map(row).collect(),
    });
    for untold in &summary.untold {
        section = section.paragraph(format!("Cannot be told: {}.", untold.words));
    }
    for remark in &summary.remarks {
        section = section.paragraph(format!("Note: {remark}."));
    }
    section
}

/// The recording whose residuals are largest beside the noise.
fn worst_recording(found: &Identified) -> usize {
    let size = |curves: &Vec<Curve>| {
        let one = |curve: &Curve| {
            let noise = found.channels[curve.channel].noise;
            curve.points.iter().map(|p| ((p.2 - p.1) / noise).powi(2)).sum::<f64>()
                / curve.points.len() as f64
        };
        curves.iter().map(one).sum::<f64>()
    };
    let all = found.curves.iter().map(size).enumerate();
    all.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(i, _)| i)
}

/// A grid of panels for the first channels.
fn grid(found: &Identified, panel: impl Fn(usize) -> LinePanel) -> Figure {
    let panels: Vec<Panel> = (0..found.channels.len().min(DRAWN)).map(|c| panel(c).into()).collect();
    let cols = if panels.len() > 1 { 2 } else { 1 };
    let rows = panels.len().div_ceil(cols);
    Figure::grid("", cols, panels).sized(5.5 * cols as f64, 3.2 * rows as f64)
}

fn label(found: &Identified, channel: usize) -> String {
    let unit = &found.channels[channel].unit;
    if unit == "1" { String::new() } else { unit.clone() }
}

fn curves(setup: &Setup, found: &Identified, recording: usize) -> Figure {
    let _ = setup;
    grid(found, |channel| {
        let curve = found.curves[recording].iter().find(|curve| curve.channel == channel);
        let points = curve.map_or(&[][..], |curve| &curve.points);
        let measured = points.iter().map(|p| (p.0, p.1)).collect();
        let simulated = points.iter().map(|p| (p.0, p.2)).collect();
        LinePanel {
            title: found.channels[channel].name.clone(),
            x_label: "time (s)".into(),
            y_label: label(found, channel),
            series: vec![Series::new("simulated", 0, simulated), Series::new("measured", 7, measured).dots()],
            ..LinePanel::default()
        }
    })
}

fn residuals(setup: &Setup, found: &Identified) -> Figure {
    let few = setup.recordings.len() <= 4;
    grid(found, |channel| {
        let of = |(i, curves): (usize, &Vec<Curve>)| {
            let points = curves.iter().filter(|c| c.channel == channel).flat_map(|c| &c.points);
            let label = if few && setup.recordings.len() > 1 {
                format!("recording {}", i + 1)
            } else {
                String::new()
            };
            Series::new(label, i, points.map(|p| (p.0, p.2 - p.1)).collect()).dots()
        };
        LinePanel {
            title: found.channels[channel].name.clone(),
            x_label: "time (s)".into(),
            y_label: label(found, channel),
            series: found.curves.iter().take(RECORDINGS).enumerate().map(of).collect(),
            ..LinePanel::default()
        }
    })
}

fn correlations(summary: &Summary) -> Figure {
    let n = summary.quantities.len();
    // The first row on top.
    let values = summary
        .correlations
        .iter()
        .rev()
        .map(|row| row.iter().map(|c| c.unwrap_or(f64::NAN)).collect())
        .collect();
    let panel = HeatmapPanel {
        title: "correlations".into(),
        x_label: "quantity".into(),
        y_label: "quantity".into(),
        x_range: (1.0, n as f64),
        y_range: (n as f64, 1.0),
        values,
        value_label: "correlation".into(),
        value_range: Some((-1.0, 1.0)),
        colormap: Colormap::Diverging,
        ..HeatmapPanel::default()
    };
    Figure::single(panel.into()).sized(6.4, 5.4)
}

fn details(summary: &Summary) -> Section {
    let channels = summary.channels.iter().map(|c| {
        vec![
            c.name.clone(),
            c.samples.to_string(),
            compact(c.spread, 4),
            c.misfit.0.map_or("failed".into(), |x| compact(x, 4)),
            compact(c.misfit.1, 4),
            format!("{:.2}", c.autocorrelation),
            c.unit.clone(),
        ]
    });
    let header =
        ["channel", "values", "spread", "misfit at the start", "misfit", "correlation in time", "unit"];
    let mut section = Section::new("Channels and starts").table(Table {
        caption: "Spread is the standard deviation of what was measured, misfit the root mean square of what is left.".into(),
        header: header.map(String::from).to_vec(),
        rows: channels.collect(),
    });
    let starts = summary.starts.iter().enumerate().map(|(k, start)| {
        let mark = if k == summary.best_start { " (best)" } else { "" };
        vec![
            format!("{}{mark}", k + 1),
            start.mean_square.map_or("failed".into(), |x| compact(x, 6)),
            start.steps.to_string(),
            start.values.iter().map(|x| compact(*x, 4)).collect::<Vec<_>>().join(", "),
        ]
    });
    section = section.table(Table {
        caption: "Starts of the first fit, in which channels without a given noise count by their spread."
            .into(),
        header: ["start", "mean square", "steps", "ended at"].map(String::from).to_vec(),
        rows: starts.collect(),
    });
    section
}
