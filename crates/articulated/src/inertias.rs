//! Cotangents of the bodies' inertias in the world, carried to their poses and parameters.

use pullback_math::{Force, Real, SpatialInertia};

use super::contact::pose_wrench;
use super::field::Articulated;
use super::kinematics::Kinematics;

impl Articulated {
    /// Wrenches on displacements of the bodies: *adds*.
    pub(super) fn inertias_vjp<T: Real>(
        &self,
        kinematics: &Kinematics<T>,
        params: &[T],
        inertia_bars: &[SpatialInertia<T>],
        wrenches: &mut [Force<T>],
    ) {
        for b in 1..self.tree.bodies() {
            let (body, pose) = (self.index.body(b).read(params), kinematics.about_point(b));
            let (pose_bar, _) = pose.inertia_vjp(body.spatial_inertia(), inertia_bars[b]);
            wrenches[b] += pose_wrench(kinematics.world_from_body[b], pose_bar, kinematics.origins[b]);
        }
    }

    /// Cotangents of body parameters: *adds*.
    pub(super) fn body_params_vjp<T: Real>(
        &self,
        kinematics: &Kinematics<T>,
        params: &[T],
        inertia_bars: &[SpatialInertia<T>],
        params_bar: &mut [T],
    ) {
        for b in 1..self.tree.bodies() {
            let block = self.index.body(b);
            let (body, pose) = (block.read(params), kinematics.about_point(b));
            let (_, in_body) = pose.inertia_vjp(body.spatial_inertia(), inertia_bars[b]);
            block.add(body.spatial_inertia_vjp(in_body), params_bar);
        }
    }
}
