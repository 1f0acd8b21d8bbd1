//! Adhesion: an actuator that pulls on everything that touches a body.
//!
//! With N the number of contacts of the body, those in the gap beyond the margin included, a unit of force pulls the two
//! bodies of each together by 1/N along its normal. It is a span without a length whose pulls come from contacts: the
//! wrench on the second body of a contact is −n/N at its position, that on the first the opposite. N is held constant under
//! differentiation.

use pullback_collision::INACTIVE;
use pullback_math::{Force, Real, Vec3, select};

use crate::constraint::contact_law::contact_margin;
use crate::contact::find::pair_gap;
use crate::contact::{ContactSet, FoundPair, GeomView};
use crate::field::Articulated;
use crate::tendon::TendonState;

/// A contact of an adhesive body: its slot, the lanes in which it counts, and slot of the pull and arm of each side.
struct Touch<T: Real> {
    slot: usize,
    counts: T::Mask,
    sides: [(usize, Vec3<T>); 2],
}

impl Articulated {
    /// Sets the pulls of adhesive bodies from the contacts found.
    pub(crate) fn adhere<T: Real>(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &ContactSet<T>,
        tendons: &mut TendonState<T>,
    ) {
        for (span, body) in self.tendons.spans.adhesive() {
            let mut number = T::zero();
            self.for_each_touch(geoms, contacts, (*span, *body), |touch| {
                number += select(touch.counts, T::one(), T::zero());
                let normal = contacts.contacts()[touch.slot].normal;
                let normal = select(touch.counts, normal, Vec3::zero());
                for ((slot, arm), sign) in touch.sides.into_iter().zip([T::one(), -T::one()]) {
                    tendons.spans.pulls[slot] += Force::at_point(normal * sign, arm);
                }
            });
            let share = number.max(T::one()).recip();
            for slot in self.tendons.spans.slots(*span) {
                tendons.spans.pulls[slot] = tendons.spans.pulls[slot] * share;
            }
        }
    }

    /// The pullback of [`Articulated::adhere`] with the cotangents of the pulls: *adds* to those of the contacts.
    pub(crate) fn adhere_vjp<T: Real>(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &mut ContactSet<T>,
        tendons: &TendonState<T>,
    ) {
        for (span, body) in self.tendons.spans.adhesive() {
            let mut number = T::zero();
            self.for_each_touch(geoms, contacts, (*span, *body), |touch| {
                number += select(touch.counts, T::one(), T::zero());
            });
            let share = number.max(T::one()).recip();
            let mut bars = std::mem::take(&mut contacts.contact_bars);
            self.for_each_touch(geoms, contacts, (*span, *body), |touch| {
                let normal = contacts.contacts()[touch.slot].normal;
                let share = select(touch.counts, share, T::zero());
                let bar = &mut bars[touch.slot];
                for ((slot, arm), sign) in touch.sides.into_iter().zip([T::one(), -T::one()]) {
                    // U·F = ±n·u(x)/N
                    let motion = tendons.bars.spans.pulls[slot];
                    bar.normal += motion.velocity_at(arm) * (sign * share);
                    bar.position += (normal * (sign * share)).cross(motion.angular);
                }
            });
            contacts.contact_bars = bars;
        }
    }

    fn for_each_touch<T: Real>(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &ContactSet<T>,
        (span, body): (usize, usize),
        mut visit: impl FnMut(Touch<T>),
    ) {
        let Some(index) = &geoms.index.constraints else { return };
        let spans = &self.tendons.spans;
        let body_of = |geom: usize| self.model.geoms[geom].body;
        let touches = |pair: &&FoundPair| body_of(pair.geoms.0) == body || body_of(pair.geoms.1) == body;
        for pair in contacts.pairs().iter().filter(touches) {
            let reach =
                contact_margin(geoms, index, pair.pair()) + T::lit(pair_gap(&self.model, pair.pair()));
            let sides = [pair.geoms.0, pair.geoms.1].map(body_of);
            for slot in pair.contacts() {
                let contact = contacts.contacts()[slot];
                let counts = contact.distance.lt(reach) & contact.distance.lt(T::lit(0.5 * INACTIVE));
                let side = |body: usize| {
                    let slot = spans.slots(span).find(|slot| spans.bodies[*slot] == body);
                    slot.map(|slot| (slot, contact.position - geoms.kinematics.origins[body]))
                };
                let (Some(first), Some(second)) = (side(sides[0]), side(sides[1])) else { continue };
                visit(Touch { slot, counts, sides: [first, second] });
            }
        }
    }
}
