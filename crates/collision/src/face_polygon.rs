//! Faces and edges of convex shapes in one environment, as [`manifold`](super::manifold) matches and clips
//! them.
//!
//! A *feature* is what the support points of one shape under the contact have in common: a corner, an edge or
//! a face of a polyhedron, an end or the side of a cylinder. It says which faces and edges may lie flat on
//! the other shape. Polygons go clockwise seen from outside. The cap of a cylinder is a polygon of [`RIM`]
//! corners; its side, and that of a capsule, is one edge.

use pullback_math::Vec3;

use super::collider::Kind;
use super::hull::Hull;
use super::support::Core;

/// Corners of a face, at most.
pub(super) const CORNERS: usize = 96;
/// Faces or edges at a corner, at most.
const MATCHES: usize = 64;
/// Corners of the polygon that stands for the cap of a cylinder.
const RIM: usize = 16;

/// Sine of the angle between a direction and the axis of a cylinder below which it points to no side.
const NO_SIDE: f64 = 1e-6;

/// A point of a shape: `unit` in units of its extents, plus its radius towards the other shape, square to the
/// axis: all of it (`rim`), or its part that is square to the axis (`ball`).
#[derive(Clone, Copy, Default)]
pub(super) struct FacePoint {
    pub unit: Vec3<f64>,
    pub rim: f64,
    pub ball: f64,
}

impl FacePoint {
    fn flat(unit: Vec3<f64>) -> Self {
        FacePoint { unit, rim: 0.0, ball: 0.0 }
    }
}

/// Points around a face; two are an edge.
#[derive(Clone, Copy)]
pub(super) struct FacePolygon {
    pub points: [FacePoint; CORNERS],
    pub count: usize,
}

impl FacePolygon {
    fn empty() -> Self {
        FacePolygon { points: [FacePoint::default(); CORNERS], count: 0 }
    }
    /// Of two points.
    pub fn edge(from: FacePoint, to: FacePoint) -> Self {
        let mut edge = Self::empty();
        edge.add(from);
        edge.add(to);
        edge
    }
    fn add(&mut self, point: FacePoint) {
        if self.count < CORNERS {
            self.points[self.count] = point;
            self.count += 1;
        }
    }
}

/// Faces, with local normals, or edges, with local directions.
#[derive(Clone, Copy)]
pub(super) struct Matches<T> {
    items: [(Vec3<f64>, T); MATCHES],
    count: usize,
}

impl<T: Copy + Default> Matches<T> {
    fn none() -> Self {
        Matches { items: [(Vec3::zero(), T::default()); MATCHES], count: 0 }
    }
    /// A single one.
    pub fn one(direction: Vec3<f64>, item: T) -> Self {
        let mut one = Self::none();
        one.add(direction, item);
        one
    }
    fn add(&mut self, direction: Vec3<f64>, item: T) {
        if self.count < MATCHES {
            self.items[self.count] = (direction, item);
            self.count += 1;
        }
    }
    pub fn all(&self) -> &[(Vec3<f64>, T)] {
        &self.items[..self.count]
    }
}

/// What three support points of a shape span.
#[derive(Clone, Copy)]
pub(super) struct Feature {
    /// Number of distinct corners.
    pub dimension: usize,
    corners: [u32; 3],
}

impl Feature {
    pub fn new([a, b, c]: [u32; 3]) -> Self {
        if a != b {
            Feature { dimension: if c == a || c == b { 2 } else { 3 }, corners: [a, b, c] }
        } else {
            Feature { dimension: if a == c { 1 } else { 2 }, corners: [a, c, c] }
        }
    }
    fn corners(&self) -> &[u32] {
        &self.corners[..self.dimension]
    }
}

fn box_corner(bits: u32) -> Vec3<f64> {
    let sign = |axis: u32| if bits >> axis & 1 == 1 { 1.0 } else { -1.0 };
    Vec3::new(sign(0), sign(1), sign(2))
}

/// Normal of face `2 axis` of a box, or of the opposite face after it.
fn box_normal(face: usize) -> Vec3<f64> {
    let mut normal = Vec3::zero();
    normal[face / 2] = if face.is_multiple_of(2) { 1.0 } else { -1.0 };
    normal
}

