//! Isotropic maps of a deformation gradient F = U diag(σ) Vᵀ that couple all three singular values:
//!
//! ```text
//! G(F) = F + U diag(h(σ)) Vᵀ     what plastic flow leaves of a deformation; h = 0 leaves F as it is, bit for bit
//! τ(F) = U diag(t(σ)) Uᵀ         a stress
//! ```
//!
//! Return maps and stresses of isotropic materials are of this kind. h and t must treat the three alike (a
//! permutation of σ permutes h and t). With P = Uᵀ dF V, S and A its symmetric and antisymmetric part, the
//! differentials dG = dF + U Q Vᵀ and dτ = U W Uᵀ are
//!
//! ```text
//! Qᵢᵢ = Σⱼ ∂hᵢ/∂σⱼ Pⱼⱼ        Qᵢⱼ = (hᵢ − hⱼ)/(σᵢ − σⱼ) Sᵢⱼ + (hᵢ + hⱼ)/(σᵢ + σⱼ) Aᵢⱼ
//! Wᵢᵢ = Σⱼ ∂tᵢ/∂σⱼ Pⱼⱼ        Wᵢⱼ = (tᵢ − tⱼ)/(σᵢ − σⱼ) (Sᵢⱼ − (σᵢ − σⱼ)/(σᵢ + σⱼ) Aᵢⱼ)
//! ```
//!
//! which follow from dU and dV of [`svd`](mod@crate::svd3) after their poles at σᵢ = σⱼ have canceled. The
//! map itself gives the divided differences by σᵢ − σⱼ ([`SpectralMap::slopes`]), because only it can without
//! cancellation: as the chain rule does for derivatives, the divided difference of f∘g is that of f at (gᵢ,
//! gⱼ) times that of g. [`log_slope`] and [`exp_slope`] are two to build from.
//!
//! Singular points: equal singular values, the identity among them, are ordinary points. Where σᵢ + σⱼ = 0
//! (rank at most one, or inverted with σ₂ = −σ₃) the rotation U Vᵀ is not unique and the terms with that
//! quotient are set to 0, within 16 ε σ₁. Dual numbers take the differential above at any depth; second
//! derivatives (dual numbers through the pullback) are exact except where singular values coincide.

use crate::linear::linear_space;
use crate::svd3::{Svd3, svd};
use crate::symmetric_eigen::safe_inverse;
use crate::{Mat3, Real, SymMat3, Vec3};

/// h and t at the three singular values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Principal<T> {
    /// h: what is added to the singular values.
    pub flow: Vec3<T>,
    /// t: the eigenvalues of the stress.
    pub stress: Vec3<T>,
}

linear_space!(Principal { flow: Vec3<T>, stress: Vec3<T> });

/// Divided differences over the pairs (σ₂, σ₃), (σ₁, σ₃), (σ₁, σ₂): x, y and z name the one left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slopes<T> {
    /// (hᵢ − hⱼ)/(σᵢ − σⱼ), with its limit at σᵢ = σⱼ.
    pub flow: Vec3<T>,
    /// (tᵢ − tⱼ)/(σᵢ − σⱼ), with its limit at σᵢ = σⱼ.
    pub stress: Vec3<T>,
}

/// What an isotropic map with `P` parameters does to the singular values.
pub trait SpectralMap<const P: usize> {
    /// h(σ) and t(σ).
    fn principal<T: Real>(sigma: Vec3<T>, params: [T; P]) -> Principal<T>;
    /// Pullback of [`principal`](SpectralMap::principal).
    fn principal_vjp<T: Real>(sigma: Vec3<T>, params: [T; P], out_bar: Principal<T>) -> (Vec3<T>, [T; P]);
    /// Divided differences of h and t over pairs of singular values.
    fn slopes<T: Real>(sigma: Vec3<T>, params: [T; P]) -> Slopes<T>;
}

