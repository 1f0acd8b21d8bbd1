//! Flow and stress of all particles of a group, in packs.
//!
//! F_trial = (1 + Δt C) F. The constitutive model gives F′ and τ. A particle scatters its mass, its momentum
//! m v, and the affine momentum A = m C − Δt V (4/h²) τ. Packs are processed in pairs, so that the dependent
//! operations of two singular value decompositions overlap. These take the most time of all. The pullback of
//! a substep needs stresses before it can pull them back, and stores the decompositions in between
//! ([`stress_storing_svd`], [`stress_vjp_with_svd`]).

use pullback_math::{Flat, Mat3, Packing, RECORD, Real, RegisterPair, Svd3, SymMat3, Vec3};

use super::material::ConstitutiveModel;
use super::view::{View, ViewMut};

/// Constants of a group and the time step.
#[derive(Clone, Copy, Debug)]
pub struct Scales {
    /// Δt, s.
    pub dt: f64,
    /// V, m³.
    pub volume: f64,
    /// Δt V 4/h², m s: affine momentum per stress.
    pub stress: f64,
}

/// What a particle scatters: m v and m, then the columns of A, each with a zero behind it.
pub type AffineMomentum<T> = [[T; RECORD]; 2];

/// Two packs of numbers.
type Pair<T> = RegisterPair<<T as Packing>::Pack>;

/// Singular value decompositions of two packs of matrices.
pub(crate) type PairSvd<T> = Svd3<Pair<T>>;

/// Number of pairs of packs for `count` particles of a group.
pub const fn pack_pairs<T: Real>(count: usize) -> usize {
    count.div_ceil(2 * T::WIDTH)
}

/// Density of particles and parameters of their material.
#[derive(Clone, Copy)]
struct Params<T, M> {
    density: T,
    material: M,
}

/// Velocity, affine velocity and deformation of particles before a substep.
struct Particle<T> {
    v: Vec3<T>,
    c: Mat3<T>,
    f: Mat3<T>,
}

/// [`AffineMomentum`] of particles.
struct Momentum<T> {
    linear: Vec3<T>,
    mass: T,
    affine: Mat3<T>,
}

/// F′, the decomposition of F_trial, and the momentum to scatter.
#[inline(always)]
fn update<T: Real, M: ConstitutiveModel>(
    at: &Particle<T>,
    params: Params<T, M::Params<T>>,
    s: Scales,
) -> (Mat3<T>, Svd3<T>, Momentum<T>) {
    let trial = at.f + at.c * at.f * T::lit(s.dt);
    let svd = M::decompose(trial);
    let (f, tau) = M::update_at(trial, svd, params.material);
    let mass = params.density * T::lit(s.volume);
    let affine = at.c * mass - tau.to_mat3() * T::lit(s.stress);
    (f, svd, Momentum { linear: at.v * mass, mass, affine })
}

/// The pullback of [`update`], with `svd` of F_trial: cotangents of particles and parameters. By hand: the
/// decomposition is that of the way forward.
#[inline(always)]
fn update_vjp<T: Real, M: ConstitutiveModel>(
    at: &Particle<T>,
    svd: impl FnOnce(Mat3<T>) -> Svd3<T>,
    params: Params<T, M::Params<T>>,
    s: Scales,
    f_bar: Mat3<T>,
    out_bar: Momentum<T>,
) -> (Particle<T>, Params<T, M::Params<T>>) {
    let Particle { v, c, f } = *at;
    let (dt, a_bar) = (T::lit(s.dt), out_bar.affine);
    let trial = f + c * f * dt;
    let tau_bar = SymMat3::zero().to_mat3_vjp(a_bar * T::lit(-s.stress));
    let (trial_bar, material_bar) = M::update_at_vjp(trial, svd(trial), params.material, (f_bar, tau_bar));
    // m̄ of m, of m v and of m C
    let of_affine = c.c0.dot(a_bar.c0) + c.c1.dot(a_bar.c1) + c.c2.dot(a_bar.c2);
    let mass_bar = out_bar.mass + v.dot(out_bar.linear) + of_affine;
    let mass = params.density * T::lit(s.volume);
    let bar = Particle {
        v: out_bar.linear * mass,
        // F_trial = F + Δt C F
        c: a_bar * mass + trial_bar * f.transpose() * dt,
        f: trial_bar + c.transpose() * trial_bar * dt,
    };
    (bar, Params { density: mass_bar * T::lit(s.volume), material: material_bar })
}

