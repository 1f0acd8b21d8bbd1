//! A solid as walls: smooth convex functions of a point, all below zero inside, zero on the surface.
//!
//! With half sizes hᵢ and their root mean square R, in the frame of the solid:
//!
//! | shape | walls |
//! |---|---|
//! | sphere | \|x\| − r |
//! | capsule | distance to the segment − r |
//! | ellipsoid | R (\|A⁻¹ x\| − 1) |
//! | cylinder | R (√(x² + y²) / r − 1), R (±z / h − 1) |
//! | box | R (±xᵢ / hᵢ − 1) |
//! | mesh | none here: see `faces`, `mesh` |
//!
//! Walls of one solid have the same value at its center. So a thin solid is measured across by the wall that
//! it touches, not by those close on both sides. A norm is √(‖x‖² + ε²) and a surface moves by less than ε² /
//! r; max(u, 0) is (u + √(u² + ε²)) / 2.

use pullback_math::{Cotangent, Mat3, Real, Transform, Vec3, differentiable};

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
    if kind == Kind::Mesh {
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

/// Hessian of the first wall of a solid in one environment; the others are flat.
pub(super) fn bend(
    kind: Kind,
    size: Vec3<f64>,
    pose: Transform<f64>,
    x: Vec3<f64>,
    softness: f64,
) -> Mat3<f64> {
    let y = pose.inverse_point(x);
    let mean = mean_size(kind, size);
    // ∇² √(f + ε²) = (∇²f / 2 − ∇f ∇fᵀ / (4 (f + ε²))) / √(f + ε²)
    let root = |squared: f64, half_slope: Vec3<f64>, half_bend: Vec3<f64>| {
        let norm = rounded(squared, softness);
        (Mat3::diagonal(half_bend) - Mat3::outer(half_slope, half_slope) * norm.powi(-2)) * norm.recip()
    };
    let local = match kind {
        Kind::Box => return Mat3::zero(),
        Kind::Cylinder => {
            let squared = y.x * y.x + y.y * y.y;
            root(squared, Vec3::new(y.x, y.y, 0.0), Vec3::new(1.0, 1.0, 0.0)) * (mean / size.x)
        }
        Kind::Ellipsoid => {
            let scale = Vec3::new(mean / size.x, mean / size.y, mean / size.z);
            let square = Vec3::new(scale.x * scale.x, scale.y * scale.y, scale.z * scale.z);
            let slope = Vec3::new(square.x * y.x, square.y * y.y, square.z * y.z);
            root(slope.dot(y), slope, square)
        }
        Kind::Capsule => {
            let (above, above_rate) = ramp(y.z - size.y, softness);
            let (below, below_rate) = ramp(-y.z - size.y, softness);
            let second = |u: f64| 0.5 * softness * softness * rounded(u * u, softness).powi(-3);
            let (beyond, rate) = (above + below, above_rate - below_rate);
            let bend = rate * rate + beyond * (second(y.z - size.y) + second(-y.z - size.y));
            let squared = y.x * y.x + y.y * y.y + beyond * beyond;
            root(squared, Vec3::new(y.x, y.y, beyond * rate), Vec3::new(1.0, 1.0, bend))
        }
        _ => root(y.norm_squared(), y, Vec3::new(1.0, 1.0, 1.0)),
    };
    pose.rotation * local * pose.rotation.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_math::Dual;

    #[test]
    fn bends_are_derivatives_of_slopes() {
        let lit = |v: Vec3<f64>| v.map(Dual::lit);
        let turn = pullback_math::Quat::new(0.3, -0.5, 0.7, 0.2).normalize().to_mat3();
        let (size, softness) = (Vec3::new(0.3, 0.4, 0.25), 0.02);
        let pose = Transform::new(turn, Vec3::new(0.1, -0.2, 0.3));
        let moving =
            Transform::new(Mat3::from_cols(lit(turn.c0), lit(turn.c1), lit(turn.c2)), lit(pose.translation));
        for kind in [Kind::Sphere, Kind::Capsule, Kind::Ellipsoid, Kind::Cylinder, Kind::Box] {
            for x in
                [Vec3::new(0.4, 0.1, 0.2), Vec3::new(-0.1, 0.2, 0.7), pose.point(Vec3::new(0.2, 0.1, 0.39))]
            {
                let bend = bend(kind, size, pose, x, softness);
                for axis in 0..3 {
                    let mut along = lit(x);
                    along[axis].tangent = 1.0;
                    let found = walls(kind, lit(size), moving, along, Dual::lit(softness));
                    let error = found.slope[0].map(|c| c.tangent) - bend.col(axis);
                    assert!(error.norm() < 1e-11, "{kind:?}, axis {axis}: {error:?}");
                    assert!(found.slope[1..].iter().all(|s| s.map(|c| c.tangent).norm() == 0.0));
                }
            }
        }
    }
}
