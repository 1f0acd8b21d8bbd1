//! Pullbacks of the arithmetic operators.
//!
//! `#[differentiable]` does not know types; it writes `MulVjp::mul_vjp(a, b, out_bar)` and the compiler
//! finds the implementation, so `matrix * vector` and `vector * scalar` compose like `scalar * scalar`.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Pullback of `a + b`.
pub trait AddVjp<Rhs = Self>: Add<Rhs> + Sized {
    /// Cotangents of both operands.
    fn add_vjp(self, rhs: Rhs, out_bar: Self::Output) -> (Self, Rhs);
}

/// Pullback of `a - b`.
pub trait SubVjp<Rhs = Self>: Sub<Rhs> + Sized {
    /// Cotangents of both operands.
    fn sub_vjp(self, rhs: Rhs, out_bar: Self::Output) -> (Self, Rhs);
}

/// Pullback of `a * b`.
pub trait MulVjp<Rhs = Self>: Mul<Rhs> + Sized {
    /// Cotangents of both operands.
    fn mul_vjp(self, rhs: Rhs, out_bar: Self::Output) -> (Self, Rhs);
}

/// Pullback of `a / b`.
pub trait DivVjp<Rhs = Self>: Div<Rhs> + Sized {
    /// Cotangents of both operands.
    fn div_vjp(self, rhs: Rhs, out_bar: Self::Output) -> (Self, Rhs);
}

/// Pullback of `-a`.
pub trait NegVjp: Neg + Sized {
    /// Cotangent of the operand.
    fn neg_vjp(self, out_bar: Self::Output) -> Self;
}

/// The four operator pullbacks and negation of a scalar-like type.
macro_rules! scalar_operator_vjps {
    ([$($generics:tt)*] $t:ty) => {
        impl<$($generics)*> AddVjp for $t {
            #[inline(always)]
            fn add_vjp(self, _rhs: Self, out_bar: Self) -> (Self, Self) {
                (out_bar, out_bar)
            }
        }
        impl<$($generics)*> SubVjp for $t {
            #[inline(always)]
            fn sub_vjp(self, _rhs: Self, out_bar: Self) -> (Self, Self) {
                (out_bar, -out_bar)
            }
        }
        impl<$($generics)*> MulVjp for $t {
            // d(a b) = b da + a db
            #[inline(always)]
            fn mul_vjp(self, rhs: Self, out_bar: Self) -> (Self, Self) {
                (out_bar * rhs, out_bar * self)
            }
        }
        impl<$($generics)*> DivVjp for $t {
            // d(a/b) = da / b − (a/b) db / b
            #[inline(always)]
            fn div_vjp(self, rhs: Self, out_bar: Self) -> (Self, Self) {
                let lhs_bar = out_bar / rhs;
                (lhs_bar, -(self / rhs) * lhs_bar)
            }
        }
        impl<$($generics)*> NegVjp for $t {
            #[inline(always)]
            fn neg_vjp(self, out_bar: Self) -> Self {
                -out_bar
            }
        }
    };
}

scalar_operator_vjps!([] f64);
scalar_operator_vjps!([] f32);
scalar_operator_vjps!([] wide::f32x4);
scalar_operator_vjps!([] wide::f64x4);
scalar_operator_vjps!([] wide::f64x8);
scalar_operator_vjps!([] wide::f32x8);
scalar_operator_vjps!([] wide::f32x16);
scalar_operator_vjps!([T: crate::Real] crate::Dual<T>);
scalar_operator_vjps!([T: crate::Real] crate::RegisterPair<T>);
