//! Exponential and logarithm of quaternions: rotation vectors, integration on the manifold, interpolation.
//!
//! Both are smooth functions of squares, so their series in those squares have no square root to fail at
//! zero: with s = |r|², exp(r) = (C(s), K(s) r), C = cos(√s/2), K = sin(√s/2)/√s, and C′ = −K/4, K′ = (C/2 −
//! K)/(2s). For s < 1 all are power series truncated below round-off, elsewhere closed forms; with y =
//! (|u|/w)² the logarithm is (2/w) A(y) u, A = atan(√y)/√y, A′ = (1/(1+y) − A)/(2y), a series for y < 10⁻².
//!
//! Limits: the logarithm takes the shorter way, angle in [0, π]. At angle π it jumps (see the table in
//! [`quat`](crate::quat)); its derivative there is that of the side w ≥ 0 and is finite.

use crate::{Quat, Real, Vec3, differentiable};

/// Terms of the series of K and K′: the first one left out is below 10⁻¹⁷ at s = 1.
const EXP_TERMS: usize = 9;
/// Terms of the series of A and A′: the first one left out is below 10⁻¹⁸ at y = 10⁻².
const LOG_TERMS: usize = 9;

/// The rate of the rotation vector u in q₀ ⊗ exp(u), when the body turns with ω in its own frame:
/// u̇ = ω + ½ u × ω + ¹⁄₁₂ u × (u × ω), up to |u|⁴.
///
/// This is dexp⁻¹, cut where Runge-Kutta-Munthe-Kaas methods up to order five cannot tell the difference.
#[differentiable]
#[inline(always)]
pub fn rotation_vector_rate<T: Real>(u: Vec3<T>, omega: Vec3<T>) -> Vec3<T> {
    let twist = u.cross(omega);
    omega + twist * T::lit(0.5) + u.cross(twist) * T::lit(1.0 / 12.0)
}

impl<T: Real> Quat<T> {
    /// The rotation by |r| (rad) about r: (cos |r|/2, sin(|r|/2) r/|r|), exact at r = 0.
    #[inline(always)]
    pub fn exp(r: Vec3<T>) -> Self {
        let (c, k, _) = exp_coefficients(r.norm_squared());
        Quat::from_parts(c, r * k)
    }
    /// dq = (−K/4 ds, K dr + K′ r ds), ds = 2 r·dr
    #[inline(always)]
    pub fn exp_vjp(r: Vec3<T>, out_bar: Self) -> Vec3<T> {
        let (_, k, k_slope) = exp_coefficients(r.norm_squared());
        let u_bar = out_bar.vector();
        let s_bar = k_slope * r.dot(u_bar) - out_bar.w * k * T::lit(0.25);
        u_bar * k + r * (s_bar + s_bar)
    }

    /// The rotation vector (rad) of q, the shorter way: exp(log q) = ±q/|q|. Independent of the length of q.
    #[inline(always)]
    pub fn log(self) -> Vec3<T> {
        let (g, ..) = log_coefficients(self);
        self.vector() * g
    }
    /// r = g u: dr = g du + u (∂g/∂w dw + (∂g/∂|u|²) 2 u·du)
    #[inline(always)]
    pub fn log_vjp(self, out_bar: Vec3<T>) -> Self {
        let (g, g_of_w, g_of_square) = log_coefficients(self);
        let u = self.vector();
        let g_bar = u.dot(out_bar);
        Quat::from_parts(g_of_w * g_bar, out_bar * g + u * (T::lit(2.0) * g_of_square * g_bar))
    }

    /// The orientation after `dt` seconds of turning at `omega_body` (rad/s, body frame): q ⊗ exp(ω dt).
    /// A unit quaternion stays one.
    #[differentiable]
    #[inline(always)]
    pub fn integrate(self, omega_body: Vec3<T>, dt: T) -> Self {
        self * Quat::exp(omega_body * dt)
    }

