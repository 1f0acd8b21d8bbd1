//! [`Scalar`]: one number per value, and four of them side by side.
//!
//! Grids hold a momentum and a mass per node: four numbers that are always added and scaled together.
//! [`Scalar::Quad`] keeps them in one register, and [`Scalar::Row`] those of four nodes in a line. Code that
//! picks memory by the value of a number (which cell is this particle in?) cannot run on lanes of
//! environments; it asks for a `Scalar` instead of a [`Real`].

use crate::lanes::{f32x4, f32x16, f64x4, f64x8};
use crate::{Dual, Real, RegisterPair, Vec3};

/// A [`Real`] that is a single number: `f64`, `f32`, or [`Dual`] over one.
pub trait Scalar: Real {
    /// Four numbers in one register.
    type Quad: Real;
    /// Four quads side by side.
    type Row: Real;
    /// Four numbers side by side.
    fn quad(x: [Self; 4]) -> Self::Quad;
    /// The four numbers.
    fn entries(quad: Self::Quad) -> [Self; 4];
    /// Four quads side by side.
    fn row(quads: &[Self::Quad; 4]) -> Self::Row;
    /// The four quads.
    fn quads(row: Self::Row) -> [Self::Quad; 4];
    /// The same quad four times.
    fn repeated(quad: Self::Quad) -> Self::Row;
    /// The same number sixteen times.
    fn along(self) -> Self::Row;
    /// Nearest integer below or at, of the value without its tangent.
    fn cell(self) -> i32;
    /// Sixteen numbers side by side.
    #[inline(always)]
    fn row_of(x: &[Self; 16]) -> Self::Row {
        let quad = |q: usize| Self::quad([x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]]);
        Self::row(&[quad(0), quad(1), quad(2), quad(3)])
    }
    /// The sixteen numbers.
    #[inline(always)]
    fn numbers(row: Self::Row) -> [Self; 16] {
        let quads = Self::quads(row).map(Self::entries);
        std::array::from_fn(|i| quads[i / 4][i % 4])
    }
    /// Sum of the four quads of a row.
    #[inline(always)]
    fn sum_quads(row: Self::Row) -> Self::Quad {
        let [a, b, c, d] = Self::quads(row);
        (a + b) + (c + d)
    }
    /// The sums of the quads of four rows, side by side.
    #[inline(always)]
    fn sum_rows([a, b, c, d]: [Self::Row; 4]) -> Self::Row {
        Self::row(&[Self::sum_quads(a), Self::sum_quads(b), Self::sum_quads(c), Self::sum_quads(d)])
    }
    /// The sum of the numbers of each quad, in all four places of it.
    #[inline(always)]
    fn sum_entries(row: Self::Row) -> Self::Row {
        Self::row(&Self::quads(row).map(|q| Self::quad_sum(q).everywhere()))
    }

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
    ($t:ident, $quad:ident, $row:ty, $along:path, $join:path, $part:path, $repeated:path, {$($faster:tt)*}) => {
        impl Scalar for $t {
            type Quad = $quad;
            type Row = $row;
            #[inline(always)]
            fn quad(x: [$t; 4]) -> $quad {
                $quad::from(x)
            }
            #[inline(always)]
            fn entries(quad: $quad) -> [$t; 4] {
                quad.to_array()
            }
            #[inline(always)]
            fn along(self) -> $row {
                $along(self)
            }
            #[inline(always)]
            fn row(quads: &[$quad; 4]) -> $row {
                $join(quads)
            }
            #[inline(always)]
            fn repeated(quad: $quad) -> $row {
                $repeated(quad.to_array())
            }
            #[inline(always)]
            fn quads(row: $row) -> [$quad; 4] {
                $part(row)
            }
            #[inline(always)]
            fn cell(self) -> i32 {
                self.floor() as i32
            }
            #[inline(always)]
            fn everywhere(self) -> $quad {
                $quad::splat(self)
            }
            $($faster)*
        }
    };
}
scalar!(f64, f64x4, RegisterPair<f64x8>, RegisterPair::<f64x8>::lit, join_f64, part_f64, repeated_f64, {
    #[inline(always)]
    fn row_of(x: &[f64; 16]) -> RegisterPair<f64x8> {
        let half = |h: usize| bytemuck::pod_read_unaligned(bytemuck::bytes_of(&x.as_chunks::<8>().0[h]));
        RegisterPair(half(0), half(1))
    }
    #[inline(always)]
    fn numbers(row: RegisterPair<f64x8>) -> [f64; 16] {
        bytemuck::cast([row.0, row.1])
    }
});
scalar!(f32, f32x4, f32x16, f32x16::splat, join_f32, bytemuck::cast, repeated_f32, {
    #[inline(always)]
    fn row_of(x: &[f32; 16]) -> f32x16 {
        bytemuck::pod_read_unaligned(bytemuck::bytes_of(x))
    }
    #[inline(always)]
    fn numbers(row: f32x16) -> [f32; 16] {
        bytemuck::cast(row)
    }
    #[inline(always)]
    fn sum_rows([a, b, c, d]: [f32x16; 4]) -> f32x16 {
        let (ab, cd) = (even_quads(a, b) + odd_quads(a, b), even_quads(c, d) + odd_quads(c, d));
        even_quads(ab, cd) + odd_quads(ab, cd)
    }
    #[inline(always)]
    fn sum_entries(row: f32x16) -> f32x16 {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = row.to_array();
        let pairs = row + f32x16::from([b, a, d, c, f, e, h, g, j, i, l, k, n, m, p, o]);
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = pairs.to_array();
        pairs + f32x16::from([c, d, a, b, g, h, e, f, k, l, i, j, o, p, m, n])
    }
});

