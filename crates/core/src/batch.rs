//! [`Batch`]: one rollout over many environments, SIMD lanes times threads.
//!
//! Environments are packed `T::LANES` at a time; each pack is stepped on its own, so results depend neither
//! on the number of threads nor on the order in which packs finish. A last, partly filled pack repeats its
//! last environment.

use pullback_math::Real;
use rayon::prelude::*;

use crate::error::{ConfigError, StepError};
use crate::inputs::check_len;
use crate::rollout::{Inputs, Loss, Rollout, RolloutWorkspace};
use crate::system::System;

/// What differs between environments, environment after environment.
#[derive(Clone, Copy, Debug)]
pub struct BatchInputs<'a> {
    /// Initial states: one for all environments, or one per environment.
    pub states: &'a [f64],
    /// Controls of all steps: one set for all environments, or one per environment.
    pub controls: &'a [f64],
    /// Parameters: one set for all environments, or one per environment.
    pub params: &'a [f64],
}

/// Gradients, environment after environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchGradients {
    /// Losses.
    pub loss: Vec<f64>,
    /// With respect to initial states.
    pub states: Vec<f64>,
    /// With respect to controls.
    pub controls: Vec<f64>,
    /// With respect to parameters.
    pub params: Vec<f64>,
}

/// A rollout over many environments; owns the memory of all of them.
pub struct Batch<S: System<T>, T: Real> {
    rollout: Rollout<S>,
    envs: usize,
    packs: Vec<Pack<T, S::Workspace>>,
    pool: rayon::ThreadPool,
}

/// `T::LANES` environments side by side.
struct Pack<T, W> {
    first: usize,
    workspace: RolloutWorkspace<T, W>,
    inputs: Inputs<T>,
    end: Vec<T>,
    loss: T,
}

impl<S: System<T>, T: Real> Batch<S, T> {
    /// Allocates `envs` environments, to be run by `threads` threads.
    pub fn new(rollout: Rollout<S>, envs: usize, threads: usize) -> Result<Self, ConfigError> {
        if envs == 0 || threads == 0 {
            return Err(ConfigError::new("a batch needs at least one environment and one thread"));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| ConfigError::new(format!("cannot start {threads} threads: {e}")))?;
        let layout = rollout.system.layout();
        let zeros = |n| vec![T::zero(); n];
        let pack = |i: usize| Pack {
            first: i * T::LANES,
            workspace: rollout.workspace::<T>(),
            inputs: Inputs {
                state: zeros(layout.state.len()),
                controls: zeros(rollout.steps * layout.control.len()),
                params: zeros(layout.params.len()),
            },
            end: zeros(layout.state.len()),
            loss: T::zero(),
        };
        let packs = (0..envs.div_ceil(T::LANES)).map(pack).collect();
        Ok(Batch { rollout, envs, packs, pool })
    }

    /// Runs all environments and returns their final states.
    pub fn simulate(&mut self, inputs: BatchInputs<'_>) -> Result<Vec<f64>, StepError> {
        self.check(&inputs)?;
        let envs = self.envs;
        self.for_each_pack(|rollout, pack| {
            pack.load(&inputs, envs);
            let Pack { workspace, inputs, end, .. } = pack;
            rollout.simulate(workspace, inputs, |sample| {
                if sample.last() {
                    end.copy_from_slice(sample.state);
                }
            })
        })?;
        let mut states = vec![0.0; envs * self.rollout.system.layout().state.len()];
        for pack in &self.packs {
            unpack(&pack.end, pack.first, envs, &mut states);
        }
        Ok(states)
    }

