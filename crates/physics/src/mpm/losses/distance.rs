//! Distance to the target: Σ d·m over all nodes, with d ≥ 0 the distance of a node to the nearest one with
//! target mass (PlasticineLab calls it sdf, weight 10). It pulls matter that is nowhere near the target,
//! where Σ|m − m*| is flat.

use pullback_math::Scalar;

use super::mass_grid::MassGrid;
use super::target::Target;

/// Σ d·m, kg·m. Both grids have the same cells.
pub fn target_distance<T: Scalar>(grid: &MassGrid<T>, target: &Target) -> T {
    let d = target.distances();
    grid.entries().fold(T::zero(), |sum, (i, m)| sum + T::lit(d[i]) * m)
}

/// The pullback of [`target_distance`]: *adds* d s̄ to the cotangents of the nodes.
pub fn target_distance_vjp<T: Scalar>(grid: &mut MassGrid<T>, target: &Target, out_bar: T) {
    let d = target.distances();
    grid.add_bars(|i, _| T::lit(d[i]) * out_bar);
}
