//! The memory of the material point method is known before the first substep, however far the material spreads.

use crate::allocations;
use pullback_core::{Bars, Described, Point, System, Workspace};
use pullback_math::{Scalar, Vec3};
use pullback_physics::articulated::Model;
use pullback_physics::mpm::cloud::random_box;
use pullback_physics::mpm::{Cloud, Grid, Mpm, Stuff};

const PARTICLES: usize = 300;

fn scene() -> Mpm {
    let mut cloud = Cloud::default();
    let places = random_box(PARTICLES, Vec3::new(0.5, 0.5, 0.5), Vec3::new(0.05, 0.05, 0.05), 2);
    cloud.add("drop", Stuff::Fluid(1.0, 0.3), 1e3, 4e-7, &places, Vec3::zero()).unwrap();
    Mpm::new(Grid::cube(48), cloud, Model::new("none").compile().unwrap(), 1e-3).unwrap()
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
    // Every particle flies away from the centre, at 80 times its distance per second; the fluid is too weak to hold it.
    let places = mpm.cloud().positions.clone();
    let velocity = mpm.layout().state.slice("drop.velocity").unwrap().range.start;
    for (p, x) in places.iter().enumerate() {
        for (a, x) in [x.x, x.y, x.z].into_iter().enumerate() {
            state[velocity + 3 * p + a] = T::lit(80.0 * (x - 0.5));
        }
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

#[test]
fn workspaces_are_small() {
    let megabytes = |particles: usize| {
        let mut cloud = Cloud::default();
        let places = random_box(particles, Vec3::new(0.5, 0.5, 0.5), Vec3::new(0.4, 0.4, 0.4), 2);
        cloud.add("dough", Stuff::NeoHookean(1e3, 0.3), 1e3, 1e-6, &places, Vec3::zero()).unwrap();
        let mpm = Mpm::new(Grid::cube(48), cloud, Model::new("none").compile().unwrap(), 1e-4).unwrap();
        System::<f32>::workspace(&mpm).heap_bytes() as f64 / 1e6
    };
    assert!(megabytes(2_500) < 6.0 && megabytes(30_000) < 8.0, "{} {}", megabytes(2_500), megabytes(30_000));
}
