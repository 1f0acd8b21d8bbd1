//! [`Expansion`]: a step and its loss about a state and a control, to first and second order.
//!
//! *Jacobians* are exact: rows by pullbacks, eight at a time on lanes, through all substeps of a control. Rows and
//! columns are tangents: with E(x) the change of the state per tangent and E⁺ its pseudoinverse,
//! A = E(x′)⁺ ∂x′/∂x E(x) and B = E(x′)⁺ ∂x′/∂u. Rows cost the same whether there are 1 or 300 controls.
//!
//! *Second derivatives of the loss* are duals of its pullback, columns eight at a time, projected onto the tangents and
//! onto the positive semidefinite matrices. Those of the dynamics are left out, as in iLQR.

use faer::linalg::matmul::matmul;
use faer::prelude::Solve;
use faer::{Accum, Mat, Par, Side};
use pullback_core::rollout::Sample;
use pullback_core::{Bars, Manifold, Point, StepError, System};
use pullback_math::{Dual, Real, f64x8};

use crate::problem::{PlanLoss, PlanSystem, Problem};

/// One step: δx′ = A δx + B δz, ℓ ≈ ℓ₀ + ℓ_xᵀ δx + ℓ_zᵀ δz + ½ (δx, δz)ᵀ H (δx, δz), with scaled controls z.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// A.
    pub a: Mat<f64>,
    /// B.
    pub b: Mat<f64>,
    /// Gradient of the loss by (x, z).
    pub gradient: Vec<f64>,
    /// Second derivatives of the loss by (x, z).
    pub hessian: Mat<f64>,
    /// E(x)⁺, tangents by states; none where it is the identity.
    pub pseudoinverse: Option<Mat<f64>>,
}

impl Expansion {
    /// Memory for `n` tangents and `m` controls.
    pub fn new(n: usize, m: usize) -> Self {
        Expansion {
            a: Mat::zeros(n, n),
            b: Mat::zeros(n, m),
            gradient: vec![0.0; n + m],
            hessian: Mat::zeros(n + m, n + m),
            pseudoinverse: None,
        }
    }
}

/// Memory of one thread.
pub struct Expander<S: System<f64> + System<f64x8>> {
    plain: <S as System<f64>>::Workspace,
    lanes: <S as System<f64x8>>::Workspace,
    params: Vec<f64x8>,
    params_bar: Vec<f64x8>,
    /// States of the substeps.
    states: Vec<Vec<f64>>,
    state: Vec<f64x8>,
    control: Vec<f64x8>,
    next_bar: Vec<f64x8>,
    state_bar: Vec<f64x8>,
    control_bar: Vec<f64x8>,
}

/// Lanes of a pack.
const LANES: usize = <f64x8 as Real>::LANES;

impl<S: PlanSystem> Expander<S> {
    /// Memory for a problem.
    pub fn new<L: PlanLoss>(problem: &Problem<'_, S, L>) -> Self {
        let layout = problem.system.layout();
        let (n, m) = (layout.state.len(), layout.control.len());
        let zeros = |n| vec![f64x8::splat(0.0); n];
        Expander {
            plain: System::<f64>::workspace(problem.system),
            lanes: System::<f64x8>::workspace(problem.system),
            params: problem.params.iter().map(|p| f64x8::splat(*p)).collect(),
            params_bar: zeros(layout.params.len()),
            states: vec![vec![0.0; n]; problem.substeps + 1],
            state: zeros(n),
            control: zeros(m),
            next_bar: zeros(n),
            state_bar: zeros(n),
            control_bar: zeros(m),
        }
    }

    /// The step `step` of the horizon from `state` under `control`.
    pub fn expand<L: PlanLoss>(
        &mut self,
        problem: &Problem<'_, S, L>,
        step: usize,
        (state, control): (&[f64], &[f64]),
        out: &mut Expansion,
    ) -> Result<(), StepError> {
        // The states between.
        self.states[0].copy_from_slice(state);
        for i in 0..problem.substeps {
            let (before, after) = self.states.split_at_mut(i + 1);
            let at = Point { params: problem.params, state: &before[i], control };
            System::<f64>::step(problem.system, &mut self.plain, at, &mut after[0])?;
        }
        let embedding = (!problem.system.flat()).then(|| embedding(problem.system, state));
        let next = &self.states[problem.substeps];
        let rows = (!problem.system.flat()).then(|| pseudoinverse(&self::embedding(problem.system, next)));
        self.jacobians(problem, control, rows.as_ref(), embedding.as_ref(), out)?;
        let sample = Sample { step, steps: problem.horizon, state, control, params: problem.params };
        expand_loss(problem, sample, embedding.as_ref(), out);
        out.pseudoinverse = embedding.as_ref().map(pseudoinverse);
        Ok(())
    }

