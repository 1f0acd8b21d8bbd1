//! Articulated bodies: identities between algorithms, conservation laws, exact gradients.

use crate::robots::{branching, random_state};
use pullback_articulated::aba::{ArticulatedBodies, forward_dynamics};
use pullback_articulated::rnea::{Sweep, SweepInputs, inverse_dynamics};
use pullback_articulated::{Articulated, ArticulatedWorkspace, Model};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method, PidController};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Described, Point, Rollout, Schedule, VectorField};
use pullback_math::{Real, Vec3, f64x8};

const CONTROL: [f64; 3] = [0.4, -0.7, 0.2];

fn robots() -> Vec<Articulated> {
    [(1, true), (2, false), (3, true)]
        .map(|(seed, free)| Articulated::new(branching(seed, free)).unwrap())
        .to_vec()
}

fn workspace(robot: &Articulated) -> ArticulatedWorkspace<f64> {
    VectorField::<f64>::workspace(robot)
}

#[test]
fn inverse_dynamics_undoes_forward_dynamics() {
    for robot in robots() {
        let params = robot.layout().params.defaults();
        let state = random_state(robot.model(), 7);
        let mut ws = workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &CONTROL });
        let mut tau = vec![0.0; robot.model().nv];
        let mut sweep = Sweep::new(robot.tree());
        let at = SweepInputs {
            tree: robot.tree(),
            kinematics: &ws.kinematics,
            v: &state[robot.model().nq..],
            gravity: robot.model().options.gravity,
            external: &[],
            compensation: &[],
        };
        inverse_dynamics(&at, Some(&ws.acceleration), &mut sweep, &mut tau);
        let forces = ws.joint_forces();
        for (k, tau) in tau.iter().enumerate() {
            let joint = robot.model().joints.iter().rfind(|j| j.v <= k).unwrap();
            let with_armature = tau + joint.armature * ws.acceleration[k];
            let scale = forces.iter().fold(1.0f64, |m, t| m.max(t.abs()));
            assert!(
                (with_armature - forces[k]).abs() < 1e-12 * scale,
                "{with_armature} against {}",
                forces[k]
            );
        }
    }
}

#[test]
fn articulated_bodies_agree_with_composite_bodies() {
    for robot in robots() {
        let (model, params) = (robot.model(), robot.layout().params.defaults());
        let state = random_state(model, 13);
        let mut ws = workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &CONTROL });
        let at = SweepInputs {
            tree: robot.tree(),
            kinematics: &ws.kinematics,
            v: &state[model.nq..],
            gravity: model.options.gravity,
            external: &[],
            compensation: &[],
        };
        let joint_of = |k: usize| model.joints.iter().rfind(|j| j.v <= k).unwrap();
        let armature: Vec<f64> = (0..model.nv).map(|k| joint_of(k).armature).collect();
        let mut bodies = ArticulatedBodies::new(robot.tree().bodies(), model.nv);
        let mut acceleration = vec![0.0; model.nv];
        let mut sweep = Sweep::new(robot.tree());
        forward_dynamics(&at, &armature, &ws.joint_forces(), &mut sweep, &mut bodies, &mut acceleration);
        let scale = acceleration.iter().fold(1.0f64, |m, a| m.max(a.abs()));
        for (a, b) in acceleration.iter().zip(&ws.acceleration) {
            assert!((a - b).abs() < 1e-12 * scale, "{a} against {b}");
        }
    }
}

#[test]
fn pushes_from_outside_have_the_exact_pullback() {
    let robot = robots().remove(0).with_pushes(&["hand", "base"]).unwrap();
    let (params, state) = (robot.layout().params.defaults(), random_state(robot.model(), 6));
    let control = [&CONTROL[..], &[1.0, -2.0, 0.5, 0.3, 0.2, -0.1, -0.4, 0.6, 1.1, 0.0, 0.7, -0.2]].concat();
    let system = Integrated::new(robot, 0.01, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    check_step(&system, Point { params: &params, state: &state, control: &control }, &Options::default())
        .assert_passed();
}

#[test]
fn a_push_on_a_free_body_accelerates_it() {
    let mut model = branching(9, true);
    model.bodies.truncate(2);
    model.joints.truncate(1);
    model.bodies[1].com = Vec3::zero();
    let robot = Articulated::new(conservative(model)).unwrap().with_pushes(&["base"]).unwrap();
    let mut state = robot.layout().state.defaults();
    state[7..].fill(0.0);
    let mut ws = workspace(&robot);
    let mass = robot.model().bodies[1].mass;
    robot.accelerations(
        &mut ws,
        Point {
            params: &robot.layout().params.defaults(),
            state: &state,
            control: &[3.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        },
    );
    assert!((ws.acceleration[0] - 3.0 / mass).abs() < 1e-12 && (ws.acceleration[2] + 9.81).abs() < 1e-12);
}

#[test]
fn the_mass_matrix_is_that_of_the_kinetic_energy() {
    for robot in robots() {
        let params = robot.layout().params.defaults();
        let state = random_state(robot.model(), 11);
        let mut ws = workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state: &state, control: &CONTROL });
        let (n, v) = (robot.model().nv, &state[robot.model().nq..]);
        let dense = ws.mass.dense(robot.tree());
        let mut energy = 0.0;
        for joint in &robot.model().joints {
            for k in joint.v..joint.v + joint.kind.velocities() {
                energy -= 0.5 * joint.armature * v[k] * v[k];
            }
        }
        for i in 0..n {
            for j in 0..n {
                assert_eq!(dense[i * n + j], dense[j * n + i]);
                energy += 0.5 * v[i] * dense[i * n + j] * v[j];
            }
        }
        let bodies = ws.kinematics.kinetic_energy(&ws.sweep.velocities);
        assert!((energy - bodies).abs() < 1e-13 * bodies, "{energy} against {bodies}");
    }
}