/// G(F) and τ(F).
///
/// ```
/// use pullback_math::spectral::{Principal, Slopes, SpectralMap, spectral_map};
/// use pullback_math::{Mat3, Real, SymMat3, Vec3};
/// /// Leaves F alone; τ = s F Fᵀ.
/// struct Square;
/// impl SpectralMap<1> for Square {
///     fn principal<T: Real>(sigma: Vec3<T>, [s]: [T; 1]) -> Principal<T> {
///         Principal { flow: Vec3::zero(), stress: sigma.map(|x| x * x * s) }
///     }
///     fn principal_vjp<T: Real>(sigma: Vec3<T>, [s]: [T; 1], out_bar: Principal<T>) -> (Vec3<T>, [T; 1]) {
///         let t_bar = out_bar.stress;
///         (sigma.zip(t_bar, |x, bar| x * s * bar * T::lit(2.0)), [sigma.map(|x| x * x).dot(t_bar)])
///     }
///     fn slopes<T: Real>(sigma: Vec3<T>, [s]: [T; 1]) -> Slopes<T> {
///         let Vec3 { x, y, z } = sigma;
///         Slopes { flow: Vec3::zero(), stress: Vec3::new(y + z, x + z, x + y) * s }
///     }
/// }
/// let f = Mat3::diagonal(Vec3::new(1.0, 3.0, 2.0));
/// let (g, tau) = spectral_map::<Square, f64, 1>(f, [2.0]);
/// assert_eq!((g, tau), (f, SymMat3::diagonal(Vec3::new(2.0, 18.0, 8.0))));
/// ```
#[inline(always)]
pub fn spectral_map<M: SpectralMap<P>, T: Real, const P: usize>(
    f: Mat3<T>,
    params: [T; P],
) -> (Mat3<T>, SymMat3<T>) {
    spectral_map_at::<M, T, P>(f, svd(f), params)
}
/// [`spectral_map`] of an F whose singular values are known.
#[inline(always)]
pub fn spectral_map_at<M: SpectralMap<P>, T: Real, const P: usize>(
    f: Mat3<T>,
    decomposed: Svd3<T>,
    params: [T; P],
) -> (Mat3<T>, SymMat3<T>) {
    if T::HAS_TANGENT {
        return with_tangent::<M, T, P>(f, decomposed, params);
    }
    let Svd3 { u, sigma, v } = decomposed;
    let Principal { flow, stress } = M::principal(sigma, params);
    (
        f + scaled_columns(u, flow) * v.transpose(),
        SymMat3::from_mat3(scaled_columns(u, stress) * u.transpose()),
    )
}
/// F̄ = Ḡ + U P̄ Vᵀ, P̄ the adjoint of P ↦ (Q, W) in the head of this file, at Uᵀ Ḡ V and Uᵀ τ̄ U
#[inline(always)]
pub fn spectral_map_vjp<M: SpectralMap<P>, T: Real, const P: usize>(
    f: Mat3<T>,
    params: [T; P],
    out_bar: (Mat3<T>, SymMat3<T>),
) -> (Mat3<T>, [T; P]) {
    spectral_map_at_vjp::<M, T, P>(f, svd(f), params, out_bar)
}
/// The same where the singular values are known; they are no variables of their own.
#[inline(always)]
pub fn spectral_map_at_vjp<M: SpectralMap<P>, T: Real, const P: usize>(
    f: Mat3<T>,
    Svd3 { u, sigma, v }: Svd3<T>,
    params: [T; P],
    (g_bar, tau_bar): (Mat3<T>, SymMat3<T>),
) -> (Mat3<T>, [T; P]) {
    let q_bar = u.transpose() * g_bar * v;
    let w_bar = u.transpose() * SymMat3::from_mat3_vjp(f, tau_bar) * u;

    let diagonal = Principal { flow: q_bar.diagonal_part(), stress: w_bar.diagonal_part() };
    let (sigma_bar, params_bar) = M::principal_vjp(sigma, params, diagonal);
    let principal = M::principal(sigma, params);
    let slopes = M::slopes(sigma, params);

    let mut p_bar = Mat3::diagonal(sigma_bar);
    for pair in PAIRS {
        let (i, j, _) = pair;
        let c = coefficients(pair, sigma, principal, slopes);
        let (together, apart) = parts(q_bar, i, j);
        let (w, _) = parts(w_bar, i, j);
        let symmetric = c.flow_together * together + c.stress * w;
        let skew = c.flow_apart * apart - c.stress * c.turn * w;
        p_bar[(i, j)] = symmetric + skew;
        p_bar[(j, i)] = symmetric - skew;
    }
    (g_bar + u * p_bar * v.transpose(), params_bar)
}

/// Value and tangent apart: the diagonal by dual numbers through `principal`, the rest by divided
/// differences.
fn with_tangent<M: SpectralMap<P>, T: Real, const P: usize>(
    f: Mat3<T>,
    decomposed: Svd3<T>,
    params: [T; P],
) -> (Mat3<T>, SymMat3<T>) {
    let (f_primal, f_dot) = (f.map(T::primal), f.map(T::tangent));
    let params_primal = params.map(T::primal);
    let (u, v) = (decomposed.u.map(T::primal), decomposed.v.map(T::primal));
    let sigma = decomposed.sigma.map(T::primal);
    let (g, tau) = spectral_map_at::<M, T::Primal, P>(f_primal, Svd3 { u, sigma, v }, params_primal);

    let p = u.transpose() * f_dot * v;
    let diagonal = M::principal(sigma.zip(p.diagonal_part(), T::from_parts), params);
    let principal = M::principal(sigma, params_primal);
    let slopes = M::slopes(sigma, params_primal);
    let mut q = Mat3::diagonal(diagonal.flow.map(T::tangent));
    let mut w = Mat3::diagonal(diagonal.stress.map(T::tangent));
    for pair in PAIRS {
        let (i, j, _) = pair;
        let c = coefficients(pair, sigma, principal, slopes);
        let (together, apart) = parts(p, i, j);
        q[(i, j)] = c.flow_together * together + c.flow_apart * apart;
        q[(j, i)] = c.flow_together * together - c.flow_apart * apart;
        w[(i, j)] = c.stress * (together - c.turn * apart);
        w[(j, i)] = w[(i, j)];
    }
    let g_dot = f_dot + u * q * v.transpose();
    let tau_dot = SymMat3::from_mat3(u * w * u.transpose());
    (g.zip(g_dot, T::from_parts), tau.zip(tau_dot, T::from_parts))
}

