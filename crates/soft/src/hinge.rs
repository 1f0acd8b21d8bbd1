//! Bending about the edge between two triangles (gradSim A.1; directions of Bridson et al. 2003).
//!
//! With the dihedral angle φ (0 when flat) and its gradient gᵢ = ∂φ/∂xᵢ, corner i feels
//! −s (kb sin((φ − φ₀)/2 + a) + kd φ̇) gᵢ. The paper writes kb sin(φ/2 + α) d; φ₀ is the angle at rest. Bridson scales by
//! |e|²/(|N₁| + |N₂|) so that stiffness does not depend on the mesh; we take that factor s at rest, which makes the force the
//! gradient of an energy, −2 s kb cos((φ − φ₀)/2 + a), and keep it where the cloth is stretched.
//!
//! Corners: the two opposite ones, then start and end of the edge as the first triangle runs through it. A
//! triangle that has folded to a line has no normal and feels nothing.

use pullback_math::{Real, Vec3};

use super::element::{Element, ElementBars};

/// A hinge; parameters kb (N m), kd (N m s), activation (rad); rest: φ₀ and s.
#[derive(Clone, Copy, Debug)]
pub struct Hinge;

/// What the angle and its gradient are made of: the edge e = x₄ − x₃, the opposite corners a = x₁ − x₃ and b =
/// x₂ − x₃, and the normals N₁ = e × a and N₂ = b × e.
#[derive(Clone, Copy)]
struct Fold<T> {
    e: Vec3<T>,
    a: Vec3<T>,
    b: Vec3<T>,
    n1: Vec3<T>,
    n2: Vec3<T>,
    /// |e|
    length: T,
    /// |e| |N₁| |N₂| times sine and cosine of φ.
    sin_cos: (T, T),
}

impl<T: Real> Fold<T> {
    #[inline(always)]
    fn new([x1, x2, x3, x4]: [Vec3<T>; 4]) -> Self {
        let (e, a, b) = (x4 - x3, x1 - x3, x2 - x3);
        let (n1, n2, length) = (e.cross(a), b.cross(e), e.norm());
        // N₁ × N₂ = −(N₁·b) e
        let sin_cos = (-(length * n1.dot(b)), n1.dot(n2));
        Fold { e, a, b, n1, n2, length, sin_cos }
    }

    /// The dihedral angle, rad, in (−π, π]; 0 where a triangle has no normal.
    #[inline(always)]
    fn angle(&self) -> T {
        self.sin_cos.0.atan2(self.sin_cos.1)
    }

    /// Whether both triangles have a normal.
    #[inline(always)]
    fn has_angle(&self) -> T::Mask {
        (self.sin_cos.0.abs() + self.sin_cos.1.abs()).gt(T::zero())
    }

    /// ∂φ/∂x of the four corners.
    #[inline(always)]
    fn gradient(&self) -> Gradient<T> {
        let Fold { e, a, b, n1, n2, length, .. } = *self;
        let tiny = T::lit(T::MIN_POSITIVE * 1e6);
        let inverse = [inverse_square(n1, tiny), inverse_square(n2, tiny)];
        // g₁ = −|e| N₁/|N₁|², g₂ = −|e| N₂/|N₂|²
        let (g1, g2) = (-n1 * (length * inverse[0]), -n2 * (length * inverse[1]));
        // An opposite corner above the point t of the edge is carried by its start and end with 1 − t and t.
        let per_length = e.norm_squared().max(tiny).recip();
        let along = [a.dot(e) * per_length, b.dot(e) * per_length];
        let g4 = -(g1 * along[0] + g2 * along[1]);
        Gradient { g: [g1, g2, -(g1 + g2 + g4), g4], inverse, per_length, along }
    }

