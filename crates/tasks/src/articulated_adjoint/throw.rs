//! Fig. 6 a: an arm with nine degrees of freedom throws a ball to a target.
//!
//! The arm stands straight at q = 0 and holds the ball between its fingers, which close for 6 s and open
//! for 4 s; all other torques start at zero. The loss is the distance of the ball from the target after
//! 1,000 steps of 0.01 s. Step, gravity, ball, friction and the way from ball to target are those of the
//! paper's code; its gravity is 1/980 m/s², which lets the ball fly straight. When fingers open is ours:
//! the code's hold no ball.

use pullback_core::Described;
use pullback_core::rollout::Inputs;

use super::contest::{Descent, Task, torques};
use super::{ExperimentError, Measure, Reach, Robot, robot, state_entry, with_bodies};

const ARM: &str = pullback_models::ARM9;
/// Steps of an episode, s each.
const STEPS: usize = 1000;
const DT: f64 = 0.01;
/// Gravity of the paper's code, m/s².
const GRAVITY: f64 = 1.0 / 980.0;
/// Where the ball is held, m: the arm's grip at q = 0.
const BALL: [f64; 3] = [0.09, 0.0, 0.82];
/// From there to the target, m.
const WAY: [f64; 3] = [0.1773, 0.2222, -0.1626];
/// Opening of each finger that just holds the ball, m.
const OPENING: f64 = 0.0099;
/// Force that closes a finger, N, and the step at which it turns around.
const GRIP: f64 = 0.1;
const RELEASE: usize = 600;
/// The task is solved at this distance, m: 3 % of the way.
const SOLVED: f64 = 0.01;
/// Largest torque of a search, N m, and steps that it holds in the one over intervals.
const BOUND: f64 = 0.5;
const HOLD: usize = 50;

fn arm_with_ball() -> Result<Robot, ExperimentError> {
    let [x, y, z] = BALL;
    let ball = format!(
        "<body name='ball' pos='{x} {y} {z}'><freejoint name='ball'/>
         <geom name='ball' type='sphere' size='0.01' mass='0.05' friction='2 0 0' contype='1' conaffinity='1'
          rgba='0.86 0.3 0.2 1'/></body>"
    );
    robot(&with_bodies(ARM, &ball), |model| {
        (model.options.timestep, model.options.gravity.z) = (DT, -GRAVITY);
        // q = 0 is beyond the range of the elbow.
        model.options.limits = false;
    })
}

/// The throw.
pub fn task() -> Result<Task, ExperimentError> {
    shortened(STEPS)
}

/// The throw in fewer steps.
fn shortened(steps: usize) -> Result<Task, ExperimentError> {
    let robot = arm_with_ball()?;
    let mut base = Inputs::defaults(&robot, steps);
    let fingers = robot.layout().control.select("finger_*")?;
    for (step, control) in base.controls.chunks_mut(robot.layout().control.len()).enumerate() {
        let force = if step < RELEASE * steps / STEPS { -GRIP } else { GRIP };
        fingers.iter().for_each(|i| control[*i] = force);
    }
    for name in ["finger_left.q", "finger_right.q"] {
        base.state[state_entry(&robot, name)?] = OPENING;
    }
    let ball = state_entry(&robot, "ball.position")?;
    let target = (0..3).map(|i| BALL[i] + WAY[i]).collect();
    let loss = Reach { entries: (ball..ball + 3).collect(), target, measure: Measure::Distance };
    Ok(Task {
        name: "throw",
        descent: Descent::Adam { rate: 0.008 },
        objective: torques(&robot, base.clone(), loss.clone(), (steps, 1), BOUND)?,
        coarse: Some(torques(&robot, base, loss, (steps, HOLD), BOUND)?),
        sigma: 0.1,
        solved: SOLVED,
        unit: "m",
        paper: (20, Some(500)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::articulated_adjoint::contest::descend;

    #[test]
    fn a_short_throw_comes_nearer() {
        let trace = descend(&shortened(300).unwrap(), 6, || ()).unwrap();
        assert!(trace.lowest() < 0.95 * trace.iterations[0].loss, "{trace:?}");
    }
}
