//! The complementarity model: exact gradients of every row over one step and many, laws of impacts and friction, and
//! the same numbers on lanes.

use crate::robots::{geom, random_state, touching};
use pullback_articulated::constraint::set::Source;
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{
    Articulated, Body, ContactModel, Equality, EqualityKind, FrictionDirections, ImplicitTerms,
    ImpulseScheme, Joint, JointKind, Model, Shape, Softness,
};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout, check_rollout_along, check_step};
use pullback_core::{Bars, Described, Inputs, Point, Rollout, Schedule, VectorField, Workspace};
use pullback_math::{Quat, Real, SymMat3, Vec3, f32x8, f64x8};

/// The touching robot under the complementarity model, with every kind of row.
fn constrained(seed: u64, scheme: ImpulseScheme, friction: FrictionDirections) -> Model {
    let mut model = touching(seed);
    model.options.contact_model = ContactModel::Complementarity;
    let options = &mut model.options.complementarity;
    (options.scheme, options.friction) = (scheme, friction);
    (options.erp, options.cfm, options.restitution) = (0.1, 1e-3, 0.3);
    for (i, geom) in model.geoms.iter_mut().enumerate() {
        geom.friction = [0.2 + 0.1 * i as f64, 0.0, 0.0];
        geom.margin = 0.01;
    }
    for joint in &mut model.joints {
        joint.frictionloss = 0.3;
        joint.margin = 0.05;
    }
    // The ball joint at its largest angle.
    model.joints[1].range = Some((0.0, 0.4));
    model.compile().unwrap()
}

/// Rows of dry friction, limits and contacts that exert impulses.
fn kinds(robot: &Articulated, params: &[f64], state: &[f64]) -> [usize; 3] {
    let mut ws = VectorField::<f64>::workspace(robot);
    robot.accelerations(&mut ws, Point { params, state, control: &[0.1, 0.2, -0.3] });
    let mut found = [0; 3];
    let ContactSolverWorkspace::Complementarity(complementarity) = &ws.resolve else {
        panic!("another model")
    };
    let set = &complementarity.set;
    for block in set.blocks.iter().filter(|b| set.force[b.row] != 0.0) {
        found[match block.source {
            Source::Friction(_) => 0,
            Source::Limit { .. } => 1,
            _ => 2,
        }] += 1;
    }
    found
}

#[test]
fn every_kind_of_row_has_the_exact_pullback() {
    let mut found = [0; 3];
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
    assert!(found.iter().all(|n| *n > 20), "{found:?}");
}

/// Free bodies under the complementarity model, without Baumgarte's push and without cfm.
fn world(gravity: f64) -> Model {
    let mut model = Model::new("world");
    model.options.contact_model = ContactModel::Complementarity;
    model.options.gravity = Vec3::new(0.0, 0.0, -gravity);
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm) = (0.0, 0.0);
    model
}

fn add_ground(model: &mut Model) {
    model.geoms.push(geom("ground", 0, Shape::Plane, Vec3::zero(), Quat::identity()));
}

