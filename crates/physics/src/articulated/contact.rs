//! Compliant contact between geoms: penalty forces with relaxed Coulomb friction (gradSim, Rewarped).
//!
//! A contact of depth d pushes with ke·d along its normal and resists approach with damping; friction opposes the sliding
//! velocity with kf·|v| up to a bound. Two forms ([`ContactDamping`]): damping in proportion to depth and the bound μ·ke·d
//! (dFlex), so that the force is continuous and gradients converge as the step shrinks; or damping at once and the bound
//! μ times the normal force (Warp), whose force jumps by kd·v at touch, so that gradients of fixed steps miss how the
//! instant of touch moves. Forces act on the bodies as pushes at their frames, so the sweeps know nothing of contacts.
//!
//! With [`MANY_PAIRS`] or more, sort and sweep lists the pairs to look at, in the same order; those left out have no contact, so
//! that forces and gradients keep every bit.

use pullback_math::{Cotangent, Flat, Force, MulVjp, Quat, Real, Transform, Vec3, differentiable, select};

use super::kinematics::Kinematics;
use super::model::{ContactDamping, ContactMaterials, Geom, MaterialMixing, Model};
use super::rnea::{Push, Sweep};
use super::tree::ParamIndex;
use crate::collision::{BroadPhase, Collider, Contact, MAX_CONTACTS, ShapeBar, collide, collide_vjp};

/// Number of pairs from which a broad phase pays.
pub const MANY_PAIRS: usize = 64;

/// Constants of compliant contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct PenaltyLaw<T> {
    /// Stiffness ke, N/m.
    pub stiffness: T,
    /// Damping kd: per depth, N s/m², or plain, N s/m.
    pub damping: T,
    /// Slope of friction at rest kf, N s/m.
    pub friction_slope: T,
}

/// Stiffness, damping and friction slope when nothing else is said: those of dFlex's hopper.
pub const PENALTY_DEFAULTS: [f64; 3] = [2e4, 1e3, 1e3];

/// Force on the second body at a contact; `velocity` is that of the second body against the first.
#[differentiable]
#[inline(always)]
pub fn penalty_force<T: Real>(
    distance: T,
    normal: Vec3<T>,
    velocity: Vec3<T>,
    friction: T,
    law: PenaltyLaw<T>,
    #[constant] form: ContactDamping,
) -> Vec3<T> {
    let depth = (-distance).max(T::zero());
    let approach = velocity.dot(normal).min(T::zero());
    let elastic = law.stiffness * depth;
    // By depth: press = ke d − kd d vₙ, bound = ke d. Plain: press = ke d − kd vₙ where they touch, bound = press.
    let (press, bound) = if form == ContactDamping::ByDepth {
        (elastic - law.damping * depth * approach, elastic)
    } else {
        let press = select(depth.gt(T::zero()), elastic - law.damping * approach, T::zero());
        (press, press)
    };
    let slide = velocity - normal * velocity.dot(normal);
    let grip = (law.friction_slope * slide.norm()).min(friction * bound);
    normal * press - slide.normalize() * grip
}

/// A constant of a contact from those of its two geoms.
#[differentiable]
#[inline(always)]
fn mixed<T: Real>(a: T, b: T, #[constant] mixing: MaterialMixing) -> T {
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
        stiffness: mixed(a.stiffness, b.stiffness, mixing),
        damping: mixed(a.damping, b.damping, mixing),
        friction_slope: mixed(a.friction_slope, b.friction_slope, mixing),
    }
}

/// A geom's block of parameters: size, position, orientation (normalised where it is used), friction; then the law, where
/// every geom has its own.
type GeomParams<T> = (Vec3<T>, Vec3<T>, Quat<T>, T);

/// Where friction and law begin in a geom's block.
const GEOM_FRICTION: usize = 10;
const GEOM_LAW: usize = 11;

