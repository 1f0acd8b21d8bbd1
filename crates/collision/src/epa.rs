//! Depth of overlap between convex cores: the expanding polytope of van den Bergen (2001).
//!
//! From a tetrahedron of support points around the origin, the face nearest to the origin is pushed out to
//! the support plane until that gains less than [`TOLERANCE`]. Arrays have fixed size; when they are full,
//! the best face so far is the answer. Flat differences (cores without volume that touch) have depth zero
//! along the normal of what there is.

use pullback_math::Vec3;

use super::gjk::{Simplex, nearest_on_triangle};
use super::support::{Core, Vertex, Witness, difference};

/// Gain relative to the size of the shapes below which a face counts as the boundary. Polytopes end exactly;
/// curved shapes are refined by Newton's method afterwards, and finer triangles than this (10⁻⁵) would lose
/// their normals to round-off.
const TOLERANCE: f64 = 1e-9;
const VERTICES: usize = 192;
const FACES: usize = 2 * VERTICES;

#[derive(Clone, Copy, Default)]
struct Face {
    corners: [u8; 3],
    normal: Vec3<f64>,
    distance: f64,
}

struct Polytope {
    vertices: [Vertex; VERTICES],
    vertex_count: usize,
    faces: [Face; FACES],
    face_count: usize,
    /// Heights over a face, m, that count as in its plane.
    coplanar: f64,
}

impl Polytope {
    /// Adds a face, seen counter-clockwise from outside.
    fn add_face(&mut self, corners: [u8; 3]) {
        let [a, b, c] = corners.map(|i| self.vertices[i as usize].w);
        let normal = (b - a).cross(c - a).normalize();
        // A sliver has no normal; it must not be the nearest.
        let sliver = normal.norm_squared() == 0.0;
        let distance = if sliver { f64::INFINITY } else { normal.dot(a) };
        self.faces[self.face_count] = Face { corners, normal, distance };
        self.face_count += 1;
    }
    fn nearest(&self) -> Face {
        let faces = &self.faces[..self.face_count];
        faces.iter().fold(faces[0], |best, f| if f.distance < best.distance { *f } else { best })
    }
    /// Replaces what the new vertex sees by a fan around it; false if there is no room.
    fn expand(&mut self, vertex: Vertex) -> bool {
        let mut horizon = [(0u8, 0u8); FACES];
        let mut edges = 0;
        let (mut kept, mut seen) = (0, 0);
        for i in 0..self.face_count {
            let face = self.faces[i];
            let [a, b, c] = face.corners;
            if face.normal.dot(vertex.w - self.vertices[a as usize].w) > self.coplanar {
                seen += 1;
                for edge in [(a, b), (b, c), (c, a)] {
                    // An edge seen from both sides is inside.
                    match horizon[..edges].iter().position(|e| *e == (edge.1, edge.0)) {
                        Some(twin) => {
                            edges -= 1;
                            horizon[twin] = horizon[edges];
                        }
                        None => {
                            if edges == FACES {
                                return false;
                            }
                            horizon[edges] = edge;
                            edges += 1;
                        }
                    }
                }
            } else {
                self.faces[kept] = face;
                kept += 1;
            }
        }
        if seen == 0 || kept + edges > FACES || self.vertex_count == VERTICES {
            return false;
        }
        let index = self.vertex_count as u8;
        self.vertices[self.vertex_count] = vertex;
        self.vertex_count += 1;
        self.face_count = kept;
        for (a, b) in &horizon[..edges] {
            self.add_face([*a, *b, index]);
        }
        true
    }
}

