//! Gradients of soft bodies: every force, and rollouts with contact, against dual numbers and finite
//! differences.

use crate::soft::{cloth, ground, paddle, shaken, solid};
use pullback_core::gradcheck::{Options, Report};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Point, Rollout, Schedule};
use pullback_math::{Quat, Vec3};
use pullback_physics::articulated::Shape;
use pullback_physics::soft::{Attachment, Placement, SoftBody, SoftContact, SolidLaw, SpringMaterial};
use pullback_physics::world::World;

/// Exact against dual numbers; finite differences lose digits to stiff contacts.
fn options() -> Options {
    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() }
}

fn step_of(world: &World, seed: u64, by: f64) -> Report {
    let (state, control, params) = shaken(world, seed, by);
    let system = Integrated::new(world.clone(), 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    check_step(&system, Point { params: &params, state: &state, control: &control }, &options())
}

fn rollout_of(world: &World, seed: u64, steps: usize) -> Report {
    let (state, control, params) = shaken(world, seed, 2e-3);
    let euler = Integrator::fixed(Method::SemiImplicitEuler);
    let system = Integrated::new(world.clone(), 1e-3, euler).unwrap();
    let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
    let loss = FinalState { weights: (0..state.len()).map(|i| (i as f64 * 0.7).sin()).collect() };
    // Differences step over the kinks of particles that touch down or begin to slide on the way.
    let options = Options { difference_tolerance: 2e-2, ..options() };
    check_rollout(
        &rollout,
        &Inputs { state: state.to_vec(), controls: control.repeat(steps), params: params.to_vec() },
        &loss,
        &options,
    )
}

#[test]
fn solids_of_every_law_have_exact_pullbacks() {
    for law in [SolidLaw::NeoHookean, SolidLaw::StVenantKirchhoff, SolidLaw::Corotated] {
        let world = World::empty(solid(law, Placement::default())).unwrap();
        step_of(&world, 1, 0.01).assert_passed();
    }
}

#[test]
fn inverted_and_flat_elements_have_exact_and_finite_pullbacks() {
    for law in [SolidLaw::NeoHookean, SolidLaw::StVenantKirchhoff, SolidLaw::Corotated] {
        let world = World::empty(solid(law, Placement::default())).unwrap();
        // Shaken by as much as an edge is long: several elements are inside out.
        step_of(&world, 2, 0.1).assert_passed();
    }
}

#[test]
fn cloth_with_hinges_wind_and_air_has_exact_pullbacks() {
    let world = World::empty(cloth(Placement::default())).unwrap().with_particle_forces().unwrap();
    step_of(&world, 3, 0.01).assert_passed();
    step_of(&world, 4, 0.05).assert_passed();
}

#[test]
fn the_placement_of_a_part_has_the_pullback_that_differences_see() {
    // A rollout's loss, as a function of where the block stood, how it was turned and how it moved.
    let turn = |axis: Vec3<f64>, angle: f64| Quat::from_axis_angle(axis, angle);
    let at = Placement::at(0.1, -0.2, 0.3).turned(turn(Vec3::new(0.6, 0.0, 0.8), 0.7)).moving(0.3, 0.1, -0.5);
    let weights = |n: usize| -> Vec<f64> { (0..n).map(|i| (i as f64 * 0.7).sin()).collect() };
    let gradient = |placement: Placement| {
        let world = World::new(ground(), solid(SolidLaw::NeoHookean, placement)).unwrap();
        let system = Integrated::new(world, 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
        let rollout = Rollout::new(&system, 20, Schedule::StoreAll).unwrap();
        let inputs = Inputs::<f64>::defaults(&system, 20);
        let mut ws = rollout.workspace::<f64>();
        let loss = FinalState { weights: weights(inputs.state.len()) };
        rollout.gradient(&mut ws, &inputs, &loss).unwrap();
        let (x_bar, v_bar) = ws.gradient.state.split_at(inputs.state.len() / 2);
        let body = system.field().soft().body();
        (ws.gradient.loss, body.placement_vjp(0, x_bar.as_chunks().0, v_bar.as_chunks().0))
    };
    let (_, bar) = gradient(at);
    let h = 1e-5;
    let moved = |f: &dyn Fn(f64) -> Placement| (gradient(f(h)).0 - gradient(f(-h)).0) / (2.0 * h);
    for (axis, unit) in
        [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)].into_iter().enumerate()
    {
        let of = |v: Vec3<f64>| [v.x, v.y, v.z][axis];
        let position = moved(&|s| Placement { position: at.position + unit * s, ..at });
        let turned = moved(&|s| Placement { orientation: turn(unit, s) * at.orientation, ..at });
        let velocity = moved(&|s| Placement { velocity: at.velocity + unit * s, ..at });
        for (seen, bar) in
            [(position, of(bar.position)), (turned, of(bar.turn)), (velocity, of(bar.velocity))]
        {
            assert!((seen - bar).abs() < 1e-5 * bar.abs().max(1.0), "{seen} against {bar}");
        }
    }
}

#[test]
fn springs_have_exact_pullbacks() {
    let mut body = SoftBody::new();
    let corners: Vec<Vec3<f64>> =
        (0..20).map(|i| Vec3::new(0.1 * f64::from(i % 5), 0.1 * f64::from(i / 5), 0.0)).collect();
    let net = body.add_particles("net", &corners, &[0.1; 20], Placement::default()).unwrap();
    let ends: Vec<[usize; 2]> =
        (0..20).flat_map(|i| [[i, i + 1], [i, i + 5]]).filter(|e| e[1] < 20).collect();
    body.add_springs(net, &ends, SpringMaterial { stiffness: 300.0, damping: 0.5 }).unwrap();
    body.fix(net, |x| x.y == 0.0);
    let world = World::empty(body).unwrap();
    step_of(&world, 5, 0.01).assert_passed();
}

#[test]
fn a_block_that_lands_has_the_exact_pullback() {
    let world = World::new(ground(), solid(SolidLaw::NeoHookean, Placement::at(0.0, 0.0, 0.055))).unwrap();
    rollout_of(&world, 6, 20).assert_passed();
}

#[test]
fn cloth_on_a_moving_body_has_the_exact_pullback() {
    for (shape, seed) in [
        (Shape::Sphere { radius: 0.12 }, 17),
        (Shape::Box { half: Vec3::new(0.2, 0.15, 0.04) }, 18),
        (Shape::Capsule { radius: 0.06, half_length: 0.1 }, 19),
        (Shape::Cylinder { radius: 0.1, half_length: 0.06 }, 20),
        (Shape::Ellipsoid { radii: Vec3::new(0.15, 0.1, 0.08) }, 21),
    ] {
        let mut body = cloth(Placement::at(-0.1, -0.1, 0.6));
        body.contact = SoftContact { stiffness: 1e3, damping: 20.0, friction_slope: 0.5, radius: 0.02 };
        for particle in [0, 5] {
            body.attachments.push(Attachment {
                particle,
                body: "paddle".into(),
                point: Vec3::new(0.05, 0.02, 0.1),
                stiffness: 50.0,
                damping: 0.2,
            });
        }
        let world = World::new(paddle(shape), body).unwrap();
        step_of(&world, seed, 2e-3).assert_passed();
        rollout_of(&world, seed, 12).assert_passed();
    }
}
