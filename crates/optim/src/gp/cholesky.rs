//! The Cholesky factor of a covariance matrix, made at once or row by row.
//!
//! A fresh factor of n points costs n³/3, a further point n²: its row solves L l = k, and its pivot is λ² = κ
//! − |l|². Where points coincide the matrix is singular to rounding; a fresh factor then takes the smallest
//! of a ladder of jitters on the diagonal that succeeds, and a further point has its pivot kept above
//! [`PIVOT_FLOOR`] of its variance, which is jitter for that point alone. The arithmetic runs on one thread,
//! so that the same points give the same bits.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::kernel::dot;

/// Smallest squared pivot of an appended point, relative to its variance.
const PIVOT_FLOOR: f64 = 1e-10;
/// Jitters tried on the diagonal, relative to its mean.
const JITTERS: [f64; 6] = [0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2];

/// L with L Lᵀ = K.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Only the lower triangle of the first `n` rows is used; the rest is room to grow.
    lower: Mat<f64>,
    n: usize,
    jitter: f64,
}

/// Overwrites the lower triangle of a matrix by its factor; false where a pivot is not positive.
pub(crate) fn factor_in_place(mut matrix: MatMut<'_, f64>) -> bool {
    let n = matrix.nrows();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    let done = cholesky_in_place(matrix.rb_mut(), Default::default(), Par::Seq, stack, Default::default());
    done.is_ok() && (0..n).all(|i| matrix[(i, i)].is_finite())
}

/// Writes the lower triangle of K⁻¹ = L⁻ᵀ L⁻¹; `scratch` takes L⁻¹.
pub(crate) fn invert(lower: MatRef<'_, f64>, inverse: MatMut<'_, f64>, mut scratch: MatMut<'_, f64>) {
    invert_lower_triangular(scratch.rb_mut(), lower, Par::Seq);
    let inverse_lower = scratch.rb();
    matmul(
        inverse,
        BlockStructure::TriangularLower,
        Accum::Replace,
        inverse_lower.transpose(),
        BlockStructure::TriangularUpper,
        inverse_lower,
        BlockStructure::TriangularLower,
        1.0,
        Par::Seq,
    );
}

impl Factor {
    /// Factors the n × n matrix whose lower triangle `fill` writes; `None` if no jitter helps, as where an
    /// entry is not a number.
    pub fn new(n: usize, mut fill: impl FnMut(&mut Mat<f64>)) -> Option<Self> {
        for jitter in JITTERS {
            let mut lower = Mat::zeros(n, n);
            fill(&mut lower);
            let mean = (0..n).map(|i| lower[(i, i)]).sum::<f64>() / n.max(1) as f64;
            for i in 0..n {
                lower[(i, i)] += jitter * mean;
            }
            if factor_in_place(lower.as_mut()) {
                return Some(Factor { lower, n, jitter: jitter * mean });
            }
        }
        None
    }

    /// A factor from its lower triangle, without jitter.
    pub(super) fn from_lower(lower: Mat<f64>) -> Self {
        Factor { n: lower.nrows(), lower, jitter: 0.0 }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
    /// The factor; its upper triangle is not meaningful.
    pub fn lower(&self) -> MatRef<'_, f64> {
        self.lower.submatrix(0, 0, self.n, self.n)
    }

    /// Appends a point with its covariances to those before, and its variance.
    pub fn append(&mut self, covariances: &[f64], variance: f64) {
        let n = self.n;
        if n == self.lower.nrows() {
            let room = (n + n / 4).max(n + 32);
            let mut larger = Mat::zeros(room, room);
            for j in 0..n {
                larger.col_as_slice_mut(j)[j..n].copy_from_slice(&self.lower.col_as_slice(j)[j..n]);
            }
            self.lower = larger;
        }
        // L l = k, column by column.
        let mut l = covariances.to_vec();
        for j in 0..n {
            let column = &self.lower.col_as_slice(j)[..n];
            l[j] /= column[j];
            let known = l[j];
            for (l, c) in l[j + 1..].iter_mut().zip(&column[j + 1..]) {
                *l -= known * c;
            }
        }
        // λ² = κ − |l|²
        let variance = variance + self.jitter;
        let pivot = (variance - dot(&l, &l)).max(PIVOT_FLOOR * variance);
        for (j, l) in l.iter().enumerate() {
            self.lower[(n, j)] = *l;
        }
        self.lower[(n, n)] = pivot.sqrt();
        self.n += 1;
    }

