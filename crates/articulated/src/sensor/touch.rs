//! Touch: normal forces of the contacts inside a site.
//!
//! A contact on the body of the site counts if a ray from its position, along the normal that points out of
//! that body, meets the shape of the site. Which contacts count is chosen on plain numbers and held constant under
//! differentiation. The pullback goes through the forces of the rows.

use pullback_collision::Collider;
use pullback_math::{Real, Vec3, select};

use super::ray::ray_shape;
use super::{Sensed, SensorBars};
use crate::constraint::set::{ConstraintSet, Source};
use crate::model::FrameObject;

impl<T: Real> Sensed<'_, T> {
    /// Sum of the normal forces inside a site.
    pub(super) fn touch(&self, site: usize) -> T {
        let mut sum = T::zero();
        self.for_each_touch(site, |set, row, counts| {
            sum += select(counts, set.force[row], T::zero());
        });
        sum
    }

    /// The pullback of [`Sensed::touch`]: *adds* to `bars`.
    pub(super) fn touch_vjp(&self, site: usize, bar: T, bars: &mut SensorBars<'_, T>) {
        self.for_each_touch(site, |_, row, counts| bars.rows[row] += select(counts, bar, T::zero()));
    }

    /// Visits the normal rows of contacts on the body of a site, with the lanes in which they count.
    fn for_each_touch(&self, site: usize, mut visit: impl FnMut(&ConstraintSet<T>, usize, T::Mask)) {
        let Some(set) = self.constraints else { return };
        let model = &self.robot.model;
        let body = model.sites[site].body;
        let shape = Collider::<f64>::of_shape(&model.sites[site].shape, &model.meshes, &model.heightfields);
        let frame = self.frame(FrameObject::Site(site));
        let origin = self.kinematics.origins[body];
        for block in &set.blocks {
            let Source::Contact { pair, slot } = block.source else { continue };
            let (first, second) = self.contacts.pairs()[pair].geoms;
            let outwards = if model.geoms[second].body == body {
                -T::one()
            } else if model.geoms[first].body == body {
                T::one()
            } else {
                continue;
            };
            let contact = self.contacts.contacts()[slot];
            let from = frame.pose.inverse_point(contact.position - origin);
            let along = frame.pose.inverse_direction(contact.normal * outwards);
            let force = set.force[block.row];
            let meets = |lane: usize| {
                let of = |v: Vec3<T>| v.map(|x| x.lane(lane));
                let hit = ray_shape((shape.kind, shape.size), None, of(from), of(along)).0;
                force.lane(lane) > 0.0 && hit.is_some()
            };
            let counts = T::from_lanes(|lane| if meets(lane) { 1.0 } else { 0.0 });
            visit(set, block.row, counts.gt(T::zero()));
        }
    }
}
