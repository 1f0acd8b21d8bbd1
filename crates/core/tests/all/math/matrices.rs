//! Matrices: pullbacks, lanes, and the identities of linear algebra.

use super::common::*;
use pullback_math::{AddVjp, Linear, Mat3, MulVjp, NegVjp, SubVjp, SymMat3, Vec3};

check!(add, any, |a: Mat3<T>, b: Mat3<T>| -> Mat3<T> { a + b }, |o| a.add_vjp(b, o));
check!(sub, any, |a: Mat3<T>, b: Mat3<T>| -> Mat3<T> { a - b }, |o| a.sub_vjp(b, o));
check!(neg, any, |a: Mat3<T>| -> Mat3<T> { -a }, |o| a.neg_vjp(o));
check!(scale, any, |a: Mat3<T>, s: T| -> Mat3<T> { a * s }, |o| a.mul_vjp(s, o));
check!(mul, any, |a: Mat3<T>, b: Mat3<T>| -> Mat3<T> { a * b }, |o| a.mul_vjp(b, o));
check!(mul_vector, any, |a: Mat3<T>, v: Vec3<T>| -> Vec3<T> { a * v }, |o| a.mul_vjp(v, o));
check!(transpose_mul, any, |a: Mat3<T>, v: Vec3<T>| -> Vec3<T> { a.transpose_mul(v) }, |o| a
    .transpose_mul_vjp(v, o));
check!(
    new,
    any,
    |a: [T; 9]| -> Mat3<T> { Mat3::new(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]) },
    |o| {
        let b = Mat3::new_vjp(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], o);
        [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8]
    }
);
check!(from_cols, any, |a: Vec3<T>, b: Vec3<T>, c: Vec3<T>| -> Mat3<T> { Mat3::from_cols(a, b, c) }, |o| {
    Mat3::from_cols_vjp(a, b, c, o)
});
check!(from_rows, any, |a: Vec3<T>, b: Vec3<T>, c: Vec3<T>| -> Mat3<T> { Mat3::from_rows(a, b, c) }, |o| {
    Mat3::from_rows_vjp(a, b, c, o)
});
check!(diagonal, any, |d: Vec3<T>| -> Mat3<T> { Mat3::diagonal(d) }, |o| Mat3::diagonal_vjp(d, o));
check!(diagonal_part, any, |a: Mat3<T>| -> Vec3<T> { a.diagonal_part() }, |o| a.diagonal_part_vjp(o));
check!(outer, any, |a: Vec3<T>, b: Vec3<T>| -> Mat3<T> { Mat3::outer(a, b) }, |o| Mat3::outer_vjp(a, b, o));
check!(skew, any, |v: Vec3<T>| -> Mat3<T> { Mat3::skew(v) }, |o| Mat3::skew_vjp(v, o));
check!(vee, any, |a: Mat3<T>| -> Vec3<T> { a.vee() }, |o| a.vee_vjp(o));
check!(symmetric_part, any, |a: Mat3<T>| -> Mat3<T> { a.symmetric_part() }, |o| a.symmetric_part_vjp(o));
check!(col, any, |a: Mat3<T>| -> Vec3<T> { a.col(1) }, |o| a.col_vjp(1, o));
check!(row, any, |a: Mat3<T>| -> Vec3<T> { a.row(2) }, |o| a.row_vjp(2, o));
check!(transpose, any, |a: Mat3<T>| -> Mat3<T> { a.transpose() }, |o| a.transpose_vjp(o));
check!(trace, any, |a: Mat3<T>| -> T { a.trace() }, |o| a.trace_vjp(o));
check!(frobenius_squared, any, |a: Mat3<T>| -> T { a.frobenius_squared() }, |o| a.frobenius_squared_vjp(o));
check!(cofactor, any, |a: Mat3<T>| -> Mat3<T> { a.cofactor() }, |o| a.cofactor_vjp(o));
check!(determinant, any, |a: Mat3<T>| -> T { a.determinant() }, |o| a.determinant_vjp(o));
check!(inverse, well_conditioned, |a: Mat3<T>| -> Mat3<T> { a.inverse() }, |o| a.inverse_vjp(o));

