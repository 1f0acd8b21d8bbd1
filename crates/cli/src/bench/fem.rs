//! Soft bodies at the sizes of gradSim's Table 4, and a cloth: steps per second forward and backward, one
//! thread and two, beside Warp's CPU device on the same meshes in the same run.

mod peer;

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_math::{Real, Vec3};
use pullback_physics::soft::mesh::{Diagonals, Split, beam, cloth_grid};
use pullback_physics::soft::{Cloth, Placement, SoftBody, Solid};
use pullback_physics::world::World;
use pullback_tasks::{Goal, Results, Row};
use rayon::ThreadPool;

use self::peer::{Peer, larger};
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

/// Steps of one rollout.
const STEPS: usize = 32;
/// Times that ours and the peer take turns.
const TURNS: usize = 3;
/// Interleaved repetitions of ours in one turn.
const ROUNDS: usize = 15;
/// Edge of a cell, m.
const CELL: f64 = 0.1;

/// Cells along each axis of each block, five tetrahedra to a cell, with the paper's steps per second on its
/// GPU: forward and backward without rendering.
const BLOCKS: [([usize; 3], f64, f64); 7] = [
    ([5, 2, 2], 9057.0, 3721.0),
    ([10, 2, 2], 9057.0, 3780.0),
    ([5, 4, 4], 8751.0, 3750.0),
    ([8, 5, 5], 4174.0, 1644.0),
    ([16, 5, 5], 3967.0, 1655.0),
    ([10, 10, 10], 3871.0, 1553.0),
    ([20, 10, 10], 3721.0, 1429.0),
];
const SOLID: Solid = Solid {
    law: pullback_physics::soft::SolidLaw::NeoHookean,
    density: 1e3,
    mu: 1e4,
    lambda: 1e4,
    damping: 1.0,
};
const CLOTH: Cloth = Cloth {
    density: 10.0,
    mu: 1e3,
    lambda: 1e3,
    damping: 10.0,
    bending: 1.0,
    bending_damping: 0.0,
    lift: 0.0,
    drag: 0.0,
};

/// A body, and what its figures are compared with.
struct Case {
    name: String,
    dt: f64,
    serial: Integrated<World>,
    threaded: Integrated<World>,
    /// The paper's steps per second, forward and backward.
    paper: Option<(f64, f64)>,
}

impl Case {
    fn new(name: String, body: SoftBody, dt: f64, paper: Option<(f64, f64)>) -> Result<Self, ConfigError> {
        let euler = || Integrator::fixed(Method::SemiImplicitEuler);
        let world = World::empty(body)?;
        let serial = Integrated::new(world.clone(), dt, euler())?;
        Ok(Case {
            name,
            dt,
            serial,
            threaded: Integrated::new(world.with_threads(true), dt, euler())?,
            paper,
        })
    }
    fn body(&self) -> &SoftBody {
        self.serial.field().soft().body()
    }
}

/// The blocks and the cloth, each fixed at its left end and hanging from it.
fn cases() -> Result<Vec<Case>, CliError> {
    let mut cases = Vec::new();
    let mesh_error = |e: pullback_physics::soft::mesh::MeshError| ConfigError::new(e.to_string());
    for ([nx, ny, nz], forward, backward) in BLOCKS {
        let size = Vec3::new(nx as f64, ny as f64, nz as f64) * CELL;
        let mesh = beam(nx, ny, nz, size, Split::Five).map_err(mesh_error)?;
        let mut body = SoftBody::new();
        let part = body.add_solid("block", &mesh, SOLID, Placement::default())?;
        body.fix(part, |x| x.x < 0.1 * CELL);
        let name = format!("{} tetrahedra", mesh.tets.len());
        cases.push(Case::new(name, body, 1e-3, Some((forward, backward)))?);
    }
    let mesh = cloth_grid(32, 32, 32.0 * CELL, 32.0 * CELL, Diagonals::Parallel).map_err(mesh_error)?;
    let mut body = SoftBody::new();
    let part = body.add_cloth("cloth", &mesh, CLOTH, Placement::default())?;
    body.fix(part, |x| x.x < -15.9 * CELL);
    let name = format!("{} triangles", mesh.triangles.len());
    cases.push(Case::new(name, body, 1.0 / 1920.0, None)?);
    Ok(cases)
}

