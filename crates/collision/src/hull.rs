//! The convex hull of a mesh as the narrow phase reads it: its corners, the graph of its edges, its faces.
//!
//! Faces are MuJoCo's: triangles that meet at an edge and whose normals round to the same polar angles in
//! steps of 0.01 rad become one polygon; its normal is the mean of theirs by area. So a face of a
//! finely cut curved side is not flat. Support points are found by climbing along edges: a corner that no
//! neighbor exceeds is the highest, since the hull is convex. The climb starts at the highest corner in a
//! direction nearby, kept for a grid of directions on a cube.
//!
//! Limits: a polygon that touches itself at a corner is left as triangles.

use std::collections::{BTreeMap, HashMap};

use pullback_math::Vec3;

/// Step of the polar angles of normals within which triangles are one face, rad.
const ANGLE: f64 = 0.01;
/// Number of corners up to which all are looked at.
const FEW: usize = 24;

/// Lists of indices, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(lists: &[Vec<usize>]) -> Self {
        let mut made = Lists { starts: vec![0], items: Vec::new() };
        for list in lists {
            made.items.extend(list.iter().map(|&i| i as u32));
            made.starts.push(made.items.len() as u32);
        }
        made
    }
    fn get(&self, list: usize) -> &[u32] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// A convex hull; its corners have numbers of their own, from zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hull {
    /// Vertices of the mesh that are corners, ascending.
    pub corners: Vec<usize>,
    /// Center of the mesh, m: a plane does not touch what is above it.
    pub center: Vec3<f64>,
    /// Radius of a ball around the origin that holds it, m.
    pub(super) radius: f64,
    /// Middle and half edges of the box along its axes that holds it, m.
    pub(super) bounds: (Vec3<f64>, Vec3<f64>),
    neighbors: Lists,
    faces: Lists,
    faces_at: Lists,
    normals: Vec<Vec3<f64>>,
    /// Highest corner in the middle of each cell of a cube around the hull, `cells`² on each of its sides.
    highest: Vec<u32>,
    cells: usize,
}

