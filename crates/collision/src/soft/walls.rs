//! A solid as walls: smooth convex functions of a point, all below zero inside, zero on the surface.
//!
//! With half sizes hᵢ and their root mean square R, in the frame of the solid:
//!
//! | shape | walls |
//! |---|---|
//! | plane | z |
//! | sphere | \|x\| − r |
//! | capsule | distance to the segment − r |
//! | ellipsoid | R (\|A⁻¹ x\| − 1) |
//! | cylinder | R (√(x² + y²) / r − 1), R (±z / h − 1) |
//! | box | R (±xᵢ / hᵢ − 1) |
//! | mesh | none: see `mesh` |
//!
//! Walls of one solid have the same value at its center. So a thin solid is measured across by the wall that
//! it touches, not by those close on both sides. A norm is √(‖x‖² + ε²) and a surface moves by less than ε² /
//! r; max(u, 0) is (u + √(u² + ε²)) / 2.

use pullback_math::{Cotangent, Real, Transform, Vec3, differentiable};

use crate::collider::Kind;
use crate::contact::INACTIVE;

/// Most walls of a solid.
pub(super) const WALLS: usize = 6;

/// Values of the walls at a point, m, and their gradients; missing walls are far below.
#[derive(Clone, Copy, Debug, Cotangent)]
pub(super) struct Walls<T> {
    pub height: [T; WALLS],
    pub slope: [Vec3<T>; WALLS],
}

/// √(x² + ε²) of a squared norm.
#[differentiable]
fn rounded<T: Real>(squared: T, #[constant] softness: T) -> T {
    (squared + softness * softness).sqrt()
}

/// max(u, 0), rounded, and its derivative.
#[differentiable]
fn ramp<T: Real>(u: T, #[constant] softness: T) -> (T, T) {
    let root = rounded(u * u, softness);
    let value = (u + root) * T::lit(0.5);
    (value, value / root)
}

/// Root mean square of the half sizes of a solid, m.
#[differentiable]
pub(super) fn mean_size<T: Real>(#[constant] kind: Kind, size: Vec3<T>) -> T {
    let third = T::lit(1.0 / 3.0);
    if kind == Kind::Cylinder {
        ((size.x * size.x * T::lit(2.0) + size.y * size.y) * third).sqrt()
    } else if kind == Kind::Capsule {
        let end = size.x + size.y;
        ((size.x * size.x * T::lit(2.0) + end * end) * third).sqrt()
    } else if kind == Kind::Sphere {
        size.x
    } else {
        (size.norm_squared() * third).sqrt()
    }
}

/// The walls of a solid at the world point x.
#[differentiable]
pub(super) fn walls<T: Real>(
    #[constant] kind: Kind,
    size: Vec3<T>,
    pose: Transform<T>,
    x: Vec3<T>,
    #[constant] softness: T,
) -> Walls<T> {
    let (none, zero, o) = (T::lit(-INACTIVE), T::zero(), Vec3::zero());
    let y = pose.inverse_point(x);
    let mean = mean_size(kind, size);
    if kind == Kind::Plane {
        Walls { height: [y.z, none, none, none, none, none], slope: [pose.rotation.c2, o, o, o, o, o] }
    } else if kind == Kind::Mesh {
        Walls { height: [none, none, none, none, none, none], slope: [o, o, o, o, o, o] }
    } else if kind == Kind::Box {
        let (sx, sy, sz) = (mean / size.x, mean / size.y, mean / size.z);
        let (dx, dy, dz) = (pose.rotation.c0 * sx, pose.rotation.c1 * sy, pose.rotation.c2 * sz);
        Walls {
            height: [
                y.x * sx - mean,
                -(y.x * sx) - mean,
                y.y * sy - mean,
                -(y.y * sy) - mean,
                y.z * sz - mean,
                -(y.z * sz) - mean,
            ],
            slope: [dx, -dx, dy, -dy, dz, -dz],
        }
    } else if kind == Kind::Cylinder {
        let (side, cap) = (mean / size.x, mean / size.y);
        let rho = rounded(y.x * y.x + y.y * y.y, softness);
        let out = pose.direction(Vec3::new(y.x, y.y, zero)) * (side / rho);
        let up = pose.rotation.c2 * cap;
        let around = (rho - rounded(size.x * size.x, softness)) * side;
        Walls {
            height: [around, y.z * cap - mean, -(y.z * cap) - mean, none, none, none],
            slope: [out, up, -up, o, o, o],
        }
    } else if kind == Kind::Ellipsoid {
        let u = Vec3::new(y.x / size.x, y.y / size.y, y.z / size.z) * mean;
        let norm = rounded(u.norm_squared(), softness);
        let out = Vec3::new(u.x / size.x, u.y / size.y, u.z / size.z) * (mean / norm);
        let height = norm - rounded(mean * mean, softness);
        Walls { height: [height, none, none, none, none, none], slope: [pose.direction(out), o, o, o, o, o] }
    } else if kind == Kind::Capsule {
        let (above, above_rate) = ramp(y.z - size.y, softness);
        let (below, below_rate) = ramp(-y.z - size.y, softness);
        let beyond = above + below;
        let norm = rounded(y.x * y.x + y.y * y.y + beyond * beyond, softness);
        let out = Vec3::new(y.x, y.y, beyond * (above_rate - below_rate)) * norm.recip();
        let height = norm - rounded(size.x * size.x, softness);
        Walls { height: [height, none, none, none, none, none], slope: [pose.direction(out), o, o, o, o, o] }
    } else {
        let norm = rounded(y.norm_squared(), softness);
        let height = norm - rounded(size.x * size.x, softness);
        let out = pose.direction(y) * norm.recip();
        Walls { height: [height, none, none, none, none, none], slope: [out, o, o, o, o, o] }
    }
}