/// The matrices at `first..` of a list; the last one fills the lanes beyond it.
#[inline(always)]
fn load_matrices<T: Real>(from: &[[T; 9]], first: usize) -> Mat3<Pair<T>> {
    let pack = |first: usize| {
        let at = |i: usize| &from[(first + i).min(from.len() - 1)];
        let [a, b, c, d, e, f, g, h] = T::gather(|i| &at(i).as_chunks().0[0]);
        let last = T::pack(|i| at(i)[RECORD]);
        Mat3::from_cols(Vec3::new(a, b, c), Vec3::new(d, e, f), Vec3::new(g, h, last))
    };
    pack(first).zip(pack(first + T::WIDTH), RegisterPair)
}

/// The vectors at `first..` of a list; the last one fills the lanes beyond it.
#[inline(always)]
fn load_vectors<T: Real>(from: &[[T; 3]], first: usize) -> Vec3<Pair<T>> {
    let pack = |first: usize| {
        T::pack_vectors(|i| {
            let [x, y, z] = from[(first + i).min(from.len() - 1)];
            Vec3 { x, y, z }
        })
    };
    pack(first).zip(pack(first + T::WIDTH), RegisterPair)
}

/// The numbers at `first..` of a list; the last one fills the lanes beyond it.
#[inline(always)]
fn load_numbers<T: Real>(from: &[T], first: usize) -> Pair<T> {
    let pack = |first: usize| match from.get(first..first + T::WIDTH) {
        Some(whole) => T::pack(|i| whole[i]),
        None => T::pack(|i| from[(first + i).min(from.len() - 1)]),
    };
    RegisterPair(pack(first), pack(first + T::WIDTH))
}

#[inline(always)]
fn load_particles<T: Real>(at: &View<'_, T>, first: usize) -> Particle<Pair<T>> {
    Particle { v: load_vectors(at.v, first), c: load_matrices(at.c, first), f: load_matrices(at.f, first) }
}

/// Largest number of parameters of a material.
const MAX_MATERIAL_PARAMS: usize = 4;

/// The parameters of particles `first..` from the block of a group of n: a run of n densities, then a run of
/// n numbers for each parameter of the material.
#[inline(always)]
fn load_params<T: Real, M: Flat<Pair<T>>>(block: &[T], n: usize, first: usize) -> Params<Pair<T>, M> {
    const { assert!(M::LEN <= MAX_MATERIAL_PARAMS) };
    let (density, material) = block.split_at(n);
    let mut numbers = [RegisterPair::zero(); MAX_MATERIAL_PARAMS];
    for (number, run) in numbers[..M::LEN].iter_mut().zip(material.chunks_exact(n)) {
        *number = load_numbers(run, first);
    }
    Params { density: load_numbers(density, first), material: M::read(&numbers) }
}

/// Adds the cotangents of [`load_params`] to those of the block, for at most `count` particles.
#[inline(always)]
fn add_params<T: Real, M: Flat<Pair<T>>>(
    bar: Params<Pair<T>, M>,
    block_bar: &mut [T],
    n: usize,
    first: usize,
    count: usize,
) {
    let (density, material) = block_bar.split_at_mut(n);
    for_each_number::<T>(bar.density, count, |i, x| density[first + i] += x);
    let mut numbers = [RegisterPair::zero(); MAX_MATERIAL_PARAMS];
    bar.material.write(&mut numbers);
    for (number, run) in numbers[..M::LEN].iter().zip(material.chunks_exact_mut(n)) {
        for_each_number::<T>(*number, count, |i, x| run[first + i] += x);
    }
}

