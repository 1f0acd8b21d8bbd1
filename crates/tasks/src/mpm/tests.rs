//! Tools of the scenes among particles: exact gradients in every control, and in size, position and friction
//! of every geom.

use pullback_core::gradcheck::{Options, Report};
use pullback_core::random::Random;
use pullback_core::step_check::{check_step, check_step_along};
use pullback_core::{Bars, Described, Point, System};
use pullback_math::Vec3;
use pullback_physics::articulated::{Model, Shape};
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastoplastic, Floor, Grid, Material, Mpm, Particles};

use super::blueprint::Blueprint;
use super::{ALL, Size, find};

type Check = fn(&Mpm, Point<'_, f64>, &Options) -> Report;

/// What a scene is made of.
fn blueprint(scene: &str, size: Size) -> Blueprint {
    (find(scene).unwrap().1.blueprint)(scene, size).unwrap()
}

/// The tools of a scene, with the body that carries them all moved to `at`.
fn tools(scene: &str, at: Vec3<f64>) -> Model {
    let mut model = blueprint(scene, Size::Small).tools.model;
    let by = at - model.bodies[1].position;
    model.bodies.iter_mut().filter(|b| b.parent == 0).skip(1).for_each(|b| b.position += by);
    model
}

/// Dough around `center`, and colliders with a range of a whole cell.
fn among_dough(model: Model, count: usize, center: Vec3<f64>, edges: Vec3<f64>) -> Mpm {
    let mut particles = Particles::default();
    let positions = random_box(count, center, edges, 3);
    let velocity = Vec3::new(0.3, -0.2, -0.6);
    let dough = Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 });
    particles.add("dough", dough, 1.3, 1.7e-4, &positions, velocity).unwrap();
    let grid = Grid { floor: Floor::Friction, floor_friction: 0.4, softness: 20.0, ..Grid::cube(16) };
    Mpm::new(grid, particles, model, 2e-4).unwrap()
}

/// Checks one substep from the reference of the model.
fn check_tools(mpm: &Mpm, seed: u64, check: Check) {
    check_tools_from(mpm, &[], seed, check);
}

/// Checks one substep with the first coordinates given, and that every control and every size and position of
/// a geom takes part in it.
fn check_tools_from(mpm: &Mpm, start: &[f64], seed: u64, check: Check) {
    let mut random = Random::new(seed);
    let layout = mpm.layout();
    let mut state = layout.state.defaults();
    state[..start.len()].copy_from_slice(start);
    for slice in layout.state.slices() {
        let by = match slice.name.rsplit('.').next() {
            Some("affine") => 0.5,
            Some("deformation") => 0.06,
            Some("velocity") => 0.2,
            Some("orientation") => 0.1,
            _ => 0.003,
        };
        state[slice.range.clone()].iter_mut().for_each(|x| *x += by * random.normal());
    }
    let control: Vec<f64> = layout.control.defaults().iter().map(|_| random.normal()).collect();
    let params: Vec<f64> = layout.params.defaults().iter().map(|p| p * random.uniform(0.97, 1.03)).collect();
    let options =
        Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() };
    check(mpm, Point { params: &params, state: &state, control: &control }, &options).assert_passed();

    // Of the material alone: coordinates follow their controls in any case.
    let mut material_bar: Vec<f64> = (0..state.len()).map(|i| (0.7 * i as f64).sin()).collect();
    mpm.split_mut(&mut material_bar).q.fill(0.0);
    let mut ws = System::<f64>::workspace(mpm);
    let zeros = |x: &[f64]| vec![0.0; x.len()];
    let (mut x_bar, mut u_bar, mut p_bar) = (zeros(&state), zeros(&control), zeros(&params));
    mpm.step_vjp(
        &mut ws,
        Point { params: &params, state: &state, control: &control },
        &material_bar,
        Bars { params: &mut p_bar, state: &mut x_bar, control: &mut u_bar },
    )
    .unwrap();
    assert!(u_bar.iter().all(|u| *u != 0.0), "{u_bar:?}");
    for geom in mpm.robot().model().geoms.iter().filter(|g| g.collision_bits != 0) {
        for what in ["size", "position", "orientation", "friction"] {
            // A ball looks the same from all sides.
            let round = what == "orientation" && matches!(geom.shape, Shape::Sphere { .. });
            let slice = layout.params.slice(&format!("{}.{what}", geom.name)).unwrap();
            let has_gradient = p_bar[slice.range.clone()].iter().any(|p| *p != 0.0);
            assert!(has_gradient != round, "{what} of {}: a gradient is {has_gradient}", geom.name);
        }
    }
}

