//! Semi-Lagrangian advection (Stam 1999): every point takes the value of the field where its smoke was.
//!
//! φ′(i) = φ(i − (Δt/h) u), interpolated linearly. Stable for any Δt; diffuses as first-order schemes do, and
//! keeps no sum.

use pullback_core::Workspace;
use pullback_math::Scalar;

use super::maccormack;
use super::padded::{Padded, Place};
use super::pressure::clear;
use super::trace::{Run, Tracer};

/// How fields are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// First order in space.
    #[default]
    SemiLagrangian,
    /// Second order where the field is smooth (Selle et al. 2008).
    MacCormack,
}

/// A field to be moved, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Mover<'a, T, const D: usize> {
    pub padded: &'a Padded<D>,
    pub scheme: Scheme,
    pub place: Place,
    /// Entries that are zero: closed faces or solid cells.
    pub closed: &'a [u32],
    /// Δt/h.
    pub scale: f64,
    /// Velocities with filled halos.
    pub velocity: &'a [Vec<T>; D],
}

/// Scratch for one field.
#[derive(Clone, Debug, Workspace)]
pub(crate) struct MoverScratch<T: Copy + Send, const D: usize> {
    /// The field once traced, and traced back; of MacCormack's scheme only.
    pub forth: Vec<T>,
    pub back: Vec<T>,
    pub forth_bar: Vec<T>,
    /// Cotangents of displacements, without halo.
    pub place_bars: [Vec<T>; D],
    /// Cotangents of the field, and of the velocities.
    pub field_bar: Vec<T>,
    pub velocity_bars: [Vec<T>; D],
}

impl<T: Scalar, const D: usize> MoverScratch<T, D> {
    pub fn new(padded: &Padded<D>, scheme: Scheme) -> Self {
        let zeros = vec![T::zero(); padded.len];
        let twice = if scheme == Scheme::MacCormack { zeros.clone() } else { Vec::new() };
        MoverScratch {
            forth: twice.clone(),
            back: twice.clone(),
            forth_bar: twice,
            place_bars: std::array::from_fn(|_| vec![T::zero(); padded.interior]),
            field_bar: zeros.clone(),
            velocity_bars: std::array::from_fn(|_| zeros.clone()),
        }
    }
}

impl<T: Scalar, const D: usize> Mover<'_, T, D> {
    /// The field a step later, with its halo.
    pub fn advect(&self, field: &[T], scratch: &mut MoverScratch<T, D>, out: &mut [T]) {
        match self.scheme {
            Scheme::SemiLagrangian => self.semi_lagrangian(self.scale, field, out),
            Scheme::MacCormack => maccormack::advect(self, field, scratch, out),
        }
    }

    /// The pullback of [`Mover::advect`] from a cotangent without halo and zero where the field is closed: writes
    /// the cotangents of field and velocities into the scratch, halos folded in.
    pub fn advect_vjp(&self, field: &[T], out_bar: &[T], scratch: &mut MoverScratch<T, D>) {
        scratch.field_bar.fill(T::zero());
        scratch.velocity_bars.iter_mut().for_each(|bar| bar.fill(T::zero()));
        match self.scheme {
            Scheme::SemiLagrangian => {
                let MoverScratch { place_bars, field_bar, velocity_bars, .. } = scratch;
                self.semi_lagrangian_vjp(self.scale, field, out_bar, place_bars, field_bar, velocity_bars);
            }
            Scheme::MacCormack => maccormack::advect_vjp(self, field, out_bar, scratch),
        }
        self.padded.fill_halo_vjp(self.place, &mut scratch.field_bar);
        for (b, bar) in scratch.velocity_bars.iter_mut().enumerate() {
            self.padded.fill_halo_vjp(Place::Face(b), bar);
        }
    }

    /// φ′(i) = φ(i − scale·u), with its halo.
    pub fn semi_lagrangian(&self, scale: f64, field: &[T], out: &mut [T]) {
        let tracer = Tracer::new(self.padded, self.place, scale);
        self.padded.for_rows(self.padded.part(out), |at, row| {
            for run in Run::of_row(row.len()) {
                let traces = tracer.trace(self.velocity, &at, run);
                for i in 0..run.count {
                    row[run.first + i] = tracer.interpolate(field, &traces, i);
                }
            }
        });
        self.finish(out);
    }

    /// The pullback of [`Mover::semi_lagrangian`]: adds to the cotangents of field and velocities, their halos
    /// included. Serial, since neighbors scatter to the same places; the fields of a step run side by side.
    pub fn semi_lagrangian_vjp(
        &self,
        scale: f64,
        field: &[T],
        out_bar: &[T],
        place_bars: &mut [Vec<T>; D],
        field_bar: &mut [T],
        velocity_bars: &mut [Vec<T>; D],
    ) {
        let tracer = Tracer::new(self.padded, self.place, scale);
        let n = self.padded.cells[0];
        for row in 0..self.padded.rows {
            let at = self.padded.row(row);
            for run in Run::of_row(n) {
                let traces = tracer.trace(self.velocity, &at, run);
                for i in 0..run.count {
                    let out_bar = out_bar[at.start + run.first + i];
                    let place_bar = tracer.interpolate_vjp(field, &traces, i, out_bar, field_bar);
                    for b in 0..D {
                        place_bars[b][row * n + run.first + i] = place_bar[b];
                    }
                }
            }
        }
        for b in 0..D {
            tracer.velocity_vjp(b, &place_bars[b], &mut velocity_bars[b]);
        }
    }

    /// Zero where the field is closed, then its halo.
    pub fn finish(&self, field: &mut [T]) {
        clear(self.closed, field);
        self.padded.fill_halo(self.place, field);
    }
}
