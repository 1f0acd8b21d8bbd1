//! Forces on a geom as if it were an ellipsoid (MuJoCo's ellipsoid model): added mass, lift, drag.
//!
//! In the frame of the geom, with s its half axes, V = 4π/3 s₀s₁s₂, ω its angular velocity and u its velocity
//! against the medium of density ρ and viscosity μ:
//!
//! ```text
//! added mass    p = ρ m∘u, H = ρ J∘ω:  f = p × ω,  τ = p × u + H × ω
//! Magnus        f = C_M ρ V ω × u
//! Kutta         f = C_K ρ A (num / (|u| den)) (n × u) × u
//! drag          f = −[3π D μ + ρ |u| (C_b A + C_s (A_max − A))] u
//!               τ = −[π D³ μ + ρ |(C_a I + C_s (I_max − I)) ω|] ω
//! n = (s₁²s₂²u₀, s₂²s₀²u₁, s₀²s₁²u₂),  num = n·u,  den = n·n,  A = π √(den/num),  D = ⅔ Σ s
//! Iᵢ = 8π/15 sᵢ max(sⱼ, sₖ)⁴,  I_max = 8π/15 s_mid s_max⁴,  A_max = π s_mid s_max
//! ```
//!
//! Added mass m and inertia J are those of an ellipsoid in potential flow, per unit of density. They are
//! parameters of their own, computed once; as in MuJoCo they do not follow sizes that change later.

use std::f64::consts::PI;

use pullback_math::{Cotangent, Force, Motion, Quat, Real, Transform, Vec3, differentiable};

use super::{Medium, flow, flow_vjp};

/// How a geom meets the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct EllipsoidParams<T> {
    /// Coefficients of drag of blunt and slender bodies and of turning, of Kutta lift and of Magnus lift.
    pub coefficients: [T; 5],
    /// Added mass along the axes, per unit of density, m³.
    pub added_mass: Vec3<T>,
    /// Added inertia about the axes, per unit of density, m⁵.
    pub added_inertia: Vec3<T>,
}

/// What the force on a geom depends on.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub(super) struct EllipsoidInputs<T> {
    /// Motion of its body, about the point of the body's tree.
    pub motion: Motion<T>,
    /// Pose of the body, seen from that point.
    pub pose: Transform<T>,
    pub medium: Medium<T>,
    /// Sizes as the shape has them.
    pub size: Vec3<T>,
    /// Where the geom is in its body.
    pub position: Vec3<T>,
    pub orientation: Quat<T>,
    pub params: EllipsoidParams<T>,
}

/// How half axes follow from sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfAxes {
    /// A radius.
    Sphere,
    /// A radius, and half the length without the caps.
    Capsule,
    /// A radius, and half the length.
    Cylinder,
    /// They are the sizes.
    Sizes,
    /// They are constants.
    Fixed,
}

/// The force on the body of a geom about the point of its tree. `placed` is where the ellipsoid of a mesh is in
/// the frame of the geom, with its half axes.
#[differentiable]
pub(super) fn ellipsoid_force<T: Real>(
    x: EllipsoidInputs<T>,
    #[constant] kind: HalfAxes,
    #[constant] placed: (Transform<T>, Vec3<T>),
) -> Force<T> {
    let geom = x.pose * Transform::from_quat(x.orientation.normalize(), x.position);
    let frame = if kind == HalfAxes::Fixed { geom * placed.0 } else { geom };
    let axes = half_axes(x.size, kind, placed.1);
    frame.force(ellipsoid_wrench(flow(frame, x.motion, x.medium.wind), x.medium, axes, x.params))
}

#[differentiable]
#[inline(always)]
fn half_axes<T: Real>(size: Vec3<T>, #[constant] kind: HalfAxes, #[constant] fixed: Vec3<T>) -> Vec3<T> {
    if kind == HalfAxes::Sphere {
        Vec3::new(size.x, size.x, size.x)
    } else if kind == HalfAxes::Capsule {
        Vec3::new(size.x, size.x, size.x + size.y)
    } else if kind == HalfAxes::Cylinder {
        Vec3::new(size.x, size.x, size.y)
    } else if kind == HalfAxes::Sizes {
        size
    } else {
        fixed
    }
}

