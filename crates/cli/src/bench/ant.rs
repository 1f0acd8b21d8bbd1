//! The ant on the ground: environment steps per second, forward and with gradients, beside MuJoCo on the same
//! file in the same run.
//!
//! All environments fall from a little above the ground and settle before anything is measured, in each
//! simulator under its own contact law, so that the feet touch. The gradient is that of a rollout's final
//! torso position with respect to initial state, all controls and all parameters. MuJoCo has no adjoint; its
//! derivative is `mjd_transitionFD`, the Jacobians of a step in state and control by one-sided differences,
//! whose products along the rollout are not counted.

use std::hint::black_box;

use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
use pullback_core::integrator::Integrated;
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::{Described, Point, Rollout, Schedule, VectorField};
use pullback_math::{Real, f32x16, f64x8};
use pullback_physics::articulated::Articulated;
use pullback_tasks::files::{find_keyframe, system};
use pullback_tasks::scenes::SceneOptions;
use pullback_tasks::{Goal, Results};

use super::{count, own_model, peer};
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

const ANT: &str = pullback_models::ANT;
const ROUNDS: usize = 20;
const ENVS: usize = 64;
/// Steps of a measured rollout.
const STEPS: usize = 32;
/// Steps before anything is measured: 0.13 s, a fall of 5 mm takes 0.03 s.
const SETTLE: usize = 128;
/// How far above the home pose the fall begins, m.
const DROP: f64 = 0.005;
const SCALARS: [&str; 3] = ["f64", "f64x8", "f32x16"];
const THREADS: [usize; 2] = [1, 2];

/// States, controls and parameters of all environments.
struct Start {
    states: Vec<f64>,
    controls: Vec<f64>,
    params: Vec<f64>,
}

impl Start {
    fn inputs(&self) -> BatchInputs<'_> {
        BatchInputs { states: &self.states, controls: &self.controls, params: &self.params }
    }
}

pub fn run(seed: u64, output: &Output) -> Result<Results, CliError> {
    let ant = system(Articulated::new(own_model(ANT)?)?, SceneOptions::default())?;
    let start = settle(&ant, seed)?;
    let mut results = Results::new("ant");
    results.row("ours", "contacts per environment", contacts(&ant, &start), "1");

    let mut contenders = Vec::new();
    for threads in THREADS {
        add::<f64>(&mut contenders, ("f64", threads), &ant, &start)?;
        add::<f64x8>(&mut contenders, ("f64x8", threads), &ant, &start)?;
        add::<f32x16>(&mut contenders, ("f32x16", threads), &ant, &start)?;
    }
    let bar = progress::bar(ROUNDS, "ant");
    race(&mut contenders, ROUNDS, || bar.inc(1));
    bar.finish_and_clear();
    let per_second = |scalar: &str, threads: usize, what: &str| {
        let name = name((scalar, threads), what);
        let best = contenders.iter().find(|c| c.name == name).map_or(f64::NAN, |c| c.best);
        (ENVS * STEPS) as f64 / (best * 1e-9)
    };
    for threads in THREADS {
        for scalar in SCALARS {
            let case = format!("ours, {scalar}, {}", count(threads));
            let [forward, both] = ["forward", "gradient"].map(|what| per_second(scalar, threads, what));
            results.row(&case, "forward", forward, "steps/s");
            results.row(&case, "forward and backward", both, "steps/s");
            results.row(&case, "cost of forward and backward over forward", forward / both, "1");
        }
    }

    let arguments = [ENVS, STEPS, SETTLE].map(|n| n.to_string()).into_iter().chain([DROP.to_string()]);
    match peer::run(output, ("bench-ant", "mujoco"), ("ant.xml", ANT), &arguments.collect::<Vec<_>>()) {
        Ok(found) => {
            let name = found["version"].as_str().unwrap_or("MuJoCo").to_owned();
            let number = |key: &str| found[key].as_f64().unwrap_or(f64::NAN);
            results.row(&name, "contacts per environment", number("contacts"), "1");
            for threads in THREADS {
                let case = format!("{name}, {}", count(threads));
                let rollout = number(&format!("rollout_{threads}"));
                let differences = number(&format!("transition_fd_{threads}"));
                results.row(&case, "rollout", rollout, "steps/s");
                results.row(&case, "mjd_transitionFD", differences, "steps/s");
                for (scalar, forward_goal, both_goal) in [("f64", 1.0, 10.0), ("f64x8", 8.0, 50.0)] {
                    let who = format!("{scalar}, {}", count(threads));
                    let forward = per_second(scalar, threads, "forward") / rollout;
                    let both = per_second(scalar, threads, "gradient") / differences;
                    let goals = [
                        Goal::at_least(
                            format!("{who}: forward over MuJoCo's rollout"),
                            forward,
                            forward_goal,
                        ),
                        Goal::at_least(
                            format!("{who}: forward and backward over mjd_transitionFD"),
                            both,
                            both_goal,
                        ),
                    ];
                    results.goals.extend(goals);
                }
            }
        }
        Err(why) => results.notes.push(format!("MuJoCo was not measured: {why}")),
    }
    results.notes.push(format!(
        "{ENVS} environments, rollouts of {STEPS} steps of {} s from settled states; best of {ROUNDS} interleaved \
         repetitions, MuJoCo after ours; contact laws differ (ours compliant, MuJoCo's a convex optimization), and each draws \
         its own controls; mjd_transitionFD gives whole Jacobians of a step, ours the gradient of one loss",
        ant.dt()
    ));
    Ok(results)
}

