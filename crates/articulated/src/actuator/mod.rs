//! Actuators: force = gain·(control or activation) + bias along a transmission, and activations that follow the control.
//!
//! In order: length and velocity of the transmission ([`transmission`]), the drive (the control in its range, or the
//! activation), the force ([`law`], [`muscle`]) in the range of its tendon's sum and in its own, and the forces of the
//! joints, their sums in the joints' ranges.

mod adhesion;
pub mod law;
pub mod muscle;
pub mod params;
pub mod transmission;

use pullback_core::Workspace;
use pullback_math::{Force, Real, select};

use crate::field::Articulated;
use crate::model::{Actuator, Transmission};
use crate::tendon::{TendonInputs, TendonState, Tendons};
use law::{clamped, clamped_vjp};
pub use params::ActuatorBlocks;
pub(crate) use transmission::{Line, span_of};

/// What actuators compute.
#[derive(Clone, Debug, Default, Workspace)]
pub struct ActuatorState<T> {
    /// Length of each transmission (`actuator_length`).
    pub length: Vec<T>,
    /// Rate of change of each length (`actuator_velocity`).
    pub velocity: Vec<T>,
    /// Force of each actuator before its gear (`actuator_force`).
    pub force: Vec<T>,
    /// Rate of each activation (`act_dot`).
    pub activation_rate: Vec<T>,
    /// Drive and gain of each actuator, and its force before any range.
    drive: Vec<T>,
    gain: Vec<T>,
    unlimited: Vec<T>,
    /// Factor by which the range of a tendon scales the forces on it, and the sum of these, per tendon.
    tendon_scale: Vec<T>,
    tendon_total: Vec<T>,
    /// Cotangents.
    force_bar: Vec<T>,
    length_bar: Vec<T>,
    velocity_bar: Vec<T>,
    /// Cotangents of forces, lengths, velocities and of the joints' sums that the next pullback begins with; empty
    /// if there are none.
    pub(crate) seeds: ActuatorSeeds<T>,
}

/// Cotangents of what actuators compute, beside those that the motion gives.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct ActuatorSeeds<T> {
    pub force: Vec<T>,
    pub length: Vec<T>,
    pub velocity: Vec<T>,
    /// Of the forces on the degrees of freedom.
    pub joint: Vec<T>,
}

impl<T: Real> ActuatorState<T> {
    /// Memory for the actuators of a model.
    pub fn new(robot: &Articulated) -> Self {
        let (nu, nt) = (robot.model.actuators.len(), robot.model.tendons.len());
        let zeros = |n: usize| vec![T::zero(); n];
        ActuatorState {
            length: zeros(nu),
            velocity: zeros(nu),
            force: zeros(nu),
            activation_rate: zeros(robot.model.activations()),
            drive: zeros(nu),
            gain: zeros(nu),
            unlimited: zeros(nu),
            tendon_scale: zeros(nt),
            tendon_total: zeros(nt),
            force_bar: zeros(nu),
            length_bar: zeros(nu),
            velocity_bar: zeros(nu),
            seeds: ActuatorSeeds::default(),
        }
    }
}

/// Where actuators are evaluated.
pub(crate) struct ActuatorInputs<'a, T> {
    pub robot: &'a Articulated,
    pub tendons: TendonInputs<'a, T>,
    pub activation: &'a [T],
    pub control: &'a [T],
}

/// Cotangents that the pullback of actuators adds to.
pub(crate) struct ActuatorBars<'a, T> {
    pub q: &'a mut [T],
    pub v: &'a mut [T],
    pub activation: &'a mut [T],
    pub control: &'a mut [T],
    pub params: &'a mut [T],
    /// Of the joint axes; empty without spans.
    pub axes: &'a mut [Force<T>],
}

