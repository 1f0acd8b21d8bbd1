//! J − 1 without cancellation: the change of volume of a small deformation keeps its digits.

use pullback_math::{Mat3, Real, Vec3};

/// Smallest J whose logarithm and cube root are taken: 0.01³, Rewarped's clamp of each singular value.
pub(super) const J_FLOOR: f64 = 1e-6;

/// det(1 + H) − 1 = tr H + tr cof H + det H, with H = F − 1.
#[inline(always)]
pub(super) fn volume_change<T: Real>(f: Mat3<T>) -> T {
    let h = f - Mat3::identity();
    h.trace() + h.cofactor().trace() + h.determinant()
}
/// d det F = cof(F) : dF. By hand: the derivative needs no care for cancellation.
#[inline(always)]
pub(super) fn volume_change_vjp<T: Real>(f: Mat3<T>, out_bar: T) -> Mat3<T> {
    f.determinant_vjp(out_bar)
}

/// λ J (J − 1), the pressure of the fixed corotated model, from J − 1.
#[inline(always)]
pub(super) fn pressure<T: Real>(change: T, lambda: T) -> T {
    lambda * (change + T::one()) * change
}
/// d(λ J (J − 1)) = λ (2J − 1) dJ + J (J − 1) dλ. By hand: J is formed once.
#[inline(always)]
pub(super) fn pressure_vjp<T: Real>(change: T, lambda: T, out_bar: T) -> (T, T) {
    let j = change + T::one();
    (out_bar * lambda * (j + change), out_bar * j * change)
}

/// J − 1 of the three singular values.
#[inline(always)]
pub(super) fn principal_volume_change<T: Real>(s: Vec3<T>) -> T {
    let one = T::one();
    let (a, b, c) = (s.x - one, s.y - one, s.z - one);
    // (1 + a)(1 + b)(1 + c) − 1
    let ab = a + b + a * b;
    ab + c + ab * c
}
/// ∂J/∂sᵢ is the product of the other two. By hand, as above.
#[inline(always)]
pub(super) fn principal_volume_change_vjp<T: Real>(s: Vec3<T>, out_bar: T) -> Vec3<T> {
    Vec3::new(s.y * s.z, s.x * s.z, s.x * s.y) * out_bar
}