    /// The pullback of [`Fold::gradient`] in x. By hand: it shares what the way forward has computed.
    #[inline(always)]
    fn gradient_vjp(&self, at: &Gradient<T>, [g1_bar, g2_bar, g3_bar, g4_bar]: [Vec3<T>; 4]) -> [Vec3<T>; 4] {
        let Fold { e, a, b, n1, n2, length, .. } = *self;
        let Gradient { g: [g1, g2, ..], inverse: [i1, i2], per_length, along: [t1, t2] } = *at;
        // g₃ = −(g₁ + g₂ + g₄), g₄ = −(t₁ g₁ + t₂ g₂)
        let g4_bar = g4_bar - g3_bar;
        let (t1_bar, t2_bar) = (-g1.dot(g4_bar), -g2.dot(g4_bar));
        let (g1_bar, g2_bar) = (g1_bar - g3_bar - g4_bar * t1, g2_bar - g3_bar - g4_bar * t2);
        // g = −|e| N/|N|²
        let (q1, q2) = (n1.dot(g1_bar) * i1, n2.dot(g2_bar) * i2);
        let n1_bar = (n1 * (q1 + q1) - g1_bar) * (length * i1);
        let n2_bar = (n2 * (q2 + q2) - g2_bar) * (length * i2);
        let length_bar = -(q1 + q2);
        // t = (a·e)/|e|², and N₁ = e × a, N₂ = b × e
        let a_bar = e * (per_length * t1_bar) + n1_bar.cross(e);
        let b_bar = e * (per_length * t2_bar) + e.cross(n2_bar);
        let of_lengths = length * length_bar - (t1 * t1_bar + t2 * t2_bar) * T::lit(2.0);
        let of_products = a * t1_bar + b * t2_bar + e * of_lengths;
        let e_bar = of_products * per_length + a.cross(n1_bar) + n2_bar.cross(b);
        [a_bar, b_bar, -(a_bar + b_bar + e_bar), e_bar]
    }
}

/// ∂φ/∂x, and what its pullback reads.
#[derive(Clone, Copy)]
struct Gradient<T> {
    g: [Vec3<T>; 4],
    /// 1/|N₁|² and 1/|N₂|², 0 without a normal.
    inverse: [T; 2],
    /// 1/|e|²
    per_length: T,
    /// Where the opposite corners are along the edge, in units of it.
    along: [T; 2],
}

/// 1/|N|², and 0 where |N|² ≤ `tiny`.
#[inline(always)]
fn inverse_square<T: Real>(normal: Vec3<T>, tiny: T) -> T {
    let square = normal.norm_squared();
    let clear = square.gt(tiny);
    T::select(clear, T::select(clear, square, T::one()).recip(), T::zero())
}

/// Σ aᵢ·bᵢ
#[inline(always)]
fn inner<T: Real>(a: [Vec3<T>; 4], b: [Vec3<T>; 4]) -> T {
    (a[0].dot(b[0]) + a[1].dot(b[1])) + (a[2].dot(b[2]) + a[3].dot(b[3]))
}

/// φ₀ and s at rest, or `None` if a triangle is flat.
pub(crate) fn rest_shape([x1, x2, x3, x4]: [Vec3<f64>; 4]) -> Option<[f64; 2]> {
    let e = x4 - x3;
    let (n1, n2) = (e.cross(x1 - x3).norm(), (x2 - x3).cross(e).norm());
    let scale = e.norm_squared() / (n1 + n2);
    (n1 > 0.0 && n2 > 0.0 && scale.is_finite()).then(|| [Fold::new([x1, x2, x3, x4]).angle(), scale])
}

impl Element<4, 3, 2> for Hinge {
    /// 2 s kb (1 − cos((φ − φ₀)/2 + a))
    fn energy<T: Real>([angle, scale]: [T; 2], [kb, _, a]: [T; 3], x: [Vec3<T>; 4]) -> T {
        let half = (Fold::new(x).angle() - angle) * T::lit(0.5) + a;
        scale * kb * T::lit(2.0) * (T::one() - half.cos())
    }

    #[inline(always)]
    fn forces<T: Real>(
        [angle, scale]: [T; 2],
        [kb, kd, a]: [T; 3],
        x: [Vec3<T>; 4],
        v: [Vec3<T>; 4],
    ) -> [Vec3<T>; 4] {
        let fold = Fold::new(x);
        let g = fold.gradient().g;
        // −s (kb sin((φ − φ₀)/2 + a) + kd φ̇) gᵢ
        let half = (fold.angle() - angle) * T::lit(0.5) + a;
        let moment = -(kb * half.sin() + kd * inner(g, v)) * scale;
        [g[0] * moment, g[1] * moment, g[2] * moment, g[3] * moment]
    }

