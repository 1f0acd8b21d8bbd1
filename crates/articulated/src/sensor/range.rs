//! Rangefinder: how far the nearest geom is from a site along its z axis; −1 if there is none.
//!
//! Geoms of the site's own body and invisible ones are passed through, as in MuJoCo.

use pullback_collision::Kind;
use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::frame::FrameState;
use super::ray::{Surface, ray_shape, surface_value, surface_value_vjp};
use super::{Sensed, SensorBars};
use crate::model::{FrameObject, Shape};
use crate::params::GeomParams;

/// Origin and direction of a ray along the z axis of a site, in the frame of a geom; `apart` leads from the
/// point of the geom's tree to that of the site's.
#[differentiable]
fn ray_in_geom<T: Real>(
    site: Transform<T>,
    geom: Transform<T>,
    #[constant] apart: Vec3<T>,
) -> (Vec3<T>, Vec3<T>) {
    (geom.inverse_point(site.translation + apart), geom.inverse_direction(site.rotation.c2))
}

/// Where the ray of a lane ends.
#[derive(Clone, Copy)]
struct End {
    geom: usize,
    t: f64,
    surface: Surface,
    /// ∂F/∂p · d.
    slope: f64,
}

impl<T: Real> Sensed<'_, T> {
    fn ray(&self, site: usize, geom: usize) -> (Vec3<T>, Vec3<T>) {
        let frames = [FrameObject::Site(site), FrameObject::Geom(geom)].map(|object| self.frame(object).pose);
        ray_in_geom(frames[0], frames[1], self.apart(site, geom))
    }

    fn apart(&self, site: usize, geom: usize) -> Vec3<T> {
        let (site, geom) = (self.robot.model.sites[site].body, self.robot.model.geoms[geom].body);
        self.kinematics.origins[site] - self.kinematics.origins[geom]
    }

    /// Sizes of a geom; those of a plane are as far as it is seen.
    fn geom_size(&self, geom: usize) -> Vec3<T> {
        let g = &self.robot.model.geoms[geom];
        match (g.shape, self.robot.index.geoms.get(geom)) {
            (Shape::Plane, _) => Vec3::new(T::lit(g.extent[0]), T::lit(g.extent[1]), T::zero()),
            (_, Some(block)) => block.read(self.params).size,
            (_, None) => self.robot.model.collider::<f64>(g).size.map(T::lit),
        }
    }

    /// Where the ray of a lane ends, if it does.
    fn ray_end(&self, site: usize, lane: usize) -> Option<End> {
        let model = &self.robot.model;
        let mut nearest: Option<End> = None;
        for (geom, g) in model.geoms.iter().enumerate() {
            if g.body == model.sites[site].body || g.rgba[3] == 0.0 {
                continue;
            }
            let of = |v: Vec3<T>| v.map(|x| x.lane(lane));
            let (from, along) = self.ray(site, geom);
            let (from, along, size) = (of(from), of(along), of(self.geom_size(geom)));
            let mesh = match g.shape {
                Shape::Mesh { mesh } => model.meshes.get(mesh),
                _ => None,
            };
            let kind: Kind = model.collider::<f64>(g).kind;
            let Some((t, surface)) = ray_shape((kind, size), mesh, from, along).0 else { continue };
            if nearest.is_none_or(|end| t < end.t) {
                let slope = surface.slope(from + along * t, along, size);
                nearest = Some(End { geom, t, surface, slope });
            }
        }
        nearest
    }

    /// Visits where rays end, with the lane.
    fn for_each_end(&self, site: usize, mut visit: impl FnMut(usize, Option<End>)) {
        (0..T::LANES).for_each(|lane| visit(lane, self.ray_end(site, lane)));
    }

    /// The distance.
    pub(super) fn range(&self, site: usize) -> T {
        let mut distance = -T::one();
        self.for_each_end(site, |lane, end| {
            let Some(end) = end else { return };
            let (t, slope) = (T::lit(end.t), T::lit(end.slope));
            let (from, along) = self.ray(site, end.geom);
            let value = surface_value(from + along * t, self.geom_size(end.geom), end.surface);
            distance = select(this_lane::<T>(lane), t - value / slope, distance);
        });
        distance
    }

    /// The pullback of [`Sensed::range`]: *adds* to `bars`.
    pub(super) fn range_vjp(&self, site: usize, bar: T, bars: &mut SensorBars<'_, T>) {
        self.for_each_end(site, |lane, end| {
            let Some(end) = end else { return };
            let (t, slope) = (T::lit(end.t), T::lit(end.slope));
            let value_bar = select(this_lane::<T>(lane), -(bar / slope), T::zero());
            let objects = [FrameObject::Site(site), FrameObject::Geom(end.geom)];
            let [site_frame, geom_frame] = objects.map(|object| self.frame(object).pose);
            let apart = self.apart(site, end.geom);
            let (from, along) = ray_in_geom(site_frame, geom_frame, apart);
            let size = self.geom_size(end.geom);
            let (p_bar, size_bar, ()) = surface_value_vjp(from + along * t, size, end.surface, value_bar);
            let (site_bar, geom_bar, ()) = ray_in_geom_vjp(site_frame, geom_frame, apart, (p_bar, p_bar * t));
            for (object, pose) in objects.into_iter().zip([site_bar, geom_bar]) {
                self.frame_vjp(object, FrameState::of_pose(pose), bars);
            }
            let plane = matches!(self.robot.model.geoms[end.geom].shape, Shape::Plane);
            if let Some(block) = self.robot.index.geoms.get(end.geom).filter(|_| !plane) {
                let (position, orientation) = (Vec3::zero(), pullback_math::Quat::zero());
                let bar = GeomParams { size: size_bar, position, orientation, friction: T::zero() };
                block.add(bar, bars.params);
            }
        });
    }
}

/// The lane alone.
fn this_lane<T: Real>(lane: usize) -> T::Mask {
    T::from_lanes(|i| if i == lane { 1.0 } else { 0.0 }).gt(T::zero())
}
