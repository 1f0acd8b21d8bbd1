//! [`Integrated`]: a vector field and an integrator as a [`System`].

use pullback_math::Real;

use super::adaptive::InnerStep;
use super::continuous_adjoint::{self, AdjointScratch};
use super::discrete_adjoint;
use super::events::Events;
use super::explicit::{self, Stages};
use super::rhs::{Bound, InputBars};
use super::semi_implicit_euler::{self as euler, Scratch};
use super::{Adjoint, Integrator, StepControl, adaptive};
use crate::Workspace;
use crate::error::{ConfigError, StepError};
use crate::field::{FieldShape, VectorField};
use crate::layout::{Layout, LayoutBuilder, Slice};
use crate::point::{Bars, Point};
use crate::system::{Described, Info, System};

/// A vector field stepped by `dt` seconds. If the field depends on time, the last state entry is `time`.
#[derive(Clone, Debug)]
pub struct Integrated<F> {
    field: F,
    layout: Layout,
    dt: f64,
    integrator: Integrator,
}

/// Scratch of an [`Integrated`] system.
#[derive(Debug, Workspace)]
pub struct IntegratedWorkspace<T: Real, W> {
    pub(super) field: W,
    pub(super) stepper: Stepper<T>,
    /// The state between inner steps.
    pub(super) current: Vec<T>,
    pub(super) next: Vec<T>,
    /// The accepted inner steps.
    pub(super) inner: Vec<InnerStep>,
    /// States before the inner steps.
    pub(super) kept: Vec<T>,
    /// Sides of the guards during the inner steps, and after the last.
    pub(super) sides: Vec<T>,
    pub(super) events: Events<T>,
    /// Cotangents after and before an inner step.
    pub(super) next_bar: Vec<T>,
    pub(super) state_bar: Vec<T>,
    pub(super) adjoint: Option<AdjointScratch<T>>,
}

/// Scratch of the method.
#[derive(Debug, Workspace)]
pub(super) enum Stepper<T> {
    Euler {
        scratch: Scratch<T>,
        velocities: usize,
    },
    RungeKutta {
        stages: Stages<T>,
        #[workspace(plain)]
        tableau: &'static super::Tableau,
    },
}

impl<F: FieldShape> Integrated<F> {
    /// Steps `field` by `dt` seconds with `integrator`.
    pub fn new(field: F, dt: f64, integrator: Integrator) -> Result<Self, ConfigError> {
        integrator.check()?;
        if !(dt.is_finite() && dt > 0.0) {
            return Err(ConfigError::new(format!("the time step must be positive, got {dt}")));
        }
        if integrator.method.tableau().is_none() && field.velocities().is_none() {
            return Err(ConfigError::new(
                "semi-implicit Euler needs a second-order system (positions and velocities): use Rk4 or Tsit5",
            ));
        }
        if matches!(integrator.adjoint, Adjoint::Continuous(_)) && !field.flat() {
            return Err(ConfigError::new(
                "the continuous adjoint is not available on manifolds (quaternions): use Adjoint::Discrete",
            ));
        }
        let layout = field.layout().clone();
        let layout = if field.time_dependent() {
            let time = Slice::new("time", 1, "s").doc("time since the start");
            LayoutBuilder::from(layout).state(time).build()?
        } else {
            layout
        };
        Ok(Integrated { field, layout, dt, integrator })
    }

    /// The vector field.
    pub fn field(&self) -> &F {
        &self.field
    }
    /// Outer step, s.
    pub fn dt(&self) -> f64 {
        self.dt
    }
    /// How it is integrated.
    pub fn integrator(&self) -> &Integrator {
        &self.integrator
    }
}

impl<F> Described for Integrated<F> {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Real> Stepper<T> {
    /// One inner step of `h` seconds.
    #[inline]
    pub fn step<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        time: T,
        h: f64,
        state: &[T],
        next: &mut [T],
    ) {
        match self {
            Stepper::Euler { scratch, velocities } => {
                euler::step(bound, scratch, *velocities, time, h, state, next);
            }
            Stepper::RungeKutta { stages, tableau } => {
                explicit::step(tableau, bound, stages, time, h, state, next, false);
            }
        }
    }

    /// The pullback of [`Stepper::step`]: *adds* to `state_bar` and `bars`.
    #[inline]
    pub fn step_vjp<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        time: T,
        h: f64,
        state: &[T],
        next_bar: &[T],
        state_bar: &mut [T],
        bars: &mut InputBars<'_, T>,
    ) {
        match self {
            Stepper::Euler { scratch, velocities } => {
                euler::step_vjp(bound, scratch, *velocities, time, h, state, next_bar, state_bar, bars);
            }
            Stepper::RungeKutta { stages, tableau } => {
                explicit::step_vjp(tableau, bound, stages, time, h, state, next_bar, state_bar, bars);
            }
        }
    }
}

