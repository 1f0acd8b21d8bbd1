//! [`Problem`]: what every planner is a function of.

use pullback_core::rollout::Loss;
use pullback_core::{ConfigError, Manifold, Rollout, Schedule, System};
use pullback_math::{Dual, f32x16, f64x8};

use crate::bounds::ControlBox;

/// A system that every planner takes: on plain numbers, on lanes, with tangents of its states.
pub trait PlanSystem: System<f64> + System<f64x8> + System<f32x16> + Manifold {}
impl<S: System<f64> + System<f64x8> + System<f32x16> + Manifold> PlanSystem for S {}

/// A loss that every planner takes: on plain numbers, on lanes, and with second derivatives by duals.
pub trait PlanLoss: Loss<f64> + Loss<f64x8> + Loss<f32x16> + Loss<Dual<f64x8>> {}
impl<L: Loss<f64> + Loss<f64x8> + Loss<f32x16> + Loss<Dual<f64x8>>> PlanLoss for L {}

/// A system, a loss over a horizon, and bounds of the controls.
#[derive(Debug)]
pub struct Problem<'a, S, L> {
    /// The system.
    pub system: &'a S,
    /// The loss: running costs at every control step of the horizon, terminal costs at its end.
    pub loss: &'a L,
    /// Its parameters.
    pub params: &'a [f64],
    /// Bounds of the controls.
    pub bounds: &'a ControlBox,
    /// Control steps that are planned ahead.
    pub horizon: usize,
    /// Steps of the system per control.
    pub substeps: usize,
    /// Threads; plans do not depend on their number.
    pub threads: usize,
}

impl<S, L> Clone for Problem<'_, S, L> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, L> Copy for Problem<'_, S, L> {}

impl<'a, S: PlanSystem, L: PlanLoss> Problem<'a, S, L> {
    /// Rollouts over the horizon.
    pub fn rollout(&self, schedule: Schedule) -> Result<Rollout<&'a S>, ConfigError> {
        Rollout::new(self.system, self.horizon, schedule)?.with_substeps(self.substeps)
    }

    /// Refuses controls without bounds, between which a planner would have to search.
    pub fn check_bounded(&self, planner: &str) -> Result<(), ConfigError> {
        match self.bounds.unbounded() {
            None => Ok(()),
            Some(i) => Err(ConfigError::new(format!(
                "{planner}: control `{}` has no bounds to search between; give it a range, or use ilqr",
                self.system.layout().control.entry_name(i)
            ))),
        }
    }
}
