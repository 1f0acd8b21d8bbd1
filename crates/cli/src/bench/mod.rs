//! `pullback bench`: one file per benchmark.

mod ant;
mod articulated;
mod bo;
mod checkpoint;
mod core;
mod fem;
mod mpm;
mod peer;
mod search;
mod standing;

pub use checkpoint::measure as measure_checkpoints;

use pullback_core::ConfigError;
use pullback_physics::articulated::Model;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use crate::args::{BenchOptions, Benchmark};
use crate::output::{CliError, Output, results_text};

pub fn run(options: &BenchOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let results = match options.what {
        Benchmark::Core => core::run()?,
        Benchmark::Checkpoint => checkpoint::run(options.steps)?,
        Benchmark::Articulated => articulated::run(output)?,
        Benchmark::Ant => ant::run(seed, output)?,
        Benchmark::Fem => fem::run(output)?,
        Benchmark::Mpm => mpm::run(output)?,
        Benchmark::Bo => bo::run(output)?,
        Benchmark::Search => search::run(output)?,
    };
    output.print(&results, || results_text(&results))?;
    Ok(results.all_met())
}

/// One of our own robots, from its text in `models/`.
fn own_model(xml: &str) -> Result<Model, ConfigError> {
    parse_mjcf(xml, None, &ImportOptions::default()).map_err(|e| ConfigError::new(e.to_string()))
}

/// A number of threads in words.
fn count(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}
