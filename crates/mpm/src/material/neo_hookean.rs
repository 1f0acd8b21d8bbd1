//! Compressible neo-Hookean elasticity: τ = μ(FFᵀ − 1) + λ ln J 1 (Bonet and Wood, §6.4.3).
//!
//! The energy is μ/2 (tr FᵀF − 3) − μ ln J + λ/2 ln²J. No singular values are needed: FFᵀ − 1 and J − 1 are
//! formed from F − 1, so that small strains keep their digits. Limit: ln J has no meaning for an inverted
//! particle; J is held at 10⁻⁶ there, and the volume no longer pushes back by more than λ ln 10⁻⁶ nor has a
//! gradient.

use pullback_math::spectral::{ln_1p, ln_1p_vjp};
use pullback_math::{Mat3, Real, Svd3, SymMat3};

use super::lame::{lame, lame_vjp};
use super::volume::{J_FLOOR, volume_change, volume_change_vjp};
use super::{ConstitutiveModel, Elastic};

/// Compressible neo-Hookean elasticity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeoHookean;

impl ConstitutiveModel for NeoHookean {
    type Params<T: Real> = Elastic<T>;

    #[inline(always)]
    fn update_at<T: Real>(
        f_trial: Mat3<T>,
        _: Svd3<T>,
        Elastic { young, poisson }: Elastic<T>,
    ) -> (Mat3<T>, SymMat3<T>) {
        let (mu, lambda) = lame(young, poisson);
        let log_j = ln_1p(volume_change(f_trial).max(T::lit(J_FLOOR - 1.0)));
        (f_trial, finger_strain(f_trial) * mu + SymMat3::identity() * (lambda * log_j))
    }
    #[inline(always)]
    fn update_at_vjp<T: Real>(
        f_trial: Mat3<T>,
        _: Svd3<T>,
        Elastic { young, poisson }: Elastic<T>,
        (f_bar, tau_bar): (Mat3<T>, SymMat3<T>),
    ) -> (Mat3<T>, Elastic<T>) {
        let (mu, lambda) = lame(young, poisson);
        let (change, floor) = (volume_change(f_trial), T::lit(J_FLOOR - 1.0));
        let clamped = change.max(floor);
        let full_bar = SymMat3::from_mat3_vjp(f_trial, tau_bar);
        let trace_bar = tau_bar.trace();

        // d(FFᵀ) : τ̄ = 2 τ̄ F : dF
        let of_shear = full_bar * f_trial * (mu + mu);
        let (change_bar, _) = change.max_vjp(floor, ln_1p_vjp(clamped, trace_bar * lambda));
        let mu_bar = (finger_strain(f_trial).to_mat3().transpose() * full_bar).trace();
        let (young, poisson) = lame_vjp(young, poisson, (mu_bar, trace_bar * ln_1p(clamped)));
        (f_bar + of_shear + volume_change_vjp(f_trial, change_bar), Elastic { young, poisson })
    }
}

/// FFᵀ − 1 = H + Hᵀ + HHᵀ, with H = F − 1.
#[inline(always)]
fn finger_strain<T: Real>(f: Mat3<T>) -> SymMat3<T> {
    let h = f - Mat3::identity();
    SymMat3::from_mat3(h + h.transpose() + h * h.transpose())
}
