//! Spheres and capsules among themselves: distances between points and segments.
//!
//! Two capsules have two slots, as in MuJoCo. With sin² of the angle between the axes at or above `PARALLEL`,
//! slot 0 is the pair of closest points (Ericson, *Real-Time Collision Detection*, §5.1.9) and slot 1 is
//! empty. Below it both slots count: the ends of the second segment, the lower along the first axis before
//! the upper, each against the point of the first segment nearest to it; an end beyond the first segment is
//! drawn back to the end of that. Segments that do not overlap have the same contact twice.
//!
//! Limits: contacts jump where sin² passes `PARALLEL`. Above it, derivatives of the closest points grow as
//! 1 / sin².
//!
//! Coincident centers or crossing axes have no direction; the normal is then square to the z axes of both
//! bodies, and world x where these are parallel.

use pullback_math::{Real, Transform, Vec3, differentiable, select};

use super::contact::{
    Contact, INACTIVE, clamp, clamp_vjp, from_center, from_center_vjp, length, length_vjp, unit_or,
    unit_or_vjp,
};

/// sin² of the angle between capsules below which they count as parallel.
const PARALLEL: f64 = 1e-8;

/// Two balls; `crossing` is the normal where their centers coincide.
#[differentiable]
pub(super) fn balls<T: Real>(
    a: Vec3<T>,
    radius_a: T,
    b: Vec3<T>,
    radius_b: T,
    crossing: Vec3<T>,
) -> Contact<T> {
    let d = b - a;
    from_center(a, radius_a, unit_or(d, crossing), length(d) - radius_b)
}

/// The direction square to two axes.
#[differentiable]
pub(super) fn square_to<T: Real>(a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    unit_or(a.cross(b), Vec3::new(T::one(), T::zero(), T::zero()))
}

/// Sphere against sphere.
#[differentiable]
pub fn sphere_sphere<T: Real>(a: Transform<T>, radius_a: T, b: Transform<T>, radius_b: T) -> Contact<T> {
    let crossing = square_to(a.rotation.c2, b.rotation.c2);
    balls(a.translation, radius_a, b.translation, radius_b, crossing)
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
    let crossing = square_to(sphere.rotation.c2, capsule.rotation.c2);
    balls(sphere.translation, radius, at(capsule, s), capsule_radius, crossing)
}

/// Capsule against capsule: the closest points, or both ends of the overlap when parallel.
#[differentiable]
pub fn capsule_capsule<T: Real>(
    a: Transform<T>,
    radius_a: T,
    half_a: T,
    b: Transform<T>,
    radius_b: T,
    half_b: T,
) -> [Contact<T>; 2] {
    let r = b.translation - a.translation;
    let c = a.rotation.c2.dot(b.rotation.c2);
    let (u, v) = (a.rotation.c2.dot(r), b.rotation.c2.dot(r));
    let cross = a.rotation.c2.cross(b.rotation.c2);
    let crossing = unit_or(cross, Vec3::new(T::one(), T::zero(), T::zero()));
    let sine_squared = cross.norm_squared();
    let parallel = sine_squared.lt(T::lit(PARALLEL));
    // Closest points of the lines: s − c t = u, t − c s = −v; there and back clips to both segments.
    let lines = clamp((u - c * v) / sine_squared.max(T::lit(PARALLEL)), half_a);
    let t = nearest(b, half_b, at(a, lines));
    let s = nearest(a, half_a, at(b, t));
    // The ends of b along the axis of a, drawn back to the ends of a.
    let upper = select(c.lt(T::zero()), -half_b, half_b);
    let (low, high) = (u - c * upper, u + c * upper);
    let (s_low, s_high) = (clamp(low, half_a), clamp(high, half_a));
    let t_low = select(low.abs().gt(half_a), nearest(b, half_b, at(a, s_low)), -upper);
    let t_high = select(high.abs().gt(half_a), nearest(b, half_b, at(a, s_high)), upper);
    let (s, t) = (select(parallel, s_low, s), select(parallel, t_low, t));
    let first = balls(at(a, s), radius_a, at(b, t), radius_b, crossing);
    let second = balls(at(a, s_high), radius_a, at(b, t_high), radius_b, crossing);
    let gone = select(parallel, T::zero(), T::lit(INACTIVE));
    [first, Contact { position: second.position, normal: second.normal, distance: second.distance + gone }]
}
