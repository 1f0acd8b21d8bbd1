//! Tendons, muscles and actuators of every kind: exact gradients, and laws that hold whatever the numbers.

use crate::robots::{branching, geom, random_state, vector};
use pullback_articulated::{
    ActivationDynamics, Actuator, Articulated, Bias, ContactModel, Equality, EqualityKind, Gain,
    ImplicitTerms, Model, Muscle, PathItem, Shape, Site, Softness, Tendon, TendonPath, Transmission,
};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::step_check::check_step;
use pullback_core::{Bars, Described, Point, VectorField};
use pullback_math::{Quat, Real, Vec3, f64x8};

/// Geoms that tendons wrap around.
const OBSTACLES: [&str; 4] = ["ball", "rod", "bowl", "pipe"];

fn site(model: &mut Model, body: usize, position: Vec3<f64>, orientation: Quat<f64>) -> usize {
    let name = format!("site{}", model.sites.len());
    model.sites.push(Site { position, orientation, ..Site::new(name, body) });
    model.sites.len() - 1
}

/// The branching robot with tendons of every kind; without contacts.
fn strung(seed: u64) -> Model {
    let mut model = branching(seed, true);
    let random = &mut Random::new(seed + 100);
    model.options.contact = false;
    model.actuators.clear();
    model.joints.iter_mut().for_each(|j| j.range = None);
    let turned = |random: &mut Random| crate::robots::orientation(random);
    for (name, shape) in OBSTACLES.iter().zip([
        Shape::Sphere { radius: 0.12 },
        Shape::Cylinder { radius: 0.1, half_length: 0.2 },
        Shape::Sphere { radius: 0.1 },
        Shape::Cylinder { radius: 0.1, half_length: 0.2 },
    ]) {
        let (position, orientation) = (vector(random, 0.1), turned(random));
        model.geoms.push(geom(name, 1, shape, position, orientation));
    }
    let mut path = |bodies: &[usize], random: &mut Random| -> Vec<PathItem> {
        let sites = bodies.iter().map(|b| site(&mut model, *b, vector(random, 0.3), turned(random)));
        sites.map(PathItem::Site).collect()
    };
    // A branch after a pulley, over three bodies and the world.
    let mut through = path(&[3, 4, 0], random);
    through.push(PathItem::Pulley(2.0));
    through.extend(path(&[5, 1, 2], random));
    let ends: Vec<Vec<PathItem>> = (0..4).map(|_| path(&[3, 5], random)).collect();
    model.tendons.push(Tendon::new("through", TendonPath::Spatial(through)));
    for (i, ends) in ends.into_iter().enumerate() {
        // Beside the rod, inside the bowl and the pipe.
        let center = model.geoms[i].position;
        let beside = [None, Some(0.3), Some(0.04), Some(0.05)][i];
        let sidesite =
            beside.map(|far| site(&mut model, 1, center + Vec3::new(far, 0.0, 0.0), Quat::identity()));
        let over = PathItem::Wrap { geom: i, sidesite };
        let items = vec![ends[0], over, ends[1]];
        model.tendons.push(Tendon::new(OBSTACLES[i], TendonPath::Spatial(items)));
    }
    model.tendons.push(Tendon::new("sum", TendonPath::Fixed(vec![(5, 0.7), (2, -1.3), (7, 0.4)])));
    for tendon in &mut model.tendons {
        (tendon.stiffness, tendon.damping) = (3.0, 0.4);
    }
    model.tendons[0].springlength = Some((0.2, 0.3));
    model.compile().unwrap()
}

