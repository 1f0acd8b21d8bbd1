//! Tools among particles: containers, rolling pins, chopsticks and fingers, each with exact gradients to controls, poses and sizes.

use pullback_core::gradcheck::Options;
use pullback_core::random::Random;
use pullback_core::step_check::check_step;
use pullback_core::{Described, System};
use pullback_math::Vec3;
use pullback_physics::articulated::Model;
use pullback_physics::mpm::cloud::{Cloud, Grid, Stuff, random_box};
use pullback_physics::mpm::grid::Floor;
use pullback_physics::mpm::system::Mpm;
use pullback_physics::mpm::tools::{RollingPin, Tools, chopsticks, container, finger, rolling_pin};

const ANYWHERE: [Option<(f64, f64)>; 3] = [Some((0.1, 0.9)); 3];

/// Dough around `centre`, and colliders that are felt over a whole cell.
fn scene(model: Model, centre: Vec3<f64>, edges: Vec3<f64>) -> Mpm {
    let mut cloud = Cloud::default();
    let places = random_box(24, centre, edges, 3);
    cloud
        .add("dough", Stuff::VonMises(5e3, 0.2, 50.0), 1.3, 1.7e-4, &places, Vec3::new(0.3, -0.2, -0.6))
        .unwrap();
    let grid = Grid { floor: Floor::Friction, floor_friction: 0.4, softness: 20.0, ..Grid::cube(16) };
    Mpm::new(grid, cloud, model, 2e-4).unwrap()
}

/// Checks one substep, and that every control and every size and position of a geom takes part in it.
fn works(mpm: &Mpm, seed: u64) {
    let mut random = Random::new(seed);
    let layout = mpm.layout();
    let mut state = layout.state.defaults();
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
    check_step(mpm, &state, &control, &params, &options).assert_passed();

    let next_bar: Vec<f64> = (0..state.len()).map(|i| (0.7 * i as f64).sin()).collect();
    let mut ws = System::<f64>::workspace(mpm);
    let zeros = |x: &[f64]| vec![0.0; x.len()];
    let (mut x_bar, mut u_bar, mut p_bar) = (zeros(&state), zeros(&control), zeros(&params));
    // Of the material alone: coordinates follow their controls in any case.
    let mut material_bar = next_bar;
    let joints = mpm.robot().coordinates().nq;
    material_bar[..joints].fill(0.0);
    mpm.step_vjp(&mut ws, &params, &state, &control, &material_bar, &mut x_bar, &mut u_bar, &mut p_bar)
        .unwrap();
    assert!(u_bar.iter().all(|u| *u != 0.0), "{u_bar:?}");
    for geom in &mpm.robot().model().geoms {
        for what in ["size", "position", "orientation", "friction"] {
            let slice = layout.params.slice(&format!("{}.{what}", geom.name)).unwrap();
            let felt = p_bar[slice.range.clone()].iter().any(|p| *p != 0.0);
            assert!(felt, "{} of {} is not felt", what, geom.name);
        }
    }
}

#[test]
fn a_container_of_slabs_moves_along_three_axes() {
    let (inner, centre) = (Vec3::new(0.18, 0.22, 0.16), Vec3::new(0.5, 0.5, 0.45));
    let model = container(centre, inner, 0.05, ANYWHERE, 0.5).unwrap();
    works(&scene(model, centre, Vec3::new(0.17, 0.21, 0.15)), 1);
}

#[test]
fn containers_have_the_slabs_of_the_paper() {
    use pullback_physics::articulated::Shape;
    let (inner, centre) = (Vec3::new(0.18, 0.22, 0.16), Vec3::new(0.5, 0.5, 0.15));
    let model = container(centre, inner, 0.05, ANYWHERE, 0.5).unwrap();
    let near = |a: Vec3<f64>, b: [f64; 3]| (a - Vec3::new(b[0], b[1], b[2])).norm() < 1e-12;
    let expected = [
        ("bottom", [0.14, 0.16, 0.025], [0.0, 0.0, -0.105]),
        ("left", [0.025, 0.16, 0.105], [-0.115, 0.0, -0.025]),
        ("right", [0.025, 0.16, 0.105], [0.115, 0.0, -0.025]),
        ("front", [0.14, 0.025, 0.105], [0.0, -0.135, -0.025]),
        ("back", [0.14, 0.025, 0.105], [0.0, 0.135, -0.025]),
    ];
    for (geom, (name, size, at)) in model.geoms.iter().zip(expected) {
        let Shape::Box { half } = geom.shape else { panic!("{name} is no box") };
        assert!(geom.name == name && near(half, size) && near(geom.position, at), "{geom:?}");
    }
}

#[test]
fn rolling_pins_slide_and_yaw() {
    let mut pin = RollingPin::rolling_flat();
    let beside = Vec3::new(0.5, 0.5, 0.25);
    works(&scene(rolling_pin(&pin).unwrap(), beside, Vec3::new(0.2, 0.6, 0.1)), 2);
    pin = RollingPin { origin: Vec3::new(0.5, 0.5, 0.3), ..RollingPin::plasticine() };
    works(&scene(rolling_pin(&pin).unwrap(), beside, Vec3::new(0.2, 0.3, 0.1)), 3);
}

#[test]
fn chopsticks_move_turn_and_close() {
    let centre = Vec3::new(0.5, 0.5, 0.4);
    let model = chopsticks(centre, 0.02, 0.1, 0.06, (0.06, 0.5), ANYWHERE, 10.0).unwrap();
    works(&scene(model, centre, Vec3::new(0.2, 0.15, 0.2)), 4);
}

#[test]
fn fingers_bend_at_every_link() {
    let links = [(0.03, 0.1), (0.025, 0.08), (0.02, 0.07)];
    let model = finger(Vec3::new(0.5, 0.5, 0.6), &links, Some((-1.0, 1.0)), 0.5).unwrap();
    works(&scene(model, Vec3::new(0.5, 0.5, 0.45), Vec3::new(0.2, 0.2, 0.3)), 5);
}

/// Two tools side by side in one model.
#[test]
fn several_tools_share_a_model() {
    let mut tools = Tools::new("two");
    for (name, x) in [("one", 0.42), ("two", 0.58)] {
        let body = tools.body(name, 0, Vec3::new(x, 0.5, 0.4));
        tools.slides(name, body, [Some((0.2, 0.8)), None, Some((0.2, 0.8))]);
        let tyre = pullback_physics::articulated::Shape::Torus { ring: 0.04, tube: 0.02 };
        tools.geom(name, body, tyre, Vec3::zero(), pullback_math::Quat::identity(), 0.7);
    }
    works(&scene(tools.build().unwrap(), Vec3::new(0.5, 0.5, 0.4), Vec3::new(0.15, 0.15, 0.15)), 6);
}
