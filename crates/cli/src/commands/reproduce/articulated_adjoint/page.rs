//! The page: tables and figures of the paper with our columns.

use std::path::{Path, PathBuf};

use pullback_plot::{Figure, Report, Section, Stat, Table, Tone, compact};
use pullback_tasks::Results;
use pullback_tasks::articulated_adjoint::contest::{Contest, Trace};
use pullback_tasks::articulated_adjoint::standing::{
    Cost, PAPER_BACKWARD, PAPER_FORWARD, PAPER_MEMORY, PaperRow, STEPS,
};

use super::casadi::PeerCost;
use super::{Measured, figures};
use crate::output::CliError;

const SEARCHES: &str = "\
    A ball is thrown by an arm with nine degrees of freedom and hit by a linkage of two; the variables \
    are the torques of all 1,000 steps. A car slides; the variable is its friction. Separable CMA-ES \
    searches the same torques as the descent. CMA-ES has an easier problem, torques that are constant \
    over 50 steps. Both simulate on all threads, the descent on one.";
const FOUND: &str = "\
    Paths of the ball before and after the search; the hand opens where the path becomes straight. The \
    loss of the car over its friction.";
const ONE: &str = "\
    Tables 1 to 3 of the paper with two more rows: this run, and the same step in CasADi on the same \
    machine. The other rows are the paper's, from a Xeon W-2123.";
const UNTIL_SOLVED: &str = "\
    Until solved. An iteration of CMA-ES is a generation. The paper's had not solved the throw after \
    500 iterations, nor golf after 1,500.";

/// Writes page and pictures; returns their files.
pub fn write(measured: &Measured, results: &Results, folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let Measured { one, ten, ablation, contests, landscape, peer } = measured;
    let peer: &[PeerCost] = peer.as_deref().unwrap_or(&[]);
    let pictures: [(&str, Figure); 4] = [
        ("searches", figures::searches(contests)),
        ("found", figures::found(contests, landscape)?),
        ("ten-quadrupeds", figures::ten_robots(ten, peer)),
        ("checkpoints", figures::ablation(ablation)),
    ];
    let [searches, found, ten_robots, checkpoints] = pictures.each_ref().map(|(_, figure)| figure);
    let mut report = Report::new(
        "The adjoint of articulated bodies",
        "Qiao et al., ICML 2021: what gradients through robots in contact cost, and what they are good for",
    );
    let link = |text: &str, name: &str| (text.to_owned(), format!("{name}.html"));
    let memory: Figures<'_> = (&|c| c.measured as f64 / 1e6, &|p| p.megabytes);
    let forward: Figures<'_> = (&|c| 1e3 * c.forward, &|p| p.forward);
    let backward: Figures<'_> = (&|c| 1e3 * c.backward, &|p| p.backward);
    let table = |caption: &str, rows: &[PaperRow], of| paper_table(caption, rows, (one, peer), of);
    report.sections = vec![
        Section::new("At a glance").stats(stats(contests, one)),
        Section::new("Searches")
            .paragraph(SEARCHES)
            .figure(searches, "Loss against iterations and time.", "Curves of the loss, one row per task.")?
            .table(search_table(contests))
            .figure(found, FOUND, "Paths of the ball to its target, and a loss with one minimum.")?
            .links(vec![
                link("the throw, played", "throw"),
                link("the golf shot, played", "golf"),
                link("the sliding car, played", "racecar"),
            ]),
        Section::new("One quadruped, standing")
            .paragraph(ONE)
            .table(table("Table 1. Peak memory (MB)", &PAPER_MEMORY, memory))
            .table(table("Table 2. Forward step (ms)", &PAPER_FORWARD, forward))
            .table(table("Table 3. Backward step (ms)", &PAPER_BACKWARD, backward)),
        Section::new("Ten quadrupeds, standing")
            .figure(
                ten_robots,
                "Fig. 3 c, d: memory and time against steps.",
                "Memory grows, time does not.",
            )?
            .figure(
                checkpoints,
                "Fig. 8: memory and time against the interval between states that are kept.",
                "Memory falls to a minimum; time grows less than by the paper's scheme.",
            )?
            .links(vec![link("the quadrupeds, played", "standing")]),
    ];
    report.footer = results.notes.join(" ");

    let page = folder.join("index.html");
    report.save(&page)?;
    let mut files = vec![page];
    for (name, figure) in &pictures {
        let file = folder.join(format!("{name}.png"));
        figure.save_png(&file)?;
        files.push(file);
    }
    Ok(files)
}

