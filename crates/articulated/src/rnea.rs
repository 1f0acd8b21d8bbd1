//! Inverse dynamics by the recursive Newton-Euler algorithm, and its pullback.
//!
//! τ = RNEA(q, v, v̇): with v_b and a_b the spatial velocity and acceleration of body b (gravity as an
//! acceleration of the world), f_b = I_b a_b + v_b ×* I_b v_b − f_ext,b, and τ_k = S_k · Σ f over the bodies
//! that k carries.
//!
//! *Pullback.* With μ the cotangent of τ, L = Σ_k μ_k τ_k = Σ_b w_b · f_b, where w_b = Σ S_k μ_k over the
//! degrees of freedom above b: a virtual velocity. So the pullback is one more outward sweep and one inward
//! sweep. A small motion ξ of everything beyond a joint changes axes by ξ × S and inertias by ξ ×* I − I ξ ×;
//! hence the cotangent of a coordinate is S · G, where G sums the wrenches that axes and inertias beyond it
//! exert on that motion. No derivative of a rotation matrix is needed.

use pullback_core::Workspace;
use pullback_math::{Cotangent, Force, Motion, MulVjp, Real, SpatialInertia, Vec3};

use super::kinematics::Kinematics;
use super::tree::Tree;

/// Memory of the sweeps.
#[derive(Clone, Debug, Workspace)]
pub struct Sweep<T> {
    /// Spatial velocity of each body.
    pub velocities: Vec<Motion<T>>,
    /// Spatial acceleration of each body, gravity included.
    pub accelerations: Vec<Motion<T>>,
    /// Force on each body, then on everything it carries.
    pub forces: Vec<Force<T>>,
    /// Virtual velocity of each body.
    virtuals: Vec<Motion<T>>,
    /// Velocity before each degree of freedom's group.
    before: Vec<Motion<T>>,
    /// Cotangents of velocity and acceleration, and wrenches on displacements.
    velocity_bars: Vec<Force<T>>,
    acceleration_bars: Vec<Force<T>>,
    wrenches: Vec<Force<T>>,
}

impl<T: Real> Sweep<T> {
    /// Memory for a model.
    pub fn new(tree: &Tree) -> Self {
        let (n, nv) = (tree.bodies(), tree.dof_body.len());
        Sweep {
            velocities: vec![Motion::zero(); n],
            accelerations: vec![Motion::zero(); n],
            forces: vec![Force::zero(); n],
            virtuals: vec![Motion::zero(); n],
            before: vec![Motion::zero(); nv],
            velocity_bars: vec![Force::zero(); n],
            acceleration_bars: vec![Force::zero(); n],
            wrenches: vec![Force::zero(); n],
        }
    }

    /// After [`inverse_dynamics`]: the velocity on the inner side of a degree of freedom.
    pub(crate) fn before(&self, k: usize) -> Motion<T> {
        self.before[k]
    }

    /// After `inverse_dynamics_vjp`: the virtual velocity of a body.
    pub(crate) fn virtual_motion(&self, body: usize) -> Motion<T> {
        self.virtuals[body]
    }

    /// After `inverse_dynamics_vjp`: the wrench that a body and everything beyond it exert on a small
    /// motion of them.
    pub fn wrench(&self, body: usize) -> Force<T> {
        self.wrenches[body]
    }
}

/// A push on a body from outside: force and torque at the origin of its frame, world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Push<T> {
    /// Force, N.
    pub force: Vec3<T>,
    /// Torque, N m.
    pub torque: Vec3<T>,
}

impl<T: Real> Push<T> {
    /// The push as a spatial force about a point that sees the body's origin at `arm`.
    #[inline(always)]
    pub(crate) fn about(self, arm: Vec3<T>) -> Force<T> {
        Force::new(self.torque + arm.cross(self.force), self.force)
    }
}

/// What the sweeps run on.
#[derive(Clone, Copy, Debug)]
pub struct SweepInputs<'a, T> {
    /// Structure.
    pub tree: &'a Tree,
    /// Poses, axes and inertias.
    pub kinematics: &'a Kinematics<T>,
    /// Velocities.
    pub v: &'a [T],
    /// Gravity, m/s².
    pub gravity: Vec3<T>,
    /// Push on each body; may be empty.
    pub external: &'a [Push<T>],
    /// Part of each body's weight that is carried; may be empty.
    pub compensation: &'a [T],
}

