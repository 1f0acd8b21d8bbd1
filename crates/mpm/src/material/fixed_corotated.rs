//! Fixed corotated elasticity: τ = 2μ(F − R)Fᵀ + λJ(J − 1) 1 (Stomakhin, Howes, Schroeder and Teran 2012, Eq.
//! 3).
//!
//! R is the rotation of the polar decomposition with det R = +1, so an inverted particle is pushed back the
//! short way. In singular values tᵢ = 2μ(sᵢ − 1)sᵢ + λJ(J − 1) and (tᵢ − tⱼ)/(sᵢ − sⱼ) = 2μ(sᵢ + sⱼ − 1).

use pullback_math::spectral::{Principal, Slopes};
use pullback_math::{
    Mat3, Real, SpectralMap, Svd3, SymMat3, Vec3, spectral_map_at, spectral_map_at_vjp, svd,
};

use super::lame::{lame, lame_vjp};
use super::volume::{pressure, pressure_vjp, principal_volume_change, principal_volume_change_vjp};
use super::{Elastic, spectral_model};

/// Fixed corotated elasticity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedCorotated;

spectral_model!(FixedCorotated, Elastic, 2);

impl SpectralMap<2> for FixedCorotated {
    #[inline(always)]
    fn principal<T: Real>(sigma: Vec3<T>, params: [T; 2]) -> Principal<T> {
        let Elastic { young, poisson } = params.into();
        Principal { flow: Vec3::zero(), stress: corotated_stress(sigma, lame(young, poisson)) }
    }
    #[inline(always)]
    fn principal_vjp<T: Real>(sigma: Vec3<T>, params: [T; 2], out_bar: Principal<T>) -> (Vec3<T>, [T; 2]) {
        let Elastic { young, poisson } = params.into();
        let (sigma_bar, moduli_bar) = corotated_stress_vjp(sigma, lame(young, poisson), out_bar.stress);
        let (young, poisson) = lame_vjp(young, poisson, moduli_bar);
        (sigma_bar, Elastic { young, poisson }.into())
    }
    #[inline(always)]
    fn slopes<T: Real>(sigma: Vec3<T>, params: [T; 2]) -> Slopes<T> {
        let Elastic { young, poisson } = params.into();
        Slopes { flow: Vec3::zero(), stress: corotated_slopes(sigma, lame(young, poisson).0) }
    }
}

/// tᵢ = 2μ(sᵢ − 1)sᵢ + λJ(J − 1)
#[inline(always)]
pub(super) fn corotated_stress<T: Real>(s: Vec3<T>, (mu, lambda): (T, T)) -> Vec3<T> {
    let volumetric = pressure(principal_volume_change(s), lambda);
    s.map(|s| (mu + mu) * (s - T::one()) * s + volumetric)
}
/// ∂tᵢ/∂sᵢ = 2μ(2sᵢ − 1) + …, and J through all three. By hand: the sum of t̄ is formed once.
#[inline(always)]
pub(super) fn corotated_stress_vjp<T: Real>(
    s: Vec3<T>,
    (mu, lambda): (T, T),
    out_bar: Vec3<T>,
) -> (Vec3<T>, (T, T)) {
    let (one, change) = (T::one(), principal_volume_change(s));
    let (change_bar, lambda_bar) = pressure_vjp(change, lambda, out_bar.x + out_bar.y + out_bar.z);
    let of_shear = s.zip(out_bar, |s, bar| (mu + mu) * (s + s - one) * bar);
    let mu_bar = s.map(|s| (s - one) * s).dot(out_bar) * T::lit(2.0);
    (of_shear + principal_volume_change_vjp(s, change_bar), (mu_bar, lambda_bar))
}
/// 2μ(sᵢ + sⱼ − 1) for each pair.
#[inline(always)]
pub(super) fn corotated_slopes<T: Real>(s: Vec3<T>, mu: T) -> Vec3<T> {
    Vec3::new(s.y + s.z, s.x + s.z, s.x + s.y).map(|sum| (mu + mu) * (sum - T::one()))
}
