//! Pullbacks against dual numbers and differences, and lanes against scalars.

use super::scenes::{BALL, BRICK, Moving, add_free, add_ground, constrained, leg, tower, two_balls, world};
use crate::robots::random_state;
use pullback_articulated::constraint::set::Source;
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{Articulated, FrictionDirections, ImplicitTerms, ImpulseScheme};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout, check_rollout_along, check_step};
use pullback_core::{Bars, Described, Point, Rollout, Schedule, VectorField};
use pullback_math::{Real, Vec3, f32x16, f64x8};

/// Rows of dry friction, limits, contacts and ties that exert impulses.
fn kinds(robot: &Articulated, params: &[f64], state: &[f64]) -> [usize; 4] {
    let mut ws = VectorField::<f64>::workspace(robot);
    robot.accelerations(&mut ws, Point { params, state, control: &[0.1, 0.2, -0.3] });
    let mut found = [0; 4];
    let ContactSolverWorkspace::Complementarity(complementarity) = &ws.resolve else {
        panic!("another model")
    };
    let set = &complementarity.set;
    for block in set.blocks.iter().filter(|b| set.force[b.row] != 0.0) {
        found[match block.source {
            Source::Friction(_) => 0,
            Source::Limit { .. } => 1,
            Source::Contact { .. } => 2,
            Source::Equality(_) => 3,
            Source::TendonFriction(_) | Source::TendonLimit { .. } => continue,
        }] += 1;
    }
    found
}

#[test]
fn every_kind_of_row_has_the_exact_pullback() {
    let mut found = [0; 4];
    for (scheme, friction) in [
        (ImpulseScheme::Global, FrictionDirections::Two),
        (ImpulseScheme::Pairwise, FrictionDirections::Two),
        (ImpulseScheme::Global, FrictionDirections::AlongSlip),
    ] {
        for (seed, terms) in [(2, Some(ImplicitTerms::Damping)), (4, None), (5, None)] {
            let model = constrained(seed, scheme, friction);
            let state = random_state(&model, seed + 10);
            let robot = Articulated::new(model).unwrap().with_kinematic_params().unwrap();
            let robot = match terms {
                Some(terms) => robot.with_implicit(terms, 2e-3),
                None => robot.with_time_step(2e-3),
            };
            let params = robot.layout().params.defaults();
            for (total, here) in found.iter_mut().zip(kinds(&robot, &params, &state)) {
                *total += here;
            }
            let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
            let options =
                Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
            let point = Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] };
            let report = check_step(&system, point, &options);
            assert!(report.passed(), "{scheme:?} {friction:?} {terms:?} {seed}\n{report}");
        }
    }
    assert!(found[..3].iter().all(|n| *n > 20) && found[3] == 9, "{found:?}");
}

#[test]
fn rollouts_have_the_exact_pullback() {
    // A ball that spins bounces.
    let mut model = world(9.81);
    add_ground(&mut model);
    add_free(&mut model, "ball", BALL, Vec3::new(0.0, 0.0, 0.2));
    let mut ball = Moving::new(model.clone(), 5e-3);
    ball.set_state("ball.free.velocity", &[0.7, -0.2, -1.0]);
    ball.set_state("ball.free.spin", &[1.0, 2.0, -0.5]);
    ball.set_param("ground.restitution", 0.6);
    ball.set_param("contact.erp", 0.05);

    // A brick slides.
    let mut brick = Moving::new(
        {
            model.bodies.truncate(1);
            model.joints.clear();
            model.geoms.truncate(1);
            add_free(&mut model, "brick", BRICK, Vec3::new(0.0, 0.0, 0.0999));
            model
        },
        5e-3,
    );
    brick.set_state("brick.free.velocity", &[1.5, 0.4, 0.0]);
    brick.set_param("ground.friction", 0.3);
    brick.set_param("brick.shape.friction", 0.2);
    brick.set_param("contact.erp", 0.05);

    let mut balls = two_balls(0.4, 0.03);
    balls.set_param("first.shape.restitution", 0.8);
    balls.set_param("first.shape.friction", 0.1);
    balls.set_param("second.shape.friction", 0.05);

    let mut standing = leg();
    standing.set_param("foot.friction", 0.8);
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
    for (name, moving, along) in [
        ("ball", ball, false),
        ("brick", brick, false),
        ("balls", balls, false),
        ("leg", standing, false),
        ("tower", tower(3), true),
    ] {
        for steps in [1, 50] {
            let touched = moving.run(steps).iter().filter(|s| !moving.impulses(s).is_empty()).count();
            assert!(steps == 1 || touched > 0, "{name}: nothing touched");
            let rollout = Rollout::new(&moving.system, steps, Schedule::Every(7)).unwrap();
            let weights = (0..moving.state.len()).map(|i| (1.0 + i as f64).sin()).collect();
            let (inputs, loss) = (moving.inputs(steps), FinalState { weights });
            let report = if along {
                check_rollout_along(&rollout, &inputs, &loss, &options)
            } else {
                check_rollout(&rollout, &inputs, &loss, &options)
            };
            assert!(report.passed(), "{name}, {steps} steps\n{report}");
        }
    }
}

/// A row of numbers, as lanes.
fn wide<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|x| T::lit(*x)).collect()
}

/// Rates and cotangents at a state of each lane.
fn rates_and_bars<T: Real>(robot: &Articulated, states: &[Vec<f64>]) -> Vec<T> {
    let (n, nv) = (states[0].len(), robot.model().nv);
    let bar: Vec<T> = (0..2 * nv).map(|i| T::lit((1.0 + i as f64).sin())).collect();
    let params: Vec<T> = wide(&robot.layout().params.defaults());
    let control: Vec<T> = wide(&[0.1, 0.2, -0.3]);
    let state: Vec<T> = (0..n).map(|i| T::from_lanes(|lane| states[lane][i])).collect();
    let at = Point { params: &params, state: &state, control: &control };
    let mut ws = VectorField::<T>::workspace(robot);
    let mut rate = vec![T::zero(); 2 * nv];
    robot.eval(&mut ws, at, T::zero(), &mut rate);
    let (mut p, mut s, mut c) = (vec![T::zero(); params.len()], vec![T::zero(); n], vec![T::zero(); 3]);
    robot.eval_vjp(&mut ws, at, T::zero(), &bar, Bars { params: &mut p, state: &mut s, control: &mut c });
    [rate, p, s, c].concat()
}

#[test]
fn lanes_are_solved_as_alone() {
    for (scheme, friction) in [
        (ImpulseScheme::Global, FrictionDirections::Two),
        (ImpulseScheme::Pairwise, FrictionDirections::AlongSlip),
    ] {
        let model = constrained(5, scheme, friction);
        let states: Vec<Vec<f64>> = (0..16).map(|i| random_state(&model, 30 + i)).collect();
        let robot = Articulated::new(model).unwrap().with_time_step(2e-3);
        let together = rates_and_bars::<f64x8>(&robot, &states[..8]);
        let single = rates_and_bars::<f32x16>(&robot, &states);
        for (lane, state) in states.iter().take(8).enumerate() {
            let alone = rates_and_bars::<f64>(&robot, std::slice::from_ref(state));
            let scale = alone.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for ((a, b), c) in alone.iter().zip(&together).zip(&single) {
                assert!((a - b.lane(lane)).abs() < 1e-9 * scale, "{a} against {}", b.lane(lane));
                assert!((a - c.lane(lane)).abs() < 1e-2 * scale, "{a} against {} in f32", c.lane(lane));
            }
        }
    }
}
