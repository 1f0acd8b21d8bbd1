//! Balls out of the icosahedron, hollow and solid.
//!
//! The icosahedron is twenty tetrahedra around its center. At frequency n each is cut along the planes
//! parallel to its faces into small tetrahedra and octahedra, n³ tetrahedra in all when each octahedron is
//! cut in four around the shortest of its diagonals; that diagonal is inside, so the choice never meets a
//! neighbor's. The points of layer k then move out to the sphere of radius k / n. The mesh conforms by
//! construction and no Delaunay criterion is needed. The outermost layer alone is the hollow ball.
//!
//! At frequency n there are 10 k² + 2 points in layer k, 20 n² triangles outside and 20 n³ tetrahedra.

use std::collections::HashMap;

use pullback_math::Vec3;

use super::error::{check_counts, check_lengths};
use super::{MeshError, TetMesh, TriangleMesh};

/// Corners of the icosahedron: (0, ±1, ±φ) and its rotations.
fn corners() -> [Vec3<f64>; 12] {
    let golden = 0.5 * (1.0 + 5.0_f64.sqrt());
    let [a, b, c, d] = [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)];
    let around = |f: fn(f64, f64) -> Vec3<f64>| [a, b, c, d].map(|(s, t)| f(s, t));
    let [p, q, r] = [
        around(|s, t| Vec3::new(0.0, s, t)),
        around(|s, t| Vec3::new(s, t, 0.0)),
        around(|s, t| Vec3::new(t, 0.0, s)),
    ];
    std::array::from_fn(|i| [p, q, r][i / 4][i % 4])
}

/// The twenty faces, counter-clockwise seen from outside: triples of corners at distance 2 from each other.
fn faces(corners: &[Vec3<f64>; 12]) -> Vec<[usize; 3]> {
    let near = |a: usize, b: usize| (corners[a] - corners[b]).norm_squared() < 5.0;
    let mut faces = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b) && near(b, c) && near(c, a) {
                    let outward = corners[a].cross(corners[b]).dot(corners[c]) > 0.0;
                    faces.push(if outward { [a, b, c] } else { [a, c, b] });
                }
            }
        }
    }
    faces
}

/// Numbers points by their weights at the corners of the icosahedron, so that neighboring faces share them.
struct Points {
    corners: [Vec3<f64>; 12],
    frequency: usize,
    radius: f64,
    numbers: HashMap<Vec<(usize, usize)>, usize>,
    positions: Vec<Vec3<f64>>,
}

impl Points {
    fn new(frequency: usize, radius: f64) -> Self {
        let (numbers, positions) = (HashMap::new(), Vec::new());
        Points { corners: corners(), frequency, radius, numbers, positions }
    }

    /// The point of a face with these integer weights; their sum is its layer.
    fn number(&mut self, face: [usize; 3], weights: [usize; 3]) -> usize {
        let mut key: Vec<(usize, usize)> = face.into_iter().zip(weights).filter(|(_, w)| *w > 0).collect();
        key.sort_unstable();
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let layer: usize = weights.iter().sum();
        // x = R · layer / n · Σ w c / |Σ w c|
        let sum = key.iter().fold(Vec3::zero(), |sum, (c, w)| sum + self.corners[*c] * *w as f64);
        let reach = self.radius * layer as f64 / self.frequency as f64;
        let x = if layer == 0 { sum } else { sum * (reach / sum.norm()) };
        self.positions.push(x);
        self.numbers.insert(key, self.positions.len() - 1);
        self.positions.len() - 1
    }
}

