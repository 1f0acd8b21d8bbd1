//! `pullback bench`: one file per benchmark.

mod ant;
mod articulated;
mod beside_mujoco;
mod bo;
mod checkpoint;
mod contact;
mod core;
mod fem;
mod hand_flip;
mod mpm;
mod muscle;
pub mod peer;
mod python;
mod render;
mod search;
mod smoke;
mod standing;
mod toss;
mod train;

pub use checkpoint::measure as measure_checkpoints;

use pullback_core::ConfigError;
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{ARTICULATED_ADJOINT, DIFFMJX, GRADSIM, REWARPED};
use pullback_physics::articulated::{ContactModel, Model};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use pullback_tasks::Results;

use crate::args::BenchOptions;
use crate::output::{CliError, Output, results_text};

/// How a benchmark is run, given the options, the seed and where its files go.
pub type Benchmark = fn(&BenchOptions, u64, &Output) -> Result<Results, CliError>;

/// Every benchmark by name.
pub const BENCHMARKS: Registry<Benchmark> = Registry::new("benchmark", &[TABLE]);

const TABLE: &[Entry<Benchmark>] = &[
    Entry::new(
        "core",
        "cost of a gradient over a step, macro-made against hand-written, lanes against scalars",
        |_, _, _| core::run(),
    ),
    Entry::new(
        "checkpoint",
        "memory and time of checkpoint schedules over a long rollout",
        |options, _, _| checkpoint::run(options.steps),
    ),
    Entry::cited(
        "articulated",
        "forward and backward steps of an 18-dof quadruped beside Pinocchio's, and robots standing",
        ARTICULATED_ADJOINT.at("section 6.1"),
        |_, _, output| articulated::run(output),
    ),
    Entry::new(
        "ant",
        "environment steps per second of the ant on the ground, with and without gradients, beside MuJoCo's",
        |_, seed, output| ant::run(seed, output),
    ),
    Entry::new(
        "contact",
        "steps of robots, a stack and a hand in contact, with and without gradients, beside MuJoCo's and MJX's",
        |_, seed, output| contact::run(seed, output),
    ),
    Entry::cited(
        "muscle",
        "steps of hands and an arm of muscles, with and without gradients, beside MuJoCo's",
        DIFFMJX.at("section 6"),
        |_, seed, output| muscle::run(seed, output),
    ),
    Entry::cited("toss", "loss and gradient of a toss on a hard floor", DIFFMJX.at("Fig. S6"), |_, _, _| {
        toss::run()
    }),
    Entry::cited(
        "fem",
        "steps of elastic blocks and a cloth, forward and backward, beside Warp's CPU device",
        GRADSIM.at("Table 4"),
        |_, _, output| fem::run(output),
    ),
    Entry::new(
        "mpm",
        "substeps of plasticine particles, forward and backward, alone and in batches, beside Taichi's and Warp's CPU",
        |_, _, output| mpm::run(output),
    ),
    Entry::cited(
        "render",
        "soft silhouettes, forward and backward, beside a PyTorch rasterizer and Mitsuba on the CPU; pictures in color",
        GRADSIM.at("section 3.2"),
        |_, _, output| render::run(output),
    ),
    Entry::cited(
        "smoke",
        "steps of smoke in two and three dimensions, forward and backward, beside PyTorch",
        GRADSIM.at("C.4"),
        |_, _, output| smoke::run(output),
    ),
    Entry::cited(
        "train",
        "a whole epoch of SAPO on the ant, split into physics and networks, beside PyTorch's networks",
        REWARPED.at("section 6"),
        |_, seed, output| train::run(seed, output),
    ),
    Entry::cited(
        "hand-flip",
        "steps of a hand that folds dough, and epochs of five algorithms on it, beside the paper's GPU",
        REWARPED.at("Tables 16 and 18"),
        |_, seed, _| hand_flip::run(seed),
    ),
    Entry::new(
        "python",
        "batched steps and gradients of the Python package beside Rust's, and beside MJX, Brax and MuJoCo",
        |_, seed, output| python::run(seed, output),
    ),
    Entry::new("bo", "trials of Bayesian optimization beside BoTorch", |_, _, output| bo::run(output)),
    Entry::new("search", "search methods on known functions beside cmaes and BoTorch", |_, _, output| {
        search::run(output)
    }),
];

pub fn run(options: &BenchOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let mut results = (options.what.value)(options, seed, output)?;
    results.note_missing();
    output.print(&results, || results_text(&results))?;
    Ok(results.all_met())
}

/// One of our own robots, from its text in `models/`, with compliant contact.
fn own_model(xml: &str) -> Result<Model, ConfigError> {
    let model = parse_mjcf(xml, None, &ImportOptions::default());
    let mut model = model.map_err(|e| ConfigError::new(e.to_string()))?;
    model.options.contact_model = ContactModel::Penalty;
    Ok(model)
}

/// A number of threads in words.
fn count(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}
