//! [`Rollout`]: a system run over a horizon, with the gradient of a loss over the trajectory.

use std::fmt;
use std::ops::{ControlFlow, Range};

use pullback_math::Real;

use crate::Workspace;
use crate::checkpoint::{Chain, Plan, Reversal, Schedule};
use crate::cpu::note_lost_speed;
use crate::error::{ConfigError, StepError};
pub use crate::inputs::Inputs;
use crate::layout::Layout;
pub use crate::loss::{FinalState, Loss, Sample};
use crate::point::{Bars, Point};
use crate::system::{Described, Info, System, first_not_finite};

/// A system, a horizon, and how to keep states for the way back.
///
/// A control may hold for several steps of the system, its [substeps](Rollout::with_substeps). Losses see the
/// states at which controls change, and the end.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Inputs, Rollout, Schedule, rollout::FinalState};
/// let system = falling(0.01); // a body in free fall, state (height, velocity), parameter gravity
/// let rollout = Rollout::new(&system, 100, Schedule::Revolve { slots: 5 })?;
/// let mut ws = rollout.workspace::<f64>();
/// let loss = FinalState { weights: vec![1.0, 0.0] };
/// let inputs = Inputs { state: vec![10.0, 0.0], controls: vec![], params: vec![9.81] };
/// rollout.gradient(&mut ws, &inputs, &loss)?;
/// let dheight_dgravity = ws.gradient.params[0]; // −t²/2, up to the integrator's first order
/// assert!((dheight_dgravity + 0.5).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rollout<S> {
    /// The system: owned, borrowed or shared.
    pub system: S,
    /// How many controls.
    steps: usize,
    /// Steps of the system per control.
    substeps: usize,
    schedule: Schedule,
    plan: Plan,
}

/// Gradient of a loss over a rollout.
#[derive(Clone, Debug, Default, PartialEq, Workspace)]
pub struct Gradient<T> {
    /// The loss itself.
    #[workspace(plain)]
    pub loss: T,
    /// With respect to the initial state.
    pub state: Vec<T>,
    /// With respect to the controls, step after step.
    pub control: Vec<T>,
    /// With respect to the parameters.
    pub params: Vec<T>,
}

/// All memory of a rollout, allocated once: gradients allocate nothing.
#[derive(Debug, Workspace)]
pub struct RolloutWorkspace<T, W> {
    /// The last gradient computed.
    pub gradient: Gradient<T>,
    /// Forward steps that the last gradient took, recomputed ones included.
    pub forward_steps: usize,
    /// Inner steps of the first sweep.
    #[workspace(plain)]
    pub info: Info,
    /// What it was made for.
    #[workspace(plain)]
    sizes: Sizes,
    system: W,
    reversal: Reversal<T>,
    /// States before and after a step of a plain simulation.
    current: Vec<T>,
    next: Vec<T>,
    /// Cotangents after and before the step being reversed.
    next_bar: Vec<T>,
    state_bar: Vec<T>,
}

/// Sizes that a rollout and its workspace share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sizes {
    plan: Plan,
    controls: usize,
    state: usize,
    params: usize,
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { plan: Plan { steps, frame, slots }, controls, state, params } = self;
        write!(
            f,
            "{steps} steps in frames of {frame}, {slots} kept, {state} state entries, {controls} controls, \
             {params} parameters"
        )
    }
}

impl<T: Real, W: Workspace> RolloutWorkspace<T, W> {
    /// The state at the end of the last forward sweep; valid until the way back begins.
    pub fn final_state(&self) -> &[T] {
        self.reversal.final_state()
    }
}

impl<S> Rollout<S> {
    /// A rollout of `steps` steps.
    pub fn new(system: S, steps: usize, schedule: Schedule) -> Result<Self, ConfigError> {
        Ok(Rollout { system, steps, substeps: 1, schedule, plan: Plan::new(schedule, steps)? })
    }

    /// Holds every control for `substeps` steps of the system. The schedule counts these: `Schedule::StoreAll`
    /// keeps the states of all of them, `Schedule::Every(substeps)` those at which the control changes.
    pub fn with_substeps(self, substeps: usize) -> Result<Self, ConfigError> {
        if substeps == 0 {
            return Err(ConfigError::new("a control must hold for at least one step"));
        }
        Ok(Rollout { substeps, plan: Plan::new(self.schedule, self.steps * substeps)?, ..self })
    }

    /// How many controls.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Steps of the system per control.
    pub fn substeps(&self) -> usize {
        self.substeps
    }

    /// The sizes of the schedule.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Peak heap bytes of [`Rollout::gradient`], known before it runs; an adaptive integrator keeps its
    /// accepted inner steps on top of that, whose number only the run can tell.
    pub fn predict_bytes<T: Real>(&self) -> usize
    where
        S: System<T>,
    {
        let layout = self.system.layout();
        let scalars = 5 * layout.state.len() + self.steps * layout.control.len() + layout.params.len();
        scalars * size_of::<T>()
            + self.plan.heap_bytes::<T>(layout.state.len())
            + self.system.workspace().heap_bytes()
    }

