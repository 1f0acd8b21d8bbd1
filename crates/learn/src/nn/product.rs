//! Matrix products at the sizes of policies: C = A B + C₀, with B and C in rows of whole registers.
//!
//! Method: a tile of C, R rows by V registers, stays in registers while depth runs. Each step of depth loads V
//! registers of B and multiplies them by R numbers of A. Nothing is packed on the way, which is what general
//! libraries spend most of their time on at tens of rows and columns. Depth is cut so that the part of B
//! a tile reads stays in the nearest cache.

use pullback_math::Real;

use crate::Number;

/// Steps of depth before tiles are put down: 128 by 4 registers are 32 kB.
const DEPTH: usize = 128;

/// Whether there are 32 registers as wide as sixteen `f32`; tiles are smaller where they are not.
const WIDE: bool = cfg!(target_feature = "avx512f");

/// The left factor: number (i, k) is `numbers[i * row_step + k * depth_step]`.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a, F> {
    numbers: &'a [F],
    row_step: usize,
    depth_step: usize,
}

impl<'a, F> Left<'a, F> {
    /// Rows `stride` apart, as they are stored.
    pub fn plain(numbers: &'a [F], stride: usize) -> Self {
        Left { numbers, row_step: stride, depth_step: 1 }
    }
    /// The transpose of rows `stride` apart.
    pub fn transposed(numbers: &'a [F], stride: usize) -> Self {
        Left { numbers, row_step: 1, depth_step: stride }
    }
}

/// What a product is added to.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, L> {
    /// Nothing.
    Zero,
    /// The same row for each row of the product.
    Row(&'a [L]),
    /// What is there.
    There,
}

/// C = A B + C₀ for A of `rows` by `depth` and B of `depth` rows of `registers` registers.
pub fn product<F: Number>(
    (rows, depth): (usize, usize),
    a: Left<'_, F>,
    b: &[F::Lanes],
    registers: usize,
    start: Start<'_, F::Lanes>,
    c: &mut [F::Lanes],
) {
    assert!(b.len() >= depth * registers && c.len() >= rows * registers, "factors of a product");
    let mut start = start;
    let mut k = 0;
    loop {
        let steps = DEPTH.min(depth - k);
        let a = Left { numbers: &a.numbers[k * a.depth_step..], ..a };
        Block { a, b: &b[k * registers..], registers, steps, start }.columns(rows, c);
        k += steps;
        start = Start::There;
        if k == depth {
            return;
        }
    }
}

/// A product over a part of the depth.
struct Block<'a, F: Number> {
    a: Left<'a, F>,
    b: &'a [F::Lanes],
    registers: usize,
    steps: usize,
    start: Start<'a, F::Lanes>,
}

impl<F: Number> Block<'_, F> {
    /// Columns of tiles, from left to right. Tiles hold at least eight registers of C: as many sums as a
    /// processor has under way at once.
    fn columns(&self, rows: usize, c: &mut [F::Lanes]) {
        let mut j = 0;
        while j < self.registers {
            let left = self.registers - j;
            j += match (WIDE, left) {
                (true, 1) => self.column::<8, 1>(rows, j, c),
                (true, 2) => self.column::<8, 2>(rows, j, c),
                (true, 3) => self.column::<4, 3>(rows, j, c),
                (true, _) => self.column::<4, 4>(rows, j, c),
                (false, _) => self.column::<4, 1>(rows, j, c),
            };
        }
    }

    /// Tiles of V registers from register `j` on, from top to bottom. Returns V.
    fn column<const R: usize, const V: usize>(&self, rows: usize, j: usize, c: &mut [F::Lanes]) -> usize {
        let mut i = 0;
        while i + R <= rows {
            self.tile::<R, V>(i, j, c);
            i += R;
        }
        if R > 4 && i + 4 <= rows {
            self.tile::<4, V>(i, j, c);
            i += 4;
        }
        if i + 2 <= rows {
            self.tile::<2, V>(i, j, c);
            i += 2;
        }
        if i < rows {
            self.tile::<1, V>(i, j, c);
        }
        V
    }

    /// C(i.., j..) = Σₖ A(i.., k) B(k, j..) + C₀
    #[inline(always)]
    fn tile<const R: usize, const V: usize>(&self, i: usize, j: usize, c: &mut [F::Lanes]) {
        let at = |r: usize| (i + r) * self.registers + j;
        let mut sums: [[F::Lanes; V]; R] = match self.start {
            Start::Zero => [[F::Lanes::zero(); V]; R],
            Start::Row(row) => [std::array::from_fn(|v| row[j + v]); R],
            Start::There => std::array::from_fn(|r| std::array::from_fn(|v| c[at(r) + v])),
        };
        for k in 0..self.steps {
            let b = &self.b[k * self.registers + j..][..V];
            for (r, sums) in sums.iter_mut().enumerate() {
                let a = self.a.numbers[(i + r) * self.a.row_step + k * self.a.depth_step].splat();
                for v in 0..V {
                    sums[v] = a.mul_add(b[v], sums[v]);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            c[at(r)..][..V].copy_from_slice(sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::rows::Rows;

    /// Every remainder of rows and registers, depths beyond one block, all starts, against plain sums.
    #[test]
    fn products_are_sums_of_products() {
        for (rows, depth, columns) in [(1, 1, 1), (7, 5, 17), (13, 300, 40), (16, 3, 70), (9, 128, 90)] {
            let numbers = |n: usize, s: f64| (0..n).map(|i| (i as f64 * s).sin()).collect::<Vec<f64>>();
            let (a, bias) = (numbers(rows * depth, 0.7), numbers(columns, 0.3));
            let mut b = Rows::<f64>::new(depth, columns);
            for k in 0..depth {
                b.numbers_mut(k).copy_from_slice(&numbers(columns, 0.1 + k as f64));
            }
            let mut first = Rows::<f64>::new(1, columns);
            first.numbers_mut(0).copy_from_slice(&bias);
            let a_transposed: Vec<f64> = (0..a.len()).map(|n| a[n % rows * depth + n / rows]).collect();
            for left in [Left::plain(&a, depth), Left::transposed(&a_transposed, rows)] {
                let mut c = Rows::<f64>::new(rows, columns);
                let mut run = |start| {
                    product((rows, depth), left, b.lanes(), b.registers(), start, c.lanes_mut());
                };
                run(Start::Zero);
                run(Start::Row(first.row(0)));
                run(Start::There);
                for i in 0..rows {
                    for j in 0..columns {
                        let sum: f64 = (0..depth).map(|k| a[i * depth + k] * b.numbers(k)[j]).sum();
                        assert!((c.numbers(i)[j] - (2.0 * sum + bias[j])).abs() < 1e-12 * depth as f64);
                    }
                }
            }
        }
    }
}
