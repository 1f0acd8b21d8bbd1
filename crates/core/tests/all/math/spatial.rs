//! Spatial vectors, inertias and transforms: pullbacks, lanes, and the laws of rigid bodies.

use super::common::*;
use pullback_math::{
    Flat, Force, Linear, Mat3, Motion, MulVjp, Quat, SpatialInertia, SymMat3, Transform, Vec3,
};

check!(motion_dot_force, any, |m: Motion<T>, f: Force<T>| -> T { m.dot(f) }, |o| m.dot_vjp(f, o));
check!(cross_motion, any, |a: Motion<T>, b: Motion<T>| -> Motion<T> { a.cross_motion(b) }, |o| a
    .cross_motion_vjp(b, o));
check!(cross_force, any, |a: Motion<T>, f: Force<T>| -> Force<T> { a.cross_force(f) }, |o| a
    .cross_force_vjp(f, o));
check!(velocity_at, any, |m: Motion<T>, p: Vec3<T>| -> Vec3<T> { m.velocity_at(p) }, |o| m
    .velocity_at_vjp(p, o));
check!(force_at_point, any, |f: Vec3<T>, p: Vec3<T>| -> Force<T> { Force::at_point(f, p) }, |o| {
    Force::at_point_vjp(f, p, o)
});
check!(motion_new, any, |a: Vec3<T>, b: Vec3<T>| -> Motion<T> { Motion::new(a, b) }, |o| Motion::new_vjp(
    a, b, o
));
check!(force_new, any, |a: Vec3<T>, b: Vec3<T>| -> Force<T> { Force::new(a, b) }, |o| Force::new_vjp(
    a, b, o
));
check!(motion_scale, any, |m: Motion<T>, s: T| -> Motion<T> { m * s }, |o| m.mul_vjp(s, o));

check!(
    inertia_from_com,
    any,
    |m: T, c: Vec3<T>, i: SymMat3<T>| -> SpatialInertia<T> { SpatialInertia::from_com(m, c, i) },
    |o| SpatialInertia::from_com_vjp(m, c, i, o)
);
check!(center_of_mass, positive, |i: SpatialInertia<T>| -> Vec3<T> { i.com() }, |o| i.com_vjp(o));
check!(inertia_about_com, positive, |i: SpatialInertia<T>| -> SymMat3<T> { i.inertia_about_com() }, |o| i
    .inertia_about_com_vjp(o));
check!(inertia_times_motion, any, |i: SpatialInertia<T>, m: Motion<T>| -> Force<T> { i * m }, |o| i
    .mul_vjp(m, o));
check!(kinetic_energy, any, |i: SpatialInertia<T>, m: Motion<T>| -> T { i.kinetic_energy(m) }, |o| i
    .kinetic_energy_vjp(m, o));

check!(transform_new, any, |r: Mat3<T>, p: Vec3<T>| -> Transform<T> { Transform::new(r, p) }, |o| {
    Transform::new_vjp(r, p, o)
});
check!(
    transform_from_quat,
    any,
    |q: Quat<T>, p: Vec3<T>| -> Transform<T> { Transform::from_quat(q, p) },
    |o| Transform::from_quat_vjp(q, p, o)
);
check!(compose, any, |a: Transform<T>, b: Transform<T>| -> Transform<T> { a * b }, |o| a.mul_vjp(b, o));
check!(inverse, any, |a: Transform<T>| -> Transform<T> { a.inverse() }, |o| a.inverse_vjp(o));
check!(point, any, |a: Transform<T>, x: Vec3<T>| -> Vec3<T> { a.point(x) }, |o| a.point_vjp(x, o));
check!(inverse_point, any, |a: Transform<T>, x: Vec3<T>| -> Vec3<T> { a.inverse_point(x) }, |o| a
    .inverse_point_vjp(x, o));
