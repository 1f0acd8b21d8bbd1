//! Eigen, singular value and polar decompositions, and isotropic functions: pullbacks, lanes, accuracy, and
//! the points where values coincide or vanish.

use super::common::*;
use pullback_core::{check_vjp, gradcheck::Options};
use pullback_math::{
    Dual, Flat, Linear, Mat3, Polar, Quat, Real, Svd3, SymMat3, SymmetricEigen, Vec3, isotropic,
    isotropic_vjp, polar, polar_vjp, singular_values, singular_values_vjp, svd, svd_vjp, symmetric_eigen,
    symmetric_eigen_vjp, symmetric_eigenvalues, symmetric_eigenvalues_vjp,
};

check!(eigen, any, |a: SymMat3<T>| -> SymmetricEigen<T> { symmetric_eigen(a) }, |o| symmetric_eigen_vjp(
    a, o
));
check!(eigenvalues, any, |a: SymMat3<T>| -> Vec3<T> { symmetric_eigenvalues(a) }, |o| {
    symmetric_eigenvalues_vjp(a, o)
});
check!(isotropic_exponential, any, |a: SymMat3<T>| -> SymMat3<T> { isotropic(a, T::exp, T::exp) }, |o| {
    isotropic_vjp(a, T::exp, T::exp, o)
});
check!(
    isotropic_logarithm,
    positive_definite,
    |a: SymMat3<T>| -> SymMat3<T> { isotropic(a, T::ln, T::recip) },
    |o| isotropic_vjp(a, T::ln, T::recip, o)
);
check!(singular_value_decomposition, any, |f: Mat3<T>| -> Svd3<T> { svd(f) }, |o| svd_vjp(f, o));
check!(singular_values_alone, any, |f: Mat3<T>| -> Vec3<T> { singular_values(f) }, |o| singular_values_vjp(
    f, o
));
check!(polar_decomposition, any, |f: Mat3<T>| -> Polar<T> { polar(f) }, |o| polar_vjp(f, o));

fn positive_definite(random: &mut Random, _n: usize) -> Vec<f64> {
    let m = matrix(random);
    flat(SymMat3::from_mat3(m * m.transpose()) + SymMat3::identity() * 0.3)
}

/// diag(σ) between two random rotations.
fn with_singular_values(random: &mut Random, sigma: [f64; 3]) -> Mat3<f64> {
    rotation(random) * Mat3::diagonal(Vec3::new(sigma[0], sigma[1], sigma[2])) * rotation(random).transpose()
}

/// A random matrix, or one of the degenerate kinds, by turns.
fn random_or_degenerate(random: &mut Random, kind: usize) -> Mat3<f64> {
    let axis = Mat3::diagonal(Vec3::new(1.0, 1.0, 0.0));
    let tiny = 10f64.powf(random.uniform(-17.0, -3.0));
    match kind % 20 {
        0 => Mat3::zero(),
        1 => Mat3::identity(),
        2 => rotation(random),
        3 => -rotation(random),
        4 => Mat3::outer(vector(random), vector(random)),
        5 => with_singular_values(random, [2.0, 2.0, 1.0]),
        6 => with_singular_values(random, [2.0, 1.0, 1.0]),
        7 => with_singular_values(random, [2.0, 1.0, -1.0]),
        8 => with_singular_values(random, [1.0, 1.0, tiny]),
        9 => with_singular_values(random, [1.0, 1.0 + tiny, 1.0 - tiny]),
        10 => with_singular_values(random, [1.0, tiny, 0.3 * tiny]),
        11 => with_singular_values(random, [1.0, 1.0 + tiny, -1.0]),
        12 => axis,
        13 => axis * rotation(random),
        14 => Mat3::identity() + matrix(random) * tiny,
        15 => matrix(random) * 1e-30,
        16 => matrix(random) * 1e25,
        17 => Mat3::diagonal(vector(random)),
        18 => matrix(random) * 1e-310,
        _ => matrix(random),
    }
}

