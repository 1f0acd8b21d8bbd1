//! `acrobot`: the tip of two links of 1 m rises to 2 m by a motor between them alone.

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_physics::articulated::losses::PointTarget;

use super::{BuiltTask, RobotTask, TaskOptions, distance, home, place, robot};

const MODEL: &str = pullback_models::ACROBOT;
/// Where the tip is to be, m.
const TOP: [f64; 3] = [0.0, 0.0, 2.0];

pub fn task(options: &TaskOptions) -> BuiltTask {
    options.own_model("acrobot")?;
    options.no_distance("acrobot")?;
    let robot = robot(MODEL, None)?;
    let (key, tip) = (home(&robot)?, place(&robot, "tip")?);
    let success = Success {
        what: "distance of the tip from the top".into(),
        unit: "m",
        measure: Box::new(move |state| distance(tip(state), TOP)),
        limit: 0.2,
        hold: 25,
    };
    // Controls of 0.02 s; 1.2 s ahead.
    let planning =
        Planning { horizon: 60, apply: 4, spacing: 4, interpolation: Interpolation::Cubic, steps: 300 };
    let task = RobotTask::new("acrobot", robot, Some(&key), 4, planning, success);
    let tip = task.chain("tip")?;
    let up = PointTarget::new(tip, Norm::Square, Weights { running: 1.0, terminal: 10.0 }).at(TOP);
    Ok(task
        .point(up)
        .state("*.v", &[], Norm::Square, Weights { running: 0.005, terminal: 0.2 })?
        .effort(0.01))
}
