//! [`EnvShard`]: environments that one thread steps, and [`TaskShard`]: those of a task.

use std::sync::Arc;

use pullback_core::random::Random;
use pullback_core::{Described, StepError, System, Workspace};
use pullback_math::{Mask, Real};

use super::lanes::Lanes;
pub use super::pack::Kept;
use super::pack::{Pack, Sizes};
use super::snapshot::EnvSnapshot;
use super::task::{Spaces, Start, Task, Transition, View};
use crate::Number;

/// What a step of many environments gives, a row or an entry per environment.
#[derive(Clone, Debug, Default)]
pub struct StepOutput<F> {
    /// Rewards.
    pub rewards: Vec<F>,
    /// Whether the episode ended for good.
    pub terminated: Vec<bool>,
    /// Whether it ended because its time is up.
    pub truncated: Vec<bool>,
    /// Whether the state left the finite numbers; the episode is over, its last reward 0.
    pub failed: Vec<bool>,
    /// What is seen after the step, before any episode begins anew.
    pub final_observations: Vec<F>,
    /// What is seen next.
    pub observations: Vec<F>,
}

impl<F: Number> StepOutput<F> {
    /// Memory for `envs` environments.
    pub fn new(envs: usize, spaces: Spaces) -> Self {
        StepOutput {
            rewards: vec![F::zero(); envs],
            terminated: vec![false; envs],
            truncated: vec![false; envs],
            failed: vec![false; envs],
            final_observations: vec![F::zero(); envs * spaces.observation()],
            observations: vec![F::zero(); envs * spaces.observation()],
        }
    }

    /// Whether the episode of environment `i` is over.
    pub fn done(&self, i: usize) -> bool {
        self.terminated[i] || self.truncated[i]
    }
}

/// Cotangents of what a step gave, and of its actions.
#[derive(Debug)]
pub struct StepBars<'a, F> {
    /// Of the rewards.
    pub rewards: &'a [F],
    /// Of the observations before any episode began anew.
    pub final_observations: &'a [F],
    /// Of the observations after that; those of new episodes are cut.
    pub observations: &'a [F],
    /// Of the actions: written.
    pub actions: &'a mut [F],
}

/// Environments stepped by one thread. All rows are environment after environment.
pub trait EnvShard<F: Number>: Send {
    /// Number of environments.
    fn envs(&self) -> usize;
    /// Number of the first one.
    fn first_env(&self) -> usize;
    /// Sizes of observations and actions.
    fn spaces(&self) -> Spaces;
    /// Begins the first episode of every environment.
    fn reset(&mut self, seed: u64);
    /// What is seen now.
    fn observe(&mut self, rows: &mut [F]);
    /// Takes an action in every environment; actions beyond [−1, 1] are clipped. Episodes that end begin anew.
    fn step(&mut self, actions: &[F], out: &mut StepOutput<F>) -> Result<(), StepError>;
    /// Begins a horizon of up to `steps` steps, which are kept for [`EnvShard::step_vjp`].
    fn record(&mut self, steps: usize);
    /// Stops keeping steps.
    fn stop_recording(&mut self);
    /// Begins the way back from the last step recorded.
    fn begin_backward(&mut self);
    /// Bounds the norm of the cotangent of each environment's state after each step of the way back.
    fn limit_gradients(&mut self, limit: Option<f64>);
    /// The pullback of step `t` of the horizon, which follows that of step `t + 1`. `norms` takes the norm of the
    /// cotangent of each environment's state before the step. Where it is not finite the cotangents become zero.
    fn step_vjp(&mut self, t: usize, bars: StepBars<'_, F>, norms: &mut [f64]) -> Result<(), StepError>;
    /// Ends the episode of environment `env` and begins the next.
    fn restart(&mut self, env: usize);
    /// All that the environments are between two steps.
    fn snapshot(&self) -> EnvSnapshot;
    /// Goes on from a snapshot under the same seed.
    fn restore(&mut self, seed: u64, snapshot: &EnvSnapshot);
    /// Bytes that a horizon of `steps` steps takes beside the physics' own memory.
    fn horizon_bytes(&self, steps: usize) -> usize;
    /// The state of environment `i`.
    fn state(&self, i: usize) -> Vec<f64>;
}

/// Environments of a task in lanes of `T`.
pub struct TaskShard<K: Task<T>, T: Real> {
    task: Arc<K>,
    first: usize,
    seed: u64,
    packs: Vec<Pack<T, <K::System as System<T>>::Workspace>>,
    envs: Vec<Env>,
    /// Steps of the horizon so far, if one is recorded, and which episodes ended in each.
    recorded: Option<usize>,
    cuts: Vec<Cut>,
    kept: Kept,
    limit: Option<f64>,
    defaults: Defaults,
}

/// One environment's bookkeeping.
#[derive(Clone, Copy, Debug, Default)]
struct Env {
    episode: u64,
    age: u64,
}

/// How an environment came out of a recorded step.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    done: bool,
    failed: bool,
}

