//! `pullback train`: a policy learned in many environments, kept as it goes; the same command goes on after an
//! interruption and ends as if there had been none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pullback_core::{ConfigError, files};
use pullback_learn::algorithm::presets::preset;
use pullback_learn::algorithm::table::{change, overlay};
use pullback_learn::algorithm::{ALGORITHMS, Actor, Algorithm, PolicyActor};
use pullback_learn::env::{Kept, VecEnv, VecEnvOptions};
use pullback_learn::evaluate::evaluate;
use pullback_learn::nn::onnx::{self, Squash};
use pullback_learn::nn::weights::{self, Part};
use pullback_learn::train::{Progress, TrainOptions, Trained, train};
use pullback_plot::compact;
use pullback_tasks::environments::{self, ENVIRONMENTS, Environment, EnvironmentOptions, Precision};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::TrainArguments;
use crate::output::{CliError, Output};
use crate::progress;

/// What a run is made with, kept in its folder. How many threads it has is no part of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    pub task: String,
    pub algorithm: String,
    pub preset: String,
    pub seed: u64,
    /// Of the physics.
    pub precision: PrecisionName,
    /// Environments that one thread steps together.
    pub shard: usize,
    /// Settings of the algorithm.
    pub settings: Value,
    /// Version of the engine.
    #[serde(default)]
    pub version: String,
}

/// Version of the engine: another one goes on with no run of this one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the physics computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionName {
    /// Single.
    #[default]
    F32,
    /// Double.
    F64,
}

impl RunConfig {
    /// The environment, by name.
    pub fn environment(&self) -> Result<Box<dyn Environment>, ConfigError> {
        environments::build(&self.task, &EnvironmentOptions::default())
    }

    /// The algorithm before it learned anything.
    pub fn algorithm(&self, environment: &dyn Environment) -> Result<Box<dyn Algorithm>, ConfigError> {
        let build = ALGORITHMS.find(&self.algorithm)?.value.build;
        build(&self.settings, environment.spaces(), self.seed)
    }

    /// Environments to learn or to play in.
    pub fn vec_env(
        &self,
        environment: &dyn Environment,
        envs: usize,
        threads: usize,
    ) -> Result<VecEnv<f32>, ConfigError> {
        let options =
            VecEnvOptions { envs, shard: self.shard, threads, kept: Kept::Substeps, seed: self.seed };
        let precision = match self.precision {
            PrecisionName::F32 => Precision::F32,
            PrecisionName::F64 => Precision::F64,
        };
        environment.vec_env(options, precision)
    }
}

/// Episodes by which a policy is judged at the end.
const EPISODES: usize = 128;
/// Seed of these episodes, apart from those of training.
const JUDGING: u64 = 0x6a75_6467_6500;

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    pub task: String,
    pub algorithm: String,
    pub preset: String,
    pub seed: u64,
    pub epochs: usize,
    pub steps: u64,
    /// Epochs that an earlier, interrupted run had done.
    pub resumed: usize,
    pub seconds: f64,
    pub steps_per_second: f64,
    /// Mean return of whole episodes at the end, and half of its 95 % interval: actions are means.
    pub return_mean: f64,
    pub return_interval: f64,
    /// The same with noise.
    pub stochastic_return_mean: f64,
    pub stochastic_return_interval: f64,
    pub episodes: usize,
    pub files: Vec<PathBuf>,
}

pub fn run(options: &TrainArguments, seed: u64, output: &Output) -> Result<bool, CliError> {
    let config = config(options, seed)?;
    crate::interrupt::listen()?;
    let folder = output.folder(&format!("train-{}-{}-{seed}", config.task, config.algorithm))?;
    let how = TrainOptions {
        checkpoint_every: options.checkpoint_every.max(1),
        stop_after: options.stop_after,
        ..TrainOptions::default()
    };
    let summary = run_in(&config, &folder, how, threads(options.threads), output)?;
    output.print(&summary, || text(&summary))?;
    Ok(true)
}

/// Trains in a folder until the run is over, and judges what was learned.
pub fn run_in(
    config: &RunConfig,
    folder: &Path,
    how: TrainOptions,
    threads: usize,
    output: &Output,
) -> Result<Summary, CliError> {
    let environment = config.environment()?;
    let mut algorithm = config.algorithm(&*environment)?;
    let mut env = config.vec_env(&*environment, algorithm.envs(), threads)?;
    let last = how.stop_after.map_or(algorithm.epochs(), |stop| stop.min(algorithm.epochs()));
    let bar = progress::bar(last, &config.task);
    let mut watch = |at: &Progress| {
        bar.set_position(at.epoch as u64);
        let left = last.saturating_sub(at.epoch) as f64 * (at.steps as f64 / at.epoch as f64);
        let found = at.report.iter().find(|(name, _)| *name == "return_mean").map_or(f64::NAN, |(_, x)| *x);
        bar.set_message(format!(
            "{} by {}: return {}, {} steps/s, {} s left",
            config.task,
            config.algorithm,
            compact(found, 4),
            compact(at.steps_per_second, 3),
            (left / at.steps_per_second).ceil()
        ));
    };
    let trained = train(&mut *algorithm, &mut env, folder, config, how, &mut watch)?;
    bar.finish_and_clear();
    if let Some(note) = &trained.warning {
        eprintln!("note: {note}");
    }
    finish(config, &*environment, &*algorithm, &trained, threads, folder, output)
}

