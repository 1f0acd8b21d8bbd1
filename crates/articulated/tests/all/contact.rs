//! Robots that touch: rest at the analytic depth, Coulomb's cone, exact gradients through contact.

use crate::robots::{geom, random_state, touching};
use pullback_articulated::contact::PENALTY_DEFAULTS;
use pullback_articulated::restitution::{Impact, damping_for_restitution};
use pullback_articulated::{
    Articulated, Body, ContactDamping, ContactModel, ContactPair, Heightfield, Hull, Joint, JointKind, Mesh,
    Model, Shape,
};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Bars, Described, FieldShape, Inputs, Point, Rollout, Schedule, VectorField, Workspace};
use pullback_math::{Quat, Real, SymMat3, Vec3, f64x8};

/// A free body of 2 kg above a ground plane tilted by `slope` about y.
fn free_body(shape: Shape, orientation: Quat<f64>, height: f64, slope: f64) -> Model {
    let mut model = Model::new("free");
    let body = Body {
        name: "body".into(),
        parent: 0,
        position: Vec3::new(0.0, 0.0, height),
        orientation: Quat::identity(),
        mass: 2.0,
        com: Vec3::zero(),
        inertia: SymMat3::identity() * 0.06,
        ..Body::default()
    };
    model.bodies.push(body);
    model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    let tilt = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), slope);
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::zero(), tilt));
    model.geoms.push(geom("shape", 1, shape, Vec3::zero(), orientation));
    model.compile().unwrap()
}

/// The state after `seconds`.
fn after(model: Model, seconds: f64, start: Option<&[f64]>) -> Vec<f64> {
    let robot = Articulated::new(model).unwrap();
    let mut params = robot.layout().params.defaults();
    // Damped enough to come to rest.
    params[robot.layout().params.index_of("contact.damping").unwrap()] = 2e5;
    let start = start.map_or_else(|| robot.layout().state.defaults(), <[f64]>::to_vec);
    let system = Integrated::new(robot, 2e-4, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let steps = (seconds / 2e-4) as usize;
    let rollout = Rollout::new(&system, steps, Schedule::Revolve { slots: 1 }).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let mut end = start.clone();
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: start.to_vec(), controls: vec![], params: params.to_vec() },
            |at| end.copy_from_slice(at.state),
        )
        .unwrap();
    end
}

#[test]
fn shapes_settle_at_the_analytic_depth() {
    let lying = Quat::from_axis_angle(Vec3::new(1.0, 0.0, 0.0), std::f64::consts::FRAC_PI_2);
    let upright = Quat::identity();
    let weight = 2.0 * 9.81;
    // Shape, orientation, height of its lowest point above its center, contacts that carry it.
    let cases = [
        (Shape::Sphere { radius: 0.1 }, upright, 0.1, 1.0),
        (Shape::Box { half: Vec3::new(0.1, 0.15, 0.2) }, upright, 0.2, 4.0),
        (Shape::Capsule { radius: 0.08, half_length: 0.2 }, lying, 0.08, 2.0),
        // A cylinder on its cap stands on three points of the rim.
        (Shape::Cylinder { radius: 0.1, half_length: 0.15 }, upright, 0.15, 3.0),
    ];
    for (shape, orientation, bottom, carriers) in cases {
        let end = after(free_body(shape, orientation, bottom + 0.01, 0.0), 3.0, None);
        let expected = bottom - weight / (carriers * PENALTY_DEFAULTS[0]);
        assert!((end[2] - expected).abs() < 2e-6, "{shape:?}: at {}, expected {expected}", end[2]);
        let speed = end[7..].iter().map(|v| v.abs()).fold(0.0, f64::max);
        assert!(speed < 1e-4, "{shape:?} still moves at {speed}");
    }
}

