//! Forces of a medium against MuJoCo, by golden files of `reference/fluid.py`, and their pullbacks.

use std::path::Path;

use crate::moving::Moving;
use pullback_articulated::{Articulated, ImplicitTerms, Model, ModelIntegrator};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::step_check::{check_step, check_step_along};
use pullback_core::{Described, Point, VectorField};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use serde_json::Value;

const NAMES: [&str; 5] = ["fish", "swimmer", "plates", "shapes", "wedge"];

/// MuJoCo keeps the corners of meshes as single floats.
fn tolerance(name: &str) -> f64 {
    if name == "wedge" { 2e-6 } else { 1e-9 }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn golden(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/fluid/{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/models/fluid/{name}.xml"));
    let loader = Some(std::sync::Arc::new(MeshFiles) as _);
    let options = ImportOptions { mesh_loader: loader, ..ImportOptions::default() };
    let mut model = read_mjcf(&path, &options).unwrap_or_else(|e| panic!("{e}"));
    model.options.solver.tolerance = 1e-13;
    model
}

/// Largest difference, relative to the largest entry.
fn error(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1e-6f64, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale
}

#[test]
fn forces_of_a_medium_are_mujocos() {
    for name in NAMES {
        let robot = Articulated::new(model(name)).unwrap();
        let params = robot.layout().params.defaults();
        let mut ws = VectorField::<f64>::workspace(&robot);
        for g in golden(name)["states"].as_array().unwrap() {
            let state = [numbers(&g["qpos"]), numbers(&g["qvel"])].concat();
            let control = numbers(&g["ctrl"]);
            robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &control });
            let fluid = robot.fluid_force(&ws, &params);
            let passive: Vec<f64> = ws.passive.iter().zip(&fluid).map(|(a, b)| a + b).collect();
            let seen = [
                ("qfrc_fluid", error(&fluid, &numbers(&g["qfrc_fluid"]))),
                ("qfrc_passive", error(&passive, &numbers(&g["qfrc_passive"]))),
                ("qacc", error(&ws.constrained, &numbers(&g["qacc"]))),
            ];
            for (what, error) in seen {
                assert!(error < tolerance(name), "{name}: {what} off by {error:e}");
            }
        }
    }
}

#[test]
fn one_step_of_every_integrator_is_mujocos() {
    use ModelIntegrator::{Euler, Implicit, ImplicitFast, Rk4};
    for name in NAMES {
        let golden = golden(name);
        for (key, integrator) in
            [("Euler", Euler), ("RK4", Rk4), ("implicit", Implicit), ("implicitfast", ImplicitFast)]
        {
            let mut model = model(name);
            model.options.integrator = integrator;
            let mut moving = Moving::from_model(model);
            for g in golden["states"].as_array().unwrap() {
                moving.state = [numbers(&g["qpos"]), numbers(&g["qvel"])].concat();
                moving.control = numbers(&g["ctrl"]);
                moving.step();
                let nq = moving.nq();
                let theirs = numbers(&g["steps"][key]);
                let error = error(&moving.state[..nq], &theirs[..nq]).max(error(moving.v(), &theirs[nq..]));
                assert!(error < tolerance(name), "{name} by {key}: off by {error:e}");
            }
        }
    }
}

/// Checks one step at a state of the golden file against dual numbers and differences.
fn check(name: &str, terms: Option<ImplicitTerms>) {
    let mut model = model(name);
    model.options.contact = name != "plates";
    let robot = Articulated::new(model).unwrap().with_kinematic_params().unwrap();
    let robot = match terms {
        Some(terms) => robot.with_implicit(terms, 2e-3),
        None => robot,
    };
    let g = &golden(name)["states"][1];
    let (params, control) = (robot.layout().params.defaults(), numbers(&g["ctrl"]));
    let state = [numbers(&g["qpos"]), numbers(&g["qvel"])].concat();
    let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
    let at = Point { params: &params, state: &state, control: &control };
    // Many bodies: along one direction per slice.
    let report = if name == "shapes" {
        check_step_along(&system, at, &options)
    } else {
        check_step(&system, at, &options)
    };
    assert!(report.passed(), "{name} {terms:?}: {report}");
}

#[test]
fn pullbacks_through_a_medium_are_exact() {
    for name in NAMES {
        check(name, None);
    }
}

#[test]
fn pullbacks_of_implicit_steps_through_a_medium_are_exact() {
    for terms in [ImplicitTerms::Fast, ImplicitTerms::Full] {
        for name in ["fish", "swimmer", "plates", "shapes"] {
            check(name, Some(terms));
        }
    }
}
