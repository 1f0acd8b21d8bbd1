//! [`TestFunction`]: known functions of any dimension on which methods of search are tried and compared.
//!
//! Each is the textbook function of u = x − o, so that its lowest value is 0 at u = 0, or at u = 1 for Levy's
//! and Rosenbrock's. The shift is oᵢ = 0.3 h sin(1 + 2.4 i), i from 0, with half the box's width h: it moves
//! the lowest point off the center of the box by another amount along every axis, and off the diagonal.
//! Ackley's function has a cusp at its lowest point; the gradient there is taken as zero.

use std::f64::consts::{E, PI};

use pullback_core::StepError;
use pullback_core::math::Real;

use crate::objective::Objective;

/// Which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Σ u² + 10 (1 − cos 2πu): a bowl with a regular lattice of minima; −5.12 to 5.12.
    Rastrigin,
    /// A plain with many minima around a funnel; −32.768 to 32.768.
    Ackley,
    /// A wide bowl with shallow waves; −600 to 600.
    Griewank,
    /// Waves of uneven height; −10 to 10.
    Levy,
    /// Σ 100 (uᵢ₊₁ − uᵢ²)² + (1 − uᵢ)²: a long bent valley; −5 to 10.
    Rosenbrock,
}

/// A function with its dimension and shift.
#[derive(Clone, Debug)]
pub struct TestFunction {
    shape: Shape,
    shift: Vec<f64>,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 5] =
        [Shape::Rastrigin, Shape::Ackley, Shape::Griewank, Shape::Levy, Shape::Rosenbrock];

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Rastrigin => "rastrigin",
            Shape::Ackley => "ackley",
            Shape::Griewank => "griewank",
            Shape::Levy => "levy",
            Shape::Rosenbrock => "rosenbrock",
        }
    }

    /// The box, the same along every axis.
    pub fn bounds(self) -> (f64, f64) {
        match self {
            Shape::Rastrigin => (-5.12, 5.12),
            Shape::Ackley => (-32.768, 32.768),
            Shape::Griewank => (-600.0, 600.0),
            Shape::Levy => (-10.0, 10.0),
            Shape::Rosenbrock => (-5.0, 10.0),
        }
    }
}

impl TestFunction {
    /// The function of `dim` variables.
    pub fn new(shape: Shape, dim: usize) -> Self {
        let (low, high) = shape.bounds();
        let shift = |i: usize| 0.3 * 0.5 * (high - low) * (1.0 + 2.4 * i as f64).sin();
        TestFunction { shape, shift: (0..dim).map(shift).collect() }
    }

    /// Which function it is.
    pub fn shape(&self) -> Shape {
        self.shape
    }
    /// o.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }
    /// Where it is lowest.
    pub fn lowest(&self) -> Vec<f64> {
        let own = if matches!(self.shape, Shape::Levy | Shape::Rosenbrock) { 1.0 } else { 0.0 };
        self.shift.iter().map(|o| o + own).collect()
    }

    /// f(x).
    pub fn at<T: Real>(&self, x: &[T]) -> T {
        let u = |i: usize| x[i] - T::lit(self.shift[i]);
        let (n, lit, all) = (x.len(), T::lit, 0..x.len());
        let sum = |f: &dyn Fn(usize) -> T, of: std::ops::Range<usize>| of.fold(T::zero(), |s, i| s + f(i));
        match self.shape {
            Shape::Rastrigin => {
                sum(&|i| u(i) * u(i) + lit(10.0) * (T::one() - (lit(2.0 * PI) * u(i)).cos()), all)
            }
            Shape::Ackley => {
                let per = lit(1.0 / n as f64);
                let radius = (per * sum(&|i| u(i) * u(i), all.clone())).sqrt();
                let waves = per * sum(&|i| (lit(2.0 * PI) * u(i)).cos(), all);
                // 20 (1 − e^(−0.2 r)) + e − e^w
                lit(20.0) * (T::one() - (lit(-0.2) * radius).exp()) + (lit(E) - waves.exp())
            }
            Shape::Griewank => {
                let bowl = lit(1.0 / 4000.0) * sum(&|i| u(i) * u(i), all.clone());
                bowl + (T::one() - all.fold(T::one(), |p, i| p * (u(i) * lit(root(i))).cos()))
            }
            Shape::Levy => {
                let w = |i: usize| T::one() + lit(0.25) * (u(i) - T::one());
                let (first, last) = ((lit(PI) * w(0)).sin(), (lit(2.0 * PI) * w(n - 1)).sin());
                let off = |i: usize| (w(i) - T::one()) * (w(i) - T::one());
                let wave = |i: usize| (lit(PI) * w(i) + T::one()).sin();
                let middle =
                    sum(&|i| off(i) * (T::one() + lit(10.0) * (wave(i) * wave(i))), 0..n.saturating_sub(1));
                first * first + middle + off(n - 1) * (T::one() + last * last)
            }
            Shape::Rosenbrock => {
                let lift = |i: usize| u(i + 1) - u(i) * u(i);
                let rest = |i: usize| T::one() - u(i);
                sum(&|i| lit(100.0) * (lift(i) * lift(i)) + rest(i) * rest(i), 0..n.saturating_sub(1))
            }
        }
    }

