//! Which of the pairs that may ever collide are near each other: bounds in motion.
//!
//! [`BroadPhase::near`] keeps the candidates whose boxes along the world's axes overlap, by sort and sweep
//! along x (Cohen et al. 1995); planes are tested as half spaces. On lanes, a pair is kept if it is near in
//! any of them. The answer is sorted by shape, so it does not depend on the order of motion. Buffers are
//! reused; nothing is differentiated, since a culled pair has no contact.

use pullback_core::Workspace;
use pullback_math::{Real, Transform, Vec3};

use super::collider::{Collider, Kind};
use super::lanes::lane_of;

/// Two shapes, by index, the smaller first.
pub type Pair = (usize, usize);

/// A box along the world's axes, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest coordinates.
    pub min: Vec3<f64>,
    /// Largest coordinates.
    pub max: Vec3<f64>,
}

impl Aabb {
    fn union(self, other: Aabb) -> Aabb {
        Aabb { min: self.min.zip(other.min, f64::min), max: self.max.zip(other.max, f64::max) }
    }
    fn overlaps(&self, other: &Aabb) -> bool {
        (0..3).all(|i| self.min[i] <= other.max[i] && other.min[i] <= self.max[i])
    }
}

/// Bounds of a shape that is not a plane, over all lanes, grown by `margin`.
pub fn bounds<T: Real>(shape: &Collider<T>, pose: Transform<T>, margin: f64) -> Aabb {
    let of_lane = |lane: usize| {
        let (size, pose) = (shape.size.map(|x| x.lane(lane)), lane_of(pose, lane));
        let reach = |i: usize| {
            let row = pose.rotation.row(i);
            match shape.kind {
                Kind::Plane => f64::INFINITY,
                Kind::Sphere => size.x,
                Kind::Capsule => size.x + size.y * row.z.abs(),
                Kind::Cylinder => size.x * row.x.hypot(row.y) + size.y * row.z.abs(),
                Kind::Torus => size.x * row.x.hypot(row.y) + size.y,
                Kind::Ellipsoid => row.zip(size, |r, s| r * s).norm(),
                Kind::Box => size.x * row.x.abs() + size.y * row.y.abs() + size.z * row.z.abs(),
                Kind::Heightfield => {
                    size.x * row.x.abs() + size.y * row.y.abs() + size.z.max(shape.grid.base) * row.z.abs()
                }
                Kind::Mesh => shape.bounding_radius(),
            }
        };
        let reach = Vec3::new(reach(0), reach(1), reach(2)).map(|x| x + margin);
        Aabb { min: pose.translation - reach, max: pose.translation + reach }
    };
    (1..T::LANES).fold(of_lane(0), |all, lane| all.union(of_lane(lane)))
}

/// Candidate pairs and the buffers that cull them.
#[derive(Clone, Debug, Workspace)]
pub struct BroadPhase {
    candidates: Vec<Pair>,
    bounds: Vec<Aabb>,
    order: Vec<usize>,
    near: Vec<Pair>,
}

impl BroadPhase {
    /// For these candidates.
    pub fn new(mut candidates: Vec<Pair>) -> Self {
        candidates.sort_unstable();
        candidates.dedup();
        BroadPhase { candidates, bounds: Vec::new(), order: Vec::new(), near: Vec::new() }
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
        for i in 0..count {
            let (collider, pose, margin) = shape(i);
            self.bounds.push(bounds(&collider, pose, margin));
            if collider.kind == Kind::Plane {
                self.planes_near(i, pose, margin, &shape);
            } else {
                self.order.push(i);
            }
        }
        // Shapes that are no planes by sort and sweep along x; ties by index.
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
        self.near.sort_unstable();
        &self.near
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
    use pullback_core::random::Random;

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
        }
    }
}
