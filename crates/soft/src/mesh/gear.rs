//! A gear wheel: a ring with teeth, extruded.
//!
//! The cells of a polar grid (radius, angle, height) are cut like those of a box. Under the teeth the grid
//! runs on outward; a tooth keeps the width it has at its root, where straight radial lines would make it
//! wider at the tip.

use std::f64::consts::TAU;

use pullback_math::Vec3;

use super::error::{check_counts, check_lengths};
use super::lattice::{Split, block, solid};
use super::{MeshError, TetMesh};

/// What a gear looks like. The default has 8 teeth, 480 vertices and 1152 tetrahedra.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gear {
    /// Number of teeth.
    pub teeth: usize,
    /// Cells across a tooth.
    pub tooth_cells: usize,
    /// Cells across the gap between two teeth.
    pub gap_cells: usize,
    /// Cells from the hole to the root of the teeth.
    pub rim_cells: usize,
    /// Cells from the root to the tip of a tooth.
    pub depth_cells: usize,
    /// Cells along the axis.
    pub layers: usize,
    /// Radius of the hole, m.
    pub hole_radius: f64,
    /// Radius where the teeth begin, m.
    pub root_radius: f64,
    /// Radius of the tips, m.
    pub tip_radius: f64,
    /// Length along the axis, m.
    pub thickness: f64,
}

impl Default for Gear {
    fn default() -> Self {
        Gear {
            teeth: 8,
            tooth_cells: 3,
            gap_cells: 3,
            rim_cells: 1,
            depth_cells: 2,
            layers: 2,
            hole_radius: 0.8,
            root_radius: 1.0,
            tip_radius: 1.3,
            thickness: 0.3,
        }
    }
}

/// A gear around the z axis, centered at the origin; the first tooth begins at angle 0.
///
/// ```
/// use pullback_soft::mesh::{Gear, gear};
/// let wheel = gear(&Gear { teeth: 12, ..Gear::default() })?;
/// assert_eq!(wheel.tets.len(), 1728);
/// # Ok::<(), pullback_soft::mesh::MeshError>(())
/// ```
pub fn gear(shape: &Gear) -> Result<TetMesh, MeshError> {
    let Gear { teeth, tooth_cells, gap_cells, rim_cells, depth_cells, layers, .. } = *shape;
    let Gear { hole_radius, root_radius, tip_radius, thickness, .. } = *shape;
    let refuse = |reason: &str| Err(MeshError::Shape { shape: "gear", reason: reason.into() });
    let pitch = tooth_cells.saturating_add(gap_cells);
    let rings = rim_cells.saturating_add(depth_cells);
    let counts = [("teeth", teeth), ("tooth_cells", tooth_cells), ("gap_cells", gap_cells)];
    check_counts("gear", &counts, 1)?;
    check_counts("gear", &[("rim_cells", rim_cells), ("depth_cells", depth_cells), ("layers", layers)], 1)?;
    check_counts("gear", &[("teeth", teeth), ("cells", pitch), ("rings", rings), ("layers", layers)], 6)?;
    let radii = [("hole_radius", hole_radius), ("root_radius", root_radius), ("tip_radius", tip_radius)];
    check_lengths("gear", &radii)?;
    check_lengths("gear", &[("thickness", thickness)])?;
    if !(hole_radius < root_radius && root_radius < tip_radius) {
        return refuse("radii must grow from `hole_radius` over `root_radius` to `tip_radius`");
    }
    let segments = teeth * pitch;
    if segments < 8 {
        return refuse("fewer than 8 cells around; take more teeth or more cells across each");
    }

    let in_gear = |[i, j, _]: &[usize; 3]| *i < rim_cells || j % pitch < tooth_cells;
    let cells: Vec<[usize; 3]> = block(rings, segments, layers).filter(in_gear).collect();
    let place = |[i, j, k]: [usize; 3]| {
        let share = |n: usize, of: usize| n as f64 / of as f64;
        let r = match i.checked_sub(rim_cells) {
            None => hole_radius + (root_radius - hole_radius) * share(i, rim_cells),
            Some(n) => root_radius + (tip_radius - root_radius) * share(n, depth_cells),
        };
        // Beyond the root, arcs keep their length: Δφ = Δφ_root · root / r about the middle of the tooth.
        let middle = (j / pitch * pitch) as f64 + 0.5 * tooth_cells as f64;
        let narrowing = (root_radius / r).min(1.0);
        let (sin, cos) = (TAU / segments as f64 * (middle + (j as f64 - middle) * narrowing)).sin_cos();
        Vec3::new(r * cos, r * sin, thickness * (share(k, layers) - 0.5))
    };
    Ok(solid(&cells, Split::Six, |[i, j, k]| [i, j % segments, k], place))
}