    /// Allocates all memory.
    pub fn workspace<T: Real>(&self) -> RolloutWorkspace<T, S::Workspace>
    where
        S: System<T>,
    {
        note_lost_speed::<T>();
        let layout = self.system.layout();
        let zeros = |n| vec![T::zero(); n];
        RolloutWorkspace {
            gradient: Gradient {
                loss: T::zero(),
                state: zeros(layout.state.len()),
                control: zeros(self.steps * layout.control.len()),
                params: zeros(layout.params.len()),
            },
            forward_steps: 0,
            info: Info::default(),
            sizes: self.sizes(),
            system: self.system.workspace(),
            reversal: Reversal::new(self.plan, layout.state.len(), T::zero()),
            current: zeros(layout.state.len()),
            next: zeros(layout.state.len()),
            next_bar: zeros(layout.state.len()),
            state_bar: zeros(layout.state.len()),
        }
    }

    fn sizes(&self) -> Sizes
    where
        S: Described,
    {
        let layout = self.system.layout();
        let controls = self.steps * layout.control.len();
        Sizes { plan: self.plan, controls, state: layout.state.len(), params: layout.params.len() }
    }

    /// Checks that inputs and workspace are those of this rollout.
    fn check<T: Real, W>(&self, ws: &RolloutWorkspace<T, W>, inputs: &Inputs<T>) -> Result<(), StepError>
    where
        S: Described,
    {
        let sizes = self.sizes();
        if ws.sizes != sizes {
            return Err(StepError::OtherWorkspace {
                expected: sizes.to_string(),
                found: ws.sizes.to_string(),
            });
        }
        inputs.check(self.system.layout(), self.steps)
    }

    /// Where the control of a step lies in those of all steps.
    fn control_range(&self, step: usize) -> Range<usize>
    where
        S: Described,
    {
        let len = self.system.layout().control.len();
        step * len..(step + 1) * len
    }

    /// Runs the system and hands every sample, start and end included, to `visit`.
    pub fn simulate<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        inputs: &Inputs<T>,
        mut visit: impl FnMut(Sample<'_, T>),
    ) -> Result<(), StepError>
    where
        S: System<T>,
    {
        self.simulate_while(ws, inputs, |sample| {
            visit(sample);
            ControlFlow::Continue(())
        })
    }

    /// Runs the system for as long as `visit`, which gets every sample, wants more.
    pub fn simulate_while<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        inputs: &Inputs<T>,
        mut visit: impl FnMut(Sample<'_, T>) -> ControlFlow<()>,
    ) -> Result<(), StepError>
    where
        S: System<T>,
    {
        self.check(ws, inputs)?;
        let (layout, steps) = (self.system.layout(), self.steps);
        let RolloutWorkspace { info, system, current, next, .. } = ws;
        *info = Info::default();
        current.copy_from_slice(&inputs.state);
        for step in 0..steps {
            let control = &inputs.controls[self.control_range(step)];
            if visit(Sample { step, steps, state: current, control, params: &inputs.params }).is_break() {
                return Ok(());
            }
            for _ in 0..self.substeps {
                let at = Point { params: &inputs.params, state: current, control };
                info.add(self.system.step(system, at, next)?);
                std::mem::swap(current, next);
            }
            check_finite(layout, current, step)?;
        }
        let _ = visit(Sample { step: steps, steps, state: current, control: &[], params: &inputs.params });
        Ok(())
    }

    /// The loss over the trajectory, without its gradient.
    pub fn value<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        inputs: &Inputs<T>,
        loss: &impl Loss<T>,
    ) -> Result<T, StepError>
    where
        S: System<T>,
    {
        loss.check(self.system.layout())?;
        let mut total = T::zero();
        self.simulate(ws, inputs, |sample| total += loss.value(sample))?;
        check_loss(total)?;
        Ok(total)
    }

    /// The loss and its gradient with respect to initial state, controls and parameters, into `ws.gradient`.
    pub fn gradient<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        inputs: &Inputs<T>,
        loss: &impl Loss<T>,
    ) -> Result<(), StepError>
    where
        S: System<T>,
    {
        self.check(ws, inputs)?;
        loss.check(self.system.layout())?;
        let RolloutWorkspace { gradient, forward_steps, info, system, reversal, next_bar, state_bar, .. } =
            ws;
        *info = Info::default();
        gradient.loss = T::zero();
        gradient.control.fill(T::zero());
        gradient.params.fill(T::zero());
        next_bar.fill(T::zero());
        let mut chain = RolloutChain {
            rollout: self,
            workspace: system,
            inputs,
            loss,
            first_sweep: true,
            info,
            total: &mut gradient.loss,
            control_bar: &mut gradient.control,
            params_bar: &mut gradient.params,
            next_bar,
            state_bar,
        };
        reversal.forward(&mut chain, &inputs.state)?;
        chain.finish(reversal.final_state());
        check_loss(*chain.total)?;
        reversal.backward(&mut chain)?;
        gradient.state.copy_from_slice(next_bar);
        let layout = self.system.layout();
        if let Some((entry, value)) = first_not_finite(&gradient.params) {
            let entry = layout.params.entry_name(entry);
            return Err(StepError::GradientNotFinite { entry, value, step: 0 });
        }
        if let Some((entry, value)) = first_not_finite(&gradient.control) {
            let (step, entry) = (entry / layout.control.len(), entry % layout.control.len());
            let entry = layout.control.entry_name(entry);
            return Err(StepError::GradientNotFinite { entry, value, step });
        }
        *forward_steps = reversal.forward_steps;
        Ok(())
    }
}

