//! The pullback of the accelerations of a robot.
//!
//! It needs neither Jacobians nor a tape. With λ = M⁻¹ v̇_bar, by the factorization at hand: τ̄ = λ, and (q̄, v̄, θ̄,
//! f̄) come from the pullback of inverse dynamics with cotangent −λ. A model of constraints replaces M by its
//! Hessian. An implicit step multiplies the acceleration a by (M − h Q)⁻¹ M; with μ = (M − h Q)⁻ᵀ v̇_bar, ā = M μ,
//! and the two mass matrices add μ·dM (a − v̇).

use pullback_core::{Bars, Point};
use pullback_math::{Flat, Force, Real, SpatialInertia, Vec3};

use super::actuator::{ActuatorBars, actuate_vjp};
use super::contact::{ConstraintBars, MotionBars, Resolve};
use super::field::Articulated;
use super::fluid::SlopeBars;
use super::joint_forces::passive_forces_vjp;
use super::kinematic_params::KinematicInputs;
use super::kinematics::Kinematics;
use super::params::JointParams;
use super::rnea::{
    HeldMotions, InverseDynamicsBars, Push, SweepInputs, body_velocities_vjp, inverse_dynamics,
    inverse_dynamics_vjp,
};
use super::tendon::TendonOutputBars;
use super::tendon::armature::ArmatureBars;
use super::workspace::ArticulatedWorkspace;

impl Articulated {
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
        let params = at.params;
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            mass,
            tendons,
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
        tendons.bars.clear();
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
        let mut tendon_bars = std::mem::take(&mut tendons.bars);
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
            tendons: &mut tendon_bars,
        };
        let (state, control) = (self.split_state(at.state), self.split_control(at.control).0);
        let acting = self.actuator_inputs(params, state, control, (&*kinematics, &sweep.velocities[..]));
        let smooth = self.smooth_motion(geoms, (&acting.tendons, tendons), sweep, mass, held);
        self.solver.constrain_vjp(resolve, &smooth, contacts, lambda, &mut bars);
        tendons.bars = tendon_bars;
    }

    /// The pullback of [`Articulated::full_accelerations`] with λ in the workspace and the cotangents of the rates of
    /// activations: *adds* to all cotangents.
    pub(super) fn full_pullback<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        activation_rate_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (q, v, activation) = self.split_state(state);
        let (q_bar, rest) = state_bar.split_at_mut(self.model.nq);
        let (v_bar, activation_bar) = rest.split_at_mut(self.model.nv);
        for (bar, own) in q_bar.iter_mut().zip(&ws.q_bar).chain(v_bar.iter_mut().zip(&ws.v_bar)) {
            *bar += *own;
        }

        // M v̇ + bias = τ:  armature (and implicit damping) on the diagonal
        let acceleration = ws.resolve.optimum().unwrap_or(&ws.constrained);
        for (j, joint) in self.model.joints.iter().enumerate() {
            let mut bar = JointParams::default();
            for k in joint.v..joint.v + joint.kind.velocities() {
                bar.armature -= ws.lambda[k] * acceleration[k];
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
        {
            let ArticulatedWorkspace { kinematics, sweep, tendons, actuators, .. } = ws;
            let motion = (&*kinematics, &sweep.velocities[..]);
            let acting = self.actuator_inputs(params, (q, v, activation), control, motion);
            let axes = &mut ws.constraint_axis_bars[..];
            self.tendons.passive_forces_vjp(&acting.tendons, tendons, &ws.lambda, axes, params_bar);
            ws.tau_bar.copy_from_slice(&ws.lambda);
            let mut bars = ActuatorBars {
                q: q_bar,
                v: v_bar,
                activation: activation_bar,
                control: control_bar,
                params: params_bar,
                axes,
            };
            let given = (&ws.actuation[..], &mut ws.tau_bar[..], activation_rate_bar);
            actuate_vjp(&acting, actuators, tendons, given, &mut bars);
            if let Some(step) = self.implicit_matrix() {
                let mu = if self.solver.constrains() { &ws.mu } else { &ws.lambda };
                self.implicit_terms_vjp(
                    &step,
                    &acting,
                    (mu, &ws.acceleration),
                    (actuators, tendons),
                    &mut bars,
                );
            }
            if self.tendons.has_armature() {
                let a = ws.resolve.optimum().unwrap_or(&ws.constrained);
                let (λ, implicit) = (&ws.lambda, self.implicit_matrix().is_some());
                // −λ·dM a, μ·dM (a − v̇) of implicit steps, and what sweeps give
                let mass_bar = |entry: usize, k: usize, j: usize| {
                    let mut bar = -(λ[k] * a[j]);
                    let change = |k: usize| ws.constrained[k] - ws.acceleration[k];
                    if implicit {
                        bar += ws.mu[k] * change(j);
                    }
                    if k != j {
                        bar -= λ[j] * a[k];
                        if implicit {
                            bar += ws.mu[j] * change(k);
                        }
                    }
                    ws.mass_bars.get(entry).map_or(bar, |own| bar + *own)
                };
                // Accelerations while no joint accelerates are whole ones less those along a.
                ws.carried.fill(Force::zero());
                let mut bars = ArmatureBars {
                    params: params_bar,
                    axes,
                    velocities: &mut ws.velocity_bars,
                    accelerations: &mut ws.carried,
                    wrenches: &mut ws.wrenches,
                };
                let given = (mass_bar, &λ[..]);
                self.tendons.armature_vjp(&acting.tendons, tendons, &sweep.accelerations, given, &mut bars);
                for (b, bar) in ws.carried.iter().enumerate() {
                    ws.body_acceleration_bars[b] += *bar;
                    ws.held_bars[b] -= *bar;
                }
            }
            let mut bars = TendonOutputBars {
                q: q_bar,
                v: v_bar,
                params: params_bar,
                velocities: &mut ws.velocity_bars,
                wrenches: &mut ws.wrenches,
            };
            self.tendons.update_vjp(&acting.tendons, tendons, &mut bars);
            self.adhere_vjp(&self.geoms(kinematics, params), &mut ws.contacts, tendons);
        }

        // (q̄, v̄, θ̄) by the pullback of RNEA with cotangent −λ
        let ArticulatedWorkspace {
            kinematics,
            sweep,
            constrained,
            resolve,
            acceleration: implicit_acceleration,
            lambda,
            mu,
            change,
            scratch,
            carried,
            fluid,
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
        let acceleration = resolve.optimum().unwrap_or(constrained);
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
            forces: &[],
            generalized: &mut [],
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
        if self.is_immersed() {
            let mut bars = MotionBars { velocities: velocity_bars, wrenches, params: params_bar };
            self.fluid_push_vjp(kinematics, params, &sweep.velocities, push_bars, &mut bars);
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
            let inputs = (&at, params, &sweep.velocities[..]);
            let motion = (&mu[..], &implicit_acceleration[..]);
            let (tangent, axes) = (&mut *tangent_bar, &mut *axis_bars);
            let bars = SlopeBars { tangent, v: v_bar, axes, carried, params: params_bar };
            self.fluid_slopes_vjp(fluid, &step, inputs, motion, bars);
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
                        forces: &[],
                        generalized: &mut [],
                    };
                    inverse_dynamics_vjp(&at, acceleration, tau_bar, sweep, &mut bars);
                    carried.iter_mut().enumerate().for_each(|(b, wrench)| *wrench += sweep.wrench(b));
                };
            if self.solver.constrains() {
                // μ·dM (a − v̇)
                for (k, change) in change.iter_mut().enumerate() {
                    *change = constrained[k] - implicit_acceleration[k];
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
