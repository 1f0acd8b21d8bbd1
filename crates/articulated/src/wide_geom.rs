//! A geom as every place of a pack of points sees it: particles of soft bodies, nodes of a grid.

use pullback_collision::{Collider, Contact, MAX_CONTACTS, ShapeBar, collide};
use pullback_math::{Force, Mask, Mat3, Motion, Real, Transform, Vec3};

use super::contact::{GeomView, PlacedGeom};
use super::rnea::Sweep;

/// A geom, the same in every place.
#[derive(Clone, Copy, Debug)]
pub struct WideGeom<'m, P> {
    /// Its shape.
    pub collider: Collider<'m, P>,
    /// Its frame in the world.
    pub pose: Transform<P>,
    /// How its body moves, about the tree's point.
    pub body: Motion<P>,
    /// The tree's point, in the world.
    pub tree_point: Vec3<P>,
    /// Origin of its body's frame.
    pub frame: Vec3<P>,
    /// Sliding friction.
    pub friction: P,
    /// Radius of a ball around the geom's origin that holds it; infinite for a plane.
    reach: f64,
}

impl<P: Real> WideGeom<'_, P> {
    /// Whether all points at `x` are surely farther away than `within`.
    #[inline(always)]
    pub fn away(&self, x: Vec3<P>, within: P) -> bool {
        let between = x - self.pose.translation;
        let gap = if self.reach.is_finite() {
            between.norm() - P::lit(self.reach)
        } else {
            between.dot(self.pose.rotation.c2)
        };
        gap.gt(within).all()
    }

    /// Contacts with the points at `x`: slots, how many are in use, and the points as a collider with its pose.
    #[inline(always)]
    pub fn touch(
        &self,
        x: Vec3<P>,
    ) -> ([Contact<P>; MAX_CONTACTS], usize, Collider<'static, P>, Transform<P>) {
        let mut contacts = [Contact::default(); MAX_CONTACTS];
        let (point, at) = (Collider::sphere(P::zero()), Transform::new(Mat3::identity(), x));
        let slots = collide(&self.collider, self.pose, &point, at, &mut contacts);
        (contacts, slots, point, at)
    }
}

/// Cotangents of a [`WideGeom`], place by place.
#[derive(Clone, Copy, Debug)]
pub struct WideGeomBar<P> {
    /// Of its frame and sizes.
    pub shape: ShapeBar<P>,
    /// Of how its body moves.
    pub body: Motion<P>,
    /// Of the origin of its body's frame.
    pub frame: Vec3<P>,
    /// Of its friction.
    pub friction: P,
}

impl<P: Real> WideGeomBar<P> {
    /// Nothing yet.
    pub fn zero() -> Self {
        let z = Vec3::new(P::zero(), P::zero(), P::zero());
        let pose = Transform::new(Mat3::from_cols(z, z, z), z);
        WideGeomBar {
            shape: ShapeBar { pose, size: z },
            body: Motion::new(z, z),
            frame: z,
            friction: P::zero(),
        }
    }
}

impl<'a, T: Real> GeomView<'a, T> {
    /// A placed geom for packs of points.
    pub fn wide(&self, sweep: &Sweep<T>, placed: &PlacedGeom<'a, T>) -> WideGeom<'a, T::Pack> {
        let fill = |v: Vec3<T>| v.map(T::fill);
        let body = sweep.velocities[placed.body];
        WideGeom {
            collider: placed.collider.with_size(fill(placed.collider.size)),
            pose: Transform::new(placed.pose.rotation.map(T::fill), fill(placed.pose.translation)),
            body: Motion::new(fill(body.angular), fill(body.linear)),
            tree_point: fill(self.kinematics.origins[placed.body]),
            frame: fill(self.kinematics.world_from_body[placed.body].translation),
            friction: placed.friction.fill(),
            reach: placed.collider.bounding_radius(),
        }
    }

    /// The pullback of [`GeomView::wide`] and [`GeomView::placed`]: *adds* to the cotangents of body velocities, to the wrenches on
    /// displacements of the bodies, and to the parameters.
    pub fn wide_vjp(
        &self,
        geom: usize,
        placed: &PlacedGeom<'_, T>,
        bar: &WideGeomBar<T::Pack>,
        velocity_bars: &mut [Force<T>],
        wrenches: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let body = bar.body;
        velocity_bars[placed.body] += Force::new(T::total_vector(body.angular), T::total_vector(body.linear));
        wrenches[placed.body] +=
            Force::at_point(T::total_vector(bar.frame), self.kinematics.arm(placed.body));
        let r = bar.shape.pose.rotation;
        let [c0, c1, c2] = [r.c0, r.c1, r.c2].map(T::total_vector);
        let pose = Transform::new(Mat3::from_cols(c0, c1, c2), T::total_vector(bar.shape.pose.translation));
        let shape = ShapeBar { pose, size: T::total_vector(bar.shape.size) };
        self.placed_vjp(geom, shape, T::total(bar.friction), wrenches, params_bar);
    }
}
