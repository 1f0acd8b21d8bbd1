//! The material point method: exact gradients of every stage together, and the laws it holds.

use pullback_articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_core::gradcheck::{Options, Report};
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout_along, check_step};
use pullback_core::{Described, Inputs, Point, Rollout, Schedule, System};
use pullback_math::{Flat, Mat3, Quat, SymMat3, Vec3};
use pullback_mpm::particles::random_box;
use pullback_mpm::{Elastic, Elastoplastic, Floor, Grid, Material, Mpm, Particles};

use crate::common::{MATERIALS, shaken};

/// A collider that slides along x and z and turns about y.
fn collider(shape: Shape) -> Model {
    let mut model = Model::new("tool");
    model.bodies.push(Body {
        name: "tool".into(),
        parent: 0,
        position: Vec3::new(0.5, 0.5, 0.42),
        orientation: Quat::identity(),
        mass: 1.0,
        com: Vec3::zero(),
        inertia: SymMat3::identity(),
        ..Body::default()
    });
    for (name, kind, axis) in [
        ("x", JointKind::Slide, Vec3::new(1.0, 0.0, 0.0)),
        ("z", JointKind::Slide, Vec3::new(0.0, 0.0, 1.0)),
        ("turn", JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0)),
    ] {
        let range = (name == "x").then_some((-0.2, 0.2));
        model.joints.push(Joint { range, ..Joint::new(name, 1, kind, axis) });
    }
    model.geoms.push(Geom {
        position: Vec3::new(0.01, 0.0, 0.0),
        friction: [0.6, 0.0, 0.0],
        ..Geom::new("tool", 1, shape)
    });
    model.compile().unwrap()
}

fn grid() -> Grid {
    // Soft colliders reach further than a node here, so that many nodes feel them.
    Grid { floor: Floor::Friction, floor_friction: 0.4, softness: 20.0, ..Grid::cube(12) }
}

fn scene(material: Material, model: Model) -> Mpm {
    let mut particles = Particles::default();
    let positions = random_box(18, Vec3::new(0.5, 0.5, 0.33), Vec3::new(0.16, 0.16, 0.12), 3);
    particles.add("dough", material, 1.3, 1.7e-4, &positions, Vec3::new(0.3, -0.2, -0.6)).unwrap();
    Mpm::new(grid(), particles, model, 2e-4).unwrap()
}

fn options() -> Options {
    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() }
}

fn step_of(mpm: &Mpm, seed: u64) -> Report {
    let (state, control, params) = shaken(mpm, seed);
    check_step(mpm, Point { params: &params, state: &state, control: &control }, &options())
}

#[test]
fn every_material_has_the_exact_pullback() {
    for (i, material) in MATERIALS.into_iter().enumerate() {
        step_of(&scene(material, Model::new("none").compile().unwrap()), i as u64).assert_passed();
    }
}

#[test]
fn equal_singular_values_and_inverted_deformations_have_exact_pullbacks() {
    for material in MATERIALS {
        let mpm = scene(material, Model::new("none").compile().unwrap());
        let (mut state, control, params) = shaken(&mpm, 7);
        let view = mpm.split_mut(&mut state);
        for (p, stretch) in [[1.1, 1.1, 1.1], [0.9, 0.8, -0.3]].iter().enumerate() {
            Mat3::diagonal(Vec3::read(stretch)).write(&mut view.f[p]);
            // Exactly equal only where C does not turn them.
            view.c[p].fill(0.0);
        }
        // Differences cannot be trusted where an eigenvalue is held at a bound.
        let options = Options { difference_tolerance: 1e-2, ..options() };
        check_step(&mpm, Point { params: &params, state: &state, control: &control }, &options)
            .assert_passed();
    }
}

#[test]
fn every_collider_has_the_exact_pullback() {
    for (i, shape) in [
        Shape::Sphere { radius: 0.08 },
        Shape::Capsule { radius: 0.05, half_length: 0.06 },
        Shape::Cylinder { radius: 0.07, half_length: 0.05 },
        Shape::Box { half: Vec3::new(0.09, 0.07, 0.05) },
        Shape::Plane,
        Shape::Torus { ring: 0.07, tube: 0.03 },
    ]
    .into_iter()
    .enumerate()
    {
        let mut model = collider(shape);
        if shape == Shape::Plane {
            // Turned over, it comes down like a press.
            model.geoms[0].orientation = Quat::from_axis_angle(Vec3::new(1.0, 0.0, 0.0), 3.0);
        }
        step_of(
            &scene(Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 }), model),
            20 + i as u64,
        )
        .assert_passed();
    }
}

