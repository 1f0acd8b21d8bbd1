//! Branches and loops.

// Each way of writing a thing is tested, also the ones that clippy would rewrite.
#![allow(clippy::assign_op_pattern)]

use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_math::{Real, Vec3, differentiable};

#[differentiable]
fn branches(x: f64, y: f64) -> f64 {
    let mut s = x * y;
    let scale = if x < y { s.sin() } else { x - y };
    if s > 0.5 && x < 10.0 {
        s = s * scale;
        if y > 1.0 {
            s += y * y;
        } else if y > 0.5 {
            let x = x * 2.0;
            s -= x;
        }
    }
    s + scale
}

/// Central differences of a function of two numbers, for code that branches on plain `bool`s.
fn assert_gradient(f: impl Fn(f64, f64) -> f64, at: (f64, f64), got: (f64, f64)) {
    let h = 1e-6;
    let dx = (f(at.0 + h, at.1) - f(at.0 - h, at.1)) / (2.0 * h);
    let dy = (f(at.0, at.1 + h) - f(at.0, at.1 - h)) / (2.0 * h);
    let error = (dx - got.0).abs().max((dy - got.1).abs());
    assert!(error < 1e-7 * (1.0 + dx.abs() + dy.abs()), "{got:?} differs from ({dx}, {dy}) at {at:?}");
}

#[test]
fn nested_branches_on_every_side() {
    for at in [(0.7, 1.3), (1.3, 0.7), (0.1, 0.2), (2.0, 1.5), (3.0, 0.4), (0.2, 0.9), (11.0, 2.0)] {
        assert_gradient(branches, at, branches_vjp(at.0, at.1, 1.0));
    }
}

#[differentiable]
fn any_lane<T: Real<Mask = bool>>(a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    let d = a - b;
    if d.norm_squared().gt(T::lit(4.0)) {
        let n = d.normalize();
        n * d.norm()
    } else if d.x.lt(T::zero()) {
        a
    } else {
        d * T::lit(3.0)
    }
}

#[test]
fn branch_values_of_vectors() {
    let one = Vec3::new(1.0, -2.0, 0.5);
    for (a, b) in
        [([3.0, 0.0, 1.0], [0.0; 3]), ([0.0, 0.1, 0.2], [1.0, 0.0, 0.0]), ([1.0, 0.1, 0.2], [0.0; 3])]
    {
        let (a, b) = (Vec3::new(a[0], a[1], a[2]), Vec3::new(b[0], b[1], b[2]));
        let (a_bar, b_bar) = any_lane_vjp(a, b, one);
        let along = |s: f64, t: f64| any_lane(a + one * s, b + one * t).dot(one);
        assert_gradient(along, (0.0, 0.0), (a_bar.dot(one), b_bar.dot(one)));
    }
}

#[differentiable]
fn literal_loop<T: Real>(x: T, y: T) -> T {
    let mut s = x;
    let mut product = T::one();
    for i in 0..4 {
        product *= s + T::lit(i as f64);
        s = s.sin() + y * product;
    }
    s * product
}