/// A frustum with four corners on its base, at z = −0.1.
fn frustum() -> Mesh {
    let corner = |i: usize| {
        let angle = 0.3 + (i % 4) as f64 * std::f64::consts::TAU / 4.0;
        let (radius, z) = if i < 4 { (0.15, -0.1) } else { (0.1, 0.1) };
        Vec3::new(radius * angle.cos(), radius * angle.sin(), z)
    };
    let vertices: Vec<_> = (0..8).map(corner).collect();
    let hull = Hull::around(&vertices);
    Mesh { name: "frustum".into(), vertices, triangles: vec![], hull }
}

/// Hills of no height but one far corner, so that the middle is flat.
fn plain() -> Heightfield {
    let mut values = vec![0.0; 35];
    values[34] = 1.0;
    Heightfield {
        name: "plain".into(),
        rows: 5,
        columns: 7,
        size: Vec3::new(1.0, 1.0, 0.1),
        base: 0.2,
        values,
    }
}

/// Faces carry at four corners, on terrain at all: stacks settle level at the depth of their weight over them.
#[test]
fn stacks_settle_level_at_the_analytic_depth() {
    let table = Shape::Box { half: Vec3::new(0.5, 0.5, 0.1) };
    let drum = Shape::Cylinder { radius: 0.3, half_length: 0.1 };
    let can = Shape::Cylinder { radius: 0.1, half_length: 0.15 };
    let (rock, brick) = (Shape::Mesh { mesh: 0 }, Shape::Box { half: Vec3::new(0.1, 0.1, 0.1) });
    let field = Shape::Heightfield { field: 0 };
    let weight = 2.0 * 9.81;
    // What lies below with its top, what stands on it with its bottom, contacts that carry.
    for (below, top, above, bottom, carriers) in [
        (table, 0.1, can, 0.15, 4.0),
        (table, 0.1, rock, 0.1, 4.0),
        (drum, 0.1, can, 0.15, 4.0),
        (drum, 0.1, rock, 0.1, 4.0),
        (drum, 0.1, brick, 0.1, 4.0),
        (field, 0.0, brick, 0.1, 4.0),
        (field, 0.0, rock, 0.1, 4.0),
        (field, 0.0, can, 0.15, 3.0),
        (field, 0.0, Shape::Sphere { radius: 0.1 }, 0.1, 1.0),
    ] {
        let mut model = free_body(above, Quat::identity(), top + bottom + 0.005, 0.0);
        model.meshes.push(frustum());
        model.heightfields.push(plain());
        model.geoms[0].shape = below;
        let model = model.compile().unwrap();
        // Not in the middle, and leaning by a few milliradians.
        let mut start = model.reference_configuration();
        let lean = Quat::from_axis_angle(Vec3::new(0.6, 0.8, 0.0), 0.003);
        start[..2].copy_from_slice(&[0.05, -0.03]);
        start[3..7].copy_from_slice(&[lean.w, lean.x, lean.y, lean.z]);
        start.extend([0.0; 6]);
        let end = after(model, 3.0, Some(&start));
        let expected = top + bottom - weight / (carriers * PENALTY_DEFAULTS[0]);
        // The four of sixteen corners on which a can stands, chosen as MuJoCo does, are not quite a square.
        let can = carriers == 4.0 && matches!(above, Shape::Cylinder { .. });
        let (height, level) = if can { (1e-5, 1e-3) } else { (5e-6, 1e-5) };
        assert!(
            (end[2] - expected).abs() < height,
            "{above:?} on {below:?}: at {}, expected {expected}",
            end[2]
        );
        let up = Quat::new(end[3], end[4], end[5], end[6]).rotate(Vec3::new(0.0, 0.0, 1.0));
        let round = matches!(above, Shape::Sphere { .. });
        assert!(round || up.x.hypot(up.y) < level, "{above:?} on {below:?} leans: {up:?}");
    }
}

