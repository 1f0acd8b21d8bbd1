//! What happens in the particles: trial deformation, flow, stress; in packs of particles of one material.
//!
//! F_trial = (1 + Δt C) F; the material gives F′ and τ; the momentum that a particle hands out has the gradient
//! A = m C − Δt V (4/h²) τ.

use pullback_math::{Mat3, Real, SymMat3, Vec3};

use super::material::Material;

/// Constants of a part and the time step.
#[derive(Clone, Copy, Debug)]
pub struct Scales {
    /// Δt, s.
    pub dt: f64,
    /// V, m³.
    pub volume: f64,
    /// Δt V 4/h².
    pub push: f64,
}

/// F′ and A from C, F, mass and parameters.
#[inline(always)]
fn update<T: Real, M: Material<P>, const P: usize>(
    c: Mat3<T>,
    f: Mat3<T>,
    density: T,
    params: [T; P],
    s: Scales,
) -> (Mat3<T>, Mat3<T>) {
    let trial = f + c * f * T::lit(s.dt);
    let (f, tau) = M::update(trial, params);
    (f, c * (density * T::lit(s.volume)) - tau.to_mat3() * T::lit(s.push))
}

/// The pullback of [`update`]: cotangents of C, F, density and parameters.
#[inline(always)]
fn update_vjp<T: Real, M: Material<P>, const P: usize>(
    c: Mat3<T>,
    f: Mat3<T>,
    density: T,
    params: [T; P],
    s: Scales,
    f_bar: Mat3<T>,
    a_bar: Mat3<T>,
) -> (Mat3<T>, Mat3<T>, T, [T; P]) {
    let dt = T::lit(s.dt);
    let trial = f + c * f * dt;
    let tau_bar = SymMat3::zero().to_mat3_vjp(a_bar * T::lit(-s.push));
    let (trial_bar, params_bar) = M::update_vjp(trial, params, (f_bar, tau_bar));
    let mass = density * T::lit(s.volume);
    // F_trial = F + Δt C F
    let c_bar = a_bar * mass + trial_bar * f.transpose() * dt;
    let f_bar = trial_bar + c.transpose() * trial_bar * dt;
    let dot = c.c0.dot(a_bar.c0) + c.c1.dot(a_bar.c1) + c.c2.dot(a_bar.c2);
    (c_bar, f_bar, dot * T::lit(s.volume), params_bar)
}

/// The matrices at places `first..` of a list, the last one repeated.
#[inline(always)]
fn gather<T: Real>(from: &[[T; 9]], first: usize) -> Mat3<T::Pack> {
    let at = |i: usize| &from[(first + i).min(from.len() - 1)];
    let column = |c: usize| T::pack_vectors(|i| Vec3 { x: at(i)[c], y: at(i)[c + 1], z: at(i)[c + 2] });
    Mat3 { c0: column(0), c1: column(3), c2: column(6) }
}

/// Hands the matrix at each place to `write`.
#[inline(always)]
fn scatter<T: Real>(m: &Mat3<T::Pack>, count: usize, mut write: impl FnMut(usize, [T; 9])) {
    for i in 0..count {
        let [a, b, c] = [&m.c0, &m.c1, &m.c2].map(|c| T::unpack_vector(c, i));
        write(i, [a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z]);
    }
}

/// Parameters of one part: density of each particle, then each parameter of each.
#[inline(always)]
fn gather_params<T: Real, const P: usize>(params: &[T], n: usize, first: usize) -> (T::Pack, [T::Pack; P]) {
    let run = |r: usize| T::pack(|i| params[r * n + (first + i).min(n - 1)]);
    (run(0), std::array::from_fn(|p| run(1 + p)))
}

/// F′ into `next` and A into `affine`, for all particles of a part.
pub fn stress<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    c: &[[T; 9]],
    f: &[[T; 9]],
    scales: Scales,
    next: &mut [[T; 9]],
    affine: &mut [[T; 9]],
) {
    let n = f.len();
    for first in (0..n).step_by(T::WIDTH) {
        let (density, values) = gather_params::<T, P>(params, n, first);
        let (deformed, a) =
            update::<T::Pack, M, P>(gather(c, first), gather(f, first), density, values, scales);
        let count = T::WIDTH.min(n - first);
        scatter::<T>(&deformed, count, |i, m| next[first + i] = m);
        scatter::<T>(&a, count, |i, m| affine[first + i] = m);
    }
}

/// The pullback of [`stress`]: *adds* to the cotangents of parameters, C and F.
pub fn stress_vjp<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    c: &[[T; 9]],
    f: &[[T; 9]],
    scales: Scales,
    next_bar: &[[T; 9]],
    affine_bar: &[[T; 9]],
    params_bar: &mut [T],
    c_bar: &mut [[T; 9]],
    f_bar: &mut [[T; 9]],
) {
    let n = f.len();
    let add = |to: &mut [T; 9], m: [T; 9]| to.iter_mut().zip(m).for_each(|(to, x)| *to += x);
    for first in (0..n).step_by(T::WIDTH) {
        let (density, values) = gather_params::<T, P>(params, n, first);
        let (cb, fb, density_bar, values_bar) = update_vjp::<T::Pack, M, P>(
            gather(c, first),
            gather(f, first),
            density,
            values,
            scales,
            gather(next_bar, first),
            gather(affine_bar, first),
        );
        let count = T::WIDTH.min(n - first);
        scatter::<T>(&cb, count, |i, m| add(&mut c_bar[first + i], m));
        scatter::<T>(&fb, count, |i, m| add(&mut f_bar[first + i], m));
        for i in 0..count {
            params_bar[first + i] += T::unpack(&density_bar, i);
            for (p, bar) in values_bar.iter().enumerate() {
                params_bar[(1 + p) * n + first + i] += T::unpack(bar, i);
            }
        }
    }
}
