//! MacCormack advection (Selle et al. 2008): semi-Lagrangian advection with its own error taken back.
//!
//! φ̂ = S₊φ, φ̃ = S₋φ̂, φ′ = clamp(φ̂ + (φ − φ̃)/2) to the values between which φ̂ was interpolated, so that no
//! new extremes appear. Second order where nothing is clamped. What is clamped follows the value that clamps it.

use pullback_math::{Real, Scalar, select};

use super::advection::{FlowBars, Mover, MoverScratch};
use super::pressure::clear;
use super::trace::{Corners, Run, TILE, Tracer, read, write};

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
            let ([low, high], start) = (extremes::<T, D>(&corners), at.start + run.first);
            let [field, forth, back] = [field, forth, back].map(|x| read(x, start, run.count));
            let corrected = forth + (field - back) * T::lit(0.5).along();
            write(corrected.max(low.value).min(high.value), run.count, &mut row[run.first..]);
        }
    });
    mover.finish(out);
}

/// The pullback of [`advect`]: adds to the cotangent of the field, its halo included, and writes those of the
/// velocities at its points; and the result but for its halo, if that is wanted.
pub(crate) fn advect_vjp<T: Scalar, const D: usize>(
    mover: &Mover<'_, T, D>,
    field: &[T],
    out_bar: &[T],
    scratch: &mut MoverScratch<T, D>,
    mut out: Option<&mut [T]>,
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
            let extremes = extremes::<T, D>(&tracer.corners(field, &traces));
            let [low, high] = extremes.map(|x| (T::numbers(x.value), T::numbers(x.corner)));
            let place = tracer.places(&traces);
            for i in 0..run.count {
                let c = at.start + run.first + i;
                let at = |corners: &[T; TILE]| place(i, corners[i].lane(0) as usize);
                // The cotangent passes max and min to the one value that was taken.
                let corrected = forth[c] + (field[c] - back[c]) * T::lit(0.5);
                let (raised_bar, high_bar) = corrected.max(low.0[i]).min_vjp(high.0[i], out_bar[c]);
                if let Some(out) = &mut out {
                    out[c] = corrected.max(low.0[i]).min(high.0[i]);
                }
                let (corrected_bar, low_bar) = corrected.max_vjp(low.0[i], raised_bar);
                field_bar[at(&high.1)] += high_bar;
                field_bar[at(&low.1)] += low_bar;
                field_bar[c] += corrected_bar * T::lit(0.5);
                forth_bar[c] += corrected_bar;
                // From here on that of φ̃, of which only the value at this point is needed.
                back[c] = -(corrected_bar * T::lit(0.5));
            }
        }
    }
    // φ̃ is closed where the field is.
    clear(mover.closed, back);
    if let Some(out) = out {
        clear(mover.closed, out);
    }
    let to = FlowBars { adds: false, flow_bars, own_bar: Some(&mut *field_bar) };
    mover.semi_lagrangian_vjp(-mover.scale, forth, back, to, forth_bar, None);
    padded.fill_halo_vjp(mover.place, forth_bar);
    clear(mover.closed, forth_bar);
    let to = FlowBars { adds: true, flow_bars, own_bar: None };
    mover.semi_lagrangian_vjp(mover.scale, field, forth_bar, to, field_bar, None);
}

/// A value at a corner of the cell of each point, and the number of that corner.
#[derive(Clone, Copy)]
struct Extreme<R> {
    value: R,
    corner: R,
}

/// The smallest and the largest of the values at the corners of all cells of a run.
#[inline(always)]
fn extremes<T: Scalar, const D: usize>(corners: &Corners<T>) -> [Extreme<T::Row>; 2] {
    let first = Extreme { value: corners[0][0], corner: T::Row::zero() };
    let (mut low, mut high) = (first, first);
    for c in 1..1 << D {
        let (value, corner) = (corners[c / 2][c % 2], T::lit(c as f64).along());
        let (lower, higher) = (value.lt(low.value), value.gt(high.value));
        low = Extreme { value: select(lower, value, low.value), corner: select(lower, corner, low.corner) };
        high =
            Extreme { value: select(higher, value, high.value), corner: select(higher, corner, high.corner) };
    }
    [low, high]
}
