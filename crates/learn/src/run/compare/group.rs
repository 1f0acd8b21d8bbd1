//! Groups of runs that differ in nothing but the seed, and labels that tell them apart.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use super::load::plain;
use crate::run::RunError;

/// Runs of a group, before they are summed up.
#[derive(Debug)]
pub(super) struct Members {
    pub task: String,
    pub label: String,
    pub runs: Vec<Run>,
}

/// Splits runs by task, algorithm and settings. The label is the algorithm with the settings that differ among
/// runs of the same task and algorithm: what differs between algorithms alone goes without saying.
pub(super) fn split(runs: Vec<Run>) -> Result<Vec<Members>, RunError> {
    let differing: Vec<BTreeMap<String, String>> =
        runs.iter().map(|run| differing_settings(run, runs.iter().filter(|r| alike(r, run)))).collect();
    let mut groups: Vec<Members> = Vec::new();
    for (run, differing) in runs.into_iter().zip(differing) {
        let same =
            |group: &&mut Members| alike(&group.runs[0], &run) && group.runs[0].settings == run.settings;
        match groups.iter_mut().find(same) {
            None => {
                let (task, label) = (run.task.clone(), label(&run, &differing));
                groups.push(Members { task, label, runs: vec![run] });
            }
            Some(group) => {
                if let Some(twin) = group.runs.iter().find(|r| r.seed == run.seed) {
                    return Err(RunError::Compare(format!(
                        "{} and {} have the same settings and seed: give one of them",
                        twin.folder.display(),
                        run.folder.display()
                    )));
                }
                group.runs.push(run);
            }
        }
    }
    Ok(groups)
}

fn alike(a: &Run, b: &Run) -> bool {
    a.task == b.task && a.algorithm == b.algorithm
}

/// Settings of `run` that differ among `others`, as text.
fn differing_settings<'a>(run: &Run, others: impl Iterator<Item = &'a Run>) -> BTreeMap<String, String> {
    let mut paths = BTreeSet::new();
    for other in others {
        let all = run.settings.keys().chain(other.settings.keys());
        paths.extend(all.filter(|path| run.settings.get(*path) != other.settings.get(*path)));
    }
    let text = |path: &String| run.settings.get(path).map_or_else(|| "none".to_owned(), plain);
    paths.into_iter().map(|path| (path.clone(), text(path))).collect()
}

/// `sapo rate=0.001`: a path is cut to its last part where that says which it is.
fn label(run: &Run, differing: &BTreeMap<String, String>) -> String {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let name = |path: &String| match differing.keys().filter(|other| last(other) == last(path)).count() {
        1 => last(path),
        _ => path.clone(),
    };
    let settings = differing.iter().map(|(path, value)| format!("{}={value}", name(path)));
    let algorithm = Some(run.algorithm.clone()).filter(|algorithm| !algorithm.is_empty());
    let parts: Vec<String> = algorithm.into_iter().chain(settings).collect();
    if parts.is_empty() { "runs".into() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::config::leaves;
    use serde_json::{Value, json};

    fn run(config: Value) -> Run {
        let text = |key: &str| config.get(key).map(plain).unwrap_or_default();
        let mut settings = leaves(&config);
        settings.retain(|path, _| !["task", "algorithm", "seed"].contains(&path.as_str()));
        Run {
            folder: text("seed").into(),
            task: text("task"),
            algorithm: text("algorithm"),
            seed: text("seed"),
            settings,
            steps: vec![1.0],
            values: vec![1.0],
            seconds: vec![1.0],
        }
    }

    fn labels(configs: Vec<Value>) -> Vec<(String, usize)> {
        let groups = split(configs.into_iter().map(run).collect()).unwrap();
        groups.into_iter().map(|group| (group.label, group.runs.len())).collect()
    }

    #[test]
    fn labels_name_what_differs_within_an_algorithm() {
        let configs = vec![
            json!({"task": "ant", "algorithm": "sapo", "seed": 0, "actor": {"rate": 0.1}, "horizon": 32}),
            json!({"task": "ant", "algorithm": "sapo", "seed": 1, "actor": {"rate": 0.1}, "horizon": 32}),
            json!({"task": "ant", "algorithm": "sapo", "seed": 0, "actor": {"rate": 0.2}, "horizon": 32}),
            json!({"task": "ant", "algorithm": "ppo", "seed": 0, "clip": 0.2}),
        ];
        let expected = [("sapo rate=0.1", 2), ("sapo rate=0.2", 1), ("ppo", 1)];
        assert_eq!(labels(configs), expected.map(|(label, n)| (label.to_owned(), n)));
    }

    #[test]
    fn paths_stay_whole_where_their_ends_are_the_same() {
        let configs = vec![
            json!({"seed": 0, "actor": {"rate": 0.1}, "critic": {"rate": 0.3}}),
            json!({"seed": 0, "actor": {"rate": 0.2}, "critic": {"rate": 0.4}}),
        ];
        assert_eq!(labels(configs)[0].0, "actor.rate=0.1 critic.rate=0.3");
    }

    #[test]
    fn the_same_run_twice_is_refused() {
        let twice = vec![run(json!({"seed": 7})), run(json!({"seed": 7}))];
        let message = split(twice).unwrap_err().to_string();
        assert!(message.contains("same settings and seed"), "{message}");
    }
}
