//! The loss of a whole shape: exact pullbacks through rollouts, its terms, threads that share it, and a
//! descent to its target.

use std::sync::Arc;

use pullback_articulated::{Model, Shape};
use pullback_core::gradcheck::Options;
use pullback_core::random::Random;
use pullback_core::rollout::{Loss, Sample};
use pullback_core::step_check::check_rollout_along;
use pullback_core::{Described, Inputs, Rollout, Schedule};
use pullback_math::Vec3;
use pullback_mpm::losses::{Cells, ContactDistance, ShapeLoss, Solid, Target, Tools, Weights, When};
use pullback_mpm::{Elastic, Grid, Material, Mpm, Particles};

use super::common::{arm, coupled_scene, options, scene};

fn shape_loss(mpm: Mpm) -> ShapeLoss {
    let solid = Solid::Sphere { radius: 0.1 }.at(Vec3::new(0.6, 0.6, 0.5));
    let target = Target::from_solid(Cells::cube(20), &solid, 4e-3, 300, 1, 1e-5).unwrap();
    let weights = Weights { center: 0.5, ..Weights::default() };
    ShapeLoss::new(Arc::new(mpm), target).unwrap().with_weights(weights)
}

#[test]
fn rollouts_of_the_shape_loss_have_the_exact_pullback() {
    let cuboid = Shape::Box { half: Vec3::new(0.03, 0.05, 0.02) };
    let capsule = Shape::Capsule { radius: 0.03, half_length: 0.05 };
    for (when, kind) in [(When::EveryFrame, ContactDistance::Soft), (When::End, ContactDistance::Hard)] {
        let mpm = scene(arm([capsule, Shape::Sphere { radius: 0.04 }, cuboid]));
        let tools = Tools::movable(&mpm, kind);
        let loss = shape_loss(mpm.clone()).with_when(when).with_tools(tools);
        let (layout, mut random) = (mpm.layout(), Random::new(2));
        let (mut state, params) = (layout.state.defaults(), layout.params.defaults());
        // Affine velocities large enough to be seen beyond round-off of differences.
        for slice in layout.state.slices().iter().filter(|s| s.name.ends_with("affine")) {
            state[slice.range.clone()].iter_mut().for_each(|c| *c = 20.0 * random.normal());
        }
        let controls: Vec<f64> = (0..9).map(|_| random.normal()).collect();
        let rollout = Rollout::new(mpm, 3, Schedule::Every(5)).unwrap().with_substeps(5).unwrap();
        let options = Options { difference_tolerance: 1e-5, ..options() };
        let report = check_rollout_along(&rollout, &Inputs { state, controls, params }, &loss, &options);
        report.assert_passed();
    }
}

#[test]
fn the_shape_loss_is_the_weighted_sum_of_its_terms_at_the_frames_it_counts() {
    let mpm = scene(arm([Shape::Sphere { radius: 0.04 }; 3]));
    let state = mpm.layout().state.defaults();
    let loss = shape_loss(mpm);
    let terms = loss.terms(&state);
    let sum = 10.0 * terms.density + 10.0 * terms.distance + terms.contact + 0.5 * terms.center;
    assert!((loss.at(&state) - sum).abs() < 1e-15 && terms.contact > 0.0 && terms.center > 0.0);
    let at = |step: usize| Sample { step, steps: 2, state: &state[..], control: &[], params: &[] };
    assert_eq!([0, 1, 2].map(|s| Loss::<f64>::value(&loss, at(s))), [0.0, loss.at(&state), loss.at(&state)]);
    let end = loss.clone().with_when(When::End);
    assert_eq!([0, 1, 2].map(|s| Loss::<f64>::value(&end, at(s))), [0.0, 0.0, loss.at(&state)]);
    assert_eq!(loss.score(&state, &state), 0.0);
    // Terms without weight are left out.
    let none = Weights { density: 0.0, distance: 0.0, contact: 1.0, center: 0.0 };
    assert_eq!(loss.clone().with_weights(none).at(&state), terms.contact);
    // A grid too small for the particles' is refused.
    let small = Cells { nodes: [12; 3], spacing: 0.05, flat: false };
    let target = Target::from_masses(small, vec![1.0; 12 * 12 * 12], 1e-4).unwrap();
    let mpm = scene(arm([Shape::Sphere { radius: 0.04 }; 3]));
    assert!(ShapeLoss::new(Arc::new(mpm), target).is_err());
}

/// In the state of a coupled robot joint velocities stand between coordinates and positions; the loss has no
/// gradient in them.
#[test]
fn coupled_robots_have_the_gradient_of_kinematic_ones() {
    let model = arm([Shape::Sphere { radius: 0.04 }; 3]);
    let [kinematic, coupled] = [scene(model.clone()), coupled_scene(model)].map(|mpm| {
        let state = mpm.layout().state.defaults();
        let mut bar = vec![0.0; state.len()];
        shape_loss(mpm.clone()).at_vjp(&state, 1.0, &mut bar);
        let view = mpm.split(&bar);
        assert!(view.u.iter().all(|u| *u == 0.0));
        (view.q.to_vec(), view.x.to_vec())
    });
    assert_eq!(kinematic, coupled);
    assert!(coupled.0.iter().chain(coupled.1.as_flattened()).any(|x| *x != 0.0));
}