impl<T: Real> SweepInputs<'_, T> {
    /// The acceleration that a body's inertia sees: without the part of gravity that is compensated.
    #[inline(always)]
    fn seen(&self, body: usize, acceleration: Motion<T>) -> Motion<T> {
        match self.compensation.get(body) {
            Some(part) => Motion::new(acceleration.angular, acceleration.linear + self.gravity * *part),
            None => acceleration,
        }
    }
}

/// Spatial velocities of all bodies, as [`inverse_dynamics`] computes them on its way.
pub(crate) fn body_velocities<T: Real>(at: &SweepInputs<'_, T>, sweep: &mut Sweep<T>) {
    for b in 1..at.tree.bodies() {
        let mut velocity = sweep.velocities[at.tree.parent[b]];
        for group in &at.tree.groups[b] {
            let mut joint_velocity = Motion::zero();
            for k in group.dofs.clone() {
                joint_velocity += at.kinematics.axes[k] * at.v[k];
            }
            velocity += joint_velocity;
        }
        sweep.velocities[b] = velocity;
    }
}

/// Motion of each body when the degrees of freedom move by `x`.
pub(crate) fn body_motions<T: Real>(tree: &Tree, kinematics: &Kinematics<T>, x: &[T], out: &mut [Motion<T>]) {
    for b in 1..tree.bodies() {
        let mut motion = out[tree.parent[b]];
        for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
            motion += kinematics.axes[k] * x[k];
        }
        out[b] = motion;
    }
}

/// Adds the generalized force of wrenches on the bodies to `tau`. Afterwards the wrench of a body is that on everything
/// beyond it too.
pub(crate) fn carry<T: Real>(
    tree: &Tree,
    kinematics: &Kinematics<T>,
    wrenches: &mut [Force<T>],
    tau: &mut [T],
) {
    for b in (1..tree.bodies()).rev() {
        let wrench = wrenches[b];
        for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
            tau[k] += kinematics.axes[k].dot(wrench);
        }
        wrenches[tree.parent[b]] += wrench;
    }
}

/// Motion of the bodies along a generalized velocity that is held, with cotangents of the bodies' velocities.
pub(crate) type HeldMotion<'a, T> = (&'a [T], &'a mut [Force<T>]);

/// What depends on the axes of joints beside velocities.
pub(crate) struct HeldMotions<'a, T> {
    /// Motions of the bodies; those along nothing are left out.
    pub motions: [HeldMotion<'a, T>; 2],
    /// Cotangents of the axes themselves; may be empty.
    pub axis_bars: &'a [Force<T>],
}

impl<T> HeldMotions<'_, T> {
    /// Nothing.
    pub fn none() -> Self {
        HeldMotions { motions: [(&[], &mut []), (&[], &mut [])], axis_bars: &[] }
    }
}

/// Carries cotangents of body velocities, and wrenches on displacements of bodies, inwards to velocities and
/// coordinates, and adds to the cotangents of joint axes unless `axis_bars` is empty. Afterwards the wrench
/// of a body is that of everything beyond it too. `held` is what else depends on the axes.
pub(crate) fn body_velocities_vjp<T: Real>(
    at: &SweepInputs<'_, T>,
    velocity_bars: &mut [Force<T>],
    held: HeldMotions<'_, T>,
    wrenches: &mut [Force<T>],
    tangent_bar: &mut [T],
    v_bar: &mut [T],
    axis_bars: &mut [Force<T>],
) {
    let SweepInputs { tree, kinematics, v, .. } = *at;
    let HeldMotions { motions: mut held, axis_bars: own_axis_bars } = held;
    for b in (1..tree.bodies()).rev() {
        let (bar, mut wrench) = (velocity_bars[b], wrenches[b]);
        for group in tree.groups[b].iter().rev() {
            for k in group.dofs.clone() {
                let axis = kinematics.axes[k];
                v_bar[k] += axis.dot(bar);
                let mut axis_bar = bar * v[k];
                for (x, bars) in held.iter().filter(|(x, _)| !x.is_empty()) {
                    axis_bar += bars[b] * x[k];
                }
                if let Some(own) = own_axis_bars.get(k) {
                    axis_bar += *own;
                }
                wrench += axis.cross_force(axis_bar);
                if let Some(total) = axis_bars.get_mut(k) {
                    *total += axis_bar;
                }
            }
            for k in group.dofs.clone() {
                tangent_bar[k] += kinematics.axes[k].dot(wrench);
            }
        }
        velocity_bars[tree.parent[b]] += bar;
        for (_, bars) in held.iter_mut().filter(|(x, _)| !x.is_empty()) {
            let bar = bars[b];
            bars[tree.parent[b]] += bar;
        }
        wrenches[tree.parent[b]] += wrench;
    }
}

