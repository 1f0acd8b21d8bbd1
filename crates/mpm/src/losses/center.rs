//! Center of mass, and its squared distance to a place.

use pullback_math::{Real, Vec3};

/// c = Σ m x / Σ m, m.
pub fn center_of_mass<T: Real>(x: &[[T; 3]], masses: &[T]) -> Vec3<T> {
    let (mut sum, mut total) = (Vec3::zero(), T::zero());
    for ([x, y, z], m) in x.iter().zip(masses) {
        sum += Vec3::new(*x, *y, *z) * *m;
        total += *m;
    }
    sum * total.recip()
}

/// The pullback of [`center_of_mass`]: *adds* m c̄/Σm to positions and (x − c)·c̄/Σm to masses.
pub fn center_of_mass_vjp<T: Real>(
    x: &[[T; 3]],
    masses: &[T],
    out_bar: Vec3<T>,
    x_bar: &mut [[T; 3]],
    masses_bar: &mut [T],
) {
    let center = center_of_mass(x, masses);
    let total = masses.iter().fold(T::zero(), |sum, m| sum + *m);
    let bar = out_bar * total.recip();
    for (p, [x, y, z]) in x.iter().enumerate() {
        for (axis, to) in x_bar[p].iter_mut().enumerate() {
            *to += bar[axis] * masses[p];
        }
        masses_bar[p] += (Vec3::new(*x, *y, *z) - center).dot(bar);
    }
}

/// |c − c*|², m².
pub fn center_distance<T: Real>(x: &[[T; 3]], masses: &[T], target: Vec3<T>) -> T {
    (center_of_mass(x, masses) - target).norm_squared()
}

/// The pullback of [`center_distance`]; returns the cotangent of the target.
pub fn center_distance_vjp<T: Real>(
    x: &[[T; 3]],
    masses: &[T],
    target: Vec3<T>,
    out_bar: T,
    x_bar: &mut [[T; 3]],
    masses_bar: &mut [T],
) -> Vec3<T> {
    // d|c − c*|² = 2 (c − c*)·(dc − dc*)
    let bar = (center_of_mass(x, masses) - target).norm_squared_vjp(out_bar);
    center_of_mass_vjp(x, masses, bar, x_bar, masses_bar);
    -bar
}