/// A rollout of `steps` substeps under a sphere, checked along random directions of all its inputs.
fn rollout_of(material: Material, steps: usize, seed: u64) -> Report {
    let mpm = scene(material, collider(Shape::Sphere { radius: 0.08 }));
    let (state, control, params) = shaken(&mpm, seed);
    let rollout = Rollout::new(&mpm, steps, Schedule::StoreAll).unwrap();
    let loss = FinalState { weights: (0..state.len()).map(|i| (i as f64 * 0.7).sin()).collect() };
    // Particles begin to flow on the way; differences step over these kinks.
    let flows = !matches!(material, Material::FixedCorotated(_) | Material::NeoHookean(_));
    let options = Options { difference_tolerance: if flows { 0.3 } else { 1e-3 }, ..options() };
    check_rollout_along(
        &rollout,
        &Inputs { state: state.to_vec(), controls: control.repeat(steps), params: params.to_vec() },
        &loss,
        &options,
    )
}

#[test]
fn frames_of_forty_substeps_have_the_exact_pullback() {
    for (i, material) in MATERIALS.into_iter().enumerate() {
        rollout_of(material, 40, 40 + i as u64).assert_passed();
    }
}

#[test]
fn five_frames_have_the_exact_pullback() {
    rollout_of(Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 }), 200, 60)
        .assert_passed();
}

#[test]
fn mass_and_momentum_are_kept_to_round_off() {
    let mut particles = Particles::default();
    let positions = random_box(400, Vec3::new(0.5, 0.5, 0.5), Vec3::new(0.2, 0.2, 0.2), 5);
    let block = Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 });
    particles.add("block", block, 2.0, 2e-5, &positions, Vec3::new(0.2, 0.1, -0.1)).unwrap();
    let mut model = Model::new("free");
    model.options.gravity = Vec3::zero();
    let mpm = Mpm::new(Grid::cube(24), particles, model.compile().unwrap(), 1e-4).unwrap();
    let (params, mut state) = (mpm.layout().params.defaults(), mpm.layout().state.defaults());
    // Squeezed, so that it rings.
    mpm.split_mut(&mut state).f.as_flattened_mut().iter_mut().for_each(|x| *x *= 0.97);
    let momentum = |state: &[f64]| {
        let sum = mpm.split(state).v.iter().fold(Vec3::zero(), |s, v| s + Vec3::new(v[0], v[1], v[2]));
        sum * (1.0 / 400.0)
    };
    let start = momentum(&state);
    let mut ws = System::<f64>::workspace(&mpm);
    let mut next = state.clone();
    for _ in 0..200 {
        mpm.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
    }
    assert!((momentum(&state) - start).norm() < 1e-14, "{:?} {start:?}", momentum(&state));
    // It did ring.
    let speeds: f64 = mpm.split(&state).v.iter().map(|v| (v[0] - 0.2).abs()).sum();
    assert!(speeds > 1.0, "{speeds}");
}

/// Environments of different starts and controls, in frames of several substeps: neither the number of
/// threads nor asking for gradients changes a bit.
#[test]
fn batches_do_not_depend_on_threads() {
    use pullback_core::Batch;
    use pullback_core::batch::{BatchGradients, BatchInputs};
    use pullback_core::random::Random;
    let mpm = scene(
        Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 }),
        collider(Shape::Sphere { radius: 0.08 }),
    );
    let (envs, frames) = (5, 3);
    let (n, nu) = (mpm.layout().state.len(), mpm.layout().control.len());
    let states: Vec<f64> = (0..envs).flat_map(|e| shaken(&mpm, e as u64).0).collect();
    let mut random = Random::new(9);
    let controls: Vec<f64> = (0..envs * frames * nu).map(|_| random.uniform(-0.3, 0.3)).collect();
    let params = mpm.layout().params.defaults();
    let inputs = BatchInputs { states: &states, controls: &controls, params: &params };
    let loss = FinalState { weights: vec![1.0; n] };
    let run = |threads: usize| {
        let rollout = Rollout::new(&mpm, frames, Schedule::Every(10)).unwrap().with_substeps(10).unwrap();
        let mut batch = Batch::<_, f64>::new(rollout, envs, threads).unwrap();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        batch.simulate(inputs, &mut before).unwrap();
        let mut gradients = BatchGradients::default();
        batch.gradients(inputs, |_| loss.clone(), &mut gradients).unwrap();
        batch.simulate(inputs, &mut after).unwrap();
        assert_eq!(before, after);
        let sums: Vec<f64> = before.chunks(n).map(|x| x.iter().fold(0.0, |a, x| a + x)).collect();
        assert_eq!(sums, gradients.loss);
        (before, gradients)
    };
    let one = run(1);
    assert!(one.1.controls.iter().any(|g| *g != 0.0));
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}