/// Judges the policy, and writes it in forms that other programs read.
fn finish(
    config: &RunConfig,
    environment: &dyn Environment,
    algorithm: &dyn Algorithm,
    trained: &Trained,
    threads: usize,
    folder: &Path,
    output: &Output,
) -> Result<Summary, CliError> {
    let actor = algorithm.actor();
    let mut files = vec![folder.join("config.json"), folder.join("metrics.csv")];
    files.extend(write_actor(config, actor, environment.spaces().actions, folder, output)?);
    let mut env = config.vec_env(environment, EPISODES, threads)?;
    let mean = evaluate(actor, &mut env, JUDGING, false, None)?.mean();
    let noisy = evaluate(actor, &mut env, JUDGING, true, None)?.mean();
    let result = folder.join("result.json");
    files.push(result.clone());
    let summary = Summary {
        task: config.task.clone(),
        algorithm: config.algorithm.clone(),
        preset: config.preset.clone(),
        seed: config.seed,
        epochs: algorithm.epoch(),
        steps: trained.steps,
        resumed: trained.resumed,
        seconds: trained.seconds,
        steps_per_second: trained.steps as f64 / trained.seconds,
        return_mean: mean.0,
        return_interval: mean.1,
        stochastic_return_mean: noisy.0,
        stochastic_return_interval: noisy.1,
        episodes: EPISODES,
        files,
    };
    output.write(&result, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    Ok(summary)
}

/// A policy for other programs, or the actions of a sequence, a row per step.
fn write_actor(
    config: &RunConfig,
    actor: Actor<'_>,
    actions: usize,
    folder: &Path,
    output: &Output,
) -> Result<Vec<PathBuf>, CliError> {
    match actor {
        Actor::Policy(policy) => Ok(write_policy(config, policy, folder, output)?.to_vec()),
        Actor::Sequence(sequence) => {
            let row = |row: &[f32]| row.iter().map(f32::to_string).collect::<Vec<_>>().join(",") + "\n";
            let names: Vec<String> = (0..actions).map(|i| format!("action{i}")).collect();
            let text = names.join(",") + "\n" + &sequence.chunks(actions.max(1)).map(row).collect::<String>();
            let path = folder.join("actions.csv");
            output.write(&path, text.as_bytes())?;
            Ok(vec![path])
        }
    }
}

/// `policy.safetensors` and `policy.onnx`.
fn write_policy(
    config: &RunConfig,
    actor: PolicyActor<'_>,
    folder: &Path,
    output: &Output,
) -> Result<[PathBuf; 2], CliError> {
    let part = Part { name: "actor", tensors: actor.policy.tensors(), values: actor.params };
    let mut about = BTreeMap::from([
        ("task".to_owned(), config.task.clone()),
        ("algorithm".to_owned(), config.algorithm.clone()),
    ]);
    if let Some(normalizer) = actor.normalizer {
        about.insert("normalizer".to_owned(), serde_json::to_string(normalizer)?);
    }
    let squash = if actor.squashed { Squash::Tanh } else { Squash::None };
    let tensors = folder.join("policy.safetensors");
    output.write(&tensors, &weights::encode(&[part], &about))?;
    let graph = folder.join("policy.onnx");
    output.write(&graph, &onnx::encode(actor.policy, actor.params, actor.normalizer, squash))?;
    Ok([tensors, graph])
}

/// The preset of a task, changed by a file and by single entries.
fn config(options: &TrainArguments, seed: u64) -> Result<RunConfig, ConfigError> {
    let task = ENVIRONMENTS.find(&options.task)?.name;
    let (preset_name, preset) = preset(task, options.preset.as_deref())?;
    let algorithm = options.algo;
    let mut settings = (algorithm.value.settings)(&preset);
    if let Some(file) = &options.config {
        overlay(&mut settings, &read_settings(file)?, "")?;
    }
    for assignment in &options.set {
        let (path, text) = assignment
            .split_once('=')
            .ok_or_else(|| ConfigError::new(format!("--set {assignment}: write NAME=VALUE")))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        change(&mut settings, path, value)?;
    }
    Ok(RunConfig {
        task: task.to_owned(),
        algorithm: algorithm.name.to_owned(),
        preset: preset_name.to_owned(),
        seed,
        precision: options.precision,
        shard: options.shard.max(1),
        settings,
        version: VERSION.into(),
    })
}

/// Largest file of settings, bytes.
const MOST_SETTINGS_BYTES: u64 = 1 << 20;

/// Settings in a JSON or TOML file.
fn read_settings(file: &Path) -> Result<Value, ConfigError> {
    let why = |e: &dyn std::fmt::Display| ConfigError::new(format!("{}: {e}", file.display()));
    let text = files::read_to_string_at_most(file, MOST_SETTINGS_BYTES).map_err(|e| why(&e))?;
    match file.extension().and_then(|e| e.to_str()) {
        Some("toml") => toml::from_str(&text).map_err(|e| why(&e)),
        Some("json") => serde_json::from_str(&text).map_err(|e| why(&e)),
        _ => Err(why(&"settings are a .toml or a .json file")),
    }
}

/// 0 stands for all.
pub fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

fn text(summary: &Summary) -> String {
    let Summary { task, algorithm, preset, seed, steps, seconds, .. } = summary;
    let resumed = match summary.resumed {
        0 => String::new(),
        epochs => format!(" ({epochs} epochs were done before)"),
    };
    let files: Vec<String> = summary.files.iter().map(|f| format!("  {}", f.display())).collect();
    format!(
        "{algorithm} on {task} ({preset}, seed {seed}): {} epochs, {steps} steps in {} s{resumed}, {} steps/s\n\
         return of {} episodes: {} ± {}; with noise {} ± {}\n{}",
        summary.epochs,
        compact(*seconds, 3),
        compact(summary.steps_per_second, 3),
        summary.episodes,
        compact(summary.return_mean, 5),
        compact(summary.return_interval, 2),
        compact(summary.stochastic_return_mean, 5),
        compact(summary.stochastic_return_interval, 2),
        files.join("\n")
    )
}
