//! Memory of an evaluation: what was computed last, scratch and cotangents.

use pullback_core::Workspace;
use pullback_math::{Force, Real, SpatialInertia};

use super::actuator::ActuatorState;
use super::contact::{ContactSet, ContactSolverWorkspace, Resolve};
use super::coupling::CoupledWorkspace;
use super::field::Articulated;
use super::fluid::FluidWorkspace;
use super::guards::HeldSides;
use super::implicit::ImplicitMatrix;
use super::kinematics::Kinematics;
use super::mass_matrix::MassMatrix;
use super::rnea::{Push, Sweep};
use super::tendon::TendonState;

/// Scratch, and what was computed last.
#[derive(Clone, Debug, Workspace)]
pub struct ArticulatedWorkspace<T> {
    /// Poses, axes and inertias.
    pub kinematics: Kinematics<T>,
    /// Velocities, accelerations and forces of the bodies.
    pub sweep: Sweep<T>,
    /// The mass matrix, armature included.
    pub mass: MassMatrix<T>,
    /// RNEA(q, v, 0).
    pub bias: Vec<T>,
    /// Forces of springs, dampers and limits (`qfrc_passive`).
    pub passive: Vec<T>,
    /// Forces of actuators (`qfrc_actuator`).
    pub actuation: Vec<T>,
    /// v̇ as an integrator sees it.
    pub acceleration: Vec<T>,
    /// v̇ without implicit terms of the integrator (`qacc`).
    pub constrained: Vec<T>,
    /// M⁻¹ (τ − bias), without constraints (`qacc_smooth`).
    pub smooth: Vec<T>,
    /// Tendons, and transmissions of actuators.
    pub tendons: TendonState<T>,
    /// Actuators.
    pub actuators: ActuatorState<T>,
    pub(super) lambda: Vec<T>,
    /// (M − h Q)⁻ᵀ v̇_bar, and what M and M − h Q see of the two accelerations; empty without implicit terms.
    pub(super) mu: Vec<T>,
    pub(super) change: Vec<T>,
    pub(super) scratch: Vec<T>,
    /// Wrench that each body and everything beyond it exert on a small motion of them.
    pub(super) carried: Vec<Force<T>>,
    pub(super) implicit: ImplicitMatrix<T>,
    pub(super) fluid: FluidWorkspace<T>,
    pub(super) tau_bar: Vec<T>,
    pub(super) tangent_bar: Vec<T>,
    pub(super) inertia_bars: Vec<SpatialInertia<T>>,
    /// Empty unless bodies are pushed.
    pub(super) pushes: Vec<Push<T>>,
    pub(super) push_bars: Vec<Push<T>>,
    /// Part of each body's weight that is carried; empty if none is.
    pub(super) compensation: Vec<T>,
    pub(super) compensation_bars: Vec<T>,
    /// Empty unless geoms may touch.
    pub(super) velocity_bars: Vec<Force<T>>,
    pub(super) wrenches: Vec<Force<T>>,
    /// Empty unless a model of constraints acts: cotangents of the bodies' motion along λ and v̇, and of
    /// their accelerations; of coordinates and velocities.
    pub(super) virtual_bars: Vec<Force<T>>,
    pub(super) held_bars: Vec<Force<T>>,
    pub(super) body_acceleration_bars: Vec<Force<T>>,
    pub(super) q_bar: Vec<T>,
    pub(super) v_bar: Vec<T>,
    /// Cotangents of the mass matrix, packed; empty unless the contact model sweeps.
    pub(super) mass_bars: Vec<T>,
    /// Cotangents of joint axes that sweeps and tendons give; empty without these.
    pub(super) constraint_axis_bars: Vec<Force<T>>,
    /// Cotangents of joint axes; empty unless kinematic parameters were asked for.
    pub(super) axis_bars: Vec<Force<T>>,
    pub(super) coupled: CoupledWorkspace<T>,
    /// Contacts found last.
    pub contacts: ContactSet<T>,
    /// What the contact model keeps.
    pub resolve: ContactSolverWorkspace<T>,
    /// Whether contacts act from distance in the evaluation at hand.
    #[workspace(plain)]
    pub(super) acts_from_distance: bool,
    /// Which contacts and limits are held to act, or not to.
    pub(super) held: HeldSides<T>,
}

