//! Robots beside soft bodies: surfaces, springs, and the particles that belong to neither.

use pullback_core::{Described, Point};
use pullback_physics::articulated::ContactModel;
use pullback_physics::soft::{Part, SoftBody};
use pullback_physics::world::World;
use pullback_replay::{Replay, ReplaySoft};

use super::{COLORS, Instant, Pace, RobotStage, Stage};

/// A world on a stage. Of contacts between geoms those of the penalty model are shown, with their forces; others
/// depend on what particles push, which a state does not tell.
pub(crate) struct WorldStage {
    world: World,
    robot: RobotStage,
    /// Particles of each part that are seen; what a solid hides inside is left out.
    seen: Vec<Vec<usize>>,
}

impl WorldStage {
    pub(crate) fn new(world: World) -> Self {
        let body = world.soft().body();
        let seen = (0..body.parts.len()).map(|part| seen_particles(body, part)).collect();
        let robot = RobotStage::new(world.robot().clone());
        WorldStage { world, robot, seen }
    }
}

impl Stage for WorldStage {
    fn shapes(&self, params: &[f64]) -> Replay {
        let mut page = self.robot.shapes(self.robot_params(params));
        let body = self.world.soft().body();
        page.soft = (0..body.parts.len()).map(|part| shape(body, part, &self.seen[part])).collect();
        page
    }

    fn instant(&mut self, at: Point<'_, f64>) -> Instant {
        let state = self.world.robot_state(at.state);
        let params = &at.params[..self.world.robot().layout().params.len()];
        let instant = if self.world.robot().model().options.contact_model == ContactModel::Penalty {
            let control = self.world.robot().layout().control.defaults();
            self.robot.driven(Point { params, state: &state, control: &control })
        } else {
            self.robot.placed(params, &state)
        };
        let x = self.world.particle_positions(at.state);
        let soft = self.seen.iter().map(|seen| seen.iter().map(|i| x[*i]).collect()).collect();
        Instant { soft, ..instant }
    }

    fn pace(&self) -> Pace {
        Pace::Vertices(self.world.soft().body().particles())
    }
}

impl WorldStage {
    fn robot_params<'a>(&self, params: &'a [f64]) -> &'a [f64] {
        &params[..self.world.robot().layout().params.len()]
    }
}

/// Particles on the surface of a part, at ends of springs, or all where there is no surface.
fn seen_particles(body: &SoftBody, part: usize) -> Vec<usize> {
    let Part { first, count, surface, .. } = &body.parts[part];
    let mut shown = vec![surface.is_empty(); *count];
    let springs = springs(body, part);
    surface.iter().flatten().chain(springs.iter().flatten()).for_each(|i| shown[i - first] = true);
    (*first..first + count).filter(|i| shown[i - first]).collect()
}

fn springs(body: &SoftBody, part: usize) -> Vec<[usize; 2]> {
    let springs = body.springs.corners.iter().zip(&body.springs.parts).filter(|(_, of)| **of == part);
    springs.map(|(ends, _)| *ends).collect()
}

fn shape(body: &SoftBody, part: usize, seen: &[usize]) -> ReplaySoft {
    let Part { name, surface, .. } = &body.parts[part];
    let springs = springs(body, part);
    let place = |i: &usize| seen.partition_point(|p| p < i) as u32;
    let joined: Vec<usize> = surface.iter().flatten().chain(springs.iter().flatten()).copied().collect();
    let lone = seen.iter().filter(|i| surface.is_empty() && !joined.contains(i));
    ReplaySoft {
        name: name.clone(),
        triangles: surface.iter().map(|t| t.map(|i| place(&i))).collect(),
        lines: springs.iter().map(|ends| ends.map(|i| place(&i))).collect(),
        dots: lone.map(place).collect(),
        dot_radius: body.contact.radius,
        rgba: COLORS[part % COLORS.len()],
        vertices: Vec::new(),
    }
}
