//! [`Batch`]: one rollout over many environments, SIMD lanes times threads.
//!
//! Environments are packed `T::LANES` at a time; each pack is stepped on its own, so results depend neither
//! on the number of threads nor on the order in which packs finish. A last, partly filled pack repeats its
//! last environment.

use pullback_math::Real;
use rayon::prelude::*;

use crate::error::{ConfigError, StepError};
use crate::inputs::check_len;
use crate::rollout::{Gradient, Inputs, Loss, Rollout, RolloutWorkspace};
use crate::system::System;

/// What differs between environments, environment after environment.
///
/// ```
/// use pullback_core::batch::BatchInputs;
/// // Three environments of two state entries each, one set of parameters for all.
/// let states = [10.0, 0.0, 20.0, 0.0, 30.0, 0.0];
/// let inputs = BatchInputs { states: &states, controls: &[], params: &[9.81] };
/// assert_eq!(inputs.states.len() / 3, 2);
/// ```
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
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
/// use pullback_core::{Rollout, Schedule, rollout::FinalState};
/// let system = falling(0.01);
/// let mut batch = Batch::<_, pullback_math::f64x4>::new(Rollout::new(&system, 10, Schedule::StoreAll)?, 2, 1)?;
/// let inputs = BatchInputs { states: &[10.0, 0.0, 20.0, 0.0], controls: &[], params: &[9.81] };
/// let mut out = BatchGradients::default();
/// batch.gradients(inputs, |_| FinalState { weights: vec![1.0, 0.0] }, &mut out)?;
/// assert_eq!((out.loss.len(), out.states.len(), out.params.len()), (2, 4, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// An environment whose simulation fails does not stop the others: they run, an error names the first that
/// failed, and [`failures`](Batch::failures) lists all.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::batch::{Batch, BatchGradients, BatchInputs};
/// use pullback_core::{Rollout, Schedule, rollout::FinalState};
/// let system = falling(0.01); // a body in free fall, state (height, velocity), parameter gravity
/// let rollout = Rollout::new(&system, 100, Schedule::StoreAll)?;
/// let mut batch = Batch::<_, pullback_math::f64x4>::new(rollout, 3, 2)?;
/// let states = [10.0, 0.0, 20.0, 0.0, 30.0, 0.0]; // of each environment; gravity is the same for all
/// let inputs = BatchInputs { states: &states, controls: &[], params: &[9.81] };
/// let mut out = BatchGradients::default();
/// batch.gradients(inputs, |_| FinalState { weights: vec![1.0, 0.0] }, &mut out)?;
/// assert!((out.loss[2] - out.loss[0] - 20.0).abs() < 1e-9);
/// assert!((out.params[1] + 0.5).abs() < 0.01); // −t²/2, up to the integrator's first order
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch<S: System<T>, T: Real> {
    rollout: Rollout<S>,
    envs: usize,
    packs: Vec<Pack<T, S::Workspace>>,
    pool: rayon::ThreadPool,
    failures: Vec<(usize, StepError)>,
}

/// `T::LANES` environments side by side.
struct Pack<T, W> {
    first: usize,
    workspace: RolloutWorkspace<T, W>,
    inputs: Inputs<T>,
    end: Vec<T>,
    loss: T,
    /// Where the lanes together failed: each environment by itself.
    alone: Vec<Result<Outcome, StepError>>,
}

