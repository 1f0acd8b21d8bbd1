//! [`Record`]: sixteen numbers in a line of the cache.
//!
//! Particles and nodes share it, so that one kind of memory serves both. Of a particle it is four quads: a
//! value (momentum and mass, say) and its derivatives along three axes. Of nodes it is a line of four along
//! z. The pullback of stress and the transfers see numbers 7, 11 and 15 of a particle as a vector of its own
//! (`Record::spare`): its position, later the cotangent of it.

use pullback_math::{RECORD, Real, Scalar};

/// Sixteen numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub struct Record<T>(pub [T; 2 * RECORD]);

/// Where the fourth numbers of the derivatives are.
const SPARE: [usize; 3] = [7, 11, 15];

impl<T: Real> Default for Record<T> {
    fn default() -> Self {
        Record([T::zero(); 2 * RECORD])
    }
}

impl<T: Scalar> Record<T> {
    /// From one register.
    #[inline(always)]
    pub(crate) fn of(row: T::Row) -> Self {
        Record(T::numbers(row))
    }
    /// As one register.
    #[inline(always)]
    pub(crate) fn row(&self) -> T::Row {
        T::row_of(&self.0)
    }
    /// 1 where a particle has its value and derivatives, 0 in the places of [`Record::spare`].
    pub(crate) fn mask() -> T::Row {
        T::row_of(&std::array::from_fn(|i| if SPARE.contains(&i) { T::zero() } else { T::one() }))
    }
}

impl<T: Copy> Record<T> {
    /// The numbers behind the derivatives.
    #[inline(always)]
    pub(crate) fn spare(&self) -> [T; 3] {
        SPARE.map(|i| self.0[i])
    }
    /// Replaces them.
    #[inline(always)]
    pub(crate) fn set_spare(&mut self, x: [T; 3]) {
        for (i, x) in SPARE.into_iter().zip(x) {
            self.0[i] = x;
        }
    }
    /// One half, to write to.
    #[inline(always)]
    pub(crate) fn half_mut(&mut self, h: usize) -> &mut [T; RECORD] {
        &mut self.0.as_chunks_mut().0[h]
    }
    /// One half: a value and the first derivative, or the other two.
    #[inline(always)]
    pub(crate) fn half(&self, h: usize) -> &[T; RECORD] {
        &self.0.as_chunks().0[h]
    }
}
