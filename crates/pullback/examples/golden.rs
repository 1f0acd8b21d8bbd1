//! Rollouts and gradients of five systems, bit by bit: what the tests of the Python package hold it to.
//!
//! `cargo run --package pullback --features full --example golden -- FILE.json`

use std::error::Error;

use pullback::core::batch::{Batch, BatchGradients, BatchInputs};
use pullback::core::random::Random;
use pullback::core::{Described, Inputs, Rollout, Schedule, System};
use pullback::math::f64x8;
use pullback::prelude::{Effort, Norm, StateTarget, Weights};
use pullback::tasks::scenes::{self, SceneOptions};
use serde_json::{Value, json};

/// A model of ours or a scene, what its state should reach, and for how long it runs.
const CASES: [(&str, &str, usize); 5] = [
    ("pendulum", "*", 50),
    ("double-pendulum", "*", 50),
    ("cartpole", "*", 40),
    ("arm9", "*.q", 20),
    ("ant", "*.position", 15),
];

/// Environments of a batch: one full pack of lanes and a part of another.
const ENVS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("say where to: golden FILE.json")?;
    let cases = CASES.into_iter().map(case).collect::<Result<Vec<Value>, _>>()?;
    Ok(std::fs::write(file, json!({ "cases": cases }).to_string())?)
}

fn case((name, pattern, steps): (&str, &str, usize)) -> Result<Value, Box<dyn Error>> {
    let mut found = match pullback::models::find(name) {
        None => {
            let scene = scenes::build(name, SceneOptions::default())?;
            alone(scene.system(), pattern, steps)?
        }
        Some(_) => {
            let file = format!("{}/../../models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
            let robot = pullback::load(&file)?;
            let mut found = alone(&robot, pattern, steps)?;
            found["batch"] = together(&robot, pattern, steps)?;
            found
        }
    };
    found["system"] = json!(name);
    found["pattern"] = json!(pattern);
    found["steps"] = json!(steps);
    Ok(found)
}

/// One environment.
fn alone<S: System<f64>>(system: &S, pattern: &str, steps: usize) -> Result<Value, Box<dyn Error>> {
    let inputs = inputs(system, steps, &mut Random::new(1));
    let rollout = Rollout::new(system, steps, Schedule::StoreAll)?;
    let mut ws = rollout.workspace::<f64>();
    let mut states = Vec::new();
    rollout.simulate(&mut ws, &inputs, |sample| states.extend_from_slice(sample.state))?;
    let layout = system.layout();
    let weights = Weights { running: 0.5, terminal: 2.0 };
    let loss = (StateTarget::new(layout, pattern, Norm::Square, weights)?, Effort::new(layout, 0.01));
    rollout.gradient(&mut ws, &inputs, &loss)?;
    Ok(json!({
        "state": bits(&inputs.state),
        "controls": bits(&inputs.controls),
        "states": bits(&states),
        "loss": bits(&[ws.gradient.loss]),
        "state_bar": bits(&ws.gradient.state),
        "controls_bar": bits(&ws.gradient.control),
        "params_bar": bits(&ws.gradient.params),
    }))
}

/// Many environments on lanes.
fn together<S: System<f64x8>>(system: &S, pattern: &str, steps: usize) -> Result<Value, Box<dyn Error>> {
    let mut random = Random::new(2);
    let (mut states, mut controls) = (Vec::new(), Vec::new());
    for _ in 0..ENVS {
        let inputs = inputs(system, steps, &mut random);
        states.extend(inputs.state);
        controls.extend(inputs.controls);
    }
    let layout = system.layout();
    let params = layout.params.defaults();
    let inputs = BatchInputs { states: &states, controls: &controls, params: &params };
    let rollout = Rollout::new(system, steps, Schedule::StoreAll)?;
    let mut batch = Batch::<_, f64x8>::new(rollout, ENVS, 1)?;
    let loss = StateTarget::new(layout, pattern, Norm::Square, Weights::at_end(1.0))?;
    let mut out = BatchGradients::default();
    batch.gradients(inputs, |_| &loss, &mut out)?;
    let mut final_states = Vec::new();
    batch.simulate(inputs, &mut final_states)?;
    Ok(json!({
        "state": bits(&states),
        "controls": bits(&controls),
        "final": bits(&final_states),
        "loss": bits(&out.loss),
        "state_bar": bits(&out.states),
        "controls_bar": bits(&out.controls),
        "params_bar": bits(&out.params),
    }))
}

/// Defaults, with a state that is moved a little and controls drawn at random.
fn inputs(system: &impl Described, steps: usize, random: &mut Random) -> Inputs<f64> {
    let mut inputs = Inputs::<f64>::defaults(system, steps);
    inputs.state.iter_mut().for_each(|x| *x += random.uniform(-0.01, 0.01));
    inputs.controls.iter_mut().for_each(|u| *u += random.uniform(-0.3, 0.3));
    inputs
}

/// Numbers as their bits.
fn bits(values: &[f64]) -> Vec<String> {
    values.iter().map(|x| format!("{:016x}", x.to_bits())).collect()
}