/// The faces of a shape on which its feature lies. Of a feature of a box within no or several faces, the face
/// within `cos_angle` of n, the local direction to the other shape.
pub(super) fn faces_at(core: &Core, feature: Feature, n: Vec3<f64>, cos_angle: f64) -> Matches<usize> {
    let mut faces = Matches::none();
    match (core.collider.kind, core.collider.faces) {
        (Kind::Box, _) => {
            let holds = |face: usize| {
                let normal = box_normal(face);
                feature.corners().iter().all(|&c| box_corner(c).dot(normal) > 0.0)
            };
            (0..6).filter(|&face| holds(face)).for_each(|face| faces.add(box_normal(face), face));
            if faces.count + feature.dimension != 4 {
                faces.count = 0;
                let near = (0..6).find(|&face| box_normal(face).dot(n) > cos_angle);
                near.into_iter().for_each(|face| faces.add(box_normal(face), face));
            }
        }
        (Kind::Cylinder, _) if feature.dimension == 1 => {
            let top = if feature.corners[0] == 1 { 1.0 } else { -1.0 };
            faces.add(Vec3::new(0.0, 0.0, top), feature.corners[0] as usize);
        }
        (Kind::Mesh, Some(hull)) => {
            let most = [MATCHES, 2, 1][feature.dimension - 1];
            let others = &feature.corners()[1..];
            let common = |face: u32| others.iter().all(|&c| hull.faces_at(c as usize).contains(&face));
            let at_first = hull.faces_at(feature.corners[0] as usize).iter().copied();
            for face in at_first.filter(|&face| common(face)).take(most) {
                faces.add(hull.normal(face as usize), face as usize);
            }
        }
        _ => {}
    }
    faces
}

/// The edges of a shape on which its feature lies: where they start, and their other ends. That of a cylinder
/// is on the side of n, the local direction to the other shape; along its axis any side will do.
pub(super) fn edges_at(core: &Core, feature: Feature, n: Vec3<f64>) -> (FacePoint, Matches<FacePoint>) {
    let mut edges = Matches::none();
    let first = feature.corners[0];
    let size = core.collider.size;
    match (core.collider.kind, core.collider.faces) {
        (Kind::Capsule, _) => {
            let end = |z: f64| FacePoint { unit: Vec3::new(0.0, 0.0, z), rim: 0.0, ball: 1.0 };
            edges.add(Vec3::new(0.0, 0.0, 1.0), end(1.0));
            (end(-1.0), edges)
        }
        (Kind::Cylinder, _) => {
            let z = if first == 1 { 1.0 } else { -1.0 };
            let side = n.x.hypot(n.y) > NO_SIDE;
            let (x, rim) = if side { (0.0, 1.0) } else { (1.0, 0.0) };
            let end = |z: f64| FacePoint { unit: Vec3::new(x, 0.0, z), rim, ball: 0.0 };
            edges.add(Vec3::new(0.0, 0.0, -z), end(-z));
            (end(z), edges)
        }
        (Kind::Box, _) => {
            let start = box_corner(first);
            let mut add = |end: Vec3<f64>| {
                edges.add((end - start).zip(size, |x, s| x * s).normalize(), FacePoint::flat(end));
            };
            if feature.dimension == 2 {
                add(box_corner(feature.corners[1]));
            } else {
                (0..3).for_each(|axis| add(box_corner(first ^ 1 << axis)));
            }
            (FacePoint::flat(start), edges)
        }
        (Kind::Mesh, Some(hull)) => {
            let at = |corner: u32| core.collider.vertices[hull.corners[corner as usize]];
            let mut add = |end: Vec3<f64>| edges.add((end - at(first)).normalize(), FacePoint::flat(end));
            if feature.dimension == 2 {
                add(at(feature.corners[1]));
            } else {
                for &face in hull.faces_at(first as usize) {
                    add(at(before(hull, face as usize, first)));
                }
            }
            (FacePoint::flat(at(first)), edges)
        }
        _ => (FacePoint::default(), edges),
    }
}

/// The corner before another one around a face.
fn before(hull: &Hull, face: usize, corner: u32) -> u32 {
    let polygon = hull.face(face);
    let at = polygon.iter().position(|&c| c == corner).unwrap_or(0);
    polygon[(at + polygon.len() - 1) % polygon.len()]
}

/// First corner of each face of a box, and the axis along which the second lies.
const BOX_FACES: [(u32, u32); 6] = [(7, 2), (2, 2), (2, 0), (4, 0), (6, 0), (3, 0)];

/// Corners of a face, clockwise seen from outside.
pub(super) fn polygon(core: &Core, face: usize) -> FacePolygon {
    let mut polygon = FacePolygon::empty();
    match (core.collider.kind, core.collider.faces) {
        (Kind::Box, _) => {
            let (first, axis) = BOX_FACES[face];
            let other = 3 - axis - face as u32 / 2;
            let steps = [0, 1 << axis, 1 << axis | 1 << other, 1 << other];
            steps.into_iter().for_each(|step| polygon.add(FacePoint::flat(box_corner(first ^ step))));
        }
        (Kind::Cylinder, _) => {
            let z = if face == 1 { 1.0 } else { -1.0 };
            for k in 0..RIM {
                let angle = k as f64 * std::f64::consts::TAU / RIM as f64;
                polygon.add(FacePoint::flat(Vec3::new(angle.cos(), -z * angle.sin(), z)));
            }
        }
        (Kind::Mesh, Some(hull)) => {
            let corners = hull.face(face);
            for &corner in corners.iter().rev().step_by(corners.len().div_ceil(CORNERS)) {
                polygon.add(FacePoint::flat(core.collider.vertices[hull.corners[corner as usize]]));
            }
        }
        _ => {}
    }
    polygon
}