    /// A and B, eight rows at a time.
    fn jacobians<L: PlanLoss>(
        &mut self,
        problem: &Problem<'_, S, L>,
        control: &[f64],
        rows: Option<&Mat<f64>>,
        embedding: Option<&Mat<f64>>,
        out: &mut Expansion,
    ) -> Result<(), StepError> {
        let (nx, nt) = (self.state.len(), problem.system.tangent_len());
        let mut whole = Mat::<f64>::zeros(nt, nx);
        self.control.iter_mut().zip(control).for_each(|(lanes, u)| *lanes = f64x8::splat(*u));
        for first in (0..nt).step_by(LANES) {
            let row = |lane: usize| (first + lane).min(nt - 1);
            for (j, bar) in self.next_bar.iter_mut().enumerate() {
                *bar = f64x8::from_lanes(|lane| match rows {
                    None => f64::from(u8::from(row(lane) == j)),
                    Some(rows) => rows[(row(lane), j)],
                });
            }
            self.control_bar.fill(f64x8::splat(0.0));
            for i in (0..problem.substeps).rev() {
                self.state.iter_mut().zip(&self.states[i]).for_each(|(lanes, x)| *lanes = f64x8::splat(*x));
                self.state_bar.fill(f64x8::splat(0.0));
                let at = Point { params: &self.params, state: &self.state, control: &self.control };
                let bars = Bars {
                    params: &mut self.params_bar,
                    state: &mut self.state_bar,
                    control: &mut self.control_bar,
                };
                System::<f64x8>::step_vjp(problem.system, &mut self.lanes, at, &self.next_bar, bars)?;
                std::mem::swap(&mut self.next_bar, &mut self.state_bar);
            }
            for lane in 0..LANES.min(nt - first) {
                for (j, bar) in self.next_bar.iter().enumerate() {
                    whole[(first + lane, j)] = bar.lane(lane);
                }
                for (j, bar) in self.control_bar.iter().enumerate() {
                    out.b[(first + lane, j)] = bar.lane(lane) * problem.bounds.half(j);
                }
            }
        }
        match embedding {
            None => out.a = whole,
            Some(e) => matmul(out.a.as_mut(), Accum::Replace, whole.as_ref(), e.as_ref(), 1.0, Par::Seq),
        }
        Ok(())
    }
}

