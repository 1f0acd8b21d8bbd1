//! Robots that feel the material they push: exact gradients through the reaction, and the laws it holds.

use pullback_articulated::{Actuator, Bias, Body, Gain, Geom, Joint, JointKind, Model, Shape};
use pullback_core::gradcheck::{Options, Report};
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout_along, check_step};
use pullback_core::{Bars, Described, Inputs, Point, Rollout, Schedule, System};
use pullback_math::{Flat, Quat, SymMat3, Vec3};
use pullback_mpm::particles::random_box;
use pullback_mpm::{Elastic, Floor, Grid, Material, Mpm, Particles};

const X: Vec3<f64> = Vec3 { x: 1.0, y: 0.0, z: 0.0 };
const Y: Vec3<f64> = Vec3 { x: 0.0, y: 1.0, z: 0.0 };
const Z: Vec3<f64> = Vec3 { x: 0.0, y: 0.0, z: 1.0 };

/// A body whose origin is its center of mass.
fn body(name: &str, parent: usize, position: Vec3<f64>, mass: f64, inertia: SymMat3<f64>) -> Body {
    let (orientation, com) = (Quat::identity(), Vec3::zero());
    Body { name: name.into(), parent, position, orientation, mass, com, inertia, ..Body::default() }
}

/// A slide whose coordinate is `start` where the bodies stand as described, with its spring at rest there.
fn slide(name: &str, body: usize, axis: Vec3<f64>, start: f64, range: Option<(f64, f64)>) -> Joint {
    let joint = Joint::new(name, body, JointKind::Slide, axis);
    Joint { reference: start, spring_reference: start, range, ..joint }
}

/// A shape that deflects material and does not collide with others.
fn geom(name: &str, body: usize, shape: Shape, friction: f64) -> Geom {
    Geom { collides_with: 0, friction: [friction, 0.0, 0.0], ..Geom::new(name, body, shape) }
}

/// Inertia of the tools below, kg m².
fn inertia() -> SymMat3<f64> {
    SymMat3::diagonal(Vec3::new(1e-4, 1.2e-4, 0.9e-4))
}

/// A free body of one shape.
fn free(shape: Shape, at: Vec3<f64>, mass: f64, inertia: f64) -> Model {
    let mut model = Model::new("free");
    let inertia = SymMat3::diagonal(Vec3::new(inertia, 1.3 * inertia, 0.8 * inertia));
    model.bodies.push(body("body", 0, at, mass, inertia));
    model.joints.push(Joint::new("body", 1, JointKind::Free, Z));
    model.geoms.push(geom("geom", 1, shape, 0.6));
    model.compile().unwrap()
}

/// A capsule on two slides and a hinge, the first held by a position servo and limited, the second by a
/// velocity servo.
fn held() -> Model {
    let mut model = Model::new("held");
    model.bodies.push(body("tool", 0, Vec3::new(0.5, 0.5, 0.42), 0.02, inertia()));
    let turn = Joint::new("turn", 1, JointKind::Hinge, Y);
    model.joints = vec![
        slide("x", 1, X, 0.5, Some((0.499, 0.6))),
        slide("z", 1, Z, 0.42, Some((0.2, 0.8))),
        Joint { damping: 1e-3, stiffness: 0.02, ..turn },
    ];
    let shape = Shape::Capsule { radius: 0.05, half_length: 0.06 };
    model.geoms.push(Geom {
        position: Vec3::new(0.01, 0.0, 0.0),
        orientation: Quat::from_axis_angle(X, 0.9),
        ..geom("tool", 1, shape, 0.6)
    });
    for (name, joint, gain, bias) in
        [("x servo", 0, 30.0, [0.0, -30.0, -0.4]), ("z servo", 1, 2.0, [0.0, 0.0, -2.0])]
    {
        let (gain, bias) = (Gain::Fixed(gain), Bias::Affine(bias));
        model.actuators.push(Actuator { gain, bias, ..Actuator::motor(name, joint, 1.0) });
    }
    model.compile().unwrap()
}