// Directions do not depend on the translation: the rotation's entries alone are inputs here.
check!(
    direction,
    any,
    |r: Mat3<T>, x: Vec3<T>| -> Vec3<T> { Transform::new(r, Vec3::zero()).direction(x) },
    |o| {
        let (a_bar, x_bar) = Transform::new(r, Vec3::zero()).direction_vjp(x, o);
        (a_bar.rotation, x_bar)
    }
);
check!(
    inverse_direction,
    any,
    |r: Mat3<T>, x: Vec3<T>| -> Vec3<T> { Transform::new(r, Vec3::zero()).inverse_direction(x) },
    |o| {
        let (a_bar, x_bar) = Transform::new(r, Vec3::zero()).inverse_direction_vjp(x, o);
        (a_bar.rotation, x_bar)
    }
);
check!(motion, any, |a: Transform<T>, m: Motion<T>| -> Motion<T> { a.motion(m) }, |o| a.motion_vjp(m, o));
check!(inverse_motion, any, |a: Transform<T>, m: Motion<T>| -> Motion<T> { a.inverse_motion(m) }, |o| a
    .inverse_motion_vjp(m, o));
check!(force, any, |a: Transform<T>, f: Force<T>| -> Force<T> { a.force(f) }, |o| a.force_vjp(f, o));
check!(inverse_force, any, |a: Transform<T>, f: Force<T>| -> Force<T> { a.inverse_force(f) }, |o| a
    .inverse_force_vjp(f, o));
check!(inertia, any, |a: Transform<T>, i: SpatialInertia<T>| -> SpatialInertia<T> { a.inertia(i) }, |o| a
    .inertia_vjp(i, o));
check!(
    inverse_inertia,
    any,
    |a: Transform<T>, i: SpatialInertia<T>| -> SpatialInertia<T> { a.inverse_inertia(i) },
    |o| a.inverse_inertia_vjp(i, o)
);

fn motion_of(random: &mut Random) -> Motion<f64> {
    Motion::read(&any(random, 6))
}

fn force_of(random: &mut Random) -> Force<f64> {
    Force::read(&any(random, 6))
}

fn body(random: &mut Random) -> SpatialInertia<f64> {
    let spread = matrix(random);
    let about_com = SymMat3::from_mat3(spread * spread.transpose());
    SpatialInertia::from_com(random.uniform(0.5, 2.0), vector(random), about_com)
}

#[test]
fn transforms_compose_and_invert() {
    let mut random = Random::new(1);
    for _ in 0..50 {
        let (a_from_b, b_from_c) = (transform(&mut random), transform(&mut random));
        let (x, m, f) = (vector(&mut random), motion_of(&mut random), force_of(&mut random));
        let i = body(&mut random);
        let a_from_c = a_from_b * b_from_c;
        assert_same(a_from_c.point(x), a_from_b.point(b_from_c.point(x)), 1e-14);
        assert_same(a_from_c.direction(x), a_from_b.direction(b_from_c.direction(x)), 1e-14);
        assert_same(a_from_c.motion(m), a_from_b.motion(b_from_c.motion(m)), 1e-14);
        assert_same(a_from_c.force(f), a_from_b.force(b_from_c.force(f)), 1e-14);
        assert_same(a_from_c.inertia(i), a_from_b.inertia(b_from_c.inertia(i)), 1e-13);
        assert_same(a_from_b * a_from_b.inverse(), Transform::identity(), 1e-14);
        assert_same(a_from_b.inverse_point(a_from_b.point(x)), x, 1e-14);
        assert_same(a_from_b.inverse_direction(a_from_b.direction(x)), x, 1e-14);
        assert_same(a_from_b.inverse_motion(m), a_from_b.inverse().motion(m), 1e-14);
        assert_same(a_from_b.inverse_force(f), a_from_b.inverse().force(f), 1e-14);
        assert_same(a_from_b.inverse_inertia(a_from_b.inertia(i)), i, 1e-13);
    }
}

