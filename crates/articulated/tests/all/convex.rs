//! The convex model: exact gradients for every kind of row, laws of physics, and the same numbers on lanes.

use crate::robots::{branching, random_state, touching};
use pullback_articulated::constraint::cost::{Cost, Weights};
use pullback_articulated::constraint::set::Source;
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{
    Actuator, Articulated, Bias, ContactModel, Equality, EqualityKind, FrictionCone, Gain, ImplicitTerms,
    Model, Softness, Tendon, TendonPath, Transmission,
};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::step_check::check_step;
use pullback_core::{Bars, Described, Point, VectorField};
use pullback_math::{Quat, Real, Vec3, f64x8};

/// The touching robot under the convex model, with every kind of row.
fn constrained(seed: u64, cone: FrictionCone, condim: u32) -> Model {
    let mut model = touching(seed);
    model.options.contact_model = ContactModel::Convex;
    model.options.cone = cone;
    model.options.impedance_ratio = 2.0;
    model.options.solver.tolerance = 1e-10;
    for geom in &mut model.geoms {
        geom.contact.condim = condim;
        geom.friction = [0.6, 0.05, 0.02];
        geom.margin = 0.01;
    }
    let wide = Softness { solref: [0.05, 0.8], solimp: [0.6, 0.95, 0.3, 0.4, 2.5] };
    model.geoms[1].contact.softness = wide;
    for joint in &mut model.joints {
        joint.frictionloss = 0.3;
        joint.limit = wide;
    }
    // The ball joint at its largest angle.
    model.joints[1].range = Some((0.0, 0.4));
    model.equalities = vec![
        Equality {
            name: "follow".into(),
            kind: EqualityKind::Joint { joint: 5, other: Some(6), polycoef: [0.1, 0.5, -0.2, 0.3, 0.1] },
            softness: wide,
        },
        Equality {
            name: "pin".into(),
            kind: EqualityKind::Connect {
                bodies: [3, 0],
                anchors: [Vec3::new(0.1, 0.0, 0.05), Vec3::new(0.2, 0.1, 0.3)],
            },
            softness: wide,
        },
        Equality {
            name: "glue".into(),
            kind: EqualityKind::Weld {
                bodies: [5, 6],
                anchors: [Vec3::new(0.0, 0.1, 0.0), Vec3::new(0.1, 0.0, -0.1)],
                orientations: [
                    Quat::new(0.8, 0.1, 0.5, -0.3).normalize(),
                    Quat::new(0.9, -0.2, 0.1, 0.3).normalize(),
                ],
                torquescale: 0.7,
            },
            softness: Softness { solref: [-300.0, -20.0], ..wide },
        },
        // A hand held to the base that carries it, a long way off.
        Equality {
            name: "belt".into(),
            kind: EqualityKind::Connect {
                bodies: [3, 1],
                anchors: [Vec3::new(0.1, 0.0, 0.05), Vec3::new(0.2, -0.3, 0.1)],
            },
            softness: wide,
        },
    ];
    model.compile().unwrap()
}

fn kinds(robot: &Articulated, params: &[f64], state: &[f64]) -> [usize; 4] {
    let mut ws = VectorField::<f64>::workspace(robot);
    robot.accelerations(&mut ws, Point { params, state, control: &[0.1, 0.2, -0.3] });
    let mut found = [0; 4];
    if let ContactSolverWorkspace::Convex(convex) = &ws.resolve {
        assert!(convex.newton.info.converged, "{:?}", convex.newton.info);
        for block in &convex.set.blocks {
            found[match block.source {
                Source::Equality(_) => 0,
                Source::Friction(_) => 1,
                Source::Limit { .. } => 2,
                Source::Contact { .. } => 3,
                Source::TendonFriction(_) | Source::TendonLimit { .. } => continue,
            }] += 1;
        }
    }
    found
}

#[test]
fn every_kind_of_row_has_the_exact_pullback() {
    let mut found = [0; 4];
    for (cone, condim) in [
        (FrictionCone::Pyramidal, 1),
        (FrictionCone::Pyramidal, 3),
        (FrictionCone::Pyramidal, 6),
        (FrictionCone::Elliptic, 3),
        (FrictionCone::Elliptic, 4),
        (FrictionCone::Elliptic, 6),
    ] {
        for (seed, terms) in [
            (1, None),
            (2, Some(ImplicitTerms::Damping)),
            (3, Some(ImplicitTerms::Fast)),
            (4, Some(ImplicitTerms::Full)),
        ] {
            let model = constrained(seed, cone, condim);
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
            assert!(report.passed(), "{cone:?} {condim} {terms:?}\n{report}");
        }
    }
    assert!(found.iter().all(|n| *n > 20), "{found:?}");
}

