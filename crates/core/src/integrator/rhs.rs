//! A right-hand side with its parameters bound: what the forward solvers see.

use pullback_math::Real;

use crate::field::VectorField;

/// ẋ = f(t, x) with everything else fixed.
pub(super) trait Rhs<T> {
    fn eval(&mut self, time: T, state: &[T], rate: &mut [T]);
    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]);
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
}

/// The cotangents that a step adds to, beside that of its state.
pub(super) struct Bars<'a, T> {
    pub control: &'a mut [T],
    pub params: &'a mut [T],
    pub time: &'a mut T,
}
