//! The program as a user meets it: what it prints, what it writes, how it fails.

mod goals;
mod robust;

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder of this test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pullback-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn pullback(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pullback")).args(arguments).output().unwrap()
}

/// Runs with `--json` and files in `folder`; standard output must be exactly one JSON object.
fn json(folder: &Folder, arguments: &[&str]) -> (Value, i32) {
    let out = folder.0.to_str().unwrap();
    let output = pullback(&[arguments, &["--json", "--out", out]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{text}"));
    assert!(value.is_object());
    (value, output.status.code().unwrap())
}

#[test]
fn errors_are_objects_where_json_was_asked_for() {
    for arguments in [&["simulate", "pendulm"][..], &["simulate", "pendulum", "--tme", "1"], &["simulat"]] {
        let (value, code) = json(&Folder::new("errors"), arguments);
        assert_eq!(code, 2);
        assert!(value["error"].as_str().is_some_and(|e| e.len() > 10), "{value}");
        let plain = pullback(arguments);
        assert!(plain.stdout.is_empty() && plain.stderr.starts_with(b"error: "), "{plain:?}");
    }
}

#[test]
fn quiet_runs_write_files_and_nothing_else() {
    let folder = Folder::new("quiet");
    let out = folder.0.to_str().unwrap();
    let output = pullback(&["simulate", "pendulum", "--time", "0.1", "-q", "--out", out]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    assert!(folder.0.join("trajectory.csv").exists());
}

#[test]
fn list_names_everything() {
    let (value, code) = json(&Folder::new("list"), &["list"]);
    assert_eq!(code, 0);
    assert_eq!(value["scenes"].as_array().unwrap().len(), 36);
    assert_eq!(value["scenes"][6]["source"]["name"], "gradSim");
    assert_eq!(
        (&value["scenes"][6]["horizon"], &value["scenes"][9]["small_version"]),
        (&5.0.into(), &true.into())
    );
    assert!(pullback(&["list"]).stdout.starts_with(b"scenes"));
}

#[test]
fn list_names_the_layout_of_a_scene() {
    let (value, code) = json(&Folder::new("list-scene"), &["list", "double-pendulum"]);
    assert_eq!((code, value["scenes"].as_array().unwrap().len()), (0, 1));
    assert_eq!(value["scenes"][0]["params"][1], "upper.mass");
    let (value, _) = json(&Folder::new("list-all"), &["list", "all"]);
    assert_eq!(value["scenes"].as_array().unwrap().len(), 36);
    assert_eq!(
        (&value["scenes"][6]["params"][1], &value["benchmarks"][0]["name"]),
        (&"upper.mass".into(), &"core".into())
    );
    let cartpole = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/cartpole.xml");
    let text = String::from_utf8(pullback(&["list", cartpole]).stdout).unwrap();
    assert!(text.contains("    state        "), "{text}");
}

/// A run leaves its folder and, asked for again, goes on from it.
#[test]
fn an_episode_by_looking_ahead_goes_on() {
    let folder = Folder::new("mpc");
    let settings = r#"{"samples": 16}"#;
    let run = |time: &str| {
        json(
            &folder,
            &["mpc", "cartpole-swing-up", "--planner", "sampling", "--settings", settings, "--time", time],
        )
    };
    let (first, code) = run("0.2");
    assert_eq!((code, first["plans"].as_u64(), first["resumed"].as_u64()), (0, Some(3), Some(0)));
    let (longer, _) = run("0.4");
    assert_eq!((longer["plans"].as_u64(), longer["resumed"].as_u64()), (Some(6), Some(3)));
    for file in
        ["config.json", "costs.csv", "plans.csv", "plan.csv", "trajectory.csv", "replay.html", "progress.png"]
    {
        assert!(folder.0.join(file).metadata().unwrap().len() > 20, "{file}");
    }
    assert_eq!(std::fs::read_to_string(folder.0.join("costs.csv")).unwrap().lines().count(), 1 + 24 + 1);
}

/// `docs/catalog.md` is `pullback list` as tables; `UPDATE_CATALOG=1 cargo test -p pullback-cli catalog`
/// rewrites it.
#[test]
fn the_catalog_lists_what_the_program_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/catalog.md");
    let (value, _) = json(&Folder::new("catalog"), &["list"]);
    let mut page = String::from(
        "# Catalog\n\nWhat `pullback list` lists, written by `UPDATE_CATALOG=1 cargo test -p pullback-cli catalog`. \
         Sources are in [REFERENCES.md](../REFERENCES.md).\n",
    );
    let kinds = [
        "scenes",
        "tasks",
        "methods",
        "identifications",
        "fit_methods",
        "environments",
        "algorithms",
        "presets",
        "control_tasks",
        "planners",
        "interpolations",
        "integrators",
        "contact_models",
        "reproductions",
        "benchmarks",
        "parts",
    ];
    assert_eq!(value.as_object().unwrap().len(), kinds.len());
    for kind in kinds {
        page += &format!(
            "\n## {}{}\n\n| name | what it is | source |\n|---|---|---|\n",
            kind[..1].to_uppercase(),
            kind[1..].replace('_', " ")
        );
        for entry in value[kind].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let source = [text(&entry["source"]["name"]), text(&entry["source"]["place"])];
            let source: Vec<String> = source.into_iter().filter(|part| !part.is_empty()).collect();
            page += &format!(
                "| `{}` | {} | {} |\n",
                text(&entry["name"]),
                text(&entry["summary"]),
                source.join(", ")
            );
        }
    }
    if std::env::var_os("UPDATE_CATALOG").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/catalog.md is out of date: UPDATE_CATALOG=1 cargo test -p pullback-cli catalog"
    );
}

