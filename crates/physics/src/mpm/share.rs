//! How hard nodes meet a body that gives way.
//!
//! Nodes of more mass than a light body, all stopped at its velocity, would throw it back faster than it came. A coupled body
//! therefore takes only the share β of the change that its nodes are to make, chosen so that nodes and body together lose the
//! most energy: with u the approach of a node along the normal, s its strength, J and L the impulse and moment on the
//! body at β = 1,
//!
//! β = Σ m s u² / (Σ m s² u² + J²/M + L²/I), at most 1.
//!
//! For one body and nodes of one velocity this is the perfectly plastic impact; for a body far heavier than its nodes, and for nodes
//! that press from both sides, β = 1. Momentum does not depend on β.
//!
//! # Limits
//!
//! M and I (a third of the trace) are those of the body alone: joints, and what they carry, do not count. So give bodies that servos
//! hold the mass they stand for. Friction is left out of the choice.

use pullback_math::{Flat, Mask, Real, Scalar, Vec3, differentiable, select};

use super::blocks::BLOCK_NODES;
use super::colliders::{Drive, Reaction};
use super::grid::{there, velocity, velocity_vjp};
use super::nodes::node_pack;
use super::system::Mpm;
use super::workspace::MpmWorkspace;

/// What the nodes that approach a collider bring, place by place: Σ m s u², Σ m s² u², impulse and moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach<P> {
    pub energy: P,
    pub given: P,
    pub reaction: Reaction<P>,
}

impl<P: Real> Approach<P> {
    /// Nothing yet.
    pub fn zero() -> Self {
        Approach { energy: P::zero(), given: P::zero(), reaction: Reaction::zero() }
    }
}

/// β from the sums over a body's nodes, its mass and its inertia.
#[differentiable]
fn share<T: Real>(energy: T, given: T, impulse: Vec3<T>, moment: Vec3<T>, mass: T, inertia: T) -> T {
    let back = given + impulse.norm_squared() / mass + moment.norm_squared() / inertia;
    let comes = back.gt(T::lit(1e6 * T::MIN_POSITIVE));
    let share = (energy / select(comes, back, T::one())).min(T::one());
    select(comes, share, T::one())
}

/// Sums over the nodes of all geoms of a body: Σ m s u², Σ m s² u², impulse, moment.
type Sums<T> = (T, T, Vec3<T>, Vec3<T>);

impl Mpm {
    /// The body of each geom that gives way, by the place of the geom among those that deflect.
    fn gives(&self, i: usize) -> Option<usize> {
        let model = self.robot.model();
        let body = model.geoms[self.geoms[i]].body;
        let b = &model.bodies[body];
        let moved = body != 0 && matches!(self.drive, Drive::Forces { .. });
        (moved && b.mass > 0.0 && b.inertia.trace() > 0.0).then_some(body)
    }

    /// Mass and mean inertia of a body.
    fn inertia_of<T: Real>(&self, params: &[T], body: usize) -> (T, T) {
        let p = &params[self.robot.index().body[body]..];
        (p[0], (p[4] + p[5] + p[6]) * T::lit(1.0 / 3.0))
    }

    fn sums<T: Scalar>(&self, body: usize, approaches: &[Approach<T::Pack>]) -> Sums<T> {
        let mut sums = (T::zero(), T::zero(), Vec3::zero(), Vec3::zero());
        for (i, a) in approaches.iter().enumerate() {
            if self.gives(i) == Some(body) {
                sums.0 += T::total(a.energy);
                sums.1 += T::total(a.given);
                sums.2 += T::total_vector(a.reaction.impulse);
                sums.3 += T::total_vector(a.reaction.moment);
            }
        }
        sums
    }

    /// Positions of the nodes at `place` in the block with the lowest node `corner`, m.
    fn at<T: Scalar>(&self, corner: [usize; 3], place: Vec3<T::Pack>) -> Vec3<T::Pack> {
        let [x, y, z] = corner.map(|c| T::Pack::lit(c as f64));
        (Vec3 { x, y, z } + place) * T::Pack::lit(self.grid.spacing)
    }

