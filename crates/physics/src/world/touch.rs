//! Contact of particles with geoms: each particle is a small ball; the geom's body feels the reaction.
//!
//! Particles are taken a pack at a time. A pack that is surely away from a geom costs one distance test.

use pullback_articulated::ContactDamping;
use pullback_articulated::contact::{GeomView, PenaltyLaw, penalty_force, penalty_force_vjp};
use pullback_articulated::geom_lanes::GeomLanesBar;
use pullback_articulated::rnea::{Push, Sweep};
use pullback_collision::{Collider, Contact, INACTIVE, MAX_CONTACTS, collide, collide_vjp};
use pullback_math::{Flat, Force, Mat3, Motion, Real, Transform, Vec3, differentiable};
use pullback_soft::ParticleContact;
use pullback_soft::element::Particles;

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

/// Everything particle contacts depend on.
pub(super) struct Touching<'a, T> {
    pub scene: &'a GeomView<'a, T>,
    pub sweep: &'a Sweep<T>,
    pub particles: &'a Particles<'a, T>,
    pub contact: ParticleContact<T>,
}

/// Cotangents that the pullback of contacts adds to.
pub(super) struct TouchBars<'a, T> {
    pub x: &'a mut [[T; 3]],
    pub v: &'a mut [[T; 3]],
    pub work: &'a mut [T],
    pub contact: ParticleContact<T>,
    pub velocities: &'a mut [Force<T>],
    pub wrenches: &'a mut [Force<T>],
    pub params: &'a mut [T],
}

impl<'a, T: Real> Touching<'a, T> {
    fn packs(&self) -> usize {
        self.particles.x.len().div_ceil(T::WIDTH)
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
    fn padding_distance(&self, pack: usize) -> T::Pack {
        let (first, n) = (pack * T::WIDTH, self.particles.x.len());
        if first + T::WIDTH <= n {
            return T::Pack::zero();
        }
        T::pack(|i| if first + i < n { T::zero() } else { T::lit(INACTIVE) })
    }

    /// Adds contact forces to those of the particles, and the reactions to the pushes on the bodies.
    pub fn add_forces(&self, geoms: &[usize], force: &mut [[T; 3]], pushes: &mut [Push<T>]) {
        let (law, form) = (splat_law(self.contact.law), self.scene.model.options.contact_damping);
        for &g in geoms {
            let placed = self.scene.placed(g);
            let geom = self.scene.lanes(self.sweep, g, &placed);
            let collider = geom.collider(self.scene.model);
            let ball = Collider::sphere(self.contact.radius.fill());
            let (mut push, mut turn) = (Vec3::zero(), Vec3::zero());
            for pack in 0..self.packs() {
                let x = self.gather(pack, self.particles.x);
                if geom.is_beyond(self.contact.radius.fill(), x) {
                    continue;
                }
                let v = self.gather(pack, self.particles.v);
                let mut contacts = [Contact::default(); MAX_CONTACTS];
                let at = Transform::new(Mat3::identity(), x);
                let slots = collide(&collider, geom.pose, &ball, at, &mut contacts);
                for contact in &mut contacts[..slots] {
                    contact.distance += self.padding_distance(pack);
                    let (f, torque) = touch(
                        *contact,
                        v,
                        geom.motion,
                        geom.body_origin,
                        geom.friction,
                        law,
                        geom.tree_point,
                        form,
                    );
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
        let (law, form) = (splat_law(self.contact.law), self.scene.model.options.contact_damping);
        let zero = || Vec3::new(T::Pack::zero(), T::Pack::zero(), T::Pack::zero());
        for &g in geoms {
            let placed = self.scene.placed(g);
            let geom = self.scene.lanes(self.sweep, g, &placed);
            let collider = geom.collider(self.scene.model);
            let ball = Collider::sphere(self.contact.radius.fill());
            let (push, turn) =
                (push_bars[placed.body].force.map(T::fill), push_bars[placed.body].torque.map(T::fill));
            let mut geom_bar = GeomLanesBar::default();
            let (mut radius_bar, mut law_bar) = (T::Pack::zero(), PenaltyLaw::<T::Pack>::default());
            for pack in 0..self.packs() {
                let x = self.gather(pack, self.particles.x);
                if geom.is_beyond(self.contact.radius.fill(), x) {
                    continue;
                }
                let v = self.gather(pack, self.particles.v);
                let f_bar = self.gather(pack, force_bar);
                let mut contacts = [Contact::default(); MAX_CONTACTS];
                let at = Transform::new(Mat3::identity(), x);
                let slots = collide(&collider, geom.pose, &ball, at, &mut contacts);
                let none = Contact { position: zero(), normal: zero(), distance: T::Pack::zero() };
                let mut contact_bars = [none; MAX_CONTACTS];
                let (mut v_bar, mut work) = (zero(), T::Pack::zero());
                for (contact, bar) in contacts[..slots].iter_mut().zip(&mut contact_bars) {
                    contact.distance += self.padding_distance(pack);
                    let (c, t) = (*contact, geom.tree_point);
                    let (f, _) = touch(c, v, geom.motion, geom.body_origin, geom.friction, law, t, form);
                    let (contact_bar, velocity, body, frame, friction, law, (), ()) = touch_vjp(
                        c,
                        v,
                        geom.motion,
                        geom.body_origin,
                        geom.friction,
                        law,
                        t,
                        form,
                        (f_bar - push, turn),
                    );
                    *bar = contact_bar;
                    v_bar += velocity;
                    geom_bar.motion += body;
                    geom_bar.body_origin += frame;
                    geom_bar.friction += friction;
                    law_bar.stiffness += law.stiffness;
                    law_bar.damping += law.damping;
                    law_bar.friction_slope += law.friction_slope;
                    work += f.dot(f_bar);
                }
                let mut ball_bar = GeomLanesBar::default().shape;
                let slots = &contact_bars[..slots];
                collide_vjp(&collider, geom.pose, &ball, at, slots, &mut geom_bar.shape, &mut ball_bar);
                radius_bar += ball_bar.size.x;
                let first = pack * T::WIDTH;
                for i in 0..T::WIDTH.min(self.particles.x.len() - first) {
                    T::unpack_vector(&ball_bar.pose.translation, i).add_to(&mut bars.x[first + i]);
                    T::unpack_vector(&v_bar, i).add_to(&mut bars.v[first + i]);
                    bars.work[first + i] += T::unpack(&work, i);
                }
            }
            let law = law_bar;
            bars.contact.law.stiffness += T::total(law.stiffness);
            bars.contact.law.damping += T::total(law.damping);
            bars.contact.law.friction_slope += T::total(law.friction_slope);
            bars.contact.radius += T::total(radius_bar);
            self.scene.lanes_vjp(g, &placed, &geom_bar, bars.velocities, bars.wrenches, bars.params);
        }
    }
}

fn splat_law<T: Real>(law: PenaltyLaw<T>) -> PenaltyLaw<T::Pack> {
    PenaltyLaw {
        stiffness: law.stiffness.fill(),
        damping: law.damping.fill(),
        friction_slope: law.friction_slope.fill(),
    }
}
