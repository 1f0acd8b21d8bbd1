//! Poses and velocities of the bodies at a state, without forces, and their pullback: what other matter sees of
//! a robot.

use pullback_math::{Force, Real};

use super::contact::MotionBars;
use super::field::Articulated;
use super::rnea::{HeldMotions, body_velocities, body_velocities_vjp};
use super::workspace::ArticulatedWorkspace;

impl Articulated {
    /// Poses and velocities of all bodies at a state, left in the workspace.
    pub fn motion<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, params: &[T], state: &[T]) {
        self.update_kinematics(ws, params, state);
        let full = if self.coupling.is_some() { &ws.coupled.state } else { state };
        let at = self.inputs(&ws.kinematics, params, &full[self.model.nq..], &[]);
        body_velocities(&at, &mut ws.sweep);
    }

    /// The pullback of [`Articulated::motion`] at the state last computed: *adds* what cotangents of body
    /// velocities and wrenches on displacements of the bodies give.
    pub fn motion_vjp<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        params: &[T],
        state: &[T],
        mut bars: MotionBars<'_, T>,
        state_bar: &mut [T],
    ) {
        let Some(coupling) = &self.coupling else {
            return self.full_motion_vjp(ws, params, state, &mut bars, state_bar);
        };
        let full = std::mem::take(&mut ws.coupled.state);
        let mut full_bar = std::mem::take(&mut ws.coupled.state_bar);
        full_bar.fill(T::zero());
        self.full_motion_vjp(ws, params, &full, &mut bars, &mut full_bar);
        (ws.coupled.state, ws.coupled.state_bar) = (full, full_bar);
        coupling.expand_state_vjp(&ws.coupled, params, state, state_bar, bars.params);
    }

    fn full_motion_vjp<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        params: &[T],
        state: &[T],
        bars: &mut MotionBars<'_, T>,
        state_bar: &mut [T],
    ) {
        let MotionBars { velocities: velocity_bars, wrenches, params: params_bar } = bars;
        let (q, v) = state.split_at(self.model.nq);
        let (q_bar, v_bar) = state_bar.split_at_mut(self.model.nq);
        let ArticulatedWorkspace { kinematics, tangent_bar, axis_bars, .. } = ws;
        tangent_bar.fill(T::zero());
        axis_bars.fill(Force::zero());
        let at = self.inputs(kinematics, params, v, &[]);
        let none = HeldMotions::none();
        body_velocities_vjp(&at, velocity_bars, none, wrenches, tangent_bar, v_bar, axis_bars);
        self.all_coordinates.add_tangent(q, tangent_bar, q_bar);
        self.kinematic_params_vjp(kinematics, params, q, axis_bars, |b| wrenches[b], params_bar);
    }
}
