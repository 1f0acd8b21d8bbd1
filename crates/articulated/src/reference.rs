//! What a model leaves to be computed in its reference configuration: lengths at which springs of tendons rest, and the
//! peak forces of muscles that are given relative to the inertia they move.

use pullback_core::{ConfigError, Described, Point, VectorField};

use super::actuator::transmission::add_moment;
use super::field::Articulated;
use super::model::{Actuator, Bias, Gain, JointKind, Model, Muscle};
use super::workspace::ArticulatedWorkspace;

/// The curves of a muscle, in gain and bias.
fn curves(actuator: &mut Actuator) -> impl Iterator<Item = &mut Muscle> {
    let gain = match &mut actuator.gain {
        Gain::Muscle(curves) => Some(curves),
        Gain::Fixed(_) | Gain::Affine(_) => None,
    };
    let bias = match &mut actuator.bias {
        Bias::Muscle(curves) => Some(curves),
        Bias::None | Bias::Affine(_) => None,
    };
    gain.into_iter().chain(bias)
}

/// Fills in what is left open.
pub(super) fn complete(model: &mut Model) -> Result<(), ConfigError> {
    let mut closed = model.clone();
    let mut open = false;
    for tendon in closed.tendons.iter_mut().filter(|t| t.springlength.is_none() && t.stiffness != 0.0) {
        tendon.springlength = Some((0.0, 0.0));
        open = true;
    }
    for muscle in closed.actuators.iter_mut().flat_map(curves).filter(|m| m.force < 0.0) {
        muscle.force = 1.0;
        open = true;
    }
    if !open {
        return Ok(());
    }
    let robot = Articulated::new(closed)?;
    let mut ws: ArticulatedWorkspace<f64> = robot.workspace();
    let resting = robot.lengths_at(&mut ws, &spring_configuration(model));
    for (tendon, length) in model.tendons.iter_mut().zip(resting) {
        if tendon.springlength.is_none() && tendon.stiffness != 0.0 {
            tendon.springlength = Some((length, length));
        }
    }
    for (a, actuator) in model.actuators.iter_mut().enumerate() {
        if curves(actuator).all(|m| m.force >= 0.0) {
            continue;
        }
        // F₀ = scale / ‖M⁻¹ J‖
        let mut row = robot.reference_moment(&mut ws, a);
        ws.mass.solve(&robot.tree, &mut row);
        let acceleration = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        for muscle in curves(actuator).filter(|m| m.force < 0.0) {
            muscle.force = muscle.scale / acceleration.max(1e-15);
        }
    }
    Ok(())
}

/// Coordinates at which the springs of the joints rest.
fn spring_configuration(model: &Model) -> Vec<f64> {
    let mut q = model.reference_configuration();
    for joint in model.joints.iter().filter(|j| matches!(j.kind, JointKind::Hinge | JointKind::Slide)) {
        q[joint.q] = joint.spring_reference;
    }
    q
}

impl Articulated {
    /// Everything at rest in the configuration `q`, left in the workspace.
    fn rest_at(&self, ws: &mut ArticulatedWorkspace<f64>, q: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let mut state = self.layout().state.defaults();
        state[..q.len()].copy_from_slice(q);
        state[q.len()..].fill(0.0);
        let (params, control) = (self.layout().params.defaults(), self.layout().control.defaults());
        self.accelerations(ws, Point { params: &params, state: &state, control: &control });
        (params, state, control)
    }

    fn lengths_at(&self, ws: &mut ArticulatedWorkspace<f64>, q: &[f64]) -> Vec<f64> {
        self.rest_at(ws, q);
        ws.tendons.length.clone()
    }

    /// The moment of an actuator in the reference configuration; leaves the mass matrix factorized.
    pub(crate) fn reference_moment(&self, ws: &mut ArticulatedWorkspace<f64>, actuator: usize) -> Vec<f64> {
        let (params, state, control) = self.rest_at(ws, &self.model.reference_configuration());
        self.actuator_moment(ws, Point { params: &params, state: &state, control: &control }, actuator)
    }

    /// The moment row of an actuator (`actuator_moment`) at the state last evaluated: how its length changes with each
    /// velocity.
    pub fn actuator_moment<T: pullback_math::Real>(
        &self,
        ws: &ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        actuator: usize,
    ) -> Vec<T> {
        let state = if self.coupling.is_some() { &ws.coupled.state } else { at.state };
        let motion = (&ws.kinematics, &ws.sweep.velocities[..]);
        let acting = self.actuator_inputs(at.params, self.split_state(state), at.control, motion);
        let mut row = vec![T::zero(); self.model.nv];
        add_moment(&acting, actuator, &ws.tendons, &mut row);
        row
    }

    /// The moment row of a tendon (`ten_J`) at the state last evaluated.
    pub fn tendon_moment<T: pullback_math::Real>(
        &self,
        ws: &ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        tendon: usize,
    ) -> Vec<T> {
        let state = if self.coupling.is_some() { &ws.coupled.state } else { at.state };
        let motion = (&ws.kinematics, &ws.sweep.velocities[..]);
        let acting = self.actuator_inputs(at.params, self.split_state(state), at.control, motion);
        let mut row = vec![T::zero(); self.model.nv];
        self.tendons.add_row(&acting.tendons, &ws.tendons.spans, tendon, T::one(), &mut row);
        row
    }
}
