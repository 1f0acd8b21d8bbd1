//! Scalars and vectors: pullbacks against differences, lanes, and the documented values at singular points.

use super::common::*;
use pullback_core::{check_vjp, gradcheck::Options};
use pullback_math::{AddVjp, Dual, MulVjp, Real, SubVjp, Vec3, f32x8, f64x4, select, select_vjp};

check!(add, any, |a: T, b: T| -> T { a + b }, |o| a.add_vjp(b, o));
check!(sub, any, |a: T, b: T| -> T { a - b }, |o| a.sub_vjp(b, o));
check!(mul, any, |a: T, b: T| -> T { a * b }, |o| a.mul_vjp(b, o));
check!(div, positive, |a: T, b: T| -> T { a / b }, |o| a.div_vjp(b, o));
check!(neg, any, |a: T| -> T { -a }, |o| a.neg_vjp(o));
check!(mul_add, any, |a: T, b: T, c: T| -> T { a.mul_add(b, c) }, |o| a.mul_add_vjp(b, c, o));
check!(recip, positive, |a: T| -> T { a.recip() }, |o| a.recip_vjp(o));
check!(sqrt, positive, |a: T| -> T { a.sqrt() }, |o| a.sqrt_vjp(o));
check!(
    sin_cos,
    any,
    |a: T| -> [T; 2] {
        let (s, c) = a.sin_cos();
        [s, c]
    },
    |o| a.sin_cos_vjp((o[0], o[1]))
);
check!(sin, any, |a: T| -> T { a.sin() }, |o| a.sin_vjp(o));
check!(cos, any, |a: T| -> T { a.cos() }, |o| a.cos_vjp(o));
check!(tan, below_one, |a: T| -> T { a.tan() }, |o| a.tan_vjp(o));
check!(asin, below_one, |a: T| -> T { a.asin() }, |o| a.asin_vjp(o));
check!(acos, below_one, |a: T| -> T { a.acos() }, |o| a.acos_vjp(o));
check!(atan2, any, |y: T, x: T| -> T { y.atan2(x) }, |o| y.atan2_vjp(x, o));
check!(exp, any, |a: T| -> T { a.exp() }, |o| a.exp_vjp(o));
check!(ln, positive, |a: T| -> T { a.ln() }, |o| a.ln_vjp(o));
check!(tanh, any, |a: T| -> T { a.tanh() }, |o| a.tanh_vjp(o));
check!(powi, positive, |a: T| -> T { a.powi(-3) }, |o| a.powi_vjp(-3, o));
check!(powi_five, any, |a: T| -> T { a.powi(5) }, |o| a.powi_vjp(5, o));
check!(powf, positive, |a: T, p: T| -> T { a.powf(p) }, |o| a.powf_vjp(p, o));
check!(abs, any, |a: T| -> T { a.abs() }, |o| a.abs_vjp(o));
check!(min, any, |a: T, b: T| -> T { a.min(b) }, |o| a.min_vjp(b, o));
check!(max, any, |a: T, b: T| -> T { a.max(b) }, |o| a.max_vjp(b, o));
check!(select_by_size, any, |a: T, b: T| -> T { select(a.lt(b), a, b) }, |o| select_vjp(a.lt(b), a, b, o));

check!(vector_new, any, |x: T, y: T, z: T| -> Vec3<T> { Vec3::new(x, y, z) }, |o| Vec3::new_vjp(x, y, z, o));
check!(dot, any, |a: Vec3<T>, b: Vec3<T>| -> T { a.dot(b) }, |o| a.dot_vjp(b, o));
check!(cross, any, |a: Vec3<T>, b: Vec3<T>| -> Vec3<T> { a.cross(b) }, |o| a.cross_vjp(b, o));
check!(norm_squared, any, |a: Vec3<T>| -> T { a.norm_squared() }, |o| a.norm_squared_vjp(o));
check!(norm, any, |a: Vec3<T>| -> T { a.norm() }, |o| a.norm_vjp(o));
check!(normalize, any, |a: Vec3<T>| -> Vec3<T> { a.normalize() }, |o| a.normalize_vjp(o));
check!(vector_add, any, |a: Vec3<T>, b: Vec3<T>| -> Vec3<T> { a + b }, |o| a.add_vjp(b, o));
check!(vector_sub, any, |a: Vec3<T>, b: Vec3<T>| -> Vec3<T> { a - b }, |o| a.sub_vjp(b, o));
check!(vector_scale, any, |a: Vec3<T>, s: T| -> Vec3<T> { a * s }, |o| a.mul_vjp(s, o));

fn below_one(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.uniform(-0.95, 0.95)).collect()
}

/// Calls `$body` with `T` as each scalar type.
macro_rules! for_each_scalar {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            fn on<T: Real>() $body
            on::<f64>();
            on::<f32>();
            on::<f64x4>();
            on::<f32x8>();
            on::<Dual<f64>>();
        }
    };
}

