//! [`train`]: an algorithm learns in environments, and a folder keeps what it learned.
//!
//! A run that is killed goes on from its last checkpoint and ends with the same bits as one that is not: noise,
//! starts of episodes and order of sums depend on the seed, the epoch and the environment alone.

use std::path::Path;
use std::time::Instant;

use pullback_core::interrupt;
use serde::Serialize;

use crate::algorithm::{Algorithm, Report, TrainError};
use crate::env::{EnvSnapshot, VecEnv};
use crate::run::{Checkpoint, RunRecorder, TensorData};

/// How a run is kept.
#[derive(Clone, Copy, Debug)]
pub struct TrainOptions {
    /// Epochs between checkpoints.
    pub checkpoint_every: usize,
    /// Epochs between rows of metrics.
    pub report_every: usize,
    /// Epochs after which to stop before the run is over.
    pub stop_after: Option<usize>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions { checkpoint_every: 50, report_every: 1, stop_after: None }
    }
}

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Epochs done, and of how many.
    pub epoch: usize,
    /// Epochs of the run.
    pub epochs: usize,
    /// Steps of all environments so far.
    pub steps: u64,
    /// Steps per second since this process began.
    pub steps_per_second: f64,
    /// What the last epoch reported.
    pub report: Report,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Trained {
    /// Epochs that an earlier process had done.
    pub resumed: usize,
    /// Seconds of training, those of earlier processes included.
    pub seconds: f64,
    /// Steps of all environments.
    pub steps: u64,
    /// What the last epoch reported; empty where nothing was left to do.
    pub last: Report,
    /// A checkpoint that could not be read, where the one before it was taken.
    pub warning: Option<String>,
}

/// Trains in `folder` until the run is over, or goes on with what is there.
pub fn train(
    algorithm: &mut dyn Algorithm,
    env: &mut VecEnv<f32>,
    folder: &Path,
    config: &impl Serialize,
    options: TrainOptions,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Trained, TrainError> {
    let (mut recorder, restored) = RunRecorder::open(folder, config)?;
    let mut trained = Trained { resumed: 0, seconds: 0.0, steps: 0, last: Report::new(), warning: None };
    if let Some(restored) = restored {
        algorithm.load(&restored.checkpoint)?;
        restore_env(env, &restored.checkpoint)?;
        trained.resumed = algorithm.epoch();
        trained.seconds = restored.checkpoint.meta["seconds"].as_f64().unwrap_or(0.0);
        trained.warning = restored.note;
    }
    let epochs = algorithm.epochs();
    let (clock, before) = (Instant::now(), trained.seconds);
    trained.steps = (algorithm.epoch() * algorithm.steps_per_epoch()) as u64;
    let first_steps = trained.steps;
    let last_epoch = options.stop_after.map_or(epochs, |stop| stop.min(epochs));
    while algorithm.epoch() < last_epoch {
        trained.last = algorithm.learn(env)?;
        let epoch = algorithm.epoch();
        trained.steps = (epoch * algorithm.steps_per_epoch()) as u64;
        let passed = clock.elapsed().as_secs_f64();
        trained.seconds = before + passed;
        let progress = Progress {
            epoch,
            epochs,
            steps: trained.steps,
            steps_per_second: (trained.steps - first_steps) as f64 / passed,
            report: trained.last.clone(),
        };
        watch(&progress);
        if epoch.is_multiple_of(options.report_every) || epoch == last_epoch {
            let mut row = trained.last.clone();
            row.extend([("seconds", trained.seconds), ("steps_per_second", progress.steps_per_second)]);
            recorder.report(epoch as u64, trained.steps, &row)?;
        }
        let interrupted = interrupt::asked() && epoch < last_epoch;
        if epoch.is_multiple_of(options.checkpoint_every) || epoch == last_epoch || interrupted {
            recorder.save(&checkpoint(algorithm, env, trained.seconds))?;
        }
        if interrupted {
            return Err(TrainError::Interrupted { epoch, epochs: last_epoch });
        }
    }
    Ok(trained)
}

/// All that training goes on from.
fn checkpoint(algorithm: &dyn Algorithm, env: &VecEnv<f32>, seconds: f64) -> Checkpoint {
    let mut checkpoint = Checkpoint::new(algorithm.epoch() as u64);
    checkpoint.meta = serde_json::json!({ "seconds": seconds });
    algorithm.save(&mut checkpoint);
    let EnvSnapshot { states, actions, contexts, params, episodes, ages } = env.snapshot();
    let mut put = |name: &str, data: TensorData| {
        let rows = env.envs();
        let shape = vec![rows, data.len() / rows];
        checkpoint.tensors.insert(format!("env.{name}"), (shape, data));
    };
    put("states", TensorData::F64(states));
    put("actions", TensorData::F64(actions));
    put("contexts", TensorData::F64(contexts));
    put("params", TensorData::F64(params));
    put("episodes", TensorData::U64(episodes));
    put("ages", TensorData::U64(ages));
    checkpoint
}

fn restore_env(env: &mut VecEnv<f32>, from: &Checkpoint) -> Result<(), TrainError> {
    let tensor = |name: &str| {
        let full = format!("env.{name}");
        from.tensors.get(&full).map(|(_, data)| data.clone()).ok_or_else(|| missing(&full))
    };
    let numbers = |name: &str| match tensor(name)? {
        TensorData::F64(data) => Ok(data),
        _ => Err(missing(name)),
    };
    let counters = |name: &str| match tensor(name)? {
        TensorData::U64(data) => Ok(data),
        _ => Err(missing(name)),
    };
    let snapshot = EnvSnapshot {
        states: numbers("states")?,
        actions: numbers("actions")?,
        contexts: numbers("contexts")?,
        params: numbers("params")?,
        episodes: counters("episodes")?,
        ages: counters("ages")?,
    };
    if snapshot.ages.len() != env.envs() {
        return Err(TrainError::Checkpoint(format!(
            "it has {} environments, not {}",
            snapshot.ages.len(),
            env.envs()
        )));
    }
    let seed = env.seed();
    env.restore(seed, &snapshot);
    Ok(())
}

fn missing(name: &str) -> TrainError {
    TrainError::Checkpoint(format!("it has no {name}"))
}