/// Best nanoseconds per step of one case at one scalar type and number of threads.
#[derive(Clone, Copy)]
struct Best {
    forward: f64,
    gradient: f64,
}

impl Best {
    fn backward(&self) -> f64 {
        self.gradient - self.forward
    }
}

pub fn run(output: &Output) -> Result<Results, CliError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.map_err(|e| ConfigError::new(format!("cannot start two threads: {e}")))?;
    let cases = cases()?;
    let mut results = Results::new("fem");
    let mut contenders = Vec::new();
    for case in &cases {
        add::<f32>(&mut contenders, "f32", case, &pool)?;
        add::<f64>(&mut contenders, "f64", case, &pool)?;
    }

    // Turn by turn, so that a slow hour of the machine hits both.
    let loads_before = load();
    let bar = progress::bar(TURNS * ROUNDS, "soft bodies");
    let mut peer = Peer::new(&cases, output);
    for _ in 0..TURNS {
        race(&mut contenders, ROUNDS, || bar.inc(1));
        peer = peer.and_then(Peer::measured);
    }
    bar.finish_and_clear();

    let best = |case: &Case, scalar: &str, threads: usize| {
        let find = |what: &str| {
            let name = label(case, scalar, threads, what);
            contenders.iter().find(|c| c.name == name).map_or(f64::NAN, |c| c.best / STEPS as f64)
        };
        Best { forward: find("forward"), gradient: find("gradient") }
    };
    for case in &cases {
        report(&mut results, case, |scalar, threads| best(case, scalar, threads));
    }
    for case in cases.iter().filter(|c| c.name.starts_with("1000")) {
        for scalar in ["f32", "f64"] {
            let one = best(case, scalar, 1);
            let name = format!("{}, {scalar}: backward over forward", case.name);
            results.goals.push(Goal::at_most(name, one.backward() / one.forward, 3.0));
        }
    }
    match peer {
        Ok(peer) => beside(&mut results, &cases, &peer, |case, threads| best(case, "f32", threads))?,
        Err(why) => results.notes.push(format!("Warp was not measured: {why}")),
    }
    results.notes.push(format!(
        "semi-implicit Euler, {STEPS} steps; left face fixed, gravity, no contact; backward: gradient of the sum of final \
         positions with respect to initial state and every parameter, less the forward pass; best of {} interleaved \
         repetitions; goals against the paper's GPU and Warp take the faster of one thread and two, at f32 as theirs",
        TURNS * ROUNDS
    ));
    results.notes.push(format!("load of the machine before and after: {loads_before} | {}", load()));
    Ok(results)
}

fn label(case: &Case, scalar: &str, threads: usize, what: &str) -> String {
    format!("{}, {scalar}, {threads}, {what}", case.name)
}

/// L = the sum of the final positions of all particles.
fn loss(case: &Case) -> FinalState {
    let n = case.body().particles();
    let mut weights = vec![0.0; case.serial.layout().state.len()];
    weights[..3 * n].fill(1.0);
    FinalState { weights }
}

/// Runs `f` in the pool, or here for one thread.
fn on<R: Send>(threads: usize, pool: &ThreadPool, f: impl FnOnce() -> R + Send) -> R {
    if threads == 1 { f() } else { pool.install(f) }
}

/// Rollouts and gradients at scalar type `T`, on one thread and on two.
fn add<'a, T: Real>(
    contenders: &mut Vec<Contender<'a>>,
    scalar: &str,
    case: &'a Case,
    pool: &'a ThreadPool,
) -> Result<(), CliError> {
    for threads in [1, 2] {
        let system = if threads == 1 { &case.serial } else { &case.threaded };
        let rollout = Rollout::new(system, STEPS, Schedule::StoreAll)?;
        let inputs = Inputs::<T>::defaults(system, STEPS);
        let mut ws = rollout.workspace::<T>();
        // Once, so that a body that blows up is an error and not a figure.
        on(threads, pool, || rollout.gradient(&mut ws, &inputs, &loss(case)))?;

        let (at, mut own) = (inputs.clone(), rollout.workspace::<T>());
        contenders.push(Contender::new(label(case, scalar, threads, "forward"), move |calls| {
            on(threads, pool, || {
                for _ in 0..calls {
                    let _ = rollout.simulate(&mut own, &at, |_| {});
                }
            });
        }));
        let l = loss(case);
        contenders.push(Contender::new(label(case, scalar, threads, "gradient"), move |calls| {
            on(threads, pool, || {
                for _ in 0..calls {
                    let _ = rollout.gradient(&mut ws, &inputs, &l);
                }
            });
        }));
    }
    Ok(())
}

