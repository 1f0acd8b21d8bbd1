//! The transpose of a weight, padded to whole registers, by squares of eight by eight numbers.
//!
//! Products read weights with a row for each input; they are stored with a row for each output. At tens of rows
//! of a batch a transpose number by number would take as long as the products.

use crate::Number;

/// Rows of `columns` numbers to columns of a matrix with rows of `stride` numbers, padded with zeros.
pub fn transpose<F: Number>(matrix: &[F], columns: usize, stride: usize, out: &mut [F]) {
    let rows = matrix.len() / columns;
    for i in (0..stride).step_by(8) {
        for k in (0..columns).step_by(8) {
            if i + 8 <= rows && k + 8 <= columns {
                square(&matrix[i * columns + k..], columns, &mut out[k * stride + i..], stride);
                continue;
            }
            for k in k..columns.min(k + 8) {
                for i in i..stride.min(i + 8) {
                    out[k * stride + i] = if i < rows { matrix[i * columns + k] } else { F::zero() };
                }
            }
        }
    }
}

/// One square, whose rows are `columns` apart here and `stride` apart there.
#[inline(always)]
fn square<F: Number>(matrix: &[F], columns: usize, out: &mut [F], stride: usize) {
    let mut block = [[F::zero(); 8]; 8];
    for (i, row) in block.iter_mut().enumerate() {
        row.copy_from_slice(&matrix[i * columns..][..8]);
    }
    for (k, row) in F::transpose_square(block).iter().enumerate() {
        out[k * stride..][..8].copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_are_padded_with_zeros() {
        for (rows, columns, stride) in [(1, 1, 16), (8, 8, 16), (16, 37, 16), (35, 19, 48), (3, 5, 3)] {
            let matrix: Vec<f32> = (1..=rows * columns).map(|n| n as f32).collect();
            let mut out = vec![-1.0; columns * stride];
            transpose(&matrix, columns, stride, &mut out);
            for (n, x) in out.iter().enumerate() {
                let (k, i) = (n / stride, n % stride);
                assert_eq!(*x, if i < rows { matrix[i * columns + k] } else { 0.0 });
            }
        }
    }
}