/// A policy is learned, judged, written and played; a run that stopped half way, on another number of threads, ends
/// with the same bits.
#[test]
fn training_goes_on_and_is_played() {
    let (whole, parts) = (Folder::new("train-whole"), Folder::new("train-parts"));
    let train = |folder: &Folder, more: &[&str]| {
        let usual = ["train", "cartpole", "--set", "epochs=6", "--set", "envs=20", "--checkpoint-every", "2"];
        json(folder, &[&usual[..], more].concat())
    };
    let (first, code) = train(&whole, &["--threads", "2"]);
    assert_eq!((code, first["epochs"].as_u64(), first["resumed"].as_u64()), (0, Some(6), Some(0)));
    train(&parts, &["--stop-after", "3", "--threads", "1"]);
    let (second, _) = train(&parts, &["--threads", "1"]);
    assert_eq!(second["resumed"].as_u64(), Some(3));
    assert_eq!(first["return_mean"], second["return_mean"]);
    let read = |folder: &Folder, file: &str| std::fs::read(folder.0.join(file)).unwrap();
    for file in ["policy.safetensors", "policy.onnx"] {
        assert_eq!(read(&whole, file), read(&parts, file), "{file}");
    }
    let played = Folder::new("play");
    let (value, code) = json(&played, &["play", whole.0.to_str().unwrap(), "--episodes", "4"]);
    assert_eq!((code, value["returns"].as_array().unwrap().len()), (0, 4));
    assert!(played.0.join("replay.html").metadata().unwrap().len() > 1000);
    let other = pullback(&["train", "cartpole", "--out", whole.0.to_str().unwrap()]);
    let message = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(2) && message.contains("settings"), "{message}");
}

