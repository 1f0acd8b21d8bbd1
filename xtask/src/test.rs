//! `cargo xtask test`: what must hold before a change lands, in stages whose times are told.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{browser, python, root, run};

/// Crates whose tests need the layer above: the crate, and where those tests are.
const TESTED_ABOVE: [(&str, &str); 3] = [
    ("pullback-macros", "pullback-core"),
    ("pullback-math", "pullback-core"),
    ("pullback-core", "pullback-physics"),
];

/// Everything; pages are tested in a browser, or not at all.
pub fn all(with_browser: bool) -> Result<(), String> {
    let mut stages = Stages { browser: if with_browser { "required" } else { "none" }, ..Stages::default() };
    let result = stages.all();
    stages.print();
    result
}

/// Formatting, and lints and tests of the packages that changed.
pub fn quick() -> Result<(), String> {
    let files = changed_files()?;
    let changed: BTreeSet<String> = files.iter().filter_map(|file| package_of(file)).collect();
    if files.iter().any(|file| file.starts_with("Cargo.") || file.starts_with(".cargo")) {
        eprintln!(
            "Settings of the workspace changed; what that means for other crates only `cargo xtask test` tells."
        );
    }
    let mut stages = Stages::default();
    let result = stages.quick(&changed);
    stages.print();
    result
}

/// Stages that ran: name, wall time, and processor time where the system tells it.
#[derive(Default)]
struct Stages {
    ran: Vec<(&'static str, Duration, Option<Duration>)>,
    /// What tests of pages are told (`PULLBACK_BROWSER`); nothing lets them be skipped without a browser.
    browser: &'static str,
}

impl Stages {
    fn all(&mut self) -> Result<(), String> {
        self.cargo("format", &["fmt", "--all", "--check"])?;
        if self.browser == "required" {
            self.time("browser", browser::install)?;
        }
        self.cargo("lint", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
        self.cargo("build tests", &["test", "--workspace", "--tests", "--no-run"])?;
        self.cargo("run tests", &["test", "--workspace", "--tests", "--", "--quiet"])?;
        self.cargo("run documentation tests", &["test", "--workspace", "--doc", "--", "--quiet"])?;
        let mut doc = Command::new("cargo");
        doc.args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings");
        self.time("document", || run(&mut doc))?;
        if python::available() {
            self.time("test the Python package", || python::test(python::Tests::Small))?;
        }
        Ok(())
    }

    fn quick(&mut self, changed: &BTreeSet<String>) -> Result<(), String> {
        self.cargo("format", &["fmt", "--all", "--check"])?;
        if changed.is_empty() {
            return Ok(());
        }
        let above = TESTED_ABOVE.iter().filter(|(below, _)| changed.contains(*below));
        let tested: BTreeSet<&str> =
            changed.iter().map(String::as_str).chain(above.map(|(_, above)| *above)).collect();
        let lints = ["clippy"].into_iter().chain(selected(changed.iter().map(String::as_str)));
        let lints: Vec<&str> = lints.chain(["--all-targets", "--", "-D", "warnings"]).collect();
        self.cargo("lint", &lints)?;
        let tests = ["test", "--tests"].into_iter().chain(selected(tested)).chain(["--", "--quiet"]);
        self.cargo("build and run tests", &tests.collect::<Vec<_>>())
    }

    fn cargo(&mut self, name: &'static str, arguments: &[&str]) -> Result<(), String> {
        let browser = self.browser;
        self.time(name, || run(Command::new("cargo").args(arguments).env("PULLBACK_BROWSER", browser)))
    }

    fn time(&mut self, name: &'static str, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let (start, before) = (Instant::now(), processor_time());
        let result = work();
        let processor = processor_time().zip(before).map(|(after, before)| after - before);
        self.ran.push((name, start.elapsed(), processor));
        result
    }

    /// A table of the stages, with their sum.
    fn print(&self) {
        let sum = self.ran.iter().map(|(_, wall, _)| *wall).sum();
        let processor = self.ran.iter().map(|(_, _, processor)| *processor).sum();
        eprintln!("\n{:24} {:>9} {:>12}", "stage", "wall", "processor");
        for (name, wall, processor) in self.ran.iter().chain([&("all", sum, processor)]) {
            let seconds = |time: &Duration| format!("{:.1} s", time.as_secs_f64());
            let processor = processor.as_ref().map(seconds).unwrap_or_default();
            eprintln!("{name:24} {:>9} {processor:>12}", seconds(wall));
        }
    }
}

/// `--package` for each of several packages.
fn selected<'a>(packages: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    packages.into_iter().flat_map(|package| ["--package", package])
}

/// Processor time of all commands that have ended, their children included; known on Linux.
fn processor_time() -> Option<Duration> {
    // Fields 16 and 17 of proc(5): user and system time of children, in ticks of 10 ms. Names end at the last
    // bracket.
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(16)? + ticks(17)?)))
}

/// Files that differ from the last commit; if none does, those of the last commit.
fn changed_files() -> Result<Vec<String>, String> {
    let mut files = git(&["diff", "--name-only", "HEAD"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    if files.is_empty() { git(&["show", "--name-only", "--format=", "HEAD"]) } else { Ok(files) }
}

/// Lines that git prints.
fn git(arguments: &[&str]) -> Result<Vec<String>, String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let output = output.map_err(|e| format!("cannot run git: {e}"))?;
    if !output.status.success() {
        return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect())
}

/// The package that a file belongs to, by the manifest of its folder.
fn package_of(file: &str) -> Option<String> {
    let folders = Path::new(file).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let mut manifests = folders.map(|folder| root().join(folder).join("Cargo.toml"));
    let manifest = std::fs::read_to_string(manifests.find(|manifest| manifest.exists())?).ok()?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""))?;
    Some(name.trim_end_matches('"').into())
}
