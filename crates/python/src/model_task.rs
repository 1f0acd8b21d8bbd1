//! [`ModelTask`]: the robot of a file as a task, rewarded by a loss.
//!
//! The reward of a step is bonus − ℓ, where ℓ is the loss over a rollout of that one control: the same number that
//! `System.value(loss, steps=1)` gives. Running terms see the state before and the control, terminal terms the state
//! after.

use std::sync::Arc;

use pullback::core::integrator::StepControl;
use pullback::core::layout::Section;
use pullback::core::random::Random;
use pullback::core::rollout::{Inputs, Loss as CoreLoss, Sample};
use pullback::core::{ConfigError, Described, Integrated, VectorField};
use pullback::learn::env::{
    Spaces, Start, Task, TaskSpec, Transition, TransitionBars, VecEnv, VecEnvOptions, View, ViewBars,
};
use pullback::math::{Mask, Real, f32x16, f64x8};
use pullback::physics::articulated::Articulated;
use pullback::replay::Replay;
use pullback::tasks::depict::depict_robot;
use pullback::tasks::environments::{Environment, Precision};
use pullback::tasks::recording;
use pullback::video::look::Depict;

use crate::error::{Error, refuse};
use crate::losses::Loss;
use crate::system::System;

/// Entries of a state or a control, at most: pullbacks of rewards keep them on the stack.
const MOST_ENTRIES: usize = 256;

/// An entry of the state, and the range within which the episode goes on.
type Bounded = (usize, f64, f64);

/// What a robot of a file is asked to do.
pub struct ModelTask {
    robot: Arc<Integrated<Articulated>>,
    start: Vec<f64>,
    params: Vec<f64>,
    /// Entries of the state that are seen.
    seen: Vec<usize>,
    /// Middle and half width of the range of each control.
    ranges: Vec<(f64, f64)>,
    loss: Option<Loss>,
    bonus: f64,
    alive: Vec<Bounded>,
    /// Bound of the noise on positions and velocities at the start.
    noise: f64,
    substeps: usize,
    episode_length: usize,
}

/// What Python says of a task.
pub struct Wishes {
    /// Where episodes start.
    pub start: Vec<f64>,
    /// Parameters of the robot.
    pub params: Vec<f64>,
    /// Entries of the state that are seen.
    pub seen: Vec<usize>,
    /// What costs reward.
    pub loss: Option<Loss>,
    /// Reward of every step.
    pub bonus: f64,
    /// Where the episode goes on.
    pub alive: Vec<Bounded>,
    /// Bound of the noise at the start.
    pub noise: f64,
    /// Steps of the physics per action.
    pub substeps: usize,
    /// Actions per episode.
    pub episode_length: usize,
}

impl ModelTask {
    /// A task for the robot of a system; an error if it cannot be run on lanes.
    pub fn new(system: &System, wishes: Wishes) -> Result<Self, Error> {
        let name = system.0.scene.name();
        let Some(robot) = system.0.robot.clone() else {
            return Err(refuse(format!(
                "{name}: only robots of files make tasks; scenes have tasks by name"
            )));
        };
        if robot.integrator().control != StepControl::Fixed {
            return Err(refuse(format!("{name}: tasks need fixed steps; load it without `tolerance`")));
        }
        let layout = robot.layout();
        let (n, m) = (layout.state.len(), layout.control.len());
        let Wishes { start, params, seen, loss, bonus, alive, noise, substeps, episode_length } = wishes;
        if n.max(m) > MOST_ENTRIES {
            return Err(refuse(format!("{name}: {n} states and {m} controls; tasks take {MOST_ENTRIES}")));
        }
        if m == 0 {
            return Err(refuse(format!("{name}: there is nothing to control; the file needs actuators")));
        }
        if start.len() != n || params.len() != layout.params.len() {
            return Err(refuse(format!("{name}: start and params do not fit its state and parameters")));
        }
        if let Some(Loss { sizes, .. }) = loss.as_ref().filter(|loss| loss.sizes != (n, m)) {
            return Err(refuse(format!("{name}: the loss is of another system, with {sizes:?} entries")));
        }
        if seen.is_empty() || seen.iter().chain(alive.iter().map(|(i, ..)| i)).any(|i| *i >= n) {
            return Err(refuse(format!("{name}: what is seen must be entries of the state, at least one")));
        }
        if substeps == 0 || episode_length == 0 {
            return Err(refuse(format!("{name}: substeps and episode_length must be at least 1")));
        }
        if !(noise >= 0.0 && noise.is_finite() && bonus.is_finite()) {
            return Err(refuse(format!("{name}: noise must not be negative, and noise and bonus finite")));
        }
        let ranges = (0..m).map(|i| range(name, &layout.control, i)).collect::<Result<_, _>>()?;
        Ok(ModelTask {
            robot,
            start,
            params,
            seen,
            ranges,
            loss,
            bonus,
            alive,
            noise,
            substeps,
            episode_length,
        })
    }

