//! The backward pass: a quadratic problem in the box of the controls at every step, from the last to the first
//! (Tassa et al. 2014, section II).

use faer::linalg::matmul::matmul;
use faer::prelude::Solve;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::box_qp::box_qp;
use super::expansion::Expansion;
use crate::bounds::ControlBox;

/// What a step does about a change of its state: δz = α k + K δx.
#[derive(Clone, Debug)]
pub struct Gains {
    /// k.
    pub k: Vec<f64>,
    /// K E(x)⁺, which takes x − x̄.
    pub feedback: Mat<f64>,
}

/// The gains of all steps.
#[derive(Clone, Debug)]
pub struct Backward {
    /// One per step.
    pub gains: Vec<Gains>,
    /// Decrease of the cost that the quadratic problems promise.
    pub expected: f64,
}

/// Gains of all steps about scaled controls; `None` where some Q_uu + μ is not positive definite.
pub fn backward(
    steps: &[Expansion],
    last: &Expansion,
    scaled: &[Vec<f64>],
    bounds: &ControlBox,
    μ: f64,
) -> Option<Backward> {
    let (n, m) = (steps.first()?.a.nrows(), bounds.len());
    let (mut gains, mut expected) = (Vec::with_capacity(steps.len()), 0.0);
    let mut v_x: Vec<f64> = last.gradient[..n].to_vec();
    let mut v_xx = last.hessian.submatrix(0, 0, n, n).to_owned();
    let mut warm = vec![0.0; m];
    for (step, z) in steps.iter().zip(scaled).rev() {
        let Expansion { a, b, gradient, hessian, pseudoinverse } = step;
        // Q_x = ℓ_x + Aᵀ V_x, Q_u = ℓ_u + Bᵀ V_x
        let q_x = plus(&gradient[..n], &transposed_product(a.as_ref(), &v_x));
        let q_u = plus(&gradient[n..], &transposed_product(b.as_ref(), &v_x));
        // Q_xx = ℓ_xx + Aᵀ V A, Q_ux = ℓ_ux + Bᵀ V A, Q_uu = ℓ_uu + Bᵀ V B
        let va = product(v_xx.as_ref(), a.as_ref());
        let vb = product(v_xx.as_ref(), b.as_ref());
        let mut q_xx = hessian.submatrix(0, 0, n, n).to_owned();
        let mut q_ux = hessian.submatrix(n, 0, m, n).to_owned();
        let mut q_uu = hessian.submatrix(n, n, m, m).to_owned();
        add_product(q_xx.as_mut(), a.transpose(), va.as_ref());
        add_product(q_ux.as_mut(), b.transpose(), va.as_ref());
        add_product(q_uu.as_mut(), b.transpose(), vb.as_ref());
        symmetrize(&mut q_uu);

        // k = argmin ½ δᵀ (Q_uu + μ) δ + Q_uᵀ δ in the box
        let mean = (0..m).map(|i| q_uu[(i, i)].abs()).sum::<f64>() / m.max(1) as f64;
        let lift = μ * mean.max(f64::MIN_POSITIVE);
        let lifted = Mat::from_fn(m, m, |i, j| q_uu[(i, j)] + if i == j { lift } else { 0.0 });
        let low: Vec<f64> = (0..m).map(|i| bounds.limits(i).0 - z[i]).collect();
        let high: Vec<f64> = (0..m).map(|i| bounds.limits(i).1 - z[i]).collect();
        let solved = box_qp(&lifted, &q_u, &low, &high, &warm)?;

        // K = −(Q_uu + μ)⁻¹ Q_ux over the free controls, zero over the clamped ones
        let mut feedback = Mat::<f64>::zeros(m, n);
        if let Some(factor) = &solved.factor {
            let rows = Mat::from_fn(solved.free.len(), n, |i, j| -q_ux[(solved.free[i], j)]);
            let rows = factor.solve(rows);
            for (i, control) in solved.free.iter().enumerate() {
                (0..n).for_each(|j| feedback[(*control, j)] = rows[(i, j)]);
            }
        }

        // V_x = Q_x + Kᵀ (Q_uu k + Q_u) + Q_uxᵀ k
        let k = solved.x;
        let quu_k: Vec<f64> = (0..m).map(|i| (0..m).map(|j| q_uu[(i, j)] * k[j]).sum()).collect();
        // −ΔV = −Q_uᵀ k − ½ kᵀ Q_uu k
        expected -= (0..m).map(|i| k[i] * (q_u[i] + 0.5 * quu_k[i])).sum::<f64>();
        v_x = plus(&q_x, &transposed_product(feedback.as_ref(), &plus(&quu_k, &q_u)));
        v_x = plus(&v_x, &transposed_product(q_ux.as_ref(), &k));
        // V_xx = Q_xx + Kᵀ Q_uu K + Kᵀ Q_ux + Q_uxᵀ K = Q_xx + Kᵀ (Q_uu K + Q_ux) + Q_uxᵀ K
        let mut inner = q_ux.clone();
        add_product(inner.as_mut(), q_uu.as_ref(), feedback.as_ref());
        v_xx = q_xx;
        add_product(v_xx.as_mut(), feedback.transpose(), inner.as_ref());
        add_product(v_xx.as_mut(), q_ux.transpose(), feedback.as_ref());
        symmetrize(&mut v_xx);
        if !v_x.iter().all(|x| x.is_finite()) {
            return None;
        }
        let feedback = match pseudoinverse {
            None => feedback,
            Some(p) => product(feedback.as_ref(), p.as_ref()),
        };
        warm.copy_from_slice(&k);
        gains.push(Gains { k, feedback });
    }
    gains.reverse();
    Some(Backward { gains, expected })
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Mᵀ v.
fn transposed_product(matrix: MatRef<'_, f64>, v: &[f64]) -> Vec<f64> {
    (0..matrix.ncols()).map(|j| (0..matrix.nrows()).map(|i| matrix[(i, j)] * v[i]).sum()).collect()
}

/// A B.
fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// out += A B.
fn add_product(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    matmul(out, Accum::Add, a, b, 1.0, Par::Seq);
}

fn symmetrize(matrix: &mut Mat<f64>) {
    for i in 0..matrix.nrows() {
        for j in 0..i {
            let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
            (matrix[(i, j)], matrix[(j, i)]) = (mean, mean);
        }
    }
}