impl<T: Real> ActuatorInputs<'_, T> {
    /// The control as it acts: in its range, and where a servo turns about a full circle, at the turn nearest the
    /// length.
    fn control(&self, a: usize, length: T) -> T {
        let actuator = &self.robot.model.actuators[a];
        let u = clamped(self.control[a], actuator.control_range);
        match self.robot.full_turn[a] {
            Some(_) if actuator.has_activation() => u,
            Some(period) => nearest_turn(u, length, period),
            None => u,
        }
    }

    /// Control, or activation, that the force is proportional to.
    fn drive(&self, a: usize, length: T) -> T {
        let actuator = &self.robot.model.actuators[a];
        let Some(number) = self.robot.activation_of[a] else { return self.control(a, length) };
        let now = self.activation[number];
        let drive = if actuator.early { self.next_activation(a, now) } else { now };
        self.robot.full_turn[a].map_or(drive, |period| nearest_turn(drive, length, period))
    }

    /// The activation at the end of the step.
    fn next_activation(&self, a: usize, now: T) -> T {
        let actuator = &self.robot.model.actuators[a];
        clamped(
            now + self.rate(a, now, Some(self.robot.dt)) * T::lit(self.robot.dt),
            actuator.activation_range,
        )
    }

    fn rate(&self, a: usize, now: T, step: Option<f64>) -> T {
        let u = clamped(self.control[a], self.robot.model.actuators[a].control_range);
        self.robot.index.actuators[a].dynamics.rate(self.tendons.params, u, now, step)
    }

    fn rate_vjp(
        &self,
        a: usize,
        now: T,
        step: Option<f64>,
        bar: T,
        control_bar: &mut T,
        params_bar: &mut [T],
    ) -> T {
        let range = self.robot.model.actuators[a].control_range;
        let u = clamped(self.control[a], range);
        let dynamics = self.robot.index.actuators[a].dynamics;
        let (u_bar, now_bar) = dynamics.rate_vjp(self.tendons.params, u, now, step, bar, params_bar);
        *control_bar += clamped_vjp(self.control[a], range, u_bar);
        now_bar
    }
}

/// `u` moved by full turns to be nearest to `length`.
fn nearest_turn<T: Real>(u: T, length: T, period: f64) -> T {
    let turns = T::from_lanes(|i| ((length.lane(i) - u.lane(i)) / period).round());
    u + turns * T::lit(period)
}

/// Lengths, velocities and forces of all actuators, and rates of their activations; sets `tau` to their forces on the
/// joints.
pub(crate) fn actuate<T: Real>(
    at: &ActuatorInputs<'_, T>,
    ws: &mut ActuatorState<T>,
    tendons: &mut TendonState<T>,
    tau: &mut [T],
) {
    let (model, index, params) = (&at.robot.model, &at.robot.index, at.tendons.params);
    tau.fill(T::zero());
    for a in 0..model.actuators.len() {
        let (length, velocity) = transmission::length_and_velocity(at, a, tendons);
        let blocks = &index.actuators[a];
        let (drive, gain) = (at.drive(a, length), blocks.gain.value(params, length, velocity));
        let force = gain * drive + blocks.bias.value(params, length, velocity);
        (ws.length[a], ws.velocity[a], ws.drive[a], ws.gain[a]) = (length, velocity, drive, gain);
        (ws.unlimited[a], ws.force[a]) = (force, force);
        if let Some(number) = at.robot.activation_of[a] {
            ws.activation_rate[number] = at.rate(a, at.activation[number], at.robot.filter_step);
        }
    }
    limit_tendons(at, ws);
    Tendons::clear_active(tendons);
    for (a, actuator) in model.actuators.iter().enumerate() {
        ws.force[a] = clamped(ws.force[a], actuator.force_range);
        transmission::add_force(at, a, ws.force[a], tendons, tau);
    }
    at.robot.tendons.active_forces(&at.tendons, tendons, tau);
    for joint in &model.joints {
        tau[joint.v] = clamped(tau[joint.v], joint.actuator_force_range);
    }
}

/// Scales the forces on each tendon whose sum leaves the tendon's range.
fn limit_tendons<T: Real>(at: &ActuatorInputs<'_, T>, ws: &mut ActuatorState<T>) {
    let model = &at.robot.model;
    for (t, tendon) in model.tendons.iter().enumerate() {
        let Some((low, high)) = tendon.actuator_force_range else { continue };
        let mut total = T::zero();
        on_tendon(&model.actuators, t).for_each(|a| total += ws.unlimited[a]);
        let (low, high) = (T::lit(low), T::lit(high));
        let scale = select(total.gt(high), high / total, select(total.lt(low), low / total, T::one()));
        on_tendon(&model.actuators, t).for_each(|a| ws.force[a] = ws.unlimited[a] * scale);
        (ws.tendon_scale[t], ws.tendon_total[t]) = (scale, total);
    }
}

