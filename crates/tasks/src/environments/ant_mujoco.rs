//! `ant-mujoco`: MuJoCo's light ant on four legs, to walk along x (articulated adjoint, 6.2 and appendix D).
//!
//! Policies that are trained here are to walk in MuJoCo as they are (`reference/play_policy.py`), so contact
//! and limits are MuJoCo's convex ones under its RK4, by default. [`Options::as_paper`] chooses the paper's own
//! simulator, complementarity under semi-implicit Euler; *joint limits are impulses there too, where the
//! paper's code pushes back by a clamped torque.*
//!
//! Observation: all of the state but the way run, as in MuJoCo's task: height, orientation (w, x, y, z),
//! joints; velocity, spin in the torso's axes, joint velocities. Reward: ẋ over a step − ½ Σ a² + 1. An episode
//! ends where the torso is lower than 0.2 m or higher than 1 m. Noise at the start is that of MuJoCo's task.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_learn::env::{Spaces, Start, Task, TaskSpec, Transition, TransitionBars, View, ViewBars};
use pullback_math::Real;
use pullback_physics::articulated::{Articulated, ContactModel};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::planar::{effort, effort_vjp, see, see_vjp};
use super::robots::{Robot, jitter};
use crate::files;
use crate::scenes::SceneOptions;

/// The robot.
const MODEL: &str = pullback_models::ANT_GYM;
/// Steps per action.
const SUBSTEPS: usize = 5;
/// Seconds per action.
const ACTION: f64 = 0.05;
/// Cost of Σ a².
const EFFORT: f64 = 0.5;
/// What a step is worth in any case.
const ALIVE: f64 = 1.0;
/// Heights of the torso between which an episode goes on, m.
const HEIGHTS: [f64; 2] = [0.2, 1.0];
/// Coordinates and velocities.
const NQ: usize = 15;
const NV: usize = 14;

/// What the paper's simulator and MuJoCo disagree about.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How contacts and limits act.
    pub contact: ContactModel,
}

impl Default for Options {
    fn default() -> Self {
        Options { contact: ContactModel::Convex }
    }
}

impl Options {
    /// The paper's simulator.
    pub fn as_paper() -> Self {
        Options { contact: ContactModel::Complementarity }
    }
}

/// The task.
pub struct AntMujoco {
    robot: Robot,
}

impl AntMujoco {
    /// Reads the model.
    pub fn new(options: Options) -> Result<Self, ConfigError> {
        let model = parse_mjcf(MODEL, None, &ImportOptions::default());
        let mut model = model.map_err(|e| ConfigError::new(e.to_string()))?;
        model.options.contact_model = options.contact;
        let robot = files::system(Articulated::new(model)?, SceneOptions::default())?;
        Ok(AntMujoco { robot })
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }
}

impl TaskSpec for AntMujoco {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: NQ + NV - 2, actions: 8 }
    }
    fn substeps(&self) -> usize {
        SUBSTEPS
    }
    fn episode_length(&self) -> usize {
        1000
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        // The orientation is normalized, as MuJoCo does.
        jitter(random, 0.1, &mut start.state[..NQ]);
        let norm = start.state[3..7].iter().map(|x| x * x).sum::<f64>().sqrt();
        start.state[3..7].iter_mut().for_each(|x| *x /= norm);
        start.state[NQ..].iter_mut().for_each(|v| *v = 0.1 * random.normal());
    }
    fn ends_where(&self, seen: &[f32]) -> Option<bool> {
        let [low, high] = HEIGHTS.map(|z| z as f32);
        Some(!(low..=high).contains(&seen[0]))
    }
}

impl<T: Real> Task<T> for AntMujoco {
    type System = Robot;

