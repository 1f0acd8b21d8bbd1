//! What is outside a container, and the reward of FluidMove (Rewarped).
//!
//! A particle is out where |x − p| exceeds the half extents h along any axis. Smooth: s = max over axes of
//! σ((|x − p| − h)/w); FluidMove has w = 10⁻⁵ m, at which s is a step for all but particles on the wall, and
//! its slope almost never seen.

use pullback_math::{Mask, Real, Vec3};

use super::flatness::bonus;

/// A box that should hold particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Container {
    /// Half extents, m.
    pub half: Vec3<f64>,
    /// Width of the smooth border w, m.
    pub width: f64,
}

impl Container {
    /// The container of FluidMove: outer half extents (0.14, 0.105, 0.16) m, in its y-up frame.
    pub fn fluid_move() -> Self {
        Container { half: Vec3::new(0.14, 0.105, 0.16), width: 1e-5 }
    }

    /// (|x − p| − h)/w, the largest over axes, and which axis that is.
    fn out<T: Real>(&self, x: [T; 3], center: Vec3<T>) -> (T, usize) {
        let along = |a: usize| ((x[a] - center[a]).abs() - T::lit(self.half[a])) * T::lit(1.0 / self.width);
        let mut best = (along(0), 0);
        for axis in 1..3 {
            let z = along(axis);
            if z.gt(best.0).any() {
                best = (z, axis);
            }
        }
        best
    }
}

/// σ(z) = ½ (1 + tanh(z/2))
fn sigmoid<T: Real>(z: T) -> T {
    T::lit(0.5) * (T::one() + (T::lit(0.5) * z).tanh())
}

/// Smooth fraction of the particles `which` outside a container at `center`: mean of max over axes of σ.
pub fn spill<T: Real>(container: &Container, center: Vec3<T>, x: &[[T; 3]], which: &[u32]) -> T {
    let sum = which.iter().fold(T::zero(), |sum, p| sum + sigmoid(container.out(x[*p as usize], center).0));
    sum * T::lit(1.0 / which.len().max(1) as f64)
}

/// The pullback of [`spill`]; returns the cotangent of the center.
pub fn spill_vjp<T: Real>(
    container: &Container,
    center: Vec3<T>,
    x: &[[T; 3]],
    which: &[u32],
    out_bar: T,
    x_bar: &mut [[T; 3]],
) -> Vec3<T> {
    let share = out_bar * T::lit(1.0 / (which.len().max(1) as f64 * container.width));
    let mut center_bar = Vec3::zero();
    for p in which {
        let p = *p as usize;
        let (z, axis) = container.out(x[p], center);
        // dσ = σ (1 − σ) dz, dz = sign(x − p) (dx − dp)/w
        let s = sigmoid(z);
        let bar = (x[p][axis] - center[axis]).abs_vjp(share * s * (T::one() - s));
        x_bar[p][axis] += bar;
        center_bar[axis] -= bar;
    }
    center_bar
}

/// Fraction of the particles outside a container: a metric, without gradient.
pub fn spilled_fraction<T: Real>(container: &Container, center: Vec3<T>, x: &[[T; 3]]) -> f64 {
    let out = x.iter().filter(|x| container.out(**x, center).0.gt(T::zero()).any()).count();
    out as f64 / x.len().max(1) as f64
}

/// The reward of FluidMove: 0.1 R_d − spill, with R_d = (1/(1 + D²))², doubled where D ≤ 0.02 m, and D = |p −
/// p*|.
pub fn fluid_move_reward<T: Real>(
    container: &Container,
    center: Vec3<T>,
    target: Vec3<f64>,
    x: &[[T; 3]],
    which: &[u32],
) -> T {
    let squared = (center - target.map(T::lit)).norm_squared();
    let near = (T::one() + squared).recip();
    T::lit(0.1) * near * near * bonus(squared, 0.02 * 0.02) - spill(container, center, x, which)
}

/// The pullback of [`fluid_move_reward`]; returns the cotangent of the center.
pub fn fluid_move_reward_vjp<T: Real>(
    container: &Container,
    center: Vec3<T>,
    target: Vec3<f64>,
    x: &[[T; 3]],
    which: &[u32],
    out_bar: T,
    x_bar: &mut [[T; 3]],
) -> Vec3<T> {
    let off = center - target.map(T::lit);
    let squared = off.norm_squared();
    // d(1 + D²)⁻² = −2 (1 + D²)⁻³ dD²
    let near = (T::one() + squared).recip();
    let squared_bar = -(T::lit(0.2) * near * near * near * bonus(squared, 0.02 * 0.02) * out_bar);
    off.norm_squared_vjp(squared_bar) + spill_vjp(container, center, x, which, -out_bar, x_bar)
}
