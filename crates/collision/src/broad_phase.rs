//! Which of the pairs that may ever collide are near each other: bounds in motion.
//!
//! [`BroadPhase::near`] keeps the candidates whose boxes along the world's axes overlap, by sort and sweep
//! along x (Cohen et al. 1995), or one by one where candidates are few per shape; planes are tested as half
//! spaces. On lanes, a pair is kept if it is near in any of them. The answer is sorted by shape, so it does
//! not depend on the order of motion. Buffers are reused; nothing is differentiated, since a culled pair has
//! no contact.

use pullback_core::Workspace;
use pullback_math::{Real, Transform, Vec3};

use super::collider::{Collider, Kind};

/// Two shapes, by index, the smaller first.
pub type Pair = (usize, usize);

/// Candidates per shape up to which every one is tried: a test of two boxes costs less than a sweep.
const FEW: usize = 16;

/// A box along the world's axes, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest coordinates.
    pub min: Vec3<f64>,
    /// Largest coordinates.
    pub max: Vec3<f64>,
}

impl Aabb {
    fn overlaps(&self, other: &Aabb) -> bool {
        (0..3).all(|i| self.min[i] <= other.max[i] && other.min[i] <= self.max[i])
    }
}

/// Bounds of a shape that is not a plane, over all lanes, grown by `margin`.
pub fn bounds<T: Real>(shape: &Collider<T>, pose: Transform<T>, margin: f64) -> Aabb {
    let primal = |v: Vec3<T>| v.map(|x| x.primal());
    let size = primal(shape.size);
    let lit = T::Primal::lit;
    let mut middle = primal(pose.translation);
    let mut half = size;
    match shape.kind {
        Kind::Mesh => {
            let radius = || Vec3::zero().map(|_: f64| shape.bounding_radius());
            let (center, edges) = shape.faces.map_or_else(|| (Vec3::zero(), radius()), |hull| hull.bounds);
            half = edges.map(lit);
            if shape.faces.is_some() {
                let [x, y, z] = [0, 1, 2].map(|i| primal(pose.rotation.col(i)));
                middle += x * lit(center.x) + y * lit(center.y) + z * lit(center.z);
            }
        }
        Kind::Heightfield => half.z = half.z.max(lit(shape.grid.base)),
        _ => {}
    }
    let reach = |i: usize| {
        let row = primal(pose.rotation.row(i));
        match shape.kind {
            Kind::Plane => lit(f64::INFINITY),
            Kind::Sphere => size.x,
            Kind::Capsule => size.x + size.y * row.z.abs(),
            Kind::Cylinder => size.x * (row.x * row.x + row.y * row.y).sqrt() + size.y * row.z.abs(),
            Kind::Torus => size.x * (row.x * row.x + row.y * row.y).sqrt() + size.y,
            Kind::Ellipsoid => row.zip(size, |r, s| r * s).norm(),
            Kind::Mesh if shape.faces.is_none() => half.x,
            Kind::Box | Kind::Heightfield | Kind::Mesh => {
                half.x * row.x.abs() + half.y * row.y.abs() + half.z * row.z.abs()
            }
        }
    };
    let reach = Vec3::new(reach(0), reach(1), reach(2));
    Aabb {
        min: (middle - reach).map(|x| -(-x).max_lane() - margin),
        max: (middle + reach).map(|x| x.max_lane() + margin),
    }
}

/// Candidate pairs and the buffers that cull them.
#[derive(Clone, Debug, Workspace)]
pub struct BroadPhase {
    candidates: Vec<Pair>,
    /// The shapes that are in a candidate, ascending.
    members: Vec<usize>,
    bounds: Vec<Aabb>,
    order: Vec<usize>,
    near: Vec<Pair>,
}

impl BroadPhase {
    /// For these candidates.
    pub fn new(mut candidates: Vec<Pair>) -> Self {
        candidates.sort_unstable();
        candidates.dedup();
        let mut members: Vec<usize> = candidates.iter().flat_map(|&(i, j)| [i, j]).collect();
        members.sort_unstable();
        members.dedup();
        BroadPhase { candidates, members, bounds: Vec::new(), order: Vec::new(), near: Vec::new() }
    }
    /// The pairs that may ever collide.
    pub fn candidates(&self) -> &[Pair] {
        &self.candidates
    }

    /// Makes room for `shapes` shapes, so that [`BroadPhase::near`] never allocates.
    pub fn reserved(mut self, shapes: usize) -> Self {
        self.bounds.reserve(shapes);
        self.order.reserve(shapes);
        self.near.reserve(self.candidates.len());
        self
    }

