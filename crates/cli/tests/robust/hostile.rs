//! Requests with a large cost, special files, counts that make no sense, and results that are no numbers.

use super::super::{Folder, json, pullback};
use super::refused;

/// A file in a folder, as an argument.
fn file(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.0.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// So many bodies on slides.
fn sliders(folder: &Folder, count: usize) -> String {
    let text = format!(
        "<mujoco><option><flag contact='disable'/></option><worldbody><replicate count='{count}'><body><joint type='slide'/>
         <inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></replicate></worldbody></mujoco>"
    );
    file(folder, "sliders.xml", &text)
}

/// A ball that floats.
fn ball(folder: &Folder) -> String {
    file(
        folder,
        "ball.xml",
        "<mujoco><worldbody><body name='ball'><freejoint name='float'/><geom size='0.1'/></body></worldbody></mujoco>",
    )
}

#[test]
fn matrices_of_large_models_are_left_out_by_name() {
    let folder = Folder::new("hostile-inspect");
    let (value, code) = json(&folder, &["inspect", &sliders(&folder, 1001)]);
    assert_eq!((code, value["nv"].as_u64(), value.get("qM")), (0, Some(1001), None));
    assert_eq!(value["left_out"], serde_json::json!(["qM, 1001 by 1001"]));
    let (value, _) = json(&folder, &["inspect", &sliders(&folder, 10)]);
    assert_eq!(
        (value["qM"].as_array().map(Vec::len), &value["left_out"]),
        (Some(10), &serde_json::json!([]))
    );
}

#[test]
fn a_run_whose_controls_outgrow_memory_is_refused() {
    let folder = Folder::new("hostile-memory");
    let model = file(
        &folder,
        "motors.xml",
        "<mujoco><worldbody><body><joint name='j' axis='0 1 0'/><geom size='0.1' pos='1 0 0'/></body></worldbody><actuator>
         <motor joint='j'/><motor joint='j'/></actuator></mujoco>",
    );
    let message = refused(&["simulate", &model, "--time", "100000", "--dt", "0.001"]);
    assert!(message.contains("2 controls of 100000000 steps take 1.6e9 bytes"), "{message}");
    assert!(message.contains("shorten --time, or raise --dt"), "{message}");
}

#[test]
fn zero_quaternions_are_refused() {
    let folder = Folder::new("hostile-quaternion");
    let (model, out) = (ball(&folder), folder.0.to_str().unwrap());
    let set = |settings: &[&'static str]| -> Vec<String> {
        let simulate = ["simulate", &model, "--time", "0.01", "--out", out];
        simulate.into_iter().chain(settings.iter().flat_map(|s| ["--set", *s])).map(String::from).collect()
    };
    let refused = |arguments: &[String]| refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let message = refused(&set(&["state.float.orientation=0"]));
    assert!(message.contains("float.orientation is zero and points nowhere"), "{message}");
    let message = refused(&set(&["state.float.orientation=nan"]));
    assert!(message.contains("float.orientation[0] = NaN"), "{message}");
    // Another entry in place of the first.
    let turned = set(&["state.float.orientation[0]=0", "state.float.orientation[3]=1"]);
    assert!(pullback(&turned.iter().map(String::as_str).collect::<Vec<_>>()).status.success());
    let message = refused(&["inspect", &model, "--qpos", "0,0,0,0,0,0,0"].map(String::from));
    assert!(message.contains("float.orientation is zero"), "{message}");
    let message = refused(&set(&["state.float.orientatoin=0"]));
    assert!(message.contains("did you mean `float.orientation`?"), "{message}");
}

#[test]
fn a_result_that_is_no_number_is_an_error() {
    let folder = Folder::new("hostile-nan");
    let model = ball(&folder);
    let fast = ["inspect", &model, "--qvel", "1e200,1e200,1e200,1e200,1e200,1e200"];
    let message = refused(&fast);
    assert!(message.starts_with("error: the result is no result: `"), "{message}");
    let (value, code) = json(&folder, &fast);
    assert!(code == 2 && value["error"].as_str().unwrap().contains("such numbers"), "{value}");
}

#[test]
fn counts_and_sizes_that_make_no_sense_are_refused() {
    let cases: &[&[&str]] = &[
        &["simulate", "pendulum", "--time", "0"],
        &["simulate", "pendulum", "--time", "-1"],
        &["simulate", "pendulum", "--time", "inf"],
        &["simulate", "pendulum", "--dt", "nan"],
        &["simulate", "pendulum", "--dt", "-0.1"],
        &["simulate", "pendulum", "--tolerance", "0"],
        &["simulate", "pendulum", "--collision-softness", "-1"],
        &["gradcheck", "pendulum", "--steps", "0"],
        &["gradcheck", "pendulum", "--steps", "-3"],
        &["gradcheck", "pendulum", "--from-distance", "nan"],
        &["landscape", "point-bounce", "--points", "0"],
        &["doctor", "point-bounce", "--points", "0"],
        &["doctor", "point-bounce", "--lines", "-1"],
        &["doctor", "point-bounce", "--time", "-1"],
        &["optimize", "point-bounce", "--budget", "0"],
        &["optimize", "point-bounce", "--budget", "-5"],
        &["identify", "pendulum", "--starts", "0"],
        &["identify", "pendulum", "--budget", "-1"],
        &["identify", "pendulum", "--dt", "0"],
        &["mpc", "cartpole-swingup", "--horizon", "0"],
        &["mpc", "cartpole-swingup", "--apply", "0"],
        &["mpc", "cartpole-swingup", "--spacing", "-1"],
        &["mpc", "cartpole-swingup", "--time", "0"],
        &["mpc", "cartpole-swingup", "--within", "0"],
        &["mpc", "cartpole-swingup", "--effort", "-1"],
        &["train", "ant", "--shard", "0"],
        &["train", "ant", "--checkpoint-every", "0"],
        &["train", "ant", "--stop-after", "-1"],
        &["play", "nowhere", "--episodes", "0"],
        &["compare", "nowhere", "--at", "-1"],
        &["reproduce", "diffmjx-toy", "--points", "0"],
        &["reproduce", "bo-leap", "--seeds", "0"],
        &["bench", "checkpoint", "--steps", "0"],
    ];
    for arguments in cases {
        let message = refused(arguments);
        let option = arguments[arguments.len() - 2];
        assert!(message.contains(option) && message.contains("it must be a"), "{arguments:?}: {message}");
    }
}

#[cfg(unix)]
#[test]
fn pipes_as_inputs_are_refused_without_waiting() {
    let folder = Folder::new("hostile-pipes");
    let pipe = |name: &str| {
        let path = folder.0.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path.to_str().unwrap().to_owned()
    };
    let (model, table, settings) = (pipe("a.xml"), pipe("a.csv"), pipe("a.toml"));
    let run = folder.0.join("run");
    std::fs::create_dir(&run).unwrap();
    pipe("run/config.json");
    let (run, out) = (run.to_str().unwrap(), folder.0.join("log"));
    std::fs::create_dir(&out).unwrap();
    pipe("log/run.jsonl");
    let cases: [&[&str]; 6] = [
        &["inspect", &model],
        &["simulate", &model],
        &["identify", "pendulum", "--data", &table, "--fit", "*"],
        &["train", "ant", "--config", &settings],
        &["play", run],
        &["optimize", "point-bounce", "--budget", "1", "--out", out.to_str().unwrap()],
    ];
    for arguments in cases {
        let message = refused(arguments);
        assert!(message.contains("this is a pipe"), "{arguments:?}: {message}");
    }
}

#[test]
fn a_confined_model_is_refused_what_lies_elsewhere() {
    let folder = Folder::new("hostile-confined");
    std::fs::create_dir(folder.0.join("model")).unwrap();
    file(&folder, "part.xml", "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>");
    let model = file(&folder, "model/model.xml", "<mujoco><include file='../part.xml'/></mujoco>");
    let out = folder.0.to_str().unwrap();
    assert!(pullback(&["inspect", &model]).status.success());
    for command in ["inspect", "simulate", "list", "gradcheck"] {
        let message = refused(&[command, &model, "--confined", "--out", out]);
        assert!(message.contains("is outside of the model's folder"), "{command}: {message}");
    }
    let message = refused(&["simulate", "pendulum", "--confined"]);
    assert!(message.contains("--confined is for model files"), "{message}");
}
