//! The Python package: `cargo xtask wheel`, `cargo xtask test-torch` and the stage of `cargo xtask test`.
//!
//! Tests run in an environment made from nothing, on a wheel that was built and installed as users do; only its profile
//! is that of tests, so that everything below the module is what the tests of Rust have built before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{root, run};

/// What a wheel is built for where the machine it is built on is not to count.
const X86_64: &str = "-C target-cpu=x86-64-v3";

/// Builds wheels.
const MATURIN: &str = "maturin>=1.16,<2";

/// What the tests need beside the package, in the environments of `test` and `test-torch`.
const SMALL: &[&str] = &["numpy", "gymnasium", "jax", "mujoco", "pytest"];
const TORCH: &[&str] = &["numpy", "gymnasium", "torch", "stable-baselines3", "pytest"];

/// Which tests of Python are run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// All that need no PyTorch.
    Small,
    /// Those with PyTorch.
    Torch,
}

/// Whether there is a Python to test with. Where there is none it is said so that nobody overlooks it.
pub fn available() -> bool {
    let found = Command::new("python3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!(
            "\n*** There is no python3 here: THE PYTHON PACKAGE IS NOT TESTED. Install Python 3.11 or later. ***\n"
        );
    }
    found
}

/// `cargo xtask test-python` and `cargo xtask test-torch`.
pub fn test_alone(tests: Tests) -> Result<(), String> {
    match available() {
        true => test(tests),
        false => Err("there is no python3".into()),
    }
}

/// Builds a wheel, installs it into a new environment and runs the tests of Python.
pub fn test(tests: Tests) -> Result<(), String> {
    let (name, packages) = match tests {
        Tests::Small => ("python", SMALL),
        Tests::Torch => ("python-torch", TORCH),
    };
    let place = root().join("out").join(name);
    remove(&place)?;
    let python = environment(&place.join("venv"))?;
    install(&python, packages)?;
    let wheels = place.join("wheels");
    build(&python, &wheels, &["--profile", "dev"], None)?;
    run(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(only_wheel(&wheels)?))?;
    let golden = place.join("golden.json");
    let example =
        ["run", "--quiet", "--package", "pullback", "--features", "full", "--example", "golden", "--"];
    run(Command::new("cargo").args(example).arg(&golden))?;
    run(Command::new(&python)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .args(match tests {
            Tests::Small => &["--ignore=python/tests/with_torch"][..],
            Tests::Torch => &["python/tests/with_torch"],
        })
        .env("PULLBACK_GOLDEN", &golden)
        // Not the folder of the sources: what is tested is what is installed.
        .env("PYTHONSAFEPATH", "1"))
}

/// Builds a wheel for all processors of the last ten years into `out/wheels`.
pub fn wheel() -> Result<(), String> {
    let place = root().join("out/wheels");
    let python = environment(&place.join("venv"))?;
    let flags = if cfg!(target_arch = "x86_64") { X86_64 } else { "" };
    // Flags are those of all crates: beside the builds for this machine, not in their place.
    let target = root().join("target/wheel");
    let target = target.display().to_string();
    build(&python, &place, &["--release", "--target-dir", &target], Some(flags))?;
    eprintln!("{}", only_wheel(&place)?.display());
    Ok(())
}

/// An environment of Python's own with what builds wheels; its interpreter.
fn environment(place: &Path) -> Result<PathBuf, String> {
    remove(place)?;
    run(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    let python = place.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    install(&python, &[MATURIN])?;
    Ok(python)
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

fn install(python: &Path, packages: &[&str]) -> Result<(), String> {
    run(pip(python).args(packages))
}

/// Builds a wheel into an empty folder.
fn build(python: &Path, wheels: &Path, how: &[&str], flags: Option<&str>) -> Result<(), String> {
    for old in list_wheels(wheels) {
        remove(&old)?;
    }
    let mut command = Command::new(python);
    command.args(["-m", "maturin", "build", "--quiet", "--out"]).arg(wheels).args(how);
    command.arg("--interpreter").arg(python);
    if let Some(flags) = flags {
        command.env("RUSTFLAGS", flags);
    }
    run(&mut command)
}

fn list_wheels(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok().map(|e| e.path()));
    entries.filter(|path| path.extension().is_some_and(|e| e == "whl")).collect()
}

fn only_wheel(folder: &Path) -> Result<PathBuf, String> {
    list_wheels(folder).pop().ok_or_else(|| format!("{} holds no wheel", folder.display()))
}

fn remove(path: &Path) -> Result<(), String> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match path.exists() {
        true => removed.map_err(|e| format!("cannot remove {}: {e}", path.display())),
        false => Ok(()),
    }
}
