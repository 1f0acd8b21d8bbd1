//! Integrators: order of convergence, exact pullbacks, agreement of the two adjoints.

use crate::common::Duffing;
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController, StepControl};
use pullback_core::rollout::{FinalState, Inputs, Sample};
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Described, Point, Rollout, Schedule};

fn system(dt: f64, integrator: Integrator) -> Integrated<Duffing> {
    Integrated::new(Duffing::new(), dt, integrator).unwrap()
}

/// Final x after 2 s.
fn final_x(dt: f64, integrator: Integrator) -> f64 {
    let system = system(dt, integrator);
    let steps = (2.0 / dt).round() as usize;
    let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let inputs = Inputs::defaults(&system, steps);
    let loss = FinalState { weights: vec![1.0, 0.0, 0.0] };
    rollout.value(&mut ws, &inputs, &loss).unwrap()
}

/// x and v every 0.1 s for 3 s, with steps of 0.1 s / `division`.
fn trajectory(division: usize, integrator: Integrator) -> Vec<f64> {
    let system = system(0.1 / division as f64, integrator);
    let steps = 30 * division;
    let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let inputs = Inputs::defaults(&system, steps);
    let mut points = Vec::new();
    let visit = |at: Sample<'_, f64>| {
        if at.step.is_multiple_of(division) {
            points.extend_from_slice(&at.state[..2]);
        }
    };
    rollout.simulate(&mut ws, &inputs, visit).unwrap();
    points
}

#[test]
fn fixed_steps_converge_at_their_order() {
    let exact = trajectory(1, Integrator::adaptive(Method::Dopri5, PidController::new(1e-13)));
    for (method, order) in
        [(Method::SemiImplicitEuler, 1.0), (Method::Rk4, 4.0), (Method::Tsit5, 5.0), (Method::Dopri5, 5.0)]
    {
        let error = |division| {
            let points = trajectory(division, Integrator::fixed(method));
            points.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let seen = f64::log2(error(2) / error(8)) / 2.0;
        assert!((seen - order).abs() < 0.3, "{method:?}: order {seen:.2}, expected {order}");
    }
}

#[test]
fn adaptive_error_follows_the_tolerance() {
    let exact = final_x(0.1, Integrator::adaptive(Method::Dopri5, PidController::new(1e-13)));
    for method in [Method::Tsit5, Method::Dopri5] {
        for tolerance in [1e-5, 1e-7, 1e-9] {
            let error =
                (final_x(1.0, Integrator::adaptive(method, PidController::new(tolerance))) - exact).abs();
            assert!(error < 20.0 * tolerance, "{method:?} at {tolerance}: {error:e}");
        }
    }
}

#[test]
fn every_integrator_has_the_exact_discrete_pullback() {
    let pid = PidController::new(1e-6);
    let integrators = [
        Integrator::fixed(Method::SemiImplicitEuler),
        Integrator::fixed(Method::Rk4),
        Integrator::fixed(Method::Tsit5),
        Integrator::fixed(Method::Dopri5),
        Integrator::adaptive(Method::Tsit5, pid),
        Integrator::adaptive(Method::Dopri5, pid.gains(0.2, 0.4, 0.1)),
        Integrator {
            adjoint: Adjoint::Discrete { checkpoints: 2 },
            ..Integrator::adaptive(Method::Tsit5, pid)
        },
    ];
    for integrator in integrators {
        let system = system(0.8, integrator);
        // With step sizes held constant, differences over adaptive steps see the sizes change: judge by
        // forward mode.
        let adaptive = matches!(integrator.control, StepControl::Adaptive(_));
        let difference_tolerance = if adaptive { 1e-2 } else { 1e-6 };
        let options = Options { difference_tolerance, ..Options::default() };
        let report = check_step(
            &system,
            Point { params: &[1.3, 0.25, 0.8, 1.7], state: &[0.7, -0.3, 0.4], control: &[0.2] },
            &options,
        );
        assert!(report.passed(), "{integrator:?}\n{report}");
    }
}

#[test]
fn rollouts_have_the_exact_pullback_under_every_schedule() {
    let system = system(0.05, Integrator::fixed(Method::Rk4));
    let steps = 12;
    let inputs = Inputs::<f64>::defaults(&system, steps);
    let loss = FinalState { weights: vec![1.0, -0.5, 0.0] };
    for schedule in [
        Schedule::StoreAll,
        Schedule::Every(5),
        Schedule::Revolve { slots: 3 },
        Schedule::TwoLevel { frame: 4, slots: 2 },
    ] {
        let rollout = Rollout::new(&system, steps, schedule).unwrap();
        let options = Options::default();
        let report = check_rollout(&rollout, &inputs, &loss, &options);
        assert!(report.passed(), "{schedule:?}\n{report}");
    }
}

#[test]
fn continuous_and_discrete_adjoint_agree_within_the_tolerance() {
    for tolerance in [1e-6, 1e-8, 1e-10] {
        let pid = PidController::new(tolerance);
        let discrete = Integrator::adaptive(Method::Tsit5, pid);
        let continuous = Integrator { adjoint: Adjoint::Continuous(pid), ..discrete };
        let gradient = |integrator| {
            let system = system(2.0, integrator);
            let rollout = Rollout::new(&system, 3, Schedule::StoreAll).unwrap();
            let mut ws = rollout.workspace::<f64>();
            let inputs = Inputs::defaults(&system, 3);
            let loss = FinalState { weights: vec![1.0, 0.5, 0.0] };
            rollout.gradient(&mut ws, &inputs, &loss).unwrap();
            [ws.gradient.state.clone(), ws.gradient.control.clone(), ws.gradient.params.clone()].concat()
        };
        let (a, b) = (gradient(discrete), gradient(continuous));
        let scale = a.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 20.0 * tolerance * scale, "at {tolerance:e}: {a} against {b}");
        }
        assert_ne!(a, b, "two different computations");
    }
}

#[test]
fn choices_that_do_not_fit_are_refused() {
    let pid = PidController::new(1e-6);
    let refuse = |integrator: Integrator, why: &str| {
        let message = Integrated::new(Duffing::new(), 0.1, integrator).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    };
    refuse(Integrator::adaptive(Method::Rk4, pid), "no error estimate");
    refuse(
        Integrator { adjoint: Adjoint::Continuous(pid), ..Integrator::fixed(Method::Tsit5) },
        "belongs to an adaptive solve",
    );
    assert!(Integrated::new(Duffing::new(), -0.1, Integrator::fixed(Method::Rk4)).is_err());
}

#[test]
fn an_impossible_tolerance_is_an_error_with_a_remedy() {
    let pid = PidController { max_steps: 50, ..PidController::new(1e-14) };
    let system = system(5.0, Integrator::adaptive(Method::Tsit5, pid));
    let rollout = Rollout::new(&system, 1, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let inputs = Inputs::defaults(&system, 1);
    let loss = FinalState { weights: vec![1.0, 0.0, 0.0] };
    let error = rollout.value(&mut ws, &inputs, &loss).unwrap_err();
    assert!(error.to_string().contains("loosen the tolerances"), "{error}");
}

#[test]
fn time_is_part_of_the_state() {
    let system = system(0.1, Integrator::fixed(Method::Rk4));
    assert_eq!(system.layout().state.entry_names(), ["x", "v", "time"]);
}
