//! Corners of the subset, each once met or feared.

// Each way of writing a thing is tested, also the ones that clippy would rewrite.
#![allow(clippy::assign_op_pattern, clippy::clone_on_copy, clippy::reversed_empty_ranges)]

use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_math::{Cotangent, Real, Vec3, constant, differentiable};

/// Names that the generated code would like to use itself.
#[differentiable]
fn greedy_names<T: Real>(out_bar: T, t0: T, x_bar: T) -> T {
    let saved = out_bar * t0;
    let mut slot = saved;
    for step in 0..3 {
        let c0 = slot * x_bar;
        slot = c0 + T::lit(step as f64) * t0;
    }
    slot
}

#[test]
fn names_do_not_clash() {
    check_vjp!(
        |a: T, b: T, c: T| -> T { greedy_names(a, b, c) },
        |bar| greedy_names_vjp(a, b, c, bar),
        at [0.3, 0.7, 1.1],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn argument_patterns<T: Real>((a, b): (T, T), Vec3 { x, z, .. }: Vec3<T>, [p, q]: [T; 2]) -> T {
    a * x + b * z * p - q
}

#[test]
fn patterns_in_arguments() {
    check_vjp!(
        |a: (T, T), v: Vec3<T>, p: [T; 2]| -> T { argument_patterns(a, v, p) },
        |bar| argument_patterns_vjp(a, v, p, bar),
        at [0.3, 0.7, 1.1, 0.2, -0.4, 2.0, 0.6],
        Options::default()
    )
    .assert_passed();
}

/// A model with parts that are not `Copy`, behind a reference.
struct Model {
    parts: Vec<Part>,
    limit: f64,
}

struct Part {
    name: String,
    gain: f64,
}

impl Part {
    #[differentiable]
    fn apply(&self, x: f64) -> f64 {
        x * x * self.gain
    }
}

impl Model {
    const ROUNDS: usize = 2;

    #[differentiable]
    fn run(&self, x: f64, scale: &f64) -> f64 {
        const HALF: f64 = 0.5;
        let mut x = x * HALF;
        let last = &self.parts[self.parts.len() - 1];
        for _ in 0..Self::ROUNDS {
            for i in 0..self.parts.len() {
                x = self.parts[i].apply(x) + *scale * x;
            }
        }
        if last.name.is_empty() || x > self.limit { x } else { last.apply(x) }
    }
}

#[test]
fn models_behind_references() {
    let part = |name: &str, gain| Part { name: name.to_owned(), gain };
    for (name, limit) in [("", 10.0), ("a", 10.0), ("a", 0.0)] {
        let model = Model { parts: vec![part("first", 0.7), part(name, 1.3)], limit };
        let (x, h, scale) = (0.9, 1e-6, 0.8);
        let ((), x_bar, ()) = model.run_vjp(x, &scale, 1.0);
        let difference = (model.run(x + h, &scale) - model.run(x - h, &scale)) / (2.0 * h);
        assert!((x_bar - difference).abs() < 1e-8 * difference.abs(), "{x_bar} {difference}");
    }
}

/// A trait whose default method is differentiable.
trait Energy: Copy {
    fn stiffness(self) -> f64;
    fn stiffness_vjp(self, out_bar: f64) -> Self;

    #[differentiable]
    fn energy(self, x: f64) -> f64
    where
        Self: Cotangent + pullback_math::cotangent::Carrier,
    {
        0.5 * self.stiffness() * x * x
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
struct Linear(f64);

impl Energy for Linear {
    fn stiffness(self) -> f64 {
        self.0
    }
    fn stiffness_vjp(self, out_bar: f64) -> Self {
        Linear(out_bar)
    }
}

#[test]
fn default_methods_of_traits() {
    assert_eq!(Linear(3.0).energy_vjp(2.0, 1.0), (Linear(2.0), 6.0));
    assert_eq!(Linear(3.0).energy(2.0), 6.0);
}

macro_rules! make {
    ($name:ident, $body:expr, $x:ident) => {
        #[differentiable]
        fn $name<T: Real>($x: T) -> T {
            let twice = $x + $x;
            $body * twice
        }
    };
}
make!(made, x + T::one(), x);

#[test]
fn functions_written_by_macros() {
    check_vjp!(|x: T| -> T { made(x) }, |bar| made_vjp(x, bar), at[0.4], Options::default()).assert_passed();
}

#[differentiable]
fn masks<T: Real>(mask: T::Mask, x: T, weights: ((T, T), [T; 2])) -> T {
    let inside = mask & x.lt(weights.0.1);
    let k = constant(x.max(weights.0.0));
    pullback_math::select(inside, x * weights.1[0], weights.0.1 * k) + x.clone()
}

#[test]
fn mask_arguments_and_deep_places() {
    check_vjp!(
        |x: T, w: ((T, T), [T; 2])| -> T {
            use pullback_math::Mask;
            masks(T::Mask::splat(true), x, w)
        },
        |bar| {
            use pullback_math::Mask;
            let ((), x_bar, w_bar) = masks_vjp(T::Mask::splat(true), x, w, bar);
            (x_bar, w_bar)
        },
        at [0.4, 0.1, 0.7, 2.0, 3.0],
        Options::default()
    )
    .assert_passed();
}

/// The same value in both branches, twice in one call, and handed through unchanged.
#[differentiable]
fn aliases<T: Real>(x: T, y: T, flag: bool) -> (T, T) {
    let a = x;
    let mut b = a;
    let c = if flag { a } else { x * y };
    if !flag {
        b = c;
    }
    let (p, q) = if flag { (b, b) } else { (c, b * c) };
    (p.atan2(p + q), b)
}

#[test]
fn aliases_share_their_cotangent() {
    check_vjp!(
        |x: T, y: T| -> ((T, T), (T, T)) { (aliases(x, y, true), aliases(x, y, false)) },
        |bar| {
            let (x_1, y_1, ()) = aliases_vjp(x, y, true, bar.0);
            let (x_2, y_2, ()) = aliases_vjp(x, y, false, bar.1);
            (x_1 + x_2, y_1 + y_2)
        },
        at [0.4, 0.9],
        Options::default()
    )
    .assert_passed();
}

/// Array elements that are read, written and accumulated at overlapping indices.
#[differentiable]
fn stencil<T: Real>(u: [T; 5], rate: T, rounds: usize) -> [T; 5] {
    let mut u = u;
    for _ in 0..rounds {
        for i in 1..4 {
            let flux = (u[i + 1] - u[i]) * rate;
            u[i] += flux;
            u[i - 1] -= flux * u[i];
        }
        u[0] = u[4] * u[0];
    }
    u
}

#[test]
fn overlapping_elements() {
    check_vjp!(
        |u: [T; 5], rate: T| -> [T; 5] { stencil(u, rate, 3) },
        |bar| {
            let (u_bar, rate_bar, ()) = stencil_vjp(u, rate, 3, bar);
            (u_bar, rate_bar)
        },
        at [0.4, 0.9, -0.3, 0.2, 1.1, 0.3],
        Options::default()
    )
    .assert_passed();
}

/// Reverse ranges, ranges with computed bounds, and a loop that changes nothing.
#[differentiable]
fn ranges<T: Real>(x: T, w: [T; 6], first: usize) -> T {
    let mut s = x;
    for i in (first..first + 3).rev() {
        s = s * w[i] + x;
    }
    for i in (1..=4).rev() {
        s = s + w[i] * s.sin();
    }
    for _ in 0..3 {
        let _unused = s * s;
    }
    for i in 0..0 {
        s = s * w[i];
    }
    s
}

#[test]
fn every_kind_of_range() {
    check_vjp!(
        |x: T, w: [T; 6]| -> T { ranges(x, w, 2) },
        |bar| {
            let (x_bar, w_bar, ()) = ranges_vjp(x, w, 2, bar);
            (x_bar, w_bar)
        },
        at [0.4, 0.9, -0.3, 0.2, 1.1, 0.3, 0.7],
        Options::default()
    )
    .assert_passed();
}

/// Second derivatives: the pullback runs on dual numbers.
#[test]
fn pullbacks_run_on_dual_numbers() {
    use pullback_math::Dual;
    let x = Dual::new(0.4, 1.0);
    let slope = made_vjp(x, Dual::fixed(1.0));
    // f = 2 x (x + 1), f' = 4 x + 2, f'' = 4
    assert!((slope.value - 3.6).abs() < 1e-15 && (slope.tangent - 4.0).abs() < 1e-15);
}
