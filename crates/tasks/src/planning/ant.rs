//! `ant-goal`: an ant of 182 kg carries its torso one meter ahead on eight torques.

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_physics::articulated::losses::PointTarget;

use super::{BuiltTask, RobotTask, TaskOptions, home, place, robot};

const MODEL: &str = pullback_models::ANT;
/// Where the torso is to be, m.
const GOAL: [f64; 3] = [1.0, 0.0, 0.55];
/// Distance from which feet feel the ground on the way back, m.
const FROM: f64 = 0.1;

pub fn task(options: &TaskOptions) -> BuiltTask {
    options.own_model("ant-goal")?;
    options.no_distance("ant-goal")?;
    let robot = robot(MODEL, Some(FROM))?;
    let (key, torso) = (home(&robot)?, place(&robot, "torso")?);
    let success = Success {
        what: "way from the torso to its goal, along the ground".into(),
        unit: "m",
        measure: Box::new(move |state| {
            let p = torso(state);
            ((p[0] - GOAL[0]).powi(2) + (p[1] - GOAL[1]).powi(2)).sqrt()
        }),
        limit: 0.15,
        hold: 5,
    };
    // Controls of 1/60 s; half a second ahead.
    let planning =
        Planning { horizon: 32, apply: 4, spacing: 4, interpolation: Interpolation::Linear, steps: 180 };
    let task = RobotTask::new("ant-goal", robot, Some(&key), 16, planning, success);
    let torso = task.chain("torso")?;
    let there = PointTarget::new(torso, Norm::Smooth(0.1), Weights { running: 1.0, terminal: 10.0 });
    Ok(task.point(there.at(GOAL)).effort(0.01))
}
