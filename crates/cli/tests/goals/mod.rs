//! Losses described in files, controls that are played again, folders that nothing writes over, steps that are
//! too large.

use std::path::Path;
use std::process::Command;

use pullback_tasks::goal::{Goal, LossFile};
use pullback_tasks::scenes::SceneOptions;

use super::{Folder, json, pullback};

const ARM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/arm9.xml");
const REACH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/losses/reach.toml");
const PENDULUM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/losses/pendulum.toml");

/// The last row of a table, without its time.
fn last_state(folder: &Folder) -> Vec<u64> {
    let text = std::fs::read_to_string(folder.0.join("trajectory.csv")).unwrap();
    text.lines().last().unwrap().split(',').skip(1).map(|x| x.parse::<f64>().unwrap().to_bits()).collect()
}

#[test]
fn an_optimum_is_played_again_to_the_last_bit() {
    let found = Folder::new("optimum");
    let (value, code) =
        json(&found, &["optimize", ARM, "--loss", REACH, "--method", "lbfgs", "--budget", "10"]);
    assert_eq!(code, 0, "{value}");
    for file in ["controls.csv", "controls.npz", "replay.html", "result.json", "run.jsonl"] {
        assert!(found.0.join(file).metadata().unwrap().len() > 100, "{file}");
    }
    let x: Vec<f64> = value["best"]["x"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let goal = Goal::read(ARM, Path::new(REACH), SceneOptions::default()).unwrap();
    let states = goal.objective().states(&x).unwrap();
    let expected: Vec<u64> = states.last().unwrap().iter().map(|x| x.to_bits()).collect();

    let file = |name: &str| found.0.join(name).to_str().unwrap().to_owned();
    let played = Folder::new("played");
    let (value, code) = json(&played, &["simulate", ARM, "--controls", &file("controls.npz")]);
    assert_eq!((code, value["steps"].as_u64()), (0, Some(250)));
    assert_eq!(last_state(&played), expected, "the file has start and parameters too");
    let (_, code) =
        json(&played, &["simulate", ARM, "--controls", &file("controls.csv"), "--keyframe", "home"]);
    assert_eq!((code, last_state(&played)), (0, expected));
    // What simulate writes can be played too.
    let again = Folder::new("again");
    let own = played.0.join("controls.npz");
    let (_, code) = json(&again, &["simulate", ARM, "--controls", own.to_str().unwrap(), "--time", "0.1"]);
    assert_eq!(code, 0);

    let found = file("controls.npz");
    for (arguments, says) in [
        (&["--time", "2"][..], "its controls end after 0.5 s"),
        (&["--dt", "0.001"], "give --dt 0.002"),
        (&["--set", "control.joint_1=1"], "controls are those of --controls"),
    ] {
        let all = [&["simulate", ARM, "--controls", &found][..], arguments].concat();
        let (value, code) = json(&again, &all);
        assert!(code == 2 && value["error"].as_str().unwrap().contains(says), "{value}");
    }
    let (value, _) = json(&again, &["simulate", "pendulum", "--controls", &found]);
    assert!(value["error"].as_str().unwrap().contains("give --dt 0.002"), "{value}");
}

#[test]
fn a_scene_with_a_loss_is_checked_mapped_and_examined() {
    let folder = Folder::new("looks");
    let (value, code) = json(&folder, &["gradcheck", "pendulum", "--loss", PENDULUM]);
    assert_eq!((code, &value["passed"]), (0, &true.into()), "{value}");
    let (value, code) = json(&folder, &["landscape", "pendulum", "--loss", PENDULUM, "--points", "9"]);
    assert_eq!((code, value["landscape"]["failures"].as_u64()), (0, Some(0)));
    assert_eq!(value["landscape"]["names"][0], "logit params.length");
    let (value, code) =
        json(&folder, &["doctor", "pendulum", "--loss", PENDULUM, "--points", "6", "--lines", "2"]);
    assert_eq!((code, &value["verdict"]), (0, &"trustworthy".into()), "{value}");

    let error = |arguments: &[&str]| {
        let (value, code) = json(&folder, arguments);
        assert_eq!(code, 2, "{value}");
        value["error"].as_str().unwrap().to_owned()
    };
    let how = "`pullback list robot-cloth --loss-template` prints one to begin with";
    assert!(error(&["optimize", "robot-cloth"]).ends_with(how));
    assert!(error(&["optimize", "flip", "--loss", PENDULUM]).contains("a task has a loss of its own"));
    assert!(error(&["landscape", ARM]).contains("--loss FILE"));
    assert!(error(&["optimize", "pendulum", "--loss", "no.toml"]).contains("cannot read no.toml"));
    assert!(error(&["gradcheck", "pendulum", "--loss", PENDULUM, "--steps", "3"]).contains("--steps"));
}

#[test]
fn a_template_can_be_used_as_it_is_printed() {
    let output = pullback(&["list", ARM, "--loss-template"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let file = LossFile::from_toml("printed.toml", &text).unwrap();
    assert!(text.contains("site = \"grip\"") && file.vary.len() == 1, "{text}");
    let error = String::from_utf8(pullback(&["list", "--loss-template"]).stderr).unwrap();
    assert!(error.contains("<SCENE>") || error.contains("required"), "{error}");
}

#[test]
fn no_run_writes_over_another_one() {
    let place = Folder::new("apart");
    let run = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_pullback"));
        let output = program.args(arguments).arg("-q").current_dir(&place.0).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let simulate = ["simulate", "pendulum", "--time", "0.05"];
    let landscape = ["landscape", "point-bounce", "--points", "3"];
    let optimize = ["optimize", "point-bounce", "--method", "random", "--budget", "3"];
    let runs: [&[&str]; 9] = [
        &simulate,
        &[&simulate[..], &["--set", "state.angle=1"]].concat(),
        &[&simulate[..], &["--set", "state.angle=2"]].concat(),
        &[&simulate[..], &["--dt", "0.005"]].concat(),
        &landscape,
        &[&landscape[..], &["--dims", "1,0"]].concat(),
        &optimize,
        &[&optimize[..], &["--settings", "{\"batch\": 2}"]].concat(),
        &[&optimize[..], &["--seed", "1"]].concat(),
    ];
    runs.iter().for_each(|arguments| run(arguments));
    let folders = || std::fs::read_dir(place.0.join("out")).unwrap().count();
    assert_eq!(folders(), runs.len());
    // The same command has the same folder.
    runs.iter().for_each(|arguments| run(arguments));
    assert_eq!(folders(), runs.len());
}

#[test]
fn a_step_that_is_too_large_is_said() {
    let folder = Folder::new("stiff");
    let file = folder.0.join("load.xml");
    let text =
        "<mujoco><worldbody><body name='load' pos='0 0 1'><joint name='spring' type='slide' axis='0 0 1'
        stiffness='10000'/><geom size='0.1' mass='1'/></body></worldbody></mujoco>";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let said = |dt: &str| {
        let (value, code) = json(&folder, &["simulate", file, "--time", "0.5", "--dt", dt]);
        assert_eq!(code, 0, "{value}");
        value["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(said("0.002"), Vec::<String>::new());
    let above = said("0.0202");
    assert!(above[0].contains("set by `spring.v`: give --dt 1.8e-2"), "{above:?}");
    // A motion that leaves the numbers says why.
    let output =
        pullback(&["simulate", file, "--dt", "0.1", "--time", "100", "--out", folder.0.to_str().unwrap()]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("warning: ") && error.contains("give --dt 1.8e-2"), "{error}");

    let (value, code) = json(&folder, &["doctor", file]);
    let largest = value["limit"]["largest"].as_f64().unwrap();
    assert!(code == 0 && (largest / 0.02 - 1.0).abs() < 0.05, "{value}");
    let (value, _) = json(&folder, &["inspect", file]);
    assert!((value["step_limit"]["largest"].as_f64().unwrap() / 0.02 - 1.0).abs() < 0.05, "{value}");
}
