//! Smoke: milliseconds per step of stable fluids forward and backward, in two and three dimensions, beside the same
//! scheme in PyTorch on as many threads in the same run.
//!
//! The peer is what a user of PyTorch writes: staggered velocities, `grid_sample` for advection, conjugate
//! gradients for the pressure with the implicit gradient. Both solve to the same tolerance from zero; ours takes
//! fewer iterations because multigrid preconditions it, which is part of the ratio. That both compute the same is
//! checked by loss and gradient.

use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{ConfigError, Schedule};
use pullback_math::Scalar;
use pullback_physics::smoke::losses::DensityLoss;
use pullback_physics::smoke::{Grid, Settings, Smoke, SolveTolerance};
use pullback_tasks::{Goal, Results};
use serde_json::{Value, json};

use super::{count, peer};
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

/// Steps of a rollout.
const STEPS: usize = 4;
/// Interleaved repetitions.
const ROUNDS: usize = 8;
/// Relative tolerance of solves in single precision, that of PhiFlow when nothing else is said.
const SINGLE: f64 = 1e-5;
/// The same in double precision, without a peer.
const DOUBLE: f64 = 1e-10;
/// m/s²
const BUOYANCY: f64 = 1.0;
/// Threads of ours and of the peer.
const THREADS: [usize; 2] = [1, 2];

/// A puff in an eddy, in a cube of so many cells.
struct Case<const D: usize> {
    cells: usize,
    start: Vec<f64>,
    target: Vec<f64>,
}

impl<const D: usize> Case<D> {
    fn new(cells: usize) -> Self {
        let grid = Grid::new([cells; D], 1.0 / cells as f64);
        // Numbers that a float holds: both programs start from the same.
        let short = |x: f64| f64::from(x as f32);
        let puff = |i: usize, middle: f64| {
            let square: f64 = grid.center(i).iter().map(|x| (x - middle).powi(2)).sum();
            short((-square / 0.02).exp())
        };
        // An eddy that no wall stops: along every axis a wave that is zero at its walls.
        let eddy = |a: usize, i: usize| {
            let (x, place) = (grid.center(i), grid.place(i));
            let along = place[a] as f64 / cells as f64;
            let waves = (std::f64::consts::PI * along).sin() * (5.0 * x[(a + 1) % D] + a as f64).sin();
            if place[a] == 0 { 0.0 } else { short(waves) }
        };
        let n = grid.len();
        let mut start: Vec<f64> = (0..D * n).map(|i| eddy(i / n, i % n)).collect();
        start.extend((0..n).map(|i| puff(i, 0.4)));
        Case { cells, start, target: (0..n).map(|i| puff(i, 0.55)).collect() }
    }

    fn name(&self) -> String {
        format!("{}^{D}", self.cells)
    }

    fn smoke(&self, relative: f64) -> Result<Smoke<D>, ConfigError> {
        let settings = Settings {
            buoyancy: Some(BUOYANCY),
            pressure: SolveTolerance { relative, iterations: 500 },
            ..Settings::default()
        };
        let h = 1.0 / self.cells as f64;
        Smoke::new(Grid::new([self.cells; D], h), settings, 0.5 * h)
    }

    fn description(&self) -> Value {
        let h = 1.0 / self.cells as f64;
        json!({
            "name": self.name(), "dimensions": D, "cells": self.cells, "spacing": h, "dt": 0.5 * h, "steps": STEPS,
            "buoyancy": BUOYANCY, "tolerance": SINGLE, "start": self.start, "target": self.target,
        })
    }
}

/// What one program took, and what it found.
struct Measured {
    name: String,
    scalar: &'static str,
    threads: usize,
    /// Milliseconds per step.
    forward: f64,
    backward: f64,
    loss: f64,
    /// Length of the gradient in the first state.
    gradient: f64,
    /// Iterations of a solve, at most.
    iterations: usize,
}

