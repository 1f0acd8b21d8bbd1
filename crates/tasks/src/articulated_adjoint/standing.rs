//! Tables 1 to 3, Figs. 3 and 8: what gradients of standing quadrupeds cost in memory and time.
//!
//! One or ten robots of 37 state entries hold their home pose on the ground by servos, in one scene. The
//! loss is the height of their bases at the end. The paper does not tell its pose, step and friction; these
//! are of `models/laikago.xml`, with its step of 1 ms.
//!
//! *Time.* A backward step is what a step adds to value and gradient beyond the forward one, so that steps
//! that are computed again count as backward, as in the paper.
//!
//! *Checkpoints.* The paper keeps every k-th state and computes each step between again from the last one
//! kept: its time grows with k. Ours keeps the states between two kept ones while it goes back, so that a
//! step is computed only once more than if every state were kept.

use std::time::Instant;

use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Described, Rollout, Schedule};

use super::{ExperimentError, Replay, Robot, replay, robot, with_bodies};
use crate::results::{Goal, Results};

const QUADRUPED: &str = pullback_models::LAIKAGO;
/// Angle of every knee in the home pose, rad.
const KNEE: f64 = -0.7;

/// Rollouts of this many steps are in Tables 1 to 3.
pub const STEPS: [usize; 5] = [50, 100, 500, 1000, 5000];

/// A row of Tables 1 to 3: a framework, and its figure at each of [`STEPS`].
pub type PaperRow = (&'static str, [f64; 5]);

/// Not in the table: out of memory, or not within ten minutes.
const NONE: f64 = f64::NAN;

/// Table 1: peak memory, MB.
pub const PAPER_MEMORY: [PaperRow; 5] = [
    ("Ceres", [100.0, 200.0, 1100.0, 2700.0, 23_600.0]),
    ("CppAD", [16.0, 26.0, 160.0, 320.0, 3100.0]),
    ("JAX", [200.0, 200.0, 400.0, 700.0, 3000.0]),
    ("PyTorch", [1200.0, 2400.0, 11_700.0, 12_400.0, NONE]),
    ("the paper", [0.3, 0.3, 0.7, 1.2, 5.0]),
];

/// Table 2: time of a forward step, ms.
pub const PAPER_FORWARD: [PaperRow; 6] = [
    ("ADF", [25.7, 25.5, 25.1, 32.1, 58.4]),
    ("Ceres", [27.2, 27.5, 27.2, 34.0, 58.2]),
    ("CppAD", [2.4, 2.4, 2.3, 2.3, 4.5]),
    ("JAX", [53.3, 46.1, 43.1, 42.7, 42.3]),
    ("PyTorch", [195.6, 192.2, 199.2, 192.8, NONE]),
    ("the paper", [0.3, 0.3, 0.2, 0.2, 0.2]),
];

/// Table 3: time of a backward step, ms.
pub const PAPER_BACKWARD: [PaperRow; 5] = [
    ("Ceres", [29.5, 29.6, 29.5, 37.6, 62.8]),
    ("CppAD", [2.4, 2.3, 2.3, 2.4, 4.8]),
    ("JAX", [148.1, 125.7, 127.6, 129.6, 126.6]),
    ("PyTorch", [275.7, 273.3, 280.8, 272.1, NONE]),
    ("the paper", [1.2, 1.1, 1.2, 1.1, 1.2]),
];

/// The figure of the paper's own method in a table.
fn paper(table: &[PaperRow], steps: usize) -> Option<f64> {
    let place = STEPS.iter().position(|s| *s == steps)?;
    table.last().map(|(_, figures)| figures[place])
}

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
    /// Sum of the heights at the end, m.
    pub loss: f64,
}

impl Cost {
    /// Adds figures; a single robot that keeps every state stands beside the paper's.
    pub fn add_results(&self, results: &mut Results) {
        let who = if self.robots == 1 { "1 quadruped".into() } else { format!("{} quadrupeds", self.robots) };
        let kept = match self.interval {
            1 => String::new(),
            k => format!(", one state of {k} kept"),
        };
        let case = format!("{who}, {} steps{kept}", self.steps);
        let tabled = |table| paper(table, self.steps).filter(|_| self.robots == 1 && self.interval == 1);
        let mut row = |metric: &str, value: f64, unit: &str, peer: Option<f64>| {
            results.row(&case, metric, value, unit);
            if let (Some(row), Some(peer)) = (results.rows.last_mut(), peer) {
                (row.peer, row.peer_name) = (Some(peer), Some("the paper".into()));
            }
        };
        let (megabytes, predicted) = (self.measured as f64 / 1e6, self.predicted as f64 / 1e6);
        let (forward, backward) = (1e3 * self.forward, 1e3 * self.backward);
        row("predicted peak memory", predicted, "MB", None);
        row("measured peak memory", megabytes, "MB", tabled(&PAPER_MEMORY));
        row("forward step", forward, "ms", tabled(&PAPER_FORWARD));
        row("backward step", backward, "ms", tabled(&PAPER_BACKWARD));
        let figures = [
            ("peak memory over the paper's", megabytes, tabled(&PAPER_MEMORY)),
            ("forward step over the paper's", forward, tabled(&PAPER_FORWARD)),
            ("backward step over the paper's", backward, tabled(&PAPER_BACKWARD)),
        ];
        for (what, figure, paper) in figures {
            if let Some(paper) = paper {
                results.goals.push(Goal::at_most(format!("{case}: {what}"), figure / paper, 1.0));
            }
        }
        let off = (self.measured as f64 / self.predicted as f64 - 1.0).abs();
        results.goals.push(Goal::at_most(format!("{case}: measured over predicted memory − 1"), off, 0.05));
    }
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

    /// The page of the first second.
    pub fn replay(&self) -> Result<Replay, ExperimentError> {
        Ok(replay(&self.robot, &self.inputs(1000)?, self.states(1000)?))
    }

    /// The cost of a gradient that keeps every `interval`-th state; times are the best of as many rollouts as
    /// make up `work` steps.
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
        let (mut forward, mut gradient, mut height) = (f64::INFINITY, f64::INFINITY, f64::NAN);
        for _ in 0..work.div_ceil(steps) {
            let start = Instant::now();
            height = rollout.value(&mut ws, &inputs, &loss)?;
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
            loss: height,
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
