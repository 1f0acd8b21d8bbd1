//! `pullback compare`: training runs beside each other, and whether their seeds can tell them apart.

use std::path::PathBuf;

use pullback_learn::run::compare::{CompareOptions as Request, Comparison, Group, Pair};
use pullback_learn::run::statistics::{Estimate, IntervalMethod};
use pullback_plot::{Figure, LinePanel, Panel, Report, Section, Series, Table, compact};
use serde::Serialize;

use crate::args::CompareOptions;
use crate::output::{CliError, Output};

/// p values below are taken as a difference.
const SIGNIFICANT: f64 = 0.05;
/// Colors that the eye tells apart; groups beyond are dashed.
const COLORS: usize = pullback_plot::PALETTE.len();

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    comparison: Comparison,
    files: Vec<PathBuf>,
}

pub fn run(options: &CompareOptions, output: &Output) -> Result<bool, CliError> {
    let request = Request {
        metric: options.metric.clone(),
        lower_is_better: options.lower_is_better,
        at: options.at,
        interval: if options.bootstrap { IntervalMethod::Bootstrap } else { IntervalMethod::Student },
    };
    let comparison = Comparison::of(&options.folders, request)?;
    let folder = output.folder("compare")?;
    let (picture, page, data) =
        (folder.join("curves.png"), folder.join("index.html"), folder.join("comparison.json"));
    let figure = figure(&comparison);
    figure.save_png(&picture)?;
    report(&comparison, &figure)?.save(&page)?;
    let summary = Summary { comparison, files: vec![page, picture, data.clone()] };
    output.write(&data, serde_json::to_string(&summary.comparison)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

/// The metric over steps, one panel per task: means over seeds with their intervals.
pub fn figure(comparison: &Comparison) -> Figure {
    let Comparison { options, groups, .. } = comparison;
    let longest = groups.iter().filter_map(|group| group.curve.steps.last()).fold(0.0, |a: f64, b| a.max(*b));
    let (unit, x_label) = match longest {
        1e6.. => (1e6, "environment steps (millions)"),
        1e4.. => (1e3, "environment steps (thousands)"),
        _ => (1.0, "environment steps"),
    };
    let mut labels: Vec<&str> = Vec::new();
    let mut panels = Vec::new();
    for task in comparison.tasks() {
        let mut series = Vec::new();
        for group in groups.iter().filter(|group| group.task == task) {
            // A label keeps its color in all panels and stands in the first one that has it.
            let known = labels.iter().position(|label| *label == group.label);
            let i = known.unwrap_or(labels.len());
            let name = if known.is_none() { group.label.as_str() } else { "" };
            if known.is_none() {
                labels.push(&group.label);
            }
            series.push(curve(group, name, i, unit));
        }
        panels.push(Panel::from(LinePanel {
            title: task.to_owned(),
            x_label: x_label.into(),
            y_label: spoken(&options.metric),
            y_range: y_range(&series),
            series,
            ..LinePanel::default()
        }));
    }
    match panels.len() {
        1 => Figure::grid("", 1, panels).sized(7.5, 5.0),
        n => Figure::grid("", n.min(3), panels),
    }
}

/// Limits that keep curves legible where intervals of two or three seeds are far wider than the curves; `None` if
/// all fits within three times the range of the means.
fn y_range(series: &[Series]) -> Option<(f64, f64)> {
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)))
    };
    let (low, high) = ends(&mut series.iter().flat_map(|s| &s.points).map(|point| point.1));
    let bands = ends(&mut series.iter().flat_map(|s| &s.band).flat_map(|band| [band.1, band.2]));
    let span = high - low;
    let outside = span > 0.0 && (bands.0 < low - span || bands.1 > high + span);
    outside.then(|| (bands.0.clamp(low - span, low), bands.1.clamp(high, high + span)))
}

/// `color` counts on over the palette; steps are drawn in units of `unit`.
fn curve(group: &Group, label: &str, color: usize, unit: f64) -> Series {
    let curve = &group.curve;
    let steps = || curve.steps.iter().map(|steps| steps / unit);
    let points = steps().zip(curve.mean.iter().copied()).collect();
    let band = steps().zip(&curve.interval).map(|(steps, (low, high))| (steps, *low, *high));
    let series = Series::new(label, color % COLORS, points).with_band(band.collect());
    if color < COLORS { series } else { series.dashed() }
}

fn report(comparison: &Comparison, figure: &Figure) -> Result<Report, CliError> {
    let Comparison { options, groups, pairs, notes } = comparison;
    let metric = spoken(&options.metric);
    let seeds: usize = groups.iter().map(|group| group.seeds.len()).sum();
    let interval = match options.interval {
        IntervalMethod::Student => "Student's t",
        IntervalMethod::Bootstrap => "the bootstrap (Student's t below five seeds)",
    };
    let tasks = comparison.tasks().join(", ");
    let about = if tasks.is_empty() { String::new() } else { format!("{tasks}: ") };
    let mut report = Report::new("Training runs", format!("{about}{seeds} runs in {} groups", groups.len()));
    let caption = format!("Mean of {metric} over seeds, with its 95 % interval by {interval}.");
    let alt = "Curves of the metric over environment steps with shaded intervals, one color per group.";
    let finals =
        Table { caption: final_caption(), header: group_header(comparison), rows: group_rows(comparison) };
    report.sections = vec![
        Section::new("Curves").figure(figure, caption, alt)?,
        Section::new("Final values").table(finals),
    ];
    if !pairs.is_empty() {
        let tests = Table { caption: test_caption(), header: pair_header(), rows: pair_rows(comparison) };
        report.sections.push(Section::new("Which differences are real?").table(tests));
    }
    if !notes.is_empty() {
        let notes = notes.iter().fold(Section::new("Notes"), |section, note| section.paragraph(note.clone()));
        report.sections.push(notes);
    }
    let folders = groups.iter().flat_map(|group| &group.folders).map(|folder| folder.display().to_string());
    report.footer = format!("Runs: {}", folders.collect::<Vec<_>>().join(", "));
    Ok(report)
}

