//! Gradients through the moment of touch: adaptive solves end a step there and carry the gradient across.

use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController};
use pullback_core::rollout::FinalState;
use pullback_core::step_check::check_rollout;
use pullback_core::{Inputs, Rollout, Schedule};
use pullback_math::f64x4;
use pullback_physics::point_mass::{ContactDamping, PenaltyPointMass};

const PARAMS: [f64; 3] = [50.0, 1.0, 0.0];

fn printed_law(adjoint: Adjoint) -> Integrated<PenaltyPointMass> {
    let integrator = Integrator { adjoint, ..Integrator::adaptive(Method::Tsit5, PidController::new(1e-10)) };
    Integrated::new(PenaltyPointMass::new(ContactDamping::Plain), 0.5, integrator).unwrap()
}

fn end_height_gradient(system: &Integrated<PenaltyPointMass>, height: f64) -> (f64, Vec<f64>) {
    let rollout = Rollout::new(system, 4, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let loss = FinalState { weights: vec![1.0, 0.0] };
    rollout
        .gradient(
            &mut ws,
            &Inputs { state: vec![height, -1.0], controls: vec![], params: PARAMS.to_vec() },
            &loss,
        )
        .unwrap();
    (ws.gradient.loss, [ws.gradient.state.clone(), ws.gradient.params.clone()].concat())
}

/// q(t) and q̇(t) of q̈ = −q̇ − 50 q from q = 0, q̇ = −1.
fn inside(t: f64) -> (f64, f64) {
    let w = (50.0f64 - 0.25).sqrt();
    let (decay, (sin, cos)) = ((-0.5 * t).exp(), (w * t).sin_cos());
    (-decay * sin / w, -decay * (cos - 0.5 * sin / w))
}

#[test]
fn the_printed_law_has_the_analytic_gradient_where_motion_ends_inside_the_contact() {
    for adjoint in [Adjoint::Discrete { checkpoints: 1000 }, Adjoint::Continuous(PidController::new(1e-10))] {
        let system = printed_law(adjoint);
        for height in [1.6, 1.73, 1.8421, 1.93, 1.99] {
            let (q, v) = inside(2.0 - height);
            let (value, gradient) = end_height_gradient(&system, height);
            assert!((value - q).abs() < 1e-8, "at {height}: q = {value}, expected {q}");
            // A higher start is the same motion later: dq/dq₀ = −v.
            assert!((gradient[0] + v).abs() < 1e-7, "at {height}: {} expected {}", gradient[0], -v);
        }
    }
}

/// A point on a parabola (t − ½)² − depth: a step as long as the motion has no error, and ends where it began.
#[test]
fn a_graze_within_one_step_is_seen() {
    let end = |dt: f64, depth: f64| {
        let integrator = Integrator::adaptive(Method::Tsit5, PidController::new(1e-10));
        let system = Integrated::new(PenaltyPointMass::new(ContactDamping::Plain), dt, integrator).unwrap();
        let rollout = Rollout::new(&system, (1.0 / dt).round() as usize, Schedule::StoreAll).unwrap();
        let params = vec![50.0, 1.0, -2.0];
        let inputs = Inputs { state: vec![0.25 - depth, -1.0], controls: vec![], params };
        let loss = FinalState { weights: vec![0.0, 1.0] };
        rollout.value(&mut rollout.workspace::<f64>(), &inputs, &loss).unwrap()
    };
    for depth in [1e-2, 1e-3, 1e-5] {
        let (one, many) = (end(1.0, depth), end(1e-3, depth));
        assert!((one - many).abs() < 1e-9, "depth {depth}: {one} in one step, {many} in many");
        // ∫ 50 (depth − (t − ½)²) dt
        assert!(one - 1.0 > 30.0 * depth.powf(1.5), "depth {depth}: the floor has not acted");
    }
}

#[test]
fn both_adjoints_agree_after_touch_and_release() {
    let discrete = printed_law(Adjoint::Discrete { checkpoints: 1000 });
    let few_checkpoints = printed_law(Adjoint::Discrete { checkpoints: 2 });
    let continuous = printed_law(Adjoint::Continuous(PidController::new(1e-10)));
    for height in [0.3, 0.9, 1.2, 1.5] {
        let (_, a) = end_height_gradient(&discrete, height);
        let (_, b) = end_height_gradient(&continuous, height);
        let (_, c) = end_height_gradient(&few_checkpoints, height);
        assert_eq!(a, c, "recomputed states are the same to the last bit");
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-7 * a.abs().max(1.0), "at {height}: {a} against {b}");
        }
    }
}

#[test]
fn the_adjoint_agrees_with_dual_numbers_and_differences_across_both_events() {
    for onset in [ContactDamping::Plain, ContactDamping::ByDepth] {
        let integrator = Integrator::adaptive(Method::Tsit5, PidController::new(1e-10));
        let system = Integrated::new(PenaltyPointMass::new(onset), 0.5, integrator).unwrap();
        let rollout = Rollout::new(&system, 4, Schedule::StoreAll).unwrap();
        let loss = FinalState { weights: vec![1.0, 0.3] };
        let options = Options { difference_tolerance: 1e-5, ..Options::default() };
        let report = check_rollout(
            &rollout,
            &Inputs { state: vec![0.61, -1.1], controls: vec![], params: vec![47.0, 1.3, 0.4] },
            &loss,
            &options,
        );
        assert!(report.passed(), "{onset:?}\n{report}");
    }
}

#[test]
fn a_start_exactly_on_the_surface_bounces() {
    let system = printed_law(Adjoint::Discrete { checkpoints: 1000 });
    let (value, gradient) = end_height_gradient(&system, 0.0);
    let contact = std::f64::consts::PI / (50.0f64 - 0.25).sqrt();
    let speed = inside(contact).1;
    assert!((value - speed * (2.0 - contact)).abs() < 1e-8, "{value}");
    assert!((gradient[0] + speed).abs() < 1e-7, "{}", gradient[0]);
}

#[test]
fn lanes_that_touch_at_different_times_keep_their_own_gradients() {
    let heights = [0.4, 0.95, 1.7, 2.6];
    let system = printed_law(Adjoint::Discrete { checkpoints: 1000 });
    let rollout = Rollout::new(&system, 4, Schedule::StoreAll).unwrap();
    let states: Vec<f64> = heights.iter().flat_map(|q| [*q, -1.0]).collect();
    let mut batch = Batch::<_, f64x4>::new(rollout, 4, 1).unwrap();
    let mut out = BatchGradients::default();
    let inputs = BatchInputs { states: &states, controls: &[], params: &PARAMS };
    batch.gradients(inputs, |_| FinalState { weights: vec![1.0, 0.0] }, &mut out).unwrap();
    for (i, height) in heights.iter().enumerate() {
        let (value, gradient) = end_height_gradient(&system, *height);
        assert!((out.loss[i] - value).abs() < 1e-8);
        assert!(
            (out.states[2 * i] - gradient[0]).abs() < 1e-7,
            "{} against {}",
            out.states[2 * i],
            gradient[0]
        );
    }
}
