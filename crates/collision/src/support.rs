//! Support points of convex cores in one environment: what GJK and EPA ask of a shape.
//!
//! Spheres and capsules are cores (a point, a segment) with a rounding radius that is added afterwards, so
//! that they are exact and shallow overlaps never reach EPA.

use pullback_math::{Transform, Vec3};

use super::collider::{Collider, Kind};
use super::hull::highest_of;

/// A convex core in the world.
#[derive(Clone, Copy)]
pub(super) struct Core<'m> {
    pub collider: Collider<'m, f64>,
    pub pose: Transform<f64>,
}

/// Half extents of the core along its axes: local points are unit coordinates times these.
pub(super) fn extents(kind: Kind, size: Vec3<f64>) -> Vec3<f64> {
    match kind {
        Kind::Plane | Kind::Torus | Kind::Sphere => Vec3::zero(),
        Kind::Capsule => Vec3::new(0.0, 0.0, size.y),
        Kind::Cylinder => Vec3::new(size.x, size.x, size.y),
        Kind::Ellipsoid | Kind::Box | Kind::Heightfield => size,
        Kind::Mesh => Vec3::new(1.0, 1.0, 1.0),
    }
}

impl Core<'_> {
    /// Radius by which the shape is rounded around its core, m.
    pub fn rounding(&self) -> f64 {
        if matches!(self.collider.kind, Kind::Sphere | Kind::Capsule) { self.collider.size.x } else { 0.0 }
    }
    /// The farthest local point in the local direction d.
    pub fn local_support(&self, d: Vec3<f64>) -> Vec3<f64> {
        self.local_corner(d).0
    }
    /// The farthest local point in the local direction d, and which corner it is: bits of the signs of a box,
    /// the end of a cylinder, the corner of a hull.
    pub fn local_corner(&self, d: Vec3<f64>) -> (Vec3<f64>, u32) {
        let s = self.collider.size;
        let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
        let bit = |x: f64| u32::from(x >= 0.0);
        match self.collider.kind {
            Kind::Plane | Kind::Heightfield | Kind::Torus | Kind::Sphere => (Vec3::zero(), 0),
            Kind::Capsule => (Vec3::new(0.0, 0.0, sign(d.z) * s.y), 0),
            Kind::Cylinder => {
                let side = Vec3::new(d.x, d.y, 0.0).normalize() * s.x;
                (Vec3::new(side.x, side.y, sign(d.z) * s.y), bit(d.z))
            }
            Kind::Ellipsoid => {
                let u = d.zip(s, |d, s| d * s).normalize();
                (u.zip(s, |u, s| u * s), 0)
            }
            Kind::Box => (d.zip(s, |d, s| sign(d) * s), bit(d.x) | bit(d.y) << 1 | bit(d.z) << 2),
            Kind::Mesh => {
                let Collider { vertices, hull, faces, .. } = self.collider;
                if hull.is_empty() {
                    return (Vec3::zero(), 0);
                }
                let corner = match faces {
                    Some(faces) => faces.highest(vertices, d),
                    None => highest_of(hull, vertices, d),
                };
                (vertices[hull[corner]], corner as u32)
            }
        }
    }
    /// The farthest local point in the world direction d, and which corner it is.
    pub fn support(&self, d: Vec3<f64>) -> (Vec3<f64>, u32) {
        self.local_corner(self.pose.inverse_direction(d))
    }
}

/// A point of A − B with the local points it comes from.
#[derive(Clone, Copy, Default)]
pub(super) struct Vertex {
    pub w: Vec3<f64>,
    pub a: Vec3<f64>,
    pub b: Vec3<f64>,
    /// Which corner of each.
    pub corners: [u32; 2],
}

/// The farthest point of A − B in direction d.
pub(super) fn difference(a: &Core, b: &Core, d: Vec3<f64>) -> Vertex {
    let ((la, ca), (lb, cb)) = (a.support(d), b.support(-d));
    Vertex { w: a.pose.point(la) - b.pose.point(lb), a: la, b: lb, corners: [ca, cb] }
}

/// Where two cores are nearest or deepest, in one environment.
#[derive(Clone, Copy)]
pub(super) struct Witness {
    /// Unit vector from the first to the second.
    pub normal: Vec3<f64>,
    /// Local points.
    pub a: Vec3<f64>,
    /// Local points.
    pub b: Vec3<f64>,
    /// Distinct support points that make up each.
    pub distinct: [usize; 2],
    /// Local directions between two of them, zero if there is only one.
    pub edges: [Vec3<f64>; 2],
    /// Corners of each under three support points.
    pub corners: [[u32; 3]; 2],
}

impl Witness {
    /// From support vertices and their weights.
    pub fn new(normal: Vec3<f64>, vertices: &[Vertex], weights: &[f64]) -> Self {
        let (mut a, mut b) = (Vec3::zero(), Vec3::zero());
        for (v, weight) in vertices.iter().zip(weights) {
            a += v.a * *weight;
            b += v.b * *weight;
        }
        let used = |i: usize| weights[i].abs() > 1e-9;
        let distinct = |point: fn(&Vertex) -> Vec3<f64>| {
            (0..vertices.len())
                .filter(|&i| {
                    used(i) && !(0..i).any(|j| used(j) && point(&vertices[j]) == point(&vertices[i]))
                })
                .count()
        };
        let edge = |point: fn(&Vertex) -> Vec3<f64>| {
            let first = (0..vertices.len()).find(|&i| used(i)).map_or(Vec3::zero(), |i| point(&vertices[i]));
            let apart = |i: &usize| used(*i) && point(&vertices[*i]) != first;
            (0..vertices.len())
                .find(apart)
                .map_or(Vec3::zero(), |i| (point(&vertices[i]) - first).normalize())
        };
        Witness {
            normal,
            a,
            b,
            distinct: [distinct(|v| v.a), distinct(|v| v.b)],
            edges: [edge(|v| v.a), edge(|v| v.b)],
            corners: [0, 1].map(|side| {
                [0, 1, 2].map(|i| vertices[if i < vertices.len() { i } else { 0 }].corners[side])
            }),
        }
    }
}
