//! [`Articulated`]: a model as a vector field, v̇ = M(q)⁻¹ (τ(q, v, u) − bias(q, v)).
//!
//! The pullback needs neither Jacobians nor a tape. With λ = M⁻¹ v̇_bar, by the factorisation at hand: τ̄ = λ, and
//! (q̄, v̄, θ̄, f̄) come from the pullback of inverse dynamics with cotangent −λ.

use pullback_core::layout::{Layout, LayoutBuilder, Slice};
use pullback_core::{ConfigError, Described, FieldShape, VectorField, Workspace};
use pullback_math::{
    Flat, Force, Quat, Real, SpatialInertia, SymMat3, Transform, Vec3, rotation_vector_rate,
    rotation_vector_rate_vjp,
};

use super::contact::{MANY_PAIRS, Scene};
use super::joint_forces::{joint_forces, joint_forces_vjp};
use super::kinematics::{Kinematics, body_inertia};
use super::mass_matrix::MassMatrix;
use super::model::{JointKind, Model};
use super::rnea::{
    Inputs, InverseDynamicsBars, Push, Sweep, body_velocities, body_velocities_vjp, inverse_dynamics,
    inverse_dynamics_vjp,
};
use super::tree::{ParamIndex, Tree, layout};
use crate::collision::{BroadPhase, Contact, candidate_pairs};

/// A robot: state (q, v), control per actuator, parameters by name.
#[derive(Clone, Debug)]
pub struct Articulated {
    model: Model,
    tree: Tree,
    layout: Layout,
    index: ParamIndex,
    implicit_damping: Option<f64>,
    straight: bool,
    /// Bodies that controls push on.
    pushed: Vec<usize>,
    /// Pairs of geoms that may touch.
    pairs: Vec<(usize, usize)>,
    /// From how many pairs on they are culled by sort and sweep.
    many: usize,
}

impl Articulated {
    /// Makes a compiled model move.
    pub fn new(model: Model) -> Result<Self, ConfigError> {
        let (layout, index) = layout(&model)?;
        let pairs = if model.options.contact { candidate_pairs(&model) } else { Vec::new() };
        Ok(Articulated {
            tree: Tree::new(&model),
            model,
            layout,
            index,
            implicit_damping: None,
            straight: true,
            pushed: Vec::new(),
            pairs,
            many: MANY_PAIRS,
        })
    }

    /// Treats joint damping implicitly over Euler steps of `dt` seconds: (M + dt·C) v̇ = τ − bias. Stiff damping is then
    /// stable. Only for semi-implicit Euler with this step.
    pub fn with_implicit_damping(mut self, dt: f64) -> Self {
        self.implicit_damping = Some(dt);
        self
    }

    /// Advances orientations the way MuJoCo's RK4 does, without Munthe-Kaas' correction: second order, for comparison.
    pub fn with_plain_rotations(mut self) -> Self {
        self.straight = false;
        self
    }

    /// Culls pairs of geoms by sort and sweep from this many on; [`MANY_PAIRS`] unless told. Results do not depend on it.
    pub fn with_broad_phase_from(mut self, pairs: usize) -> Self {
        self.many = pairs;
        self
    }

    /// Adds controls that push on the bodies named: `BODY.force` (N) and `BODY.torque` (N m), at the origin of the body's
    /// frame, in world axes.
    pub fn with_pushes(mut self, bodies: &[&str]) -> Result<Self, ConfigError> {
        let mut builder = LayoutBuilder::from(self.layout);
        for name in bodies {
            let found = self.model.bodies.iter().skip(1).position(|b| b.name == *name);
            let body = found.ok_or_else(|| ConfigError::new(format!("no body is called `{name}`")))?;
            self.pushed.push(body + 1);
            builder = builder.control(Slice::new(format!("{name}.force"), 3, "N")).control(Slice::new(
                format!("{name}.torque"),
                3,
                "N m",
            ));
        }
        self.layout = builder.build()?;
        Ok(self)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }
    /// Its structure.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
    /// Where its parameters lie.
    pub fn index(&self) -> &ParamIndex {
        &self.index
    }

