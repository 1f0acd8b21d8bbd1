//! A sphere against a torus: signed distance of a point to a tube of radius r around a circle of radius R,
//! exact inside and outside.
//!
//! In the frame of the torus, whose axis is z, the nearest point of the circle lies in the half plane of the
//! axis and the point. The distance is the length of the way there less r, and the way is the normal, within
//! the tube too.
//!
//! # Limits
//!
//! On the axis every point of the circle is equally near: the one along x is taken, and moving off the axis
//! does not turn the way. On the circle itself there is no way: −z is taken, with zero derivative. A spindle
//! (r > R) is measured as the union of its discs about the circle, so distances inside its core are to the
//! tube, not to the outer surface. Nothing but spheres collides with a torus.

use pullback_math::{Real, Transform, Vec3, differentiable};

use super::contact::{Contact, from_center, from_center_vjp, length, length_vjp, unit_or, unit_or_vjp};

/// From the point c to a torus, in its frame: unit direction to the nearest point of its circle, and the
/// signed distance.
#[differentiable]
fn torus_gap<T: Real>(c: Vec3<T>, ring: T, tube: T) -> (Vec3<T>, T) {
    let (zero, one) = (T::zero(), T::one());
    let across = Vec3::new(c.x, c.y, zero);
    let radial = unit_or(across, Vec3::new(one, zero, zero));
    // d = (R − ρ) e_ρ − z e_z
    let d = radial * (ring - length(across)) - Vec3::new(zero, zero, c.z);
    (unit_or(d, Vec3::new(zero, zero, -one)), length(d) - tube)
}

/// Sphere against torus.
#[differentiable]
pub fn sphere_torus<T: Real>(
    sphere: Transform<T>,
    radius: T,
    torus: Transform<T>,
    ring: T,
    tube: T,
) -> Contact<T> {
    let (n, gap) = torus_gap(torus.inverse_point(sphere.translation), ring, tube);
    from_center(sphere.translation, radius, torus.direction(n), gap)
}
