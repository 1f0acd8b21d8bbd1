//! The double pendulum against MuJoCo; `reference/double_pendulum.py` made the golden file.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Inputs, Point, Rollout, Schedule, VectorField};
use pullback_physics::pendulum::DoublePendulum;
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/double_pendulum.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Largest |a − b|, relative to the larger of `floor` and the largest |b|.
fn disagreement(ours: &[f64], theirs: &[f64], floor: f64) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(floor, |m: f64, x| m.max(x.abs()));
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max)
}

#[test]
fn the_golden_file_orders_parameters_as_we_do() {
    let golden = golden();
    let names: Vec<&str> = golden["params"].as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect();
    assert_eq!(DoublePendulum::default().layout().params.entry_names(), names);
    assert!(golden["source"].as_str().unwrap().starts_with("mujoco "));
}

#[test]
fn double_pendulum_accelerations_are_those_of_mujoco() {
    let golden = golden();
    let cases = golden["accelerations"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    let field = DoublePendulum::default();
    let mut worst: f64 = 0.0;
    for case in cases {
        let (params, state, torque) =
            (numbers(&case["params"]), numbers(&case["state"]), numbers(&case["torque"]));
        let mut rate = [0.0; 4];
        field.eval(&mut (), Point { params: &params, state: &state, control: &torque }, 0.0, &mut rate);
        assert_eq!(rate[..2], state[2..]);
        worst = worst.max(disagreement(&rate[2..], &numbers(&case["acceleration"]), 0.0));
    }
    println!("accelerations: {worst:.1e}");
    assert!(worst < 1e-9, "accelerations differ by {worst:e}");
}

#[test]
fn double_pendulum_trajectories_are_those_of_mujoco() {
    let golden = golden();
    let (dt, every) = (golden["dt"].as_f64().unwrap(), golden["sample_every"].as_u64().unwrap() as usize);
    let system = Integrated::new(DoublePendulum::default(), dt, Integrator::fixed(Method::Rk4)).unwrap();
    let cases = golden["trajectories"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for (i, case) in cases.iter().enumerate() {
        let samples: Vec<Vec<f64>> = case["states"].as_array().unwrap().iter().map(numbers).collect();
        assert_eq!(samples.len(), 20);
        let steps = samples.len() * every;
        let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
        let mut ws = rollout.workspace::<f64>();
        let controls = numbers(&case["torque"]).repeat(steps);
        let mut worst: f64 = 0.0;
        let visit = |at: pullback_core::rollout::Sample<'_, f64>| {
            if at.step > 0 && at.step.is_multiple_of(every) {
                worst = worst.max(disagreement(at.state, &samples[at.step / every - 1], 1.0));
            }
        };
        rollout
            .simulate(
                &mut ws,
                &Inputs {
                    state: numbers(&case["state"]),
                    controls: controls.to_vec(),
                    params: numbers(&case["params"]),
                },
                visit,
            )
            .unwrap();
        println!("trajectory {i}: {worst:.1e}");
        assert!(worst < 1e-7, "trajectory {i} differs by {worst:e}");
    }
}
