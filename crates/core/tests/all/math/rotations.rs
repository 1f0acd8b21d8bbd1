//! Quaternions: pullbacks, lanes, singular points, and rotation three ways.

use std::f64::consts::PI;

use super::common::*;
use proptest::{prop_assert, proptest};
use pullback_core::{check_vjp, gradcheck::Options};
use pullback_math::{Dual, Mat3, MulVjp, Quat, Vec3, rotation_vector_rate, rotation_vector_rate_vjp};

check!(product, any, |a: Quat<T>, b: Quat<T>| -> Quat<T> { a * b }, |o| a.mul_vjp(b, o));
check!(new, any, |w: T, x: T, y: T, z: T| -> Quat<T> { Quat::new(w, x, y, z) }, |o| Quat::new_vjp(
    w, x, y, z, o
));
check!(from_parts, any, |w: T, u: Vec3<T>| -> Quat<T> { Quat::from_parts(w, u) }, |o| Quat::from_parts_vjp(
    w, u, o
));
check!(
    rate_of_rotation_vector,
    any,
    |u: Vec3<T>, omega: Vec3<T>| -> Vec3<T> { rotation_vector_rate(u, omega) },
    |o| rotation_vector_rate_vjp(u, omega, o)
);
check!(vector_part, any, |q: Quat<T>| -> Vec3<T> { q.vector() }, |o| q.vector_vjp(o));
check!(conjugate, any, |q: Quat<T>| -> Quat<T> { q.conjugate() }, |o| q.conjugate_vjp(o));
check!(norm_squared, any, |q: Quat<T>| -> T { q.norm_squared() }, |o| q.norm_squared_vjp(o));
check!(normalize, any, |q: Quat<T>| -> Quat<T> { q.normalize() }, |o| q.normalize_vjp(o));
check!(rotate, any, |q: Quat<T>, v: Vec3<T>| -> Vec3<T> { q.rotate(v) }, |o| q.rotate_vjp(v, o));
check!(inverse_rotate, any, |q: Quat<T>, v: Vec3<T>| -> Vec3<T> { q.inverse_rotate(v) }, |o| q
    .inverse_rotate_vjp(v, o));
check!(to_mat3, any, |q: Quat<T>| -> Mat3<T> { q.to_mat3() }, |o| q.to_mat3_vjp(o));
check!(from_mat3, any_matrix, |m: Mat3<T>| -> Quat<T> { Quat::from_mat3(m) }, |o| Quat::from_mat3_vjp(m, o));
check!(
    from_axis_angle,
    any,
    |axis: Vec3<T>, angle: T| -> Quat<T> { Quat::from_axis_angle(axis, angle) },
    |o| Quat::from_axis_angle_vjp(axis, angle, o)
);
check!(exp, any, |r: Vec3<T>| -> Quat<T> { Quat::exp(r) }, |o| Quat::exp_vjp(r, o));
check!(exp_small, small, |r: Vec3<T>| -> Quat<T> { Quat::exp(r) }, |o| Quat::exp_vjp(r, o));
check!(log, any, |q: Quat<T>| -> Vec3<T> { q.log() }, |o| q.log_vjp(o));
check!(log_small, near_identity, |q: Quat<T>| -> Vec3<T> { q.log() }, |o| q.log_vjp(o));
check!(integrate, any, |q: Quat<T>, omega: Vec3<T>, dt: T| -> Quat<T> { q.integrate(omega, dt) }, |o| q
    .integrate_vjp(omega, dt, o));
check!(slerp, any, |a: Quat<T>, b: Quat<T>, t: T| -> Quat<T> { a.slerp(b, t) }, |o| a.slerp_vjp(b, t, o));

fn small(random: &mut Random, n: usize) -> Vec<f64> {
    any(random, n).into_iter().map(|x| 0.01 * x).collect()
}