impl<T: Real> ArticulatedWorkspace<T> {
    /// Memory for a robot.
    pub(super) fn new(robot: &Articulated) -> Self {
        let zeros = || vec![T::zero(); robot.model.nv];
        let feels = !robot.pairs.is_empty() || robot.is_immersed();
        let pushed = if robot.pushed.is_empty() && !feels { 0 } else { robot.tree.bodies() };
        let constrained = robot.solver.constrains();
        let spans = !robot.tendons.spans.is_empty();
        let touching = if !feels && !constrained && !spans { 0 } else { robot.tree.bodies() };
        let if_constrained = |n: usize| if constrained { n } else { 0 };
        let bodies = if robot.solver.holds_motions() { robot.tree.bodies() } else { 0 };
        let sweeps = robot.solver.sweeps();
        let if_swept = |n: usize| if sweeps { n } else { 0 };
        let own_axes = if sweeps || spans { robot.model.nv } else { 0 };
        let compensated = if robot.index.compensation.is_empty() { 0 } else { robot.tree.bodies() };
        let axes = if robot.index.kinematics.is_some() { robot.model.nv } else { 0 };
        let contacts = ContactSet::new(&robot.model, &robot.pairs, robot.many);
        ArticulatedWorkspace {
            kinematics: Kinematics::new(&robot.tree),
            sweep: Sweep::new(&robot.tree),
            mass: MassMatrix::new(&robot.tree),
            bias: zeros(),
            passive: zeros(),
            actuation: zeros(),
            acceleration: zeros(),
            constrained: zeros(),
            smooth: zeros(),
            tendons: TendonState::new(&robot.tendons, &robot.tree),
            actuators: ActuatorState::new(robot),
            lambda: zeros(),
            mu: zeros(),
            change: zeros(),
            scratch: zeros(),
            carried: vec![Force::zero(); robot.tree.bodies()],
            implicit: ImplicitMatrix::new(&robot.tree, robot.implicit_matrix().map(|i| i.terms)),
            fluid: robot.fluid_workspace(),
            tau_bar: zeros(),
            tangent_bar: zeros(),
            inertia_bars: vec![SpatialInertia::zero(); robot.tree.bodies()],
            pushes: vec![Push::default(); pushed],
            push_bars: vec![Push::default(); pushed],
            compensation: vec![T::zero(); compensated],
            compensation_bars: vec![T::zero(); compensated],
            velocity_bars: vec![Force::zero(); touching],
            wrenches: vec![Force::zero(); touching],
            virtual_bars: vec![Force::zero(); bodies],
            held_bars: vec![Force::zero(); bodies],
            body_acceleration_bars: vec![Force::zero(); bodies],
            q_bar: vec![T::zero(); if_constrained(robot.model.nq)],
            v_bar: vec![T::zero(); if_constrained(robot.model.nv)],
            mass_bars: vec![T::zero(); if_swept(robot.tree.packed)],
            constraint_axis_bars: vec![Force::zero(); own_axes],
            axis_bars: vec![Force::zero(); axes],
            coupled: robot.coupling.as_ref().map_or_else(CoupledWorkspace::default, |c| c.workspace()),
            resolve: robot.solver.workspace(&robot.tree, contacts.capacity()),
            contacts,
            acts_from_distance: false,
            held: HeldSides::new(&robot.guards),
        }
    }

    /// Memory for cotangents of the bodies' motion, where the robot itself needs none.
    pub(super) fn make_room_for_bars(&mut self, bodies: usize) {
        self.velocity_bars.resize(bodies, Force::zero());
        self.wrenches.resize(bodies, Force::zero());
    }

    /// Adds cotangents of the bodies' velocities and wrenches on their displacements, between
    /// `Articulated::multipliers` and `Articulated::full_pullback`.
    pub(super) fn add_motion_bars(&mut self, velocities: &[Force<T>], wrenches: &[Force<T>]) {
        self.velocity_bars.iter_mut().zip(velocities).for_each(|(own, bar)| *own += *bar);
        self.wrenches.iter_mut().zip(wrenches).for_each(|(own, bar)| *own += *bar);
    }
}
