//! Bending about the edge between two triangles (gradSim A.1; directions of Bridson et al. 2003).
//!
//! With the dihedral angle φ (0 when flat) and its gradient gᵢ = ∂φ/∂xᵢ, corner i feels
//! −s (kb sin((φ − φ₀)/2 + a) + kd φ̇) gᵢ. The paper writes kb sin(φ/2 + α) d; φ₀ is the angle at rest. Bridson scales by
//! |e|²/(|N₁| + |N₂|) so that stiffness does not depend on the mesh; we take that factor s at rest, which makes the force the
//! gradient of an energy, −2 s kb cos((φ − φ₀)/2 + a), and keep it where the cloth is stretched.
//!
//! Corners: the two opposite ones, then start and end of the edge as the first triangle runs through it. A
//! triangle that has folded to a line has no normal and feels nothing.

use pullback_math::{Real, Vec3, differentiable};

use super::element::{Element, ElementBars, work};

/// A hinge; parameters kb (N m), kd (N m s), activation (rad); rest: φ₀ and s.
#[derive(Clone, Copy, Debug)]
pub struct Hinge;

/// The dihedral angle, rad, in (−π, π].
#[differentiable]
#[inline(always)]
fn dihedral_angle<T: Real>(x1: Vec3<T>, x2: Vec3<T>, x3: Vec3<T>, x4: Vec3<T>) -> T {
    let e = x4 - x3;
    let n1 = e.cross(x1 - x3).normalize();
    let n2 = (x2 - x3).cross(e).normalize();
    n1.cross(n2).dot(e.normalize()).atan2(n1.dot(n2))
}

/// ∂φ/∂x of the four corners.
#[differentiable]
#[inline(always)]
fn dihedral_gradient<T: Real>(
    x1: Vec3<T>,
    x2: Vec3<T>,
    x3: Vec3<T>,
    x4: Vec3<T>,
) -> (Vec3<T>, Vec3<T>, Vec3<T>, Vec3<T>) {
    let e = x4 - x3;
    let n1 = e.cross(x1 - x3);
    let n2 = (x2 - x3).cross(e);
    let tiny = T::lit(T::MIN_POSITIVE * 1e6);
    // g₁ = −|e| N₁/|N₁|², g₂ = −|e| N₂/|N₂|²
    let g1 = -n1 * (e.norm() / (n1.norm_squared() + tiny));
    let g2 = -n2 * (e.norm() / (n2.norm_squared() + tiny));
    // An opposite corner above the point t of the edge is carried by its start and end with 1 − t and t.
    let per_length = e.norm_squared().max(tiny).recip();
    let t1 = (x1 - x3).dot(e) * per_length;
    let t2 = (x2 - x3).dot(e) * per_length;
    let g4 = -(g1 * t1 + g2 * t2);
    (g1, g2, -(g1 + g2 + g4), g4)
}

/// φ₀ and s at rest, or `None` if a triangle is flat.
pub(crate) fn rest_shape([x1, x2, x3, x4]: [Vec3<f64>; 4]) -> Option<[f64; 2]> {
    let e = x4 - x3;
    let (n1, n2) = (e.cross(x1 - x3).norm(), (x2 - x3).cross(e).norm());
    let scale = e.norm_squared() / (n1 + n2);
    (n1 > 0.0 && n2 > 0.0 && scale.is_finite()).then(|| [dihedral_angle(x1, x2, x3, x4), scale])
}

/// Forces on the four corners.
#[differentiable]
#[inline(always)]
fn hinge_forces<T: Real>(
    x: [Vec3<T>; 4],
    v: [Vec3<T>; 4],
    stiffness: T,
    damping: T,
    activation: T,
    #[constant] rest_angle: T,
    #[constant] scale: T,
) -> [Vec3<T>; 4] {
    let angle = dihedral_angle(x[0], x[1], x[2], x[3]);
    let (g1, g2, g3, g4) = dihedral_gradient(x[0], x[1], x[2], x[3]);
    let rate = g1.dot(v[0]) + g2.dot(v[1]) + g3.dot(v[2]) + g4.dot(v[3]);
    let half = (angle - rest_angle) * T::lit(0.5) + activation;
    let moment = -(stiffness * half.sin() + damping * rate) * scale;
    [g1 * moment, g2 * moment, g3 * moment, g4 * moment]
}

impl Element<4, 3, 2> for Hinge {
    /// 2 s kb (1 − cos((φ − φ₀)/2 + a))
    fn energy<T: Real>([angle, scale]: [T; 2], [kb, _, a]: [T; 3], [x1, x2, x3, x4]: [Vec3<T>; 4]) -> T {
        let half = (dihedral_angle(x1, x2, x3, x4) - angle) * T::lit(0.5) + a;
        scale * kb * T::lit(2.0) * (T::one() - half.cos())
    }

    #[inline(always)]
    fn forces<T: Real>(
        [angle, scale]: [T; 2],
        [kb, kd, a]: [T; 3],
        x: [Vec3<T>; 4],
        v: [Vec3<T>; 4],
    ) -> [Vec3<T>; 4] {
        hinge_forces(x, v, kb, kd, a, angle, scale)
    }

    #[inline(always)]
    fn forces_vjp<T: Real>(
        [angle, scale]: [T; 2],
        [kb, kd, a]: [T; 3],
        x: [Vec3<T>; 4],
        v: [Vec3<T>; 4],
        f_bar: [Vec3<T>; 4],
    ) -> ElementBars<T, 4, 3> {
        let forces = hinge_forces(x, v, kb, kd, a, angle, scale);
        let (x, v, kb, kd, a, (), ()) = hinge_forces_vjp(x, v, kb, kd, a, angle, scale, f_bar);
        ElementBars { x, v, params: [kb, kd, a], work: work(forces, f_bar) }
    }
}