/// On both sides of the double cover.
fn near_identity(random: &mut Random, n: usize) -> Vec<f64> {
    let mut q: Vec<f64> = any(random, n).into_iter().map(|x| 0.02 * x).collect();
    q[0] += if random.uniform(0.0, 1.0) < 0.5 { 1.0 } else { -1.0 };
    q
}

/// A rotation by up to a full turn and a little off the manifold.
fn any_matrix(random: &mut Random, _n: usize) -> Vec<f64> {
    flat(rotation(random) + matrix(random) * 0.01)
}

#[test]
fn quaternion_and_matrix_rotate_alike() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let (q, p, v) = (unit_quat(&mut random), unit_quat(&mut random), vector(&mut random));
        let r = q.to_mat3();
        assert_same(q.rotate(v), r * v, 1e-14);
        assert_same(q.inverse_rotate(v), r.transpose() * v, 1e-14);
        assert_same(q.rotate(v), (q * Quat::from_parts(0.0, v) * q.conjugate()).vector(), 1e-14);
        assert_same((q * p).to_mat3(), r * p.to_mat3(), 1e-14);
        assert_same(r.transpose() * r, Mat3::identity(), 1e-14);
        assert!((r.determinant() - 1.0).abs() < 1e-14);
        let back = Quat::from_mat3(r);
        assert_same(back.to_mat3(), r, 1e-14);
    }
}

#[test]
fn every_largest_component_is_chosen_and_its_pullback_is_right() {
    // Angle π about each axis and about none: the four places where one component is all there is.
    let turns = [
        Quat::identity(),
        Quat::new(0.0, 1.0, 0.0, 0.0),
        Quat::new(0.0, 0.0, 1.0, 0.0),
        Quat::new(0.0, 0.0, 0.0, 1.0),
    ];
    for q in turns {
        let m = q.to_mat3();
        assert_same(Quat::from_mat3(m), q, 0.0);
        check_vjp!(
            |m: Mat3<T>| -> Quat<T> { Quat::from_mat3(m) },
            |o| Quat::from_mat3_vjp(m, o),
            at flat(m), Options::default()
        )
        .assert_passed();
    }
}

#[test]
fn normalizing_zero_gives_the_identity_with_zero_derivative() {
    let zero = Quat::<f64>::zero();
    assert_eq!(zero.normalize(), Quat::identity());
    assert_same(zero.normalize_vjp(Quat::new(1.0, 2.0, 3.0, 4.0)), Quat::zero(), 0.0);
}

#[test]
fn exp_is_exact_at_zero() {
    let zero = Vec3::zero();
    assert_eq!(Quat::<f64>::exp(zero), Quat::identity());
    // dq = (0, dr/2)
    let r_bar = Quat::exp_vjp(zero, Quat::new(7.0, 1.0, 2.0, 3.0));
    assert_same(r_bar, Vec3::new(0.5, 1.0, 1.5), 1e-16);
    check_vjp!(|r: Vec3<T>| -> Quat<T> { Quat::exp(r) }, |o| Quat::exp_vjp(r, o), at flat(zero), Options::default())
        .assert_passed();
}

#[test]
fn log_is_exact_at_plus_and_minus_identity() {
    for sign in [1.0, -1.0] {
        let q = Quat::identity() * sign;
        assert_same(q.log(), Vec3::zero(), 0.0);
        let q_bar = q.log_vjp(Vec3::new(1.0, 2.0, 3.0));
        assert_same(q_bar, Quat::new(0.0, 2.0, 4.0, 6.0) * sign, 1e-15);
        check_vjp!(|q: Quat<T>| -> Vec3<T> { q.log() }, |o| q.log_vjp(o), at flat(q), Options::default())
            .assert_passed();
    }
}