/// Iterations of every search, and the largest rollout.
fn stats(contests: &[Contest], one: &[Cost]) -> Vec<Stat> {
    let search = |contest: &Contest| {
        let found = contest.descent.until(contest.task.solved);
        let met = found.is_some_and(|(n, _)| n <= contest.task.paper.0);
        Stat {
            tone: if met { Tone::Good } else { Tone::Bad },
            ..Stat::new(
                format!("{} solved", contest.task.name),
                found.map_or("not solved".into(), |(n, _)| format!("{n} iterations")),
                format!("the paper: {}", contest.task.paper.0),
            )
        }
    };
    let mut stats: Vec<Stat> = contests.iter().map(search).collect();
    if let Some(cost) = one.last() {
        let megabytes = format!("{} MB", compact(cost.measured as f64 / 1e6, 3));
        stats.push(Stat::new(
            format!("gradient of {} steps", cost.steps),
            megabytes,
            "peak memory, one quadruped",
        ));
        let backward = format!("{} µs", compact(1e6 * cost.backward, 3));
        stats.push(Stat::new("backward step", backward, "one quadruped, one thread"));
    }
    stats
}

/// A figure of what was measured, and the peer's.
type Figures<'a> = (&'a dyn Fn(&Cost) -> f64, &'a dyn Fn(&PeerCost) -> f64);

/// Rows of the paper, ours and the peer's, a column per number of steps.
fn paper_table(
    caption: &str,
    paper: &[PaperRow],
    (costs, peer): (&[Cost], &[PeerCost]),
    (ours, theirs): Figures<'_>,
) -> Table {
    let cell = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => compact(value, 3),
        _ => "–".into(),
    };
    let row = |name: &str, at: &dyn Fn(usize) -> Option<f64>| {
        std::iter::once(name.to_owned()).chain(STEPS.iter().enumerate().map(|(i, _)| cell(at(i)))).collect()
    };
    let mut rows: Vec<Vec<String>> =
        paper.iter().map(|(name, figures)| row(name, &|i| figures.get(i).copied())).collect();
    let measured = |i: usize| costs.iter().find(|c| c.steps == STEPS[i]).map(ours);
    rows.push(row("ours, this run", &measured));
    if let Some(first) = peer.first() {
        let found = |i: usize| peer.iter().find(|p| p.robots == 1 && p.steps == STEPS[i]).map(theirs);
        rows.push(row(&format!("{}, this run", first.version), &found));
    }
    let header = std::iter::once("steps".to_owned()).chain(STEPS.iter().map(usize::to_string)).collect();
    Table { caption: caption.into(), header, rows }
}

/// Iterations, time and lowest loss of every search.
fn search_table(contests: &[Contest]) -> Table {
    let mut rows = Vec::new();
    for Contest { task, descent, rivals } in contests {
        let mut add = |method: &str, trace: &Trace, paper: Option<usize>| {
            let solved = trace.until(task.solved);
            let simulations = solved.and_then(|(n, _)| trace.iterations.get(n - 1)).map(|i| i.simulations);
            let text = |value: Option<String>| value.unwrap_or("–".into());
            rows.push(vec![
                task.name.into(),
                method.into(),
                text(solved.map(|(n, _)| n.to_string())),
                text(trace.settled(task.solved).map(|n| n.to_string())),
                text(paper.map(|n| n.to_string())),
                text(simulations.map(|n| n.to_string())),
                text(solved.map(|(_, seconds)| compact(seconds, 3))),
                compact(trace.lowest(), 3),
            ]);
        };
        add("gradient descent", descent, Some(task.paper.0));
        rivals.iter().for_each(|rival| add(rival.name, &rival.trace, None));
    }
    let header =
        ["task", "method", "iterations", "for good", "paper", "simulations", "seconds", "lowest loss"];
    Table { caption: UNTIL_SOLVED.into(), header: header.map(String::from).to_vec(), rows }
}
