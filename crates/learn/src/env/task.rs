//! [`Task`]: what moves, what is seen, what is wanted, when an episode ends and how it starts.
//!
//! [`TaskSpec`] is what does not depend on the scalar; [`Task`] is written once over [`Real`] and runs on numbers,
//! lanes and dual numbers. Observation and reward are functions with pullbacks; most are a few lines that call
//! `#[differentiable]` functions.

use pullback_core::System;
use pullback_core::random::Random;
use pullback_math::{Mask, Real};

/// Sizes of what goes in and out of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spaces {
    /// Points of an observation, three numbers each; they come first.
    pub points: usize,
    /// Other numbers of an observation.
    pub vector: usize,
    /// Numbers of an action, each in [−1, 1].
    pub actions: usize,
}

impl Spaces {
    /// Numbers of an observation.
    pub const fn observation(&self) -> usize {
        3 * self.points + self.vector
    }
}

/// Where an episode starts; a task moves it off the defaults it is given.
#[derive(Debug)]
pub struct Start<'a> {
    /// State of the system.
    pub state: &'a mut [f64],
    /// Numbers of the task's own.
    pub context: &'a mut [f64],
    /// Parameters of the system, which may differ between environments.
    pub params: &'a mut [f64],
}

/// Where an environment is.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// State of the system.
    pub state: &'a [T],
    /// The action that led there, in [−1, 1]; zero at the start of an episode.
    pub action: &'a [T],
    /// Numbers of the task's own, held constant under differentiation: a goal.
    pub context: &'a [T],
}

/// Cotangents of a [`View`]; pullbacks *add* to them.
#[derive(Debug)]
pub struct ViewBars<'a, T> {
    /// Of the state.
    pub state: &'a mut [T],
    /// Of the action.
    pub action: &'a mut [T],
}

/// A step of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Transition<'a, T> {
    /// State before.
    pub before: &'a [T],
    /// The action, in [−1, 1].
    pub action: &'a [T],
    /// State after.
    pub after: &'a [T],
    /// Numbers of the task's own.
    pub context: &'a [T],
}

/// Cotangents of a [`Transition`]; pullbacks *add* to them.
#[derive(Debug)]
pub struct TransitionBars<'a, T> {
    /// Of the state before.
    pub before: &'a mut [T],
    /// Of the action.
    pub action: &'a mut [T],
    /// Of the state after.
    pub after: &'a mut [T],
}

/// What a task is, whatever it is computed with.
pub trait TaskSpec: Send + Sync {
    /// Sizes of observations and actions.
    fn spaces(&self) -> Spaces;
    /// Steps of the system per action.
    fn substeps(&self) -> usize;
    /// Actions per episode, after which it is truncated.
    fn episode_length(&self) -> usize;
    /// Draws where an episode starts.
    fn start(&self, random: &mut Random, start: Start<'_>);

    /// Numbers of the task's own.
    fn context_len(&self) -> usize {
        0
    }
    /// Parameters of the system, if other than its defaults.
    fn params(&self) -> Option<Vec<f64>> {
        None
    }
    /// Whether [`TaskSpec::start`] changes parameters; those of every step are then kept for the way back.
    fn changes_params(&self) -> bool {
        false
    }
    /// Changes the task's own numbers after a step, the `age`th of its episode; returns whether it did. Tasks
    /// that never do say so by [`TaskSpec::changes_context`].
    fn change_context(
        &self,
        step: Transition<'_, f64>,
        age: usize,
        random: &mut Random,
        context: &mut [f64],
    ) {
        let _ = (step, age, random, context);
    }
    /// Whether [`TaskSpec::change_context`] is to be called.
    fn changes_context(&self) -> bool {
        false
    }
    /// Whether the episode ends for good where this is seen; `None` where what is seen does not tell. Learned
    /// models of the environment ask for it, and learn ends themselves where it is not known.
    fn ends_where(&self, seen: &[f32]) -> Option<bool> {
        let _ = seen;
        None
    }
}

/// A task over one kind of scalar.
pub trait Task<T: Real>: TaskSpec {
    /// What moves.
    type System: System<T>;

    /// What moves.
    fn system(&self) -> &Self::System;

    /// The control of an action; the action itself unless told otherwise.
    fn control(&self, at: View<'_, T>, action: &[T], control: &mut [T]) {
        let _ = at;
        control.copy_from_slice(action);
    }

    /// The pullback of [`Task::control`]: *adds* to the cotangents of action and state.
    fn control_vjp(
        &self,
        at: View<'_, T>,
        action: &[T],
        control_bar: &[T],
        action_bar: &mut [T],
        state_bar: &mut [T],
    ) {
        let _ = (at, action, state_bar);
        action_bar.iter_mut().zip(control_bar).for_each(|(bar, x)| *bar += *x);
    }

    /// What a policy sees.
    fn observe(&self, at: View<'_, T>, observation: &mut [T]);

    /// The pullback of [`Task::observe`].
    fn observe_vjp(&self, at: View<'_, T>, observation_bar: &[T], bars: ViewBars<'_, T>);

    /// What a step is worth.
    fn reward(&self, step: Transition<'_, T>) -> T;

    /// The pullback of [`Task::reward`].
    fn reward_vjp(&self, step: Transition<'_, T>, reward_bar: T, bars: TransitionBars<'_, T>);

    /// Whether the episode ends here for good; never unless told otherwise.
    fn terminated(&self, at: View<'_, T>) -> T::Mask {
        let _ = at;
        T::Mask::splat(false)
    }
}