#[test]
fn a_block_sticks_or_slides_as_the_cone_says() {
    // μ = 0.6: sticks below atan 0.6 = 31°, slides above with g (sin α − μ cos α).
    for degrees in [15.0f64, 25.0, 38.0, 45.0] {
        let slope = degrees.to_radians();
        let block = Shape::Box { half: Vec3::new(0.2, 0.2, 0.02) };
        let tilt = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), slope);
        let model = free_body(block, Quat::identity(), 0.0, slope);
        let sunk = 0.02 - 2.0 * 9.81 * slope.cos() / (4.0 * PENALTY_DEFAULTS[0]);
        let place = tilt.rotate(Vec3::new(0.0, 0.0, sunk));
        let start = [place.x, place.y, place.z, tilt.w, tilt.x, tilt.y, tilt.z, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let end = after(model, 0.5, Some(&start));
        let speed = tilt.inverse_rotate(Vec3::new(end[7], end[8], end[9])).x;
        let pull = 9.81 * (slope.sin() - 0.6 * slope.cos());
        if pull > 0.0 {
            assert!(
                (speed - 0.5 * pull).abs() < 0.03 * 0.5 * pull,
                "{degrees}°: {speed}, expected {}",
                0.5 * pull
            );
        } else {
            // Relaxed friction creeps: kf·v per corner balances the pull.
            let creep = 2.0 * 9.81 * slope.sin() / (4.0 * PENALTY_DEFAULTS[2]);
            assert!(speed.abs() < 1.2 * creep, "{degrees}°: {speed}, creep {creep}");
        }
    }
}

#[test]
fn every_step_through_contact_has_the_exact_pullback() {
    let mut touched = 0;
    for seed in [1, 4] {
        let robot = Articulated::new(touching(seed)).unwrap();
        let state = random_state(robot.model(), seed + 30);
        let params = robot.layout().params.defaults();
        let mut ws = pullback_core::VectorField::<f64>::workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] });
        touched += ws.contacts.iter().filter(|(_, contact)| contact.distance < 0.0).count();
        let system = Integrated::new(robot, 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        let report = check_step(
            &system,
            Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] },
            &options,
        );
        assert!(report.passed(), "{report}");
    }
    assert!(touched >= 4, "only {touched} contacts");
}

#[test]
fn a_bounce_has_the_exact_pullback() {
    let model = free_body(Shape::Box { half: Vec3::new(0.1, 0.1, 0.1) }, Quat::identity(), 0.12, 0.0);
    let robot = Articulated::new(model).unwrap();
    let params = robot.layout().params.defaults();
    let tilt = Quat::from_axis_angle(Vec3::new(0.6, 0.8, 0.0), 0.2);
    let state = [0.0, 0.0, 0.13, tilt.w, tilt.x, tilt.y, tilt.z, 0.4, 0.1, -1.5, 0.3, -0.2, 0.5];
    let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let rollout = Rollout::new(&system, 60, Schedule::StoreAll).unwrap();
    let loss = FinalState { weights: (0..13).map(|i| 0.2 + 0.1 * i as f64).collect() };
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-3, ..Options::default() };
    let report = check_rollout(
        &rollout,
        &Inputs { state: state.to_vec(), controls: vec![], params: params.to_vec() },
        &loss,
        &options,
    );
    assert!(report.passed(), "{report}");
}

