//! The continuous adjoint (DiffMJX, Eqs. S6 and S7), solved with an error control of its own.
//!
//! With a = dL/dx(t): ȧ = −(∂f/∂x)ᵀ a, and the gradients with respect to control, parameters and time are the
//! integrals of (∂f/∂u)ᵀ a, (∂f/∂θ)ᵀ a and (∂f/∂t)ᵀ a. The state is solved backwards along with a. Left alone
//! it would drift (a damped system grows when run backwards), so it is set to the stored forward state at the
//! end of every accepted step: memory is one state per accepted step.
//!
//! States on manifolds are solved in the space around them, ẋ = E(x) f(x); see [`VectorField::embed`].

use pullback_math::Real;

use super::adaptive::{self, InnerStep, Solver};
use super::controller::PidController;
use super::discrete_adjoint::record;
use super::events::Events;
use super::explicit::{self, Stages};
use super::integrated::{IntegratedWorkspace, OuterStep, Stepper};
use super::rhs::{Bound, InputBars, Rhs, StepInput};
use super::tableau::Tableau;
use crate::Workspace;
use crate::error::StepError;
use crate::field::VectorField;
use crate::layout::Layout;

/// Scratch of the backward solve: (x, a, ū, θ̄, t̄) in one vector.
#[derive(Debug, Workspace)]
pub(super) struct AdjointScratch<T> {
    stages: Stages<T>,
    current: Vec<T>,
    next: Vec<T>,
    /// f(x) and its cotangent, and −(∂f/∂x)ᵀ a.
    rate: Vec<T>,
    rate_bar: Vec<T>,
    state_bar: Vec<T>,
}

impl<T: Real> AdjointScratch<T> {
    /// For fields of `n` states and `m` rates with `layout`'s controls and parameters.
    pub fn new(tableau: &Tableau, layout: &Layout, (n, m): (usize, usize)) -> Self {
        let len = 2 * n + layout.control.len() + layout.params.len() + 1;
        let zeros = |len| vec![T::zero(); len];
        AdjointScratch {
            stages: Stages::new(tableau, (len, len), true, false),
            current: zeros(len),
            next: zeros(len),
            rate: zeros(m),
            rate_bar: zeros(m),
            state_bar: zeros(n),
        }
    }
}

/// The adjoint equation in reversed time σ = t_end − t.
struct AdjointRhs<'a, T: Real, F: VectorField<T>> {
    bound: Bound<'a, T, F>,
    /// Time at the end of the step being reversed.
    end: T,
    n: usize,
    rate: &'a mut [T],
    rate_bar: &'a mut [T],
    state_bar: &'a mut [T],
}

impl<T: Real, F: VectorField<T>> Rhs<T> for AdjointRhs<'_, T, F> {
    fn eval(&mut self, sigma: T, y: &[T], y_rate: &mut [T]) {
        let n = self.n;
        let time = self.end - sigma;
        let (x, a) = (&y[..n], &y[n..2 * n]);
        let (state_part, integrals) = y_rate.split_at_mut(2 * n);
        let (control_part, rest) = integrals.split_at_mut(self.bound.control.len());
        let (params_part, time_part) = rest.split_at_mut(self.bound.params.len());

        // dx/dσ = −E(x) f(x)
        self.bound.eval(time, x, self.rate);
        self.bound.field.embed(x, self.rate, &mut state_part[..n]);
        for out in &mut state_part[..n] {
            *out = -*out;
        }
        // da/dσ = (∂(E f)/∂x)ᵀ a, and likewise for the integrals
        self.state_bar.fill(T::zero());
        self.rate_bar.fill(T::zero());
        self.bound.field.embed_vjp(x, self.rate, a, self.state_bar, self.rate_bar);
        control_part.fill(T::zero());
        params_part.fill(T::zero());
        time_part[0] = T::zero();
        let mut bars = InputBars { params: params_part, control: control_part, time: &mut time_part[0] };
        self.bound.eval_vjp(time, x, self.rate_bar, self.state_bar, &mut bars);
        state_part[n..].copy_from_slice(self.state_bar);
    }

    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        for (next, (x, k)) in next.iter_mut().zip(state.iter().zip(rate)) {
            *next = *x + h * *k;
        }
    }
}

