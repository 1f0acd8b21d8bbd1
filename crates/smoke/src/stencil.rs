//! [`Stencil`]: the cells of a run of traces that lie beside each other, so that their corners are whole rows.
//!
//! Where a flow is smooth, all points of a run were displaced by the same number of whole cells along an axis, or by
//! two numbers that differ by one. Corners are then read and written as rows of two or three nodes along each axis,
//! of which each point takes the lower or the upper two, and no number is looked up by its own index.

use pullback_math::{Mask, Real, Scalar, Select, select};

use super::padded::Padded;
use super::trace::{Corners, TILE};

/// Which points of a run are one cell further up than the others.
type Upper<T> = <<T as Scalar>::Row as Select>::Mask;

/// Values at the two ends of an edge along the first axis, and at those of a face.
type Edge<T> = [<T as Scalar>::Row; 2];
type Face<T> = [Edge<T>; 2];

/// Numbers of three rows of nodes, each one entry after the one before.
const SPAN: usize = TILE + 2;

/// Where the nodes of a run lie in a padded array.
#[derive(Clone, Copy)]
pub(crate) struct Stencil<T: Scalar, const D: usize> {
    /// Lowest node of the first point.
    first: usize,
    /// Whether there are three nodes along each axis, and which points take the upper two of them.
    wide: [bool; D],
    upper: [Upper<T>; D],
    /// Whether cells lie beside each other, and rows of nodes end within the array.
    pub fits: bool,
}

/// A stencil before it is known whether it fits.
pub(crate) struct Candidate<T: Scalar, const D: usize> {
    /// From the first point to its lowest node.
    offset: f64,
    /// Entries from the lowest node to the end of the highest row.
    extent: usize,
    wide: [bool; D],
    upper: [Upper<T>; D],
    /// Which points lie farther than one cell from the others; and whether both neighbors occur.
    far: Upper<T>,
    both: bool,
}

impl<T: Scalar, const D: usize> Candidate<T, D> {
    #[inline(always)]
    pub fn new() -> Self {
        let none = Upper::<T>::splat(false);
        Candidate { offset: 0.0, extent: SPAN, wide: [false; D], upper: [none; D], far: none, both: false }
    }

    /// Takes the whole cells by which points were displaced along an axis.
    #[inline(always)]
    pub fn add(&mut self, axis: usize, stride: usize, displaced: T::Row) {
        let zero = T::Row::zero();
        let [own, ..] = T::numbers(displaced);
        let steps = displaced - own.along();
        let (below, above) = (steps.lt(zero), steps.gt(zero));
        let (any_below, any_above) = (below.any(), above.any());
        self.far = self.far | steps.abs().gt(T::Row::one());
        self.both |= any_below & any_above;
        self.wide[axis] = any_below | any_above;
        self.upper[axis] = if any_below { !below } else { above };
        let lowest = own.lane(0) - if any_below { 1.0 } else { 0.0 };
        self.offset += lowest * stride as f64;
        self.extent += if self.wide[axis] { 2 * stride } else { stride };
    }

    /// The stencil of points from entry `start` on.
    #[inline(always)]
    pub fn at(self, padded: &Padded<D>, start: usize) -> Stencil<T, D> {
        let Candidate { offset, extent, wide, upper, far, both } = self;
        let first = start.wrapping_add_signed(integer(offset) as isize);
        let fits = !(both | far.any()) && first < padded.len && first + extent <= padded.len;
        Stencil { first, wide, upper, fits }
    }
}

impl<T: Scalar, const D: usize> Stencil<T, D> {
    /// The values at the corners of all cells.
    #[inline(always)]
    pub fn corners(&self, padded: &Padded<D>, field: &[T]) -> Corners<T> {
        let (at, stride) = (self.first, padded.strides[D - 1]);
        let low = self.face(padded, at, field);
        if D == 2 {
            return [low[0], low[1], low[0], low[1]];
        }
        let high = self.face(padded, at + stride, field);
        if !self.wide[D - 1] {
            return [low[0], low[1], high[0], high[1]];
        }
        let (upper, top) = (self.upper[D - 1], self.face(padded, at + 2 * stride, field));
        let (low, high) = (choose_face::<T>(upper, high, low), choose_face::<T>(upper, top, high));
        [low[0], low[1], high[0], high[1]]
    }

    #[inline(always)]
    fn face(&self, padded: &Padded<D>, at: usize, field: &[T]) -> Face<T> {
        let stride = padded.strides[1];
        let (low, high) = (self.edge(&field[at..]), self.edge(&field[at + stride..]));
        if !self.wide[1] {
            return [low, high];
        }
        let (upper, top) = (self.upper[1], self.edge(&field[at + 2 * stride..]));
        [choose::<T>(upper, high, low), choose::<T>(upper, top, high)]
    }

