//! [`Rollout`]: a system run over a horizon, with the gradient of a loss over the trajectory.

use pullback_math::Real;

use crate::Workspace;
use crate::checkpoint::{Chain, Plan, Reversal, Schedule};
use crate::error::{ConfigError, StepError};
use crate::layout::Layout;
use crate::system::{Described, Info, System, first_not_finite};

/// One moment of a trajectory, as a loss sees it.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a, T> {
    /// Steps taken so far: 0 at the start, `steps` at the end.
    pub step: usize,
    /// Steps of the whole rollout.
    pub steps: usize,
    /// The state.
    pub state: &'a [T],
    /// The control of the step about to be taken; empty at the end.
    pub control: &'a [T],
}

impl<T> Moment<'_, T> {
    /// Whether this is the end of the trajectory.
    pub fn last(&self) -> bool {
        self.step == self.steps
    }
}

/// Everything a rollout starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs<T> {
    /// Initial state.
    pub state: Vec<T>,
    /// Controls, step after step.
    pub controls: Vec<T>,
    /// Parameters.
    pub params: Vec<T>,
}

impl<T: Real> Inputs<T> {
    /// The defaults of a system's layout, controls at their defaults over `steps` steps.
    pub fn defaults(system: &impl Described, steps: usize) -> Self {
        let layout = system.layout();
        let lit = |v: Vec<f64>| v.into_iter().map(T::lit).collect::<Vec<T>>();
        Inputs {
            state: lit(layout.state.defaults()),
            controls: lit(layout.control.defaults().repeat(steps)),
            params: lit(layout.params.defaults()),
        }
    }
}

/// A loss that sums over the moments of a trajectory, L = Σₜ ℓ(t, xₜ, uₜ), with its pullback.
pub trait Loss<T: Real>: Sync {
    /// ℓ at one moment.
    fn value(&self, at: Moment<'_, T>) -> T;
    /// *Adds* dℓ/dx and dℓ/du at one moment.
    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], control_bar: &mut [T]);
}

/// L = w·x_N: a weighted sum of the final state.
#[derive(Clone, Debug)]
pub struct FinalState {
    /// One weight per state entry.
    pub weights: Vec<f64>,
}

impl<T: Real> Loss<T> for FinalState {
    fn value(&self, at: Moment<'_, T>) -> T {
        let mut sum = T::zero();
        if at.last() {
            for (x, w) in at.state.iter().zip(&self.weights) {
                sum += *x * T::lit(*w);
            }
        }
        sum
    }
    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            for (bar, w) in state_bar.iter_mut().zip(&self.weights) {
                *bar += T::lit(*w);
            }
        }
    }
}

/// A loss over frames of `times` steps each, read along a rollout of single steps: it sees the starts of frames and the end.
///
/// With [`Repeated`](crate::Repeated) a rollout keeps the states of frames; without it, and with this, its schedule decides what
/// is kept.
#[derive(Clone, Debug)]
pub struct Framed<L> {
    /// The loss over frames.
    pub loss: L,
    times: usize,
}

impl<L> Framed<L> {
    /// `loss` over frames of `times` steps.
    pub fn new(loss: L, times: usize) -> Result<Self, ConfigError> {
        if times == 0 {
            return Err(ConfigError::new("a frame needs at least one step"));
        }
        Ok(Framed { loss, times })
    }

    /// A moment between two frames, as the loss over frames sees it.
    fn between<'a, T>(&self, at: Moment<'a, T>) -> Option<Moment<'a, T>> {
        let starts = at.step.is_multiple_of(self.times);
        starts.then(|| Moment { step: at.step / self.times, steps: at.steps / self.times, ..at })
    }
}

impl<T: Real, L: Loss<T>> Loss<T> for Framed<L> {
    fn value(&self, at: Moment<'_, T>) -> T {
        self.between(at).map_or(T::zero(), |at| self.loss.value(at))
    }
    fn vjp(&self, at: Moment<'_, T>, state_bar: &mut [T], control_bar: &mut [T]) {
        if let Some(at) = self.between(at) {
            self.loss.vjp(at, state_bar, control_bar);
        }
    }
}

