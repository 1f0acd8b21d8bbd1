//! Rows of a grid on threads: each row is written by one of them, so the number of threads changes no bit.

use super::padded::{Padded, RowAt};

/// Grids of fewer cells than this run on one thread: waking another takes longer.
const MOST_SERIAL: usize = 24_000;

/// Arrays that are written row by row.
pub(crate) trait Parts: Send + Sized {
    /// What one row of them is.
    type Row;
    /// The parts before a row, and those from it on.
    fn split<const D: usize>(self, at: &RowAt<D>) -> (Self, Self);
    /// The next row; rows are taken in order.
    fn take<const D: usize>(&mut self, at: &RowAt<D>) -> Self::Row;
}

/// Where a row lies in an array.
#[derive(Clone, Copy)]
enum Kind {
    /// At its place in a padded array.
    Padded,
    /// So many numbers per row, one row after the other.
    Dense(usize),
}

/// An array, or what is left of it.
pub(crate) struct Part<'a, T> {
    data: &'a mut [T],
    /// Index of `data[0]` in the whole array.
    first: usize,
    kind: Kind,
    /// Numbers per row.
    len: usize,
}

impl<'a, T> Part<'a, T> {
    fn start<const D: usize>(&self, at: &RowAt<D>) -> usize {
        match self.kind {
            Kind::Padded => at.start,
            Kind::Dense(len) => at.index * len,
        }
    }
    fn split_data(self, at: usize) -> (Self, Self) {
        let Part { data, first, kind, len } = self;
        let (low, high) = data.split_at_mut(at - first);
        (Part { data: low, first, kind, len }, Part { data: high, first: at, kind, len })
    }
}

impl<'a, T: Send> Parts for Part<'a, T> {
    type Row = &'a mut [T];
    fn split<const D: usize>(self, at: &RowAt<D>) -> (Self, Self) {
        let start = self.start(at);
        self.split_data(start)
    }
    #[inline(always)]
    fn take<const D: usize>(&mut self, at: &RowAt<D>) -> &'a mut [T] {
        let start = self.start(at);
        let (_, rest) = std::mem::take(&mut self.data).split_at_mut(start - self.first);
        let (row, rest) = rest.split_at_mut(self.len);
        (self.data, self.first) = (rest, start + self.len);
        row
    }
}

impl<A: Parts, B: Parts> Parts for (A, B) {
    type Row = (A::Row, B::Row);
    fn split<const D: usize>(self, at: &RowAt<D>) -> (Self, Self) {
        let ((a, c), (b, d)) = (self.0.split(at), self.1.split(at));
        ((a, b), (c, d))
    }
    #[inline(always)]
    fn take<const D: usize>(&mut self, at: &RowAt<D>) -> Self::Row {
        (self.0.take(at), self.1.take(at))
    }
}

impl<T> Default for Part<'_, T> {
    fn default() -> Self {
        Part { data: &mut [], first: 0, kind: Kind::Padded, len: 0 }
    }
}

impl<'a, T: Send, const N: usize> Parts for [Part<'a, T>; N] {
    type Row = [&'a mut [T]; N];
    fn split<const D: usize>(self, at: &RowAt<D>) -> (Self, Self) {
        let mut pairs = self.map(|part| part.split(at));
        let low = std::array::from_fn(|i| std::mem::take(&mut pairs[i].0));
        (low, pairs.map(|(_, high)| high))
    }
    #[inline(always)]
    fn take<const D: usize>(&mut self, at: &RowAt<D>) -> Self::Row {
        std::array::from_fn(|i| self[i].take(at))
    }
}

impl<const D: usize> Padded<D> {
    /// A padded array, to be written row by row.
    pub fn part<'a, T>(&self, data: &'a mut [T]) -> Part<'a, T> {
        Part { data, first: 0, kind: Kind::Padded, len: self.cells[0] }
    }
    /// An array of `len` numbers per row.
    pub fn dense<'a, T>(&self, data: &'a mut [T], len: usize) -> Part<'a, T> {
        Part { data, first: 0, kind: Kind::Dense(len), len }
    }

    /// Hands every row to `work`, on the threads of the current pool where there are many cells.
    #[inline(always)]
    pub fn for_rows<P: Parts>(&self, parts: P, work: impl Fn(RowAt<D>, P::Row) + Sync) {
        let serial = self.interior < MOST_SERIAL || rayon::current_num_threads() == 1;
        // Four tasks to a thread, so that one that wakes late still finds work.
        let tasks = if serial { 1 } else { 4 * rayon::current_num_threads() };
        self.run(0, self.rows, self.rows.div_ceil(tasks), parts, &work);
    }

    fn run<P: Parts>(
        &self,
        first: usize,
        end: usize,
        most: usize,
        mut parts: P,
        work: &(impl Fn(RowAt<D>, P::Row) + Sync),
    ) {
        if end - first <= most {
            for row in first..end {
                let at = self.row(row);
                let rows = parts.take(&at);
                work(at, rows);
            }
            return;
        }
        let middle = first + (end - first) / 2;
        let (low, high) = parts.split(&self.row(middle));
        rayon::join(|| self.run(first, middle, most, low, work), || self.run(middle, end, most, high, work));
    }
}
