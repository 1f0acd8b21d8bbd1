//! Comparison of runs: which settings did better, and can the seeds that were run tell?
//!
//! Runs of the same settings but for the seed are a group. A group has a curve of a metric over environment
//! steps, mean and 95 % interval over seeds, and a final value. Groups of the same task are compared two by two
//! by Welch's test of means and by the rank test of Mann and Whitney, both corrected for the number of pairs
//! (Holm).
//!
//! The final value of a run is the mean of its reports over the last 5 % of steps. Runs of a group that differ
//! in length are judged where the shortest ends.

mod curve;
mod group;
mod load;

use std::path::PathBuf;

use serde::Serialize;

use super::RunError;
use super::statistics::{
    Estimate, IntervalMethod, MannWhitney, Welch, bootstrap, holm, mann_whitney, mean, welch,
};
pub use curve::Curve;
use group::Members;
use load::Run;

/// Share of the steps at the end that the final value is the mean of.
pub const FINAL_SHARE: f64 = 0.05;

/// What is compared, and how.
#[derive(Clone, Debug, Serialize)]
pub struct CompareOptions {
    /// Column of `metrics.csv`.
    pub metric: String,
    /// Whether small values are good.
    pub lower_is_better: bool,
    /// Steps at which runs are judged; `None` for the end of each group.
    pub at: Option<f64>,
    /// How intervals are made.
    pub interval: IntervalMethod,
}

impl Default for CompareOptions {
    fn default() -> Self {
        let (metric, interval) = ("return_mean".into(), IntervalMethod::Student);
        CompareOptions { metric, lower_is_better: false, at: None, interval }
    }
}

/// Runs that differ in nothing but the seed.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The task.
    pub task: String,
    /// Algorithm and the settings in which groups of the same task and algorithm differ.
    pub label: String,
    /// Folders of the runs.
    pub folders: Vec<PathBuf>,
    /// Seeds of the runs.
    pub seeds: Vec<String>,
    /// Final value of each run.
    pub finals: Vec<f64>,
    /// Mean final value.
    pub last: Estimate,
    /// Best report of each run up to `steps`, mean over runs.
    pub best: f64,
    /// Environment steps at which the group is judged.
    pub steps: f64,
    /// Hours of a run up to `steps`, mean over runs; `None` without a column `seconds`.
    pub hours: Option<f64>,
    /// The metric over steps.
    pub curve: Curve,
}

/// A test with its corrected p value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Corrected<T> {
    /// The test.
    #[serde(flatten)]
    pub test: T,
    /// p by Holm over all pairs of the task.
    pub p_holm: f64,
}

/// Two groups of a task beside each other.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The task.
    pub task: String,
    /// Labels of the groups.
    pub labels: [String; 2],
    /// Mean final value of the first minus that of the second.
    pub difference: f64,
    /// Test of means.
    pub welch: Corrected<Welch>,
    /// Test of ranks; `None` of more than 200 runs.
    pub mann_whitney: Option<Corrected<MannWhitney>>,
}

/// All groups and pairs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What was asked for.
    pub options: CompareOptions,
    /// Groups in the order of the folders given.
    pub groups: Vec<Group>,
    /// Tests of every two groups of the same task with two seeds or more.
    pub pairs: Vec<Pair>,
    /// What a reader should know: single seeds, runs cut short, tests that can show nothing.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Reads run folders, or folders that hold run folders, and compares them.
    pub fn of(folders: &[PathBuf], options: CompareOptions) -> Result<Self, RunError> {
        let mut notes = Vec::new();
        let runs = load::find(folders)?.into_iter().map(|folder| Run::read(&folder, &options.metric));
        let members = group::split(runs.collect::<Result<_, _>>()?)?;
        let groups =
            members.iter().map(|m| summarize(m, &options, &mut notes)).collect::<Result<Vec<Group>, _>>()?;
        let mut pairs = Vec::new();
        for task in tasks(&groups) {
            let of_task: Vec<&Group> = groups.iter().filter(|group| group.task == task).collect();
            let tested = test_pairs(&of_task);
            notes.extend(steps_note(&of_task).into_iter().chain(ranks_note(&tested)));
            pairs.extend(tested);
        }
        Ok(Comparison { options, groups, pairs, notes })
    }

    /// Names of the tasks, each once.
    pub fn tasks(&self) -> Vec<&str> {
        tasks(&self.groups)
    }
}

