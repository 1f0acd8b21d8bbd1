//! `pullback reproduce sapo`: returns of SAPO and its rivals beside the paper's, on our own simulator.
//!
//! Every run is a folder of `pullback train`; what was killed goes on, what is done is not run again.

use std::path::{Path, PathBuf};

use pullback_learn::run::compare::{CompareOptions, Comparison};
use pullback_learn::run::statistics::{Estimate, IntervalMethod};
use pullback_learn::train::TrainOptions;
use pullback_plot::{Report, Section, Table, compact};
use pullback_tasks::{Goal, Results};

use super::Summary;
use super::contender::Contender;
use crate::args::ReproduceOptions;
use crate::commands::compare::figure;
use crate::commands::train::{Summary as Trained, threads};
use crate::output::{CliError, Output};

const fn contender(
    task: &'static str,
    algorithm: &'static str,
    label: &'static str,
    paper: (f64, f64),
    seeds: (u64, u64),
) -> Contender {
    Contender { task, algorithm, label, preset: None, changes: &[], seeds, epochs: None, paper: Some(paper) }
}

/// Tables 13, 14 (on the ant) and 2.
const CONTENDERS: &[Contender] = &[
    contender("hopper", "sapo", "SAPO", (5060.0, 18.0), (3, 1)),
    contender("hopper", "shac", "SHAC", (4939.0, 3.0), (3, 1)),
    Contender {
        changes: &[("critic.lr", "0.0002")],
        paper: None,
        ..contender("hopper", "sapo", "SAPO, our settings", (0.0, 0.0), (3, 1))
    },
    contender("hopper", "apg", "APG", (590.0, 3.0), (1, 0)),
    contender("hopper", "ppo", "PPO", (3155.0, 30.0), (1, 0)),
    contender("hopper", "sac", "SAC", (3833.0, 50.0), (1, 0)),
    contender("ant", "sapo", "SAPO", (8610.0, 40.0), (3, 1)),
    Contender {
        changes: &[("critic.lr", "0.002")],
        paper: None,
        ..contender("ant", "sapo", "SAPO, our settings", (0.0, 0.0), (3, 1))
    },
    contender("ant", "shac", "SHAC", (7779.0, 70.0), (3, 1)),
    Contender {
        preset: Some("diffrl-ant"),
        ..contender("ant", "shac", "SHAC, as its code has it", (7779.0, 70.0), (3, 1))
    },
    contender("ant", "apg", "APG", (368.0, 11.0), (1, 0)),
    contender("ant", "ppo", "PPO", (3883.0, 60.0), (1, 0)),
    contender("ant", "sac", "SAC", (3366.0, 25.0), (1, 0)),
    Contender {
        changes: &[("entropy.soft_value", "false")],
        ..contender("ant", "sapo", "SAPO without soft value", (7729.0, 52.0), (1, 0))
    },
    Contender {
        changes: &[("entropy", "null")],
        ..contender("ant", "sapo", "SAPO without entropy", (7897.0, 30.0), (1, 0))
    },
    contender("humanoid", "sapo", "SAPO", (8469.0, 58.0), (3, 0)),
    contender("humanoid", "shac", "SHAC", (8256.0, 74.0), (3, 0)),
    contender("humanoid", "ppo", "PPO", (414.0, 45.0), (1, 0)),
    contender("humanoid", "sac", "SAC", (4628.0, 120.0), (1, 0)),
    contender("snu-humanoid", "sapo", "SAPO", (6427.0, 53.0), (1, 0)),
    contender("snu-humanoid", "shac", "SHAC", (5755.0, 67.0), (1, 0)),
    contender("snu-humanoid", "ppo", "PPO", (135.0, 3.0), (1, 0)),
    contender("snu-humanoid", "sac", "SAC", (846.0, 44.0), (1, 0)),
    contender("ant-run", "sapo", "SAPO", (4535.9, 24.5), (1, 0)),
    contender("ant-run", "shac", "SHAC", (3621.0, 54.4), (1, 0)),
    part_of("hand-reorient", 200, (221.7, 9.5)),
    part_of("rolling-flat", 20, (100.4, 0.4)),
    part_of("soft-jumper", 60, (1820.5, 47.9)),
    part_of("hand-flip", 20, (90.0, 2.2)),
    part_of("fluid-move", 20, (30.6, 0.4)),
];

