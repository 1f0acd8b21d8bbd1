//! Accelerations of a robot, v̇ = M(q)⁻¹ (τ(q, v, u) − bias(q, v)), and their pullback.
//!
//! The pullback needs neither Jacobians nor a tape. With λ = M⁻¹ v̇_bar, by the factorization at hand: τ̄ =
//! λ, and (q̄, v̄, θ̄, f̄) come from the pullback of inverse dynamics with cotangent −λ.

use pullback_core::{Bars, Point, Workspace};
use pullback_math::{Flat, Force, Real, SpatialInertia, Transform, Vec3};

use super::contact::{ContactSet, GeomView, MotionBars, Penalty, PenaltyWorkspace, Resolve, Smooth};
use super::coupling::CoupledWorkspace;
use super::field::Articulated;
use super::joint_forces::{joint_forces, joint_forces_vjp};
use super::kinematic_params::KinematicInputs;
use super::kinematics::Kinematics;
use super::mass_matrix::MassMatrix;
use super::params::JointParams;
use super::rnea::{
    InverseDynamicsBars, Push, Sweep, SweepInputs, body_velocities, body_velocities_vjp, inverse_dynamics,
    inverse_dynamics_vjp,
};

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
    /// Forces of joints and actuators.
    pub tau: Vec<T>,
    /// v̇.
    pub acceleration: Vec<T>,
    pub(super) lambda: Vec<T>,
    tau_bar: Vec<T>,
    tangent_bar: Vec<T>,
    inertia_bars: Vec<SpatialInertia<T>>,
    /// Empty unless bodies are pushed.
    pushes: Vec<Push<T>>,
    push_bars: Vec<Push<T>>,
    /// Empty unless geoms may touch.
    velocity_bars: Vec<Force<T>>,
    wrenches: Vec<Force<T>>,
    /// Cotangents of joint axes; empty unless kinematic parameters were asked for.
    axis_bars: Vec<Force<T>>,
    pub(super) coupled: CoupledWorkspace<T>,
    /// Contacts found last.
    pub contacts: ContactSet<T>,
    /// What the contact model keeps.
    resolve: PenaltyWorkspace,
}

impl<T: Real> ArticulatedWorkspace<T> {
    /// Memory for a robot.
    pub(super) fn new(robot: &Articulated) -> Self {
        let zeros = || vec![T::zero(); robot.model.nv];
        let pushed = if robot.pushed.is_empty() && robot.pairs.is_empty() { 0 } else { robot.tree.bodies() };
        let touching = if robot.pairs.is_empty() { 0 } else { robot.tree.bodies() };
        let axes = if robot.index.kinematics.is_some() { robot.model.nv } else { 0 };
        let contacts = ContactSet::new(&robot.model, &robot.pairs, robot.many);
        ArticulatedWorkspace {
            kinematics: Kinematics::new(&robot.tree),
            sweep: Sweep::new(&robot.tree),
            mass: MassMatrix::new(&robot.tree),
            bias: zeros(),
            tau: zeros(),
            acceleration: zeros(),
            lambda: zeros(),
            tau_bar: zeros(),
            tangent_bar: zeros(),
            inertia_bars: vec![SpatialInertia::zero(); robot.tree.bodies()],
            pushes: vec![Push::default(); pushed],
            push_bars: vec![Push::default(); pushed],
            velocity_bars: vec![Force::zero(); touching],
            wrenches: vec![Force::zero(); touching],
            axis_bars: vec![Force::zero(); axes],
            coupled: robot.coupling.as_ref().map_or_else(CoupledWorkspace::default, |c| c.workspace()),
            resolve: Resolve::<T>::workspace(&Penalty, &robot.tree, contacts.capacity()),
            contacts,
        }
    }
}

