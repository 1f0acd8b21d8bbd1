//! [`Pack`]: `T::LANES` environments side by side, one action forward and back.

use pullback_core::{Bars, Described, Point, StepError, System};
use pullback_math::{Mask, Real};

use super::task::{Task, Transition, TransitionBars, View, ViewBars};

/// What is kept of a horizon for the way back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// States of control steps; substeps are run again.
    #[default]
    ControlSteps,
    /// States of all substeps: a quarter less time, `substeps` times the memory.
    Substeps,
}

/// Sizes of a task over scalars of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub state: usize,
    pub control: usize,
    pub params: usize,
    pub action: usize,
    pub observation: usize,
    pub context: usize,
    pub substeps: usize,
    /// Parameters that differ between episodes.
    pub changing_params: usize,
}

impl Sizes {
    pub fn of<T: Real, K: Task<T>>(task: &K) -> Self {
        let (layout, spaces) = (task.system().layout(), task.spaces());
        Sizes {
            state: layout.state.len(),
            control: layout.control.len(),
            params: layout.params.len(),
            action: spaces.actions,
            observation: spaces.observation(),
            context: task.context_len(),
            substeps: task.substeps(),
            changing_params: if task.changes_params() { layout.params.len() } else { 0 },
        }
    }

    /// States kept of one action.
    fn kept_states(&self, kept: Kept) -> usize {
        match kept {
            Kept::ControlSteps => 1,
            Kept::Substeps => self.substeps + 1,
        }
    }

    /// Scalars kept of one action.
    pub fn kept_scalars(&self, kept: Kept) -> usize {
        self.kept_states(kept) * self.state + self.action + 2 * self.context + self.changing_params
    }
}

/// Environments side by side.
pub(super) struct Pack<T: Real, W> {
    pub sizes: Sizes,
    kept: Kept,
    workspace: W,
    pub params: Vec<T>,
    /// State, the action that led there, and the task's own numbers.
    pub state: Vec<T>,
    pub action: Vec<T>,
    pub context: Vec<T>,
    /// State before the last action, and the context that its reward saw.
    pub before: Vec<T>,
    pub context_before: Vec<T>,
    pub observation: Vec<T>,
    next: Vec<T>,
    control: Vec<T>,
    /// The horizon: states, actions and contexts of recorded steps.
    tape: Tape<T>,
    /// The way back.
    params_then: Vec<T>,
    substates: Vec<T>,
    pub state_bar: Vec<T>,
    pub action_bar: Vec<T>,
    pub observation_bar: Vec<T>,
    before_bar: Vec<T>,
    next_bar: Vec<T>,
    control_bar: Vec<T>,
    params_bar: Vec<T>,
}

/// What recorded steps leave behind.
struct Tape<T> {
    states: Vec<T>,
    actions: Vec<T>,
    contexts: Vec<T>,
    contexts_after: Vec<T>,
    /// Where they differ between episodes.
    params: Vec<T>,
}

impl<T: Real, W> Pack<T, W> {
    pub fn new<K: Task<T>>(task: &K, kept: Kept) -> Self
    where
        K::System: System<T, Workspace = W>,
    {
        let sizes = Sizes::of(task);
        let zeros = |n| vec![T::zero(); n];
        Pack {
            kept,
            workspace: task.system().workspace(),
            params: zeros(sizes.params),
            state: zeros(sizes.state),
            action: zeros(sizes.action),
            context: zeros(sizes.context),
            before: zeros(sizes.state),
            context_before: zeros(sizes.context),
            observation: zeros(sizes.observation),
            next: zeros(sizes.state),
            control: zeros(sizes.control),
            tape: Tape {
                states: Vec::new(),
                actions: Vec::new(),
                contexts: Vec::new(),
                contexts_after: Vec::new(),
                params: Vec::new(),
            },
            params_then: zeros(sizes.params),
            substates: Vec::new(),
            state_bar: zeros(sizes.state),
            action_bar: zeros(sizes.action),
            observation_bar: zeros(sizes.observation),
            before_bar: zeros(sizes.state),
            next_bar: zeros(sizes.state),
            control_bar: zeros(sizes.control),
            params_bar: zeros(sizes.params),
            sizes,
        }
    }

