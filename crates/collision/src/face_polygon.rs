//! Flat faces of convex shapes in one environment, as polygons: what [`manifold`](super::manifold) clips.

use pullback_math::Vec3;

use super::collider::Kind;
use super::contact::tangent_frame;
use super::support::Core;

/// Corners of a face, at most.
pub(super) const CORNERS: usize = 16;
/// Corners of the polygon that stands for the cap of a cylinder.
const RIM: usize = 8;
/// Sine of the lean up to which a cylinder stands on its cap, not on its rim.
pub(super) const STANDING: f64 = 0.01;

/// A point of a shape: `unit` in units of its extents, plus its radius towards the other shape, square to the
/// axis (`rim`) or in all directions (`ball`).
#[derive(Clone, Copy, Default)]
pub(super) struct FacePoint {
    pub unit: Vec3<f64>,
    pub rim: f64,
    pub ball: f64,
}

/// Points around a face; two where the shape is straight, one where it is pointed.
#[derive(Clone, Copy)]
pub(super) struct FacePolygon {
    pub points: [FacePoint; CORNERS],
    pub count: usize,
}

/// A side of a face: outward normal, and a point on it in units of the extents, both local.
#[derive(Clone, Copy, Default)]
pub(super) struct Side {
    pub normal: Vec3<f64>,
    pub unit: Vec3<f64>,
}

fn rim(k: f64, z: f64) -> Vec3<f64> {
    let angle = k * std::f64::consts::TAU / RIM as f64;
    Vec3::new(angle.cos(), angle.sin(), z)
}

fn sign(x: f64) -> f64 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

/// The face of a hull that a plane square to n, let down on it and tilted as little as it takes, comes to
/// rest on.
fn hull_face(core: &Core, n: Vec3<f64>) -> Option<Vec3<f64>> {
    let vertices = || core.collider.hull.iter().map(|&i| core.collider.vertices[i]);
    let top = core.local_support(n);
    let tiny = 1e-9 * core.collider.bounding_radius();
    // The vertex with the least fall from the top, then the least fall on either side of the edge between
    // them.
    let fall = |w: Vec3<f64>, n: Vec3<f64>, along: Vec3<f64>| {
        let d = w - top;
        let d = d - along * along.dot(d);
        let level = (d - n * n.dot(d)).norm();
        if level > tiny { n.dot(d) / level } else { f64::NEG_INFINITY }
    };
    let steepest = |n: Vec3<f64>, along: Vec3<f64>| {
        vertices().fold((f64::NEG_INFINITY, top), |best, w| {
            let slope = fall(w, n, along);
            if slope > best.0 { (slope, w) } else { best }
        })
    };
    let (_, second) = steepest(n, Vec3::zero());
    let edge = (second - top).normalize();
    let tilted = (n - edge * edge.dot(n)).normalize();
    let (slope, third) = steepest(tilted, edge);
    let face = (second - top).cross(third - top).normalize();
    (slope.is_finite() && face.norm_squared() > 0.5).then_some(face * sign(face.dot(n)))
}

/// The local normal of the face nearest to the local direction n; `None` if the shape has none.
pub(super) fn face_near(core: &Core, n: Vec3<f64>) -> Option<Vec3<f64>> {
    match core.collider.kind {
        Kind::Box => {
            let k = (0..3).fold(0, |k, j| if n[j].abs() > n[k].abs() + 1e-12 { j } else { k });
            let mut face = Vec3::zero();
            face[k] = sign(n[k]);
            Some(face)
        }
        Kind::Cylinder => Some(Vec3::new(0.0, 0.0, sign(n.z))),
        Kind::Mesh => hull_face(core, n),
        _ => None,
    }
}

/// The points that face the local direction d, counter-clockwise around it.
pub(super) fn facing(core: &Core, d: Vec3<f64>) -> FacePolygon {
    let mut polygon = FacePolygon { points: [FacePoint::default(); CORNERS], count: 0 };
    let mut add = |unit: Vec3<f64>, rim: f64, ball: f64| {
        if polygon.count < CORNERS {
            polygon.points[polygon.count] = FacePoint { unit, rim, ball };
            polygon.count += 1;
        }
    };
    let ends = [Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.0, 0.0, -1.0)];
    match core.collider.kind {
        Kind::Capsule => ends.into_iter().for_each(|end| add(end, 0.0, 1.0)),
        Kind::Cylinder if d.x.hypot(d.y) > STANDING => {
            ends.into_iter().for_each(|end| add(end, 1.0, 0.0));
        }
        Kind::Cylinder => (0..RIM).for_each(|k| add(rim(k as f64 * sign(d.z), sign(d.z)), 0.0, 0.0)),
        Kind::Box => {
            let Some(face) = face_near(core, d) else { return polygon };
            let k = (0..3).fold(0, |k, j| if face[j].abs() > 0.5 { j } else { k });
            let (i, j) = if face[k] > 0.0 { ((k + 1) % 3, (k + 2) % 3) } else { ((k + 2) % 3, (k + 1) % 3) };
            for (a, b) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)] {
                let mut unit = face;
                (unit[i], unit[j]) = (a, b);
                add(unit, 0.0, 0.0);
            }
        }
        Kind::Mesh => {
            let Some(face) = face_near(core, d) else { return polygon };
            let height = core.local_support(face).dot(face);
            let tiny = 1e-6 * core.collider.bounding_radius();
            for &i in core.collider.hull {
                let vertex = core.collider.vertices[i];
                if vertex.dot(face) > height - tiny {
                    add(vertex, 0.0, 0.0);
                }
            }
            sort_around(&mut polygon, face);
        }
        _ => {}
    }
    polygon
}

/// Orders points counter-clockwise around their middle, seen against n.
fn sort_around(polygon: &mut FacePolygon, n: Vec3<f64>) {
    let points = &mut polygon.points[..polygon.count];
    let middle = points.iter().fold(Vec3::zero(), |sum, p| sum + p.unit) * (1.0 / points.len().max(1) as f64);
    let (t, s) = tangent_frame(n);
    let angle = |p: &FacePoint| (p.unit - middle).dot(s).atan2((p.unit - middle).dot(t));
    points.sort_unstable_by(|p, q| angle(p).total_cmp(&angle(q)));
}

/// The sides of the face with local normal `face`.
pub(super) fn sides(core: &Core, face: Vec3<f64>) -> ([Side; CORNERS], usize) {
    let mut sides = [Side::default(); CORNERS];
    if core.collider.kind == Kind::Cylinder {
        let inset = (std::f64::consts::PI / RIM as f64).cos();
        for (k, side) in sides.iter_mut().enumerate().take(RIM) {
            let normal = rim(k as f64 + 0.5, 0.0);
            *side = Side { normal, unit: normal * inset };
        }
        return (sides, RIM);
    }
    let polygon = facing(core, face);
    let extents = super::support::extents(core.collider.kind, core.collider.size);
    let at = |i: usize| polygon.points[i % polygon.count.max(1)].unit;
    for (i, side) in sides.iter_mut().enumerate().take(polygon.count) {
        let along = (at(i + 1) - at(i)).zip(extents, |u, e| u * e);
        *side = Side { normal: along.cross(face).normalize(), unit: at(i) };
    }
    (sides, polygon.count)
}
