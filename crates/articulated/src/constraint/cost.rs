//! Cost of a constraint over its residual u = J a − a_ref: force f = −∇s(u), curvature C = ∇²s(u), and what
//! they say about weights and friction ("Computation", "Constraint model" in MuJoCo's documentation).
//!
//! | kind | s(u) |
//! |---|---|
//! | quadratic | ½ Σ Dᵢ uᵢ² |
//! | dry friction | Huber: quadratic while the force D u is below the loss, then linear |
//! | one-sided | ½ D min(u, 0)² |
//! | pyramid | one-sided in every edge u₀ ± μₖ uₖ |
//! | elliptic | by the dual cone: nothing above it, quadratic below, ½ Dₘ (N − μ T)² between |
//!
//! Rows of a contact are (normal, tangents, spin, rolls). All kinds are convex and once differentiable. Where
//! the second derivative jumps, C is that of the side on which the constraint does not act.

use pullback_math::{Cotangent, Mask, Real, select};

/// Most rows of one constraint.
pub(crate) const MOST_ROWS: usize = 6;

/// The kind of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// An equality.
    Quadratic,
    /// Dry friction.
    Huber,
    /// A limit, or a contact without friction.
    OneSided,
    /// A contact with a pyramid as friction cone.
    Pyramid,
    /// A contact with an elliptic friction cone.
    Elliptic,
}

/// Weights of a cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Weights<T> {
    /// Weight D of each row; a pyramid has one, of all edges, in the first place.
    pub rows: [T; MOST_ROWS],
    /// Friction of the rows after the first; the loss of dry friction in the first place.
    pub friction: [T; MOST_ROWS - 1],
    /// Slope μ of an elliptic cone in scaled coordinates.
    pub mu: T,
}

/// Scaled residual of an elliptic cone, U = (μ u₀, friction·u), with T = |U₁..|.
struct Scaled<T: Real> {
    u: [T; MOST_ROWS],
    scale: [T; MOST_ROWS],
    tangent: T,
    bottom: T::Mask,
    middle: T::Mask,
}

impl<T: Real> Scaled<T> {
    #[inline(always)]
    fn new(dim: usize, u: &[T], w: &Weights<T>) -> Self {
        let mut scale = [w.mu; MOST_ROWS];
        scale[1..].copy_from_slice(&w.friction);
        let mut scaled = [T::zero(); MOST_ROWS];
        let mut squared = T::zero();
        for i in 0..dim {
            scaled[i] = u[i] * scale[i];
            if i > 0 {
                squared += scaled[i] * scaled[i];
            }
        }
        let tangent = squared.sqrt();
        let normal = scaled[0];
        let still = tangent.le(T::zero());
        let top = normal.ge(w.mu * tangent) | (still & normal.ge(T::zero()));
        let bottom = (w.mu * normal + tangent).le(T::zero()) | (still & normal.lt(T::zero()));
        let bottom = bottom & !top;
        Scaled { u: scaled, scale, tangent, bottom, middle: !top & !bottom }
    }

    /// T where it is not zero.
    #[inline(always)]
    fn safe_tangent(&self) -> T {
        select(self.tangent.gt(T::zero()), self.tangent, T::one())
    }
}

/// Dₘ = D₀ / (μ² (1 + μ²)).
#[inline(always)]
fn middle_weight<T: Real>(w: &Weights<T>) -> T {
    let squared = w.mu * w.mu;
    w.rows[0] / (squared * (T::one() + squared))
}

impl Cost {
    /// s(u).
    pub fn value<T: Real>(self, u: &[T], w: &Weights<T>) -> T {
        let (zero, half) = (T::zero(), T::lit(0.5));
        let quadratic = || u.iter().zip(&w.rows).fold(zero, |sum, (u, d)| sum + half * *d * *u * *u);
        match self {
            Cost::Quadratic => quadratic(),
            Cost::Huber => {
                let (d, loss, size) = (w.rows[0], w.friction[0], u[0].abs());
                let inside = (d * size).lt(loss);
                select(inside, half * d * size * size, loss * (size - half * loss / d))
            }
            Cost::OneSided => half * w.rows[0] * u[0].min(zero) * u[0].min(zero),
            Cost::Pyramid => {
                let mut sum = zero;
                for (k, friction) in u[1..].iter().zip(&w.friction) {
                    for edge in [u[0] + *friction * *k, u[0] - *friction * *k] {
                        sum += edge.min(zero) * edge.min(zero);
                    }
                }
                half * w.rows[0] * sum
            }
            Cost::Elliptic => {
                let at = Scaled::new(u.len(), u, w);
                let gap = at.u[0] - w.mu * at.tangent;
                let cone = half * middle_weight(w) * gap * gap;
                select(at.middle, cone, select(at.bottom, quadratic(), zero))
            }
        }
    }

