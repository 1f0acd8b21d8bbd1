//! [`Padded`]: arrays of a grid with a halo of one cell around, and what stands in the halo.
//!
//! With a halo, neighbors of every cell are found by adding a stride, and loops over rows have no branches.

use std::ops::Range;

use pullback_math::Real;

use super::grid::{Border, Grid};

/// Where the values of a field stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At centers of cells.
    Cell,
    /// At centers of lower faces along an axis.
    Face(usize),
}

impl Place {
    /// That of a field of the state along so many axes: of a velocity, or of the density, which is last.
    pub fn of_field(field: usize, axes: usize) -> Self {
        if field == axes { Place::Cell } else { Place::Face(field) }
    }
}

/// Sizes of arrays with a halo.
#[derive(Clone, Debug)]
pub(crate) struct Padded<const D: usize> {
    /// Cells along each axis, without halo.
    pub cells: [usize; D],
    /// From a cell to the next along each axis.
    pub strides: [usize; D],
    pub periodic: [bool; D],
    /// Entries, halo included.
    pub len: usize,
    /// Cells, without halo.
    pub interior: usize,
    /// Rows along the first axis, without halo.
    pub rows: usize,
}

/// A row of cells along the first axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAt<const D: usize> {
    /// Its first cell in a padded array.
    pub start: usize,
    /// Its number.
    pub index: usize,
    /// Cells.
    pub len: usize,
    /// Place of its first cell along each axis.
    pub place: [usize; D],
}

impl<const D: usize> Padded<D> {
    pub fn new(cells: [usize; D], periodic: [bool; D]) -> Self {
        let mut len = 1;
        let strides = cells.map(|n| {
            let stride = len;
            len *= n + 2;
            stride
        });
        let interior: usize = cells.iter().product();
        Padded { cells, strides, periodic, len, interior, rows: interior / cells[0] }
    }

    pub fn of(grid: &Grid<D>) -> Self {
        Padded::new(grid.cells, grid.borders.map(|b| b == Border::Periodic))
    }

    /// Row number `index`.
    #[inline(always)]
    pub fn row(&self, index: usize) -> RowAt<D> {
        let (mut place, mut rest, mut start) = ([0; D], index, 1);
        for a in 1..D {
            place[a] = rest % self.cells[a];
            rest /= self.cells[a];
            start += (place[a] + 1) * self.strides[a];
        }
        RowAt { start, index, len: self.cells[0], place }
    }

    /// From the first cell to the last, with the halo that lies between.
    pub fn inner(&self) -> Range<usize> {
        let first: usize = self.strides.iter().sum();
        first..self.len - first
    }

    /// From the first to the last lower face along an axis whose velocity is part of a mean at some point of a field.
    pub fn around_faces(&self, axis: usize) -> Range<usize> {
        let across = (0..D).filter(|a| *a != axis).map(|a| self.strides[a]).max().unwrap_or(0);
        let Range { start, end } = self.inner();
        start - across..end + self.strides[axis]
    }

    /// Index of cell `i`, counted without halo, in a padded array.
    pub fn index(&self, i: usize) -> usize {
        self.row(i / self.cells[0]).start + i % self.cells[0]
    }

    /// The cells of a row.
    #[inline(always)]
    pub fn span(&self, at: &RowAt<D>) -> Range<usize> {
        at.start..at.start + self.cells[0]
    }

    /// Copies an array without halo into one with a halo.
    pub fn load<T: Real>(&self, from: &[T], to: &mut [T]) {
        self.for_rows(self.part(to), |at, row| {
            row.copy_from_slice(&from[at.index * row.len()..][..row.len()]);
        });
    }

    /// Copies an array with a halo into one without.
    pub fn store<T: Real>(&self, from: &[T], to: &mut [T]) {
        self.for_rows(self.dense(to, self.cells[0]), |at, row| row.copy_from_slice(&from[self.span(&at)]));
    }

    /// Adds an array with a halo to one without.
    pub fn add_to<T: Real>(&self, from: &[T], to: &mut [T]) {
        self.for_rows(self.dense(to, self.cells[0]), |at, row| {
            row.iter_mut().zip(&from[self.span(&at)]).for_each(|(to, from)| *to += *from);
        });
    }

    /// Fills the halo: with the other end of a periodic axis, with the nearest value beyond a wall, and with
    /// zero beyond the wall that a velocity is normal to.
    pub fn fill_halo<T: Real>(&self, place: Place, data: &mut [T]) {
        for a in 0..D {
            let (stride, n) = (self.strides[a], self.cells[a]);
            for first in (0..self.len).step_by(stride * (n + 2)) {
                let last = first + (n + 1) * stride;
                let Some((low, high)) = self.halo_sources(a, place) else {
                    data[first..first + stride].fill(T::zero());
                    data[last..last + stride].fill(T::zero());
                    continue;
                };
                let (low, high) = (first + low * stride, first + high * stride);
                if stride == 1 {
                    (data[first], data[last]) = (data[low], data[high]);
                } else {
                    data.copy_within(low..low + stride, first);
                    data.copy_within(high..high + stride, last);
                }
            }
        }
    }

    /// The pullback of [`Padded::fill_halo`]: adds cotangents of the halo to those of what fills it.
    pub fn fill_halo_vjp<T: Real>(&self, place: Place, bar: &mut [T]) {
        for a in (0..D).rev() {
            let (stride, n) = (self.strides[a], self.cells[a]);
            for line in bar.chunks_exact_mut(stride * (n + 2)) {
                let (low_bar, rest) = line.split_at_mut(stride);
                let (inside, high_bar) = rest.split_at_mut(n * stride);
                if let Some((low, high)) = self.halo_sources(a, place) {
                    add(low_bar, &mut inside[(low - 1) * stride..]);
                    add(high_bar, &mut inside[(high - 1) * stride..]);
                }
                low_bar.fill(T::zero());
                high_bar.fill(T::zero());
            }
        }
    }

    /// The places along an axis, counted from 1, that the halo takes before the first and after the last.
    fn halo_sources(&self, axis: usize, place: Place) -> Option<(usize, usize)> {
        match (self.periodic[axis], place == Place::Face(axis)) {
            (true, _) => Some((self.cells[axis], 1)),
            (false, false) => Some((1, self.cells[axis])),
            (false, true) => None,
        }
    }
}

/// to += from
#[inline(always)]
fn add<T: Real>(from: &[T], to: &mut [T]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ⟨y, F x⟩ = ⟨Fᵀ y, x⟩ on a grid with both kinds of borders.
    #[test]
    fn halos_have_their_transpose() {
        let padded = Padded::new([4, 5, 6], [true, false, false]);
        for place in [Place::Cell, Place::Face(0), Place::Face(1), Place::Face(2)] {
            let mut random = pullback_core::random::Random::new(3);
            let interior: Vec<usize> = (0..padded.interior).map(|i| padded.index(i)).collect();
            let mut x = vec![0.0; padded.len];
            interior.iter().for_each(|i| x[*i] = random.uniform(-1.0, 1.0));
            let y: Vec<f64> = (0..padded.len).map(|_| random.uniform(-1.0, 1.0)).collect();
            let (before, mut bar) = (x.clone(), y.clone());
            padded.fill_halo(place, &mut x);
            padded.fill_halo_vjp(place, &mut bar);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!((dot(&y, &x) - dot(&bar, &before)).abs() < 1e-12, "{place:?}");
            let halo = (0..padded.len).filter(|i| !interior.contains(i));
            assert!(halo.into_iter().all(|i| bar[i] == 0.0));
        }
    }
}
