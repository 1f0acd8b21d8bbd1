//! Spheres and capsules among themselves: distances between points and segments.
//!
//! Two capsules have two slots. Slot 0 is the pair of closest points (Ericson, *Real-Time Collision
//! Detection*, §5.1.9), which on parallel axes is not unique and near them jumps from one end of the overlap
//! to the other. With sin² of the angle below `PARALLEL` it therefore moves, by a smooth step, to one end
//! of the overlap, and slot 1, the other end, comes in: at exactly parallel axes the two ends carry the load,
//! as in MuJoCo. Where it is not wanted, the distance of slot 1 is raised smoothly, by 2 (r₁ + r₂) or more
//! when the axes cross, or when the overlap is a point. Inside the band the smallest distance is
//! overestimated by at most about 10⁻⁴ L² / (8 gap) for a length L.
//!
//! Coincident centers or crossing axes have no direction; the normal is then world z, with zero derivative.

use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::contact::{
    Contact, INACTIVE, clamp, clamp_vjp, from_center, from_center_vjp, length, length_vjp, unit_or,
    unit_or_vjp,
};

/// sin² of the angle between capsules below which they count as parallel.
const PARALLEL: f64 = 1e-4;

/// Two balls.
#[differentiable]
pub(super) fn balls<T: Real>(a: Vec3<T>, radius_a: T, b: Vec3<T>, radius_b: T) -> Contact<T> {
    let d = b - a;
    let n = unit_or(d, Vec3::new(T::zero(), T::zero(), T::one()));
    from_center(a, radius_a, n, length(d) - radius_b)
}

/// Sphere against sphere.
#[differentiable]
pub fn sphere_sphere<T: Real>(a: Transform<T>, radius_a: T, b: Transform<T>, radius_b: T) -> Contact<T> {
    balls(a.translation, radius_a, b.translation, radius_b)
}

/// The coordinate along the segment of `capsule` that is nearest to x.
#[differentiable]
fn nearest<T: Real>(capsule: Transform<T>, half_length: T, x: Vec3<T>) -> T {
    clamp(capsule.rotation.c2.dot(x - capsule.translation), half_length)
}

/// The point of the segment at coordinate s.
#[differentiable]
fn at<T: Real>(capsule: Transform<T>, s: T) -> Vec3<T> {
    capsule.translation + capsule.rotation.c2 * s
}

/// Sphere against capsule.
#[differentiable]
pub fn sphere_capsule<T: Real>(
    sphere: Transform<T>,
    radius: T,
    capsule: Transform<T>,
    capsule_radius: T,
    half_length: T,
) -> Contact<T> {
    let s = nearest(capsule, half_length, sphere.translation);
    balls(sphere.translation, radius, at(capsule, s), capsule_radius)
}

/// Capsule against capsule: the closest points, and the other end of the overlap when parallel.
#[differentiable]
pub fn capsule_capsule<T: Real>(
    a: Transform<T>,
    radius_a: T,
    half_a: T,
    b: Transform<T>,
    radius_b: T,
    half_b: T,
) -> [Contact<T>; 2] {
    let (one, two) = (T::one(), T::lit(2.0));
    let r = b.translation - a.translation;
    // Closest points of the lines: s − c t = u, t − c s = −v.
    let c = a.rotation.c2.dot(b.rotation.c2);
    let (u, v) = (a.rotation.c2.dot(r), b.rotation.c2.dot(r));
    let sine_squared = a.rotation.c2.cross(b.rotation.c2).norm_squared();
    let s_lines = clamp((u - c * v) / sine_squared.max(T::lit(1e-3 * PARALLEL)), half_a);
    // The overlap [low, high] on the axis of a, by the ends of b.
    let reach = half_b * c.abs();
    let (low, high) = (clamp(u - reach, half_a), clamp(u + reach, half_a));
    // Smooth step from 0 when parallel to 1 when crossing.
    let q = (sine_squared * T::lit(1.0 / PARALLEL)).min(one);
    let crossing = q * q * (T::lit(3.0) - two * q);
    // Slot 0: project there and back, which clips to both segments.
    let s = low + (s_lines - low) * crossing;
    let t = nearest(b, half_b, at(a, s));
    let s = nearest(a, half_a, at(b, t));
    let closest = balls(at(a, s), radius_a, at(b, t), radius_b);
    // Slot 1, raised when crossing and when the overlap is shorter than the radii.
    let t = nearest(b, half_b, at(a, high));
    let other = balls(at(a, high), radius_a, at(b, t), radius_b);
    let radii = radius_a + radius_b;
    let thick = radii.gt(T::lit(1e-15));
    let width = (high - low) / select(thick, radii, one);
    let narrow = (one - width).max(T::zero());
    let raise = (crossing + narrow * narrow) * two * radii;
    let gone = T::lit(INACTIVE) * select(sine_squared.lt(T::lit(PARALLEL)), T::zero(), one);
    let raised =
        Contact { position: other.position, normal: other.normal, distance: other.distance + raise + gone };
    [closest, raised]
}