for_each_scalar!(singular_points_have_the_documented_derivative, {
    let l = |x: f64| T::lit(x);
    let value = |x: T| x.lane(0);
    let one = l(1.0);
    for x in [0.0, -0.0, -1.0] {
        assert_eq!(value(l(x).sqrt_vjp(one)), 0.0);
        assert_eq!(value(l(x).ln_vjp(one)), 0.0);
        assert_eq!(value(l(x).powf(l(0.5))), 0.0);
        let (base, exponent) = l(x).powf_vjp(l(0.5), one);
        assert_eq!((value(base), value(exponent)), (0.0, 0.0));
    }
    for x in [1.0, -1.0, 1.5, -2.0] {
        assert_eq!(value(l(x).asin_vjp(one)), 0.0);
        assert_eq!(value(l(x).acos_vjp(one)), 0.0);
    }
    assert_eq!(value(l(0.0).abs_vjp(one)), 0.0);
    let (a, b) = l(2.0).min_vjp(l(2.0), one);
    assert_eq!((value(a), value(b)), (1.0, 0.0));
    let (a, b) = l(2.0).max_vjp(l(2.0), one);
    assert_eq!((value(a), value(b)), (1.0, 0.0));
    let (y, x) = l(0.0).atan2_vjp(l(0.0), one);
    assert_eq!((value(y), value(x)), (0.0, 0.0));
    let zero = Vec3::<T>::zero();
    let bar = Vec3::new(one, one, one);
    assert_eq!(value(zero.norm_vjp(one).x), 0.0);
    assert_eq!(value(zero.normalize().y), 0.0);
    assert_eq!(value(zero.normalize_vjp(bar).z), 0.0);
    assert_eq!(value(zero.norm()), 0.0);
});

// The square of a small radius underflows long before the radius does; its inverse was infinite.
for_each_scalar!(atan2_is_finite_close_to_the_origin, {
    for size in [1e-5, 1e-18, 1e-20, 1e-25, 1e-37] {
        let (y, x) = (T::lit(size) * T::lit(0.6), T::lit(size) * T::lit(0.8));
        let (y_bar, x_bar) = y.atan2_vjp(x, T::lit(1e-3));
        let expected = (0.8e-3 / size, -0.6e-3 / size);
        assert!((y_bar.lane(0) / expected.0 - 1.0).abs() < 1e-5, "{size}: {y_bar:?}");
        assert!((x_bar.lane(0) / expected.1 - 1.0).abs() < 1e-5, "{size}: {x_bar:?}");
        let (_, x_bar) = T::zero().atan2_vjp(x, T::one());
        assert_eq!(x_bar.lane(0), 0.0);
    }
});

#[test]
fn asin_keeps_its_slope_close_to_one() {
    // 1 − x² by (1 − x)(1 + x): with x = 1 − 2⁻⁵⁰ the slope is 2²⁵ / √(2 − 2⁻⁵⁰).
    let x = 1.0 - 2f64.powi(-50);
    let slope = x.asin_vjp(1.0);
    let exact = 2f64.powi(25) / 2f64.sqrt();
    assert!((slope / exact - 1.0).abs() < 1e-14, "{slope} {exact}");
}

#[test]
fn lanes_of_elementary_functions_agree_over_their_range() {
    let mut random = Random::new(2);
    let mut worst = [0.0f64; 6];
    for _ in 0..20_000 {
        let x = random.uniform(-10.0, 10.0);
        let wide = f64x4::lit(x);
        let unit = f64x4::lit(x / 10.0);
        let pairs = [
            (Real::sin(wide).lane(0), x.sin()),
            (Real::exp(wide).lane(0) / x.exp(), 1.0),
            (Real::ln(Real::abs(wide)).lane(0), x.abs().ln()),
            (Real::tanh(wide).lane(0), x.tanh()),
            (Real::asin(unit).lane(0), (x / 10.0).asin()),
            (Real::atan2(wide, f64x4::lit(-0.3)).lane(0), x.atan2(-0.3)),
        ];
        for (worst, (a, b)) in worst.iter_mut().zip(pairs) {
            *worst = worst.max((a - b).abs());
        }
    }
    assert!(worst.iter().all(|w| *w < 1e-14), "{worst:?}");
}

#[test]
fn a_cone_at_its_tip_is_flat_both_ways() {
    let allow = Options { allow_all_zero: true, ..Options::default() };
    let report = check_vjp!(|a: Vec3<T>| -> T { a.norm() }, |o| a.norm_vjp(o), at [0.0, 0.0, 0.0], allow);
    assert!(report.worst_forward() == 0.0 && report.entries.iter().all(|e| e.adjoint == 0.0), "{report}");
}