#[test]
fn point_jacobians_are_the_derivatives_of_points() {
    let robot = &robots()[0];
    let (model, params) = (robot.model(), robot.layout().params.defaults());
    let state = random_state(model, 5);
    let mut ws = workspace(robot);
    let local = Vec3::new(0.1, -0.2, 0.3);
    let mut point_at = |q: &[f64]| {
        ws.kinematics.update(model, robot.tree(), robot.index(), &params, (q, &[]));
        (ws.kinematics.world_from_body[3].point(local), ws.kinematics.clone())
    };
    let (point, kinematics) = point_at(&state[..model.nq]);
    let mut columns = vec![Vec3::zero(); model.nv];
    kinematics.point_jacobian(robot.tree(), 3, point, &mut columns);
    for k in 0..model.nv {
        let moved = |h: f64| {
            let (mut rate, mut next) = (vec![0.0; 2 * model.nv], state.clone());
            rate[k] = 1.0;
            VectorField::<f64>::advance(robot, &state, &rate, h, &mut next);
            next
        };
        let (high, low) = (point_at(&moved(1e-6)[..model.nq]).0, point_at(&moved(-1e-6)[..model.nq]).0);
        let difference = (high - low) * 0.5e6;
        assert!((difference - columns[k]).norm() < 1e-8, "dof {k}: {difference:?} against {:?}", columns[k]);
    }
}

#[test]
fn every_step_has_the_exact_pullback() {
    for robot in robots() {
        let params = robot.layout().params.defaults();
        let state = random_state(robot.model(), 1);
        for method in [Method::SemiImplicitEuler, Method::Rk4] {
            let system = Integrated::new(robot.clone(), 0.02, Integrator::fixed(method)).unwrap();
            let report = check_step(
                &system,
                Point { params: &params, state: &state, control: &CONTROL },
                &Options::default(),
            );
            assert!(report.passed(), "{method:?}\n{report}");
        }
    }
}

