//! `pullback bench`: one file per benchmark.

mod articulated;
mod checkpoint;
mod core;
mod fem;

pub use checkpoint::measure as measure_checkpoints;

use crate::args::{BenchOptions, Benchmark};
use crate::output::{CliError, Output, results_text};

pub fn run(options: &BenchOptions, output: &Output) -> Result<bool, CliError> {
    let results = match options.what {
        Benchmark::Core => core::run()?,
        Benchmark::Checkpoint => checkpoint::run(options.steps)?,
        Benchmark::Articulated => articulated::run(output)?,
        Benchmark::Fem => fem::run(output)?,
    };
    output.print(&results, || results_text(&results))?;
    Ok(results.all_met())
}
