//! Fig. 7: the friction between wheels and ground with which a car slides to a target.
//!
//! The car starts on the ground at 1 m/s and slides for 1,000 steps of 1 ms. The loss is the squared
//! distance from x = 0.8 m, the paper's target; its code has 0.75 m and drops the car from z = 0.6 m. Car,
//! step, the first guess μ = 0.002 and the loss at which the search stops are the code's.
//!
//! *Brakes.* On wheels that turn freely the car rolls as soon as they do, and no friction stops it short of
//! 0.89 m. Here dry friction of 1 N m holds them, so that x = v t − μ g t²/2 as long as the car slides.

use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_core::rollout::Inputs;
use pullback_core::{Described, Rollout, Schedule};
use pullback_optim::{Objective, RolloutObjective};

use super::contest::{Descent, Simulated, Task};
use super::{ExperimentError, Measure, Reach, Robot, robot, state_entry};

const CAR: &str = pullback_models::RACECAR;
/// Steps of an episode.
const STEPS: usize = 1000;
/// First velocity, m/s.
const VELOCITY: f64 = 1.0;
/// Torque of the brakes, N m.
const BRAKE: f64 = 1.0;
/// First guess of the friction, and the largest of a search.
const START: f64 = 0.002;
const MOST: f64 = 0.5;
/// Where the car is to be at the end, m.
const TARGET: f64 = 0.8;
/// The paper's code stops at this squared distance, m².
const SOLVED: f64 = 1e-4;

fn car() -> Result<Robot, ExperimentError> {
    robot(CAR, |model| {
        model.joints.iter_mut().filter(|j| j.name.ends_with("wheel")).for_each(|j| j.frictionloss = BRAKE);
        // Of two frictions the larger one holds: that of the wheels.
        model.geoms.iter_mut().filter(|g| g.name == "floor").for_each(|g| g.friction[0] = 0.0);
    })
}

fn sliding(robot: &Robot) -> Result<Simulated, ExperimentError> {
    let mut base = Inputs::defaults(robot, STEPS);
    let x = state_entry(robot, "root.position")?;
    base.state[state_entry(robot, "root.velocity")?] = VELOCITY;
    let mut map = LinearMap::new(vec![Variable::new("friction", "1", (0.0, MOST), START)]);
    for i in robot.layout().params.select("*wheel.friction")? {
        map.tie(InputEntry::Params(i), 0.0, [(0, 1.0)]);
    }
    let loss = Reach { entries: vec![x], target: vec![TARGET], measure: Measure::Squared };
    let rollout = Rollout::new(robot.clone(), STEPS, Schedule::StoreAll)?;
    Ok(RolloutObjective::new(rollout, loss, map).with_base(base).with_floor(0.0))
}

/// The sliding car.
pub fn task() -> Result<Task, ExperimentError> {
    let robot = car()?;
    Ok(Task {
        name: "racecar",
        descent: Descent::Plain { rate: 0.02 },
        objective: sliding(&robot)?,
        coarse: None,
        sigma: 0.3,
        solved: SOLVED,
        unit: "m²",
        paper: (10, None),
    })
}

/// Loss at `points` frictions up to 0.1: Fig. 7 d.
pub fn landscape(task: &Task, points: usize) -> Result<Vec<(f64, f64)>, ExperimentError> {
    let friction = |i: usize| 0.1 * i as f64 / (points - 1) as f64;
    (0..points).map(|i| Ok((friction(i), task.objective.value(&[friction(i)])?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::articulated_adjoint::contest::descend;

    #[test]
    fn the_car_slides_as_friction_says() {
        let task = task().unwrap();
        let (friction, mut gradient) = (0.05, [0.0]);
        let loss = task.objective.value_grad(&[friction], &mut gradient).unwrap();
        // x = v t − μ g t²/2, with t = 1 s
        let x = VELOCITY - 0.5 * friction * 9.8;
        assert!((loss.sqrt() - (TARGET - x).abs()).abs() < 1e-3, "{loss}");
        assert!((gradient[0] / (2.0 * (x - TARGET) * -4.9) - 1.0).abs() < 0.02, "{gradient:?}");
        let trace = descend(&task, 10, || ()).unwrap();
        assert!(trace.until(task.solved).is_some(), "{trace:?}");
    }
}