/// Runs of two algorithms, three seeds each, are grouped, drawn and tested.
#[test]
fn training_runs_are_compared() {
    let (runs, out) = (Folder::new("compare-runs"), Folder::new("compare"));
    for (algorithm, height) in [("sapo", 100.0), ("ppo", 20.0)] {
        for seed in 0..3 {
            let run = runs.0.join(format!("{algorithm}-{seed}"));
            std::fs::create_dir_all(&run).unwrap();
            let config = format!(r#"{{"task": "ant", "algorithm": "{algorithm}", "seed": {seed}}}"#);
            std::fs::write(run.join("config.json"), config).unwrap();
            let row =
                |i: i32| format!("{i},{},{}\n", 1000 * i, height * f64::from(i) / 50.0 + f64::from(seed));
            let rows: String = (1..=50).map(row).collect();
            std::fs::write(run.join("metrics.csv"), format!("epoch,steps,return_mean\n{rows}")).unwrap();
        }
    }
    let folder = runs.0.to_str().unwrap();
    let (value, code) = json(&out, &["compare", folder]);
    assert_eq!((code, &value["groups"][1]["label"]), (0, &"sapo".into()));
    assert!(value["pairs"][0]["welch"]["p_holm"].as_f64().unwrap() < 1e-6);
    for file in ["index.html", "curves.png", "comparison.json"] {
        assert!(out.0.join(file).metadata().unwrap().len() > 1000, "{file}");
    }
    let text =
        String::from_utf8(pullback(&["compare", folder, "--out", out.0.to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains("sapo is better"), "{text}");
    let wrong = pullback(&["compare", folder, "--metric", "loss"]);
    let message = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!((wrong.status.code(), message.lines().count()), (Some(2), 1));
    assert!(message.contains("no column `loss`; there are epoch, steps, return_mean"), "{message}");
}

/// The README has a line for every benchmark and every reproduction.
#[test]
fn the_readme_names_every_benchmark_and_reproduction() {
    let readme = include_str!("../../../README.md");
    let (value, _) = json(&Folder::new("readme"), &["list"]);
    for (kind, command) in [("benchmarks", "bench"), ("reproductions", "reproduce")] {
        for entry in value[kind].as_array().unwrap() {
            let line = format!("\npullback {command} {} ", entry["name"].as_str().unwrap());
            assert!(readme.contains(&line), "README.md has no line `{}`", line.trim());
        }
    }
}

#[test]
fn every_built_in_scene_passes_gradcheck() {
    let (value, code) = json(&Folder::new("gradcheck"), &["gradcheck", "all", "--tolerance", "1e-9"]);
    assert_eq!((code, value["passed"].as_bool()), (0, Some(true)));
    assert_eq!(value["checks"].as_array().unwrap().len(), 142);
    for check in value["checks"].as_array().unwrap() {
        assert!(check["report"]["runs"]["adjoint"].as_u64().unwrap() > 0);
    }
}

#[test]
fn an_impossible_tolerance_fails_with_exit_code_1() {
    let (value, code) =
        json(&Folder::new("strict"), &["gradcheck", "double-pendulum", "--tolerance", "1e-30"]);
    assert_eq!((code, value["passed"].as_bool()), (1, Some(false)));
}

#[test]
fn simulate_writes_what_it_says() {
    let folder = Folder::new("simulate");
    let arguments =
        ["simulate", "pendulum", "--time", "1", "--set", "state.angle=0.3", "--set", "params.damping=0"];
    let (value, code) = json(&folder, &arguments);
    assert_eq!((code, value["steps"].as_u64()), (0, Some(100)));
    let csv = std::fs::read_to_string(folder.0.join("trajectory.csv")).unwrap();
    assert_eq!(csv.lines().next().unwrap(), "time,angle,rate");
    assert_eq!(csv.lines().count(), 102);
    assert!(csv.lines().nth(1).unwrap().starts_with("0,0.3,"));
    let picture = std::fs::read(folder.0.join("trajectory.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    let arrays = std::fs::read(folder.0.join("trajectory.npz")).unwrap();
    assert!(arrays.starts_with(b"PK\x03\x04"));
    for name in ["time", "state", "control", "names"] {
        let name = format!("{name}.npy");
        // In its local header and in the directory.
        assert!(arrays.windows(name.len()).filter(|w| *w == name.as_bytes()).count() >= 2, "{name}");
    }
}

#[test]
fn videos_can_be_decoded() {
    let folder = Folder::new("videos");
    let file = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let film = |arguments: &[&str]| {
        let (value, code) = json(&folder, arguments);
        assert_eq!(code, 0);
        value
    };
    let small = ["--size", "48x32", "--fps", "10", "--time", "0.5"];
    film(&[&["simulate", "pendulum", "--video", &file("a.gif")], &small[..]].concat());
    let mut decoder =
        gif::DecodeOptions::new().read_info(std::fs::File::open(file("a.gif")).unwrap()).unwrap();
    assert_eq!((decoder.width(), decoder.height()), (48, 32));
    let mut frames = 0;
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        assert_eq!(frame.delay, 10);
        frames += 1;
    }
    assert_eq!(frames, 6);

    let read = |name: &str| std::io::BufReader::new(std::fs::File::open(file(name)).unwrap());
    film(&[&["simulate", "double-pendulum", "--video", &file("b.apng")], &small[..]].concat());
    let reader = png::Decoder::new(read("b.apng")).read_info().unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, 6);

    // A robot, in a folder of frames, by a free camera; the picture is the last frame.
    let arm = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/pendulum5.xml");
    let (frames, picture) = (file("frames/"), file("last.png"));
    let arguments = ["simulate", arm, "--video", &frames, "--picture", &picture, "--azimuth", "90"];
    let value = film(&[&arguments[..], &small[..]].concat());
    assert!(value["files"].as_array().unwrap().iter().any(|f| f.as_str() == Some(&picture)));
    let pixels = |name: &str| {
        let mut reader = png::Decoder::new(read(name)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    };
    assert_eq!(std::fs::read_dir(&frames).unwrap().count(), 6);
    assert_eq!(pixels("frames/000005.png"), pixels("last.png"));
    assert!(pixels("frames/000000.png") != pixels("last.png"));
}

#[test]
fn adaptive_simulation_matches_small_fixed_steps() {
    let folder = Folder::new("adaptive");
    let (coarse, _) =
        json(&folder, &["simulate", "pendulum", "--tolerance", "1e-10", "--dt", "0.5", "--time", "2"]);
    let (fine, _) =
        json(&folder, &["simulate", "pendulum", "--method", "rk4", "--dt", "0.001", "--time", "2"]);
    let angle = |v: &Value| v["final_state"][0].as_f64().unwrap();
    assert!((angle(&coarse) - angle(&fine)).abs() < 1e-9);
}

#[test]
fn landscape_writes_map_and_picture() {
    let folder = Folder::new("landscape");
    let (value, code) = json(&folder, &["landscape", "pendulum-identify", "--points", "9", "--dims", "1,0"]);
    assert_eq!(code, 0);
    assert_eq!(value["landscape"]["names"][0], "params.damping");
    assert_eq!(value["landscape"]["values"].as_array().unwrap().len(), 81);
    assert_eq!(value["share_agreeing"].as_f64(), Some(1.0));
    assert!(folder.0.join("landscape.png").exists() && folder.0.join("landscape.json").exists());
}

#[test]
fn the_toy_of_diffmjx_has_the_papers_verdicts() {
    let folder = Folder::new("toy");
    let (value, code) = json(&folder, &["reproduce", "diffmjx-toy", "--points", "300"]);
    assert_eq!(code, 0);
    let fraction = |i: usize| value["rows"][i]["value"].as_f64().unwrap();
    assert!([1, 2, 5].into_iter().all(|i| fraction(i) >= 0.99));
    assert!([0, 3, 4].into_iter().all(|i| fraction(i) < 0.9));
    assert!(folder.0.join("diffmjx-toy.png").exists());
}

#[test]
fn long_gradients_agree_to_the_last_bit_in_predicted_memory() {
    let (value, code) = json(&Folder::new("checkpoint"), &["bench", "checkpoint", "--steps", "20000"]);
    assert_eq!(code, 0, "{value}");
    assert!(value["goals"].as_array().unwrap().iter().all(|g| g["met"] == true));
}

#[test]
fn inspect_reports_a_robot() {
    let ant = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ant.xml");
    let (value, code) = json(&Folder::new("inspect"), &["inspect", ant]);
    assert_eq!((code, value["nv"].as_u64()), (0, Some(14)));
    assert_eq!(value["qM"].as_array().unwrap().len(), 14);
    // At rest, holding the free base takes the whole weight.
    let weight = 9.81 * value["total_mass"].as_f64().unwrap();
    assert!((value["qfrc_bias"][2].as_f64().unwrap() - weight).abs() < 1e-9 * weight);
    let text = pullback(&["inspect", ant, "--qvel", "1,0"]);
    assert_eq!(text.status.code(), Some(2));
    assert!(String::from_utf8(text.stderr).unwrap().contains("--qvel needs 14 numbers, got 2"));
}

#[test]
fn a_robot_starts_from_a_keyframe() {
    let quadruped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/laikago.xml");
    let folder = Folder::new("keyframe");
    let (by_name, _) = json(&folder, &["inspect", quadruped, "--keyframe", "home"]);
    let (by_index, _) = json(&folder, &["inspect", quadruped, "--keyframe", "0"]);
    assert_eq!((&by_name["qpos"][9], &by_name["ctrl"][2]), (&(-0.7).into(), &(-0.7).into()));
    assert_eq!(by_name["qpos"], by_index["qpos"]);

    // One step from the keyframe; its controls hold the legs.
    let arguments = ["simulate", quadruped, "--keyframe", "home", "--time", "0.001"];
    let (value, code) = json(&folder, &arguments);
    assert_eq!(code, 0);
    assert!((value["final_state"][9].as_f64().unwrap() + 0.7).abs() < 1e-3);

    // Nothing said: the pose in the file, and one line that says so.
    let out = folder.0.to_str().unwrap();
    let output = pullback(&["simulate", quadruped, "--time", "0.001", "--out", out]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.lines().count()), (Some(0), 1), "{message}");
    assert!(message.starts_with("note: ") && message.contains("0 `home`"), "{message}");
}

#[test]
fn own_robots_pass_gradcheck() {
    for name in ["cartpole", "hopper", "arm9"] {
        let file = format!("{}/../../models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let (value, code) = json(&Folder::new(name), &["gradcheck", &file]);
        assert_eq!((code, value["passed"].as_bool()), (0, Some(true)), "{name}");
    }
}

#[test]
fn robots_with_mimic_joints_are_simulated_inspected_and_checked() {
    let folder = Folder::new("mimic");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scene/tests/models/gripper.urdf");
    // Under the penalty model a follower leaves the state; under the convex one an equality holds it.
    for (model, velocities) in [("penalty", 2), ("convex", 3)] {
        let (value, code) = json(&folder, &["gradcheck", file, "--contact", model]);
        assert_eq!((code, value["passed"].as_bool()), (0, Some(true)));
        let (value, code) = json(&folder, &["simulate", file, "--time", "0.02", "--contact", model]);
        assert_eq!((code, value["names"].as_array().unwrap().len()), (0, 2 * velocities));
        let (value, code) = json(&folder, &["inspect", file, "--contact", model]);
        assert_eq!((code, value["nv"].as_u64()), (0, Some(velocities as u64)));
        let follows = &value["joints"][2]["follows"];
        assert_eq!(follows == "left_slide", model == "penalty");
    }
}

#[test]
fn a_broken_robot_file_is_one_line_with_its_place() {
    let folder = Folder::new("broken");
    let file = folder.0.join("broken.xml");
    std::fs::write(&file, "<mujoco>\n  <worldbody>\n    <body><joint type=\"spiral\"/></body>").unwrap();
    let output = pullback(&["simulate", file.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.starts_with("error: ") && message.trim_end().lines().count() == 1, "{message}");
    assert!(message.contains("broken.xml:"), "{message}");
}

#[test]
fn robots_of_other_simulators_load_and_say_what_is_not_used() {
    let folder = Folder::new("vendors");
    let parts = folder.0.join("elsewhere/meshes");
    std::fs::create_dir_all(&parts).unwrap();
    let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    std::fs::write(parts.join("tip.obj"), mesh).unwrap();
    let text = r#"<robot name="r"><link name="a"/><link name="b">
      <contact><lateral_friction value="0.4"/><stiffness value="30000"/></contact>
      <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3"/></inertial>
      <collision><geometry><mesh filename="package://parts/meshes/tip.obj"/></geometry></collision></link>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"#;
    let file = folder.0.join("r.urdf");
    std::fs::write(&file, text).unwrap();
    let (file, at) = (file.to_str().unwrap(), format!("parts={}", folder.0.join("elsewhere").display()));
    let refused = |arguments: &[&str], why: &str| {
        let output = pullback(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && message.contains(why), "{message}");
    };
    refused(&["inspect", file, "--package", &at], "--fix-inertia");
    refused(&["inspect", file, "--fix-inertia"], "--package parts=DIR");
    refused(&["inspect", file, "--fix-inertia", "--package", "parts=/nowhere"], "/nowhere is no folder");
    refused(&["simulate", "pendulum", "--fix-inertia"], "--fix-inertia is for URDF files");
    refused(&["simulate", "pendulum", "--allow-ignored", "x"], "--allow-ignored is for model files");
    refused(&["list", "--fix-inertia"], "name it");
    let reading = ["--fix-inertia", "--package", &at];
    let (value, code) = json(&folder, &[&["inspect", file], &reading[..]].concat());
    let notes = value["notes"].as_array().unwrap();
    assert_eq!((code, notes.len()), (0, 2), "{notes:?}");
    // About x the corrected moment is 1.5.
    assert_eq!(value["qM"][0][0].as_f64(), Some(1.5));
    let out = folder.0.to_str().unwrap();
    let output =
        pullback(&[&["simulate", file, "--time", "0.01", "--json", "--out", out], &reading[..]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.matches("note: ").count()), (Some(0), 2), "{said}");
}

#[test]
fn bad_input_gets_one_clear_line_and_exit_code_2() {
    let quadruped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/laikago.xml");
    let cases: [(&[&str], &str); 59] = [
        (&["simulate", "triple-pendulum"], "no scene is called `triple-pendulum`"),
        (&["simulate", "pendulum", "--dt", "-1"], "'--dt <DT>': it must be a positive number"),
        (&["simulate", "pendulum", "--dt", "NaN"], "'--dt <DT>': it must be a positive number"),
        (&["simulate", "pendulum", "--time", "1e300"], "too many"),
        (&["simulate", "pendulum", "--time", "-3"], "'--time <TIME>': it must be a positive number"),
        (&["simulate", "pendulum", "--set", "params.mass=-1"], "outside [0.000001, 1000000]"),
        (&["simulate", "pendulum", "--set", "params.weight=1"], "nothing is called `weight`"),
        (&["simulate", "pendulum", "--set", "mass"], "write NAME=VALUE"),
        (&["simulate", "pendulum", "--method", "rk4", "--tolerance", "1e-6"], "no error estimate"),
        (&["gradcheck", "nothing"], "no scene is called"),
        (&["landscape", "point-bounce", "--dims", "0,7"], "--dims needs two different variables"),
        (&["landscape", "point-bounce", "--points", "1"], "at least 2 points"),
        (&["landscape", "point-bounce", "--dims", "x"], "write two numbers, such as 0,1"),
        (&["simulate", "pendulum", "--tolerance", "-1"], "tolerance"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["simulate", "pendulum", "--video", "a.avi"], "a video is FILE.gif, FILE.apng"),
        (&["simulate", "pendulum", "--picture", "a.jpg"], "pictures are .png files"),
        (&["simulate", "pendulum", "--picture", "a.png", "--camera", "side"], "there is no camera `side`"),
        (&["simulate", "pendulum", "--camera", "free"], "--camera is for pictures; add --video FILE"),
        (&["simulate", "pendulum", "--picture", "a.png", "--fps", "10"], "--fps is for videos"),
        (
            &["simulate", "pendulum", "--video", "a.gif", "--fps", "0"],
            "'--fps <FPS>': it must be a positive number",
        ),
        (&["simulate", "pendulum", "--video", "a.gif", "--size", "0x10"], "write WIDTHxHEIGHT with 2 to"),
        (&["simulate", "pendulum", "--video", "a.gif", "--lookat", "1,2"], "write three numbers"),
        (
            &["simulate", "pendulum", "--video", "a.gif", "--camera", "side", "--azimuth", "3"],
            "move the free camera, not `side`",
        ),
        (&["simulate", "pendulm"], "(did you mean `pendulum`?); there is point-mass-penalty"),
        (&["optimize", "flop"], "no task is called `flop` (did you mean `flip`?); there is point-bounce"),
        (
            &["optimize", "flip", "--method", "cmaes"],
            "no search method is called `cmaes` (did you mean `cma-es`?)",
        ),
        (
            &["simulate", "pendulum", "--method", "rk5"],
            "no integration method is called `rk5` (did you mean `rk4`?)",
        ),
        (&["reproduce", "diffmjy"], "no experiment is called `diffmjy` (did you mean `diffmjx`?)"),
        (&["reproduce", "diffmjx", "--quick", "--data", "no.csv"], "no.csv"),
        (
            &["doctor", "../../models/ant.xml", "--vary", "root=1"],
            "are about gradients: give --target or --loss",
        ),
        (&["identify", "pendulm"], "no identification is called `pendulm` (did you mean `pendulum`?)"),
        (&["identify", "gear"], "give recordings of its motion as --data FILE.csv"),
        (&["identify", "pendulum", "--fit", "length"], "need --data; a task has its own"),
        (&["identify", "pendulum", "--data", "no.csv", "--fit", "length"], "no.csv: "),
        (
            &["identify", "pendulum", "--transform", "logg"],
            "`logg` is not one of identity, log, softplus, box",
        ),
        (
            &["identify", "pendulum", "--method", "newton"],
            "no fit method is called `newton` (did you mean `gauss-newton`?)",
        ),
        (&["mpc", "pushr"], "no control task is called `pushr` (did you mean `pusher`?)"),
        (&["mpc", "pusher", "--planner", "mppy"], "no planner is called `mppy` (did you mean `mppi`?)"),
        (&["mpc", "pusher", "--target", "tip=0,0,1"], "--target belongs to model files"),
        (&["mpc", "pusher", "--horizon", "4", "--apply", "5"], "more than the horizon of 4"),
        (&["mpc", "pusher", "--planner", "shooting", "--horizon", "4"], "one plan spans the episode"),
        (&["mpc", "pusher", "--settings", r#"{"sampels": 3}"#], "unknown field `sampels`"),
        (&["mpc", "../../models/ant.xml"], "say what the motion is for"),
        (&["doctor", "flip", "--time", "2"], "belong to a model file"),
        (&["train", "hoper"], "no environment is called `hoper` (did you mean `hopper`?)"),
        (&["train", "hopper", "--algo", "sapa"], "no algorithm is called `sapa` (did you mean `sapo`?)"),
        (
            &["train", "hopper", "--set", "critic.rate=1"],
            "`critic.rate` is unknown at `rate`; there is batches",
        ),
        (&["play", "nowhere"], "give the folder of a run of `pullback train`"),
        (&["reproduce", "sapo", "--budget", "3"], "sapo: --budget belongs to bo-leap"),
        (&["reproduce", "diffmjx-toy", "--data", "no.csv"], "--data belongs to diffmjx"),
        (&["gradcheck", "pendulum", "--collision-softness", "0.1"], "choices for model files"),
        (
            &["reproduce", "bo-leap", "--tasks", "flop"],
            "no task of BO-Leap is called `flop` (did you mean `flip`?)",
        ),
        (
            &["demo", "chaso"],
            "no part of the demo is called `chaso` (did you mean `chaos`?); there is motion, contact",
        ),
        (
            &["bench", "nothing"],
            "no benchmark is called `nothing`; there is core, checkpoint, articulated, ant",
        ),
        (&["simulate", quadruped, "--keyframe", "sit"], "no keyframe is called `sit`; there is 0 `home`"),
        (&["simulate", "pendulum", "--keyframe", "0"], "the model has none"),
        (&["simulate"], "<SCENE>"),
        (&["simulate", "pendulum", "--time", "soon"], "invalid value 'soon'"),
    ];
    for (arguments, expected) in cases {
        let output = pullback(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{arguments:?}: {message}");
        assert!(message.starts_with("error: ") && message.contains(expected), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new("blocked");
    let file = folder.0.join("file");
    std::fs::write(&file, "in the way").unwrap();
    let out = file.join("sub");
    let output = pullback(&["simulate", "pendulum", "--out", out.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("cannot write") && message.contains("file/sub"), "{message}");
}

#[test]
fn the_demo_ends_in_one_self_contained_page() {
    let folder = Folder::new("demo");
    let (value, code) = json(&folder, &["demo"]);
    assert_eq!((code, value["checks_passed"].clone()), (0, value["checks"].clone()));
    let page = std::fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert!(page.matches("data:image/png;base64,").count() >= 6);
    assert_eq!(page.matches("data:image/gif;base64,").count(), 3);
    for verdict in ["trustworthy", "plateaued"] {
        assert!(page.contains(verdict), "the page knows no {verdict} task");
    }
    for outside in ["http://", "https://", "src=\"/", "<script "] {
        assert!(!page.contains(outside), "the page refers to {outside}");
    }
    // The page's own, which shows values under the pointer.
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn a_search_cut_off_half_way_ends_as_if_uncut() {
    let (whole, cut) = (Folder::new("search"), Folder::new("search-cut"));
    let arguments = ["optimize", "point-bounce", "--method", "bo-leap", "--budget", "60", "--seed", "3"];
    let (expected, code) = json(&whole, &arguments);
    assert_eq!((code, expected["episodes"].as_u64(), expected["resumed"].as_u64()), (0, Some(60), Some(0)));
    // A log whose last line was being written when the process died.
    let log = std::fs::read(whole.0.join("run.jsonl")).unwrap();
    std::fs::create_dir_all(&cut.0).unwrap();
    std::fs::write(cut.0.join("run.jsonl"), &log[..log.len() / 2]).unwrap();
    let (resumed, _) = json(&cut, &arguments);
    assert!((10..60).contains(&resumed["resumed"].as_u64().unwrap()));
    assert_eq!(resumed["best"], expected["best"]);
    assert_eq!(std::fs::read(cut.0.join("run.jsonl")).unwrap(), log);
    // Another seed is another search.
    let other = pullback(&[
        "optimize",
        "point-bounce",
        "--budget",
        "60",
        "--seed",
        "4",
        "--out",
        cut.0.to_str().unwrap(),
    ]);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8(other.stderr).unwrap().contains("another run"));
}

/// A trajectory that `simulate` wrote is a recording; a fit that was cut off goes on, on another number of threads.
#[test]
fn parameters_are_found_in_a_recording() {
    let (recorded, whole, cut) =
        (Folder::new("recorded"), Folder::new("identify"), Folder::new("identify-cut"));
    let set = ["--set", "params.length=1.3", "--set", "params.damping=0.2", "--set", "state.angle=1"];
    json(&recorded, &[&["simulate", "pendulum", "--time", "2"], &set[..]].concat());
    let data = recorded.0.join("trajectory.csv");
    let data = data.to_str().unwrap();
    let ask = ["identify", "pendulum", "--data", data, "--fit", "length,damping", "--starts", "3"];
    let arguments = [&ask[..], &["--start", "damping=0.05"]].concat();
    let (found, code) = json(&whole, &[&arguments[..], &["--threads", "2"]].concat());
    assert_eq!((code, found["resumed"].as_u64()), (0, Some(0)));
    for (quantity, truth) in [(0, 1.3), (1, 0.2)] {
        let value = found["quantities"][quantity]["value"].as_f64().unwrap();
        assert!((value - truth).abs() < 1e-6, "{quantity}: {value}");
    }
    let page = std::fs::read_to_string(whole.0.join("index.html")).unwrap();
    assert!(page.contains("Identification of pendulum") && page.contains("data:image/png"));
    // Killed while it wrote.
    let log = std::fs::read(whole.0.join("fit.jsonl")).unwrap();
    std::fs::write(cut.0.join("fit.jsonl"), &log[..2 * log.len() / 3]).unwrap();
    let (again, _) = json(&cut, &[&arguments[..], &["--threads", "1"]].concat());
    assert!(again["resumed"].as_u64().unwrap() > 0);
    assert_eq!((&again["quantities"], &again["starts"]), (&found["quantities"], &found["starts"]));
    // Other data are another fit.
    let other = [&ask[..], &["--start", "damping=0.06", "--out", cut.0.to_str().unwrap()]].concat();
    let other = pullback(&other);
    let message = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(2) && message.contains("another run"), "{message}");
}

#[test]
fn the_doctor_tells_tasks_apart() {
    for (task, verdict) in
        [("cartpole", "trustworthy"), ("pinball-2", "plateaued"), ("pinball-16", "plateaued")]
    {
        let folder = Folder::new(&format!("doctor-{task}"));
        let (value, code) = json(&folder, &["doctor", task]);
        assert_eq!((code, value["verdict"].as_str()), (0, Some(verdict)), "{task}");
        let page = std::fs::read_to_string(folder.0.join("index.html")).unwrap();
        assert!(page.contains(verdict) && page.contains("data:image/png"));
    }
}

#[test]
fn a_comparison_of_methods_is_kept_and_read_back() {
    let folder = Folder::new("compare");
    let arguments = ["reproduce", "bo-leap", "--tasks", "bounce", "--seeds", "2", "--budget", "25"];
    let (first, _) = json(&folder, &arguments);
    assert_eq!(first["rows"].as_array().unwrap().len(), 2 * 6);
    // Without its result a run is made again, with it read back.
    std::fs::remove_file(folder.0.join("bounce/cma-es-1-25.jsonl")).unwrap();
    let (second, _) = json(&folder, &arguments);
    assert_eq!(first, second);
    let unknown = pullback(&["reproduce", "bo-leap", "--tasks", "nothing"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[cfg(not(feature = "mp4"))]
#[test]
fn mp4_says_how_it_is_built_in() {
    let output = pullback(&["simulate", "pendulum", "--video", "a.mp4"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--features mp4"));
}