    /// What distinguishes this task from others of the same robot.
    pub fn description(&self) -> String {
        let ModelTask { start, params, seen, ranges, loss, bonus, alive, noise, substeps, .. } = self;
        let terms = loss.as_ref().map(|loss| &loss.terms);
        let (steps, dt) = (self.episode_length, self.robot.dt());
        format!(
            "{dt} s, {substeps} substeps, {steps} steps, start {start:?}, noise {noise}, params {params:?}, \
             seen {seen:?}, controls {ranges:?}, bonus {bonus}, loss {terms:?}, alive {alive:?}"
        )
    }
}

/// Middle and half width of the range of a control.
fn range(name: &str, section: &Section, i: usize) -> Result<(f64, f64), Error> {
    let (low, high) = section.bounds(i);
    if low.is_finite() && high.is_finite() && low < high {
        return Ok((0.5 * (low + high), 0.5 * (high - low)));
    }
    let entry = section.entry_name(i);
    Err(refuse(format!("{name}: control {entry} has no range for actions; give its actuator a ctrlrange")))
}

impl TaskSpec for ModelTask {
    fn spaces(&self) -> Spaces {
        Spaces { points: 0, vector: self.seen.len(), actions: self.ranges.len() }
    }
    fn substeps(&self) -> usize {
        self.substeps
    }
    fn episode_length(&self) -> usize {
        self.episode_length
    }
    fn params(&self) -> Option<Vec<f64>> {
        Some(self.params.clone())
    }
    fn start(&self, random: &mut Random, start: Start<'_>) {
        let robot = self.robot.field();
        let moving = 2 * robot.coordinates().nv;
        let mut rate: Vec<f64> = (0..moving).map(|_| random.uniform(-self.noise, self.noise)).collect();
        // Activations of muscles start as they are told.
        rate.resize(moving + robot.coordinates().activations(), 0.0);
        VectorField::<f64>::advance(robot, &self.start, &rate, 1.0, start.state);
    }
    fn ends_where(&self, seen: &[f32]) -> Option<bool> {
        let mut ends = false;
        for (entry, low, high) in &self.alive {
            let x = f64::from(seen[self.seen.iter().position(|i| i == entry)?]);
            ends |= x < *low || x > *high;
        }
        Some(ends)
    }
}

impl<T: Real> Task<T> for ModelTask {
    type System = Integrated<Articulated>;

