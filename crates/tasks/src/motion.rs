//! [`Motion`]: a motion that a search found, ready to be shown and played again, and [`Shown`], the objectives
//! that have one.

use pullback_core::drive::{Drive, Driven};
use pullback_core::input_map::InputMap;
use pullback_core::layout::Layout;
use pullback_core::rollout::{Inputs, Loss};
use pullback_core::{Described, FieldShape, Integrated, StepError, System};
use pullback_math::Real;
use pullback_optim::{Objective, RolloutObjective};
use pullback_physics::articulated::Articulated;
use pullback_physics::mpm::ActuatedMpm;
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_physics::point_mass::PenaltyPointMass;
use pullback_physics::world::World;
use pullback_replay::Replay;

use crate::recording;

/// A motion under inputs.
pub struct Motion {
    /// Names of states, controls and parameters.
    pub layout: Layout,
    /// Seconds per control.
    pub dt: f64,
    /// What it starts from.
    pub inputs: Inputs<f64>,
    /// Times and states, one for each control and the end.
    pub rows: Vec<(f64, Vec<f64>)>,
    /// The page that plays it, where there are bodies to show.
    pub replay: Option<Replay>,
}

/// An objective whose motions can be looked at.
pub trait Shown: Objective {
    /// The motion at `x`; none where there is nothing that moves.
    fn motion(&self, _x: &[f64]) -> Result<Option<Motion>, StepError> {
        Ok(None)
    }
}

/// A system whose states can be shown.
pub trait Visual: Described {
    /// Seconds per step.
    fn seconds(&self) -> f64;
    /// The page of times and states under inputs with a control for each `dt` seconds, where there are bodies
    /// to show.
    fn page(&self, _inputs: &Inputs<f64>, _dt: f64, _rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        None
    }
}

impl<T, S, L, M> Shown for RolloutObjective<S, L, M, T>
where
    T: Real,
    S: System<T> + Visual,
    L: Loss<T>,
    M: InputMap,
{
    fn motion(&self, x: &[f64]) -> Result<Option<Motion>, StepError> {
        let plain = |x: &[T]| -> Vec<f64> { x.iter().map(|x| x.lane(0)).collect() };
        let rollout = self.rollout();
        let dt = rollout.system.seconds() * rollout.substeps() as f64;
        let rows =
            self.states(x)?.iter().enumerate().map(|(k, state)| (k as f64 * dt, plain(state))).collect();
        let Inputs { state, controls, params } = self.inputs(x);
        let inputs = Inputs { state: plain(&state), controls: plain(&controls), params: plain(&params) };
        let mut motion = Motion { layout: rollout.system.layout().clone(), dt, inputs, rows, replay: None };
        motion.replay = rollout.system.page(&motion.inputs, dt, &motion.rows);
        Ok(Some(motion))
    }
}

/// Fields of which there are pages.
pub trait VisualField: FieldShape {
    /// As [`Visual::page`].
    fn page(&self, _inputs: &Inputs<f64>, _dt: f64, _rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        None
    }
}

impl<F: VisualField> Visual for Integrated<F> {
    fn seconds(&self) -> f64 {
        self.dt()
    }
    fn page(&self, inputs: &Inputs<f64>, dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        self.field().page(inputs, dt, rows)
    }
}

impl VisualField for PenaltyPointMass {}
impl VisualField for SimplePendulum {}
impl VisualField for DoublePendulum {}

impl VisualField for Articulated {
    fn page(&self, inputs: &Inputs<f64>, dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        Some(recording::replay(self, (inputs, dt), rows))
    }
}

impl VisualField for World {
    fn page(&self, inputs: &Inputs<f64>, _dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        Some(recording::world_replay(self, &self.robot().model().name, inputs, rows))
    }
}

impl<F: VisualField, D: Drive> VisualField for Driven<F, D> {
    fn page(&self, inputs: &Inputs<f64>, dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        self.field().page(inputs, dt, rows)
    }
}

impl Visual for ActuatedMpm {
    fn seconds(&self) -> f64 {
        self.mpm().dt()
    }
    fn page(&self, _inputs: &Inputs<f64>, _dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        Some(recording::mpm_replay(self.mpm(), "material points", rows))
    }
}