/// What became of one environment.
struct Outcome {
    loss: f64,
    end: Vec<f64>,
    gradient: Gradient<f64>,
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
                controls: zeros(rollout.steps() * layout.control.len()),
                params: zeros(layout.params.len()),
            },
            end: zeros(layout.state.len()),
            loss: T::zero(),
            alone: Vec::new(),
        };
        let packs = (0..envs.div_ceil(T::LANES)).map(pack).collect();
        Ok(Batch { rollout, envs, packs, pool, failures: Vec::new() })
    }

    /// Environments whose simulation failed in the last call, and why.
    pub fn failures(&self) -> &[(usize, StepError)] {
        &self.failures
    }

    /// Runs all environments; their final states into `out`. Those of environments that fail are NaN.
    pub fn simulate(&mut self, inputs: BatchInputs<'_>, out: &mut Vec<f64>) -> Result<(), StepError> {
        self.run(&inputs, |rollout, pack| {
            let Pack { workspace, inputs, end, .. } = pack;
            rollout.simulate(workspace, inputs, |sample| {
                if sample.last() {
                    end.copy_from_slice(sample.state);
                }
            })
        })?;
        out.resize(self.envs * self.rollout.system.layout().state.len(), 0.0);
        for pack in &self.packs {
            pack.scatter(self.envs, out, &pack.end, f64::NAN, |alone| &alone.end);
        }
        self.first_failure()
    }

    /// Losses of all environments, without gradients; that of an environment whose simulation fails is
    /// infinite. `loss` makes the loss of the pack whose first environment it is given.
    pub fn values<L: Loss<T>>(
        &mut self,
        inputs: BatchInputs<'_>,
        loss: impl Fn(usize) -> L + Sync,
        out: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.run(&inputs, |rollout, pack| {
            pack.loss = rollout.value(&mut pack.workspace, &pack.inputs, &loss(pack.first))?;
            Ok(())
        })?;
        out.resize(self.envs, 0.0);
        for pack in &self.packs {
            let failed = f64::INFINITY;
            pack.scatter(self.envs, out, &[pack.loss], failed, |alone| std::slice::from_ref(&alone.loss));
        }
        Ok(())
    }

    /// Losses and gradients of all environments into `out`. `loss` makes the loss of the pack whose first
    /// environment it is given. Where an environment fails its loss is infinite and its gradient NaN.
    pub fn gradients<L: Loss<T>>(
        &mut self,
        inputs: BatchInputs<'_>,
        loss: impl Fn(usize) -> L + Sync,
        out: &mut BatchGradients,
    ) -> Result<(), StepError> {
        self.run(&inputs, |rollout, pack| {
            rollout.gradient(&mut pack.workspace, &pack.inputs, &loss(pack.first))?;
            pack.loss = pack.workspace.gradient.loss;
            Ok(())
        })?;
        let (layout, envs) = (self.rollout.system.layout(), self.envs);
        out.loss.resize(envs, 0.0);
        out.states.resize(envs * layout.state.len(), 0.0);
        out.controls.resize(envs * self.rollout.steps() * layout.control.len(), 0.0);
        out.params.resize(envs * layout.params.len(), 0.0);
        for pack in &self.packs {
            let gradient = &pack.workspace.gradient;
            pack.scatter(envs, &mut out.loss, &[pack.loss], f64::INFINITY, |alone| {
                std::slice::from_ref(&alone.loss)
            });
            pack.scatter(envs, &mut out.states, &gradient.state, f64::NAN, |alone| &alone.gradient.state);
            pack.scatter(envs, &mut out.controls, &gradient.control, f64::NAN, |alone| {
                &alone.gradient.control
            });
            pack.scatter(envs, &mut out.params, &gradient.params, f64::NAN, |alone| &alone.gradient.params);
        }
        self.first_failure()
    }

    /// Runs `work` on every pack, and where it fails on each environment of the pack alone.
    fn run(
        &mut self,
        inputs: &BatchInputs<'_>,
        work: impl Fn(&Rollout<S>, &mut Pack<T, S::Workspace>) -> Result<(), StepError> + Sync,
    ) -> Result<(), StepError> {
        self.check(inputs)?;
        let (rollout, packs, envs) = (&self.rollout, &mut self.packs, self.envs);
        let one = |pack: &mut Pack<T, S::Workspace>| {
            pack.load(inputs, envs);
            pack.alone.clear();
            let Err(error) = work(rollout, pack) else { return };
            if T::LANES == 1 {
                return pack.alone.push(Err(error));
            }
            for env in pack.first..(pack.first + T::LANES).min(envs) {
                pack.load_one(inputs, env);
                let outcome = work(rollout, pack).map(|()| pack.outcome(env - pack.first));
                pack.alone.push(outcome);
            }
        };
        self.pool.install(|| packs.par_iter_mut().for_each(one));
        self.failures.clear();
        for pack in &self.packs {
            let failed = pack.alone.iter().zip(pack.first..).filter_map(|(alone, env)| {
                let error = alone.as_ref().err()?;
                Some((env, error.clone()))
            });
            self.failures.extend(failed);
        }
        Ok(())
    }

    /// The failure of the first environment that failed in the last call.
    fn first_failure(&self) -> Result<(), StepError> {
        let (envs, failed) = (self.envs, self.failures.len());
        match self.failures.first().cloned() {
            None => Ok(()),
            Some((env, error)) if envs > 1 => {
                Err(StepError::Environment { env, envs, failed, error: Box::new(error) })
            }
            Some((_, error)) => Err(error),
        }
    }

    /// Checks the lengths: states, controls and parameters for all environments or one set each.
    fn check(&self, inputs: &BatchInputs<'_>) -> Result<(), StepError> {
        let layout = self.rollout.system.layout();
        let shared = |name, found: usize, one: usize| {
            if found == one { Ok(()) } else { check_len(name, found, one * self.envs) }
        };
        shared("states of a batch", inputs.states.len(), layout.state.len())?;
        let controls = self.rollout.steps() * layout.control.len();
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

    /// What became of the environment that is in all lanes, by the loss that its own lane has.
    fn outcome(&self, lane: usize) -> Outcome {
        let own = |values: &[T]| values.iter().map(|x| x.lane(lane)).collect::<Vec<f64>>();
        let (loss, found) = (self.loss.lane(lane), &self.workspace.gradient);
        let gradient = Gradient {
            loss,
            state: own(&found.state),
            control: own(&found.control),
            params: own(&found.params),
        };
        Outcome { loss, end: own(&self.end), gradient }
    }

    /// One quantity of the pack's environments to its places among those of all: from the lanes, or where these
    /// failed from each environment alone; `failed` stands for those that failed alone too.
    fn scatter(
        &self,
        envs: usize,
        to: &mut [f64],
        lanes: &[T],
        failed: f64,
        alone: impl Fn(&Outcome) -> &[f64],
    ) {
        let len = lanes.len();
        for (lane, to) in to[self.first * len..].chunks_mut(len.max(1)).take(T::LANES.min(envs)).enumerate() {
            match self.alone.get(lane) {
                None => to.iter_mut().zip(lanes).for_each(|(to, x)| *to = x.lane(lane)),
                Some(Ok(outcome)) => to.copy_from_slice(alone(outcome)),
                Some(Err(_)) => to.fill(failed),
            }
        }
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
