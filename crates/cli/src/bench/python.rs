//! The Python package beside Rust on the same ants in the same run, and beside MJX, Brax and MuJoCo.
//!
//! 64 ants settle on the ground. A batched step, a rollout and their gradients are timed in this process and then in that
//! of Python, whose module is built with the same profile: the difference is what Python costs. Peers step the same file
//! under contact laws of their own; compilation at run time is told apart.

use std::hint::black_box;
use std::sync::Arc;

use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
use pullback_core::integrator::Integrated;
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::{Described, Rollout, Schedule};
use pullback_math::f64x8;
use pullback_physics::articulated::Articulated;
use pullback_tasks::files::{find_keyframe, robot};
use pullback_tasks::scenes::SceneOptions;
use pullback_tasks::{Goal, Results};
use serde_json::{Value, json};

use super::{count, own_model, peer};
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

type Ant = Arc<Integrated<Articulated>>;

const ENVS: usize = 64;
/// Steps of a measured rollout, and before anything is measured.
const STEPS: usize = 32;
const SETTLE: usize = 128;
/// How far above the home pose the fall begins, m.
const DROP: f64 = 0.005;
const ROUNDS: usize = 40;
const THREADS: [usize; 2] = [1, 2];
/// What is timed, with the steps of each call.
const CALLS: [(&str, usize); 2] = [("step", 1), ("rollout", STEPS)];
/// Steps and environments of MJX and Brax.
const PEER_STEPS: usize = 16;
const PEER_ENVS: [usize; 2] = [1, 64];

pub fn run(seed: u64, output: &Output) -> Result<Results, CliError> {
    let ant: Ant = Arc::new(robot(own_model(pullback_models::ANT)?, &SceneOptions::default())?);
    let mut random = Random::new(seed);
    let controls: Vec<f64> =
        (0..ENVS * STEPS * ant.layout().control.len()).map(|_| random.uniform(-0.2, 0.2)).collect();
    let states = settle(&ant, &mut random)?;
    let mut results = Results::new("python");

    let ours = time(&ant, &states, &controls)?;
    for (name, us) in &ours {
        results.row("Rust", name, *us, "us");
    }
    let case = json!({
        "model": "ant", "contact": "penalty", "states": states, "controls": controls, "envs": ENVS,
        "repetitions": 5 * ROUNDS, "threads": THREADS,
    });
    match peer::run(output, ("bench-python", "python"), ("ant-python.json", &case.to_string()), &[]) {
        Ok(found) => beside_rust(&mut results, &ours, &found),
        Err(why) => {
            // The package is what is measured: without it no goal is met.
            results.goals.push(Goal::at_least("the Python package was measured", 0.0, 1.0));
            results.notes.push(format!("the Python package was not measured: {why}"));
        }
    }
    let gradient = ours.iter().find(|(name, _)| name == &name_of("rollout_gradient", 1));
    let per_step = gradient.map_or(f64::NAN, |(_, us)| us / (ENVS * STEPS) as f64);
    let start = find_keyframe(&ant.field().model().keyframes, "home")?;
    let state = [&start.q[..], &start.v].concat();
    let case = json!({
        "model": pullback_models::ANT, "state": state, "velocity": 0.1,
        "controls": &controls[..STEPS * ant.layout().control.len()], "steps": STEPS,
    });
    for name in ["mjx", "brax"] {
        beside_peer(&mut results, output, name, &case, per_step);
    }
    let arguments = [ENVS, STEPS, SETTLE].map(|n| n.to_string()).into_iter().chain([DROP.to_string()]);
    let input = ("ant.xml", pullback_models::ANT);
    match peer::run(output, ("bench-python", "mujoco"), input, &arguments.collect::<Vec<_>>()) {
        Ok(found) => {
            let version = found["version"].as_str().unwrap_or("MuJoCo");
            for threads in THREADS {
                let rate = found[format!("rollout_{threads}")].as_f64().unwrap_or(f64::NAN);
                let metric = format!("mujoco.rollout, {}, per environment step", count(threads));
                results.row(version, &metric, 1e6 / rate, "us");
            }
        }
        Err(why) => results.notes.push(format!("MuJoCo was not measured: {why}")),
    }
    results.notes.push(format!(
        "{ENVS} ants with all parameters, from settled states; Python gives all states where Rust gives the last, and \
         sums gradients of shared parameters; MJX and Brax on one core in single precision, which compile at run time; Warp has no robots of its own \
         any more, so its CPU device stands beside soft bodies and material points in `bench fem` and `bench mpm`"
    ));
    Ok(results)
}

/// Overheads of Python over Rust, and how long a first gradient takes.
fn beside_rust(results: &mut Results, ours: &[(String, f64)], found: &Value) {
    let version = found["version"].as_str().unwrap_or("Python").to_owned();
    for (name, us) in ours {
        let theirs = found[name].as_f64().unwrap_or(f64::NAN);
        results.row(&version, name, theirs, "us");
        let goal = format!("{name}: time of Python over that of Rust");
        results.goals.push(Goal::at_most(goal, theirs / us, 1.05));
    }
    for (key, metric) in
        [("import_and_load", "import and load"), ("first_gradient", "from import to the first gradient")]
    {
        results.row(&version, metric, found[key].as_f64().unwrap_or(f64::NAN), "s");
    }
    let first = found["first_gradient"].as_f64().unwrap_or(f64::NAN);
    results.goals.push(Goal::at_most("seconds from import to the first gradient", first, 1.0));
}

