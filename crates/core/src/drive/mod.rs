//! [`Driven`]: a field some of whose controls are functions of time and of parameters of their own.
//!
//! u(t) = d(θ_d, t) takes the place of one slice of the field's controls; θ_d is appended to the parameters,
//! so gradients reach it through every inner step of the integrator. Fields with guards are out of its scope:
//! it reports none.

mod knots;
mod sine_network;

use std::ops::Range;

use pullback_math::Real;

use crate::layout::{Layout, Slice};
use crate::{Bars, ConfigError, Described, FieldShape, Point, VectorField, Workspace};

pub use knots::Knots;
pub use sine_network::{MOST_PHASES, SineNetwork};

/// What stands in for controls.
pub trait Drive: Send + Sync {
    /// Number of controls it gives.
    fn outputs(&self) -> usize;
    /// Its parameters.
    fn slice(&self) -> Slice;
    /// u = d(θ, t).
    fn eval<T: Real>(&self, params: &[T], time: T, out: &mut [T]);
    /// The pullback of [`Drive::eval`]: *adds* to the cotangent of θ and returns that of the time.
    fn eval_vjp<T: Real>(&self, params: &[T], time: T, out_bar: &[T], params_bar: &mut [T]) -> T;
}

/// A field and what drives a slice of its controls.
#[derive(Clone, Debug)]
pub struct Driven<F, D> {
    field: F,
    drive: D,
    driven: Range<usize>,
    layout: Layout,
}

impl<F: FieldShape, D: Drive> Driven<F, D> {
    /// Lets `drive` give the controls in `driven`, which must be whole slices.
    pub fn new(field: F, drive: D, driven: Range<usize>) -> Result<Self, ConfigError> {
        if drive.outputs() != driven.len() {
            let (given, wanted) = (drive.outputs(), driven.len());
            return Err(ConfigError::new(format!(
                "a drive gives {given} controls where {wanted} are wanted"
            )));
        }
        let inner = field.layout();
        let mut builder = Layout::builder();
        builder = inner.state.slices().iter().cloned().fold(builder, |b, s| b.state(s));
        let kept = inner.control.slices().iter().filter(|s| !driven.contains(&s.range.start));
        builder = kept.cloned().fold(builder, |b, s| b.control(s));
        builder = inner.params.slices().iter().cloned().fold(builder, |b, s| b.param(s));
        let layout = builder.param(drive.slice()).build()?;
        Ok(Driven { field, drive, driven, layout })
    }

    /// Makes `start` the default of the first entries of the state.
    pub fn with_start(mut self, start: &[f64]) -> Result<Self, ConfigError> {
        let mut builder = Layout::builder();
        for slice in self.layout.state.slices() {
            let mut slice = slice.clone();
            let given = start.get(slice.range.start..).unwrap_or_default();
            slice.default.iter_mut().zip(given).for_each(|(default, x)| *default = *x);
            builder = builder.state(slice);
        }
        builder = self.layout.control.slices().iter().cloned().fold(builder, |b, s| b.control(s));
        self.layout = self.layout.params.slices().iter().cloned().fold(builder, |b, s| b.param(s)).build()?;
        Ok(self)
    }

    /// The field inside.
    pub fn field(&self) -> &F {
        &self.field
    }

    /// Parameters of the field and of the drive.
    fn split<'a, T>(&self, params: &'a [T]) -> (&'a [T], &'a [T]) {
        params.split_at(self.field.layout().params.len())
    }
}

/// Scratch of [`Driven`].
#[derive(Debug, Workspace)]
pub struct DrivenWorkspace<T, W> {
    field: W,
    control: Vec<T>,
    control_bar: Vec<T>,
}

impl<F, D> Described for Driven<F, D> {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<F: FieldShape, D: Drive> FieldShape for Driven<F, D> {
    fn rate_len(&self) -> usize {
        self.field.rate_len()
    }
    fn velocities(&self) -> Option<usize> {
        self.field.velocities()
    }
    fn time_dependent(&self) -> bool {
        true
    }
    fn flat(&self) -> bool {
        self.field.flat()
    }
    fn vjp_follows_eval(&self) -> bool {
        self.field.vjp_follows_eval()
    }
    fn guards(&self) -> usize {
        self.field.guards()
    }
}

impl<T: Real, F: VectorField<T>, D: Drive> VectorField<T> for Driven<F, D> {
    type Workspace = DrivenWorkspace<T, F::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![T::zero(); self.field.layout().control.len()];
        DrivenWorkspace { field: self.field.workspace(), control: zeros.clone(), control_bar: zeros }
    }

