//! `cartpole`: swing a pole up on a cart that is pushed (DFlex).
//!
//! State: x, θ, ẋ, θ̇; θ is 0 upright.

use std::f64::consts::PI;

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::{Real, differentiable};

use super::robots::{Dflex, Robot};

const PHYSICS: Dflex = Dflex { substeps: 4, contact: [0.0; 3], limit: [100.0, 1.0], root_armature: 0.0 };

/// The task.
pub struct Cartpole {
    robot: Robot,
    params: Vec<f64>,
}

impl Cartpole {
    /// Reads the model.
    pub fn new() -> Result<Self, ConfigError> {
        let (robot, params) = PHYSICS.robot(pullback_models::CARTPOLE)?;
        Ok(Cartpole { robot, params })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }
}

/// r = −θ² − 0.1 θ̇² − 0.05 x² − 0.1 ẋ², θ in [−π, π].
#[differentiable]
#[inline(always)]
fn upright_reward<T: Real>(x: T, theta: T, v: T, omega: T) -> T {
    let (sin, cos) = theta.sin_cos();
    let angle = sin.atan2(cos);
    -(angle * angle) - omega * omega * T::lit(0.1) - x * x * T::lit(0.05) - v * v * T::lit(0.1)
}

/// (x, ẋ, sin θ, cos θ, θ̇)
#[differentiable]
#[inline(always)]
fn seen<T: Real>(x: T, theta: T, v: T, omega: T) -> [T; 5] {
    let (sin, cos) = theta.sin_cos();
    [x, v, sin, cos, omega]
}

impl TaskSpec for Cartpole {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: 5, actions: 1 }
    }
    fn substeps(&self) -> usize {
        PHYSICS.substeps
    }
    fn episode_length(&self) -> usize {
        240
    }
    fn params(&self) -> Option<Vec<f64>> {
        Some(self.params.clone())
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        let mut near = |center: f64, width: f64| center + width * random.uniform(-0.5, 0.5);
        let state = [near(0.0, PI), near(-PI, PI), near(0.0, 0.5), near(0.0, 0.5)];
        start.state.copy_from_slice(&state);
    }
}

impl<T: Real> Task<T> for Cartpole {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        let s = at.state;
        out.copy_from_slice(&seen(s[0], s[1], s[2], s[3]));
    }
    fn observe_vjp(&self, at: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        let (s, b) = (at.state, out_bar);
        let (x, theta, v, omega) = seen_vjp(s[0], s[1], s[2], s[3], [b[0], b[1], b[2], b[3], b[4]]);
        bars.state.iter_mut().zip([x, theta, v, omega]).for_each(|(to, x)| *to += x);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        let s = step.after;
        upright_reward(s[0], s[1], s[2], s[3])
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let s = step.after;
        let (x, theta, v, omega) = upright_reward_vjp(s[0], s[1], s[2], s[3], reward_bar);
        bars.after.iter_mut().zip([x, theta, v, omega]).for_each(|(to, x)| *to += x);
    }
}