/// Drops every environment from its own pose near home and lets it settle.
fn settle(ant: &Integrated<Articulated>, seed: u64) -> Result<Start, CliError> {
    let model = ant.field().model();
    let home = find_keyframe(&model.keyframes, "home")?;
    let mut random = Random::new(seed);
    let mut states = Vec::new();
    for _ in 0..ENVS {
        let mut q = home.q.clone();
        q[2] += DROP;
        q[7..].iter_mut().for_each(|angle| *angle += random.uniform(-0.02, 0.02));
        states.extend(q);
        states.extend(&home.v);
    }
    let params = ant.layout().params.defaults();
    let nu = ant.layout().control.len();
    let mut draw = |n: usize| (0..n).map(|_| random.uniform(-0.2, 0.2)).collect::<Vec<f64>>();
    let falling = BatchInputs { states: &states, controls: &draw(ENVS * SETTLE * nu), params: &params };
    let rollout = Rollout::new(ant, SETTLE, Schedule::Revolve { slots: 1 })?;
    let mut states = Vec::new();
    Batch::<_, f64>::new(rollout, ENVS, 1)?.simulate(falling, &mut states)?;
    Ok(Start { states, controls: draw(ENVS * STEPS * nu), params })
}

/// Mean number of contacts that push, in the settled states.
fn contacts(ant: &Integrated<Articulated>, start: &Start) -> f64 {
    let robot = ant.field();
    let mut ws = VectorField::<f64>::workspace(robot);
    let control = vec![0.0; robot.layout().control.len()];
    let mut count = 0;
    for state in start.states.chunks(robot.layout().state.len()) {
        robot.accelerations(&mut ws, Point { params: &start.params, state, control: &control });
        count += ws.contacts.iter().filter(|(_, contact)| contact.distance < 0.0).count();
    }
    count as f64 / ENVS as f64
}

fn name((scalar, threads): (&str, usize), what: &str) -> String {
    format!("{scalar} {threads} {what}")
}

fn add<'a, T: Real>(
    contenders: &mut Vec<Contender<'a>>,
    who: (&str, usize),
    ant: &'a Integrated<Articulated>,
    start: &'a Start,
) -> Result<(), CliError> {
    let rollout = Rollout::new(ant, STEPS, Schedule::StoreAll)?;
    let mut weights = vec![0.0; ant.layout().state.len()];
    weights[..3].fill(1.0);
    let loss = FinalState { weights };

    // Runs are deterministic: what succeeds once succeeds always.
    let mut batch = Batch::<_, T>::new(rollout, ENVS, who.1)?;
    let mut ends = Vec::new();
    batch.simulate(start.inputs(), &mut ends)?;
    contenders.push(Contender::new(name(who, "forward"), move |calls| {
        for _ in 0..calls {
            let _ = black_box(batch.simulate(black_box(start.inputs()), &mut ends));
        }
    }));

    let mut batch = Batch::<_, T>::new(rollout, ENVS, who.1)?;
    let mut gradients = BatchGradients::default();
    batch.gradients(start.inputs(), |_| loss.clone(), &mut gradients)?;
    contenders.push(Contender::new(name(who, "gradient"), move |calls| {
        for _ in 0..calls {
            let _ = black_box(batch.gradients(black_box(start.inputs()), |_| loss.clone(), &mut gradients));
        }
    }));
    Ok(())
}