#[test]
fn threads_share_one_loss_and_get_the_same_bits() {
    let mpm = scene(arm([Shape::Sphere { radius: 0.04 }; 3]));
    let state = mpm.layout().state.defaults();
    let loss = shape_loss(mpm.clone());
    let run = |shift: f64| {
        let mut moved = state.clone();
        mpm.split_mut(&mut moved).x.as_flattened_mut().iter_mut().for_each(|x| *x += shift);
        let mut bar = vec![0.0; moved.len()];
        loss.at_vjp(&moved, 1.0, &mut bar);
        bar.push(loss.at(&moved));
        bar
    };
    let alone: Vec<Vec<f64>> = (0..4).map(|i| run(0.01 * i as f64)).collect();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|i| scope.spawn(move || (0..20).map(|_| run(0.01 * i as f64)).collect::<Vec<_>>()))
            .collect();
        for (thread, alone) in all.into_iter().zip(&alone) {
            assert!(thread.join().unwrap().iter().all(|bits| bits == alone));
        }
    });
    assert_ne!(alone[0], alone[1]);
}

/// The initial velocity of an elastic block, found by descent on where it should be after five frames.
#[test]
fn descent_on_the_initial_velocity_reaches_the_target() {
    let mut particles = Particles::default();
    let block = Solid::Box { half: Vec3::new(0.1, 0.1, 0.1) }.at(Vec3::new(0.4, 0.45, 0.5));
    let positions = block.sample(120, 5).unwrap();
    let elastic = Material::FixedCorotated(Elastic { young: 2e3, poisson: 0.3 });
    particles.add("block", elastic, 1.0, 0.008 / 120.0, &positions, Vec3::zero()).unwrap();
    let mpm =
        Arc::new(Mpm::new(Grid::cube(16), particles, Model::new("none").compile().unwrap(), 1e-3).unwrap());
    let layout = mpm.layout().clone();
    let rollout = Rollout::new(mpm.clone(), 5, Schedule::Every(20)).unwrap().with_substeps(20).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let (params, rest) = (layout.params.defaults(), layout.state.defaults());
    let velocity = layout.state.slice("block.velocity").unwrap().range.clone();
    let thrown = |v: Vec3<f64>| {
        let mut state = rest.clone();
        state[velocity.clone()].as_chunks_mut().0.iter_mut().for_each(|x| *x = [v.x, v.y, v.z]);
        state
    };
    // The target is where a throw at (1.5, 1.0, 0.8) m/s comes to be.
    let wanted = Vec3::new(1.5, 1.0, 0.8);
    let mut reached = Vec::new();
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: thrown(wanted).to_vec(), controls: vec![], params: params.to_vec() },
            |at| reached = at.state.to_vec(),
        )
        .unwrap();
    let x: Vec<Vec3<f64>> = mpm.split(&reached).x.iter().map(|[x, y, z]| Vec3::new(*x, *y, *z)).collect();
    let target = Target::from_particles(Cells::cube(16), &x, &[0.008 / 120.0; 120], 1e-5).unwrap();
    let loss = ShapeLoss::new(mpm.clone(), target).unwrap().with_when(When::End);
    let floor = loss.at(&reached);

    // Adam with a falling rate.
    let (mut v, mut mean, mut square) = (Vec3::zero(), [0.0; 3], [0.0; 3]);
    let mut losses = Vec::new();
    for step in 0..80 {
        rollout
            .gradient(
                &mut ws,
                &Inputs { state: thrown(v).to_vec(), controls: vec![], params: params.to_vec() },
                &loss,
            )
            .unwrap();
        losses.push(ws.gradient.loss);
        let rate = 0.15 * 0.95f64.powi(step);
        for axis in 0..3 {
            let g: f64 = ws.gradient.state[velocity.clone()].iter().skip(axis).step_by(3).sum();
            mean[axis] = 0.8 * mean[axis] + 0.2 * g;
            square[axis] = 0.95 * square[axis] + 0.05 * g * g;
            let (m, s) =
                (mean[axis] / (1.0 - 0.8f64.powi(step + 1)), square[axis] / (1.0 - 0.95f64.powi(step + 1)));
            v[axis] -= rate * m / (s.sqrt() + 1e-12);
        }
    }
    let (first, last) = (losses[0] - floor, losses[losses.len() - 1] - floor);
    // Seen: 2400.
    assert!(first > 500.0 * last, "{first} {last} {v:?}");
    assert!((v - wanted).norm() < 0.005, "{v:?}");
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: thrown(v).to_vec(), controls: vec![], params: params.to_vec() },
            |at| reached = at.state.to_vec(),
        )
        .unwrap();
    let score = loss.score(&rest, &reached);
    assert!(score > 0.95, "{score}");
}
