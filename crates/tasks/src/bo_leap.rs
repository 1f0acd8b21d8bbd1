//! BO-Leap, Figs. 2 to 7: six search methods on the suite, the lowest loss after a budget of simulations,
//! mean and 95 % interval over seeds.
//!
//! Runs are independent and logged one by one in a folder; what is there already is read back, so that an
//! interrupted comparison goes on, and a larger one reuses a smaller one's runs of the same budget.

use std::path::{Path, PathBuf};

use pullback_core::files::noting_inputs;
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::BO_LEAP;
use pullback_optim::search::{Search, SearchError, Spread, lowest_so_far};
use pullback_optim::{LineLog, RunName, methods};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::objectives;
use crate::results::{Goal, Results, Row};

/// The methods of the paper, and plain Bayesian optimization beside them.
pub const METHODS: [&str; 6] = ["random", "cma-es", "rand-descents", "bo", "bo-descents", "bo-leap"];

/// What the paper says of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Gradients help: BO-Leap has the lowest loss.
    Lowest,
    /// Gradients are poor: methods with them have no clear advantage.
    Limited,
}

/// Tasks of the suite, where the paper shows them, and what it says.
pub const TASKS: Registry<Claim> = Registry::new("task of BO-Leap", &[TABLE]);

const TABLE: &[Entry<Claim>] = &[
    lowest("cartpole", "Fig. 2"),
    lowest("cartpole-3link", "Fig. 2"),
    lowest("fluid", "Fig. 3"),
    lowest("rope", "Fig. 4"),
    lowest("rollingpin", "Fig. 5"),
    lowest("assembly", "Fig. 5"),
    lowest("pinch", "Fig. 5"),
    lowest("table", "Fig. 5"),
    lowest("torus", "Fig. 5"),
    lowest("triplemove", "Fig. 5"),
    lowest("writer", "Fig. 5"),
    lowest("cloth-lift", "Fig. 6"),
    limited("pinball-2", "Fig. 7"),
    limited("pinball-16", "Fig. 7"),
    limited("bounce", "Fig. B.1"),
    limited("swing-3-single", "Fig. 7"),
    limited("swing-16-single", "Fig. 7"),
    limited("flip", "Fig. 7"),
];

/// A task on which BO-Leap is said to be lowest.
const fn lowest(task: &'static str, figure: &'static str) -> Entry<Claim> {
    Entry::cited(task, "gradients help: BO-Leap has the lowest loss", BO_LEAP.at(figure), Claim::Lowest)
}

/// A task on which gradients are said to help little.
const fn limited(task: &'static str, figure: &'static str) -> Entry<Claim> {
    Entry::cited(task, "gradients are poor: no clear advantage", BO_LEAP.at(figure), Claim::Limited)
}

/// What to run.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Tasks by name.
    pub tasks: Vec<String>,
    /// Seeds 0 to this.
    pub seeds: u64,
    /// Simulations per run.
    pub budget: usize,
}

/// How one run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The task.
    pub task: String,
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// Simulations run.
    pub episodes: usize,
    /// How many of them failed.
    pub failures: usize,
    /// Settings of the method.
    pub settings: String,
    /// The lowest loss.
    pub loss: f64,
    /// Lowest loss after each tenth of the budget; none where every simulation had failed.
    pub progress: Vec<Option<f64>>,
}

