//! Straight-line code: arithmetic, calls, methods, fields, construction, assignment.

// Each way of writing a thing is tested, also the ones that clippy would rewrite.
#![allow(clippy::assign_op_pattern, clippy::needless_return)]

use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_math::{Real, Vec3, constant, differentiable, select};

#[differentiable]
fn arithmetic<T: Real>(a: T, b: T) -> T {
    -(a * b + T::lit(2.0)) / (b - a * T::lit(0.25)) + a
}

#[test]
fn operators() {
    check_vjp!(|a: T, b: T| -> T { arithmetic(a, b) }, |y| arithmetic_vjp(a, b, y), at [0.7, 1.3], Options::default())
        .assert_passed();
}

#[differentiable]
fn shadowed<T: Real>(x: T) -> T {
    let x = x * x;
    let y: T = x.sin();
    let x = x + y * x;
    let (x, y) = (y, x);
    x * y.exp()
}

#[test]
fn shadowing_annotations_and_tuple_patterns() {
    check_vjp!(|x: T| -> T { shadowed(x) }, |y| shadowed_vjp(x, y), at[0.6], Options::default())
        .assert_passed();
}

#[differentiable]
fn reassigned<T: Real>(mut a: T, b: T) -> T {
    let mut s = T::zero();
    s += a;
    a = a * b;
    s *= a;
    s -= b;
    s /= a + T::lit(3.0);
    s
}

#[test]
fn assignment_and_compound_assignment() {
    check_vjp!(|a: T, b: T| -> T { reassigned(a, b) }, |y| reassigned_vjp(a, b, y), at [0.7, 1.3], Options::default())
        .assert_passed();
}

/// Spring with damping between two particles.
#[differentiable]
pub fn spring_force<T: Real>(
    xa: Vec3<T>,
    xb: Vec3<T>,
    va: Vec3<T>,
    vb: Vec3<T>,
    rest: T,
    ke: T,
    kd: T,
) -> Vec3<T> {
    let d = xa - xb;
    let length = d.norm();
    let n = d.normalize();
    let stretch = length - rest;
    let rate = n.dot(va - vb);
    n * -(ke * stretch + kd * rate)
}

