//! Lamé's parameters of an isotropic elastic solid.

use pullback_math::Real;

/// (μ, λ) of Young's modulus E and Poisson's ratio ν: μ = E/(2(1 + ν)), λ = Eν/((1 + ν)(1 − 2ν)).
///
/// ```
/// assert_eq!(pullback_mpm::material::lame::lame(1000.0, 0.25), (400.0, 400.0));
/// ```
#[inline(always)]
pub fn lame<T: Real>(young: T, poisson: T) -> (T, T) {
    let [grow, shrink] = factors(poisson);
    let half_ratio = young / grow;
    (half_ratio * T::lit(0.5), half_ratio * poisson / shrink)
}
/// dμ = μ (dE/E − dν/(1 + ν)), dλ = λ dE/E + E (1 + 2ν²)/((1 + ν)(1 − 2ν))² dν. By hand: one division.
#[inline(always)]
pub fn lame_vjp<T: Real>(young: T, poisson: T, (mu_bar, lambda_bar): (T, T)) -> (T, T) {
    let [grow, shrink] = factors(poisson);
    let (half, inverse) = (T::lit(0.5), (grow * shrink).recip());
    let mu_of_one = shrink * inverse * half;
    let young_bar = mu_bar * mu_of_one + lambda_bar * poisson * inverse;
    let lambda_slope = (T::one() + poisson * poisson * T::lit(2.0)) * inverse * inverse;
    let mu_slope = mu_of_one * shrink * inverse;
    (young_bar, young * (lambda_bar * lambda_slope - mu_bar * mu_slope))
}

/// 1 + ν and 1 − 2ν.
#[inline(always)]
fn factors<T: Real>(poisson: T) -> [T; 2] {
    [T::one() + poisson, T::one() - (poisson + poisson)]
}
