//! [`Remembering`]: a system whose state holds, behind its own, where it was before the last step.
//!
//! A step is several steps of the system within, so that what is remembered is the state one action ago.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, ConfigError, Described, Info, Point, StepError, System, Workspace};
use pullback_math::Real;

/// A system with a memory of one step. State: that of the system, then the same one step earlier.
pub struct Remembering<S> {
    system: S,
    /// Steps of the system per step.
    substeps: usize,
    layout: Layout,
}

impl<S: Described> Remembering<S> {
    /// Remembers the state before each `substeps` steps of `system`.
    pub fn new(system: S, substeps: usize) -> Result<Self, ConfigError> {
        let own = system.layout().clone();
        let earlier = |slice: &Slice| Slice { name: format!("earlier.{}", slice.name), ..slice.clone() };
        let slices: Vec<Slice> = own.state.slices().iter().map(earlier).collect();
        let layout = slices.into_iter().fold(own.into(), pullback_core::layout::LayoutBuilder::state);
        Ok(Remembering { system, substeps, layout: layout.build()? })
    }

    /// Numbers of the system's own state.
    pub fn own(&self) -> usize {
        self.layout.state.len() / 2
    }
}

impl<S> Described for Remembering<S> {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

/// Memory of [`Remembering`].
#[derive(Workspace)]
pub struct RememberingWorkspace<T: Copy + Send, W> {
    system: W,
    /// States before each step of the system, and after the last.
    states: Vec<T>,
    /// Cotangents of a state and of that before it.
    bar: Vec<T>,
    before_bar: Vec<T>,
}

impl<S> Remembering<S> {
    /// States of the first `steps` steps of the system into the workspace.
    fn run<T: Real>(
        &self,
        ws: &mut RememberingWorkspace<T, S::Workspace>,
        at: Point<'_, T>,
        steps: usize,
    ) -> Result<Info, StepError>
    where
        S: System<T>,
    {
        let (n, mut info) = (self.own(), Info::default());
        ws.states[..n].copy_from_slice(&at.state[..n]);
        for step in 0..steps {
            let (done, rest) = ws.states.split_at_mut((step + 1) * n);
            info.add(self.system.step(&mut ws.system, at.with_state(&done[step * n..]), &mut rest[..n])?);
        }
        Ok(info)
    }
}

impl<T: Real, S: System<T>> System<T> for Remembering<S> {
    type Workspace = RememberingWorkspace<T, S::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = |n: usize| vec![T::zero(); n];
        RememberingWorkspace {
            system: self.system.workspace(),
            states: zeros((self.substeps + 1) * self.own()),
            bar: zeros(self.own()),
            before_bar: zeros(self.own()),
        }
    }

    /// (s, e)′ = (step(… step(s)), s)
    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let n = self.own();
        let info = self.run(ws, at, self.substeps)?;
        let (now, earlier) = next.split_at_mut(n);
        now.copy_from_slice(&ws.states[self.substeps * n..]);
        earlier.copy_from_slice(&at.state[..n]);
        Ok(info)
    }

    /// s̄ += stepᵀ(… stepᵀ(s̄′)) + ē′, ē += 0
    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        mut bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let n = self.own();
        self.run(ws, at, self.substeps.saturating_sub(1))?;
        let (now_bar, earlier_bar) = next_bar.split_at(n);
        let RememberingWorkspace { system, states, bar, before_bar } = ws;
        bar.copy_from_slice(now_bar);
        for step in (0..self.substeps).rev() {
            before_bar.fill(T::zero());
            let at = at.with_state(&states[step * n..][..n]);
            self.system.step_vjp(system, at, bar, bars.with_state(before_bar))?;
            std::mem::swap(bar, before_bar);
        }
        for (to, (s, e)) in bars.state.iter_mut().zip(bar.iter().zip(earlier_bar)) {
            *to += *s + *e;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_core::integrator::{Integrated, Integrator, Method};
    use pullback_core::step_check::check_step;
    use pullback_physics::pendulum::DoublePendulum;

    use super::*;

    const SUBSTEPS: usize = 3;

    fn pendulum() -> Integrated<DoublePendulum> {
        Integrated::new(DoublePendulum::default(), 0.01, Integrator::fixed(Method::SemiImplicitEuler))
            .unwrap()
    }

    #[test]
    fn a_step_is_several_and_what_was_before() {
        let (system, remembering) = (pendulum(), Remembering::new(pendulum(), SUBSTEPS).unwrap());
        assert_eq!(remembering.layout().state.entry_name(5), "earlier.angle[1]");
        let (n, params) = (remembering.own(), system.layout().params.defaults());
        let control = system.layout().control.defaults();
        let mut state: Vec<f64> = (0..n).map(|i| 0.4 - 0.3 * i as f64).collect();
        let both: Vec<f64> = state.iter().copied().chain((0..n).map(|_| 7.0)).collect();
        let mut next = vec![0.0; 2 * n];
        let at = Point { params: &params, state: &both, control: &control };
        let info = remembering.step(&mut System::<f64>::workspace(&remembering), at, &mut next).unwrap();
        assert_eq!((info.accepted, &next[n..]), (SUBSTEPS, &state[..]));
        let mut ws = System::<f64>::workspace(&system);
        for _ in 0..SUBSTEPS {
            let before = state.clone();
            system.step(&mut ws, at.with_state(&before), &mut state).unwrap();
        }
        assert_eq!(next[..n], state);
    }

    #[test]
    fn steps_pull_back() {
        let remembering = Remembering::new(pendulum(), SUBSTEPS).unwrap();
        let layout = remembering.layout();
        let state: Vec<f64> = (0..layout.state.len()).map(|i| (1.3 * i as f64).sin()).collect();
        let (params, control) = (layout.params.defaults(), vec![0.3; layout.control.len()]);
        let at = Point { params: &params, state: &state, control: &control };
        check_step(&remembering, at, &Options::default()).assert_passed();
    }
}
