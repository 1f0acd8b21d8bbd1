//! `pullback`: simulate, check gradients, look at landscapes, reproduce papers, measure.
//!
//! Exit codes: 0 done, 1 a check failed or a goal was missed, 2 the request made no sense or could not be
//! carried out, 130 Ctrl-C ended it.

mod args;
mod bench;
mod commands;
mod controls;
mod finite;
mod interrupt;
mod names;
mod npz;
mod output;
mod progress;
mod run_folder;
mod style;
mod timing;
mod version;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
use pullback_core::memory::Counting;

use args::{Arguments, Command};
use interrupt::{INTERRUPTED, command_line};
use output::{CliError, Output};
use style::Color;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && error.kind() != DisplayHelpOnMissingArgumentOrSubcommand => {
            // Options before the mistake may not have been read.
            let json = std::env::args().any(|argument| argument == "--json");
            return fail(&one_line(&error.to_string()), json);
        }
        Err(help) => help.exit(),
    };
    let Arguments { json, quiet, .. } = arguments;
    if quiet {
        progress::hide();
    }
    let output = Output { json, quiet, out: arguments.out.clone() };
    match run(&arguments, &output) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // What there is was written and printed.
        Err(CliError::Partial(line)) => {
            eprintln!("{line}");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            let not_finite = matches!(error, CliError::NotFinite(_));
            let error = error.to_string().replace('\n', " ");
            if pullback_core::interrupt::asked() {
                fail(&format!("{error}: {}", command_line()), json);
                return ExitCode::from(INTERRUPTED);
            }
            // The object that holds the error was printed with the result.
            fail(&format!("error: {error}"), json && !not_finite)
        }
    }
}

/// Says in one line why nothing was done; as an object too where JSON was asked for.
fn fail(message: &str, json: bool) -> ExitCode {
    match message.strip_prefix("error: ") {
        Some(why) => eprintln!("{} {why}", style::err(Color::Red, "error:")),
        None => eprintln!("{message}"),
    }
    if json {
        let error = message.strip_prefix("error: ").unwrap_or(message);
        // What cannot be written here was said on standard error.
        let _ = writeln!(std::io::stdout(), "{}", serde_json::json!({ "error": error }));
    }
    ExitCode::from(2)
}

/// The message of a command-line error without its usage block.
fn one_line(message: &str) -> String {
    let kept = message.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let kept = kept.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    kept.collect::<Vec<_>>().join(" ") + "; see --help"
}

/// Whether every check passed and every goal was met.
fn run(arguments: &Arguments, output: &Output) -> Result<bool, CliError> {
    let seed = arguments.seed;
    match &arguments.command {
        Command::List(options) => commands::list::run(options, output),
        Command::Demo(options) => commands::demo::run(options, seed, output),
        Command::Simulate(options) => commands::simulate::run(options, output),
        Command::View(options) => commands::view::run(options, output),
        Command::Inspect(options) => commands::inspect::run(options, output),
        Command::Gradcheck(options) => commands::gradcheck::run(options, seed, output),
        Command::Landscape(options) => commands::landscape::run(options, output),
        Command::Doctor(options) => commands::doctor::run(options, seed, output),
        Command::Optimize(options) => commands::optimize::run(options, seed, output),
        Command::Identify(options) => commands::identify::run(options, seed, output),
        Command::Mpc(options) => commands::mpc::run(options, seed, output),
        Command::Train(options) => commands::train::run(options, seed, output),
        Command::Play(options) => commands::play::run(options, seed, output),
        Command::Compare(options) => commands::compare::run(options, output),
        Command::Reproduce(options) => commands::reproduce::run(options, output),
        Command::Bench(options) => bench::run(options, seed, output),
        Command::Completions(options) => commands::completions::run(options),
    }
}
