//! Guards: when contacts and limits of the convex model begin and cease to act.
//!
//! A guard is the distance of a slot of a pair, or of a coordinate or a tendon's length from an end of its range, less its margin. It
//! is constant from `NEAR` on. Adaptive steps hold the sides of the guards and end where one changes, since the
//! force of a contact may jump there: its damping acts at once, however shallow it is. A slot may also jump to
//! another feature of its shapes; beyond `SLACK` what holds is what the state says.

use pullback_core::{Bars, Point, Workspace};
use pullback_math::{Force, Real, select};

use super::constraint::contact_law::{contact_margin, contact_margin_vjp};
use super::constraint::joints::{limit_violation, limit_violation_vjp};
use super::constraint::tendon::{tendon_violation, tendon_violation_vjp};
use super::contact::{GeomView, MotionBars};
use super::field::Articulated;
use super::kinematics::Kinematics;
use super::model::Model;
use super::pairs::GeomPair;
use super::params::ParamIndex;
use super::tendon::TendonOutputBars;
use super::workspace::ArticulatedWorkspace;

/// Distance from which a guard is constant, m.
const NEAR: f64 = 0.01;
/// Distance, m or rad, up to which a contact that is held acts, or does not, against what the state says.
pub(crate) const SLACK: f64 = 1e-4;

/// Which guards a model has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guards {
    /// Pairs of geoms, the smaller first, sorted, with the first guard of each.
    pairs: Vec<(GeomPair, usize)>,
    /// Joints with a range, with the guard of the lower end; that of the upper end follows.
    limits: Vec<(usize, usize)>,
    /// First guard of each joint.
    limit_of: Vec<Option<usize>>,
    /// Tendons with a range, with the guard of the lower end; that of the upper end follows.
    tendons: Vec<(usize, usize)>,
    /// First guard of each tendon.
    tendon_limit_of: Vec<Option<usize>>,
    /// How many there are.
    pub count: usize,
}

impl Guards {
    /// The guards of a model whose geoms touch in `pairs`.
    pub fn new(model: &Model, index: &ParamIndex, pairs: &[(usize, usize)]) -> Self {
        let mut guards = Guards {
            limit_of: vec![None; model.joints.len()],
            tendon_limit_of: vec![None; model.tendons.len()],
            ..Guards::default()
        };
        let Some(constraints) = &index.constraints else { return guards };
        let kind = |geom: usize| model.collider::<f64>(&model.geoms[geom]).kind;
        let explicit = GeomPair::explicit(model);
        for &(a, b) in pairs {
            for pair in GeomPair::all(&explicit, (a.min(b), a.max(b))) {
                guards.pairs.push((pair, guards.count));
                guards.count += model.contact_slots(kind(a), kind(b));
            }
        }
        guards.pairs.sort_unstable();
        for joint in 0..model.joints.len() {
            if constraints.joints[joint].limit.is_some() && index.joints[joint].range.is_some() {
                guards.limits.push((joint, guards.count));
                guards.limit_of[joint] = Some(guards.count);
                guards.count += 2;
            }
        }
        for tendon in 0..model.tendons.len() {
            if constraints.tendons[tendon].limit.is_some() && index.tendons[tendon].range.is_some() {
                guards.tendons.push((tendon, guards.count));
                guards.tendon_limit_of[tendon] = Some(guards.count);
                guards.count += 2;
            }
        }
        guards
    }

    /// The first guard of a pair.
    fn of_pair(&self, pair: GeomPair) -> Option<usize> {
        let (a, b) = pair.geoms;
        let key = GeomPair { geoms: (a.min(b), a.max(b)), ..pair };
        self.pairs.binary_search_by_key(&key, |(pair, _)| *pair).ok().map(|i| self.pairs[i].1)
    }
}

/// Sides of the guards that are held during a step.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a, T> {
    guards: &'a Guards,
    sides: &'a [T],
}

impl<T: Real> Held<'_, T> {
    /// Whether a contact acts, by its pair and number in it; r is its distance less its margin.
    pub fn contact_acts(&self, pair: GeomPair, number: usize, r: T) -> T::Mask {
        self.acts(self.guards.of_pair(pair).map(|first| first + number), r)
    }

    /// Whether an end of a joint's range acts.
    pub fn limit_acts(&self, joint: usize, upper: bool, r: T) -> T::Mask {
        self.acts(self.guards.limit_of[joint].map(|first| first + usize::from(upper)), r)
    }

    /// Whether an end of a tendon's range acts.
    pub fn tendon_limit_acts(&self, tendon: usize, upper: bool, r: T) -> T::Mask {
        self.acts(self.guards.tendon_limit_of[tendon].map(|first| first + usize::from(upper)), r)
    }

    fn acts(&self, guard: Option<usize>, r: T) -> T::Mask {
        let Some(guard) = guard else { return r.lt(T::zero()) };
        let (side, zero) = (self.sides[guard], T::zero());
        let apart = select(side.gt(zero), T::lit(-SLACK), zero);
        r.lt(select(side.lt(zero), T::lit(SLACK), apart))
    }
}

/// Sides of the guards while steps hold them.
#[derive(Clone, Debug, Workspace)]
pub(crate) struct HeldSides<T> {
    sides: Vec<T>,
    #[workspace(plain)]
    holds: bool,
}

impl<T: Real> HeldSides<T> {
    pub fn new(guards: &Guards) -> Self {
        HeldSides { sides: vec![T::zero(); guards.count], holds: false }
    }

    /// Holds the sides, or lets the state decide.
    pub fn hold(&mut self, sides: Option<&[T]>) {
        self.holds = sides.is_some();
        if let Some(sides) = sides {
            self.sides.copy_from_slice(sides);
        }
    }