/// Adds a free body of 2 kg.
fn add_free(model: &mut Model, name: &str, shape: Shape, position: Vec3<f64>) {
    let body = model.bodies.len();
    model.bodies.push(Body {
        name: name.into(),
        parent: 0,
        position,
        mass: 2.0,
        inertia: SymMat3::identity() * 0.02,
        ..Body::default()
    });
    model.joints.push(Joint::new(format!("{name}.free"), body, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    model.geoms.push(geom(&format!("{name}.shape"), body, shape, Vec3::zero(), Quat::identity()));
}

const BALL: Shape = Shape::Sphere { radius: 0.1 };
const BRICK: Shape = Shape::Box { half: Vec3 { x: 0.2, y: 0.15, z: 0.1 } };

/// A robot that moves, with its last evaluation at hand.
struct Moving {
    system: Integrated<Articulated>,
    params: Vec<f64>,
    state: Vec<f64>,
}

impl Moving {
    fn new(model: Model, dt: f64) -> Self {
        let robot = Articulated::new(model.compile().unwrap()).unwrap().with_time_step(dt);
        let (params, state) = (robot.layout().params.defaults(), robot.layout().state.defaults());
        let system = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        Moving { system, params, state }
    }

    fn set_param(&mut self, name: &str, value: f64) {
        let place = self.system.layout().params.index_of(name).unwrap();
        self.params[place] = value;
    }

    fn set_state(&mut self, name: &str, values: &[f64]) {
        let places = self.system.layout().state.select(name).unwrap();
        assert_eq!(places.len(), values.len());
        places.iter().zip(values).for_each(|(place, value)| self.state[*place] = *value);
    }

    fn inputs(&self, steps: usize) -> Inputs<f64> {
        let controls = vec![0.0; steps * self.system.layout().control.len()];
        Inputs { state: self.state.clone(), controls, params: self.params.clone() }
    }

    /// The states after each of so many steps.
    fn run(&self, steps: usize) -> Vec<Vec<f64>> {
        let rollout = Rollout::new(&self.system, steps, Schedule::StoreAll).unwrap();
        let mut states = Vec::new();
        rollout
            .simulate(&mut rollout.workspace::<f64>(), &self.inputs(steps), |at| {
                states.push(at.state.to_vec());
            })
            .unwrap();
        states
    }

    /// Impulse of every row at a state, block by block, with friction of the block.
    fn impulses(&self, state: &[f64]) -> Vec<(Source, Vec<f64>, f64)> {
        let robot = self.system.field();
        let mut ws = VectorField::<f64>::workspace(robot);
        robot.accelerations(&mut ws, Point { params: &self.params, state, control: &[] });
        let ContactSolverWorkspace::Complementarity(found) = &ws.resolve else { panic!("another model") };
        let all = if found.set.blocks.is_empty() { &[][..] } else { found.pgs.impulses() };
        let blocks = found.set.blocks.iter().zip(&found.set.weights);
        blocks.map(|(b, w)| (b.source, all[b.row..b.row + b.dim].to_vec(), w.friction[0])).collect()
    }

    /// Momentum and energy of free bodies of 2 kg.
    fn momentum_and_energy(&self, state: &[f64]) -> (Vec3<f64>, f64) {
        let model = self.system.field().model();
        let (mut momentum, mut energy) = (Vec3::zero(), 0.0);
        for joint in &model.joints {
            let (q, v) = (&state[joint.q..], &state[model.nq + joint.v..]);
            let (velocity, spin) = (Vec3::new(v[0], v[1], v[2]), Vec3::new(v[3], v[4], v[5]));
            momentum += velocity * 2.0;
            energy += velocity.norm_squared() + 0.01 * spin.norm_squared();
            energy -= 2.0 * model.options.gravity.z * q[2];
        }
        (momentum, energy)
    }
}

/// Two balls, the first of which flies at the second.
fn two_balls(restitution: f64, aside: f64) -> Moving {
    let mut model = world(0.0);
    model.options.complementarity.restitution = restitution;
    add_free(&mut model, "first", BALL, Vec3::zero());
    add_free(&mut model, "second", BALL, Vec3::new(0.25, aside, 0.0));
    let mut moving = Moving::new(model, 1e-2);
    moving.set_state("first.free.velocity", &[1.0, 0.0, 0.0]);
    moving
}

/// A tower of bricks that are not quite straight, on the ground.
fn tower(bricks: usize) -> Moving {
    let mut model = world(9.81);
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm) = (0.1, 1e-4);
    add_ground(&mut model);
    for i in 0..bricks {
        let place = Vec3::new(0.013 * i as f64, -0.007 * i as f64, 0.0997 + 0.1995 * i as f64);
        add_free(&mut model, &format!("brick{i}"), BRICK, place);
    }
    for (i, geom) in model.geoms.iter_mut().enumerate() {
        geom.friction[0] = 0.5 - 0.07 * i as f64;
    }
    Moving::new(model, 5e-3)
}

/// A leg of two hinges above the ground, each with a range.
fn leg() -> Moving {
    let mut model = world(9.81);
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm) = (0.1, 1e-4);
    add_ground(&mut model);
    for (i, name) in ["thigh", "shank"].into_iter().enumerate() {
        model.bodies.push(Body {
            name: name.into(),
            parent: i,
            position: if i == 0 { Vec3::new(0.0, 0.0, 0.7) } else { Vec3::new(0.0, 0.0, -0.4) },
            com: Vec3::new(0.01, 0.0, -0.2),
            mass: 1.5,
            inertia: SymMat3::identity() * 0.02,
            ..Body::default()
        });
        model.joints.push(Joint {
            range: Some(if i == 0 { (-0.5, 0.6) } else { (-1.2, -0.4) }),
            damping: 0.1,
            frictionloss: 0.05,
            ..Joint::new(format!("{name}.hinge"), i + 1, JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0))
        });
    }
    let foot = Shape::Sphere { radius: 0.06 };
    model.geoms.push(geom("foot", 2, foot, Vec3::new(0.0, 0.0, -0.4), Quat::identity()));
    let mut moving = Moving::new(model, 5e-3);
    moving.set_state("thigh.hinge.q", &[0.55]);
    moving.set_state("shank.hinge.q", &[-0.5]);
    moving.set_state("thigh.hinge.v", &[2.0]);
    moving
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