fn final_caption() -> String {
    "Final: mean over the last 5 % of steps, mean over seeds and 95 % interval. \
     Best: best report of each run, mean over seeds."
        .into()
}

fn test_caption() -> String {
    format!(
        "p of Welch's test of means and of the rank test of Mann and Whitney, \
         each corrected for the number of pairs (Holm). A verdict needs Welch's p below {SIGNIFICANT}."
    )
}

fn group_header(comparison: &Comparison) -> Vec<String> {
    let metric = spoken(&comparison.options.metric);
    let columns = [
        "group".into(),
        "seeds".into(),
        format!("final {metric}"),
        "best".into(),
        "steps".into(),
        "hours".into(),
    ];
    let task = (comparison.tasks().len() > 1).then(|| "task".to_owned());
    task.into_iter().chain(columns).collect()
}

fn group_rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let many = comparison.tasks().len() > 1;
    let row = |group: &Group| {
        let columns = [
            group.label.clone(),
            group.seeds.len().to_string(),
            estimate(&group.last, comparison.options.interval),
            compact(group.best, 4),
            compact(group.steps, 4),
            group.hours.map_or("–".into(), |hours| compact(hours, 3)),
        ];
        many.then(|| group.task.clone()).into_iter().chain(columns).collect()
    };
    comparison.groups.iter().map(row).collect()
}

fn pair_header() -> Vec<String> {
    ["pair", "difference", "Welch", "rank test", "verdict"].map(str::to_owned).to_vec()
}

fn pair_rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let many = comparison.tasks().len() > 1;
    let row = |pair: &Pair| {
        let [a, b] = &pair.labels;
        let task = if many { format!("{}: ", pair.task) } else { String::new() };
        let better = (pair.difference > 0.0) != comparison.options.lower_is_better;
        let verdict = match pair.welch.p_holm < SIGNIFICANT {
            true => format!("{} is better", if better { a } else { b }),
            false => "undecided".into(),
        };
        let ranks = pair.mann_whitney.map_or("–".into(), |test| compact(test.p_holm, 2));
        vec![
            format!("{task}{a} − {b}"),
            compact(pair.difference, 4),
            compact(pair.welch.p_holm, 2),
            ranks,
            verdict,
        ]
    };
    comparison.pairs.iter().map(row).collect()
}

/// `4137 ± 390`: as many decimals as the interval is worth.
fn estimate(estimate: &Estimate, method: IntervalMethod) -> String {
    let Some((low, high)) = estimate.interval else { return compact(estimate.mean, 4) };
    let half = 0.5 * (high - low);
    let decimals = if half > 0.0 { (1.0 - half.log10().floor()).clamp(0.0, 12.0) as usize } else { 3 };
    let mean = estimate.mean;
    match method {
        IntervalMethod::Student => format!("{mean:.decimals$} ± {half:.decimals$}"),
        IntervalMethod::Bootstrap => format!("{mean:.decimals$} ({low:.decimals$} to {high:.decimals$})"),
    }
}

/// `return_mean` reads "return mean".
fn spoken(metric: &str) -> String {
    metric.replace('_', " ")
}

fn text(summary: &Summary) -> String {
    let comparison = &summary.comparison;
    let mut text = match comparison.tasks()[..] {
        [task] if !task.is_empty() => format!("{task}\n"),
        _ => String::new(),
    };
    text += &aligned(&group_header(comparison), &group_rows(comparison));
    if !comparison.pairs.is_empty() {
        text += "\np values, corrected for the number of pairs (Holm)\n";
        text += &aligned(&pair_header(), &pair_rows(comparison));
    }
    for note in &comparison.notes {
        text += &format!("\nnote: {note}");
    }
    let files: Vec<String> = summary.files.iter().map(|file| file.display().to_string()).collect();
    text + "\n" + &files.join("\n")
}

/// Columns of equal width; those of numbers are aligned right.
fn aligned(header: &[String], rows: &[Vec<String>]) -> String {
    let lines = || std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let is_number = |cell: &str| cell == "–" || cell.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let right: Vec<bool> =
        (0..header.len()).map(|column| rows.iter().all(|row| is_number(&row[column]))).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).zip(&right).map(|((cell, width), right)| match right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:width$}"),
        });
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_intervals_do_not_flatten_curves() {
        let rising = Series::new("", 0, vec![(0.0, 0.0), (1.0, 10.0)]);
        let band = |low, high| vec![rising.clone().with_band(vec![(0.0, low, high)])];
        assert_eq!(y_range(&band(-5.0, 12.0)), None);
        assert_eq!(y_range(&band(-5.0, 500.0)), Some((-5.0, 20.0)));
        assert_eq!(y_range(&band(-500.0, 500.0)), Some((-10.0, 20.0)));
        assert_eq!(y_range(&[rising]), None);
    }

    #[test]
    fn decimals_follow_the_interval() {
        let text = |mean: f64, half: f64| {
            let interval = Some((mean - half, mean + half));
            estimate(&Estimate { mean, interval }, IntervalMethod::Student)
        };
        assert_eq!(text(4137.04, 391.2), "4137 ± 391");
        assert_eq!(text(0.123456, 0.0123), "0.123 ± 0.012");
        assert_eq!(text(2.0, 0.0), "2.000 ± 0.000");
    }
}
