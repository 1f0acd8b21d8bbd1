//! Flow and stress of all particles of a group, in packs.
//!
//! F_trial = (1 + Δt C) F. The constitutive model gives F′ and τ. A particle scatters its mass, its momentum
//! m v, and the affine momentum A = m C − Δt V (4/h²) τ. Packs are processed in pairs, so that the dependent
//! operations of two singular value decompositions overlap. These take the most time of all. The pullback of
//! a substep needs stresses before it can pull them back, and stores the decompositions in between
//! ([`stress_storing_svd`], [`stress_vjp`]).

use pullback_math::{Flat, Mat3, Packing, RECORD, Real, RegisterPair, Svd3, SymMat3, Vec3};

use super::material::ConstitutiveModel;
use super::parallel::{Split, in_parts};
use super::record::Record;
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

/// Records of particles in another order.
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a, T> {
    /// The records.
    pub records: &'a [Record<T>],
    /// Place of the record of each particle.
    pub places: &'a [u32],
}

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

/// What particles scatter: m v, m and A.
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

/// Largest number of scalars in a pack.
const MAX_WIDTH: usize = 16;

/// The items at `first..` of a list, as many as fit into a pack; the last one fills the places beyond it.
#[inline(always)]
fn run_of<'a, T: Real, X: Copy>(from: &'a [X], first: usize, padded: &'a mut [X; MAX_WIDTH]) -> &'a [X] {
    const { assert!(T::WIDTH <= MAX_WIDTH) };
    if let Some(whole) = from.get(first..first + T::WIDTH) {
        return whole;
    }
    let last = from.len() - 1;
    padded.iter_mut().enumerate().for_each(|(i, x)| *x = from[(first + i).min(last)]);
    &padded[..T::WIDTH]
}

/// A pack of matrices at `first..` of a list.
#[inline(always)]
fn pack_matrices<T: Real>(from: &[[T; 9]], first: usize) -> Mat3<T::Pack> {
    let mut padded = [[T::zero(); 9]; MAX_WIDTH];
    let run = run_of::<T, _>(from, first, &mut padded);
    let [a, b, c, d, e, f, g, h] = T::gather(|i| &run[i].as_chunks().0[0]);
    let last = T::pack(|i| run[i][RECORD]);
    Mat3::from_cols(Vec3::new(a, b, c), Vec3::new(d, e, f), Vec3::new(g, h, last))
}

/// The matrices at `first..` of a list.
#[inline(always)]
fn load_matrices<T: Real>(from: &[[T; 9]], first: usize) -> Mat3<Pair<T>> {
    pack_matrices(from, first).zip(pack_matrices(from, first + T::WIDTH), RegisterPair)
}

/// A pack of vectors at `first..` of a list.
#[inline(always)]
fn pack_vectors<T: Real>(from: &[[T; 3]], first: usize) -> Vec3<T::Pack> {
    let mut padded = [[T::zero(); 3]; MAX_WIDTH];
    let run = run_of::<T, _>(from, first, &mut padded);
    T::pack_vectors(|i| {
        let [x, y, z] = run[i];
        Vec3 { x, y, z }
    })
}

/// The vectors at `first..` of a list.
#[inline(always)]
fn load_vectors<T: Real>(from: &[[T; 3]], first: usize) -> Vec3<Pair<T>> {
    pack_vectors(from, first).zip(pack_vectors(from, first + T::WIDTH), RegisterPair)
}

/// A pack of numbers at `first..` of a list.
#[inline(always)]
fn pack_numbers<T: Real>(from: &[T], first: usize) -> T::Pack {
    let mut padded = [T::zero(); MAX_WIDTH];
    let run = run_of::<T, _>(from, first, &mut padded);
    T::pack(|i| run[i])
}

/// The numbers at `first..` of a list.
#[inline(always)]
fn load_numbers<T: Real>(from: &[T], first: usize) -> Pair<T> {
    RegisterPair(pack_numbers(from, first), pack_numbers(from, first + T::WIDTH))
}

/// Two packs of records side by side. Unrolled: a loop would pass registers through memory.
#[inline(always)]
fn pairs<T: Real>(low: [T::Pack; RECORD], high: [T::Pack; RECORD]) -> [Pair<T>; RECORD] {
    let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]) = (low, high);
    let pair = RegisterPair;
    [pair(a, i), pair(b, j), pair(c, k), pair(d, l), pair(e, m), pair(f, n), pair(g, o), pair(h, p)]
}