    fn system(&self) -> &Self::System {
        &self.robot
    }
    fn control(&self, _: View<'_, T>, action: &[T], control: &mut [T]) {
        for ((u, a), (middle, half)) in control.iter_mut().zip(action).zip(&self.ranges) {
            *u = T::lit(*middle) + T::lit(*half) * *a;
        }
    }
    fn control_vjp(
        &self,
        _: View<'_, T>,
        _: &[T],
        control_bar: &[T],
        action_bar: &mut [T],
        _state_bar: &mut [T],
    ) {
        for ((bar, u_bar), (_, half)) in action_bar.iter_mut().zip(control_bar).zip(&self.ranges) {
            *bar += T::lit(*half) * *u_bar;
        }
    }
    fn observe(&self, at: View<'_, T>, out: &mut [T]) {
        out.iter_mut().zip(&self.seen).for_each(|(to, i)| *to = at.state[*i]);
    }
    fn observe_vjp(&self, _: View<'_, T>, out_bar: &[T], bars: ViewBars<'_, T>) {
        self.seen.iter().zip(out_bar).for_each(|(i, bar)| bars.state[*i] += *bar);
    }
    fn reward(&self, step: Transition<'_, T>) -> T {
        let Some(loss) = &self.loss else { return T::lit(self.bonus) };
        let mut control = [T::zero(); MOST_ENTRIES];
        let control = self.controls_of(&step, &mut control);
        let [before, after] = samples(&step, control);
        T::lit(self.bonus) - loss.value(before) - loss.value(after)
    }
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>) {
        let Some(loss) = &self.loss else { return };
        let mut control = [T::zero(); MOST_ENTRIES];
        let control = self.controls_of(&step, &mut control);
        let [before, after] = samples(&step, control);
        let mut control_bar = [T::zero(); MOST_ENTRIES];
        let control_bar = &mut control_bar[..control.len()];
        for (at, bar) in [(before, bars.before), (after, bars.after)] {
            let mut state_bar = [T::zero(); MOST_ENTRIES];
            let state_bar = &mut state_bar[..at.state.len()];
            loss.vjp(at, state_bar, control_bar);
            bar.iter_mut().zip(state_bar).for_each(|(to, x)| *to -= reward_bar * *x);
        }
        for ((bar, u_bar), (_, half)) in bars.action.iter_mut().zip(control_bar).zip(&self.ranges) {
            *bar -= reward_bar * T::lit(*half) * *u_bar;
        }
    }
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        let mut ended = T::Mask::splat(false);
        for (i, low, high) in &self.alive {
            ended = ended | at.state[*i].lt(T::lit(*low)) | at.state[*i].gt(T::lit(*high));
        }
        ended
    }
}

impl ModelTask {
    /// The controls of a step.
    fn controls_of<'a, T: Real>(&self, step: &Transition<'_, T>, memory: &'a mut [T]) -> &'a [T] {
        let control = &mut memory[..self.ranges.len()];
        let at = View { state: step.before, action: step.action, context: step.context };
        self.control(at, step.action, control);
        control
    }
}

/// The samples of a rollout of one control; no term of a [`Loss`] reads parameters.
fn samples<'a, T>(step: &Transition<'a, T>, control: &'a [T]) -> [Sample<'a, T>; 2] {
    [
        Sample { step: 0, steps: 1, state: step.before, control, params: &[] },
        Sample { step: 1, steps: 1, state: step.after, control: &[], params: &[] },
    ]
}

/// [`ModelTask`] in many environments.
pub struct ModelEnvironment(pub Arc<ModelTask>);

impl Environment for ModelEnvironment {
    fn spaces(&self) -> Spaces {
        self.0.spaces()
    }
    fn episode_length(&self) -> usize {
        self.0.episode_length
    }
    fn action_seconds(&self) -> f64 {
        self.0.robot.dt() * self.0.substeps as f64
    }
    fn vec_env(&self, options: VecEnvOptions, precision: Precision) -> Result<VecEnv<f32>, ConfigError> {
        match precision {
            Precision::F32 => VecEnv::new::<f32x16, ModelTask>(self.0.clone(), options),
            Precision::F64 => VecEnv::new::<f64x8, ModelTask>(self.0.clone(), options),
        }
    }
    fn replay(&self, states: &[Vec<f64>]) -> Replay {
        let (robot, seconds) = (self.0.robot.field(), self.action_seconds());
        let row = |(i, state): (usize, &Vec<f64>)| (i as f64 * seconds, state.clone());
        let rows: Vec<(f64, Vec<f64>)> = states.iter().enumerate().map(row).collect();
        let controls = vec![0.0; states.len().max(1) * robot.layout().control.len()];
        let inputs = Inputs { state: self.0.start.clone(), controls, params: self.0.params.clone() };
        recording::replay(robot, (&inputs, seconds), &rows)
    }
    fn depict(&self) -> (Box<dyn Depict>, Vec<f64>) {
        (depict_robot(self.0.robot.field()), self.0.params.clone())
    }
}
