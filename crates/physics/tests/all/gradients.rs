//! Every pullback of the crate against forward mode and differences: functions, steps, rollouts through
//! contact.

use pullback_core::gradcheck::{Options, Verdict};
use pullback_core::integrator::{Integrated, Integrator, Method, PidController};
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Bars, FieldShape, Inputs, Point, Rollout, Schedule, System, VectorField, check_vjp};
use pullback_math::Dual;
use pullback_physics::pendulum::{
    DoublePendulum, DoublePendulumByHand, Link, SimplePendulum, SimplePendulumParams, double_acceleration,
    double_acceleration_vjp, simple_acceleration, simple_acceleration_vjp,
};
use pullback_physics::point_mass::{
    ContactDamping, ElasticPointMass, ElasticPointMassParams, PenaltyPointMass, PenaltyPointMassParams,
    elastic_step, elastic_step_vjp, penalty_acceleration, penalty_acceleration_vjp,
};

/// Ten points, each entry between its bounds.
fn points<const N: usize>(bounds: [(f64, f64); N]) -> Vec<[f64; N]> {
    let mut random = Random::new(3);
    (0..10).map(|_| bounds.map(|(low, high)| random.uniform(low, high))).collect()
}

const POSITIVE: (f64, f64) = (0.5, 2.0);
const SIGNED: (f64, f64) = (-3.0, 3.0);

#[test]
fn pendulum_accelerations_have_exact_pullbacks() {
    for x in points([SIGNED, SIGNED, SIGNED, POSITIVE, POSITIVE, POSITIVE, (5.0, 15.0)]) {
        check_vjp!(
            |angle: T, rate: T, torque: T, params: SimplePendulumParams<T>| -> T {
                simple_acceleration(angle, rate, torque, params)
            },
            |bar| simple_acceleration_vjp(angle, rate, torque, params, bar),
            at x, Options::default()
        )
        .assert_passed();
    }
    let (s, p) = (SIGNED, POSITIVE);
    for x in points([s, s, s, s, s, s, p, p, p, p, p, p, (5.0, 15.0)]) {
        check_vjp!(
            |angle: [T; 2], rate: [T; 2], torque: [T; 2], upper: Link<T>, lower: Link<T>, gravity: T| -> [T; 2] {
                double_acceleration(angle, rate, torque, upper, lower, gravity)
            },
            |bar| double_acceleration_vjp(angle, rate, torque, upper, lower, gravity, bar),
            at x, Options::default()
        )
        .assert_passed();
    }
}

#[test]
fn contact_laws_have_exact_pullbacks() {
    let (stiffness, damping, gravity) = ((20.0, 200.0), (0.5, 20.0), (0.0, 9.81));
    for height in [(-0.5, -0.1), (0.1, 0.5)] {
        for x in points([height, SIGNED, stiffness, damping, gravity]) {
            check_vjp!(
                |height: T, velocity: T, params: PenaltyPointMassParams<T>| -> T {
                    let touching = height.lt(T::zero());
                    penalty_acceleration(height, velocity, params, touching, ContactDamping::Plain)
                },
                |bar| penalty_acceleration_vjp(height, velocity, params, height.lt(T::zero()), ContactDamping::Plain, bar),
                at x, Options::default()
            )
            .assert_passed();
            check_vjp!(
                |height: T, velocity: T, params: PenaltyPointMassParams<T>| -> T {
                    let touching = height.lt(T::zero());
                    penalty_acceleration(height, velocity, params, touching, ContactDamping::ByDepth)
                },
                |bar| penalty_acceleration_vjp(height, velocity, params, height.lt(T::zero()), ContactDamping::ByDepth, bar),
                at x, Options::default()
            )
            .assert_passed();
        }
    }
    // In flight, rising, and hitting the surface within the step of 0.1 s.
    for (height, velocity) in
        [((0.5, 1.0), (-2.0, -1.0)), ((0.02, 0.5), (1.5, 2.0)), ((0.02, 0.1), (-3.0, -2.0))]
    {
        for x in points([height, velocity, (0.3, 1.0), (0.0, 9.81)]) {
            check_vjp!(
                |height: T, velocity: T, params: ElasticPointMassParams<T>| -> (T, T) {
                    elastic_step(height, velocity, params, T::lit(0.1), true)
                },
                |bar| elastic_step_vjp(height, velocity, params, T::lit(0.1), true, bar),
                at x, Options::default()
            )
            .assert_passed();
            check_vjp!(
                |height: T, velocity: T, params: ElasticPointMassParams<T>| -> (T, T) {
                    elastic_step(height, velocity, params, T::lit(0.1), false)
                },
                |bar| elastic_step_vjp(height, velocity, params, T::lit(0.1), false, bar),
                at x, Options::default()
            )
            .assert_passed();
        }
    }
}

/// Checks the steps of `field` under each integrator.
fn steps_of<F>(field: F, dt: f64, states: &[&[f64]], control: &[f64], params: &[f64])
where
    F: FieldShape + VectorField<f64> + VectorField<Dual<f64>> + Clone,
{
    let adaptive = |method| Integrator::adaptive(method, PidController::new(1e-8));
    let integrators = [
        (Integrator::fixed(Method::SemiImplicitEuler), 1e-6),
        (Integrator::fixed(Method::Rk4), 1e-6),
        (Integrator::fixed(Method::Tsit5), 1e-6),
        (Integrator::fixed(Method::Dopri5), 1e-6),
        // Differences over adaptive steps see the step sizes change, by about the tolerance over the
        // difference step.
        (adaptive(Method::Tsit5), 1e-3),
        (adaptive(Method::Dopri5), 1e-3),
    ];
    for (integrator, difference_tolerance) in integrators {
        let system = Integrated::new(field.clone(), dt, integrator).unwrap();
        for state in states {
            let options = Options { difference_tolerance, ..Options::default() };
            let report = check_step(&system, Point { params, state, control }, &options);
            assert!(report.passed(), "{integrator:?} at {state:?}\n{report}");
        }
    }
}