/// A system, a horizon, and how to keep states for the way back.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Rollout, Schedule, rollout::FinalState};
/// let system = falling(0.01); // a body in free fall, state (height, velocity), parameter gravity
/// let rollout = Rollout::new(&system, 100, Schedule::Revolve { slots: 5 })?;
/// let mut ws = rollout.workspace::<f64>();
/// let loss = FinalState { weights: vec![1.0, 0.0] };
/// rollout.gradient(&mut ws, &[9.81], &[10.0, 0.0], &[], &loss)?;
/// let dheight_dgravity = ws.gradient.params[0]; // −t²/2, up to the integrator's first order
/// assert!((dheight_dgravity + 0.5).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rollout<S> {
    /// The system: owned, borrowed or shared.
    pub system: S,
    /// How many steps.
    pub steps: usize,
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
    system: W,
    reversal: Reversal<T>,
    next_bar: Vec<T>,
    state_bar: Vec<T>,
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
        Ok(Rollout { system, steps, plan: Plan::new(schedule, steps)? })
    }

    /// The sizes of the schedule.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Peak heap bytes of [`Rollout::gradient`], known before it runs; an adaptive integrator keeps its accepted inner
    /// steps on top of that, whose number only the run can tell.
    pub fn predict_bytes<T: Real>(&self) -> usize
    where
        S: System<T>,
    {
        let layout = self.system.layout();
        let gradients = 3 * layout.state.len() + self.steps * layout.control.len() + layout.params.len();
        gradients * size_of::<T>()
            + self.plan.heap_bytes::<T>(layout.state.len())
            + self.system.workspace().heap_bytes()
    }

    /// Allocates all memory.
    pub fn workspace<T: Real>(&self) -> RolloutWorkspace<T, S::Workspace>
    where
        S: System<T>,
    {
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
            system: self.system.workspace(),
            reversal: Reversal::new(self.plan, layout.state.len(), T::zero()),
            next_bar: zeros(layout.state.len()),
            state_bar: zeros(layout.state.len()),
        }
    }

    /// Runs the system and hands every moment, start and end included, to `visit`.
    pub fn simulate<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        params: &[T],
        state: &[T],
        controls: &[T],
        mut visit: impl FnMut(Moment<'_, T>),
    ) -> Result<(), StepError>
    where
        S: System<T>,
    {
        let n = self.system.layout().state.len();
        let nu = self.system.layout().control.len();
        ws.info = Info::default();
        ws.next_bar.copy_from_slice(state);
        for step in 0..self.steps {
            let control = &controls[step * nu..(step + 1) * nu];
            visit(Moment { step, steps: self.steps, state: &ws.next_bar[..n], control });
            let info = self.system.step(&mut ws.system, params, &ws.next_bar, control, &mut ws.state_bar)?;
            ws.info.add(info);
            check_finite(self.system.layout(), &ws.state_bar, step)?;
            std::mem::swap(&mut ws.next_bar, &mut ws.state_bar);
        }
        visit(Moment { step: self.steps, steps: self.steps, state: &ws.next_bar[..n], control: &[] });
        Ok(())
    }

    /// The loss over the trajectory, without its gradient.
    pub fn value<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        params: &[T],
        state: &[T],
        controls: &[T],
        loss: &impl Loss<T>,
    ) -> Result<T, StepError>
    where
        S: System<T>,
    {
        let mut total = T::zero();
        self.simulate(ws, params, state, controls, |moment| total += loss.value(moment))?;
        Ok(total)
    }

    /// The loss and its gradient with respect to initial state, controls and parameters, into `ws.gradient`.
    pub fn gradient<T: Real>(
        &self,
        ws: &mut RolloutWorkspace<T, S::Workspace>,
        params: &[T],
        state: &[T],
        controls: &[T],
        loss: &impl Loss<T>,
    ) -> Result<(), StepError>
    where
        S: System<T>,
    {
        let RolloutWorkspace { gradient, forward_steps, info, system, reversal, next_bar, state_bar } = ws;
        *info = Info::default();
        gradient.loss = T::zero();
        gradient.control.fill(T::zero());
        gradient.params.fill(T::zero());
        next_bar.fill(T::zero());
        let mut chain = RolloutChain {
            rollout: self,
            workspace: system,
            params,
            controls,
            loss,
            first_sweep: true,
            info,
            total: &mut gradient.loss,
            control_bar: &mut gradient.control,
            params_bar: &mut gradient.params,
            next_bar,
            state_bar,
        };
        reversal.forward(&mut chain, state)?;
        chain.finish(reversal.final_state());
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
    params: &'a [T],
    controls: &'a [T],
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
        let end = Moment { step: steps, steps, state, control: &[] };
        *self.total += self.loss.value(end);
        self.loss.vjp(end, self.next_bar, &mut []);
        self.first_sweep = false;
    }
}

impl<S: System<T>, T: Real, L: Loss<T>> Chain<T> for RolloutChain<'_, '_, S, T, L> {
    fn forward(&mut self, i: usize, x: &[T], next: &mut [T]) -> Result<(), StepError> {
        let system = &self.rollout.system;
        let nu = system.layout().control.len();
        let control = &self.controls[i * nu..(i + 1) * nu];
        let info = system.step(self.workspace, self.params, x, control, next)?;
        if self.first_sweep {
            *self.total += self.loss.value(Moment { step: i, steps: self.rollout.steps, state: x, control });
            self.info.add(info);
            check_finite(system.layout(), next, i)?;
        }
        Ok(())
    }

    fn backward(&mut self, i: usize, x: &[T]) -> Result<(), StepError> {
        let system = &self.rollout.system;
        let nu = system.layout().control.len();
        let span = i * nu..(i + 1) * nu;
        let control = &self.controls[span.clone()];
        let control_bar = &mut self.control_bar[span];
        self.state_bar.fill(T::zero());
        let moment = Moment { step: i, steps: self.rollout.steps, state: x, control };
        self.loss.vjp(moment, self.state_bar, control_bar);
        system.step_vjp(
            self.workspace,
            self.params,
            x,
            control,
            self.next_bar,
            self.state_bar,
            control_bar,
            self.params_bar,
        )?;
        if let Some((entry, value)) = first_not_finite(self.state_bar) {
            let entry = system.layout().state.entry_name(entry);
            return Err(StepError::GradientNotFinite { entry, value, step: i });
        }
        std::mem::swap(self.next_bar, self.state_bar);
        Ok(())
    }
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