/// Halves `h` of the records of particles `first..`.
#[inline(always)]
fn load_records<T: Real>(from: Sorted<'_, T>, first: usize, h: usize) -> [Pair<T>; RECORD] {
    let mut padded = [0; MAX_WIDTH];
    let low = run_of::<T, _>(from.places, first, &mut padded);
    let low = T::gather(|i| from.records[low[i] as usize].half(h));
    let high = run_of::<T, _>(from.places, first + T::WIDTH, &mut padded);
    pairs::<T>(low, T::gather(|i| from.records[high[i] as usize].half(h)))
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

/// Cotangents of the density and of each parameter of the material, a run each.
struct ParamRuns<'a, T>([&'a mut [T]; 1 + MAX_MATERIAL_PARAMS]);

impl<'a, T> ParamRuns<'a, T> {
    /// The runs of n numbers in the block of a group.
    fn new(block: &'a mut [T], n: usize) -> Self {
        let mut runs = block.chunks_exact_mut(n);
        ParamRuns(std::array::from_fn(|_| runs.next().unwrap_or_default()))
    }
}

impl<T: Send> Split for ParamRuns<'_, T> {
    fn split(self, particles: usize) -> (Self, Self) {
        let [density, a, b, c, d] = self.0.map(|run| run.split_at_mut(particles.min(run.len())));
        (ParamRuns([density.0, a.0, b.0, c.0, d.0]), ParamRuns([density.1, a.1, b.1, c.1, d.1]))
    }
}

/// Adds the cotangents of [`load_params`] to those of at most `count` particles from `first` on.
#[inline(always)]
fn add_params<T: Real, M: Flat<Pair<T>>>(
    bar: Params<Pair<T>, M>,
    runs: &mut ParamRuns<'_, T>,
    first: usize,
    count: usize,
) {
    let [density, material @ ..] = &mut runs.0;
    for_each_number::<T>(bar.density, count, |i, x| density[first + i] += x);
    let mut numbers = [RegisterPair::zero(); MAX_MATERIAL_PARAMS];
    bar.material.write(&mut numbers);
    for (number, run) in numbers[..M::LEN].iter().zip(material) {
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
    // Unrolled: a loop would pass registers through memory.
    let [a, b, c, d, e, f, g, h] = rows;
    let low = [a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0];
    let high = [a.1, b.1, c.1, d.1, e.1, f.1, g.1, h.1];
    T::scatter(&low, |i, record| {
        if i < count {
            visit(i, record);
        }
    });
    T::scatter(&high, |i, record| {
        if T::WIDTH + i < count {
            visit(T::WIDTH + i, record);
        }
    });
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

/// What a loop over the particles of a group reads, and whether it runs on several threads.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a, T> {
    /// Density, then each parameter of the material: a run with a number per particle each.
    pub params: &'a [T],
    /// The particles.
    pub at: View<'a, T>,
    /// Constants.
    pub scales: Scales,
    /// Whether to use the threads of the pool that it is called from.
    pub threads: bool,
}

/// What becomes of F′ and of the decomposition of F_trial.
trait Keep<T: Real>: Split {
    /// Takes those of a pair of packs, whose first particle is number `first` of this part.
    fn keep(&mut self, first: usize, f: Mat3<Pair<T>>, svd: PairSvd<T>);
}

/// Momenta of all particles of a group (m v and m, then the columns of A), and F′ into `next`.
pub fn stress<T: Real, M: ConstitutiveModel>(
    group: Group<'_, T>,
    next: &mut [[T; 9]],
    momenta: &mut [Record<T>],
) {
    update_group::<T, M, _>(group, Deformed(next), momenta);
}

/// F′ of all particles.
struct Deformed<'a, T>(&'a mut [[T; 9]]);

impl<T: Send> Split for Deformed<'_, T> {
    fn split(self, particles: usize) -> (Self, Self) {
        let (first, second) = self.0.split(particles);
        (Deformed(first), Deformed(second))
    }
}

impl<T: Real> Keep<T> for Deformed<'_, T> {
    #[inline(always)]
    fn keep(&mut self, first: usize, f: Mat3<Pair<T>>, _: PairSvd<T>) {
        let next = &mut self.0[first..];
        let count = next.len();
        for_each_record::<T>(first_eight(&f), count, |i, r| next[i][..RECORD].copy_from_slice(&r));
        for_each_number::<T>(f.c2.z, count, |i, x| next[i][RECORD] = x);
    }
}

/// Momenta of all particles of a group, and the decompositions of their trial deformations into `svds`, as
/// many as fit.
pub fn stress_storing_svd<T: Real, M: ConstitutiveModel>(
    group: Group<'_, T>,
    svds: &mut [PairSvd<T>],
    momenta: &mut [Record<T>],
) {
    update_group::<T, M, _>(group, Decomposed(svds), momenta);
}

/// The decompositions of the first pairs of packs.
struct Decomposed<'a, T: Real>(&'a mut [PairSvd<T>]);

