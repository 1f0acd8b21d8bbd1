//! Policies learned through the physics, in folders that `pullback play` and `pullback compare` read.

use std::path::{Path, PathBuf};

use pullback::core::ConfigError;
use pullback::core::files::write_atomically;
use pullback::learn::algorithm::presets::preset;
use pullback::learn::algorithm::table::overlay;
use pullback::learn::algorithm::{ALGORITHMS, Actor, Algorithm};
use pullback::learn::env::{Kept, VecEnv, VecEnvOptions};
use pullback::learn::evaluate::evaluate;
use pullback::learn::nn::onnx::{self, Squash};
use pullback::learn::train::{TrainOptions, train as run};
use pullback::tasks::environments::{Environment, Precision};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::environment::AnyTask;
use crate::error::{Error, detached, refuse};
use crate::objective::parsed;

/// What is asked, by the names of `pullback.train`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asking {
    algorithm: String,
    preset: Option<String>,
    settings: String,
    seed: u64,
    double: bool,
    shard: usize,
    checkpoint_every: usize,
    stop_after: Option<usize>,
    threads: usize,
    episodes: usize,
    folder: PathBuf,
}

/// Seed of the episodes by which a policy is judged, apart from those of training.
const JUDGING: u64 = 0x6a75_6467_6500;

/// Trains a policy in a folder until the run is over, or goes on with what is there; what came of it, as JSON.
/// `watch` is called after each epoch with the epoch, their number, steps so far, steps per second and what the epoch
/// reported.
#[pyfunction]
pub fn train(py: Python<'_>, task: AnyTask, asking: Asking, watch: Option<Py<PyAny>>) -> PyResult<String> {
    let changes = parsed(&asking.settings)?;
    let mut raised = None;
    let found = detached(py, || learn(&task, &asking, &changes, watch.as_ref(), &mut raised));
    // What the watcher raised comes first.
    raised.map_or(found, Err).map(|found| found.to_string())
}

fn learn(
    task: &AnyTask,
    asking: &Asking,
    changes: &Value,
    watch: Option<&Py<PyAny>>,
    raised: &mut Option<PyErr>,
) -> Result<Value, Error> {
    let built = task.built()?;
    let (task, environment) = (built.name.as_str(), &*built.environment);
    let algorithm = ALGORITHMS.find(&asking.algorithm).map_err(ConfigError::from)?;
    if built.description.is_some() && asking.preset.is_none() {
        return Err(refuse(format!(
            "{task} is a robot of your own and has no preset; give that of a similar task, such as dflex-hopper"
        )));
    }
    let (preset_name, preset) = preset(task, asking.preset.as_deref())?;
    let mut settings = (algorithm.value.settings)(&preset);
    overlay(&mut settings, changes, "")?;
    // As `pullback train` writes it, so that other commands read the folder.
    let mut config = json!({
        "task": task, "algorithm": algorithm.name, "preset": preset_name, "seed": asking.seed,
        "precision": if asking.double { "f64" } else { "f32" }, "shard": asking.shard.max(1),
        "settings": settings, "version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(description) = &built.description {
        config["model_task"] = description.as_str().into();
    }
    let mut learner = (algorithm.value.build)(&settings, environment.spaces(), asking.seed)?;
    let mut env = asking.vec_env(environment, learner.envs())?;
    let options = TrainOptions {
        checkpoint_every: asking.checkpoint_every.max(1),
        stop_after: asking.stop_after,
        ..TrainOptions::default()
    };
    let mut tell = |at: &pullback::learn::train::Progress| {
        let Some(watch) = watch.filter(|_| raised.is_none()) else { return };
        let report: Vec<(&str, f64)> = at.report.iter().map(|(name, value)| (*name, *value)).collect();
        *raised = Python::attach(|py| {
            watch.call1(py, (at.epoch, at.epochs, at.steps, at.steps_per_second, report))
        })
        .err();
    };
    let trained = run(&mut *learner, &mut env, &asking.folder, &config, options, &mut tell)
        .map_err(|e| refuse(e.to_string()))?;
    let files = write_actor(&*learner, &asking.folder)?;
    let mut env = asking.vec_env(environment, asking.episodes)?;
    let judged = evaluate(learner.actor(), &mut env, JUDGING, false, None)?.mean();
    Ok(json!({
        "task": task, "algorithm": algorithm.name, "preset": preset_name, "seed": asking.seed,
        "epochs": learner.epoch(), "steps": trained.steps, "resumed": trained.resumed, "seconds": trained.seconds,
        "return_mean": judged.0, "return_interval": judged.1, "episodes": asking.episodes, "files": files,
        "warning": trained.warning,
    }))
}

impl Asking {
    /// Environments to learn in, or to be judged in.
    fn vec_env(&self, environment: &dyn Environment, envs: usize) -> Result<VecEnv<f32>, Error> {
        let (shard, threads, seed) = (self.shard.max(1), self.threads, self.seed);
        let options = VecEnvOptions { envs, shard, threads, kept: Kept::Substeps, seed };
        Ok(environment.vec_env(options, if self.double { Precision::F64 } else { Precision::F32 })?)
    }
}

/// A policy as `policy.onnx`; nothing of a sequence of actions.
fn write_actor(learner: &dyn Algorithm, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let Actor::Policy(actor) = learner.actor() else { return Ok(Vec::new()) };
    let squash = if actor.squashed { Squash::Tanh } else { Squash::None };
    let file = folder.join("policy.onnx");
    let graph = onnx::encode(actor.policy, actor.params, actor.normalizer, squash);
    write_atomically(&file, &graph).map_err(|e| refuse(format!("{}: {e}", file.display())))?;
    Ok(vec![file])
}