/// τ = RNEA(q, v, v̇); without `acceleration`, v̇ = 0 and τ is the bias force.
pub fn inverse_dynamics<T: Real>(
    at: &SweepInputs<'_, T>,
    acceleration: Option<&[T]>,
    sweep: &mut Sweep<T>,
    tau: &mut [T],
) {
    let SweepInputs { tree, kinematics, v, gravity, external, .. } = *at;
    sweep.accelerations[0] = Motion::new(Vec3::zero(), -gravity);

    // Outwards: velocities, accelerations, forces.
    for b in 1..tree.bodies() {
        let (mut velocity, mut accel) =
            (sweep.velocities[tree.parent[b]], sweep.accelerations[tree.parent[b]]);
        for group in &tree.groups[b] {
            let mut joint_velocity = Motion::zero();
            for k in group.dofs.clone() {
                sweep.before[k] = velocity;
                joint_velocity += kinematics.axes[k] * v[k];
                if let Some(v_dot) = acceleration {
                    accel += kinematics.axes[k] * v_dot[k];
                }
            }
            // a += S v̇ + v × (S v)
            accel += velocity.cross_motion(joint_velocity);
            velocity += joint_velocity;
        }
        let inertia = kinematics.inertias[b];
        let mut force = inertia * at.seen(b, accel) + velocity.cross_force(inertia * velocity);
        if let Some(push) = external.get(b) {
            force -= push.about(kinematics.arm(b));
        }
        (sweep.velocities[b], sweep.accelerations[b], sweep.forces[b]) = (velocity, accel, force);
    }

    // Inwards: what each joint carries.
    for b in (1..tree.bodies()).rev() {
        for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
            tau[k] = kinematics.axes[k].dot(sweep.forces[b]);
        }
        let carried = sweep.forces[b];
        sweep.forces[tree.parent[b]] += carried;
    }
    sweep.forces[0] = Force::zero();
}

/// Cotangents that the pullback adds to.
#[derive(Debug)]
pub(crate) struct InverseDynamicsBars<'a, T> {
    /// Of the configuration, in the tangent space of its velocities.
    pub tangent: &'a mut [T],
    /// Of the velocities.
    pub v: &'a mut [T],
    /// Of gravity.
    pub gravity: &'a mut Vec3<T>,
    /// Of each body's inertia, about its tree's point.
    pub inertias: &'a mut [SpatialInertia<T>],
    /// Of the pushes; may be empty.
    pub external: &'a mut [Push<T>],
    /// Of the joint axes; may be empty.
    pub axes: &'a mut [Force<T>],
    /// Of the bodies' accelerations beforehand; may be empty.
    pub accelerations: &'a [Force<T>],
    /// Of the part of each body's weight that is carried; may be empty.
    pub compensation: &'a mut [T],
    /// Of the force that each body and everything beyond it need, beforehand; may be empty.
    pub forces: &'a [Motion<T>],
    /// Of v̇; may be empty.
    pub generalized: &'a mut [T],
}

