//! Ctrl-C on runs of the program: what there is is written, one line says how to go on, the exit code is 130.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A folder of this test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pullback-interrupt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts the program with files in a folder.
fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pullback"));
    program.args(arguments).args(["--out", folder.0.to_str().unwrap()]);
    program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until `ready`, or fails with what the program said.
fn wait(mut child: Child, what: &str, ready: impl Fn(u32) -> bool) -> Child {
    let begun = Instant::now();
    while !ready(child.id()) {
        let ended = child.try_wait().unwrap().is_some();
        if ended || begun.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            panic!("{what}: {:?}", child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Whether a process catches SIGINT, by proc(5).
fn listens(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 0b10 != 0)
}

fn signal(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// The end of an interrupted run: its standard error.
fn interrupted(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    (output, said)
}

/// Complete lines of a file.
fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.matches('\n').count())
}

#[test]
fn a_simulation_writes_the_steps_it_took() {
    let folder = Folder::new("simulate");
    let child =
        wait(start(&folder, &["simulate", "double-pendulum", "--time", "600000"]), "handler", listens);
    std::thread::sleep(Duration::from_millis(100));
    signal(&child);
    let (_, said) = interrupted(child);
    assert!(said.contains("interrupted after ") && said.contains(" of 60000000 steps"), "{said}");
    assert!(said.contains("the whole motion: pullback simulate double-pendulum"), "{said}");
    let table = folder.text("trajectory.csv");
    let last = table.lines().last().unwrap().split(',').next().unwrap().parse::<f64>().unwrap();
    let steps: f64 =
        said.split("interrupted after ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((last - 0.01 * steps).abs() < 1e-6, "{last} s after {steps} steps");
    assert!(folder.0.join("trajectory.npz").exists() && folder.0.join("trajectory.png").exists());
}

#[test]
fn a_search_keeps_its_best_and_goes_on() {
    let folder = Folder::new("optimize");
    let arguments = ["optimize", "point-bounce", "--method", "cma-es", "--budget", "1000000", "--json"];
    let log = folder.0.join("run.jsonl");
    let child = wait(start(&folder, &arguments), "episodes", |_| lines(&log) > 20);
    signal(&child);
    let (output, said) = interrupted(child);
    assert!(said.contains("go on with: pullback optimize point-bounce --method cma-es"), "{said}");
    // One object on standard output, the same as in the file.
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let written: Value = serde_json::from_str(&folder.text("result.json")).unwrap();
    assert_eq!(printed, written);
    let done = printed["episodes"].as_u64().unwrap();
    assert!(done > 19 && done < 1_000_000 && printed["best"]["loss"].is_number(), "{done}");

    let further = (done + 5).to_string();
    let mut arguments = arguments;
    arguments[5] = &further;
    let output = start(&folder, &arguments).wait_with_output().unwrap();
    let went_on: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&went_on["resumed"], &went_on["episodes"]), (&done.into(), &(done + 5).into()));
}

#[test]
fn training_leaves_a_checkpoint() {
    let folder = Folder::new("train");
    let arguments = ["train", "cartpole", "--set", "epochs=100000", "--set", "envs=20", "--threads", "1"];
    let rows = folder.0.join("metrics.csv");
    let child = wait(start(&folder, &arguments), "epochs", |_| lines(&rows) > 3);
    signal(&child);
    let (_, said) = interrupted(child);
    assert!(said.contains("interrupted after ") && said.contains(": pullback train cartpole"), "{said}");
    let done: usize =
        said.split("interrupted after ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let stop = (done + 1).to_string();
    let again = [&arguments[..], &["--stop-after", &stop, "--json"]].concat();
    let output = start(&folder, &again).wait_with_output().unwrap();
    let went_on: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(went_on["resumed"], done);
}

#[test]
fn planning_goes_on_from_its_last_plan() {
    let folder = Folder::new("mpc");
    let arguments = ["mpc", "cartpole-swing-up", "--planner", "sampling", "--time", "1000"];
    let log = folder.0.join("run.jsonl");
    let child = wait(start(&folder, &arguments), "plans", |_| lines(&log) > 2);
    signal(&child);
    let (_, said) = interrupted(child);
    assert!(said.contains("goes on from there: pullback mpc cartpole-swing-up"), "{said}");
    let done = lines(&log);
    assert!(folder.0.join("checkpoint.json").exists());
    let child = wait(start(&folder, &arguments), "more plans", |_| lines(&log) > done);
    signal(&child);
    interrupted(child);
    assert!(lines(&log) > done);
}

#[test]
fn a_fit_goes_on_from_its_log() {
    let folder = Folder::new("identify");
    let arguments = ["identify", "arm", "--starts", "400", "--threads", "1"];
    let logged = |_: u32| {
        let files = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).any(|path| lines(&path) > 2)
    };
    let child = wait(start(&folder, &arguments), "steps", logged);
    signal(&child);
    let (_, said) = interrupted(child);
    assert!(said.contains("interrupted") && said.contains(": pullback identify arm --starts 400"), "{said}");
}

#[test]
fn a_landscape_shows_the_rows_it_has() {
    let folder = Folder::new("landscape");
    let arguments = ["landscape", "double-pendulum-reach", "--points", "900", "--json"];
    let child = wait(start(&folder, &arguments), "handler", listens);
    std::thread::sleep(Duration::from_millis(400));
    signal(&child);
    let (output, said) = interrupted(child);
    assert!(said.contains(" of 900 rows are blank in ") && said.contains("pullback landscape"), "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let left_out = printed["landscape"]["rows_left_out"].as_u64().unwrap();
    assert!(left_out > 0 && left_out < 900 && printed["landscape"]["failures"] == 0, "{left_out}");
    assert!(folder.0.join("landscape.png").exists());
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = Folder::new("twice");
    // A single plan of this takes minutes.
    let settings = r#"{"samples": 1000000}"#;
    let arguments = ["mpc", "cartpole-swing-up", "--planner", "sampling", "--settings", settings];
    let child = wait(start(&folder, &arguments), "handler", listens);
    signal(&child);
    std::thread::sleep(Duration::from_millis(800));
    let begun = Instant::now();
    signal(&child);
    let (_, said) = interrupted(child);
    assert!(said.contains("Ctrl-C again ends at once"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn the_viewer_ends_with_its_url_said_once() {
    let folder = Folder::new("view");
    let child = wait(start(&folder, &["view", "pendulum", "--json"]), "handler", listens);
    std::thread::sleep(Duration::from_millis(100));
    signal(&child);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let url = printed["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && url.len() > 50, "{url}");
}
