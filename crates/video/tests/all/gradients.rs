//! Pixels of motions: pullbacks against dual numbers and against differences.

use pullback_core::gradcheck::{Options, gradcheck};
use pullback_core::input_map::InputEntry;
use pullback_core::{Described, Schedule};
use pullback_math::{Quat, SymMat3, Vec3};
use pullback_optim::least_squares::{LeastSquares, PartMap};
use pullback_physics::articulated::{Articulated, Body, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::pendulum::DoublePendulum;
use pullback_physics::soft::mesh::{Diagonals, cloth_grid};
use pullback_physics::soft::{Cloth, Placement, SoftBody};
use pullback_physics::world::World;
use pullback_render::{Material, Paint, shapes};
use pullback_video::{Channels, Difference, Pixels, VisibleBalls, VisibleRobot, VisibleRods, VisibleWorld};

use crate::support::compared;

fn check(problem: &dyn LeastSquares, at: &[f64]) {
    let options =
        Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, probes: 1, ..Options::default() };
    gradcheck(&PartMap { problem, part: 0 }, at, &options).assert_passed();
}

/// A tilted cloth of six particles above a ground that stands still.
fn cloth() -> (World, VisibleWorld) {
    let mut body = SoftBody::new();
    let mesh = cloth_grid(2, 1, 0.8, 0.5, Diagonals::Alternating).unwrap();
    let tilted = Quat::new(0.9, 0.3, -0.2, 0.1);
    let placement = Placement::at(-0.2, -0.1, 0.1).turned(tilted).moving(0.5, 0.3, 0.8);
    let soft = Cloth { density: 5.0, mu: 20.0, lambda: 20.0, damping: 0.2, ..Cloth::default() };
    body.add_cloth("cloth", &mesh, soft, placement).unwrap();
    let world = World::empty(body).unwrap();
    let texture = Paint::Vertices((0..6).map(|i| Vec3::new(0.9, 0.1 * f64::from(i), 0.3)).collect());
    let visible = VisibleWorld::new(&world)
        .with_look("cloth", texture, Material::shiny(0.3, 4.0).smoothed())
        .unwrap()
        .with_still(
            &shapes::rectangle(1, 1, 2.0, 2.0),
            Paint::Uniform(Vec3::new(0.3, 0.4, 0.5)),
            Material::matt(),
        );
    (world, visible)
}

#[test]
fn of_soft_bodies_in_every_measure() {
    for (channels, difference) in [
        (Channels::Rgba, Difference::Values),
        (Channels::Color, Difference::Gradients),
        (Channels::Silhouette, Difference::Values),
    ] {
        let (world, visible) = cloth();
        let velocity = world.layout().state.slice("cloth.velocity").unwrap().range.start;
        let mass = world.layout().params.slice("cloth.mass").unwrap().range.start;
        let entries = [
            (InputEntry::State(world.particle_entries().start + 4), "position"),
            (InputEntry::State(velocity + 2), "velocity"),
            (InputEntry::Params(mass + 3), "mass"),
        ];
        let pixels = Pixels { channels, difference, noise: 0.01 };
        let (problem, at) = compared(world, 0.01, 6, visible, pixels, &entries);
        check(&problem, &at);
    }
}

