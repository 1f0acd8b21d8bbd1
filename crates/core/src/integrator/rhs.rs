//! A right-hand side with its parameters bound: what the forward solvers see.

use pullback_math::Real;

use super::events::Events;
use crate::field::VectorField;
use crate::point::{Bars, Point};

/// A step of a method: it starts at a time from a state, and lasts h seconds.
#[derive(Clone, Copy)]
pub(super) struct StepInput<'a, T> {
    pub time: T,
    pub h: f64,
    pub state: &'a [T],
}

impl<T: Real> StepInput<'_, T> {
    /// The time at its end.
    #[inline(always)]
    pub fn end(&self) -> T {
        self.time + T::lit(self.h)
    }
}

/// ẋ = f(t, x) with everything else fixed.
pub(super) trait Rhs<T> {
    fn eval(&mut self, time: T, state: &[T], rate: &mut [T]);
    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]);
    /// Whether `dexp_inverse` does nothing.
    fn flat(&self) -> bool {
        true
    }
    /// See [`VectorField::dexp_inverse`].
    fn dexp_inverse(&self, _increment: &[T], _h: T, _rate: &mut [T]) {}
    /// Guard values; see [`VectorField::guard`].
    fn guard(&mut self, _time: T, _state: &[T], _guards: &mut [T]) {}
    /// Holds the sides of the guards; see [`VectorField::freeze`].
    fn freeze(&mut self, _sides: Option<&[T]>) {}
    /// Corrects a state that ends a step on guards that change sides; see [`super::events`].
    fn cross(&mut self, _events: &mut Events<T>, _time: T, _state: &mut [T])
    where
        T: Real,
    {
    }
}

/// A vector field with its workspace, parameters and control.
pub(super) struct Bound<'a, T: Real, F: VectorField<T>> {
    pub field: &'a F,
    pub workspace: &'a mut F::Workspace,
    pub params: &'a [T],
    pub control: &'a [T],
}

impl<'a, T: Real, F: VectorField<T>> Bound<'a, T, F> {
    /// Where the field is evaluated at a state.
    #[inline(always)]
    pub fn at<'s>(&self, state: &'s [T]) -> Point<'s, T>
    where
        'a: 's,
    {
        Point { params: self.params, state, control: self.control }
    }

    /// The pullback of [`Rhs::eval`]: *adds* to `state_bar` and `bars`. Where the field's pullback follows
    /// its evaluation, the last one was at `time` and `state`.
    #[inline(always)]
    pub fn eval_vjp(
        &mut self,
        time: T,
        state: &[T],
        rate_bar: &[T],
        state_bar: &mut [T],
        bars: &mut InputBars<'_, T>,
    ) {
        let at = self.at(state);
        let time_bar = self.field.eval_vjp(self.workspace, at, time, rate_bar, bars.with_state(state_bar));
        *bars.time += time_bar;
    }

    /// The pullback of [`Rhs::guard`]: *adds* to `state_bar` and `bars`.
    pub fn guard_vjp(
        &mut self,
        time: T,
        state: &[T],
        guards_bar: &[T],
        state_bar: &mut [T],
        bars: &mut InputBars<'_, T>,
    ) {
        let at = self.at(state);
        let time_bar = self.field.guard_vjp(self.workspace, at, time, guards_bar, bars.with_state(state_bar));
        *bars.time += time_bar;
    }
}

impl<T: Real, F: VectorField<T>> Rhs<T> for Bound<'_, T, F> {
    #[inline(always)]
    fn eval(&mut self, time: T, state: &[T], rate: &mut [T]) {
        let at = self.at(state);
        self.field.eval(self.workspace, at, time, rate);
    }
    #[inline(always)]
    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        self.field.advance(state, rate, h, next);
    }
    #[inline(always)]
    fn flat(&self) -> bool {
        self.field.flat()
    }
    #[inline(always)]
    fn dexp_inverse(&self, increment: &[T], h: T, rate: &mut [T]) {
        self.field.dexp_inverse(increment, h, rate);
    }
    fn guard(&mut self, time: T, state: &[T], guards: &mut [T]) {
        let at = self.at(state);
        self.field.guard(self.workspace, at, time, guards);
    }
    fn freeze(&mut self, sides: Option<&[T]>) {
        self.field.freeze(self.workspace, sides);
    }
    fn cross(&mut self, events: &mut Events<T>, time: T, state: &mut [T]) {
        events.cross(self, time, state);
    }
}

/// Cotangents of what is constant during a step: parameters, control, and the time at its start.
pub(super) struct InputBars<'a, T> {
    pub params: &'a mut [T],
    pub control: &'a mut [T],
    pub time: &'a mut T,
}

impl<T> InputBars<'_, T> {
    /// With the cotangent of a state.
    #[inline(always)]
    pub fn with_state<'b>(&'b mut self, state: &'b mut [T]) -> Bars<'b, T> {
        Bars { params: self.params, state, control: self.control }
    }
}