impl Hull {
    /// From the triangles of a closed convex surface, counter-clockwise seen from outside, as indices of
    /// `vertices`. Its center is that of its volume.
    pub fn new(vertices: &[Vec3<f64>], triangles: &[[usize; 3]]) -> Self {
        let mut corners: Vec<usize> = triangles.iter().flatten().copied().collect();
        corners.sort_unstable();
        corners.dedup();
        let number: HashMap<usize, usize> = corners.iter().enumerate().map(|(i, &v)| (v, i)).collect();
        let triangles: Vec<[usize; 3]> = triangles.iter().map(|t| t.map(|v| number[&v])).collect();
        let at = |corner: usize| vertices[corners[corner]];
        let mut neighbors = vec![Vec::new(); corners.len()];
        for &[a, b, c] in &triangles {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                neighbors[from].push(to);
            }
        }
        let (faces, normals) = faces(&triangles, at);
        let mut faces_at = vec![Vec::new(); corners.len()];
        for (face, polygon) in faces.iter().enumerate() {
            polygon.iter().for_each(|&corner| faces_at[corner].push(face));
        }
        let all = || corners.iter().map(|&v| vertices[v]);
        let first = all().next().unwrap_or(Vec3::zero());
        let (min, max) =
            all().fold((first, first), |(min, max), p| (min.zip(p, f64::min), max.zip(p, f64::max)));
        let mut hull = Hull {
            center: centroid(&triangles, at),
            radius: all().map(|p| p.norm()).fold(0.0, f64::max),
            bounds: ((min + max) * 0.5, (max - min) * 0.5),
            neighbors: Lists::new(&neighbors),
            faces: Lists::new(&faces),
            faces_at: Lists::new(&faces_at),
            normals,
            highest: Vec::new(),
            cells: 0,
            corners,
        };
        hull.keep_highest(vertices);
        hull
    }

    /// The hull of a few points: every plane through three of them is tried.
    ///
    /// ```
    /// use pullback_collision::Hull;
    /// use pullback_math::Vec3;
    /// let sign = |i: usize, bit: usize| if i & bit == 0 { -1.0 } else { 1.0 };
    /// let mut points: Vec<_> = (0..8).map(|i| Vec3::new(sign(i, 1), sign(i, 2), sign(i, 4))).collect();
    /// points.push(Vec3::new(0.0, 0.1, 0.2));
    /// assert_eq!(Hull::around(&points).corners.len(), 8);
    /// assert_eq!(Hull::around(&points).face_count(), 6);
    /// ```
    pub fn around(points: &[Vec3<f64>]) -> Self {
        let size = points.iter().map(|p| p.norm()).fold(0.0, f64::max);
        let mut triangles = Vec::new();
        let mut seen = Vec::new();
        for i in 0..points.len() {
            for j in 0..points.len() {
                for k in j + 1..points.len() {
                    let n = (points[j] - points[i]).cross(points[k] - points[i]).normalize();
                    let height = |p: usize| n.dot(points[p] - points[i]);
                    let flat = |p: &usize| height(*p).abs() < 1e-9 * size;
                    if i == j
                        || i == k
                        || n.norm_squared() < 0.5
                        || (0..points.len()).any(|p| height(p) > 1e-9 * size)
                    {
                        continue;
                    }
                    let mut face: Vec<usize> = (0..points.len()).filter(flat).collect();
                    if seen.contains(&face) {
                        continue;
                    }
                    seen.push(face.clone());
                    // A fan from the first point, counter-clockwise.
                    let first = face.remove(0);
                    let turn = |p: &usize, q: &usize| {
                        n.dot((points[*p] - points[first]).cross(points[*q] - points[first]))
                    };
                    face.sort_by(|p, q| 0.0f64.total_cmp(&turn(p, q)));
                    triangles.extend(face.windows(2).map(|pair| [first, pair[0], pair[1]]));
                }
            }
        }
        Hull::new(points, &triangles)
    }

    /// The same hull around another center.
    pub fn with_center(self, center: Vec3<f64>) -> Self {
        Hull { center, ..self }
    }

    /// Number of faces.
    pub fn face_count(&self) -> usize {
        self.normals.len()
    }

    /// Outward unit normal of a face.
    pub(super) fn normal(&self, face: usize) -> Vec3<f64> {
        self.normals[face]
    }

    /// Corners of a face, counter-clockwise seen from outside.
    pub(super) fn face(&self, face: usize) -> &[u32] {
        self.faces.get(face)
    }

    /// Faces that meet at a corner.
    pub(super) fn faces_at(&self, corner: usize) -> &[u32] {
        self.faces_at.get(corner)
    }

    /// The corner that is highest along d.
    pub(super) fn highest(&self, vertices: &[Vec3<f64>], d: Vec3<f64>) -> usize {
        if self.cells == 0 {
            return highest_of(&self.corners, vertices, d);
        }
        self.climb(vertices, d, self.highest[cell(self.cells, d)] as usize)
    }

    fn climb(&self, vertices: &[Vec3<f64>], d: Vec3<f64>, start: usize) -> usize {
        let (mut best, mut height) = (start, d.dot(vertices[self.corners[start]]));
        loop {
            let from = best;
            for &next in self.neighbors.get(from) {
                let h = d.dot(vertices[self.corners[next as usize]]);
                if h > height {
                    (best, height) = (next as usize, h);
                }
            }
            if best == from {
                return best;
            }
        }
    }

    fn keep_highest(&mut self, vertices: &[Vec3<f64>]) {
        if self.corners.len() <= FEW {
            return;
        }
        let cells = ((self.corners.len() as f64 / 6.0).sqrt() as usize).clamp(2, 16);
        let mut start = 0;
        for index in 0..6 * cells * cells {
            start = self.climb(vertices, middle(cells, index), start);
            self.highest.push(start as u32);
        }
        self.cells = cells;
    }
}

/// Which of `corners`, the first if several, is highest along d.
pub(super) fn highest_of(corners: &[usize], vertices: &[Vec3<f64>], d: Vec3<f64>) -> usize {
    let (mut best, mut height) = (0, f64::NEG_INFINITY);
    for (corner, &vertex) in corners.iter().enumerate() {
        let h = vertices[vertex].dot(d);
        if h > height {
            (best, height) = (corner, h);
        }
    }
    best
}