    /// Accelerations at a state, leaving everything computed on the way in the workspace.
    pub fn accelerations<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        params: &[T],
        state: &[T],
        control: &[T],
    ) {
        let (q, v) = state.split_at(self.model.nq);
        let ArticulatedWorkspace { kinematics, sweep, mass, bias, tau, acceleration, pushes, broad, .. } = ws;
        kinematics.update(&self.model, &self.tree, &self.index, params, q);

        // bias = RNEA(q, v, 0), pushes from outside included
        let (control, pushing) = control.split_at(self.model.actuators.len());
        pushes.fill(Push::default());
        for (i, body) in self.pushed.iter().enumerate() {
            pushes[*body] = Push::read(&pushing[6 * i..]);
        }
        if !self.pairs.is_empty() {
            body_velocities(&self.inputs(kinematics, params, v, &[]), sweep);
            let mut contacts = self.contacts(kinematics, params);
            if let Some(phase) = broad {
                contacts.pairs = contacts.near(phase);
            }
            contacts.add_forces(sweep, pushes);
        }
        let at = self.inputs(kinematics, params, v, pushes);
        inverse_dynamics(&at, None, sweep, bias);

        // M = CRBA(q) + armature
        mass.update(&self.tree, kinematics);
        for (j, joint) in self.model.joints.iter().enumerate() {
            let p = &params[self.index.joint[j]..];
            let extra = self.implicit_damping.map_or(p[2], |h| p[2] + p[0] * T::lit(h));
            for k in joint.v..joint.v + joint.kind.velocities() {
                mass.add_diagonal(&self.tree, k, extra);
            }
        }
        mass.factorize(&self.tree);

        // v̇ = M⁻¹ (τ − bias)
        tau.fill(T::zero());
        joint_forces(&self.model, &self.index, params, (q, v, control), tau);
        for ((a, tau), bias) in acceleration.iter_mut().zip(tau.iter()).zip(bias.iter()) {
            *a = *tau - *bias;
        }
        mass.solve(&self.tree, acceleration);
    }

    fn inputs<'a, T: Real>(
        &'a self,
        kinematics: &'a Kinematics<T>,
        params: &[T],
        v: &'a [T],
        external: &'a [Push<T>],
    ) -> Inputs<'a, T> {
        let gravity = Vec3::read(&params[self.index.gravity..]);
        Inputs { tree: &self.tree, kinematics, v, gravity, external }
    }

    fn contacts<'a, T: Real>(&'a self, kinematics: &'a Kinematics<T>, params: &'a [T]) -> Scene<'a, T> {
        Scene { model: &self.model, pairs: &self.pairs, index: &self.index, params, kinematics }
    }

    /// Hands every candidate contact at the state last computed to `visit`: the two geoms, and the contact.
    pub fn for_each_contact<T: Real>(
        &self,
        ws: &ArticulatedWorkspace<T>,
        params: &[T],
        visit: impl FnMut((usize, usize), &Contact<T>),
    ) {
        self.contacts(&ws.kinematics, params).for_each_contact(visit);
    }

    /// Cotangents of body parameters from those of the inertias in the world.
    fn body_params_vjp<T: Real>(&self, ws: &ArticulatedWorkspace<T>, params: &[T], params_bar: &mut [T]) {
        for b in 1..self.tree.bodies() {
            let at = self.index.body[b];
            let pose = ws.kinematics.world_from_body[b];
            let about_origin = Transform::new(pose.rotation, pose.translation - ws.kinematics.origins[b]);
            let (_, in_body) = about_origin.inertia_vjp(body_inertia(params, at), ws.inertia_bars[b]);
            let (mass, com, inertia) = <(T, Vec3<T>, SymMat3<T>)>::read(&params[at..at + 10]);
            SpatialInertia::from_com_vjp(mass, com, inertia, in_body).add_to(&mut params_bar[at..at + 10]);
        }
    }

    /// Adds a cotangent in the tangent space of the velocities to that of the coordinates.
    fn tangent_to_coordinates<T: Real>(&self, q: &[T], tangent: &[T], q_bar: &mut [T]) {
        for joint in &self.model.joints {
            let mut add_rotation = |q_at: usize, v_at: usize| {
                // δq = ½ q ⊗ δφ of a unit quaternion, which is all that the kinematics sees of q.
                let at = Quat::read(&q[q_at..]);
                let unit = at.normalize();
                let turned = unit * Quat::from_parts(T::zero(), Vec3::read(&tangent[v_at..]));
                let scale = T::lit(2.0) * at.norm_squared().sqrt().recip();
                (turned * scale).add_to(&mut q_bar[q_at..]);
            };
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => q_bar[joint.q] += tangent[joint.v],
                JointKind::Ball => add_rotation(joint.q, joint.v),
                JointKind::Free => {
                    add_rotation(joint.q + 3, joint.v + 3);
                    for i in 0..3 {
                        q_bar[joint.q + i] += tangent[joint.v + i];
                    }
                }
            }
        }
    }
}

/// Scratch, and what was computed last.
#[derive(Clone, Debug)]
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
    lambda: Vec<T>,
    tau_bar: Vec<T>,
    tangent_bar: Vec<T>,
    inertia_bars: Vec<SpatialInertia<T>>,
    /// Empty unless bodies are pushed.
    pushes: Vec<Push<T>>,
    push_bars: Vec<Push<T>>,
    /// Empty unless geoms may touch.
    velocity_bars: Vec<Force<T>>,
    wrenches: Vec<Force<T>>,
    /// Nothing where pairs are few.
    broad: Option<BroadPhase>,
}