/// Limits, dry friction and equalities of tendons.
fn tied(seed: u64) -> Model {
    let mut model = strung(seed);
    model.options.contact_model = ContactModel::Convex;
    model.options.solver.tolerance = 1e-10;
    let wide = Softness { solref: [0.05, 0.8], solimp: [0.6, 0.95, 0.3, 0.4, 2.5] };
    for tendon in &mut model.tendons {
        (tendon.frictionloss, tendon.friction, tendon.limit) = (0.3, wide, wide);
        tendon.range = Some((0.6, 0.7));
        tendon.margin = 0.01;
    }
    // Paths around geoms have no armature.
    (model.tendons[0].armature, model.tendons[5].armature) = (0.3, 0.2);
    let polycoef = [0.1, 0.5, -0.2, 0.3, 0.1];
    let tie = |name: &str, tendon, other| Equality {
        name: name.into(),
        kind: EqualityKind::Tendon { tendon, other, polycoef },
        softness: wide,
    };
    model.equalities = vec![tie("pair", 0, Some(1)), tie("alone", 2, None), tie("mixed", 5, Some(3))];
    model.compile().unwrap()
}

/// An actuator of every kind.
fn driven(seed: u64) -> Model {
    let mut model = strung(seed);
    let random = &mut Random::new(seed + 200);
    let mut at =
        |body: usize| site(&mut model, body, vector(random, 0.2), crate::robots::orientation(random));
    let (hand, foot, base, crank, slider) = (at(3), at(5), at(1), at(2), at(3));
    let gear = [0.7, -0.4, 0.5, 0.3, 0.2, -0.6];
    let on = |name: &str, transmission| Actuator { transmission, gear, ..Actuator::motor(name, 0, 1.0) };
    let curves = Muscle { force: 8.0, ..Muscle::default() };
    let muscle = |name: &str, tendon, tausmooth| Actuator {
        dynamics: ActivationDynamics::Muscle { timeconst: [0.01, 0.04], tausmooth },
        gear,
        ..Actuator::muscle(name, tendon, curves, (0.3, 1.1))
    };
    let servo = Bias::Affine([0.1, -1.3, -0.2]);
    model.actuators = vec![
        muscle("flexor", 1, 0.0),
        Actuator { early: true, ..muscle("extensor", 0, 0.2) },
        Actuator { bias: servo, ..on("fixed", Transmission::Tendon(5)) },
        Actuator { gain: Gain::Affine([0.4, 0.2, -0.3]), ..on("damped", Transmission::Tendon(2)) },
        Actuator {
            bias: servo,
            force_range: Some((-0.4, 0.4)),
            ..on("ball", Transmission::JointInParent(1))
        },
        Actuator {
            dynamics: ActivationDynamics::Integrator,
            bias: servo,
            ..on("free", Transmission::JointInParent(0))
        },
        Actuator {
            dynamics: ActivationDynamics::Filter(0.1),
            ..on("thrust", Transmission::Site { site: hand, reference: None })
        },
        Actuator {
            dynamics: ActivationDynamics::FilterExact(0.05),
            activation_range: Some((-1.0, 0.5)),
            bias: servo,
            ..on("reach", Transmission::Site { site: foot, reference: Some(base) })
        },
        Actuator { bias: servo, ..on("inside", Transmission::Site { site: hand, reference: Some(crank) }) },
        Actuator {
            bias: servo,
            ..on("crank", Transmission::SliderCrank { crank: slider, slider: crank, rod: 0.9 })
        },
    ];
    model.tendons[0].actuator_force_range = Some((-2.0, 2.0));
    model.compile().unwrap()
}

/// A state with activations between 0.1 and 0.9.
fn state_of(model: &Model, seed: u64) -> Vec<f64> {
    let random = &mut Random::new(seed + 300);
    let mut state = random_state(model, seed);
    state.extend((0..model.activations()).map(|_| random.uniform(0.1, 0.9)));
    state
}

