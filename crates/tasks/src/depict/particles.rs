//! Pictures of soft bodies and of material points, with the robots among them.

use pullback_core::Described;
use pullback_math::Vec3;
use pullback_physics::mpm::{Material, Mpm};
use pullback_physics::soft::Part;
use pullback_physics::world::World;
use pullback_video::look::{Depict, Look};

use super::robot::{poser, rooms};
use super::{ByLook, set_vectors};
use crate::recording::{COLORS, WATER};

/// Radius of springs, in radii of the particles.
const SPRING: f64 = 0.35;
/// Radius of a material point, in cells: two along each edge of a cell leave no holes.
const MATERIAL_POINT: f64 = 0.36;

/// Draws states of soft bodies and robots.
pub(crate) fn depict_world(world: &World) -> Box<dyn Depict> {
    let robot = world.robot();
    let mut look = Look::of_robot(robot.model(), &rooms(robot, &robot.layout().params.defaults()));
    let body = world.soft().body();
    for (number, part) in body.parts.iter().enumerate() {
        let color = rgb(COLORS[number % COLORS.len()]);
        let Part { first, count, surface, .. } = part;
        look.add_skin(surface, color);
        let springs = body.springs.corners.iter().zip(&body.springs.parts);
        let springs: Vec<[usize; 2]> =
            springs.filter(|(_, of)| **of == number).map(|(ends, _)| *ends).collect();
        for ends in springs.iter().filter(|_| surface.is_empty()) {
            look.add_rod(*ends, SPRING * body.contact.radius, color);
        }
        for particle in *first..first + count {
            let joined = springs.iter().flatten().any(|end| *end == particle);
            if surface.is_empty() && !joined {
                look.add_ball(particle, body.contact.radius, color);
            }
        }
    }
    look.frame(&body.positions);
    let (mut pose, world) = (poser(robot.clone()), world.clone());
    Box::new(ByLook::new(look, move |at, moment| {
        let state = world.robot_state(at.state);
        pose(pullback_core::Point { state: &state, ..at }, moment);
        set_vectors(&mut moment.particles, world.particle_positions(at.state));
    }))
}

/// Draws states of material points and the tools among them.
pub(crate) fn depict_mpm(mpm: &Mpm) -> Box<dyn Depict> {
    let robot = mpm.robot();
    let mut look = Look::of_robot(robot.model(), &rooms(robot, &robot.layout().params.defaults()));
    let mut colors = COLORS.into_iter().cycle();
    for group in &mpm.particles().groups {
        let fluid = matches!(group.material, Material::Fluid(_));
        let color = rgb(if fluid { WATER } else { colors.next().unwrap_or(WATER) });
        for particle in group.range() {
            look.add_ball(particle, MATERIAL_POINT * mpm.grid().spacing, color);
        }
    }
    let mut positions = Vec::new();
    set_vectors(&mut positions, mpm.split(&pullback_core::Described::layout(mpm).state.defaults()).x);
    look.frame(&positions);
    let (mut pose, mpm) = (poser(robot.clone()), mpm.clone());
    let params = mpm.robot().layout().params.defaults();
    Box::new(ByLook::new(look, move |at, moment| {
        pose(pullback_core::Point { params: &params, control: &[], ..at }, moment);
        set_vectors(&mut moment.particles, mpm.split(at.state).x);
    }))
}

fn rgb([r, g, b, _]: [f32; 4]) -> Vec3<f64> {
    Vec3::new(r, g, b).map(f64::from)
}
