//! The memory of the material point method is known before the first substep, however far the material
//! spreads.

use pullback_core::{Bars, Described, Point, System, Workspace};
use pullback_math::{Flat, Quat, Scalar, SymMat3, Vec3};
use pullback_physics::articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastic, Grid, Material, Mpm, Particles};

use crate::allocations;

const PARTICLES: usize = 300;

fn scene() -> Mpm {
    let mut particles = Particles::default();
    let positions = random_box(PARTICLES, Vec3::new(0.5, 0.5, 0.5), Vec3::new(0.05, 0.05, 0.05), 2);
    let drop = Material::Fluid(Elastic { young: 1.0, poisson: 0.3 });
    particles.add("drop", drop, 1e3, 4e-7, &positions, Vec3::zero()).unwrap();
    Mpm::new(Grid::cube(48), particles, Model::new("none").compile().unwrap(), 1e-3).unwrap()
}

/// Largest distance of two particles along x, m.
fn width<T: Scalar>(mpm: &Mpm, state: &[T]) -> f64 {
    let x = mpm.split(state).x.iter().map(|x| x[0].lane(0));
    x.clone().fold(f64::NEG_INFINITY, f64::max) - x.fold(f64::INFINITY, f64::min)
}

/// A drop bursts; substeps and pullbacks take no memory beyond that of the fresh workspace.
fn bursts_within_its_memory<T: Scalar>() {
    let mpm = scene();
    let lift = |x: Vec<f64>| x.into_iter().map(T::lit).collect::<Vec<T>>();
    let (params, mut state) = (lift(mpm.layout().params.defaults()), lift(mpm.layout().state.defaults()));
    // Every particle flies away from the center, at 80 times its distance per second; the fluid is too weak
    // to hold it.
    for (v, x) in mpm.split_mut(&mut state).v.iter_mut().zip(&mpm.particles().positions) {
        (*x - Vec3::new(0.5, 0.5, 0.5)).map(|d| T::lit(80.0 * d)).write(v);
    }
    let mut ws = System::<T>::workspace(&mpm);
    let bytes = ws.heap_bytes();
    let start = width(&mpm, &state);
    let mut next = state.clone();
    let (mut state_bar, mut params_bar) = (vec![T::zero(); state.len()], vec![T::zero(); params.len()]);
    let count = allocations(|| {
        for _ in 0..100 {
            let at = Point { params: &params, state: &state, control: &[] };
            mpm.step(&mut ws, at, &mut next).unwrap();
            let bars = Bars { params: &mut params_bar, state: &mut state_bar, control: &mut [] };
            mpm.step_vjp(&mut ws, at, &next, bars).unwrap();
            std::mem::swap(&mut state, &mut next);
        }
    });
    assert_eq!(count, 0);
    assert_eq!(ws.heap_bytes(), bytes);
    let end = width(&mpm, &state);
    assert!(end > 4.0 * start, "it hardly spread: from {start} to {end}");
}

#[test]
fn a_bursting_drop_stays_within_its_memory() {
    bursts_within_its_memory::<f32>();
    bursts_within_its_memory::<f64>();
}

/// A drop on a ball, one that is driven and one that gives way: placing colliders takes no memory either.
#[test]
fn colliders_stay_within_their_memory() {
    let mut model = Model::new("ball");
    model.bodies.push(Body {
        name: "ball".into(),
        parent: 0,
        position: Vec3::new(0.5, 0.5, 0.42),
        orientation: Quat::identity(),
        mass: 0.1,
        com: Vec3::zero(),
        inertia: SymMat3::identity() * 1e-4,
        ..Body::default()
    });
    model.joints.push(Joint::new("slide", 1, JointKind::Slide, Vec3::new(0.0, 0.0, 1.0)));
    model.geoms.push(Geom::new("ball", 1, Shape::Sphere { radius: 0.05 }));
    let model = model.compile().unwrap();
    for coupled in [false, true] {
        let mut particles = Particles::default();
        let positions = random_box(PARTICLES, Vec3::new(0.5, 0.5, 0.48), Vec3::new(0.05, 0.05, 0.05), 2);
        let drop = Material::Fluid(Elastic { young: 1e3, poisson: 0.3 });
        particles.add("drop", drop, 1e3, 4e-7, &positions, Vec3::new(0.0, 0.0, -1.0)).unwrap();
        let build = if coupled { Mpm::coupled } else { Mpm::new };
        let mpm = build(Grid::cube(48), particles, model.clone(), 1e-4).unwrap();
        let (params, mut state) = (mpm.layout().params.defaults(), mpm.layout().state.defaults());
        let control = mpm.layout().control.defaults();
        let mut ws = System::<f64>::workspace(&mpm);
        let (bytes, mut next) = (ws.heap_bytes(), state.clone());
        let (mut x_bar, mut u_bar, mut p_bar) =
            (vec![0.0; state.len()], vec![0.0; control.len()], vec![0.0; params.len()]);
        let count = allocations(|| {
            for _ in 0..20 {
                mpm.step(&mut ws, Point { params: &params, state: &state, control: &control }, &mut next)
                    .unwrap();
                mpm.step_vjp(
                    &mut ws,
                    Point { params: &params, state: &state, control: &control },
                    &next,
                    Bars { params: &mut p_bar, state: &mut x_bar, control: &mut u_bar },
                )
                .unwrap();
                std::mem::swap(&mut state, &mut next);
            }
        });
        assert_eq!(count, 0);
        assert_eq!(ws.heap_bytes(), bytes);
        // Sizes of balls have no gradient where all nodes that they touch are inside.
        let position = mpm.layout().params.slice("ball.position").unwrap().range.clone();
        assert!(p_bar[position].iter().any(|x| *x != 0.0), "the drop did not touch the ball");
    }
}

#[test]
fn workspaces_are_small() {
    let megabytes = |count: usize| {
        let mut particles = Particles::default();
        let positions = random_box(count, Vec3::new(0.5, 0.5, 0.5), Vec3::new(0.4, 0.4, 0.4), 2);
        let dough = Material::NeoHookean(Elastic { young: 1e3, poisson: 0.3 });
        particles.add("dough", dough, 1e3, 1e-6, &positions, Vec3::zero()).unwrap();
        let mpm = Mpm::new(Grid::cube(48), particles, Model::new("none").compile().unwrap(), 1e-4).unwrap();
        System::<f32>::workspace(&mpm).heap_bytes() as f64 / 1e6
    };
    assert!(megabytes(2_500) < 6.0 && megabytes(30_000) < 8.0, "{} {}", megabytes(2_500), megabytes(30_000));
}
