//! Constraints of MJCF files at given states, for comparison with MuJoCo (`reference/fuzz_constraints.py`).
//!
//! Reads a line of JSON per case: `file`, `states` (each `qpos`, `qvel`, `ctrl`, `mocap`) and `steps`. Answers
//! with a line: per state contacts, rows, acceleration, force and the state after one step; then the state `steps`
//! steps after the first one.

#[allow(dead_code)]
#[path = "../tests/all/moving.rs"]
mod moving;

use std::io::BufRead;
use std::path::Path;

use moving::Moving;
use pullback_articulated::Articulated;
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, read_mjcf};
use serde_json::{Value, json};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn place(moving: &mut Moving, at: &Value) {
    moving.state = [numbers(&at["qpos"]), numbers(&at["qvel"])].concat();
    moving.control = [numbers(&at["ctrl"]), numbers(&at["mocap"])].concat();
}

fn answer(case: &Value) -> Value {
    let options =
        ImportOptions { mesh_loader: Some(std::sync::Arc::new(MeshFiles)), ..ImportOptions::default() };
    let file = case["file"].as_str().unwrap_or_default();
    let mut model = match read_mjcf(Path::new(file), &options) {
        Ok(model) => model,
        Err(error) => return json!({ "refused": error.to_string() }),
    };
    model.options.solver.tolerance = 1e-12;
    if let Err(error) = Articulated::new(model.clone()) {
        return json!({ "refused": error.to_string() });
    }
    let nq = model.nq;
    let mut moving = Moving::from_model(model);
    let mut states = Vec::new();
    let given = case["states"].as_array().cloned().unwrap_or_default();
    for at in &given {
        place(&mut moving, at);
        let info = moving.evaluate();
        let (contacts, rows) = (moving.found(), moving.rows());
        let (acceleration, force) =
            (moving.ws.constrained.clone(), moving.robot().constraint_force(&moving.ws));
        moving.step();
        states.push(json!({
            "contacts": contacts.iter().map(|(a, b, d)| json!([a, b, d])).collect::<Vec<_>>(),
            "rows": rows.iter().map(|(contact, a, r)| json!([contact, a, r])).collect::<Vec<_>>(),
            "converged": info.converged,
            "iterations": info.iterations,
            "qacc": acceleration,
            "qfrc_constraint": force,
            "qpos": moving.state[..nq],
            "qvel": moving.state[nq..],
        }));
    }
    place(&mut moving, &given[0]);
    for _ in 0..case["steps"].as_u64().unwrap_or(0) {
        moving.step();
    }
    json!({ "states": states, "end": { "qpos": moving.state[..nq], "qvel": moving.state[nq..] } })
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let answered = std::panic::catch_unwind(|| answer(&case));
        println!("{}", answered.unwrap_or_else(|_| json!({ "panic": true })));
    }
}
