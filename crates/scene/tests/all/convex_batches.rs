//! The convex model gives the same bits on any number of threads, with or without gradients, and whatever its
//! workspace computed before.

use std::path::Path;

use crate::moving::Moving;
use pullback_core::batch::{BatchGradients, BatchInputs};
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::{Batch, Described, Inputs, Rollout, Schedule};
use pullback_math::{Real, f64x8};
use pullback_scene::mjcf::{ImportOptions, read_mjcf};

const STEPS: usize = 15;
/// A multiple of no lane count.
const ENVS: usize = 11;

/// The ant flat on the ground, and a pile of free bodies.
fn models() -> [Moving; 2] {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ant.xml");
    let mut ant = Moving::from_model(read_mjcf(&file, &ImportOptions::default()).expect("the ant"));
    ant.state[2] = 0.07;
    let mut text =
        "<mujoco><option cone=\"elliptic\"/><worldbody><geom type=\"plane\" size=\"0 0 1\"/>".to_owned();
    for i in 0..6 {
        let kind = ["sphere", "capsule", "box"][i % 3];
        let (x, z) = (0.02 * i as f64, 0.08 + 0.12 * i as f64);
        text += &format!(
            "<body pos=\"{x} 0 {z}\" euler=\"{} 10 0\"><freejoint/>\
             <geom type=\"{kind}\" size=\"0.1 0.08 0.06\" condim=\"{}\"/></body>",
            20 * i,
            [1, 3, 4, 6][i % 4]
        );
    }
    text += "</worldbody></mujoco>";
    [ant, Moving::new(&text)]
}

/// States around that of the model, one after another.
fn states(moving: &Moving) -> Vec<f64> {
    let nq = moving.nq();
    let mut random = Random::new(3);
    let mut all = Vec::new();
    for _ in 0..ENVS {
        let mut state = moving.state.clone();
        state[nq..].iter_mut().for_each(|v| *v = random.uniform(-1.0, 1.0));
        all.extend(state);
    }
    all
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn same_bits<T: Real>(moving: &Moving) {
    let states = states(moving);
    let controls: Vec<f64> =
        moving.control.iter().copied().cycle().take(STEPS * moving.control.len()).collect();
    let inputs = BatchInputs { states: &states, controls: &controls, params: &moving.params };
    let weights = vec![1.0; moving.state.len()];
    let mut all = Vec::new();
    for threads in [1, 2, 3] {
        let rollout = Rollout::new(&moving.system, STEPS, Schedule::Every(4)).unwrap();
        let mut batch = Batch::<_, T>::new(rollout, ENVS, threads).unwrap();
        let mut alone = Vec::new();
        batch.simulate(inputs, &mut alone).unwrap();
        let mut gradients = BatchGradients::default();
        batch.gradients(inputs, |_| FinalState { weights: weights.clone() }, &mut gradients).unwrap();
        // With gradients the motion is the same: the loss is the sum of the final state.
        let mut again = Vec::new();
        batch.simulate(inputs, &mut again).unwrap();
        assert_eq!(bits(&alone), bits(&again), "{threads} threads");
        let BatchGradients { loss, states, controls, params, .. } = &gradients;
        all.push([bits(&alone), bits(loss), bits(states), bits(controls), bits(params)].concat());
    }
    assert!(all[0] == all[1] && all[1] == all[2], "the number of threads changed the result");
    assert!(all[0].iter().all(|x| f64::from_bits(*x).is_finite()));
}

#[test]
fn any_number_of_threads_gives_the_same_bits_under_constraints() {
    for moving in models() {
        same_bits::<f64>(&moving);
        same_bits::<f64x8>(&moving);
    }
}

#[test]
fn a_state_gives_the_same_bits_whatever_was_computed_before() {
    for mut moving in models() {
        let all = states(&moving);
        let n = moving.state.len();
        let evaluate = |moving: &mut Moving, i: usize| {
            moving.state.copy_from_slice(&all[i * n..(i + 1) * n]);
            let info = moving.evaluate();
            assert!(info.converged && info.active > 0);
            let force = moving.robot().constraint_force(&moving.ws);
            let gradient = moving.step_vjp();
            [bits(&moving.ws.constrained), bits(&force), bits(&gradient)].concat()
        };
        let first: Vec<_> = (0..ENVS).map(|i| evaluate(&mut moving, i)).collect();
        for i in (0..ENVS).rev() {
            assert!(evaluate(&mut moving, i) == first[i], "state {i} after others");
            (0..3).for_each(|_| moving.step());
        }
    }
}

#[test]
fn a_gradient_has_the_loss_of_the_motion_alone() {
    for moving in models() {
        let inputs = Inputs {
            state: moving.state.clone(),
            controls: moving.control.iter().copied().cycle().take(STEPS * moving.control.len()).collect(),
            params: moving.params.clone(),
        };
        let loss = FinalState { weights: vec![1.0; moving.system.layout().state.len()] };
        let rollout = Rollout::new(&moving.system, STEPS, Schedule::Every(4)).unwrap();
        let mut ws = rollout.workspace::<f64>();
        let value = rollout.value(&mut ws, &inputs, &loss).unwrap();
        rollout.gradient(&mut ws, &inputs, &loss).unwrap();
        assert_eq!(value.to_bits(), ws.gradient.loss.to_bits());
    }
}
