//! Dry sand: Hencky elasticity inside a Drucker-Prager friction cone (Klár et al. 2016, §7.3).
//!
//! |dev τ| ≤ −α tr τ with α = √⅔ 2 sin φ/(3 − sin φ) for the friction angle φ; in strains, the radius of the
//! yield surface is r = −α (3λ + 2μ)/(2μ) tr ϵ = −3α (1 + ν)/(1 − 2ν) m. There is no cohesion: under tension
//! (tr ϵ > 0) the strain is forgotten, F = U Vᵀ and τ = 0. σ is held at 0.01 before the logarithm.
//!
//! Limits: neither hardening nor the volume correction of Tampubolon et al. 2017, so sand that has separated
//! and comes together again has gained a little volume.

use pullback_math::spectral::{Principal, Slopes};
use pullback_math::{
    Mat3, Real, SpectralMap, Svd3, SymMat3, Vec3, spectral_map_at, spectral_map_at_vjp, svd,
};

use super::hencky::{Returned, Yield, hencky_stress, hencky_stress_vjp};
use super::lame::{lame, lame_vjp};
use super::{Granular, spectral_model};

/// Dry sand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sand;

spectral_model!(Sand, Granular, 3);

impl SpectralMap<3> for Sand {
    #[inline(always)]
    fn principal<T: Real>(sigma: Vec3<T>, params: [T; 3]) -> Principal<T> {
        let Granular { young, poisson, friction_angle } = params.into();
        let at = Returned::new(sigma, drucker_prager(poisson, friction_angle));
        Principal { flow: at.flow, stress: hencky_stress(at.elastic, lame(young, poisson)) }
    }
    #[inline(always)]
    fn principal_vjp<T: Real>(sigma: Vec3<T>, params: [T; 3], out_bar: Principal<T>) -> (Vec3<T>, [T; 3]) {
        let Granular { young, poisson, friction_angle } = params.into();
        let moduli = lame(young, poisson);
        let criterion = drucker_prager(poisson, friction_angle);
        let at = Returned::new(sigma, criterion);
        let (elastic_bar, moduli_bar) = hencky_stress_vjp(at.elastic, moduli, out_bar.stress);
        let (sigma_bar, _, slope_bar) = at.vjp(sigma, criterion, elastic_bar, out_bar.flow);
        let (of_cone, angle_bar) = drucker_prager_vjp(poisson, friction_angle, slope_bar);
        let (young, of_moduli) = lame_vjp(young, poisson, moduli_bar);
        let params_bar = Granular { young, poisson: of_moduli + of_cone, friction_angle: angle_bar };
        (sigma_bar, params_bar.into())
    }
    #[inline(always)]
    fn slopes<T: Real>(sigma: Vec3<T>, params: [T; 3]) -> Slopes<T> {
        let Granular { young, poisson, friction_angle } = params.into();
        let (mu, _) = lame(young, poisson);
        let (elastic, flow) = Returned::new(sigma, drucker_prager(poisson, friction_angle)).slopes(sigma);
        Slopes { flow, stress: elastic * (mu + mu) }
    }
}

/// −3 √⅔ 2, the numbers in front of r₁.
const CONE: f64 = -4.898_979_485_566_356;

/// r₁ = −3α (1 + ν)/(1 − 2ν)
#[inline(always)]
fn drucker_prager<T: Real>(poisson: T, angle: T) -> Yield<T> {
    let sin = angle.sin();
    let stiff = (T::one() + poisson) / (T::one() - (poisson + poisson));
    let radius_of_mean = T::lit(CONE) * sin / (T::lit(3.0) - sin) * stiff;
    Yield { radius: T::zero(), radius_of_mean, cohesionless: true, floor: 0.01 }
}
/// d((1 + ν)/(1 − 2ν)) = 3 dν/(1 − 2ν)², d(sin φ/(3 − sin φ)) = 3 cos φ dφ/(3 − sin φ)²: cotangents of ν and
/// φ. By hand: the criterion also holds constants.
#[inline(always)]
fn drucker_prager_vjp<T: Real>(poisson: T, angle: T, slope_bar: T) -> (T, T) {
    let (sin, cos) = angle.sin_cos();
    let (shrink, room) = (T::one() - (poisson + poisson), T::lit(3.0) - sin);
    let (stiff, steep) = ((T::one() + poisson) / shrink, sin / room);
    let scale = slope_bar * T::lit(3.0 * CONE);
    (scale * steep / (shrink * shrink), scale * stiff * cos / (room * room))
}
