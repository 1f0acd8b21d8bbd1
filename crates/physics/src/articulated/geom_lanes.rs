//! Placed geoms broadcast over the lanes of a pack of points: particles of soft bodies, nodes of a grid.

use pullback_math::{Force, Mask, Mat3, Motion, Real, Transform, Vec3};

use super::contact::{Placed, Scene};
use super::model::Model;
use super::rnea::Sweep;
use crate::collision::{Collider, Contact, MAX_CONTACTS, ShapeBar, collide, collide_vjp};

/// A placed geom, the same in every lane. It borrows nothing, so that a workspace can keep it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GeomLanes<P> {
    /// Index of the geom in the model.
    geom: usize,
    size: Vec3<P>,
    pub pose: Transform<P>,
    /// Spatial velocity of its body about `tree_point`.
    pub motion: Motion<P>,
    pub tree_point: Vec3<P>,
    /// Origin of its body's frame, m.
    pub body_origin: Vec3<P>,
    pub friction: P,
    /// Radius of the bounding sphere around the geom's origin, m; infinite for a plane.
    bounding_radius: f64,
}

impl<P: Real> GeomLanes<P> {
    /// Its shape; `model` is the one that it was placed from.
    #[inline(always)]
    pub fn collider<'m>(&self, model: &'m Model) -> Collider<'m, P> {
        Collider::<f64>::of_shape(model, &model.geoms[self.geom].shape).with_size(self.size)
    }

    /// Whether the bounding sphere is farther than `distance` from all points at `x`.
    #[inline(always)]
    pub fn is_beyond(&self, distance: P, x: Vec3<P>) -> bool {
        let offset = x - self.pose.translation;
        let gap = if self.bounding_radius.is_finite() {
            offset.norm() - P::lit(self.bounding_radius)
        } else {
            offset.dot(self.pose.rotation.c2)
        };
        gap.gt(distance).all()
    }
}

/// Contacts of a pack of points with a geom, normals from the geom to the points.
pub(crate) struct PointContacts<'m, P> {
    collider: Collider<'m, P>,
    pose: Transform<P>,
    points: Transform<P>,
    contacts: [Contact<P>; MAX_CONTACTS],
    slots: usize,
}

impl<'m, P: Real> PointContacts<'m, P> {
    /// The contacts of the points at `x`; `model` is the one that the geom was placed from.
    #[inline(always)]
    pub fn new(geom: &GeomLanes<P>, model: &'m Model, x: Vec3<P>) -> Self {
        let (collider, pose) = (geom.collider(model), geom.pose);
        let points = Transform::new(Mat3::identity(), x);
        let mut contacts = [Contact::default(); MAX_CONTACTS];
        let slots = collide(&collider, pose, &Collider::sphere(P::zero()), points, &mut contacts);
        PointContacts { collider, pose, points, contacts, slots }
    }

    /// One contact per slot of the pair of shapes.
    #[inline(always)]
    pub fn contacts(&self) -> &[Contact<P>] {
        &self.contacts[..self.slots]
    }

    /// The pullback of [`PointContacts::new`] from the cotangents of its contacts, the first of `bars`.
    /// Returns the cotangent of the points, *adds* to that of the shape.
    pub fn vjp(&self, bars: &[Contact<P>; MAX_CONTACTS], shape_bar: &mut ShapeBar<P>) -> Vec3<P> {
        let (point, mut point_bar) = (Collider::sphere(P::zero()), ShapeBar::default());
        let bars = &bars[..self.slots];
        collide_vjp(&self.collider, self.pose, &point, self.points, bars, shape_bar, &mut point_bar);
        point_bar.pose.translation
    }
}

/// Cotangents of a [`GeomLanes`], lane by lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GeomLanesBar<P> {
    pub shape: ShapeBar<P>,
    pub motion: Motion<P>,
    pub body_origin: Vec3<P>,
    pub friction: P,
}

impl<T: Real> Scene<'_, T> {
    /// A placed geom, broadcast over the lanes of a pack.
    pub fn lanes(&self, sweep: &Sweep<T>, geom: usize, placed: &Placed<'_, T>) -> GeomLanes<T::Pack> {
        let fill = |v: Vec3<T>| v.map(T::fill);
        let motion = sweep.velocities[placed.body];
        GeomLanes {
            geom,
            size: fill(placed.collider.size),
            pose: Transform::new(placed.pose.rotation.map(T::fill), fill(placed.pose.translation)),
            motion: Motion::new(fill(motion.angular), fill(motion.linear)),
            tree_point: fill(self.kinematics.origins[placed.body]),
            body_origin: fill(self.kinematics.world_from_body[placed.body].translation),
            friction: placed.friction.fill(),
            bounding_radius: placed.collider.bounding_radius(),
        }
    }

    /// The pullback of [`Scene::lanes`] and [`Scene::placed`]: *adds* to the cotangents of body velocities,
    /// to the wrenches on displacements of the bodies, and to the parameters.
    pub fn lanes_vjp(
        &self,
        geom: usize,
        placed: &Placed<'_, T>,
        bar: &GeomLanesBar<T::Pack>,
        velocity_bars: &mut [Force<T>],
        wrenches: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let (angular, linear) = (T::total_vector(bar.motion.angular), T::total_vector(bar.motion.linear));
        velocity_bars[placed.body] += Force::new(angular, linear);
        wrenches[placed.body] +=
            Force::at_point(T::total_vector(bar.body_origin), self.kinematics.arm(placed.body));
        let r = bar.shape.pose.rotation;
        let [c0, c1, c2] = [r.c0, r.c1, r.c2].map(T::total_vector);
        let pose = Transform::new(Mat3::from_cols(c0, c1, c2), T::total_vector(bar.shape.pose.translation));
        let shape = ShapeBar { pose, size: T::total_vector(bar.shape.size) };
        self.placed_vjp(geom, placed, shape, T::total(bar.friction), wrenches, params_bar);
    }
}