/// Checks a step of a model at a random state in full; returns how many obstacles change the length of their tendon.
fn check(model: Model, seed: u64, terms: Option<ImplicitTerms>) -> usize {
    let state = state_of(&model, seed);
    let control: Vec<f64> = (0..model.actuators.len()).map(|a| 0.2 + 0.05 * a as f64).collect();
    let robot = Articulated::new(model).unwrap().with_kinematic_params().unwrap();
    let robot = match terms {
        Some(terms) => robot.with_implicit(terms, 2e-3),
        None => robot.with_time_step(2e-3),
    };
    let mut params = robot.layout().params.defaults();
    let lengths = |params: &[f64]| {
        let mut ws = VectorField::<f64>::workspace(&robot);
        robot.accelerations(&mut ws, Point { params, state: &state, control: &control });
        ws.tendons.length.clone()
    };
    let (before, mut touched) = (lengths(&params), 0);
    for (i, name) in OBSTACLES.iter().enumerate() {
        let place = robot.layout().params.index_of(&format!("{name}.size[0]")).unwrap();
        params[place] += 1e-4;
        touched += usize::from((lengths(&params)[i + 1] - before[i + 1]).abs() > 1e-9);
        params[place] -= 1e-4;
    }
    let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
    let report = check_step(&system, Point { params: &params, state: &state, control: &control }, &options);
    assert!(report.passed(), "seed {seed} {terms:?}\n{report}");
    touched
}

const TERMS: [Option<ImplicitTerms>; 4] =
    [None, Some(ImplicitTerms::Damping), Some(ImplicitTerms::Fast), Some(ImplicitTerms::Full)];

#[test]
fn tendons_with_springs_have_the_exact_pullback() {
    let touched: usize = (1..9).map(|seed| check(strung(seed), seed + 10, TERMS[seed as usize % 4])).sum();
    assert!(touched > 4, "{touched} obstacles are touched");
}

#[test]
fn rows_of_tendons_have_the_exact_pullback() {
    for seed in 1..5 {
        check(tied(seed), seed + 20, TERMS[seed as usize % 4]);
    }
}

#[test]
fn actuators_of_every_kind_have_the_exact_pullback() {
    for seed in 1..9 {
        check(driven(seed), seed + 30, TERMS[seed as usize % 4]);
    }
}

#[test]
fn moments_are_the_derivatives_of_lengths() {
    for seed in 1..5 {
        let model = driven(seed);
        let (state, nq, nv) = (state_of(&model, seed), model.nq, model.nv);
        let control = vec![0.3; model.actuators.len()];
        let robot = Articulated::new(model).unwrap();
        let params = robot.layout().params.defaults();
        let mut ws = VectorField::<f64>::workspace(&robot);
        let mut lengths = |h: f64| {
            let mut moved = state.clone();
            let rate = [&state[nq..nq + nv], &vec![0.0; nv + state.len() - nq - nv]].concat();
            robot.advance(&state, &rate, h, &mut moved);
            robot.accelerations(&mut ws, Point { params: &params, state: &moved, control: &control });
            (ws.tendons.length.clone(), ws.tendons.velocity.clone())
        };
        let h = 1e-6;
        let ((before, _), (_, velocity), (after, _)) = (lengths(-h), lengths(0.0), lengths(h));
        for ((before, velocity), after) in before.iter().zip(&velocity).zip(&after) {
            let difference = (after - before) / (2.0 * h);
            assert!((difference - velocity).abs() < 1e-7, "{difference} against {velocity}");
        }
        let at = Point { params: &params, state: &state, control: &control };
        robot.accelerations(&mut ws, at);
        for (t, velocity) in velocity.iter().enumerate() {
            let row = robot.tendon_moment(&ws, at, t);
            let product: f64 = row.iter().zip(&state[nq..]).map(|(j, v)| j * v).sum();
            assert!((product - velocity).abs() < 1e-12);
        }
    }
}

