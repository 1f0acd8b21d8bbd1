//! `hopper`: one leg and three torques in a plane, to hop along x (DFlex).
//!
//! State: x, height, pitch, thigh, leg, foot, and their velocities. The height is 0 where the foot touches the
//! ground with the leg straight.

use std::f64::consts::FRAC_PI_6;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::{Real, differentiable};

use super::locomotion::{shaped_height, shaped_height_vjp};
use super::planar::{effort, effort_vjp, see, see_vjp};
use super::robots::{Dflex, Robot, jitter};

const PHYSICS: Dflex =
    Dflex { substeps: 16, contact: [2e4, 1e3, 1e3], limit: [1e3, 10.0], root_armature: 1.0 };
/// Height below which an episode ends, m.
const FALLEN: f64 = -0.45;
/// Cost of Σ a².
const EFFORT: f64 = 0.1;
/// Bound of all noise at the start.
const NOISE: f64 = 0.05;

/// The task.
pub struct Hopper {
    robot: Robot,
    params: Vec<f64>,
}

impl Hopper {
    /// Reads the model.
    pub fn new() -> Result<Self, ConfigError> {
        let (robot, params) = PHYSICS.robot(pullback_models::HOPPER)?;
        Ok(Hopper { robot, params })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }
}

/// r = ẋ + height term + 1 − (pitch/30°)²
#[differentiable]
#[inline(always)]
fn hopping_reward<T: Real>(velocity: T, height: T, pitch: T) -> T {
    let lean = pitch * T::lit(1.0 / FRAC_PI_6);
    velocity + shaped_height(height, FALLEN + 0.15, 0.3, 1.0) + T::one() - lean * lean
}

impl TaskSpec for Hopper {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: 11, actions: 3 }
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
        jitter(random, NOISE, start.state);
    }
}

impl<T: Real> Task<T> for Hopper {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        see(at.state, 1..12, out);
    }
    fn observe_vjp(&self, _: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        see_vjp(1..12, out_bar, bars.state);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        let s = step.after;
        hopping_reward(s[6], s[1], s[2]) - effort(EFFORT, step.action)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let s = step.after;
        let (velocity, height, pitch) = hopping_reward_vjp(s[6], s[1], s[2], reward_bar);
        bars.after[6] += velocity;
        bars.after[1] += height;
        bars.after[2] += pitch;
        effort_vjp(EFFORT, step.action, reward_bar, bars.action);
    }
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        at.state[1].lt(T::lit(FALLEN))
    }
}
