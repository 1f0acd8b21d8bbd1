//! A right-hand side with its parameters bound: what the forward solvers see.

use pullback_math::Real;

use super::events::Events;
use crate::field::VectorField;

/// ẋ = f(t, x) with everything else fixed.
pub(super) trait Rhs<T> {
    fn eval(&mut self, time: T, state: &[T], rate: &mut [T]);
    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]);
    /// Whether `straighten` does nothing.
    fn flat(&self) -> bool {
        true
    }
    /// See [`VectorField::straighten`].
    fn straighten(&self, _increment: &[T], _h: T, _rate: &mut [T]) {}
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

impl<T: Real, F: VectorField<T>> Rhs<T> for Bound<'_, T, F> {
    #[inline(always)]
    fn eval(&mut self, time: T, state: &[T], rate: &mut [T]) {
        self.field.eval(self.workspace, self.params, time, state, self.control, rate);
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
    fn straighten(&self, increment: &[T], h: T, rate: &mut [T]) {
        self.field.straighten(increment, h, rate);
    }
    fn guard(&mut self, time: T, state: &[T], guards: &mut [T]) {
        self.field.guard(self.params, time, state, self.control, guards);
    }
    fn freeze(&mut self, sides: Option<&[T]>) {
        self.field.freeze(self.workspace, sides);
    }
    fn cross(&mut self, events: &mut Events<T>, time: T, state: &mut [T]) {
        events.cross(self, time, state);
    }
}

/// The cotangents that a step adds to, beside that of its state.
pub(super) struct Bars<'a, T> {
    pub control: &'a mut [T],
    pub params: &'a mut [T],
    pub time: &'a mut T,
}
