//! Fig. 6 b: a linkage hits a golf ball to a target.
//!
//! Two links of 0.5 m hang on hinges about x and swing down from the horizontal; the second hits a ball on
//! a tee. The loss is the distance of the ball from the target after 1,000 steps of 1 ms.
//!
//! Masses, lengths, mass centers, ball, restitution 0.5, friction 2, target and step are those of the
//! paper's code. Ours: inertias (rods of these masses, a solid ball), a tee that is high enough for the
//! ball to rest on it and that the club passes through, a club as long as its link, and torques that start
//! at zero, as the paper says; its code draws them from N(0, 1). A club of half that length, the other
//! reading of the code's box, grazes the ball with its end: no rate that was tried came nearer than 0.35 m.

use pullback_core::rollout::Inputs;

use super::contest::{Descent, Task, torques};
use super::{ExperimentError, Measure, Reach, Robot, robot, state_entry};

/// Steps of an episode, s each.
const STEPS: usize = 1000;
const DT: f64 = 1e-3;
/// Where the ball is to be at the end, m.
const TARGET: [f64; 3] = [0.0, -3.0, -1.0];
/// The paper's code stops at this distance, m.
const SOLVED: f64 = 0.05;
/// Largest torque of a search, N m, and steps that it holds in the one over intervals.
const BOUND: f64 = 20.0;
const HOLD: usize = 50;

const SCENE: &str = "<mujoco model='golf'>
  <compiler angle='radian'/>
  <option timestep='0.001' gravity='0 0 -9.8'/>
  <default><geom friction='2 0 0'/></default>
  <worldbody>
    <geom name='tee' type='box' size='0.0125 0.0125 0.0125' pos='0 -0.1 -0.8875' contype='2' conaffinity='0'/>
    <body name='upper'>
      <joint name='shoulder' axis='1 0 0'/>
      <inertial pos='0 0.5 0' mass='1' diaginertia='0.0208 0.0001 0.0208'/>
      <geom name='upper' type='capsule' fromto='0 0 0 0 0.5 0' size='0.012' contype='0' conaffinity='0'/>
      <body name='lower' pos='0 0.5 0'>
        <joint name='elbow' axis='1 0 0'/>
        <inertial pos='0 0.5 0' mass='2.16' diaginertia='0.045 0.0002 0.045'/>
        <geom name='club' type='box' size='0.0125 0.25 0.0125' pos='0 0.25 0' contype='1' conaffinity='0'/>
      </body>
    </body>
    <body name='ball' pos='0 -0.1 -0.85'>
      <freejoint name='ball'/>
      <geom name='ball' type='sphere' size='0.025' mass='0.5' contype='0' conaffinity='3'/>
    </body>
  </worldbody>
  <actuator>
    <motor name='shoulder' joint='shoulder'/>
    <motor name='elbow' joint='elbow'/>
  </actuator>
</mujoco>";

fn linkage() -> Result<Robot, ExperimentError> {
    robot(SCENE, |model| {
        model.options.timestep = DT;
        model.options.complementarity.restitution = 0.5;
    })
}

/// The golf shot.
pub fn task() -> Result<Task, ExperimentError> {
    let robot = linkage()?;
    let base = Inputs::defaults(&robot, STEPS);
    let ball = state_entry(&robot, "ball.position")?;
    let loss =
        Reach { entries: (ball..ball + 3).collect(), target: TARGET.to_vec(), measure: Measure::Distance };
    Ok(Task {
        name: "golf",
        descent: Descent::Adam { rate: 0.5 },
        objective: torques(&robot, base.clone(), loss.clone(), (STEPS, 1), BOUND)?,
        coarse: Some(torques(&robot, base, loss, (STEPS, HOLD), BOUND)?),
        sigma: 0.3,
        solved: SOLVED,
        unit: "m",
        paper: (50, Some(1500)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::directions::{Direction, gradcheck_along};
    use pullback_core::gradcheck::Options;
    use pullback_core::random::Random;
    use pullback_optim::Objective;

    #[test]
    fn the_gradient_through_the_hit_is_that_of_the_steps() {
        let (task, mut random) = (task().unwrap(), Random::new(1));
        let start = task.objective.start();
        let directions = [0, 1].map(|i| Direction {
            name: format!("torques {i}"),
            entries: start.iter().map(|_| 0.01 * random.normal()).collect(),
        });
        let options =
            Options { probes: 1, forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
        let report = gradcheck_along(&task.objective, &start, &directions, &options);
        assert!(report.passed(), "{report}");
    }
}