    /// The sides, where they are held.
    pub fn get<'a>(&'a self, guards: &'a Guards) -> Option<Held<'a, T>> {
        self.holds.then_some(Held { guards, sides: &self.sides })
    }
}

impl Articulated {
    /// Values of the guards at a state.
    pub(super) fn guard_values<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        values: &mut [T],
    ) {
        values.fill(T::lit(NEAR));
        let Some(index) = &self.index.constraints else { return };
        self.place(ws, at);
        let geoms = self.guarding_geoms(&ws.kinematics, at.params);
        for pair in ws.contacts.pairs() {
            let Some(first) = self.guards.of_pair(pair.pair()) else { continue };
            let margin = contact_margin(&geoms, index, pair.pair());
            for (value, contact) in values[first..].iter_mut().zip(&ws.contacts.contacts()[pair.contacts()]) {
                *value = (contact.distance - margin).min(T::lit(NEAR));
            }
        }
        for &(joint, first) in &self.guards.limits {
            for upper in [false, true] {
                let r = limit_violation(&geoms, index, at.state, (joint, upper));
                values[first + usize::from(upper)] = r.min(T::lit(NEAR));
            }
        }
        for &(tendon, first) in &self.guards.tendons {
            for upper in [false, true] {
                let r = tendon_violation(&geoms, index, ws.tendons.length[tendon], (tendon, upper));
                values[first + usize::from(upper)] = r.min(T::lit(NEAR));
            }
        }
    }

    /// The pullback of [`Articulated::guard_values`]: *adds* to all cotangents.
    pub(super) fn guard_values_vjp<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        values_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Some(index) = &self.index.constraints else { return };
        self.place(ws, at);
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (mut wrenches, mut velocity_bars) =
            (std::mem::take(&mut ws.wrenches), std::mem::take(&mut ws.velocity_bars));
        wrenches.fill(Force::zero());
        velocity_bars.fill(Force::zero());
        let ArticulatedWorkspace { kinematics, contacts, tendons, sweep, .. } = &mut *ws;
        contacts.clear_bars();
        let geoms = self.guarding_geoms(kinematics, at.params);
        for pair in 0..contacts.pairs().len() {
            let pair = contacts.pairs()[pair];
            let Some(first) = self.guards.of_pair(pair.pair()) else { continue };
            let margin = contact_margin(&geoms, index, pair.pair());
            let mut margin_bar = T::zero();
            for (number, slot) in pair.contacts().enumerate() {
                let near = (contacts.contacts()[slot].distance - margin).lt(T::lit(NEAR));
                let bar = select(near, values_bar[first + number], T::zero());
                contacts.contact_bars[slot].distance += bar;
                margin_bar -= bar;
            }
            contact_margin_vjp(&geoms, index, pair.pair(), margin_bar, params_bar);
        }
        contacts.find_vjp(&geoms, &mut wrenches, params_bar);
        for &(joint, first) in &self.guards.limits {
            for upper in [false, true] {
                let near = limit_violation(&geoms, index, at.state, (joint, upper)).lt(T::lit(NEAR));
                let bar = select(near, values_bar[first + usize::from(upper)], T::zero());
                limit_violation_vjp(&geoms, index, (joint, upper), bar, (state_bar, params_bar));
            }
        }
        if !self.guards.tendons.is_empty() {
            tendons.bars.clear();
            for &(tendon, first) in &self.guards.tendons {
                for upper in [false, true] {
                    let r = tendon_violation(&geoms, index, tendons.length[tendon], (tendon, upper));
                    let bar = select(r.lt(T::lit(NEAR)), values_bar[first + usize::from(upper)], T::zero());
                    let length_bar = tendon_violation_vjp(&geoms, index, (tendon, upper), bar, params_bar);
                    tendons.bars.length[tendon] += length_bar;
                }
            }
            let (q, v) = at.state.split_at(self.model.nq);
            let inputs = self.tendon_inputs(at.params, (q, v), (kinematics, &sweep.velocities));
            let (q_bar, v_bar) = state_bar.split_at_mut(self.model.nq);
            let mut bars = TendonOutputBars {
                q: q_bar,
                v: v_bar,
                params: params_bar,
                velocities: &mut velocity_bars,
                wrenches: &mut wrenches,
            };
            self.tendons.update_vjp(&inputs, tendons, &mut bars);
        }
        let mocap = self.mocap_range();
        self.mocap_vjp(kinematics, &at.control[mocap.clone()], |b| wrenches[b], &mut control_bar[mocap]);
        let bars = MotionBars { velocities: &mut velocity_bars, wrenches: &mut wrenches, params: params_bar };
        self.motion_vjp(ws, at.params, at.state, bars, state_bar);
        (ws.wrenches, ws.velocity_bars) = (wrenches, velocity_bars);
    }

    /// Finds the contacts and the lengths of tendons at a state.
    fn place<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, at: Point<'_, T>) {
        let (q, mocap) = (&at.state[..self.model.nq], &at.control[self.mocap_range()]);
        let ArticulatedWorkspace { kinematics, contacts, tendons, sweep, .. } = ws;
        kinematics.update(&self.model, &self.tree, &self.index, at.params, (q, mocap));
        contacts.find(&self.guarding_geoms(kinematics, at.params), &self.pairs);
        if !self.guards.tendons.is_empty() {
            let v = &at.state[self.model.nq..];
            let inputs = self.tendon_inputs(at.params, (q, v), (kinematics, &sweep.velocities));
            self.tendons.update(&inputs, tendons);
        }
    }

    fn guarding_geoms<'a, T: Real>(
        &'a self,
        kinematics: &'a Kinematics<T>,
        params: &'a [T],
    ) -> GeomView<'a, T> {
        GeomView { slack: NEAR, ..self.geoms(kinematics, params) }
    }
}
