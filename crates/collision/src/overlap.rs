//! The part of one shape's face that lies over a face of another, in one environment: Sutherland and
//! Hodgman's clipping (1974) with names for the lines, so that [`manifold`](super::manifold) knows which
//! sides hold a corner.

use pullback_math::Vec3;

use super::face_polygon::{CORNERS, FacePoint, Side, facing, sides};
use super::support::{Core, extents};

/// A side of the clipped polygon: of the reference, or an edge of the other shape along `along`.
#[derive(Clone, Copy, Default)]
pub(super) struct Line {
    pub side: Option<usize>,
    pub along: Vec3<f64>,
}

/// A corner, and the lines that meet there.
#[derive(Clone, Copy, Default)]
pub(super) struct Vertex {
    pub x: Vec3<f64>,
    pub point: FacePoint,
    pub before: Line,
    pub after: Line,
}

/// Corners of a clipped polygon, at most.
const ROOM: usize = 2 * CORNERS;

/// Cuts away what is beyond the side; lines keep their names.
fn clip(polygon: &mut [Vertex; ROOM], count: usize, side: usize, beyond: impl Fn(Vec3<f64>) -> f64) -> usize {
    let source = *polygon;
    let cut = Line { side: Some(side), along: Vec3::zero() };
    let mut kept = 0;
    let mut keep = |v: Vertex| {
        if kept < ROOM {
            polygon[kept] = v;
            kept += 1;
        }
    };
    for i in 0..count {
        let (v, next) = (source[i], source[(i + 1) % count]);
        let (here, there) = (beyond(v.x), beyond(next.x));
        if here <= 0.0 {
            keep(v);
        }
        if (here <= 0.0) != (there <= 0.0) {
            let t = here / (here - there);
            let point = FacePoint { unit: v.point.unit + (next.point.unit - v.point.unit) * t, ..v.point };
            let (before, after) = if here <= 0.0 { (v.after, cut) } else { (cut, v.after) };
            keep(Vertex { x: v.x + (next.x - v.x) * t, point, before, after });
        }
    }
    kept
}

/// The world position of a point that faces the world direction d.
fn place(core: &Core, p: &FacePoint, d: Vec3<f64>) -> Vec3<f64> {
    let local = core.pose.inverse_direction(d);
    let radial = Vec3::new(local.x, local.y, 0.0).normalize();
    let unit = p.unit.zip(extents(core.collider.kind, core.collider.size), |u, e| u * e);
    core.pose.point(unit + (radial * p.rim + local * p.ball) * core.collider.size.x)
}

/// The part of the other shape's face that is over a face of the first, without corners that fell together.
pub(super) struct Overlap {
    pub polygon: [Vertex; ROOM],
    pub count: usize,
    pub sides: [Side; CORNERS],
    /// Square to the other shape's face.
    pub across: Vec3<f64>,
    /// Sine of the angle between the faces.
    pub lean: f64,
    /// Smallest gap along the normal of the reference, m.
    pub lowest: f64,
}

/// Clips the face of `other` that looks at the face of `fixed` with local normal `face`.
pub(super) fn overlap(fixed: &Core, face: Vec3<f64>, other: &Core, scale: f64) -> Overlap {
    let n = fixed.pose.direction(face);
    let incident = facing(other, other.pose.inverse_direction(-n));
    let corners = incident.count;
    let at = |i: usize| place(other, &incident.points[i % corners.max(1)], -n);
    let edge = |from: usize| Line { side: None, along: at(from + 1) - at(from) };
    let mut polygon = [Vertex::default(); ROOM];
    for (i, vertex) in polygon.iter_mut().enumerate().take(corners) {
        let (before, after) = (edge(i + corners - 1), edge(i));
        *vertex = Vertex { x: at(i), point: incident.points[i], before, after };
    }
    let mut clipped = corners;
    let (sides, side_count) = sides(fixed, face);
    let extent = extents(fixed.collider.kind, fixed.collider.size);
    for (i, side) in sides.iter().enumerate().take(side_count) {
        let on = side.unit.zip(extent, |u, e| u * e);
        let beyond = |x: Vec3<f64>| side.normal.dot(fixed.pose.inverse_point(x) - on);
        clipped = clip(&mut polygon, clipped, i, beyond);
    }
    let mut count = 0;
    for i in 0..clipped {
        let v = polygon[i];
        if polygon[..count].iter().all(|p| (p.x - v.x).norm() > 1e-6 * scale) {
            polygon[count] = v;
            count += 1;
        }
    }
    let top = fixed.pose.point(fixed.local_support(face));
    let lowest = polygon[..count].iter().map(|v| n.dot(v.x - top)).fold(f64::INFINITY, f64::min);
    let across = (at(1) - at(0)).cross(at(2) - at(0));
    let lean =
        if corners > 2 { across.normalize().cross(n).norm() } else { edge(0).along.normalize().dot(n).abs() };
    Overlap { polygon, count, sides, across, lean, lowest }
}
