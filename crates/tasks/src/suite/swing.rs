//! `swing-3-…` and `swing-16-…`: a cloth held by two anchors is swung onto the floor (BO-Leap A.2.3).
//!
//! A [`Sheet`] of 20 cm × 20 cm starts level above the floor, two corners in anchors. Cloth and anchors start
//! at one velocity; anchors keep it (they are particles of no acceleration) until they touch the floor and
//! then slide on, the cloth is pulled along and falls. Contact makes velocities tangential, without
//! restitution and friction.
//!
//! Variables: the three components of that velocity, or the stiffness of 4 × 4 patches. Losses, distances at
//! the end of the episode: `single` of the center, `corner` of the four corners on average, `mesh` of all
//! vertices on average. The goal is the end of a motion with other values of the variables
//! (`GOAL_VELOCITY`, `goal_stiffness`), so a loss of zero exists.

use pullback_core::rollout::Loss;
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_math::{Dual, Vec3};
use pullback_physics::soft::{Placement, SpringMaterial};
use pullback_physics::world::World;

use super::losses::{MeanAt, ParticlesAt};
use super::sheet::Sheet;
use super::surfaces::Floor;
use super::tangential::Tangential;
use crate::objectives::Built;
use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_optim::RolloutObjective;

/// Edge of the cloth, m (the paper).
const EDGE: f64 = 0.2;
/// Cells along an edge (ours).
const CELLS: usize = 8;
/// Patches along an edge (the paper).
const PATCHES: usize = 4;
/// Mass of the cloth, kg (ours).
const MASS: f64 = 0.02;
/// Stiffness of a spring where it is not a variable, N/m (ours).
const STIFFNESS: f64 = 30.0;
/// Bounds of the stiffness, N/m (ours).
const STIFFNESSES: (f64, f64) = (5.0, 100.0);
/// Damping of a spring, N s/m (ours).
const DAMPING: f64 = 0.005;
/// Height of the cloth at the start, m (ours).
const HEIGHT: f64 = 0.25;
/// Bounds of every component of the velocity, m/s (ours).
const VELOCITIES: (f64, f64) = (-2.0, 2.0);
/// Velocity where it is not a variable, m/s (ours).
const VELOCITY: [f64; 3] = [0.6, 0.0, -0.6];
/// Velocity that leads to the goal of the tasks with three variables, m/s (ours).
const GOAL_VELOCITY: [f64; 3] = [0.8, 0.3, -0.5];
/// Seconds of an episode (ours).
pub const HORIZON: f64 = 0.5;
/// Seconds per step (ours).
pub const DT: f64 = 1.0 / 2000.0;

/// Stiffness that leads to the goal of the tasks with 16 variables, N/m (ours): soft in the middle, stiff at
/// the rim.
fn goal_stiffness(patch: usize) -> f64 {
    let middle = |k: usize| (1..PATCHES - 1).contains(&k);
    if middle(patch % PATCHES) && middle(patch / PATCHES) { 15.0 } else { 60.0 }
}

/// What is optimized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// The initial velocity.
    Velocity,
    /// The stiffness of the patches.
    Stiffness,
}

/// What is to be at its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The center.
    Single,
    /// The four corners.
    Corner,
    /// All vertices.
    Mesh,
}

/// A swing task.
pub fn swing(variables: Variables, goal: Goal) -> Built {
    let targets = end_of_goal_motion(variables)?;
    let all = || targets.iter().copied().enumerate();
    Ok(match goal {
        Goal::Single => Box::new(task(variables, single(&targets))?),
        Goal::Corner => {
            let corners = Sheet::new(CELLS, PATCHES).corners();
            let targets = all().filter(|(p, _)| corners.contains(p)).collect();
            Box::new(task(variables, ParticlesAt { targets })?)
        }
        Goal::Mesh => Box::new(task(variables, ParticlesAt { targets: all().collect() })?),
    })
}

fn single(targets: &[Vec3<f64>]) -> MeanAt {
    let sum = targets.iter().fold(Vec3::zero(), |sum: Vec3<f64>, x| sum + *x);
    MeanAt { particles: targets.len(), target: sum * (1.0 / targets.len() as f64) }
}