/// SAPO on a task whose whole budget takes a day or more on two cores, for its first epochs.
const fn part_of(task: &'static str, epochs: usize, paper: (f64, f64)) -> Contender {
    Contender { epochs: Some(epochs), ..contender(task, "sapo", "SAPO, first epochs", paper, (1, 0)) }
}

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let (folder, _lock) = output.run_folder("reproduce-sapo")?;
    let mut found: Vec<(&Contender, Vec<Trained>, Vec<PathBuf>)> = Vec::new();
    for contender in CONTENDERS {
        let usual = if options.quick { contender.seeds.1 } else { contender.seeds.0 };
        let seeds = options.seeds.map_or(usual, |asked| if usual == 0 { 0 } else { asked });
        let (mut runs, mut folders) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let place = contender.folder(&folder, seed);
            let how = TrainOptions { stop_after: contender.epochs, ..TrainOptions::default() };
            runs.push(contender.train(seed, &place, (how, threads(0)), output)?);
            folders.push(place);
        }
        if !runs.is_empty() {
            found.push((contender, runs, folders));
        }
    }
    let mut results = Results::new("sapo");
    for (contender, runs, _) in &found {
        contender.report(runs, &mut results);
    }
    add_goals(&found, &mut results);
    results.notes.push(
        "Returns are means over 128 episodes per seed with mean actions; the paper's are over ten seeds on its own \
         simulator, whose robots have other sizes where they are unpublished (humanoid, muscles). Intervals are Student's."
            .into(),
    );
    let files = pages(&found, &results, &folder, output)?;
    Summary { results, files }.print(output)
}

type Found<'a> = [(&'a Contender, Vec<Trained>, Vec<PathBuf>)];

/// The best mean return of an algorithm on a task.
fn best(found: &Found<'_>, task: &str, algorithm: &str) -> Option<f64> {
    let of = found.iter().filter(|(c, _, _)| c.task == task && c.algorithm == algorithm);
    of.map(|(_, runs, _)| runs.iter().map(|run| run.return_mean).sum::<f64>() / runs.len() as f64)
        .reduce(f64::max)
}

/// SAPO is as good as the paper's on hopper and ant, and better than SHAC.
fn add_goals(found: &Found<'_>, results: &mut Results) {
    for (task, paper, interval) in [("hopper", 5060.0, 18.0), ("ant", 8610.0, 40.0)] {
        if let (Some(sapo), Some(shac)) = (best(found, task, "sapo"), best(found, task, "shac")) {
            results.goals.push(Goal::at_least(
                format!("{task}: SAPO's best settings, the paper's return within its interval"),
                sapo,
                paper - interval,
            ));
            results.goals.push(Goal::at_least(
                format!("{task}: SAPO over SHAC, best settings of each"),
                sapo,
                shac,
            ));
        }
    }
}

/// Curves and tables.
fn pages(
    found: &Found<'_>,
    results: &Results,
    folder: &Path,
    output: &Output,
) -> Result<Vec<PathBuf>, CliError> {
    let mut report = Report::new(
        "Policies learned through the physics",
        "SAPO (Xing, Luk and Oh, ICLR 2025), Tables 13 and 14, on our own simulator",
    );
    let folders: Vec<PathBuf> = found.iter().flat_map(|(_, _, folders)| folders.clone()).collect();
    let comparison = Comparison::of(&folders, CompareOptions::default())?;
    let (picture, index, data) =
        (folder.join("curves.png"), folder.join("index.html"), folder.join("results.json"));
    let curves = figure(&comparison);
    curves.save_png(&picture)?;
    let rows = found.iter().map(|(contender, runs, _)| {
        let returns: Vec<f64> = runs.iter().map(|run| run.return_mean).collect();
        let estimate = Estimate::of(&returns, IntervalMethod::Student);
        let interval =
            estimate.interval.map_or("one seed".into(), |(low, high)| compact(0.5 * (high - low), 3));
        let minutes = runs.iter().map(|run| run.seconds).sum::<f64>() / runs.len() as f64 / 60.0;
        vec![
            contender.task.to_owned(),
            contender.label.to_owned(),
            runs.len().to_string(),
            compact(estimate.mean, 5),
            interval,
            contender.paper.map_or_else(String::new, |(mean, half)| match half {
                0.0 => format!("{mean}"),
                half => format!("{mean} ± {half}"),
            }),
            compact(minutes, 3),
        ]
    });
    let header = ["task", "algorithm", "seeds", "return", "±", "paper", "minutes"].map(String::from).to_vec();
    let table =
        Table { caption: "Mean actions, 128 episodes per seed.".into(), header, rows: rows.collect() };
    let caption = "Return of training episodes over environment steps, mean and 95 % interval over seeds.";
    report.sections.push(
        Section::new("Returns")
            .figure(&curves, caption, "Curves of returns over steps, one panel per task.")?
            .table(table),
    );
    report.footer = results.notes.join(" ");
    report.save(&index)?;
    output.write(&data, serde_json::to_string_pretty(results)?.as_bytes())?;
    Ok(vec![index, data, picture])
}
