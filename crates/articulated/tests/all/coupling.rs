//! Joints that follow others: the same motion as a constraint force would make, exact pullbacks, multipliers
//! included.

use crate::robots::{branching, touching};
use pullback_articulated::model::Mimic;
use pullback_articulated::{Articulated, Model};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::step_check::check_step;
use pullback_core::{Described, Point, VectorField};
use pullback_math::{Real, f64x8};

/// The ankle follows the hip; the wrist's pitch follows its roll, which follows the weight on another tree.
fn tied(mut model: Model) -> Model {
    let mimic = |joint, of, multiplier, offset| Mimic { joint, of, multiplier, offset };
    model.mimics = vec![mimic(6, 5, -0.7, 0.1), mimic(4, 3, 1.5, -0.2), mimic(3, 7, 0.8, 0.05)];
    model.compile().unwrap()
}

/// A random state of the independent joints; orientations are units.
fn state_of(robot: &Articulated, seed: u64) -> Vec<f64> {
    let random = &mut Random::new(seed);
    let start = robot.layout().state.defaults();
    let rate: Vec<f64> = (0..2 * robot.coordinates().nv).map(|_| random.uniform(-0.8, 0.8)).collect();
    let mut state = start.clone();
    VectorField::<f64>::advance(robot, &start, &rate, 1.0, &mut state);
    state
}

const CONTROL: [f64; 3] = [0.1, 0.2, -0.3];

#[test]
fn the_state_holds_independent_joints_only() {
    let robot = Articulated::new(tied(branching(1, true))).unwrap();
    let names = robot.layout().state.entry_names();
    assert!(!names.iter().any(|n| n.starts_with("ankle") || n.starts_with("wrist_roll")));
    assert!(names.iter().any(|n| n.starts_with("hip")) && names.iter().any(|n| n.starts_with("weight")));
    assert_eq!(robot.layout().state.len(), robot.model().nq + robot.model().nv - 6);
    // Through the chain: pitch = 1.5 (0.8 weight + 0.05) − 0.2.
    let value = |name: &str| robot.layout().params.defaults()[robot.layout().params.select(name).unwrap()[0]];
    assert!((value("wrist_pitch.multiplier") - 1.2).abs() < 1e-15);
    assert!((value("wrist_pitch.offset") + 0.125).abs() < 1e-15);
}

#[test]
fn constraint_forces_do_no_work() {
    for seed in [1, 2] {
        let robot = Articulated::new(tied(branching(seed, seed == 1))).unwrap();
        let params = robot.layout().params.defaults();
        let mut ws = VectorField::<f64>::workspace(&robot);
        robot.accelerations(
            &mut ws,
            Point { params: &params, state: &state_of(&robot, 7), control: &CONTROL },
        );
        // M v̇ + bias − τ is what holds the joints together: nothing along any motion that is possible.
        let mut held = vec![0.0; robot.model().nv];
        ws.mass.multiply(robot.tree(), &ws.acceleration, &mut held);
        for (x, (bias, tau)) in held.iter_mut().zip(ws.bias.iter().zip(&ws.joint_forces())) {
            *x += bias - tau;
        }
        assert!(held.iter().any(|x| x.abs() > 1e-2), "nothing is held");
        for x in robot.generalized_force(&params, &held) {
            assert!(x.abs() < 1e-10, "{x}");
        }
        // The hip leads the ankle.
        let (hip, ankle) = (robot.model().joints[5].v, robot.model().joints[6].v);
        assert!((ws.acceleration[ankle] + 0.7 * ws.acceleration[hip]).abs() < 1e-12);
    }
}

#[test]
fn steps_have_the_exact_pullback() {
    for (seed, model) in [(1, branching(1, true)), (2, branching(2, false)), (4, touching(4))] {
        let robot = Articulated::new(tied(model)).unwrap().with_kinematic_params().unwrap();
        let (state, params) = (state_of(&robot, seed), robot.layout().params.defaults());
        let robot = robot.with_implicit_damping(1e-3);
        let system = Integrated::new(robot, 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        let report =
            check_step(&system, Point { params: &params, state: &state, control: &CONTROL }, &options);
        assert!(report.passed(), "{report}");
    }
}

#[test]
fn lanes_agree_with_scalars() {
    let robot = Articulated::new(tied(branching(3, true))).unwrap();
    let (state, params) = (state_of(&robot, 5), robot.layout().params.defaults());
    let mut rate = vec![0.0; 2 * robot.coordinates().nv];
    robot.eval(
        &mut VectorField::<f64>::workspace(&robot),
        Point { params: &params, state: &state, control: &CONTROL },
        0.0,
        &mut rate,
    );
    let lift = |x: &[f64]| x.iter().map(|x| f64x8::lit(*x)).collect::<Vec<_>>();
    let mut wide = lift(&rate);
    wide.fill(f64x8::zero());
    let mut ws = VectorField::<f64x8>::workspace(&robot);
    robot.eval(
        &mut ws,
        Point { params: &lift(&params), state: &lift(&state), control: &lift(&CONTROL) },
        f64x8::zero(),
        &mut wide,
    );
    for (a, b) in rate.iter().zip(wide) {
        assert!((a - b.lane(2)).abs() < 1e-11 * (1.0 + a.abs()));
    }
}

#[test]
fn circles_and_double_leaders_are_refused() {
    let tie = |pairs: &[(usize, usize)]| {
        let mut model = branching(1, true);
        model.mimics =
            pairs.iter().map(|&(joint, of)| Mimic { joint, of, multiplier: 1.0, offset: 0.0 }).collect();
        model.compile().and_then(Articulated::new)
    };
    for (pairs, why) in [
        (&[(5, 6), (6, 5)][..], "mimics itself"),
        (&[(5, 6), (6, 7), (7, 5)], "itself"),
        (&[(5, 6), (5, 7)], "two"),
    ] {
        let error = tie(pairs).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    // A chain that ends in a circle it is not part of.
    assert!(tie(&[(4, 5), (5, 6), (6, 5)]).is_err());
}
