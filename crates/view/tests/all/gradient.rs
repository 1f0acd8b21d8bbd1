//! The gradient on the page is that of a rollout, and that of differences.

use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Rollout, Schedule};
use pullback_tasks::Scene;
use serde_json::Value;

use crate::client::{model, scene, serving};

/// What the page is told of a gradient.
fn told(scene: &dyn Scene, commands: &[&str], quantity: &str, steps: usize) -> Value {
    let mut found = Value::Null;
    serving(scene, |site| {
        commands.iter().for_each(|command| drop(site.command(command)));
        site.command(&format!(r#"{{"do": "gradient", "of": {{"quantity": {quantity}, "steps": {steps}}}}}"#));
        found = site.stream_until(|kind, head, _| (kind == 1).then_some(head));
    });
    assert!(found["error"].is_null(), "{found}");
    found["gradient"].clone()
}

/// The derivative by an entry.
fn entry(gradient: &Value, vector: &str, name: &str) -> f64 {
    let entries = gradient["entries"].as_array().unwrap();
    let found = entries.iter().find(|e| e["vector"] == vector && e["name"] == name);
    found.unwrap_or_else(|| panic!("{vector} {name} is not in {gradient}"))["gradient"].as_f64().unwrap()
}

#[test]
fn numbers_are_those_of_a_rollout() {
    let scene = scene("double-pendulum");
    let layout = scene.layout();
    let name = layout.state.entry_name(1);
    let quantity = format!(r#"{{"kind": "state", "entry": "{name}"}}"#);
    let gradient = told(scene.as_ref(), &[], &quantity, 40);
    let rollout = Rollout::new(scene.system(), 40, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let weights = (0..layout.state.len()).map(|i| f64::from(i == 1)).collect();
    let inputs = Inputs::<f64>::defaults(scene.system(), 40);
    rollout.gradient(&mut ws, &inputs, &FinalState { weights }).unwrap();
    for (vector, section, expected) in
        [("state", &layout.state, &ws.gradient.state), ("params", &layout.params, &ws.gradient.params)]
    {
        for (i, expected) in expected.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            assert_eq!(entry(&gradient, vector, &section.entry_name(i)), *expected);
        }
    }
    assert_eq!(gradient["ahead"].as_f64().unwrap(), ws.gradient.loss);
}

#[test]
fn heights_of_bodies_agree_with_differences() {
    // A robot that touches nothing has no kinks.
    let scene = model("acrobot");
    let bent = r#"{"do": "set", "vector": "state", "name": "*", "value": 0.4}"#;
    let layout = scene.layout();
    let bodies = scene.stage().unwrap().shapes(&layout.params.defaults()).bodies;
    let (tip, steps) = (bodies.len() - 1, 12);
    let quantity = format!(r#"{{"kind": "body", "body": "{}", "axis": "z"}}"#, bodies[tip]);
    let gradient = told(scene.as_ref(), &[bent], &quantity, steps);
    assert_eq!(gradient["arrows_by"], "N");
    // z of the last body after a change of an input.
    let height = |change: &dyn Fn(&mut Inputs<f64>)| {
        let mut inputs = Inputs {
            state: vec![0.4; layout.state.len()],
            controls: scene.controls(steps),
            params: layout.params.defaults(),
        };
        change(&mut inputs);
        let mut last = Vec::new();
        scene.simulate(&inputs, steps, &mut |at| last = at.state.to_vec()).unwrap();
        scene.stage().unwrap().body_position(tip, &inputs.params, &last).unwrap()[2]
    };
    let slope = |change: &dyn Fn(&mut Inputs<f64>, f64), h: f64| {
        (height(&|inputs| change(inputs, h)) - height(&|inputs| change(inputs, -h))) / (2.0 * h)
    };
    let close = |found: f64, expected: f64, what: &str| {
        let error = (found - expected).abs();
        assert!(error < 1e-5 * (1e-3 + expected.abs()), "{what}: {found} is not {expected}");
    };
    let nu = layout.control.len();
    // The largest derivatives of each vector are told; a few of them suffice.
    for (vector, section) in
        [("control", &layout.control), ("state", &layout.state), ("params", &layout.params)]
    {
        let entries = gradient["entries"].as_array().unwrap().iter().filter(|e| e["vector"] == vector);
        let mut count = 0;
        for told in entries.take(6) {
            let name = told["name"].as_str().unwrap();
            let i = section.index_of(name).unwrap();
            let change = |inputs: &mut Inputs<f64>, h: f64| match vector {
                "control" => inputs.controls.iter_mut().skip(i).step_by(nu).for_each(|u| *u += h),
                "state" => inputs.state[i] += h,
                _ => inputs.params[i] += h,
            };
            close(told["gradient"].as_f64().unwrap(), slope(&change, 1e-6), name);
            count += 1;
        }
        assert!(count > 0, "nothing is told of {vector}");
    }
    // A parameter that moves the body at once, too: where the last body stands in its parent.
    let force = layout.control.index_of(&format!("{}.force[2]", bodies[tip])).unwrap();
    let arrow = gradient["arrows"].as_array().unwrap().iter().find(|arrow| arrow["body"] == tip).unwrap();
    let push = |inputs: &mut Inputs<f64>, h: f64| {
        inputs.controls.iter_mut().skip(force).step_by(nu).for_each(|u| *u += h);
    };
    close(arrow["vector"][2].as_f64().unwrap(), slope(&push, 1e-4), "force");
}

#[test]
fn particles_have_arrows_by_their_places() {
    let scene = scene("cloth-64");
    let slice = scene.layout().state.slices().iter().find(|s| s.unit == "m" && s.len() > 6).unwrap();
    let quantity = format!(r#"{{"kind": "mean", "slice": "{}", "axis": "z"}}"#, slice.name);
    let gradient = told(scene.as_ref(), &[], &quantity, 3);
    assert_eq!(gradient["arrows_by"], "m");
    let arrows = gradient["arrows"].as_array().unwrap();
    assert_eq!(arrows.len(), slice.len() / 3);
    // Moved as a whole, the cloth is as much higher.
    let sum: f64 = arrows.iter().map(|arrow| arrow["vector"][2].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
}