fn measure<T: Scalar, const D: usize>(
    case: &Case<D>,
    scalar: &'static str,
    tolerance: f64,
    threads: usize,
) -> Result<Measured, CliError> {
    let smoke = case.smoke(tolerance)?;
    let loss = DensityLoss::new(&smoke, case.target.clone())?;
    let rollout = Rollout::new(&smoke, STEPS, Schedule::StoreAll)?;
    let mut inputs = Inputs::<T>::defaults(&smoke, STEPS);
    inputs.state = case.start.iter().map(|x| T::lit(*x)).collect();
    let (mut one, mut other) = (rollout.workspace::<T>(), rollout.workspace::<T>());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| ConfigError::new(format!("cannot start {}: {e}", count(threads))))?;
    pool.install(|| {
        rollout.gradient(&mut one, &inputs, &loss)?;
        let found = one.gradient.clone();
        let iterations = one.info.solver.iterations;
        let mut contenders = [
            Contender::new("forward", |calls| {
                for _ in 0..calls {
                    let _ = rollout.simulate(&mut other, &inputs, |_| {});
                }
            }),
            Contender::new("gradient", |calls| {
                for _ in 0..calls {
                    let _ = rollout.gradient(&mut one, &inputs, &loss);
                }
            }),
        ]
        .map(|c| c.per_call(STEPS));
        race(&mut contenders, ROUNDS, || ());
        let [forward, gradient] = contenders.map(|c| c.best * 1e-6);
        let squares: f64 = found.state.iter().map(|g| g.lane(0) * g.lane(0)).sum();
        Ok(Measured {
            name: case.name(),
            scalar,
            threads,
            forward,
            backward: gradient - forward,
            loss: found.loss.lane(0),
            gradient: squares.sqrt(),
            iterations,
        })
    })
}

/// Ours in single and double precision, on each number of threads.
fn measure_all<const D: usize>(case: &Case<D>, into: &mut Vec<Measured>) -> Result<(), CliError> {
    for threads in THREADS {
        into.push(measure::<f32, D>(case, "f32", SINGLE, threads)?);
        into.push(measure::<f64, D>(case, "f64", DOUBLE, threads)?);
    }
    Ok(())
}

pub fn run(output: &Output) -> Result<Results, CliError> {
    let flat = [64, 128, 256].map(Case::<2>::new);
    let deep = [32, 64].map(Case::<3>::new);
    let mut ours = Vec::new();
    let bar = progress::bar(flat.len() + deep.len(), "smoke");
    for case in &flat {
        measure_all(case, &mut ours)?;
        bar.inc(1);
    }
    for case in &deep {
        measure_all(case, &mut ours)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut results = Results::new("smoke");
    for m in &ours {
        let name = label(m);
        results.row(&name, "forward", m.forward, "ms per step");
        results.row(&name, "backward", m.backward, "ms per step");
        results.row(&name, "iterations of a solve at most", m.iterations as f64, "1");
    }
    let cases: Vec<Value> =
        flat.iter().map(Case::description).chain(deep.iter().map(Case::description)).collect();
    let cases = Value::from(cases).to_string();
    for threads in THREADS {
        let arguments = [threads.to_string()];
        match peer::run(output, ("bench-smoke", "torch_smoke"), ("cases.json", &cases), &arguments) {
            Ok(found) => beside(&mut results, &ours, threads, &found),
            Err(why) => results.notes.push(format!("PyTorch on {}: {why}", count(threads))),
        }
    }
    results.notes.push(format!(
        "{STEPS} steps of dt = h/2 with buoyancy, semi-Lagrangian, among walls; backward: gradient of a loss of the last density in \
         the first state, less the forward run; solves to {SINGLE:e} at f32, {DOUBLE:e} at f64; best of {ROUNDS} interleaved \
         repetitions, of the peer best of up to 5"
    ));
    Ok(results)
}

fn label(m: &Measured) -> String {
    format!("{}, {}, {}", m.name, m.scalar, count(m.threads))
}

/// Rows and goals of the peer's figures beside ours.
fn beside(results: &mut Results, ours: &[Measured], threads: usize, found: &Value) {
    let version = found["version"].as_str().unwrap_or("PyTorch");
    for m in ours.iter().filter(|m| m.threads == threads && m.scalar == "f32") {
        let theirs = |what: &str| found["cases"][&m.name][what].as_f64().unwrap_or(f64::NAN);
        let (forward, backward) = (1e3 * theirs("forward"), 1e3 * (theirs("gradient") - theirs("forward")));
        let name = format!("{}, {version}", label(m));
        results.row(&name, "forward", forward, "ms per step");
        results.row(&name, "backward", backward, "ms per step");
        results.row(&name, "iterations of a solve at most", theirs("iterations"), "1");
        let name = label(m);
        let goal =
            |what: &str, ratio: f64| Goal::at_least(format!("{name}: {what} against PyTorch"), ratio, 10.0);
        results.goals.push(goal("forward", forward / m.forward));
        results.goals.push(goal("backward", backward / m.backward));
        let off = |a: f64, b: f64| ((a - b) / b).abs();
        let off = off(theirs("loss"), m.loss).max(off(theirs("gradient_length"), m.gradient));
        let what = format!("{name}: loss and gradient differ from PyTorch's by part");
        results.goals.push(Goal::at_most(what, off, 1e-2));
    }
}
