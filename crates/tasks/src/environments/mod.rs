//! Environments for learners: tasks of DFlex, Rewarped and the articulated adjoint.
//!
//! A task is a page: a scene, an observation, a reward, an end and noise at the start. To add one, write its
//! file beside these, implement [`TaskSpec`] and [`Task`], and add a line to
//! [`ENVIRONMENTS`].
//!
//! | task | model | steps per action | observation | actions | episode |
//! |---|---|---|---|---|---|
//! | `cartpole` | `cartpole.xml` | 4 of 1/240 s | 5 | 1 | 240 |
//! | `cartpole-pixels` | `cartpole.xml` | 4 of 1/240 s | 2 pictures of 32 × 16 | 1 | 240 |
//! | `hopper` | `hopper.xml` | 16 of 1/960 s | 11 | 3 | 1000 |
//! | `cheetah` | `half_cheetah.xml` | 16 | 17 | 6 | 1000 |
//! | `ant` | `ant.xml` | 16 | 37 | 8 | 1000 |
//! | `humanoid` | `humanoid.xml` | 48 of 1/2880 s | 76 | 21 | 1000 |
//! | `snu-humanoid` | `snu.xml` | 48 | 53 | 152 muscles | 1000 |
//! | `ant-run` | `ant_run.xml` | 16 of 1/960 s | 37 | 8 | 1000 |
//! | `hand-reorient` | `allegro.xml` | 64 of 1/7680 s | 72 | 16 | 600 |
//! | `pendulum-N`, N = 1 ... 7 | made for N | 1 of 1/60 s | 4 N + 1 | N | 100 |
//! | `ant-mujoco` | `ant_gym.xml` | 5 of 1/100 s | 27 | 8 | 1000 |
//! | `rolling-flat` | [scene](crate::mpm) | 40 of 5·10⁻⁵ s | 250 points, 6 | 3 | 300 |
//! | `soft-jumper` | 444 tetrahedra | 80 of 1/4800 s | 204 points, 228 | 222 | 300 |
//! | `hand-flip` | [scene](crate::mpm) | 40 of 5·10⁻⁵ s | 250 points, 27 | 24 | 300 |
//! | `fluid-move` | [scene](crate::mpm) | 40 of 5·10⁻⁴ s | 250 points, 9 | 3 | 300 |
//!
//! Where a paper prints other constants than its code has, those of the code are the default and
//! [`EnvironmentOptions::paper_values`] chooses the printed ones; a task's own options say which they are.

mod ant;
mod ant_mujoco;
mod ant_run;
mod cartpole;
mod cartpole_pixels;
mod cheetah;
mod fluid_move;
mod hand_flip;
mod hand_reorient;
mod hopper;
#[cfg(test)]
mod horizon_tests;
mod humanoid;
mod locomotion;
mod pendulum;
mod pixels;
mod planar;
mod remembering;
mod robots;
mod rolling_flat;
mod snu_humanoid;
mod soft_jumper;
#[cfg(test)]
mod tests;
mod tool_task;
mod unpacked;
mod warp;

use std::sync::Arc;

use pullback_core::registry::{Entry, Registry};
use pullback_core::rollout::Inputs;
use pullback_core::sources::{ARTICULATED_ADJOINT, DFLEX, REWARPED};
use pullback_core::{ConfigError, Described};
use pullback_learn::env::{Spaces, Task, TaskSpec, VecEnv, VecEnvOptions};
use pullback_math::{Dual, f32x16, f64x8};
use pullback_replay::Replay;
use pullback_video::look::Depict;

use crate::depict::depict_robot;
use crate::recording;
use robots::Robot;

/// What the physics computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Single, sixteen lanes where the physics runs on lanes.
    #[default]
    F32,
    /// Double, eight lanes.
    F64,
}

