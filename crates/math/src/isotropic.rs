//! Isotropic functions of a symmetric matrix: f(A) = V diag(f(λ)) Vᵀ, for a scalar function f.
//!
//! Square roots, logarithms and exponentials of strains are of this kind. With P = Vᵀ dA V, the differential
//! is df(A) = V (D ∘ P) Vᵀ (Daleckii and Krein, 1965), Dᵢⱼ = (f(λᵢ) − f(λⱼ)) / (λᵢ − λⱼ), Dᵢᵢ = f′(λᵢ).
//! Nothing in it depends on the choice of eigenvectors, and unlike the derivative of the eigenvectors it is
//! finite and exact where eigenvalues coincide.
//!
//! The quotient loses digits before its eigenvalues meet. Where they are close, either relative to their own
//! size (|λᵢ − λⱼ| ≤ ε^¼ max(|λᵢ|, |λⱼ|)) or for f (it changes by so little that the difference is mostly
//! round-off, while f′ is nearly straight in between), the divided difference is the mean of f′ by Gauss's
//! three-point rule: exact to the sixth order of the gap, and f′ of the common value when they coincide. The
//! pullback of the logarithm undoes that of the exponential to 10⁻¹¹ at any gap.
//!
//! Limits: f and f′ must be finite at the eigenvalues, and f′ between close ones. f is taken as two closures,
//! f and f′; they carry no cotangent. Dual numbers take the differential above, so forward mode is exact as
//! well. Second derivatives (dual numbers through the pullback) are exact except where eigenvalues coincide.

use crate::symmetric_eigen::symmetric_eigen;
use crate::{Mat3, Real, SymMat3, Vec3};

/// V diag(f(λ)) Vᵀ for A = V diag(λ) Vᵀ. `slope` is f′.
///
/// ```
/// use pullback_math::{Real, SymMat3, Vec3, isotropic::isotropic};
/// let a = SymMat3::diagonal(Vec3::new(4.0, 9.0, 4.0));
/// let root = isotropic(a, |x: f64| x.sqrt(), |x: f64| 0.5 / x.sqrt());
/// assert_eq!(root, SymMat3::diagonal(Vec3::new(2.0, 3.0, 2.0)));
/// ```
#[inline]
pub fn isotropic<T: Real>(a: SymMat3<T>, f: impl Fn(T) -> T, slope: impl Fn(T) -> T) -> SymMat3<T> {
    if T::HAS_TANGENT { with_tangent(a, &f, &slope) } else { spectral(a, f) }
}
/// Ā = V (D ∘ VᵀF̄V) Vᵀ: the differential is its own adjoint
#[inline]
pub fn isotropic_vjp<T: Real>(
    a: SymMat3<T>,
    f: impl Fn(T) -> T,
    slope: impl Fn(T) -> T,
    out_bar: SymMat3<T>,
) -> (SymMat3<T>, (), ()) {
    let full_bar = SymMat3::from_mat3(SymMat3::from_mat3_vjp(Mat3::zero(), out_bar));
    let bar = differential(a, f, slope, full_bar);
    (a.to_mat3_vjp(bar.to_mat3()), (), ())
}

/// V diag(f(λ)) Vᵀ
#[inline(always)]
fn spectral<T: Real>(a: SymMat3<T>, f: impl Fn(T) -> T) -> SymMat3<T> {
    let eigen = symmetric_eigen(a);
    SymMat3::diagonal(eigen.values.map(f)).congruence(eigen.vectors)
}

/// Value and tangent apart, at any depth of nesting; `dyn` keeps the recursion over scalar types finite.
fn with_tangent<T: Real>(a: SymMat3<T>, f: &dyn Fn(T) -> T, slope: &dyn Fn(T) -> T) -> SymMat3<T> {
    if !T::HAS_TANGENT {
        return spectral(a, f);
    }
    // The same functions on numbers without tangents.
    let still = |x: T::Primal| T::from_parts(x, <T::Primal as Real>::zero());
    let f = |x| f(still(x)).primal();
    let slope = |x| slope(still(x)).primal();
    let primal = a.map(T::primal);
    let tangent = differential(primal, f, slope, a.map(T::tangent));
    with_tangent(primal, &f, &slope).zip(tangent, T::from_parts)
}

/// V (D ∘ Vᵀ dA V) Vᵀ
#[inline(always)]
fn differential<T: Real>(
    a: SymMat3<T>,
    f: impl Fn(T) -> T,
    slope: impl Fn(T) -> T,
    a_dot: SymMat3<T>,
) -> SymMat3<T> {
    let eigen = symmetric_eigen(a);
    let Vec3 { x: l0, y: l1, z: l2 } = eigen.values;
    let p = a_dot.congruence(eigen.vectors.transpose());
    SymMat3 {
        xx: p.xx * slope(l0),
        yy: p.yy * slope(l1),
        zz: p.zz * slope(l2),
        xy: p.xy * divided_difference(&f, &slope, l0, l1),
        xz: p.xz * divided_difference(&f, &slope, l0, l2),
        yz: p.yz * divided_difference(&f, &slope, l1, l2),
    }
    .congruence(eigen.vectors)
}

/// (f(a) − f(b)) / (a − b), accurate at any distance: f′ averaged between a and b when they are close.
#[inline(always)]
pub fn divided_difference<T: Real>(f: impl Fn(T) -> T, slope: impl Fn(T) -> T, a: T, b: T) -> T {
    let (gap, half) = (a - b, T::lit(0.5));
    let (f_a, f_b) = (f(a), f(b));
    // Gauss's three nodes on [b, a]: the middle, and √(3/5) of the way to both ends; weights 8/18 and 5/18.
    let (middle, reach) = ((a + b) * half, gap * (half * T::lit(0.6f64.sqrt())));
    let (at_middle, high, low) = (slope(middle), slope(middle + reach), slope(middle - reach));
    let mean = at_middle * T::lit(8.0 / 18.0) + (high + low) * T::lit(5.0 / 18.0);

    // Close in themselves, or so close for f that the quotient is round-off.
    let near = gap.abs().le(a.abs().max(b.abs()) * T::lit(T::EPSILON.sqrt().sqrt()));
    let rounded = ((high - low) * gap).abs().le(f_a.abs().max(f_b.abs()) * T::lit(T::EPSILON.sqrt()));
    let bend = (high + low - at_middle - at_middle).abs();
    let straight = bend.le((high.abs() + low.abs() + at_middle.abs()) * T::lit(1e-2));
    let near = near | (rounded & straight);
    T::select(near, mean, (f_a - f_b) / T::select(near, T::one(), gap))
}