/// Two parallel capsules that move along three slides and turn about a ball as one, each with a slide that is
/// half the gap.
fn chopsticks(at: Vec3<f64>) -> Model {
    let mut model = Model::new("chopsticks");
    model.bodies.push(body("hand", 0, at, 0.02, inertia()));
    for (name, axis, start) in [("x", X, at.x), ("y", Y, at.y), ("z", Z, at.z)] {
        model.joints.push(slide(name, 1, axis, start, Some((0.1, 0.9))));
    }
    model.joints.push(Joint::new("turn", 1, JointKind::Ball, Z));
    for (i, (name, side)) in [("left", -1.0), ("right", 1.0)].into_iter().enumerate() {
        model.bodies.push(body(name, 1, X * (side * 0.05), 0.02, inertia()));
        model.joints.push(slide(&format!("{name}.gap"), 2 + i, X * side, 0.05, Some((0.01, 0.15))));
        let shape = Shape::Capsule { radius: 0.03, half_length: 0.08 };
        model.geoms.push(geom(&format!("{name}.stick"), 2 + i, shape, 1.0));
    }
    model.compile().unwrap()
}

fn scene(material: Material, model: Model) -> Mpm {
    let mut particles = Particles::default();
    let positions = random_box(18, Vec3::new(0.5, 0.5, 0.33), Vec3::new(0.16, 0.16, 0.12), 3);
    particles.add("dough", material, 1.3, 1.7e-4, &positions, Vec3::new(0.3, -0.2, 0.6)).unwrap();
    // Soft colliders reach further than a node here, so that many nodes feel them.
    let grid = Grid { floor: Floor::Friction, floor_friction: 0.4, softness: 20.0, ..Grid::cube(12) };
    Mpm::coupled(grid, particles, model, 2e-4).unwrap()
}

/// The default inputs, shaken.
fn shaken(mpm: &Mpm, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let layout = mpm.layout();
    let mut state = layout.state.defaults();
    for slice in layout.state.slices() {
        let by = match slice.name.rsplit('.').next() {
            Some("affine") => 0.5,
            Some("deformation") => 0.06,
            Some("velocity" | "v" | "spin") => 0.2,
            _ => 0.003,
        };
        state[slice.range.clone()].iter_mut().for_each(|x| *x += by * random.normal());
    }
    let control = layout.control.defaults().iter().map(|_| random.uniform(0.2, 0.8)).collect();
    let params = layout.params.defaults().iter().map(|p| p * random.uniform(0.9, 1.1)).collect();
    (state, control, params)
}

fn options() -> Options {
    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() }
}

fn models() -> [(&'static str, Model); 4] {
    let at = Vec3::new(0.5, 0.5, 0.42);
    [
        ("ball", free(Shape::Sphere { radius: 0.08 }, at, 0.02, 5e-5)),
        ("box", free(Shape::Box { half: Vec3::new(0.07, 0.06, 0.05) }, at, 0.02, 5e-5)),
        ("held", held()),
        ("chopsticks", chopsticks(at)),
    ]
}

#[test]
fn a_substep_has_the_exact_pullback() {
    for (i, (name, model)) in models().into_iter().enumerate() {
        let mpm = scene(Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 }), model);
        let (state, control, params) = shaken(&mpm, 20 + i as u64);
        println!("{name}");
        check_step(&mpm, Point { params: &params, state: &state, control: &control }, &options())
            .assert_passed();
    }
}

/// The body's velocity depends on masses and velocities of particles, on friction and sizes.
#[test]
fn the_reaction_has_gradients() {
    let mpm = scene(Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 }), held());
    let (state, control, params) = shaken(&mpm, 22);
    let zeros = |x: &[f64]| vec![0.0; x.len()];
    let mut next_bar = zeros(&state);
    next_bar[mpm.layout().state.slice("z.v").unwrap().range.start] = 1.0;
    let (mut x_bar, mut u_bar, mut p_bar) = (zeros(&state), zeros(&control), zeros(&params));
    let mut ws = System::<f64>::workspace(&mpm);
    mpm.step_vjp(
        &mut ws,
        Point { params: &params, state: &state, control: &control },
        &next_bar,
        Bars { params: &mut p_bar, state: &mut x_bar, control: &mut u_bar },
    )
    .unwrap();
    for name in ["dough.velocity", "dough.position", "dough.affine", "dough.deformation"] {
        let slice = mpm.layout().state.slice(name).unwrap();
        assert!(x_bar[slice.range.clone()].iter().any(|x| *x != 0.0), "{name}");
    }
    for name in ["dough.density", "dough.young", "tool.size", "tool.friction", "tool.mass", "z servo.gain"] {
        let slice = mpm.layout().params.slice(name).unwrap();
        assert!(p_bar[slice.range.clone()].iter().any(|x| *x != 0.0), "{name}");
    }
}

