//! [`Element`]: a force between a few particles; [`Elements`]: thousands of one kind, evaluated in registers.
//!
//! Each element reads the positions and velocities of its N corners, P parameters that carry gradients and R
//! constants of its rest shape. [`Elements::add_forces`] gathers `T::WIDTH` elements at a time into packs,
//! evaluates them, and then every particle collects the forces of the elements it belongs to, in a fixed
//! order. So the sum has the same bits for any number of threads. The pullback does the same with cotangents:
//! it gathers those of the forces and collects those of positions and velocities.
//!
//! Newton's law divides by the mass, so its cotangent wants f·f̄ of every particle; elements hand that out on
//! the way back (`work`) and no second forward pass is needed.

use pullback_core::Workspace;
use pullback_math::{Packing, RECORD, Real, Vec3};
use rayon::prelude::*;

/// A vector at each corner of a pack of elements.
type Corners<T, const N: usize> = [Vec3<<T as Packing>::Pack>; N];

/// How many of `count` items a task of a parallel loop gets: eight tasks to a thread, so that one that wakes
/// late still finds work.
fn items_per_task(count: usize) -> usize {
    count.div_ceil(8 * rayon::current_num_threads()).max(1)
}

/// Cotangents of one element, and the work f·f̄ at each corner.
#[derive(Clone, Copy, Debug)]
pub struct ElementBars<T, const N: usize, const P: usize> {
    /// Of the positions.
    pub x: [Vec3<T>; N],
    /// Of the velocities.
    pub v: [Vec3<T>; N],
    /// Of the parameters.
    pub params: [T; P],
    /// f·f̄ at each corner.
    pub work: [T; N],
}

/// A kind of element with N corners, P parameters and R constants of the rest shape.
pub trait Element<const N: usize, const P: usize, const R: usize>: Copy + Send + Sync {
    /// Energy stored, J; at v = 0 the forces are its negative gradient.
    fn energy<T: Real>(rest: [T; R], params: [T; P], x: [Vec3<T>; N]) -> T;

    /// Force on each corner, N.
    fn forces<T: Real>(rest: [T; R], params: [T; P], x: [Vec3<T>; N], v: [Vec3<T>; N]) -> [Vec3<T>; N];

    /// The pullback of [`Element::forces`].
    fn forces_vjp<T: Real>(
        rest: [T; R],
        params: [T; P],
        x: [Vec3<T>; N],
        v: [Vec3<T>; N],
        f_bar: [Vec3<T>; N],
    ) -> ElementBars<T, N, P>;
}

/// The work f·f̄ of every corner.
#[inline(always)]
pub fn work<T: Real, const N: usize>(f: [Vec3<T>; N], f_bar: [Vec3<T>; N]) -> [T; N] {
    std::array::from_fn(|c| f[c].dot(f_bar[c]))
}

/// Many elements of one kind.
#[derive(Clone, Debug)]
pub struct Elements<const N: usize, const P: usize, const R: usize> {
    /// Number of elements.
    len: usize,
    /// Corners; the last element is repeated up to a whole number of the widest packs.
    corners: Vec<[u32; N]>,
    rest: Vec<[f64; R]>,
    /// Where the parameters start: P runs of one entry per element.
    params: usize,
    /// Which parameter controls add to.
    driven: usize,
    /// The control of each element, [`NOT_DRIVEN`] for none; empty if none is driven.
    controls: Vec<u32>,
    incidence: Incidence,
}

/// An element that no control drives.
pub(crate) const NOT_DRIVEN: u32 = u32::MAX;

/// The elements each particle belongs to.
#[derive(Clone, Debug, Default)]
struct Incidence {
    /// Particle i has `slots[start[i]..start[i + 1]]`.
    start: Vec<u32>,
    /// Element (upper bits) and corner (lower two bits).
    slots: Vec<u32>,
}

