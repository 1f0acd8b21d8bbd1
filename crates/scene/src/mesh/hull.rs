//! The convex hull of points in space.
//!
//! Quickhull (Barber, Dobkin and Huhdanpaa 1996): from a tetrahedron, the farthest point outside some face
//! replaces all faces it sees by a cone over their border, until no point is outside. Which side of a face a
//! point is on is decided exactly (`orient.rs`), so the surface stays closed and convex on any input, be it a
//! grid on a box or a million times the same point; distances only choose the order. A point in the plane of
//! a face does not see it, hence the border is one loop and new faces have an area.
//!
//! The order leaves corners that are none: points inside a flat side or on a straight edge that were reached
//! before its ends. A corner is kept only if the normals around it span space, that is if one leaves the
//! plane of the others by more than the angle [`FLATNESS`]; others are removed and the hull is made again
//! from the rest. This moves its surface by at most that fraction of an edge.
//!
//! Limits: points thinner than [`THINNESS`] of their extent have no hull and are refused.

use std::collections::HashMap;

use pullback_math::Vec3;

use super::MeshError;
use super::orient::orient;

/// Least thickness of the points relative to their extent.
pub const THINNESS: f64 = 1e-10;
/// Least angle by which the normals around a corner leave a common plane, rad.
pub const FLATNESS: f64 = 1e-9;

/// A convex hull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hull {
    /// Corners, as ascending indices of the points.
    pub vertices: Vec<usize>,
    /// Faces as indices of the points, counter-clockwise seen from outside; flat sides are cut into
    /// triangles.
    pub triangles: Vec<[usize; 3]>,
}

/// The convex hull of `points`; of coinciding points the first is used.
///
/// ```
/// use pullback_math::Vec3;
/// let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.1, 0.1, 0.1]];
/// let points = corners.map(|[x, y, z]| Vec3::new(x, y, z));
/// let hull = pullback_scene::mesh::convex_hull(&points).unwrap();
/// assert_eq!(hull.vertices, [0, 1, 2, 3]);
/// ```
pub fn convex_hull(points: &[Vec3<f64>]) -> Result<Hull, MeshError> {
    let scaled = into_unit_cube(points)?;
    let mut candidates = distinct(&scaled);
    loop {
        let faces = quickhull(&scaled, &candidates)?;
        let corners = corners(&scaled, &faces);
        let used = corners.len();
        let kept: Vec<usize> = corners.into_iter().filter(|(_, keep)| *keep).map(|(v, _)| v).collect();
        if kept.len() == used || kept.len() < 4 {
            let mut vertices: Vec<usize> = faces.iter().flatten().copied().collect();
            vertices.sort_unstable();
            vertices.dedup();
            return Ok(Hull { vertices, triangles: faces });
        }
        candidates = kept;
    }
}

/// Scales by a power of two, which is exact, so that the predicates neither overflow nor underflow.
fn into_unit_cube(points: &[Vec3<f64>]) -> Result<Vec<Vec3<f64>>, MeshError> {
    let mut largest = 0.0f64;
    for (i, p) in points.iter().enumerate() {
        if !(p.x.is_finite() && p.y.is_finite() && p.z.is_finite()) {
            return Err(MeshError::geometry(format!("point {i} of a convex hull is not finite")));
        }
        largest = largest.max(p.x.abs()).max(p.y.abs()).max(p.z.abs());
    }
    if largest < 1e-300 {
        return Err(degenerate("coincide"));
    }
    let half = (-(largest.log2().ceil() as i32)) as f64 / 2.0;
    let (first, second) = (half.floor().exp2(), half.ceil().exp2());
    let scale = |x: f64| {
        let y = x * first * second;
        if y.abs() < 1e-30 { 0.0 } else { y }
    };
    Ok(points.iter().map(|p| p.map(scale)).collect())
}

fn degenerate(how: &str) -> MeshError {
    MeshError::geometry(format!("the points {how}, they have no convex hull; give the mesh a thickness"))
}

/// Indices of points with distinct positions, ascending.
fn distinct(points: &[Vec3<f64>]) -> Vec<usize> {
    let mut seen = std::collections::HashSet::with_capacity(points.len());
    (0..points.len()).filter(|i| seen.insert(super::stl::position_key(points[*i]))).collect()
}

struct Face {
    corners: [usize; 3],
    /// Faces across the edges (0,1), (1,2), (2,0).
    neighbors: [usize; 3],
    outside: Vec<usize>,
    alive: bool,
}

