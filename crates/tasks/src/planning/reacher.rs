//! `reacher`: the grip of an arm of seven hinges comes to a point and rests there, against gravity.

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_physics::articulated::losses::PointTarget;

use super::{BuiltTask, RobotTask, TaskOptions, distance, home, place, robot};

const MODEL: &str = pullback_models::ARM9;
/// Where the grip is to be, m.
const TARGET: [f64; 3] = [0.35, 0.35, 0.5];

pub fn task(options: &TaskOptions) -> BuiltTask {
    options.own_model("reacher")?;
    options.no_distance("reacher")?;
    let robot = robot(MODEL, None)?;
    let (key, grip) = (home(&robot)?, place(&robot, "grip")?);
    let success = Success {
        what: "distance of the grip from its target".into(),
        unit: "m",
        measure: Box::new(move |state| distance(grip(state), TARGET)),
        limit: 0.03,
        hold: 15,
    };
    // Controls of 0.02 s; half a second ahead.
    let planning =
        Planning { horizon: 25, apply: 3, spacing: 5, interpolation: Interpolation::Linear, steps: 75 };
    let task = RobotTask::new("reacher", robot, Some(&key), 10, planning, success);
    let grip = task.chain("grip")?;
    let there =
        PointTarget::new(grip, Norm::Smooth(0.03), Weights { running: 1.0, terminal: 5.0 }).at(TARGET);
    Ok(task
        .point(there)
        .state("*.v", &[], Norm::Square, Weights { running: 1e-3, terminal: 0.02 })?
        .effort(1e-3))
}