/// The wrench at the center in the frame of the geom, for a velocity against the medium in that frame.
#[differentiable]
pub(super) fn ellipsoid_wrench<T: Real>(
    flow: Motion<T>,
    medium: Medium<T>,
    s: Vec3<T>,
    params: EllipsoidParams<T>,
) -> Force<T> {
    // Without flow both quotients are 0 / least.
    let least = T::lit(T::MIN_POSITIVE);
    let (spin, u) = (flow.angular, flow.linear);
    let Medium { density, viscosity, wind: _ } = medium;
    let [blunt, slender, angular, kutta, magnus] = params.coefficients;

    // Added mass.
    let momentum = times(params.added_mass, u) * density;
    let angular_momentum = times(params.added_inertia, spin) * density;
    let added = momentum.cross(spin);
    let added_torque = momentum.cross(u) + angular_momentum.cross(spin);

    // Lift.
    let volume = s.x * s.y * s.z * T::lit(4.0 / 3.0 * PI);
    let lift = spin.cross(u) * (magnus * density * volume);
    let (xx, yy, zz) = (s.x * s.x, s.y * s.y, s.z * s.z);
    let normal = Vec3::new(yy * zz * u.x, zz * xx * u.y, xx * yy * u.z);
    let (num, den) = (normal.dot(u), normal.dot(normal));
    let area = (den / num.max(least)).sqrt() * T::lit(PI);
    let speed = u.norm();
    let circulation = normal.cross(u) * (kutta * density * area * num / (speed * den).max(least));

    // Drag.
    let largest = s.x.max(s.y).max(s.z);
    let smallest = s.x.min(s.y).min(s.z);
    let middle = s.x + s.y + s.z - largest - smallest;
    let most_area = largest * middle * T::lit(PI);
    let diameter = (s.x + s.y + s.z) * T::lit(2.0 / 3.0);
    let drag = viscosity * diameter * T::lit(3.0 * PI)
        + density * speed * (blunt * area + slender * (most_area - area));
    let most_moment = middle * fourth(largest) * T::lit(8.0 / 15.0 * PI);
    let moments =
        Vec3::new(s.x * fourth(s.y.max(s.z)), s.y * fourth(s.z.max(s.x)), s.z * fourth(s.x.max(s.y)))
            * T::lit(8.0 / 15.0 * PI);
    let all = Vec3::new(most_moment, most_moment, most_moment);
    let resisted = times(moments * angular + (all - moments) * slender, spin);
    let turning_drag = viscosity * diameter * diameter * diameter * T::lit(PI) + density * resisted.norm();
    Force::new(added_torque - spin * turning_drag, added + lift + circulation.cross(u) - u * drag)
}

#[differentiable]
#[inline(always)]
fn times<T: Real>(a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    Vec3::new(a.x * b.x, a.y * b.y, a.z * b.z)
}

#[differentiable]
#[inline(always)]
fn fourth<T: Real>(x: T) -> T {
    let square = x * x;
    square * square
}

/// Added mass and added inertia of an ellipsoid per unit of density, by the quadrature that MuJoCo uses.
pub(super) fn added_mass(s: Vec3<f64>) -> (Vec3<f64>, Vec3<f64>) {
    let volume = 4.0 / 3.0 * PI * s.x * s.y * s.z;
    let kappa = Vec3::new(
        added_mass_integral(s.x, s.y, s.z),
        added_mass_integral(s.y, s.z, s.x),
        added_mass_integral(s.z, s.x, s.y),
    );
    let mass = kappa.map(|k| volume * k / (2.0 - k).max(SMALLEST));
    let about = |i: usize| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let (b, c) = (s[j] * s[j], s[k] * s[k]);
        let difference = kappa[k] - kappa[j];
        let divisor = (2.0 * (b - c) - (b + c) * difference).abs();
        volume / 5.0 * ((b - c) * (b - c) * difference.abs()) / divisor.max(SMALLEST)
    };
    (mass, Vec3::new(about(0), about(1), about(2)))
}

/// Least divisor of the added mass.
const SMALLEST: f64 = 1e-14;

/// Half of the nodes of the 15-point Kronrod rule on [0, 1], the others mirrored, and their weights, to eight
/// decimals.
const NODES: [f64; 8] =
    [0.00427231, 0.02544604, 0.06756779, 0.12923441, 0.20695638, 0.29707742, 0.39610752, 0.5];
const WEIGHTS: [f64; 8] =
    [0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647, 0.10474107];

/// κ = ∫₀^∞ dx dy dz dλ / ((λ + dx²) √((λ + dx²)(λ + dy²)(λ + dz²))), by λ = S x³/(1 − x)².
fn added_mass_integral(dx: f64, dy: f64, dz: f64) -> f64 {
    let scale = (dx * dx * dx * dy * dz).powf(0.4);
    let node = |x: f64, weight: f64| {
        let rest = 1.0 - x;
        let lambda = scale * x * x * x / (rest * rest);
        let slope = x * x * (3.0 - x) / (rest * rest * rest);
        let [a, b, c] = [dx, dy, dz].map(|d| 1.0 + lambda / (d * d));
        scale * slope * weight / (a * (a * b * c).sqrt())
    };
    let mut sum = 0.0;
    for (i, (x, w)) in NODES.into_iter().zip(WEIGHTS).enumerate() {
        sum += node(x, w);
        if i < 7 {
            sum += node(1.0 - x, w);
        }
    }
    sum / (dx * dx)
}