/// Pulls one outer step back; `controllers` are the forward one and the adjoint's own.
pub(super) fn solve<T: Real, F: VectorField<T>>(
    outer: &OuterStep<'_, T, F>,
    ws: &mut IntegratedWorkspace<T, F::Workspace>,
    controllers: (&PidController, &PidController),
    next_bar: &[T],
    state_bar: &mut [T],
    bars: &mut InputBars<'_, T>,
) -> Result<(), StepError> {
    let steps = record(outer, ws, controllers.0, usize::MAX)?;
    let OuterStep { field, at, time, .. } = *outer;
    let n = at.state.len();
    let IntegratedWorkspace {
        field: workspace,
        stepper,
        current,
        next,
        inner,
        kept,
        sides,
        events,
        adjoint,
        ..
    } = ws;
    let (Some(scratch), Stepper::RungeKutta { tableau, stages }) = (adjoint.as_mut(), stepper) else {
        unreachable!("allocated with the workspace")
    };
    let mut rhs = AdjointRhs {
        bound: outer.bound(workspace),
        end: time,
        n,
        rate: &mut scratch.rate,
        rate_bar: &mut scratch.rate_bar,
        state_bar: &mut scratch.state_bar,
    };
    let y = &mut scratch.current;
    y.fill(T::zero());
    // What leaves the manifold does not count: the last state is the end of a motion along it.
    rhs.rate.fill(T::zero());
    field.advance_vjp(current, rhs.rate, T::zero(), next_bar, &mut y[n..2 * n], rhs.rate_bar);
    let guards = field.guards();
    let mut no_events = Events::new(0, 0, 0, 0, 0);
    for i in (0..steps).rev() {
        let InnerStep { start, size, event } = inner[i];
        let end = time + T::lit(start + size);
        let sides_of = |i: usize| &sides[i * guards..(i + 1) * guards];
        rhs.bound.freeze((guards > 0).then(|| sides_of(i)));
        let state_after = if i + 1 == steps { &current[..] } else { &kept[(i + 1) * n..(i + 2) * n] };
        if event {
            // The state before the correction, and the adjoint pulled back through it.
            let state_before = &kept[i * n..(i + 1) * n];
            let from = StepInput { time: time + T::lit(start), h: size, state: state_before };
            explicit::step(tableau, &mut rhs.bound, stages, from, next, false);
            let pair = (sides_of(i), sides_of(i + 1));
            events.cross_vjp(&mut rhs.bound, end, next, pair, &mut y[n..2 * n], bars);
            rhs.bound.freeze(Some(sides_of(i)));
            y[..n].copy_from_slice(next);
        } else {
            y[..n].copy_from_slice(state_after);
        }
        if size == 0.0 {
            continue;
        }
        // x is anchored at the stored state; solve back over the step.
        rhs.end = end;
        let solver = Solver {
            tableau,
            controller: controllers.1,
            scales: &[],
            stages: &mut scratch.stages,
            events: &mut no_events,
            next: &mut scratch.next,
        };
        adaptive::solve(solver, &mut rhs, (T::zero(), size), y, |_, _, _| {})?;
    }
    rhs.bound.freeze(None);
    let integrals = &y[2 * n..];
    let (control, rest) = integrals.split_at(at.control.len());
    let (params, time_bar) = rest.split_at(at.params.len());
    add(state_bar, &y[n..2 * n]);
    add(bars.control, control);
    add(bars.params, params);
    *bars.time += time_bar[0];
    Ok(())
}

fn add<T: Real>(to: &mut [T], from: &[T]) {
    for (to, x) in to.iter_mut().zip(from) {
        *to += *x;
    }
}
