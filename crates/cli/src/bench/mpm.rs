//! Blocks of plasticine: seconds per substep of the material point method forward and backward, at f32 and
//! f64, for one environment and for batches of them, on one thread and two, beside Taichi's CPU backend and
//! Warp's CPU device with the same algorithm on the same particles in the same run.

mod peer;

use std::sync::Arc;

use pullback_core::batch::{BatchGradients, BatchInputs};
use pullback_core::random::Random;
use pullback_core::rollout::{Inputs, Loss, Sample};
use pullback_core::{Batch, ConfigError, Described, Rollout, Schedule, Workspace};
use pullback_math::{Real, Scalar, Vec3};
use pullback_physics::articulated::Model;
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastoplastic, Floor, Grid, Material, Mpm, Particles};
use pullback_tasks::{Goal, Results};

use self::peer::Peer;
use super::count;
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

/// Nodes along each axis, as in HandFlip.
const NODES: usize = 48;
/// Substeps per frame, as in HandFlip.
const SUBSTEPS: usize = 40;
/// Seconds per substep.
const DT: f64 = 1e-4;
/// Frames of the horizon whose memory is counted.
const HORIZON: usize = 32;
/// Pa.
const YOUNG: f64 = 5e3;
const POISSON: f64 = 0.2;
/// Pa.
const YIELD: f64 = 50.0;
/// m/s².
const GRAVITY: f64 = -9.8;
/// Interleaved repetitions.
const ROUNDS: usize = 12;
/// Interleaved repetitions of a batch.
const BATCH_ROUNDS: usize = 6;
/// Threads of ours and of peers.
const THREADS: [usize; 2] = [1, 2];
/// Environments of the batches.
const BATCHES: [usize; 4] = [1, 4, 16, 32];

/// A block of particles with velocities and deformations that make it flow.
struct Case {
    name: String,
    mpm: Mpm,
    start: Vec<f64>,
    target: Vec3<f64>,
}

impl Case {
    /// `count` particles in a cube of `edge` around `center`, sheared and falling.
    fn new(count: usize, center: Vec3<f64>, edge: f64) -> Result<Self, ConfigError> {
        let grid = Grid { floor: Floor::Friction, ..Grid::cube(NODES) };
        // Numbers that a float holds: all programs start from the same.
        let short = |x: f64| f64::from(x as f32);
        let places = random_box(count, center, Vec3::new(edge, edge, edge), 0);
        let places: Vec<Vec3<f64>> = places.into_iter().map(|x| x.map(short)).collect();
        let mut particles = Particles::default();
        let volume = (0.5 * grid.spacing).powi(3);
        let material =
            Material::Plasticine(Elastoplastic { young: YOUNG, poisson: POISSON, yield_stress: YIELD });
        particles.add("block", material, 1.0, volume, &places, Vec3::new(0.0, 0.0, -1.0))?;
        let mut model = Model::new("nothing");
        model.options.gravity = Vec3::new(0.0, 0.0, GRAVITY);
        let mpm = Mpm::new(grid, particles, model.compile()?, DT)?;
        let mut start = mpm.layout().state.defaults();
        let mut random = Random::new(1);
        let at = mpm.split_mut(&mut start);
        for (v, x) in at.v.iter_mut().zip(at.x.iter()) {
            v[0] = short(20.0 * (x[2] - center.z));
        }
        for f in at.f.as_flattened_mut() {
            *f = short(*f + 0.01 * random.normal());
        }
        let name = format!("{count} particles");
        Ok(Case { name, mpm, start, target: center + Vec3::new(0.05, 0.0, 0.0) })
    }

    fn particles(&self) -> usize {
        self.mpm.particles().len()
    }

    fn loss(&self) -> Distance<'_> {
        Distance { mpm: &self.mpm, target: self.target }
    }

    fn inputs<T: Real>(&self, steps: usize) -> Inputs<T> {
        let mut inputs = Inputs::<T>::defaults(&self.mpm, steps);
        inputs.state = self.start.iter().map(|x| T::lit(*x)).collect();
        inputs
    }
}

/// L = mean of |x − target|² over the particles at the end.
struct Distance<'a> {
    mpm: &'a Mpm,
    target: Vec3<f64>,
}