/// Quads 0 and 2 of two rows.
#[inline(always)]
fn even_quads(a: f32x16, b: f32x16) -> f32x16 {
    let ([a, _, b, _], [c, _, d, _]): ([f32x4; 4], [f32x4; 4]) = (bytemuck::cast(a), bytemuck::cast(b));
    bytemuck::cast([a, b, c, d])
}

/// Quads 1 and 3 of two rows.
#[inline(always)]
fn odd_quads(a: f32x16, b: f32x16) -> f32x16 {
    let ([_, a, _, b], [_, c, _, d]): ([f32x4; 4], [f32x4; 4]) = (bytemuck::cast(a), bytemuck::cast(b));
    bytemuck::cast([a, b, c, d])
}

/// Read where they are: a copy would pass through memory quad by quad, and reading the row would wait for all
/// four.
#[inline(always)]
fn join_f32(quads: &[f32x4; 4]) -> f32x16 {
    bytemuck::pod_read_unaligned(bytemuck::bytes_of(quads))
}

#[inline(always)]
fn join_f64(quads: &[f64x4; 4]) -> RegisterPair<f64x8> {
    let half = |h: usize| bytemuck::pod_read_unaligned(bytemuck::bytes_of(&quads.as_chunks::<2>().0[h]));
    RegisterPair(half(0), half(1))
}

#[inline(always)]
fn part_f64(row: RegisterPair<f64x8>) -> [f64x4; 4] {
    bytemuck::cast([row.0, row.1])
}

/// Written out: a loop would build the register through memory.
#[inline(always)]
fn repeated_f32([a, b, c, d]: [f32; 4]) -> f32x16 {
    f32x16::from([a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d])
}

#[inline(always)]
fn repeated_f64([a, b, c, d]: [f64; 4]) -> RegisterPair<f64x8> {
    let half = f64x8::from([a, b, c, d, a, b, c, d]);
    RegisterPair(half, half)
}

impl<T: Scalar> Scalar for Dual<T> {
    type Quad = Dual<T::Quad>;
    type Row = Dual<T::Row>;
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
    fn row(quads: &[Self::Quad; 4]) -> Self::Row {
        Dual::new(T::row(&quads.map(|q| q.value)), T::row(&quads.map(|q| q.tangent)))
    }
    #[inline(always)]
    fn quads(row: Self::Row) -> [Self::Quad; 4] {
        let (value, tangent) = (T::quads(row.value), T::quads(row.tangent));
        std::array::from_fn(|i| Dual::new(value[i], tangent[i]))
    }
    #[inline(always)]
    fn repeated(quad: Self::Quad) -> Self::Row {
        Dual::new(T::repeated(quad.value), T::repeated(quad.tangent))
    }
    #[inline(always)]
    fn along(self) -> Self::Row {
        Dual::new(self.value.along(), self.tangent.along())
    }
    #[inline(always)]
    fn cell(self) -> i32 {
        self.value.cell()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from numbers, and the two kinds of sums, against plain loops.
    fn sixteen_numbers<T: Scalar>() {
        let rows: [[T; 16]; 4] =
            std::array::from_fn(|r| std::array::from_fn(|i| T::lit((i * i + 7 * r) as f64)));
        let plain = |row: T::Row| T::numbers(row).map(|x| x.lane(0));
        let value = |r: usize, i: usize| rows[r][i].lane(0);
        let row = T::row_of(&rows[1]);
        assert_eq!(plain(row), std::array::from_fn(|i| value(1, i)));
        assert_eq!(plain(T::row(&T::quads(row))), plain(row));
        let sums = T::sum_rows(std::array::from_fn(|r| T::row_of(&rows[r])));
        assert_eq!(plain(sums), std::array::from_fn(|i| (0..4).map(|q| value(i / 4, 4 * q + i % 4)).sum()));
        let sums = T::sum_entries(row);
        assert_eq!(plain(sums), std::array::from_fn(|i| (0..4).map(|k| value(1, i / 4 * 4 + k)).sum()));
    }

    #[test]
    fn four_in_four_out() {
        let x = [1.0, -2.0, 3.5, 4.0];
        assert_eq!(f64::entries(f64::quad(x)), x);
        assert_eq!(f64::quad_sum(f64::quad(x)), 6.5);
        let dual = x.map(|x| Dual::new(x, 2.0 * x));
        assert_eq!(Dual::<f64>::entries(Dual::<f64>::quad(dual)), dual);
        let quads: [_; 4] = std::array::from_fn(|i| f64::quad(x.map(|x| x + i as f64)));
        assert_eq!(f64::quads(f64::row(&quads)), quads);
        assert_eq!(f64::row(&[quads[1]; 4]), f64::repeated(quads[1]));
        assert_eq!(f64::row(&[1.5f64.everywhere(); 4]), 1.5f64.along());
        sixteen_numbers::<f64>();
        sixteen_numbers::<f32>();
        sixteen_numbers::<Dual<f64>>();
        let quads: [_; 4] = std::array::from_fn(|i| f32::quad([i as f32, 0.5, -1.0, 2.0]));
        assert_eq!(f32::quads(f32::row(&quads)), quads);
        assert_eq!(f32::row(&[quads[1]; 4]), f32::repeated(quads[1]));
        assert_eq!((-0.5f32).cell(), -1);
        assert_eq!(Dual::new(2.5, 1.0).cell(), 2);
    }
}
