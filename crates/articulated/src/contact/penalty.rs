//! Compliant contact between geoms: penalty forces with relaxed Coulomb friction (gradSim, Rewarped).
//!
//! The law of one contact is [`penalty_force`](pullback_collision::penalty_force). Its constants are those of
//! all contacts or of the two geoms ([`ContactMaterials`](crate::ContactMaterials)). Friction is the pair's
//! own or that of the two geoms. Forces act on the bodies as pushes at their frames.

use pullback_collision::{Contact, PenaltyLaw, penalty_force_at, penalty_force_at_vjp};
use pullback_core::Workspace;
use pullback_math::{Cotangent, Force, Motion, Real, Vec3, differentiable};

use super::distance::{DistantSpline, distant_depth, distant_depth_vjp};
use super::{ContactSet, FoundPair, GeomView, MotionBars, Resolve};
use crate::model::{MaterialMixing, Model};
use crate::pairs::GeomPair;
use crate::params::{LawBlocks, ParamIndex};
use crate::rnea::Push;
use crate::tree::Tree;

/// The penalty model of contact.
#[derive(Clone, Copy, Debug)]
pub struct Penalty;

/// Memory of [`Penalty`]: none, since the pullback computes forces again.
#[derive(Clone, Copy, Debug, Workspace)]
pub struct PenaltyWorkspace;

/// A constant of a contact from those of its two geoms.
#[differentiable]
#[inline(always)]
pub(crate) fn mix<T: Real>(a: T, b: T, #[constant] mixing: MaterialMixing) -> T {
    if mixing == MaterialMixing::Larger { a.max(b) } else { (a + b) * T::lit(0.5) }
}

/// The law of a contact from those of its two geoms.
#[differentiable]
#[inline(always)]
fn mixed_law<T: Real>(
    a: PenaltyLaw<T>,
    b: PenaltyLaw<T>,
    #[constant] mixing: MaterialMixing,
) -> PenaltyLaw<T> {
    PenaltyLaw {
        stiffness: mix(a.stiffness, b.stiffness, mixing),
        damping: mix(a.damping, b.damping, mixing),
        friction_slope: mix(a.friction_slope, b.friction_slope, mixing),
    }
}

/// The law of a contact between two geoms; zero where nothing can touch.
pub fn pair_law<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    (a, b): (usize, usize),
) -> PenaltyLaw<T> {
    match &index.law {
        None => PenaltyLaw::default(),
        Some(LawBlocks::Shared(law)) => law.read(params),
        Some(LawBlocks::PerGeom(laws)) => {
            mixed_law(laws[a].read(params), laws[b].read(params), model.options.material_mixing)
        }
    }
}

/// The pullback of [`pair_law`]: *adds* to the cotangents of the parameters.
fn pair_law_vjp<T: Real>(
    geoms: &GeomView<'_, T>,
    (a, b): (usize, usize),
    bar: PenaltyLaw<T>,
    params_bar: &mut [T],
) {
    match &geoms.index.law {
        None => {}
        Some(LawBlocks::Shared(law)) => law.add(bar, params_bar),
        Some(LawBlocks::PerGeom(laws)) => {
            let of = |geom: usize| laws[geom].read(geoms.params);
            let (first, second, ()) = mixed_law_vjp(of(a), of(b), geoms.model.options.material_mixing, bar);
            laws[a].add(first, params_bar);
            laws[b].add(second, params_bar);
        }
    }
}

/// Friction of a pair: its own, or else that of the two geoms.
pub(crate) fn pair_friction<T: Real>(geoms: &GeomView<'_, T>, pair: GeomPair) -> T {
    let (a, b) = pair.geoms;
    match pair.explicit {
        Some(number) => T::lit(geoms.model.pairs[number].friction[0]),
        None => {
            let of = |geom: usize| geoms.params_of(geom).friction;
            mix(of(a), of(b), geoms.model.options.material_mixing)
        }
    }
}

/// The pullback of [`pair_friction`]: *adds* to the cotangents of the geoms' friction.
pub(crate) fn pair_friction_vjp<T: Real>(
    geoms: &GeomView<'_, T>,
    pair: GeomPair,
    bar: T,
    friction_bars: &mut [T],
) {
    if pair.explicit.is_none() {
        let (a, b) = pair.geoms;
        let of = |geom: usize| geoms.params_of(geom).friction;
        let (first, second, ()) = mix_vjp(of(a), of(b), geoms.model.options.material_mixing, bar);
        friction_bars[a] += first;
        friction_bars[b] += second;
    }
}

/// How the contacts of a pair act from distance, if they do.
fn distant_spline<T: Real>(geoms: &GeomView<'_, T>, pair: (usize, usize)) -> Option<DistantSpline<T>> {
    geoms.distant.filter(|distant| distant.width_of(pair) > 0.0).map(|distant| distant.spline())
}

/// Depth of a contact: max(−distance, 0), or as it acts from distance.
fn depth<T: Real>(distant: Option<DistantSpline<T>>, distance: T) -> T {
    distant.map_or_else(|| (-distance).max(T::zero()), |spline| distant_depth(distance, spline))
}

/// The pullback of [`depth`].
fn depth_vjp<T: Real>(distant: Option<DistantSpline<T>>, distance: T, bar: T) -> T {
    match distant {
        None => -(-distance).max_vjp(T::zero(), bar).0,
        Some(spline) => distant_depth_vjp(distance, spline, bar).0,
    }
}

