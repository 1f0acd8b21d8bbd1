//! Accelerations of a robot, v̇ = M(q)⁻¹ (τ(q, v, u) − bias(q, v)), constrained by its contact model.

use pullback_core::Point;
use pullback_math::{Flat, Force, Motion, Quat, Real};

use super::actuator::{ActuatorInputs, actuate};
use super::contact::{ContactSolver, ContactSolverWorkspace, GeomView, Resolve, Smooth, TendonView};
use super::field::Articulated;
use super::guards::{HeldSides, SLACK};
use super::implicit::{Implicit, ImplicitInputs};
use super::joint_forces::passive_forces;
use super::kinematic_params::turn_to_quat;
use super::kinematics::Kinematics;
use super::mass_matrix::MassMatrix;
use super::rnea::{Push, Sweep, SweepInputs, body_velocities, inverse_dynamics};
use super::tendon::{TendonInputs, TendonState};
use super::workspace::ArticulatedWorkspace;

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
        kinematics.update(&self.model, &self.tree, &self.index, params, (&q[..self.model.nq], &[]));
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
        let (q, v, activation) = self.split_state(state);
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            mass,
            bias,
            passive,
            actuation,
            acceleration,
            constrained,
            smooth,
            tendons,
            actuators,
            implicit,
            pushes,
            compensation,
            coupled,
            contacts,
            resolve,
            acts_from_distance,
            held,
            ..
        } = ws;
        let (control, mocap, pushing) = self.split_control(control);
        kinematics.update(&self.model, &self.tree, &self.index, params, (q, mocap));

        // bias = RNEA(q, v, 0), pushes from outside included
        pushes.fill(Push::default());
        for (i, body) in self.pushed.iter().enumerate() {
            pushes[*body] = Push::read(&pushing[6 * i..]);
        }
        if !self.pairs.is_empty() || self.is_immersed() {
            body_velocities(&self.inputs(kinematics, params, v, &[]), sweep);
            self.fluid_push(kinematics, params, &sweep.velocities, pushes);
        }
        if !self.pairs.is_empty() {
            let geoms = self.acting_geoms(kinematics, params, (*acts_from_distance, held));
            contacts.find(&geoms, &self.pairs);
            self.solver.push(&geoms, contacts, &sweep.velocities, pushes);
        }
        self.read_compensation(params, compensation);
        let at = SweepInputs { compensation, ..self.inputs(kinematics, params, v, pushes) };
        inverse_dynamics(&at, None, sweep, bias);

        // M = CRBA(q) + armature
        mass.update(&self.tree, kinematics);
        self.for_each_diagonal(params, |k, armature| mass.add_diagonal(&self.tree, k, armature));

        // v̇ = M⁻¹ (τ − bias)
        passive.fill(T::zero());
        passive_forces(&self.model, &self.index, params, (q, v), passive);
        let motion = (&*kinematics, &sweep.velocities[..]);
        let acting = self.actuator_inputs(params, (q, v, activation), control, motion);
        self.tendons.update(&acting.tendons, tendons);
        self.adhere(&self.geoms(kinematics, params), contacts, tendons);
        self.tendons.update_velocities(&acting.tendons, tendons);
        if self.tendons.has_armature() {
            // M += a JᵀJ,  bias += a J (J̇ v)
            self.tendons.add_inertia(&acting.tendons, tendons, mass);
            self.tendons.add_bias(&acting.tendons, tendons, &sweep.accelerations, bias);
        }
        self.tendons.passive_forces(&acting.tendons, tendons, passive);
        actuate(&acting, actuators, tendons, actuation);
        for (k, a) in smooth.iter_mut().enumerate() {
            *a = passive[k] + actuation[k] - bias[k];
        }
        if let Some(coupling) = &self.coupling {
            coupling.factorize(&self.tree, params, mass, coupled);
            coupling.solve(coupled, smooth);
            constrained.copy_from_slice(smooth);
            acceleration.copy_from_slice(smooth);
            return;
        }
        if let Some(step) = self.implicit_matrix().as_ref() {
            let mut inputs = ImplicitInputs { acting: &acting, sweep, mass, actuators, tendons };
            implicit.update(step, &mut inputs);
        }
        if !self.solver.constrains() {
            if self.implicit_matrix().is_some() {
                implicit.solve(&self.tree, smooth);
            } else {
                mass.factorize(&self.tree);
                mass.solve(&self.tree, smooth);
            }
            constrained.copy_from_slice(smooth);
            acceleration.copy_from_slice(smooth);
            return;
        }

        // Constraints act on the smooth acceleration.
        mass.factorize(&self.tree);
        mass.solve(&self.tree, smooth);
        constrained.copy_from_slice(smooth);
        let geoms = &self.acting_geoms(kinematics, params, (*acts_from_distance, held));
        self.solver.constrain(
            resolve,
            &self.smooth_motion(geoms, (&acting.tendons, tendons), sweep, mass, held),
            contacts,
            constrained,
        );
        if self.implicit_matrix().is_some() {
            // v̇ = (M − h Q)⁻¹ M a
            mass.multiply(&self.tree, constrained, acceleration);
            implicit.solve(&self.tree, acceleration);
        } else {
            acceleration.copy_from_slice(constrained);
        }
    }

    /// Coordinates, velocities and activations.
    pub(super) fn split_state<'a, T>(&self, state: &'a [T]) -> (&'a [T], &'a [T], &'a [T]) {
        let (q, rest) = state.split_at(self.model.nq);
        let (v, activation) = rest.split_at(self.model.nv);
        (q, v, activation)
    }

    /// Where actuators and tendons are evaluated: poses and velocities of the bodies are `motion`.
    pub(super) fn actuator_inputs<'a, T: Real>(
        &'a self,
        params: &'a [T],
        (q, v, activation): (&'a [T], &'a [T], &'a [T]),
        control: &'a [T],
        (kinematics, velocities): (&'a Kinematics<T>, &'a [Motion<T>]),
    ) -> ActuatorInputs<'a, T> {
        let tendons = self.tendon_inputs(params, (q, v), (kinematics, velocities));
        ActuatorInputs { robot: self, tendons, activation, control }
    }

    /// Where tendons are evaluated.
    pub(super) fn tendon_inputs<'a, T: Real>(
        &'a self,
        params: &'a [T],
        (q, v): (&'a [T], &'a [T]),
        (kinematics, velocities): (&'a Kinematics<T>, &'a [Motion<T>]),
    ) -> TendonInputs<'a, T> {
        let (model, tree, index) = (&self.model, &self.tree, &self.index);
        TendonInputs { model, tree, index, params, kinematics, q, v, velocities }
    }

    /// Controls of the actuators, poses that are inputs, and pushes on bodies.
    pub(super) fn split_control<'a, T>(&self, control: &'a [T]) -> (&'a [T], &'a [T], &'a [T]) {
        let (actuators, rest) = control.split_at(self.model.actuators.len());
        let (mocap, pushing) = rest.split_at(7 * self.tree.mocap.iter().flatten().count());
        (actuators, mocap, pushing)
    }

    /// Where the poses of mocap bodies lie in the control.
    pub(super) fn mocap_range(&self) -> std::ops::Range<usize> {
        let first = self.model.actuators.len();
        first..first + 7 * self.tree.mocap.iter().flatten().count()
    }

    /// Cotangents of the poses of mocap bodies from the wrench on each.
    pub(super) fn mocap_vjp<T: Real>(
        &self,
        kinematics: &Kinematics<T>,
        mocap: &[T],
        wrench: impl Fn(usize) -> Force<T>,
        mocap_bar: &mut [T],
    ) {
        for (b, number) in self.tree.mocap.iter().enumerate() {
            let Some(first) = number.map(|n| 7 * n) else { continue };
            let Force { moment, force } = wrench(b);
            let arm = kinematics.arm(b);
            force.add_to(&mut mocap_bar[first..]);
            let turn = turn_to_quat(moment - arm.cross(force), Quat::read(&mocap[first + 3..]));
            turn.add_to(&mut mocap_bar[first + 3..]);
        }
    }

    /// Adds the forces that contacts and held frames of the last evaluation exert on each body, about the point
    /// of its tree; nothing but under the convex model.
    pub(super) fn external_forces<T: Real>(
        &self,
        ws: &ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        forces: &mut [Force<T>],
    ) {
        let (ContactSolver::Convex(model), ContactSolverWorkspace::Convex(convex)) =
            (&self.solver, &ws.resolve)
        else {
            return;
        };
        let (kinematics, sweep) = (&ws.kinematics, &ws.sweep);
        let geoms = &self.geoms(kinematics, at.params);
        let motion = (kinematics, &sweep.velocities[..]);
        let state = self.split_state(at.state);
        let acting = self.actuator_inputs(at.params, state, self.split_control(at.control).0, motion);
        let smooth = self.smooth_motion(geoms, (&acting.tendons, &ws.tendons), sweep, &ws.mass, &ws.held);
        model.external_forces(convex, &smooth, &ws.contacts, forces);
    }

    /// What a model of constraints sees.
    pub(super) fn smooth_motion<'a, T: Real>(
        &'a self,
        geoms: &'a GeomView<'a, T>,
        (inputs, tendons): (&'a TendonInputs<'a, T>, &'a TendonState<T>),
        sweep: &'a Sweep<T>,
        mass: &'a MassMatrix<T>,
        held: &'a HeldSides<T>,
    ) -> Smooth<'a, T> {
        let (velocities, bias_accelerations) = (&sweep.velocities, &sweep.accelerations);
        Smooth {
            geoms,
            tree: &self.tree,
            q: inputs.q,
            v: inputs.v,
            velocities,
            bias_accelerations,
            mass,
            dt: self.dt,
            held: held.get(&self.guards),
            tendons: TendonView {
                set: &self.tendons,
                inputs,
                length: &tendons.length,
                spans: &tendons.spans,
            },
        }
    }

    /// Visits the degrees of freedom with what joints add to the diagonal of the mass matrix: armature, and
    /// dt·damping where it stands there.
    #[inline(always)]
    fn for_each_diagonal<T: Real>(&self, params: &[T], mut visit: impl FnMut(usize, T)) {
        for (j, joint) in self.model.joints.iter().enumerate() {
            let extra = self.diagonal(params, j);
            (joint.v..joint.v + joint.kind.velocities()).for_each(|k| visit(k, extra));
        }
    }

    /// What a joint adds to the diagonal of the mass matrix.
    #[inline(always)]
    pub(super) fn diagonal<T: Real>(&self, params: &[T], joint: usize) -> T {
        let p = self.index.joints[joint].params.read(params);
        self.diagonal_damping().map_or(p.armature, |h| p.armature + p.damping * T::lit(h))
    }

    /// The time step, where damping stands on the diagonal of the mass matrix.
    pub(super) fn diagonal_damping(&self) -> Option<f64> {
        self.implicit.filter(|_| self.implicit_matrix().is_none()).map(|i| i.dt)
    }

    /// What steps treat implicitly by a matrix M − h Q of its own. Where joints follow others or constraints
    /// act by impulses, damping stands on the diagonal of M instead.
    pub(super) fn implicit_matrix(&self) -> Option<Implicit> {
        self.implicit.filter(|_| self.coupling.is_none() && !self.solver.acts_by_impulses())
    }

    pub(super) fn inputs<'a, T: Real>(
        &'a self,
        kinematics: &'a Kinematics<T>,
        params: &[T],
        v: &'a [T],
        external: &'a [Push<T>],
    ) -> SweepInputs<'a, T> {
        let gravity = self.index.gravity.read(params);
        SweepInputs { tree: &self.tree, kinematics, v, gravity, external, compensation: &[] }
    }

    pub(super) fn read_compensation<T: Real>(&self, params: &[T], compensation: &mut [T]) {
        for (body, part) in &self.index.compensation {
            compensation[*body] = part.read(params)[0];
        }
    }

    /// The geoms at a configuration.
    pub fn geoms<'a, T: Real>(&'a self, kinematics: &'a Kinematics<T>, params: &'a [T]) -> GeomView<'a, T> {
        GeomView { model: &self.model, index: &self.index, params, kinematics, distant: None, slack: 0.0 }
    }

    /// The geoms at a configuration, whose contacts may act from distance.
    pub(super) fn acting_geoms<'a, T: Real>(
        &'a self,
        kinematics: &'a Kinematics<T>,
        params: &'a [T],
        (from_distance, held): (bool, &HeldSides<T>),
    ) -> GeomView<'a, T> {
        let distant = self.from_distance.as_ref().filter(|_| from_distance);
        let slack = if held.get(&self.guards).is_some() { SLACK } else { 0.0 };
        GeomView { distant, slack, ..self.geoms(kinematics, params) }
    }

    /// Finds the contacts at the poses last computed and leaves them in the workspace.
    pub fn find_contacts<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, params: &[T]) {
        let geoms = self.geoms(&ws.kinematics, params);
        ws.contacts.find(&geoms, &self.pairs);
    }
}