/// (i, j) with the index left out.
const PAIRS: [(usize, usize, usize); 3] = [(1, 2, 0), (0, 2, 1), (0, 1, 2)];

/// The numbers that multiply Sᵢⱼ and Aᵢⱼ.
struct Coefficients<T> {
    /// (hᵢ − hⱼ)/(σᵢ − σⱼ)
    flow_together: T,
    /// (hᵢ + hⱼ)/(σᵢ + σⱼ)
    flow_apart: T,
    /// (tᵢ − tⱼ)/(σᵢ − σⱼ)
    stress: T,
    /// (σᵢ − σⱼ)/(σᵢ + σⱼ)
    turn: T,
}

#[inline(always)]
fn coefficients<T: Real>(
    (i, j, left_out): (usize, usize, usize),
    sigma: Vec3<T>,
    principal: Principal<T>,
    slopes: Slopes<T>,
) -> Coefficients<T> {
    let inverse_sum = safe_inverse(sigma[i] + sigma[j], sigma.x);
    Coefficients {
        flow_together: slopes.flow[left_out],
        flow_apart: (principal.flow[i] + principal.flow[j]) * inverse_sum,
        stress: slopes.stress[left_out],
        turn: (sigma[i] - sigma[j]) * inverse_sum,
    }
}

/// (Mᵢⱼ + Mⱼᵢ)/2 and (Mᵢⱼ − Mⱼᵢ)/2.
#[inline(always)]
fn parts<T: Real>(m: Mat3<T>, i: usize, j: usize) -> (T, T) {
    let half = T::lit(0.5);
    ((m[(i, j)] + m[(j, i)]) * half, (m[(i, j)] - m[(j, i)]) * half)
}

/// M diag(d)
#[inline(always)]
fn scaled_columns<T: Real>(m: Mat3<T>, d: Vec3<T>) -> Mat3<T> {
    Mat3::from_cols(m.c0 * d.x, m.c1 * d.y, m.c2 * d.z)
}

/// (ln a − ln b)/(a − b) for a, b > 0, exact to round-off at any distance. `log_a` and `log_b` are ln a and
/// ln b.
#[inline(always)]
pub fn log_slope<T: Real>(a: T, b: T, log_a: T, log_b: T) -> T {
    // ln a − ln b = 2 artanh r with r = (a − b)/(a + b); artanh r / r = 1 + r²/3 + r⁴/5 + …
    let half_sum_inverse = ((a + b) * T::lit(0.5)).recip();
    let r = (a - b) * half_sum_inverse * T::lit(0.5);
    let near = r.abs().lt(T::lit(0.1));
    let series =
        polynomial(r * r, &[1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0]);
    let quotient = (log_a - log_b) / T::select(near, T::one(), a - b);
    T::select(near, series * half_sum_inverse, quotient)
}

/// (eᵃ − eᵇ)/(a − b), exact to round-off at any distance. `exp_a` and `exp_b` are eᵃ and eᵇ.
#[inline(always)]
pub fn exp_slope<T: Real>(a: T, b: T, exp_a: T, exp_b: T) -> T {
    // eᵃ − eᵇ = (eᵃ + eᵇ) tanh x with x = (a − b)/2; tanh x / x = 1 − x²/3 + 2x⁴/15 − …
    const TANH: [f64; 8] = [
        1.0,
        -1.0 / 3.0,
        2.0 / 15.0,
        -17.0 / 315.0,
        62.0 / 2835.0,
        -1382.0 / 155_925.0,
        21_844.0 / 6_081_075.0,
        -929_569.0 / 638_512_875.0,
    ];
    let x = (a - b) * T::lit(0.5);
    let near = x.abs().lt(T::lit(0.1));
    let mean = exp_a * T::lit(0.5) + exp_b * T::lit(0.5);
    let quotient = (exp_a - exp_b) / T::select(near, T::one(), a - b);
    T::select(near, mean * polynomial(x * x, &TANH), quotient)
}

/// ln(1 + x) for x > −1, exact to round-off also for small x.
#[inline(always)]
pub fn ln_1p<T: Real>(x: T) -> T {
    x * log_slope(T::one() + x, T::one(), (T::one() + x).ln(), T::zero())
}
/// d ln(1 + x) = dx/(1 + x)
#[inline(always)]
pub fn ln_1p_vjp<T: Real>(x: T, out_bar: T) -> T {
    out_bar / (T::one() + x)
}

/// Σ cₖ xᵏ for |x| ≤ 0.01, as many terms as the scalar can tell apart.
#[inline(always)]
fn polynomial<T: Real>(x: T, c: &[f64; 8]) -> T {
    let terms = if T::EPSILON < 1e-10 { 8 } else { 4 };
    let mut sum = T::lit(c[terms - 1]);
    for k in (0..terms - 1).rev() {
        sum = sum.mul_add(x, T::lit(c[k]));
    }
    sum
}