#[test]
fn pendulum_steps_have_exact_pullbacks_under_every_integrator() {
    steps_of(SimplePendulum::default(), 0.1, &[&[1.0, -0.5], &[3.0, 0.2]], &[0.3], &[0.9, 1.2, 0.3, 9.81]);
    let states: [&[f64]; 3] = [&[2.0, 1.0, 0.3, -0.4], &[0.5, 0.5, 1.0, 1.0], &[0.3, -2.8, -2.0, 1.5]];
    let params = [0.9, 1.2, 0.15, 1.1, 0.8, 0.25, 9.81];
    steps_of(DoublePendulum::default(), 0.05, &states, &[0.4, -0.6], &params);
    steps_of(DoublePendulumByHand::default(), 0.05, &states, &[0.4, -0.6], &params);
}

#[test]
fn penalty_steps_have_exact_pullbacks_under_every_integrator() {
    for onset in [ContactDamping::Plain, ContactDamping::ByDepth] {
        // In flight, going in, coming out but not yet free.
        let states: [&[f64]; 3] = [&[0.8, -1.0], &[-0.07, -0.4], &[-0.1, 0.6]];
        steps_of(PenaltyPointMass::new(onset), 0.01, &states, &[], &[50.0, 1.5, 9.81]);
    }
}

#[test]
fn elastic_steps_have_exact_pullbacks() {
    for time_of_impact in [false, true] {
        let system = ElasticPointMass::new(0.1, time_of_impact).unwrap();
        for state in [[0.8, -1.0], [0.02, -1.0], [0.05, 1.0]] {
            check_step(
                &system,
                Point { params: &[0.8, 1.0], state: &state, control: &[] },
                &Options::default(),
            )
            .assert_passed();
        }
    }
}

/// The three cotangents of a field, one after the other.
fn pull<F>(field: &F, params: &[f64], state: &[f64], control: &[f64], rate_bar: &[f64]) -> Vec<f64>
where
    F: VectorField<f64, Workspace = ()>,
{
    let (mut s, mut c, mut p) = ([0.0; 4], [0.0; 2], [0.0; 7]);
    field.eval_vjp(
        &mut (),
        Point { params, state, control },
        0.0,
        rate_bar,
        Bars { params: &mut p, state: &mut s, control: &mut c },
    );
    [&s[..], &c, &p].concat()
}

#[test]
fn the_adjoint_by_hand_and_the_macro_s_agree() {
    let (made, by_hand) = (DoublePendulum::default(), DoublePendulumByHand::default());
    let mut random = Random::new(11);
    let mut draw =
        |n: usize, low: f64, high: f64| (0..n).map(|_| random.uniform(low, high)).collect::<Vec<f64>>();
    let mut worst: f64 = 0.0;
    for _ in 0..200 {
        let (state, control) = (draw(4, -3.0, 3.0), draw(2, -2.0, 2.0));
        let params = [draw(6, 0.5, 2.0), draw(1, 5.0, 15.0)].concat();
        let rate_bar = draw(4, -1.0, 1.0);
        let (a, b) = (
            pull(&made, &params, &state, &control, &rate_bar),
            pull(&by_hand, &params, &state, &control, &rate_bar),
        );
        let scale = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / scale).fold(worst, f64::max);
        assert!(scale > 0.0);
    }
    println!("by hand against macro: {worst:.1e}");
    assert!(worst < 1e-13, "{worst:e}");
}

/// Checks a rollout that bounces, and that it does.
fn through_a_bounce<S>(system: &S, steps: usize, params: &[f64])
where
    S: System<f64> + System<Dual<f64>>,
{
    let start = [0.4937, -1.0];
    let rollout = Rollout::new(system, steps, Schedule::Revolve { slots: 5 }).unwrap();
    let mut velocities = Vec::new();
    let mut ws = rollout.workspace::<f64>();
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: start.to_vec(), controls: vec![], params: params.to_vec() },
            |at| velocities.push(at.state[1]),
        )
        .unwrap();
    assert!(velocities[0] < 0.0 && velocities[steps] > 0.1, "did not bounce: {velocities:?}");

    let loss = FinalState { weights: vec![1.0, 0.7] };
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-8, ..Options::default() };
    let report = check_rollout(
        &rollout,
        &Inputs { state: start.to_vec(), controls: vec![], params: params.to_vec() },
        &loss,
        &options,
    );
    report.assert_passed();
    // No kink excuses anything: the bounce is not within a difference step of another one's time step.
    assert!(report.entries.iter().all(|e| e.verdict == Verdict::Ok), "{report}");
}

#[test]
fn rollouts_through_penalty_contact_have_exact_pullbacks() {
    for (onset, damping) in [(ContactDamping::Plain, 1.0), (ContactDamping::ByDepth, 18.0)] {
        for method in [Method::SemiImplicitEuler, Method::Rk4] {
            let integrator = Integrator::fixed(method);
            let system = Integrated::new(PenaltyPointMass::new(onset), 0.02, integrator).unwrap();
            through_a_bounce(&system, 60, &[50.0, damping, 0.3]);
        }
    }
}

#[test]
fn rollouts_through_elastic_contact_have_exact_pullbacks() {
    for time_of_impact in [false, true] {
        let system = ElasticPointMass::new(0.1, time_of_impact).unwrap();
        through_a_bounce(&system, 10, &[0.8, 0.3]);
    }
}
