//! A weakly compressible fluid: only the volume is remembered (Rewarped, Eqs. 33-34).
//!
//! F after each substep is J^⅓ 1, and τ = λJ(J − 1) 1; J − 1 is formed from F − 1. Limit: J is held at 10⁻⁶
//! from below, where it has no gradient; a fluid particle cannot turn inside out.

use pullback_math::spectral::{ln_1p, ln_1p_vjp};
use pullback_math::{Mat3, Real, Svd3, SymMat3, differentiable};

use super::lame::{lame, lame_vjp};
use super::volume::{J_FLOOR, pressure, pressure_vjp, volume_change, volume_change_vjp};
use super::{ConstitutiveModel, Elastic};

/// A weakly compressible fluid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fluid;

impl ConstitutiveModel for Fluid {
    type Params<T: Real> = Elastic<T>;

    #[inline(always)]
    fn update_at<T: Real>(
        f_trial: Mat3<T>,
        _: Svd3<T>,
        Elastic { young, poisson }: Elastic<T>,
    ) -> (Mat3<T>, SymMat3<T>) {
        let change = volume_change(f_trial).max(T::lit(J_FLOOR - 1.0));
        let p = pressure(change, lame(young, poisson).1);
        (Mat3::identity() * cube_root(change), SymMat3::identity() * p)
    }
    #[inline(always)]
    fn update_at_vjp<T: Real>(
        f_trial: Mat3<T>,
        _: Svd3<T>,
        Elastic { young, poisson }: Elastic<T>,
        (f_bar, tau_bar): (Mat3<T>, SymMat3<T>),
    ) -> (Mat3<T>, Elastic<T>) {
        let (change, floor) = (volume_change(f_trial), T::lit(J_FLOOR - 1.0));
        let clamped = change.max(floor);
        let (of_pressure, lambda_bar) = pressure_vjp(clamped, lame(young, poisson).1, tau_bar.trace());
        let of_cube_root = cube_root_vjp(clamped, f_bar.trace());
        let (change_bar, _) = change.max_vjp(floor, of_pressure + of_cube_root);
        let (young, poisson) = lame_vjp(young, poisson, (T::zero(), lambda_bar));
        (volume_change_vjp(f_trial, change_bar), Elastic { young, poisson })
    }
}

/// (1 + change)^⅓
#[differentiable]
#[inline(always)]
fn cube_root<T: Real>(change: T) -> T {
    (ln_1p(change) * T::lit(1.0 / 3.0)).exp()
}