impl<T: Real> Loss<T> for Distance<'_> {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        let x = self.mpm.split(at.state).x;
        if at.last() {
            for x in x {
                for (x, target) in x.iter().zip([self.target.x, self.target.y, self.target.z]) {
                    let off = *x - T::lit(target);
                    sum += off * off;
                }
            }
        }
        sum * T::lit(1.0 / x.len() as f64)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let (x, x_bar) = (self.mpm.split(at.state).x, self.mpm.split_mut(state_bar).x);
            for (x, bar) in x.iter().zip(x_bar.iter_mut()) {
                for (a, target) in [self.target.x, self.target.y, self.target.z].into_iter().enumerate() {
                    bar[a] += (x[a] - T::lit(target)) * T::lit(2.0 / self.mpm.particles().len() as f64);
                }
            }
        }
    }
}

pub fn run(output: &Output) -> Result<Results, CliError> {
    let cases = [
        Case::new(2_500, Vec3::new(0.5, 0.5, 0.19), 0.2)?,
        Case::new(30_000, Vec3::new(0.5, 0.5, 0.31), 0.46)?,
    ];
    let mut results = Results::new("mpm");
    let mut contenders = Vec::new();
    for case in &cases {
        for threads in THREADS {
            single::<f32>(&mut contenders, case, "f32", threads)?;
        }
        single::<f64>(&mut contenders, case, "f64", 1)?;
    }
    let bar = progress::bar(ROUNDS + 2 * (BATCHES.len() + 1), "particles");
    race(&mut contenders, ROUNDS, || bar.inc(1));
    let mut best: Vec<(String, f64)> = contenders.drain(..).map(|c| (c.name, c.best)).collect();
    // One batch after the other: together they would take gigabytes.
    for threads in THREADS {
        for envs in BATCHES {
            best.extend(batch::<f32>(&cases[0], "f32", envs, threads)?);
            bar.inc(1);
        }
        best.extend(batch::<f64>(&cases[0], "f64", 32, threads)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let peers = Peer::measure_all(&cases, output);

    let names: Vec<String> =
        best.iter().filter_map(|(n, _)| Some(n.strip_suffix(": forward")?.into())).collect();
    let best = |name: &str, what: &str| {
        let name = label(name, what);
        best.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, nanoseconds)| nanoseconds * 1e-6)
    };
    for name in &names {
        let (forward, gradient) = (best(name, "forward"), best(name, "gradient"));
        results.row(name, "forward", forward, "ms per substep");
        results.row(name, "backward", gradient - forward, "ms per substep");
        results.row(name, "backward over forward", (gradient - forward) / forward, "1");
    }
    for case in &cases {
        for scalar in ["f32", "f64"] {
            let name = alone(case, scalar, 1);
            let ratio = (best(&name, "gradient") - best(&name, "forward")) / best(&name, "forward");
            results.goals.push(Goal::at_most(format!("{name}: backward over forward"), ratio, 3.5));
        }
        memory(&mut results, case)?;
    }
    for peer in peers {
        match peer {
            Ok(peer) => {
                for case in &cases {
                    let name = alone(case, "f32", peer.threads);
                    let ours = (best(&name, "forward"), best(&name, "gradient") - best(&name, "forward"));
                    peer.beside(&mut results, case, ours)?;
                }
            }
            Err(why) => results.notes.push(why),
        }
    }
    results.notes.push(format!(
        "corotated plasticine on a grid of {NODES}^3, {SUBSTEPS} substeps; backward: from the kept states of all substeps, with the \
         grid computed anew as the peers do, down to initial state and every parameter; best of {ROUNDS} interleaved repetitions. \
         Batches: one frame of {SUBSTEPS} substeps per environment whose states the way back computes anew; milliseconds per \
         substep of one environment"
    ));
    Ok(results)
}

fn label(name: &str, what: &str) -> String {
    format!("{name}: {what}")
}

/// The name of one environment with all states kept.
fn alone(case: &Case, scalar: &str, threads: usize) -> String {
    format!("{}, {scalar}, {}", case.name, count(threads))
}