/// Velocity of the second body against the first at `point`.
fn relative_velocity<T: Real>(
    geoms: &GeomView<'_, T>,
    velocities: &[Motion<T>],
    (a, b): (usize, usize),
    point: Vec3<T>,
) -> Vec3<T> {
    let of = |body: usize| velocities[body].velocity_at(point - geoms.kinematics.origins[body]);
    of(b) - of(a)
}

/// The force of one contact on the body of the second geom of its pair, N.
pub(super) fn contact_force<T: Real>(
    geoms: &GeomView<'_, T>,
    pair: &FoundPair,
    contact: &Contact<T>,
    velocities: &[Motion<T>],
) -> Vec3<T> {
    let (a, b) = pair.geoms;
    let bodies = (geoms.model.geoms[a].body, geoms.model.geoms[b].body);
    let velocity = relative_velocity(geoms, velocities, bodies, contact.position);
    let depth = depth(distant_spline(geoms, pair.geoms), contact.distance);
    let law = pair_law(geoms.model, geoms.index, geoms.params, pair.geoms);
    let (friction, form) = (pair_friction(geoms, pair.pair()), geoms.model.options.contact_damping);
    penalty_force_at(depth, contact.normal, velocity, friction, law, form)
}

impl<T: Real> Resolve<T> for Penalty {
    type Workspace = PenaltyWorkspace;

    fn workspace(&self, _tree: &Tree, _contacts: usize) -> PenaltyWorkspace {
        PenaltyWorkspace
    }

    fn push(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &ContactSet<T>,
        velocities: &[Motion<T>],
        pushes: &mut [Push<T>],
    ) {
        let form = geoms.model.options.contact_damping;
        for pair in contacts.pairs() {
            let (friction, law) = (
                pair_friction(geoms, pair.pair()),
                pair_law(geoms.model, geoms.index, geoms.params, pair.geoms),
            );
            let distant = distant_spline(geoms, pair.geoms);
            let (a, b) = (geoms.model.geoms[pair.geoms.0].body, geoms.model.geoms[pair.geoms.1].body);
            for contact in &contacts.contacts()[pair.contacts()] {
                let velocity = relative_velocity(geoms, velocities, (a, b), contact.position);
                let depth = depth(distant, contact.distance);
                let force = penalty_force_at(depth, contact.normal, velocity, friction, law, form);
                for (body, force) in [(a, -force), (b, force)] {
                    let arm = contact.position - geoms.kinematics.world_from_body[body].translation;
                    pushes[body].force += force;
                    pushes[body].torque += arm.cross(force);
                }
            }
        }
    }

    fn push_vjp(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &mut ContactSet<T>,
        velocities: &[Motion<T>],
        push_bars: &[Push<T>],
        bars: &mut MotionBars<'_, T>,
    ) {
        let form = geoms.model.options.contact_damping;
        let origins = &geoms.kinematics.origins;
        for pair in 0..contacts.pairs().len() {
            let pair = contacts.pairs()[pair];
            let (friction, law) = (
                pair_friction(geoms, pair.pair()),
                pair_law(geoms.model, geoms.index, geoms.params, pair.geoms),
            );
            let distant = distant_spline(geoms, pair.geoms);
            let (a, b) = (geoms.model.geoms[pair.geoms.0].body, geoms.model.geoms[pair.geoms.1].body);
            let (mut friction_bar, mut law_bar) = (T::zero(), PenaltyLaw::default());
            for slot in pair.contacts() {
                let Contact { position, normal, distance } = contacts.contacts()[slot];
                let bar = &mut contacts.contact_bars[slot];
                let velocity = relative_velocity(geoms, velocities, (a, b), position);
                let force = penalty_force_at(depth(distant, distance), normal, velocity, friction, law, form);

                // push.force += ±f, push.torque += (x − p) × ±f
                let mut force_bar = Vec3::zero();
                for (body, sign) in [(a, -T::one()), (b, T::one())] {
                    let origin = geoms.kinematics.world_from_body[body].translation;
                    let (arm, push) = (position - origin, push_bars[body]);
                    let (arm_bar, signed_bar) = arm.cross_vjp(force * sign, push.torque);
                    force_bar += (push.force + signed_bar) * sign;
                    bar.position += arm_bar;
                    bars.wrenches[body] += Force::at_point(-arm_bar, origin - origins[body]);
                }
                let deep = depth(distant, distance);
                let (depth_bar, normal_bar, velocity_bar, friction_part, law_part, ()) =
                    penalty_force_at_vjp(deep, normal, velocity, friction, law, form, force_bar);
                bar.distance += depth_vjp(distant, distance, depth_bar);
                bar.normal += normal_bar;
                friction_bar += friction_part;
                law_bar.accumulate(law_part);

                // velocity of b minus velocity of a, at x
                for (body, sign) in [(a, -T::one()), (b, T::one())] {
                    let motion = velocities[body];
                    let (motion_bar, point_bar) =
                        motion.velocity_at_vjp(position - origins[body], velocity_bar * sign);
                    bars.velocities[body] += Force::new(motion_bar.angular, motion_bar.linear);
                    bar.position += point_bar;
                }
            }
            pair_friction_vjp(geoms, pair.pair(), friction_bar, &mut contacts.friction_bars);
            pair_law_vjp(geoms, pair.geoms, law_bar, bars.params);
        }
    }
}
