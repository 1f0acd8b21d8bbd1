//! `cargo xtask COMMAND`: everything the project does to itself, on a machine that has only rustup's stable
//! toolchain, gcc and, for golden files, python3.

mod assets;
mod browser;
mod python;
mod test;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Instant;

use serde_json::Value;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test          formatting, lints, unit + integration + documentation tests, documentation, tests of the Python package;
                the time of each stage; --without-browser leaves out tests of pages, else Chromium is installed where
                there is none, from Debian's packages, which needs root or sudo without a password
  test --quick  formatting; lints and tests of the crates that changed since the last commit, or in it if nothing
                changed since; other crates that use them, and documentation, are left to `test`
  test-python   the tests of the Python package alone
  test-torch    tests of the Python package with PyTorch and Stable-Baselines3, which are 3 GB
  wheel         build a wheel of the Python package into out/wheels, for x86-64-v3 or aarch64
  fuzz          feed damaged files to every reader, ten minutes in all: [--seconds N | --inputs N] [--seed N] [TARGET...]; what
                breaks one is kept in out/fuzz/ and fed again by `fuzz --repeat TARGET FILE`; twenty seconds of it are a test
  reference     make a Python environment and regenerate the golden files of the tests
  assets        fetch the muscle models of MyoSuite (Apache 2.0) into out/assets/myosuite, for `pullback reproduce
                diffmjx-mpc` and `pullback bench muscle`
  bench         build the program with the profile release-lto and run all its benchmarks; results go to out/bench/";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test::all(true),
        ["test", "--without-browser"] => test::all(false),
        ["test", "--quick"] => test::quick(),
        ["test-python"] => python::test_alone(python::Tests::Small),
        ["test-torch"] => python::test_alone(python::Tests::Torch),
        ["wheel"] => python::wheel(),
        ["reference"] => reference(),
        ["assets"] => assets::fetch(),
        ["bench"] => bench(),
        ["fuzz", ref rest @ ..] => fuzz(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Golden files come from programs we did not write; each script under `reference/` makes one kind, but for
/// fuzzers, comparisons on files of others and players of policies.
fn reference() -> Result<(), String> {
    let root = root();
    let venv = root.join(".venv");
    let python = venv.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let requirements = root.join("reference/requirements.txt");
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
    let mut scripts: Vec<PathBuf> = std::fs::read_dir(root.join("reference"))
        .map_err(|e| format!("cannot read reference/: {e}"))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !["fuzz_", "compare_", "play_"].iter().any(|other| name.starts_with(other))
        })
        .collect();
    scripts.sort();
    for script in scripts {
        run(Command::new(&python).arg(script))?;
    }
    Ok(())
}

/// Damaged files for every reader, in the build that tests have.
fn fuzz(arguments: &[&str]) -> Result<(), String> {
    run(Command::new("cargo").args(["run", "--quiet", "--package", "pullback-fuzz", "--"]).args(arguments))
}

/// Every benchmark that the program lists, machine-readable.
fn bench() -> Result<(), String> {
    run(Command::new("cargo").args(["build", "--profile", "release-lto", "--package", "pullback-cli"]))?;
    let program = root().join("target/release-lto/pullback");
    let out = root().join("out/bench");
    std::fs::create_dir_all(&out).map_err(|e| format!("cannot create {}: {e}", out.display()))?;
    let mut missed = Vec::new();
    for name in benchmarks(&program)? {
        let output = output(&program, &["bench", &name, "--json"])?;
        let file = out.join(format!("{name}.json"));
        std::fs::write(&file, &output.stdout).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        eprintln!("{}", file.display());
        if !output.status.success() {
            missed.push(name);
        }
    }
    match missed[..] {
        [] => Ok(()),
        _ => Err(format!("failed or missed a goal: bench {}", missed.join(", "))),
    }
}

/// Names of the benchmarks of a program, as it lists them.
fn benchmarks(program: &Path) -> Result<Vec<String>, String> {
    let listing = output(program, &["list", "--json"])?.stdout;
    let listing: Value = serde_json::from_slice(&listing).map_err(|e| format!("pullback list: {e}"))?;
    let entries = listing["benchmarks"].as_array().ok_or("pullback list names no benchmarks")?;
    Ok(entries.iter().filter_map(|entry| entry["name"].as_str()).map(String::from).collect())
}

/// What a program prints, run from the root, where scripts of peers are found.
fn output(program: &Path, arguments: &[&str]) -> Result<Output, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stderr(Stdio::inherit());
    command.output().map_err(|e| format!("cannot run {}: {e}", program.display()))
}

/// Runs a command from the project's root, saying what it is and how long it took.
fn run(command: &mut Command) -> Result<(), String> {
    let line = format!("{command:?}").replace('"', "");
    eprintln!("> {line}");
    let start = Instant::now();
    let status = command.current_dir(root()).status().map_err(|e| format!("cannot run `{line}`: {e}"))?;
    eprintln!("  {:.1} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed")) }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