#[test]
fn a_container_of_slabs_moves_along_three_axes() {
    let center = Vec3::new(0.5, 0.5, 0.45);
    let model = tools("fluid-move", center);
    check_tools(&among_dough(model, 24, center, Vec3::new(0.17, 0.21, 0.15)), 1, check_step);
}

#[test]
fn containers_have_the_slabs_of_the_paper() {
    let model = tools("fluid-move", Vec3::new(0.5, 0.5, 0.15));
    let near = |a: Vec3<f64>, b: [f64; 3]| (a - Vec3::new(b[0], b[1], b[2])).norm() < 1e-12;
    // Inner sizes 0.18, 0.22, 0.16 m and walls of 0.05 m.
    let expected = [
        ("bottom", [0.14, 0.16, 0.025], [0.0, 0.0, -0.105]),
        ("right", [0.025, 0.16, 0.105], [0.115, 0.0, -0.025]),
        ("left", [0.025, 0.16, 0.105], [-0.115, 0.0, -0.025]),
        ("front", [0.14, 0.025, 0.105], [0.0, -0.135, -0.025]),
        ("back", [0.14, 0.025, 0.105], [0.0, 0.135, -0.025]),
    ];
    let slabs: Vec<_> = model.geoms.iter().filter(|g| g.body == 1).collect();
    assert_eq!(slabs.len(), expected.len());
    for (geom, (name, size, at)) in slabs.into_iter().zip(expected) {
        let Shape::Box { half } = geom.shape else { panic!("{name} is no box") };
        assert!(near(half, size) && near(geom.position, at), "{name}: {geom:?}");
    }
}

#[test]
fn rolling_pins_slide_and_yaw() {
    let beside = Vec3::new(0.5, 0.5, 0.25);
    // It yaws about a point half a meter from its middle.
    let pin = tools("rolling-flat", Vec3::new(0.5, 1.0, 0.2875));
    check_tools(&among_dough(pin, 24, beside, Vec3::new(0.2, 0.6, 0.1)), 2, check_step);
    let pin = tools("plb-rollingpin", Vec3::new(0.5, 0.5, 0.3));
    check_tools(&among_dough(pin, 24, beside, Vec3::new(0.2, 0.3, 0.1)), 3, check_step);
}

#[test]
fn chopsticks_move_turn_and_close() {
    let center = Vec3::new(0.5, 0.5, 0.4);
    let model = tools("plb-chopsticks", center);
    check_tools(&among_dough(model, 24, center, Vec3::new(0.2, 0.15, 0.2)), 4, check_step);
}

#[test]
fn fingers_bend_at_every_link() {
    let wrist = Vec3::new(0.5, 0.75, 0.4);
    let middle = wrist + Vec3::new(0.0, -0.28, 0.1);
    // Bent as the scene begins: straight fingers are at the end of their range.
    let start = blueprint("hand-flip", Size::Small).tools.start;
    let model = tools("hand-flip", wrist);
    assert_eq!((model.nv, start.len()), (24, 24));
    let mpm = among_dough(model, 900, middle, Vec3::new(0.45, 0.6, 0.4));
    check_tools_from(&mpm, &start, 5, check_step_along);
}

#[test]
fn several_tools_share_a_model() {
    let left = Vec3::new(0.36, 0.5, 0.4);
    let balls = tools("plb-move", left);
    check_tools(
        &among_dough(balls, 30, left + Vec3::new(0.14, 0.0, 0.0), Vec3::new(0.36, 0.1, 0.1)),
        6,
        check_step,
    );
    let torus = tools("plb-torus", left);
    check_tools(&among_dough(torus, 24, left, Vec3::new(0.15, 0.15, 0.15)), 7, check_step);
}

/// The table's seconds per action are those of the substeps.
#[test]
fn actions_are_as_long_as_the_table_says() {
    for name in ALL.names() {
        let (_, spec) = find(name).unwrap();
        for size in [Size::Full, Size::Coarse] {
            let made = blueprint(name, size);
            let action = made.substeps as f64 * made.dt;
            assert!((action - spec.action).abs() < 1e-12 * spec.action, "{name}: {action} s");
        }
    }
}