    /// B ← L⁻¹ B.
    pub(crate) fn solve_lower(&self, right: MatMut<'_, f64>) {
        solve_lower_triangular_in_place(self.lower(), right, Par::Seq);
    }
    /// B ← L⁻ᵀ B.
    pub(crate) fn solve_upper(&self, right: MatMut<'_, f64>) {
        solve_upper_triangular_in_place(self.lower().transpose(), right, Par::Seq);
    }
    /// b ← K⁻¹ b.
    pub fn solve(&self, b: &mut [f64]) {
        let mut right = MatMut::from_column_major_slice_mut(b, self.n, 1);
        self.solve_lower(right.rb_mut());
        self.solve_upper(right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::random::Random;

    /// ln det K.
    fn log_determinant(factor: &Factor) -> f64 {
        (0..factor.n).map(|i| 2.0 * factor.lower[(i, i)].ln()).sum()
    }

    /// A random symmetric positive matrix.
    fn matrix(n: usize, random: &mut Random) -> Vec<Vec<f64>> {
        let a: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| random.normal()).collect()).collect();
        let entry = |i: usize, j: usize| dot(&a[i], &a[j]) + if i == j { 0.5 } else { 0.0 };
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    fn write(k: &[Vec<f64>], to: &mut Mat<f64>) {
        for j in 0..to.ncols() {
            for i in j..to.nrows() {
                to[(i, j)] = k[i][j];
            }
        }
    }

    #[test]
    fn rows_appended_one_by_one_give_the_fresh_factor() {
        let k = matrix(70, &mut Random::new(1));
        let fresh = Factor::new(70, |m| write(&k, m)).unwrap();
        let mut grown = Factor::new(3, |m| write(&k, m)).unwrap();
        for i in 3..70 {
            grown.append(&k[i][..i], k[i][i]);
        }
        for j in 0..70 {
            for i in j..70 {
                let (a, b) = (fresh.lower()[(i, j)], grown.lower()[(i, j)]);
                assert!((a - b).abs() < 1e-11, "{i} {j}: {a} {b}");
            }
        }
        assert!((log_determinant(&fresh) - log_determinant(&grown)).abs() < 1e-10);
    }

    #[test]
    fn solutions_and_inverse_satisfy_the_matrix() {
        let n = 40;
        let k = matrix(n, &mut Random::new(2));
        let factor = Factor::new(n, |m| write(&k, m)).unwrap();
        let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mut x = b.clone();
        factor.solve(&mut x);
        for (row, b) in k.iter().zip(&b) {
            assert!((dot(row, &x) - b).abs() < 1e-10);
        }
        let (mut scratch, mut inverse) = (Mat::zeros(n, n), Mat::zeros(n, n));
        invert(factor.lower(), inverse.as_mut(), scratch.as_mut());
        for i in 0..n {
            for j in 0..n {
                let row: Vec<f64> = (0..n).map(|c| inverse[(j.max(c), j.min(c))]).collect();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(&k[i], &row) - expected).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_factored_with_jitter_and_nonsense_is_refused() {
        let ones = vec![vec![1.0; 30]; 30];
        let mut factor = Factor::new(30, |m| write(&ones, m)).unwrap();
        assert!(factor.jitter > 0.0 && factor.jitter <= 1e-8);
        factor.append(&[1.0; 30], 1.0);
        assert!(log_determinant(&factor).is_finite());
        assert!(Factor::new(2, |m| m[(1, 0)] = f64::NAN).is_none());
        assert!(Factor::new(0, |_| ()).is_some());
    }
}
