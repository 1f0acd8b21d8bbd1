//! Buoyancy: dense smoke is warm and rises, u_up += Δt β ρ, with ρ the mean of the cells on both sides of a face.

use pullback_math::Real;

use super::padded::Padded;
use super::sums::{dot, total};

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

/// The pullback of [`add_buoyancy`] from a cotangent with filled halo, but for `rise`: adds to that of the density.
pub(crate) fn add_buoyancy_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    rise: T,
    velocity_bar: &[T],
    density_bar: &mut [T],
) {
    let (stride, half) = (padded.strides[D - 1], rise * T::lit(0.5));
    padded.for_rows(padded.part(density_bar), |at, row| {
        let n = row.len();
        let (here, above) = (&velocity_bar[at.start..][..n], &velocity_bar[at.start + stride..][..n]);
        for i in 0..n {
            row[i] += half * (here[i] + above[i]);
        }
    });
}

/// The cotangent of `rise`, from the density and a cotangent with filled halo. `sums` has a place per row.
pub(crate) fn rise_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    density: &[T],
    velocity_bar: &[T],
    sums: &mut [T],
) -> T {
    let stride = padded.strides[D - 1];
    padded.for_rows(padded.dense(sums, 1), |at, sum| {
        let (span, n) = (padded.span(&at), padded.cells[0]);
        let (here, above) = (&velocity_bar[at.start..][..n], &velocity_bar[at.start + stride..][..n]);
        sum[0] = dot(&density[span.clone()], here) + dot(&density[span], above);
    });
    total(sums) * T::lit(0.5)
}
