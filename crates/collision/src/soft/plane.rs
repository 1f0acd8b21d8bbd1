//! A plane against soft support points, in closed form.
//!
//! A corner of a box is a smooth function of its pose, so all eight have a slot and none is chosen.
//!
//! Of a mesh or a cylinder, slot k is the gradient of a smooth support function A in the direction m = −n +
//! τ tₖ of the solid's frame. Slot 0 has no tilt; the others have the four diagonals tₖ = ±x ± y of the
//! plane's axes, so that a solid on a face stands on its corners.
//!
//! | solid | A(m) | ∇A | slot 0 above the lowest point by at most |
//! |---|---|---|---|
//! | mesh | ε log Σ exp(m·vᵢ / ε) | mean of the vertices, weights ∝ exp(m·vᵢ / ε) | ε log N |
//! | cylinder | √(r² (m_x² + m_y²) + ε²) + ε log 2 cosh(h m_z / ε) | on rim and end where these are steep | 0.6 ε |
//!
//! A is convex, so ∇A is a point of the solid, never below its lowest. τ of a cylinder is 2 ε / r, which
//! spreads the points of a standing one over 0.94 of its end, and vanishes with ε: a leaning one has all five
//! at the lowest point of its rim.

use pullback_math::{Real, Transform, Vec3, differentiable};

use crate::contact::Contact;
use crate::plane::{plane_point, plane_point_vjp};

/// Slots of a box.
pub(super) const BOX_CORNERS: usize = 8;
/// Slots of a mesh and of a cylinder.
pub(super) const SUPPORT_POINTS: usize = 5;
/// τ of a mesh.
const TILT: f64 = 0.07;
/// τ of a cylinder in softnesses per radius.
const RIM_TILT: f64 = 2.0;

/// Plane against one corner of a box, signs counted in binary.
#[differentiable]
pub(super) fn plane_corner<T: Real>(
    plane: Transform<T>,
    solid: Transform<T>,
    half: Vec3<T>,
    corner: usize,
) -> Contact<T> {
    let x = if corner % 2 == 1 { half.x } else { -half.x };
    let y = if corner / 2 % 2 == 1 { half.y } else { -half.y };
    let z = if corner / 4 == 1 { half.z } else { -half.z };
    plane_point(plane, solid.point(Vec3::new(x, y, z)))
}

/// Weighted mean x = Σ w v with w ∝ exp(m·v / ε), and the pullback C x̄ / ε with C = Σ w v (v − x)ᵀ.
fn soft_vertex<T: Real>(
    vertices: &[Vec3<f64>],
    hull: &[usize],
    m: Vec3<T>,
    softness: f64,
    x_bar: Vec3<T>,
) -> (Vec3<T>, Vec3<T>) {
    let rate = T::lit(1.0 / softness);
    let at = |i: usize| vertices[i].map(T::lit);
    let farthest = hull.iter().fold(T::lit(f64::NEG_INFINITY), |most, &i| most.max(m.dot(at(i))));
    let weight = |i: usize| ((m.dot(at(i)) - farthest) * rate).exp();
    let (mut total, mut sum) = (T::zero(), Vec3::zero());
    for &i in hull {
        let w = weight(i);
        total += w;
        sum += at(i) * w;
    }
    let scale = total.recip();
    let x = sum * scale;
    let mut m_bar = Vec3::zero();
    for &i in hull {
        m_bar += at(i) * (weight(i) * scale * rate * x_bar.dot(at(i) - x));
    }
    (x, m_bar)
}

/// The direction m of a slot in the frame of the solid.
#[differentiable]
fn support_direction<T: Real>(plane: Transform<T>, solid: Transform<T>, tilt: T, slot: usize) -> Vec3<T> {
    let n = plane.rotation.c2;
    let along = if slot % 2 == 1 { tilt } else { -tilt };
    let across = if slot <= 2 { tilt } else { -tilt };
    let m = if slot == 0 { -n } else { plane.rotation.c0 * along + plane.rotation.c1 * across - n };
    solid.inverse_direction(m)
}

/// Plane against the soft rim point of a slot; sizes are radius and half length.
#[differentiable]
pub(super) fn plane_soft_rim<T: Real>(
    plane: Transform<T>,
    cylinder: Transform<T>,
    size: Vec3<T>,
    #[constant] softness: T,
    slot: usize,
) -> Contact<T> {
    // τ = 2 ε / r, below one where the softness exceeds the radius
    let reach = softness * T::lit(RIM_TILT);
    let tilt = reach / (size.x * size.x + reach * reach).sqrt();
    let m = support_direction(plane, cylinder, tilt, slot);
    // ∇ √(r² (m_x² + m_y²) + ε²)
    let (x, y) = (size.x * m.x, size.x * m.y);
    let out = size.x / (x * x + y * y + softness * softness).sqrt();
    // ∇ ε log 2 cosh(h m_z / ε)
    let end = size.y * (size.y * m.z / softness).tanh();
    plane_point(plane, cylinder.point(Vec3::new(x * out, y * out, end)))
}

/// Plane against the soft vertex of a slot.
pub(super) fn plane_soft_vertex<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    (vertices, hull): (&[Vec3<f64>], &[usize]),
    softness: f64,
    slot: usize,
) -> Contact<T> {
    let m = support_direction(plane, mesh, T::lit(TILT), slot);
    let (x, _) = soft_vertex(vertices, hull, m, softness, Vec3::zero());
    plane_point(plane, mesh.point(x))
}

/// Pullback of [`plane_soft_vertex`]: cotangents of both poses.
pub(super) fn plane_soft_vertex_vjp<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    (vertices, hull): (&[Vec3<f64>], &[usize]),
    softness: f64,
    slot: usize,
    out_bar: Contact<T>,
) -> (Transform<T>, Transform<T>) {
    let m = support_direction(plane, mesh, T::lit(TILT), slot);
    let (x, _) = soft_vertex(vertices, hull, m, softness, Vec3::zero());
    let (plane_bar, world_bar) = plane_point_vjp(plane, mesh.point(x), out_bar);
    let (mesh_bar, x_bar) = mesh.point_vjp(x, world_bar);
    let (_, m_bar) = soft_vertex(vertices, hull, m, softness, x_bar);
    let (plane_more, mesh_more, _, ()) = support_direction_vjp(plane, mesh, T::lit(TILT), slot, m_bar);
    (plane_bar + plane_more, mesh_bar + mesh_more)
}