#[test]
fn guards_of_limits_have_the_exact_pullback() {
    let model = tied(3);
    let (nq, state) = (model.nq, state_of(&model, 23));
    let robot = Articulated::new(model).unwrap();
    let params = robot.layout().params.defaults();
    let mut ws = VectorField::<f64>::workspace(&robot);
    let count = pullback_core::FieldShape::guards(&robot);
    // Two ends of six tendons.
    assert!(count >= 12, "{count} guards");
    let bar: Vec<f64> = (0..count).map(|i| (1.0 + i as f64).sin()).collect();
    let mut value = |state: &[f64]| {
        let mut guards = vec![0.0; count];
        robot.guard(&mut ws, Point { params: &params, state, control: &[] }, 0.0, &mut guards);
        guards.iter().zip(&bar).map(|(g, w)| g * w).sum::<f64>()
    };
    let rate: Vec<f64> = (0..state.len() - 1).map(|i| (0.3 + 1.7 * i as f64).cos()).collect();
    let rate = [&rate[..state.len() - nq], &vec![0.0; state.len() - nq]].concat();
    let moved = |h: f64| {
        let mut moved = state.clone();
        robot.advance(&state, &rate, h, &mut moved);
        moved
    };
    let h = 1e-6;
    let (before, after) = (moved(-h), moved(h));
    let difference = (value(&after) - value(&before)) / (2.0 * h);
    let (mut p, mut s) = (vec![0.0; params.len()], vec![0.0; state.len()]);
    let bars = Bars { params: &mut p, state: &mut s, control: &mut [] };
    robot.guard_vjp(&mut ws, Point { params: &params, state: &state, control: &[] }, 0.0, &bar, bars);
    let ours: f64 = (0..state.len()).map(|i| s[i] * (after[i] - before[i]) / (2.0 * h)).sum();
    assert!((ours - difference).abs() < 1e-6 * (1.0 + difference.abs()), "{ours} against {difference}");
    assert!(difference.abs() > 1e-2);
}

#[test]
fn lanes_of_tendons_are_as_alone() {
    for model in [driven(3), tied(3)] {
        check_lanes(model);
    }
}

fn check_lanes(model: Model) {
    let states: Vec<Vec<f64>> = (0..8).map(|i| state_of(&model, 40 + i)).collect();
    let control = vec![0.3; model.actuators.len()];
    let robot = Articulated::new(model).unwrap().with_implicit(ImplicitTerms::Fast, 2e-3);
    let params = robot.layout().params.defaults();
    let (n, rates) = (states[0].len(), 2 * robot.model().nv + robot.model().activations());
    let bar: Vec<f64> = (0..rates).map(|i| (1.0 + i as f64).sin()).collect();
    let alone = |state: &[f64]| {
        let at = Point { params: &params, state, control: &control };
        let mut ws = VectorField::<f64>::workspace(&robot);
        let mut rate = vec![0.0; rates];
        robot.eval(&mut ws, at, 0.0, &mut rate);
        let (mut p, mut s, mut c) = (vec![0.0; params.len()], vec![0.0; n], vec![0.0; control.len()]);
        robot.eval_vjp(&mut ws, at, 0.0, &bar, Bars { params: &mut p, state: &mut s, control: &mut c });
        [rate, p, s, c].concat()
    };
    let wide = |x: &[f64]| x.iter().map(|x| f64x8::lit(*x)).collect::<Vec<_>>();
    let (params8, control8, bar8) = (wide(&params), wide(&control), wide(&bar));
    let state8: Vec<f64x8> = (0..n).map(|i| f64x8::from_lanes(|lane| states[lane][i])).collect();
    let at = Point { params: &params8, state: &state8, control: &control8 };
    let zero = f64x8::lit(0.0);
    let mut ws = VectorField::<f64x8>::workspace(&robot);
    let mut rate = vec![zero; rates];
    robot.eval(&mut ws, at, zero, &mut rate);
    let (mut p, mut s, mut c) = (vec![zero; params.len()], vec![zero; n], vec![zero; control.len()]);
    robot.eval_vjp(&mut ws, at, zero, &bar8, Bars { params: &mut p, state: &mut s, control: &mut c });
    let together = [rate, p, s, c].concat();
    for (lane, state) in states.iter().enumerate() {
        let alone = alone(state);
        let scale = alone.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for (a, b) in alone.iter().zip(&together) {
            assert!((a - b.lane(lane)).abs() < 1e-9 * scale, "{a} against {}", b.lane(lane));
        }
    }
}
