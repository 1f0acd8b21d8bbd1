//! [`Scalar`]: one number per value, and four of them side by side.
//!
//! Grids hold a momentum and a mass per node: four numbers that are always added and scaled together. [`Scalar::Quad`] keeps
//! them in one register. Code that picks memory by the value of a number (which cell is this particle in?) cannot run on
//! lanes of environments; it asks for a `Scalar` instead of a [`Real`].

use crate::lanes::{f32x4, f64x4};
use crate::{Dual, Real, Vec3};

/// A [`Real`] that is a single number: `f64`, `f32`, or [`Dual`] over one.
pub trait Scalar: Real {
    /// Four numbers in one register.
    type Quad: Real;
    /// Four numbers side by side.
    fn quad(x: [Self; 4]) -> Self::Quad;
    /// The four numbers.
    fn entries(quad: Self::Quad) -> [Self; 4];
    /// Nearest integer below or at, of the value without its tangent.
    fn cell(self) -> i32;

    /// The same number four times.
    #[inline(always)]
    fn everywhere(self) -> Self::Quad {
        Self::quad([self; 4])
    }
    /// A vector, and zero.
    #[inline(always)]
    fn vector_quad(v: Vec3<Self>) -> Self::Quad {
        Self::quad([v.x, v.y, v.z, Self::zero()])
    }
    /// The first three numbers.
    #[inline(always)]
    fn quad_vector(quad: Self::Quad) -> Vec3<Self> {
        let [x, y, z, _] = Self::entries(quad);
        Vec3 { x, y, z }
    }
    /// Sum of the four.
    #[inline(always)]
    fn quad_sum(quad: Self::Quad) -> Self {
        let [a, b, c, d] = Self::entries(quad);
        (a + b) + (c + d)
    }
}

macro_rules! scalar {
    ($t:ident, $quad:ident) => {
        impl Scalar for $t {
            type Quad = $quad;
            #[inline(always)]
            fn quad(x: [$t; 4]) -> $quad {
                $quad::from(x)
            }
            #[inline(always)]
            fn entries(quad: $quad) -> [$t; 4] {
                quad.to_array()
            }
            #[inline(always)]
            fn cell(self) -> i32 {
                self.floor() as i32
            }
            #[inline(always)]
            fn everywhere(self) -> $quad {
                $quad::splat(self)
            }
        }
    };
}
scalar!(f64, f64x4);
scalar!(f32, f32x4);

impl<T: Scalar> Scalar for Dual<T> {
    type Quad = Dual<T::Quad>;
    #[inline(always)]
    fn quad(x: [Self; 4]) -> Self::Quad {
        Dual::new(T::quad(x.map(|x| x.value)), T::quad(x.map(|x| x.tangent)))
    }
    #[inline(always)]
    fn entries(quad: Self::Quad) -> [Self; 4] {
        let (value, tangent) = (T::entries(quad.value), T::entries(quad.tangent));
        std::array::from_fn(|i| Dual::new(value[i], tangent[i]))
    }
    #[inline(always)]
    fn cell(self) -> i32 {
        self.value.cell()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_in_four_out() {
        let x = [1.0, -2.0, 3.5, 4.0];
        assert_eq!(f64::entries(f64::quad(x)), x);
        assert_eq!(f64::quad_sum(f64::quad(x)), 6.5);
        let dual = x.map(|x| Dual::new(x, 2.0 * x));
        assert_eq!(Dual::<f64>::entries(Dual::<f64>::quad(dual)), dual);
        assert_eq!((-0.5f32).cell(), -1);
        assert_eq!(Dual::new(2.5, 1.0).cell(), 2);
    }
}
