//! Tetrahedra of constant strain: F = D_s D_m⁻¹, forces (f₁ f₂ f₃) = −V P(F) D_m⁻ᵀ, f₀ = −f₁ − f₂ − f₃.
//!
//! Three laws for the first Piola-Kirchhoff stress P. Each adds the same damping, kd Ḟ + kd J̇ ∂J/∂F (that of
//! dFlex; the second part resists changes of volume; the first resists turning too, so it takes away angular
//! momentum), and each has an activation a per element, which enters as a change of volume: a > 0 lets the
//! element shrink until J = 1 − a costs no volumetric energy.
//!
//! | law | energy density Ψ |
//! |---|---|
//! | [`NeoHookean`] | μ/2 (I_C − 3) + λ/2 (J − α + a)² − μ/2 ln(I_C + 1), α = 1 + ¾ μ/λ (gradSim Eq. 1, Smith et al. 2018) |
//! | [`StVenantKirchhoff`] | μ E:E + λ/2 (tr E + a)², E = ½ (FᵀF − 1) |
//! | [`Corotated`] | μ ‖F − R‖² + λ/2 (J − 1 + a)², F = R S |
//!
//! I_C = tr(FᵀF): gradSim's own code takes the diagonal of F only, a slip that its successors mended.
//! Inverted elements (J < 0) keep finite forces that push them back, except with St. Venant-Kirchhoff, which
//! resists compression less and less below J ≈ 0.58 and cannot be recommended there.

use pullback_math::{Flat, Mat3, Real, Vec3, differentiable, polar, polar_vjp};

use super::element::{Element, ElementBars, work};

/// An elastic law with its parameters μ, λ, kd and activation.
pub trait Law: Copy + Send + Sync + 'static {
    /// Energy density Ψ(F), J/m³, zero at rest.
    fn energy<T: Real>(f: Mat3<T>, params: [T; 4]) -> T;
    /// First Piola-Kirchhoff stress at F and Ḟ, Pa.
    fn stress<T: Real>(f: Mat3<T>, f_dot: Mat3<T>, params: [T; 4]) -> Mat3<T>;
    /// The pullback of [`Law::stress`].
    fn stress_vjp<T: Real>(
        f: Mat3<T>,
        f_dot: Mat3<T>,
        params: [T; 4],
        out_bar: Mat3<T>,
    ) -> (Mat3<T>, Mat3<T>, [T; 4]);
}

/// Stable neo-Hookean.
#[derive(Clone, Copy, Debug)]
pub struct NeoHookean;
/// St. Venant-Kirchhoff.
#[derive(Clone, Copy, Debug)]
pub struct StVenantKirchhoff;
/// Fixed corotated.
#[derive(Clone, Copy, Debug)]
pub struct Corotated;

/// cof F = ∂J/∂F, and J̇ = cof F : Ḟ.
#[differentiable]
#[inline(always)]
fn volume_rate<T: Real>(f: Mat3<T>, f_dot: Mat3<T>) -> (Mat3<T>, T) {
    let cof = f.cofactor();
    (cof, cof.c0.dot(f_dot.c0) + cof.c1.dot(f_dot.c1) + cof.c2.dot(f_dot.c2))
}

/// P = μ (1 − 1/(I_C + 1)) F + (λ (J − α + a) + kd J̇) cof F + kd Ḟ, with λ (1 − α) = −¾ μ.
#[differentiable]
#[inline(always)]
fn neo_hookean<T: Real>(f: Mat3<T>, f_dot: Mat3<T>, params: [T; 4]) -> Mat3<T> {
    let [mu, lambda, damping, activation] = params;
    let (cof, j_dot) = volume_rate(f, f_dot);
    let j = f.c0.dot(cof.c0);
    let shear = mu - mu / (f.frobenius_squared() + T::one());
    let pressure = lambda * (j - T::one() + activation) - mu * T::lit(0.75) + damping * j_dot;
    f * shear + cof * pressure + f_dot * damping
}

/// P = F (2 μ E + λ (tr E + a) 1) + kd J̇ cof F + kd Ḟ.
#[differentiable]
#[inline(always)]
fn st_venant_kirchhoff<T: Real>(f: Mat3<T>, f_dot: Mat3<T>, params: [T; 4]) -> Mat3<T> {
    let [mu, lambda, damping, activation] = params;
    let (cof, j_dot) = volume_rate(f, f_dot);
    let trace = (f.frobenius_squared() - T::lit(3.0)) * T::lit(0.5);
    // F E = ½ (F FᵀF − F)
    let fe = (f * (f.transpose() * f) - f) * T::lit(0.5);
    fe * (T::lit(2.0) * mu) + f * (lambda * (trace + activation)) + cof * (damping * j_dot) + f_dot * damping
}

/// The rotation of the polar decomposition.
#[differentiable]
#[inline(always)]
fn rotation<T: Real>(f: Mat3<T>) -> Mat3<T> {
    polar(f).rotation
}

/// P = 2 μ (F − R) + (λ (J − 1 + a) + kd J̇) cof F + kd Ḟ.
#[differentiable]
#[inline(always)]
fn corotated<T: Real>(f: Mat3<T>, f_dot: Mat3<T>, params: [T; 4]) -> Mat3<T> {
    let [mu, lambda, damping, activation] = params;
    let (cof, j_dot) = volume_rate(f, f_dot);
    let j = f.c0.dot(cof.c0);
    let pressure = lambda * (j - T::one() + activation) + damping * j_dot;
    (f - rotation(f)) * (T::lit(2.0) * mu) + cof * pressure + f_dot * damping
}

