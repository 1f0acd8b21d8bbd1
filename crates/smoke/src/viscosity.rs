//! Viscosity, explicit: u += (Δt ν/h²) Σ (u_nb − u). Smoke slips along walls and clings to obstacles.
//!
//! Stable for Δt ν/h² up to 1/(2D), which is the bound of the parameter.

use pullback_math::Real;

use super::padded::Padded;
use super::sums::{dot, total};

/// Adds to `out`; `field` with filled halo, `amount` = Δt ν/h².
pub(crate) fn add_viscosity<T: Real, const D: usize>(
    padded: &Padded<D>,
    field: &[T],
    amount: T,
    out: &mut [T],
) {
    padded.for_rows(padded.part(out), |at, row| {
        for i in 0..row.len() {
            row[i] += amount * laplacian(padded, field, at.start + i);
        }
    });
}

/// The pullback of [`add_viscosity`] from a cotangent with filled halo: adds to that of the field, and returns
/// that of `amount`. Σ (u_nb − u) is symmetric. `sums` has a place per row.
pub(crate) fn add_viscosity_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    field: &[T],
    amount: T,
    out_bar: &[T],
    field_bar: &mut [T],
    sums: &mut [T],
) -> T {
    padded.for_rows((padded.part(field_bar), padded.dense(sums, 1)), |at, (row, sum)| {
        sum[0] = T::zero();
        for (i, bar) in row.iter_mut().enumerate() {
            let back = laplacian(padded, out_bar, at.start + i);
            sum[0] += back * field[at.start + i];
            *bar += amount * back;
        }
    });
    total(sums)
}

/// Σ (u_nb − u)
#[inline(always)]
fn laplacian<T: Real, const D: usize>(padded: &Padded<D>, u: &[T], c: usize) -> T {
    let mut sum = T::zero();
    for stride in padded.strides {
        sum += (u[c - stride] - u[c]) + (u[c + stride] - u[c]);
    }
    sum
}

/// field *= factor, halo included.
pub(crate) fn scale<T: Real>(field: &mut [T], factor: T) {
    field.iter_mut().for_each(|x| *x *= factor);
}

/// The cotangent of the factor of [`scale`], from the result and its cotangent: Σ x̄′ x′ / factor.
pub(crate) fn scale_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    scaled: &[T],
    factor: T,
    scaled_bar: &[T],
    sums: &mut [T],
) -> T {
    padded.for_rows(padded.dense(sums, 1), |at, sum| {
        let span = padded.span(&at);
        sum[0] = dot(&scaled[span.clone()], &scaled_bar[span]);
    });
    total(sums) / factor
}

/// The same from the field before, and a cotangent without halo: Σ x̄′ x.
pub(crate) fn kept_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    field: &[T],
    scaled_bar: &[T],
    sums: &mut [T],
) -> T {
    padded.for_rows(padded.dense(sums, 1), |at, sum| {
        sum[0] = dot(&field[padded.span(&at)], &scaled_bar[at.index * at.len..][..at.len]);
    });
    total(sums)
}
