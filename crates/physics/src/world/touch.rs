//! Contact of particles with geoms: each particle is a small ball; the geom's body feels the reaction.
//!
//! Particles are taken a pack at a time. A pack that is surely away from a geom costs one distance test.

use pullback_math::{Flat, Force, Mat3, Motion, Real, Transform, Vec3, differentiable};

use crate::articulated::ContactDamping;
use crate::articulated::contact::{PenaltyLaw, Placed, Scene, penalty_force, penalty_force_vjp};
use crate::articulated::rnea::{Push, Sweep};
use crate::collision::{Collider, Contact, INACTIVE, MAX_CONTACTS, ShapeBar, collide, collide_vjp};
use crate::soft::element::Particles;

/// Force on a particle, and torque of its reaction about the origin of the body's frame.
#[differentiable]
#[inline(always)]
fn touch<T: Real>(
    contact: Contact<T>,
    velocity: Vec3<T>,
    body: Motion<T>,
    frame: Vec3<T>,
    friction: T,
    law: PenaltyLaw<T>,
    #[constant] tree_point: Vec3<T>,
    #[constant] form: ContactDamping,
) -> (Vec3<T>, Vec3<T>) {
    let slide = velocity - body.velocity_at(contact.position - tree_point);
    let force = penalty_force(contact.distance, contact.normal, slide, friction, law, form);
    (force, (contact.position - frame).cross(-force))
}

/// A geom as every place of a pack sees it.
struct Wide<'m, P> {
    collider: Collider<'m, P>,
    pose: Transform<P>,
    body: Motion<P>,
    frame: Vec3<P>,
    tree_point: Vec3<P>,
    friction: P,
    /// Radius of a ball around the geom's origin that holds it; infinite for a plane.
    reach: f64,
}

/// Everything particle contacts depend on.
pub(super) struct Touching<'a, T> {
    pub scene: &'a Scene<'a, T>,
    pub sweep: &'a Sweep<T>,
    pub particles: &'a Particles<'a, T>,
    pub law: PenaltyLaw<T>,
    pub radius: T,
}

/// Cotangents that the pullback of contacts adds to.
pub(super) struct TouchBars<'a, T> {
    pub x: &'a mut [[T; 3]],
    pub v: &'a mut [[T; 3]],
    pub work: &'a mut [T],
    pub law: PenaltyLaw<T>,
    pub radius: T,
    pub velocities: &'a mut [Force<T>],
    pub wrenches: &'a mut [Force<T>],
    pub params: &'a mut [T],
}

impl<'a, T: Real> Touching<'a, T> {
    fn packs(&self) -> usize {
        self.particles.x.len().div_ceil(T::WIDTH)
    }

