//! Laws of impacts, friction and rest; what is refused, and what memory it takes.

use super::scenes::{BALL, BRICK, Moving, add_free, add_ground, heap, leg, tower, two_balls, world};
use pullback_articulated::constraint::set::Source;
use pullback_articulated::model::Mimic;
use pullback_articulated::{
    Articulated, Equality, EqualityKind, ImplicitTerms, ImpulseScheme, Model, Softness,
};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::FinalState;
use pullback_core::{Rollout, Schedule, VectorField, Workspace};
use pullback_math::Vec3;

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
fn a_joint_that_follows_another_keeps_to_it() {
    let mut model = leg().system.field().model().clone();
    let options = &mut model.options.complementarity;
    (options.erp, options.cfm, options.iterations) = (0.2, 0.0, 500);
    model.joints.iter_mut().for_each(|j| j.range = None);
    model.mimics.push(Mimic { joint: 1, of: 0, multiplier: -2.0, offset: 0.1 });
    let mut moving = Moving::new(model, 5e-3);
    moving.set_state("thigh.hinge.q", &[0.3]);
    moving.set_state("shank.hinge.q", &[-0.45]);
    moving.set_state("thigh.hinge.v", &[1.0]);
    for (step, state) in moving.run(60).iter().enumerate() {
        // r falls by erp in every step, and v with it.
        let r = state[1] + 2.0 * state[0] - 0.1;
        let expected = 0.05 * 0.8f64.powi(step as i32);
        assert!((r - expected).abs() < 1e-9, "step {step}: {r} against {expected}");
    }
}

#[test]
fn a_limit_stops_a_joint() {
    let mut moving = leg();
    moving.set_param("contact.erp", 0.0);
    moving.set_param("contact.cfm", 0.0);
    moving.set_state("thigh.hinge.q", &[0.601]);
    // Damping that is implicit stands in the rows' mass matrix too.
    let damped = moving.system.field().clone().with_implicit(ImplicitTerms::Damping, 5e-3);
    for robot in [moving.system.field().clone(), damped] {
        moving.system = Integrated::new(robot, 5e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let next = moving.run(1).pop().unwrap();
        assert!(next[2].abs() < 1e-12, "{next:?}");
    }
    assert!(moving.impulses(&moving.state).iter().any(|(source, impulse, _)| {
        matches!(source, Source::Limit { joint: 0, upper: true }) && impulse[0] > 0.0
    }));
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
    let kind = EqualityKind::Connect { bodies: [1, 2], anchors: [Vec3::zero(); 2] };
    let pin = Equality { name: "pin".into(), kind, softness: Softness::default() };
    let error = refused(&|model| model.equalities.push(pin.clone()));
    assert_eq!(error, "the complementarity model does not act on equality `pin`; use --contact convex");
    let error = refused(&|model| model.geoms[1].contact.condim = 4);
    assert!(error.contains("torsional friction of geom `foot`"), "{error}");
}
