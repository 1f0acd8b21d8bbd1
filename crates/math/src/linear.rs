//! Linear spaces: what vectors, matrices and spatial quantities share.

use crate::Real;

/// An element of a linear space over the scalars `T`, with the component-wise inner product.
pub trait Linear<T: Real>: Copy {
    /// Σᵢ aᵢ bᵢ over all components: the pairing of a cotangent with a tangent.
    fn inner(self, other: Self) -> T;
}

impl<T: Real> Linear<T> for T {
    #[inline(always)]
    fn inner(self, other: T) -> T {
        self * other
    }
}

/// Implements for a struct of linear fields: `+`, `-`, unary `-`, `+=`, `-=`, `* T` with their pullbacks, and
/// `Linear`, `Cotangent`, `Select` and `Flat`.
macro_rules! linear_space {
    ($name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        impl<T: $crate::Real> std::ops::Add for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $name { $($field: self.$field + other.$field),+ }
            }
        }
        impl<T: $crate::Real> $crate::AddVjp for $name<T> {
            #[inline(always)]
            fn add_vjp(self, _rhs: Self, out_bar: Self) -> (Self, Self) {
                (out_bar, out_bar)
            }
        }
        impl<T: $crate::Real> std::ops::Sub for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                $name { $($field: self.$field - other.$field),+ }
            }
        }
        impl<T: $crate::Real> $crate::SubVjp for $name<T> {
            #[inline(always)]
            fn sub_vjp(self, _rhs: Self, out_bar: Self) -> (Self, Self) {
                (out_bar, -out_bar)
            }
        }
        impl<T: $crate::Real> std::ops::Neg for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                $name { $($field: -self.$field),+ }
            }
        }
        impl<T: $crate::Real> $crate::NegVjp for $name<T> {
            #[inline(always)]
            fn neg_vjp(self, out_bar: Self) -> Self {
                -out_bar
            }
        }
        impl<T: $crate::Real> std::ops::Mul<T> for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, scale: T) -> Self {
                $name { $($field: self.$field * scale),+ }
            }
        }
        impl<T: $crate::Real> $crate::MulVjp<T> for $name<T> {
            // d(a s) = s da + a ds
            #[inline(always)]
            fn mul_vjp(self, scale: T, out_bar: Self) -> (Self, T) {
                (out_bar * scale, $crate::Linear::inner(self, out_bar))
            }
        }
        impl<T: $crate::Real> std::ops::AddAssign for $name<T> {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl<T: $crate::Real> std::ops::SubAssign for $name<T> {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
        impl<T: $crate::Real> $crate::Linear<T> for $name<T> {
            #[inline(always)]
            fn inner(self, other: Self) -> T {
                let terms = [$($crate::Linear::<T>::inner(self.$field, other.$field)),+];
                let mut sum = terms[0];
                for term in &terms[1..] {
                    sum += *term;
                }
                sum
            }
        }
        impl<T: $crate::Real> $crate::Cotangent for $name<T> {
            #[inline(always)]
            fn zero_like(&self) -> Self {
                $name { $($field: self.$field.zero_like()),+ }
            }
            #[inline(always)]
            fn accumulate(&mut self, other: Self) {
                *self += other;
            }
        }
        impl<T: $crate::Real> $crate::cotangent::Carrier for $name<T> {}
        impl<T: $crate::Real> $crate::Select for $name<T> {
            type Mask = T::Mask;
            #[inline(always)]
            fn select(mask: T::Mask, if_true: Self, if_false: Self) -> Self {
                $name { $($field: $crate::Select::select(mask, if_true.$field, if_false.$field)),+ }
            }
        }
        impl $crate::Rescale for $name<f64> {
            type With<T: $crate::Real> = $name<T>;
        }
        impl<T: $crate::Real> $crate::Flat<T> for $name<T> {
            const LEN: usize = 0 $(+ <$type as $crate::Flat<T>>::LEN)+;
            #[inline(always)]
            #[allow(unused_assignments)]
            fn read(from: &[T]) -> Self {
                let from = &from[..<Self as $crate::Flat<T>>::LEN];
                let mut at = 0;
                $(
                    let $field = <$type as $crate::Flat<T>>::read(&from[at..]);
                    at += <$type as $crate::Flat<T>>::LEN;
                )+
                $name { $($field),+ }
            }
            #[inline(always)]
            #[allow(unused_assignments)]
            fn write(self, to: &mut [T]) {
                let to = &mut to[..<Self as $crate::Flat<T>>::LEN];
                let mut at = 0;
                $(
                    $crate::Flat::<T>::write(self.$field, &mut to[at..]);
                    at += <$type as $crate::Flat<T>>::LEN;
                )+
            }
        }
    };
}
pub(crate) use linear_space;
