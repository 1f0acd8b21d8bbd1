//! Runs as they stand on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pullback_core::files;
use pullback_core::registry::did_you_mean;
use serde_json::Value;

use crate::run::config::leaves;
use crate::run::folder::CONFIG_FILE;
use crate::run::metrics::METRICS_FILE;
use crate::run::{MetricsTable, RunError};

/// Folders within folders that are searched for runs.
const DEPTH: usize = 3;

/// One run: its settings, and a metric over steps.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub folder: PathBuf,
    pub task: String,
    pub algorithm: String,
    pub seed: String,
    /// Settings other than task, algorithm, seed and threads, by path.
    pub settings: BTreeMap<String, Value>,
    /// Environment steps of each report that has the metric; they do not fall.
    pub steps: Vec<f64>,
    pub values: Vec<f64>,
    /// Wall time of each report, s; NaN where it is not known.
    pub seconds: Vec<f64>,
}

/// Folders with metrics among those given and those within them, each once.
pub(super) fn find(folders: &[PathBuf]) -> Result<Vec<PathBuf>, RunError> {
    let mut found = Vec::new();
    for folder in folders {
        if !folder.is_dir() {
            return Err(RunError::Compare(format!(
                "{} is no folder: give folders of runs",
                folder.display()
            )));
        }
        let before = found.len();
        search(folder, DEPTH, &mut found)?;
        if found.len() == before {
            return Err(RunError::Compare(format!(
                "no {METRICS_FILE} in {} or in folders within it: give a folder that training wrote to",
                folder.display()
            )));
        }
    }
    let mut seen = Vec::new();
    found.retain(|folder| {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
    Ok(found)
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), RunError> {
    if folder.join(METRICS_FILE).is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let entries = fs::read_dir(folder).map_err(RunError::file(folder))?;
    let mut inner: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_dir()).collect();
    inner.sort();
    inner.iter().try_for_each(|folder| search(folder, depth - 1, found))
}

impl Run {
    pub fn read(folder: &Path, metric: &str) -> Result<Self, RunError> {
        let path = folder.join(CONFIG_FILE);
        let text = files::read_to_string(&path).map_err(|e| {
            let example = r#"{"task": "ant", "algorithm": "sapo", "seed": 0}"#;
            RunError::content(
                &path,
                format!("cannot be read ({e}); runs are told apart by it, as in {example}"),
            )
        })?;
        let config: Value =
            serde_json::from_str(&text).map_err(|e| RunError::content(&path, format!("is no JSON: {e}")))?;
        let mut settings = leaves(&config);
        let mut take = |name: &str| settings.remove(name).map_or_else(String::new, |value| plain(&value));
        let (task, algorithm, seed) = (take("task"), take("algorithm"), take("seed"));
        // Results do not depend on the number of threads.
        take("threads");

        let path = folder.join(METRICS_FILE);
        let table = MetricsTable::read(&path)?;
        let column = |name: &str| {
            table.column(name).ok_or_else(|| {
                RunError::content(
                    &path,
                    format!(
                        "has no column `{name}`{}; there are {}",
                        did_you_mean(name, table.columns.iter().map(String::as_str)),
                        table.columns.join(", ")
                    ),
                )
            })
        };
        let (all_steps, all_values) = (column("steps")?, column(metric)?);
        let all_seconds = table.column("seconds").unwrap_or_else(|| vec![f64::NAN; table.rows.len()]);
        let (mut steps, mut values, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
        for i in (0..table.rows.len()).filter(|i| all_steps[*i].is_finite() && all_values[*i].is_finite()) {
            steps.push(all_steps[i]);
            values.push(all_values[i]);
            seconds.push(all_seconds[i]);
        }
        if steps.is_empty() {
            return Err(RunError::content(
                &path,
                format!("has no report of `{metric}` yet: wait, or leave it out"),
            ));
        }
        if steps.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err(RunError::content(&path, "has steps that fall: it holds rows of several runs"));
        }
        Ok(Run { folder: folder.to_owned(), task, algorithm, seed, settings, steps, values, seconds })
    }

    /// Steps of the last report.
    pub fn end(&self) -> f64 {
        self.steps[self.steps.len() - 1]
    }

    /// Mean of the reports over the last `share` of the first `steps` steps; the last one at least.
    pub fn mean_before(&self, steps: f64, share: f64) -> f64 {
        let last = self.reports(steps);
        let first = self.steps.partition_point(|s| *s <= steps - share * steps).min(last - 1);
        crate::run::statistics::mean(&self.values[first..last])
    }

    /// The best report of the first `steps` steps.
    pub fn best_before(&self, steps: f64, lower_is_better: bool) -> f64 {
        let better = if lower_is_better { f64::min } else { f64::max };
        self.values[..self.reports(steps)].iter().copied().reduce(better).unwrap_or(f64::NAN)
    }

    /// Wall time of the first `steps` steps, s.
    pub fn seconds_before(&self, steps: f64) -> Option<f64> {
        self.seconds[..self.reports(steps)].iter().copied().rfind(|seconds| seconds.is_finite())
    }

    /// How many reports the first `steps` steps have; one at least.
    fn reports(&self, steps: f64) -> usize {
        self.steps.partition_point(|s| *s <= steps).max(1)
    }

    /// The metric at `steps`, linear between reports and constant before the first and after the last.
    pub fn value_at(&self, steps: f64) -> f64 {
        let after = self.steps.partition_point(|s| *s <= steps);
        if after == 0 {
            return self.values[0];
        }
        let before = after - 1;
        if after == self.steps.len() {
            return self.values[before];
        }
        let t = (steps - self.steps[before]) / (self.steps[after] - self.steps[before]);
        self.values[before] + t * (self.values[after] - self.values[before])
    }
}

/// Text without quotes.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(steps: &[f64], values: &[f64]) -> Run {
        Run {
            folder: PathBuf::new(),
            task: String::new(),
            algorithm: String::new(),
            seed: String::new(),
            settings: BTreeMap::new(),
            steps: steps.to_vec(),
            values: values.to_vec(),
            seconds: vec![f64::NAN; steps.len()],
        }
    }

    #[test]
    fn values_are_linear_between_reports() {
        let run = run(&[10.0, 20.0, 40.0], &[1.0, 2.0, -2.0]);
        let at = [0.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0].map(|steps| run.value_at(steps));
        assert_eq!(at, [1.0, 1.0, 1.5, 2.0, 0.0, -2.0, -2.0]);
        assert_eq!((run.best_before(40.0, false), run.best_before(40.0, true), run.end()), (2.0, -2.0, 40.0));
        assert_eq!((run.best_before(39.0, true), run.seconds_before(40.0)), (1.0, None));
    }

    #[test]
    fn the_final_value_is_a_mean_over_the_last_steps() {
        let steps: Vec<f64> = (1..=100).map(f64::from).collect();
        let run = run(&steps, &steps);
        assert_eq!(run.mean_before(100.0, 0.05), 98.0);
        assert_eq!(run.mean_before(100.0, 0.0), 100.0);
        assert_eq!(run.mean_before(40.0, 0.05), 39.5);
        assert_eq!(run.mean_before(1.0, 0.05), 1.0);
    }
}
