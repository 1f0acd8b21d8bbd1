//! What happens in the particles: trial deformation, flow, stress; in packs of particles of one material.
//!
//! F_trial = (1 + Δt C) F; the material gives F′ and τ; a particle hands out its mass, its momentum m v, and the gradient of
//! it A = m C − Δt V (4/h²) τ. Two packs at a time: the singular values of one fill the waiting for those of the other. They
//! take the most time of all; the pullback of a substep, which needs stresses before it can pull them back, keeps them in
//! between ([`stress_keeping`], [`stress_kept_vjp`]).

use pullback_math::{Mat3, Packing, RECORD, Real, Svd3, SymMat3, Twin, Vec3};

use super::material::Material;
use super::view::{View, ViewMut};

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

/// What a particle hands out: m v and m, then the columns of A, each with a zero.
pub type Handed<T> = [[T; RECORD]; 2];

/// The singular values of two packs of particles.
pub type Decomposed<T> = Svd3<Twin<<T as Packing>::Pack>>;

/// Number of [`Decomposed`] for `count` particles of a part.
pub const fn decompositions<T: Real>(count: usize) -> usize {
    count.div_ceil(2 * T::WIDTH)
}

/// What a pack of particles is before a substep.
struct Before<T> {
    v: Vec3<T>,
    c: Mat3<T>,
    f: Mat3<T>,
    density: T,
}

/// What a pack of particles hands out.
struct Out<T> {
    momentum: Vec3<T>,
    mass: T,
    a: Mat3<T>,
}

/// F′, the singular values of F_trial, and what is handed out.
#[inline(always)]
fn update<T: Real, M: Material<P>, const P: usize>(
    at: &Before<T>,
    params: [T; P],
    s: Scales,
) -> (Mat3<T>, Svd3<T>, Out<T>) {
    let trial = at.f + at.c * at.f * T::lit(s.dt);
    let svd = M::decompose(trial);
    let (f, tau) = M::update_at(trial, svd, params);
    let mass = at.density * T::lit(s.volume);
    (f, svd, Out { momentum: at.v * mass, mass, a: at.c * mass - tau.to_mat3() * T::lit(s.push) })
}

/// The pullback of [`update`], with `svd` of F_trial: cotangents of what was before, and of parameters.
#[inline(always)]
fn update_vjp<T: Real, M: Material<P>, const P: usize>(
    at: &Before<T>,
    svd: impl FnOnce(Mat3<T>) -> Svd3<T>,
    params: [T; P],
    s: Scales,
    f_bar: Mat3<T>,
    out_bar: Out<T>,
) -> (Before<T>, [T; P]) {
    let Before { v, c, f, density } = *at;
    let (dt, a_bar) = (T::lit(s.dt), out_bar.a);
    let trial = f + c * f * dt;
    let tau_bar = SymMat3::zero().to_mat3_vjp(a_bar * T::lit(-s.push));
    let (trial_bar, params_bar) = M::update_at_vjp(trial, svd(trial), params, (f_bar, tau_bar));
    // m̄ of m, of m v and of m C
    let of_affine = c.c0.dot(a_bar.c0) + c.c1.dot(a_bar.c1) + c.c2.dot(a_bar.c2);
    let mass_bar = out_bar.mass + v.dot(out_bar.momentum) + of_affine;
    let mass = density * T::lit(s.volume);
    let bar = Before {
        v: out_bar.momentum * mass,
        // F_trial = F + Δt C F
        c: a_bar * mass + trial_bar * f.transpose() * dt,
        f: trial_bar + c.transpose() * trial_bar * dt,
        density: mass_bar * T::lit(s.volume),
    };
    (bar, params_bar)
}

/// A register of each half.
#[inline(always)]
fn twin<T: Real>(half: impl Fn(usize) -> T::Pack) -> Twin<T::Pack> {
    Twin(half(0), half(T::WIDTH))
}

/// The matrices at places `first..` of a list, the last one repeated.
#[inline(always)]
fn matrices<T: Real>(from: &[[T; 9]], first: usize) -> Mat3<Twin<T::Pack>> {
    let half = |first: usize| {
        let at = |i: usize| &from[(first + i).min(from.len() - 1)];
        let [a, b, c, d, e, f, g, h] = T::gather(|i| &at(i).as_chunks().0[0]);
        let last = T::pack(|i| at(i)[8]);
        Mat3::from_cols(Vec3::new(a, b, c), Vec3::new(d, e, f), Vec3::new(g, h, last))
    };
    half(first).zip(half(first + T::WIDTH), Twin)
}