fn task<L>(what: Variables, loss: L) -> Result<RolloutObjective<Tangential<Floor>, L, LinearMap>, ConfigError>
where
    L: Loss<f64> + Loss<Dual<f64>>,
{
    let sheet = Sheet::new(CELLS, PATCHES);
    let [vx, vy, vz] = VELOCITY;
    let placement = Placement::at(0.0, 0.0, HEIGHT).moving(vx, vy, vz);
    let material = SpringMaterial { stiffness: STIFFNESS, damping: DAMPING };
    let mut body = sheet.body([EDGE, EDGE], MASS, material, placement)?;
    // Anchors: the two corners at +x, which lead the cloth.
    for corner in [sheet.particle(CELLS, 0), sheet.particle(CELLS, CELLS)] {
        body.fixed[corner] = true;
    }
    let system = Tangential::new(World::empty(body)?, Floor { friction: 0.0 }, DT, Vec::new())?;
    let map = match what {
        Variables::Velocity => {
            let names = ["velocity.x", "velocity.y", "velocity.z"];
            let variables = names.iter().zip(VELOCITY).map(|(n, v)| Variable::new(*n, "m/s", VELOCITIES, v));
            let mut map = LinearMap::new(variables.collect());
            let velocities = system.layout().state.slice("cloth.velocity")?.range.clone();
            velocities.enumerate().for_each(|(k, i)| map.tie(InputEntry::State(i), 0.0, [(k % 3, 1.0)]));
            map
        }
        Variables::Stiffness => {
            let variable = |k| Variable::new(format!("stiffness[{k}]"), "N/m", STIFFNESSES, STIFFNESS);
            let mut map = LinearMap::new((0..PATCHES * PATCHES).map(variable).collect());
            let stiffnesses = system.layout().params.slice("cloth.spring.stiffness")?.range.clone();
            for (i, shares) in stiffnesses.zip(&sheet.shares) {
                map.tie(InputEntry::Params(i), 0.0, shares.iter().copied());
            }
            map
        }
    };
    let rollout = Rollout::new(system, (HORIZON / DT).round() as usize, Schedule::StoreAll)?;
    Ok(RolloutObjective::new(rollout, loss, map).with_floor(0.0))
}

/// Where the vertices are at the end of the motion that is the goal.
fn end_of_goal_motion(what: Variables) -> Result<Vec<Vec3<f64>>, ConfigError> {
    let x: Vec<f64> = match what {
        Variables::Velocity => GOAL_VELOCITY.to_vec(),
        Variables::Stiffness => (0..PATCHES * PATCHES).map(goal_stiffness).collect(),
    };
    let task = task(what, ParticlesAt { targets: Vec::new() })?;
    let end = task.states(&x).map_err(|e| ConfigError::new(e.to_string()))?.pop().unwrap_or_default();
    let positions = end[..3 * task.rollout().system.particles()].as_chunks::<3>().0;
    Ok(positions.iter().map(|[x, y, z]| Vec3::new(*x, *y, *z)).collect())
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_optim::Objective;

    use super::super::check;
    use super::*;

    /// Differences step over kinks where particles touch down, so forward mode is the judge.
    fn options() -> Options {
        Options { forward_tolerance: 1e-8, difference_tolerance: 1e-3, probes: 1, ..Options::default() }
    }

    #[test]
    fn gradients_of_the_velocity_are_exact() {
        let targets = end_of_goal_motion(Variables::Velocity).unwrap();
        let task = task(Variables::Velocity, single(&targets)).unwrap();
        check::well_posed(&task, 3);
        check::every_entry(&task, &VELOCITY, &options()).assert_passed();
    }

    #[test]
    fn gradients_of_the_stiffness_are_exact() {
        let targets = end_of_goal_motion(Variables::Stiffness).unwrap();
        let targets = targets.into_iter().enumerate().collect();
        let task = task(Variables::Stiffness, ParticlesAt { targets }).unwrap();
        check::well_posed(&task, 16);
        check::along(&task, &task.start(), 2, 0.02, &options()).assert_passed();
    }

    #[test]
    fn the_goal_is_reached_by_the_motion_it_was_made_of_and_by_no_other() {
        for goal in [Goal::Single, Goal::Corner, Goal::Mesh] {
            let three = swing(Variables::Velocity, goal).unwrap();
            assert!(three.value(&GOAL_VELOCITY).unwrap() < 1e-12, "{goal:?}");
            assert!(three.value(&VELOCITY).unwrap() > 0.01, "{goal:?}");
            let patches: Vec<f64> = (0..16).map(goal_stiffness).collect();
            let sixteen = swing(Variables::Stiffness, goal).unwrap();
            assert!(
                sixteen.value(&patches).unwrap() < 1e-12 && sixteen.value(&sixteen.start()).unwrap() > 1e-4
            );
        }
    }

    #[test]
    fn the_cloth_lands_and_does_not_sink() {
        let task = task(Variables::Velocity, ParticlesAt { targets: vec![(0, Vec3::zero())] }).unwrap();
        for x in [VELOCITY, [2.0, -2.0, -2.0], [-2.0, 2.0, 2.0]] {
            let states = task.states(&x).unwrap();
            let (n, end) = (3 * task.rollout().system.particles(), &states[states.len() - 1]);
            assert!(end[..n].iter().all(|x| x.is_finite() && x.abs() < 2.0));
            // Not deeper than one step of the fall.
            assert!(end[..n].iter().skip(2).step_by(3).all(|z| *z > -4.0 * DT), "{x:?}");
        }
        let end = task.states(&VELOCITY).unwrap().pop().unwrap();
        assert!(end.iter().take(243).skip(2).step_by(3).filter(|z| **z < 1e-3).count() > 20);
    }
}