/// A geom in the world.
pub(crate) struct Placed<'m, T> {
    pub body: usize,
    orientation: Quat<T>,
    local: Transform<T>,
    pub pose: Transform<T>,
    pub collider: Collider<'m, T>,
    pub friction: T,
}

impl<'m, T: Real> Placed<'m, T> {
    fn new(model: &'m Model, geom: &Geom, p: &[T], kinematics: &Kinematics<T>) -> Self {
        let (size, position, orientation, friction) = <GeomParams<T>>::read(p);
        let local = Transform::from_quat(orientation.normalize(), position);
        let mut collider = Collider::of_shape(model, &geom.shape);
        collider.size = size;
        let pose = kinematics.world_from_body[geom.body] * local;
        Placed { body: geom.body, orientation, local, pose, collider, friction }
    }
}

/// The law of a contact between two geoms.
pub fn pair_law<T: Real>(
    model: &Model,
    index: &ParamIndex,
    params: &[T],
    (a, b): (usize, usize),
) -> PenaltyLaw<T> {
    let of = |geom: usize| PenaltyLaw::read(&params[index.geom[geom] + GEOM_LAW..]);
    match model.options.contact_materials {
        ContactMaterials::Shared => PenaltyLaw::read(&params[index.contact..]),
        ContactMaterials::PerGeom => mixed_law(of(a), of(b), model.options.material_mixing),
    }
}

/// Everything contact forces depend on.
pub(crate) struct Scene<'a, T> {
    pub model: &'a Model,
    pub pairs: &'a [(usize, usize)],
    pub index: &'a ParamIndex,
    pub params: &'a [T],
    pub kinematics: &'a Kinematics<T>,
}

impl<'a, T: Real> Scene<'a, T> {
    fn law(&self, a: usize, b: usize) -> PenaltyLaw<T> {
        pair_law(self.model, self.index, self.params, (a, b))
    }

    fn law_of(&self, geom: usize) -> PenaltyLaw<T> {
        PenaltyLaw::read(&self.params[self.index.geom[geom] + GEOM_LAW..])
    }

    /// The pullback of [`Scene::law`].
    fn law_vjp(&self, a: usize, b: usize, bar: PenaltyLaw<T>, params_bar: &mut [T]) {
        match self.model.options.contact_materials {
            ContactMaterials::Shared => bar.add_to(&mut params_bar[self.index.contact..]),
            ContactMaterials::PerGeom => {
                let mixing = self.model.options.material_mixing;
                let (first, second, ()) = mixed_law_vjp(self.law_of(a), self.law_of(b), mixing, bar);
                first.add_to(&mut params_bar[self.index.geom[a] + GEOM_LAW..]);
                second.add_to(&mut params_bar[self.index.geom[b] + GEOM_LAW..]);
            }
        }
    }

