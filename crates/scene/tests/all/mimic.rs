//! Mimic joints of URDF models against Pinocchio, through golden files made by `reference/urdf_mimic.py`.

use pullback_articulated::{Articulated, ContactModel};
use pullback_core::{Described, Point, VectorField};
use pullback_scene::urdf::{UrdfOptions, load};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Largest difference, relative to the largest entry.
fn error(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1e-6f64, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale
}

#[test]
fn mass_matrix_bias_and_acceleration_are_pinocchios() {
    for name in ["gripper", "mimic_hand"] {
        let tests = format!("{}/tests", env!("CARGO_MANIFEST_DIR"));
        let mut model = load(format!("{tests}/models/{name}.urdf"), &UrdfOptions::default()).unwrap();
        // Under the convex model followers are constraints; here they leave the state.
        let options = &mut model.options;
        options.contact_model = ContactModel::Penalty;
        (options.limits, options.contact, options.frictionloss) = (false, false, false);
        let robot = Articulated::new(model).unwrap();
        let golden = std::fs::read_to_string(format!("{tests}/golden/mimic_{name}.json")).unwrap();
        let golden: Value = serde_json::from_str(&golden).unwrap();

        // Where Pinocchio's joints are among ours.
        let n = robot.coordinates().nv;
        let place = |joint: &Value| {
            let found = robot.model().joints.iter().position(|j| j.name == joint.as_str().unwrap());
            robot.coordinates().joints[found.unwrap()].unwrap().1
        };
        let places: Vec<usize> = golden["joints"].as_array().unwrap().iter().map(place).collect();
        assert_eq!(places.len(), n);
        let theirs = |values: Vec<f64>| {
            let mut ours = vec![0.0; n];
            places.iter().zip(values).for_each(|(at, x)| ours[*at] = x);
            ours
        };

        let params = robot.layout().params.defaults();
        for state in golden["states"].as_array().unwrap() {
            let x = [theirs(numbers(&state["q"])), theirs(numbers(&state["v"]))].concat();
            let mut ws = VectorField::<f64>::workspace(&robot);
            let mut rate = vec![0.0; 2 * n];
            robot.eval(&mut ws, Point { params: &params, state: &x, control: &[] }, 0.0, &mut rate);
            let mass = robot.mass_matrix(&ws, &params);
            let rows = state["mass_matrix"].as_array().unwrap().iter().map(numbers).map(theirs);
            let mut expected = vec![0.0; n * n];
            for (at, row) in places.iter().zip(rows) {
                expected[at * n..(at + 1) * n].copy_from_slice(&row);
            }
            let bias = robot.generalized_force(&params, &ws.bias);
            let seen = [
                ("mass matrix", error(&mass, &expected)),
                ("bias", error(&bias, &theirs(numbers(&state["bias"])))),
                ("acceleration", error(&rate[n..], &theirs(numbers(&state["acceleration"])))),
            ];
            for (what, error) in seen {
                assert!(error < 1e-9, "{name}: {what} off by {error:e}");
            }
        }
    }
}