    /// x̄ = ∂f/∂x.
    pub fn at_vjp(&self, x: &[f64], x_bar: &mut [f64]) {
        let (n, u) = (x.len(), |i: usize| x[i] - self.shift[i]);
        x_bar.fill(0.0);
        match self.shape {
            Shape::Rastrigin => {
                for (i, g) in x_bar.iter_mut().enumerate() {
                    // 2u + 20π sin 2πu
                    *g = 2.0 * u(i) + 20.0 * PI * (2.0 * PI * u(i)).sin();
                }
            }
            Shape::Ackley => {
                let per = 1.0 / n as f64;
                let radius = (per * (0..n).map(|i| u(i) * u(i)).sum::<f64>()).sqrt();
                let waves = per * (0..n).map(|i| (2.0 * PI * u(i)).cos()).sum::<f64>();
                // 4 e^(−0.2 r) ∂r, ∂r = u/(n r), zero at the cusp
                let inward = if radius > 0.0 { 4.0 * (-0.2 * radius).exp() * per / radius } else { 0.0 };
                for (i, g) in x_bar.iter_mut().enumerate() {
                    *g = inward * u(i) + waves.exp() * per * 2.0 * PI * (2.0 * PI * u(i)).sin();
                }
            }
            Shape::Griewank => {
                // Products of all other cosines, from the left and from the right, so that none is divided
                // by.
                let cosine = |i: usize| (u(i) * root(i)).cos();
                let mut left = 1.0;
                for i in 0..n {
                    x_bar[i] = left;
                    left *= cosine(i);
                }
                let mut right = 1.0;
                for i in (0..n).rev() {
                    x_bar[i] = u(i) / 2000.0 + x_bar[i] * right * root(i) * (u(i) * root(i)).sin();
                    right *= cosine(i);
                }
            }
            Shape::Levy => {
                let w = |i: usize| 1.0 + 0.25 * (u(i) - 1.0);
                for (i, g) in x_bar[..n - 1].iter_mut().enumerate() {
                    let (off, (sin, cos)) = (w(i) - 1.0, (PI * w(i) + 1.0).sin_cos());
                    // ∂w of (w − 1)² (1 + 10 sin²(πw + 1))
                    *g = 0.25 * (2.0 * off * (1.0 + 10.0 * sin * sin) + off * off * 20.0 * PI * sin * cos);
                }
                let (off, (sin, cos)) = (w(n - 1) - 1.0, (2.0 * PI * w(n - 1)).sin_cos());
                x_bar[n - 1] += 0.25 * (2.0 * off * (1.0 + sin * sin) + off * off * 4.0 * PI * sin * cos);
                let (sin, cos) = (PI * w(0)).sin_cos();
                x_bar[0] += 0.25 * 2.0 * PI * sin * cos;
            }
            Shape::Rosenbrock => {
                for i in 0..n.saturating_sub(1) {
                    let lift = u(i + 1) - u(i) * u(i);
                    x_bar[i] += -400.0 * u(i) * lift - 2.0 * (1.0 - u(i));
                    x_bar[i + 1] += 200.0 * lift;
                }
            }
        }
    }
}

/// 1/√(i + 1).
fn root(i: usize) -> f64 {
    1.0 / (i as f64 + 1.0).sqrt()
}

impl Objective for TestFunction {
    fn names(&self) -> Vec<String> {
        (0..self.shift.len()).map(|i| format!("x[{i}]")).collect()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![self.shape.bounds(); self.shift.len()]
    }
    /// The center of the box.
    fn start(&self) -> Vec<f64> {
        let (low, high) = self.shape.bounds();
        vec![0.5 * (low + high); self.shift.len()]
    }
    fn floor(&self) -> Option<f64> {
        Some(0.0)
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        Ok(self.at(x))
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        self.at_vjp(x, grad);
        Ok(self.at(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
    use pullback_core::math::Dual;
    use pullback_core::random::Random;

    impl Differentiable for TestFunction {
        fn input_names(&self) -> Vec<String> {
            self.names()
        }
        fn outputs(&self) -> usize {
            1
        }
        fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
            y[0] = self.at(x);
            Ok(())
        }
        fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
            let x: Vec<_> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
            let out = self.at(&x);
            (y[0], y_dot[0]) = (out.value, out.tangent);
            Ok(())
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
            let mut gradient = vec![0.0; x.len()];
            self.at_vjp(x, &mut gradient);
            for (x_bar, g) in x_bar.iter_mut().zip(gradient) {
                *x_bar += y_bar[0] * g;
            }
            Ok(())
        }
    }

    #[test]
    fn gradients_agree_with_forward_mode_and_differences() {
        let mut random = Random::new(5);
        for shape in Shape::ALL {
            for dim in [2, 3, 7] {
                let function = TestFunction::new(shape, dim);
                let (low, high) = shape.bounds();
                let x: Vec<f64> = (0..dim).map(|_| random.uniform(low, high)).collect();
                gradcheck(&function, &x, &Options::default()).assert_passed();
            }
        }
    }

    #[test]
    fn the_lowest_point_is_inside_off_center_and_zero() {
        for shape in Shape::ALL {
            for dim in [2, 5, 20] {
                let function = TestFunction::new(shape, dim);
                let (low, high) = shape.bounds();
                let lowest = function.lowest();
                assert!(lowest.iter().all(|x| (low..high).contains(x)), "{shape:?} {lowest:?}");
                let off = |x: &f64| (x - 0.5 * (low + high)).abs() > 0.01 * (high - low);
                assert!(lowest.iter().filter(|x| off(x)).count() > dim / 2);
                assert!(function.at(&lowest).abs() < 1e-12, "{shape:?}: {}", function.at(&lowest));
                // Nothing nearby is lower.
                let mut random = Random::new(1);
                for _ in 0..100 {
                    let near: Vec<f64> = lowest.iter().map(|x| x + 1e-3 * random.normal()).collect();
                    assert!(function.at(&near) > 0.0);
                }
            }
        }
    }
}