/// The steps of a rollout as a chain to reverse, with the loss read along the way.
struct RolloutChain<'a, 'w, S: System<T>, T: Real, L> {
    rollout: &'a Rollout<S>,
    workspace: &'w mut S::Workspace,
    inputs: &'a Inputs<T>,
    loss: &'a L,
    /// The loss is summed once, while the chain runs for the first time.
    first_sweep: bool,
    info: &'w mut Info,
    total: &'w mut T,
    control_bar: &'w mut [T],
    params_bar: &'w mut [T],
    /// Cotangent of the state after the step being reversed; in the end, of the initial state.
    next_bar: &'w mut Vec<T>,
    state_bar: &'w mut Vec<T>,
}

impl<S: System<T>, T: Real, L: Loss<T>> RolloutChain<'_, '_, S, T, L> {
    /// Loss and cotangent of the final state.
    fn finish(&mut self, state: &[T]) {
        let steps = self.rollout.steps;
        let end = Sample { step: steps, steps, state, control: &[], params: &self.inputs.params };
        *self.total += self.loss.value(end);
        self.loss.vjp(end, self.next_bar, &mut []);
        self.loss.params_vjp(end, self.params_bar);
        self.first_sweep = false;
    }
}

impl<S: System<T>, T: Real, L: Loss<T>> Chain<T> for RolloutChain<'_, '_, S, T, L> {
    fn forward(&mut self, i: usize, x: &[T], next: &mut [T]) -> Result<(), StepError> {
        let Rollout { system, steps, substeps, .. } = self.rollout;
        let (step, substep) = (i / substeps, i % substeps);
        let control = &self.inputs.controls[self.rollout.control_range(step)];
        let at = Point { params: &self.inputs.params, state: x, control };
        let info = system.step(self.workspace, at, next)?;
        if self.first_sweep {
            if substep == 0 {
                let params = &self.inputs.params;
                *self.total += self.loss.value(Sample { step, steps: *steps, state: x, control, params });
            }
            self.info.add(info);
            if substep + 1 == *substeps {
                check_finite(system.layout(), next, step)?;
            }
        }
        Ok(())
    }

    fn backward(&mut self, i: usize, x: &[T]) -> Result<(), StepError> {
        let Rollout { system, steps, substeps, .. } = self.rollout;
        let (step, substep) = (i / substeps, i % substeps);
        let range = self.rollout.control_range(step);
        let control = &self.inputs.controls[range.clone()];
        let control_bar = &mut self.control_bar[range];
        self.state_bar.fill(T::zero());
        if substep == 0 {
            let sample = Sample { step, steps: *steps, state: x, control, params: &self.inputs.params };
            self.loss.vjp(sample, self.state_bar, control_bar);
            self.loss.params_vjp(sample, self.params_bar);
        }
        let at = Point { params: &self.inputs.params, state: x, control };
        let bars = Bars { params: self.params_bar, state: self.state_bar, control: control_bar };
        system.step_vjp(self.workspace, at, self.next_bar, bars)?;
        if substep == 0
            && let Some((entry, value)) = first_not_finite(self.state_bar)
        {
            let entry = system.layout().state.entry_name(entry);
            return Err(StepError::GradientNotFinite { entry, value, step });
        }
        std::mem::swap(self.next_bar, self.state_bar);
        Ok(())
    }
}

/// A loss of finite states says that it is not finite.
fn check_loss<T: Real>(loss: T) -> Result<(), StepError> {
    first_not_finite(&[loss]).map_or(Ok(()), |(_, value)| Err(StepError::LossNotFinite { value }))
}

/// A diverging step says which quantity, and when.
fn check_finite<T: Real>(layout: &Layout, state: &[T], step: usize) -> Result<(), StepError> {
    match first_not_finite(state) {
        None => Ok(()),
        Some((entry, value)) => {
            Err(StepError::NotFinite { entry: layout.state.entry_name(entry), value, step })
        }
    }
}
