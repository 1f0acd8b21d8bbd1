//! Materials of the material point method: what a trial deformation becomes, and the stress it causes.
//!
//! Each substep gives a particle the trial deformation gradient F_trial = (1 + Δt C) F. A [`Material`] turns it into the
//! deformation gradient that remains after plastic flow and the Kirchhoff stress τ = P Fᵀ = J σ. Every parameter is a
//! number per particle and carries a gradient.
//!
//! | material | stress | flow | source |
//! |---|---|---|---|
//! | [`FixedCorotated`] | 2μ(F − R)Fᵀ + λJ(J − 1) | none | Stomakhin et al. 2012 |
//! | [`NeoHookean`] | μ(FFᵀ − 1) + λ ln J | none | Bonet and Wood, §6.4.3 |
//! | [`VonMises`] | U(2μϵ + λ tr ϵ)Uᵀ, ϵ = ln σ | to \|dev ϵ\| = σ_y/2μ | Rewarped, Eqs. 30-32 |
//! | [`Plasticine`] | as `FixedCorotated` | to \|dev ϵ\| = σ_y/2μ | PlasticineLab (Huang et al. 2021) |
//! | [`Fluid`] | λJ(J − 1) | F = J^⅓ 1 | Rewarped, Eqs. 33-34 |
//! | [`Sand`] | U(2μϵ + λ tr ϵ)Uᵀ | into the friction cone | Klár et al. 2016 |
//!
//! The materials with singular values are [spectral maps](pullback_math::spectral): their pullbacks use divided
//! differences and are exact where singular values coincide. Parameters with a unit: Young's modulus and yield
//! stress in Pa, the friction angle in rad; μ and λ are [Lamé's](lame) of Young's modulus and Poisson's ratio.
//!
//! Limits: 0 < E, −1 < ν < ½. Stresses are finite for any F whose J² λ the float can hold. F is stored to the float's
//! round-off, so in `f32` a strain is known to about 10⁻⁷ and a stress to 10⁻⁷ E, however it is computed.

mod fixed_corotated;
mod fluid;
mod hencky;
pub mod lame;
mod neo_hookean;
mod plasticine;
mod sand;
mod volume;
mod von_mises;

use pullback_math::{Mat3, Real, Svd3, SymMat3};

pub use fixed_corotated::FixedCorotated;
pub use fluid::Fluid;
pub use neo_hookean::NeoHookean;
pub use plasticine::Plasticine;
pub use sand::Sand;
pub use von_mises::VonMises;

/// What a trial deformation becomes, and the stress it causes; `P` parameters per particle.
///
/// ```
/// use pullback_math::{Mat3, Vec3};
/// use pullback_mpm::material::{Material, VonMises};
/// // Stretched far past yield: the deviatoric stress stays on the yield surface.
/// let (f, tau) = VonMises::update(Mat3::diagonal(Vec3::new(1.5f64, 1.0, 1.0)), [5e3, 0.2, 50.0]);
/// let mean = tau.trace() / 3.0;
/// let deviator = Vec3::new(tau.xx - mean, tau.yy - mean, tau.zz - mean).norm();
/// assert!((deviator - 50.0).abs() < 1e-9);
/// assert!((f.determinant() - 1.5).abs() < 1e-12, "plastic flow keeps volume");
/// ```
pub trait Material<const P: usize>: Copy + Send + Sync {
    /// Name and unit of each parameter; the unit of a pure number is "".
    const PARAMETERS: [(&'static str, &'static str); P];

    /// The singular values of F_trial; zeros for a material that needs none.
    #[inline(always)]
    fn decompose<T: Real>(_f_trial: Mat3<T>) -> Svd3<T> {
        Svd3::default()
    }
    /// From F_trial and what [`decompose`](Material::decompose) makes of it: F after plastic flow, and the Kirchhoff stress τ.
    fn update_at<T: Real>(f_trial: Mat3<T>, svd: Svd3<T>, params: [T; P]) -> (Mat3<T>, SymMat3<T>);
    /// Pullback of [`update`](Material::update), with what [`decompose`](Material::decompose) makes of F_trial.
    fn update_at_vjp<T: Real>(
        f_trial: Mat3<T>,
        svd: Svd3<T>,
        params: [T; P],
        out_bar: (Mat3<T>, SymMat3<T>),
    ) -> (Mat3<T>, [T; P]);

    /// From F_trial: F after plastic flow, and the Kirchhoff stress τ.
    #[inline(always)]
    fn update<T: Real>(f_trial: Mat3<T>, params: [T; P]) -> (Mat3<T>, SymMat3<T>) {
        Self::update_at(f_trial, Self::decompose(f_trial), params)
    }
    /// Pullback of [`update`](Material::update). An off-diagonal number of `tau_bar` stands for both entries.
    #[inline(always)]
    fn update_vjp<T: Real>(
        f_trial: Mat3<T>,
        params: [T; P],
        out_bar: (Mat3<T>, SymMat3<T>),
    ) -> (Mat3<T>, [T; P]) {
        Self::update_at_vjp(f_trial, Self::decompose(f_trial), params, out_bar)
    }
}

/// [`Material`] for a [`SpectralMap`](pullback_math::SpectralMap).
macro_rules! spectral_material {
    ($material:ty, $p:literal, $parameters:expr) => {
        impl $crate::material::Material<$p> for $material {
            const PARAMETERS: [(&'static str, &'static str); $p] = $parameters;

            #[inline(always)]
            fn decompose<T: Real>(f_trial: Mat3<T>) -> Svd3<T> {
                svd(f_trial)
            }
            #[inline(always)]
            fn update_at<T: Real>(f_trial: Mat3<T>, svd: Svd3<T>, params: [T; $p]) -> (Mat3<T>, SymMat3<T>) {
                spectral_map_at::<$material, T, $p>(f_trial, svd, params)
            }
            #[inline(always)]
            fn update_at_vjp<T: Real>(
                f_trial: Mat3<T>,
                svd: Svd3<T>,
                params: [T; $p],
                out_bar: (Mat3<T>, SymMat3<T>),
            ) -> (Mat3<T>, [T; $p]) {
                spectral_map_at_vjp::<$material, T, $p>(f_trial, svd, params, out_bar)
            }
        }
    };
}
use spectral_material;