impl Incidence {
    fn new<const N: usize>(corners: &[[u32; N]], particles: usize) -> Self {
        let mut start = vec![0u32; particles + 1];
        for c in corners.iter().flatten() {
            start[*c as usize + 1] += 1;
        }
        for i in 0..particles {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut slots = vec![0; corners.len() * N];
        for (e, corners) in corners.iter().enumerate() {
            for (c, i) in corners.iter().enumerate() {
                slots[next[*i as usize] as usize] = (e as u32) << 2 | c as u32;
                next[*i as usize] += 1;
            }
        }
        Incidence { start, slots }
    }

    /// Hands (element, corner) of particle `i` to `visit`.
    #[inline(always)]
    fn of(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let slots = &self.slots[self.start[i] as usize..self.start[i + 1] as usize];
        slots.iter().map(|s| ((s >> 2) as usize, (s & 3) as usize))
    }
}

/// Scratch of [`Elements`] on scalars `T`.
#[derive(Clone, Debug, Workspace)]
pub struct ElementScratch<T: Real, const N: usize, const P: usize, const R: usize> {
    rest: Vec<[T::Pack; R]>,
    /// Forces on corners: for every element, a record per two corners.
    forces: Vec<[T; RECORD]>,
    /// Cotangents at corners: for every element, a record (x̄, f·f̄, v̄, –) per corner.
    bars: Vec<[T; RECORD]>,
    /// Cotangents of parameters.
    param_bars: Vec<[T::Pack; P]>,
}

/// What elements read.
#[derive(Clone, Copy, Debug)]
pub struct Particles<'a, T> {
    /// All parameters of the system.
    pub params: &'a [T],
    /// All controls of the system.
    pub control: &'a [T],
    /// Positions, m.
    pub x: &'a [[T; 3]],
    /// Velocities, m/s.
    pub v: &'a [[T; 3]],
    /// Both side by side, as [`record`] makes them.
    pub records: &'a [[T; RECORD]],
    /// Velocity that those of the particles are measured against, m/s; none for zero.
    pub wind: Option<Vec3<T>>,
    /// Whether to use all threads of the pool that calls.
    pub parallel: bool,
}

/// Two vectors side by side, each with a fourth number that nobody reads.
#[inline(always)]
pub fn record<T: Real>([a, b, c]: [T; 3], [d, e, f]: [T; 3]) -> [T; RECORD] {
    let o = T::zero();
    [a, b, c, o, d, e, f, o]
}

/// Cotangents that the pullback of elements adds to.
#[derive(Debug)]
pub struct ParticleBars<'a, T> {
    /// Of all parameters.
    pub params: &'a mut [T],
    /// Of all controls.
    pub control: &'a mut [T],
    /// Of the positions.
    pub x: &'a mut [[T; 3]],
    /// Of the velocities.
    pub v: &'a mut [[T; 3]],
    /// f·f̄ of each particle.
    pub work: &'a mut [T],
    /// Of the wind.
    pub wind: &'a mut Vec3<T>,
}

impl<const N: usize, const P: usize, const R: usize> Elements<N, P, R> {
    /// Elements with the corners and rest shapes given among `particles` particles; parameters start at
    /// `params`.
    pub fn new(corners: &[[usize; N]], rest: Vec<[f64; R]>, particles: usize, params: usize) -> Self {
        let len = corners.len();
        let mut corners: Vec<[u32; N]> = corners.iter().map(|c| c.map(|i| i as u32)).collect();
        let incidence = Incidence::new(&corners, particles);
        if let Some(last) = corners.last().copied() {
            corners.resize(len.next_multiple_of(f32::WIDTH), last);
        }
        Elements { len, corners, rest, params, driven: 0, controls: Vec::new(), incidence }
    }

