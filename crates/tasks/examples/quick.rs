//! Temporary.
use pullback_learn::algorithm::presets::PRESETS;
use pullback_learn::algorithm::{ActorCritic, Algorithm};
use pullback_learn::env::{Kept, VecEnvOptions};
use pullback_learn::evaluate::evaluate;
use pullback_tasks::environments::{Precision, build};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (task, algo, preset, seed, epochs, threads) = (
        &args[1],
        &args[2],
        &args[3],
        args[4].parse::<u64>().unwrap(),
        args[5].parse::<usize>().unwrap(),
        args[6].parse::<usize>().unwrap(),
    );
    let environment = build(task).unwrap();
    let mut config = PRESETS.find(preset).unwrap().value.actor_critic(algo).unwrap();
    config.epochs = epochs;
    let options = VecEnvOptions { threads, kept: Kept::Substeps, seed, ..VecEnvOptions::new(config.envs) };
    let mut env = environment.vec_env(options, Precision::F32).unwrap();
    let mut algorithm = ActorCritic::new(config.clone(), environment.spaces(), seed).unwrap();
    let clock = std::time::Instant::now();
    for epoch in 0..epochs {
        let report = algorithm.learn(&mut env).unwrap();
        if epoch % (epochs / 40).max(1) == 0 || epoch + 1 == epochs {
            println!(
                "{epoch} {:.1}s {}",
                clock.elapsed().as_secs_f64(),
                report.iter().map(|(n, v)| format!("{n}={v:.4}")).collect::<Vec<_>>().join(" ")
            );
        }
    }
    let mut env =
        environment.vec_env(VecEnvOptions { threads, ..VecEnvOptions::new(128) }, Precision::F32).unwrap();
    for stochastic in [false, true] {
        let found = evaluate(algorithm.actor(), &mut env, 1000, stochastic, None).unwrap();
        println!(
            "EVAL {task} {algo} seed {seed} stochastic {stochastic}: {:?} {:.0}s",
            found.mean(),
            clock.elapsed().as_secs_f64()
        );
    }
}