/// The cell of a cube that d points to.
fn cell(cells: usize, d: Vec3<f64>) -> usize {
    let axis = (1..3).fold(0, |k, j| if d[j].abs() > d[k].abs() { j } else { k });
    let scale = 0.5 * cells as f64;
    let index = |x: f64| ((x / d[axis].abs() + 1.0) * scale).clamp(0.0, cells as f64 - 1.0) as usize;
    let side = 2 * axis + usize::from(d[axis] < 0.0);
    (side * cells + index(d[(axis + 1) % 3])) * cells + index(d[(axis + 2) % 3])
}

/// The direction to the middle of a cell.
fn middle(cells: usize, index: usize) -> Vec3<f64> {
    let (side, row, column) = (index / (cells * cells), index / cells % cells, index % cells);
    let axis = side / 2;
    let at = |i: usize| (2.0 * i as f64 + 1.0) / cells as f64 - 1.0;
    let mut d = Vec3::zero();
    d[axis] = if side.is_multiple_of(2) { 1.0 } else { -1.0 };
    (d[(axis + 1) % 3], d[(axis + 2) % 3]) = (at(row), at(column));
    d
}

/// Center of the volume within a closed surface.
fn centroid(triangles: &[[usize; 3]], at: impl Fn(usize) -> Vec3<f64>) -> Vec3<f64> {
    let (mut sum, mut volume) = (Vec3::zero(), 0.0);
    for t in triangles {
        let [a, b, c] = t.map(&at);
        let v = a.cross(b).dot(c);
        sum += (a + b + c) * (0.25 * v);
        volume += v;
    }
    if volume > 0.0 { sum * (1.0 / volume) } else { Vec3::zero() }
}

/// Polar angles of the normal of a triangle in steps of [`ANGLE`]; around the poles only which pole.
fn rounded_angles(n: Vec3<f64>) -> (i64, i64) {
    let steps = |angle: f64| (angle / ANGLE).round() as i64;
    if n.z.abs() > 1.0 - 1e-7 {
        return (0, if n.z > 0.0 { 0 } else { steps(std::f64::consts::PI) });
    }
    // Adding zero turns −0 to 0.
    (steps((n.y + 0.0).atan2(n.x + 0.0)), steps(n.z.acos()))
}

/// Polygons and their normals.
fn faces(triangles: &[[usize; 3]], at: impl Fn(usize) -> Vec3<f64>) -> (Vec<Vec<usize>>, Vec<Vec3<f64>>) {
    let normal = |a: usize, b: usize, c: usize| (at(b) - at(a)).cross(at(c) - at(a)).normalize();
    let mut groups = BTreeMap::<(i64, i64), Vec<[usize; 3]>>::new();
    for &[a, b, c] in triangles {
        let n = normal(a, b, c);
        if n.norm_squared() > 0.5 {
            groups.entry(rounded_angles(n)).or_default().push([a, b, c]);
        }
    }
    let (mut polygons, mut normals) = (Vec::new(), Vec::new());
    for group in groups.values() {
        for polygon in islands(group) {
            // n = Σₖ (xₖ − x₀) × (xₖ₊₁ − x₀) / |…|
            let first = at(polygon[0]);
            let spoke = |k: usize| at(polygon[k]) - first;
            let area = (1..polygon.len() - 1).fold(Vec3::zero(), |n, k| n + spoke(k).cross(spoke(k + 1)));
            normals.push(area.normalize());
            polygons.push(polygon);
        }
    }
    (polygons, normals)
}

