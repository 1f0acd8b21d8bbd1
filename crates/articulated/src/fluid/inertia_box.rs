//! Drag on a body as if it were the box that has its mass and inertia (MuJoCo's inertia-box model).
//!
//! In the inertial frame of the body, with b the sides of the box, D their mean, ω the angular velocity and u
//! the velocity against the medium:
//!
//! ```text
//! bᵢ = √(6 (Iⱼ + Iₖ − Iᵢ) / m)
//! fᵢ = −3 π D μ uᵢ − ½ ρ bⱼ bₖ |uᵢ| uᵢ
//! τᵢ = −π D³ μ ωᵢ − ρ bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ| ωᵢ / 64
//! ```

use std::f64::consts::PI;

use pullback_math::{Cotangent, Force, Mat3, Motion, Real, SymMat3, Transform, Vec3, differentiable};

use super::{LEAST, Medium, flow, flow_vjp};

/// What the force on a body depends on.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub(super) struct BoxInputs<T> {
    /// Motion of the body, about the point of its tree.
    pub motion: Motion<T>,
    /// Its pose, seen from that point.
    pub pose: Transform<T>,
    pub medium: Medium<T>,
    pub mass: T,
    pub com: Vec3<T>,
    pub inertia: SymMat3<T>,
}

/// The force on a body about the point of its tree; `axes` are those of its inertial frame.
#[differentiable]
pub(super) fn box_force<T: Real>(x: BoxInputs<T>, #[constant] axes: Mat3<T>) -> Force<T> {
    let frame = x.pose * Transform::new(axes, x.com);
    let principal = x.inertia.congruence(axes.transpose());
    let moments = Vec3::new(principal.xx, principal.yy, principal.zz);
    frame.force(box_wrench(flow(frame, x.motion, x.medium.wind), x.medium, x.mass, moments))
}

/// The wrench at the center of mass in the inertial frame, for a velocity against the medium in that frame.
#[differentiable]
pub(super) fn box_wrench<T: Real>(flow: Motion<T>, medium: Medium<T>, mass: T, inertia: Vec3<T>) -> Force<T> {
    let Vec3 { x, y, z } = inertia;
    let a = side(y + z - x, mass);
    let b = side(x + z - y, mass);
    let c = side(x + y - z, mass);
    let mean = (a + b + c) * T::lit(1.0 / 3.0);
    let (spin, velocity) = (flow.angular, flow.linear);
    let viscous = medium.viscosity * mean * T::lit(-3.0 * PI);
    let viscous_torque = medium.viscosity * mean * mean * mean * T::lit(-PI);
    let drag = medium.density * T::lit(-0.5);
    let drag_torque = medium.density * T::lit(-1.0 / 64.0);
    let (a4, b4, c4) = (fourth(a), fourth(b), fourth(c));
    Force::new(
        spin * viscous_torque
            + Vec3::new(
                a * (b4 + c4) * spin.x.abs() * spin.x,
                b * (a4 + c4) * spin.y.abs() * spin.y,
                c * (a4 + b4) * spin.z.abs() * spin.z,
            ) * drag_torque,
        velocity * viscous
            + Vec3::new(
                b * c * velocity.x.abs() * velocity.x,
                a * c * velocity.y.abs() * velocity.y,
                a * b * velocity.z.abs() * velocity.z,
            ) * drag,
    )
}

/// √(6 max(ε, x) / m).
#[differentiable]
#[inline(always)]
fn side<T: Real>(x: T, mass: T) -> T {
    (x.max(T::lit(LEAST)) * T::lit(6.0) / mass).sqrt()
}

#[differentiable]
#[inline(always)]
fn fourth<T: Real>(x: T) -> T {
    let square = x * x;
    square * square
}
