//! Options of commands that take a scene or model file with a loss of its own.

use std::path::PathBuf;

use clap::Args;

/// What is asked of a scene or model file.
#[derive(Debug, Default, Args)]
pub struct LossOptions {
    /// What is asked of a scene or model file and what may change, a .toml or .json file; `pullback list FILE
    /// --loss-template` prints one to begin with
    #[arg(long, value_name = "FILE")]
    pub loss: Option<PathBuf>,
}