/// A task that can be run in many environments.
pub trait Environment: Send + Sync {
    /// Sizes of observations and actions.
    fn spaces(&self) -> Spaces;
    /// Actions per episode.
    fn episode_length(&self) -> usize;
    /// Seconds per action.
    fn action_seconds(&self) -> f64;
    /// Environments for training.
    fn vec_env(&self, options: VecEnvOptions, precision: Precision) -> Result<VecEnv<f32>, ConfigError>;
    /// Environments in double precision throughout, for checks of gradients.
    #[cfg(test)]
    fn exact_env(&self, options: VecEnvOptions) -> Result<VecEnv<f64>, ConfigError>;
    /// Environments that carry tangents.
    #[cfg(test)]
    fn dual_env(&self, options: VecEnvOptions) -> Result<VecEnv<Dual<f64>>, ConfigError>;
    /// A page that plays the states of an episode.
    fn replay(&self, states: &[Vec<f64>]) -> Replay;
    /// What draws its states, and the parameters to draw them with.
    fn depict(&self) -> (Box<dyn Depict>, Vec<f64>);
}

/// Versions of an environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvironmentOptions {
    /// Constants as the paper prints them, where its code has others.
    pub paper_values: bool,
    /// A version with few particles, in which gradients are checked.
    pub small: bool,
}

impl EnvironmentOptions {
    /// The options of a task: those of its code, or those that its paper prints.
    fn of<O: Default>(&self, as_paper: fn() -> O) -> O {
        if self.paper_values { as_paper() } else { O::default() }
    }
}

/// How an environment is made.
pub type BuildEnvironment = fn(&EnvironmentOptions) -> Result<Box<dyn Environment>, ConfigError>;

/// Every environment by name.
pub const ENVIRONMENTS: Registry<BuildEnvironment> = Registry::new(
    "environment",
    &[DFLEX_TASKS, REWARPED_TASKS, unpacked::TASKS, ARTICULATED_ADJOINT_TASKS, pixels::TASKS],
);

const DFLEX_TASKS: &[Entry<BuildEnvironment>] = &[
    Entry::cited("cartpole", "swing a pole up on a cart that is pushed", DFLEX.at("CartPoleSwingUp"), |_| {
        robot_env(cartpole::Cartpole::new()?, |task| task.robot())
    }),
    Entry::cited("hopper", "hop along a line on one leg", DFLEX.at("Hopper"), |_| {
        robot_env(hopper::Hopper::new()?, |task| task.robot())
    }),
    Entry::cited("cheetah", "run along a line on two legs", DFLEX.at("Cheetah"), |_| {
        robot_env(cheetah::Cheetah::new()?, |task| task.robot())
    }),
    Entry::cited("ant", "run on four legs", DFLEX.at("Ant"), |_| {
        robot_env(ant::task()?, |task| task.robot())
    }),
    Entry::cited("humanoid", "run on two legs, with 21 torques", DFLEX.at("Humanoid"), |_| {
        robot_env(humanoid::task()?, |task| task.robot())
    }),
    Entry::cited("snu-humanoid", "run on two legs, with 152 muscles", DFLEX.at("SNUHumanoid"), |_| {
        robot_env(snu_humanoid::task()?, |task| task.robot())
    }),
];

const REWARPED_TASKS: &[Entry<BuildEnvironment>] = &[
    Entry::cited("ant-run", "run on four legs that touch each other", REWARPED.at("AntRun"), |_| {
        robot_env(ant_run::task()?, |task| task.robot())
    }),
    Entry::cited(
        "hand-reorient",
        "turn a cube in a hand, with 16 torques",
        REWARPED.at("HandReorient"),
        |o| {
            robot_env(hand_reorient::HandReorient::new(o.of(hand_reorient::Options::as_paper))?, |task| {
                task.robot()
            })
        },
    ),
];

const ARTICULATED_ADJOINT_TASKS: &[Entry<BuildEnvironment>] = &[
    pendulum_entry::<1>("pendulum-1", "raise the end of 1 link"),
    pendulum_entry::<2>("pendulum-2", "raise the end of 2 links"),
    pendulum_entry::<3>("pendulum-3", "raise the end of 3 links"),
    pendulum_entry::<4>("pendulum-4", "raise the end of 4 links"),
    pendulum_entry::<5>("pendulum-5", "raise the end of 5 links"),
    pendulum_entry::<6>("pendulum-6", "raise the end of 6 links"),
    pendulum_entry::<7>("pendulum-7", "raise the end of 7 links"),
    Entry::cited(
        "ant-mujoco",
        "walk on four legs as MuJoCo's ant does",
        ARTICULATED_ADJOINT.at("6.2"),
        |o| robot_env(ant_mujoco::AntMujoco::new(o.of(ant_mujoco::Options::as_paper))?, |task| task.robot()),
    ),
];