fn rollout_of(model: Model, steps: usize, seed: u64) -> Report {
    let mpm = scene(Material::NeoHookean(Elastic { young: 5e3, poisson: 0.2 }), model);
    let (state, control, params) = shaken(&mpm, seed);
    let rollout = Rollout::new(&mpm, steps, Schedule::StoreAll).unwrap();
    let loss = FinalState { weights: (0..state.len()).map(|i| (i as f64 * 0.7).sin()).collect() };
    // Contacts of nodes come and go on the way; differences step over these kinks.
    let options = Options { difference_tolerance: 0.3, ..options() };
    check_rollout_along(
        &rollout,
        &Inputs { state: state.to_vec(), controls: control.repeat(steps), params: params.to_vec() },
        &loss,
        &options,
    )
}

#[test]
fn rollouts_have_the_exact_pullback() {
    for (i, (name, model)) in models().into_iter().enumerate() {
        println!("{name}");
        rollout_of(model, 40, 40 + i as u64).assert_passed();
    }
}

#[test]
fn momentum_of_material_and_body_is_kept_to_round_off() {
    let mut particles = Particles::default();
    let positions = random_box(400, Vec3::new(0.4, 0.5, 0.5), Vec3::new(0.2, 0.2, 0.2), 5);
    let velocity = Vec3::new(2.0, 0.3, -0.1);
    let block = Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 });
    particles.add("block", block, 2.0, 2e-5, &positions, velocity).unwrap();
    let mut model =
        free(Shape::Box { half: Vec3::new(0.05, 0.08, 0.06) }, Vec3::new(0.57, 0.52, 0.49), 0.02, 5e-5);
    model.options.gravity = Vec3::zero();
    let mpm = Mpm::coupled(Grid::cube(24), particles, model, 1e-4).unwrap();
    let (params, mut state) = (mpm.layout().params.defaults(), mpm.layout().state.defaults());
    let momentum = |state: &[f64]| {
        let view = mpm.split(state);
        let material = view.v.iter().fold(Vec3::zero(), |s, v| s + Vec3::new(v[0], v[1], v[2])) * 4e-5;
        (material, Vec3::read(view.u) * 0.02)
    };
    let start = momentum(&state);
    let mut ws = System::<f64>::workspace(&mpm);
    let mut next = state.clone();
    for _ in 0..400 {
        mpm.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
    }
    let (material, body) = momentum(&state);
    let drift = (material + body - start.0 - start.1).norm() / start.0.norm();
    println!("drift {drift:e}, body {body:?}");
    assert!(drift < 1e-14, "{drift}");
    // It was hit, and turns.
    assert!(body.x > 0.2 * start.0.x, "{body:?} {start:?}");
    let spin = mpm.layout().state.slice("body.spin").unwrap().range.clone();
    assert!(state[spin].iter().any(|w| w.abs() > 0.1));
}

/// A body a hundredth as heavy as what hits it leaves at that speed, not at a hundred times it.
#[test]
fn light_bodies_are_not_thrown_back() {
    let mut particles = Particles::default();
    let positions = random_box(400, Vec3::new(0.4, 0.5, 0.5), Vec3::new(0.2, 0.2, 0.2), 5);
    let block = Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 });
    particles.add("block", block, 2.0, 2e-5, &positions, Vec3::new(2.0, 0.0, 0.0)).unwrap();
    let half = 0.06;
    let (mass, shape) = (1.6e-4, Shape::Box { half: Vec3::new(half, half, half) });
    let mut model = free(shape, Vec3::new(0.57, 0.5, 0.5), mass, mass * half * half * 2.0 / 3.0);
    model.options.gravity = Vec3::zero();
    let mpm = Mpm::coupled(Grid::cube(24), particles, model, 1e-4).unwrap();
    let (params, mut state) = (mpm.layout().params.defaults(), mpm.layout().state.defaults());
    let mut ws = System::<f64>::workspace(&mpm);
    let (mut next, mut fastest) = (state.clone(), 0.0f64);
    for _ in 0..300 {
        mpm.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
        fastest = fastest.max(Vec3::read(mpm.split(&state).u).x.abs());
    }
    println!("fastest {fastest}");
    assert!((1.0..4.0).contains(&fastest), "{fastest}");
}