/// A block that a free joint carries over a floor, with a mesh of its own on a hinge below it.
fn robot() -> (Articulated, VisibleRobot) {
    let mut model = Model::new("block");
    let body = |name: &str, parent| Body {
        name: name.into(),
        parent,
        position: Vec3::new(0.05, 0.0, 0.1),
        mass: 1.0,
        com: Vec3::new(0.02, 0.01, 0.0),
        inertia: SymMat3::identity() * 0.02,
        ..Body::default()
    };
    model.bodies.extend([body("block", 0), body("flap", 1)]);
    model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    model.joints.push(Joint::new("hinge", 2, JointKind::Hinge, Vec3::new(0.3, 1.0, 0.0).normalize()));
    let orange = [0.8, 0.4, 0.1, 1.0];
    let shape = Shape::Box { half: Vec3::new(0.25, 0.15, 0.1) };
    let turned = Quat::new(0.9, 0.1, 0.3, -0.2);
    model.geoms.push(Geom { rgba: orange, orientation: turned, ..Geom::new("box", 1, shape) });
    model.options.contact = false;
    let robot = Articulated::new(model.compile().unwrap()).unwrap();
    let star = shapes::star(3, 0.3, 0.1, 0.1).moved(|x| x + Vec3::new(0.0, 0.2, -0.3));
    let colors = Paint::Faces((0..star.topology.faces.len()).map(color).collect());
    let visible = VisibleRobot::new(&robot).with_mesh("flap", &star, colors, Material::matt()).unwrap();
    (robot, visible)
}

fn color(i: usize) -> Vec3<f64> {
    Vec3::new(0.2 + 0.07 * (i % 8) as f64, 0.8 - 0.05 * (i % 5) as f64, 0.4)
}

#[test]
fn of_robots_and_meshes_on_their_bodies() {
    let (robot, visible) = robot();
    let state = |name: &str| robot.layout().state.index_of(name).unwrap();
    let entries = [
        (InputEntry::State(state("free.position[2]")), "height"),
        (InputEntry::State(state("free.orientation[2]")), "orientation"),
        (InputEntry::State(state("hinge.q")), "angle"),
        (InputEntry::State(state("free.spin[0]")), "spin"),
        (InputEntry::Params(robot.layout().params.index_of("flap.mass").unwrap()), "mass"),
    ];
    let begins = [1.0, 0.2, 0.4, 2.0, 1.3];
    let (problem, _) = compared(robot.clone(), 0.03, 6, visible, Pixels::default(), &entries);
    check(&problem, &begins);
}

#[test]
fn of_pendula() {
    let double = DoublePendulum::default();
    let visible = VisibleRods::from(&double);
    let entries = [
        (InputEntry::State(0), "angle"),
        (InputEntry::State(3), "rate"),
        (InputEntry::Params(0), "upper length"),
        (InputEntry::Params(3), "lower length"),
    ];
    let (problem, _) = compared(double, 0.05, 4, visible, Pixels::default(), &entries);
    check(&problem, &[0.5, 0.7, 0.4, 0.3]);
}

#[test]
fn of_particles() {
    // A cloth's particles as balls.
    let (world, _) = cloth();
    let visible = VisibleBalls::new().with_balls(world.particle_entries(), 0.1, color(0));
    let velocity = world.layout().state.slice("cloth.velocity").unwrap().range.start;
    let entries = [
        (InputEntry::State(world.particle_entries().start + 4), "position"),
        (InputEntry::State(velocity + 2), "velocity"),
    ];
    let (problem, at) = compared(world, 0.01, 4, visible, Pixels::default(), &entries);
    check(&problem, &at);
}

#[test]
fn with_few_states_kept_and_their_memory_predicted() {
    let (world, visible) = cloth();
    let entries = [(InputEntry::State(world.particle_entries().start + 4), "position")];
    let states = world.layout().state.len() * size_of::<f64>();
    let problem = || compared(world.clone(), 0.01, 30, visible.clone(), Pixels::default(), &entries);
    let (all, at) = problem();
    let few = problem().0.with_schedule(Schedule::Revolve { slots: 3 }).unwrap();
    let saved = all.predict_bytes(0) - few.predict_bytes(0);
    assert!((24 * states..=30 * states).contains(&saved), "{saved} for states of {states}");

    // Both go back the same way, bit by bit.
    let pulled = |problem: &dyn LeastSquares| {
        let mut bar = vec![0.0];
        let residuals = vec![1.0; problem.residual_count(0)];
        problem.vjp(0, &at, &residuals, &mut bar).unwrap();
        bar
    };
    assert_eq!(pulled(&all), pulled(&few));
}
