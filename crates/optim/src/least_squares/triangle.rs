//! Triangles: what least squares needs to know of \[J r\], in a few rows.
//!
//! A = Q R with orthogonal Q has AᵀA = RᵀR, so the upper triangle R stands for A wherever norms and inner products of its
//! columns are asked for, at the full precision that AᵀA would lose. Rows of several parts are stacked and made a
//! triangle again.
//!
//! With the variables of one part in front, the rows of R below them no longer contain these: the part's own variables
//! are eliminated, and what is left is about the unknowns that all parts share.

use faer::Mat;

/// The upper triangle R of A = Q R, with no more rows than A.
pub fn triangle(a: Mat<f64>) -> Mat<f64> {
    let (m, n) = (a.nrows(), a.ncols());
    if m == 0 || n == 0 {
        return a;
    }
    let qr = a.qr();
    let r = qr.thin_R();
    // The solver keeps reflectors below the diagonal.
    Mat::from_fn(m.min(n), n, |i, j| if i <= j { r[(i, j)] } else { 0.0 })
}

/// Matrices of equally many columns, one below the other.
pub fn stack(parts: &[&Mat<f64>], columns: usize) -> Mat<f64> {
    let mut all = Mat::zeros(parts.iter().map(|p| p.nrows()).sum(), columns);
    let mut first = 0;
    for part in parts {
        all.submatrix_mut(first, 0, part.nrows(), columns).copy_from(part);
        first += part.nrows();
    }
    all
}

/// Norm of a column.
pub fn column_norm(a: &Mat<f64>, j: usize) -> f64 {
    (0..a.nrows()).map(|i| a[(i, j)] * a[(i, j)]).sum::<f64>().sqrt()
}

/// The residuals of one part about a place: columns of its own variables, of the unknowns, and r.
#[derive(Clone, Debug)]
pub struct PartTriangle {
    rows: Mat<f64>,
    locals: usize,
}

impl PartTriangle {
    /// Of \[J r\] with the unknowns in front of the part's own variables.
    pub fn new(linearized: &Mat<f64>, locals: usize) -> Self {
        let (m, columns) = (linearized.nrows(), linearized.ncols());
        let shared = columns - 1 - locals;
        let from = |j: usize| {
            if j < locals {
                shared + j
            } else if j < columns - 1 {
                j - locals
            } else {
                j
            }
        };
        let rows = triangle(Mat::from_fn(m, columns, |i, j| linearized[(i, from(j))]));
        PartTriangle { rows, locals }
    }

    /// The part without its own variables, each of which is damped by √damping times the norm of its column.
    pub fn eliminate(&self, damping: f64) -> Eliminated {
        let (k, columns) = (self.locals, self.rows.ncols());
        if k == 0 {
            return Eliminated { head: Mat::zeros(0, columns), tail: self.rows.clone() };
        }
        let mut damped = Mat::zeros(k, columns);
        for i in 0..k {
            // A variable without influence stays where it is.
            let norm = column_norm(&self.rows, i);
            damped[(i, i)] = if norm > 0.0 { damping.sqrt() * norm } else { 1.0 };
        }
        let whole = stack(&[&self.rows, &damped], columns);
        let r = triangle(whole);
        let rest = r.nrows().saturating_sub(k);
        Eliminated {
            head: r.submatrix(0, 0, k, columns).to_owned(),
            tail: r.submatrix(k, k, rest, columns - k).to_owned(),
        }
    }

    /// |r + J δ|² of the linear model.
    pub fn predicted(&self, shared: &[f64], local: &[f64]) -> f64 {
        let n = self.rows.ncols() - 1;
        let step = |j: usize| if j < self.locals { local[j] } else { shared[j - self.locals] };
        let row = |i: usize| (0..n).map(|j| self.rows[(i, j)] * step(j)).sum::<f64>() + self.rows[(i, n)];
        (0..self.rows.nrows()).map(|i| row(i).powi(2)).sum()
    }
}

/// A part whose own variables are eliminated.
#[derive(Clone, Debug)]
pub struct Eliminated {
    /// Rows that give the part's own variables once the unknowns are known.
    head: Mat<f64>,
    /// Rows about the unknowns alone, and r.
    pub tail: Mat<f64>,
}

impl Eliminated {
    /// The change of the part's own variables that belongs to a change of the unknowns.
    pub fn local_step(&self, shared: &[f64]) -> Vec<f64> {
        let (k, columns) = (self.head.nrows(), self.head.ncols());
        let mut step = vec![0.0; k];
        for i in (0..k).rev() {
            let known: f64 = (i + 1..k).map(|j| self.head[(i, j)] * step[j]).sum();
            let others: f64 = shared.iter().enumerate().map(|(j, s)| self.head[(i, k + j)] * s).sum();
            step[i] = -(self.head[(i, columns - 1)] + known + others) / self.head[(i, i)];
        }
        step
    }
}

/// Solves R δ = −c with the triangle \[R c\]; entries without a pivot stay zero.
pub fn solve(triangle: &Mat<f64>) -> Vec<f64> {
    let n = triangle.ncols() - 1;
    let mut step = vec![0.0; n];
    for i in (0..n.min(triangle.nrows())).rev() {
        let known: f64 = (i + 1..n).map(|j| triangle[(i, j)] * step[j]).sum();
        let pivot = triangle[(i, i)];
        step[i] = if pivot == 0.0 { 0.0 } else { -(triangle[(i, n)] + known) / pivot };
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::random::Random;

    #[test]
    fn eliminated_variables_are_those_of_the_whole_problem() {
        let mut random = Random::new(3);
        let (m, shared, locals) = (9, 2, 3);
        let mut part = || Mat::from_fn(m, shared + locals + 1, |_, _| random.normal());
        let (a, b) = (part(), part());
        // All variables at once: unknowns, those of a, those of b.
        let n = shared + 2 * locals;
        let whole = Mat::from_fn(2 * m, n + 1, |i, j| {
            let (of, i, first) = if i < m { (&a, i, shared) } else { (&b, i - m, shared + locals) };
            match j {
                j if j < shared => of[(i, j)],
                j if j == n => of[(i, shared + locals)],
                j if (first..first + locals).contains(&j) => of[(i, shared + j - first)],
                _ => 0.0,
            }
        });
        let expected = solve(&triangle(whole));
        let parts = [PartTriangle::new(&a, locals), PartTriangle::new(&b, locals)];
        let left: Vec<Eliminated> = parts.iter().map(|p| p.eliminate(0.0)).collect();
        let both = triangle(stack(&[&left[0].tail, &left[1].tail], shared + 1));
        let step = solve(&both);
        let found: Vec<f64> =
            step.iter().copied().chain(left.iter().flat_map(|l| l.local_step(&step))).collect();
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12, "{found:?} against {expected:?}");
        }
        // The predicted sum of squares is what is left at the solution.
        let last = both[(shared, shared)].powi(2);
        let predicted: f64 = (0..2).map(|i| parts[i].predicted(&step, &left[i].local_step(&step))).sum();
        assert!((predicted - last).abs() < 1e-12 * last, "{predicted} against {last}");
    }
}