/// A hollow ball of 20 · 4ⁿ triangles facing outward, n = `subdivisions`: 12, 42, 162, 642 … vertices.
/// `radius` in m.
pub fn icosphere(subdivisions: usize, radius: f64) -> Result<TriangleMesh, MeshError> {
    let n = u32::try_from(subdivisions).ok().and_then(|s| 1_usize.checked_shl(s)).filter(|n| *n > 0);
    let n = n.unwrap_or(usize::MAX);
    check_counts("icosphere", &[("frequency", n), ("frequency", n)], 20)?;
    check_lengths("icosphere", &[("radius", radius)])?;
    let mut points = Points::new(n, radius);
    let mut triangles = Vec::new();
    for face in faces(&points.corners) {
        for i in 0..n {
            for j in 0..n - i {
                let k = n - i - j;
                // The triangle that points to the first corner, and the one below it.
                triangles
                    .push([[i + 1, j, k - 1], [i, j + 1, k - 1], [i, j, k]].map(|w| points.number(face, w)));
                if k >= 2 {
                    let below = [[i + 1, j, k - 1], [i + 1, j + 1, k - 2], [i, j + 1, k - 1]];
                    triangles.push(below.map(|w| points.number(face, w)));
                }
            }
        }
    }
    Ok(TriangleMesh { positions: points.positions, triangles })
}

/// A solid ball of 20 n³ tetrahedra in n = `shells` layers; 3 shells have 147 vertices and 540 tetrahedra.
/// `radius` in m.
///
/// Vertex 0 is the center. The worst aspect ratio ([`TetMesh::worst_aspect_ratio`]) is 1.63 at 3 shells and
/// below 1.7 at 12.
pub fn solid_icosphere(shells: usize, radius: f64) -> Result<TetMesh, MeshError> {
    let n = shells;
    check_counts("solid_icosphere", &[("shells", n), ("shells", n), ("shells", n)], 20)?;
    check_lengths("solid_icosphere", &[("radius", radius)])?;
    let mut points = Points::new(n, radius);
    let mut tets = Vec::new();
    for face in faces(&points.corners) {
        // Lattice points of the cone over the face are weights with a sum up to n.
        for i in 0..n {
            for j in 0..n - i {
                for k in 0..n - i - j {
                    let room = n - i - j - k;
                    let mut at = |w: [usize; 3]| points.number(face, [i + w[0], j + w[1], k + w[2]]);
                    let [apex, x, y, z] = [at([0, 0, 0]), at([1, 0, 0]), at([0, 1, 0]), at([0, 0, 1])];
                    tets.push([apex, x, y, z]);
                    if room >= 2 {
                        let [xy, yz, zx] = [at([1, 1, 0]), at([0, 1, 1]), at([1, 0, 1])];
                        tets.extend(octahedron([[x, yz], [y, zx], [z, xy]], &points.positions));
                    }
                    if room >= 3 {
                        let mut at = |w: [usize; 3]| points.number(face, [i + w[0], j + w[1], k + w[2]]);
                        tets.push([at([1, 1, 1]), at([0, 1, 1]), at([1, 0, 1]), at([1, 1, 0])]);
                    }
                }
            }
        }
    }
    orient(&mut tets, &points.positions);
    Ok(TetMesh { positions: points.positions, tets })
}

/// Four tetrahedra around the shortest of the three diagonals.
fn octahedron(diagonals: [[usize; 2]; 3], positions: &[Vec3<f64>]) -> [[usize; 4]; 4] {
    let length = |[a, b]: [usize; 2]| (positions[a] - positions[b]).norm_squared();
    let [mut axis, mut first, mut second] = diagonals;
    // Only a clearly shorter one takes over, so that round-off does not choose.
    for candidate in [1, 2] {
        if length(diagonals[candidate]) < length(axis) * (1.0 - 1e-9) {
            axis = diagonals[candidate];
            [first, second] = [diagonals[(candidate + 1) % 3], diagonals[(candidate + 2) % 3]];
        }
    }
    let [[a, b], [p, q], [r, s]] = [axis, first, second];
    [[a, b, p, r], [a, b, r, q], [a, b, q, s], [a, b, s, p]]
}

/// Swaps two corners of each tetrahedron whose volume is negative.
fn orient(tets: &mut [[usize; 4]], positions: &[Vec3<f64>]) {
    for tet in tets {
        let [x0, x1, x2, x3] = tet.map(|v| positions[v]);
        if (x1 - x0).cross(x2 - x0).dot(x3 - x0) < 0.0 {
            tet.swap(2, 3);
        }
    }
}