/// The vectors at places `first..` of a list, the last one repeated.
#[inline(always)]
fn vectors<T: Real>(from: &[[T; 3]], first: usize) -> Vec3<Twin<T::Pack>> {
    let half = |first: usize| {
        T::pack_vectors(|i| {
            let [x, y, z] = from[(first + i).min(from.len() - 1)];
            Vec3 { x, y, z }
        })
    };
    half(first).zip(half(first + T::WIDTH), Twin)
}

/// Parameters of one part: density of each particle, then each parameter of each.
#[inline(always)]
fn parameters<T: Real, const P: usize>(
    params: &[T],
    n: usize,
    first: usize,
) -> (Twin<T::Pack>, [Twin<T::Pack>; P]) {
    let run = |r: usize| {
        twin::<T>(|half| {
            let (of, first) = (&params[r * n..(r + 1) * n], first + half);
            match of.get(first..first + T::WIDTH) {
                Some(whole) => T::pack(|i| whole[i]),
                None => T::pack(|i| of[(first + i).min(n - 1)]),
            }
        })
    };
    (run(0), std::array::from_fn(|p| run(1 + p)))
}

/// Hands the record at each of `count` places to `write`.
#[inline(always)]
fn records<T: Real>(rows: [Twin<T::Pack>; RECORD], count: usize, mut write: impl FnMut(usize, [T; RECORD])) {
    for (half, rows) in [rows.map(|r| r.0), rows.map(|r| r.1)].iter().enumerate() {
        T::scatter(rows, |i, record| {
            let i = half * T::WIDTH + i;
            if i < count {
                write(i, record);
            }
        });
    }
}

/// Hands the number at each of `count` places to `write`.
#[inline(always)]
fn numbers<T: Real>(x: Twin<T::Pack>, count: usize, mut write: impl FnMut(usize, T)) {
    for (half, pack) in [x.0, x.1].iter().enumerate() {
        for i in 0..T::WIDTH.min(count.saturating_sub(half * T::WIDTH)) {
            write(half * T::WIDTH + i, T::unpack(pack, i));
        }
    }
}

/// The first eight numbers of a matrix, column by column; the ninth is `m.c2.z`.
#[inline(always)]
fn eight<T: Real>(m: &Mat3<T>) -> [T; RECORD] {
    [m.c0.x, m.c0.y, m.c0.z, m.c1.x, m.c1.y, m.c1.z, m.c2.x, m.c2.y]
}

#[inline(always)]
fn before<T: Real>(at: &View<'_, T>, density: Twin<T::Pack>, first: usize) -> Before<Twin<T::Pack>> {
    Before { v: vectors(at.v, first), c: matrices(at.c, first), f: matrices(at.f, first), density }
}

/// What all particles of a part hand out, and F′ where it is asked for.
pub fn stress<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    mut next: Option<&mut [[T; 9]]>,
    handed: &mut [Handed<T>],
) {
    pass::<T, M, P>(params, at, scales, handed, |first, f, _| {
        if let Some(next) = &mut next {
            let next = &mut next[first..];
            let count = next.len();
            records::<T>(eight(&f), count, |i, record| next[i][..RECORD].copy_from_slice(&record));
            numbers::<T>(f.c2.z, count, |i, x| next[i][RECORD] = x);
        }
    });
}

/// What all particles of a part hand out; the singular values of their trial deformations into `kept`, as far as it reaches.
pub fn stress_keeping<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    kept: &mut [Decomposed<T>],
    handed: &mut [Handed<T>],
) {
    pass::<T, M, P>(params, at, scales, handed, |first, _, svd| {
        if let Some(place) = kept.get_mut(first / (2 * T::WIDTH)) {
            *place = svd;
        }
    });
}