/// Worst relative residual |U diag(σ) Vᵀ − F| and worst departure of U and V from rotations.
fn svd_errors<T: Real>(f: Mat3<f64>) -> (f64, f64) {
    let f = f.map(T::lit);
    let wide = |m: Mat3<T>| m.map(|x| x.lane(0));
    let d = svd(f);
    let (u, v, f) = (wide(d.u), wide(d.v), wide(f));
    let sigma = d.sigma.map(|x| x.lane(0));
    assert!(sigma.x >= sigma.y && sigma.y >= sigma.z.abs(), "order of {sigma:?}");
    let size = f.map(f64::abs);
    let size = flat(size).into_iter().fold(0.0, f64::max);
    let residual =
        (u * Mat3::diagonal(sigma) * v.transpose() - f) * if size > 0.0 { 1.0 / size } else { 1.0 };
    let residual = flat(residual).into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let skewed = [u, v].map(|m| {
        let defect =
            flat(m.transpose() * m - Mat3::identity()).into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        defect.max((m.determinant() - 1.0).abs())
    });
    (if size < 1e-300 { 0.0 } else { residual }, skewed[0].max(skewed[1]))
}

#[test]
fn svd_is_accurate_for_any_matrix() {
    let mut random = Random::new(11);
    let (mut worst, mut worst_32) = ((0.0f64, 0.0f64), (0.0f64, 0.0f64));
    for kind in 0..10_000 {
        let f = random_or_degenerate(&mut random, kind);
        let (residual, skewed) = svd_errors::<f64>(f);
        worst = (worst.0.max(residual), worst.1.max(skewed));
        let (residual, skewed) = svd_errors::<f32>(f);
        worst_32 = (worst_32.0.max(residual), worst_32.1.max(skewed));
    }
    println!("f64: residual {:.1e}, rotations {:.1e}", worst.0, worst.1);
    println!("f32: residual {:.1e}, rotations {:.1e}", worst_32.0, worst_32.1);
    assert!(worst.0 < 1e-14 && worst.1 < 1e-14, "{worst:?}");
    assert!(worst_32.0 < 2e-6 && worst_32.1 < 2e-6, "{worst_32:?}");
}

#[test]
fn eigen_is_accurate_for_any_matrix() {
    fn errors<T: Real>(a: SymMat3<f64>) -> (f64, f64) {
        let a = a.map(T::lit);
        let d = symmetric_eigen(a);
        let (v, values) = (d.vectors.map(|x| x.lane(0)), d.values.map(|x| x.lane(0)));
        assert!(values.x >= values.y && values.y >= values.z, "order of {values:?}");
        let a = a.map(|x| x.lane(0));
        let size = flat(a).into_iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(1e-300);
        let largest = |m: Mat3<f64>| flat(m).into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let residual = largest((v * Mat3::diagonal(values) * v.transpose() - a.to_mat3()) * (1.0 / size));
        (residual, largest(v.transpose() * v - Mat3::identity()).max((v.determinant() - 1.0).abs()))
    }
    let mut random = Random::new(12);
    let (mut worst, mut worst_32) = ((0.0f64, 0.0f64), (0.0f64, 0.0f64));
    for kind in 0..10_000 {
        let a = SymMat3::from_mat3(random_or_degenerate(&mut random, kind));
        let (residual, skewed) = errors::<f64>(a);
        worst = (worst.0.max(residual), worst.1.max(skewed));
        let (residual, skewed) = errors::<f32>(a);
        worst_32 = (worst_32.0.max(residual), worst_32.1.max(skewed));
    }
    println!("f64: residual {:.1e}, rotations {:.1e}", worst.0, worst.1);
    println!("f32: residual {:.1e}, rotations {:.1e}", worst_32.0, worst_32.1);
    assert!(worst.0 < 1e-14 && worst.1 < 1e-14, "{worst:?}");
    assert!(worst_32.0 < 2e-6 && worst_32.1 < 2e-6, "{worst_32:?}");
}