/// Where episodes start before a task moves them.
struct Defaults {
    state: Vec<f64>,
    params: Vec<f64>,
}

impl<K: Task<T>, T: Real> TaskShard<K, T> {
    /// `envs` environments from number `first` on.
    pub fn new(task: Arc<K>, first: usize, envs: usize, kept: Kept) -> Self {
        let layout = task.system().layout();
        let defaults = Defaults {
            state: layout.state.defaults(),
            params: task.params().unwrap_or_else(|| layout.params.defaults()),
        };
        let packs = (0..envs.div_ceil(T::LANES)).map(|_| Pack::new(&*task, kept)).collect();
        TaskShard {
            task,
            first,
            seed: 0,
            packs,
            envs: vec![Env::default(); envs],
            recorded: None,
            cuts: Vec::new(),
            kept,
            limit: None,
            defaults,
        }
    }

    /// The environment in a lane; lanes beyond the last repeat it.
    fn env_of(&self, pack: usize, lane: usize) -> usize {
        (pack * T::LANES + lane).min(self.envs.len() - 1)
    }

    /// The lanes that hold environments.
    fn lanes(&self, pack: usize) -> usize {
        T::LANES.min(self.envs.len() - pack * T::LANES)
    }

    /// Random numbers of an environment's episode; `what` tells uses apart.
    fn random(&self, env: usize, what: u64) -> Random {
        let Env { episode, .. } = self.envs[env];
        Random::stream(self.seed, &[(self.first + env) as u64, episode, what])
    }

    /// Begins an episode in a lane, and in the lanes that repeat it.
    fn begin_episode<F: Number>(&mut self, env: usize)
    where
        T: Lanes<F>,
    {
        let (mut state, mut params) = (self.defaults.state.clone(), self.defaults.params.clone());
        let mut context = vec![0.0; self.task.context_len()];
        let start = Start { state: &mut state, context: &mut context, params: &mut params };
        self.task.start(&mut self.random(env, START), start);
        let pack = env / T::LANES;
        for lane in 0..T::LANES {
            if self.env_of(pack, lane) == env {
                let pack = &mut self.packs[pack];
                put::<T, F>(&mut pack.state, lane, &state);
                put::<T, F>(&mut pack.params, lane, &params);
                put::<T, F>(&mut pack.context, lane, &context);
                pack.action.iter_mut().for_each(|x| *x = x.replace(lane, F::zero()));
            }
        }
    }
}

/// Uses of an episode's random numbers.
const START: u64 = 0;
const CONTEXT: u64 = 1;

/// Writes numbers into one lane.
fn put<T: Lanes<F>, F: Number>(values: &mut [T], lane: usize, from: &[f64]) {
    for (value, x) in values.iter_mut().zip(from) {
        *value = value.replace(lane, F::from_f64(*x));
    }
}

/// One lane's numbers.
fn take<T: Real>(values: &[T], lane: usize) -> Vec<f64> {
    values.iter().map(|x| x.lane(lane)).collect()
}

