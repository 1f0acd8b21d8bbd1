//! Support points of convex cores in one environment: what GJK and EPA ask of a shape.
//!
//! Spheres and capsules are cores (a point, a segment) with a rounding radius that is added afterwards, so
//! that they are exact and shallow overlaps never reach EPA.

use pullback_math::{Transform, Vec3};

use super::collider::{Collider, Kind};

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
    /// The farthest local point in the local direction d.
    pub fn local_support(&self, d: Vec3<f64>) -> Vec3<f64> {
        let s = self.collider.size;
        let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
        match self.collider.kind {
            Kind::Plane | Kind::Heightfield | Kind::Torus | Kind::Sphere => Vec3::zero(),
            Kind::Capsule => Vec3::new(0.0, 0.0, sign(d.z) * s.y),
            Kind::Cylinder => {
                let side = Vec3::new(d.x, d.y, 0.0).normalize() * s.x;
                Vec3::new(side.x, side.y, sign(d.z) * s.y)
            }
            Kind::Ellipsoid => {
                let u = d.zip(s, |d, s| d * s).normalize();
                u.zip(s, |u, s| u * s)
            }
            Kind::Box => d.zip(s, |d, s| sign(d) * s),
            Kind::Mesh => {
                let vertices = self.collider.vertices;
                let mut best = (f64::NEG_INFINITY, Vec3::zero());
                for &i in self.collider.hull {
                    let height = vertices[i].dot(d);
                    if height > best.0 {
                        best = (height, vertices[i]);
                    }
                }
                best.1
            }
        }
    }
    /// The farthest local point in the world direction d.
    pub fn support(&self, d: Vec3<f64>) -> Vec3<f64> {
        self.local_support(self.pose.inverse_direction(d))
    }
}

/// A point of A − B with the local points it comes from.
#[derive(Clone, Copy, Default)]
pub(super) struct Vertex {
    pub w: Vec3<f64>,
    pub a: Vec3<f64>,
    pub b: Vec3<f64>,
}

/// The farthest point of A − B in direction d.
pub(super) fn difference(a: &Core, b: &Core, d: Vec3<f64>) -> Vertex {
    let (la, lb) = (a.support(d), b.support(-d));
    Vertex { w: a.pose.point(la) - b.pose.point(lb), a: la, b: lb }
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
}

impl Witness {
    /// From support vertices and their weights.
    pub fn new(normal: Vec3<f64>, vertices: &[Vertex], weights: &[f64]) -> Self {
        let (mut a, mut b) = (Vec3::zero(), Vec3::zero());
        for (v, weight) in vertices.iter().zip(weights) {
            a += v.a * *weight;
            b += v.b * *weight;
        }
        let used = |i: usize| weights[i] > 1e-9;
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
        }
    }
}
