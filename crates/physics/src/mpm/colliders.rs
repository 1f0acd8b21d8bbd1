//! How colliders move over a substep: *driven*, their joints at the speeds that the controls say, or *coupled*, as a robot that
//! feels the material.
//!
//! A driven joint follows its control within its range whatever stands in the way. A coupled robot has velocities in the
//! state and the controls of its actuators. On the nodes a collider changes velocities by Δv; its body feels the push −Σ m Δv / Δt
//! at the nodes, so that the momentum of material and bodies together is kept to round-off. Then q̈ by forward dynamics with
//! these pushes, v′ = v + Δt q̈, q′ = q ⊕ Δt v′.
//!
//! # Limits
//!
//! The nodes meet the body with the velocity it had before their push. A light body takes less of that push at once
//! (`share`), so that it is not thrown back; it may sink in a little deeper instead. Collider surfaces are
//! as sharp as the grid: a box of four cells under water, held by a spring, feels 0.85 of Archimedes' force, one of eight 0.96. Free
//! boxes of four cells are sluggish: let go under water, one of 300 kg/m³ rose 3 mm in the mean of 0.1 to 0.2 s, where ideal
//! flow would carry it centimetres. Linear momentum is kept to round-off; angular momentum of a spinning free body is not, its
//! spin takes explicit Euler steps.

use pullback_core::{ConfigError, VectorField};
use pullback_math::{Flat, Mask, Real, Scalar, Vec3};

use super::system::Mpm;
use super::view::{View, ViewMut};
use super::workspace::MpmWorkspace;
use crate::articulated::Articulated;
use crate::articulated::rnea::Push;

/// Who moves the colliders.
#[derive(Clone, Debug)]
pub(super) enum Drive {
    /// Controls, at the speed they say.
    Speeds,
    /// Forces, those of the material among them. For every geom that deflects, which push of the robot's controls it feeds; none
    /// for those of the world.
    Forces { pushes: Vec<Option<usize>> },
}

impl Drive {
    /// A robot whose bodies with geoms that deflect are pushed by the material.
    pub fn by_forces(
        robot: Articulated,
        geoms: &[usize],
        dt: f64,
    ) -> Result<(Articulated, Self), ConfigError> {
        let model = robot.model();
        let mut bodies: Vec<usize> = geoms.iter().map(|g| model.geoms[*g].body).filter(|b| *b != 0).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let pushes = geoms.iter().map(|g| bodies.iter().position(|b| *b == model.geoms[*g].body)).collect();
        let names: Vec<String> = bodies.iter().map(|b| model.bodies[*b].name.clone()).collect();
        let implicit = model.options.implicit_damping;
        let robot = robot.with_pushes(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let robot = if implicit { robot.with_implicit_damping(dt) } else { robot };
        Ok((robot, Drive::Forces { pushes }))
    }
}

/// What nodes do to a collider, place by place: impulse, and its moment about the origin of the body's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaction<P> {
    pub impulse: Vec3<P>,
    pub moment: Vec3<P>,
}

impl<P: Real> Reaction<P> {
    /// Nothing yet.
    pub fn zero() -> Self {
        let z = Vec3::new(P::zero(), P::zero(), P::zero());
        Reaction { impulse: z, moment: z }
    }

    /// An impulse at `arm` from the origin of the body's frame.
    #[inline(always)]
    pub fn add(&mut self, arm: Vec3<P>, impulse: Vec3<P>) {
        self.impulse += impulse;
        self.moment += arm.cross(impulse);
    }

    /// The pullback of [`Reaction::add`] with `self` the cotangents: of the impulse, and of the frame's origin.
    #[inline(always)]
    pub fn add_vjp(&self, arm: Vec3<P>, impulse: Vec3<P>) -> (Vec3<P>, Vec3<P>) {
        (self.impulse + self.moment.cross(arm), -impulse.cross(self.moment))
    }
}

impl Mpm {
    /// Whether the colliders feel the material.
    pub fn is_coupled(&self) -> bool {
        matches!(self.drive, Drive::Forces { .. })
    }