/// A comparison that could not be carried out.
#[derive(Debug, Error)]
pub enum CompareError {
    /// A run failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// No simulation of a run succeeded.
    #[error("{task} by {method}: {why}")]
    Failed {
        /// The task.
        task: String,
        /// The method.
        method: String,
        /// What the first failure said.
        why: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Runs what is missing, seed after seed; `tick` after each run, from any thread.
pub fn compare(
    plan: &Plan,
    folder: &Path,
    tick: impl Fn(&RunResult) + Sync,
) -> Result<Vec<RunResult>, CompareError> {
    let mut ended = Vec::new();
    // Seeds outermost: an interrupted comparison has all methods at the same number of seeds.
    for seed in 0..plan.seeds {
        let runs: Vec<(&String, &str)> =
            plan.tasks.iter().flat_map(|task| METHODS.iter().map(move |method| (task, *method))).collect();
        let of_seed: Result<Vec<RunResult>, CompareError> = runs
            .par_iter()
            .with_max_len(1)
            .map(|(task, method)| {
                let one = run_or_read(task, method, seed, plan.budget, folder)?;
                tick(&one);
                Ok(one)
            })
            .collect();
        ended.extend(of_seed?);
    }
    Ok(ended)
}

fn run_or_read(
    task: &str,
    method: &str,
    seed: u64,
    budget: usize,
    folder: &Path,
) -> Result<RunResult, CompareError> {
    let folder = folder.join(task);
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| CompareError::File { path, source }
    };
    std::fs::create_dir_all(&folder).map_err(file(&folder))?;
    let method_by = methods::build(method, &Value::Null).map_err(SearchError::from)?;
    let name = RunName::new(task, format!("{}, budget {budget}", method_by.settings()), seed);
    // The result is a log of one line; without it there is the log of the search.
    let done = folder.join(format!("{method}-{seed}-{budget}.jsonl"));
    let (mut done, kept) = LineLog::open::<RunResult>(&done, &name).map_err(SearchError::from)?;
    if let Some(ended) = kept.into_iter().next() {
        return Ok(ended);
    }
    let (objective, inputs) = noting_inputs(|| objectives::build(task));
    let objective = objective.map_err(SearchError::from)?;
    let log = folder.join(format!("{method}-{seed}-{budget}-search.jsonl"));
    let (objective, method_by) = (objective.as_ref(), method_by.as_ref());
    let search = Search { objective, task, inputs: &inputs, method: method_by, budget, seed };
    let found = search.run(Some(&log), |_, _| ())?;
    let lowest = lowest_so_far(&found.losses);
    let tenth = |k: usize| lowest.get((k * budget / 10).max(1) - 1).or(lowest.last()).copied();
    let Some(loss) = lowest.last().copied().filter(|loss| loss.is_finite()) else {
        return Err(CompareError::Failed {
            task: task.to_owned(),
            method: method.to_owned(),
            why: found.failures.words(found.losses.len()).unwrap_or_else(|| "nothing was simulated".into()),
        });
    };
    let ended = RunResult {
        task: task.to_owned(),
        method: method.to_owned(),
        seed,
        episodes: found.losses.len(),
        failures: found.failures.count,
        settings: found.settings,
        loss,
        progress: (1..=10).filter_map(tenth).map(|loss| Some(loss).filter(|loss| loss.is_finite())).collect(),
    };
    done.add(&ended).and_then(|()| done.sync()).map_err(SearchError::from)?;
    // The log has served: gradients of every episode take megabytes.
    std::fs::remove_file(&log).map_err(file(&log))?;
    Ok(ended)
}

/// Mean and interval of one method on one task.
pub fn spread(ended: &[RunResult], task: &str, method: &str) -> Option<Spread> {
    let losses: Vec<f64> =
        ended.iter().filter(|e| e.task == task && e.method == method).map(|e| e.loss).collect();
    (!losses.is_empty()).then(|| Spread::of(&losses))
}

/// Rows, and for each task that the paper gives to BO-Leap the goal that it is lowest or tied.
pub fn results(plan: &Plan, ended: &[RunResult]) -> Results {
    let mut results = Results::new("bo-leap");
    for entry in TASKS.entries().filter(|entry| plan.tasks.iter().any(|task| task == entry.name)) {
        let (task, figure) = (entry.name, entry.source.and_then(|source| source.place).unwrap_or_default());
        let spreads: Vec<(&str, Spread)> =
            METHODS.iter().filter_map(|m| Some((*m, spread(ended, task, m)?))).collect();
        for (method, s) in &spreads {
            let case = format!("{task} ({figure}), {method}");
            for (metric, value) in
                [("mean lowest loss", s.mean), ("half width of the 95 % interval", s.half_width)]
            {
                let (case, metric, unit) = (case.clone(), metric.to_owned(), "1".to_owned());
                results.rows.push(Row { case, metric, value, unit, peer: None, peer_name: None });
            }
        }
        let Some((_, leap)) = spreads.iter().find(|(m, _)| *m == "bo-leap") else { continue };
        let tied = spreads.iter().filter(|(m, s)| *m == "bo-leap" || leap.below_or_tied(s)).count();
        if entry.value == Claim::Lowest {
            let name = format!("{task}: methods that BO-Leap is below or tied with, itself among them");
            results.goals.push(Goal::at_least(name, tied as f64, spreads.len() as f64));
        }
    }
    results.notes.push(format!(
        "{} seeds of {} simulations each; intervals by Student's t; tied: Welch's test at 5 % cannot tell the means apart",
        plan.seeds, plan.budget
    ));
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known() {
        TASKS.names().for_each(|task| assert!(objectives::TASKS.find(task).is_ok(), "{task}"));
        METHODS.iter().for_each(|method| assert!(methods::METHODS.find(method).is_ok(), "{method}"));
    }
}