impl<F: Number, K: Task<T>, T: Lanes<F>> EnvShard<F> for TaskShard<K, T>
where
    K::System: System<T>,
    <K::System as System<T>>::Workspace: Send,
{
    fn envs(&self) -> usize {
        self.envs.len()
    }
    fn first_env(&self) -> usize {
        self.first
    }
    fn spaces(&self) -> Spaces {
        self.task.spaces()
    }

    fn reset(&mut self, seed: u64) {
        self.seed = seed;
        self.recorded = None;
        for env in 0..self.envs.len() {
            self.envs[env] = Env::default();
            self.begin_episode::<F>(env);
        }
    }

    fn observe(&mut self, rows: &mut [F]) {
        for i in 0..self.packs.len() {
            let lanes = self.lanes(i);
            let pack = &mut self.packs[i];
            pack.observe(&*self.task);
            scatter(&pack.observation, i * T::LANES, lanes, rows);
        }
    }

    fn step(&mut self, actions: &[F], out: &mut StepOutput<F>) -> Result<(), StepError> {
        let recorded = self.recorded;
        for i in 0..self.packs.len() {
            let (first, lanes) = (i * T::LANES, self.lanes(i));
            let (pack, task) = (&mut self.packs[i], &*self.task);
            gather_clipped(actions, first, lanes, &mut pack.action);
            pack.step(task, recorded)?;

            // Rewards and ends of episodes.
            let finite = pack.state.iter().fold(T::Mask::splat(true), |all, x| all & x.is_finite());
            let reward = task.reward(pack.transition());
            let ended = task.terminated(view(pack));
            for lane in 0..lanes {
                let env = first + lane;
                let failed = !is_set::<T>(finite, lane) || !reward.lane(lane).is_finite();
                out.failed[env] = failed;
                out.rewards[env] = if failed { F::zero() } else { reward.number(lane) };
                out.terminated[env] = failed || is_set::<T>(ended, lane);
            }
        }
        for env in 0..self.envs.len() {
            self.envs[env].age += 1;
            let old = self.envs[env].age >= self.task.episode_length() as u64;
            out.truncated[env] = old && !out.terminated[env];
        }
        if self.task.changes_context() {
            self.change_contexts::<F>();
        }

        // What is seen at the end, and after new episodes began.
        for i in 0..self.packs.len() {
            let (first, lanes) = (i * T::LANES, self.lanes(i));
            let pack = &mut self.packs[i];
            if let Some(t) = recorded {
                pack.record_context(t);
            }
            pack.observe(&*self.task);
            scatter(&pack.observation, first, lanes, &mut out.final_observations);
            let width = pack.sizes.observation;
            let done: Vec<usize> = (first..first + lanes).filter(|env| out.done(*env)).collect();
            for env in &done {
                if out.failed[*env] {
                    out.final_observations[env * width..][..width].fill(F::zero());
                }
                EnvShard::<F>::restart(self, *env);
            }
            let pack = &mut self.packs[i];
            if !done.is_empty() {
                pack.observe(&*self.task);
            }
            scatter(&pack.observation, first, lanes, &mut out.observations);
        }
        if let Some(t) = recorded {
            let n = self.envs.len();
            for env in 0..n {
                self.cuts[t * n + env] = Cut { done: out.done(env), failed: out.failed[env] };
            }
            self.recorded = Some(t + 1);
        }
        Ok(())
    }

    fn record(&mut self, steps: usize) {
        self.packs.iter_mut().for_each(|pack| pack.reserve(steps));
        self.cuts.resize(steps * self.envs.len(), Cut::default());
        self.recorded = Some(0);
    }

    fn stop_recording(&mut self) {
        self.recorded = None;
    }

    fn limit_gradients(&mut self, limit: Option<f64>) {
        self.limit = limit;
    }

    fn begin_backward(&mut self) {
        self.packs.iter_mut().for_each(Pack::begin_backward);
    }

    fn step_vjp(&mut self, t: usize, bars: StepBars<'_, F>, norms: &mut [f64]) -> Result<(), StepError> {
        let n = self.envs.len();
        for i in 0..self.packs.len() {
            let (first, lanes) = (i * T::LANES, self.lanes(i));
            let cuts = &self.cuts[t * n..][..n];
            let cut = |lane: usize| cuts[(first + lane).min(n - 1)];
            let done = lane_mask::<T>(|lane| cut(lane).done);
            let failed = lane_mask::<T>(|lane| cut(lane).failed);
            let pack = &mut self.packs[i];
            let width = pack.sizes.observation;
            for (k, bar) in pack.observation_bar.iter_mut().enumerate() {
                *bar = T::from_numbers(|lane| {
                    // Lanes beyond the last environment carry no cotangent.
                    if lane >= lanes || cut(lane).failed {
                        return F::zero();
                    }
                    let at = (first + lane) * width + k;
                    let later = if cut(lane).done { F::zero() } else { bars.observations[at] };
                    bars.final_observations[at] + later
                });
            }
            let reward_bar = T::from_numbers(|lane| {
                if lane < lanes && !cut(lane).failed { bars.rewards[first + lane] } else { F::zero() }
            });
            pack.step_vjp(&*self.task, t, reward_bar, (done, failed))?;
            let norm = pack.tame(self.limit);
            scatter(&pack.action_bar, first, lanes, bars.actions);
            norms[first..first + lanes].iter_mut().enumerate().for_each(|(i, to)| *to = norm.lane(i));
        }
        Ok(())
    }

    fn restart(&mut self, env: usize) {
        self.envs[env] = Env { episode: self.envs[env].episode + 1, age: 0 };
        self.begin_episode::<F>(env);
    }

    fn snapshot(&self) -> EnvSnapshot {
        let mut all = EnvSnapshot::default();
        for (i, pack) in self.packs.iter().enumerate() {
            for lane in 0..self.lanes(i) {
                let Env { episode, age } = self.envs[i * T::LANES + lane];
                all.append(EnvSnapshot {
                    states: take(&pack.state, lane),
                    actions: take(&pack.action, lane),
                    contexts: take(&pack.context, lane),
                    params: take(&pack.params, lane),
                    episodes: vec![episode],
                    ages: vec![age],
                });
            }
        }
        all
    }

    fn restore(&mut self, seed: u64, snapshot: &EnvSnapshot) {
        self.seed = seed;
        let n = self.envs.len();
        for i in 0..self.packs.len() {
            for lane in 0..T::LANES {
                let env = self.env_of(i, lane);
                let one = snapshot.part(env, 1, n);
                self.envs[env] = Env { episode: one.episodes[0], age: one.ages[0] };
                let pack = &mut self.packs[i];
                put::<T, F>(&mut pack.state, lane, &one.states);
                put::<T, F>(&mut pack.action, lane, &one.actions);
                put::<T, F>(&mut pack.context, lane, &one.contexts);
                put::<T, F>(&mut pack.params, lane, &one.params);
            }
        }
    }

    fn horizon_bytes(&self, steps: usize) -> usize {
        let sizes = Sizes::of(&*self.task);
        let substates = (sizes.substeps + 1) * sizes.state;
        let scalars = steps * sizes.kept_scalars(self.kept) + substates;
        let workspace = self.task.system().workspace().heap_bytes();
        self.packs.len() * (scalars * size_of::<T>() + workspace)
    }

    fn state(&self, i: usize) -> Vec<f64> {
        take(&self.packs[i / T::LANES].state, i % T::LANES)
    }
}