#[test]
fn a_ball_bounces_with_the_restitution_its_damping_was_made_for() {
    for form in [ContactDamping::ByDepth, ContactDamping::Plain] {
        for wanted in [0.3, 0.8] {
            let mut model = free_body(Shape::Sphere { radius: 0.1 }, Quat::identity(), 0.1 + 1e-4, 0.0);
            model.options.gravity = Vec3::zero();
            model.options.contact_damping = form;
            let impact = Impact { mass: 2.0, stiffness: PENALTY_DEFAULTS[0], speed: 1.5 };
            let robot = Articulated::new(model).unwrap();
            let mut params = robot.layout().params.defaults();
            let damping = robot.layout().params.index_of("contact.damping").unwrap();
            params[damping] = damping_for_restitution(form, wanted, impact).unwrap();
            let mut start = robot.layout().state.defaults();
            start[9] = -impact.speed;
            let system = Integrated::new(robot, 1e-5, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
            let rollout = Rollout::new(&system, 10_000, Schedule::Revolve { slots: 1 }).unwrap();
            let mut end = start.clone();
            let mut ws = rollout.workspace::<f64>();
            rollout
                .simulate(
                    &mut ws,
                    &Inputs { state: start.to_vec(), controls: vec![], params: params.to_vec() },
                    |at| end.copy_from_slice(at.state),
                )
                .unwrap();
            assert!(end[2] > 0.1, "{form:?}: still touches");
            let seen = end[9] / impact.speed;
            assert!((seen - wanted).abs() < 0.01 * wanted, "{form:?}: {seen}, wanted {wanted}");
        }
    }
}

/// Sixty bodies in a heap over the ground: balls, bricks and capsules.
fn heap() -> Model {
    let mut random = Random::new(9);
    let mut model = Model::new("heap");
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::zero(), Quat::identity()));
    let pattern = free_body(Shape::Sphere { radius: 0.1 }, Quat::identity(), 0.0, 0.0);
    for i in 1..=60 {
        let mut at = |low: f64, high: f64| random.uniform(low, high);
        let position = Vec3::new(at(-0.8, 0.8), at(-0.8, 0.8), at(0.05, 0.9));
        let turn = Quat::new(at(-1.0, 1.0), at(-1.0, 1.0), at(-1.0, 1.0), at(-1.0, 1.0)).normalize();
        let shape = match i % 3 {
            0 => Shape::Sphere { radius: at(0.05, 0.12) },
            1 => Shape::Box { half: Vec3::new(at(0.05, 0.12), at(0.05, 0.12), at(0.05, 0.12)) },
            _ => Shape::Capsule { radius: 0.06, half_length: at(0.05, 0.1) },
        };
        model.bodies.push(Body {
            name: format!("body {i}"),
            position,
            orientation: turn,
            ..pattern.bodies[1].clone()
        });
        model.joints.push(Joint { name: format!("free {i}"), body: i, ..pattern.joints[0].clone() });
        model.geoms.push(geom(&format!("shape {i}"), i, shape, Vec3::zero(), Quat::identity()));
    }
    model.compile().unwrap()
}

/// Rates and all cotangents at a state, as they come, and the memory held before and after.
fn rates_and_cotangents<T: Real>(robot: &Articulated, states: &[Vec<f64>]) -> (Vec<T>, usize, usize) {
    let n = robot.layout().state.len();
    let lanes = |i: usize| T::from_lanes(|lane| states[lane % states.len()][i]);
    let state: Vec<T> = (0..n).map(lanes).collect();
    let params: Vec<T> = robot.layout().params.defaults().into_iter().map(T::lit).collect();
    let mut ws = VectorField::<T>::workspace(robot);
    let before = ws.heap_bytes();
    let zeros = |n: usize| vec![T::zero(); n];
    let rates = robot.rate_len();
    let mut rate = zeros(rates);
    robot.eval(&mut ws, Point { params: &params, state: &state, control: &[] }, T::zero(), &mut rate);
    let bar: Vec<T> = (0..rates).map(|i| T::lit((i as f64).sin())).collect();
    let (mut state_bar, mut params_bar) = (zeros(n), zeros(params.len()));
    robot.eval_vjp(
        &mut ws,
        Point { params: &params, state: &state, control: &[] },
        T::zero(),
        &bar,
        Bars { params: &mut params_bar, state: &mut state_bar, control: &mut [] },
    );
    (rate.into_iter().chain(state_bar).chain(params_bar).collect(), before, ws.heap_bytes())
}

