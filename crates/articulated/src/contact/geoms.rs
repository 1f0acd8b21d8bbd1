//! Geoms of a model at a configuration: [`GeomView`] places them, and carries cotangents of their placement
//! back.

use pullback_collision::{Collider, ShapeBar};
use pullback_math::{Force, MulVjp, Real, Transform, Vec3};

use super::distance::ContactsFromDistance;
use crate::kinematics::Kinematics;
use crate::model::Model;
use crate::params::{GeomParams, ParamIndex};

/// A geom in the world.
pub struct PlacedGeom<'m, T> {
    /// The body that carries it.
    pub body: usize,
    /// Its frame in the world.
    pub pose: Transform<T>,
    /// Its shape.
    pub collider: Collider<'m, T>,
    /// Sliding friction.
    pub friction: T,
}

/// The geoms of a model at a configuration.
pub struct GeomView<'a, T> {
    /// The robots.
    pub model: &'a Model,
    /// Where each parameter lies.
    pub index: &'a ParamIndex,
    /// Parameters of the model.
    pub params: &'a [T],
    /// Poses of the bodies.
    pub kinematics: &'a Kinematics<T>,
    /// How contacts act from distance, if they do in this evaluation.
    pub distant: Option<&'a ContactsFromDistance>,
    /// Distance beyond that at which they act up to which contacts are found, m.
    pub slack: f64,
}

impl<'a, T: Real> GeomView<'a, T> {
    /// The parameters of a geom.
    #[inline(always)]
    pub(crate) fn params_of(&self, geom: usize) -> GeomParams<T> {
        self.index.geoms[geom].read(self.params)
    }

    /// The shape of a geom.
    #[inline(always)]
    pub fn collider(&self, geom: usize) -> Collider<'a, T> {
        let mut collider = self.model.collider(&self.model.geoms[geom]);
        collider.size = self.params_of(geom).size;
        collider
    }

    /// The pose of a geom in the world.
    #[inline(always)]
    pub fn pose(&self, geom: usize) -> Transform<T> {
        self.kinematics.world_from_body[self.model.geoms[geom].body] * body_from_geom(self.params_of(geom))
    }

    /// A geom in the world.
    pub fn placed(&self, geom: usize) -> PlacedGeom<'a, T> {
        PlacedGeom {
            body: self.model.geoms[geom].body,
            pose: self.pose(geom),
            collider: self.collider(geom),
            friction: self.params_of(geom).friction,
        }
    }

    /// The pullback of [`GeomView::placed`]: *adds* to the wrenches on displacements of the bodies and to the
    /// parameters.
    pub(crate) fn placed_vjp(
        &self,
        geom: usize,
        bar: ShapeBar<T>,
        friction_bar: T,
        wrenches: &mut [Force<T>],
        params_bar: &mut [T],
    ) {
        let (body, p) = (self.model.geoms[geom].body, self.params_of(geom));
        let body_pose = self.kinematics.world_from_body[body];
        let (body_bar, local_bar) = body_pose.mul_vjp(body_from_geom(p), bar.pose);
        wrenches[body] += pose_wrench(body_pose, body_bar, self.kinematics.origins[body]);
        let unit = p.orientation.normalize();
        let (unit_bar, position) = Transform::from_quat_vjp(unit, p.position, local_bar);
        let orientation = p.orientation.normalize_vjp(unit_bar);
        let bar = GeomParams { size: bar.size, position, orientation, friction: friction_bar };
        self.index.geoms[geom].add(bar, params_bar);
    }
}

/// The pose of a geom in its body.
#[inline(always)]
fn body_from_geom<T: Real>(p: GeomParams<T>) -> Transform<T> {
    Transform::from_quat(p.orientation.normalize(), p.position)
}

/// The wrench that the cotangent of a pose exerts on small motions of it.
pub fn pose_wrench<T: Real>(pose: Transform<T>, bar: Transform<T>, origin: Vec3<T>) -> Force<T> {
    let mut wrench = Force::at_point(bar.translation, pose.translation - origin);
    for i in 0..3 {
        wrench.moment += pose.rotation.col(i).cross(bar.rotation.col(i));
    }
    wrench
}