    /// Force −∇s and curvature ∇²s, row by row, at residual `u`.
    #[inline]
    pub fn evaluate<T: Real>(self, u: &[T], w: &Weights<T>, force: &mut [T], curvature: &mut [T]) {
        let dim = u.len();
        let zero = T::zero();
        match self {
            Cost::Quadratic => {
                curvature.fill(zero);
                for i in 0..dim {
                    force[i] = -(w.rows[i] * u[i]);
                    curvature[i * dim + i] = w.rows[i];
                }
            }
            Cost::Huber => {
                let (d, loss) = (w.rows[0], w.friction[0]);
                let plain = -(d * u[0]);
                let inside = plain.abs().lt(loss);
                force[0] = select(inside, plain, select(plain.gt(zero), loss, -loss));
                curvature[0] = select(inside, d, zero);
            }
            Cost::OneSided => {
                let acts = u[0].lt(zero);
                force[0] = select(acts, -(w.rows[0] * u[0]), zero);
                curvature[0] = select(acts, w.rows[0], zero);
            }
            Cost::Pyramid => {
                curvature.fill(zero);
                force.fill(zero);
                let d = w.rows[0];
                for k in 1..dim {
                    for mu in [w.friction[k - 1], -w.friction[k - 1]] {
                        let edge = u[0] + mu * u[k];
                        let weight = select(edge.lt(zero), d, zero);
                        let f = -(weight * edge);
                        force[0] += f;
                        force[k] += mu * f;
                        curvature[0] += weight;
                        curvature[k] += mu * weight;
                        curvature[k * dim + k] += mu * mu * weight;
                    }
                    curvature[k * dim] = curvature[k];
                }
            }
            Cost::Elliptic => {
                let at = Scaled::new(dim, u, w);
                if !(at.bottom | at.middle).any() {
                    curvature.fill(zero);
                    force.fill(zero);
                    return;
                }
                let (normal, tangent) = (at.u[0], at.safe_tangent());
                // f₀ = −Dₘ (N − μ T) μ,  fⱼ = −f₀/T Uⱼ frictionⱼ
                let weight = middle_weight(w);
                let inverse = tangent.recip();
                let first = -(weight * (normal - w.mu * tangent) * w.mu);
                force[0] = select(at.middle, first, select(at.bottom, -(w.rows[0] * u[0]), zero));
                for j in 1..dim {
                    let sliding = -(first * inverse * at.u[j] * at.scale[j]);
                    force[j] = select(at.middle, sliding, select(at.bottom, -(w.rows[j] * u[j]), zero));
                }
                // C = Dₘ S K S, K₀₀ = 1, K₀ⱼ = −μ Uⱼ/T, Kⱼₖ = μ N/T³ Uⱼ Uₖ + δⱼₖ (μ² − μ N/T)
                let ratio = w.mu * normal * inverse;
                for i in 0..dim {
                    for j in 0..=i {
                        let entry = match (i, j) {
                            (0, 0) => T::one(),
                            (i, 0) => -(w.mu * at.u[i] * inverse),
                            (i, j) => {
                                let outer = ratio * (at.u[i] * inverse) * (at.u[j] * inverse);
                                if i == j { outer + w.mu * w.mu - ratio } else { outer }
                            }
                        };
                        let cone = weight * at.scale[i] * at.scale[j] * entry;
                        let below = if i == j { select(at.bottom, w.rows[i], zero) } else { zero };
                        let entry = select(at.middle, cone, below);
                        (curvature[i * dim + j], curvature[j * dim + i]) = (entry, entry);
                    }
                }
            }
        }
    }

    /// First and second derivative of s(u + α p) at α.
    #[inline]
    pub fn along<T: Real>(self, u: &[T], p: &[T], alpha: T, w: &Weights<T>) -> (T, T) {
        let dim = u.len();
        let zero = T::zero();
        let (mut slope, mut curve) = (zero, zero);
        match self {
            Cost::Quadratic => {
                for i in 0..dim {
                    let weighted = w.rows[i] * p[i];
                    slope += weighted * (u[i] + alpha * p[i]);
                    curve += weighted * p[i];
                }
            }
            Cost::Huber => {
                let (d, loss) = (w.rows[0], w.friction[0]);
                let gradient = d * (u[0] + alpha * p[0]);
                let inside = gradient.abs().lt(loss);
                slope = p[0] * select(inside, gradient, select(gradient.gt(zero), loss, -loss));
                curve = select(inside, d * p[0] * p[0], zero);
            }
            Cost::OneSided => {
                let x = u[0] + alpha * p[0];
                let weighted = select(x.lt(zero), w.rows[0] * p[0], zero);
                (slope, curve) = (weighted * x, weighted * p[0]);
            }
            Cost::Pyramid => {
                let (x0, p0) = (u[0] + alpha * p[0], p[0]);
                for k in 1..dim {
                    let xk = u[k] + alpha * p[k];
                    for mu in [w.friction[k - 1], -w.friction[k - 1]] {
                        let (x, direction) = (x0 + mu * xk, p0 + mu * p[k]);
                        let weighted = select(x.lt(zero), direction, zero);
                        slope += weighted * x;
                        curve += weighted * direction;
                    }
                }
                slope *= w.rows[0];
                curve *= w.rows[0];
            }
            Cost::Elliptic => {
                let mut x = [zero; MOST_ROWS];
                for i in 0..dim {
                    x[i] = u[i] + alpha * p[i];
                }
                let at = Scaled::new(dim, &x[..dim], w);
                let (tangent, inverse) = (at.safe_tangent(), at.safe_tangent().recip());
                // N' = μ p₀,  T' = U·U'/T,  T'' = (|U'|² − T'²)/T over the tangents
                let n1 = at.scale[0] * p[0];
                let (mut t1, mut squared) = (zero, zero);
                let (mut below_slope, mut below_curve) = (w.rows[0] * x[0] * p[0], w.rows[0] * p[0] * p[0]);
                for i in 1..dim {
                    let direction = at.scale[i] * p[i];
                    t1 += at.u[i] * direction;
                    squared += direction * direction;
                    below_slope += w.rows[i] * x[i] * p[i];
                    below_curve += w.rows[i] * p[i] * p[i];
                }
                t1 *= inverse;
                let t2 = (squared - t1 * t1) * inverse;
                let (gap, gap1) = (at.u[0] - w.mu * tangent, n1 - w.mu * t1);
                let weight = middle_weight(w);
                let middle = (weight * gap * gap1, weight * (gap1 * gap1 - gap * w.mu * t2));
                slope = select(at.middle, middle.0, select(at.bottom, below_slope, zero));
                curve = select(at.middle, middle.1, select(at.bottom, below_curve, zero));
            }
        }
        (slope, curve)
    }

