//! [`Contender`]: runs of one algorithm on one task, and its row beside the paper's.
//!
//! Every run is a folder of `pullback train`; what was killed goes on, what is done is not run again.

use std::path::{Path, PathBuf};

use pullback_core::{ConfigError, files};
use pullback_learn::algorithm::ALGORITHMS;
use pullback_learn::algorithm::presets::preset;
use pullback_learn::algorithm::table::change;
use pullback_learn::run::statistics::{Estimate, IntervalMethod};
use pullback_learn::train::TrainOptions;
use pullback_tasks::Results;
use pullback_tasks::results::Row;
use serde_json::Value;

use crate::commands::train::{PrecisionName, RunConfig, Summary as Trained, VERSION, run_in};
use crate::output::{CliError, Output};

/// Runs of one algorithm on one task.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    pub task: &'static str,
    pub algorithm: &'static str,
    /// What it is called in tables; one of a kind per task.
    pub label: &'static str,
    /// The preset, if not that of the task.
    pub preset: Option<&'static str>,
    /// Settings that differ from the preset's.
    pub changes: &'static [(&'static str, &'static str)],
    /// Seeds, in full and if time is short.
    pub seeds: (u64, u64),
    /// Epochs, if fewer than the paper's.
    pub epochs: Option<usize>,
    /// The paper's mean and half of its interval; 0 where it gives none here.
    pub paper: Option<(f64, f64)>,
}

impl Contender {
    fn config(&self, seed: u64) -> Result<RunConfig, ConfigError> {
        let (preset_name, preset) = preset(self.task, self.preset)?;
        let mut settings = (ALGORITHMS.find(self.algorithm)?.value.settings)(&preset);
        for (path, text) in self.changes {
            change(&mut settings, path, serde_json::from_str(text).unwrap_or(Value::Null))?;
        }
        Ok(RunConfig {
            task: self.task.into(),
            algorithm: self.algorithm.into(),
            preset: preset_name.into(),
            seed,
            precision: PrecisionName::F32,
            shard: 16,
            settings,
            version: VERSION.into(),
        })
    }

    /// The folder of a run within `all`: what is run, and its seed.
    pub fn folder(&self, all: &Path, seed: u64) -> PathBuf {
        let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
        let label: String = self.label.to_lowercase().chars().map(plain).collect();
        all.join(format!("{}-{}-{seed}", self.task, label.replace("--", "-")))
    }

    /// Trains in a folder, or reads what was found there before.
    pub fn train(
        &self,
        seed: u64,
        folder: &Path,
        (how, threads): (TrainOptions, usize),
        output: &Output,
    ) -> Result<Trained, CliError> {
        let config = self.config(seed)?;
        match finished(folder, &config) {
            Some(done) if done.epochs >= how.stop_after.unwrap_or(0) => Ok(done),
            _ => run_in(&config, folder, how, threads, output),
        }
    }

    /// Adds the mean return beside the paper's, and what the runs took.
    pub fn report(&self, runs: &[Trained], results: &mut Results) {
        let returns: Vec<f64> = runs.iter().map(|run| run.return_mean).collect();
        let estimate = Estimate::of(&returns, IntervalMethod::Student);
        let case = format!("{}, {}", self.task, self.label);
        results.rows.push(Row {
            case: case.clone(),
            metric: "return".into(),
            value: estimate.mean,
            unit: "1".into(),
            peer: self.paper.map(|paper| paper.0),
            peer_name: self.paper.map(|_| "paper".into()),
        });
        if let Some((low, high)) = estimate.interval {
            results.row(&case, "half of the 95 % interval over seeds", 0.5 * (high - low), "1");
        }
        results.row(&case, "seeds", returns.len() as f64, "1");
        let mean = |of: fn(&Trained) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        results.row(&case, "return with noise", mean(|run| run.stochastic_return_mean), "1");
        results.row(&case, "steps", mean(|run| run.steps as f64), "1");
        results.row(&case, "minutes", mean(|run| run.seconds) / 60.0, "min");
    }
}

/// The result of a run that is over.
fn finished(folder: &Path, config: &RunConfig) -> Option<Trained> {
    let stored: RunConfig = serde_json::from_slice(&files::read(&folder.join("config.json")).ok()?).ok()?;
    let same = serde_json::to_value(&stored).ok()? == serde_json::to_value(config).ok()?;
    let result = files::read(&folder.join("result.json")).ok()?;
    serde_json::from_slice(&result).ok().filter(|_| same)
}