#[test]
fn elastic_balls_exchange_their_velocities() {
    let moving = two_balls(1.0, 0.0);
    let (momentum, energy) = moving.momentum_and_energy(&moving.state);
    let states = moving.run(20);
    for state in &states {
        let (p, e) = moving.momentum_and_energy(state);
        assert!((p - momentum).norm() < 1e-12 && (e - energy).abs() < 1e-12, "{p:?}, {e}");
    }
    let end = states.last().unwrap();
    assert!(end[14].abs() < 1e-12 && (end[20] - 1.0).abs() < 1e-12, "{} and {}", end[14], end[20]);
}

#[test]
fn a_bounce_has_its_restitution_with_and_without_a_margin() {
    for margin in [0.0, 0.05] {
        let mut model = world(9.81);
        add_ground(&mut model);
        add_free(&mut model, "ball", BALL, Vec3::new(0.0, 0.0, 0.2));
        model.geoms[1].margin = margin;
        let mut moving = Moving::new(model, 1e-2);
        moving.set_param("ball.shape.restitution", 0.5);
        let states = moving.run(30);
        let speeds: Vec<f64> = states.iter().map(|s| s[9]).collect();
        let rise = speeds.windows(2).find(|w| w[1] > 0.0).expect("it bounces");
        assert!((rise[1] + 0.5 * rise[0]).abs() < 1e-12, "margin {margin}: {rise:?}");
        if margin > 0.0 {
            assert!(states.iter().all(|s| s[2] > 0.1 - 1e-9), "it never overlaps");
        }
    }
}

#[test]
fn a_ball_at_rest_stays_at_rest() {
    let mut model = world(9.81);
    model.options.complementarity.restitution = 0.5;
    add_ground(&mut model);
    add_free(&mut model, "ball", BALL, Vec3::new(0.0, 0.0, 0.1 - 1e-6));
    let moving = Moving::new(model, 5e-3);
    let end = moving.run(200).pop().unwrap();
    for (a, b) in end.iter().zip(&moving.state) {
        assert!((a - b).abs() < 1e-14, "{end:?}");
    }
}

#[test]
fn a_ball_that_lands_within_the_margin_does_not_overlap() {
    let mut model = world(9.81);
    add_ground(&mut model);
    add_free(&mut model, "ball", BALL, Vec3::new(0.0, 0.0, 0.3));
    model.geoms[1].margin = 0.05;
    let end = Moving::new(model, 1e-2).run(100).pop().unwrap();
    assert!((end[2] - 0.1).abs() < 1e-12 && end[9].abs() < 1e-12, "{end:?}");
}

#[test]
fn a_body_at_rest_sinks_to_where_erp_balances_cfm() {
    // Shape, contacts that carry it, sweeps. The rows of a brick depend on each other.
    for (shape, carriers, sweeps) in [(BALL, 1.0, 50), (BRICK, 4.0, 2000)] {
        let mut model = world(9.81);
        let options = &mut model.options.complementarity;
        (options.erp, options.cfm, options.iterations) = (0.1, 1e-2, sweeps);
        add_ground(&mut model);
        add_free(&mut model, "body", shape, Vec3::new(0.0, 0.0, 0.1 - 1e-9));
        let end = Moving::new(model, 1e-2).run(150).pop().unwrap();
        // erp depth / h = cfm λ,  n λ = m g h
        let depth = 1e-2 * 2.0 * 9.81 * 1e-2 * 1e-2 / (carriers * 0.1);
        assert!((0.1 - end[2] - depth).abs() < 1e-4 * depth, "{shape:?}: {} against {depth}", 0.1 - end[2]);
    }
}

