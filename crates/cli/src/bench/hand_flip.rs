//! HandFlip: environment steps per second with random actions, and epochs of five algorithms, per core, beside the
//! rates that the paper gives for an RTX 4090.

use std::time::Instant;

use pullback_core::random::Random;
use pullback_learn::env::{Kept, StepOutput, VecEnvOptions};
use pullback_tasks::Results;
use pullback_tasks::environments::{self, Environment, EnvironmentOptions, Precision};
use pullback_tasks::results::Row;

use super::count;
use super::train::{Measured, measure};
use crate::output::CliError;
use crate::progress;

/// Table 16: environments, and environment steps per second of all of them on an RTX 4090.
const FORWARD: [(usize, f64); 4] = [(1, 210.0), (2, 373.0), (8, 978.0), (32, 1394.0)];
/// Table 18: algorithms, and hours of 6 million environment steps on an RTX 4090.
const TRAINING: [(&str, f64); 5] =
    [("ppo", 1.46), ("sac", 1.67), ("apg", 7.43), ("shac", 7.66), ("sapo", 7.77)];
/// Environment steps of Table 18.
const BUDGET: f64 = 6e6;
/// Steps of the paper's trajectories.
const EPISODE: usize = 300;

pub fn run(seed: u64) -> Result<Results, CliError> {
    let environment = environments::build("hand-flip", &EnvironmentOptions::default())?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results = Results::new("hand-flip");
    let bar = progress::bar(FORWARD.len() + TRAINING.len(), "hand-flip");

    // Plain steps with random actions
    for (envs, paper) in FORWARD {
        let used = threads.min(envs);
        let rate = forward(&*environment, envs, used, seed)?;
        let case = format!("random actions, {envs} environments, {}", count(used));
        results.rows.push(beside(&case, "environment steps", rate, "steps/s", paper));
        results.row(&case, "environment steps per core", rate / used as f64, "steps/s");
        bar.inc(1);
    }

    // Whole epochs of training
    for (algorithm, paper) in TRAINING {
        let what = Measured { preset: "rewarped-hand-flip", algorithm, threads, warm_up: 1, epochs: 1 };
        let epoch = measure(&*environment, what, seed)?;
        let rate = epoch.steps / epoch.whole;
        let case = format!("{algorithm}, {}", count(threads));
        results.row(&case, "environment steps", rate, "steps/s");
        results.row(&case, "environment steps per core", rate / threads as f64, "steps/s");
        let hours = BUDGET / rate / 3600.0;
        results.rows.push(beside(&case, "6 million steps", hours, "h", paper));
        results.row(&case, "6 million steps, core hours", hours * threads as f64, "h");
        bar.inc(1);
    }
    bar.finish_and_clear();
    results.notes.push(
        "2,500 particles, 48³ nodes, 40 substeps per step, f32; an epoch is 32 environments over 32 steps, the second \
         of a run. The paper's figures are of a whole RTX 4090, ours of the threads named."
            .into(),
    );
    Ok(results)
}

/// A row with the paper's figure beside ours.
fn beside(case: &str, metric: &str, value: f64, unit: &str, paper: f64) -> Row {
    Row {
        case: case.into(),
        metric: metric.into(),
        value,
        unit: unit.into(),
        peer: Some(paper),
        peer_name: Some("paper, RTX 4090".into()),
    }
}

/// Environment steps per second with random actions.
fn forward(environment: &dyn Environment, envs: usize, threads: usize, seed: u64) -> Result<f64, CliError> {
    let options = VecEnvOptions {
        threads,
        shard: envs.div_ceil(threads),
        kept: Kept::ControlSteps,
        seed,
        ..VecEnvOptions::new(envs)
    };
    let mut env = environment.vec_env(options, Precision::F32)?;
    let spaces = environment.spaces();
    let mut out = StepOutput::new(envs, spaces);
    let mut random = Random::new(seed);
    let mut actions = vec![0.0; envs * spaces.actions];
    // As many steps as one environment has in an episode, shared among the environments.
    let steps = EPISODE.div_ceil(envs).max(20);
    let clock = Instant::now();
    for _ in 0..steps {
        actions.iter_mut().for_each(|a| *a = random.uniform(-1.0, 1.0) as f32);
        env.step(&actions, &mut out)?;
    }
    Ok((steps * envs) as f64 / clock.elapsed().as_secs_f64())
}