#[test]
fn loops_with_literal_bounds() {
    check_vjp!(
        |x: T, y: T| -> T { literal_loop(x, y) },
        |bar| literal_loop_vjp(x, y, bar),
        at [0.3, 0.1],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn horner<T: Real, const N: usize>(c: [T; N], x: T) -> T {
    let mut sum = T::zero();
    for i in (0..N).rev() {
        sum = sum * x + c[i];
    }
    sum
}

#[differentiable]
fn powers<T: Real, const N: usize>(x: T) -> [T; N] {
    let mut p = [T::one(); N];
    for i in 1..N {
        p[i] = p[i - 1] * x;
    }
    p
}

#[test]
fn loops_with_const_bounds_and_array_elements() {
    check_vjp!(
        |c: [T; 5], x: T| -> T { horner(c, x) },
        |bar| horner_vjp(c, x, bar),
        at [1.0, -2.0, 0.5, 0.25, 3.0, 0.7],
        Options::default()
    )
    .assert_passed();
    check_vjp!(
        |x: T| -> [T; 6] { powers::<T, 6>(x) },
        |bar| powers_vjp::<T, 6>(x, bar),
        at[1.3],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn runtime_loop<T: Real>(x: Vec3<T>, v: Vec3<T>, k: T, steps: usize) -> Vec3<T> {
    let (mut x, mut v) = (x, v);
    let dt = T::lit(0.05);
    for _ in 0..steps {
        let a = x * -k;
        v += a * dt;
        x += v * dt;
    }
    x
}

#[test]
fn loops_with_runtime_bounds() {
    check_vjp!(
        |x: Vec3<T>, v: Vec3<T>, k: T| -> Vec3<T> { runtime_loop(x, v, k, 20) },
        |bar| {
            let (x_bar, v_bar, k_bar, ()) = runtime_loop_vjp(x, v, k, 20, bar);
            (x_bar, v_bar, k_bar)
        },
        at [1.0, 2.0, 3.0, -1.0, 0.5, 0.2, 2.5],
        Options::default()
    )
    .assert_passed();
    // No iteration: the identity.
    let (x_bar, ..) = runtime_loop_vjp(Vec3::zero(), Vec3::zero(), 1.0, 0, Vec3::new(1.0, 2.0, 3.0));
    assert_eq!(x_bar, Vec3::new(1.0, 2.0, 3.0));
}

#[differentiable]
fn matrix_product<T: Real>(a: [[T; 3]; 3], b: [[T; 3]; 3], n: usize) -> [[T; 3]; 3] {
    let mut c = [[T::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..n {
            let mut sum = T::zero();
            for k in 0..=2 {
                sum += a[i][k] * b[k][j];
            }
            c[i][j] = sum;
        }
    }
    c
}

#[test]
fn nested_loops() {
    check_vjp!(
        |a: [[T; 3]; 3], b: [[T; 3]; 3]| -> [[T; 3]; 3] { matrix_product(a, b, 3) },
        |bar| {
            let (a_bar, b_bar, ()) = matrix_product_vjp(a, b, 3, bar);
            (a_bar, b_bar)
        },
        at std::array::from_fn::<f64, 18, _>(|i| (i as f64 * 0.7).sin()),
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn traded<T: Real>(x: T, y: T) -> T {
    let (mut a, mut b) = (x, y);
    for i in 0..5 {
        (a, b) = (b, a * b + T::lit(0.1));
        if i == 3 {
            a = constant_like(a) * x;
        }
    }
    a - b
}

#[differentiable]
fn constant_like<T: Real>(x: T) -> T {
    x * T::lit(0.5)
}

#[test]
fn variables_that_trade_places_and_branches_in_loops() {
    check_vjp!(
        |x: T, y: T| -> T { traded(x, y) },
        |bar| traded_vjp(x, y, bar),
        at [0.8, 1.1],
        Options::default()
    )
    .assert_passed();
}

/// Loops in branches in loops, outer values first touched deep inside, a counter that carries no cotangent.
#[differentiable]
fn deep<T: Real>(x: T, table: [T; 4], n: usize) -> T {
    let mut total = T::zero();
    let mut count = 0;
    for i in 0..n {
        if i % 2 == 0 {
            let mut inner = x;
            for j in 0..=i {
                inner = inner * table[j % 4] + T::lit(0.3);
                count += 1;
            }
            total += inner * T::lit(count as f64);
        } else {
            total *= table[count % 4].cos();
        }
    }
    if n > 3 {
        for k in 0..2 {
            total = total * x + table[k];
        }
    }
    total
}

#[test]
fn loops_in_branches_in_loops() {
    // `check_vjp!` takes no variables from outside, so the bounds are written out.
    macro_rules! with_bound {
        ($($n:literal)*) => {$(
            check_vjp!(
                |x: T, table: [T; 4]| -> T { deep(x, table, $n) },
                |bar| {
                    let (x_bar, table_bar, ()) = deep_vjp(x, table, $n, bar);
                    (x_bar, table_bar)
                },
                at [0.8, 1.1, -0.4, 0.6, 0.9],
                Options::default()
            )
            .assert_passed();
        )*};
    }
    with_bound!(1 2 3 5);
}

/// An unassigned path through a branch, a variable overwritten without reading, an unused carried variable.
#[differentiable]
fn overwritten<T: Real>(x: T, y: T) -> T {
    let mut last = x;
    let mut unused = y;
    for i in 0..3 {
        unused = unused * x;
        last = y * T::lit(i as f64 + 1.0);
    }
    let mut z = last;
    if T::LANES == 1 {
        z = z * x;
    }
    z
}

#[test]
fn overwritten_and_unused_variables() {
    check_vjp!(
        |x: T, y: T| -> T { overwritten(x, y) },
        |bar| overwritten_vjp(x, y, bar),
        at [0.8, 1.1],
        Options::default()
    )
    .assert_passed();
}