/// The borders of parts of a group of triangles that hang together by edges.
fn islands(group: &[[usize; 3]]) -> Vec<Vec<usize>> {
    let edges = |[a, b, c]: [usize; 3]| [(a, b), (b, c), (c, a)];
    let mut owner = HashMap::new();
    for (t, triangle) in group.iter().enumerate() {
        edges(*triangle).into_iter().for_each(|edge| _ = owner.insert(edge, t));
    }
    let mut island = vec![usize::MAX; group.len()];
    let mut polygons = Vec::new();
    for first in 0..group.len() {
        if island[first] != usize::MAX {
            continue;
        }
        let mut members = vec![first];
        island[first] = first;
        let mut next = 0;
        while next < members.len() {
            for (a, b) in edges(group[members[next]]) {
                if let Some(&t) = owner.get(&(b, a))
                    && island[t] == usize::MAX
                {
                    island[t] = first;
                    members.push(t);
                }
            }
            next += 1;
        }
        members.sort_unstable();
        let border: Vec<(usize, usize)> = members
            .iter()
            .flat_map(|&t| edges(group[t]))
            .filter(|&(a, b)| !owner.contains_key(&(b, a)))
            .collect();
        let after: HashMap<usize, usize> = border.iter().copied().collect();
        let mut polygon = vec![border.first().map_or(group[first][0], |edge| edge.0)];
        while polygon.len() <= border.len()
            && let Some(&corner) = after.get(&polygon[polygon.len() - 1])
            && corner != polygon[0]
        {
            polygon.push(corner);
        }
        if polygon.len() == border.len() && polygon.len() >= 3 {
            polygons.push(polygon);
        } else {
            polygons.extend(members.iter().map(|&t| group[t].to_vec()));
        }
    }
    polygons
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::random::Random;

    /// A geodesic sphere of 20 · 4ⁿ triangles, squeezed.
    fn ball(levels: usize) -> (Vec<Vec3<f64>>, Vec<[usize; 3]>) {
        let mut points: Vec<Vec3<f64>> =
            [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
                .map(|[x, y, z]| Vec3::new(f64::from(x), f64::from(y), f64::from(z)))
                .to_vec();
        let mut triangles =
            vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        for _ in 0..levels {
            let mut halves = HashMap::new();
            let mut finer = Vec::new();
            for [a, b, c] in triangles {
                let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(i, j): (usize, usize)| {
                    *halves.entry((i.min(j), i.max(j))).or_insert_with(|| {
                        points.push((points[i] + points[j]).normalize());
                        points.len() - 1
                    })
                });
                finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
            }
            triangles = finer;
        }
        (points.into_iter().map(|p| Vec3::new(0.3 * p.x, 0.2 * p.y, 0.25 * p.z)).collect(), triangles)
    }

    #[test]
    fn climbing_finds_the_highest_corner() {
        let (points, triangles) = ball(5);
        let hull = Hull::new(&points, &triangles);
        assert!(hull.corners.len() > 4000 && hull.cells > 0);
        let mut random = Random::new(1);
        for i in 0..2000 {
            let mut d = Vec3::new(random.normal(), random.normal(), random.normal());
            if i % 10 == 0 {
                d[i / 10 % 3] = 0.0;
            }
            let all = highest_of(&hull.corners, &points, d);
            let climbed = hull.highest(&points, d);
            assert!(points[all].dot(d) <= points[hull.corners[climbed]].dot(d) + 1e-16, "{d:?}");
        }
    }

    #[test]
    fn a_face_has_the_mean_normal_of_its_triangles() {
        // A cube whose top is two triangles that lean to either side of a diagonal.
        let raised = 1e-4;
        let top = |x: f64, y: f64| Vec3::new(x, y, 1.0 + if x == y { raised } else { 0.0 });
        let square = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
        let points: Vec<_> = square
            .map(|(x, y)| top(x, y))
            .into_iter()
            .chain(square.map(|(x, y)| Vec3::new(x, y, -1.0)))
            .collect();
        let hull = Hull::around(&points);
        assert_eq!(hull.face_count(), 6);
        let lean = (points[1] - points[0]).cross(points[2] - points[0]).normalize();
        let up = (0..6).map(|face| hull.normal(face)).find(|n| n.z > 0.5).unwrap();
        assert!(up.x.hypot(up.y) < 1e-12 && lean.x.hypot(lean.y) > 5e-5, "{up:?} {lean:?}");
    }

    #[test]
    fn flat_sides_are_one_face() {
        let prism: Vec<Vec3<f64>> = (0..14)
            .map(|i| {
                let angle = 0.1 + (i % 7) as f64 * std::f64::consts::TAU / 7.0;
                Vec3::new(angle.cos(), angle.sin(), if i < 7 { -1.0 } else { 1.0 })
            })
            .collect();
        let hull = Hull::around(&prism);
        assert_eq!((hull.corners.len(), hull.face_count()), (14, 9));
        for face in 0..9 {
            let corners = hull.face(face);
            assert!(corners.len() == 4 || (corners.len() == 7 && hull.normal(face).z.abs() == 1.0));
            let middle = corners.iter().fold(Vec3::zero(), |s, &c| s + prism[c as usize])
                * (1.0 / corners.len() as f64);
            assert!(hull.normal(face).dot(middle) > 0.1);
        }
        assert!((0..14).all(|corner| hull.faces_at(corner).len() == 3));
        assert!(hull.center.norm() < 1e-12);
    }
}
