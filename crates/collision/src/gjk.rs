//! Distance between convex cores: the algorithm of Gilbert, Johnson and Keerthi (1988), with the faces of the
//! simplex that see the origin searched one by one (Ericson, *Real-Time Collision Detection*, §9.5).
//!
//! Runs in `f64` on one environment, without allocation. Stops when the support plane proves the distance to
//! [`TOLERANCE`] or brings no new vertex, and as soon as it proves that the shapes are farther apart than
//! their cutoff; when the origin is inside, the simplex goes on to [`epa`](super::epa).

use pullback_math::Vec3;

use super::epa::penetration;
use super::support::{Core, Vertex, Witness, difference};

/// Relative gap between upper and lower bound of the squared distance at which it counts as found.
const TOLERANCE: f64 = 1e-14;
/// Round-off of a support height, relative to the size of the shapes.
const ROUND_OFF: f64 = 1e-15;
/// Cores closer than this, m, relative to their size, overlap.
const TOUCHING: f64 = 1e-10;
/// Curved shapes take tens of iterations, polytopes below ten.
const ITERATIONS: usize = 128;

/// At most four vertices with the weights of the point nearest to the origin.
#[derive(Clone, Copy)]
pub(super) struct Simplex {
    pub vertices: [Vertex; 4],
    pub weights: [f64; 4],
    pub count: usize,
}

impl Simplex {
    fn keep(&mut self, chosen: &[usize], weights: &[f64]) {
        let source = self.vertices;
        for (slot, (&from, &weight)) in chosen.iter().zip(weights).enumerate() {
            (self.vertices[slot], self.weights[slot]) = (source[from], weight);
        }
        self.count = chosen.len();
    }
    fn point(&self) -> Vec3<f64> {
        (0..self.count).fold(Vec3::zero(), |p, i| p + self.vertices[i].w * self.weights[i])
    }
}

/// Weight of the second end in the point of the segment ab nearest to the origin.
fn nearest_on_segment(a: Vec3<f64>, b: Vec3<f64>) -> f64 {
    let d = b - a;
    if d.norm_squared() > 0.0 { (-a.dot(d) / d.norm_squared()).clamp(0.0, 1.0) } else { 0.0 }
}

/// Weights of the point of triangle abc nearest to the origin: inside if the origin projects there, else the
/// best edge, which also serves triangles without area.
pub(super) fn nearest_on_triangle(a: Vec3<f64>, b: Vec3<f64>, c: Vec3<f64>) -> [f64; 3] {
    let n = (b - a).cross(c - a);
    let area = n.norm_squared();
    let inside = [n.dot(b.cross(c)), n.dot(c.cross(a)), n.dot(a.cross(b))];
    let longest = (b - a).norm_squared().max((c - a).norm_squared());
    if inside.iter().all(|w| *w > 0.0) && area > 1e-24 * longest * longest {
        let scale = 1.0 / (inside[0] + inside[1] + inside[2]);
        return inside.map(|w| w * scale);
    }
    let corners = [a, b, c];
    let (mut best, mut weights) = (f64::INFINITY, [1.0, 0.0, 0.0]);
    for (i, j) in [(0, 1), (1, 2), (2, 0)] {
        let t = nearest_on_segment(corners[i], corners[j]);
        let distance = (corners[i] * (1.0 - t) + corners[j] * t).norm_squared();
        if distance < best {
            (best, weights) = (distance, [0.0; 3]);
            (weights[i], weights[j]) = (1.0 - t, t);
        }
    }
    weights
}