/// Completes a simplex that touches the origin to a tetrahedron; the number of vertices reached.
fn complete_tetrahedron(a: &Core, b: &Core, vertices: &mut [Vertex; 4], count: usize, scale: f64) -> usize {
    let tiny = 1e-9 * scale;
    let mut count = count;
    let axes = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];
    while count < 4 {
        let w = vertices.map(|v| v.w);
        let offset = |d: Vertex| match count {
            1 => (d.w - w[0]).norm(),
            2 => (d.w - w[0]).cross((w[1] - w[0]).normalize()).norm(),
            _ => (d.w - w[0]).dot((w[1] - w[0]).cross(w[2] - w[0]).normalize()).abs(),
        };
        let mut best: Option<(f64, Vertex)> = None;
        for axis in axes {
            let d = match count {
                1 => axis,
                2 => axis.cross(w[1] - w[0]),
                _ => (w[1] - w[0]).cross(w[2] - w[0]),
            };
            for d in [d, -d] {
                let candidate = difference(a, b, d.normalize());
                let gain = offset(candidate);
                if gain > tiny && best.is_none_or(|(g, _)| gain > g) {
                    best = Some((gain, candidate));
                }
            }
        }
        let Some((_, vertex)) = best else { break };
        vertices[count] = vertex;
        count += 1;
    }
    count
}

/// The answer where A − B has no volume around the origin.
fn flat(vertices: &[Vertex; 4], count: usize) -> Witness {
    let w = vertices.map(|v| v.w);
    let normal = match count {
        3.. => (w[1] - w[0]).cross(w[2] - w[0]).normalize(),
        2 => super::contact::tangent_frame((w[1] - w[0]).normalize()).0,
        _ => Vec3::new(0.0, 0.0, 1.0),
    };
    let normal = if normal.norm_squared() > 0.5 { normal } else { Vec3::new(0.0, 0.0, 1.0) };
    Witness::new(normal, &vertices[..1], &[1.0])
}

/// Where overlapping cores are deepest, from a simplex that holds the origin.
pub(super) fn penetration(a: &Core, b: &Core, simplex: &Simplex) -> Witness {
    let scale = a.collider.bounding_radius() + b.collider.bounding_radius();
    let mut first = simplex.vertices;
    let count = complete_tetrahedron(a, b, &mut first, simplex.count, scale);
    let w = first.map(|v| v.w);
    let volume = (w[1] - w[0]).cross(w[2] - w[0]).dot(w[3] - w[0]);
    if count < 4 || volume.abs() <= 1e-30 {
        return flat(&first, count);
    }
    let mut polytope = Polytope {
        vertices: [Vertex::default(); VERTICES],
        vertex_count: 4,
        faces: [Face::default(); FACES],
        face_count: 0,
        coplanar: 1e-14 * scale,
    };
    polytope.vertices[..4].copy_from_slice(&first);
    for [i, j, k] in [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]] {
        // Positive volume: vertex 3 is on the side of the normal of 012.
        polytope.add_face(if volume > 0.0 { [i, k, j] } else { [i, j, k] });
    }
    // The height of the support plane over any face bounds the depth from above; the lowest bound is the
    // answer.
    let mut face = polytope.nearest();
    let (mut best, mut bound) = (face, f64::INFINITY);
    for _ in 0..VERTICES {
        let vertex = difference(a, b, face.normal);
        let height = vertex.w.dot(face.normal);
        // Of faces with the same bound, the last is the one that reaches it.
        if height <= bound + 1e-14 * scale {
            (best, bound) = (face, height.min(bound));
        }
        if bound - face.distance <= TOLERANCE * scale || !polytope.expand(vertex) {
            break;
        }
        face = polytope.nearest();
    }
    let face = best;
    let corners = face.corners.map(|i| polytope.vertices[i as usize]);
    let [p, q, r] = corners.map(|v| v.w - face.normal * face.distance);
    // Of a flat side of the polytope the face may be another part than the one below the origin, so weights
    // may be negative.
    let areas = [q.cross(r), r.cross(p), p.cross(q)].map(|area| face.normal.dot(area));
    let sum = areas[0] + areas[1] + areas[2];
    let longest = (q - p).norm_squared().max((r - p).norm_squared());
    let weights =
        if sum > 1e-12 * longest { areas.map(|area| area / sum) } else { nearest_on_triangle(p, q, r) };
    Witness::new(face.normal, &corners, &weights)
}
