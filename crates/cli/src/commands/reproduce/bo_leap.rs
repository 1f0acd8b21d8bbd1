//! `pullback reproduce bo-leap`: bar charts of all methods on all tasks of BO-Leap.

use pullback_core::ConfigError;
use pullback_optim::search::Spread;
use pullback_plot::{
    BarSeries, BarsPanel, Figure, LinePanel, Panel, Report, Section, Series, Table, compact,
};
use pullback_tasks::bo_leap::{self, METHODS, Plan, RunResult, TASKS};

use super::Summary;
use crate::args::ReproduceOptions;
use crate::output::{CliError, Output};
use crate::progress;

/// Seeds and simulations of the paper, and of a quick look.
const FULL: (u64, usize) = (10, 1000);
const QUICK: (u64, usize) = (3, 100);
/// Tasks of a quick look.
const QUICK_TASKS: [&str; 7] =
    ["cartpole", "cartpole-3link", "pinch", "rope", "pinball-2", "swing-3-single", "flip"];

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let (seeds, budget) = if options.quick { QUICK } else { FULL };
    let (seeds, budget) = (options.seeds.unwrap_or(seeds), options.budget.unwrap_or(budget));
    if seeds == 0 || budget == 0 {
        return Err(ConfigError::new("a comparison needs at least one seed and one simulation").into());
    }
    let plan = Plan { tasks: chosen(options)?, seeds, budget };
    let (folder, _lock) = output.run_folder("reproduce-bo-leap")?;
    let bar = progress::bar(plan.tasks.len() * METHODS.len() * seeds as usize, "bo-leap");
    let ended = bo_leap::compare(&plan, &folder, |ended| {
        bar.set_message(format!("{}, {}", ended.task, ended.method));
        bar.inc(1);
    })?;
    bar.finish_and_clear();

    let (bars, curves) = (folder.join("losses.png"), folder.join("progress.png"));
    let (page, data) = (folder.join("index.html"), folder.join("runs.json"));
    let (losses, progress) = (bar_charts(&plan, &ended), progress_charts(&plan, &ended));
    losses.save_png(&bars)?;
    progress.save_png(&curves)?;
    output.write(&data, serde_json::to_string(&ended)?.as_bytes())?;
    let results = bo_leap::results(&plan, &ended);
    let caption = format!("Lowest loss, mean and 95 % interval over {seeds} seeds of {budget} simulations.");
    let alt = "Bars of the lowest loss by method, one chart per task.";
    let mut report = Report::new(
        "Global search on rugged landscapes",
        "BO-Leap (Antonova et al., CoRL 2022) on our own simulators",
    );
    report.sections = vec![
        Section::new("Lowest losses").figure(&losses, caption, alt)?.table(table(&plan, &ended)),
        Section::new("On the way").figure(
            &progress,
            "Mean of the lowest loss so far.",
            "Curves of the mean lowest loss over simulations, one chart per task.",
        )?,
    ];
    report.footer = results.notes.join(" ");
    report.save(&page)?;

    Summary { results, files: vec![page, bars, curves, data] }.print(output)
}

/// The tasks asked for.
fn chosen(options: &ReproduceOptions) -> Result<Vec<String>, ConfigError> {
    match (&options.tasks[..], options.quick) {
        ([], true) => Ok(QUICK_TASKS.map(String::from).to_vec()),
        ([], false) => Ok(TASKS.names().map(String::from).collect()),
        (asked, _) => asked.iter().map(|name| Ok(TASKS.find(name)?.name.to_owned())).collect(),
    }
}

fn spreads<'a>(
    ended: &'a [RunResult],
    task: &'a str,
) -> impl Iterator<Item = (usize, &'static str, Spread)> + 'a {
    let of =
        move |(i, method): (usize, &&'static str)| Some((i, *method, bo_leap::spread(ended, task, method)?));
    METHODS.iter().enumerate().filter_map(of)
}

fn bar_charts(plan: &Plan, ended: &[RunResult]) -> Figure {
    let panel = |task: &String| {
        let one = |(i, method, s): (usize, &str, Spread)| BarSeries {
            label: if plan.tasks.first() == Some(task) { method.to_owned() } else { String::new() },
            values: vec![s.mean],
            intervals: vec![(s.mean - s.half_width, s.mean + s.half_width)],
            color: i,
        };
        Panel::from(BarsPanel {
            title: task.clone(),
            y_label: "lowest loss".into(),
            categories: vec![String::new()],
            series: spreads(ended, task).map(one).collect(),
            ..BarsPanel::default()
        })
    };
    Figure::grid("Lowest loss by method", 4, plan.tasks.iter().map(panel).collect())
}

fn progress_charts(plan: &Plan, ended: &[RunResult]) -> Figure {
    let panel = |task: &String| {
        let curve = |(i, method): (usize, &&str)| {
            let runs: Vec<&RunResult> =
                ended.iter().filter(|e| e.task == *task && e.method == **method).collect();
            let at = |k: usize| {
                let seen = runs.iter().filter_map(|e| e.progress.get(k).copied().flatten());
                let mean = seen.clone().sum::<f64>() / seen.count() as f64;
                ((k + 1) as f64 * plan.budget as f64 / 10.0, mean)
            };
            let label = if plan.tasks.first() == Some(task) { *method } else { "" };
            Series::new(label, i, (0..10).map(at).collect())
        };
        Panel::from(LinePanel {
            title: task.clone(),
            x_label: "simulations".into(),
            y_label: "lowest loss so far".into(),
            series: METHODS.iter().enumerate().map(curve).collect(),
            ..LinePanel::default()
        })
    };
    Figure::grid("Mean lowest loss so far", 4, plan.tasks.iter().map(panel).collect())
}

fn table(plan: &Plan, ended: &[RunResult]) -> Table {
    let header = ["task"].into_iter().chain(METHODS).map(str::to_owned).collect();
    let row = |task: &String| {
        let cell = |(_, _, s): (usize, &str, Spread)| {
            format!("{} ± {}", compact(s.mean, 3), compact(s.half_width, 2))
        };
        [task.clone()].into_iter().chain(spreads(ended, task).map(cell)).collect()
    };
    Table { caption: String::new(), header, rows: plan.tasks.iter().map(row).collect() }
}