/// One environment with all states kept; more threads than one share every substep.
fn single<'a, T: Scalar>(
    contenders: &mut Vec<Contender<'a>>,
    case: &'a Case,
    scalar: &str,
    threads: usize,
) -> Result<(), CliError> {
    let name = alone(case, scalar, threads);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| ConfigError::new(format!("cannot start {}: {e}", count(threads))))?;
    let pool = Arc::new(pool);
    let mpm = case.mpm.clone().with_threads(threads > 1);
    let rollout = Arc::new(Rollout::new(mpm, SUBSTEPS, Schedule::StoreAll)?);
    let (at, loss) = (case.inputs::<T>(SUBSTEPS), case.loss());
    let mut ws = rollout.workspace::<T>();
    // Once, so that material that blows up is an error and not a figure.
    pool.install(|| rollout.gradient(&mut ws, &at, &loss))?;
    let (start, mut own) = (at.clone(), rollout.workspace::<T>());
    let (same_pool, same_rollout) = (pool.clone(), rollout.clone());
    let forward = Contender::new(label(&name, "forward"), move |calls| {
        same_pool.install(|| {
            for _ in 0..calls {
                let _ = same_rollout.simulate(&mut own, &start, |_| {});
            }
        });
    });
    let gradient = Contender::new(label(&name, "gradient"), move |calls| {
        pool.install(|| {
            for _ in 0..calls {
                let _ = rollout.gradient(&mut ws, &at, &loss);
            }
        });
    });
    contenders.extend([forward, gradient].map(|c| c.per_call(SUBSTEPS)));
    Ok(())
}

/// Many environments, a frame each: names and best nanoseconds, forward and gradient.
fn batch<T: Scalar>(
    case: &Case,
    scalar: &str,
    envs: usize,
    threads: usize,
) -> Result<Vec<(String, f64)>, CliError> {
    let plural = if envs == 1 { "" } else { "s" };
    let name = format!("{}, {scalar}, {envs} environment{plural}, {}", case.name, count(threads));
    let (states, at) = (case.start.repeat(envs), case.inputs::<f64>(1));
    let inputs = BatchInputs { states: &states, controls: &at.controls, params: &at.params };
    let rollout = || Rollout::new(&case.mpm, 1, Schedule::Every(SUBSTEPS))?.with_substeps(SUBSTEPS);
    let (mut one, mut other) =
        (Batch::<_, T>::new(rollout()?, envs, threads)?, Batch::<_, T>::new(rollout()?, envs, threads)?);
    let (mut ends, mut out) = (Vec::new(), BatchGradients::default());
    let forward = Contender::new(label(&name, "forward"), move |calls| {
        for _ in 0..calls {
            let _ = one.simulate(inputs, &mut ends);
        }
    });
    let gradient = Contender::new(label(&name, "gradient"), move |calls| {
        for _ in 0..calls {
            let _ = other.gradients(inputs, |_| case.loss(), &mut out);
        }
    });
    let mut contenders = [forward, gradient].map(|c| c.per_call(SUBSTEPS * envs));
    race(&mut contenders, BATCH_ROUNDS, || ());
    Ok(contenders.into_iter().map(|c| (c.name, c.best)).collect())
}

/// Memory of one environment with gradients over the horizon: predicted, and held after a gradient.
fn memory(results: &mut Results, case: &Case) -> Result<(), CliError> {
    let (f32_bytes, f64_bytes) = (bytes::<f32>(case)?, bytes::<f64>(case)?);
    for (scalar, bytes) in [("f32", f32_bytes), ("f64", f64_bytes)] {
        let name = format!("{}, {scalar}, {HORIZON} frames", case.name);
        results.row(&name, "memory per environment, predicted", bytes.0 as f64 / 1e6, "MB");
        results.row(
            &name,
            "memory per environment, held after a frame's gradient",
            bytes.1 as f64 / 1e6,
            "MB",
        );
    }
    if case.particles() <= 2_500 {
        let name = format!("{}, f32: memory of {HORIZON} frames (MB)", case.name);
        results.goals.push(Goal::at_most(name, f32_bytes.0.max(f32_bytes.1) as f64 / 1e6, 50.0));
    }
    Ok(())
}

fn bytes<T: Scalar>(case: &Case) -> Result<(usize, usize), CliError> {
    let whole = Rollout::new(&case.mpm, HORIZON, Schedule::Every(SUBSTEPS))?.with_substeps(SUBSTEPS)?;
    let predicted = whole.predict_bytes::<T>();
    let mut ws = whole.workspace::<T>();
    let at = case.inputs::<T>(HORIZON);
    whole.gradient(&mut ws, &at, &case.loss())?;
    Ok((predicted, ws.heap_bytes()))
}
