//! `pusher`: the tip of a planar arm pushes a puck to a place. The distance of the puck is all that counts, so there is no
//! gradient before the tip touches it, but for contacts from distance (DiffMJX, section 4).

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_physics::articulated::losses::PointTarget;

use super::{BuiltTask, RobotTask, TaskOptions, distance, home, place, robot};

const MODEL: &str = pullback_models::PUSHER;
/// Where the puck is to be, m; it starts at (0.42, 0.2).
const GOAL: [f64; 3] = [0.3, 0.42, 0.04];
/// Distance from which contacts act on the way back, m.
const FROM: f64 = 0.3;

pub fn task(options: &TaskOptions) -> BuiltTask {
    options.own_model("pusher")?;
    let robot = robot(MODEL, Some(options.from_distance.unwrap_or(FROM)).filter(|width| *width > 0.0))?;
    let (key, puck) = (home(&robot)?, place(&robot, "puck")?);
    let success = Success {
        what: "distance of the puck from its goal".into(),
        unit: "m",
        measure: Box::new(move |state| distance(puck(state), GOAL)),
        limit: 0.03,
        hold: 20,
    };
    // Controls of 0.02 s; 0.8 s ahead.
    let planning =
        Planning { horizon: 40, apply: 4, spacing: 4, interpolation: Interpolation::Linear, steps: 150 };
    let task = RobotTask::new(format!("pusher{}", options.label()), robot, Some(&key), 4, planning, success);
    let puck = task.chain("puck")?;
    let there = PointTarget::new(puck, Norm::Smooth(0.02), Weights { running: 1.0, terminal: 5.0 }).at(GOAL);
    Ok(task.point(there).state("shoulder.v, elbow.v", &[], Norm::Square, Weights::always(1e-4))?.effort(1e-3))
}
