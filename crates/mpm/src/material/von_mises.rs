//! Elastoplasticity in Hencky strain with the von Mises yield criterion (Rewarped, Eqs. 30-32).
//!
//! τ = U(2μϵ + λ tr ϵ)Uᵀ, ϵ = ln σ; the deviator of ϵ returns to the radius σ_y/(2μ), so |dev τ| ≤ σ_y. Eq.
//! 31 prints the radius 2σ_y/(2μ); the authors' code has σ_y/(2μ), and so has this. σ is held at 0.01 before
//! the logarithm.

use pullback_math::spectral::{Principal, Slopes};
use pullback_math::{
    Mat3, Real, SpectralMap, Svd3, SymMat3, Vec3, spectral_map_at, spectral_map_at_vjp, svd,
};

use super::hencky::{Returned, Yield, hencky_stress, hencky_stress_vjp};
use super::lame::{lame, lame_vjp};
use super::{Elastoplastic, spectral_model};

/// Hencky elasticity with von Mises plasticity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VonMises;

spectral_model!(VonMises, Elastoplastic, 3);

/// Smallest singular value whose logarithm is taken.
const FLOOR: f64 = 0.01;

impl SpectralMap<3> for VonMises {
    #[inline(always)]
    fn principal<T: Real>(sigma: Vec3<T>, params: [T; 3]) -> Principal<T> {
        let Elastoplastic { young, poisson, yield_stress } = params.into();
        let moduli = lame(young, poisson);
        let at = Returned::new(sigma, von_mises(moduli.0, yield_stress, FLOOR));
        Principal { flow: at.flow, stress: hencky_stress(at.elastic, moduli) }
    }
    #[inline(always)]
    fn principal_vjp<T: Real>(sigma: Vec3<T>, params: [T; 3], out_bar: Principal<T>) -> (Vec3<T>, [T; 3]) {
        let Elastoplastic { young, poisson, yield_stress } = params.into();
        let moduli = lame(young, poisson);
        let criterion = von_mises(moduli.0, yield_stress, FLOOR);
        let at = Returned::new(sigma, criterion);
        let (elastic_bar, (mu_bar, lambda_bar)) = hencky_stress_vjp(at.elastic, moduli, out_bar.stress);
        let (sigma_bar, radius_bar, _) = at.vjp(sigma, criterion, elastic_bar, out_bar.flow);
        let (of_radius, yield_stress) = von_mises_vjp(moduli.0, yield_stress, radius_bar);
        let (young, poisson) = lame_vjp(young, poisson, (mu_bar + of_radius, lambda_bar));
        (sigma_bar, Elastoplastic { young, poisson, yield_stress }.into())
    }
    #[inline(always)]
    fn slopes<T: Real>(sigma: Vec3<T>, params: [T; 3]) -> Slopes<T> {
        let Elastoplastic { young, poisson, yield_stress } = params.into();
        let (mu, _) = lame(young, poisson);
        let (elastic, flow) = Returned::new(sigma, von_mises(mu, yield_stress, FLOOR)).slopes(sigma);
        Slopes { flow, stress: elastic * (mu + mu) }
    }
}

/// r = σ_y/(2μ)
#[inline(always)]
pub(super) fn von_mises<T: Real>(mu: T, yield_stress: T, floor: f64) -> Yield<T> {
    Yield { radius: yield_stress / (mu + mu), radius_of_mean: T::zero(), cohesionless: false, floor }
}
/// dr = dσ_y/(2μ) − r dμ/μ: cotangents of μ and σ_y. By hand: the criterion also holds constants.
#[inline(always)]
pub(super) fn von_mises_vjp<T: Real>(mu: T, yield_stress: T, radius_bar: T) -> (T, T) {
    let yield_bar = radius_bar / (mu + mu);
    (-(yield_bar * yield_stress / mu), yield_bar)
}