impl<K: Task<T>, T: Real> TaskShard<K, T> {
    /// Lets the task change its own numbers in every environment.
    fn change_contexts<F: Number>(&mut self)
    where
        T: Lanes<F>,
    {
        for env in 0..self.envs.len() {
            let (i, lane) = (env / T::LANES, env % T::LANES);
            let age = self.envs[env].age;
            let mut random = self.random(env, CONTEXT + age);
            let pack = &mut self.packs[i];
            let mut context = take(&pack.context, lane);
            let (before, action) = (take(&pack.before, lane), take(&pack.action, lane));
            let (after, seen) = (take(&pack.state, lane), context.clone());
            let step = Transition { before: &before, action: &action, after: &after, context: &seen };
            self.task.change_context(step, age as usize, &mut random, &mut context);
            put::<T, F>(&mut pack.context, lane, &context);
        }
    }
}

fn view<T: Real, W>(pack: &Pack<T, W>) -> View<'_, T> {
    View { state: &pack.state, action: &pack.action, context: &pack.context }
}

/// Whether a mask holds in a lane.
fn is_set<T: Real>(mask: T::Mask, lane: usize) -> bool {
    T::select(mask, T::one(), T::zero()).lane(lane) != 0.0
}

/// A mask by lanes.
fn lane_mask<T: Real>(mut holds: impl FnMut(usize) -> bool) -> T::Mask {
    T::from_lanes(|lane| f64::from(u8::from(holds(lane)))).gt(T::zero())
}

/// Rows of lanes.
fn scatter<T: Lanes<F>, F: Number>(values: &[T], first: usize, lanes: usize, rows: &mut [F]) {
    let width = values.len();
    for lane in 0..lanes {
        for (to, value) in rows[(first + lane) * width..][..width].iter_mut().zip(values) {
            *to = value.number(lane);
        }
    }
}

/// Lanes of rows, clipped to [−1, 1]; lanes beyond the last row repeat it.
fn gather_clipped<T: Lanes<F>, F: Number>(rows: &[F], first: usize, lanes: usize, values: &mut [T]) {
    let width = values.len();
    for (k, value) in values.iter_mut().enumerate() {
        let raw = T::from_numbers(|lane| rows[(first + lane.min(lanes - 1)) * width + k]);
        *value = raw.max(-T::one()).min(T::one());
    }
}