/// Reduces the simplex to the face that holds the point nearest to the origin; true if the origin is inside.
fn reduce(simplex: &mut Simplex) -> bool {
    let w = simplex.vertices.map(|v| v.w);
    match simplex.count {
        1 => simplex.weights[0] = 1.0,
        2 => {
            let t = nearest_on_segment(w[0], w[1]);
            if t <= 0.0 {
                simplex.keep(&[0], &[1.0]);
            } else if t >= 1.0 {
                simplex.keep(&[1], &[1.0]);
            } else {
                simplex.keep(&[0, 1], &[1.0 - t, t]);
            }
        }
        3 => keep_triangle(simplex, [0, 1, 2]),
        _ => {
            // The nearest of the faces that see the origin from outside.
            let mut best: Option<(f64, Simplex)> = None;
            for (face, opposite) in [([0, 1, 2], 3), ([0, 1, 3], 2), ([0, 2, 3], 1), ([1, 2, 3], 0)] {
                let [a, b, c] = face.map(|i| w[i]);
                let n = (b - a).cross(c - a);
                let (origin, inner) = (-a.dot(n), (w[opposite] - a).dot(n));
                // A flat tetrahedron has no inside.
                let flat = inner.abs() <= 1e-12 * n.norm() * (w[opposite] - a).norm();
                if origin * inner < 0.0 || flat {
                    let mut candidate = *simplex;
                    keep_triangle(&mut candidate, face);
                    let distance = candidate.point().norm_squared();
                    if best.as_ref().is_none_or(|(d, _)| distance < *d) {
                        best = Some((distance, candidate));
                    }
                }
            }
            match best {
                Some((_, nearest)) => *simplex = nearest,
                None => return true,
            }
        }
    }
    false
}

fn keep_triangle(simplex: &mut Simplex, face: [usize; 3]) {
    let [a, b, c] = face.map(|i| simplex.vertices[i].w);
    let weights = nearest_on_triangle(a, b, c);
    let (mut chosen, mut kept, mut count) = ([0; 3], [0.0; 3], 0);
    for i in 0..3 {
        if weights[i] > 0.0 {
            (chosen[count], kept[count]) = (face[i], weights[i]);
            count += 1;
        }
    }
    simplex.keep(&chosen[..count], &kept[..count]);
}

/// Where the cores are nearest, or deepest if they overlap; `None` if the shapes are beyond their cutoff.
pub(super) fn witness(a: &Core, b: &Core) -> Option<Witness> {
    let scale = a.collider.bounding_radius() + b.collider.bounding_radius();
    // Distance of the cores beyond which the shapes are beyond their cutoff.
    let cutoff = a.collider.cutoff.min(b.collider.cutoff) + a.rounding() + b.rounding() + ROUND_OFF * scale;
    let start = b.pose.translation - a.pose.translation;
    let start = if start.norm_squared() > 0.0 { start } else { Vec3::new(0.0, 0.0, 1.0) };
    let mut simplex =
        Simplex { vertices: [difference(a, b, start); 4], weights: [1.0, 0.0, 0.0, 0.0], count: 1 };
    for _ in 0..ITERATIONS {
        let v = simplex.point();
        let squared = v.norm_squared();
        if squared <= (TOUCHING * scale).powi(2) {
            return Some(penetration(a, b, &simplex));
        }
        let next = difference(a, b, -v);
        // All of A − B is beyond the plane through w that is square to v.
        if v.dot(next.w) > cutoff * squared.sqrt() {
            return None;
        }
        let known = simplex.vertices[..simplex.count].iter().any(|x| x.w == next.w);
        if known || squared - v.dot(next.w) <= TOLERANCE * squared + ROUND_OFF * scale * squared.sqrt() {
            break;
        }
        let previous = simplex;
        simplex.vertices[simplex.count] = next;
        simplex.count += 1;
        let before = simplex;
        if reduce(&mut simplex) {
            return Some(penetration(a, b, &before));
        }
        if simplex.point().norm_squared() >= squared {
            simplex = previous;
            break;
        }
    }
    let nearest = simplex.point();
    if nearest.norm() > cutoff {
        return None;
    }
    Some(Witness::new(
        -nearest.normalize(),
        &simplex.vertices[..simplex.count],
        &simplex.weights[..simplex.count],
    ))
}