    /// β of every collider; 1 for those that do not give way.
    pub(super) fn share_out<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        if !self.is_coupled() {
            return;
        }
        let MpmWorkspace { blocks, momenta, places, colliders, bounds, near, approaches, shares, .. } = ws;
        approaches.fill(Approach::zero());
        let pull: Vec3<T::Pack> = self.pull(params).map(T::fill);
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.look_around(bounds, corner, near);
            near.retain(|i| self.gives(*i).is_some());
            for i in near.iter() {
                let (geom, model) = (&colliders[*i], self.robot.model());
                for (n, place) in places.iter().enumerate() {
                    let x = self.at::<T>(corner, *place);
                    if geom.away(x, T::Pack::lit(self.felt())) {
                        continue;
                    }
                    let at = slot * BLOCK_NODES + n * T::WIDTH;
                    let (p, m) = node_pack::<T>(&momenta[at..at + T::WIDTH]);
                    let v = velocity(p, m, pull);
                    geom.approach(model, x, v, m, self.grid.softness, &mut approaches[*i]);
                }
            }
        }
        for i in 0..shares.len() {
            if let Some(body) = self.gives(i) {
                let (energy, given, impulse, moment) = self.sums::<T>(body, approaches);
                let (mass, inertia) = self.inertia_of(params, body);
                shares[i] = share(energy, given, impulse, moment, mass, inertia).fill();
            }
        }
    }

    /// The pullback of [`Mpm::share_out`] from `share_bars`: *adds* to the cotangents of the nodes, the geoms and the parameters.
    pub(super) fn share_out_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        if !self.is_coupled() {
            return;
        }
        let MpmWorkspace { blocks, momenta, bars, places, colliders, bounds, near, geom_bars, .. } = ws;
        let MpmWorkspace { approaches, approach_bars, share_bars, .. } = ws;
        // β to the sums of each geom.
        for (i, bar) in approach_bars.iter_mut().enumerate() {
            *bar = Approach::zero();
            let Some(body) = self.gives(i) else { continue };
            let share_bar = (0..self.geoms.len())
                .filter(|k| self.gives(*k) == Some(body))
                .fold(T::zero(), |sum, k| sum + T::total(share_bars[k]));
            let (energy, given, impulse, moment) = self.sums::<T>(body, approaches);
            let (mass, inertia) = self.inertia_of(params, body);
            let (energy, given, impulse, moment, mass_bar, inertia_bar) =
                share_vjp(energy, given, impulse, moment, mass, inertia, share_bar);
            let reaction = Reaction { impulse: impulse.map(T::fill), moment: moment.map(T::fill) };
            *bar = Approach { energy: energy.fill(), given: given.fill(), reaction };
            // Mass and inertia are the body's: once for all of its geoms.
            if (0..i).all(|k| self.gives(k) != Some(body)) {
                let at = self.robot.index().body[body];
                params_bar[at] += mass_bar;
                for k in 4..7 {
                    params_bar[at + k] += inertia_bar * T::lit(1.0 / 3.0);
                }
            }
        }

        let pull: Vec3<T::Pack> = self.pull(params).map(T::fill);
        let mut pull_bar = Vec3::new(T::Pack::zero(), T::Pack::zero(), T::Pack::zero());
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.look_around(bounds, corner, near);
            near.retain(|i| self.gives(*i).is_some());
            for i in near.iter() {
                let (geom, model) = (&colliders[*i], self.robot.model());
                for (n, place) in places.iter().enumerate() {
                    let x = self.at::<T>(corner, *place);
                    let at = slot * BLOCK_NODES + n * T::WIDTH;
                    let (p, m) = node_pack::<T>(&momenta[at..at + T::WIDTH]);
                    if geom.away(x, T::Pack::lit(self.felt())) || !there(m).any() {
                        continue;
                    }
                    let (v, softness) = (velocity(p, m, pull), self.grid.softness);
                    let (v_bar, m_bar) =
                        geom.approach_vjp(model, x, v, m, softness, &approach_bars[*i], &mut geom_bars[*i]);
                    let (p_bar, m_from_v, pulled) = velocity_vjp(p, m, pull, v_bar);
                    pull_bar += pulled;
                    let m_bar = m_bar + m_from_v;
                    for (k, bar) in bars[at..at + T::WIDTH].iter_mut().enumerate() {
                        let p = T::unpack_vector(&p_bar, k);
                        *bar += T::quad([p.x, p.y, p.z, T::unpack(&m_bar, k)]);
                    }
                }
            }
        }
        (T::total_vector(pull_bar) * T::lit(self.dt)).add_to(&mut params_bar[self.robot.index().gravity..]);
    }
}