#[test]
fn sweeps_of_friction_have_the_exact_pullback() {
    for (cone, condim, sweeps, seed, terms) in [
        (FrictionCone::Pyramidal, 3, 2, 1, None),
        (FrictionCone::Pyramidal, 6, 4, 3, Some(ImplicitTerms::Fast)),
        (FrictionCone::Elliptic, 3, 3, 2, Some(ImplicitTerms::Damping)),
        (FrictionCone::Elliptic, 4, 1, 4, Some(ImplicitTerms::Full)),
        (FrictionCone::Elliptic, 6, 3, 1, None),
    ] {
        let mut model = constrained(seed, cone, condim);
        // Friction of a tendon is swept too.
        let path = TendonPath::Fixed(vec![(5, 0.7), (2, -1.3), (7, 0.4)]);
        model.tendons.push(Tendon { frictionloss: 0.2, ..Tendon::new("sum", path) });
        // Some joints stick; what holds frames would tear all of them off.
        model.equalities.clear();
        model.geoms.iter_mut().for_each(|g| g.friction = [2.5, 0.4, 0.3]);
        model.joints.iter_mut().step_by(2).for_each(|j| (j.frictionloss, j.range) = (40.0, None));
        let mut state = random_state(&model, seed + 10);
        state[model.nq..].iter_mut().for_each(|v| *v *= 0.05);
        // Accelerations, and friction of contacts.
        let moved_by = |model: &Model| {
            let robot = Articulated::new(model.clone()).unwrap();
            let params = robot.layout().params.defaults();
            let mut ws = VectorField::<f64>::workspace(&robot);
            let at = Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] };
            robot.accelerations(&mut ws, at);
            let ContactSolverWorkspace::Convex(convex) = &ws.resolve else { panic!("not convex") };
            let contacts = convex.set.blocks.iter().filter(|b| matches!(b.source, Source::Contact { .. }));
            let friction = contacts.flat_map(|b| convex.set.force[b.row + 1..b.row + b.dim].to_vec());
            (ws.acceleration, friction.collect::<Vec<f64>>())
        };
        let soft = moved_by(&model);
        model.options.solver.noslip_iterations = sweeps;
        model.options.solver.noslip_tolerance = 0.0;
        let hard = moved_by(&model);
        let change = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        let (moved, rubbed) = (change(&soft.0, &hard.0), change(&soft.1, &hard.1));
        assert!(moved > 1e-2 && rubbed > 1e-2, "{cone:?} {condim}: sweeps change {moved:e} {rubbed:e}");
        let robot = Articulated::new(model).unwrap().with_kinematic_params().unwrap();
        let robot = match terms {
            Some(terms) => robot.with_implicit(terms, 2e-3),
            None => robot.with_time_step(2e-3),
        };
        let params = robot.layout().params.defaults();
        let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        let point = Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] };
        let report = check_step(&system, point, &options);
        assert!(report.passed(), "{cone:?} {condim} {sweeps} {terms:?}\n{report}");
    }
}

/// Actuators that pull on what touches each body, some with terms of velocity.
fn adhesive(model: &mut Model) {
    model.geoms.iter_mut().for_each(|g| g.contact.gap = 0.02);
    for body in 1..7 {
        let bias = if body % 2 == 0 { Bias::None } else { Bias::Affine([0.4, 0.0, -0.3]) };
        let (transmission, gain) = (Transmission::Body(body), Gain::Affine([6.0, 0.0, -0.5]));
        let motor = Actuator::motor(format!("pad{body}"), 0, 1.0);
        model.actuators.push(Actuator { transmission, gain, bias, ..motor });
    }
}

/// Controls of the servos and of what [`adhesive`] adds.
const HELD: [f64; 9] = [0.1, 0.2, -0.3, 0.7, 0.4, 0.9, 0.2, 0.5, 0.6];

