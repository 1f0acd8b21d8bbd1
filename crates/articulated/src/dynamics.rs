//! Accelerations of a robot, v̇ = M(q)⁻¹ (τ(q, v, u) − bias(q, v)), constrained by its contact model, and their
//! pullback.
//!
//! The pullback needs neither Jacobians nor a tape. With λ = M⁻¹ v̇_bar, by the factorization at hand: τ̄ =
//! λ, and (q̄, v̄, θ̄, f̄) come from the pullback of inverse dynamics with cotangent −λ. A model of constraints
//! replaces M by its Hessian. An implicit step multiplies the acceleration a by (M − h Q)⁻¹ M; with μ = (M −
//! h Q)⁻ᵀ v̇_bar, ā = M μ, and the two mass matrices add μ·dM (a − v̇).

use pullback_core::{Bars, Point, Workspace};
use pullback_math::{Flat, Force, Quat, Real, SpatialInertia, Vec3};

use super::contact::{
    ConstraintBars, ContactSet, ContactSolverWorkspace, GeomView, MotionBars, Resolve, Smooth,
};
use super::coupling::CoupledWorkspace;
use super::field::Articulated;
use super::guards::{HeldSides, SLACK};
use super::implicit::{Implicit, ImplicitInputs, ImplicitMatrix};
use super::joint_forces::{actuator_forces, actuator_forces_vjp, passive_forces, passive_forces_vjp};
use super::kinematic_params::{KinematicInputs, turn_to_quat};
use super::kinematics::Kinematics;
use super::mass_matrix::MassMatrix;
use super::params::JointParams;
use super::rnea::{
    HeldMotions, InverseDynamicsBars, Push, Sweep, SweepInputs, body_velocities, body_velocities_vjp,
    inverse_dynamics, inverse_dynamics_vjp,
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
    pub(super) lambda: Vec<T>,
    /// (M − h Q)⁻ᵀ v̇_bar, and what M and M − h Q see of the two accelerations; empty without implicit terms.
    mu: Vec<T>,
    change: Vec<T>,
    scratch: Vec<T>,
    /// Wrench that each body and everything beyond it exert on a small motion of them.
    carried: Vec<Force<T>>,
    implicit: ImplicitMatrix<T>,
    tau_bar: Vec<T>,
    pub(super) tangent_bar: Vec<T>,
    inertia_bars: Vec<SpatialInertia<T>>,
    /// Empty unless bodies are pushed.
    pushes: Vec<Push<T>>,
    push_bars: Vec<Push<T>>,
    /// Part of each body's weight that is carried; empty if none is.
    compensation: Vec<T>,
    compensation_bars: Vec<T>,
    /// Empty unless geoms may touch.
    pub(super) velocity_bars: Vec<Force<T>>,
    pub(super) wrenches: Vec<Force<T>>,
    /// Empty unless a model of constraints acts: cotangents of the bodies' motion along λ and v̇, and of
    /// their accelerations; of coordinates and velocities.
    virtual_bars: Vec<Force<T>>,
    held_bars: Vec<Force<T>>,
    body_acceleration_bars: Vec<Force<T>>,
    q_bar: Vec<T>,
    v_bar: Vec<T>,
    /// Empty unless constraints act by impulses: cotangents of the mass matrix, packed, and of joint axes.
    mass_bars: Vec<T>,
    constraint_axis_bars: Vec<Force<T>>,
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
        let pushed = if robot.pushed.is_empty() && robot.pairs.is_empty() { 0 } else { robot.tree.bodies() };
        let constrained = robot.solver.constrains();
        let touching = if robot.pairs.is_empty() && !constrained { 0 } else { robot.tree.bodies() };
        let if_constrained = |n: usize| if constrained { n } else { 0 };
        let bodies = if robot.solver.holds_motions() { robot.tree.bodies() } else { 0 };
        let if_impulses = |n: usize| if robot.solver.acts_by_impulses() { n } else { 0 };
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
            lambda: zeros(),
            mu: zeros(),
            change: zeros(),
            scratch: zeros(),
            carried: vec![Force::zero(); robot.tree.bodies()],
            implicit: ImplicitMatrix::new(&robot.tree, robot.implicit_matrix().map(|i| i.terms)),
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
            mass_bars: vec![T::zero(); if_impulses(robot.tree.packed)],
            constraint_axis_bars: vec![Force::zero(); if_impulses(robot.model.nv)],
            axis_bars: vec![Force::zero(); axes],
            coupled: robot.coupling.as_ref().map_or_else(CoupledWorkspace::default, |c| c.workspace()),
            resolve: robot.solver.workspace(&robot.tree, contacts.capacity()),
            contacts,
            acts_from_distance: false,
            held: HeldSides::new(&robot.guards),
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
        let (q, v) = state.split_at(self.model.nq);
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
        if !self.pairs.is_empty() {
            body_velocities(&self.inputs(kinematics, params, v, &[]), sweep);
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
        actuator_forces(&self.model, &self.index, params, (q, v, control), actuation);
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
        if let Some(step) = &self.implicit_matrix() {
            let inputs = ImplicitInputs { robot: self, params, q, v, control, kinematics, sweep, mass };
            implicit.update(step, &inputs);
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
            &self.smooth_motion(geoms, (q, v), sweep, mass, held),
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

    /// Controls of the actuators, poses that are inputs, and pushes on bodies.
    fn split_control<'a, T>(&self, control: &'a [T]) -> (&'a [T], &'a [T], &'a [T]) {
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

    /// What a model of constraints sees.
    fn smooth_motion<'a, T: Real>(
        &'a self,
        geoms: &'a GeomView<'a, T>,
        (q, v): (&'a [T], &'a [T]),
        sweep: &'a Sweep<T>,
        mass: &'a MassMatrix<T>,
        held: &'a HeldSides<T>,
    ) -> Smooth<'a, T> {
        let (velocities, bias_accelerations) = (&sweep.velocities, &sweep.accelerations);
        let held = held.get(&self.guards);
        Smooth { geoms, tree: &self.tree, q, v, velocities, bias_accelerations, mass, dt: self.dt, held }
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
    fn diagonal_damping(&self) -> Option<f64> {
        self.implicit.filter(|_| self.implicit_matrix().is_none()).map(|i| i.dt)
    }

    /// What steps treat implicitly by a matrix M − h Q of its own. Where joints follow others or constraints
    /// act by impulses, damping stands on the diagonal of M instead.
    fn implicit_matrix(&self) -> Option<Implicit> {
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

    fn read_compensation<T: Real>(&self, params: &[T], compensation: &mut [T]) {
        for (body, part) in &self.index.compensation {
            compensation[*body] = part.read(params)[0];
        }
    }

    /// The geoms at a configuration.
    pub fn geoms<'a, T: Real>(&'a self, kinematics: &'a Kinematics<T>, params: &'a [T]) -> GeomView<'a, T> {
        GeomView { model: &self.model, index: &self.index, params, kinematics, distant: None, slack: 0.0 }
    }

    /// The geoms at a configuration, whose contacts may act from distance.
    fn acting_geoms<'a, T: Real>(
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
        let (params, (q, v)) = (at.params, at.state.split_at(self.coordinates().nq));
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            mass,
            lambda,
            mu,
            implicit,
            contacts,
            resolve,
            coupled,
            velocity_bars,
            wrenches,
            virtual_bars,
            held_bars,
            body_acceleration_bars,
            q_bar,
            v_bar,
            mass_bars,
            constraint_axis_bars,
            acts_from_distance,
            held,
            ..
        } = ws;
        contacts.clear_bars();
        for bars in [&mut *velocity_bars, wrenches, virtual_bars, held_bars, body_acceleration_bars] {
            bars.fill(Force::zero());
        }
        constraint_axis_bars.fill(Force::zero());
        for bars in [&mut *q_bar, v_bar, mass_bars] {
            bars.fill(T::zero());
        }
        if let Some(coupling) = &self.coupling {
            return coupling.multipliers(coupled, acceleration_bar, lambda);
        }
        lambda.copy_from_slice(acceleration_bar);
        if self.implicit_matrix().is_some() {
            implicit.solve_transposed(&self.tree, lambda);
            if !self.solver.constrains() {
                return;
            }
            mu.copy_from_slice(lambda);
            mass.multiply(&self.tree, mu, lambda);
        }
        let geoms = &self.acting_geoms(kinematics, params, (*acts_from_distance, held));
        let mut bars = ConstraintBars {
            q: q_bar,
            v: v_bar,
            velocities: velocity_bars,
            wrenches,
            params: params_bar,
            virtuals: virtual_bars,
            accelerations: held_bars,
            body_accelerations: body_acceleration_bars,
            mass: mass_bars,
            axes: constraint_axis_bars,
        };
        let smooth = self.smooth_motion(geoms, (q, v), sweep, mass, held);
        self.solver.constrain_vjp(resolve, &smooth, contacts, lambda, &mut bars);
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
        for (bar, own) in q_bar.iter_mut().zip(&ws.q_bar).chain(v_bar.iter_mut().zip(&ws.v_bar)) {
            *bar += *own;
        }

        // M v̇ + bias = τ:  armature (and implicit damping) on the diagonal
        for (j, joint) in self.model.joints.iter().enumerate() {
            let mut bar = JointParams::default();
            for k in joint.v..joint.v + joint.kind.velocities() {
                bar.armature -= ws.lambda[k] * ws.constrained[k];
                if !ws.mass_bars.is_empty() {
                    bar.armature += ws.mass_bars[self.tree.row[k]];
                }
            }
            if let Some(h) = self.diagonal_damping() {
                bar.damping = bar.armature * T::lit(h);
            }
            self.index.joints[j].params.add(bar, params_bar);
        }

        // τ̄ = λ
        let (control, mocap, _) = self.split_control(control);
        let (control_bar, rest) = control_bar.split_at_mut(control.len());
        let (mocap_bar, pushing_bar) = rest.split_at_mut(mocap.len());
        let bars = (&mut *q_bar, &mut *v_bar);
        passive_forces_vjp(&self.model, &self.index, params, (q, v), &ws.lambda, bars, params_bar);
        ws.tau_bar.copy_from_slice(&ws.lambda);
        let bars = (&mut *q_bar, &mut *v_bar, control_bar);
        let forces = (&ws.actuation[..], &mut ws.tau_bar[..]);
        actuator_forces_vjp(&self.model, &self.index, params, (q, v, control), forces, bars, params_bar);

        // (q̄, v̄, θ̄) by the pullback of RNEA with cotangent −λ
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            constrained: acceleration,
            acceleration: implicit_acceleration,
            lambda,
            mu,
            change,
            scratch,
            carried,
            tau_bar,
            tangent_bar,
            inertia_bars,
            bias,
            pushes,
            push_bars,
            compensation,
            compensation_bars,
            velocity_bars,
            wrenches,
            virtual_bars,
            held_bars,
            body_acceleration_bars,
            mass,
            mass_bars,
            constraint_axis_bars,
            axis_bars,
            contacts,
            acts_from_distance,
            held: held_sides,
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
        compensation_bars.fill(T::zero());
        if !mass_bars.is_empty() {
            mass.update_vjp(&self.tree, kinematics, mass_bars, constraint_axis_bars, inertia_bars);
            self.inertias_vjp(kinematics, params, inertia_bars, wrenches);
        }
        let at = SweepInputs { compensation, ..self.inputs(kinematics, params, v, pushes) };
        inverse_dynamics(&at, Some(acceleration), sweep, bias);
        let mut bars = InverseDynamicsBars {
            tangent: tangent_bar,
            v: v_bar,
            gravity: &mut gravity_bar,
            inertias: inertia_bars,
            external: push_bars,
            axes: axis_bars,
            accelerations: body_acceleration_bars,
            compensation: compensation_bars,
        };
        inverse_dynamics_vjp(&at, acceleration, tau_bar, sweep, &mut bars);
        for (body, part) in &self.index.compensation {
            part.add([compensation_bars[*body]], params_bar);
        }
        for (i, body) in self.pushed.iter().enumerate() {
            push_bars[*body].add_to(&mut pushing_bar[6 * i..]);
        }
        if !self.pairs.is_empty() {
            let geoms = self.acting_geoms(kinematics, params, (*acts_from_distance, held_sides));
            let mut bars = MotionBars { velocities: velocity_bars, wrenches, params: params_bar };
            self.solver.push_vjp(&geoms, contacts, &sweep.velocities, push_bars, &mut bars);
            contacts.find_vjp(&geoms, wrenches, params_bar);
        }
        if !wrenches.is_empty() {
            let mut held = HeldMotions { axis_bars: constraint_axis_bars, ..HeldMotions::none() };
            if self.solver.holds_motions() {
                held.motions = [(lambda, virtual_bars), (acceleration, held_bars)];
            }
            body_velocities_vjp(&at, velocity_bars, held, wrenches, tangent_bar, v_bar, axis_bars);
        }
        self.index.gravity.add(gravity_bar, params_bar);
        carried.iter_mut().enumerate().for_each(|(b, wrench)| *wrench = sweep.wrench(b));
        if let Some(step) = self.implicit_matrix() {
            let mu = if self.solver.constrains() { &*mu } else { &*lambda };
            self.implicit_terms_vjp(&step, params, (q, v, control), (mu, implicit_acceleration), params_bar);
            let mut sweep_again =
                |v: &[T], acceleration: &[T], cotangent: T, chosen: &dyn Fn(usize) -> bool| {
                    for (k, (bar, mu)) in tau_bar.iter_mut().zip(mu.iter()).enumerate() {
                        *bar = if chosen(k) { cotangent * *mu } else { T::zero() };
                    }
                    let gravity = Vec3::zero();
                    let at = SweepInputs {
                        tree: &self.tree,
                        kinematics,
                        v,
                        gravity,
                        external: &[],
                        compensation: &[],
                    };
                    inverse_dynamics(&at, Some(acceleration), sweep, bias);
                    let mut bars = InverseDynamicsBars {
                        tangent: tangent_bar,
                        v: v_bar,
                        gravity: &mut Vec3::zero(),
                        inertias: inertia_bars,
                        external: &mut [],
                        axes: axis_bars,
                        accelerations: &[],
                        compensation: &mut [],
                    };
                    inverse_dynamics_vjp(&at, acceleration, tau_bar, sweep, &mut bars);
                    carried.iter_mut().enumerate().for_each(|(b, wrench)| *wrench += sweep.wrench(b));
                };
            if self.solver.constrains() {
                // μ·dM (a − v̇)
                for (k, change) in change.iter_mut().enumerate() {
                    *change = acceleration[k] - implicit_acceleration[k];
                }
                scratch.fill(T::zero());
                sweep_again(scratch, change, T::one(), &|_| true);
                for (j, joint) in self.model.joints.iter().enumerate() {
                    let mut bar = JointParams::default();
                    for k in joint.v..joint.v + joint.kind.velocities() {
                        bar.armature += mu[k] * change[k];
                    }
                    self.index.joints[j].params.add(bar, params_bar);
                }
            }
            let chosen = |k: usize| self.coriolis_is_implicit(step.terms, k);
            if (0..v.len()).any(chosen) {
                // −h μ·(∂bias/∂v) v̇ = −(h/2) μ·(bias(v + v̇) − bias(v − v̇))
                change.fill(T::zero());
                for sign in [1.0, -1.0] {
                    for (k, moved) in scratch.iter_mut().enumerate() {
                        let by = if chosen(k) { implicit_acceleration[k] } else { T::zero() };
                        *moved = v[k] + T::lit(sign) * by;
                    }
                    sweep_again(scratch, change, T::lit(-0.5 * step.dt * sign), &chosen);
                }
            }
        }
        self.all_coordinates.add_tangent(q, tangent_bar, q_bar);
        let touch = |b: usize| wrenches.get(b).copied().unwrap_or(Force::zero());
        let wrench = |b: usize| carried[b] + touch(b);
        self.mocap_vjp(kinematics, mocap, wrench, mocap_bar);
        self.kinematic_params_vjp(kinematics, params, q, axis_bars, wrench, params_bar);
        self.body_params_vjp(kinematics, params, inertia_bars, params_bar);
    }

    /// Cotangents of how bodies and joints stand, where these are parameters: from those of the axes and the
    /// wrench beyond each body.
    pub(super) fn kinematic_params_vjp<T: Real>(
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
}