    /// The rotation a fraction `t` of the way from `self` to `other`, at constant rate, the shorter way:
    /// a ⊗ exp(t log(a* ⊗ b)), for unit quaternions.
    #[differentiable]
    #[inline(always)]
    pub fn slerp(self, other: Self, t: T) -> Self {
        self * Quat::exp((self.conjugate() * other).log() * t)
    }
}

/// (C, K, K′) at s = |r|².
#[inline(always)]
fn exp_coefficients<T: Real>(s: T) -> (T, T, T) {
    let (one, half) = (T::one(), T::lit(0.5));
    let small = s.lt(one);

    // Closed forms, away from s = 0.
    let safe = T::select(small, one, s);
    let angle = safe.sqrt();
    let (sin, c_far) = (angle * half).sin_cos();
    let k_far = sin / angle;
    let k_slope_far = (c_far * half - k_far) * half / safe;

    // C = Σ (−s)ⁿ / (4ⁿ (2n)!), K = Σ (−s)ⁿ / (2·4ⁿ (2n+1)!), by Horner's rule.
    let near = T::select(small, s, T::zero());
    let (mut c, mut k, mut k_slope) = (T::zero(), T::zero(), T::zero());
    for n in (0..EXP_TERMS).rev() {
        let (c_n, k_n) = exp_series(n);
        k_slope = k_slope * near + T::lit((n + 1) as f64 * exp_series(n + 1).1);
        k = k * near + T::lit(k_n);
        c = c * near + T::lit(c_n);
    }
    (T::select(small, c, c_far), T::select(small, k, k_far), T::select(small, k_slope, k_slope_far))
}

/// Coefficient n of the series of C and K.
const fn exp_series(n: usize) -> (f64, f64) {
    let (mut c, mut i) = (1.0, 0);
    while i < n {
        // C gains −1 / (4 (2i+1)(2i+2)) per term.
        c /= -4.0 * ((2 * i + 1) * (2 * i + 2)) as f64;
        i += 1;
    }
    (c, c / (2 * (2 * n + 1)) as f64)
}

/// (g, ∂g/∂w, ∂g/∂|u|²) of log q = g u; all zero at q = 0.
#[inline(always)]
fn log_coefficients<T: Real>(q: Quat<T>) -> (T, T, T) {
    let (zero, one, two) = (T::zero(), T::one(), T::lit(2.0));
    // q and −q are one rotation: g(−w) = −g(w).
    let sign = T::select(q.w.lt(zero), -one, one);
    let (w, n_squared) = (q.w * sign, q.vector().norm_squared());
    let length_squared = w * w + n_squared;
    let alive = length_squared.gt(zero);
    let near = n_squared.lt(w * w * T::lit(1e-2));

    // Closed form, away from u = 0: g = 2 atan2(n, w) / n.
    let far = alive & !near;
    let n = T::select(far, n_squared, one).sqrt();
    let safe_length = T::select(alive, length_squared, one);
    let g_far = two * n.atan2(w) / n;
    let g_square_far = (w / safe_length - g_far / two) / (n * n);

    // Series: g = (2/w) A(y).
    let safe_w = T::select(near, w, one);
    let y = T::select(near, n_squared, zero) / (safe_w * safe_w);
    let (mut a, mut a_slope) = (zero, zero);
    for i in (0..LOG_TERMS).rev() {
        let alternate = if i % 2 == 0 { 1.0 } else { -1.0 };
        a_slope = a_slope * y - T::lit(alternate * (i + 1) as f64 / (2 * i + 3) as f64);
        a = a * y + T::lit(alternate / (2 * i + 1) as f64);
    }
    let g_near = two * a / safe_w;
    let g_square_near = two * a_slope / (safe_w * safe_w * safe_w);

    // ∂g/∂w = −2 / (w² + n²), on both sides of zero.
    let choose = |near_value, far_value| T::select(near, near_value, T::select(far, far_value, zero)) * sign;
    let g_of_w = T::select(alive, -(two / safe_length), zero);
    (choose(g_near, g_far), g_of_w, choose(g_square_near, g_square_far))
}