#[test]
fn power_and_energy_do_not_depend_on_the_frame() {
    let mut random = Random::new(2);
    for _ in 0..50 {
        let parent_from_child = transform(&mut random);
        let (m, f, i) = (motion_of(&mut random), force_of(&mut random), body(&mut random));
        let power = parent_from_child.motion(m).dot(parent_from_child.force(f));
        assert!((power - m.dot(f)).abs() < 1e-13);
        let energy = parent_from_child.inertia(i).kinetic_energy(parent_from_child.motion(m));
        assert!((energy - i.kinetic_energy(m)).abs() < 1e-12);
        // Momentum is a force: it transforms as one.
        let momentum = parent_from_child.inertia(i) * parent_from_child.motion(m);
        assert_same(momentum, parent_from_child.force(i * m), 1e-13);
    }
}

#[test]
fn the_two_cross_products_are_dual() {
    let mut random = Random::new(3);
    for _ in 0..20 {
        let (v, m, f) = (motion_of(&mut random), motion_of(&mut random), force_of(&mut random));
        assert!((v.cross_motion(m).dot(f) + m.dot(v.cross_force(f))).abs() < 1e-14);
        assert_same(v.cross_motion(v), Motion::zero(), 1e-15);
        // Both are what transforms do infinitesimally: X(v) m − m ≈ h v × m.
        let h = 1e-6;
        let moved = Transform::from_quat(Quat::exp(v.angular * h), v.linear * h);
        assert_same((moved.motion(m) - m) * (1.0 / h), v.cross_motion(m), 1e-5);
        assert_same((moved.force(f) - f) * (1.0 / h), v.cross_force(f), 1e-5);
    }
}

#[test]
fn parallel_axes() {
    // Moving a body by p adds m (p·p 1 − p pᵀ) to its inertia if its center of mass was at the origin.
    let mut random = Random::new(4);
    let about_com = SymMat3::diagonal(Vec3::new(0.2, 0.3, 0.4));
    let (mass, p) = (1.7, vector(&mut random));
    let moved =
        Transform::new(Mat3::identity(), p).inertia(SpatialInertia::from_com(mass, Vec3::zero(), about_com));
    let steiner = (Mat3::identity() * p.norm_squared() - Mat3::outer(p, p)) * mass;
    assert_same(moved.rotational.to_mat3(), about_com.to_mat3() + steiner, 1e-15);
    assert_same(moved, SpatialInertia::from_com(mass, p, about_com), 1e-15);
    assert_same(moved.com(), p, 1e-15);
    assert_same(moved.inertia_about_com(), about_com, 1e-14);
}

#[test]
fn a_composite_body_is_the_sum_of_its_parts() {
    // Point masses: energy of the sum is ½ Σ m |v(p)|².
    let mut random = Random::new(5);
    let velocity = motion_of(&mut random);
    let (mut whole, mut energy) = (SpatialInertia::zero(), 0.0);
    for _ in 0..10 {
        let (mass, p) = (random.uniform(0.1, 1.0), vector(&mut random));
        whole += SpatialInertia::from_com(mass, p, SymMat3::zero());
        energy += 0.5 * mass * velocity.velocity_at(p).norm_squared();
    }
    assert!((whole.kinetic_energy(velocity) - energy).abs() < 1e-13);
    let momentum = whole * velocity;
    assert!((velocity.dot(momentum) - 2.0 * energy).abs() < 1e-13);
    assert_same(momentum.force, velocity.velocity_at(whole.com()) * whole.mass, 1e-13);
}

#[test]
fn a_massless_body_has_its_center_at_the_origin() {
    let body = SpatialInertia::<f64>::zero();
    assert_eq!(body.com(), Vec3::zero());
    assert_same(body.com_vjp(Vec3::new(1.0, 2.0, 3.0)), SpatialInertia::zero(), 0.0);
    assert!(all_finite(body.inertia_about_com_vjp(SymMat3::identity())));
}

#[test]
fn a_force_at_a_point_does_the_work_of_that_point() {
    let mut random = Random::new(6);
    let (m, f, p) = (motion_of(&mut random), vector(&mut random), vector(&mut random));
    let pairing: f64 = m.dot(Force::at_point(f, p));
    assert!((pairing - f.inner(m.velocity_at(p))).abs() < 1e-14);
}
