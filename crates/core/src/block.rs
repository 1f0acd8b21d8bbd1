//! [`Block`]: a typed place in a flat vector, handed out by the layout's builder.

use std::marker::PhantomData;
use std::ops::Range;

use pullback_math::{Cotangent, Flat, Real, Rescale};

/// Where a block of scalars lies in a flat vector. `B` is the block over `f64`; it is read over any scalar.
///
/// ```
/// use pullback_core::layout::{Layout, Slice};
/// use pullback_math::{Cotangent, Real};
///
/// #[derive(Clone, Copy, Cotangent)]
/// struct Spring<T> {
///     stiffness: T,
///     damping: T,
/// }
/// let mut builder = Layout::builder();
/// let spring = builder.param_block::<Spring<f64>>([
///     Slice::new("stiffness", 1, "N/m").default(&[2e4]),
///     Slice::new("damping", 1, "N s/m").default(&[1e3]),
/// ]);
/// let layout = builder.build()?;
/// assert_eq!(spring.read(&layout.params.defaults()).damping, 1e3);
/// # Ok::<(), pullback_core::ConfigError>(())
/// ```
pub struct Block<B> {
    start: usize,
    block: PhantomData<fn() -> B>,
}

impl<B> Clone for Block<B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B> Copy for Block<B> {}
impl<B> std::fmt::Debug for Block<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({})", self.start)
    }
}

impl<B: Rescale> Block<B> {
    /// The block that begins at entry `start`.
    pub(crate) fn at(start: usize) -> Self {
        Block { start, block: PhantomData }
    }

    /// The entries of the block.
    pub fn range(self) -> Range<usize> {
        self.start..self.start + B::LEN
    }

    /// Reads the block.
    #[inline(always)]
    pub fn read<T: Real>(self, values: &[T]) -> B::With<T> {
        <B::With<T> as Flat<T>>::read(&values[self.start..])
    }

    /// Adds a cotangent to the block of `bars`.
    #[inline(always)]
    pub fn add<T: Real>(self, bar: B::With<T>, bars: &mut [T])
    where
        B::With<T>: Cotangent,
    {
        bar.add_to(&mut bars[self.start..]);
    }
}