#[test]
fn adhesion_has_the_exact_pullback() {
    for (cone, seed, terms) in [
        (FrictionCone::Pyramidal, 1, ImplicitTerms::Fast),
        (FrictionCone::Elliptic, 4, ImplicitTerms::Damping),
    ] {
        let mut model = constrained(seed, cone, 3);
        adhesive(&mut model);
        let state = random_state(&model, seed + 10);
        let robot = Articulated::new(model).unwrap().with_kinematic_params().unwrap();
        let robot = robot.with_implicit(terms, 2e-3);
        let params = robot.layout().params.defaults();
        let point = Point { params: &params, state: &state, control: &HELD };
        let mut ws = VectorField::<f64>::workspace(&robot);
        robot.accelerations(&mut ws, point);
        assert!(ws.actuators.velocity[3..].iter().any(|v| v.abs() > 1e-3), "nothing touches");
        let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        let report = check_step(&system, point, &options);
        assert!(report.passed(), "{cone:?}\n{report}");
    }
}

#[test]
fn rows_of_equalities_are_the_rate_of_what_they_hold() {
    let model = constrained(6, FrictionCone::Pyramidal, 3);
    let (nq, state) = (model.nq, random_state(&model, 16));
    let robot = Articulated::new(model).unwrap();
    let params = robot.layout().params.defaults();
    let mut ws = VectorField::<f64>::workspace(&robot);
    let mut held = |h: f64| {
        let rate = [&state[nq..], &vec![0.0; state.len() - nq]].concat();
        let mut moved = state.clone();
        robot.advance(&state, &rate, h, &mut moved);
        robot.accelerations(&mut ws, Point { params: &params, state: &moved, control: &[0.1, 0.2, -0.3] });
        let ContactSolverWorkspace::Convex(convex) = &ws.resolve else { panic!("not convex") };
        let set = &convex.set;
        let rows = set.blocks.iter().enumerate().filter(|(_, b)| matches!(b.source, Source::Equality(_)));
        rows.flat_map(|(i, b)| {
            let mut rate = vec![0.0; b.dim];
            set.multiply(i, &moved[nq..], &mut rate);
            (0..b.dim).map(|k| (set.position[b.row + k], rate[k])).collect::<Vec<_>>()
        })
        .collect::<Vec<_>>()
    };
    let h = 1e-6;
    let (before, here, after) = (held(-h), held(0.0), held(h));
    assert_eq!(here.len(), 1 + 3 + 6 + 3);
    for ((before, here), after) in before.iter().zip(&here).zip(&after) {
        let difference = (after.0 - before.0) / (2.0 * h);
        assert!((difference - here.1).abs() < 1e-8, "{difference} against {}", here.1);
    }
}

#[test]
fn forces_are_minus_the_gradient_of_the_cost() {
    let mut random = Random::new(11);
    let kinds = [Cost::Quadratic, Cost::Huber, Cost::OneSided, Cost::Pyramid, Cost::Elliptic];
    for (cost, dim) in kinds.into_iter().flat_map(|cost| [1, 3, 4, 6].map(|dim| (cost, dim))) {
        let scalar = matches!(cost, Cost::Huber | Cost::OneSided);
        if scalar != (dim == 1) && cost != Cost::Quadratic {
            continue;
        }
        let mut acted = 0;
        for _ in 0..50 {
            let weights = Weights {
                rows: std::array::from_fn(|_| random.uniform(0.5, 2.0)),
                friction: std::array::from_fn(|_| random.uniform(0.2, 1.0)),
                mu: random.uniform(0.2, 1.0),
            };
            let u: Vec<f64> = (0..dim).map(|_| random.uniform(-1.0, 1.0)).collect();
            let p: Vec<f64> = (0..dim).map(|_| random.uniform(-1.0, 1.0)).collect();
            let (mut force, mut curvature) = (vec![0.0; dim], vec![0.0; dim * dim]);
            cost.evaluate(&u, &weights, &mut force, &mut curvature);
            // d/dα s(u + α p) at 0, by a central difference, by the force, and as the line search has it
            let moved = |h: f64| u.iter().zip(&p).map(|(u, p)| u + h * p).collect::<Vec<_>>();
            let h = 1e-6;
            let difference = (cost.value(&moved(h), &weights) - cost.value(&moved(-h), &weights)) / (2.0 * h);
            let slope: f64 = -force.iter().zip(&p).map(|(f, p)| f * p).sum::<f64>();
            let (searched, _) = cost.along(&u, &p, 0.0, &weights);
            // The second derivative jumps where a row begins to act, so that differences are off by h there.
            assert!((difference - slope).abs() < 1e-5, "{cost:?} {dim}: {difference} {slope}");
            assert!((searched - slope).abs() < 1e-12, "{cost:?} {dim}: {searched} {slope}");
            acted += usize::from(slope != 0.0);
        }
        assert!(acted > 10, "{cost:?} {dim}: {acted}");
    }
}

