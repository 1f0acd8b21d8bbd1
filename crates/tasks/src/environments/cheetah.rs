//! `cheetah`: two legs and six torques in a plane, to run along x (DFlex).
//!
//! State: x, height, pitch, three joints of the back leg and three of the front leg, and their velocities.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::Real;

use super::planar::{effort, effort_vjp, see, see_vjp};
use super::robots::{Dflex, Robot, jitter};

const PHYSICS: Dflex =
    Dflex { substeps: 16, contact: [2e4, 1e3, 1e3], limit: [1e3, 10.0], root_armature: 0.1 };
/// Cost of Σ a².
const EFFORT: f64 = 0.1;
/// Coordinates.
const NQ: usize = 9;

/// The task.
pub struct Cheetah {
    robot: Robot,
    params: Vec<f64>,
}

impl Cheetah {
    /// Reads the model.
    pub fn new() -> Result<Self, ConfigError> {
        let (robot, params) = PHYSICS.robot(pullback_models::HALF_CHEETAH)?;
        Ok(Cheetah { robot, params })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }
}

impl TaskSpec for Cheetah {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: 2 * NQ - 1, actions: 6 }
    }
    fn substeps(&self) -> usize {
        PHYSICS.substeps
    }
    fn episode_length(&self) -> usize {
        1000
    }
    fn params(&self) -> Option<Vec<f64>> {
        Some(self.params.clone())
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        start.state.fill(0.0);
        start.state[1] = -0.2;
        jitter(random, 0.1, &mut start.state[..NQ]);
        jitter(random, 0.25, &mut start.state[NQ..]);
    }
}

impl<T: Real> Task<T> for Cheetah {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        see(at.state, 1..2 * NQ, out);
    }
    fn observe_vjp(&self, _: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        see_vjp(1..2 * NQ, out_bar, bars.state);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        step.after[NQ] - effort(EFFORT, step.action)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        bars.after[NQ] += reward_bar;
        effort_vjp(EFFORT, step.action, reward_bar, bars.action);
    }
}