    /// Losses of all environments, without gradients; that of an environment whose simulation fails is
    /// infinite. `loss` makes the loss of the pack whose first environment it is given.
    pub fn values<L: Loss<T>>(
        &mut self,
        inputs: BatchInputs<'_>,
        loss: impl Fn(usize) -> L + Sync,
        out: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.check(&inputs)?;
        let envs = self.envs;
        self.for_each_pack(|rollout, pack| {
            pack.load(&inputs, envs);
            let loss = loss(pack.first);
            let Pack { workspace, inputs: packed, loss: found, .. } = pack;
            if let Ok(value) = rollout.value(workspace, packed, &loss) {
                *found = value;
                return Ok(());
            }
            // Some lane failed: each environment alone, in all lanes.
            let last = (pack.first + T::LANES).min(envs) - 1;
            pack.loss = T::from_lanes(|lane| {
                pack.load_one(&inputs, (pack.first + lane).min(last));
                let value = rollout.value(&mut pack.workspace, &pack.inputs, &loss);
                value.map_or(f64::INFINITY, |value| value.lane(0))
            });
            Ok(())
        })?;
        out.resize(envs, 0.0);
        for pack in &self.packs {
            unpack(&[pack.loss], pack.first, envs, out);
        }
        // Losses that overflow on the way are failures too.
        out.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = f64::INFINITY);
        Ok(())
    }

    /// Losses and gradients of all environments into `out`. `loss` makes the loss of the pack whose first
    /// environment it is given.
    pub fn gradients<L: Loss<T>>(
        &mut self,
        inputs: BatchInputs<'_>,
        loss: impl Fn(usize) -> L + Sync,
        out: &mut BatchGradients,
    ) -> Result<(), StepError> {
        self.check(&inputs)?;
        let envs = self.envs;
        self.for_each_pack(|rollout, pack| {
            pack.load(&inputs, envs);
            rollout.gradient(&mut pack.workspace, &pack.inputs, &loss(pack.first))
        })?;
        let layout = self.rollout.system.layout();
        out.loss.resize(envs, 0.0);
        out.states.resize(envs * layout.state.len(), 0.0);
        out.controls.resize(envs * self.rollout.steps * layout.control.len(), 0.0);
        out.params.resize(envs * layout.params.len(), 0.0);
        for pack in &self.packs {
            let gradient = &pack.workspace.gradient;
            unpack(&[gradient.loss], pack.first, envs, &mut out.loss);
            unpack(&gradient.state, pack.first, envs, &mut out.states);
            unpack(&gradient.control, pack.first, envs, &mut out.controls);
            unpack(&gradient.params, pack.first, envs, &mut out.params);
        }
        Ok(())
    }

    /// Runs `work` on every pack; of several errors, that of the first environment is returned.
    fn for_each_pack(
        &mut self,
        work: impl Fn(&Rollout<S>, &mut Pack<T, S::Workspace>) -> Result<(), StepError> + Sync,
    ) -> Result<(), StepError> {
        let (rollout, packs) = (&self.rollout, &mut self.packs);
        let work = |pack: &mut Pack<T, S::Workspace>| work(rollout, pack);
        let results: Vec<Result<(), StepError>> =
            self.pool.install(|| packs.par_iter_mut().map(&work).collect());
        results.into_iter().collect()
    }

    /// Checks the lengths: states, controls and parameters for all environments or one set each.
    fn check(&self, inputs: &BatchInputs<'_>) -> Result<(), StepError> {
        let layout = self.rollout.system.layout();
        let shared = |name, found: usize, one: usize| {
            if found == one { Ok(()) } else { check_len(name, found, one * self.envs) }
        };
        shared("states of a batch", inputs.states.len(), layout.state.len())?;
        let controls = self.rollout.steps * layout.control.len();
        shared("controls of a batch", inputs.controls.len(), controls)?;
        shared("params of a batch", inputs.params.len(), layout.params.len())
    }
}

impl<T: Real, W> Pack<T, W> {
    fn load(&mut self, inputs: &BatchInputs<'_>, envs: usize) {
        pack(inputs.states, self.first, envs, &mut self.inputs.state);
        pack(inputs.controls, self.first, envs, &mut self.inputs.controls);
        pack(inputs.params, self.first, envs, &mut self.inputs.params);
    }

    /// One environment in all lanes.
    fn load_one(&mut self, inputs: &BatchInputs<'_>, env: usize) {
        pack(inputs.states, env, env + 1, &mut self.inputs.state);
        pack(inputs.controls, env, env + 1, &mut self.inputs.controls);
        pack(inputs.params, env, env + 1, &mut self.inputs.params);
    }
}

/// Gathers the lanes of one pack; values shared by all environments go to every lane.
fn pack<T: Real>(from: &[f64], first: usize, envs: usize, to: &mut [T]) {
    let len = to.len();
    let shared = from.len() == len;
    for (k, to) in to.iter_mut().enumerate() {
        *to = T::from_lanes(|lane| {
            let env = if shared { 0 } else { (first + lane).min(envs - 1) };
            from[env * len + k]
        });
    }
}

/// Scatters the lanes of one pack; padding lanes are dropped.
fn unpack<T: Real>(from: &[T], first: usize, envs: usize, to: &mut [f64]) {
    let len = from.len();
    for lane in 0..T::LANES.min(envs - first) {
        for (k, x) in from.iter().enumerate() {
            to[(first + lane) * len + k] = x.lane(lane);
        }
    }
}
