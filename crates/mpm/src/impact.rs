//! Impact of nodes on coupled bodies: the fraction of the impulse that a body takes.
//!
//! Nodes of more mass than a light body, all stopped at its velocity, would throw it back faster than it
//! came. A coupled body therefore takes only the fraction β of the change that its nodes are to make, chosen
//! so that nodes and body together lose the most energy. With u the approach of a node along the normal, s
//! the influence of the collider, J and L the impulse and moment on the body at β = 1,
//!
//! β = Σ m s u² / (Σ m s² u² + J²/M + L²/I), at most 1.
//!
//! For one body and nodes of one velocity this is the perfectly plastic impact. For a body far heavier than
//! its nodes, and for nodes that press from both sides, β = 1. Momentum does not depend on β.
//!
//! # Limits
//!
//! M and I (a third of the trace) are those of the body alone: joints, and what they carry, do not count. So
//! give bodies that servos hold the mass they stand for. Friction is left out of the choice.

use pullback_articulated::params::BodyParams;
use pullback_math::{Mask, Real, Scalar, SymMat3, Vec3, differentiable, select};

use super::colliders::{ColliderMotion, Reaction};
use super::grid::{NodeCollider, has_mass, velocity, velocity_vjp};
use super::nodes::{corner_lanes, lines_of_pack, pack_nodes, unpack_nodes};
use super::system::Mpm;
use super::workspace::MpmWorkspace;

/// Impact of nodes on a collider, lane by lane. The energy lost is Σ m s u² β − ½ (Σ m s² u² + J²/M + L²/I)
/// β².
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Impact<P> {
    /// Σ m s u²
    pub linear: P,
    /// Σ m s² u²
    pub quadratic: P,
    /// J and L.
    pub reaction: Reaction<P>,
}

/// β from the impact on a body, its mass and its inertia.
#[differentiable]
fn impulse_fraction<T: Real>(
    linear: T,
    quadratic: T,
    impulse: Vec3<T>,
    moment: Vec3<T>,
    mass: T,
    inertia: T,
) -> T {
    let curvature = quadratic + impulse.norm_squared() / mass + moment.norm_squared() / inertia;
    let approaching = curvature.gt(T::lit(1e6 * T::MIN_POSITIVE));
    let fraction = (linear / select(approaching, curvature, T::one())).min(T::one());
    select(approaching, fraction, T::one())
}

impl Mpm {
    /// The body of collider `i` if it takes impulses: it can move, and has mass and inertia.
    fn coupled_body(&self, i: usize) -> Option<usize> {
        let model = self.robot.model();
        let body = model.geoms[self.geoms[i]].body;
        let b = &model.bodies[body];
        let moves = body != 0 && matches!(self.motion, ColliderMotion::Dynamic { .. });
        (moves && b.mass > 0.0 && b.inertia.trace() > 0.0).then_some(body)
    }

    /// Mass and mean inertia of a body.
    fn mass_and_inertia<T: Real>(&self, params: &[T], body: usize) -> (T, T) {
        let body = self.robot.index().body(body).read(params);
        (body.mass, body.inertia.trace() * T::lit(1.0 / 3.0))
    }

    /// The pullback of [`Mpm::mass_and_inertia`]: *adds* to the cotangent of the parameters.
    fn mass_and_inertia_vjp<T: Real>(&self, body: usize, (mass, inertia): (T, T), params_bar: &mut [T]) {
        let third = inertia * T::lit(1.0 / 3.0);
        let inertia = SymMat3::diagonal(Vec3::new(third, third, third));
        self.robot.index().body(body).add(BodyParams { mass, com: Vec3::zero(), inertia }, params_bar);
    }

    /// Impact on all colliders of a body, added up over lanes.
    fn impact_on<T: Scalar>(&self, body: usize, impacts: &[Impact<T::Pack>]) -> Impact<T> {
        let mut sum = Impact::<T>::default();
        for (i, impact) in impacts.iter().enumerate() {
            if self.coupled_body(i) == Some(body) {
                sum.linear += T::total(impact.linear);
                sum.quadratic += T::total(impact.quadratic);
                sum.reaction.impulse += T::total_vector(impact.reaction.impulse);
                sum.reaction.moment += T::total_vector(impact.reaction.moment);
            }
        }
        sum
    }