impl<T: Real> Workspace for ArticulatedWorkspace<T> {
    fn heap_bytes(&self) -> usize {
        let scalars =
            [&self.bias, &self.tau, &self.acceleration, &self.lambda, &self.tau_bar, &self.tangent_bar];
        scalars.iter().map(|v| v.capacity()).sum::<usize>() * size_of::<T>()
            + self.inertia_bars.capacity() * size_of::<SpatialInertia<T>>()
            + (self.pushes.capacity() + self.push_bars.capacity()) * size_of::<Push<T>>()
            + (self.velocity_bars.capacity() + self.wrenches.capacity()) * size_of::<Force<T>>()
            + self.broad.as_ref().map_or(0, BroadPhase::heap_bytes)
            + self.kinematics.heap_bytes()
            + self.sweep.heap_bytes()
            + self.mass.heap_bytes()
    }
}

impl Described for Articulated {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for Articulated {
    fn rate_len(&self) -> usize {
        2 * self.model.nv
    }
    fn velocities(&self) -> Option<usize> {
        Some(self.model.nv)
    }
    fn flat(&self) -> bool {
        self.model.nq == self.model.nv
    }
}

impl<T: Real> VectorField<T> for Articulated {
    type Workspace = ArticulatedWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = || vec![T::zero(); self.model.nv];
        let pushed = if self.pushed.is_empty() && self.pairs.is_empty() { 0 } else { self.tree.bodies() };
        let touching = if self.pairs.is_empty() { 0 } else { self.tree.bodies() };
        ArticulatedWorkspace {
            kinematics: Kinematics::new(&self.tree),
            sweep: Sweep::new(&self.tree),
            mass: MassMatrix::new(&self.tree),
            bias: zeros(),
            tau: zeros(),
            acceleration: zeros(),
            lambda: zeros(),
            tau_bar: zeros(),
            tangent_bar: zeros(),
            inertia_bars: vec![SpatialInertia::zero(); self.tree.bodies()],
            pushes: vec![Push::default(); pushed],
            push_bars: vec![Push::default(); pushed],
            velocity_bars: vec![Force::zero(); touching],
            wrenches: vec![Force::zero(); touching],
            broad: (self.pairs.len() >= self.many)
                .then(|| BroadPhase::with_candidates(self.pairs.clone()).reserved(self.model.geoms.len())),
        }
    }

    fn eval(
        &self,
        ws: &mut Self::Workspace,
        params: &[T],
        _time: T,
        state: &[T],
        control: &[T],
        rate: &mut [T],
    ) {
        self.accelerations(ws, params, state, control);
        let (velocity, acceleration) = rate.split_at_mut(self.model.nv);
        velocity.copy_from_slice(&state[self.model.nq..]);
        acceleration.copy_from_slice(&ws.acceleration);
    }

