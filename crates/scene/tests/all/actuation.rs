//! Tendons, muscles and actuators against MuJoCo; `reference/actuation.py` made the golden files.

use std::fs;
use std::path::{Path, PathBuf};

use pullback_articulated::{Articulated, ImplicitTerms};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Point, System, VectorField};
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("numbers").iter().map(|x| x.as_f64().expect("number")).collect()
}

/// Largest difference over the largest entry of what is expected, or over 1 where that is small.
fn relative(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs() / scale))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Products of moments with the two vectors of the reference.
fn products(rows: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    let dot = |row: &[f64], f: &dyn Fn(f64) -> f64| {
        row.iter().enumerate().map(|(k, x)| x * f(k as f64)).sum::<f64>()
    };
    rows.flat_map(|row| {
        [dot(&row, &|k: f64| (1.0 + 0.7 * k).cos()), dot(&row, &|k: f64| (0.3 + 1.3 * k).sin())]
    })
    .collect()
}

fn flat(value: &Value) -> Vec<f64> {
    value.as_array().expect("rows").iter().flat_map(numbers).collect()
}

/// How near moments and what follows from them must be. MuJoCo finds where a tendon turns inside a surface to 1e-6 only; lengths
/// are stationary there.
fn tolerance(file: &Path) -> f64 {
    if file.ends_with("tendons.xml") { 1e-5 } else { 1e-8 }
}

/// The models with their golden numbers.
fn models() -> Vec<(PathBuf, Value)> {
    let folder = root().join("crates/scene/tests/golden/actuation");
    let names = fs::read_dir(folder).expect("golden files").map(|f| f.expect("file").path());
    let golden = |path: PathBuf| {
        let name = format!("{}.xml", path.file_stem().expect("name").to_string_lossy());
        let own = root().join("crates/scene/tests/models/actuation").join(&name);
        let model = if own.exists() { own } else { root().join("models").join(&name) };
        (model, serde_json::from_str(&fs::read_to_string(&path).expect("golden file")).expect("JSON"))
    };
    names.map(golden).collect()
}

#[test]
fn tendons_and_actuators_are_those_of_mujoco() {
    assert!(models().len() >= 3);
    for (file, golden) in models() {
        let model = read_mjcf(&file, &ImportOptions::default()).unwrap();
        for (actuator, range) in model.actuators.iter().zip(golden["lengthrange"].as_array().expect("ranges"))
        {
            if let Some((low, high)) = actuator.length_range {
                assert!(
                    relative(&[low, high], &numbers(range)) < 1e-6,
                    "{}: {low} {high} {range}",
                    actuator.name
                );
            }
        }
        let robot = Articulated::new(model).unwrap().with_instantaneous_activations();
        let params = robot.layout().params.defaults();
        let mut ws = VectorField::<f64>::workspace(&robot);
        let near = tolerance(&file);
        for state in golden["states"].as_array().expect("states") {
            let get = |name: &str| numbers(&state[name]);
            let (at, control) = ([get("qpos"), get("qvel"), get("act")].concat(), get("ctrl"));
            let point = Point { params: &params, state: &at, control: &control };
            robot.accelerations(&mut ws, point);
            let moments = |n: usize, of: &dyn Fn(usize) -> Vec<f64>| products((0..n).map(of));
            let (nt, nu) = (robot.model().tendons.len(), robot.model().actuators.len());
            for (what, ours, tolerance) in [
                ("ten_length", ws.tendons.length.clone(), 1e-10),
                ("ten_velocity", ws.tendons.velocity.clone(), near),
                ("actuator_length", ws.actuators.length.clone(), 1e-10),
                ("actuator_velocity", ws.actuators.velocity.clone(), near),
                ("actuator_force", ws.actuators.force.clone(), near),
                ("act_dot", ws.actuators.activation_rate.clone(), 1e-10),
                ("qfrc_passive", ws.passive.clone(), near),
                ("qfrc_actuator", ws.actuation.clone(), near),
                ("qacc", ws.constrained.clone(), near),
            ] {
                let error = relative(&ours, &get(what));
                assert!(error < tolerance, "{}: {what} is off by {error:e}", file.display());
            }
            let error =
                relative(&moments(nt, &|t| robot.tendon_moment(&ws, point, t)), &flat(&state["ten_J"]));
            assert!(error < near, "{}: ten_J is off by {error:e}", file.display());
            let ours = moments(nu, &|a| robot.actuator_moment(&ws, point, a));
            let error = relative(&ours, &flat(&state["actuator_moment"]));
            assert!(error < near, "{}: actuator_moment is off by {error:e}", file.display());
        }
    }
}

#[test]
fn models_with_tendons_move_as_in_mujoco() {
    for (file, golden) in models() {
        for (name, motion) in golden["motion"].as_object().expect("motions") {
            let model = read_mjcf(&file, &ImportOptions::default()).unwrap();
            let dt = model.options.timestep;
            let q = model.keyframes.first().map_or_else(|| model.reference_configuration(), |k| k.q.clone());
            let activation = model
                .keyframes
                .first()
                .map_or_else(|| vec![0.0; model.activations()], |k| k.activation.clone());
            let exact_filter = file.ends_with("actuators.xml");
            let robot = Articulated::new(model).unwrap();
            let (robot, method) = match name.as_str() {
                "Euler" => (robot.with_implicit(ImplicitTerms::Damping, dt), Method::SemiImplicitEuler),
                "implicit" => (robot.with_implicit(ImplicitTerms::Full, dt), Method::SemiImplicitEuler),
                "implicitfast" => (robot.with_implicit(ImplicitTerms::Fast, dt), Method::SemiImplicitEuler),
                // MuJoCo's final stage follows the exponential of exact filters, its inner ones do not.
                _ if exact_filter => continue,
                _ => (robot.with_plain_rotations().with_instantaneous_activations(), Method::Rk4),
            };
            let params = robot.layout().params.defaults();
            let control = numbers(&motion["ctrl"]);
            let mut state = [q, numbers(&motion["qvel"]), activation].concat();
            let system = Integrated::new(robot, dt, Integrator::fixed(method)).unwrap();
            let mut ws = System::<f64>::workspace(&system);
            let mut next = state.clone();
            for _ in 0..200 {
                let at = Point { params: &params, state: &state, control: &control };
                system.step(&mut ws, at, &mut next).unwrap();
                std::mem::swap(&mut state, &mut next);
            }
            let error = relative(&state, &numbers(&motion["end"]));
            assert!(error < tolerance(&file).max(1e-6), "{} {name}: off by {error:e}", file.display());
        }
    }
}