#[test]
fn no_nan_leaves_any_decomposition_or_its_pullback() {
    fn finite<T: Real>(f: Mat3<f64>, random: &mut Random) {
        let f = f.map(T::lit);
        let a = SymMat3::from_mat3(f);
        let bar =
            |random: &mut Random, n: usize| -> Vec<T> { any(random, n).into_iter().map(T::lit).collect() };
        let mut entries: Vec<T> = Vec::new();
        let mut keep = |x: &[T]| entries.extend_from_slice(x);
        let flat9 = |m: Mat3<T>| [m.c0, m.c1, m.c2].map(|c| [c.x, c.y, c.z]).concat();
        let flat6 = |m: SymMat3<T>| [m.xx, m.yy, m.zz, m.xy, m.xz, m.yz];
        let (d, p, e) = (svd(f), polar(f), symmetric_eigen(a));
        keep(&[flat9(d.u), flat9(d.v), flat9(p.rotation), flat9(e.vectors)].concat());
        keep(&[flat9(Mat3::diagonal(d.sigma)), flat9(Mat3::diagonal(e.values))].concat());
        keep(&flat6(p.stretch));
        keep(&flat9(svd_vjp(f, Svd3::read(&bar(random, 21)))));
        keep(&flat9(singular_values_vjp(f, Vec3::read(&bar(random, 3)))));
        keep(&flat9(polar_vjp(f, Polar::read(&bar(random, 15)))));
        keep(&flat6(symmetric_eigen_vjp(a, SymmetricEigen::read(&bar(random, 12)))));
        keep(&flat6(symmetric_eigenvalues_vjp(a, Vec3::read(&bar(random, 3)))));
        keep(&flat6(
            isotropic_vjp(a, T::tanh, |x| T::one() - x.tanh() * x.tanh(), SymMat3::read(&bar(random, 6))).0,
        ));
        for entry in entries {
            assert!(entry.lane(0).is_finite(), "{f:?}");
        }
    }
    let mut random = Random::new(13);
    for kind in 0..10_000 {
        let f = random_or_degenerate(&mut random, kind);
        finite::<f64>(f, &mut random);
        finite::<f32>(f, &mut random);
        finite::<Dual<f64>>(f, &mut random);
    }
}

#[test]
fn degenerate_matrices_agree_on_lanes() {
    struct All;
    impl Function for All {
        fn inputs() -> usize {
            9
        }
        fn outputs() -> usize {
            21 + 15 + 12
        }
        fn eval<T: Real>(x: &[T], y: &mut [T]) {
            let f = Mat3::read(x);
            (svd(f), polar(f), symmetric_eigen(SymMat3::from_mat3(f))).write(y);
        }
        fn vjp<T: Real>(x: &[T], y_bar: &[T], x_bar: &mut [T]) {
            let (d, p, e) = <(Svd3<T>, Polar<T>, SymmetricEigen<T>)>::read(y_bar);
            let f = Mat3::read(x);
            let a_bar = symmetric_eigen_vjp(SymMat3::from_mat3(f), e);
            (svd_vjp(f, d) + polar_vjp(f, p) + SymMat3::from_mat3_vjp(f, a_bar)).write(x_bar);
        }
    }
    let mut random = Random::new(14);
    // The subnormal kind aside: it has no f32 counterpart.
    let points: Vec<Vec<f64>> =
        (0..320).filter(|k| k % 20 != 18).map(|k| flat(random_or_degenerate(&mut random, k))).collect();
    lanes_agree::<All>(&points);
}

#[test]
fn equal_singular_values_are_ordinary_points_of_polar() {
    let mut random = Random::new(15);
    for sigma in
        [[1.0; 3], [2.0, 2.0, 1.0], [2.0, 1.0, 1.0], [2.0, 1.5, -0.5], [2.0, 2.0, -1.0], [1.0, 1.0, 0.0]]
    {
        let f = with_singular_values(&mut random, sigma);
        let report = check_vjp!(
            |f: Mat3<T>| -> Polar<T> { polar(f) }, |o| polar_vjp(f, o), at flat(f), Options::default()
        );
        report.assert_passed();
        assert!(report.worst_difference() < 1e-6, "{report}");
        // The same rotation through the decomposition: U Vᵀ, whose cotangents are R̄ V and R̄ᵀ U.
        let d = svd(f);
        let r_bar = matrix(&mut random);
        let through_svd =
            svd_vjp(f, Svd3 { u: r_bar * d.v, sigma: Vec3::zero(), v: r_bar.transpose() * d.u });
        let direct = polar_vjp(f, Polar { rotation: r_bar, stretch: SymMat3::zero() });
        assert_same(through_svd, direct, 1e-12);
    }
}

#[test]
fn polar_at_the_identity_splits_into_spin_and_strain() {
    // dR = skew part, dS = symmetric part of dF.
    let mut random = Random::new(16);
    let (r_bar, s_bar) = (matrix(&mut random), symmetric(&mut random));
    let f_bar = polar_vjp(Mat3::identity(), Polar { rotation: r_bar, stretch: s_bar });
    let expected = Mat3::skew(r_bar.vee()) + SymMat3::from_mat3_vjp(Mat3::zero(), s_bar);
    assert_same(f_bar, expected, 1e-15);
}