/// Actuators that pull on a tendon.
fn on_tendon(actuators: &[Actuator], tendon: usize) -> impl Iterator<Item = usize> + '_ {
    let pulls = move |a: &Actuator| a.transmission == Transmission::Tendon(tendon);
    actuators.iter().enumerate().filter(move |(_, a)| pulls(a)).map(|(a, _)| a)
}

/// The pullback of [`limit_tendons`]: turns the cotangents of forces into those before.
fn limit_tendons_vjp<T: Real>(at: &ActuatorInputs<'_, T>, ws: &mut ActuatorState<T>) {
    let model = &at.robot.model;
    for t in (0..model.tendons.len()).filter(|t| model.tendons[*t].actuator_force_range.is_some()) {
        // f′ = f·bound/Σf
        let (scale, total) = (ws.tendon_scale[t], ws.tendon_total[t]);
        let scaled = scale.lt(T::one());
        let mut scale_bar = T::zero();
        on_tendon(&model.actuators, t).for_each(|a| scale_bar += ws.force_bar[a] * ws.unlimited[a]);
        let total_bar = select(scaled, -(scale_bar * scale / select(scaled, total, T::one())), T::zero());
        on_tendon(&model.actuators, t).for_each(|a| ws.force_bar[a] = ws.force_bar[a] * scale + total_bar);
    }
}

/// The pullback of [`actuate`], which gave `tau`, with cotangents of `tau` and of the rates of the activations: *adds*
/// to the cotangents in `tendons` and `bars`. `tau_bar` becomes that of the sums before they were clamped.
pub(crate) fn actuate_vjp<T: Real>(
    at: &ActuatorInputs<'_, T>,
    ws: &mut ActuatorState<T>,
    tendons: &mut TendonState<T>,
    (tau, tau_bar, rate_bar): (&[T], &mut [T], &[T]),
    bars: &mut ActuatorBars<'_, T>,
) {
    let (model, index, params) = (&at.robot.model, &at.robot.index, at.tendons.params);
    tau_bar.iter_mut().zip(&ws.seeds.joint).for_each(|(bar, seed)| *bar += *seed);
    for joint in &model.joints {
        if let Some((low, high)) = joint.actuator_force_range {
            // The sum itself is not kept; at the ends of the range nothing passes.
            let inside = tau[joint.v].gt(T::lit(low)) & tau[joint.v].lt(T::lit(high));
            tau_bar[joint.v] = select(inside, tau_bar[joint.v], T::zero());
        }
    }
    at.robot.tendons.active_forces_vjp(&at.tendons, tendons, tau_bar, bars.axes, bars.params);
    for (a, actuator) in model.actuators.iter().enumerate() {
        let seed = ws.seeds.force.get(a).copied().unwrap_or(T::zero());
        let bar = transmission::add_force_vjp(at, a, ws.force[a], tendons, tau_bar, bars) + seed;
        let before = match actuator.transmission {
            Transmission::Tendon(t) if model.tendons[t].actuator_force_range.is_some() => {
                ws.unlimited[a] * ws.tendon_scale[t]
            }
            _ => ws.unlimited[a],
        };
        ws.force_bar[a] = clamped_vjp(before, actuator.force_range, bar);
    }
    limit_tendons_vjp(at, ws);
    for (a, actuator) in model.actuators.iter().enumerate() {
        let (blocks, bar) = (&index.actuators[a], ws.force_bar[a]);
        let (length, velocity, drive) = (ws.length[a], ws.velocity[a], ws.drive[a]);
        let (l1, v1) = blocks.gain.value_vjp(params, length, velocity, bar * drive, bars.params);
        let (l2, v2) = blocks.bias.value_vjp(params, length, velocity, bar, bars.params);
        let seed = |seeds: &[T]| seeds.get(a).copied().unwrap_or(T::zero());
        let (length_seed, velocity_seed) = (seed(&ws.seeds.length), seed(&ws.seeds.velocity));
        (ws.length_bar[a], ws.velocity_bar[a]) = (l1 + l2 + length_seed, v1 + v2 + velocity_seed);
        let drive_bar = bar * ws.gain[a];
        let Some(number) = at.robot.activation_of[a] else {
            bars.control[a] += clamped_vjp(at.control[a], actuator.control_range, drive_bar);
            continue;
        };
        let now = at.activation[number];
        if actuator.early {
            let h = at.robot.dt;
            let next = now + at.rate(a, now, Some(h)) * T::lit(h);
            let next_bar = clamped_vjp(next, actuator.activation_range, drive_bar);
            let by_rate = next_bar * T::lit(h);
            let now_bar = at.rate_vjp(a, now, Some(h), by_rate, &mut bars.control[a], bars.params);
            bars.activation[number] += next_bar + now_bar;
        } else {
            bars.activation[number] += drive_bar;
        }
        let step = at.robot.filter_step;
        let now_bar = at.rate_vjp(a, now, step, rate_bar[number], &mut bars.control[a], bars.params);
        bars.activation[number] += now_bar;
    }
    for a in 0..model.actuators.len() {
        transmission::length_and_velocity_vjp(at, a, (ws.length_bar[a], ws.velocity_bar[a]), tendons, bars);
    }
}