    /// Makes room for a horizon.
    pub fn reserve(&mut self, horizon: usize) {
        let Sizes { state, action, context, substeps, changing_params, .. } = self.sizes;
        self.tape.params.resize(horizon * changing_params, T::zero());
        self.tape.states.resize(horizon * self.sizes.kept_states(self.kept) * state, T::zero());
        self.tape.actions.resize(horizon * action, T::zero());
        self.tape.contexts.resize(horizon * context, T::zero());
        self.tape.contexts_after.resize(horizon * context, T::zero());
        self.substates.resize((substeps + 1) * state, T::zero());
    }

    /// What the policy sees now, into `observation`.
    pub fn observe<K: Task<T>>(&mut self, task: &K) {
        let at = View { state: &self.state, action: &self.action, context: &self.context };
        task.observe(at, &mut self.observation);
    }

    /// Takes the action in `action`; keeps what the way back needs if this is step `recorded` of a horizon.
    /// Lanes whose state leaves the finite numbers are left to the caller.
    pub fn step<K: Task<T>>(&mut self, task: &K, recorded: Option<usize>) -> Result<(), StepError>
    where
        K::System: System<T, Workspace = W>,
    {
        let Sizes { state, action, context, substeps, .. } = self.sizes;
        self.before.copy_from_slice(&self.state);
        self.context_before.copy_from_slice(&self.context);
        let rows = self.sizes.kept_states(self.kept) * state;
        if let Some(t) = recorded {
            self.tape.states[t * rows..][..state].copy_from_slice(&self.state);
            self.tape.actions[t * action..][..action].copy_from_slice(&self.action);
            self.tape.contexts[t * context..][..context].copy_from_slice(&self.context);
            let n = self.sizes.changing_params;
            self.tape.params[t * n..][..n].copy_from_slice(&self.params[..n]);
        }
        let at = View { state: &self.before, action: &self.action, context: &self.context };
        task.control(at, &self.action, &mut self.control);
        for substep in 0..substeps {
            let at = Point { params: &self.params, state: &self.state, control: &self.control };
            task.system().step(&mut self.workspace, at, &mut self.next)?;
            std::mem::swap(&mut self.state, &mut self.next);
            if let (Some(t), Kept::Substeps) = (recorded, self.kept) {
                self.tape.states[t * rows + (substep + 1) * state..][..state].copy_from_slice(&self.state);
            }
        }
        Ok(())
    }

