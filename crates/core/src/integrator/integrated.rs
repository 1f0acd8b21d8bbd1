//! [`Integrated`]: a vector field and an integrator as a [`System`].

use pullback_math::Real;

use super::adaptive::{InnerStep, Solver};
use super::continuous_adjoint::{self, AdjointScratch};
use super::controller::PidController;
use super::discrete_adjoint;
use super::events::Events;
use super::explicit::{self, Stages};
use super::rhs::{Bound, InputBars, StepInput};
use super::semi_implicit_euler::{self as euler, Scratch};
use super::{Adjoint, Integrator, StepControl, adaptive};
use crate::Workspace;
use crate::error::{ConfigError, StepError};
use crate::field::{FieldShape, VectorField};
use crate::layout::{Layout, LayoutBuilder, Slice};
use crate::point::{Bars, Point};
use crate::system::{Described, Info, System};

/// A vector field stepped by `dt` seconds. If the field depends on time, the last state entry is `time`.
///
/// ```
/// # use pullback_core::doc_example::oscillator;
/// use pullback_core::{Integrated, Integrator, Point, System, integrator::Method};
/// // A cosine, by one long step of the fourth order.
/// let field = oscillator(0.01).field().clone();
/// let system = Integrated::new(field, 0.02, Integrator::fixed(Method::Rk4))?;
/// let mut next = [0.0; 2];
/// system.step(&mut system.workspace(), Point { params: &[100.0], state: &[1.0, 0.0], control: &[] }, &mut next)?;
/// assert!((next[0] - 0.2f64.cos()).abs() < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Integrated<F> {
    field: F,
    layout: Layout,
    dt: f64,
    integrator: Integrator,
    /// What the tolerances of adaptive steps are multiplied by, per entry of the rate; empty for 1.
    scales: Vec<f64>,
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
        let layout = field.layout().clone();
        let layout = if field.time_dependent() {
            let time = Slice::new("time", 1, "s").doc("time since the start");
            LayoutBuilder::from(layout).state(time).build()?
        } else {
            layout
        };
        Ok(Integrated { field, layout, dt, integrator, scales: Vec::new() })
    }

    /// Multiplies the tolerances of adaptive steps by a number per entry of the rate, so that quantities of
    /// different units have tolerances of their own.
    pub fn with_tolerance_scales(mut self, scales: Vec<f64>) -> Result<Self, ConfigError> {
        if scales.len() != self.field.rate_len() {
            return Err(ConfigError::new(format!(
                "{} scales of tolerances for a rate of {} entries",
                scales.len(),
                self.field.rate_len()
            )));
        }
        if scales.iter().any(|s| !(*s > 0.0 && s.is_finite())) {
            return Err(ConfigError::new("scales of tolerances must be positive"));
        }
        self.scales = scales;
        Ok(self)
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
    /// One inner step.
    #[inline]
    pub fn step<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        from: StepInput<'_, T>,
        next: &mut [T],
    ) {
        match self {
            Stepper::Euler { scratch, velocities } => {
                euler::step(bound, scratch, *velocities, from, next);
            }
            Stepper::RungeKutta { stages, tableau } => {
                explicit::step(tableau, bound, stages, from, next, false);
            }
        }
    }

    /// The method as a solver with step size control; it has an error estimate, as
    /// [`Integrator::check`] saw.
    pub fn solver<'a>(
        &'a mut self,
        (controller, scales): (&'a PidController, &'a [f64]),
        events: &'a mut Events<T>,
        next: &'a mut [T],
    ) -> Solver<'a, T> {
        let Stepper::RungeKutta { stages, tableau } = self else {
            unreachable!("checked when the integrator was built")
        };
        Solver { tableau, controller, scales, stages, events, next }
    }

    /// The pullback of [`Stepper::step`]: *adds* to `state_bar` and `bars`.
    #[inline]
    pub fn step_vjp<F: VectorField<T>>(
        &mut self,
        bound: &mut Bound<'_, T, F>,
        from: StepInput<'_, T>,
        next_bar: &[T],
        state_bar: &mut [T],
        bars: &mut InputBars<'_, T>,
    ) {
        match self {
            Stepper::Euler { scratch, velocities } => {
                euler::step_vjp(bound, scratch, *velocities, from, next_bar, state_bar, bars);
            }
            Stepper::RungeKutta { stages, tableau } => {
                explicit::step_vjp(tableau, bound, stages, from, next_bar, state_bar, bars);
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
        let guards = match self.integrator.control {
            StepControl::Fixed => 0,
            StepControl::Adaptive(_) => self.field.guards(),
        };
        let adjoint = match (self.integrator.adjoint, self.integrator.method.tableau()) {
            (Adjoint::Continuous(_), Some(tableau)) => {
                Some(AdjointScratch::new(tableau, &self.layout, (n, m)))
            }
            _ => None,
        };
        IntegratedWorkspace {
            field: self.field.workspace(),
            stepper,
            current: zeros(n),
            next: zeros(n),
            inner: Vec::new(),
            kept: Vec::new(),
            sides: Vec::new(),
            events: Events::new(guards, n, m, self.layout.control.len(), self.layout.params.len()),
            next_bar: zeros(n),
            state_bar: zeros(n),
            adjoint,
        }
    }

    #[inline]
    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let n = self.field.layout().state.len();
        let outer = self.outer_step(at);
        let IntegratedWorkspace { field, stepper, current, next: scratch, events, .. } = ws;
        let mut info = match &self.integrator.control {
            StepControl::Fixed => {
                stepper.step(&mut outer.bound(field), outer.whole(), &mut next[..n]);
                Info::one()
            }
            StepControl::Adaptive(controller) => {
                current.copy_from_slice(outer.at.state);
                let solver = stepper.solver((controller, outer.scales), events, scratch);
                let span = (outer.time, self.dt);
                let info = adaptive::solve(solver, &mut outer.bound(field), span, current, |_, _, _| {})?;
                next[..n].copy_from_slice(current);
                info
            }
        };
        info.solver = self.field.solver_info(field);
        if self.field.time_dependent() {
            next[n] = outer.time + T::lit(self.dt);
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
        let outer = self.outer_step(at);
        let mut time_bar = T::zero();
        let Bars { params, state: state_bar, control } = bars;
        let mut bars = InputBars { params, control, time: &mut time_bar };
        let (next_bar_x, state_bar_x) = (&next_bar[..n], &mut state_bar[..n]);
        match (&self.integrator.control, &self.integrator.adjoint) {
            (StepControl::Fixed, _) => {
                let IntegratedWorkspace { field, stepper, .. } = ws;
                let mut bound = outer.bound(field);
                stepper.step_vjp(&mut bound, outer.whole(), next_bar_x, state_bar_x, &mut bars);
            }
            (StepControl::Adaptive(controller), Adjoint::Discrete { checkpoints }) => {
                let how = (controller, *checkpoints);
                discrete_adjoint::solve(&outer, ws, how, next_bar_x, state_bar_x, &mut bars)?;
            }
            (StepControl::Adaptive(controller), Adjoint::Continuous(adjoint_controller)) => {
                let how = (controller, adjoint_controller);
                continuous_adjoint::solve(&outer, ws, how, next_bar_x, state_bar_x, &mut bars)?;
            }
        }
        if self.field.time_dependent() {
            state_bar[n] += next_bar[n] + time_bar;
        }
        Ok(())
    }
}

/// One outer step: the field, where it starts, and how long it is.
pub(super) struct OuterStep<'a, T, F> {
    pub field: &'a F,
    /// Parameters, control, and the state without its time.
    pub at: Point<'a, T>,
    /// The time that the state carries; zero for autonomous fields.
    pub time: T,
    pub dt: f64,
    /// Scales of the tolerances.
    pub scales: &'a [f64],
}

impl<'a, T: Real, F: VectorField<T>> OuterStep<'a, T, F> {
    /// The field at the parameters and the control of the step.
    #[inline(always)]
    pub fn bound<'w>(&self, workspace: &'w mut F::Workspace) -> Bound<'w, T, F>
    where
        'a: 'w,
    {
        let Point { params, control, .. } = self.at;
        Bound { field: self.field, workspace, params, control }
    }

    /// The whole of it as a step of the method.
    #[inline(always)]
    fn whole(&self) -> StepInput<'a, T> {
        StepInput { time: self.time, h: self.dt, state: self.at.state }
    }
}

impl<F: FieldShape> Integrated<F> {
    #[inline(always)]
    fn outer_step<'a, T: Real>(&'a self, at: Point<'a, T>) -> OuterStep<'a, T, F> {
        let n = self.field.layout().state.len();
        let time = if self.field.time_dependent() { at.state[n] } else { T::zero() };
        OuterStep {
            field: &self.field,
            at: at.with_state(&at.state[..n]),
            time,
            dt: self.dt,
            scales: &self.scales,
        }
    }
}
