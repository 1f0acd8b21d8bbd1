//! Pixels of motions: pullbacks against dual numbers and against differences.

use pullback_core::Described;
use pullback_core::gradcheck::{Options, gradcheck};
use pullback_core::input_map::InputEntry;
use pullback_math::Vec3;
use pullback_optim::least_squares::{LeastSquares, PartMap};
use pullback_physics::soft::mesh::{Diagonals, cloth_grid};
use pullback_physics::soft::{Cloth, Placement, SoftBody};
use pullback_physics::world::World;
use pullback_render::{Material, Paint, shapes};
use pullback_video::{Channels, Difference, Pixels, VisibleWorld};

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
    let tilted = pullback_math::Quat::new(0.9, 0.3, -0.2, 0.1);
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