/// Visits the record in each of the first `count` lanes.
#[inline(always)]
fn for_each_record<T: Real>(
    rows: [Pair<T>; RECORD],
    count: usize,
    mut visit: impl FnMut(usize, [T; RECORD]),
) {
    for (half, rows) in [rows.map(|r| r.0), rows.map(|r| r.1)].iter().enumerate() {
        T::scatter(rows, |i, record| {
            let i = half * T::WIDTH + i;
            if i < count {
                visit(i, record);
            }
        });
    }
}

/// Visits the number in each of the first `count` lanes.
#[inline(always)]
fn for_each_number<T: Real>(x: Pair<T>, count: usize, mut visit: impl FnMut(usize, T)) {
    for (half, pack) in [x.0, x.1].iter().enumerate() {
        for i in 0..T::WIDTH.min(count.saturating_sub(half * T::WIDTH)) {
            visit(half * T::WIDTH + i, T::unpack(pack, i));
        }
    }
}

/// The first eight numbers of a matrix, column by column; the ninth is `m.c2.z`.
#[inline(always)]
fn first_eight<T: Real>(m: &Mat3<T>) -> [T; RECORD] {
    [m.c0.x, m.c0.y, m.c0.z, m.c1.x, m.c1.y, m.c1.z, m.c2.x, m.c2.y]
}

/// Momenta of all particles of a group, and F′ into `next` where it is asked for. `params` is the block of
/// the group: density, then each parameter of the material, a run with a number per particle each.
pub fn stress<T: Real, M: ConstitutiveModel>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    mut next: Option<&mut [[T; 9]]>,
    momenta: &mut [AffineMomentum<T>],
) {
    update_group::<T, M>(params, at, scales, momenta, |first, f, _| {
        if let Some(next) = &mut next {
            let next = &mut next[first..];
            let count = next.len();
            for_each_record::<T>(first_eight(&f), count, |i, r| next[i][..RECORD].copy_from_slice(&r));
            for_each_number::<T>(f.c2.z, count, |i, x| next[i][RECORD] = x);
        }
    });
}

/// Momenta of all particles of a group, and the decompositions of their trial deformations into `svds`, as
/// many as fit.
pub fn stress_storing_svd<T: Real, M: ConstitutiveModel>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    svds: &mut [PairSvd<T>],
    momenta: &mut [AffineMomentum<T>],
) {
    update_group::<T, M>(params, at, scales, momenta, |first, _, svd| {
        if let Some(stored) = svds.get_mut(first / (2 * T::WIDTH)) {
            *stored = svd;
        }
    });
}

/// Momenta of all particles of a group. `visit` takes the first particle, F′ and the decomposition of each
/// pair of packs.
#[inline(always)]
fn update_group<T: Real, M: ConstitutiveModel>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    momenta: &mut [AffineMomentum<T>],
    mut visit: impl FnMut(usize, Mat3<Pair<T>>, PairSvd<T>),
) {
    let n = at.f.len();
    for first in (0..n).step_by(2 * T::WIDTH) {
        let params = load_params::<T, M::Params<Pair<T>>>(params, n, first);
        let (f, svd, out) = update::<_, M>(&load_particles(at, first), params, scales);
        let (count, momenta) = (n - first, &mut momenta[first..]);
        let (p, a, zero) = (out.linear, out.affine, RegisterPair::zero());
        let value = [p.x, p.y, p.z, out.mass, a.c0.x, a.c0.y, a.c0.z, zero];
        for_each_record::<T>(value, count, |i, record| momenta[i][0] = record);
        let columns = [a.c1.x, a.c1.y, a.c1.z, zero, a.c2.x, a.c2.y, a.c2.z, zero];
        for_each_record::<T>(columns, count, |i, record| momenta[i][1] = record);
        visit(first, f, svd);
    }
}

