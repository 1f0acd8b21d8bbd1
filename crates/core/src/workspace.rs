//! [`Workspace`]: scratch memory that knows its size.
//!
//! `#[derive(Workspace)]` sums over fields. The elements of a `Vec` and plain fields must be `Copy`: such a
//! type owns no heap memory, so what is counted is all there is.

/// Scratch memory of a system, allocated once so that a step allocates nothing.
#[diagnostic::on_unimplemented(
    message = "the heap memory of `{Self}` is not known",
    label = "not a workspace",
    note = "add `#[derive(Workspace)]` to the type, or `#[workspace(plain)]` to a field that is `Copy`",
    note = "a `Vec` is a workspace if its elements are `Copy`"
)]
pub trait Workspace: Send {
    /// Heap bytes held, so that the memory of a rollout is known before it runs.
    fn heap_bytes(&self) -> usize;
}

/// Heap bytes of plain data: none.
#[doc(hidden)]
#[inline(always)]
pub fn plain_bytes<T: Copy>(_: &T) -> usize {
    0
}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl Workspace for $ty {
            fn heap_bytes(&self) -> usize {
                plain_bytes(self)
            }
        }
    )*};
}
plain!((), bool, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

impl<T: Copy + Send> Workspace for Vec<T> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}
impl<T: Copy + Send> Workspace for Box<T> {
    fn heap_bytes(&self) -> usize {
        size_of::<T>()
    }
}
impl<T: Copy + Send> Workspace for Box<[T]> {
    fn heap_bytes(&self) -> usize {
        size_of_val::<[T]>(self)
    }
}
impl<W: Workspace> Workspace for Option<W> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, W::heap_bytes)
    }
}
impl<W: Workspace, const N: usize> Workspace for [W; N] {
    fn heap_bytes(&self) -> usize {
        self.iter().map(W::heap_bytes).sum()
    }
}
impl<A: Workspace, B: Workspace> Workspace for (A, B) {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes() + self.1.heap_bytes()
    }
}