    /// The last step, as its reward sees it.
    pub fn transition(&self) -> Transition<'_, T> {
        Transition {
            before: &self.before,
            action: &self.action,
            after: &self.state,
            context: &self.context_before,
        }
    }

    /// Keeps the task's own numbers as they are after step `t`, before any episode begins anew.
    pub fn record_context(&mut self, t: usize) {
        let n = self.sizes.context;
        self.tape.contexts_after[t * n..][..n].copy_from_slice(&self.context);
    }

    /// Forgets the cotangent of the state.
    pub fn begin_backward(&mut self) {
        self.state_bar.fill(T::zero());
    }

    /// The pullback of step `t`: `state_bar` becomes that of the state before it, `action_bar` that of the
    /// action. `observation_bar` holds the cotangent of the observation after it, before any episode began anew;
    /// `cut` says where one did. Lanes in `failed` get zeros.
    pub fn step_vjp<K: Task<T>>(
        &mut self,
        task: &K,
        t: usize,
        reward_bar: T,
        (cut, failed): (T::Mask, T::Mask),
    ) -> Result<(), StepError>
    where
        K::System: System<T, Workspace = W>,
    {
        let Sizes { state, action, context, substeps, .. } = self.sizes;
        self.run_again(task, t)?;
        let action = &self.tape.actions[t * action..][..action];
        let before = &self.substates[..state];
        let after = &self.substates[substeps * state..];
        let context_before = &self.tape.contexts[t * context..][..context];
        let context_after = &self.tape.contexts_after[t * context..][..context];
        mask(&mut self.state_bar, cut | failed);
        self.action_bar.fill(T::zero());
        self.before_bar.fill(T::zero());

        // o′ = observe(s′, a), r = reward(s, a, s′)
        let at = View { state: after, action, context: context_after };
        let bars = ViewBars { state: &mut self.state_bar, action: &mut self.action_bar };
        task.observe_vjp(at, &self.observation_bar, bars);
        let step = Transition { before, action, after, context: context_before };
        let bars = TransitionBars {
            before: &mut self.before_bar,
            action: &mut self.action_bar,
            after: &mut self.state_bar,
        };
        task.reward_vjp(step, reward_bar, bars);

        // s′ = step(… step(s, u), u)
        self.control_bar.fill(T::zero());
        for substep in (0..substeps).rev() {
            let at = Point {
                params: &self.params_then,
                state: &self.substates[substep * state..][..state],
                control: &self.control,
            };
            self.next_bar.fill(T::zero());
            let bars = Bars {
                params: &mut self.params_bar,
                state: &mut self.next_bar,
                control: &mut self.control_bar,
            };
            task.system().step_vjp(&mut self.workspace, at, &self.state_bar, bars)?;
            std::mem::swap(&mut self.state_bar, &mut self.next_bar);
        }

        // u = control(s, a)
        let at = View { state: before, action, context: context_before };
        task.control_vjp(at, action, &self.control_bar, &mut self.action_bar, &mut self.state_bar);
        self.state_bar.iter_mut().zip(&self.before_bar).for_each(|(bar, x)| *bar += *x);
        mask(&mut self.state_bar, failed);
        mask(&mut self.action_bar, failed);
        // Actions were clipped: beyond [−1, 1] they do nothing.
        for (bar, a) in self.action_bar.iter_mut().zip(action) {
            *bar = T::select(a.abs().lt(T::one()), *bar, T::zero());
        }
        Ok(())
    }

    /// The norm of the cotangent of each lane's state. Lanes whose cotangents are not finite get zeros, those beyond
    /// `limit` are scaled to it.
    pub fn tame(&mut self, limit: Option<f64>) -> T {
        let squares = self.state_bar.iter().fold(T::zero(), |sum, x| x.mul_add(*x, sum));
        let actions = self.action_bar.iter().fold(T::zero(), |sum, x| x.mul_add(*x, sum));
        let lost = !(squares + actions).is_finite();
        mask(&mut self.state_bar, lost);
        mask(&mut self.action_bar, lost);
        let norm = squares.sqrt();
        if let Some(limit) = limit.map(T::lit) {
            let scale = T::select(norm.gt(limit), limit / norm, T::one());
            self.state_bar.iter_mut().for_each(|x| *x *= scale);
        }
        T::select(lost, T::lit(f64::INFINITY), norm)
    }

    /// States of all substeps of step `t` into `substates`, and its control into `control`.
    fn run_again<K: Task<T>>(&mut self, task: &K, t: usize) -> Result<(), StepError>
    where
        K::System: System<T, Workspace = W>,
    {
        let Sizes { state, action, context, substeps, .. } = self.sizes;
        let rows = self.sizes.kept_states(self.kept) * state;
        match self.sizes.changing_params {
            0 => self.params_then.copy_from_slice(&self.params),
            n => self.params_then.copy_from_slice(&self.tape.params[t * n..][..n]),
        }
        self.substates[..rows].copy_from_slice(&self.tape.states[t * rows..][..rows]);
        let action = &self.tape.actions[t * action..][..action];
        let context = &self.tape.contexts[t * context..][..context];
        let at = View { state: &self.substates[..state], action, context };
        task.control(at, action, &mut self.control);
        if self.kept == Kept::Substeps {
            return Ok(());
        }
        for substep in 0..substeps {
            let (done, rest) = self.substates.split_at_mut((substep + 1) * state);
            let at =
                Point { params: &self.params_then, state: &done[substep * state..], control: &self.control };
            task.system().step(&mut self.workspace, at, &mut rest[..state])?;
        }
        Ok(())
    }
}

/// Sets lanes to zero.
pub(super) fn mask<T: Real>(values: &mut [T], zero: T::Mask) {
    if zero.any() {
        values.iter_mut().for_each(|x| *x = T::select(zero, T::zero(), *x));
    }
}
