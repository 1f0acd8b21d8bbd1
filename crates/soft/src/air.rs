//! Lift and drag of the air on a triangle (gradSim A.1, constants as in dFlex).
//!
//! With the velocity u of the triangle's center against the wind, its area A and unit normal n: drag −kD A
//! |n·u| u, lift −kL A |u|² asin(n·û) n, a third at each corner. Both vanish at rest and are once
//! differentiable there.

use pullback_math::{Real, Vec3, differentiable};

use super::element::{Element, ElementBars, work};

/// A triangle in the air; parameters: lift (kg/m³), drag (kg/m³).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Air;

/// Force on each of the three corners, for velocities against the wind.
#[differentiable]
#[inline(always)]
fn air_force<T: Real>(x: [Vec3<T>; 3], v: [Vec3<T>; 3], lift: T, drag: T) -> Vec3<T> {
    let third = T::lit(1.0 / 3.0);
    let u = (v[0] + v[1] + v[2]) * third;
    let twice = (x[1] - x[0]).cross(x[2] - x[0]);
    let n = twice.normalize();
    let area = twice.norm() * T::lit(0.5);
    let drag_force = u * (drag * area * n.dot(u).abs());
    let lift_force = n * (lift * area * n.dot(u.normalize()).asin() * u.norm_squared());
    -(drag_force + lift_force) * third
}

impl Element<3, 2, 0> for Air {
    /// Air stores nothing.
    fn energy<T: Real>(_rest: [T; 0], _params: [T; 2], _x: [Vec3<T>; 3]) -> T {
        T::zero()
    }

    #[inline(always)]
    fn forces<T: Real>(
        _rest: [T; 0],
        [lift, drag]: [T; 2],
        x: [Vec3<T>; 3],
        v: [Vec3<T>; 3],
    ) -> [Vec3<T>; 3] {
        [air_force(x, v, lift, drag); 3]
    }

    #[inline(always)]
    fn forces_vjp<T: Real>(
        _rest: [T; 0],
        [lift, drag]: [T; 2],
        x: [Vec3<T>; 3],
        v: [Vec3<T>; 3],
        f_bar: [Vec3<T>; 3],
    ) -> ElementBars<T, 3, 2> {
        let force = air_force(x, v, lift, drag);
        let (x, v, lift, drag) = air_force_vjp(x, v, lift, drag, f_bar[0] + f_bar[1] + f_bar[2]);
        ElementBars { x, v, params: [lift, drag], work: work([force; 3], f_bar) }
    }
}