#[test]
fn a_sliding_brick_slows_by_friction() {
    let mut model = world(9.81);
    add_ground(&mut model);
    add_free(&mut model, "brick", BRICK, Vec3::new(0.0, 0.0, 0.1 - 1e-9));
    model.geoms.iter_mut().for_each(|g| g.friction[0] = 0.3);
    let mut moving = Moving::new(model, 5e-3);
    moving.set_state("brick.free.velocity", &[0.0, 1.0, 0.0]);
    let states = moving.run(100);
    assert!((states[50][8] - (1.0 - 0.3 * 9.81 * 0.25)).abs() < 1e-6, "{}", states[50][8]);
    assert!(states[99][7..].iter().all(|v| v.abs() < 1e-9), "it stops: {:?}", states[99]);
}

/// Balls and bricks that fall on each other, with spin.
fn heap(gravity: f64, scheme: ImpulseScheme) -> Moving {
    let mut model = world(gravity);
    model.options.complementarity.scheme = scheme;
    if gravity > 0.0 {
        add_ground(&mut model);
    }
    for i in 0..6 {
        let place = Vec3::new(0.07 * (i % 2) as f64, 0.05 * (i % 3) as f64, 0.15 + 0.16 * i as f64);
        add_free(&mut model, &format!("body{i}"), if i % 2 == 0 { BALL } else { BRICK }, place);
    }
    let mut moving = Moving::new(model, 5e-3);
    for i in 0..6 {
        let x = i as f64;
        let fall = if gravity > 0.0 { 0.0 } else { 1.5 - 0.6 * x };
        moving.set_state(&format!("body{i}.free.velocity"), &[0.3 * x.sin(), 0.2 * x.cos(), fall]);
        moving.set_state(&format!("body{i}.free.spin"), &[x.cos(), x.sin(), 0.5 - 0.2 * x]);
    }
    moving
}

#[test]
fn momentum_is_kept_among_free_bodies() {
    for scheme in [ImpulseScheme::Global, ImpulseScheme::Pairwise] {
        let moving = heap(0.0, scheme);
        let (momentum, _) = moving.momentum_and_energy(&moving.state);
        let states = moving.run(60);
        assert!(states.iter().filter(|s| !moving.impulses(s).is_empty()).count() > 5);
        for state in &states {
            let (p, _) = moving.momentum_and_energy(state);
            assert!((p - momentum).norm() < 1e-12, "{scheme:?}: {p:?} against {momentum:?}");
        }
    }
}

#[test]
fn energy_never_grows_and_friction_keeps_to_its_box() {
    let moving = heap(9.81, ImpulseScheme::Global);
    let mut before = moving.momentum_and_energy(&moving.state).1;
    let (mut rows, mut sliding) = (0, 0);
    for (step, state) in moving.run(150).iter().enumerate() {
        let (_, energy) = moving.momentum_and_energy(state);
        assert!(energy <= before + 1e-9, "step {step}: {energy} after {before}");
        before = energy;
        for (source, impulse, friction) in moving.impulses(state) {
            assert!(matches!(source, Source::Contact { .. }) && impulse[0] >= 0.0);
            for tangential in &impulse[1..] {
                assert!(tangential.abs() <= friction * impulse[0], "{impulse:?}");
                rows += usize::from(impulse[0] > 0.0);
                sliding += usize::from(impulse[0] > 0.0 && tangential.abs() == friction * impulse[0]);
            }
        }
    }
    assert!(rows > 500 && sliding > 20 && sliding < rows - 20, "{sliding} of {rows}");
}

