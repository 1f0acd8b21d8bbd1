//! A scene under commands.

use pullback_core::rollout::Inputs;
use pullback_view::{Command, Simulation, Vector};

use crate::client::{model, scene};

#[test]
fn steps_are_those_of_a_rollout() {
    for scene in [model("ant"), scene("robot-cloth"), scene("double-pendulum")] {
        let mut live = Simulation::new(scene.as_ref(), None).unwrap();
        live.obey(&Command::Step { steps: 5 }).unwrap();
        let layout = scene.layout();
        let inputs = Inputs {
            state: layout.state.defaults(),
            controls: scene.controls(5),
            params: layout.params.defaults(),
        };
        let mut last = Vec::new();
        scene.simulate(&inputs, 5, &mut |at| last = at.state.to_vec()).unwrap();
        assert_eq!(live.values(Vector::State), last, "{}", scene.name());
    }
}

#[test]
fn a_pulled_body_follows_and_a_released_one_does_not() {
    let scene = model("ant");
    let mut live = Simulation::new(scene.as_ref(), None).unwrap();
    let place = |live: &mut Simulation<'_>| live.instant().poses[1].0;
    let start = place(&mut live);
    let target = [start[0], start[1], start[2] + 1.0];
    let body = live.bodies()[1].clone();
    live.obey(&Command::Drag { body, point: [0.0; 3], target }).unwrap();
    live.obey(&Command::Step { steps: 600 }).unwrap();
    let lifted = place(&mut live);
    assert!(lifted[2] > start[2] + 0.5, "{lifted:?} from {start:?}");
    live.obey(&Command::Release).unwrap();
    live.obey(&Command::Step { steps: 600 }).unwrap();
    let fallen = place(&mut live);
    assert!(fallen[2] < lifted[2] - 0.3, "{fallen:?} from {lifted:?}");
}

#[test]
fn controls_are_the_scenes_until_a_hand_sets_them() {
    let scene = model("ant");
    let mut live = Simulation::new(scene.as_ref(), None).unwrap();
    let name = scene.layout().control.entry_name(2);
    live.obey(&Command::Set { vector: Vector::Control, name, value: 0.5 }).unwrap();
    live.obey(&Command::Step { steps: 1 }).unwrap();
    assert_eq!(live.values(Vector::Control)[2], 0.5);
    assert_eq!(live.report().control[2], 0.5);
    live.obey(&Command::FreeControls).unwrap();
    assert_eq!(live.values(Vector::Control)[2], 0.0);
}

#[test]
fn parameters_act_at_once() {
    let scene = scene("pendulum");
    let fall = |gravity: f64| {
        let mut live = Simulation::new(scene.as_ref(), None).unwrap();
        live.obey(&Command::Set { vector: Vector::State, name: "angle".into(), value: 1.0 }).unwrap();
        live.obey(&Command::Set { vector: Vector::Params, name: "gravity".into(), value: gravity }).unwrap();
        live.obey(&Command::Step { steps: 10 }).unwrap();
        live.values(Vector::State)[0]
    };
    assert!(fall(20.0) < fall(9.81) && fall(0.0) == 1.0, "{} {} {}", fall(20.0), fall(9.81), fall(0.0));
}

#[test]
fn a_step_that_fails_keeps_the_last_good_state() {
    let scene = model("ant");
    let mut live = Simulation::new(scene.as_ref(), None).unwrap();
    live.obey(&Command::Play).unwrap();
    live.obey(&Command::Set { vector: Vector::State, name: "*.velocity".into(), value: 1e200 }).unwrap();
    let before = live.values(Vector::State);
    let why = (0..20).find_map(|_| live.advance().err()).unwrap();
    assert!(why.starts_with("step ") && why.contains(" failed: "), "{why}");
    assert!(!live.playing() && live.halted().is_some());
    assert!(live.values(Vector::State).iter().all(|x| x.is_finite()), "{before:?}");
    let again = live.obey(&Command::Play).unwrap_err();
    assert!(again.contains("start anew"), "{again}");
    live.obey(&Command::Reset { keyframe: None }).unwrap();
    live.obey(&Command::Step { steps: 3 }).unwrap();
}

#[test]
fn keyframes_start_the_motion_anew() {
    let file = format!("{}/../../models/", env!("CARGO_MANIFEST_DIR"));
    let with_keys = std::fs::read_dir(file).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        (text.contains("<key ") && path.extension()? == "xml").then(|| path.file_stem().unwrap().to_owned())
    });
    let name = with_keys.min().expect("one of our models has keyframes");
    let scene = model(&name.to_string_lossy());
    let mut live = Simulation::new(scene.as_ref(), Some("0")).unwrap();
    assert_eq!(live.values(Vector::State), scene.keyframes()[0].state());
    live.obey(&Command::Step { steps: 4 }).unwrap();
    live.obey(&Command::Reset { keyframe: Some("0".into()) }).unwrap();
    assert_eq!(live.values(Vector::State), scene.keyframes()[0].state());
    assert_eq!(live.report().step, 0);
}
