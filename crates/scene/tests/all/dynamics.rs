//! Dynamics of model files against MuJoCo's, through golden files made by `reference/dynamics.py`.

use std::path::{Path, PathBuf};

use pullback_articulated::Articulated;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Inputs, Point, Rollout, Schedule, VectorField};
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn goldens(folder: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10, "at least ten models, found {}", files.len());
    files.iter().map(|f| serde_json::from_str(&std::fs::read_to_string(f).unwrap()).unwrap()).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The robot of a golden file, without constraints and with explicit damping, as MuJoCo ran it.
fn robot(golden: &Value) -> Articulated {
    let path = root().join(golden["model"].as_str().unwrap());
    let mut model = read_mjcf(&path, &ImportOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let options = &mut model.options;
    (options.limits, options.contact, options.frictionloss, options.equality) = (false, false, false, false);
    Articulated::new(model).unwrap().with_plain_rotations()
}

/// Largest difference, relative to the largest entry.
fn error(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale
}

#[test]
fn mass_matrix_bias_acceleration_poses_and_energies_are_mujocos() {
    // Models with whole trajectories, then those of which only a state is kept.
    for golden in goldens("dynamics").into_iter().chain(goldens("varied")) {
        let robot = robot(&golden);
        let name = golden["model"].as_str().unwrap();
        let params = robot.layout().params.defaults();
        for state in golden["states"].as_array().unwrap() {
            let x = [numbers(&state["qpos"]), numbers(&state["qvel"])].concat();
            let mut ws = VectorField::<f64>::workspace(&robot);
            robot.accelerations(
                &mut ws,
                Point { params: &params, state: &x, control: &numbers(&state["ctrl"]) },
            );
            let (n, dense) = (robot.model().nv, ws.mass.dense(robot.tree()));
            let entries = (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let lower: Vec<f64> = entries.map(|(i, j)| dense[i * n + j]).collect();
            let poses = &ws.kinematics.world_from_body[1..];
            let positions: Vec<f64> =
                poses.iter().flat_map(|p| [p.translation.x, p.translation.y, p.translation.z]).collect();
            let kinetic = ws.kinematics.kinetic_energy(&ws.sweep.velocities) + armature_energy(&robot, &x);
            let seen = [
                ("mass matrix", error(&lower, &numbers(&state["mass_matrix_lower"]))),
                ("bias", error(&ws.bias, &numbers(&state["bias"]))),
                ("acceleration", error(&ws.acceleration, &numbers(&state["acceleration"]))),
                ("positions", error(&positions, &numbers(&state["positions"]))),
                ("kinetic energy", error(&[kinetic], &[state["kinetic_energy"].as_f64().unwrap()])),
            ];
            for (what, error) in seen {
                assert!(error < 1e-9, "{name}: {what} off by {error:e}");
            }
        }
    }
}

/// MuJoCo counts the energy of the rotors.
fn armature_energy(robot: &Articulated, state: &[f64]) -> f64 {
    let v = &state[robot.model().nq..];
    let of = |k: usize, armature: f64| 0.5 * armature * v[k] * v[k];
    let joints = robot.model().joints.iter();
    joints.flat_map(|j| (j.v..j.v + j.kind.velocities()).map(move |k| of(k, j.armature))).sum()
}

#[test]
fn one_second_by_euler_and_rk4_is_mujocos() {
    for golden in goldens("dynamics") {
        let robot = robot(&golden);
        let name = golden["model"].as_str().unwrap();
        let params = robot.layout().params.defaults();
        let start = &golden["states"][0];
        let state = [numbers(&start["qpos"]), numbers(&start["qvel"])].concat();
        for (key, method) in [("euler", Method::SemiImplicitEuler), ("rk4", Method::Rk4)] {
            let dt = golden["timestep"].as_f64().unwrap();
            let system = Integrated::new(robot.clone(), dt, Integrator::fixed(method)).unwrap();
            let steps = numbers(&golden[key]["steps"]);
            let count = *steps.last().unwrap() as usize;
            let rollout = Rollout::new(&system, count, Schedule::Revolve { slots: 1 }).unwrap();
            let mut ws = rollout.workspace::<f64>();
            let controls = numbers(&start["ctrl"]).repeat(count);
            let mut worst = 0.0f64;
            rollout
                .simulate(&mut ws, &Inputs { state: state.clone(), controls, params: params.clone() }, |at| {
                    if let Some(i) = steps.iter().position(|s| *s as usize == at.step) {
                        worst = worst.max(error(at.state, &numbers(&golden[key]["states"][i])));
                    }
                })
                .unwrap();
            assert!(worst < 1e-7, "{name}, {key}: off by {worst:e} after one second");
        }
    }
}
