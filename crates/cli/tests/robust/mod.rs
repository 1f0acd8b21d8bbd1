//! What nothing breaks: logs, folders, settings and output under changed files, other processes and full disks.

mod hostile;

use std::path::Path;

use super::{Folder, json, pullback};
use pullback_core::csv;
use pullback_core::files::FolderLock;

/// The one line with which the program refuses.
fn refused(arguments: &[&str]) -> String {
    let output = pullback(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    let errors: Vec<&str> = message.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{arguments:?}: {message}");
    errors[0].to_owned()
}

/// A robot with one actuated joint of this name, stronger or weaker.
fn robot(folder: &Folder, joint: &str, gear: f64) -> String {
    let (file, joint) = (folder.0.join("robot.xml"), joint.replace('"', "&quot;"));
    let text = format!(
        r#"<mujoco><option timestep="0.01"/><worldbody><body><joint name="{joint}" axis="0 1 0" damping="0.1"/>
           <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05"/></body></worldbody>
           <actuator><motor joint="{joint}" ctrlrange="-1 1" gear="{gear}"/></actuator></mujoco>"#
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Corners of a sheet that rise by this much per second.
fn lifted(folder: &Folder, speed: f64) -> String {
    let row = |i: usize| {
        let (t, z) = (0.1 * i as f64, 0.1 * i as f64 * speed);
        format!("{t},0,0,{z:e},0.2,0,{z:e},0,0.2,{z:e},0.2,0.2,{z:e}\n")
    };
    let file = folder.0.join("lift.csv");
    std::fs::write(&file, (0..6).map(row).collect::<String>()).unwrap();
    format!("cloth-lift:{}", file.display())
}

#[test]
fn a_log_does_not_resume_another_problem() {
    let folder = Folder::new("robust-inputs");
    let out = folder.0.join("out");
    let out = out.to_str().unwrap();
    let task = lifted(&folder, 0.2);
    let search = ["optimize", &task, "--method", "random", "--budget", "2", "--out", out];
    assert!(pullback(&search).status.success());
    // The same recording goes on, another one of the same name does not.
    assert!(pullback(&search).status.success());
    lifted(&folder, 0.3);
    let message = refused(&search);
    assert!(message.contains("lift.csv` has changed since; remove the file"), "{message}");

    let out = folder.0.join("mpc");
    let model = robot(&folder, "swing", 40.0);
    let plan = ["mpc", &model, "--target", "swing.q=0.5", "--time", "0.1", "--planner", "sampling"];
    let plan = [&plan[..], &["--settings", "{\"samples\": 8}", "--out", out.to_str().unwrap()]].concat();
    assert!(pullback(&plan).status.success());
    robot(&folder, "swing", 41.0);
    let message = refused(&plan);
    assert!(message.contains("robot.xml` has changed since"), "{message}");

    let (out, data) = (folder.0.join("fit"), folder.0.join("trajectory.csv"));
    let set = ["--set", "state.*.q=1", "--out", folder.0.to_str().unwrap()];
    assert!(pullback(&[&["simulate", &model, "--time", "0.2"], &set[..]].concat()).status.success());
    let data = data.to_str().unwrap();
    let fit = ["identify", &model, "--data", data, "--fit", "*damping", "--out", out.to_str().unwrap()];
    assert!(pullback(&fit).status.success());
    robot(&folder, "swing", 42.0);
    let message = refused(&fit);
    assert!(message.contains("robot.xml` has changed since"), "{message}");
}

#[test]
fn an_edited_loss_is_an_error_with_file_and_line() {
    let folder = Folder::new("robust-edited");
    let out = folder.0.to_str().unwrap();
    let search = ["optimize", "point-bounce", "--method", "adam", "--budget", "6", "--out", out];
    assert!(pullback(&search).status.success());
    let log = folder.0.join("run.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(String::from).collect();
    let (before, loss) = lines[4].split_once("\"loss\":").unwrap();
    lines[4] = format!("{before}\"loss\":0.0{}", &loss[loss.find(',').unwrap()..]);
    std::fs::write(&log, lines.concat()).unwrap();
    let message = refused(&search);
    assert!(message.contains("run.jsonl, line 5: its checksum is wrong"), "{message}");
}

#[test]
fn a_folder_in_use_is_refused_by_name() {
    let folder = Folder::new("robust-locked");
    let out = folder.0.to_str().unwrap();
    let search = ["optimize", "point-bounce", "--budget", "3", "--out", out];
    let lock = FolderLock::acquire(&folder.0).unwrap();
    let message = refused(&search);
    assert!(message.contains(out) && message.contains("is in use by process"), "{message}");
    drop(lock);
    assert!(pullback(&search).status.success());
}

#[test]
fn a_search_whose_simulations_all_fail_says_why_and_keeps_its_log() {
    let folder = Folder::new("robust-failed");
    let out = folder.0.join("out");
    let task = lifted(&folder, 1e200);
    let arguments = ["optimize", &task, "--method", "random", "--budget", "3"];
    let message = refused(&[&arguments[..], &["--out", out.to_str().unwrap()]].concat());
    assert!(
        message.contains("3 of 3 simulations failed; the first, number 1: ") && message.contains("in step ")
    );
    assert!(message.contains(out.join("run.jsonl").to_str().unwrap()), "{message}");
    let log = std::fs::read_to_string(out.join("run.jsonl")).unwrap();
    assert_eq!((log.lines().count(), log.matches("\"failure\":\"").count()), (4, 3), "{log}");
}

#[test]
fn settings_of_another_kind_or_size_are_refused() {
    let out = Folder::new("robust-settings");
    let out = out.0.to_str().unwrap();
    let cases: [(&[&str], &str); 10] = [
        (&["optimize", "point-bounce", "--method", "adam", "--settings", "[0.1]"], "not [0.1]"),
        (
            &["optimize", "point-bounce", "--method", "cma-es", "--settings", "{\"step_tolerance\": 2}"],
            "`step_tolerance` is 2",
        ),
        (&["mpc", "cartpole-swingup", "--planner", "mppi", "--settings", "[]"], "not []"),
        (&["identify", "pendulum", "--settings", "[]"], "not []"),
        (&["train", "ant", "--set", "critic=[1]"], "`critic` is a list"),
        (&["train", "ant", "--set", "envs=1000000000"], "`envs` needs"),
        (&["landscape", "point-bounce", "--points", "1000000"], "`points` needs"),
        (&["doctor", "point-bounce", "--points", "1000000000000"], "`points and lines` needs"),
        (&["identify", "pendulum", "--threads", "100000"], "from 0 (all) to 1024"),
        (&["gradcheck", "pendulum", "--tolerance", "nan"], "it must be a positive number"),
    ];
    for (arguments, words) in cases {
        let message = refused(&[arguments, &["--out", out]].concat());
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    use std::process::{Command, Stdio};
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pullback"));
    let output = command.args(["list", "--json"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.starts_with("error: cannot write standard output: "), "{message}");
}

#[test]
fn names_with_commas_and_quotes_are_written_and_read_back() {
    let folder = Folder::new("robust-names");
    let name = "a,b \"c\"";
    let model = robot(&folder, name, 1.0);
    let (value, code) = json(&folder, &["simulate", &model, "--time", "0.2", "--set", "state.*.q=1"]);
    assert_eq!(code, 0);
    let data = folder.0.join("trajectory.csv");
    let columns = header(&data);
    assert_eq!(columns, ["time".to_owned(), format!("{name}.q"), format!("{name}.v")]);
    assert_eq!(value["names"], serde_json::json!(columns[1..]));
    let data = data.to_str().unwrap();
    let (found, code) = json(&folder, &["identify", &model, "--data", data, "--fit", "body1.mass"]);
    assert_eq!((code, found["channels"][0]["name"].as_str()), (0, Some(columns[1].as_str())));
}

/// The columns of a table.
fn header(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let (_, first) = csv::lines(&text).next().unwrap();
    csv::split(first).unwrap()
}
