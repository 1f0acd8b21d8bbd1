//! Adaptive steps through hard contact: gradients that differences confirm, where contacts set in with a jump.

use pullback_articulated::{Articulated, ContactModel};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::step_check::check_rollout_along;
use pullback_core::{Described, Rollout, Schedule};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

/// A pendulum that swings into its range, and a ball, or a tilted box, that falls on the floor; default softness,
/// whose damping acts at once.
fn scene(shape: &str, cone: &str) -> String {
    format!(
        "<mujoco><option cone=\"{cone}\" timestep=\"0.01\"><flag refsafe=\"disable\"/></option>
         <worldbody><geom type=\"plane\" size=\"0 0 1\"/>
         <body pos=\"0 0 0.3\" euler=\"25 35 0\"><freejoint/>
         <geom type=\"{shape}\" size=\"0.1 0.08 0.06\" mass=\"0.5\" friction=\"0.4\"/></body>
         <body pos=\"2 0 2\"><joint axis=\"0 1 0\" range=\"-0.4 0.3\" limited=\"true\"/>
         <geom size=\"0.05\" pos=\"0 0 -0.4\" mass=\"0.3\" contype=\"0\" conaffinity=\"0\"/></body>
         </worldbody></mujoco>"
    )
}

fn system(text: &str, integrator: Integrator, span: f64) -> (Integrated<Articulated>, Inputs<f64>) {
    let model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    assert_eq!(model.options.contact_model, ContactModel::Convex);
    let robot = Articulated::new(model).unwrap();
    let mut state = robot.layout().state.defaults();
    state[8..15].copy_from_slice(&[0.3, -0.2, -1.0, 0.4, -0.6, 0.2, 1.5]);
    let inputs = Inputs { state, controls: vec![], params: robot.layout().params.defaults() };
    (Integrated::new(robot, span, integrator).unwrap(), inputs)
}

fn adaptive(tolerance: f64) -> Integrator {
    Integrator::adaptive(Method::Tsit5, PidController::new(tolerance).gains(0.2, 0.4, 0.0))
}

fn weights() -> FinalState {
    FinalState { weights: (0..15).map(|i| (1.0 + f64::from(i)).sin()).collect() }
}

#[test]
fn gradients_agree_with_forward_mode_along_the_same_steps() {
    for (shape, cone) in [("sphere", "elliptic"), ("box", "elliptic"), ("box", "pyramidal")] {
        let (system, inputs) = system(&scene(shape, cone), adaptive(1e-7), 0.3);
        let rollout = Rollout::new(&system, 1, Schedule::StoreAll).unwrap();
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: f64::INFINITY, ..Options::default() };
        let report = check_rollout_along(&rollout, &inputs, &weights(), &options);
        assert!(report.passed(), "{shape} {cone}\n{report}");
    }
}

/// d loss / d state of the initial velocities, by an adjoint and by central differences of the loss.
fn compare(text: &str, integrator: Integrator, span: f64) -> Vec<(f64, f64)> {
    let (system, inputs) = system(text, integrator, span);
    let rollout = Rollout::new(&system, 1, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    rollout.gradient(&mut ws, &inputs, &weights()).unwrap();
    let gradient = ws.gradient.clone();
    (8..15)
        .map(|k| {
            let mut at = |by: f64| {
                let mut moved = inputs.clone();
                moved.state[k] += by;
                rollout.value(&mut ws, &moved, &weights()).unwrap()
            };
            let h = 1e-4;
            (gradient.state[k], (at(h) - at(-h)) / (2.0 * h))
        })
        .collect()
}

#[test]
fn adjoints_agree_with_differences_through_jumps() {
    for shape in ["sphere", "box"] {
        let text = scene(shape, "elliptic");
        let continuous =
            Integrator { adjoint: Adjoint::Continuous(PidController::new(1e-9)), ..adaptive(1e-12) };
        for integrator in [adaptive(1e-12), continuous] {
            for (by_adjoint, by_difference) in compare(&text, integrator, 0.35) {
                let scale = by_difference.abs().max(0.1);
                let error = (by_adjoint - by_difference).abs() / scale;
                assert!(error < 2e-4, "{shape}: {by_adjoint} against {by_difference}");
            }
        }
    }
}

#[test]
fn tolerances_hold_per_quantity() {
    let (plain, inputs) = system(&scene("sphere", "elliptic"), adaptive(1e-6), 0.3);
    let steps = |system: &Integrated<Articulated>| {
        let rollout = Rollout::new(system, 1, Schedule::StoreAll).unwrap();
        let mut ws = rollout.workspace::<f64>();
        rollout.simulate(&mut ws, &inputs, |_| {}).unwrap();
        ws.info.accepted
    };
    let loose = plain.clone().with_tolerance_scales(vec![100.0; 14]).unwrap();
    let mut velocities = vec![1.0; 7];
    velocities.extend([1e-3; 7]);
    let tight = plain.clone().with_tolerance_scales(velocities).unwrap();
    assert!(steps(&loose) < steps(&plain) && steps(&plain) < steps(&tight));
    assert!(plain.clone().with_tolerance_scales(vec![1.0; 3]).is_err());
    assert!(plain.with_tolerance_scales(vec![0.0; 14]).is_err());
}
