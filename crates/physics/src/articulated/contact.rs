//! Compliant contact between geoms: penalty forces with relaxed Coulomb friction (papers 1 and 2).
//!
//! A contact of depth d pushes with ke·d along its normal and resists approach with damping; friction opposes the sliding
//! velocity with kf·|v| up to μ·ke·d. Damping acts in proportion to depth (dFlex), so that the force is continuous and
//! gradients converge as the step shrinks. Forces act on the bodies as pushes at their frames, so the sweeps know nothing of
//! contacts.

use pullback_math::{Cotangent, Flat, Force, MulVjp, Quat, Real, Transform, Vec3, differentiable};

use super::kinematics::Kinematics;
use super::model::{Geom, Model};
use super::rnea::{Push, Sweep};
use super::tree::ParamIndex;
use crate::collision::{Collider, Contact, MAX_CONTACTS, ShapeBar, collide, collide_vjp};

/// Constants of compliant contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct PenaltyLaw<T> {
    /// Stiffness ke, N/m.
    pub stiffness: T,
    /// Damping kd per depth, N s/m².
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
) -> Vec3<T> {
    let depth = (-distance).max(T::zero());
    let approach = velocity.dot(normal).min(T::zero());
    let elastic = law.stiffness * depth;
    let press = elastic - law.damping * depth * approach;
    let slide = velocity - normal * velocity.dot(normal);
    let grip = (law.friction_slope * slide.norm()).min(friction * elastic);
    normal * press - slide.normalize() * grip
}

/// A geom in the world.
struct Placed<'m, T> {
    body: usize,
    local: Transform<T>,
    pose: Transform<T>,
    collider: Collider<'m, T>,
    friction: T,
}

impl<'m, T: Real> Placed<'m, T> {
    fn new(model: &'m Model, geom: &Geom, p: &[T], kinematics: &Kinematics<T>) -> Self {
        let (size, position, friction) = <(Vec3<T>, Vec3<T>, T)>::read(p);
        let o = geom.orientation;
        let orientation = Quat::new(T::lit(o.w), T::lit(o.x), T::lit(o.y), T::lit(o.z));
        let local = Transform::from_quat(orientation, position);
        let mut collider = Collider::of_shape(model, &geom.shape);
        collider.size = size;
        let pose = kinematics.world_from_body[geom.body] * local;
        Placed { body: geom.body, local, pose, collider, friction }
    }
}

/// Everything contact forces depend on.
pub(super) struct Scene<'a, T> {
    pub model: &'a Model,
    pub pairs: &'a [(usize, usize)],
    pub index: &'a ParamIndex,
    pub params: &'a [T],
    pub kinematics: &'a Kinematics<T>,
}

impl<'a, T: Real> Scene<'a, T> {
    fn law(&self) -> PenaltyLaw<T> {
        PenaltyLaw::read(&self.params[self.index.contact..])
    }

    fn placed(&self, geom: usize) -> Placed<'a, T> {
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
        let law = self.law();
        self.for_each_contact(|(a, b), contact| {
            let friction = self.friction(a, b);
            let (a, b) = (self.model.geoms[a].body, self.model.geoms[b].body);
            let velocity = self.sliding(sweep, a, b, contact.position);
            let force = penalty_force(contact.distance, contact.normal, velocity, friction, law);
            for (body, force) in [(a, -force), (b, force)] {
                let arm = contact.position - self.kinematics.world_from_body[body].translation;
                pushes[body].force += force;
                pushes[body].torque += arm.cross(force);
            }
        });
    }

    /// μ of a pair: its own, or else the larger of the two.
    fn friction(&self, a: usize, b: usize) -> T {
        if let Some(own) = self.model.friction_of_pair(a, b) {
            return T::lit(own);
        }
        let of = |g: usize| self.params[self.index.geom[g] + 6];
        of(a).max(of(b))
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
        let law = self.law();
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
            let friction = self.friction(a, b);
            let mut friction_bar = T::zero();
            for (contact, bar) in contacts[..slots].iter().zip(&mut bars) {
                let point = contact.position;
                let velocity = self.sliding(sweep, first.body, second.body, point);
                let force = penalty_force(contact.distance, contact.normal, velocity, friction, law);

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
                let (distance, normal, velocity_bar, friction, law_bar) =
                    penalty_force_vjp(contact.distance, contact.normal, velocity, friction, law, force_bar);
                bar.distance += distance;
                bar.normal += normal;
                friction_bar += friction;
                law_bar.add_to(&mut params_bar[self.index.contact..]);

                // velocity of b minus velocity of a, at x
                for (body, sign) in [(first.body, -T::one()), (second.body, T::one())] {
                    let motion = sweep.velocities[body];
                    let (motion_bar, point_bar) =
                        motion.velocity_at_vjp(point - origins[body], velocity_bar * sign);
                    velocity_bars[body] += Force::new(motion_bar.angular, motion_bar.linear);
                    bar.position += point_bar;
                }
            }
            let (first_friction, second_friction) = match self.model.friction_of_pair(a, b) {
                Some(_) => (T::zero(), T::zero()),
                None => first.friction.max_vjp(second.friction, friction_bar),
            };

            // Contacts to the poses and sizes of both geoms, and on to their bodies.
            let zero = ShapeBar { pose: Transform::identity() - Transform::identity(), size: Vec3::zero() };
            let (mut a_bar, mut b_bar) = (zero, zero);
            let (ca, cb) = (&first.collider, &second.collider);
            collide_vjp(ca, first.pose, cb, second.pose, &bars[..slots], &mut a_bar, &mut b_bar);
            for (geom, placed, bar, friction) in
                [(a, &first, a_bar, first_friction), (b, &second, b_bar, second_friction)]
            {
                let body_pose = self.kinematics.world_from_body[placed.body];
                let (body_bar, local_bar) = body_pose.mul_vjp(placed.local, bar.pose);
                wrenches[placed.body] += pose_wrench(body_pose, body_bar, origins[placed.body]);
                let at = self.index.geom[geom];
                (bar.size, local_bar.translation, friction).add_to(&mut params_bar[at..at + 7]);
            }
        }
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
fn pose_wrench<T: Real>(pose: Transform<T>, bar: Transform<T>, origin: Vec3<T>) -> Force<T> {
    let mut wrench = Force::at_point(bar.translation, pose.translation - origin);
    for i in 0..3 {
        wrench.moment += pose.rotation.col(i).cross(bar.rotation.col(i));
    }
    wrench
}