#[test]
fn the_broad_phase_changes_no_bit_and_allocates_nothing() {
    let model = heap();
    let states: Vec<Vec<f64>> = (0..8)
        .map(|seed| {
            let mut random = Random::new(seed);
            let mut q = model.reference_configuration();
            q.iter_mut().for_each(|x| *x += 0.05 * random.normal());
            q.extend((0..model.nv).map(|_| random.normal()));
            q
        })
        .collect();
    let swept = Articulated::new(model.clone()).unwrap().with_broad_phase_from(0);
    let tried = Articulated::new(model).unwrap().with_broad_phase_from(usize::MAX);
    let (all, ..) = rates_and_cotangents::<f64>(&tried, &states[..1]);
    let (near, before, after) = rates_and_cotangents::<f64>(&swept, &states[..1]);
    assert!(all.iter().zip(&near).all(|(x, y)| x.to_bits() == y.to_bits()));
    assert_eq!(before, after);
    let (all, ..) = rates_and_cotangents::<f64x8>(&tried, &states);
    let (near, ..) = rates_and_cotangents::<f64x8>(&swept, &states);
    let same = |x: &f64x8, y: &f64x8| (0..8).all(|i| x.lane(i).to_bits() == y.lane(i).to_bits());
    assert!(all.iter().zip(&near).all(|(x, y)| same(x, y)));
    let touching = all.iter().filter(|x| (0..8).any(|i| x.lane(i) != 0.0)).count();
    assert!(touching > 100, "a heap without contacts proves nothing");
}

#[test]
fn a_pair_brings_its_own_friction() {
    // On a slope of 45° the geoms' own μ = 0.6 slides; a pair of μ = 1.2 sticks, and one of 0.1 slides
    // faster.
    let slope = std::f64::consts::FRAC_PI_4;
    let tilt = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), slope);
    let block = Shape::Box { half: Vec3::new(0.2, 0.2, 0.02) };
    let sunk = 0.02 - 2.0 * 9.81 * slope.cos() / (4.0 * PENALTY_DEFAULTS[0]);
    let place = tilt.rotate(Vec3::new(0.0, 0.0, sunk));
    let start = [place.x, place.y, place.z, tilt.w, tilt.x, tilt.y, tilt.z, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let with = |friction: f64| {
        let mut model = free_body(block, Quat::identity(), 0.0, slope);
        model.pairs = vec![ContactPair { friction: [friction; 5], ..ContactPair::new(1, 0) }];
        model
    };
    let speed = |friction: f64| {
        let end = after(with(friction), 0.5, Some(&start));
        tilt.inverse_rotate(Vec3::new(end[7], end[8], end[9])).x
    };
    let free = 0.5 * 9.81 * slope.sin();
    assert!(speed(1.2) < 0.1 * free && (speed(0.1) / (0.9 * free) - 1.0).abs() < 0.02, "{}", speed(0.1));

    let robot = Articulated::new(with(0.1)).unwrap();
    let params = robot.layout().params.defaults();
    let system = Integrated::new(robot, 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let sliding: Vec<f64> =
        start.iter().enumerate().map(|(i, x)| x + if i == 7 { 0.7 } else { 0.0 }).collect();
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
    let report = check_step(&system, Point { params: &params, state: &sliding, control: &[] }, &options);
    assert!(report.passed(), "{report}");
}

#[test]
fn pairs_of_the_convex_solver_have_no_contact_at_exactly_the_limit() {
    let half = 0.125;
    let (drum, cube) = (
        Shape::Cylinder { radius: half, half_length: half },
        Shape::Box { half: Vec3::new(half, half, half) },
    );
    for (below, above, depth, pairs) in [
        (drum, drum, 0.0, 0),
        (drum, cube, 0.0, 0),
        (cube, cube, 0.0, 1),
        (drum, drum, 1e-3, 1),
        (cube, cube, 1e-3, 1),
    ] {
        let mut model = free_body(above, Quat::identity(), 2.0 * half - depth, 0.0);
        model.geoms[0].shape = below;
        model.options.contact_model = ContactModel::Convex;
        let robot = Articulated::new(model.compile().unwrap()).unwrap();
        let (params, state) = (robot.layout().params.defaults(), robot.layout().state.defaults());
        let mut ws = VectorField::<f64>::workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &[] });
        assert_eq!(ws.contacts.pairs().len(), pairs, "{:?} {depth}", robot.model().geoms[1].shape);
        let touching = ws.contacts.iter().filter(|(_, contact)| contact.distance <= 0.0).count();
        assert_eq!(touching, 4 * pairs);
    }
}
