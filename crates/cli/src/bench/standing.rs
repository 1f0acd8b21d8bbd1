//! Rollouts of standing quadrupeds, as in Qiao et al. (ICML 2021): one and ten robots, 50 to 5000 steps,
//! forward and backward.
//!
//! The robots hold their home pose by servos; without contact they do so in free fall. A single robot is a
//! [`Rollout`]; ten are a [`Batch`] of scalars or of lanes, two packs of f64x8 of which the second is a
//! quarter full.

use std::time::Instant;

use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
use pullback_core::integrator::Integrated;
use pullback_core::memory::peak_of;
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Described, Rollout, Schedule, StepError};
use pullback_math::{Real, f64x8};
use pullback_physics::articulated::{Articulated, Model};
use pullback_tasks::files::{find_keyframe, system};
use pullback_tasks::scenes::SceneOptions;
use pullback_tasks::{Goal, Results};

use super::count;
use crate::output::CliError;
use crate::progress;

const ROBOTS: usize = 10;
const STEPS: [usize; 3] = [50, 500, 5000];
const SCHEDULES: [(&str, Schedule); 2] =
    [("store-all", Schedule::StoreAll), ("revolve, 20 slots", Schedule::Revolve { slots: 20 })];
/// Steps of all robots together that the repetitions of one case take at least.
const WORK: usize = 20_000;

/// Best seconds of a forward sweep and of value and gradient, and the peak of heap bytes of the latter.
struct Measured {
    forward: f64,
    gradient: f64,
    bytes: usize,
}

pub fn run(model: &Model, results: &mut Results) -> Result<(), CliError> {
    let bar = progress::bar(2 * STEPS.len() * SCHEDULES.len() * 5, "standing quadrupeds");
    for contact in [false, true] {
        let mut model = model.clone();
        model.options.contact = contact;
        let robot = system(Articulated::new(model)?, SceneOptions::default())?;
        let surroundings = if contact { "on the ground" } else { "without contact" };
        for steps in STEPS {
            let home = find_keyframe(&robot.field().model().keyframes, "home")?;
            let start = Inputs {
                state: [&home.q[..], &home.v].concat(),
                controls: home.control.repeat(steps),
                params: robot.layout().params.defaults(),
            };
            for (name, schedule) in SCHEDULES {
                let rollout = Rollout::new(&robot, steps, schedule)?;
                let mut add = |who: &str, robots: usize, m: Measured| {
                    // The gradients of initial states, controls and parameters are the result, whatever the
                    // schedule.
                    let returned = robots * (start.state.len() + start.controls.len() + start.params.len());
                    let megabytes = (m.bytes - returned * size_of::<f64>()) as f64 / 1e6;
                    let case = format!("{who} {surroundings}, {steps} steps, {name}");
                    let all = (steps * robots) as f64;
                    results.row(&case, "forward step", m.forward / all * 1e6, "us");
                    results.row(&case, "backward step", (m.gradient - m.forward).max(0.0) / all * 1e6, "us");
                    results.row(&case, "peak memory beside the gradients", megabytes, "MB");
                    if robots == 1 && steps == 5000 && !contact {
                        let limit = if schedule == Schedule::StoreAll { 3.0 } else { 0.1 };
                        results.goals.push(Goal::at_most(
                            format!("{case}: peak memory (MB)"),
                            megabytes,
                            limit,
                        ));
                    }
                    bar.inc(1);
                };
                add("1 robot, f64", 1, alone(&rollout, &start)?);
                for threads in [1, 2] {
                    let who = |scalar: &str| format!("{ROBOTS} robots, {scalar}, {}", count(threads));
                    add(&who("f64"), ROBOTS, together::<f64>(rollout, &start, threads)?);
                    add(&who("f64x8"), ROBOTS, together::<f64x8>(rollout, &start, threads)?);
                }
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// A loss on the height of the base at the end.
fn loss(state_len: usize) -> FinalState {
    let mut weights = vec![0.0; state_len];
    weights[2] = 1.0;
    FinalState { weights }
}

/// The best time of as many repetitions as make up [`WORK`].
fn best(steps: usize, mut run: impl FnMut() -> Result<(), StepError>) -> Result<f64, StepError> {
    let mut best = f64::INFINITY;
    for _ in 0..WORK.div_ceil(steps) {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn alone(rollout: &Rollout<&Integrated<Articulated>>, start: &Inputs<f64>) -> Result<Measured, CliError> {
    let loss = loss(start.state.len());
    let (ws, bytes) = peak_of(|| {
        let mut ws = rollout.workspace::<f64>();
        rollout.gradient(&mut ws, start, &loss).map(|()| ws)
    });
    let mut ws = ws?;
    let gradient = best(rollout.steps(), || rollout.gradient(&mut ws, start, &loss))?;
    let forward = best(rollout.steps(), || rollout.value(&mut ws, start, &loss).map(drop))?;
    Ok(Measured { forward, gradient, bytes })
}

fn together<T: Real>(
    rollout: Rollout<&Integrated<Articulated>>,
    start: &Inputs<f64>,
    threads: usize,
) -> Result<Measured, CliError> {
    let states = start.state.repeat(ROBOTS);
    let inputs = BatchInputs { states: &states, controls: &start.controls, params: &start.params };
    let loss = loss(start.state.len());
    let (done, bytes) = peak_of(|| -> Result<_, CliError> {
        let mut batch = Batch::<_, T>::new(rollout, ROBOTS, threads)?;
        let mut gradients = BatchGradients::default();
        batch.gradients(inputs, |_| loss.clone(), &mut gradients)?;
        Ok((batch, gradients))
    });
    let (mut batch, mut gradients) = done?;
    let steps = rollout.steps() * ROBOTS;
    let gradient = best(steps, || batch.gradients(inputs, |_| loss.clone(), &mut gradients))?;
    let mut ends = Vec::new();
    let forward = best(steps, || batch.simulate(inputs, &mut ends))?;
    Ok(Measured { forward, gradient, bytes })
}