/// Visits the actuators with the slope of their force over velocity, zero at the ends of the force range, and drive.
pub(crate) fn for_each_slope<T: Real>(
    at: &ActuatorInputs<'_, T>,
    ws: &ActuatorState<T>,
    mut visit: impl FnMut(usize, T),
) {
    let params = at.tendons.params;
    for (a, actuator) in at.robot.model.actuators.iter().enumerate() {
        let blocks = &at.robot.index.actuators[a];
        let gain = blocks.gain.slope(params, ws.length[a], ws.velocity[a]);
        let slope = gain * ws.drive[a] + blocks.bias.slope(params);
        visit(a, inside_range(ws.force[a], actuator.force_range, slope));
    }
}

fn inside_range<T: Real>(force: T, range: Option<(f64, f64)>, x: T) -> T {
    match range {
        None => x,
        Some((low, high)) => select(force.gt(T::lit(low)) & force.lt(T::lit(high)), x, T::zero()),
    }
}

/// The pullback of the slope of one actuator: *adds* to the cotangents of parameters, activation, control, and of
/// length and velocity through the transmission.
pub(crate) fn slope_vjp<T: Real>(
    at: &ActuatorInputs<'_, T>,
    ws: &ActuatorState<T>,
    a: usize,
    slope_bar: T,
    tendons: &mut TendonState<T>,
    bars: &mut ActuatorBars<'_, T>,
) {
    let params = at.tendons.params;
    let (actuator, blocks) = (&at.robot.model.actuators[a], &at.robot.index.actuators[a]);
    let bar = inside_range(ws.force[a], actuator.force_range, slope_bar);
    let (length, velocity, drive) = (ws.length[a], ws.velocity[a], ws.drive[a]);
    let gain = blocks.gain.slope(params, length, velocity);
    let length_and_velocity_bar = blocks.gain.slope_vjp(params, length, velocity, bar * drive, bars.params);
    blocks.bias.slope_vjp(bar, bars.params);
    let drive_bar = bar * gain;
    match at.robot.activation_of[a] {
        None => bars.control[a] += clamped_vjp(at.control[a], actuator.control_range, drive_bar),
        Some(number) if actuator.early => {
            let (now, h) = (at.activation[number], at.robot.dt);
            let next = now + at.rate(a, now, Some(h)) * T::lit(h);
            let next_bar = clamped_vjp(next, actuator.activation_range, drive_bar);
            let by_rate = next_bar * T::lit(h);
            let now_bar = at.rate_vjp(a, now, Some(h), by_rate, &mut bars.control[a], bars.params);
            bars.activation[number] += next_bar + now_bar;
        }
        Some(number) => bars.activation[number] += drive_bar,
    }
    transmission::length_and_velocity_vjp(at, a, length_and_velocity_bar, tendons, bars);
}