impl<T: Real> Split for Decomposed<'_, T> {
    fn split(self, particles: usize) -> (Self, Self) {
        let stored = pack_pairs::<T>(particles).min(self.0.len());
        let (first, second) = self.0.split(stored);
        (Decomposed(first), Decomposed(second))
    }
}

impl<T: Real> Keep<T> for Decomposed<'_, T> {
    #[inline(always)]
    fn keep(&mut self, first: usize, _: Mat3<Pair<T>>, svd: PairSvd<T>) {
        if let Some(stored) = self.0.get_mut(first / (2 * T::WIDTH)) {
            *stored = svd;
        }
    }
}

/// Momenta of all particles of a group.
fn update_group<T: Real, M: ConstitutiveModel, K: Keep<T>>(
    Group { params, at, scales, threads }: Group<'_, T>,
    keep: K,
    momenta: &mut [Record<T>],
) {
    let n = at.f.len();
    in_parts(threads, 0..n, (keep, momenta), &|particles, (mut keep, momenta)| {
        for first in particles.clone().step_by(2 * T::WIDTH) {
            let params = load_params::<T, M::Params<Pair<T>>>(params, n, first);
            let (f, svd, out) = update::<_, M>(&load_particles(&at, first), params, scales);
            let first = first - particles.start;
            let (count, momenta) = (particles.len() - first, &mut momenta[first..]);
            let (p, a, zero) = (out.linear, out.affine, RegisterPair::zero());
            let value = [p.x, p.y, p.z, out.mass, a.c0.x, a.c0.y, a.c0.z, zero];
            for_each_record::<T>(value, count, |i, record| *momenta[i].half_mut(0) = record);
            let columns = [a.c1.x, a.c1.y, a.c1.z, zero, a.c2.x, a.c2.y, a.c2.z, zero];
            for_each_record::<T>(columns, count, |i, record| *momenta[i].half_mut(1) = record);
            keep.keep(first, f, svd);
        }
    });
}

/// The pullback of [`stress`] with the decompositions of [`stress_storing_svd`]; those that are not there are
/// computed. *Adds* to the cotangents of parameters, v, C and F. Cotangents of positions that were found on the
/// way are in the spare places of `momentum_bars`, and added to those.
pub fn stress_vjp<T: Real, M: ConstitutiveModel>(
    Group { params, at, scales, threads }: Group<'_, T>,
    svds: &[PairSvd<T>],
    next_bar: &[[T; 9]],
    momentum_bars: Sorted<'_, T>,
    params_bar: &mut [T],
    bar: ViewMut<'_, T>,
) {
    let n = at.f.len();
    let svd = |first: usize, trial: Mat3<Pair<T>>| {
        svds.get(first / (2 * T::WIDTH)).copied().unwrap_or_else(|| M::decompose(trial))
    };
    let out = (ParamRuns::new(params_bar, n), bar);
    in_parts(threads, 0..n, out, &|particles, (mut params_bar, bar)| {
        for first in particles.clone().step_by(2 * T::WIDTH) {
            let params = load_params::<T, M::Params<Pair<T>>>(params, n, first);
            let [px, py, pz, mass, ax, ay, az, x_bar] = load_records(momentum_bars, first, 0);
            let [bx, by, bz, y_bar, cx, cy, cz, z_bar] = load_records(momentum_bars, first, 1);
            let affine = Mat3::from_cols(Vec3::new(ax, ay, az), Vec3::new(bx, by, bz), Vec3::new(cx, cy, cz));
            let (b, pair_params_bar) = update_vjp::<_, M>(
                &load_particles(&at, first),
                |trial| svd(first, trial),
                params,
                scales,
                load_matrices(next_bar, first),
                Momentum { linear: Vec3::new(px, py, pz), mass, affine },
            );
            let first = first - particles.start;
            let count = particles.len() - first;
            for_each_record::<T>(first_eight(&b.c), count, |i, r| add(&mut bar.c[first + i][..RECORD], &r));
            for_each_record::<T>(first_eight(&b.f), count, |i, r| add(&mut bar.f[first + i][..RECORD], &r));
            let rest = [b.v.x, b.v.y, b.v.z, b.c.c2.z, b.f.c2.z, x_bar, y_bar, z_bar];
            for_each_record::<T>(rest, count, |i, [vx, vy, vz, c, f, x, y, z]| {
                add(&mut bar.x[first + i], &[x, y, z]);
                add(&mut bar.v[first + i], &[vx, vy, vz]);
                bar.c[first + i][RECORD] += c;
                bar.f[first + i][RECORD] += f;
            });
            add_params(pair_params_bar, &mut params_bar, first, count);
        }
    });
}

/// Adds numbers to others.
#[inline(always)]
fn add<T: Real>(to: &mut [T], x: &[T]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += *x);
}