#[test]
fn log_at_angle_pi_is_that_of_positive_w() {
    let axis = Vec3::new(1.0, -2.0, 2.0) * (1.0 / 3.0);
    let q = Quat::from_parts(0.0, axis);
    assert_same(q.log(), axis * PI, 1e-14);
    // r = 2 atan2(|u|, w) u/|u|: ∂r/∂w = −2 u, ∂r/∂u = π (1 − u uᵀ) for unit u.
    let r_bar = Vec3::new(0.3, 0.7, -1.1);
    let tangential = (r_bar - axis * axis.dot(r_bar)) * PI;
    assert_same(q.log_vjp(r_bar), Quat::from_parts(-2.0 * axis.dot(r_bar), tangential), 1e-14);
    // Just across, the other way round.
    assert_same(Quat::from_parts(-1e-9, axis).log(), axis * -PI, 1e-8);
}

#[test]
fn log_of_zero_is_zero() {
    let zero = Quat::<f64>::zero();
    assert_eq!(zero.log(), Vec3::zero());
    assert_same(zero.log_vjp(Vec3::new(1.0, 2.0, 3.0)), Quat::zero(), 0.0);
    let tiny = Quat::<f32>::new(1e-30, 1e-30, 0.0, 0.0);
    assert!(tiny.log().x.is_finite() && tiny.log_vjp(Vec3::new(1.0, 1.0, 1.0)).x.is_finite());
}

#[test]
fn integration_keeps_the_length_and_adds_angles() {
    let mut random = Random::new(5);
    let (mut q, axis) = (unit_quat(&mut random), Vec3::new(0.6, 0.0, 0.8));
    let start = q;
    for _ in 0..1000 {
        q = q.integrate(axis * 2.0, 1e-3);
    }
    assert!((q.norm_squared() - 1.0).abs() < 1e-12);
    assert_same(q, start * Quat::from_axis_angle(axis, 2.0), 1e-12);
}

#[test]
fn slerp_runs_at_constant_rate() {
    let mut random = Random::new(6);
    let (a, b) = (unit_quat(&mut random), unit_quat(&mut random));
    assert_same(a.slerp(b, 0.0), a, 1e-14);
    assert_same(a.slerp(b, 1.0).to_mat3(), b.to_mat3(), 1e-14);
    let (third, whole) = ((a.conjugate() * a.slerp(b, 1.0 / 3.0)).log(), (a.conjugate() * b).log());
    assert_same(third * 3.0, whole, 1e-13);
}

#[test]
fn second_derivatives_of_exp_are_exact_at_zero() {
    // exp(r).w = 1 − |r|²/8 + …: the Hessian is −1/4. Dual numbers through the pullback.
    let moving = |x: f64| Dual::new(x, 0.0);
    let r = Vec3::new(Dual::new(0.0, 1.0), moving(0.0), moving(0.0));
    let w_bar = Quat::from_parts(Dual::fixed(1.0), Vec3::zero());
    assert_eq!(Quat::exp_vjp(r, w_bar).x.tangent, -0.25);
}

proptest! {
    #[test]
    fn log_undoes_exp(x in -1.7f64..1.7, y in -1.7f64..1.7, z in -1.7f64..1.7) {
        let r = Vec3::new(x, y, z);
        prop_assert!((Quat::exp(r).log() - r).norm() < 1e-13);
    }
}

#[test]
fn the_rate_of_a_rotation_vector_is_that_of_its_exponential() {
    // q₀ exp(u(t)) with u̇ = dexp⁻¹ ω turns with ω: exp(u) ⊗ exp(ω dt) = exp(u + u̇ dt).
    let (u, omega, dt) = (Vec3::new(0.03, -0.05, 0.04), Vec3::new(1.1, 0.4, -0.7), 1e-6f64);
    let moved = Quat::exp(u) * Quat::exp(omega * dt);
    let predicted = Quat::exp(u + rotation_vector_rate(u, omega) * dt);
    assert!((moved - predicted).norm_squared() < 1e-24);
    let plain = Quat::exp(u + omega * dt);
    assert!((moved - plain).norm_squared() > 1e-18, "the correction matters");
}
