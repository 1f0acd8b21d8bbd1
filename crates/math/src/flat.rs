//! A fixed-size value seen as a flat run of scalars: how state slices hold vectors, and how `gradcheck`
//! perturbs the arguments of any function.

use crate::{Cotangent, Dual, Real};

/// A value made of `LEN` scalars of type `T`. Implementations check the slice once, not entry by entry: each
/// check is a branch in the middle of a kernel.
///
/// ```
/// use pullback_math::{Flat, Vec3};
/// let mut numbers = [0.0; 4];
/// Vec3::new(1.0, 2.0, 3.0).write(&mut numbers[1..]);
/// assert_eq!((numbers, Vec3::read(&numbers[1..]).z), ([0.0, 1.0, 2.0, 3.0], 3.0));
/// ```
pub trait Flat<T>: Copy {
    /// How many scalars.
    const LEN: usize;
    /// Reads the value from the first `LEN` entries.
    fn read(from: &[T]) -> Self;
    /// Writes the value to the first `LEN` entries.
    fn write(self, to: &mut [T]);
    /// Adds the value to the first `LEN` entries.
    #[inline(always)]
    fn add_to(self, to: &mut [T])
    where
        Self: Cotangent,
    {
        let mut sum = Self::read(to);
        sum.accumulate(self);
        sum.write(to);
    }
}

/// A block of scalars for every scalar type: `Vec3<f64>` names the block that is a `Vec3<T>` in vectors of
/// `T`. `#[derive(Cotangent)]` implements it for structs with one type parameter.
pub trait Rescale: Flat<f64> {
    /// The same block made of `T`s.
    type With<T: Real>: Flat<T> + Cotangent;
}

impl Rescale for f64 {
    type With<T: Real> = T;
}

impl<X: Rescale, const N: usize> Rescale for [X; N] {
    type With<T: Real> = [X::With<T>; N];
}

impl<T: Copy> Flat<T> for () {
    const LEN: usize = 0;
    fn read(_from: &[T]) {}
    fn write(self, _to: &mut [T]) {}
}

/// A scalar is its own only entry.
macro_rules! scalar_is_flat {
    ([$($generics:tt)*] $t:ty) => {
        impl<$($generics)*> Flat<$t> for $t {
            const LEN: usize = 1;
            #[inline(always)]
            fn read(from: &[$t]) -> $t {
                from[0]
            }
            #[inline(always)]
            fn write(self, to: &mut [$t]) {
                to[0] = self;
            }
        }
    };
}
scalar_is_flat!([] f64);
scalar_is_flat!([] f32);
scalar_is_flat!([] wide::f32x4);
scalar_is_flat!([] wide::f64x4);
scalar_is_flat!([] wide::f64x8);
scalar_is_flat!([] wide::f32x8);
scalar_is_flat!([] wide::f32x16);
scalar_is_flat!([T: Real] Dual<T>);
scalar_is_flat!([T: Real] crate::RegisterPair<T>);

impl<T, X: Flat<T>, const N: usize> Flat<T> for [X; N] {
    const LEN: usize = N * X::LEN;
    #[inline(always)]
    fn read(from: &[T]) -> Self {
        let from = &from[..Self::LEN];
        std::array::from_fn(|i| X::read(&from[i * X::LEN..]))
    }
    #[inline(always)]
    fn write(self, to: &mut [T]) {
        let to = &mut to[..Self::LEN];
        for (i, x) in self.into_iter().enumerate() {
            x.write(&mut to[i * X::LEN..]);
        }
    }
}

/// Tuples, one member after the other.
macro_rules! tuple_is_flat {
    ($($x:ident $v:ident),+) => {
        impl<Scalar, $($x: Flat<Scalar>),+> Flat<Scalar> for ($($x,)+) {
            const LEN: usize = 0 $(+ $x::LEN)+;
            #[inline(always)]
            #[allow(unused_assignments)]
            fn read(from: &[Scalar]) -> Self {
                let from = &from[..Self::LEN];
                let mut at = 0;
                $(let $v = $x::read(&from[at..]); at += $x::LEN;)+
                ($($v,)+)
            }
            #[inline(always)]
            #[allow(unused_assignments)]
            fn write(self, to: &mut [Scalar]) {
                let ($($v,)+) = self;
                let to = &mut to[..Self::LEN];
                let mut at = 0;
                $($v.write(&mut to[at..]); at += $x::LEN;)+
            }
        }
    };
}
tuple_is_flat!(A a);
tuple_is_flat!(A a, B b);
tuple_is_flat!(A a, B b, C c);
tuple_is_flat!(A a, B b, C c, D d);
tuple_is_flat!(A a, B b, C c, D d, E e);
tuple_is_flat!(A a, B b, C c, D d, E e, F f);
tuple_is_flat!(A a, B b, C c, D d, E e, F f, G g);
tuple_is_flat!(A a, B b, C c, D d, E e, F f, G g, H h);