    pub fn placed(&self, geom: usize) -> Placed<'a, T> {
        Placed::new(
            self.model,
            &self.model.geoms[geom],
            &self.params[self.index.geom[geom]..],
            self.kinematics,
        )
    }

    /// Velocity of the second body against the first at `point`.
    fn sliding(&self, sweep: &Sweep<T>, a: usize, b: usize, point: Vec3<T>) -> Vec3<T> {
        let of = |body: usize| sweep.velocities[body].velocity_at(point - self.kinematics.origins[body]);
        of(b) - of(a)
    }

    /// Of the pairs of a broad phase, those whose bounds overlap in any lane; the others exert no force.
    pub fn near<'p>(&self, phase: &'p mut BroadPhase) -> &'p [(usize, usize)] {
        phase.near(self.model.geoms.len(), |geom| {
            let placed = self.placed(geom);
            // Contacts are computed to the round-off of T.
            let far = placed.pose.translation.map(|x| x.abs().max_lane()).norm();
            let radius = placed.collider.bounding_radius();
            let margin = 64.0 * T::EPSILON * if radius.is_finite() { far + radius } else { far };
            (placed.collider, placed.pose, margin)
        })
    }

    /// Hands every contact of every pair that is near to `visit`, with the pair's geoms.
    pub fn for_each_contact(&self, mut visit: impl FnMut((usize, usize), &Contact<T>)) {
        for &(a, b) in self.pairs {
            let (first, second) = (self.placed(a), self.placed(b));
            if apart(&first, &second) {
                continue;
            }
            let mut contacts = [Contact::default(); MAX_CONTACTS];
            let slots = collide(&first.collider, first.pose, &second.collider, second.pose, &mut contacts);
            contacts[..slots].iter().for_each(|c| visit((a, b), c));
        }
    }

    /// Adds the forces of all contacts to the pushes; `sweep` has the velocities.
    pub fn add_forces(&self, sweep: &Sweep<T>, pushes: &mut [Push<T>]) {
        self.for_each_contact(|(a, b), contact| {
            let (friction, law) = (self.friction(a, b), self.law(a, b));
            let form = self.model.options.contact_damping;
            let (a, b) = (self.model.geoms[a].body, self.model.geoms[b].body);
            let velocity = self.sliding(sweep, a, b, contact.position);
            let force = penalty_force(contact.distance, contact.normal, velocity, friction, law, form);
            for (body, force) in [(a, -force), (b, force)] {
                let arm = contact.position - self.kinematics.world_from_body[body].translation;
                pushes[body].force += force;
                pushes[body].torque += arm.cross(force);
            }
        });
    }

    /// μ of a pair: its own, or else that of the two geoms.
    fn friction(&self, a: usize, b: usize) -> T {
        if let Some(own) = self.model.friction_of_pair(a, b) {
            return T::lit(own);
        }
        let of = |g: usize| self.params[self.index.geom[g] + GEOM_FRICTION];
        mixed(of(a), of(b), self.model.options.material_mixing)
    }

    /// The pullback of [`Scene::add_forces`]: *adds* to the cotangents of body velocities (as forces about the trees' points), to
    /// the wrenches on displacements of the bodies, and to the parameters.
    pub fn add_forces_vjp(
        &self,
        sweep: &Sweep<T>,
        push_bars: &[Push<T>],
        velocity_bars: &mut [Force<T>],
        wrenches: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let (form, mixing) = (self.model.options.contact_damping, self.model.options.material_mixing);
        let origins = &self.kinematics.origins;
        for &(a, b) in self.pairs {
            let (first, second) = (self.placed(a), self.placed(b));
            if apart(&first, &second) {
                continue;
            }
            let mut contacts = [Contact::default(); MAX_CONTACTS];
            let slots = collide(&first.collider, first.pose, &second.collider, second.pose, &mut contacts);
            let mut bars =
                [Contact { position: Vec3::zero(), normal: Vec3::zero(), distance: T::zero() }; MAX_CONTACTS];
            let (friction, law) = (self.friction(a, b), self.law(a, b));
            let (mut friction_bar, mut law_bar) = (T::zero(), PenaltyLaw::default());
            for (contact, bar) in contacts[..slots].iter().zip(&mut bars) {
                let point = contact.position;
                let velocity = self.sliding(sweep, first.body, second.body, point);
                let force = penalty_force(contact.distance, contact.normal, velocity, friction, law, form);

                // push.force += ±f, push.torque += (x − p) × ±f
                let mut force_bar = Vec3::zero();
                for (body, sign) in [(first.body, -T::one()), (second.body, T::one())] {
                    let origin = self.kinematics.world_from_body[body].translation;
                    let (arm, push) = (point - origin, push_bars[body]);
                    let (arm_bar, signed_bar) = arm.cross_vjp(force * sign, push.torque);
                    force_bar += (push.force + signed_bar) * sign;
                    bar.position += arm_bar;
                    wrenches[body] += Force::at_point(-arm_bar, origin - origins[body]);
                }
                let (distance, normal) = (contact.distance, contact.normal);
                let (distance_bar, normal_bar, velocity_bar, friction, law_part, ()) =
                    penalty_force_vjp(distance, normal, velocity, friction, law, form, force_bar);
                bar.distance += distance_bar;
                bar.normal += normal_bar;
                friction_bar += friction;
                law_bar.accumulate(law_part);

                // velocity of b minus velocity of a, at x
                for (body, sign) in [(first.body, -T::one()), (second.body, T::one())] {
                    let motion = sweep.velocities[body];
                    let (motion_bar, point_bar) =
                        motion.velocity_at_vjp(point - origins[body], velocity_bar * sign);
                    velocity_bars[body] += Force::new(motion_bar.angular, motion_bar.linear);
                    bar.position += point_bar;
                }
            }
            let (first_friction, second_friction, ()) = match self.model.friction_of_pair(a, b) {
                Some(_) => (T::zero(), T::zero(), ()),
                None => mixed_vjp(first.friction, second.friction, mixing, friction_bar),
            };
            self.law_vjp(a, b, law_bar, params_bar);

            // Contacts to the poses and sizes of both geoms, and on to their bodies.
            let zero = ShapeBar { pose: Transform::identity() - Transform::identity(), size: Vec3::zero() };
            let (mut a_bar, mut b_bar) = (zero, zero);
            let (ca, cb) = (&first.collider, &second.collider);
            collide_vjp(ca, first.pose, cb, second.pose, &bars[..slots], &mut a_bar, &mut b_bar);
            for (geom, placed, bar, friction) in
                [(a, &first, a_bar, first_friction), (b, &second, b_bar, second_friction)]
            {
                self.placed_vjp(geom, placed, bar, friction, wrenches, params_bar);
            }
        }
    }

    /// The pullback of [`Scene::placed`]: *adds* to the wrenches on displacements of the bodies and to the parameters.
    pub fn placed_vjp(
        &self,
        geom: usize,
        placed: &Placed<'_, T>,
        bar: ShapeBar<T>,
        friction_bar: T,
        wrenches: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let body_pose = self.kinematics.world_from_body[placed.body];
        let (body_bar, local_bar) = body_pose.mul_vjp(placed.local, bar.pose);
        wrenches[placed.body] += pose_wrench(body_pose, body_bar, self.kinematics.origins[placed.body]);
        let unit = placed.orientation.normalize();
        let (unit_bar, position) = Transform::from_quat_vjp(unit, placed.local.translation, local_bar);
        let orientation = placed.orientation.normalize_vjp(unit_bar);
        let at = self.index.geom[geom];
        (bar.size, position, orientation, friction_bar).add_to(&mut params_bar[at..at + GEOM_LAW]);
    }
}

/// Whether two geoms are surely too far apart to touch, in every lane.
fn apart<T: Real>(a: &Placed<'_, T>, b: &Placed<'_, T>) -> bool {
    let (ra, rb) = (a.collider.bounding_radius(), b.collider.bounding_radius());
    let between = b.pose.translation - a.pose.translation;
    let gap = match (ra.is_finite(), rb.is_finite()) {
        (true, true) => between.norm() - T::lit(ra + rb),
        (false, true) => between.dot(a.pose.rotation.col(2)) - T::lit(rb),
        (true, false) => -(between.dot(b.pose.rotation.col(2))) - T::lit(ra),
        (false, false) => return true,
    };
    -((-gap).max_lane()) > 0.0
}

/// The wrench that the cotangent of a pose exerts on small motions of it.
pub(crate) fn pose_wrench<T: Real>(pose: Transform<T>, bar: Transform<T>, origin: Vec3<T>) -> Force<T> {
    let mut wrench = Force::at_point(bar.translation, pose.translation - origin);
    for i in 0..3 {
        wrench.moment += pose.rotation.col(i).cross(bar.rotation.col(i));
    }
    wrench
}