const fn pendulum_entry<const LINKS: usize>(
    name: &'static str,
    summary: &'static str,
) -> Entry<BuildEnvironment> {
    Entry::cited(name, summary, ARTICULATED_ADJOINT.at("6.2"), |o| {
        robot_env(pendulum::Pendulum::new(LINKS, o.of(pendulum::Options::as_paper))?, |task| task.robot())
    })
}

/// The environment called `name`.
pub fn build(name: &str, options: &EnvironmentOptions) -> Result<Box<dyn Environment>, ConfigError> {
    (ENVIRONMENTS.find(name)?.value)(options)
}

/// Environments of robots: they run on lanes.
struct RobotEnvironment<K> {
    task: Arc<K>,
    robot: fn(&K) -> &Robot,
}

fn robot_env<K>(task: K, robot: fn(&K) -> &Robot) -> Result<Box<dyn Environment>, ConfigError>
where
    K: TaskSpec
        + Task<f64, System = Robot>
        + Task<f32x16, System = Robot>
        + Task<f64x8, System = Robot>
        + Task<Dual<f64>, System = Robot>
        + 'static,
{
    Ok(Box::new(RobotEnvironment { task: Arc::new(task), robot }))
}

impl<K> Environment for RobotEnvironment<K>
where
    K: TaskSpec
        + Task<f64, System = Robot>
        + Task<f32x16, System = Robot>
        + Task<f64x8, System = Robot>
        + Task<Dual<f64>, System = Robot>
        + 'static,
{
    fn spaces(&self) -> Spaces {
        self.task.spaces()
    }
    fn episode_length(&self) -> usize {
        self.task.episode_length()
    }
    fn action_seconds(&self) -> f64 {
        (self.robot)(&self.task).dt() * self.task.substeps() as f64
    }
    fn vec_env(&self, options: VecEnvOptions, precision: Precision) -> Result<VecEnv<f32>, ConfigError> {
        match precision {
            Precision::F32 => VecEnv::new::<f32x16, K>(self.task.clone(), options),
            Precision::F64 => VecEnv::new::<f64x8, K>(self.task.clone(), options),
        }
    }
    #[cfg(test)]
    fn exact_env(&self, options: VecEnvOptions) -> Result<VecEnv<f64>, ConfigError> {
        VecEnv::new::<f64, K>(self.task.clone(), options)
    }
    #[cfg(test)]
    fn dual_env(&self, options: VecEnvOptions) -> Result<VecEnv<Dual<f64>>, ConfigError> {
        VecEnv::new::<Dual<f64>, K>(self.task.clone(), options)
    }
    fn replay(&self, states: &[Vec<f64>]) -> Replay {
        robot_page(&*self.task, (self.robot)(&self.task), self.action_seconds(), states)
    }
    fn depict(&self) -> (Box<dyn Depict>, Vec<f64>) {
        robot_picture(&*self.task, (self.robot)(&self.task))
    }
}

/// What draws states which begin with those of a robot, and its parameters.
fn robot_picture(task: &impl TaskSpec, robot: &Robot) -> (Box<dyn Depict>, Vec<f64>) {
    let params = task.params().unwrap_or_else(|| robot.layout().params.defaults());
    (depict_robot(robot.field()), params)
}

/// A page that plays states which begin with those of a robot.
fn robot_page(task: &impl TaskSpec, robot: &Robot, seconds: f64, states: &[Vec<f64>]) -> Replay {
    let robot = robot.field();
    let n = robot.layout().state.len();
    let row = |(i, state): (usize, &Vec<f64>)| (i as f64 * seconds, state[..n].to_vec());
    let rows: Vec<(f64, Vec<f64>)> = states.iter().enumerate().map(row).collect();
    let controls = vec![0.0; states.len().max(1) * robot.layout().control.len()];
    let params = task.params().unwrap_or_else(|| robot.layout().params.defaults());
    let state = rows.first().map(|(_, state)| state.clone()).unwrap_or_default();
    let inputs = Inputs { state, controls, params };
    recording::replay(robot, (&inputs, seconds), &rows)
}
