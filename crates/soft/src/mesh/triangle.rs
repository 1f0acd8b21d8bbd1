//! Triangle meshes: cloth, shells and flat bodies.

use std::collections::HashMap;

use pullback_math::{Quat, Vec3};

use super::MeshError;
use super::quality::{
    DEGENERATE, check_elements, check_sides, compact, triangle_aspect, triangle_measure, unique_edges,
};

const KIND: &str = "triangle";

/// A sheet of linear triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleMesh {
    /// Vertices at rest, m.
    pub positions: Vec<Vec3<f64>>,
    /// Corners of each triangle, counter-clockwise seen from the front.
    pub triangles: Vec<[usize; 3]>,
}

/// The three edges of a triangle in its direction, each with the corner across.
fn sides([a, b, c]: [usize; 3]) -> [([usize; 2], usize); 3] {
    [([a, b], c), ([b, c], a), ([c, a], b)]
}

impl TriangleMesh {
    /// Says whether a simulation can stand on this mesh, or else which element or vertex is at fault.
    ///
    /// Refused: no element; a corner out of range or named twice; a position that is not finite; a vertex of
    /// no element; a degenerate element (cross product of two edges at most [`DEGENERATE`] times its longest
    /// edge squared); two elements that run along an edge in the same direction, which means three or more
    /// sheets in an edge, or neighbors that face opposite ways.
    pub fn check(&self) -> Result<(), MeshError> {
        check_elements(KIND, &self.positions, &self.triangles)?;
        for (element, triangle) in self.triangles.iter().enumerate() {
            let measure = triangle_measure(self.corners(*triangle));
            if measure <= DEGENERATE {
                return Err(MeshError::Degenerate { kind: KIND, element, measure });
            }
        }
        let edges = self.triangles.iter().enumerate().flat_map(|(i, t)| sides(*t).map(|(edge, _)| (i, edge)));
        check_sides(KIND, "edge", edges)
    }

    /// Positions of the corners of one triangle.
    pub fn corners(&self, triangle: [usize; 3]) -> [Vec3<f64>; 3] {
        triangle.map(|i| self.positions[i])
    }

    /// Area of each triangle, m².
    pub fn areas(&self) -> impl Iterator<Item = f64> {
        self.triangles.iter().map(|t| {
            let [x0, x1, x2] = self.corners(*t);
            // A = |(x₁ − x₀) × (x₂ − x₀)| / 2
            0.5 * (x1 - x0).cross(x2 - x0).norm()
        })
    }

    /// Area of the whole, m².
    pub fn area(&self) -> f64 {
        self.areas().sum()
    }

    /// Mass of each vertex, kg: a third of that of each of its elements. `density` in kg/m².
    pub fn masses(&self, density: f64) -> Vec<f64> {
        let mut masses = vec![0.0; self.positions.len()];
        for (triangle, area) in self.triangles.iter().zip(self.areas()) {
            for vertex in triangle {
                masses[*vertex] += density * area / 3.0;
            }
        }
        masses
    }

    /// Interior edges as `[opposite 1, opposite 2, start, end]`.
    ///
    /// Triangle 1, the one with the smaller index, runs along the edge from `start` to `end`, triangle 2 from
    /// `end` to `start`: they are, up to rotation, `[start, end, opposite 1]` and `[end, start, opposite 2]`.
    /// Hinges stand in the order of triangle 1 and then of its edges.
    pub fn hinges(&self) -> Vec<[usize; 4]> {
        let directed: HashMap<[usize; 2], (usize, usize)> = self
            .triangles
            .iter()
            .enumerate()
            .flat_map(|(i, t)| sides(*t).map(|(edge, across)| (edge, (i, across))))
            .collect();
        let mut hinges = Vec::new();
        for (first, triangle) in self.triangles.iter().enumerate() {
            for ([start, end], across) in sides(*triangle) {
                match directed.get(&[end, start]) {
                    Some((second, opposite)) if first < *second => {
                        hinges.push([across, *opposite, start, end]);
                    }
                    _ => {}
                }
            }
        }
        hinges
    }

    /// Every edge once, smaller index first, sorted.
    pub fn edges(&self) -> Vec<[usize; 2]> {
        unique_edges(self.triangles.iter().flat_map(|[a, b, c]| [(*a, *b), (*b, *c), (*c, *a)]))
    }

    /// Longest edge over 2√3 inradii of the worst element: 1 is a regular triangle.
    pub fn worst_aspect_ratio(&self) -> f64 {
        self.triangles.iter().fold(1.0, |worst, t| triangle_aspect(self.corners(*t)).max(worst))
    }

    /// The mesh turned by `orientation` (a unit quaternion) and then shifted by `position`, m.
    pub fn moved(mut self, orientation: Quat<f64>, position: Vec3<f64>) -> Self {
        self.positions.iter_mut().for_each(|x| *x = orientation.rotate(*x) + position);
        self
    }

    /// The mesh with each coordinate multiplied; a mirroring scale swaps two corners, so that a closed mesh
    /// still faces outward.
    pub fn scaled(mut self, scale: Vec3<f64>) -> Self {
        self.positions.iter_mut().for_each(|x| *x = x.zip(scale, |a, s| a * s));
        if scale.x * scale.y * scale.z < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        self
    }

    /// The mesh without vertices that belong to no element.
    pub fn compacted(mut self) -> Self {
        compact(&mut self.positions, &mut self.triangles);
        self
    }
}
