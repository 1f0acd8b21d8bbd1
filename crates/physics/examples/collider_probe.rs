//! Throwaway: bits and cost of substeps with many colliders.
use std::time::Instant;

use pullback_core::random::Random;
use pullback_core::{Described, System};
use pullback_math::{Quat, Scalar, SymMat3, Vec3};
use pullback_physics::articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastoplastic, Grid, Material, Mpm, Particles};

fn body(name: &str, parent: usize, position: Vec3<f64>) -> Body {
    Body {
        name: name.into(),
        parent,
        position,
        orientation: Quat::identity(),
        mass: 0.05,
        com: Vec3::zero(),
        inertia: SymMat3::identity() * 1e-4,
    }
}

/// Five fingers of three capsules each on a palm of a box.
fn hand() -> Model {
    let mut model = Model::new("hand");
    model.bodies.push(body("palm", 0, Vec3::new(0.5, 0.62, 0.28)));
    model.joints.push(Joint::new("wrist", 1, JointKind::Hinge, Vec3::new(1.0, 0.0, 0.0)));
    let half = Vec3::new(0.1, 0.03, 0.02);
    model.geoms.push(Geom { friction: [0.5, 0.0, 0.0], ..Geom::new("palm", 1, Shape::Box { half }) });
    for finger in 0..5 {
        let mut parent = 1;
        for link in 0..3 {
            let at = if link == 0 {
                Vec3::new(-0.08 + 0.04 * finger as f64, -0.04, 0.0)
            } else {
                Vec3::new(0.0, -0.06, 0.0)
            };
            model.bodies.push(body(&format!("f{finger}_{link}"), parent, at));
            parent = model.bodies.len() - 1;
            model.joints.push(Joint::new(
                format!("j{finger}_{link}"),
                parent,
                JointKind::Hinge,
                Vec3::new(1.0, 0.0, 0.0),
            ));
            model.geoms.push(Geom {
                friction: [0.5, 0.0, 0.0],
                position: Vec3::new(0.0, -0.03, 0.0),
                orientation: Quat::from_axis_angle(Vec3::new(1.0, 0.0, 0.0), 1.5707963),
                ..Geom::new(
                    format!("g{finger}_{link}"),
                    parent,
                    Shape::Capsule { radius: 0.014, half_length: 0.03 },
                )
            });
        }
    }
    model
}

fn scene(model: Model, coupled: bool) -> Mpm {
    let positions = random_box(2500, Vec3::new(0.5, 0.5, 0.32), Vec3::new(0.2, 0.2, 0.03), 1);
    let mut particles = Particles::default();
    particles
        .add(
            "dough",
            Material::VonMises(Elastoplastic { young: 4e3, poisson: 0.2, yield_stress: 130.0 }),
            1.0,
            4.8e-7,
            &positions,
            Vec3::new(0.1, 0.0, -0.5),
        )
        .unwrap();
    let grid = Grid::cube(48);
    let model = model.compile().unwrap();
    if coupled { Mpm::coupled(grid, particles, model, 5e-5) } else { Mpm::new(grid, particles, model, 5e-5) }
        .unwrap()
}

fn hash<T: Scalar>(x: &[T]) -> u64 {
    x.iter().fold(0xcbf29ce484222325, |h, x| (h ^ x.lane(0).to_bits()).wrapping_mul(0x100000001b3))
}

fn run<T: Scalar>(name: &str, mpm: &Mpm, steps: usize) {
    let lift = |x: Vec<f64>| x.into_iter().map(T::lit).collect::<Vec<T>>();
    let layout = mpm.layout();
    let mut random = Random::new(5);
    let (params, mut state) = (lift(layout.params.defaults()), lift(layout.state.defaults()));
    let control: Vec<T> = (0..layout.control.len()).map(|_| T::lit(random.uniform(-0.3, 0.3))).collect();
    let mut ws = System::<T>::workspace(mpm);
    let mut next = state.clone();
    for _ in 0..20 {
        mpm.step(&mut ws, &params, &state, &control, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
    }
    let start = Instant::now();
    for _ in 0..steps {
        mpm.step(&mut ws, &params, &state, &control, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
    }
    let forward = start.elapsed().as_secs_f64() / steps as f64;
    let next_bar: Vec<T> = (0..state.len()).map(|i| T::lit((i as f64 * 0.7).sin())).collect();
    let mut state_bar = vec![T::zero(); state.len()];
    let mut control_bar = vec![T::zero(); control.len()];
    let mut params_bar = vec![T::zero(); params.len()];
    let start = Instant::now();
    for _ in 0..steps {
        mpm.step_vjp(
            &mut ws,
            &params,
            &state,
            &control,
            &next_bar,
            &mut state_bar,
            &mut control_bar,
            &mut params_bar,
        )
        .unwrap();
    }
    let backward = start.elapsed().as_secs_f64() / steps as f64;
    println!(
        "{name}: state {:016x} bars {:016x} {:016x} {:016x}  forward {:.3} ms backward {:.3} ms",
        hash(&state),
        hash(&state_bar),
        hash(&control_bar),
        hash(&params_bar),
        forward * 1e3,
        backward * 1e3
    );
}

fn main() {
    let steps: usize = std::env::args().nth(1).map_or(100, |s| s.parse().unwrap());
    let which = std::env::args().nth(2).unwrap_or_default();
    for coupled in [false, true] {
        let mpm = scene(hand(), coupled);
        let name = if coupled { "coupled" } else { "driven" };
        if which.is_empty() || which == format!("{name}32") {
            run::<f32>(&format!("{name} f32"), &mpm, steps);
        }
        if which.is_empty() || which == format!("{name}64") {
            run::<f64>(&format!("{name} f64"), &mpm, steps);
        }
    }
}