    /// Places the colliders at the start of a substep: poses and velocities of their bodies.
    pub(super) fn place_colliders<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        control: &[T],
    ) {
        let (q, v) = ws.robot_state.split_at_mut(at.q.len());
        q.copy_from_slice(at.q);
        match self.drive {
            Drive::Speeds => self.speeds(at.q, control, v),
            Drive::Forces { .. } => v.copy_from_slice(at.u),
        }
        self.robot.motion(&mut ws.robot, params, &ws.robot_state);
        self.place_geoms(ws, params);
    }

    /// The pullback of [`Mpm::place_colliders`]: *adds* what the nodes' cotangents of poses and velocities give.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn place_colliders_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        at: &View<'_, T>,
        control: &[T],
        out: &mut ViewMut<'_, T>,
        control_bar: &mut [T],
        params_bar: &mut [T],
    ) {
        let MpmWorkspace { robot, robot_state, robot_bar, velocity_bars, wrenches, .. } = ws;
        self.robot.motion_vjp(robot, params, robot_state, velocity_bars, wrenches, robot_bar, params_bar);
        let (q_bar, v_bar) = robot_bar.split_at(at.q.len());
        add(out.q, q_bar);
        match self.drive {
            Drive::Speeds => self.speeds_vjp(at.q, control, v_bar, out.q, control_bar),
            Drive::Forces { .. } => add(out.u, v_bar),
        }
    }

    /// Moves the colliders to the end of the substep, after the nodes.
    pub(super) fn advance_colliders<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        control: &[T],
        next: &mut ViewMut<'_, T>,
    ) {
        let (dt, coordinates) = (T::lit(self.dt), self.robot.coordinates());
        let MpmWorkspace { robot, robot_state, robot_rate, robot_control, .. } = ws;
        let (q, v) = robot_state.split_at(coordinates.nq);
        if let Drive::Speeds = self.drive {
            return coordinates.advance_positions(q, v, dt, next.q);
        }
        robot_control[..control.len()].copy_from_slice(control);
        self.robot.eval(robot, params, T::zero(), robot_state, robot_control, robot_rate);
        // v′ = v + Δt q̈, q′ = q ⊕ Δt v′
        for ((next, v), a) in next.u.iter_mut().zip(v).zip(&robot_rate[coordinates.nv..]) {
            *next = *v + dt * *a;
        }
        coordinates.advance_positions(q, next.u, dt, next.q);
    }

    /// The pullback of [`Mpm::advance_colliders`]: into the robot's cotangents and those of the reactions, *adds* to the rest.
    pub(super) fn advance_colliders_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        control: &[T],
        next_bar: &View<'_, T>,
        control_bar: &mut [T],
        params_bar: &mut [T],
    ) {
        let (dt, coordinates) = (T::lit(self.dt), self.robot.coordinates());
        let (nq, nv) = (coordinates.nq, coordinates.nv);
        let MpmWorkspace { robot, robot_state, robot_bar, robot_rate, robot_control, .. } = ws;
        robot_bar.fill(T::zero());
        let (q, v) = robot_state.split_at(nq);
        let (q_bar, v_bar) = robot_bar.split_at_mut(nq);
        let Drive::Forces { pushes } = &self.drive else {
            return coordinates.advance_positions_vjp(q, v, dt, next_bar.q, q_bar, v_bar);
        };

        // v′ = v + Δt q̈, with q̈ and v′ computed anew
        robot_control[..control.len()].copy_from_slice(control);
        self.robot.eval(robot, params, T::zero(), robot_state, robot_control, robot_rate);
        let MpmWorkspace { u_next, rate_bar, robot_control_bar, reactions, .. } = ws;
        for ((next, v), a) in u_next.iter_mut().zip(v).zip(&robot_rate[nv..]) {
            *next = *v + dt * *a;
        }
        v_bar.copy_from_slice(next_bar.u);
        coordinates.advance_positions_vjp(q, u_next, dt, next_bar.q, q_bar, v_bar);
        rate_bar.fill(T::zero());
        for (rate_bar, v_bar) in rate_bar[nv..].iter_mut().zip(v_bar.iter()) {
            *rate_bar = dt * *v_bar;
        }
        robot_control_bar.fill(T::zero());
        self.robot.eval_vjp(
            robot,
            params,
            T::zero(),
            robot_state,
            robot_control,
            rate_bar,
            robot_bar,
            robot_control_bar,
            params_bar,
        );
        let (own_bar, push_bars) = robot_control_bar.split_at(control.len());
        add(control_bar, own_bar);

        // Force and torque are impulse and moment per Δt.
        let per_dt = T::lit(1.0 / self.dt);
        for (reaction, push) in reactions.iter_mut().zip(pushes) {
            let bar = push.map_or(Push::default(), |p| Push::read(&push_bars[6 * p..]));
            let fill = |v: Vec3<T>| (v * per_dt).map(T::fill);
            *reaction = Reaction { impulse: fill(bar.force), moment: fill(bar.torque) };
        }
        // The forward dynamics have overwritten the velocities of the bodies at the start of the substep.
        self.robot.motion(robot, params, robot_state);
    }

    /// Hands what the nodes did to the colliders to the robot, as pushes behind its own `controls` controls.
    pub(super) fn push_robot<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, controls: usize) {
        let Drive::Forces { pushes } = &self.drive else { return };
        let per_dt = T::lit(1.0 / self.dt);
        let all = &mut ws.robot_control[controls..];
        all.fill(T::zero());
        for (reaction, push) in ws.reactions.iter().zip(pushes) {
            if let Some(push) = push {
                (T::total_vector(reaction.impulse) * per_dt).add_to(&mut all[6 * push..]);
                (T::total_vector(reaction.moment) * per_dt).add_to(&mut all[6 * push + 3..]);
            }
        }
    }

    /// Speeds of joints that stay within their ranges: (clamp(q + Δt u) − q)/Δt.
    fn speeds<T: Real>(&self, q: &[T], control: &[T], speeds: &mut [T]) {
        speeds.copy_from_slice(control);
        for (joint, place) in self.robot.model().joints.iter().zip(&self.robot.coordinates().joints) {
            if let (Some((low, high)), Some((at, v)), 1) = (joint.range, *place, joint.kind.velocities()) {
                let dt = T::lit(self.dt);
                let target = (q[at] + dt * control[v]).max(T::lit(low)).min(T::lit(high));
                speeds[v] = (target - q[at]) * dt.recip();
            }
        }
    }

    /// The pullback of [`Mpm::speeds`].
    fn speeds_vjp<T: Real>(
        &self,
        q: &[T],
        control: &[T],
        speeds_bar: &[T],
        q_bar: &mut [T],
        control_bar: &mut [T],
    ) {
        add(control_bar, speeds_bar);
        for (joint, place) in self.robot.model().joints.iter().zip(&self.robot.coordinates().joints) {
            if let (Some((low, high)), Some((at, v)), 1) = (joint.range, *place, joint.kind.velocities()) {
                let wanted = q[at] + T::lit(self.dt) * control[v];
                if wanted.lt(T::lit(low)).any() || wanted.gt(T::lit(high)).any() {
                    control_bar[v] -= speeds_bar[v];
                    q_bar[at] -= speeds_bar[v] * T::lit(1.0 / self.dt);
                }
            }
        }
    }
}

/// to += from
fn add<T: Real>(to: &mut [T], from: &[T]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
}
