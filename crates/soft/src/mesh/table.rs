//! A soft table.

use pullback_math::Vec3;

use super::TetMesh;
use super::lattice::{Split, block, solid};

/// Cells of the top along x and y, and its layers.
const TOP: (usize, usize) = (5, 2);
/// Layers of a leg, one cell wide.
const LEG: usize = 6;
/// Edge of a cell along x and y, height of a layer of the top and of a leg, m.
const SIZES: (f64, f64, f64) = (0.5, 0.3, 0.2);

/// A table of 204 vertices and 444 tetrahedra: a top of 2.5 m × 2.5 m × 0.6 m on four legs of 0.5 m × 0.5 m ×
/// 1.2 m.
///
/// z is up, the feet stand on z = 0, the origin is in the middle between them. Each cell is six consecutive
/// tetrahedra; those of the legs come first, layer by layer from the ground.
pub fn table() -> TetMesh {
    let ((across, layers), (width, top, leg)) = (TOP, SIZES);
    let in_table = |[i, j, k]: &[usize; 3]| {
        let at_side = |n: usize| n == 0 || n == across - 1;
        *k >= LEG || (at_side(*i) && at_side(*j))
    };
    let cells: Vec<[usize; 3]> = block(across, across, LEG + layers).filter(in_table).collect();
    let height = |k: usize| leg * k.min(LEG) as f64 + top * k.saturating_sub(LEG) as f64;
    let along = |i: usize| width * (i as f64 - 0.5 * across as f64);
    solid(&cells, Split::Six, |p| p, |[i, j, k]| Vec3::new(along(i), along(j), height(k)))
}