fn tasks(groups: &[Group]) -> Vec<&str> {
    let mut tasks: Vec<&str> = Vec::new();
    for group in groups {
        if !tasks.contains(&group.task.as_str()) {
            tasks.push(&group.task);
        }
    }
    tasks
}

fn summarize(
    members: &Members,
    options: &CompareOptions,
    notes: &mut Vec<String>,
) -> Result<Group, RunError> {
    let Members { task, label, runs } = members;
    let name = if task.is_empty() { label.clone() } else { format!("{task}, {label}") };
    let ends = || runs.iter().map(Run::end);
    let (shortest, longest) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let steps = options.at.unwrap_or(shortest);
    for run in runs {
        let (folder, from, to) = (run.folder.display(), run.steps[0], run.end());
        if !(from..=to).contains(&steps) {
            return Err(RunError::Compare(format!(
                "{folder} has reports from {from} to {to} steps, none at {steps}"
            )));
        }
    }
    if options.at.is_none() && shortest < 0.99 * longest {
        notes.push(format!(
            "{name}: runs end between {shortest} and {longest} steps; all are judged at {shortest}, \
             where the shortest ends"
        ));
    }
    match runs.len() {
        1 => {
            notes.push(format!("{name} has a single seed: no interval and no test; train it with more seeds"))
        }
        n if n < bootstrap::FEWEST && options.interval == IntervalMethod::Bootstrap => notes.push(format!(
            "{name} has {n} seeds: its interval is Student's, the bootstrap needs {}",
            bootstrap::FEWEST
        )),
        _ => {}
    }
    let finals: Vec<f64> = runs.iter().map(|run| run.mean_before(steps, FINAL_SHARE)).collect();
    let best: Vec<f64> = runs.iter().map(|run| run.best_before(steps, options.lower_is_better)).collect();
    let seconds: Vec<f64> = runs.iter().filter_map(|run| run.seconds_before(steps)).collect();
    Ok(Group {
        task: task.clone(),
        label: label.clone(),
        folders: runs.iter().map(|run| run.folder.clone()).collect(),
        seeds: runs.iter().map(|run| run.seed.clone()).collect(),
        last: Estimate::of(&finals, options.interval),
        finals,
        best: mean(&best),
        steps,
        hours: (!seconds.is_empty()).then(|| mean(&seconds) / 3600.0),
        curve: Curve::of(runs, options.interval),
    })
}

/// Every two groups with two seeds or more.
fn test_pairs(groups: &[&Group]) -> Vec<Pair> {
    let mut tested = Vec::new();
    for (i, a) in groups.iter().enumerate() {
        for b in &groups[i + 1..] {
            if let Some(welch) = welch(&a.finals, &b.finals) {
                tested.push((a, b, welch, mann_whitney(&a.finals, &b.finals)));
            }
        }
    }
    let by_means = holm(&tested.iter().map(|t| t.2.p).collect::<Vec<_>>());
    let by_ranks = holm(&tested.iter().filter_map(|t| Some(t.3?.p)).collect::<Vec<_>>());
    let mut by_ranks = by_ranks.into_iter();
    let pair = |((a, b, welch, ranks), p_holm): ((&&Group, &&Group, Welch, Option<MannWhitney>), f64)| Pair {
        task: a.task.clone(),
        labels: [a.label.clone(), b.label.clone()],
        difference: a.last.mean - b.last.mean,
        welch: Corrected { test: welch, p_holm },
        mann_whitney: ranks.map(|test| Corrected { test, p_holm: by_ranks.next().unwrap_or(1.0) }),
    };
    tested.into_iter().zip(by_means).map(pair).collect()
}

/// Groups of a task that trained for different numbers of steps.
fn steps_note(groups: &[&Group]) -> Option<String> {
    let steps = || groups.iter().map(|group| group.steps);
    let (least, most) = (steps().reduce(f64::min)?, steps().reduce(f64::max)?);
    (least < 0.99 * most).then(|| {
        format!(
            "{}: groups end between {least} and {most} steps; --at {least} judges all there",
            groups[0].task
        )
    })
}

