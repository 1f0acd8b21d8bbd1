//! Flatness of a sheet: mean and variance of the heights of particles, and the reward of RollingFlat (paper 2).
//!
//! R = (1/(1 + d))² − Var(h), doubled first part where d ≤ 0.33, with d = h̄/0.125 m. Heights are along a
//! unit vector `up` and count from the origin, floor included; with RollingFlat's floor at 0.0625 m, d ≥ ½
//! and the doubling is never reached.

use pullback_math::{Mask, Real, Vec3};

/// Mean height that counts as 1 in RollingFlat, m.
const THICK: f64 = 0.125;
/// Below this d the reward of RollingFlat doubles.
const THIN: f64 = 0.33;

/// Mean height (m) and variance of heights (m²) along the unit vector `up`.
pub fn flatness<T: Real>(x: &[[T; 3]], up: Vec3<f64>) -> (T, T) {
    let (up, share) = (up.map(T::lit), T::lit(1.0 / x.len().max(1) as f64));
    let heights = || x.iter().map(|[x, y, z]| up.dot(Vec3::new(*x, *y, *z)));
    let mean = heights().fold(T::zero(), |sum, h| sum + h) * share;
    let squares = heights().fold(T::zero(), |sum, h| sum + (h - mean) * (h - mean));
    (mean, squares * share)
}

/// The pullback of [`flatness`].
pub fn flatness_vjp<T: Real>(x: &[[T; 3]], up: Vec3<f64>, out_bar: (T, T), x_bar: &mut [[T; 3]]) {
    let (mean, _) = flatness(x, up);
    let (up, share) = (up.map(T::lit), T::lit(1.0 / x.len().max(1) as f64));
    for ([x, y, z], bar) in x.iter().zip(x_bar) {
        // dh̄ = dhᵢ/n, dVar = 2 (hᵢ − h̄) dhᵢ/n
        let off = up.dot(Vec3::new(*x, *y, *z)) - mean;
        let h_bar = (out_bar.0 + (off + off) * out_bar.1) * share;
        for (axis, bar) in bar.iter_mut().enumerate() {
            *bar += up[axis] * h_bar;
        }
    }
}

/// The reward of RollingFlat.
pub fn rolling_flat_reward<T: Real>(x: &[[T; 3]], up: Vec3<f64>) -> T {
    let (mean, variance) = flatness(x, up);
    let d = mean * T::lit(1.0 / THICK);
    let near = (T::one() + d).recip();
    near * near * bonus(d, THIN) - variance
}

/// The pullback of [`rolling_flat_reward`].
pub fn rolling_flat_reward_vjp<T: Real>(x: &[[T; 3]], up: Vec3<f64>, out_bar: T, x_bar: &mut [[T; 3]]) {
    let (mean, _) = flatness(x, up);
    let d = mean * T::lit(1.0 / THICK);
    // d(1 + d)⁻² = −2 (1 + d)⁻³ dd
    let near = (T::one() + d).recip();
    let d_bar = -(T::lit(2.0) * near * near * near * bonus(d, THIN) * out_bar);
    flatness_vjp(x, up, (d_bar * T::lit(1.0 / THICK), -out_bar), x_bar);
}

/// 2 at or below `limit`, else 1.
pub(super) fn bonus<T: Real>(d: T, limit: f64) -> T {
    if d.le(T::lit(limit)).any() { T::lit(2.0) } else { T::one() }
}
