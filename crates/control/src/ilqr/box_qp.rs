//! Quadratic programs in a box: min ½ xᵀ H x + gᵀ x with low ≤ x ≤ high, by projected Newton steps (Tassa et al.
//! 2014, section III).
//!
//! A variable is *clamped* where it is on a bound and the gradient pushes it outward; the others are free. A Newton
//! step of the free ones is projected onto the box and shortened until the value falls.

use faer::prelude::Solve;
use faer::{Mat, Side};

/// Steps before the last point is taken.
const STEPS: usize = 100;
/// Length of the free gradient, relative to that of g, at which the point is found.
const TOLERANCE: f64 = 1e-12;
/// Part of the promised decrease that a step must give.
const ARMIJO: f64 = 0.1;

/// The solution.
#[derive(Clone, Debug)]
pub struct BoxSolution {
    /// x.
    pub x: Vec<f64>,
    /// The free variables, in order.
    pub free: Vec<usize>,
    /// Factor of H over the free variables; none if all are clamped.
    pub factor: Option<faer::linalg::solvers::Llt<f64>>,
}

/// Solves the program from a `start` that is taken into the box; `None` where H is not positive definite over some
/// free variables.
pub fn box_qp(h: &Mat<f64>, g: &[f64], low: &[f64], high: &[f64], start: &[f64]) -> Option<BoxSolution> {
    let n = g.len();
    let clamp = |i: usize, x: f64| x.clamp(low[i], high[i]);
    let mut x: Vec<f64> = (0..n).map(|i| clamp(i, start[i])).collect();
    let product =
        |x: &[f64]| -> Vec<f64> { (0..n).map(|i| (0..n).map(|j| h[(i, j)] * x[j]).sum::<f64>()).collect() };
    let value = |x: &[f64]| {
        let hx = product(x);
        (0..n).map(|i| x[i] * (0.5 * hx[i] + g[i])).sum::<f64>()
    };
    let size = g.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    let mut now = value(&x);
    let mut solution = BoxSolution { x: Vec::new(), free: Vec::new(), factor: None };
    for step in 0..STEPS {
        let gradient: Vec<f64> = product(&x).iter().zip(g).map(|(a, b)| a + b).collect();
        let clamped =
            |i: usize| (x[i] <= low[i] && gradient[i] > 0.0) || (x[i] >= high[i] && gradient[i] < 0.0);
        let free: Vec<usize> = (0..n).filter(|i| !clamped(*i)).collect();
        if free.is_empty() {
            solution = BoxSolution { x: Vec::new(), free, factor: None };
            break;
        }
        if step == 0 || free != solution.free {
            let part = Mat::from_fn(free.len(), free.len(), |i, j| h[(free[i], free[j])]);
            solution = BoxSolution { x: Vec::new(), factor: Some(part.llt(Side::Lower).ok()?), free };
        }
        let largest = solution.free.iter().fold(0.0, |m: f64, i| m.max(gradient[*i].abs()));
        if largest <= TOLERANCE * size {
            break;
        }
        let factor = solution.factor.as_ref()?;
        let newton = factor.solve(Mat::from_fn(solution.free.len(), 1, |k, _| -gradient[solution.free[k]]));
        // Backtrack along the projected step.
        let slope: f64 = solution.free.iter().enumerate().map(|(k, i)| newton[(k, 0)] * gradient[*i]).sum();
        let mut length = 1.0;
        let found = loop {
            let mut tried = x.clone();
            for (k, i) in solution.free.iter().enumerate() {
                tried[*i] = clamp(*i, x[*i] + length * newton[(k, 0)]);
            }
            let then = value(&tried);
            if then <= now + ARMIJO * length * slope {
                break Some((tried, then));
            }
            length *= 0.6;
            if length < 1e-20 {
                break None;
            }
        };
        let Some((tried, then)) = found else { break };
        (x, now) = (tried, then);
    }
    solution.x = x;
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::random::Random;

    /// The program is convex: a point is the solution where each gradient vanishes or pushes against a bound.
    #[test]
    fn solutions_are_optimal() {
        let random = &mut Random::new(4);
        let mut on_bounds = 0;
        for n in [1, 2, 5, 12, 40] {
            for _ in 0..10 {
                let root = Mat::from_fn(n, n, |_, _| random.normal());
                let h = &root * root.transpose() + Mat::from_fn(n, n, |i, j| if i == j { 0.1 } else { 0.0 });
                let g: Vec<f64> = (0..n).map(|_| 2.0 * random.normal()).collect();
                let low: Vec<f64> = (0..n).map(|_| random.uniform(-0.3, 0.0)).collect();
                let high: Vec<f64> = (0..n).map(|_| random.uniform(0.0, 0.3)).collect();
                let solved = box_qp(&h, &g, &low, &high, &vec![0.0; n]).unwrap();
                for i in 0..n {
                    let x = &solved.x;
                    let gradient = g[i] + (0..n).map(|j| h[(i, j)] * x[j]).sum::<f64>();
                    assert!((low[i]..=high[i]).contains(&x[i]), "{n}: {solved:?}");
                    let held = (x[i] == low[i] && gradient > 0.0) || (x[i] == high[i] && gradient < 0.0);
                    on_bounds += usize::from(held);
                    assert!(held || gradient.abs() < 1e-9, "{n}: {gradient} at {i} of {solved:?}");
                    assert_eq!(solved.free.contains(&i), !held);
                }
            }
        }
        assert!((100..500).contains(&on_bounds), "{on_bounds}");
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let h = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 - 2.0 * i as f64 } else { 0.0 });
        assert!(box_qp(&h, &[0.1, 0.1], &[-1.0; 2], &[1.0; 2], &[0.0; 2]).is_none());
    }
}