    fn system(&self) -> &Robot {
        &self.robot
    }
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        see(at.state, 2..NQ + NV, out);
    }
    fn observe_vjp(&self, _: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        see_vjp(2..NQ + NV, out_bar, bars.state);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        let velocity = (step.after[0] - step.before[0]) * T::lit(1.0 / ACTION);
        velocity - effort(EFFORT, step.action) + T::lit(ALIVE)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        bars.after[0] += reward_bar * T::lit(1.0 / ACTION);
        bars.before[0] -= reward_bar * T::lit(1.0 / ACTION);
        effort_vjp(EFFORT, step.action, reward_bar, bars.action);
    }
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        let [low, high] = HEIGHTS;
        at.state[2].lt(T::lit(low)) | at.state[2].gt(T::lit(high))
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::{Described, Point, System};

    use super::*;

    /// MuJoCo 3.17 from the model's own configuration under aₖ = sin(0.3 t + k): after 4 actions, with a foot
    /// on the ground, and after 12.
    const AFTER_4: [f64; 8] = [
        -0.003837586,
        -0.031321164,
        0.621801985,
        0.999056344,
        0.020779553,
        -0.014538933,
        -0.035259771,
        0.52968663,
    ];
    const AFTER_12: [f64; 8] = [
        0.014503864,
        -0.010174717,
        0.542627908,
        0.995033915,
        -0.094359473,
        -0.023186683,
        -0.021591107,
        -0.526368582,
    ];

    #[test]
    fn ends_are_seen() {
        let task = AntMujoco::new(Options::default()).unwrap();
        let mut state = Described::layout(task.robot()).state.defaults();
        for (height, ends) in [(0.19, true), (0.21, false), (0.99, false), (1.01, true)] {
            state[2] = height;
            let seen: Vec<f32> = state[2..].iter().map(|x| *x as f32).collect();
            let at = View { state: &state, action: &[0.0; 8], context: &[] };
            assert_eq!(Task::<f64>::terminated(&task, at), ends, "{height}");
            assert_eq!(task.ends_where(&seen), Some(ends), "{height}");
        }
    }

    #[test]
    fn the_motion_is_that_of_mujoco() {
        let task = AntMujoco::new(Options::default()).unwrap();
        let robot = task.robot();
        let params = robot.layout().params.defaults();
        let mut ws = System::<f64>::workspace(robot);
        let mut state = robot.layout().state.defaults();
        let mut next = state.clone();
        for t in 0..12 {
            let control: Vec<f64> = (0..8).map(|k| (0.3 * f64::from(t) + f64::from(k)).sin()).collect();
            for _ in 0..SUBSTEPS {
                let at = Point { params: &params, state: &state, control: &control };
                robot.step(&mut ws, at, &mut next).unwrap();
                std::mem::swap(&mut state, &mut next);
            }
            let expected = match t {
                3 => AFTER_4,
                11 => AFTER_12,
                _ => continue,
            };
            for (i, (found, expected)) in state.iter().zip(expected).enumerate() {
                assert!((found - expected).abs() < 1e-6, "entry {i} after {} actions: {found}", t + 1);
            }
        }
    }

    #[test]
    fn rewards_and_ends_are_those_of_the_source() {
        let task = AntMujoco::new(Options::default()).unwrap();
        let mass: f64 = task.robot().field().model().bodies.iter().map(|b| b.mass).sum();
        assert!((mass - 0.9109).abs() < 1e-4, "{mass}");
        let mut before = task.robot().layout().state.defaults();
        let mut after = before.clone();
        (before[0], after[0]) = (1.0, 1.1);
        let action = [0.5; 8];
        // 0.1 m in 0.05 s, − ½ · 8 · ¼, + 1
        let found: f64 =
            task.reward(Transition { before: &before, action: &action, after: &after, context: &[] });
        assert!((found - 2.0).abs() < 1e-12);
        for (height, ends) in [(0.19, true), (0.21, false), (0.99, false), (1.01, true)] {
            after[2] = height;
            let at = View { state: &after[..], action: &action[..], context: &[] };
            assert_eq!(Task::<f64>::terminated(&task, at), ends, "{height}");
        }
    }
}
