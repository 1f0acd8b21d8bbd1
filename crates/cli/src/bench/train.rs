//! A whole epoch of SAPO on the ant: environment steps per second, and where the time goes; PPO's plain steps; and
//! the networks of an epoch beside a straightforward PyTorch program of the same sizes.

use pullback_core::ConfigError;
use pullback_learn::algorithm::{ALGORITHMS, Algorithm, PRESETS, Report};
use pullback_learn::env::{Kept, VecEnv, VecEnvOptions};
use pullback_tasks::environments::{self, Environment, EnvironmentOptions, Precision};
use pullback_tasks::{Goal, Results};

use super::{count, peer};
use crate::output::{CliError, Output};
use crate::progress;

/// Epochs before anything is measured, and epochs measured.
const WARM_UP: usize = 5;
const EPOCHS: usize = 40;
/// Steps of the paper's budget.
const BUDGET: f64 = 4.096e6;

/// Epochs of an algorithm that are measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub preset: &'static str,
    pub algorithm: &'static str,
    pub threads: usize,
    /// Epochs before anything is measured.
    pub warm_up: usize,
    pub epochs: usize,
}

/// Seconds of an epoch, all threads together where they are of parts that run on all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epoch {
    /// Environment steps.
    pub steps: f64,
    pub whole: f64,
    forward: f64,
    backward: f64,
    policy: f64,
    critic: f64,
}

pub fn run(seed: u64, output: &Output) -> Result<Results, CliError> {
    let environment = environments::build("ant", &EnvironmentOptions::default())?;
    let mut results = Results::new("train");
    let threads_most = std::thread::available_parallelism().map_or(1, usize::from);
    let choices = if threads_most > 1 { vec![1, threads_most] } else { vec![1] };
    let bar = progress::bar(choices.len() + 1, "train");
    let mut networks = f64::NAN;
    let case = |algorithm, threads| Measured {
        preset: "dflex-ant",
        algorithm,
        threads,
        warm_up: WARM_UP,
        epochs: EPOCHS,
    };
    for threads in choices {
        let epoch = measure(&*environment, case("sapo", threads), seed)?;
        bar.inc(1);
        let case = format!("SAPO on the ant, {}", count(threads));
        let rate = epoch.steps / epoch.whole;
        results.row(&case, "environment steps with gradients", rate, "steps/s");
        results.row(&case, "epoch", 1e3 * epoch.whole, "ms");
        // What runs on all threads at once is summed over them.
        let share = |seconds: f64| seconds / threads as f64;
        results.row(&case, "physics forward", 1e3 * share(epoch.forward), "ms");
        results.row(&case, "physics backward", 1e3 * share(epoch.backward), "ms");
        results.row(&case, "policy, its values and entropies", 1e3 * share(epoch.policy), "ms");
        results.row(&case, "critics", 1e3 * epoch.critic, "ms");
        let physics = share(epoch.forward + epoch.backward);
        let rest = epoch.whole - physics - share(epoch.policy) - epoch.critic;
        results.row(&case, "rest", 1e3 * rest, "ms");
        if threads == 1 {
            networks = epoch.policy + epoch.critic;
        }
        if threads == threads_most {
            results.row(&case, "4.1 million steps", BUDGET / rate / 60.0, "min");
            results.goals.push(Goal::at_most("minutes for 4.1 million steps", BUDGET / rate / 60.0, 10.0));
            let others = 1.0 - physics / epoch.whole;
            results.goals.push(Goal::at_most("share of networks and bookkeeping", others, 1.0 / 3.0));
        }
    }
    if ALGORITHMS.find("ppo").is_ok() {
        let epoch = measure(&*environment, case("ppo", threads_most), seed)?;
        let case = format!("PPO on the ant, {}", count(threads_most));
        results.row(&case, "environment steps", epoch.steps / epoch.whole, "steps/s");
    }
    bar.finish_and_clear();

    let spaces = environment.spaces();
    let sizes = serde_json::json!({
        "observation": spaces.observation(), "actions": spaces.actions, "actor": [128, 64, 32], "critic": [64, 64],
        "critics": 2, "envs": 64, "horizon": 32, "iterations": 16, "batches": 4,
    });
    match peer::run(output, ("bench-train", "torch_mlp"), ("sizes.json", &sizes.to_string()), &[]) {
        Ok(found) => {
            let name = found["version"].as_str().unwrap_or("PyTorch").to_owned();
            let epoch = found["epoch_seconds"].as_f64().unwrap_or(f64::NAN);
            results.row(&format!("{name}, 1 thread"), "networks of an epoch", 1e3 * epoch, "ms");
            results.row("ours, 1 thread", "networks of an epoch", 1e3 * networks, "ms");
            results.row("ours, 1 thread", "networks over PyTorch's time", epoch / networks, "1");
        }
        Err(why) => results.notes.push(format!("PyTorch was not measured: {why}")),
    }
    results.notes.push(format!(
        "64 environments, horizon 32, 16 substeps, f32 on 16 lanes; mean of {EPOCHS} epochs after {WARM_UP}; actor \
         128-64-32, two critics 64-64 fitted in 16 passes of 4 batches"
    ));
    Ok(results)
}

/// Mean seconds of an epoch.
pub fn measure(environment: &dyn Environment, what: Measured, seed: u64) -> Result<Epoch, CliError> {
    let Measured { preset, algorithm, threads, warm_up, epochs } = what;
    let preset = PRESETS.find(preset).map_err(ConfigError::from)?.value;
    let spec = ALGORITHMS.find(algorithm).map_err(ConfigError::from)?.value;
    let mut algorithm = (spec.build)(&(spec.settings)(&preset), environment.spaces(), seed)?;
    let options =
        VecEnvOptions { threads, kept: Kept::Substeps, seed, ..VecEnvOptions::new(algorithm.envs()) };
    let mut env = environment.vec_env(options, Precision::F32)?;
    for _ in 0..warm_up {
        algorithm.learn(&mut env)?;
    }
    let clock = std::time::Instant::now();
    let mut sum = Epoch::default();
    for _ in 0..epochs {
        add(&mut *algorithm, &mut env, &mut sum)?;
    }
    sum.whole = clock.elapsed().as_secs_f64();
    let mean = |x: f64| x / epochs as f64;
    Ok(Epoch {
        steps: algorithm.steps_per_epoch() as f64,
        whole: mean(sum.whole),
        forward: mean(sum.forward),
        backward: mean(sum.backward),
        policy: mean(sum.policy),
        critic: mean(sum.critic),
    })
}

fn add(algorithm: &mut dyn Algorithm, env: &mut VecEnv<f32>, sum: &mut Epoch) -> Result<(), CliError> {
    let report: Report = algorithm.learn(env)?;
    let of = |name: &str| report.iter().find(|(key, _)| *key == name).map_or(0.0, |(_, x)| *x);
    sum.forward += of("forward_seconds");
    sum.backward += of("backward_seconds");
    sum.policy += of("policy_seconds");
    sum.critic += of("critic_seconds");
    Ok(())
}