#[test]
fn a_robot_without_constraints_accelerates_as_under_the_penalty_model() {
    let mut model = branching(3, true);
    model.joints.iter_mut().for_each(|j| j.range = None);
    let state = random_state(&model, 4);
    let rate = |model: Model| {
        let robot = Articulated::new(model).unwrap();
        let params = robot.layout().params.defaults();
        let mut ws = VectorField::<f64>::workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] });
        ws.acceleration
    };
    let penalty = rate(model.clone());
    model.options.contact_model = ContactModel::Convex;
    assert_eq!(penalty, rate(model));
}

/// A state of each lane, as lanes.
fn lanes<T: Real>(states: &[Vec<f64>]) -> Vec<T> {
    (0..states[0].len()).map(|i| T::from_lanes(|lane| states[lane][i])).collect()
}

#[test]
fn lanes_are_solved_as_alone() {
    for (cone, condim, sweeps) in [
        (FrictionCone::Pyramidal, 3, 0),
        (FrictionCone::Elliptic, 4, 0),
        (FrictionCone::Pyramidal, 3, 9),
        (FrictionCone::Elliptic, 4, 9),
    ] {
        let mut model = constrained(5, cone, condim);
        // The tolerance ends the sweeps of some lanes before those of others.
        (model.options.solver.noslip_iterations, model.options.solver.noslip_tolerance) = (sweeps, 1e-4);
        let states: Vec<Vec<f64>> = (0..8).map(|i| random_state(&model, 30 + i)).collect();
        adhesive(&mut model);
        let robot = Articulated::new(model).unwrap().with_implicit(ImplicitTerms::Fast, 2e-3);
        let params = robot.layout().params.defaults();
        let control = HELD;
        let (n, nv) = (states[0].len(), robot.model().nv);
        let bar: Vec<f64> = (0..2 * nv).map(|i| (1.0 + i as f64).sin()).collect();

        let alone = |state: &[f64]| {
            let at = Point { params: &params, state, control: &control };
            let mut ws = VectorField::<f64>::workspace(&robot);
            let mut rate = vec![0.0; 2 * nv];
            robot.eval(&mut ws, at, 0.0, &mut rate);
            let (mut p, mut s, mut c) = (vec![0.0; params.len()], vec![0.0; n], vec![0.0; 9]);
            robot.eval_vjp(&mut ws, at, 0.0, &bar, Bars { params: &mut p, state: &mut s, control: &mut c });
            [rate, p, s, c].concat()
        };
        let wide = |x: &[f64]| x.iter().map(|x| f64x8::lit(*x)).collect::<Vec<_>>();
        let (params8, control8, bar8) = (wide(&params), wide(&control), wide(&bar));
        let state8: Vec<f64x8> = lanes(&states);
        let at = Point { params: &params8, state: &state8, control: &control8 };
        let zero = f64x8::lit(0.0);
        let mut ws = VectorField::<f64x8>::workspace(&robot);
        let mut rate = vec![zero; 2 * nv];
        robot.eval(&mut ws, at, zero, &mut rate);
        let (mut p, mut s, mut c) = (vec![zero; params.len()], vec![zero; n], vec![zero; 9]);
        robot.eval_vjp(&mut ws, at, zero, &bar8, Bars { params: &mut p, state: &mut s, control: &mut c });
        let together = [rate, p, s, c].concat();
        for (lane, state) in states.iter().enumerate() {
            let alone = alone(state);
            let scale = alone.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (a, b) in alone.iter().zip(&together) {
                assert!((a - b.lane(lane)).abs() < 1e-9 * scale, "{cone:?}: {a} against {}", b.lane(lane));
            }
        }
    }
}
