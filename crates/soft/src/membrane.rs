//! Triangles of constant strain in space: F = D_s D_m⁻¹ with two columns, stable neo-Hookean in the plane.
//!
//! Ψ = μ/2 (I_C − 2) + λ/2 (J − α + a)² − μ/2 ln(I_C + 1) per area, with I_C = |F₀|² + |F₁|², J = |F₀ × F₁|:
//! the paper's energy with two stretches instead of three. At rest I_C = 2, so λ (1 − α) = −⅔ μ. Damping is
//! that of the solids, kd Ḟ + kd J̇ ∂J/∂F.
//!
//! A triangle folded to a line has no normal; J then resists nothing, the rest of the stress stays.

use pullback_math::{Real, Vec3, differentiable};

use super::element::{Element, ElementBars, work};

/// A triangle; parameters μ (N/m), λ (N/m), damping (N s/m), activation (1); rest: D_m⁻¹ row by row, then the
/// area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membrane;

/// D_m⁻¹ and the area of a triangle at rest, or `None` if it is flat.
pub(crate) fn rest_shape([x0, x1, x2]: [Vec3<f64>; 3]) -> Option<[f64; 5]> {
    let (a, b) = (x1 - x0, x2 - x0);
    let normal = a.cross(b);
    let longest = a.norm().max(b.norm()).max((x2 - x1).norm());
    // A needle thinner than 10⁻⁶ of its longest edge has no usable inverse.
    if normal.norm().is_nan() || normal.norm() <= 1e-6 * longest * longest {
        return None;
    }
    // In-plane axes: the first along a.
    let e0 = a.normalize();
    let e1 = normal.normalize().cross(e0);
    // D_m = [[a·e0, b·e0], [0, b·e1]]
    let (m00, m01, m11) = (a.dot(e0), b.dot(e0), b.dot(e1));
    Some([1.0 / m00, -m01 / (m00 * m11), 0.0, 1.0 / m11, 0.5 * normal.norm()])
}

/// Columns of a 3×2 matrix.
type Columns<T> = (Vec3<T>, Vec3<T>);

/// P = μ (1 − 1/(I_C + 1)) F + (λ (J − α + a) + kd J̇) ∂J/∂F + kd Ḟ, with ∂J/∂F = (F₁ × n, n × F₀).
#[differentiable]
#[inline(always)]
fn membrane_stress<T: Real>(
    f0: Vec3<T>,
    f1: Vec3<T>,
    f0_dot: Vec3<T>,
    f1_dot: Vec3<T>,
    mu: T,
    lambda: T,
    damping: T,
    activation: T,
) -> (Vec3<T>, Vec3<T>) {
    let area = f0.cross(f1);
    let n = area.normalize();
    let (j0, j1) = (f1.cross(n), n.cross(f0));
    let j_dot = j0.dot(f0_dot) + j1.dot(f1_dot);
    let invariant = f0.norm_squared() + f1.norm_squared();
    let shear = mu - mu / (invariant + T::one());
    let tension = lambda * (area.norm() - T::one() + activation) - mu * T::lit(2.0 / 3.0) + damping * j_dot;
    (f0 * shear + j0 * tension + f0_dot * damping, f1 * shear + j1 * tension + f1_dot * damping)
}

/// D_s D_m⁻¹ for D_s = (x₁ − x₀, x₂ − x₀).
#[inline(always)]
fn deform<T: Real>([x0, x1, x2]: [Vec3<T>; 3], [b00, b01, b10, b11, _]: [T; 5]) -> Columns<T> {
    let (a, b) = (x1 - x0, x2 - x0);
    (a * b00 + b * b10, a * b01 + b * b11)
}

/// The pullback of [`deform`] in x. By hand: it is linear, and its adjoint makes the forces as well.
#[inline(always)]
fn deform_vjp<T: Real>((c0, c1): Columns<T>, [b00, b01, b10, b11, _]: [T; 5]) -> [Vec3<T>; 3] {
    let (a, b) = (c0 * b00 + c1 * b01, c0 * b10 + c1 * b11);
    [-(a + b), a, b]
}

impl Element<3, 4, 5> for Membrane {
    /// A Ψ(F), less its value at rest.
    fn energy<T: Real>(rest: [T; 5], [mu, lambda, _, a]: [T; 4], x: [Vec3<T>; 3]) -> T {
        let (f0, f1) = deform(x, rest);
        let (invariant, stretch) = (f0.norm_squared() + f1.norm_squared(), f0.cross(f1).norm() - T::one());
        let shear = invariant - T::lit(2.0) - ((invariant + T::one()) * T::lit(1.0 / 3.0)).ln();
        let half = T::lit(0.5);
        let density = mu * shear * half + lambda * (stretch + a) * (stretch + a) * half
            - mu * stretch * T::lit(2.0 / 3.0);
        rest[4] * density
    }

    #[inline(always)]
    fn forces<T: Real>(
        rest: [T; 5],
        [mu, lambda, kd, a]: [T; 4],
        x: [Vec3<T>; 3],
        v: [Vec3<T>; 3],
    ) -> [Vec3<T>; 3] {
        let ((f0, f1), (g0, g1)) = (deform(x, rest), deform(v, rest));
        let (p0, p1) = membrane_stress(f0, f1, g0, g1, mu, lambda, kd, a);
        // The force is −A ∂(P : F)/∂x.
        deform_vjp((p0 * -rest[4], p1 * -rest[4]), rest)
    }

    #[inline(always)]
    fn forces_vjp<T: Real>(
        rest: [T; 5],
        [mu, lambda, kd, a]: [T; 4],
        x: [Vec3<T>; 3],
        v: [Vec3<T>; 3],
        f_bar: [Vec3<T>; 3],
    ) -> ElementBars<T, 3, 4> {
        let ((f0, f1), (g0, g1)) = (deform(x, rest), deform(v, rest));
        let forces = Self::forces(rest, [mu, lambda, kd, a], x, v);
        // deform is linear, so the cotangent of P is −A deform(f̄).
        let (p0, p1) = deform(f_bar, rest);
        let bar = (p0 * -rest[4], p1 * -rest[4]);
        let (f0, f1, g0, g1, mu, lambda, kd, a) = membrane_stress_vjp(f0, f1, g0, g1, mu, lambda, kd, a, bar);
        ElementBars {
            x: deform_vjp((f0, f1), rest),
            v: deform_vjp((g0, g1), rest),
            params: [mu, lambda, kd, a],
            work: work(forces, f_bar),
        }
    }
}
