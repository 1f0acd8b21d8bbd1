//! PlasticineLab's dough: corotated stress with von Mises flow in Hencky strain (Huang et al. 2021, code).
//!
//! The deviator of ϵ = ln σ returns to the radius σ_y/(2μ), with σ clamped at 0.05 before the logarithm; then
//! τ = 2μ(F − R)Fᵀ + λJ(J − 1) 1 with the F that remains and R = U Vᵀ of the trial, which is also the
//! rotation of what remains unless it is inverted. Limit: this stress is not the derivative of the energy
//! behind the return map, so |dev τ| on the yield surface equals σ_y only to first order in the strain.

use pullback_math::spectral::{Principal, Slopes};
use pullback_math::{
    Mat3, Real, SpectralMap, Svd3, SymMat3, Vec3, spectral_map_at, spectral_map_at_vjp, svd,
};

use super::fixed_corotated::{corotated_slopes, corotated_stress, corotated_stress_vjp};
use super::hencky::Returned;
use super::lame::{lame, lame_vjp};
use super::von_mises::{von_mises, von_mises_vjp};
use super::{Elastoplastic, spectral_model};

/// Corotated elasticity with von Mises plasticity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plasticine;

spectral_model!(Plasticine, Elastoplastic, 3);

/// Smallest singular value whose logarithm is taken.
const FLOOR: f64 = 0.05;

impl SpectralMap<3> for Plasticine {
    #[inline(always)]
    fn principal<T: Real>(sigma: Vec3<T>, params: [T; 3]) -> Principal<T> {
        let Elastoplastic { young, poisson, yield_stress } = params.into();
        let moduli = lame(young, poisson);
        let at = Returned::new(sigma, von_mises(moduli.0, yield_stress, FLOOR));
        Principal { flow: at.flow, stress: corotated_stress(at.remaining, moduli) }
    }
    #[inline(always)]
    fn principal_vjp<T: Real>(sigma: Vec3<T>, params: [T; 3], out_bar: Principal<T>) -> (Vec3<T>, [T; 3]) {
        let Elastoplastic { young, poisson, yield_stress } = params.into();
        let moduli = lame(young, poisson);
        let criterion = von_mises(moduli.0, yield_stress, FLOOR);
        let at = Returned::new(sigma, criterion);
        // What remains is σ + h.
        let (remaining_bar, (mu_bar, lambda_bar)) =
            corotated_stress_vjp(at.remaining, moduli, out_bar.stress);
        let flow_bar = out_bar.flow + remaining_bar;
        let (sigma_bar, radius_bar, _) = at.vjp(sigma, criterion, Vec3::zero(), flow_bar);
        let (of_radius, yield_stress) = von_mises_vjp(moduli.0, yield_stress, radius_bar);
        let (young, poisson) = lame_vjp(young, poisson, (mu_bar + of_radius, lambda_bar));
        (sigma_bar + remaining_bar, Elastoplastic { young, poisson, yield_stress }.into())
    }
    #[inline(always)]
    fn slopes<T: Real>(sigma: Vec3<T>, params: [T; 3]) -> Slopes<T> {
        let Elastoplastic { young, poisson, yield_stress } = params.into();
        let (mu, _) = lame(young, poisson);
        let at = Returned::new(sigma, von_mises(mu, yield_stress, FLOOR));
        let (_, flow) = at.slopes(sigma);
        // t is a function of what remains, σ + h.
        let stress = corotated_slopes(at.remaining, mu).zip(flow, |t, h| t * (h + T::one()));
        Slopes { flow, stress }
    }
}