/// What all particles of a part hand out; first particle, F′ and singular values of every two packs to `keep`.
#[inline(always)]
fn pass<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    handed: &mut [Handed<T>],
    mut keep: impl FnMut(usize, Mat3<Twin<T::Pack>>, Decomposed<T>),
) {
    let n = at.f.len();
    for first in (0..n).step_by(2 * T::WIDTH) {
        let (density, values) = parameters::<T, P>(params, n, first);
        let (f, svd, out) = update::<_, M, P>(&before(at, density, first), values, scales);
        let (count, handed) = (n - first, &mut handed[first..]);
        let (p, [c0, c1, c2], zero) = (out.momentum, [out.a.c0, out.a.c1, out.a.c2], Twin::zero());
        let value = [p.x, p.y, p.z, out.mass, c0.x, c0.y, c0.z, zero];
        records::<T>(value, count, |i, record| handed[i][0] = record);
        let columns = [c1.x, c1.y, c1.z, zero, c2.x, c2.y, c2.z, zero];
        records::<T>(columns, count, |i, record| handed[i][1] = record);
        keep(first, f, svd);
    }
}

/// The pullback of [`stress`]: *adds* to the cotangents of parameters, v, C and F.
pub fn stress_vjp<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    next_bar: &[[T; 9]],
    handed_bar: &[Handed<T>],
    params_bar: &mut [T],
    bar: &mut ViewMut<'_, T>,
) {
    let svd = |_: usize, trial: Mat3<Twin<T::Pack>>| M::decompose(trial);
    pass_vjp::<T, M, P>(params, at, scales, svd, next_bar, handed_bar, params_bar, bar);
}

/// [`stress_vjp`] with the singular values that [`stress_keeping`] kept; those beyond are computed again.
pub fn stress_kept_vjp<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    kept: &[Decomposed<T>],
    next_bar: &[[T; 9]],
    handed_bar: &[Handed<T>],
    params_bar: &mut [T],
    bar: &mut ViewMut<'_, T>,
) {
    let svd = |first: usize, trial: Mat3<Twin<T::Pack>>| {
        kept.get(first / (2 * T::WIDTH)).copied().unwrap_or_else(|| M::decompose(trial))
    };
    pass_vjp::<T, M, P>(params, at, scales, svd, next_bar, handed_bar, params_bar, bar);
}

/// The pullback of [`stress`], with `svd` of the first particle and F_trial of every two packs.
#[inline(always)]
fn pass_vjp<T: Real, M: Material<P>, const P: usize>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    svd: impl Fn(usize, Mat3<Twin<T::Pack>>) -> Decomposed<T>,
    next_bar: &[[T; 9]],
    handed_bar: &[Handed<T>],
    params_bar: &mut [T],
    bar: &mut ViewMut<'_, T>,
) {
    let n = at.f.len();
    let add = |to: &mut [T], x: &[T]| to.iter_mut().zip(x).for_each(|(to, x)| *to += *x);
    for first in (0..n).step_by(2 * T::WIDTH) {
        let (density, values) = parameters::<T, P>(params, n, first);
        let half = |half: usize, r: usize| T::gather(|i| &handed_bar[(first + half + i).min(n - 1)][r]);
        let [value, columns] = [0, 1].map(|r| {
            let (low, high) = (half(0, r), half(T::WIDTH, r));
            std::array::from_fn::<_, RECORD, _>(|i| Twin(low[i], high[i]))
        });
        let [px, py, pz, mass, ax, ay, az, _] = value;
        let [bx, by, bz, _, cx, cy, cz, _] = columns;
        let a = Mat3::from_cols(Vec3::new(ax, ay, az), Vec3::new(bx, by, bz), Vec3::new(cx, cy, cz));
        let out_bar = Out { momentum: Vec3::new(px, py, pz), mass, a };
        let (b, values_bar) = update_vjp::<_, M, P>(
            &before(at, density, first),
            |trial| svd(first, trial),
            values,
            scales,
            matrices(next_bar, first),
            out_bar,
        );
        let count = n - first;
        records::<T>(eight(&b.c), count, |i, r| add(&mut bar.c[first + i][..RECORD], &r));
        records::<T>(eight(&b.f), count, |i, r| add(&mut bar.f[first + i][..RECORD], &r));
        let rest = [b.v.x, b.v.y, b.v.z, b.c.c2.z, b.f.c2.z, b.density, Twin::zero(), Twin::zero()];
        records::<T>(rest, count, |i, [x, y, z, c, f, density, _, _]| {
            add(&mut bar.v[first + i], &[x, y, z]);
            bar.c[first + i][RECORD] += c;
            bar.f[first + i][RECORD] += f;
            params_bar[first + i] += density;
        });
        for (p, x) in values_bar.into_iter().enumerate() {
            numbers::<T>(x, count, |i, x| params_bar[(1 + p) * n + first + i] += x);
        }
    }
}
