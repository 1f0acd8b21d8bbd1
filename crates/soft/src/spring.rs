//! Damped springs between two particles.

use pullback_math::{Real, Vec3, differentiable};

use super::element::{Element, ElementBars, work};

/// A spring; parameters: rest length (m), stiffness (N/m), damping (N s/m).
#[derive(Clone, Copy, Debug)]
pub struct Spring;

/// Force on the first end: −(ke (l − l₀) + kd l̇) along the spring.
#[differentiable]
#[inline(always)]
pub fn spring_force<T: Real>(
    xa: Vec3<T>,
    xb: Vec3<T>,
    va: Vec3<T>,
    vb: Vec3<T>,
    rest: T,
    stiffness: T,
    damping: T,
) -> Vec3<T> {
    let d = xa - xb;
    let along = d.normalize();
    let rate = (va - vb).dot(along);
    -along * (stiffness * (d.norm() - rest) + damping * rate)
}

impl Element<2, 3, 0> for Spring {
    /// ½ ke (l − l₀)²
    fn energy<T: Real>(_rest: [T; 0], [rest, ke, _]: [T; 3], [xa, xb]: [Vec3<T>; 2]) -> T {
        let stretch = (xa - xb).norm() - rest;
        ke * stretch * stretch * T::lit(0.5)
    }

    #[inline(always)]
    fn forces<T: Real>(
        _rest: [T; 0],
        [rest, ke, kd]: [T; 3],
        [xa, xb]: [Vec3<T>; 2],
        [va, vb]: [Vec3<T>; 2],
    ) -> [Vec3<T>; 2] {
        let f = spring_force(xa, xb, va, vb, rest, ke, kd);
        [f, -f]
    }

    #[inline(always)]
    fn forces_vjp<T: Real>(
        _rest: [T; 0],
        [rest, ke, kd]: [T; 3],
        [xa, xb]: [Vec3<T>; 2],
        [va, vb]: [Vec3<T>; 2],
        f_bar: [Vec3<T>; 2],
    ) -> ElementBars<T, 2, 3> {
        let f = spring_force(xa, xb, va, vb, rest, ke, kd);
        let (xa_bar, xb_bar, va_bar, vb_bar, rest_bar, ke_bar, kd_bar) =
            spring_force_vjp(xa, xb, va, vb, rest, ke, kd, f_bar[0] - f_bar[1]);
        ElementBars {
            x: [xa_bar, xb_bar],
            v: [va_bar, vb_bar],
            params: [rest_bar, ke_bar, kd_bar],
            work: work([f, -f], f_bar),
        }
    }
}
