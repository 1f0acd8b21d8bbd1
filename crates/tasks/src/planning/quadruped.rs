//! `quadruped-rise`: a Laikago that crouches on its servos rises to its full height and stands level.

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};
use pullback_core::{ConfigError, Described};
use pullback_math::Vec3;
use pullback_physics::articulated::Chain;
use pullback_physics::articulated::losses::PointTarget;

use super::{BuiltTask, RobotTask, TaskOptions, distance, place, robot};

const MODEL: &str = pullback_models::LAIKAGO;
/// Angles of hips and knees in the crouch, rad, and the height of the trunk there, m.
const CROUCH: (f64, f64) = (1.0, -1.8);
const LOW: f64 = 0.244;
/// Where the trunk is to be, m.
const STAND: [f64; 3] = [0.0, 0.0, 0.46];
/// A point this far above the trunk stays above it, m.
const ABOVE: f64 = 0.3;

pub fn task(options: &TaskOptions) -> BuiltTask {
    options.own_model("quadruped-rise")?;
    options.no_distance("quadruped-rise")?;
    let robot = robot(MODEL, None)?;
    let trunk = place(&robot, "chassis")?;
    let success = Success {
        what: "distance of the trunk from its place".into(),
        unit: "m",
        measure: Box::new(move |state| distance(trunk(state), STAND)),
        limit: 0.05,
        hold: 15,
    };
    // Controls of 0.02 s; 0.4 s ahead.
    let planning =
        Planning { horizon: 20, apply: 4, spacing: 4, interpolation: Interpolation::Linear, steps: 60 };
    let mut task = RobotTask::new("quadruped-rise", robot, None, 20, planning, success);
    crouch(&mut task)?;
    let body = task.chain("chassis")?;
    let head = {
        let robot = task.0.system.field();
        let trunk = robot.model().bodies.iter().position(|b| b.name == "chassis");
        let trunk = trunk.ok_or_else(|| ConfigError::new("no body is called `chassis`"))?;
        Chain::new(robot, trunk, Vec3::new(0.0, 0.0, ABOVE))?
    };
    let weights = |running| Weights { running, terminal: 5.0 * running };
    Ok(task
        .point(PointTarget::new(body.clone(), Norm::Square, weights(20.0)).at(STAND))
        .point(PointTarget::new(head, Norm::Square, weights(10.0)).relative_to(body).at([0.0, 0.0, ABOVE]))
        .state("*.v, root.velocity, root.spin", &[], Norm::Square, weights(1e-3))?
        .effort(1e-3))
}

/// Folds the legs, and asks the servos to keep them folded; servos are bounded by the ranges of their joints.
fn crouch(task: &mut RobotTask) -> Result<(), ConfigError> {
    let layout = task.0.system.layout().clone();
    task.0.start[layout.state.index_of("root.position[2]")?] = LOW;
    for joint in &task.0.system.field().model().joints {
        let Some((low, high)) = joint.range else { continue };
        let angle = match &joint.name {
            name if name.ends_with("upper") => CROUCH.0,
            name if name.ends_with("lower") => CROUCH.1,
            _ => 0.0,
        };
        task.0.start[layout.state.index_of(&format!("{}.q", joint.name))?] = angle;
        let servo = layout.control.index_of(&joint.name)?;
        task.0.bounds[servo] = (low, high);
        task.0.nominal[servo] = angle;
    }
    Ok(())
}