    fn eval_vjp(
        &self,
        ws: &mut Self::Workspace,
        params: &[T],
        _time: T,
        state: &[T],
        control: &[T],
        rate_bar: &[T],
        state_bar: &mut [T],
        control_bar: &mut [T],
        params_bar: &mut [T],
    ) -> T {
        self.accelerations(ws, params, state, control);
        let (nq, nv) = (self.model.nq, self.model.nv);
        let (q, v) = state.split_at(nq);
        let (q_bar, v_bar) = state_bar.split_at_mut(nq);
        for (bar, x) in v_bar.iter_mut().zip(rate_bar) {
            *bar += *x;
        }

        // λ = M⁻¹ v̇_bar
        ws.lambda.copy_from_slice(&rate_bar[nv..]);
        ws.mass.solve(&self.tree, &mut ws.lambda);

        // M v̇ + bias = τ:  armature (and implicit damping) on the diagonal
        for (j, joint) in self.model.joints.iter().enumerate() {
            let at = self.index.joint[j];
            for k in joint.v..joint.v + joint.kind.velocities() {
                let bar = ws.lambda[k] * ws.acceleration[k];
                params_bar[at + 2] -= bar;
                if let Some(h) = self.implicit_damping {
                    params_bar[at] -= bar * T::lit(h);
                }
            }
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
            broad,
            ..
        } = ws;
        for (bar, λ) in tau_bar.iter_mut().zip(lambda.iter()) {
            *bar = -*λ;
        }
        tangent_bar.fill(T::zero());
        inertia_bars.fill(SpatialInertia::zero());
        let mut gravity_bar = Vec3::zero();
        push_bars.fill(Push::default());
        let at = self.inputs(kinematics, params, v, pushes);
        inverse_dynamics(&at, Some(acceleration), sweep, bias);
        let mut bars = InverseDynamicsBars {
            tangent: tangent_bar,
            v: v_bar,
            gravity: &mut gravity_bar,
            inertias: inertia_bars,
            external: push_bars,
        };
        inverse_dynamics_vjp(&at, acceleration, tau_bar, sweep, &mut bars);
        for (i, body) in self.pushed.iter().enumerate() {
            push_bars[*body].add_to(&mut pushing_bar[6 * i..]);
        }
        if !self.pairs.is_empty() {
            velocity_bars.fill(Force::zero());
            wrenches.fill(Force::zero());
            let mut contacts = self.contacts(kinematics, params);
            if let Some(phase) = broad {
                contacts.pairs = phase.last();
            }
            contacts.add_forces_vjp(sweep, push_bars, velocity_bars, wrenches, params_bar);
            body_velocities_vjp(&at, velocity_bars, wrenches, tangent_bar, v_bar);
        }
        gravity_bar.add_to(&mut params_bar[self.index.gravity..]);
        self.tangent_to_coordinates(q, &ws.tangent_bar, q_bar);
        self.body_params_vjp(ws, params, params_bar);
        T::zero()
    }

    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        let (nq, nv) = (self.model.nq, self.model.nv);
        for joint in &self.model.joints {
            let (q, v) = (joint.q, joint.v);
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => next[q] = state[q] + h * rate[v],
                JointKind::Ball => {
                    Quat::read(&state[q..]).integrate(Vec3::read(&rate[v..]), h).write(&mut next[q..]);
                }
                JointKind::Free => {
                    for i in 0..3 {
                        next[q + i] = state[q + i] + h * rate[v + i];
                    }
                    let turned = Quat::read(&state[q + 3..]).integrate(Vec3::read(&rate[v + 3..]), h);
                    turned.write(&mut next[q + 3..]);
                }
            }
        }
        for k in 0..nv {
            next[nq + k] = state[nq + k] + h * rate[nv + k];
        }
    }

    fn advance_vjp(
        &self,
        state: &[T],
        rate: &[T],
        h: T,
        next_bar: &[T],
        state_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        let (nq, nv) = (self.model.nq, self.model.nv);
        for joint in &self.model.joints {
            let (q, v) = (joint.q, joint.v);
            let mut rotation = |q: usize, v: usize| {
                let (at, turn) = (Quat::read(&state[q..]), Vec3::read(&rate[v..]));
                let (q_bar, turn_bar, _) = at.integrate_vjp(turn, h, Quat::read(&next_bar[q..]));
                q_bar.add_to(&mut state_bar[q..]);
                turn_bar.add_to(&mut rate_bar[v..]);
            };
            let straight = match joint.kind {
                JointKind::Hinge | JointKind::Slide => 1,
                JointKind::Ball => {
                    rotation(q, v);
                    0
                }
                JointKind::Free => {
                    rotation(q + 3, v + 3);
                    3
                }
            };
            for i in 0..straight {
                state_bar[q + i] += next_bar[q + i];
                rate_bar[v + i] += h * next_bar[q + i];
            }
        }
        for k in 0..nv {
            state_bar[nq + k] += next_bar[nq + k];
            rate_bar[nv + k] += h * next_bar[nq + k];
        }
    }

    fn straighten(&self, increment: &[T], h: T, rate: &mut [T]) {
        self.for_each_rotation(|v| {
            let u = Vec3::read(&increment[v..]) * h;
            rotation_vector_rate(u, Vec3::read(&rate[v..])).write(&mut rate[v..]);
        });
    }

    fn straighten_vjp(&self, increment: &[T], h: T, rate: &[T], rate_bar: &mut [T], increment_bar: &mut [T]) {
        self.for_each_rotation(|v| {
            let u = Vec3::read(&increment[v..]) * h;
            let bar = Vec3::read(&rate_bar[v..]);
            let (u_bar, omega_bar) = rotation_vector_rate_vjp(u, Vec3::read(&rate[v..]), bar);
            omega_bar.write(&mut rate_bar[v..]);
            (u_bar * h).add_to(&mut increment_bar[v..]);
        });
    }
}

impl Articulated {
    /// Visits the first velocity of every rotation that is straightened.
    fn for_each_rotation(&self, mut visit: impl FnMut(usize)) {
        if self.straight {
            for joint in &self.model.joints {
                match joint.kind {
                    JointKind::Ball => visit(joint.v),
                    JointKind::Free => visit(joint.v + 3),
                    JointKind::Hinge | JointKind::Slide => {}
                }
            }
        }
    }
}