    /// By hand: ∂φ/∂x is there already.
    #[inline(always)]
    fn forces_vjp<T: Real>(
        [angle, scale]: [T; 2],
        [kb, kd, a]: [T; 3],
        x: [Vec3<T>; 4],
        v: [Vec3<T>; 4],
        f_bar: [Vec3<T>; 4],
    ) -> ElementBars<T, 4, 3> {
        let fold = Fold::new(x);
        let at = fold.gradient();
        let g = at.g;
        let half = (fold.angle() - angle) * T::lit(0.5) + a;
        let ((sin, cos), rate) = (half.sin_cos(), inner(g, v));
        let moment = -(kb * sin + kd * rate) * scale;
        // fᵢ = gᵢ moment
        let along = [g[0].dot(f_bar[0]), g[1].dot(f_bar[1]), g[2].dot(f_bar[2]), g[3].dot(f_bar[3])];
        let drive_bar = -(along[0] + along[1] + along[2] + along[3]) * scale;
        let (half_bar, rate_bar) = (kb * cos * drive_bar, kd * drive_bar);
        let angle_bar = T::select(fold.has_angle(), half_bar * T::lit(0.5), T::zero());
        let g_bar = |i: usize| f_bar[i] * moment + v[i] * rate_bar;
        let of_gradient = fold.gradient_vjp(&at, [g_bar(0), g_bar(1), g_bar(2), g_bar(3)]);
        let x_bar = |i: usize| of_gradient[i] + g[i] * angle_bar;
        ElementBars {
            x: [x_bar(0), x_bar(1), x_bar(2), x_bar(3)],
            v: [g[0] * rate_bar, g[1] * rate_bar, g[2] * rate_bar, g[3] * rate_bar],
            params: [sin * drive_bar, rate * drive_bar, half_bar],
            work: [along[0] * moment, along[1] * moment, along[2] * moment, along[3] * moment],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_core::check_vjp;
    use pullback_core::gradcheck::Options;
    use pullback_core::random::Random;

    const REST: [f64; 2] = [0.3, 1.4];

    fn rest<T: Real>() -> [T; 2] {
        REST.map(T::lit)
    }

    /// Corners of a hinge of angle φ about the x-axis.
    fn corners(angle: f64) -> [Vec3<f64>; 4] {
        let (sin, cos) = angle.sin_cos();
        let (up, down) = (Vec3::new(0.3, 0.8, 0.0), Vec3::new(0.6, -0.7 * cos, -0.7 * sin));
        [up, down, Vec3::zero(), Vec3::new(1.1, 0.0, 0.0)]
    }

    #[test]
    fn angles_are_those_of_the_fold() {
        for angle in [-3.0, -1.0, 0.0, 0.4, 2.0, 3.1] {
            let found = Fold::new(corners(angle)).angle();
            assert!((found.abs() - f64::abs(angle)).abs() < 1e-14, "{found} for {angle}");
        }
        let signs = [0.4, -0.4].map(|angle| Fold::new(corners(angle)).angle());
        assert!(signs[0] * signs[1] < 0.0);
    }

    #[test]
    fn forces_have_the_exact_pullback() {
        let mut random = Random::new(5);
        for angle in [0.0, 0.5, -1.5, 2.9, -3.05] {
            let mut at: Vec<f64> = corners(angle).iter().flat_map(|x| [x.x, x.y, x.z]).collect();
            let shaken = if angle == 0.0 { 0.0 } else { 0.05 };
            at.iter_mut().for_each(|x| *x += shaken * random.normal());
            at.extend((0..12).map(|_| random.normal()));
            at.extend([2.0, 0.7, 0.2]);
            let options =
                Options { forward_tolerance: 1e-10, difference_tolerance: 1e-5, ..Options::default() };
            check_vjp!(
                |x: [Vec3<T>; 4], v: [Vec3<T>; 4], params: [T; 3]| -> [Vec3<T>; 4] {
                    Hinge::forces(rest(), params, x, v)
                },
                |bar| {
                    let bars = Hinge::forces_vjp(rest(), params, x, v, bar);
                    (bars.x, bars.v, bars.params)
                },
                at at, options
            )
            .assert_passed();
        }
    }

    #[test]
    fn the_pullback_knows_the_work() {
        let (x, v) = (corners(0.8), corners(-0.2));
        let (params, f_bar) = ([2.0, 0.7, 0.2], corners(1.3));
        let forces = Hinge::forces(REST, params, x, v);
        let work = Hinge::forces_vjp(REST, params, x, v, f_bar).work;
        for c in 0..4 {
            assert!((work[c] - forces[c].dot(f_bar[c])).abs() < 1e-14);
        }
    }

    #[test]
    fn a_triangle_folded_to_a_line_feels_nothing() {
        let [_, x2, x3, x4] = corners(0.8);
        let x = [x4 * 0.3, x2, x3, x4];
        let bars = Hinge::forces_vjp(REST, [2.0, 0.7, 0.2], x, [Vec3::zero(); 4], corners(1.3));
        assert_eq!(Hinge::forces(REST, [2.0, 0.7, 0.2], x, [Vec3::zero(); 4])[0], Vec3::zero());
        assert!(bars.x.iter().chain(&bars.v).all(|x| x.norm().is_finite()));
    }
}
