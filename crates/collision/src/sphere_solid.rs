//! A sphere against a box and against a cylinder: signed distance of a point, exact inside and outside.
//!
//! In the frame of the solid the center is clamped to it. Outside, the way to the clamped point is the
//! normal; inside, the nearest face is. On the medial surface of the solid, where two faces are equally near,
//! the first of x, y, z (or the side before the caps) is taken, of opposite faces the negative one: the
//! distance has a kink there, the normal jumps, both stay finite. A center on the axis of a cylinder has the
//! normal of two crossing axes, as in [`rounded`](super::rounded). All this is as in MuJoCo.

use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::contact::{
    Contact, clamp, clamp_vjp, from_center, from_center_vjp, length, length_vjp, unit_or, unit_or_vjp,
};
use super::rounded::{square_to, square_to_vjp};

/// From the point c to a box, in its frame: unit direction to the nearest point of the surface (outside) or
/// away from it (inside), and the signed distance.
#[differentiable]
pub(super) fn box_gap<T: Real>(c: Vec3<T>, half: Vec3<T>) -> (Vec3<T>, T) {
    let (zero, one) = (T::zero(), T::one());
    // Depth below each face, the nearest of them, and the way inwards from it.
    let depth = Vec3::new(half.x - c.x.abs(), half.y - c.y.abs(), half.z - c.z.abs());
    let x_first = depth.x.le(depth.y) & depth.x.le(depth.z);
    let y_next = depth.y.le(depth.z);
    let (sx, sy, sz) =
        (select(c.x.le(zero), one, -one), select(c.y.le(zero), one, -one), select(c.z.le(zero), one, -one));
    let y_or_z = select(y_next, Vec3::new(zero, sy, zero), Vec3::new(zero, zero, sz));
    let inwards = select(x_first, Vec3::new(sx, zero, zero), y_or_z);
    let inside = select(x_first, depth.x, select(y_next, depth.y, depth.z));
    // Outside: the clamped point.
    let d = Vec3::new(clamp(c.x, half.x) - c.x, clamp(c.y, half.y) - c.y, clamp(c.z, half.z) - c.z);
    let outside = length(d);
    (unit_or(d, inwards), select(outside.gt(zero), outside, -inside))
}

/// From the point c to a cylinder along z, in its frame, as [`box_gap`]; `crossing` is the direction where c
/// is on the axis.
#[differentiable]
pub(super) fn cylinder_gap<T: Real>(
    c: Vec3<T>,
    radius: T,
    half_length: T,
    crossing: Vec3<T>,
) -> (Vec3<T>, T) {
    let (zero, one) = (T::zero(), T::one());
    let across = Vec3::new(c.x, c.y, zero);
    let (rho, radial) = (length(across), unit_or(across, -crossing));
    let (side, cap) = (radius - rho, half_length - c.z.abs());
    let side_first = side.le(cap);
    let inwards = select(side_first, -radial, Vec3::new(zero, zero, select(c.z.le(zero), one, -one)));
    let inside = select(side_first, side, cap);
    let d = radial * (rho.min(radius) - rho) + Vec3::new(zero, zero, clamp(c.z, half_length) - c.z);
    let outside = length(d);
    (unit_or(d, inwards), select(outside.gt(zero), outside, -inside))
}

/// Sphere against box.
#[differentiable]
pub fn sphere_box<T: Real>(
    sphere: Transform<T>,
    radius: T,
    solid: Transform<T>,
    half: Vec3<T>,
) -> Contact<T> {
    let (n, gap) = box_gap(solid.inverse_point(sphere.translation), half);
    from_center(sphere.translation, radius, solid.direction(n), gap)
}

/// Sphere against cylinder.
#[differentiable]
pub fn sphere_cylinder<T: Real>(
    sphere: Transform<T>,
    radius: T,
    cylinder: Transform<T>,
    cylinder_radius: T,
    half_length: T,
) -> Contact<T> {
    let crossing = square_to(sphere.rotation.c2, cylinder.rotation.c2);
    let center = cylinder.inverse_point(sphere.translation);
    let (n, gap) = cylinder_gap(center, cylinder_radius, half_length, cylinder.inverse_direction(crossing));
    from_center(sphere.translation, radius, cylinder.direction(n), gap)
}