    /// The candidates within the sum of their margins of each other, by their bounds; sorted. `shape(i)` is
    /// shape i of `count`, its pose and its margin in m.
    pub fn near<'m, T: Real>(
        &mut self,
        count: usize,
        shape: impl Fn(usize) -> (Collider<'m, T>, Transform<T>, f64),
    ) -> &[Pair] {
        self.bounds.clear();
        self.order.clear();
        self.near.clear();
        // A plane, and what is in no candidate, overlaps nothing.
        let nowhere = Vec3::new(1.0, 1.0, 1.0) * f64::INFINITY;
        self.bounds.resize(count, Aabb { min: nowhere, max: -nowhere });
        for k in 0..self.members.len() {
            let i = self.members[k];
            let (collider, pose, margin) = shape(i);
            if collider.kind == Kind::Plane {
                self.planes_near(i, pose, margin, &shape);
            } else {
                self.bounds[i] = bounds(&collider, pose, margin);
                self.order.push(i);
            }
        }
        let planes = self.near.len();
        if self.candidates.len() <= FEW * self.members.len() {
            let BroadPhase { candidates, bounds, near, .. } = self;
            near.extend(candidates.iter().filter(|&&(i, j)| bounds[i].overlaps(&bounds[j])));
            if planes == 0 {
                return &self.near;
            }
        } else {
            self.sweep();
        }
        self.near.sort_unstable();
        &self.near
    }

    /// Adds the candidates that overlap, by sort and sweep along x; ties by index.
    fn sweep(&mut self) {
        let bounds = &self.bounds;
        self.order.sort_unstable_by(|&i, &j| bounds[i].min.x.total_cmp(&bounds[j].min.x).then(i.cmp(&j)));
        for (k, &i) in self.order.iter().enumerate() {
            for &j in &self.order[k + 1..] {
                if bounds[j].min.x > bounds[i].max.x {
                    break;
                }
                let pair = (i.min(j), i.max(j));
                if bounds[i].overlaps(&bounds[j]) && self.candidates.binary_search(&pair).is_ok() {
                    self.near.push(pair);
                }
            }
        }
    }

    /// What [`BroadPhase::near`] found last.
    pub fn last(&self) -> &[Pair] {
        &self.near
    }

    /// Adds the candidates of a plane whose balls reach below it.
    fn planes_near<'m, T: Real>(
        &mut self,
        plane: usize,
        pose: Transform<T>,
        margin: f64,
        shape: impl Fn(usize) -> (Collider<'m, T>, Transform<T>, f64),
    ) {
        for &(i, j) in self.candidates.iter().filter(|(i, j)| *i == plane || *j == plane) {
            let (other, at, other_margin) = shape(if i == plane { j } else { i });
            let height = pose.rotation.c2.dot(at.translation - pose.translation);
            let lowest = -(-height).max_lane();
            if lowest <= other.bounding_radius() + margin + other_margin {
                self.near.push((i, j));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hull::Hull;
    use pullback_core::random::Random;
    use pullback_math::Mat3;

    #[test]
    fn sweeping_finds_what_trying_all_finds() {
        let mut random = Random::new(5);
        let n = 40;
        let shapes: Vec<_> = (0..n).map(|_| Collider::sphere(random.uniform(0.02, 0.2))).collect();
        let margins = vec![0.01; n];
        let all: Vec<Pair> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
        let mut phase = BroadPhase::new(all.clone());
        for _ in 0..20 {
            let mut at = || random.uniform(-1.0, 1.0);
            let poses: Vec<_> = (0..n)
                .map(|_| Transform { translation: Vec3::new(at(), at(), at()), ..Transform::identity() })
                .collect();
            let boxes: Vec<_> = (0..n).map(|i| bounds(&shapes[i], poses[i], margins[i])).collect();
            let expected: Vec<Pair> =
                all.iter().copied().filter(|&(i, j)| boxes[i].overlaps(&boxes[j])).collect();
            assert_eq!(phase.near(n, |i| (shapes[i], poses[i], margins[i])), expected);
            assert_eq!(phase.last(), expected);
            // One by one, where candidates are few.
            let some: Vec<Pair> = all.iter().copied().filter(|(i, j)| (i + j) % 7 == 0).collect();
            let mut few = BroadPhase::new(some.clone());
            assert!(some.len() <= FEW * n && all.len() > FEW * n);
            let expected: Vec<Pair> = expected.into_iter().filter(|pair| some.contains(pair)).collect();
            assert_eq!(few.near(n, |i| (shapes[i], poses[i], margins[i])), expected);
        }
    }

    #[test]
    fn bounds_hold_the_corners_of_a_mesh() {
        let mut random = Random::new(6);
        let mut at =
            || Vec3::new(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
        let corners: Vec<_> = (0..12).map(|_| at() + Vec3::new(3.0, 1.0, 0.0)).collect();
        let hull = Hull::around(&corners);
        for _ in 0..20 {
            let (a, b) = (at().normalize(), at());
            let c = a.cross(b).normalize();
            let pose = Transform::new(Mat3::from_cols(a, c, a.cross(c)), at());
            let around = bounds(&Collider::<f64>::mesh(&corners, &hull), pose, 0.0);
            for corner in &hull.corners {
                let x = pose.point(corners[*corner]);
                let inside = |k: usize| around.min[k] - 1e-12 <= x[k] && x[k] <= around.max[k] + 1e-12;
                assert!((0..3).all(inside), "{x:?} {around:?}");
            }
            assert!((around.max - around.min).norm() < 8.0);
        }
    }
}