/// Ψ of [`NeoHookean`], less its value at rest.
fn neo_hookean_energy<T: Real>(f: Mat3<T>, [mu, lambda, _, a]: [T; 4]) -> T {
    let (invariant, volume) = (f.frobenius_squared(), f.determinant() - T::one());
    let shear = invariant - T::lit(3.0) - ((invariant + T::one()) * T::lit(0.25)).ln();
    // λ/2 (J − α + a)² = λ/2 (J − 1 + a)² − ¾ μ (J − 1) + constant
    (mu * shear + lambda * (volume + a) * (volume + a)) * T::lit(0.5) - mu * volume * T::lit(0.75)
}

/// Ψ of [`StVenantKirchhoff`].
fn st_venant_kirchhoff_energy<T: Real>(f: Mat3<T>, [mu, lambda, _, a]: [T; 4]) -> T {
    let strain = (f.transpose() * f - Mat3::identity()) * T::lit(0.5);
    let volume = strain.trace() + a;
    mu * strain.frobenius_squared() + lambda * volume * volume * T::lit(0.5)
}

/// Ψ of [`Corotated`].
fn corotated_energy<T: Real>(f: Mat3<T>, [mu, lambda, _, a]: [T; 4]) -> T {
    let volume = f.determinant() - T::one() + a;
    mu * (f - polar(f).rotation).frobenius_squared() + lambda * volume * volume * T::lit(0.5)
}

macro_rules! law {
    ($name:ident, $energy:ident, $stress:ident, $stress_vjp:ident) => {
        impl Law for $name {
            fn energy<T: Real>(f: Mat3<T>, params: [T; 4]) -> T {
                $energy(f, params)
            }
            #[inline(always)]
            fn stress<T: Real>(f: Mat3<T>, f_dot: Mat3<T>, params: [T; 4]) -> Mat3<T> {
                $stress(f, f_dot, params)
            }
            #[inline(always)]
            fn stress_vjp<T: Real>(
                f: Mat3<T>,
                f_dot: Mat3<T>,
                params: [T; 4],
                out_bar: Mat3<T>,
            ) -> (Mat3<T>, Mat3<T>, [T; 4]) {
                $stress_vjp(f, f_dot, params, out_bar)
            }
        }
    };
}
law!(NeoHookean, neo_hookean_energy, neo_hookean, neo_hookean_vjp);
law!(StVenantKirchhoff, st_venant_kirchhoff_energy, st_venant_kirchhoff, st_venant_kirchhoff_vjp);
law!(Corotated, corotated_energy, corotated, corotated_vjp);

/// A tetrahedron; parameters μ (Pa), λ (Pa), damping (Pa s), activation (1); rest: D_m⁻¹ column by column,
/// then V.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tetrahedron<L>(std::marker::PhantomData<L>);

/// D_m⁻¹ and V of a tetrahedron at rest, or `None` if it is flat or inverted.
pub(crate) fn rest_shape(x: [Vec3<f64>; 4]) -> Option<[f64; 10]> {
    let d = edges(x);
    let volume = d.determinant() / 6.0;
    let longest = [d.c0, d.c1, d.c2].iter().map(|c| c.norm()).fold(0.0, f64::max);
    // A sliver flatter than 10⁻⁹ of its longest edge cubed has no usable inverse.
    if volume.is_nan() || volume <= 1e-9 * longest.powi(3) {
        return None;
    }
    let mut rest = [0.0; 10];
    (d.inverse(), volume).write(&mut rest);
    Some(rest)
}

/// (x₁ − x₀, x₂ − x₀, x₃ − x₀).
#[inline(always)]
fn edges<T: Real>([x0, x1, x2, x3]: [Vec3<T>; 4]) -> Mat3<T> {
    Mat3::from_cols(x1 - x0, x2 - x0, x3 - x0)
}

/// The pullback of [`edges`]. By hand: it is linear, and its adjoint makes the forces as well.
#[inline(always)]
fn edges_vjp<T: Real>(bar: Mat3<T>) -> [Vec3<T>; 4] {
    [-(bar.c0 + bar.c1 + bar.c2), bar.c0, bar.c1, bar.c2]
}

#[inline(always)]
fn unpack<T: Real>(rest: [T; 10]) -> (Mat3<T>, T) {
    Flat::read(&rest)
}

impl<L: Law> Element<4, 4, 10> for Tetrahedron<L> {
    /// V Ψ(F)
    fn energy<T: Real>(rest: [T; 10], params: [T; 4], x: [Vec3<T>; 4]) -> T {
        let (b, volume) = unpack(rest);
        volume * L::energy(edges(x) * b, params)
    }

    #[inline(always)]
    fn forces<T: Real>(rest: [T; 10], params: [T; 4], x: [Vec3<T>; 4], v: [Vec3<T>; 4]) -> [Vec3<T>; 4] {
        let (b, volume) = unpack(rest);
        let stress = L::stress(edges(x) * b, edges(v) * b, params);
        edges_vjp(stress * b.transpose() * -volume)
    }

    #[inline(always)]
    fn forces_vjp<T: Real>(
        rest: [T; 10],
        params: [T; 4],
        x: [Vec3<T>; 4],
        v: [Vec3<T>; 4],
        f_bar: [Vec3<T>; 4],
    ) -> ElementBars<T, 4, 4> {
        let (b, volume) = unpack(rest);
        let bt = b.transpose();
        let (f, f_dot) = (edges(x) * b, edges(v) * b);
        // H = −V P D_m⁻ᵀ and the forces are edgesᵀ(H), so H̄ = edges(f̄)
        let forces = edges_vjp(L::stress(f, f_dot, params) * bt * -volume);
        let stress_bar = edges(f_bar) * b * -volume;
        let (f, f_dot, params) = L::stress_vjp(f, f_dot, params, stress_bar);
        ElementBars { x: edges_vjp(f * bt), v: edges_vjp(f_dot * bt), params, work: work(forces, f_bar) }
    }
}
