//! How long a substep of the material point method and its pullback take, and the memory of its workspace.
//!
//! A box of material under a sphere on a grid of 48³ nodes, in motion. Times are the shortest of many, so
//! that other load on the machine hardly shows.
//! `cargo run --release -p pullback-mpm --example mpm_speed [particles] [f32|f64] [material]`

use std::time::{Duration, Instant};

use pullback_articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_core::{Bars, Described, Point, System, Workspace};
use pullback_math::{Quat, Scalar, SymMat3, Vec3};
use pullback_mpm::particles::random_box;
use pullback_mpm::{Elastic, Elastoplastic, Grid, Material, Mpm, Particles};

const MATERIALS: [(&str, Material); 2] = [
    ("von-mises", Material::VonMises(Elastoplastic { young: 4e3, poisson: 0.2, yield_stress: 130.0 })),
    ("neo-hookean", Material::NeoHookean(Elastic { young: 4e3, poisson: 0.2 })),
];

/// A sphere that slides up and down.
fn tool() -> Model {
    let mut model = Model::new("tool");
    model.bodies.push(Body {
        name: "tool".into(),
        parent: 0,
        position: Vec3::new(0.5, 0.5, 0.62),
        orientation: Quat::identity(),
        mass: 1.0,
        com: Vec3::zero(),
        inertia: SymMat3::identity(),
        ..Body::default()
    });
    model.joints.push(Joint::new("down", 1, JointKind::Slide, Vec3::new(0.0, 0.0, 1.0)));
    let sphere = Geom::new("tool", 1, Shape::Sphere { radius: 0.05 });
    model.geoms.push(Geom { friction: [0.9, 0.0, 0.0], ..sphere });
    model
}

/// Particles as dense as 2,500 in a box of 20 cm.
fn scene(material: Material, count: usize) -> Result<Mpm, Box<dyn std::error::Error>> {
    let edge = 0.2 * (count as f64 / 2500.0).cbrt();
    let positions = random_box(count, Vec3::new(0.5, 0.5, 0.08 + edge / 2.0), Vec3::new(edge, edge, edge), 1);
    let mut particles = Particles::default();
    let volume = edge.powi(3) / count as f64;
    particles.add("dough", material, 1.0, volume, &positions, Vec3::new(0.1, 0.0, -0.5))?;
    let mut model = tool();
    model.bodies[1].position.z = 0.08 + edge + 0.04;
    Ok(Mpm::new(Grid::cube(48), particles, model.compile()?, 5e-5)?)
}

/// Shortest of `n` runs.
fn shortest(n: usize, mut run: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..n).map(once).min().unwrap_or_default()
}

fn measure<T: Scalar>(
    kind: &str,
    name: &str,
    material: Material,
    particles: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let mpm = scene(material, particles)?;
    let lift = |x: Vec<f64>| x.into_iter().map(T::lit).collect::<Vec<T>>();
    let layout = mpm.layout();
    let (params, mut state) = (lift(layout.params.defaults()), lift(layout.state.defaults()));
    let control = [T::lit(-0.5)];
    let mut ws = System::<T>::workspace(&mpm);
    let bytes = ws.heap_bytes();
    let mut next = state.clone();
    for _ in 0..200 {
        mpm.step(&mut ws, Point { params: &params, state: &state, control: &control }, &mut next)?;
        std::mem::swap(&mut state, &mut next);
    }
    let runs = if particles > 10_000 { 60 } else { 400 };
    let forward = shortest(runs, || {
        let _ = mpm.step(&mut ws, Point { params: &params, state: &state, control: &control }, &mut next);
    });
    let next_bar: Vec<T> = (0..state.len()).map(|i| T::lit((i as f64 * 0.7).sin())).collect();
    let (mut state_bar, mut control_bar) = (vec![T::zero(); state.len()], [T::zero()]);
    let mut params_bar = vec![T::zero(); params.len()];
    let backward = shortest(runs, || {
        let bars = (&mut state_bar, &mut control_bar, &mut params_bar);
        let _ = mpm.step_vjp(
            &mut ws,
            Point { params: &params, state: &state, control: &control },
            &next_bar,
            Bars { params: bars.2, state: bars.0, control: bars.1 },
        );
    });
    println!(
        "{kind} {name:<12} {particles:>6} particles: forward {:6.3} ms, backward {:6.3} ms ({:.1}x); workspace {:5.2} MB, then {:5.2} MB",
        forward.as_secs_f64() * 1e3,
        backward.as_secs_f64() * 1e3,
        backward.as_secs_f64() / forward.as_secs_f64(),
        bytes as f64 / 1e6,
        ws.heap_bytes() as f64 / 1e6,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let asked = |what: &str, all: &[&str]| {
        let named = wanted.iter().any(|w| all.contains(&w.as_str()));
        !named || wanted.iter().any(|w| w == what)
    };
    for (name, material) in MATERIALS {
        for particles in [2_500, 30_000] {
            if !asked(name, &["von-mises", "neo-hookean"])
                || !asked(&particles.to_string(), &["2500", "30000"])
            {
                continue;
            }
            if asked("f32", &["f32", "f64"]) {
                measure::<f32>("f32", name, material, particles)?;
            }
            if asked("f64", &["f32", "f64"]) {
                measure::<f64>("f64", name, material, particles)?;
            }
        }
    }
    Ok(())
}
