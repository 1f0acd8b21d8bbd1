//! [`VecEnv`]: environments of one task on lanes and threads.

use std::sync::Arc;

use pullback_core::cpu::note_lost_speed;
use pullback_core::settings::{Range, check_ranges};
use pullback_core::{ConfigError, StepError, System};
use rayon::prelude::*;

use super::lanes::Lanes;
use super::shard::{EnvShard, Kept, StepOutput, TaskShard};
use super::snapshot::EnvSnapshot;
use super::task::{Spaces, Task};
use crate::Number;

/// How many environments, and how they run.
#[derive(Clone, Copy, Debug)]
pub struct VecEnvOptions {
    /// Number of environments.
    pub envs: usize,
    /// Environments per shard: the unit of work of a thread, and the rows of a network's batch. Sums over
    /// environments are taken shard by shard, so results depend on it, to round-off.
    pub shard: usize,
    /// Threads.
    pub threads: usize,
    /// What is kept of a horizon.
    pub kept: Kept,
    /// Seed of all episodes.
    pub seed: u64,
}

impl VecEnvOptions {
    /// `envs` environments in shards of 16 on all cores, with seed 0.
    pub fn new(envs: usize) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        VecEnvOptions { envs, shard: 16, threads, kept: Kept::ControlSteps, seed: 0 }
    }
}

/// Whether an episode ends where this is seen, if that can be told ([`super::TaskSpec::ends_where`]).
pub type Ends = dyn Fn(&[f32]) -> Option<bool> + Send + Sync;

/// Environments of one task. Rows are environment after environment.
pub struct VecEnv<F: Number> {
    shards: Vec<Box<dyn EnvShard<F>>>,
    pool: rayon::ThreadPool,
    envs: usize,
    spaces: Spaces,
    episode_length: usize,
    ends_where: Box<Ends>,
    seed: u64,
}

impl<F: Number> VecEnv<F> {
    /// Environments of `task` in lanes of `T`, at the start of their first episodes.
    pub fn new<T, K>(task: Arc<K>, options: VecEnvOptions) -> Result<Self, ConfigError>
    where
        T: Lanes<F>,
        K: Task<T> + 'static,
        <K::System as System<T>>::Workspace: Send,
    {
        note_lost_speed::<T>();
        let VecEnvOptions { envs, shard, threads, kept, seed } = options;
        check_ranges(
            "environments",
            &[
                ("envs", envs as f64, Range::Within(1.0, 1e7)),
                ("shard", shard as f64, Range::Within(1.0, 1e7)),
                ("threads", threads as f64, Range::Within(1.0, 1024.0)),
            ],
        )?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| ConfigError::new(format!("cannot start {threads} threads: {e}")))?;
        let shards = (0..envs).step_by(shard).map(|first| {
            let envs = shard.min(envs - first);
            Box::new(TaskShard::<K, T>::new(task.clone(), first, envs, kept)) as Box<dyn EnvShard<F>>
        });
        let (shards, spaces, episode_length) = (shards.collect(), task.spaces(), task.episode_length());
        let ends_where = Box::new(move |seen: &[f32]| task.ends_where(seen));
        let mut all = VecEnv { shards, pool, envs, spaces, episode_length, ends_where, seed };
        all.reset(seed);
        Ok(all)
    }

    /// Number of environments.
    pub fn envs(&self) -> usize {
        self.envs
    }
    /// Sizes of observations and actions.
    pub fn spaces(&self) -> Spaces {
        self.spaces
    }
    /// Actions per episode.
    pub fn episode_length(&self) -> usize {
        self.episode_length
    }
    /// Whether an episode ends where this is seen, if that can be told.
    pub fn ends_where(&self) -> &Ends {
        &*self.ends_where
    }
    /// Number of shards.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }
    /// Environments of each shard: the number of the first, and how many.
    pub fn shard_ranges(&self) -> Vec<std::ops::Range<usize>> {
        self.shards.iter().map(|shard| shard.first_env()..shard.first_env() + shard.envs()).collect()
    }
    /// The threads.
    pub fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }
    /// Seed of all episodes.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Begins the first episode of every environment.
    pub fn reset(&mut self, seed: u64) {
        self.seed = seed;
        self.shards.iter_mut().for_each(|shard| shard.reset(seed));
    }

    /// What is seen now.
    pub fn observe(&mut self, rows: &mut [F]) {
        let width = self.spaces.observation();
        for shard in &mut self.shards {
            let (first, envs) = (shard.first_env(), shard.envs());
            shard.observe(&mut rows[first * width..(first + envs) * width]);
        }
    }

    /// Takes an action in every environment.
    pub fn step(&mut self, actions: &[F], out: &mut StepOutput<F>) -> Result<(), StepError> {
        let (spaces, width) = (self.spaces, self.spaces.actions);
        let parts = self.run(|shard| {
            let (first, envs) = (shard.first_env(), shard.envs());
            let mut part = StepOutput::new(envs, spaces);
            shard.step(&actions[first * width..(first + envs) * width], &mut part)?;
            Ok((first, part))
        });
        for part in parts {
            let (first, part) = part?;
            let (n, seen) = (part.rewards.len(), spaces.observation());
            out.rewards[first..first + n].copy_from_slice(&part.rewards);
            out.terminated[first..first + n].copy_from_slice(&part.terminated);
            out.truncated[first..first + n].copy_from_slice(&part.truncated);
            out.failed[first..first + n].copy_from_slice(&part.failed);
            let rows = first * seen..(first + n) * seen;
            out.final_observations[rows.clone()].copy_from_slice(&part.final_observations);
            out.observations[rows].copy_from_slice(&part.observations);
        }
        Ok(())
    }

    /// Runs `work` on every shard, on all threads; results are in the order of the shards.
    pub fn run<R: Send>(&mut self, work: impl Fn(&mut dyn EnvShard<F>) -> R + Sync) -> Vec<R> {
        let shards = &mut self.shards;
        self.pool.install(|| shards.par_iter_mut().map(|shard| work(&mut **shard)).collect())
    }

    /// [`VecEnv::run`] with memory of its own for every shard.
    pub fn run_with<M: Send, R: Send>(
        &mut self,
        memory: &mut [M],
        work: impl Fn(&mut dyn EnvShard<F>, &mut M) -> R + Sync,
    ) -> Vec<R> {
        assert_eq!(memory.len(), self.shards.len(), "one memory per shard");
        let pairs = self.shards.par_iter_mut().zip(memory);
        self.pool.install(|| pairs.map(|(shard, memory)| work(&mut **shard, memory)).collect())
    }

    /// Bytes that a horizon of `steps` steps takes.
    pub fn horizon_bytes(&self, steps: usize) -> usize {
        self.shards.iter().map(|shard| shard.horizon_bytes(steps)).sum()
    }

    /// All that the environments are between two steps.
    pub fn snapshot(&self) -> EnvSnapshot {
        let mut all = EnvSnapshot::default();
        self.shards.iter().for_each(|shard| all.append(shard.snapshot()));
        all
    }

    /// Goes on from a snapshot.
    pub fn restore(&mut self, seed: u64, snapshot: &EnvSnapshot) {
        self.seed = seed;
        let envs = self.envs;
        for shard in &mut self.shards {
            let part = snapshot.part(shard.first_env(), shard.envs(), envs);
            shard.restore(seed, &part);
        }
    }

    /// The state of environment `i`.
    pub fn state(&self, i: usize) -> Vec<f64> {
        let shard = self.shards.iter().rfind(|shard| shard.first_env() <= i);
        shard.map_or_else(Vec::new, |shard| shard.state(i - shard.first_env()))
    }
}