    fn wide(&self, placed: &Placed<'a, T>) -> Wide<'a, T::Pack> {
        let fill = |v: Vec3<T>| v.map(T::fill);
        let rotation = placed.pose.rotation.map(T::fill);
        let body = self.sweep.velocities[placed.body];
        Wide {
            collider: placed.collider.with_size(fill(placed.collider.size)),
            pose: Transform::new(rotation, fill(placed.pose.translation)),
            body: Motion::new(fill(body.angular), fill(body.linear)),
            frame: fill(self.scene.kinematics.world_from_body[placed.body].translation),
            tree_point: fill(self.scene.kinematics.origins[placed.body]),
            friction: placed.friction.fill(),
            reach: placed.collider.bounding_radius(),
        }
    }

    /// Particles of a pack, the last one repeated; and what is added to the distance of repeated ones.
    #[inline(always)]
    fn gather(&self, pack: usize, from: &[[T; 3]]) -> Vec3<T::Pack> {
        let first = pack * T::WIDTH;
        T::pack_vectors(|i| {
            let [x, y, z] = from[(first + i).min(from.len() - 1)];
            Vec3 { x, y, z }
        })
    }

    #[inline(always)]
    fn absent(&self, pack: usize) -> T::Pack {
        let (first, n) = (pack * T::WIDTH, self.particles.x.len());
        if first + T::WIDTH <= n {
            return T::Pack::zero();
        }
        T::pack(|i| if first + i < n { T::zero() } else { T::lit(INACTIVE) })
    }

    /// Whether a pack of particles is surely away from a geom.
    #[inline(always)]
    fn away(&self, geom: &Wide<'_, T::Pack>, x: Vec3<T::Pack>) -> bool {
        use pullback_math::Mask;
        let between = x - geom.pose.translation;
        let gap = if geom.reach.is_finite() {
            between.norm() - T::Pack::lit(geom.reach)
        } else {
            between.dot(geom.pose.rotation.c2)
        };
        gap.gt(self.radius.fill()).all()
    }

    /// Adds contact forces to those of the particles, and the reactions to the pushes on the bodies.
    pub fn add_forces(&self, geoms: &[usize], force: &mut [[T; 3]], pushes: &mut [Push<T>]) {
        let (law, form) = (wide_law(self.law), self.scene.model.options.contact_damping);
        for &g in geoms {
            let placed = self.scene.placed(g);
            let geom = self.wide(&placed);
            let ball = Collider::sphere(self.radius.fill());
            let (mut push, mut turn) = (Vec3::zero(), Vec3::zero());
            for pack in 0..self.packs() {
                let x = self.gather(pack, self.particles.x);
                if self.away(&geom, x) {
                    continue;
                }
                let v = self.gather(pack, self.particles.v);
                let mut contacts = [Contact::default(); MAX_CONTACTS];
                let at = Transform::new(Mat3::identity(), x);
                let slots = collide(&geom.collider, geom.pose, &ball, at, &mut contacts);
                for contact in &mut contacts[..slots] {
                    contact.distance += self.absent(pack);
                    let (f, torque) =
                        touch(*contact, v, geom.body, geom.frame, geom.friction, law, geom.tree_point, form);
                    for (i, force) in force[pack * T::WIDTH..].iter_mut().take(T::WIDTH).enumerate() {
                        let f = T::unpack_vector(&f, i);
                        force[0] += f.x;
                        force[1] += f.y;
                        force[2] += f.z;
                    }
                    push -= f;
                    turn += torque;
                }
            }
            pushes[placed.body].force += T::total_vector(push);
            pushes[placed.body].torque += T::total_vector(turn);
        }
    }

    /// The pullback of [`Touching::add_forces`]: *adds* to all cotangents.
    pub fn add_forces_vjp(
        &self,
        geoms: &[usize],
        force_bar: &[[T; 3]],
        push_bars: &[Push<T>],
        bars: &mut TouchBars<'_, T>,
    ) {
        let (law, form) = (wide_law(self.law), self.scene.model.options.contact_damping);
        let zero = || Vec3::new(T::Pack::zero(), T::Pack::zero(), T::Pack::zero());
        let no_pose = || Transform::new(Mat3::from_cols(zero(), zero(), zero()), zero());
        for &g in geoms {
            let placed = self.scene.placed(g);
            let geom = self.wide(&placed);
            let ball = Collider::sphere(self.radius.fill());
            let (push, turn) =
                (push_bars[placed.body].force.map(T::fill), push_bars[placed.body].torque.map(T::fill));
            let mut geom_bar = ShapeBar { pose: no_pose(), size: zero() };
            let mut radius_bar = T::Pack::zero();
            let mut body_bar = Motion::new(zero(), zero());
            let (mut frame_bar, mut friction_bar, mut law_bar) =
                (zero(), T::Pack::zero(), PenaltyLaw::<T::Pack>::default());
            for pack in 0..self.packs() {
                let x = self.gather(pack, self.particles.x);
                if self.away(&geom, x) {
                    continue;
                }
                let v = self.gather(pack, self.particles.v);
                let f_bar = self.gather(pack, force_bar);
                let mut contacts = [Contact::default(); MAX_CONTACTS];
                let at = Transform::new(Mat3::identity(), x);
                let slots = collide(&geom.collider, geom.pose, &ball, at, &mut contacts);
                let none = Contact { position: zero(), normal: zero(), distance: T::Pack::zero() };
                let mut contact_bars = [none; MAX_CONTACTS];
                let (mut v_bar, mut work) = (zero(), T::Pack::zero());
                for (contact, bar) in contacts[..slots].iter_mut().zip(&mut contact_bars) {
                    contact.distance += self.absent(pack);
                    let (c, t) = (*contact, geom.tree_point);
                    let (f, _) = touch(c, v, geom.body, geom.frame, geom.friction, law, t, form);
                    let (contact_bar, velocity, body, frame, friction, law, (), ()) = touch_vjp(
                        c,
                        v,
                        geom.body,
                        geom.frame,
                        geom.friction,
                        law,
                        t,
                        form,
                        (f_bar - push, turn),
                    );
                    *bar = contact_bar;
                    v_bar += velocity;
                    body_bar += body;
                    frame_bar += frame;
                    friction_bar += friction;
                    law_bar.stiffness += law.stiffness;
                    law_bar.damping += law.damping;
                    law_bar.friction_slope += law.friction_slope;
                    work += f.dot(f_bar);
                }
                let mut ball_bar = ShapeBar { pose: no_pose(), size: zero() };
                let slots = &contact_bars[..slots];
                collide_vjp(&geom.collider, geom.pose, &ball, at, slots, &mut geom_bar, &mut ball_bar);
                radius_bar += ball_bar.size.x;
                let first = pack * T::WIDTH;
                for i in 0..T::WIDTH.min(self.particles.x.len() - first) {
                    T::unpack_vector(&ball_bar.pose.translation, i).add_to(&mut bars.x[first + i]);
                    T::unpack_vector(&v_bar, i).add_to(&mut bars.v[first + i]);
                    bars.work[first + i] += T::unpack(&work, i);
                }
            }
            let law = law_bar;
            bars.law.stiffness += T::total(law.stiffness);
            bars.law.damping += T::total(law.damping);
            bars.law.friction_slope += T::total(law.friction_slope);
            bars.radius += T::total(radius_bar);
            bars.velocities[placed.body] +=
                Force::new(T::total_vector(body_bar.angular), T::total_vector(body_bar.linear));
            bars.wrenches[placed.body] +=
                Force::at_point(T::total_vector(frame_bar), self.scene.kinematics.arm(placed.body));
            let r = geom_bar.pose.rotation;
            let bar = ShapeBar {
                pose: Transform::new(
                    Mat3::from_cols(T::total_vector(r.c0), T::total_vector(r.c1), T::total_vector(r.c2)),
                    T::total_vector(geom_bar.pose.translation),
                ),
                size: T::total_vector(geom_bar.size),
            };
            let friction = T::total(friction_bar);
            self.scene.placed_vjp(g, &placed, bar, friction, bars.wrenches, bars.params);
        }
    }
}

fn wide_law<T: Real>(law: PenaltyLaw<T>) -> PenaltyLaw<T::Pack> {
    PenaltyLaw {
        stiffness: law.stiffness.fill(),
        damping: law.damping.fill(),
        friction_slope: law.friction_slope.fill(),
    }
}
