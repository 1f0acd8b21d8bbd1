//! A plane against corners: each corner of a box for itself, and vertices of a mesh weighted by their depth.
//!
//! A corner of a box is a smooth function of its pose, so all eight have a slot and none is chosen.
//!
//! Of a mesh, slot k is the mean of the hull's vertices vᵢ with weights wᵢ ∝ exp(m·vᵢ / ε), a soft support
//! point in the direction m = −n + τ tₖ. Slot 0 has no tilt; the others have the four diagonals tₖ = ±x ± y
//! of the plane's axes, so that a mesh on a face stands on its corners. A mean is a point of the hull, not
//! below its lowest vertex and above it by ε log N at most for N vertices.

use pullback_math::{Real, Transform, Vec3, differentiable};

use crate::contact::Contact;
use crate::plane::{plane_point, plane_point_vjp};

/// Slots of a box.
pub(super) const BOX_CORNERS: usize = 8;
/// Slots of a mesh.
pub(super) const MESH_POINTS: usize = 5;
/// τ, the tilt of directions.
const TILT: f64 = 0.07;

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

/// The direction of a slot in the frame of the mesh.
#[differentiable]
fn support_direction<T: Real>(plane: Transform<T>, mesh: Transform<T>, slot: usize) -> Vec3<T> {
    let n = plane.rotation.c2;
    let along = T::lit(if slot % 2 == 1 { TILT } else { -TILT });
    let across = T::lit(if slot <= 2 { TILT } else { -TILT });
    let m = if slot == 0 { -n } else { plane.rotation.c0 * along + plane.rotation.c1 * across - n };
    mesh.inverse_direction(m)
}

/// Plane against the soft vertex of a slot.
pub(super) fn plane_soft_vertex<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    (vertices, hull): (&[Vec3<f64>], &[usize]),
    softness: f64,
    slot: usize,
) -> Contact<T> {
    let m = support_direction(plane, mesh, slot);
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
    let m = support_direction(plane, mesh, slot);
    let (x, _) = soft_vertex(vertices, hull, m, softness, Vec3::zero());
    let (plane_bar, world_bar) = plane_point_vjp(plane, mesh.point(x), out_bar);
    let (mesh_bar, x_bar) = mesh.point_vjp(x, world_bar);
    let (_, m_bar) = soft_vertex(vertices, hull, m, softness, x_bar);
    let (plane_more, mesh_more, ()) = support_direction_vjp(plane, mesh, slot, m_bar);
    (plane_bar + plane_more, mesh_bar + mesh_more)
}