#[test]
fn one_pair_is_the_same_alone() {
    let with = |scheme: ImpulseScheme| {
        let mut model = world(9.81);
        model.options.complementarity.scheme = scheme;
        add_ground(&mut model);
        add_free(&mut model, "brick", BRICK, Vec3::new(0.0, 0.0, 0.13));
        let mut moving = Moving::new(model, 5e-3);
        moving.set_state("brick.free.velocity", &[0.5, -0.3, 0.0]);
        moving.set_state("brick.free.spin", &[1.0, 2.0, 0.5]);
        moving.run(60)
    };
    assert_eq!(with(ImpulseScheme::Global), with(ImpulseScheme::Pairwise));
    // A tower is not: what lies above does not weigh on what is below.
    let tower_with = |scheme: ImpulseScheme| {
        let mut model = tower(2).system.field().model().clone();
        model.options.complementarity.scheme = scheme;
        Moving::new(model, 5e-3).run(10)
    };
    assert_ne!(tower_with(ImpulseScheme::Global), tower_with(ImpulseScheme::Pairwise));
}

#[test]
fn a_limit_stops_a_joint() {
    let mut moving = leg();
    moving.set_param("contact.erp", 0.0);
    moving.set_param("contact.cfm", 0.0);
    moving.set_state("thigh.hinge.q", &[0.601]);
    let next = moving.run(1).pop().unwrap();
    assert!(next[2].abs() < 1e-12, "{next:?}");
    assert!(moving.impulses(&moving.state).iter().any(|(source, impulse, _)| {
        matches!(source, Source::Limit { joint: 0, upper: true }) && impulse[0] > 0.0
    }));
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
        let states: Vec<Vec<f64>> = (0..8).map(|i| random_state(&model, 30 + i)).collect();
        let robot = Articulated::new(model).unwrap().with_time_step(2e-3);
        let together = rates_and_bars::<f64x8>(&robot, &states);
        let single = rates_and_bars::<f32x8>(&robot, &states);
        for (lane, state) in states.iter().enumerate() {
            let alone = rates_and_bars::<f64>(&robot, std::slice::from_ref(state));
            let scale = alone.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for ((a, b), c) in alone.iter().zip(&together).zip(&single) {
                assert!((a - b.lane(lane)).abs() < 1e-9 * scale, "{a} against {}", b.lane(lane));
                assert!((a - c.lane(lane)).abs() < 1e-2 * scale, "{a} against {} in f32", c.lane(lane));
            }
        }
    }
}

#[test]
fn memory_is_known_beforehand() {
    let moving = heap(9.81, ImpulseScheme::Global);
    let rollout = Rollout::new(&moving.system, 100, Schedule::Every(10)).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let (predicted, held) = (rollout.predict_bytes::<f64>(), ws.heap_bytes());
    let loss = FinalState { weights: vec![1.0; moving.state.len()] };
    rollout.gradient(&mut ws, &moving.inputs(100), &loss).unwrap();
    assert!(moving.run(100).iter().any(|s| moving.impulses(s).len() > 8));
    assert_eq!((predicted, held), (ws.heap_bytes(), ws.heap_bytes()));

    // Impulses of every sweep: rows × iterations.
    let bytes = |iterations: usize| {
        let mut model = moving.system.field().model().clone();
        model.options.complementarity.iterations = iterations;
        let ws = VectorField::<f64>::workspace(&Articulated::new(model).unwrap());
        (ws.heap_bytes(), 3 * ws.contacts.capacity())
    };
    let ((more, rows), (less, _)) = (bytes(80), bytes(50));
    assert_eq!(more - less, 30 * rows * size_of::<f64>());
}

#[test]
fn what_the_model_does_not_act_on_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Model)| {
        let mut model = leg().system.field().model().clone();
        change(&mut model);
        Articulated::new(model).unwrap_err().to_string()
    };
    let kind = EqualityKind::Joint { joint: 0, other: Some(1), polycoef: [0.0; 5] };
    let tie = Equality { name: "tie".into(), kind, softness: Softness::default() };
    let error = refused(&|model| model.equalities.push(tie.clone()));
    assert_eq!(error, "the complementarity model does not act on equality `tie`; use --contact convex");
    let error = refused(&|model| model.geoms[1].contact.condim = 4);
    assert!(error.contains("torsional friction of geom `foot`"), "{error}");
}
