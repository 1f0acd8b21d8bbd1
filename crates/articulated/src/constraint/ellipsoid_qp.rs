//! Friction of one contact at a given normal force: min ½ x·A x + c·x over the ellipsoid Σ (xᵢ/μᵢ)² ≤ r².
//!
//! In x = μ∘y the ellipsoid is a ball: with B = μ∘A∘μ and d = μ∘c the minimum is (B + λ) y = −d, where λ = 0 inside and
//! |y| = r on the boundary. λ is the root of 1/|y(λ)| = 1/r by Newton's method, which rises from zero to it.
//!
//! *Pullback.* By the implicit function theorem, with p = (B + λ)⁻¹ (ȳ − q y): dL = −p·(dd + dB y) + q r dr, where
//! q = 0 inside, and on the boundary q makes p·y vanish.
//!
//! MuJoCo gives a contact no friction where B is nearly singular, with a threshold that has units; so does this.

use pullback_math::{Mask, Real, select};

use super::cost::MOST_ROWS;

/// Most unknowns.
pub(super) const MOST: usize = MOST_ROWS - 1;
/// Least determinant, or least pivot of more than three unknowns, of B.
const LEAST_PIVOT: f64 = 1e-10;
/// How far |y|² may be above r² to count as inside.
const SLACK: f64 = 1e-10;
/// Most Newton steps; four are common.
const STEPS: usize = 50;

/// A vector of unknowns.
pub(super) type Unknowns<T> = [T; MOST];

/// The problem: n unknowns, A row by row, c, μ and r.
pub(super) struct EllipsoidQp<'a, T> {
    pub a: &'a [T],
    pub c: &'a [T],
    pub mu: &'a [T],
    pub r: T,
}

/// The minimum.
pub(super) struct Minimum<T> {
    /// x.
    pub x: Unknowns<T>,
    /// λ: positive on the boundary, zero inside, −1 where there is no friction.
    pub multiplier: T,
}

/// Cotangents of the problem.
pub(super) struct EllipsoidQpBars<T> {
    pub a: [T; MOST * MOST],
    pub c: Unknowns<T>,
    pub mu: Unknowns<T>,
    pub r: T,
}

/// A square matrix of at most [`MOST`] rows, or its lower factor.
type Square<T> = [[T; MOST]; MOST];

/// The lower factor of B + λ and its squared pivots.
fn factorized<T: Real>(n: usize, b: &Square<T>, lambda: T) -> (Square<T>, Unknowns<T>) {
    let mut lower = [[T::zero(); MOST]; MOST];
    let mut pivots = [T::one(); MOST];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = b[i][j] + if i == j { lambda } else { T::zero() };
            for k in 0..j {
                sum -= lower[i][k] * lower[j][k];
            }
            if i == j {
                pivots[i] = sum;
                lower[i][i] = sum.sqrt();
            } else {
                lower[i][j] = sum / lower[j][j];
            }
        }
    }
    (lower, pivots)
}

/// (L Lᵀ)⁻¹ x.
fn solved<T: Real>(n: usize, lower: &Square<T>, mut x: Unknowns<T>) -> Unknowns<T> {
    for i in 0..n {
        for k in 0..i {
            let known = lower[i][k] * x[k];
            x[i] -= known;
        }
        x[i] /= lower[i][i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            let known = lower[k][i] * x[k];
            x[i] -= known;
        }
        x[i] /= lower[i][i];
    }
    x
}

fn dot<T: Real>(n: usize, x: &Unknowns<T>, y: &Unknowns<T>) -> T {
    let mut sum = T::zero();
    for i in 0..n {
        sum += x[i] * y[i];
    }
    sum
}

