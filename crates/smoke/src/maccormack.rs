//! MacCormack advection (Selle et al. 2008): semi-Lagrangian advection with its own error taken back.
//!
//! φ̂ = S₊φ, φ̃ = S₋φ̂, φ′ = clamp(φ̂ + (φ − φ̃)/2) to the values between which φ̂ was interpolated, so that no
//! new extremes appear. Second order where nothing is clamped. What is clamped follows the value that clamps it.

use pullback_math::{Real, Scalar};

use super::advection::{Mover, MoverScratch};
use super::trace::{Corners, Run, Tracer};

/// The field a step later, with its halo.
pub(crate) fn advect<T: Scalar, const D: usize>(
    mover: &Mover<'_, T, D>,
    field: &[T],
    scratch: &mut MoverScratch<T, D>,
    out: &mut [T],
) {
    let MoverScratch { forth, back, .. } = scratch;
    mover.semi_lagrangian(mover.scale, field, forth);
    mover.semi_lagrangian(-mover.scale, forth, back);
    let (tracer, padded) = (Tracer::new(mover.padded, mover.place, mover.scale), mover.padded);
    let (forth, back) = (&*forth, &*back);
    padded.for_rows(padded.part(out), |at, row| {
        for run in Run::of_row(row.len()) {
            let traces = tracer.trace(mover.velocity, &at, run);
            let corners = tracer.corners(field, &traces);
            for i in 0..run.count {
                let c = at.start + run.first + i;
                let (low, high) = extremes::<T, D>(&corners, i);
                let corrected = forth[c] + (field[c] - back[c]) * T::lit(0.5);
                row[run.first + i] = corrected.max(low.0).min(high.0);
            }
        }
    });
    mover.finish(out);
}

/// The pullback of [`advect`]: adds to the cotangent of the field, its halo included, and writes those of the
/// velocities at its points.
pub(crate) fn advect_vjp<T: Scalar, const D: usize>(
    mover: &Mover<'_, T, D>,
    field: &[T],
    out_bar: &[T],
    scratch: &mut MoverScratch<T, D>,
) {
    let MoverScratch { forth, back, forth_bar, flow_bars, field_bar } = scratch;
    mover.semi_lagrangian(mover.scale, field, forth);
    mover.semi_lagrangian(-mover.scale, forth, back);
    forth_bar.fill(T::zero());
    let (tracer, padded) = (Tracer::new(mover.padded, mover.place, mover.scale), mover.padded);
    for row in 0..padded.rows {
        let at = padded.row(row);
        for run in Run::of_row(padded.cells[0]) {
            let traces = tracer.trace(mover.velocity, &at, run);
            let corners = tracer.corners(field, &traces);
            for i in 0..run.count {
                let c = at.start + run.first + i;
                let (low, high) = extremes::<T, D>(&corners, i);
                // The cotangent passes max and min to the one value that was taken.
                let corrected = forth[c] + (field[c] - back[c]) * T::lit(0.5);
                let (raised_bar, high_bar) = corrected.max(low.0).min_vjp(high.0, out_bar[c]);
                let (corrected_bar, low_bar) = corrected.max_vjp(low.0, raised_bar);
                field_bar[tracer.corner(&traces, i, high.1)] += high_bar;
                field_bar[tracer.corner(&traces, i, low.1)] += low_bar;
                field_bar[c] += corrected_bar * T::lit(0.5);
                forth_bar[c] += corrected_bar;
                // From here on that of φ̃, of which only the value at this point is needed.
                back[c] = -(corrected_bar * T::lit(0.5));
            }
        }
    }
    // φ̃ is closed where the field is.
    super::pressure::clear(mover.closed, back);
    mover.semi_lagrangian_vjp(-mover.scale, forth, back, false, flow_bars, forth_bar);
    padded.fill_halo_vjp(mover.place, forth_bar);
    super::pressure::clear(mover.closed, forth_bar);
    mover.semi_lagrangian_vjp(mover.scale, field, forth_bar, true, flow_bars, field_bar);
}

/// The smallest and the largest of the values at the corners of the cell of point i, each with its number.
#[inline(always)]
fn extremes<T: Real, const D: usize>(corners: &Corners<T>, i: usize) -> ((T, usize), (T, usize)) {
    let first = (corners[0][0][i], 0);
    let (mut low, mut high) = (first, first);
    for c in 1..1 << D {
        let x = corners[c / 2][c % 2][i];
        if x.lane(0) < low.0.lane(0) {
            low = (x, c);
        }
        if x.lane(0) > high.0.lane(0) {
            high = (x, c);
        }
    }
    (low, high)
}