    /// β of every collider into the workspace; 1 for those whose body takes no impulses.
    pub(super) fn find_impulse_fractions<T: Scalar>(&self, ws: &mut MpmWorkspace<T>, params: &[T]) {
        if !self.is_coupled() {
            return;
        }
        let MpmWorkspace { blocks, node_momenta, node_offsets, colliders, bounds, nearby, .. } = ws;
        let MpmWorkspace { impacts, impulse_fractions, .. } = ws;
        impacts.fill(Impact::default());
        let (model, softness) = (self.robot.model(), self.grid.softness);
        let gravity_dt: Vec3<T::Pack> = self.gravity_dt(params).map(T::fill);
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.find_nearby(bounds, corner, nearby);
            nearby.retain(|i| self.coupled_body(*i).is_some());
            for i in nearby.iter() {
                let collider = &colliders[*i];
                for (n, offset) in node_offsets.iter().enumerate() {
                    let x = self.node_positions(corner_lanes(corner), *offset);
                    if collider.is_beyond(T::Pack::lit(self.contact_range()), x) {
                        continue;
                    }
                    let at = lines_of_pack::<T>(slot, n);
                    let (p, m) = pack_nodes(&node_momenta[at]);
                    NodeCollider { geom: collider, model, softness }.add_impact(
                        x,
                        velocity(p, m, gravity_dt),
                        m,
                        &mut impacts[*i],
                    );
                }
            }
        }
        for i in 0..impulse_fractions.len() {
            if let Some(body) = self.coupled_body(i) {
                let Impact { linear, quadratic, reaction } = self.impact_on::<T>(body, impacts);
                let (mass, inertia) = self.mass_and_inertia(params, body);
                let Reaction { impulse, moment } = reaction;
                impulse_fractions[i] =
                    impulse_fraction(linear, quadratic, impulse, moment, mass, inertia).fill();
            }
        }
    }

    /// The pullback of [`Mpm::find_impulse_fractions`]: *adds* to the cotangents of the nodes' momenta and
    /// masses, of the colliders and of the parameters.
    pub(super) fn find_impulse_fractions_vjp<T: Scalar>(
        &self,
        ws: &mut MpmWorkspace<T>,
        params: &[T],
        params_bar: &mut [T],
    ) {
        if !self.is_coupled() {
            return;
        }
        let MpmWorkspace { impacts, impact_bars, impulse_fraction_bars, .. } = ws;
        // β to the impact on each collider.
        for (i, bar) in impact_bars.iter_mut().enumerate() {
            *bar = Impact::default();
            let Some(body) = self.coupled_body(i) else { continue };
            let fraction_bar = (0..self.geoms.len())
                .filter(|k| self.coupled_body(*k) == Some(body))
                .fold(T::zero(), |sum, k| sum + T::total(impulse_fraction_bars[k]));
            let Impact { linear, quadratic, reaction: Reaction { impulse, moment } } =
                self.impact_on::<T>(body, impacts);
            let (mass, inertia) = self.mass_and_inertia(params, body);
            let (linear, quadratic, impulse, moment, mass_bar, inertia_bar) =
                impulse_fraction_vjp(linear, quadratic, impulse, moment, mass, inertia, fraction_bar);
            let reaction = Reaction { impulse: impulse.map(T::fill), moment: moment.map(T::fill) };
            *bar = Impact { linear: linear.fill(), quadratic: quadratic.fill(), reaction };
            // Mass and inertia count once for all colliders of a body.
            if (0..i).all(|k| self.coupled_body(k) != Some(body)) {
                self.mass_and_inertia_vjp(body, (mass_bar, inertia_bar), params_bar);
            }
        }

        let MpmWorkspace { blocks, node_momenta, node_rest, node_offsets, .. } = ws;
        let momentum_bars = &mut node_rest[node_momenta.len()..];
        let MpmWorkspace { colliders, collider_bars, bounds, nearby, .. } = ws;
        let (model, softness) = (self.robot.model(), self.grid.softness);
        let gravity_dt: Vec3<T::Pack> = self.gravity_dt(params).map(T::fill);
        let mut gravity_dt_bar = Vec3::<T::Pack>::zero();
        for slot in 0..blocks.slots() {
            let corner = blocks.corner(slot);
            self.find_nearby(bounds, corner, nearby);
            nearby.retain(|i| self.coupled_body(*i).is_some());
            for i in nearby.iter() {
                let (collider, impact_bar) = (&colliders[*i], &ws.impact_bars[*i]);
                for (n, offset) in node_offsets.iter().enumerate() {
                    let x = self.node_positions(corner_lanes(corner), *offset);
                    let at = lines_of_pack::<T>(slot, n);
                    let (p, m) = pack_nodes(&node_momenta[at.clone()]);
                    if collider.is_beyond(T::Pack::lit(self.contact_range()), x) || !has_mass(m).any() {
                        continue;
                    }
                    let v = velocity(p, m, gravity_dt);
                    let collider_bar = &mut collider_bars[*i];
                    let (v_bar, m_bar) = NodeCollider { geom: collider, model, softness }.add_impact_vjp(
                        x,
                        v,
                        m,
                        impact_bar,
                        collider_bar,
                    );
                    let (p_bar, m_from_v, pack_gravity_bar) = velocity_vjp(p, m, gravity_dt, v_bar);
                    gravity_dt_bar += pack_gravity_bar;
                    let m_bar = m_bar + m_from_v;
                    let bars = &mut momentum_bars[at];
                    let (p_before, m_before) = pack_nodes(bars);
                    unpack_nodes(&(p_before + p_bar), &(m_before + m_bar), bars);
                }
            }
        }
        self.gravity_dt_vjp(T::total_vector(gravity_dt_bar), params_bar);
    }
}