/// Seeds too few for the rank test to show anything.
fn ranks_note(pairs: &[Pair]) -> Option<String> {
    let least = pairs.iter().filter_map(|pair| Some(pair.mann_whitney?.test.least_p)).reduce(f64::min)?;
    let corrected = (least * pairs.len() as f64).min(1.0);
    (corrected > 0.05).then(|| {
        format!(
            "{}: with so few seeds the rank test has p = {corrected:.2} at least, \
             corrected for {} pairs: it can show nothing",
            pairs[0].task,
            pairs.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunRecorder;
    use crate::run::test_folder::TestFolder;
    use serde_json::json;

    /// Runs that rise to `height` with a little of their seed in them.
    fn train(folder: &TestFolder, algorithm: &str, seed: u64, height: f64, epochs: u64) -> PathBuf {
        let path = folder.join(&format!("{algorithm}-{seed}"));
        let config = json!({"task": "hopper", "algorithm": algorithm, "seed": seed, "threads": seed});
        let (mut run, _) = RunRecorder::open(&path, &config).unwrap();
        for epoch in 1..=epochs {
            let x = height * (epoch as f64 / 50.0) + seed as f64;
            run.report(epoch, 1000 * epoch, &[("return_mean", x), ("seconds", 36.0 * epoch as f64)]).unwrap();
        }
        path
    }

    fn compare(folders: &[PathBuf]) -> Result<Comparison, RunError> {
        Comparison::of(folders, CompareOptions::default())
    }

    #[test]
    fn groups_are_summed_up_and_tested() {
        let folder = TestFolder::new("compare");
        for seed in 0..3 {
            train(&folder, "sapo", seed, 100.0, 50);
            train(&folder, "ppo", seed, 20.0, 50);
        }
        let all = compare(&[folder.path().to_owned()]).unwrap();
        assert_eq!(all.tasks(), ["hopper"]);
        let [ppo, sapo] = &all.groups[..] else { panic!("{all:?}") };
        assert_eq!((sapo.label.as_str(), &sapo.seeds[..]), ("sapo", &["0", "1", "2"].map(String::from)[..]));
        // Reports 49 and 50 are the last 5 % of the steps; the seeds add their mean, 1.
        assert!((sapo.last.mean - (100.0 * 48.5 / 50.0 + 1.0 + 1.0)).abs() < 1e-9, "{:?}", sapo.last);
        assert_eq!((sapo.best, sapo.steps, sapo.hours), (101.0, 50_000.0, Some(0.5)));
        assert_eq!(
            (sapo.curve.steps[0], sapo.curve.steps[200], sapo.curve.mean[200]),
            (1000.0, 50_000.0, 101.0)
        );
        let pair = &all.pairs[0];
        assert!((pair.difference - (ppo.last.mean - sapo.last.mean)).abs() < 1e-12);
        assert!(pair.welch.p_holm < 1e-6 && pair.mann_whitney.unwrap().test.p == 0.1);
        assert!(all.notes[0].contains("it can show nothing"), "{:?}", all.notes);
    }

    #[test]
    fn single_seeds_and_runs_cut_short_are_noted() {
        let folder = TestFolder::new("compare-short");
        let runs = [
            train(&folder, "a", 0, 1.0, 50),
            train(&folder, "a", 1, 1.0, 20),
            train(&folder, "b", 0, 1.0, 50),
        ];
        let all = compare(&runs).unwrap();
        assert_eq!((all.pairs.len(), all.groups[0].steps, all.groups[1].steps), (0, 20_000.0, 50_000.0));
        for (note, words) in all.notes.iter().zip(["shortest ends", "single seed", "--at 20000"]) {
            assert!(note.contains(words), "{note}");
        }
        let at = CompareOptions { at: Some(20_000.0), ..Default::default() };
        assert_eq!(Comparison::of(&runs, at).unwrap().notes.len(), 1);
        let late = CompareOptions { at: Some(40_000.0), ..Default::default() };
        assert!(Comparison::of(&runs, late).unwrap_err().to_string().contains("none at 40000"));
    }

    #[test]
    fn errors_say_what_to_do() {
        let folder = TestFolder::new("compare-errors");
        let message = |folders: &[PathBuf]| compare(folders).unwrap_err().to_string();
        assert!(message(&[folder.path().to_owned()]).contains("no metrics.csv in"));
        assert!(message(&[folder.join("none")]).contains("is no folder"));
        let run = train(&folder, "a", 0, 1.0, 3);
        let metric = CompareOptions { metric: "reward".into(), ..Default::default() };
        let error = Comparison::of(std::slice::from_ref(&run), metric).unwrap_err().to_string();
        assert!(
            error.contains("no column `reward`; there are epoch, steps, return_mean, seconds"),
            "{error}"
        );
        std::fs::remove_file(run.join("config.json")).unwrap();
        assert!(message(&[run]).contains("runs are told apart by it"));
    }
}