impl Articulated {
    /// Poses, axes and inertias at a state.
    pub fn update_kinematics<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, params: &[T], state: &[T]) {
        let ArticulatedWorkspace { kinematics, coupled, .. } = ws;
        let q = match &self.coupling {
            None => state,
            Some(coupling) => {
                coupling.expand_state(params, state, &mut coupled.state);
                &coupled.state
            }
        };
        kinematics.update(&self.model, &self.tree, &self.index, params, &q[..self.model.nq]);
    }

    /// The mass matrix last computed, row by row.
    pub fn mass_matrix<T: Real>(&self, ws: &ArticulatedWorkspace<T>, params: &[T]) -> Vec<T> {
        match &self.coupling {
            None => ws.mass.dense(&self.tree),
            Some(coupling) => coupling.mass_matrix(&self.tree, params, &ws.mass),
        }
    }

    /// A generalized force on the velocities of the state, from one on those of all joints.
    pub fn generalized_force<T: Real>(&self, params: &[T], full: &[T]) -> Vec<T> {
        match &self.coupling {
            None => full.to_vec(),
            Some(coupling) => coupling.reduce(params, full),
        }
    }

    /// Accelerations at a state, leaving everything computed on the way in the workspace; what it holds per
    /// coordinate or velocity is of all joints, those that follow others included.
    pub fn accelerations<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, at: Point<'_, T>) {
        let Some(coupling) = &self.coupling else {
            return self.full_accelerations(ws, at);
        };
        let mut full = std::mem::take(&mut ws.coupled.state);
        coupling.expand_state(at.params, at.state, &mut full);
        self.full_accelerations(ws, at.with_state(&full));
        ws.coupled.state = full;
    }

    /// Accelerations at a state of all joints.
    fn full_accelerations<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, at: Point<'_, T>) {
        let Point { params, state, control } = at;
        let (q, v) = state.split_at(self.model.nq);
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            mass,
            bias,
            tau,
            acceleration,
            pushes,
            coupled,
            contacts,
            resolve,
            ..
        } = ws;
        kinematics.update(&self.model, &self.tree, &self.index, params, q);

        // bias = RNEA(q, v, 0), pushes from outside included
        let (control, pushing) = control.split_at(self.model.actuators.len());
        pushes.fill(Push::default());
        for (i, body) in self.pushed.iter().enumerate() {
            pushes[*body] = Push::read(&pushing[6 * i..]);
        }
        if !self.pairs.is_empty() {
            body_velocities(&self.inputs(kinematics, params, v, &[]), sweep);
            let geoms = self.geoms(kinematics, params);
            contacts.find(&geoms, &self.pairs);
            Penalty.push(&geoms, contacts, &sweep.velocities, pushes);
        }
        let at = self.inputs(kinematics, params, v, pushes);
        inverse_dynamics(&at, None, sweep, bias);

        // M = CRBA(q) + armature
        mass.update(&self.tree, kinematics);
        for (j, joint) in self.model.joints.iter().enumerate() {
            let extra = self.diagonal(params, j);
            for k in joint.v..joint.v + joint.kind.velocities() {
                mass.add_diagonal(&self.tree, k, extra);
            }
        }

        // v̇ = M⁻¹ (τ − bias)
        tau.fill(T::zero());
        joint_forces(&self.model, &self.index, params, (q, v, control), tau);
        for ((a, tau), bias) in acceleration.iter_mut().zip(tau.iter()).zip(bias.iter()) {
            *a = *tau - *bias;
        }
        match &self.coupling {
            None => {
                mass.factorize(&self.tree);
                mass.solve(&self.tree, acceleration);
                let (geoms, tree) = (&self.geoms(kinematics, params), &self.tree);
                let smooth = Smooth { geoms, tree, v, mass, dt: self.implicit_damping };
                Penalty.constrain(resolve, &smooth, contacts, acceleration);
            }
            Some(coupling) => {
                coupling.factorize(&self.tree, params, mass, coupled);
                coupling.solve(coupled, acceleration);
            }
        }
    }

    /// What a joint adds to the diagonal of the mass matrix: armature, and dt·damping where that is implicit.
    #[inline(always)]
    pub(super) fn diagonal<T: Real>(&self, params: &[T], joint: usize) -> T {
        let p = self.index.joints[joint].params.read(params);
        self.implicit_damping.map_or(p.armature, |h| p.armature + p.damping * T::lit(h))
    }

    fn inputs<'a, T: Real>(
        &'a self,
        kinematics: &'a Kinematics<T>,
        params: &[T],
        v: &'a [T],
        external: &'a [Push<T>],
    ) -> SweepInputs<'a, T> {
        let gravity = self.index.gravity.read(params);
        SweepInputs { tree: &self.tree, kinematics, v, gravity, external }
    }

    /// The geoms at a configuration.
    pub fn geoms<'a, T: Real>(&'a self, kinematics: &'a Kinematics<T>, params: &'a [T]) -> GeomView<'a, T> {
        GeomView { model: &self.model, index: &self.index, params, kinematics }
    }

    /// Finds the contacts at the poses last computed and leaves them in the workspace.
    pub fn find_contacts<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, params: &[T]) {
        let geoms = GeomView { model: &self.model, index: &self.index, params, kinematics: &ws.kinematics };
        ws.contacts.find(&geoms, &self.pairs);
    }

    /// λ, the cotangent of the smooth generalized force, from that of the acceleration: M⁻¹ v̇_bar, unless
    /// the contact model constrains the motion. *Adds* to the cotangents of parameters and contacts what the
    /// constraints give.
    pub(super) fn multipliers<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        acceleration_bar: &[T],
        params_bar: &mut [T],
    ) {
        let (params, v) = (at.params, &at.state[self.coordinates().nq..]);
        let ArticulatedWorkspace {
            kinematics,
            mass,
            lambda,
            contacts,
            resolve,
            coupled,
            velocity_bars,
            wrenches,
            ..
        } = ws;
        contacts.clear_bars();
        velocity_bars.fill(Force::zero());
        wrenches.fill(Force::zero());
        match &self.coupling {
            None => {
                lambda.copy_from_slice(acceleration_bar);
                let (geoms, tree) = (&self.geoms(kinematics, params), &self.tree);
                let smooth = Smooth { geoms, tree, v, mass, dt: self.implicit_damping };
                let mut bars = MotionBars { velocities: velocity_bars, wrenches, params: params_bar };
                Penalty.constrain_vjp(resolve, &smooth, contacts, lambda, &mut bars);
            }
            Some(coupling) => coupling.multipliers(coupled, acceleration_bar, lambda),
        }
    }

    /// The pullback of [`Articulated::full_accelerations`] with λ in the workspace: *adds* to all cotangents.
    pub(super) fn full_pullback<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        bars: Bars<'_, T>,
    ) {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (q, v) = state.split_at(self.model.nq);
        let (q_bar, v_bar) = state_bar.split_at_mut(self.model.nq);

        // M v̇ + bias = τ:  armature (and implicit damping) on the diagonal
        for (j, joint) in self.model.joints.iter().enumerate() {
            let mut bar = JointParams::default();
            for k in joint.v..joint.v + joint.kind.velocities() {
                bar.armature -= ws.lambda[k] * ws.acceleration[k];
            }
            if let Some(h) = self.implicit_damping {
                bar.damping = bar.armature * T::lit(h);
            }
            self.index.joints[j].params.add(bar, params_bar);
        }

        // τ̄ = λ
        let (control, _) = control.split_at(self.model.actuators.len());
        let (control_bar, pushing_bar) = control_bar.split_at_mut(self.model.actuators.len());
        let bars = (&mut *q_bar, &mut *v_bar, control_bar);
        joint_forces_vjp(&self.model, &self.index, params, (q, v, control), &ws.lambda, bars, params_bar);

        // (q̄, v̄, θ̄) by the pullback of RNEA with cotangent −λ
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            acceleration,
            lambda,
            tau_bar,
            tangent_bar,
            inertia_bars,
            bias,
            pushes,
            push_bars,
            velocity_bars,
            wrenches,
            axis_bars,
            contacts,
            ..
        } = ws;
        for (bar, λ) in tau_bar.iter_mut().zip(lambda.iter()) {
            *bar = -*λ;
        }
        tangent_bar.fill(T::zero());
        inertia_bars.fill(SpatialInertia::zero());
        let mut gravity_bar = Vec3::zero();
        push_bars.fill(Push::default());
        axis_bars.fill(Force::zero());
        let at = self.inputs(kinematics, params, v, pushes);
        inverse_dynamics(&at, Some(acceleration), sweep, bias);
        let mut bars = InverseDynamicsBars {
            tangent: tangent_bar,
            v: v_bar,
            gravity: &mut gravity_bar,
            inertias: inertia_bars,
            external: push_bars,
            axes: axis_bars,
        };
        inverse_dynamics_vjp(&at, acceleration, tau_bar, sweep, &mut bars);
        for (i, body) in self.pushed.iter().enumerate() {
            push_bars[*body].add_to(&mut pushing_bar[6 * i..]);
        }
        if !self.pairs.is_empty() {
            let geoms = self.geoms(kinematics, params);
            let mut bars = MotionBars { velocities: velocity_bars, wrenches, params: params_bar };
            Penalty.push_vjp(&geoms, contacts, &sweep.velocities, push_bars, &mut bars);
            contacts.find_vjp(&geoms, wrenches, params_bar);
            body_velocities_vjp(&at, velocity_bars, wrenches, tangent_bar, v_bar, axis_bars);
        }
        self.index.gravity.add(gravity_bar, params_bar);
        self.all_coordinates.add_tangent(q, tangent_bar, q_bar);
        let touch = |b: usize| wrenches.get(b).copied().unwrap_or(Force::zero());
        let wrench = |b: usize| sweep.wrench(b) + touch(b);
        self.kinematic_params_vjp(kinematics, params, q, axis_bars, wrench, params_bar);
        self.body_params_vjp(ws, params, params_bar);
    }

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
        body_velocities_vjp(&at, velocity_bars, wrenches, tangent_bar, v_bar, axis_bars);
        self.all_coordinates.add_tangent(q, tangent_bar, q_bar);
        self.kinematic_params_vjp(kinematics, params, q, axis_bars, |b| wrenches[b], params_bar);
    }

    /// Cotangents of how bodies and joints stand, where these are parameters: from those of the axes and the
    /// wrench beyond each body.
    fn kinematic_params_vjp<T: Real>(
        &self,
        kinematics: &Kinematics<T>,
        params: &[T],
        q: &[T],
        axis_bars: &[Force<T>],
        wrench: impl Fn(usize) -> Force<T>,
        params_bar: &mut [T],
    ) {
        let Some(slots) = &self.index.kinematics else { return };
        let (model, tree, index) = (&self.model, &self.tree, &self.index);
        let inputs = KinematicInputs { model, tree, index, params, kinematics, q, axis_bars };
        inputs.add_bars(slots, wrench, params_bar);
    }

    /// Cotangents of body parameters from those of the inertias in the world.
    fn body_params_vjp<T: Real>(&self, ws: &ArticulatedWorkspace<T>, params: &[T], params_bar: &mut [T]) {
        for b in 1..self.tree.bodies() {
            let block = self.index.body(b);
            let pose = ws.kinematics.world_from_body[b];
            let about_origin = Transform::new(pose.rotation, pose.translation - ws.kinematics.origins[b]);
            let body = block.read(params);
            let (_, in_body) = about_origin.inertia_vjp(body.spatial_inertia(), ws.inertia_bars[b]);
            block.add(body.spatial_inertia_vjp(in_body), params_bar);
        }
    }
}