/// Steps per second of a case, and the goals against the paper.
fn report(results: &mut Results, case: &Case, best: impl Fn(&str, usize) -> Best) {
    let name = &case.name;
    for scalar in ["f32", "f64"] {
        for threads in [1, 2] {
            let own = best(scalar, threads);
            let row = format!("{name}, {scalar}, {threads} thread{}", if threads == 1 { "" } else { "s" });
            let mut hertz = |metric: &str, ns: f64, paper: Option<f64>| {
                let peer_name = paper.map(|_| "gradSim, Table 4, GPU".to_owned());
                let (metric, unit) = (metric.to_owned(), "Hz".to_owned());
                results.rows.push(Row {
                    case: row.clone(),
                    metric,
                    value: 1e9 / ns,
                    unit,
                    peer: paper,
                    peer_name,
                });
            };
            hertz("forward", own.forward, case.paper.map(|p| p.0));
            hertz("backward", own.backward(), case.paper.map(|p| p.1));
            hertz("forward and backward", own.gradient, None);
            results.row(&row, "backward over forward", own.backward() / own.forward, "1");
        }
    }
    if let Some((forward, backward)) = case.paper {
        let faster = |time: fn(&Best) -> f64| 1e9 / time(&best("f32", 1)).min(time(&best("f32", 2)));
        let name = |what: &str| format!("{name}: {what} over the paper's GPU");
        results.goals.push(Goal::at_least(name("forward"), faster(|b| b.forward) / forward, 1.0));
        results.goals.push(Goal::at_least(name("backward"), faster(Best::backward) / backward, 1.0));
    }
}

/// Ratios to the peer, and whether both computed the same.
fn beside(
    results: &mut Results,
    cases: &[Case],
    peer: &Peer,
    best: impl Fn(&Case, usize) -> Best,
) -> Result<(), CliError> {
    let mut worst = 0.0;
    for case in cases {
        let theirs = |what: &str| peer.best(&case.name, what) * 1e9;
        let row = format!("{}, {} CPU", case.name, peer.version);
        for (what, time) in [("forward", (|b| b.forward) as fn(&Best) -> f64), ("backward", Best::backward)] {
            results.row(&row, what, 1e9 / theirs(what), "Hz");
            let ratio = |threads: usize| theirs(what) / time(&best(case, threads));
            results.row(&row, &format!("ours over theirs, {what}, f32, 1 thread"), ratio(1), "1");
            results.row(&row, &format!("ours over theirs, {what}, f32, 2 threads"), ratio(2), "1");
            let name = format!("{}: {what} over Warp's CPU device", case.name);
            results.goals.push(Goal::at_least(name, ratio(1).max(ratio(2)), 10.0));
        }
        // Warp's triangles and hinges obey laws of their own, its tetrahedra the same law.
        if case.body().solids[0].corners.is_empty() {
            continue;
        }
        for (what, off) in peer.differences(case)? {
            results.row(&row, &format!("largest difference, {what}"), off, "1");
            worst = larger(worst, off);
        }
    }
    results.goals.push(Goal::at_most("largest difference of solids from Warp", worst, 1e-3));
    results.notes.push(
        "Warp's seconds are those of its processor, without the turns of other programs; ours are those of the wall".into(),
    );
    results.notes.push(
        "differences from Warp: largest entry of the difference after all steps at f32, over the largest displacement or the \
         largest entry of the gradient; without damping, as Warp's damping of volumes brakes bodies that move as a whole; \
         the cloth is not compared, as Warp's membrane and bending are other laws"
            .into(),
    );
    Ok(())
}

/// Load averages of the machine, where it tells.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split_whitespace().take(3).collect();
    if averages.is_empty() { "unknown".into() } else { averages.join(" ") }
}
