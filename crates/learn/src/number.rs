//! [`Number`]: what networks compute with.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pullback_math::{Dual, Real};

/// `f32` in training; `f64` and dual numbers where gradients are checked.
pub trait Number: Real {
    /// C = A B, or C += A B where `accumulate`; strides say how each factor lies in memory.
    fn gemm(a: Factor<'_, Self>, b: Factor<'_, Self>, c: &mut [Self], accumulate: bool);

    /// The number nearest to `x`.
    fn from_f64(x: f64) -> Self;
    /// The value, without a tangent.
    fn to_f64(self) -> f64;
}

/// A matrix stored row after row, read as it is or transposed.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a, F> {
    values: &'a [F],
    /// Rows and columns as stored.
    shape: (usize, usize),
    transposed: bool,
}

impl<'a, F> Factor<'a, F> {
    /// The matrix as it is stored.
    pub fn plain(values: &'a [F], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix of {rows} rows and {columns} columns");
        Factor { values, shape: (rows, columns), transposed: false }
    }

    /// The transpose of the matrix stored.
    pub fn transposed(values: &'a [F], rows: usize, columns: usize) -> Self {
        Factor { transposed: true, ..Factor::plain(values, rows, columns) }
    }

    fn rows(&self) -> usize {
        if self.transposed { self.shape.1 } else { self.shape.0 }
    }

    fn columns(&self) -> usize {
        if self.transposed { self.shape.0 } else { self.shape.1 }
    }
}

impl<F: Copy> Factor<'_, F> {
    fn at(&self, i: usize, j: usize) -> F {
        if self.transposed { self.values[j * self.shape.1 + i] } else { self.values[i * self.shape.1 + j] }
    }
}

macro_rules! float_number {
    ($($f:ident),*) => {$(
        impl Number for $f {
            fn gemm(a: Factor<'_, $f>, b: Factor<'_, $f>, c: &mut [$f], accumulate: bool) {
                let a_view = MatRef::from_row_major_slice(a.values, a.shape.0, a.shape.1);
                let b_view = MatRef::from_row_major_slice(b.values, b.shape.0, b.shape.1);
                let (a_view, b_view) = (
                    if a.transposed { a_view.transpose() } else { a_view },
                    if b.transposed { b_view.transpose() } else { b_view },
                );
                let c = MatMut::from_row_major_slice_mut(c, a.rows(), b.columns());
                let how = if accumulate { Accum::Add } else { Accum::Replace };
                matmul(c, how, a_view, b_view, 1.0, Par::Seq);
            }
            fn from_f64(x: f64) -> $f {
                x as $f
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}
float_number!(f32, f64);

impl Number for Dual<f64> {
    fn gemm(a: Factor<'_, Self>, b: Factor<'_, Self>, c: &mut [Self], accumulate: bool) {
        let columns = b.columns();
        assert_eq!(c.len(), a.rows() * columns);
        for i in 0..a.rows() {
            for j in 0..columns {
                let start = if accumulate { c[i * columns + j] } else { Self::zero() };
                c[i * columns + j] = (0..a.columns()).fold(start, |sum, k| sum + a.at(i, k) * b.at(k, j));
            }
        }
    }
    fn from_f64(x: f64) -> Self {
        Self::lit(x)
    }
    fn to_f64(self) -> f64 {
        self.lane(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All layouts, plain and accumulated, against sums by hand.
    #[test]
    fn products_of_stored_and_transposed_matrices() {
        let a: Vec<f64> = (0..6).map(f64::from).collect();
        let b: Vec<f64> = (0..12).map(|x| f64::from(x * x)).collect();
        let cases = [
            (Factor::plain(&a, 2, 3), Factor::plain(&b, 3, 4)),
            (Factor::transposed(&a, 3, 2), Factor::transposed(&b, 4, 3)),
        ];
        for (a, b) in cases {
            let mut c = vec![1.0; 8];
            f64::gemm(a, b, &mut c, true);
            for i in 0..2 {
                for j in 0..4 {
                    let sum: f64 = (0..3).map(|k| a.at(i, k) * b.at(k, j)).sum();
                    assert_eq!(c[i * 4 + j], 1.0 + sum);
                }
            }
        }
    }
}