/// Cells of the water tank below, m.
const CELL: f64 = 1.0 / 32.0;
/// Half a box of four cells, m.
const HALF: f64 = 2.0 * CELL;

/// A tank of water, 10 × 10 × 12 cells, with a box of four cells at height z; held by a spring if stiffness
/// is not 0.
fn tank(density: f64, z: f64, stiffness: f64) -> Mpm {
    let center = Vec3::new(7.5 * CELL, 7.5 * CELL, z);
    let (low, step) = (2.0 * CELL, 0.5 * CELL);
    let at = |i: usize| low + (i as f64 + 0.5) * step;
    let lattice = (0..22 * 22 * 24).map(|k| Vec3::new(at(k % 22), at(k / 22 % 22), at(k / 484)));
    let apart = |x: &Vec3<f64>| (*x - center).map(f64::abs).zip(Vec3::new(HALF, HALF, HALF), |d, h| d - h);
    let positions: Vec<Vec3<f64>> =
        lattice.filter(|x| apart(x).x.max(apart(x).y).max(apart(x).z) > 0.0).collect();
    let mut particles = Particles::default();
    let water = Material::Fluid(Elastic { young: 1e6, poisson: 0.3 });
    particles.add("water", water, 1000.0, step * step * step, &positions, Vec3::zero()).unwrap();
    let mass = density * 8.0 * HALF.powi(3);
    let mut model = Model::new("box");
    model.bodies.push(body("box", 0, center, mass, SymMat3::identity() * (mass * HALF * HALF * 2.0 / 3.0)));
    model.joints.push(if stiffness > 0.0 {
        Joint { stiffness, damping: 40.0, ..slide("box", 1, Z, z, None) }
    } else {
        Joint::new("box", 1, JointKind::Free, Z)
    });
    model.geoms.push(geom("box", 1, Shape::Box { half: Vec3::new(HALF, HALF, HALF) }, 0.0));
    let grid = Grid {
        nodes: [16, 16, 32],
        spacing: CELL,
        floor: Floor::Friction,
        floor_friction: 0.0,
        ..Grid::cube(32)
    };
    Mpm::coupled(grid, particles, model.compile().unwrap(), 4e-4).unwrap()
}

/// Height of the box, averaged over the second half of `steps` substeps.
fn height(mpm: &Mpm, steps: usize) -> f64 {
    let (params, mut state) = (mpm.layout().params.defaults(), mpm.layout().state.defaults());
    let mut ws = System::<f64>::workspace(mpm);
    let (mut next, mut sum) = (state.clone(), 0.0);
    // The coordinate of a slide, or the z of a free body.
    let position = |what: &str| mpm.layout().state.slice(&format!("box.{what}")).map(|s| s.range.clone());
    let z = position("q").or_else(|_| position("position")).unwrap().end - 1;
    for k in 0..steps {
        mpm.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
        if k >= steps / 2 {
            sum += state[z];
        }
    }
    sum / (steps - steps / 2) as f64
}

/// Archimedes, as far as four cells resolve him: a sixth of the buoyancy is missing, a twentieth with eight.
#[test]
fn a_box_under_water_is_lifted_by_what_it_displaces() {
    let (z, stiffness, density) = (0.25, 3000.0, 1000.0);
    let lifted = height(&tank(density, z, stiffness), 1200) - z;
    let displaced = 1000.0 * 8.0 * HALF.powi(3) * 9.81;
    let ratio = (stiffness * lifted + density / 1000.0 * displaced) / displaced;
    println!("buoyancy over Archimedes' {ratio}");
    assert!((0.75..1.0).contains(&ratio), "{ratio}");
}

#[test]
fn light_boxes_rise_and_heavy_ones_sink() {
    let (z, steps) = (0.25, 500);
    let (light, heavy) = (height(&tank(300.0, z, 0.0), steps), height(&tank(2500.0, z, 0.0), steps));
    println!("light {light} heavy {heavy}");
    assert!(light > z + 0.002 && heavy < z - 0.01, "{light} {heavy}");
}
