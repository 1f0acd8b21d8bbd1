//! Polar decomposition F = R S: the rotation nearest to F, and a symmetric stretch.
//!
//! R = U Vᵀ and S = V diag(σ) Vᵀ of the [singular value decomposition](crate::svd3) with rotations on both
//! sides: R is always a rotation, and S is indefinite for an inverted F (σ₃ < 0).
//!
//! Derivative: with P = Uᵀ dF V, dR = U X Vᵀ with the skew Xᵢⱼ = (Pᵢⱼ − Pⱼᵢ) / (σᵢ + σⱼ), and S = Rᵀ F gives
//! dS = sym(dRᵀ F + Rᵀ dF). The differences σᵢ − σⱼ do not occur: equal singular values, the identity among
//! them, are ordinary points. R has no derivative where σᵢ + σⱼ = 0 (rank at most one, or inverted with σ₂ =
//! −σ₃); that Xᵢⱼ is set to 0 there, within 16 ε σ₁. At F = 0 all are, so R̄ gives nothing and S̄ gives R S̄.

use crate::linear::linear_space;
use crate::svd3::{Svd3, svd};
use crate::symmetric_eigen::safe_inverse;
use crate::{Mat3, Real, SymMat3, Vec3};

/// F = R S.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Polar<T> {
    /// R, the rotation nearest to F.
    pub rotation: Mat3<T>,
    /// S, symmetric.
    pub stretch: SymMat3<T>,
}

linear_space!(Polar { rotation: Mat3<T>, stretch: SymMat3<T> });

/// R and S of `f`.
#[inline]
pub fn polar<T: Real>(f: Mat3<T>) -> Polar<T> {
    if !T::HAS_TANGENT {
        let Svd3 { u, sigma, v } = svd(f);
        return Polar { rotation: u * v.transpose(), stretch: SymMat3::diagonal(sigma).congruence(v) };
    }
    let primal_f = f.map(T::primal);
    let primal = polar(primal_f);
    let tangent = differential(primal_f, f.map(T::tangent));
    Polar {
        rotation: primal.rotation.zip(tangent.rotation, T::from_parts),
        stretch: primal.stretch.zip(tangent.stretch, T::from_parts),
    }
}
/// F̄ = R S̄ + U X̄ Vᵀ, X̄ᵢⱼ = (Qᵢⱼ − Qⱼᵢ) / (σᵢ + σⱼ), Q = Uᵀ (R̄ + F S̄) V
#[inline]
pub fn polar_vjp<T: Real>(f: Mat3<T>, out_bar: Polar<T>) -> Mat3<T> {
    let at @ Svd3 { u, v, .. } = svd(f);
    let stretch_bar = SymMat3::from_mat3_vjp(f, out_bar.stretch);
    let rotation_bar = out_bar.rotation + f * stretch_bar;
    let turn_bar = spin(at, u.transpose() * rotation_bar * v);
    u * (turn_bar + v.transpose() * stretch_bar * v) * v.transpose()
}

/// dR = U X Vᵀ, dS = sym(dRᵀ F + Rᵀ dF).
#[inline(always)]
fn differential<T: Real>(f: Mat3<T>, f_dot: Mat3<T>) -> Polar<T> {
    let at @ Svd3 { u, v, .. } = svd(f);
    let rotation = u * spin(at, u.transpose() * f_dot * v) * v.transpose();
    let stretch = rotation.transpose() * f + v * u.transpose() * f_dot;
    Polar { rotation, stretch: SymMat3::from_mat3(stretch) }
}

/// The skew Xᵢⱼ = (Pᵢⱼ − Pⱼᵢ) / (σᵢ + σⱼ), and 0 where the sum vanishes: its own adjoint.
#[inline(always)]
fn spin<T: Real>(at: Svd3<T>, p: Mat3<T>) -> Mat3<T> {
    let Vec3 { x: s0, y: s1, z: s2 } = at.sigma;
    let inverse_sum = |a: T, b: T| safe_inverse(a + b, s0);
    let axial = Mat3::skew_vjp(Vec3::zero(), p);
    Mat3::skew(Vec3::new(
        axial.x * inverse_sum(s1, s2),
        axial.y * inverse_sum(s0, s2),
        axial.z * inverse_sum(s0, s1),
    ))
}