/// The pullback of [`inverse_dynamics`] with cotangent `tau_bar`, right after it ran with the same inputs.
pub(crate) fn inverse_dynamics_vjp<T: Real>(
    at: &SweepInputs<'_, T>,
    acceleration: &[T],
    tau_bar: &[T],
    sweep: &mut Sweep<T>,
    bars: &mut InverseDynamicsBars<'_, T>,
) {
    let SweepInputs { tree, kinematics, v, external, .. } = *at;
    if let Some(world) = bars.accelerations.first() {
        *bars.gravity -= world.force;
    }

    // Outwards: w, and what each body says about its own v, a, I.
    for b in 1..tree.bodies() {
        let mut w = sweep.virtuals[tree.parent[b]];
        if let Some(bar) = bars.forces.get(b) {
            w += *bar;
        }
        for k in tree.groups[b].iter().flat_map(|g| g.dofs.clone()) {
            w += kinematics.axes[k] * tau_bar[k];
        }
        sweep.virtuals[b] = w;
        // L_b = w·(I a) − c·(I v) − w·f_ext, with c = v × w
        let (inertia, velocity) = (kinematics.inertias[b], sweep.velocities[b]);
        let accel = at.seen(b, sweep.accelerations[b]);
        let c = velocity.cross_motion(w);
        let (inertia_w, inertia_c) = (inertia * w, inertia * c);
        let (inertia_a, momentum) = (inertia * accel, inertia * velocity);
        sweep.acceleration_bars[b] = inertia_w + bars.accelerations.get(b).copied().unwrap_or(Force::zero());
        sweep.velocity_bars[b] = -inertia_c - w.cross_force(momentum);
        sweep.wrenches[b] = c.cross_force(momentum) + velocity.cross_force(inertia_c)
            - w.cross_force(inertia_a)
            - accel.cross_force(inertia_w);
        let (from_w, _) = inertia.mul_vjp(accel, as_cotangent(w));
        let (from_c, _) = inertia.mul_vjp(velocity, as_cotangent(c));
        bars.inertias[b] += from_w - from_c;
        if let (Some(part), Some(bar)) = (at.compensation.get(b), bars.compensation.get_mut(b)) {
            *bar += at.gravity.dot(inertia_w.force);
            *bars.gravity += inertia_w.force * *part;
        }
        if let (Some(push), Some(bar)) = (external.get(b), bars.external.get_mut(b)) {
            // −w·f_ext = −w_ω·(torque + arm × force) − w_v·force
            let arm = kinematics.arm(b);
            bar.force -= w.velocity_at(arm);
            bar.torque -= w.angular;
            sweep.wrenches[b] += Force::at_point(w.angular.cross(push.force), arm);
        }
    }

    // Inwards: through the joints.
    for b in (1..tree.bodies()).rev() {
        let carried = sweep.forces[b];
        let a_bar = sweep.acceleration_bars[b];
        let (mut v_bar, mut wrench) = (sweep.velocity_bars[b], sweep.wrenches[b]);
        for group in tree.groups[b].iter().rev() {
            let before = sweep.before[group.dofs.start];
            // a = a₀ + Σ S v̇ + v₀ × Σ S v,  v = v₀ + Σ S v,  w = w₀ + Σ S μ
            let joint_velocity_bar = v_bar - before.cross_force(a_bar);
            let mut joint_velocity = Motion::zero();
            for k in group.dofs.clone() {
                let axis = kinematics.axes[k];
                joint_velocity += axis * v[k];
                bars.v[k] += axis.dot(joint_velocity_bar);
                if let Some(bar) = bars.generalized.get_mut(k) {
                    *bar += axis.dot(a_bar);
                }
                let axis_bar = a_bar * acceleration[k] + joint_velocity_bar * v[k] + carried * tau_bar[k];
                wrench += axis.cross_force(axis_bar);
                if let Some(total) = bars.axes.get_mut(k) {
                    *total += axis_bar;
                }
            }
            for k in group.dofs.clone() {
                bars.tangent[k] += kinematics.axes[k].dot(wrench);
            }
            v_bar += joint_velocity.cross_force(a_bar);
        }
        let parent = tree.parent[b];
        if parent == 0 {
            // The world accelerates by −g.
            *bars.gravity -= a_bar.force;
        } else {
            sweep.acceleration_bars[parent] += a_bar;
            sweep.velocity_bars[parent] += v_bar;
            sweep.wrenches[parent] += wrench;
        }
    }
}

/// A motion as the cotangent of a force: the pairing is component by component.
#[inline(always)]
pub(crate) fn as_cotangent<T: Real>(m: Motion<T>) -> Force<T> {
    Force::new(m.angular, m.linear)
}
