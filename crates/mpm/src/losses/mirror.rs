//! Distance of mirrored partners, and the reward of HandFlip (Rewarped): a disc is folded until its halves
//! meet.
//!
//! Particle i of the first half has the partner i + n/2, its mirror image in the initial state.

use pullback_math::{Mask, Real, Vec3};

fn between<T: Real>(x: &[[T; 3]], i: usize) -> Vec3<T> {
    let ([a, b, c], [d, e, f]) = (x[i], x[i + x.len() / 2]);
    Vec3::new(a - d, b - e, c - f)
}

/// D = mean over the first half of |xᵢ − xᵢ₊ₙ⸝₂|, m.
pub fn mirror_distance<T: Real>(x: &[[T; 3]]) -> T {
    let half = x.len() / 2;
    let sum = (0..half).fold(T::zero(), |sum, i| sum + between(x, i).norm());
    sum * T::lit(1.0 / half.max(1) as f64)
}

/// The pullback of [`mirror_distance`].
pub fn mirror_distance_vjp<T: Real>(x: &[[T; 3]], out_bar: T, x_bar: &mut [[T; 3]]) {
    let half = x.len() / 2;
    let share = out_bar * T::lit(1.0 / half.max(1) as f64);
    for i in 0..half {
        let bar = between(x, i).norm_vjp(share);
        for axis in 0..3 {
            x_bar[i][axis] += bar[axis];
            x_bar[i + half][axis] -= bar[axis];
        }
    }
}

/// The reward of HandFlip: clamp((D₀ − D)/D₀, −1, 1), with D₀ the distance after the first step.
pub fn hand_flip_reward<T: Real>(x: &[[T; 3]], initial: T) -> T {
    ((initial - mirror_distance(x)) / initial).max(-T::one()).min(T::one())
}

/// The pullback of [`hand_flip_reward`]; returns the cotangent of D₀.
pub fn hand_flip_reward_vjp<T: Real>(x: &[[T; 3]], initial: T, out_bar: T, x_bar: &mut [[T; 3]]) -> T {
    let d = mirror_distance(x);
    let raw = (initial - d) / initial;
    if raw.lt(-T::one()).any() || raw.gt(T::one()).any() {
        return T::zero();
    }
    // d(1 − D/D₀) = −dD/D₀ + D dD₀/D₀²
    let scale = out_bar / initial;
    mirror_distance_vjp(x, -scale, x_bar);
    scale * d / initial
}