/// Gradient and second derivatives of the loss at a sample, by tangents and scaled controls.
pub fn expand_loss<S: PlanSystem, L: PlanLoss>(
    problem: &Problem<'_, S, L>,
    at: Sample<'_, f64>,
    embedding: Option<&Mat<f64>>,
    out: &mut Expansion,
) {
    type D = Dual<f64x8>;
    let (nx, nt, m) = (at.state.len(), problem.system.tangent_len(), at.control.len());
    // Column j of the change of (x, u) per (tangent, scaled control).
    let change = |i: usize, j: usize| match (i < nx, j < nt) {
        (true, true) => embedding.map_or(f64::from(u8::from(i == j)), |e| e[(i, j)]),
        (false, false) if i - nx == j - nt => problem.bounds.half(i - nx),
        _ => 0.0,
    };
    let value = |i: usize| if i < nx { at.state[i] } else { at.control[i - nx] };
    let mut bars = Mat::<f64>::zeros(nx + m, nt + m);
    let mut gradient = vec![0.0; nx + m];
    let params: Vec<D> =
        problem.params.iter().map(|x| Dual::new(f64x8::splat(*x), f64x8::splat(0.0))).collect();
    for first in (0..nt + m).step_by(LANES) {
        let column = |lane: usize| (first + lane).min(nt + m - 1);
        let moved: Vec<D> = (0..nx + m)
            .map(|i| Dual::new(f64x8::splat(value(i)), f64x8::from_lanes(|lane| change(i, column(lane)))))
            .collect();
        let mut bar = vec![D::zero(); nx + m];
        let (state_bar, control_bar) = bar.split_at_mut(nx);
        let (state, control) = moved.split_at(nx);
        let sample = Sample { step: at.step, steps: at.steps, state, control, params: &params };
        problem.loss.vjp(sample, state_bar, control_bar);
        for (i, bar) in bar.iter().enumerate() {
            gradient[i] = bar.value.lane(0);
            for lane in 0..LANES.min(nt + m - first) {
                bars[(i, first + lane)] = bar.tangent.lane(lane);
            }
        }
    }
    // Back to tangents: Eᵀ on the left.
    let pulled = |column: &dyn Fn(usize) -> f64, k: usize| match (k < nt, embedding) {
        (true, None) => column(k),
        (true, Some(e)) => (0..nx).map(|i| e[(i, k)] * column(i)).sum(),
        (false, _) => problem.bounds.half(k - nt) * column(nx + k - nt),
    };
    for k in 0..nt + m {
        out.gradient[k] = pulled(&|i| gradient[i], k);
    }
    for j in 0..nt + m {
        for k in 0..nt + m {
            out.hessian[(k, j)] = pulled(&|i| bars[(i, j)], k);
        }
    }
    make_semidefinite(&mut out.hessian, nt + m);
}

/// The nearest positive semidefinite matrix to the first `n` rows and columns, made symmetric.
fn make_semidefinite(matrix: &mut Mat<f64>, n: usize) {
    // Most entries of a state are in no loss.
    let touched: Vec<usize> =
        (0..n).filter(|i| (0..n).any(|j| matrix[(*i, j)] != 0.0 || matrix[(j, *i)] != 0.0)).collect();
    let size = touched.len();
    if size == 0 {
        return;
    }
    let entry =
        |i: usize, j: usize| 0.5 * (matrix[(touched[i], touched[j])] + matrix[(touched[j], touched[i])]);
    let part = Mat::from_fn(size, size, entry);
    let largest = (0..size).fold(0.0, |m: f64, i| m.max(part[(i, i)].abs()));
    let lifted = Mat::from_fn(size, size, |i, j| part[(i, j)] + if i == j { 1e-10 * largest } else { 0.0 });
    let kept = if lifted.llt(Side::Lower).is_ok() {
        part
    } else {
        match part.self_adjoint_eigen(Side::Lower) {
            Ok(eigen) => {
                let (u, s) = (eigen.U(), eigen.S().column_vector());
                let scaled = Mat::from_fn(size, size, |i, j| u[(i, j)] * s[j].max(0.0));
                &scaled * u.transpose()
            }
            // Without a decomposition the diagonal alone.
            Err(_) => Mat::from_fn(size, size, |i, j| if i == j { part[(i, i)].max(0.0) } else { 0.0 }),
        }
    };
    for i in 0..size {
        for j in 0..size {
            matrix[(touched[i], touched[j])] = 0.5 * (kept[(i, j)] + kept[(j, i)]);
        }
    }
}

/// E(x), states by tangents.
pub fn embedding(system: &impl Manifold, state: &[f64]) -> Mat<f64> {
    let (nx, nt) = (state.len(), system.tangent_len());
    let (mut tangent, mut column) = (vec![0.0; nt], vec![0.0; nx]);
    let mut e = Mat::zeros(nx, nt);
    for j in 0..nt {
        tangent[j] = 1.0;
        system.embed(state, &tangent, &mut column);
        tangent[j] = 0.0;
        column.iter().enumerate().for_each(|(i, x)| e[(i, j)] = *x);
    }
    e
}

/// E⁺ = (Eᵀ E)⁻¹ Eᵀ. Tangents are independent; where rounding says otherwise, Eᵀ alone.
pub fn pseudoinverse(e: &Mat<f64>) -> Mat<f64> {
    let square = e.transpose() * e;
    match square.llt(Side::Lower) {
        Ok(factor) => factor.solve(e.transpose().to_owned()),
        Err(_) => e.transpose().to_owned(),
    }
}
