//! What past steps say of a function's curvature: the two loops of limited-memory BFGS (Nocedal and Wright,
//! algorithm 7.4).
//!
//! Pairs of a step s and the change y of the gradient along it stand for the inverse Hessian H. Variables
//! that are held at a wall have a zero in the clipped gradient; the loops work in the others.

use std::collections::VecDeque;

/// Steps s with the changes y of the gradient along them, the latest last.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    memory: usize,
    pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
}

impl Pairs {
    /// None yet, and never more than `memory`.
    pub fn new(memory: usize) -> Self {
        Pairs { memory, pairs: VecDeque::new() }
    }
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
    /// Forgets all.
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Takes in a step; one that saw no positive curvature is not kept.
    pub fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        let all = |_: usize| true;
        let lengths = (masked_dot(&s, &s, all) * masked_dot(&y, &y, all)).sqrt();
        if masked_dot(&s, &y, all) <= 1e-12 * lengths {
            return;
        }
        self.pairs.push_back((s, y));
        if self.pairs.len() > self.memory {
            self.pairs.pop_front();
        }
    }

    /// −H g over the variables whose clipped gradient is not zero; −g while nothing is known.
    pub fn direction(&self, clipped: &[f64]) -> Vec<f64> {
        let free = |i: usize| clipped[i] != 0.0;
        let curved: Vec<(&[f64], &[f64], f64)> = self
            .pairs
            .iter()
            .map(|(s, y)| (&s[..], &y[..], masked_dot(s, y, free)))
            .filter(|(_, _, sy)| *sy > 0.0)
            .collect();
        let (mut q, mut along) = (clipped.to_vec(), Vec::with_capacity(curved.len()));
        for (s, y, sy) in curved.iter().rev() {
            let a = masked_dot(s, &q, free) / sy;
            q.iter_mut().zip(*y).for_each(|(q, y)| *q -= a * y);
            along.push(a);
        }
        // H₀ = sᵀy/yᵀy of the latest pair
        if let Some((_, y, sy)) = curved.last() {
            let size = sy / masked_dot(y, y, free);
            q.iter_mut().for_each(|q| *q *= size);
        }
        for ((s, y, sy), a) in curved.iter().zip(along.iter().rev()) {
            let b = masked_dot(y, &q, free) / sy;
            q.iter_mut().zip(*s).for_each(|(q, s)| *q += (a - b) * s);
        }
        q.iter().enumerate().map(|(i, q)| if free(i) { -q } else { 0.0 }).collect()
    }
}

/// aᵀb over some of the entries.
fn masked_dot(a: &[f64], b: &[f64], which: impl Fn(usize) -> bool) -> f64 {
    a.iter().zip(b).enumerate().filter(|(i, _)| which(*i)).map(|(_, (a, b))| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gradient of ½ xᵀAx, A with eigenvalues 1 to 4 and a coupling.
    fn gradient(x: &[f64]) -> Vec<f64> {
        let mut g: Vec<f64> = x.iter().enumerate().map(|(i, x)| (i + 1) as f64 * x).collect();
        g[0] += 0.3 * x[1];
        g[1] += 0.3 * x[0];
        g
    }

    #[test]
    fn as_many_steps_as_variables_teach_a_quadratic() {
        // Steps that are conjugate to each other: the exact inverse.
        let mut pairs = Pairs::new(10);
        let steps = [[1.0, 0.0, 0.0, 0.0], [-0.3, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 2.0]];
        steps.iter().for_each(|s| pairs.push(s.to_vec(), gradient(s)));
        let x = [0.4, -0.7, 0.2, 0.9];
        let step = pairs.direction(&gradient(&x));
        assert!(x.iter().zip(&step).all(|(x, d)| (x + d).abs() < 1e-12), "{step:?}");
    }

    #[test]
    fn held_variables_stay_and_bent_steps_are_not_kept() {
        let mut pairs = Pairs::new(2);
        assert_eq!(pairs.direction(&[1.0, -2.0]), [-1.0, 2.0]);
        pairs.push(vec![1.0, 0.0], vec![-1.0, 0.0]);
        assert!(pairs.is_empty());
        pairs.push(vec![1.0, 1.0], vec![2.0, 5.0]);
        assert_eq!(pairs.direction(&[0.0, 10.0]), [0.0, -2.0]);
        for k in 1..5 {
            pairs.push(vec![1.0, 0.0], vec![f64::from(k), 0.0]);
        }
        assert_eq!(pairs.direction(&[8.0, 0.0]), [-2.0, 0.0]);
        pairs.clear();
        assert!(pairs.is_empty());
        let mut forgetful = Pairs::new(0);
        forgetful.push(vec![1.0, 1.0], vec![2.0, 5.0]);
        assert!(forgetful.is_empty());
    }
}