#[test]
fn implicit_damping_and_adaptive_steps_have_the_exact_pullback() {
    let robot = robots().remove(0);
    let (params, state) = (robot.layout().params.defaults(), random_state(robot.model(), 4));
    let implicit = robot.clone().with_implicit_damping(0.02);
    let euler = Integrated::new(implicit, 0.02, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    check_step(&euler, Point { params: &params, state: &state, control: &CONTROL }, &Options::default())
        .assert_passed();
    let pid = PidController::new(1e-8);
    let adaptive = Integrated::new(robot, 0.1, Integrator::adaptive(Method::Tsit5, pid)).unwrap();
    let options = Options { difference_tolerance: 1e-3, ..Options::default() };
    check_step(&adaptive, Point { params: &params, state: &state, control: &CONTROL }, &options)
        .assert_passed();
}

#[test]
fn rollouts_have_the_exact_pullback() {
    let robot = robots().remove(1);
    let state = random_state(robot.model(), 9);
    let system = Integrated::new(robot, 0.001, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let rollout = Rollout::new(&system, 10, Schedule::Revolve { slots: 3 }).unwrap();
    let inputs = Inputs { state: state.clone(), ..Inputs::defaults(&system, 10) };
    let weights = (0..state.len()).map(|i| 0.3 + 0.1 * i as f64).collect();
    let loss = FinalState { weights };
    check_rollout(&rollout, &inputs, &loss, &Options::default()).assert_passed();
}

/// The model without anything that adds or takes energy.
fn conservative(mut model: Model) -> Model {
    model.actuators.clear();
    model.options.limits = false;
    for joint in &mut model.joints {
        (joint.damping, joint.stiffness, joint.armature) = (0.0, 0.0, 0.0);
    }
    model.compile().unwrap()
}

fn energy(robot: &Articulated, ws: &mut ArticulatedWorkspace<f64>, params: &[f64], state: &[f64]) -> f64 {
    robot.accelerations(ws, Point { params, state, control: &[] });
    let kinetic = ws.kinematics.kinetic_energy(&ws.sweep.velocities);
    kinetic + ws.kinematics.potential_energy(robot.model().options.gravity)
}

#[test]
fn energy_is_conserved_to_the_order_of_the_method() {
    let robot = Articulated::new(conservative(branching(5, true))).unwrap();
    let (params, start) = (robot.layout().params.defaults(), random_state(robot.model(), 3));
    let mut ws = workspace(&robot);
    let before = energy(&robot, &mut ws, &params, &start);
    let mut drift = |dt: f64| {
        let system = Integrated::new(robot.clone(), dt, Integrator::fixed(Method::Rk4)).unwrap();
        let steps = (0.5 / dt).round() as usize;
        let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
        let mut rollout_ws = rollout.workspace::<f64>();
        let mut end = start.clone();
        rollout
            .simulate(
                &mut rollout_ws,
                &Inputs { state: start.to_vec(), controls: vec![], params: params.to_vec() },
                |at| end.copy_from_slice(at.state),
            )
            .unwrap();
        (energy(&robot, &mut ws, &params, &end) - before).abs()
    };
    let (coarse, fine) = (drift(0.01), drift(0.005));
    assert!(coarse < 1e-4 * before.abs().max(1.0), "{coarse}");
    assert!((coarse / fine).log2() > 3.5, "{coarse:e} to {fine:e}");
}

#[test]
fn momentum_is_conserved_in_free_flight() {
    let mut model = conservative(branching(6, true));
    model.options.gravity = Vec3::zero();
    // Only the floating tree: the weight on its rail is held by the world.
    let robot = Articulated::new(model).unwrap();
    let (params, start) = (robot.layout().params.defaults(), random_state(robot.model(), 8));
    let momentum = |state: &[f64]| {
        let mut ws = workspace(&robot);
        robot.accelerations(&mut ws, Point { params: &params, state, control: &[] });
        let (mut linear, mut angular) = (Vec3::zero(), Vec3::zero());
        for b in 1..robot.tree().bodies() - 1 {
            let p = ws.kinematics.inertias[b] * ws.sweep.velocities[b];
            linear += p.force;
            angular += p.moment + ws.kinematics.origins[b].cross(p.force);
        }
        (linear, angular)
    };
    let system =
        Integrated::new(robot.clone(), 0.5, Integrator::adaptive(Method::Tsit5, PidController::new(1e-11)))
            .unwrap();
    let rollout = Rollout::new(&system, 2, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let mut end = start.clone();
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: start.to_vec(), controls: vec![], params: params.to_vec() },
            |at| end.copy_from_slice(at.state),
        )
        .unwrap();
    let ((p0, l0), (p1, l1)) = (momentum(&start), momentum(&end));
    assert!(
        (p1 - p0).norm() < 1e-9 && (l1 - l0).norm() < 1e-8,
        "{:e} {:e}",
        (p1 - p0).norm(),
        (l1 - l0).norm()
    );
}

#[test]
fn lanes_agree_with_scalars() {
    let robot = &robots()[0];
    let params = robot.layout().params.defaults();
    let states: Vec<Vec<f64>> = (0..8).map(|i| random_state(robot.model(), 20 + i)).collect();
    let n = states[0].len();
    let packed: Vec<f64x8> = (0..n).map(|i| f64x8::from_lanes(|lane| states[lane][i])).collect();
    let lift = |x: &[f64]| x.iter().map(|x| f64x8::lit(*x)).collect::<Vec<_>>();
    let mut ws = VectorField::<f64x8>::workspace(robot);
    robot.accelerations(&mut ws, Point { params: &lift(&params), state: &packed, control: &lift(&CONTROL) });
    for (lane, state) in states.iter().enumerate() {
        let mut scalar = workspace(robot);
        robot.accelerations(&mut scalar, Point { params: &params, state, control: &CONTROL });
        for (a, b) in ws.acceleration.iter().zip(&scalar.acceleration) {
            assert!((a.lane(lane) - b).abs() < 1e-11 * b.abs().max(1.0), "{} against {b}", a.lane(lane));
        }
    }
}

#[test]
fn a_free_body_falls_and_spins_as_euler_says() {
    // One free body: ω̇ = I⁻¹ (I ω × ω), v̇ of the center of mass = g.
    let mut model = branching(9, true);
    model.bodies.truncate(2);
    model.joints.truncate(1);
    let model = conservative(model);
    let robot = Articulated::new(model).unwrap();
    let state = random_state(robot.model(), 1);
    let mut ws = workspace(&robot);
    robot.accelerations(
        &mut ws,
        Point { params: &robot.layout().params.defaults(), state: &state, control: &[] },
    );
    let body = &robot.model().bodies[1];
    let omega = Vec3::new(state[10], state[11], state[12]);
    let alpha = Vec3::new(ws.acceleration[3], ws.acceleration[4], ws.acceleration[5]);
    let torque = body.inertia * alpha + omega.cross(body.inertia * omega);
    assert!(torque.norm() < 1e-12, "{torque:?}");
    let turn = ws.kinematics.world_from_body[1];
    let linear = Vec3::new(ws.acceleration[0], ws.acceleration[1], ws.acceleration[2]);
    let (w, a) = (turn.direction(omega), turn.direction(alpha));
    let arm = turn.direction(body.com);
    let com = linear + a.cross(arm) + w.cross(w.cross(arm));
    assert!((com - robot.model().options.gravity).norm() < 1e-12, "{com:?}");
}
