//! `flip`: move a pan so that the pancake in it ends up turned over (BO-Leap A.2.4).
//!
//! The pan has three degrees of freedom, x, height and tilt. The episode is five segments of equal length;
//! the 15 variables are where the pan is at the end of each, and in between it moves in straight lines. The
//! pancake is a disk of springs, softer than the cloth of `swing`. Contact makes velocities relative to the
//! pan tangential. Loss: mean distance, at the end, of the four pancake vertices that started outermost along
//! ±x and ±y from where they would be if the pancake were turned about y in place.

use pullback_core::{ConfigError, Rollout, Schedule};
use pullback_math::Vec3;
use pullback_physics::soft::mesh::disk;
use pullback_physics::soft::{Placement, SoftBody, SpringMaterial};
use pullback_physics::world::World;

use super::losses::ParticlesAt;
use super::surfaces::Pan;
use super::tangential::Tangential;
use crate::objectives::Built;
use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_optim::RolloutObjective;

/// Segments of an episode (the paper).
const SEGMENTS: usize = 5;
/// Seconds per segment (ours).
const SEGMENT: f64 = 0.2;
/// Seconds per step (ours).
pub const DT: f64 = 0.001;
/// Height of the pan at the start, m (ours).
const HEIGHT: f64 = 0.5;
/// Radius of the pancake, m (ours).
const RADIUS: f64 = 0.12;
/// Rings of the pancake and vertices per ring (ours).
const MESH: (usize, usize) = (4, 12);
/// Mass of the pancake, kg (ours).
const MASS: f64 = 0.04;
/// Stiffness of the springs along edges, and of those across an edge against bending, N/m (ours).
const STIFFNESS: [f64; 2] = [20.0, 10.0];
/// Damping of the springs, N s/m (ours).
const DAMPING: f64 = 0.02;
/// Largest |x| and |height − [`HEIGHT`]| of the pan, m, and |tilt|, rad (ours).
const REACH: [f64; 3] = [0.4, 0.4, 1.2];
/// Where an optimization starts: x, height above `HEIGHT`, tilt at the end of each segment (ours): down,
/// then up with the nose.
pub const START: [[f64; 3]; SEGMENTS] =
    [[0.0, -0.15, -0.3], [0.0, 0.2, 0.5], [-0.05, 0.1, 0.2], [-0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]];

/// The task of 15 variables.
pub fn flip() -> Built {
    Ok(Box::new(task()?))
}

fn task() -> Result<RolloutObjective<Tangential<Pan>, ParticlesAt, LinearMap>, ConfigError> {
    let (rings, around) = MESH;
    let mesh = disk(rings, around, RADIUS).map_err(|e| ConfigError::new(e.to_string()))?;
    let mut body = SoftBody::new();
    let masses = mesh.masses(MASS / mesh.area());
    let part = body.add_particles("pancake", &mesh.positions, &masses, Placement::at(0.0, 0.0, HEIGHT))?;
    let springs = |stiffness| SpringMaterial { stiffness, damping: DAMPING };
    body.add_springs(part, &mesh.edges(), springs(STIFFNESS[0]))?;
    let across: Vec<[usize; 2]> = mesh.hinges().iter().map(|[a, b, ..]| [*a, *b]).collect();
    body.add_springs(part, &across, springs(STIFFNESS[1]))?;

    // Outermost along +x, +y, −x, −y; turned about y, those along x change places.
    let outer = |quarter: usize| 1 + (rings - 1) * around + quarter * around / 4;
    let corners = [0, 1, 2, 3].map(outer);
    let targets = corners.map(|v| {
        let x = mesh.positions[v];
        (v, Vec3::new(-x.x, x.y, HEIGHT))
    });
    let system = Tangential::new(World::empty(body)?, Pan, DT, Vec::new())?;
    let per_segment = (SEGMENT / DT).round() as usize;
    let rollout = Rollout::new(system, SEGMENTS * per_segment, Schedule::StoreAll)?;
    Ok(RolloutObjective::new(rollout, ParticlesAt { targets: targets.to_vec() }, waypoints(per_segment))
        .with_floor(0.0))
}

/// Pose and rate of the pan in every step, as weighted sums of the waypoints.
fn waypoints(per_segment: usize) -> LinearMap {
    let names = [("x", "m"), ("height", "m"), ("tilt", "rad")];
    let variable = |segment: usize, k: usize| {
        let (name, unit) = names[k];
        Variable::new(format!("{name}[{segment}]"), unit, (-REACH[k], REACH[k]), START[segment][k])
    };
    let variables = (0..SEGMENTS).flat_map(|s| (0..3).map(move |k| variable(s, k))).collect();
    let mut map = LinearMap::new(variables);
    for step in 0..SEGMENTS * per_segment {
        let (segment, fraction) = (step / per_segment, (step % per_segment) as f64 / per_segment as f64);
        for k in 0..3 {
            let before = segment.checked_sub(1).map(|s| 3 * s + k);
            let after = 3 * segment + k;
            let between = |before_weight: f64, after_weight: f64| {
                before.map(|i| (i, before_weight)).into_iter().chain([(after, after_weight)])
            };
            // pose = before + (after − before) s,  rate = (after − before) / T
            let offset = if k == 1 { HEIGHT } else { 0.0 };
            map.tie(InputEntry::Control(6 * step + k), offset, between(1.0 - fraction, fraction));
            map.tie(InputEntry::Control(6 * step + 3 + k), 0.0, between(-1.0 / SEGMENT, 1.0 / SEGMENT));
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_optim::Objective;

    use super::super::check;
    use super::*;

    #[test]
    fn gradients_are_exact() {
        let task = task().unwrap();
        check::well_posed(&task, 15);
        // A tossed pancake is chaotic, and differences step over vertices that touch a step earlier: forward
        // mode is the judge.
        let options =
            Options { forward_tolerance: 1e-7, difference_tolerance: 1e-2, probes: 1, ..Options::default() };
        check::along(&task, &task.start(), 3, 1e-3, &options).assert_passed();
    }

    #[test]
    fn a_pan_at_rest_keeps_its_pancake_and_a_pan_that_lifts_takes_it_along() {
        let task = task().unwrap();
        let still = task.states(&[0.0; 15]).unwrap();
        let end = &still[still.len() - 1];
        let n = 3 * task.rollout().system.particles();
        assert!(end[..n].iter().skip(2).step_by(3).all(|z| (z - HEIGHT).abs() < 2e-3));
        // Not flipped: the two corners along x are a diameter away, the two along y where they should be.
        let value = task.value(&[0.0; 15]).unwrap();
        assert!((value - RADIUS).abs() < 0.01, "{value}");
        let lift: Vec<f64> =
            (0..15).map(|i| if i % 3 == 1 { 0.04 * (i / 3 + 1) as f64 } else { 0.0 }).collect();
        let end = task.states(&lift).unwrap().pop().unwrap();
        assert!((end[2] - HEIGHT - 0.2).abs() < 5e-3, "{}", end[2]);
    }

    #[test]
    fn a_pan_that_drops_away_leaves_the_pancake_in_the_air() {
        let task = task().unwrap();
        let mut x = [0.0; 15];
        // 0.4 m in 0.2 s is faster than the fall.
        (0..5).for_each(|s| x[3 * s + 1] = -0.4);
        let states = task.states(&x).unwrap();
        let at = &states[200];
        assert!((at[2] - (HEIGHT - 0.5 * 9.81 * 0.04)).abs() < 2e-3, "{}", at[2]);
    }
}