check!(sym_diagonal, any, |d: Vec3<T>| -> SymMat3<T> { SymMat3::diagonal(d) }, |o| SymMat3::diagonal_vjp(
    d, o
));
check!(sym_from_mat3, any, |a: Mat3<T>| -> SymMat3<T> { SymMat3::from_mat3(a) }, |o| SymMat3::from_mat3_vjp(
    a, o
));
check!(sym_to_mat3, any, |a: SymMat3<T>| -> Mat3<T> { a.to_mat3() }, |o| a.to_mat3_vjp(o));
check!(sym_outer_square, any, |a: Vec3<T>| -> SymMat3<T> { SymMat3::outer_square(a) }, |o| {
    SymMat3::outer_square_vjp(a, o)
});
check!(sym_trace, any, |a: SymMat3<T>| -> T { a.trace() }, |o| a.trace_vjp(o));
check!(sym_congruence, any, |a: SymMat3<T>, r: Mat3<T>| -> SymMat3<T> { a.congruence(r) }, |o| a
    .congruence_vjp(r, o));
check!(sym_point_inertia, any, |p: Vec3<T>| -> SymMat3<T> { SymMat3::point_inertia(p) }, |o| {
    SymMat3::point_inertia_vjp(p, o)
});
check!(sym_mul_vector, any, |a: SymMat3<T>, v: Vec3<T>| -> Vec3<T> { a * v }, |o| a.mul_vjp(v, o));

/// Entries near the identity, so that the inverse is of order one.
fn well_conditioned(random: &mut Random, _n: usize) -> Vec<f64> {
    flat(Mat3::identity() + matrix(random) * 0.2)
}

#[test]
fn a_matrix_times_its_inverse_is_the_identity() {
    let mut random = Random::new(3);
    for _ in 0..100 {
        let m = Mat3::identity() + matrix(&mut random) * 0.2;
        assert_same(m * m.inverse(), Mat3::identity(), 1e-14);
        assert_same(m.inverse() * m, Mat3::identity(), 1e-14);
    }
}

#[test]
fn the_inverse_of_a_singular_matrix_is_zero_with_zero_pullback() {
    let singular = Mat3::new(1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 1.0, -1.0);
    assert_eq!(singular.determinant(), 0.0);
    assert_eq!(singular.inverse(), Mat3::zero());
    assert_same(singular.inverse_vjp(Mat3::identity()), Mat3::zero(), 0.0);
    let zero = Mat3::<f32>::zero();
    assert_eq!(zero.inverse(), zero);
}

#[test]
fn skew_is_the_cross_product_and_vee_undoes_it() {
    let mut random = Random::new(4);
    for _ in 0..20 {
        let (a, b) = (vector(&mut random), vector(&mut random));
        assert_same(Mat3::skew(a) * b, a.cross(b), 1e-15);
        assert_same(Mat3::skew(a).vee(), a, 1e-15);
        let m = matrix(&mut random);
        assert_same(m.symmetric_part() + Mat3::skew(m.vee()), m, 1e-15);
    }
}

#[test]
fn entries_rows_and_columns_agree() {
    let m = Mat3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0);
    assert_eq!((m[(0, 1)], m[(2, 0)]), (2.0, 7.0));
    assert_eq!(m.row(1), Vec3::new(4.0, 5.0, 6.0));
    assert_eq!(m.col(2), Vec3::new(3.0, 6.0, 9.0));
    let mut n = Mat3::zero();
    for row in 0..3 {
        for col in 0..3 {
            n[(row, col)] = m[(row, col)];
        }
    }
    assert_eq!(m, n);
    assert_eq!(m.inner(m), m.frobenius_squared());
}
