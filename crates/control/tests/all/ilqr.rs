//! iLQR where the answer is known: Riccati's, and a quadratic program.

use pullback_control::planner::{Moment, Planner};
use pullback_control::{ControlBox, Plan, PlannerConfig, Spline};
use pullback_core::rollout::Inputs;
use pullback_core::{Rollout, Schedule};

use crate::common::{Linear, planner, problem, quadratic};

const START: [f64; 4] = [1.0, -0.5, 0.3, 0.8];
const HORIZON: usize = 30;

fn solve(planner: &mut dyn Planner, plan: &mut Plan) -> f64 {
    let mut moment = Moment { step: 0, seed: 0, log: None, watch: &mut |_, _| () };
    planner.plan(&START, plan, &mut moment).unwrap().after
}

fn ilqr(iterations: usize) -> PlannerConfig {
    planner("ilqr", serde_json::json!({"iterations": iterations, "tolerance": 1e-14}))
}

/// The cost xᵀ P₀ x by Riccati's recursion P ← Q + Aᵀ P A − Aᵀ P B (R + Bᵀ P B)⁻¹ Bᵀ P A with two controls.
fn riccati(system: &Linear) -> f64 {
    let (a, b, n) = (&system.a, &system.b, 4);
    let identity = |scale: f64| -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..n).map(|j| if i == j { scale } else { 0.0 }).collect()).collect()
    };
    let mut p = identity(5.0);
    for _ in 0..HORIZON {
        let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
        let pa: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| sum(&|k| p[i][k] * a[k][j])).collect()).collect();
        let pb: Vec<Vec<f64>> =
            (0..n).map(|i| (0..2).map(|j| sum(&|k| p[i][k] * b[k][j])).collect()).collect();
        let bpb = |i: usize, j: usize| sum(&|k| b[k][i] * pb[k][j]) + if i == j { 0.1 } else { 0.0 };
        let bpa: Vec<Vec<f64>> =
            (0..2).map(|i| (0..n).map(|j| sum(&|k| b[k][i] * pa[k][j])).collect()).collect();
        let det = bpb(0, 0) * bpb(1, 1) - bpb(0, 1) * bpb(1, 0);
        let inverse = [[bpb(1, 1) / det, -bpb(0, 1) / det], [-bpb(1, 0) / det, bpb(0, 0) / det]];
        let one = identity(1.0);
        let entry = |i: usize, j: usize| {
            let gain: f64 =
                (0..2).map(|k| (0..2).map(|l| bpa[k][i] * inverse[k][l] * bpa[l][j]).sum::<f64>()).sum();
            one[i][j] + sum(&|k| a[k][i] * pa[k][j]) - gain
        };
        p = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
    }
    (0..n).map(|i| (0..n).map(|j| START[i] * p[i][j] * START[j]).sum::<f64>()).sum()
}

#[test]
fn one_iteration_is_riccatis_solution() {
    let system = Linear::coupled();
    let loss = quadratic(&system);
    for limit in [f64::INFINITY, 1e3] {
        let bounds = ControlBox::new(&[(-limit, limit); 2]).unwrap();
        let problem = problem(&system, &loss, &bounds, HORIZON);
        let spline = Spline::new(&bounds, HORIZON, 1, Default::default());
        let mut plan = spline.constant(&[0.0, 0.0]);
        let cost = solve(ilqr(1).planner(problem, spline).unwrap().as_mut(), &mut plan);
        let expected = riccati(&system);
        assert!((cost / expected - 1.0).abs() < 1e-12, "{cost} against {expected}");
    }
}

#[test]
fn limits_hold_and_the_cost_is_that_of_projected_descent() {
    let system = Linear::coupled();
    let loss = quadratic(&system);
    let bounds = ControlBox::new(&[(-0.6, 0.4), (-0.3, 0.5)]).unwrap();
    let problem = problem(&system, &loss, &bounds, HORIZON);
    let spline = Spline::new(&bounds, HORIZON, 1, Default::default());
    let mut plan = spline.constant(&[0.0, 0.0]);
    let mut planner = ilqr(100).planner(problem, spline.clone()).unwrap();
    let cost = solve(planner.as_mut(), &mut plan);
    let mut controls = vec![0.0; 2 * HORIZON];
    spline.controls(&plan.knots, 0, &mut controls);
    let (mut on_bounds, inside) = (0, 1e-9);
    for u in controls.chunks(2) {
        assert!((-0.6..=0.4).contains(&u[0]) && (-0.3..=0.5).contains(&u[1]), "{u:?}");
        on_bounds += usize::from(u[0] < -0.6 + inside || u[0] > 0.4 - inside);
    }
    assert!(on_bounds > 3, "the limits must matter: {controls:?}");

    // The convex problem over all controls at once, by projected gradient descent.
    let rollout = Rollout::new(&system, HORIZON, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let mut inputs = Inputs { state: START.to_vec(), controls: vec![0.0; 2 * HORIZON], params: vec![] };
    for _ in 0..20_000 {
        rollout.gradient(&mut ws, &inputs, &loss).unwrap();
        for (k, u) in inputs.controls.iter_mut().enumerate() {
            let (low, high) = if k % 2 == 0 { (-0.6, 0.4) } else { (-0.3, 0.5) };
            *u = (*u - 0.02 * ws.gradient.control[k]).clamp(low, high);
        }
    }
    let expected = ws.gradient.loss;
    assert!((cost / expected - 1.0).abs() < 1e-7, "{cost} against {expected}");
    let worst = controls.iter().zip(&inputs.controls).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    assert!(worst < 1e-3, "{worst}: {controls:?} {:?}", inputs.controls);
}
