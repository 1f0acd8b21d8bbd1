//! Lower bounds of the distance between two geoms that cost less than a narrow phase: balls around them, then boxes
//! along their own axes. A pair that is apart in every lane has no contact.

use pullback_collision::{Collider, Kind};
use pullback_math::{Mask, Real, Transform, Vec3};

/// Whether two geoms, each by bounding radius and pose, are surely too far apart to touch, in every lane.
pub(super) fn bounding_spheres_apart<T: Real>(
    (ra, a): (f64, Transform<T>),
    (rb, b): (f64, Transform<T>),
    reach: f64,
) -> bool {
    let between = b.translation - a.translation;
    let gap = match (ra.is_finite(), rb.is_finite()) {
        (true, true) => between.norm() - T::lit(ra + rb),
        (false, true) => between.dot(a.rotation.col(2)) - T::lit(rb),
        (true, false) => -(between.dot(b.rotation.col(2))) - T::lit(ra),
        (false, false) => return true,
    };
    gap.gt(T::lit(reach)).all()
}

/// Whether the boxes around two geoms are surely too far apart to touch, in every lane. A ball counts as itself.
pub(super) fn boxes_apart<T: Real>(
    (first, a): (&Collider<'_, T>, Transform<T>),
    (second, b): (&Collider<'_, T>, Transform<T>),
    reach: f64,
) -> bool {
    let gap = match (first.kind, second.kind, first.bounding_box(), second.bounding_box()) {
        // Balls around balls were tried before.
        (Kind::Sphere, Kind::Sphere, ..) => return false,
        (Kind::Sphere, _, _, Some(other)) => ball_over_box(first.size.x, a, other, b),
        (_, Kind::Sphere, Some(other), _) => ball_over_box(second.size.x, b, other, a),
        (Kind::Plane, _, _, Some(other)) => box_over_plane(other, b, a),
        (_, Kind::Plane, Some(other), _) => box_over_plane(other, a, b),
        (_, _, Some(first), Some(second)) => between_boxes((first, a), (second, b)),
        _ => return false,
    };
    // Far from the origin, contacts are computed to the round-off of T.
    let slack = T::lit(64.0 * T::EPSILON) * (a.translation.norm() + b.translation.norm());
    (gap - slack).gt(T::lit(reach)).all()
}

/// Middle and half edges of a box along the axes of a geom.
type Bounds<T> = (Vec3<T>, Vec3<T>);

/// Distance from a ball to a box, or a number below it where they overlap.
fn ball_over_box<T: Real>(radius: T, ball: Transform<T>, (middle, half): Bounds<T>, pose: Transform<T>) -> T {
    let off = pose.inverse_point(ball.translation) - middle;
    off.zip(half, |x, h| (x.abs() - h).max(T::zero())).norm() - radius
}

/// Height of the lowest corner of a box over a plane.
fn box_over_plane<T: Real>((middle, half): Bounds<T>, pose: Transform<T>, plane: Transform<T>) -> T {
    let up = plane.rotation.col(2);
    let local = pose.inverse_direction(up);
    up.dot(pose.point(middle) - plane.translation)
        - (local.x.abs() * half.x + local.y.abs() * half.y + local.z.abs() * half.z)
}

/// Largest gap between two boxes along an axis of either.
fn between_boxes<T: Real>(
    ((middle_a, half_a), a): (Bounds<T>, Transform<T>),
    ((middle_b, half_b), b): (Bounds<T>, Transform<T>),
) -> T {
    let between = b.point(middle_b) - a.point(middle_a);
    let (t, s) = (a.inverse_direction(between), b.inverse_direction(between));
    // r[j] = bⱼ in the axes of the first
    let r: [Vec3<T>; 3] = std::array::from_fn(|j| a.inverse_direction(b.rotation.col(j)));
    let mut gap = T::lit(f64::NEG_INFINITY);
    for i in 0..3 {
        let extent_b = r[0][i].abs() * half_b.x + r[1][i].abs() * half_b.y + r[2][i].abs() * half_b.z;
        let extent_a = r[i].x.abs() * half_a.x + r[i].y.abs() * half_a.y + r[i].z.abs() * half_a.z;
        gap = gap.max(t[i].abs() - half_a[i] - extent_b).max(s[i].abs() - half_b[i] - extent_a);
    }
    gap
}