impl<T: Real, F: VectorField<T>> System<T> for Integrated<F> {
    type Workspace = IntegratedWorkspace<T, F::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let (n, m) = (self.field.layout().state.len(), self.field.rate_len());
        let zeros = |len| vec![T::zero(); len];
        let stepper = match self.integrator.method.tableau() {
            Some(tableau) => Stepper::RungeKutta {
                stages: Stages::new(tableau, (n, m), self.field.flat(), self.field.vjp_follows_eval()),
                tableau,
            },
            None => {
                let velocities = self.field.velocities().unwrap_or_default();
                Stepper::Euler { scratch: Scratch::new(m), velocities }
            }
        };
        let (kept, guards) = match self.integrator.control {
            StepControl::Fixed { substeps } => (zeros((substeps - 1) * n), 0),
            StepControl::Adaptive(_) => (Vec::new(), self.field.guards()),
        };
        let adjoint = match (self.integrator.adjoint, self.integrator.method.tableau()) {
            (Adjoint::Continuous(_), Some(tableau)) => Some(AdjointScratch::new(tableau, &self.layout, n)),
            _ => None,
        };
        IntegratedWorkspace {
            field: self.field.workspace(),
            stepper,
            current: zeros(n),
            next: zeros(n),
            inner: Vec::new(),
            kept,
            sides: Vec::new(),
            events: Events::new(guards, n, m, self.layout.control.len(), self.layout.params.len()),
            next_bar: zeros(n),
            state_bar: zeros(n),
            adjoint,
        }
    }

    #[inline]
    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, control } = at;
        let n = self.field.layout().state.len();
        let time = self.time_of(state);
        let mut bound = Bound { field: &self.field, workspace: &mut ws.field, params, control };
        let info = match self.integrator.control {
            StepControl::Fixed { substeps: 1 } => {
                ws.stepper.step(&mut bound, time, self.dt, &state[..n], &mut next[..n]);
                Info::ONE
            }
            StepControl::Fixed { substeps } => {
                let h = self.dt / substeps as f64;
                ws.current.copy_from_slice(&state[..n]);
                for i in 0..substeps {
                    ws.stepper.step(&mut bound, time + T::lit(i as f64 * h), h, &ws.current, &mut ws.next);
                    std::mem::swap(&mut ws.current, &mut ws.next);
                }
                next[..n].copy_from_slice(&ws.current);
                Info { accepted: substeps, rejected: 0 }
            }
            StepControl::Adaptive(controller) => {
                let Stepper::RungeKutta { stages, tableau } = &mut ws.stepper else {
                    unreachable!("checked when the integrator was built")
                };
                ws.current.copy_from_slice(&state[..n]);
                let info = adaptive::solve(
                    tableau,
                    &controller,
                    &mut bound,
                    stages,
                    &mut ws.events,
                    time,
                    self.dt,
                    &mut ws.current,
                    &mut ws.next,
                    |_, _, _| {},
                )?;
                next[..n].copy_from_slice(&ws.current);
                info
            }
        };
        if self.field.time_dependent() {
            next[n] = time + T::lit(self.dt);
        }
        Ok(info)
    }

    #[inline]
    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let n = self.field.layout().state.len();
        let time = self.time_of(at.state);
        let mut time_bar = T::zero();
        let Bars { params, state: state_bar, control } = bars;
        let mut bars = InputBars { params, control, time: &mut time_bar };
        let at = at.with_state(&at.state[..n]);
        let (next_bar_x, state_bar_x) = (&next_bar[..n], &mut state_bar[..n]);
        match (self.integrator.control, self.integrator.adjoint) {
            (StepControl::Fixed { substeps }, _) => {
                discrete_adjoint::fixed(
                    &self.field,
                    ws,
                    self.dt,
                    substeps,
                    at,
                    time,
                    next_bar_x,
                    state_bar_x,
                    &mut bars,
                );
            }
            (StepControl::Adaptive(controller), Adjoint::Discrete { checkpoints }) => {
                discrete_adjoint::adaptive(
                    &self.field,
                    ws,
                    &controller,
                    checkpoints,
                    self.dt,
                    at,
                    time,
                    next_bar_x,
                    state_bar_x,
                    &mut bars,
                )?;
            }
            (StepControl::Adaptive(controller), Adjoint::Continuous(adjoint_controller)) => {
                continuous_adjoint::solve(
                    &self.field,
                    ws,
                    (&controller, &adjoint_controller),
                    self.dt,
                    at,
                    time,
                    next_bar_x,
                    state_bar_x,
                    &mut bars,
                )?;
            }
        }
        if self.field.time_dependent() {
            state_bar[n] += next_bar[n] + time_bar;
        }
        Ok(())
    }
}

impl<F: FieldShape> Integrated<F> {
    /// The time that a state carries; zero for autonomous fields.
    fn time_of<T: Real>(&self, state: &[T]) -> T {
        if self.field.time_dependent() { state[self.field.layout().state.len()] } else { T::zero() }
    }
}
