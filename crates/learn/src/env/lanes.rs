//! [`Lanes`]: how numbers of a network become lanes of the physics, and back.

use pullback_math::{Dual, Real, f32x16, f64x8};

use crate::Number;

/// A scalar of the physics whose lanes hold numbers of type `F`.
pub trait Lanes<F>: Real {
    /// A value whose lane `i` is `number(i)`.
    fn from_numbers(number: impl FnMut(usize) -> F) -> Self;
    /// The number in lane `i`.
    fn number(self, i: usize) -> F;

    /// The same value with `number` in lane `i`.
    fn replace(self, i: usize, number: F) -> Self
    where
        F: Copy,
    {
        Self::from_numbers(|lane| if lane == i { number } else { self.number(lane) })
    }
}

macro_rules! plain_lanes {
    ($($lanes:ident of $f:ident),*) => {$(
        impl Lanes<$f> for $lanes {
            #[inline(always)]
            fn from_numbers(mut number: impl FnMut(usize) -> $f) -> Self {
                Self::from_lanes(|lane| f64::from(number(lane)))
            }
            #[inline(always)]
            fn number(self, i: usize) -> $f {
                $f::from_f64(self.lane(i))
            }
        }
    )*};
}
plain_lanes!(f32 of f32, f64 of f32, f32x16 of f32, f64x8 of f32, f64 of f64, f64x8 of f64);

impl Lanes<Dual<f64>> for Dual<f64> {
    fn from_numbers(mut number: impl FnMut(usize) -> Dual<f64>) -> Self {
        number(0)
    }
    fn number(self, _: usize) -> Dual<f64> {
        self
    }
}
