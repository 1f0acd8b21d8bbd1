//! Buoyancy: dense smoke is warm and rises, u_up += Δt β ρ, with ρ the mean of the cells on both sides of a face.

use pullback_math::Real;

use super::padded::Padded;

/// Adds to the velocity along the last axis; `density` with filled halo, `rise` = Δt β.
pub(crate) fn add_buoyancy<T: Real, const D: usize>(
    padded: &Padded<D>,
    density: &[T],
    rise: T,
    velocity: &mut [T],
) {
    let (stride, half) = (padded.strides[D - 1], rise * T::lit(0.5));
    padded.for_rows(padded.part(velocity), |at, row| {
        let n = row.len();
        let (here, below) = (&density[at.start..][..n], &density[at.start - stride..][..n]);
        for i in 0..n {
            row[i] += half * (here[i] + below[i]);
        }
    });
}

/// The pullback of [`add_buoyancy`] from a cotangent with filled halo: adds to that of the density, and returns
/// that of `rise`. `sums` has a place per row.
pub(crate) fn add_buoyancy_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    density: &[T],
    rise: T,
    velocity_bar: &[T],
    density_bar: &mut [T],
    sums: &mut [T],
) -> T {
    let (stride, half) = (padded.strides[D - 1], rise * T::lit(0.5));
    padded.for_rows((padded.part(density_bar), padded.dense(sums, 1)), |at, (row, sum)| {
        let n = row.len();
        let (here, above) = (&velocity_bar[at.start..][..n], &velocity_bar[at.start + stride..][..n]);
        let density = &density[at.start..][..n];
        sum[0] = T::zero();
        for i in 0..n {
            let mean_bar = (here[i] + above[i]) * T::lit(0.5);
            sum[0] += mean_bar * density[i];
            row[i] += half * (here[i] + above[i]);
        }
    });
    super::sums::total(sums)
}