#[test]
fn methods_and_mixed_types() {
    check_vjp!(
        |xa: Vec3<T>, xb: Vec3<T>, va: Vec3<T>, vb: Vec3<T>, r: T| -> Vec3<T> {
            spring_force(xa, xb, va, vb, r, r * r, r.exp())
        },
        |y| {
            let (xa_bar, xb_bar, va_bar, vb_bar, rest, ke, kd) =
                spring_force_vjp(xa, xb, va, vb, r, r * r, r.exp(), y);
            (xa_bar, xb_bar, va_bar, vb_bar, rest + ke * (r + r) + kd * r.exp())
        },
        at [1.0, 2.0, 3.0, -1.0, 0.5, 2.0, 0.1, 0.2, -0.3, 0.5, -0.4, 0.3, 0.8],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn fields<T: Real>(v: Vec3<T>, w: (T, [T; 3])) -> (Vec3<T>, T) {
    let (first, rest) = w;
    let Vec3 { x, y, z } = v;
    let mut moved = Vec3 { x: y, y: x * first, z };
    moved.z += rest[0] * rest[2];
    moved.x = moved.x * rest[1] + v.z;
    let pair = [moved, Vec3::new(first, first, v.y)];
    (pair[0].cross(pair[1]), moved.dot(v) * w.1[1])
}

#[test]
fn fields_indices_and_construction() {
    check_vjp!(
        |v: Vec3<T>, w: (T, [T; 3])| -> (Vec3<T>, T) { fields(v, w) },
        |y| fields_vjp(v, w, y),
        at [1.0, 2.0, 3.0, -1.0, 0.5, 2.0, 0.7],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn nested_calls<T: Real>(v: Vec3<T>, s: T) -> T {
    let turned = rotate::<T>(v, s);
    let doubled = helpers::twice(turned);
    arithmetic(doubled.x, s) + doubled.norm()
}

#[differentiable]
fn rotate<T: Real>(v: Vec3<T>, angle: T) -> Vec3<T> {
    let (sin, cos) = angle.sin_cos();
    Vec3::new(cos * v.x - sin * v.y, sin * v.x + cos * v.y, v.z)
}

mod helpers {
    use super::*;

    #[differentiable]
    pub fn twice<T: Real>(v: Vec3<T>) -> Vec3<T> {
        v + v
    }
}

#[test]
fn calls_by_path_with_generics() {
    check_vjp!(
        |v: Vec3<T>, s: T| -> T { nested_calls(v, s) },
        |y| nested_calls_vjp(v, s, y),
        at [1.0, 2.0, 3.0, 0.4],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn with_constants<T: Real>(x: T, #[constant] k: T, n: i32, flag: bool, table: &[T]) -> T {
    let weight = if flag { table[0] * k } else { T::one() };
    let stopped = constant(x * x);
    debug_assert!(n > 0, "n is {n}");
    x.powi(n) * weight + stopped * x * table[table.len() - 1]
}

#[test]
fn constants_have_unit_slots() {
    let (x_bar, k, n, flag, table) = with_constants_vjp(1.5, 2.0, 3, true, &[0.5, 4.0], 1.0);
    let ((), (), (), ()) = (k, n, flag, table);
    assert_eq!(with_constants(1.5, 2.0, 3, true, &[0.5, 4.0]), 3.375 + 2.25 * 1.5 * 4.0);
    // d(x³ w + c x t) = (3 x² w + c t) dx with w = table[0] k and c = x² held
    assert_eq!(x_bar, 3.0 * 1.5 * 1.5 * 1.0 + 2.25 * 4.0);
}

#[differentiable]
fn selected<T: Real>(a: T, b: T) -> T {
    let mask = a.lt(b) & b.gt(T::zero());
    let x = select(mask, a * b, a - b);
    T::select(x.gt(T::lit(0.1)), x * x, x)
}

#[test]
fn select_routes_the_cotangent() {
    for at in [[0.7, 1.3], [1.3, 0.7], [0.1, 0.2]] {
        check_vjp!(|a: T, b: T| -> T { selected(a, b) }, |y| selected_vjp(a, b, y), at at, Options::default())
            .assert_passed();
    }
}

#[differentiable]
fn literals(x: f64, y: f64) -> f64 {
    let half = 0.5;
    2.0 * x * y + half * x - 1.0 / y + x.sqrt().max(0.2)
}

#[test]
fn plain_floats_and_literals() {
    let (x_bar, y_bar) = literals_vjp(4.0, 2.0, 1.0);
    assert_eq!(literals(4.0, 2.0), 16.0 + 2.0 - 0.5 + 2.0);
    assert_eq!((x_bar, y_bar), (4.0 + 0.5 + 0.25, 8.0 + 0.25));
    assert_eq!(literals_single(4.0, 2.0), 24.0);
    assert_eq!(literals_single_vjp(4.0, 2.0, 1.0), (6.0, 8.0));
}

#[differentiable]
fn literals_single(x: f32, y: f32) -> f32 {
    2.0 * x * y + (x + x)
}

#[differentiable]
fn repeated<T: Real>(x: T, w: [T; 3]) -> T {
    let copies = [x; 3];
    let [a, b, c] = copies;
    a * w[0] + b * w[1] * c + {
        let t = w[2] * x;
        t * t
    }
}

#[test]
fn repeats_blocks_and_array_patterns() {
    check_vjp!(
        |x: T, w: [T; 3]| -> T { repeated(x, w) },
        |y| repeated_vjp(x, w, y),
        at [0.3, 1.0, 2.0, 3.0],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn untouched<T: Real>(x: T, _unused: Vec3<T>) -> T {
    return x * x;
}

#[test]
fn unused_arguments_get_zeros() {
    assert_eq!(untouched(3.0, Vec3::zero()), 9.0);
    assert_eq!(untouched_vjp(3.0, Vec3::new(1.0, 2.0, 3.0), 1.0), (6.0, Vec3::zero()));
}

/// The callee holds `k` constant although the caller's is active: the gradient stops there.
#[differentiable]
fn through_constant_slot<T: Real>(x: T, k: T) -> T {
    scaled(x, k) + k
}

#[differentiable]
fn scaled<T: Real>(x: T, #[constant] k: T) -> T {
    x * k
}

#[test]
fn a_constant_slot_of_the_callee_contributes_nothing() {
    assert_eq!(through_constant_slot(3.0, 5.0), 20.0);
    assert_eq!(through_constant_slot_vjp(3.0, 5.0, 1.0), (5.0, 1.0));
}
