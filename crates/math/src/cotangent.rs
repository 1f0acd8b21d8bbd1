//! Values that can carry a cotangent: zero it, add to it.

/// A value whose cotangent has its own type.
///
/// Indices and flags are points of a discrete space: their cotangent carries nothing, so they accumulate
/// nothing and may stand inside structs next to real quantities.
///
/// ```
/// use pullback_math::{Cotangent, Vec3};
/// let x = Vec3::new(1.0, 2.0, 3.0);
/// let mut x_bar = x.zero_like();
/// x_bar.accumulate(Vec3::new(0.5, 0.0, 0.0));
/// assert_eq!((x_bar.x, x_bar.y), (0.5, 0.0));
/// ```
pub trait Cotangent: Copy {
    /// The zero cotangent of this primal value.
    fn zero_like(&self) -> Self;
    /// `self += other`.
    fn accumulate(&mut self, other: Self);
}

/// How a cotangent takes what a `_vjp` returns in one of its slots: a value of its own type, or `()` where
/// the callee holds that argument constant. The code that `#[differentiable]` writes goes through this trait.
pub trait Accumulate<Slot>: Cotangent {
    /// The first contribution to the cotangent of primal `self`.
    fn start(&self, slot: Slot) -> Self;
    /// Any further contribution.
    fn add_slot(&mut self, slot: Slot);
}

/// Every [`Cotangent`] but `()` itself, so that the two implementations below do not overlap.
pub trait Carrier: Cotangent {}

impl<X: Cotangent> Accumulate<X> for X {
    #[inline(always)]
    fn start(&self, slot: X) -> X {
        slot
    }
    #[inline(always)]
    fn add_slot(&mut self, slot: X) {
        self.accumulate(slot);
    }
}

impl<X: Carrier> Accumulate<()> for X {
    #[inline(always)]
    fn start(&self, _slot: ()) -> X {
        self.zero_like()
    }
    #[inline(always)]
    fn add_slot(&mut self, _slot: ()) {}
}

/// Stops gradients: returns `x`, and `#[differentiable]` sends no cotangent through it.
#[inline(always)]
pub fn constant<X>(x: X) -> X {
    x
}

impl Cotangent for () {
    #[inline(always)]
    fn zero_like(&self) {}
    #[inline(always)]
    fn accumulate(&mut self, _other: ()) {}
}

/// Real scalars: zero and `+=`.
macro_rules! real_cotangents {
    ($($t:ty),*) => {$(
        impl Cotangent for $t {
            #[inline(always)]
            fn zero_like(&self) -> Self {
                <$t as crate::Real>::zero()
            }
            #[inline(always)]
            fn accumulate(&mut self, other: Self) {
                *self += other;
            }
        }
        impl Carrier for $t {}
    )*};
}
real_cotangents!(f64, f32, wide::f32x4, wide::f64x4, wide::f64x8, wide::f32x8, wide::f32x16);

/// Discrete values: the cotangent of an index says nothing.
macro_rules! discrete_cotangents {
    ($($t:ty),*) => {$(
        impl Cotangent for $t {
            #[inline(always)]
            fn zero_like(&self) -> Self {
                *self
            }
            #[inline(always)]
            fn accumulate(&mut self, _other: Self) {}
        }
        impl Carrier for $t {}
    )*};
}
discrete_cotangents!(bool, usize, u8, u16, u32, u64, isize, i8, i16, i32, i64);

impl<X: Cotangent, const N: usize> Cotangent for [X; N] {
    #[inline(always)]
    fn zero_like(&self) -> Self {
        std::array::from_fn(|i| self[i].zero_like())
    }
    #[inline(always)]
    fn accumulate(&mut self, other: Self) {
        for (mine, theirs) in self.iter_mut().zip(other) {
            mine.accumulate(theirs);
        }
    }
}
impl<X: Cotangent, const N: usize> Carrier for [X; N] {}

/// Tuples, member by member.
macro_rules! tuple_cotangents {
    ($($x:ident $i:tt),+) => {
        impl<$($x: Cotangent),+> Cotangent for ($($x,)+) {
            #[inline(always)]
            fn zero_like(&self) -> Self {
                ($(self.$i.zero_like(),)+)
            }
            #[inline(always)]
            fn accumulate(&mut self, other: Self) {
                $(self.$i.accumulate(other.$i);)+
            }
        }
        impl<$($x: Cotangent),+> Carrier for ($($x,)+) {}
    };
}
tuple_cotangents!(A 0);
tuple_cotangents!(A 0, B 1);
tuple_cotangents!(A 0, B 1, C 2);
tuple_cotangents!(A 0, B 1, C 2, D 3);
tuple_cotangents!(A 0, B 1, C 2, D 3, E 4);
tuple_cotangents!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_cotangents!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_cotangents!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
