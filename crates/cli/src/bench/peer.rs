//! Peers measured in the same run: Python scripts under `bench/` that make their own environment and print
//! one JSON object.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::output::Output;
use crate::progress;

/// Runs `bench/NAME/run.py INPUT BUILD_FOLDER ARGUMENTS`; the input is a file with this name and content,
/// written with the build folder into the folder of `bench`.
pub fn run(
    output: &Output,
    (bench, name): (&str, &str),
    (input_name, input): (&str, &str),
    arguments: &[String],
) -> Result<Value, String> {
    let script = script(name)?;
    let folder = output.folder(bench).map_err(|e| e.to_string())?;
    let file = folder.join(input_name);
    output.write(&file, input.as_bytes()).map_err(|e| e.to_string())?;
    let spinner = progress::bar(1, &format!("preparing and running {name}"));
    let mut command = Command::new("python3");
    command.arg(script).arg(&file).arg(folder.join(name)).args(arguments);
    let said = call(command);
    spinner.finish_and_clear();
    said
}

/// The script of a peer, which is where the project's root is.
pub fn script(name: &str) -> Result<PathBuf, String> {
    let script = Path::new("bench").join(name).join("run.py");
    if !script.exists() {
        return Err(format!("run from the project's root, where {} is", script.display()));
    }
    Ok(script)
}

/// The object that a command prints, or the last line of its complaints.
pub fn call(mut command: Command) -> Result<Value, String> {
    let done = command.output().map_err(|e| format!("cannot run python3: {e}"))?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        return Err(errors.lines().last().unwrap_or("it failed").to_owned());
    }
    serde_json::from_slice(&done.stdout).map_err(|e| format!("it printed no JSON object: {e}"))
}
