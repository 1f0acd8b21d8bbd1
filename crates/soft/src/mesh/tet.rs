//! Tetrahedral meshes.

use std::collections::HashSet;

use pullback_math::{Quat, Vec3};

use super::MeshError;
use super::quality::{
    DEGENERATE, check_elements, check_sides, compact, directed, tet_aspect, tet_measure, unique_edges,
};

const KIND: &str = "tetrahedron";

/// A solid of linear tetrahedra.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// Vertices at rest, m.
    pub positions: Vec<Vec3<f64>>,
    /// Corners of each tetrahedron, with det(x₁ − x₀, x₂ − x₀, x₃ − x₀) > 0.
    pub tets: Vec<[usize; 4]>,
}

/// The four faces of a tetrahedron, counter-clockwise seen from outside; face k is opposite corner 3 − k.
fn faces([a, b, c, d]: [usize; 4]) -> [[usize; 3]; 4] {
    [[a, c, b], [a, b, d], [a, d, c], [b, c, d]]
}

impl TetMesh {
    /// Says whether a simulation can stand on this mesh, or else which element or vertex is at fault.
    ///
    /// Refused: no element; a corner out of range or named twice; a position that is not finite; a vertex of
    /// no element; an element that is degenerate (determinant at most [`DEGENERATE`] times its longest edge
    /// cubed) or inverted; two elements on the same side of a face. Whether elements overlap elsewhere is not
    /// looked into.
    pub fn check(&self) -> Result<(), MeshError> {
        check_elements(KIND, &self.positions, &self.tets)?;
        for (element, tet) in self.tets.iter().enumerate() {
            let measure = tet_measure(self.corners(*tet));
            if measure < -DEGENERATE {
                return Err(MeshError::Inverted { element });
            }
            if measure <= DEGENERATE {
                return Err(MeshError::Degenerate { kind: KIND, element, measure });
            }
        }
        let sides = self.tets.iter().enumerate().flat_map(|(i, t)| faces(*t).map(|f| (i, directed(f))));
        check_sides(KIND, "face", sides)
    }

    /// Positions of the corners of one tetrahedron.
    pub fn corners(&self, tet: [usize; 4]) -> [Vec3<f64>; 4] {
        tet.map(|i| self.positions[i])
    }

    /// Volume of each tetrahedron, m³; negative when inverted.
    pub fn volumes(&self) -> impl Iterator<Item = f64> {
        self.tets.iter().map(|t| {
            let [x0, x1, x2, x3] = self.corners(*t);
            // V = det(x₁ − x₀, x₂ − x₀, x₃ − x₀) / 6
            (x1 - x0).cross(x2 - x0).dot(x3 - x0) / 6.0
        })
    }

    /// Volume of the whole, m³.
    pub fn volume(&self) -> f64 {
        self.volumes().sum()
    }

    /// Mass of each vertex, kg: a quarter of that of each of its elements. `density` in kg/m³.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        let mut masses = vec![0.0; self.positions.len()];
        for (tet, volume) in self.tets.iter().zip(self.volumes()) {
            for vertex in tet {
                masses[*vertex] += 0.25 * density * volume;
            }
        }
        masses
    }

    /// Faces that belong to one element only, counter-clockwise seen from outside, in the order of the
    /// elements.
    pub fn surface(&self) -> Vec<[usize; 3]> {
        let all: HashSet<[usize; 3]> = self.tets.iter().flat_map(|t| faces(*t)).map(directed).collect();
        // The neighbor behind a face has it the other way round.
        let outside = |[a, b, c]: &[usize; 3]| !all.contains(&directed([*a, *c, *b]));
        self.tets.iter().flat_map(|t| faces(*t)).filter(outside).collect()
    }

    /// Every edge once, smaller index first, sorted.
    pub fn edges(&self) -> Vec<[usize; 2]> {
        let pairs = |[a, b, c, d]: [usize; 4]| [(a, b), (a, c), (a, d), (b, c), (b, d), (c, d)];
        unique_edges(self.tets.iter().flat_map(|t| pairs(*t)))
    }

    /// Longest edge over 2√6 inradii of the worst element: 1 is a regular tetrahedron, above 20 or so a
    /// sliver.
    pub fn worst_aspect_ratio(&self) -> f64 {
        self.tets.iter().fold(1.0, |worst, t| tet_aspect(self.corners(*t)).max(worst))
    }

    /// The mesh turned by `orientation` (a unit quaternion) and then shifted by `position`, m.
    pub fn moved(mut self, orientation: Quat<f64>, position: Vec3<f64>) -> Self {
        self.positions.iter_mut().for_each(|x| *x = orientation.rotate(*x) + position);
        self
    }

    /// The mesh with each coordinate multiplied; a mirroring scale swaps two corners, so that volumes stay
    /// positive.
    pub fn scaled(mut self, scale: Vec3<f64>) -> Self {
        self.positions.iter_mut().for_each(|x| *x = x.zip(scale, |a, s| a * s));
        if scale.x * scale.y * scale.z < 0.0 {
            self.tets.iter_mut().for_each(|t| t.swap(2, 3));
        }
        self
    }

    /// The mesh without vertices that belong to no element.
    pub fn compacted(mut self) -> Self {
        compact(&mut self.positions, &mut self.tets);
        self
    }
}