impl<T: Real> EllipsoidQp<'_, T> {
    fn scaled(&self) -> (Square<T>, Unknowns<T>) {
        let n = self.c.len();
        let (mut b, mut d) = ([[T::zero(); MOST]; MOST], [T::zero(); MOST]);
        for i in 0..n {
            d[i] = self.mu[i] * self.c[i];
            for j in 0..n {
                b[i][j] = self.mu[i] * self.a[i * n + j] * self.mu[j];
            }
        }
        (b, d)
    }

    /// Its minimum.
    pub fn solve(&self) -> Minimum<T> {
        let n = self.c.len();
        let (zero, one) = (T::zero(), T::one());
        let (b, d) = self.scaled();
        let squared = self.r * self.r;
        let at = |lambda: T| {
            let (lower, pivots) = factorized(n, &b, lambda);
            let y = solved(n, &lower, d.map(|x| -x));
            (lower, pivots, y)
        };
        let (lower, pivots, mut y) = at(zero);
        let mut regular = T::Mask::splat(true);
        let mut determinant = one;
        for pivot in &pivots[..n] {
            regular = regular & pivot.ge(T::lit(if n > 3 { LEAST_PIVOT } else { 0.0 }));
            determinant *= *pivot;
        }
        regular = regular & (determinant.ge(T::lit(LEAST_PIVOT)) | T::Mask::splat(n > 3));
        regular = regular & self.r.ge(T::lit(super::softness::LEAST));
        let outside = regular & !dot(n, &y, &y).lt(squared + T::lit(SLACK));

        let mut lambda = zero;
        if outside.any() {
            let (mut lower, mut last) = (lower, false);
            for _ in 0..STEPS {
                // λ ← λ + |y|²/(y·(B + λ)⁻¹ y) (|y| − r)/r
                let length = dot(n, &y, &y).sqrt();
                let bent = dot(n, &y, &solved(n, &lower, y));
                let step = length * length / bent * (length - self.r) / self.r;
                let step = select(outside, step, zero);
                lambda += step;
                (lower, _, y) = at(lambda);
                if last {
                    break;
                }
                // One more step at the root gives the tangent of dual numbers.
                last = step.abs().le(lambda.abs() * T::lit(4.0 * T::EPSILON)).all();
            }
            let length = dot(n, &y, &y).sqrt();
            for y in &mut y[..n] {
                *y = select(outside, *y * self.r / length, *y);
            }
        }
        let mut x = [zero; MOST];
        for i in 0..n {
            x[i] = select(regular, self.mu[i] * y[i], zero);
        }
        // A root that is exactly zero is a boundary too.
        let least = lambda.max(T::lit(f64::MIN_POSITIVE));
        Minimum { x, multiplier: select(regular, select(outside, least, zero), -one) }
    }

    /// The pullback of [`EllipsoidQp::solve`].
    pub fn solve_vjp(&self, minimum: &Minimum<T>, x_bar: &Unknowns<T>) -> EllipsoidQpBars<T> {
        let n = self.c.len();
        let zero = T::zero();
        let (b, _) = self.scaled();
        let regular = minimum.multiplier.ge(zero);
        let bounded = minimum.multiplier.gt(zero);
        let (lower, _) = factorized(n, &b, select(bounded, minimum.multiplier, zero));
        let (mut y, mut y_bar) = ([zero; MOST], [zero; MOST]);
        for i in 0..n {
            (y[i], y_bar[i]) = (minimum.x[i] / self.mu[i], self.mu[i] * x_bar[i]);
        }
        // p = (B + λ)⁻¹ (ȳ − q y)
        let (along, across) = (solved(n, &lower, y), solved(n, &lower, y_bar));
        let q = select(bounded, dot(n, &y, &across) / dot(n, &y, &along), zero);
        let mut bars = EllipsoidQpBars { a: [zero; MOST * MOST], c: [zero; MOST], mu: [zero; MOST], r: zero };
        let mut p = [zero; MOST];
        for i in 0..n {
            p[i] = select(regular, across[i] - select(bounded, q * along[i], zero), zero);
            y[i] = select(regular, y[i], zero);
        }
        bars.r = select(regular & bounded, q * self.r, zero);
        for i in 0..n {
            // d = μ∘c,  x = μ∘y
            bars.c[i] = -(self.mu[i] * p[i]);
            bars.mu[i] += x_bar[i] * y[i] - p[i] * self.c[i];
            for j in 0..n {
                // B = μ∘A∘μ
                let b_bar = -(p[i] * y[j]);
                bars.a[i * n + j] = self.mu[i] * self.mu[j] * b_bar;
                bars.mu[i] += b_bar * self.a[i * n + j] * self.mu[j];
                bars.mu[j] += b_bar * self.a[i * n + j] * self.mu[i];
            }
        }
        bars
    }
}
