//! Environments whose physics fills registers by itself: soft bodies and material points (Rewarped).
//!
//! Lanes hold particles and elements of one environment, not environments. Shards are small, so that threads
//! are fed and the rows of a network stay few.

use std::sync::Arc;

use pullback_core::registry::Entry;
use pullback_core::rollout::Inputs;
use pullback_core::sources::REWARPED;
use pullback_core::{ConfigError, Described};
use pullback_learn::env::{Spaces, Task, VecEnv, VecEnvOptions};
use pullback_math::Dual;
use pullback_replay::Replay;
use pullback_video::look::Depict;

use super::soft_jumper::{self, SoftJumper};
use super::tool_task::{Goal, ToolTask};
use super::{BuildEnvironment, Environment, Precision, fluid_move, hand_flip, rolling_flat};
use crate::depict::{depict_mpm, depict_world};
use crate::recording;

/// Environments of a shard, at most.
const SHARD: usize = 4;

/// Tasks of soft bodies and material points.
pub const TASKS: &[Entry<BuildEnvironment>] = &[
    Entry::cited("rolling-flat", "roll dough flat with a pin", REWARPED.at("RollingFlat"), |options| {
        tool_env(rolling_flat::task(options.of(rolling_flat::Options::as_paper), options.small)?)
    }),
    Entry::cited("soft-jumper", "jump ahead as an elastic quadruped", REWARPED.at("SoftJumper"), |options| {
        let task = SoftJumper::new(options.of(soft_jumper::Options::as_paper), options.small)?;
        let page: Page<SoftJumper> = |task, rows| {
            let inputs = Inputs::defaults(task.world(), rows.len());
            recording::world_replay(task.world(), &task.world().robot().model().name, &inputs, rows)
        };
        unpacked_env(task, soft_jumper::ACTION, page, |task| depict_world(task.world()))
    }),
    Entry::cited("hand-flip", "fold a disc of dough with a hand", REWARPED.at("HandFlip"), |options| {
        tool_env(hand_flip::task(options.of(hand_flip::Options::as_paper), options.small)?)
    }),
    Entry::cited("fluid-move", "carry a container of water", REWARPED.at("FluidMove"), |options| {
        tool_env(fluid_move::task(options.of(fluid_move::Options::as_paper), options.small)?)
    }),
];

/// Makes a page of times and states.
type Page<K> = fn(&K, &[(f64, Vec<f64>)]) -> Replay;
/// Makes what draws states.
type Picture<K> = fn(&K) -> Box<dyn Depict>;

/// Environments of a task that does not run on lanes.
struct UnpackedEnvironment<K> {
    task: Arc<K>,
    /// Seconds per action.
    seconds: f64,
    page: Page<K>,
    picture: Picture<K>,
}

fn unpacked_env<K>(
    task: K,
    seconds: f64,
    page: Page<K>,
    picture: Picture<K>,
) -> Result<Box<dyn Environment>, ConfigError>
where
    K: Task<f32> + Task<f64> + Task<Dual<f64>> + 'static,
{
    Ok(Box::new(UnpackedEnvironment { task: Arc::new(task), seconds, page, picture }))
}

fn tool_env<G: Goal + 'static>(task: ToolTask<G>) -> Result<Box<dyn Environment>, ConfigError> {
    let seconds = task.scene.seconds;
    let page: Page<ToolTask<G>> = |task, rows| {
        let mpm = task.scene.mpm();
        recording::mpm_replay(mpm, &mpm.robot().model().name, rows)
    };
    unpacked_env(task, seconds, page, |task| depict_mpm(task.scene.mpm()))
}

impl<K> Environment for UnpackedEnvironment<K>
where
    K: Task<f32> + Task<f64> + Task<Dual<f64>> + 'static,
{
    fn spaces(&self) -> Spaces {
        self.task.spaces()
    }
    fn episode_length(&self) -> usize {
        self.task.episode_length()
    }
    fn action_seconds(&self) -> f64 {
        self.seconds
    }
    fn vec_env(&self, options: VecEnvOptions, precision: Precision) -> Result<VecEnv<f32>, ConfigError> {
        match precision {
            Precision::F32 => VecEnv::new::<f32, K>(self.task.clone(), small_shards(options)),
            Precision::F64 => VecEnv::new::<f64, K>(self.task.clone(), small_shards(options)),
        }
    }
    #[cfg(test)]
    fn exact_env(&self, options: VecEnvOptions) -> Result<VecEnv<f64>, ConfigError> {
        VecEnv::new::<f64, K>(self.task.clone(), small_shards(options))
    }
    #[cfg(test)]
    fn dual_env(&self, options: VecEnvOptions) -> Result<VecEnv<Dual<f64>>, ConfigError> {
        VecEnv::new::<Dual<f64>, K>(self.task.clone(), small_shards(options))
    }
    fn replay(&self, states: &[Vec<f64>]) -> Replay {
        let row = |(i, state): (usize, &Vec<f64>)| (i as f64 * self.seconds, state.clone());
        let rows: Vec<(f64, Vec<f64>)> = states.iter().enumerate().map(row).collect();
        (self.page)(&self.task, &rows)
    }
    fn depict(&self) -> (Box<dyn Depict>, Vec<f64>) {
        let defaults = || Task::<f64>::system(&*self.task).layout().params.defaults();
        ((self.picture)(&self.task), self.task.params().unwrap_or_else(defaults))
    }
}

fn small_shards(options: VecEnvOptions) -> VecEnvOptions {
    VecEnvOptions { shard: options.shard.min(SHARD), ..options }
}
