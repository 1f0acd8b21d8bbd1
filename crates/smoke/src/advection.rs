//! Semi-Lagrangian advection (Stam 1999): every point takes the value of the field where its smoke was.
//!
//! φ′(i) = φ(i − (Δt/h) u), interpolated linearly. Stable for any Δt; diffuses as first-order schemes do, and
//! keeps no sum.

use pullback_core::Workspace;
use pullback_math::{Real, Scalar};

use super::maccormack;
use super::padded::{Padded, Place};
use super::pressure::clear;
use super::trace::{Run, Tracer, read, write};

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

/// Where the cotangents of the velocities at the points of a field go.
pub(crate) struct FlowBars<'a, T, const D: usize> {
    /// Whether they are added.
    pub adds: bool,
    pub flow_bars: &'a mut [Vec<T>; D],
    /// Those of the velocity that is the field itself are added here, or to those of the field.
    pub own_bar: Option<&'a mut [T]>,
}

/// Scratch for one field.
#[derive(Clone, Debug, Workspace)]
pub(crate) struct MoverScratch<T: Copy + Send, const D: usize> {
    /// The field once traced, and traced back; of MacCormack's scheme only.
    pub forth: Vec<T>,
    pub back: Vec<T>,
    pub forth_bar: Vec<T>,
    /// Cotangents of the velocities at the points of the field, axis by axis, zero in the halo; empty for the
    /// velocity that is the field itself, whose cotangents are those of the field.
    pub flow_bars: [Vec<T>; D],
    /// Cotangents of the field.
    pub field_bar: Vec<T>,
}

impl<T: Scalar, const D: usize> MoverScratch<T, D> {
    pub fn new(padded: &Padded<D>, scheme: Scheme, place: Place) -> Self {
        let zeros = vec![T::zero(); padded.len];
        let twice = if scheme == Scheme::MacCormack { zeros.clone() } else { Vec::new() };
        MoverScratch {
            forth: twice.clone(),
            back: twice.clone(),
            forth_bar: twice,
            flow_bars: std::array::from_fn(
                |b| if place == Place::Face(b) { Vec::new() } else { zeros.clone() },
            ),
            field_bar: zeros,
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
    /// the cotangents of the field, its halo included, and of the velocities at its points into the scratch.
    /// Writes what [`Mover::advect`] wrote too, without the halo, if that is wanted.
    pub fn advect_vjp(
        &self,
        field: &[T],
        out_bar: &[T],
        scratch: &mut MoverScratch<T, D>,
        out: Option<&mut [T]>,
    ) {
        scratch.field_bar.fill(T::zero());
        match self.scheme {
            Scheme::SemiLagrangian => {
                let MoverScratch { flow_bars, field_bar, .. } = scratch;
                let to = FlowBars { adds: false, flow_bars, own_bar: None };
                self.semi_lagrangian_vjp(self.scale, field, out_bar, to, field_bar, out);
            }
            Scheme::MacCormack => maccormack::advect_vjp(self, field, out_bar, scratch, out),
        }
    }

    /// φ′(i) = φ(i − scale·u), with its halo.
    pub fn semi_lagrangian(&self, scale: f64, field: &[T], out: &mut [T]) {
        let tracer = Tracer::new(self.padded, self.place, scale);
        self.padded.for_rows(self.padded.part(out), |at, row| {
            for run in Run::of_row(row.len()) {
                let traces = tracer.trace(self.velocity, &at, run);
                let values = tracer.interpolate(field, &traces);
                write(values, run.count, &mut row[run.first..]);
            }
        });
        self.finish(out);
    }

    /// The pullback of [`Mover::semi_lagrangian`]: adds to the cotangent of the field, its halo included, and writes
    /// those of the velocities at its points, or adds to them; and the result, if that is wanted. Serial, since
    /// neighbors scatter to the same places; the fields of a step run side by side.
    pub fn semi_lagrangian_vjp(
        &self,
        scale: f64,
        field: &[T],
        out_bar: &[T],
        to: FlowBars<'_, T, D>,
        field_bar: &mut [T],
        mut out: Option<&mut [T]>,
    ) {
        let FlowBars { adds, flow_bars, mut own_bar } = to;
        let tracer = Tracer::new(self.padded, self.place, scale);
        for row in 0..self.padded.rows {
            let at = self.padded.row(row);
            for run in Run::of_row(at.len) {
                let (start, traces) = (at.start + run.first, tracer.trace(self.velocity, &at, run));
                let out_bar = read(out_bar, start, run.count);
                let (value, found) = tracer.interpolate_vjp(field, &traces, out_bar, field_bar);
                if let Some(out) = &mut out {
                    write(value, run.count, &mut out[start..]);
                }
                for b in 0..D {
                    let (found, own) = (found[b], self.place == Place::Face(b));
                    let bar = match &mut own_bar {
                        Some(bar) if own => &mut **bar,
                        None if own => &mut *field_bar,
                        _ => &mut flow_bars[b],
                    };
                    let before = if adds || own { read(bar, start, run.count) } else { T::Row::zero() };
                    write(before + found, run.count, &mut bar[start..]);
                }
            }
        }
        if let Some(out) = out {
            clear(self.closed, out);
        }
    }

    /// Zero where the field is closed, then its halo.
    pub fn finish(&self, field: &mut [T]) {
        clear(self.closed, field);
        self.padded.fill_halo(self.place, field);
    }
}