#[test]
fn polar_of_zero_passes_the_stretch_only() {
    let mut random = Random::new(17);
    let zero = Mat3::zero();
    let s_bar = symmetric(&mut random);
    let p = polar(zero);
    assert_same(p.rotation.transpose() * p.rotation, Mat3::identity(), 1e-15);
    let f_bar = polar_vjp(zero, Polar { rotation: matrix(&mut random), stretch: s_bar });
    assert_same(f_bar, p.rotation * SymMat3::from_mat3_vjp(zero, s_bar), 1e-15);
}

#[test]
fn rank_one_and_mirrored_matrices_drop_the_undetermined_spin() {
    let mut random = Random::new(18);
    // σ₂ + σ₃ = 0 in both: the spin about u₁ is undetermined and carries nothing.
    for sigma in [[2.0, 0.0, 0.0], [2.0, 1.0, -1.0]] {
        let f = with_singular_values(&mut random, sigma);
        let Svd3 { u, v, .. } = svd(f);
        let spin = u * Mat3::skew(Vec3::new(1.0, 0.0, 0.0)) * v.transpose();
        let f_bar = polar_vjp(f, Polar { rotation: spin, stretch: SymMat3::zero() });
        assert_same(f_bar, Mat3::zero(), 1e-14);
        // The other two are ordinary: X̄ = (Q − Qᵀ)/(σᵢ + σⱼ).
        let spin = u * Mat3::skew(Vec3::new(0.0, 1.0, 0.0)) * v.transpose();
        let f_bar = polar_vjp(f, Polar { rotation: spin, stretch: SymMat3::zero() });
        assert_same(f_bar, spin * (2.0 / (sigma[0] + sigma[2])), 1e-13);
    }
}

#[test]
fn svd_reaches_rank_deficient_and_inverted_matrices() {
    let mut random = Random::new(19);
    for sigma in [[2.0, 1.0, 0.0], [2.0, 1.0, -0.5], [3.0, 0.7, 0.1]] {
        let f = with_singular_values(&mut random, sigma);
        assert_same(singular_values(f), Vec3::new(sigma[0], sigma[1], sigma[2]), 1e-14);
        check_vjp!(|f: Mat3<T>| -> Svd3<T> { svd(f) }, |o| svd_vjp(f, o), at flat(f), Options::default())
            .assert_passed();
    }
}

#[test]
fn equal_singular_values_have_finite_documented_pullbacks() {
    // At the identity, Ω + Ψ is dropped, Ω − Ψ = skew: ū gives its skew part, v̄ minus it, halved.
    let mut random = Random::new(20);
    let (u_bar, v_bar, sigma_bar) = (matrix(&mut random), matrix(&mut random), vector(&mut random));
    let f_bar = svd_vjp(Mat3::identity(), Svd3 { u: u_bar, sigma: sigma_bar, v: v_bar });
    let expected = Mat3::diagonal(sigma_bar) + Mat3::skew(u_bar.vee() - v_bar.vee()) * 0.5;
    assert_same(f_bar, expected, 1e-15);
    // The sum of the singular values, tr S, is smooth: its gradient is R.
    let q = rotation(&mut random);
    assert_same(singular_values_vjp(q, Vec3::new(1.0, 1.0, 1.0)), q, 1e-14);
}

#[test]
fn equal_eigenvalues_have_finite_documented_pullbacks() {
    let mut random = Random::new(21);
    let v_bar = matrix(&mut random);
    let bar = SymmetricEigen { values: Vec3::new(1.0, 1.0, 1.0), vectors: v_bar };
    let two = SymMat3::identity() * 2.0;
    assert_same(symmetric_eigen_vjp(two, bar), SymMat3::identity(), 1e-15);
    // λ₁ + λ₂ of a double eigenvalue is smooth: its gradient is the projector onto their plane.
    let r = rotation(&mut random);
    let a = SymMat3::diagonal(Vec3::new(3.0, 3.0, 1.0)).congruence(r);
    let projector = SymMat3::diagonal(Vec3::new(1.0, 1.0, 0.0)).congruence(r).to_mat3();
    let a_bar = symmetric_eigenvalues_vjp(a, Vec3::new(1.0, 1.0, 0.0));
    assert_same(a_bar, a.to_mat3_vjp(projector), 1e-14);
}

