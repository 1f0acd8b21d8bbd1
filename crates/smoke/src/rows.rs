//! Rows, blocks and planes of a grid on threads: each is written by one of them, so the number of threads changes
//! no bit.

use std::ops::Range;

use super::padded::{Padded, RowAt};

/// Grids of fewer cells than this run on one thread: waking another takes longer.
const MOST_SERIAL: usize = 24_000;

/// Entries of a block: a few arrays of them stay in the nearest cache.
const BLOCK: usize = 2048;

/// A run of entries of a padded array: a row, a block or a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Its first entry.
    pub start: usize,
    /// Its number.
    pub index: usize,
    /// Entries.
    pub len: usize,
}

impl<const D: usize> From<RowAt<D>> for Piece {
    #[inline(always)]
    fn from(at: RowAt<D>) -> Piece {
        Piece { start: at.start, index: at.index, len: at.len }
    }
}

/// Arrays that are written piece by piece.
pub(crate) trait Parts: Send + Sized {
    /// What one piece of them is.
    type Row;
    /// The parts before a piece, and those from it on.
    fn split(self, at: Piece) -> (Self, Self);
    /// The next piece; pieces are taken in order.
    fn take(&mut self, at: Piece) -> Self::Row;
}

/// Where a piece lies in an array.
#[derive(Clone, Copy)]
enum Kind {
    /// At its place in a padded array.
    Padded,
    /// So many numbers per piece, one piece after the other.
    Dense(usize),
}

/// An array, or what is left of it.
pub(crate) struct Part<'a, T> {
    data: &'a mut [T],
    /// Index of `data[0]` in the whole array.
    first: usize,
    kind: Kind,
}

impl<'a, T: Send> Parts for Part<'a, T> {
    type Row = &'a mut [T];
    fn split(self, at: Piece) -> (Self, Self) {
        let Part { data, first, kind } = self;
        let start = match kind {
            Kind::Padded => at.start,
            Kind::Dense(len) => at.index * len,
        };
        let (low, high) = data.split_at_mut(start - first);
        (Part { data: low, first, kind }, Part { data: high, first: start, kind })
    }
    #[inline(always)]
    fn take(&mut self, at: Piece) -> &'a mut [T] {
        let (start, len) = match self.kind {
            Kind::Padded => (at.start, at.len),
            Kind::Dense(len) => (at.index * len, len),
        };
        let (_, rest) = std::mem::take(&mut self.data).split_at_mut(start - self.first);
        let (row, rest) = rest.split_at_mut(len);
        (self.data, self.first) = (rest, start + len);
        row
    }
}

impl<A: Parts, B: Parts> Parts for (A, B) {
    type Row = (A::Row, B::Row);
    fn split(self, at: Piece) -> (Self, Self) {
        let ((a, c), (b, d)) = (self.0.split(at), self.1.split(at));
        ((a, b), (c, d))
    }
    #[inline(always)]
    fn take(&mut self, at: Piece) -> Self::Row {
        (self.0.take(at), self.1.take(at))
    }
}

impl<T> Default for Part<'_, T> {
    fn default() -> Self {
        Part { data: &mut [], first: 0, kind: Kind::Padded }
    }
}

impl<'a, T: Send, const N: usize> Parts for [Part<'a, T>; N] {
    type Row = [&'a mut [T]; N];
    fn split(self, at: Piece) -> (Self, Self) {
        let mut pairs = self.map(|part| part.split(at));
        let low = std::array::from_fn(|i| std::mem::take(&mut pairs[i].0));
        (low, pairs.map(|(_, high)| high))
    }
    #[inline(always)]
    fn take(&mut self, at: Piece) -> Self::Row {
        self.each_mut().map(|part| part.take(at))
    }
}

impl<const D: usize> Padded<D> {
    /// A padded array, to be written piece by piece.
    pub fn part<'a, T>(&self, data: &'a mut [T]) -> Part<'a, T> {
        Part { data, first: 0, kind: Kind::Padded }
    }
    /// An array of `len` numbers per piece.
    pub fn dense<'a, T>(&self, data: &'a mut [T], len: usize) -> Part<'a, T> {
        Part { data, first: 0, kind: Kind::Dense(len) }
    }

    /// Hands every row to `work`, on the threads of the current pool where there are many cells.
    #[inline(always)]
    pub fn for_rows<P: Parts>(&self, parts: P, work: impl Fn(RowAt<D>, P::Row) + Sync) {
        self.for_each(self.rows, parts, |index| self.row(index), work);
    }

    /// Number of blocks of [`Padded::for_blocks`].
    pub fn blocks(&self) -> usize {
        self.inner().len().div_ceil(BLOCK)
    }

    /// Hands every block to `work`: the entries from the first cell to the last, those of the halo between them
    /// included. What is written there must not matter, or be zero.
    #[inline(always)]
    pub fn for_blocks<P: Parts>(&self, parts: P, work: impl Fn(Piece, P::Row) + Sync) {
        self.for_blocks_of(self.inner(), parts, work);
    }

    /// Hands every block of a range of entries to `work`.
    #[inline(always)]
    pub fn for_blocks_of<P: Parts>(
        &self,
        range: Range<usize>,
        parts: P,
        work: impl Fn(Piece, P::Row) + Sync,
    ) {
        let block = |index: usize| {
            let start = range.start + index * BLOCK;
            Piece { start, index, len: BLOCK.min(range.end - start) }
        };
        self.for_each(range.len().div_ceil(BLOCK), parts, block, work);
    }

    /// Hands every plane of cells across the last axis to `work`, with the halo of the other axes.
    #[inline(always)]
    pub fn for_planes<P: Parts>(&self, parts: P, work: impl Fn(Piece, P::Row) + Sync) {
        let len = self.strides[D - 1];
        let plane = |index: usize| Piece { start: (index + 1) * len, index, len };
        self.for_each(self.cells[D - 1], parts, plane, work);
    }

    /// Hands every one of so many pieces to `work`.
    #[inline(always)]
    fn for_each<P: Parts, A: Into<Piece> + Copy>(
        &self,
        count: usize,
        parts: P,
        at: impl Fn(usize) -> A + Sync,
        work: impl Fn(A, P::Row) + Sync,
    ) {
        let serial = self.interior < MOST_SERIAL || rayon::current_num_threads() == 1;
        // Four tasks to a thread, so that one that wakes late still finds work.
        let tasks = if serial { 1 } else { 4 * rayon::current_num_threads() };
        run(0, count, count.div_ceil(tasks), parts, &at, &work);
    }
}

/// Pieces `first` to `end`, in tasks of `most` or fewer.
fn run<P: Parts, A: Into<Piece> + Copy>(
    first: usize,
    end: usize,
    most: usize,
    mut parts: P,
    at: &(impl Fn(usize) -> A + Sync),
    work: &(impl Fn(A, P::Row) + Sync),
) {
    if end - first <= most {
        for index in first..end {
            let at = at(index);
            work(at, parts.take(at.into()));
        }
        return;
    }
    let middle = first + (end - first) / 2;
    let (low, high) = parts.split(at(middle).into());
    rayon::join(|| run(first, middle, most, low, at, work), || run(middle, end, most, high, at, work));
}
