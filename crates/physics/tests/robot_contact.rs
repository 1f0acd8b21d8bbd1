//! Robots that touch: rest at the analytic depth, Coulomb's cone, exact gradients through contact.

mod robots;

use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Described, Rollout, Schedule};
use pullback_math::{Quat, SymMat3, Vec3};
use pullback_physics::articulated::contact::PENALTY_DEFAULTS;
use pullback_physics::articulated::{Articulated, Body, Geom, Joint, JointKind, Model, Shape};
use robots::{branching, random_state};

fn geom(name: &str, body: usize, shape: Shape, position: Vec3<f64>, orientation: Quat<f64>) -> Geom {
    Geom {
        name: name.into(),
        body,
        shape,
        position,
        orientation,
        collision_bits: 1,
        collides_with: 1,
        friction: [0.6, 0.0, 0.0],
        margin: 0.0,
        softness: Default::default(),
        rgba: [1.0; 4],
    }
}

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
    };
    model.bodies.push(body);
    model.joints.push(Joint {
        name: "free".into(),
        body: 1,
        kind: JointKind::Free,
        anchor: Vec3::zero(),
        axis: Vec3::new(0.0, 0.0, 1.0),
        reference: 0.0,
        damping: 0.0,
        stiffness: 0.0,
        spring_reference: 0.0,
        armature: 0.0,
        range: None,
        q: 0,
        v: 0,
    });
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
    params[robot.index().contact + 1] = 2e5;
    let start = start.map_or_else(|| robot.layout().state.defaults(), <[f64]>::to_vec);
    let system = Integrated::new(robot, 2e-4, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let steps = (seconds / 2e-4) as usize;
    let rollout = Rollout::new(&system, steps, Schedule::Revolve { slots: 1 }).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let mut end = start.clone();
    rollout.simulate(&mut ws, &params, &start, &[], |at| end.copy_from_slice(at.state)).unwrap();
    end
}

#[test]
fn shapes_settle_at_the_analytic_depth() {
    let lying = Quat::from_axis_angle(Vec3::new(1.0, 0.0, 0.0), std::f64::consts::FRAC_PI_2);
    let upright = Quat::identity();
    let weight = 2.0 * 9.81;
    // Shape, orientation, height of its lowest point above its centre, contacts that carry it.
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

/// The branching robot with a shape on every body, sunk into the ground and into each other.
fn touching(seed: u64) -> Articulated {
    let mut model = branching(seed, true);
    let shapes = [
        Shape::Box { half: Vec3::new(0.2, 0.15, 0.1) },
        Shape::Capsule { radius: 0.08, half_length: 0.15 },
        Shape::Sphere { radius: 0.12 },
        Shape::Cylinder { radius: 0.1, half_length: 0.12 },
        Shape::Capsule { radius: 0.1, half_length: 0.1 },
        Shape::Sphere { radius: 0.2 },
    ];
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::new(0.0, 0.0, -0.3), Quat::identity()));
    for (i, shape) in shapes.into_iter().enumerate() {
        let tilt = Quat::from_axis_angle(Vec3::new(0.6, 0.0, 0.8), 0.3 * i as f64);
        model.geoms.push(geom(&format!("shape{i}"), i + 1, shape, Vec3::new(0.02, -0.03, 0.01), tilt));
    }
    Articulated::new(model.compile().unwrap()).unwrap()
}

#[test]
fn every_step_through_contact_has_the_exact_pullback() {
    let mut touched = 0;
    for seed in [1, 4] {
        let robot = touching(seed);
        let state = random_state(robot.model(), seed + 30);
        let params = robot.layout().params.defaults();
        let mut ws = pullback_core::VectorField::<f64>::workspace(&robot);
        robot.accelerations(&mut ws, &params, &state, &[0.1, 0.2, -0.3]);
        robot.for_each_contact(&ws, &params, |_, contact| touched += usize::from(contact.distance < 0.0));
        let system = Integrated::new(robot, 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        let report = check_step(&system, &state, &[0.1, 0.2, -0.3], &params, &options);
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
    let report = check_rollout(&rollout, &state, &[], &params, &loss, &options);
    assert!(report.passed(), "{report}");
}

#[test]
fn a_pair_brings_its_own_friction() {
    // On a slope of 45° the geoms' own μ = 0.6 slides; a pair of μ = 1.2 sticks, and one of 0.1 slides faster.
    let slope = std::f64::consts::FRAC_PI_4;
    let tilt = Quat::from_axis_angle(Vec3::new(0.0, 1.0, 0.0), slope);
    let block = Shape::Box { half: Vec3::new(0.2, 0.2, 0.02) };
    let sunk = 0.02 - 2.0 * 9.81 * slope.cos() / (4.0 * PENALTY_DEFAULTS[0]);
    let place = tilt.rotate(Vec3::new(0.0, 0.0, sunk));
    let start = [place.x, place.y, place.z, tilt.w, tilt.x, tilt.y, tilt.z, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let with = |friction: f64| {
        let mut model = free_body(block, Quat::identity(), 0.0, slope);
        (model.pairs, model.pair_friction) = (vec![(1, 0)], vec![friction]);
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
    let report = check_step(&system, &sliding, &[], &params, &options);
    assert!(report.passed(), "{report}");
}