#[test]
fn isotropic_functions_are_exact_at_equal_and_nearly_equal_eigenvalues() {
    let mut random = Random::new(22);
    for gap in [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-1] {
        let r = rotation(&mut random);
        let a = SymMat3::diagonal(Vec3::new(1.3 + gap, 1.3, 0.4)).congruence(r);
        // The square has the differential A dA + dA A, whatever the eigenvalues.
        let (direction, out_bar) = (symmetric(&mut random), symmetric(&mut random));
        let (a_bar, (), ()) = isotropic_vjp(a, |x| x * x, |x| x + x, out_bar);
        let (full, d) = (a.to_mat3(), direction.to_mat3());
        let expected = SymMat3::from_mat3(full * d + d * full);
        assert!((a_bar.inner(direction) - out_bar.inner(expected)).abs() < 1e-13);
        // The logarithm undoes the exponential, so its pullback undoes the other's.
        let log = isotropic(a, f64::ln, f64::recip);
        let (there, ..) = isotropic_vjp(a, f64::ln, f64::recip, out_bar);
        let (back, ..) = isotropic_vjp(log, f64::exp, f64::exp, there);
        assert_same(back, out_bar, 1e-11);
        let report = check_vjp!(
            |a: SymMat3<T>| -> SymMat3<T> { isotropic(a, T::exp, T::exp) },
            |o| isotropic_vjp(a, T::exp, T::exp, o),
            at flat(a), Options::default()
        );
        report.assert_passed();
        assert!(report.worst_difference() < 1e-7, "gap {gap}\n{report}");
    }
}

#[test]
fn isotropic_functions_are_exact_for_small_matrices() {
    // exp(A) = 1 + A + A²/2 + …: a quotient of differences of numbers near 1 would be round-off here.
    let mut random = Random::new(25);
    for size in [3e-4, 1e-5, 1e-8, 1e-12, 1e-20, 1e-200, 0.0] {
        let a = symmetric(&mut random) * size;
        let (direction, out_bar) = (symmetric(&mut random), symmetric(&mut random));
        let (full, d) = (a.to_mat3(), direction.to_mat3());
        let second = full * d + d * full;
        let third = full * second + d * full * full;
        let fourth = full * third + d * full * full * full;
        let exact = SymMat3::from_mat3(d + second * 0.5 + third * (1.0 / 6.0) + fourth * (1.0 / 24.0));
        let (a_bar, ..) = isotropic_vjp(a, f64::exp, f64::exp, out_bar);
        assert!((a_bar.inner(direction) - out_bar.inner(exact)).abs() < 1e-12, "{size}");
        // cos(A) = 1 − A²/2 + …, whose slope vanishes with A.
        let (a_bar, ..) = isotropic_vjp(a, f64::cos, |x| -x.sin(), out_bar);
        let exact = SymMat3::from_mat3(second * -0.5 + fourth * (1.0 / 24.0));
        assert!((a_bar.inner(direction) - out_bar.inner(exact)).abs() < 1e-12, "{size}");
    }
}

#[test]
fn a_saturated_function_keeps_its_small_slope() {
    // tanh has almost no slope between 11 and 14, and bends: the quotient is right, the mean of three is not.
    let slope = |x: f64| 1.0 / x.cosh().powi(2);
    for (a, b) in [(5.0f64, 10.0), (7.0, 10.0), (11.0, 14.0)] {
        let exact = 2.0 * ((-2.0 * a).exp() - (-2.0 * b).exp()) / (b - a);
        let got = pullback_math::isotropic::divided_difference(f64::tanh, slope, a, b);
        assert!((got - exact).abs() < 1e-3 * exact, "{got} {exact}");
    }
}

#[test]
fn second_derivatives_pass_through_nested_dual_numbers() {
    // det F = σ₁ σ₂ σ₃ is a polynomial: its second derivatives by both ways.
    let mut random = Random::new(23);
    let f = matrix(&mut random);
    let (x, y) = (matrix(&mut random), matrix(&mut random));
    let inner = f.zip(x, Dual::new);
    let nested = inner.zip(y, |f, y| Dual::new(f, Dual::fixed(y)));
    let sigma = singular_values(nested);
    let product = sigma.x * sigma.y * sigma.z;
    let exact = nested.determinant();
    assert!((product.tangent.tangent - exact.tangent.tangent).abs() < 1e-11);
}

#[test]
fn the_polar_rotation_is_the_nearest_one() {
    let mut random = Random::new(24);
    for _ in 0..50 {
        let f = matrix(&mut random);
        let r = polar(f).rotation;
        for _ in 0..20 {
            let other = r * Quat::exp(vector(&mut random) * 0.1).to_mat3();
            assert!((f - r).frobenius_squared() <= (f - other).frobenius_squared() + 1e-12);
        }
    }
}