    /// Lets controls add to parameter `driven` of elements; `controls` has one entry per element.
    pub(crate) fn driven_by(mut self, driven: usize, controls: Vec<u32>) -> Self {
        if controls.iter().any(|c| *c != NOT_DRIVEN) {
            (self.driven, self.controls) = (driven, controls);
        }
        self
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Allocates the scratch.
    pub fn scratch<T: Real>(&self) -> ElementScratch<T, N, P, R> {
        let packs = self.len.div_ceil(T::WIDTH);
        let rest = |pack: usize| {
            std::array::from_fn(|r| {
                T::pack(|i| T::lit(self.rest[(pack * T::WIDTH + i).min(self.len - 1)][r]))
            })
        };
        let places = packs * T::WIDTH;
        ElementScratch {
            rest: (0..packs).map(rest).collect(),
            forces: vec![[T::zero(); RECORD]; places * N.div_ceil(2)],
            bars: vec![[T::zero(); RECORD]; places * N],
            param_bars: vec![[T::Pack::zero(); P]; packs],
        }
    }

    /// Energy stored in all elements, J.
    pub fn energy<T: Real, E: Element<N, P, R>>(&self, at: &Particles<T>) -> T {
        let mut sum = T::zero();
        for e in 0..self.len {
            let x = self.corners[e]
                .map(|c| Vec3::new(at.x[c as usize][0], at.x[c as usize][1], at.x[c as usize][2]));
            let mut params = std::array::from_fn(|p| at.params[self.params + p * self.len + e]);
            match self.controls.get(e) {
                Some(c) if *c != NOT_DRIVEN => params[self.driven] += at.control[*c as usize],
                _ => {}
            }
            sum += E::energy(self.rest[e].map(T::lit), params, x);
        }
        sum
    }

    /// Adds the forces of all elements to those of the particles.
    pub fn add_forces<T: Real, E: Element<N, P, R>>(
        &self,
        scratch: &mut ElementScratch<T, N, P, R>,
        at: &Particles<T>,
        force: &mut [[T; 3]],
    ) {
        if self.is_empty() {
            return;
        }
        let (rest, pairs) = (&scratch.rest, N.div_ceil(2));
        for_each_chunk(at.parallel, &mut scratch.forces, pairs * T::WIDTH, |pack, out| {
            let (x, v) = self.gather(pack, at);
            let f = E::forces(rest[pack], self.gather_params(pack, at), x, v);
            for pair in 0..pairs {
                let (a, b) = (f[2 * pair], f[(2 * pair + 1).min(N - 1)]);
                let o = T::Pack::zero();
                T::scatter(&[a.x, a.y, a.z, o, b.x, b.y, b.z, o], |i, record| out[i * pairs + pair] = record);
            }
        });
        let forces = &scratch.forces;
        for_each(at.parallel, force, |i, force| {
            let [x, y, z] = *force;
            let mut sum = [x, y, z, T::zero()];
            for (e, c) in self.incidence.of(i) {
                let record = &forces[e * pairs + c / 2];
                let half = if c & 1 == 0 { &record[..4] } else { &record[4..] };
                for (sum, f) in sum.iter_mut().zip(half) {
                    *sum += *f;
                }
            }
            *force = [sum[0], sum[1], sum[2]];
        });
    }

    /// The pullback of [`Elements::add_forces`]: *adds* to all cotangents.
    pub fn add_forces_vjp<T: Real, E: Element<N, P, R>>(
        &self,
        scratch: &mut ElementScratch<T, N, P, R>,
        at: &Particles<T>,
        force_bar: &[[T; 3]],
        bars: &mut ParticleBars<T>,
    ) {
        if self.is_empty() {
            return;
        }
        let ElementScratch { rest, bars: out, param_bars, .. } = scratch;
        for_each_chunk2(at.parallel, (out, N * T::WIDTH), (param_bars, 1), |pack, out, param_bars| {
            let (x, v) = self.gather(pack, at);
            let f_bar = self.gather_vectors::<T>(pack, force_bar);
            let bars = E::forces_vjp(rest[pack], self.gather_params(pack, at), x, v, f_bar);
            param_bars[0] = bars.params;
            for c in 0..N {
                let (x, v, work) = (bars.x[c], bars.v[c], bars.work[c]);
                let rows = [x.x, x.y, x.z, work, v.x, v.y, v.z, T::Pack::zero()];
                T::scatter(&rows, |i, record| out[i * N + c] = record);
            }
        });

        // Every particle collects from its elements.
        let (records, packs) = (&scratch.bars, &scratch.param_bars);
        let ParticleBars { x, v, work, wind, params, control } = bars;
        let collect = |i: usize, x_bar: &mut [T; 3], v_bar: &mut [T; 3], work: &mut T| {
            let [a, b, c, w, d, e, f, _] =
                T::sum_records(self.incidence.of(i).map(|(e, c)| &records[e * N + c]));
            add(x_bar, Vec3::new(a, b, c));
            add(v_bar, Vec3::new(d, e, f));
            *work += w;
        };
        if at.parallel {
            let grain = items_per_task(x.len());
            x.par_chunks_mut(grain)
                .zip(v.par_chunks_mut(grain))
                .zip(work.par_chunks_mut(grain))
                .enumerate()
                .for_each(|(task, ((x, v), work))| {
                    for (k, ((x, v), work)) in x.iter_mut().zip(v).zip(work).enumerate() {
                        collect(task * grain + k, x, v, work);
                    }
                });
        } else {
            let each = x.iter_mut().zip(v.iter_mut()).zip(work.iter_mut());
            for (i, ((x, v), work)) in each.enumerate() {
                collect(i, x, v, work);
            }
        }

        // v is measured against the wind.
        if at.wind.is_some() {
            for record in &records[..self.len * N] {
                **wind -= Vec3::new(record[4], record[5], record[6]);
            }
        }
        self.scatter_params(packs, params, control);
    }

    /// Cotangents of parameters go to their elements, those of driven ones to their controls as well.
    fn scatter_params<T: Real>(&self, packs: &[[T::Pack; P]], params: &mut [T], control: &mut [T]) {
        for p in 0..P {
            let run = &mut params[self.params + p * self.len..][..self.len];
            for (run, bars) in run.chunks_mut(T::WIDTH).zip(packs) {
                for (i, bar) in run.iter_mut().enumerate() {
                    *bar += T::unpack(&bars[p], i);
                }
            }
        }
        for (e, c) in self.controls.iter().enumerate() {
            if *c != NOT_DRIVEN {
                control[*c as usize] += T::unpack(&packs[e / T::WIDTH][self.driven], e % T::WIDTH);
            }
        }
    }

    #[inline(always)]
    fn gather<T: Real>(&self, pack: usize, at: &Particles<T>) -> (Corners<T, N>, Corners<T, N>) {
        let corners = &self.corners[pack * T::WIDTH..][..T::WIDTH];
        let (mut xs, mut vs) = ([Vec3::zero(); N], [Vec3::zero(); N]);
        for c in 0..N {
            let [a, b, e, _, d, f, g, _] = T::gather(|i| &at.records[corners[i][c] as usize]);
            (xs[c], vs[c]) = (Vec3 { x: a, y: b, z: e }, Vec3 { x: d, y: f, z: g });
        }
        if let Some(wind) = at.wind {
            let wind = wind.map(T::fill);
            vs.iter_mut().for_each(|v| *v -= wind);
        }
        (xs, vs)
    }

    #[inline(always)]
    fn gather_vectors<T: Real>(&self, pack: usize, from: &[[T; 3]]) -> Corners<T, N> {
        let corners = &self.corners[pack * T::WIDTH..][..T::WIDTH];
        let mut gathered = [Vec3::zero(); N];
        for (c, gathered) in gathered.iter_mut().enumerate() {
            *gathered = T::pack_vectors(|i| {
                let [x, y, z] = from[corners[i][c] as usize];
                Vec3 { x, y, z }
            });
        }
        gathered
    }

    #[inline(always)]
    fn gather_params<T: Real>(&self, pack: usize, at: &Particles<T>) -> [T::Pack; P] {
        let first = pack * T::WIDTH;
        let mut params = [T::Pack::zero(); P];
        for (p, param) in params.iter_mut().enumerate() {
            let run = &at.params[self.params + p * self.len..][..self.len];
            *param = match run.get(first..first + T::WIDTH) {
                Some(whole) => T::pack(|i| whole[i]),
                None => T::pack(|i| run[(first + i).min(self.len - 1)]),
            };
        }
        if !self.controls.is_empty() {
            params[self.driven] += T::pack(|i| {
                let c = self.controls[(first + i).min(self.len - 1)];
                if c == NOT_DRIVEN { T::zero() } else { at.control[c as usize] }
            });
        }
        params
    }
}

#[inline(always)]
fn add<T: Real>(to: &mut [T; 3], x: Vec3<T>) {
    to[0] += x.x;
    to[1] += x.y;
    to[2] += x.z;
}

/// Visits chunks of `size` items with their index.
#[inline(always)]
fn for_each_chunk<X: Send>(
    parallel: bool,
    items: &mut [X],
    size: usize,
    visit: impl Fn(usize, &mut [X]) + Sync,
) {
    if parallel {
        let each = items_per_task(items.len() / size);
        items.par_chunks_mut(each * size).enumerate().for_each(|(task, items)| {
            for (k, chunk) in items.chunks_mut(size).enumerate() {
                visit(task * each + k, chunk);
            }
        });
    } else {
        for (i, chunk) in items.chunks_mut(size).enumerate() {
            visit(i, chunk);
        }
    }
}

/// The same over two lists side by side.
#[inline(always)]
fn for_each_chunk2<X: Send, Y: Send>(
    parallel: bool,
    (xs, xsize): (&mut [X], usize),
    (ys, ysize): (&mut [Y], usize),
    visit: impl Fn(usize, &mut [X], &mut [Y]) + Sync,
) {
    if parallel {
        let each = items_per_task(xs.len() / xsize);
        let tasks = xs.par_chunks_mut(each * xsize).zip(ys.par_chunks_mut(each * ysize)).enumerate();
        tasks.for_each(|(task, (xs, ys))| {
            for (k, (x, y)) in xs.chunks_mut(xsize).zip(ys.chunks_mut(ysize)).enumerate() {
                visit(task * each + k, x, y);
            }
        });
    } else {
        for (i, (x, y)) in xs.chunks_mut(xsize).zip(ys.chunks_mut(ysize)).enumerate() {
            visit(i, x, y);
        }
    }
}

/// Visits every item with its index.
#[inline(always)]
fn for_each<X: Send>(parallel: bool, items: &mut [X], visit: impl Fn(usize, &mut X) + Sync) {
    for_each_chunk(parallel, items, 1, |i, item| visit(i, &mut item[0]));
}
