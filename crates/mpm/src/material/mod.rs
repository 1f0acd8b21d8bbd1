//! Materials and their constitutive models: plastic flow and stress of a trial deformation.
//!
//! Each substep gives a particle the trial deformation gradient F_trial = (1 + Δt C) F. A
//! [`ConstitutiveModel`] turns it into the deformation gradient that remains after plastic flow and the
//! Kirchhoff stress τ = P Fᵀ = J σ. Every parameter is a number per particle and carries a gradient.
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
//! The materials with singular values are [spectral maps](pullback_math::spectral): their pullbacks use
//! divided differences and are exact where singular values coincide. Parameters with a unit: Young's modulus
//! and yield stress in Pa, the friction angle in rad; μ and λ are [Lamé's](lame) of Young's modulus and
//! Poisson's ratio.
//!
//! Limits: 0 < E, −1 < ν < ½. Stresses are finite for any F whose J² λ the float can hold. F is stored to the
//! float's round-off, so in `f32` a strain is known to about 10⁻⁷ and a stress to 10⁻⁷ E, however it is
//! computed.

mod fixed_corotated;
mod fluid;
mod hencky;
pub mod lame;
mod neo_hookean;
mod params;
mod plasticine;
mod sand;
mod volume;
mod von_mises;

use pullback_math::{Mat3, Real, Svd3, SymMat3};

pub use fixed_corotated::FixedCorotated;
pub use fluid::Fluid;
pub use neo_hookean::NeoHookean;
pub use params::{Elastic, Elastoplastic, Granular, MaterialParams};
pub use plasticine::Plasticine;
pub use sand::Sand;
pub use von_mises::VonMises;

/// The material of a group of particles, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Material {
    /// Fixed-corotated elastic solid.
    FixedCorotated(Elastic<f64>),
    /// Neo-Hookean elastic solid.
    NeoHookean(Elastic<f64>),
    /// Elastoplastic solid in Hencky strain.
    VonMises(Elastoplastic<f64>),
    /// PlasticineLab's corotated plasticine.
    Plasticine(Elastoplastic<f64>),
    /// Weakly compressible fluid.
    Fluid(Elastic<f64>),
    /// Drucker-Prager sand.
    Sand(Granular<f64>),
}

impl Material {
    /// Name, unit and value of each parameter.
    pub fn params(&self) -> Vec<(&'static str, &'static str, f64)> {
        fn described<P: MaterialParams<f64>>(params: P) -> Vec<(&'static str, &'static str, f64)> {
            let mut values = vec![0.0; P::LEN];
            params.write(&mut values);
            P::FIELDS.iter().zip(values).map(|((name, unit), value)| (*name, *unit, value)).collect()
        }
        match *self {
            Material::FixedCorotated(p) | Material::NeoHookean(p) | Material::Fluid(p) => described(p),
            Material::VonMises(p) | Material::Plasticine(p) => described(p),
            Material::Sand(p) => described(p),
        }
    }

    /// Modulus of its fastest small waves, Pa: λ + 2μ, of a fluid λ.
    pub fn wave_modulus(&self) -> f64 {
        let (young, poisson) = match *self {
            Material::FixedCorotated(p) | Material::NeoHookean(p) | Material::Fluid(p) => {
                (p.young, p.poisson)
            }
            Material::VonMises(p) | Material::Plasticine(p) => (p.young, p.poisson),
            Material::Sand(p) => (p.young, p.poisson),
        };
        let (mu, lambda) = lame::lame(young, poisson);
        if matches!(self, Material::Fluid(_)) { lambda } else { lambda + 2.0 * mu }
    }
}

/// Plastic flow and stress of a trial deformation.
///
/// ```
/// use pullback_math::{Mat3, Vec3};
/// use pullback_mpm::material::{ConstitutiveModel, Elastoplastic, VonMises};
/// // Stretched far past yield: the deviatoric stress stays on the yield surface.
/// let params = Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 };
/// let (f, tau) = VonMises::update(Mat3::diagonal(Vec3::new(1.5f64, 1.0, 1.0)), params);
/// let mean = tau.trace() / 3.0;
/// let deviator = Vec3::new(tau.xx - mean, tau.yy - mean, tau.zz - mean).norm();
/// assert!((deviator - 50.0).abs() < 1e-9);
/// assert!((f.determinant() - 1.5).abs() < 1e-12, "plastic flow keeps volume");
/// ```
pub trait ConstitutiveModel: Copy + Send + Sync {
    /// Parameters of one particle.
    type Params<T: Real>: MaterialParams<T>;

    /// The singular values of F_trial; zeros for a material that needs none.
    #[inline(always)]
    fn decompose<T: Real>(_f_trial: Mat3<T>) -> Svd3<T> {
        Svd3::default()
    }
    /// F after plastic flow, and the Kirchhoff stress τ, from F_trial and its
    /// [`decompose`](ConstitutiveModel::decompose).
    fn update_at<T: Real>(f_trial: Mat3<T>, svd: Svd3<T>, params: Self::Params<T>) -> (Mat3<T>, SymMat3<T>);
    /// Pullback of [`update_at`](ConstitutiveModel::update_at), with F_trial alone a variable: `svd` depends
    /// on it.
    fn update_at_vjp<T: Real>(
        f_trial: Mat3<T>,
        svd: Svd3<T>,
        params: Self::Params<T>,
        out_bar: (Mat3<T>, SymMat3<T>),
    ) -> (Mat3<T>, Self::Params<T>);

    /// F after plastic flow, and the Kirchhoff stress τ, from F_trial.
    #[inline(always)]
    fn update<T: Real>(f_trial: Mat3<T>, params: Self::Params<T>) -> (Mat3<T>, SymMat3<T>) {
        Self::update_at(f_trial, Self::decompose(f_trial), params)
    }
    /// Pullback of [`update`](ConstitutiveModel::update). An off-diagonal number of `tau_bar` stands for both
    /// entries.
    #[inline(always)]
    fn update_vjp<T: Real>(
        f_trial: Mat3<T>,
        params: Self::Params<T>,
        out_bar: (Mat3<T>, SymMat3<T>),
    ) -> (Mat3<T>, Self::Params<T>) {
        Self::update_at_vjp(f_trial, Self::decompose(f_trial), params, out_bar)
    }
}

/// [`ConstitutiveModel`] for a [`SpectralMap`](pullback_math::SpectralMap).
macro_rules! spectral_model {
    ($model:ty, $params:ident, $p:literal) => {
        impl $crate::material::ConstitutiveModel for $model {
            type Params<T: Real> = $params<T>;

            #[inline(always)]
            fn decompose<T: Real>(f_trial: Mat3<T>) -> Svd3<T> {
                svd(f_trial)
            }
            #[inline(always)]
            fn update_at<T: Real>(
                f_trial: Mat3<T>,
                svd: Svd3<T>,
                params: $params<T>,
            ) -> (Mat3<T>, SymMat3<T>) {
                spectral_map_at::<$model, T, $p>(f_trial, svd, params.into())
            }
            #[inline(always)]
            fn update_at_vjp<T: Real>(
                f_trial: Mat3<T>,
                svd: Svd3<T>,
                params: $params<T>,
                out_bar: (Mat3<T>, SymMat3<T>),
            ) -> (Mat3<T>, $params<T>) {
                let (f_bar, params_bar) =
                    spectral_map_at_vjp::<$model, T, $p>(f_trial, svd, params.into(), out_bar);
                (f_bar, params_bar.into())
            }
        }
    };
}
use spectral_model;