    fn guard(&self, ws: &mut Self::Workspace, at: Point<'_, T>, time: T, guards: &mut [T]) {
        let inner = self.fill_control(&mut ws.control, at, time);
        let at = Point { params: inner, state: at.state, control: &ws.control };
        self.field.guard(&mut ws.field, at, time, guards);
    }

    fn guard_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        time: T,
        guards_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        self.pull_back(ws, at, time, bars, |ws, at, bars| {
            self.field.guard_vjp(ws, at, time, guards_bar, bars)
        })
    }

    fn freeze(&self, ws: &mut Self::Workspace, sides: Option<&[T]>) {
        self.field.freeze(&mut ws.field, sides);
    }

    fn eval(&self, ws: &mut Self::Workspace, at: Point<'_, T>, time: T, rate: &mut [T]) {
        let state = at.state;
        let inner = self.fill_control(&mut ws.control, at, time);
        self.field.eval(&mut ws.field, Point { params: inner, state, control: &ws.control }, time, rate);
    }

    fn eval_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        time: T,
        rate_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        self.pull_back(ws, at, time, bars, |ws, at, bars| self.field.eval_vjp(ws, at, time, rate_bar, bars))
    }

    fn embed(&self, state: &[T], rate: &[T], out: &mut [T]) {
        self.field.embed(state, rate, out);
    }
    fn embed_vjp(&self, state: &[T], rate: &[T], out_bar: &[T], state_bar: &mut [T], rate_bar: &mut [T]) {
        self.field.embed_vjp(state, rate, out_bar, state_bar, rate_bar);
    }
    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        self.field.advance(state, rate, h, next);
    }
    fn advance_vjp(
        &self,
        state: &[T],
        rate: &[T],
        h: T,
        next_bar: &[T],
        state_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        self.field.advance_vjp(state, rate, h, next_bar, state_bar, rate_bar);
    }
    fn dexp_inverse(&self, increment: &[T], h: T, rate: &mut [T]) {
        self.field.dexp_inverse(increment, h, rate);
    }
    fn dexp_inverse_vjp(
        &self,
        increment: &[T],
        h: T,
        rate: &[T],
        rate_bar: &mut [T],
        increment_bar: &mut [T],
    ) {
        self.field.dexp_inverse_vjp(increment, h, rate, rate_bar, increment_bar);
    }
}

impl<F: FieldShape, D: Drive> Driven<F, D> {
    /// All controls of the field, those that are driven included; returns its own parameters.
    fn fill_control<'p, T: Real>(&self, all: &mut [T], at: Point<'p, T>, time: T) -> &'p [T] {
        let Range { start, end } = self.driven;
        let (inner, own) = self.split(at.params);
        all[..start].copy_from_slice(&at.control[..start]);
        self.drive.eval(own, time, &mut all[start..end]);
        all[end..].copy_from_slice(&at.control[start..]);
        inner
    }

    /// The pullback of a function of the field, `by_field`, through the drive: *adds* to `bars` and returns the
    /// cotangent of the time.
    fn pull_back<T: Real, W>(
        &self,
        ws: &mut DrivenWorkspace<T, W>,
        at: Point<'_, T>,
        time: T,
        bars: Bars<'_, T>,
        by_field: impl FnOnce(&mut W, Point<'_, T>, Bars<'_, T>) -> T,
    ) -> T {
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let Range { start, end } = self.driven;
        let DrivenWorkspace { field, control: all, control_bar: all_bar } = ws;
        let inner = self.fill_control(all, at, time);
        let (_, own) = self.split(at.params);
        let (inner_bar, own_bar) = params_bar.split_at_mut(inner.len());
        all_bar.fill(T::zero());
        let at = Point { params: inner, state: at.state, control: all };
        let time_bar = by_field(field, at, Bars { params: inner_bar, state: state_bar, control: all_bar });
        let kept = all_bar[..start].iter().chain(&all_bar[end..]);
        control_bar.iter_mut().zip(kept).for_each(|(bar, x)| *bar += *x);
        time_bar + self.drive.eval_vjp(own, time, &all_bar[start..end], own_bar)
    }
}
