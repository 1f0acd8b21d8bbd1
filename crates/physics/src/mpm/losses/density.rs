//! Density distance: Σ|m − m*| over all nodes (PlasticineLab, weight 10).
//!
//! Nodes without mass contribute m*, which is summed once with the target: Σ m* + Σ_touched (|m − m*| − m*).
//! The loss has a kink at every node with m = m*, where its slope is taken as 0.

use pullback_math::Scalar;

use super::mass_grid::MassGrid;
use super::target::Target;

/// Σ|m − m*|, kg. Both grids have the same cells.
pub fn density_distance<T: Scalar>(grid: &MassGrid<T>, target: &Target) -> T {
    let wanted = target.masses();
    let mut sum = T::lit(target.mass());
    for (i, m) in grid.entries() {
        let m_star = T::lit(wanted[i]);
        sum += (m - m_star).abs() - m_star;
    }
    sum
}

/// The pullback of [`density_distance`]: *adds* sign(m − m*) s̄ to the cotangents of the nodes.
pub fn density_distance_vjp<T: Scalar>(grid: &mut MassGrid<T>, target: &Target, out_bar: T) {
    let wanted = target.masses();
    grid.add_bars(|i, m| (m - T::lit(wanted[i])).abs_vjp(out_bar));
}
