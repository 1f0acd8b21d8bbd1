//! Rectangular cloth, and flat bodies out of square cells.

use pullback_math::Vec3;

use super::error::{check_counts, check_lengths};
use super::{MeshError, TriangleMesh};

/// How the cells of a flat grid are cut into two triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diagonals {
    /// All diagonals run from low x, low y to high x, high y; the cloth shears more easily one way than the
    /// other.
    #[default]
    Parallel,
    /// Diagonals alternate from cell to cell like a Union Jack, which favors no direction.
    Alternating,
}

/// The flat body made of these cells, in z = 0 facing +z; vertices are the lattice points in use, x fastest.
pub(super) fn flat(
    cells: &[[usize; 2]],
    diagonals: Diagonals,
    place: impl Fn([usize; 2]) -> [f64; 2],
) -> TriangleMesh {
    let points_of = |[i, j]: [usize; 2]| [[j, i], [j, i + 1], [j + 1, i], [j + 1, i + 1]];
    let mut points: Vec<[usize; 2]> = cells.iter().flat_map(|c| points_of(*c)).collect();
    points.sort_unstable();
    points.dedup();
    let mut triangles = Vec::new();
    for cell in cells {
        let [a, b, c, d] = points_of(*cell).map(|p| points.partition_point(|q| *q < p));
        if diagonals == Diagonals::Alternating && (cell[0] + cell[1]) % 2 == 1 {
            triangles.extend([[a, b, c], [b, d, c]]);
        } else {
            triangles.extend([[a, b, d], [a, d, c]]);
        }
    }
    let positions = points
        .iter()
        .map(|[j, i]| {
            let [x, y] = place([*i, *j]);
            Vec3::new(x, y, 0.0)
        })
        .collect();
    TriangleMesh { positions, triangles }
}

/// A cloth of `nx` × `ny` cells, `width` along x and `height` along y, m, centered at the origin in z = 0,
/// facing +z.
///
/// Vertex (i, j) has index i + (nx + 1) j.
pub fn cloth_grid(
    nx: usize,
    ny: usize,
    width: f64,
    height: f64,
    diagonals: Diagonals,
) -> Result<TriangleMesh, MeshError> {
    check_counts("cloth_grid", &[("nx", nx), ("ny", ny)], 2)?;
    check_lengths("cloth_grid", &[("width", width), ("height", height)])?;
    let cells: Vec<[usize; 2]> = (0..ny).flat_map(|j| (0..nx).map(move |i| [i, j])).collect();
    // −length/2 … length/2, symmetric to the last bit
    let at = |i: usize, n: usize, length: f64| length * ((2 * i) as f64 - n as f64) / (2 * n) as f64;
    Ok(flat(&cells, diagonals, |[i, j]| [at(i, nx, width), at(j, ny, height)]))
}