/// The pullback of [`stress`]: *adds* to the cotangents of parameters, v, C and F.
pub fn stress_vjp<T: Real, M: ConstitutiveModel>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    next_bar: &[[T; 9]],
    momentum_bars: &[AffineMomentum<T>],
    params_bar: &mut [T],
    bar: &mut ViewMut<'_, T>,
) {
    let svd = |_: usize, trial: Mat3<Pair<T>>| M::decompose(trial);
    update_group_vjp::<T, M>(params, at, scales, svd, next_bar, momentum_bars, params_bar, bar);
}

/// [`stress_vjp`] with the decompositions of [`stress_storing_svd`]; those that did not fit are computed
/// again.
pub fn stress_vjp_with_svd<T: Real, M: ConstitutiveModel>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    svds: &[PairSvd<T>],
    next_bar: &[[T; 9]],
    momentum_bars: &[AffineMomentum<T>],
    params_bar: &mut [T],
    bar: &mut ViewMut<'_, T>,
) {
    let svd = |first: usize, trial: Mat3<Pair<T>>| {
        svds.get(first / (2 * T::WIDTH)).copied().unwrap_or_else(|| M::decompose(trial))
    };
    update_group_vjp::<T, M>(params, at, scales, svd, next_bar, momentum_bars, params_bar, bar);
}

/// The pullback of [`stress`]. `svd` takes the first particle and F_trial of each pair of packs.
#[inline(always)]
fn update_group_vjp<T: Real, M: ConstitutiveModel>(
    params: &[T],
    at: &View<'_, T>,
    scales: Scales,
    svd: impl Fn(usize, Mat3<Pair<T>>) -> PairSvd<T>,
    next_bar: &[[T; 9]],
    momentum_bars: &[AffineMomentum<T>],
    params_bar: &mut [T],
    bar: &mut ViewMut<'_, T>,
) {
    let n = at.f.len();
    let add = |to: &mut [T], x: &[T]| to.iter_mut().zip(x).for_each(|(to, x)| *to += *x);
    for first in (0..n).step_by(2 * T::WIDTH) {
        let params = load_params::<T, M::Params<Pair<T>>>(params, n, first);
        let pack = |first: usize, r: usize| T::gather(|i| &momentum_bars[(first + i).min(n - 1)][r]);
        let [value, columns] = [0, 1].map(|r| {
            let (low, high) = (pack(first, r), pack(first + T::WIDTH, r));
            std::array::from_fn::<_, RECORD, _>(|i| RegisterPair(low[i], high[i]))
        });
        let [px, py, pz, mass, ax, ay, az, _] = value;
        let [bx, by, bz, _, cx, cy, cz, _] = columns;
        let affine = Mat3::from_cols(Vec3::new(ax, ay, az), Vec3::new(bx, by, bz), Vec3::new(cx, cy, cz));
        let (b, block_bar) = update_vjp::<_, M>(
            &load_particles(at, first),
            |trial| svd(first, trial),
            params,
            scales,
            load_matrices(next_bar, first),
            Momentum { linear: Vec3::new(px, py, pz), mass, affine },
        );
        let (count, zero) = (n - first, RegisterPair::zero());
        for_each_record::<T>(first_eight(&b.c), count, |i, r| add(&mut bar.c[first + i][..RECORD], &r));
        for_each_record::<T>(first_eight(&b.f), count, |i, r| add(&mut bar.f[first + i][..RECORD], &r));
        let rest = [b.v.x, b.v.y, b.v.z, b.c.c2.z, b.f.c2.z, zero, zero, zero];
        for_each_record::<T>(rest, count, |i, [x, y, z, c, f, ..]| {
            add(&mut bar.v[first + i], &[x, y, z]);
            bar.c[first + i][RECORD] += c;
            bar.f[first + i][RECORD] += f;
        });
        add_params(block_bar, params_bar, n, first, count);
    }
}