    #[inline(always)]
    fn edge(&self, field: &[T]) -> Edge<T> {
        let Some(nodes) = field.first_chunk::<SPAN>() else { return [T::Row::zero(); 2] };
        let (low, high) = (row_from::<T, 0>(nodes), row_from::<T, 1>(nodes));
        if !self.wide[0] {
            return [low, high];
        }
        choose::<T>(self.upper[0], [high, row_from::<T, 2>(nodes)], [low, high])
    }

    /// The pullback of [`Stencil::corners`]: adds the cotangents of all corners to the nodes.
    #[inline(always)]
    pub fn corners_vjp(&self, padded: &Padded<D>, bars: &Corners<T>, field_bar: &mut [T]) {
        let (at, stride, low) = (self.first, padded.strides[D - 1], [bars[0], bars[1]]);
        if D == 2 {
            return self.face_vjp(padded, at, low, field_bar);
        }
        let high = [bars[2], bars[3]];
        if !self.wide[D - 1] {
            self.face_vjp(padded, at, low, field_bar);
            self.face_vjp(padded, at + stride, high, field_bar);
            return;
        }
        let (upper, zero) = (self.upper[D - 1], [[T::Row::zero(); 2]; 2]);
        self.face_vjp(padded, at, choose_face::<T>(upper, zero, low), field_bar);
        self.face_vjp(padded, at + stride, choose_face::<T>(upper, low, high), field_bar);
        self.face_vjp(padded, at + 2 * stride, choose_face::<T>(upper, high, zero), field_bar);
    }

    #[inline(always)]
    fn face_vjp(&self, padded: &Padded<D>, at: usize, [low, high]: Face<T>, field_bar: &mut [T]) {
        let stride = padded.strides[1];
        if !self.wide[1] {
            self.edge_vjp(low, &mut field_bar[at..]);
            self.edge_vjp(high, &mut field_bar[at + stride..]);
            return;
        }
        let (upper, zero) = (self.upper[1], [T::Row::zero(); 2]);
        self.edge_vjp(choose::<T>(upper, zero, low), &mut field_bar[at..]);
        self.edge_vjp(choose::<T>(upper, low, high), &mut field_bar[at + stride..]);
        self.edge_vjp(choose::<T>(upper, high, zero), &mut field_bar[at + 2 * stride..]);
    }

    #[inline(always)]
    fn edge_vjp(&self, [low, high]: Edge<T>, field_bar: &mut [T]) {
        let Some(nodes) = field_bar.first_chunk_mut::<SPAN>() else { return };
        if !self.wide[0] {
            return add_nodes::<T, 2>([low, high], nodes);
        }
        let (upper, zero) = (self.upper[0], T::Row::zero());
        add_nodes::<T, 3>(
            [select(upper, zero, low), select(upper, low, high), select(upper, high, zero)],
            nodes,
        );
    }
}

/// The row that begins so many entries further.
#[inline(always)]
fn row_from<T: Scalar, const K: usize>(nodes: &[T; SPAN]) -> T::Row {
    nodes[K..].first_chunk().map_or(T::Row::zero(), T::row_of)
}

#[inline(always)]
fn choose<T: Scalar>(upper: Upper<T>, a: Edge<T>, b: Edge<T>) -> Edge<T> {
    [select(upper, a[0], b[0]), select(upper, a[1], b[1])]
}

#[inline(always)]
fn choose_face<T: Scalar>(upper: Upper<T>, a: Face<T>, b: Face<T>) -> Face<T> {
    [choose::<T>(upper, a[0], b[0]), choose::<T>(upper, a[1], b[1])]
}

/// Adds rows of nodes, each one entry after the one before.
#[inline(always)]
fn add_nodes<T: Scalar, const N: usize>(nodes: [T::Row; N], to: &mut [T; SPAN]) {
    let mut sum = nodes[N - 1];
    for k in (0..N - 1).rev() {
        let [.., last] = T::numbers(sum);
        to[TILE + k] += last;
        sum = nodes[k] + one_further::<T>(sum);
    }
    if let Some(to) = to.first_chunk_mut() {
        *to = T::numbers(T::row_of(to) + sum);
    }
}

/// Each number at the next place, the first one zero. Written out: a loop would pass through memory.
#[inline(always)]
fn one_further<T: Scalar>(row: T::Row) -> T::Row {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, _] = T::numbers(row);
    T::row_of(&[T::zero(), a, b, c, d, e, f, g, h, i, j, k, l, m, n, o])
}

/// A whole number below 2³¹ as an integer: the last bits of 1.5·2⁵² + x. A conversion that minds what is no number is
/// slower.
#[inline(always)]
pub(crate) fn integer(x: f64) -> i32 {
    (x + 1.5 * (1u64 << 52) as f64).to_bits() as i32
}
