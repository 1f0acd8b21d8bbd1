//! `cartpole-swing-up`: a cart of 50 kg swings a pole up with ±1000 N and holds it, near the middle of its rail.

use pullback_control::Interpolation;
use pullback_control::task::{Planning, Success};
use pullback_core::losses::{Norm, Weights};

use super::{BuiltTask, RobotTask, TaskOptions, home, robot};

const MODEL: &str = pullback_models::CARTPOLE;

pub fn task(options: &TaskOptions) -> BuiltTask {
    options.own_model("cartpole-swing-up")?;
    options.no_distance("cartpole-swing-up")?;
    let robot = robot(MODEL, None)?;
    let (layout, key) = (pullback_core::Described::layout(&robot), home(&robot)?);
    let angle = layout.state.index_of("hinge.q")?;
    let success = Success {
        what: "angle of the pole from upright".into(),
        unit: "rad",
        measure: Box::new(move |state| state[angle].sin().atan2(state[angle].cos()).abs()),
        limit: 0.1,
        hold: 30,
    };
    // Controls of 1/60 s; a second ahead.
    let planning =
        Planning { horizon: 60, apply: 4, spacing: 5, interpolation: Interpolation::Linear, steps: 240 };
    let more_at_the_end = |weight| Weights { running: weight, terminal: 10.0 * weight };
    Ok(RobotTask::new("cartpole-swing-up", robot, Some(&key), 4, planning, success)
        .state("hinge.q", &[], Norm::Cosine, more_at_the_end(1.0))?
        .state("slider.q", &[], Norm::Square, more_at_the_end(0.1))?
        .state("hinge.v", &[], Norm::Square, more_at_the_end(0.005))?
        .state("slider.v", &[], Norm::Square, more_at_the_end(0.01))?
        .effort(0.01))
}