/// A peer that compiles at run time; `ours` is the microseconds of an environment step and its pullback.
fn beside_peer(results: &mut Results, output: &Output, name: &str, case: &Value, ours: f64) {
    let arguments: Vec<String> =
        [PEER_STEPS].into_iter().chain(PEER_ENVS).map(|n: usize| n.to_string()).collect();
    let input = (&*format!("ant-{name}.json"), &*case.to_string());
    let found = match peer::run(output, ("bench-python", name), input, &arguments) {
        Ok(found) => found,
        Err(why) => return results.notes.push(format!("{name} was not measured: {why}")),
    };
    let version = found["version"].as_str().unwrap_or(name).to_owned();
    let mut least = f64::INFINITY;
    for batch in found["batches"].as_array().into_iter().flatten() {
        let number = |key: &str| batch[key].as_f64().unwrap_or(f64::NAN);
        let who = format!("{version}, {} environments", number("environments"));
        results.row(&who, "forward, per environment step", number("forward"), "us");
        results.row(&who, "forward and backward, per environment step", number("gradient"), "us");
        for what in ["forward", "gradient"] {
            results.row(&who, &format!("compilation, {what}"), number(&format!("compile_{what}")), "s");
        }
        least = least.min(number("gradient"));
    }
    let goal = format!("gradient per environment step on one core: {name} over Rust");
    results.goals.push(Goal::at_least(goal, least / ours, 50.0));
    results.notes.extend(found["note"].as_str().map(str::to_owned));
}

/// Ants that have fallen to the ground.
fn settle(ant: &Ant, random: &mut Random) -> Result<Vec<f64>, CliError> {
    let home = find_keyframe(&ant.field().model().keyframes, "home")?;
    let mut states = Vec::new();
    for _ in 0..ENVS {
        let mut q = home.q.clone();
        q[2] += DROP;
        q[7..].iter_mut().for_each(|angle| *angle += random.uniform(-0.02, 0.02));
        states.extend(q);
        states.extend(&home.v);
    }
    let params = ant.layout().params.defaults();
    let controls = vec![0.0; SETTLE * ant.layout().control.len()];
    let inputs = BatchInputs { states: &states, controls: &controls, params: &params };
    let mut settled = Vec::new();
    let rollout = Rollout::new(ant.clone(), SETTLE, Schedule::Revolve { slots: 1 })?;
    Batch::<_, f64x8>::new(rollout, ENVS, 1)?.simulate(inputs, &mut settled)?;
    Ok(settled)
}

/// Microseconds of each call.
fn time(ant: &Ant, states: &[f64], controls: &[f64]) -> Result<Vec<(String, f64)>, CliError> {
    let layout = ant.layout();
    let (n, m, params) = (layout.state.len(), layout.control.len(), layout.params.defaults());
    let mut weights = vec![0.0; n];
    layout.state.select("*.position")?.into_iter().for_each(|i| weights[i] = 1.0);
    let loss = FinalState { weights };
    // The first control of each environment.
    let first: Vec<f64> = controls.chunks(STEPS * m).flat_map(|controls| &controls[..m]).copied().collect();
    let mut contenders = Vec::new();
    for threads in THREADS {
        for (what, steps) in CALLS {
            let controls = if steps == 1 { &first[..] } else { controls };
            let inputs = BatchInputs { states, controls, params: &params };
            let batch = |schedule| -> Result<Batch<Ant, f64x8>, CliError> {
                let rollout = Rollout::new(ant.clone(), steps, schedule)?;
                Ok(Batch::new(rollout, ENVS, threads)?)
            };
            // Runs are deterministic: what succeeds once succeeds always.
            let mut forward = batch(Schedule::Revolve { slots: 1 })?;
            let mut out = Vec::new();
            forward.simulate(inputs, &mut out)?;
            let (params, loss) = (params.clone(), loss.clone());
            let mut backward = batch(Schedule::StoreAll)?;
            let mut gradients = BatchGradients::default();
            backward.gradients(inputs, |_| &loss, &mut gradients)?;
            let given = params.clone();
            contenders.push(Contender::new(name_of(what, threads), move |calls| {
                let inputs = BatchInputs { states, controls, params: &given };
                for _ in 0..calls {
                    let _ = black_box(forward.simulate(black_box(inputs), &mut out));
                }
            }));
            contenders.push(Contender::new(name_of(&format!("{what}_gradient"), threads), move |calls| {
                let inputs = BatchInputs { states, controls, params: &params };
                for _ in 0..calls {
                    let _ = black_box(backward.gradients(black_box(inputs), |_| &loss, &mut gradients));
                }
            }));
        }
    }
    let bar = progress::bar(ROUNDS, "ant");
    race(&mut contenders, ROUNDS, || bar.inc(1));
    bar.finish_and_clear();
    Ok(contenders.into_iter().map(|c| (c.name, c.best * 1e-3)).collect())
}

/// The name of a call in both programs.
fn name_of(what: &str, threads: usize) -> String {
    format!("{what}_{threads}")
}
