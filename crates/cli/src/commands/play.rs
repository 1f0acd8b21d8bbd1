//! `pullback play`: the policy of a run in whole episodes, and a page that plays one of them.

use std::path::PathBuf;

use pullback_core::{ConfigError, files};
use pullback_learn::evaluate::evaluate;
use pullback_learn::run::RunFolder;
use pullback_plot::compact;
use serde::Serialize;

use super::train::{RunConfig, threads};
use crate::args::PlayOptions;
use crate::output::{CliError, Output};

#[derive(Serialize)]
struct Summary {
    task: String,
    algorithm: String,
    /// Epochs that the policy has learned for.
    epoch: usize,
    seed: u64,
    stochastic: bool,
    return_mean: f64,
    return_interval: f64,
    returns: Vec<f64>,
    lengths: Vec<usize>,
    files: Vec<PathBuf>,
}

pub fn run(options: &PlayOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let folder = &options.folder;
    let path = folder.join("config.json");
    let text = files::read_to_string(&path).map_err(|e| {
        ConfigError::new(format!("{}: {e}; give the folder of a run of `pullback train`", path.display()))
    })?;
    let config: RunConfig = serde_json::from_str(&text)
        .map_err(|e| ConfigError::new(format!("{}: {e}; is this the folder of a run?", path.display())))?;
    let environment = config.environment()?;
    let mut algorithm = config.algorithm(&*environment)?;
    let restored = RunFolder::peek(folder)?
        .ok_or_else(|| ConfigError::new(format!("{}: no checkpoint yet; train longer", folder.display())))?;
    if let Some(note) = &restored.note {
        eprintln!("note: {note}");
    }
    algorithm.load(&restored.checkpoint)?;
    let mut env = config.vec_env(&*environment, options.episodes.max(1), threads(options.threads))?;
    let watched = options.watch.min(options.episodes.max(1) - 1);
    let found = evaluate(algorithm.actor(), &mut env, seed, options.stochastic, Some(watched))?;
    let (return_mean, return_interval) = found.mean();
    let to = output.out.clone().unwrap_or_else(|| folder.clone());
    let page = to.join("replay.html");
    let saved = environment.replay(&found.states).save(&page);
    saved.map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?;
    let summary = Summary {
        task: config.task,
        algorithm: config.algorithm,
        epoch: algorithm.epoch(),
        seed,
        stochastic: options.stochastic,
        return_mean,
        return_interval,
        returns: found.returns,
        lengths: found.lengths,
        files: vec![page],
    };
    output.print(&summary, || {
        let length = summary.lengths.iter().sum::<usize>() as f64 / summary.lengths.len() as f64;
        format!(
            "{} on {} after {} epochs: return {} ± {} over {} episodes of {} actions on average\n  {}",
            summary.algorithm,
            summary.task,
            summary.epoch,
            compact(summary.return_mean, 5),
            compact(summary.return_interval, 2),
            summary.returns.len(),
            compact(length, 4),
            summary.files[0].display()
        )
    })?;
    Ok(true)
}