fn quickhull(points: &[Vec3<f64>], candidates: &[usize]) -> Result<Vec<[usize; 3]>, MeshError> {
    let sees = |corners: [usize; 3], p: usize| {
        let [a, b, c] = corners.map(|i| points[i]);
        orient(a, b, c, points[p]) < 0.0
    };
    let mut faces = tetrahedron(points, candidates)?;
    let simplex: Vec<usize> = faces.iter().flat_map(|f| f.corners).collect();
    for &p in candidates {
        if !simplex.contains(&p)
            && let Some(face) = faces.iter_mut().find(|f| sees(f.corners, p))
        {
            face.outside.push(p);
        }
    }
    let mut pending: Vec<usize> = (0..4).collect();
    let mut visible = Vec::new();
    while let Some(start) = pending.pop() {
        if !faces[start].alive || faces[start].outside.is_empty() {
            continue;
        }
        let eye = farthest(points, &faces[start]);

        // All faces that the point sees are connected.
        visible.clear();
        visible.push(start);
        faces[start].alive = false;
        let mut border = Vec::new();
        let mut next = 0;
        while next < visible.len() {
            let f = visible[next];
            next += 1;
            for edge in 0..3 {
                let across = faces[f].neighbors[edge];
                if !faces[across].alive {
                    continue;
                }
                if sees(faces[across].corners, eye) {
                    faces[across].alive = false;
                    visible.push(across);
                } else {
                    let c = faces[f].corners;
                    border.push((c[edge], c[(edge + 1) % 3], across));
                }
            }
        }

        // A cone over the border replaces them.
        let first_new = faces.len();
        let starts: HashMap<usize, usize> =
            border.iter().enumerate().map(|(i, (a, _, _))| (*a, first_new + i)).collect();
        let ends: HashMap<usize, usize> =
            border.iter().enumerate().map(|(i, (_, b, _))| (*b, first_new + i)).collect();
        for (i, &(a, b, across)) in border.iter().enumerate() {
            let (Some(&after), Some(&before)) = (starts.get(&b), ends.get(&a)) else {
                return Err(MeshError::geometry(
                    "the border of a convex hull is open; please report the mesh",
                ));
            };
            let beyond = &mut faces[across];
            if let Some(edge) = (0..3).find(|e| beyond.corners[*e] == b && beyond.corners[(e + 1) % 3] == a) {
                beyond.neighbors[edge] = first_new + i;
            }
            faces.push(Face {
                corners: [a, b, eye],
                neighbors: [across, after, before],
                outside: Vec::new(),
                alive: true,
            });
        }

        // Points outside the old faces are outside a new one, or inside.
        for &f in &visible {
            for p in std::mem::take(&mut faces[f].outside) {
                if p != eye
                    && let Some(face) = faces[first_new..].iter_mut().find(|f| sees(f.corners, p))
                {
                    face.outside.push(p);
                }
            }
        }
        pending.extend(first_new..faces.len());
    }
    Ok(faces.into_iter().filter(|f| f.alive).map(|f| f.corners).collect())
}

fn normal(points: &[Vec3<f64>], [a, b, c]: [usize; 3]) -> Vec3<f64> {
    (points[b] - points[a]).cross(points[c] - points[a])
}

/// Index of the largest value; the first of equal ones.
fn argmax(indices: &[usize], value: impl Fn(usize) -> f64) -> (usize, f64) {
    indices.iter().fold((indices[0], f64::NEG_INFINITY), |best, &i| {
        let v = value(i);
        if v > best.1 { (i, v) } else { best }
    })
}

fn farthest(points: &[Vec3<f64>], face: &Face) -> usize {
    let (n, origin) = (normal(points, face.corners), points[face.corners[0]]);
    argmax(&face.outside, |i| n.dot(points[i] - origin)).0
}

/// A tetrahedron of far points, faces outward.
fn tetrahedron(points: &[Vec3<f64>], candidates: &[usize]) -> Result<Vec<Face>, MeshError> {
    if candidates.len() < 4 {
        return Err(degenerate(if candidates.len() < 2 { "coincide" } else { "lie in a plane" }));
    }
    let (a, _) = argmax(candidates, |i| points[i].x);
    let (b, extent) = argmax(candidates, |i| (points[i] - points[a]).norm());
    let along = (points[b] - points[a]) * (1.0 / extent);
    let (c, width) = argmax(candidates, |i| along.cross(points[i] - points[a]).norm());
    if width <= THINNESS * extent {
        return Err(degenerate("lie on a line"));
    }
    let n = normal(points, [a, b, c]).normalize();
    let (d, thickness) = argmax(candidates, |i| n.dot(points[i] - points[a]).abs());
    let side = orient(points[a], points[b], points[c], points[d]);
    if thickness <= THINNESS * extent || side == 0.0 {
        return Err(degenerate("lie in a plane"));
    }
    let (b, c) = if side > 0.0 { (b, c) } else { (c, b) };
    let face = |corners, neighbors| Face { corners, neighbors, outside: Vec::new(), alive: true };
    Ok(vec![
        face([a, b, c], [1, 2, 3]),
        face([a, d, b], [3, 2, 0]),
        face([b, d, c], [1, 3, 0]),
        face([c, d, a], [2, 1, 0]),
    ])
}

/// All vertices of the faces, ascending, and whether the normals around each span space.
fn corners(points: &[Vec3<f64>], faces: &[[usize; 3]]) -> Vec<(usize, bool)> {
    let mut around: HashMap<usize, Vec<Vec3<f64>>> = HashMap::new();
    for f in faces {
        let n = normal(points, *f).normalize();
        for v in f {
            around.entry(*v).or_default().push(n);
        }
    }
    let mut corners: Vec<_> = around.into_iter().map(|(v, normals)| (v, span_space(&normals))).collect();
    corners.sort_unstable();
    corners
}

fn span_space(normals: &[Vec3<f64>]) -> bool {
    // The normal farthest from the first, then the one farthest from their plane.
    let first = normals[0];
    let crosses = normals.iter().map(|n| first.cross(*n));
    let Some(widest) = crosses.max_by(|p, q| p.norm().total_cmp(&q.norm())) else { return false };
    let angle = widest.norm();
    angle > FLATNESS && normals.iter().any(|n| widest.dot(*n).abs() > FLATNESS * angle)
}