    /// The cotangent of the weights when y·f(u; w) is the loss and u is held.
    #[inline]
    pub fn weights_vjp<T: Real>(self, u: &[T], w: &Weights<T>, y: &[T]) -> Weights<T> {
        let dim = u.len();
        let zero = T::zero();
        let mut bar = Weights::default();
        match self {
            Cost::Quadratic => {
                for i in 0..dim {
                    bar.rows[i] = -(y[i] * u[i]);
                }
            }
            Cost::Huber => {
                let plain = -(w.rows[0] * u[0]);
                let inside = plain.abs().lt(w.friction[0]);
                bar.rows[0] = select(inside, -(y[0] * u[0]), zero);
                bar.friction[0] = select(inside, zero, select(plain.gt(zero), y[0], -y[0]));
            }
            Cost::OneSided => bar.rows[0] = select(u[0].lt(zero), -(y[0] * u[0]), zero),
            Cost::Pyramid => {
                for k in 1..dim {
                    for sign in [T::one(), -T::one()] {
                        // L = (y₀ + s μ yₖ) f,  f = −D (u₀ + s μ uₖ)
                        let mu = sign * w.friction[k - 1];
                        let (edge, seen) = (u[0] + mu * u[k], y[0] + mu * y[k]);
                        let acts = edge.lt(zero);
                        bar.rows[0] -= select(acts, seen * edge, zero);
                        let slope = w.rows[0] * (seen * u[k] + edge * y[k]) * sign;
                        bar.friction[k - 1] -= select(acts, slope, zero);
                    }
                }
            }
            Cost::Elliptic => {
                let at = Scaled::new(dim, u, w);
                let (tangent, inverse) = (at.safe_tangent(), at.safe_tangent().recip());
                let gap = at.u[0] - w.mu * tangent;
                let weight = middle_weight(w);
                // L = −Dₘ gap μ q,  q = y₀ − Σ yⱼ Uⱼ frictionⱼ / T
                let mut along = zero;
                for j in 1..dim {
                    along += y[j] * at.u[j] * at.scale[j];
                }
                let q = y[0] - along * inverse;
                let outer = -(weight * w.mu);
                let squared = w.mu * w.mu;
                let weight_bar = -(gap * w.mu * q);
                let (gap_bar, q_bar) = (outer * q, outer * gap);
                // Dₘ = D₀/(μ² + μ⁴), gap = μ u₀ − μ T
                let denominator = squared * (T::one() + squared);
                let d_bar = weight_bar / denominator;
                let steep = w.mu * (T::lit(2.0) + T::lit(4.0) * squared);
                let mu_bar = -(weight_bar * weight * steep / denominator) - weight * gap * q
                    + gap_bar * (u[0] - tangent);
                let tangent_bar = -(gap_bar * w.mu) + q_bar * along * inverse * inverse;
                bar.rows[0] = select(at.middle, d_bar, select(at.bottom, -(y[0] * u[0]), zero));
                bar.mu = select(at.middle, mu_bar, zero);
                for j in 1..dim {
                    // Uⱼ = frictionⱼ uⱼ, T² = Σ Uⱼ²
                    let by_tangent = tangent_bar * at.u[j] * inverse * u[j];
                    let by_q = -(q_bar * inverse * y[j] * T::lit(2.0) * at.u[j]);
                    bar.friction[j - 1] = select(at.middle, by_tangent + by_q, zero);
                    bar.rows[j] = select(at.bottom, -(y[j] * u[j]), zero);
                }
            }
        }
        bar
    }
}
