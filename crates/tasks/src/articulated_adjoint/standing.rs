//! Tables 1 to 3, Figs. 3 and 8: what gradients of standing quadrupeds cost in memory and time.
//!
//! One or ten robots of 37 state entries hold their home pose on the ground by servos, in one scene. The loss is the
//! height of their bases at the end. The paper does not tell its pose, step and friction; these are of
//! `models/laikago.xml`, with its step of 1 ms.
//!
//! *Time.* A backward step is what a step adds to value and gradient beyond the forward one, so that steps that are
//! computed again count as backward, as in the paper.
//!
//! *Checkpoints.* The paper keeps every k-th state and computes each step between again from the last one kept: its time
//! grows with k. Ours keeps the states between two kept ones while it goes back, so that no step is
//! computed more than twice more.

use std::time::Instant;

use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Described, Rollout, Schedule};

use super::{ExperimentError, Robot, robot, with_bodies};

const QUADRUPED: &str = include_str!("../../../../models/laikago.xml");
/// Angle of every knee in the home pose, rad.
const KNEE: f64 = -0.7;

/// Rollouts of this many steps are in Tables 1 to 3.
pub const STEPS: [usize; 5] = [50, 100, 500, 1000, 5000];

/// Runs some work and returns the peak of heap bytes it took.
pub type Peak<'a> = &'a dyn Fn(&mut dyn FnMut()) -> usize;

/// Quadrupeds on the ground.
pub struct Standing {
    robot: Robot,
    robots: usize,
}

/// What a gradient costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Robots in the scene.
    pub robots: usize,
    /// Steps of the rollout.
    pub steps: usize,
    /// Steps between states that are kept.
    pub interval: usize,
    /// Peak heap bytes as known beforehand, and as measured.
    pub predicted: usize,
    /// As measured.
    pub measured: usize,
    /// Seconds of a forward step of all robots.
    pub forward: f64,
    /// Seconds of a backward step of all robots.
    pub backward: f64,
}

impl Standing {
    /// Some robots in a row, 1 m apart.
    pub fn new(robots: usize) -> Result<Self, ExperimentError> {
        let scene = with_bodies(QUADRUPED, "</replicate>");
        let row = format!("<replicate count='{robots}' offset='0 1 0'><body name=\"chassis\"");
        let scene = scene.replace("<body name=\"chassis\"", &row);
        Ok(Standing { robot: robot(&scene, |_| ())?, robots })
    }

    /// The robots.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    /// The home pose, held by the servos.
    pub fn inputs(&self, steps: usize) -> Result<Inputs<f64>, ExperimentError> {
        let mut inputs = Inputs::defaults(&self.robot, steps);
        let layout = self.robot.layout();
        layout.state.select("*lower*.q")?.into_iter().for_each(|i| inputs.state[i] = KNEE);
        let knees = layout.control.select("*lower*")?;
        for control in inputs.controls.chunks_mut(layout.control.len()) {
            knees.iter().for_each(|i| control[*i] = KNEE);
        }
        Ok(inputs)
    }

    /// Height of all bases at the end.
    fn loss(&self) -> Result<FinalState, ExperimentError> {
        let mut weights = vec![0.0; self.robot.layout().state.len()];
        let positions = self.robot.layout().state.select("root*.position")?;
        positions.chunks(3).for_each(|p| weights[p[2]] = 1.0);
        Ok(FinalState { weights })
    }

    /// States along the motion.
    pub fn states(&self, steps: usize) -> Result<Vec<Vec<f64>>, ExperimentError> {
        let rollout = Rollout::new(&self.robot, steps, Schedule::StoreAll)?;
        let mut states = Vec::with_capacity(steps + 1);
        rollout.simulate(&mut rollout.workspace::<f64>(), &self.inputs(steps)?, |at| {
            states.push(at.state.to_vec());
        })?;
        Ok(states)
    }

    /// The cost of a gradient that keeps every `interval`-th state; times are the best over at least `work` steps.
    pub fn measure(
        &self,
        (steps, interval, work): (usize, usize, usize),
        peak: Peak<'_>,
    ) -> Result<Cost, ExperimentError> {
        let schedule = if interval == 1 { Schedule::StoreAll } else { Schedule::Every(interval) };
        let rollout = Rollout::new(&self.robot, steps, schedule)?;
        let (inputs, loss) = (self.inputs(steps)?, self.loss()?);
        let mut made = None;
        let measured = peak(&mut || {
            let mut ws = rollout.workspace::<f64>();
            made = Some(rollout.gradient(&mut ws, &inputs, &loss));
        });
        made.transpose()?;
        let mut ws = rollout.workspace::<f64>();
        let (mut forward, mut gradient) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..work.div_ceil(steps) {
            let start = Instant::now();
            rollout.value(&mut ws, &inputs, &loss)?;
            forward = forward.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            rollout.gradient(&mut ws, &inputs, &loss)?;
            gradient = gradient.min(start.elapsed().as_secs_f64());
        }
        Ok(Cost {
            robots: self.robots,
            steps,
            interval,
            predicted: rollout.predict_bytes::<f64>(),
            measured,
            forward: forward / steps as f64,
            backward: (gradient - forward).max(0.0) / steps as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrupeds_stand_at_the_cost_foretold() {
        let one = Standing::new(1).unwrap();
        assert_eq!(one.robot().layout().state.len(), 37);
        let end = one.states(1000).unwrap().pop().unwrap();
        assert!((0.46..0.48).contains(&end[2]), "{end:?}");
        let two = Standing::new(2).unwrap();
        let pair = two.states(50).unwrap().pop().unwrap();
        let alone = one.states(50).unwrap().pop().unwrap();
        assert!((0..3).all(|i| (pair[i] - alone[i]).abs() < 1e-12), "{pair:?}");
        let cost = two.measure((20, 5, 1), &|work| {
            work();
            1
        });
        let cost = cost.unwrap();
        assert!(cost.measured == 1 && cost.predicted > 0 && cost.forward > 0.0, "{cost:?}");
    }
}
