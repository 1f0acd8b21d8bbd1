//! Solids out of cells of a lattice, each cut into five or six tetrahedra.
//!
//! A cell has corners x + 2 y + 4 z with x, y, z in {0, 1}. Six: one tetrahedron for each way from corner 0
//! to corner 7 along the axes (Kuhn); the diagonals of opposite faces are parallel, so equal cells match
//! everywhere, around a ring as well. Five: one regular tetrahedron inside and a corner cut off at each of
//! its faces; neighboring cells are mirror images, or their diagonals would cross, so it needs a lattice in
//! which cells alternate. Five gives better elements, six treats all cells alike.

use pullback_math::Vec3;

use super::error::{check_counts, check_lengths};
use super::{MeshError, TetMesh};

/// How a cell is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Five tetrahedra, mirrored from cell to cell.
    #[default]
    Five,
    /// Six tetrahedra around the diagonal, the same in each cell.
    Six,
}

/// Even cells: the inner tetrahedron has the corners with an even number of ones.
const FIVE: [[usize; 4]; 5] = [[0, 3, 6, 5], [1, 3, 0, 5], [2, 0, 3, 6], [4, 6, 5, 0], [7, 5, 6, 3]];
const SIX: [[usize; 4]; 6] =
    [[0, 1, 3, 7], [0, 5, 1, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 6, 4, 7]];

/// Appends the tetrahedra of one cell; `odd` mirrors the five.
fn split_cell(corners: [usize; 8], split: Split, odd: bool, tets: &mut Vec<[usize; 4]>) {
    match split {
        Split::Six => tets.extend(SIX.map(|t| t.map(|k| corners[k]))),
        // The mirror image in x swaps corners 2n and 2n + 1 and turns the tetrahedra inside out.
        Split::Five if odd => tets.extend(FIVE.map(|[a, b, c, d]| [a, b, d, c].map(|k| corners[k ^ 1]))),
        Split::Five => tets.extend(FIVE.map(|t| t.map(|k| corners[k]))),
    }
}

/// The solid made of these cells; vertices are the lattice points in use, x fastest.
///
/// `wrap` names lattice points that are one and the same, `place` says where they stand; axes must be
/// right-handed there.
pub(super) fn solid(
    cells: &[[usize; 3]],
    split: Split,
    wrap: impl Fn([usize; 3]) -> [usize; 3],
    place: impl Fn([usize; 3]) -> Vec3<f64>,
) -> TetMesh {
    // Lattice points as [z, y, x], so that sorting puts x fastest.
    let points_of = |[i, j, k]: [usize; 3]| {
        [0, 1, 2, 3, 4, 5, 6, 7].map(|n| {
            let [x, y, z] = wrap([i + n % 2, j + n / 2 % 2, k + n / 4]);
            [z, y, x]
        })
    };
    let mut points: Vec<[usize; 3]> = cells.iter().flat_map(|c| points_of(*c)).collect();
    points.sort_unstable();
    points.dedup();
    let mut tets = Vec::new();
    for cell in cells {
        let corners = points_of(*cell).map(|p| points.partition_point(|q| *q < p));
        split_cell(corners, split, cell.iter().sum::<usize>() % 2 == 1, &mut tets);
    }
    let positions = points.iter().map(|[z, y, x]| place([*x, *y, *z])).collect();
    TetMesh { positions, tets }
}

/// All cells of a block, x fastest.
pub(super) fn block(nx: usize, ny: usize, nz: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

/// A block of `nx` × `ny` × `nz` cells with edges `size`, m, centered at the origin.
///
/// Vertex (i, j, k) has index i + (nx + 1) (j + (ny + 1) k).
pub fn box_grid(
    nx: usize,
    ny: usize,
    nz: usize,
    size: Vec3<f64>,
    split: Split,
) -> Result<TetMesh, MeshError> {
    check_counts("box_grid", &[("nx", nx), ("ny", ny), ("nz", nz)], 6)?;
    check_lengths("box_grid", &[("size.x", size.x), ("size.y", size.y), ("size.z", size.z)])?;
    let cells: Vec<[usize; 3]> = block(nx, ny, nz).collect();
    // −size/2 … size/2, symmetric to the last bit
    let at = |i: usize, n: usize, length: f64| length * ((2 * i) as f64 - n as f64) / (2 * n) as f64;
    let place = |[i, j, k]: [usize; 3]| Vec3::new(at(i, nx, size.x), at(j, ny, size.y), at(k, nz, size.z));
    Ok(solid(&cells, split, |p| p, place))
}

/// A beam along x with its root face in x = 0 and its cross-section centered on the axis: the block of
/// [`box_grid`], moved.
///
/// Vertex (i, j, k) has the index it has there, so the root is i = 0 and the tip i = `nx`.
pub fn beam(nx: usize, ny: usize, nz: usize, size: Vec3<f64>, split: Split) -> Result<TetMesh, MeshError> {
    let mut beam = box_grid(nx, ny, nz, size, split)?;
    beam.positions.iter_mut().for_each(|x| x.x += 0.5 * size.x);
    Ok(beam)
}
