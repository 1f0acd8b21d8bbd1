//! `pullback completions`: what a shell offers after a press of the tab key. Bash and zsh complete names of scenes and
//! tasks, too; for fish and PowerShell clap_complete writes commands, options and values of options alone.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::{Arguments, CompletionsOptions};
use crate::output::CliError;

pub fn run(options: &CompletionsOptions) -> Result<bool, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "pullback", &mut script);
    match io::stdout().write_all(&script) {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::Write { path: "standard output".into(), source })
        }
        _ => Ok(true),
    }
}
