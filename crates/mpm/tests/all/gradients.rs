//! Exact gradients of the material point method: every stage by itself, then substeps, frames and rollouts
//! that `mpm.rs` does not have: the plane, five frames of every material, several materials at once.

use pullback_articulated::Shape;
use pullback_core::gradcheck::{Differentiable, Options, Report, gradcheck};
use pullback_core::random::Random;
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout_along, check_step};
use pullback_core::{Bars, Inputs, Point, Rollout, Schedule, System, check_vjp};
use pullback_math::{Dual, Flat, Mat3, Motion, RECORD, Scalar, Vec3};
use pullback_mpm::grid::{
    Floor, apply_walls, apply_walls_vjp, collide_node, collide_node_vjp, deflect, deflect_vjp, velocity,
    velocity_vjp,
};
use pullback_mpm::material::{
    ConstitutiveModel, FixedCorotated, Fluid, NeoHookean, Plasticine, Sand, VonMises,
};
use pullback_mpm::particles::random_box;
use pullback_mpm::record::Record;
use pullback_mpm::stencil::{Kernel, Rows, Weights, gather, gather_value, position_bar, scatter};
use pullback_mpm::stress::{Group, Scales, Sorted, pack_pairs, stress, stress_storing_svd, stress_vjp};
use pullback_mpm::view::{View, ViewMut};
use pullback_mpm::{Elastic, Elastoplastic, Granular, Grid, Material, Mpm, ParticleGroup, Particles};

use crate::common::{MATERIALS, shaken, sliding, v3};

fn exact() -> Options {
    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-5, ..Options::default() }
}

/// A map of flat vectors that runs on any scalar, with its pullback.
trait Stage {
    fn names(&self) -> Vec<String>;
    fn outputs(&self) -> usize;
    fn run<T: Scalar>(&self, x: &[T], y: &mut [T]);
    fn back(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]);
}

struct Map<S>(S);

impl<S: Stage> Differentiable for Map<S> {
    fn input_names(&self) -> Vec<String> {
        self.0.names()
    }
    fn outputs(&self) -> usize {
        self.0.outputs()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.0.run(x, y);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<_> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        let mut out = vec![Dual::default(); y.len()];
        self.0.run(&x, &mut out);
        for (i, out) in out.iter().enumerate() {
            (y[i], y_dot[i]) = (out.value, out.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        self.0.back(x, y_bar, x_bar);
        Ok(())
    }
}

fn named(groups: &[(&str, usize)]) -> Vec<String> {
    groups.iter().flat_map(|(name, n)| (0..*n).map(move |i| format!("{name}[{i}]"))).collect()
}

fn quads<T: Scalar>(x: &[T]) -> Vec<T::Quad> {
    x.chunks(4).map(|q| T::quad([q[0], q[1], q[2], q[3]])).collect()
}

/// Value and columns side by side.
fn affine<T: Scalar>(x: &[T]) -> T::Row {
    T::row_of(&x.as_chunks().0[0])
}

fn add<T: Scalar>(to: &mut [T], from: impl IntoIterator<Item = T::Quad>) {
    for (to, q) in to.chunks_mut(4).zip(from) {
        to.iter_mut().zip(T::entries(q)).for_each(|(to, x)| *to += x);
    }
}

const H: f64 = 0.1;

/// Nodes of a cell.
const CELL: usize = 36;

/// Weights of a particle, the last of a few; where its nodes are does not matter to the functions under test.
fn splines<T: Scalar>(x: &[T], flat: bool) -> (Kernel<T>, Weights<T>) {
    let (kernel, x, mut weights) = (Kernel::<T>::new(H, flat), [x[0], x[1], x[2]], Weights::new());
    let u = kernel.relative(x, kernel.base(x));
    weights.u.iter_mut().zip(u).for_each(|(to, u)| to[LAST] = u);
    weights.find(&kernel, LAST + 1);
    (kernel, weights)
}

const LAST: usize = 17;

/// The cotangent of the position.
fn position<T: Scalar>(row: T::Row) -> [T; 3] {
    let numbers = T::numbers(row);
    [numbers[7], numbers[11], numbers[15]]
}

fn rows<T: Scalar>(x: &[T]) -> Rows<T> {
    let quads = quads(x);
    std::array::from_fn(|i| std::array::from_fn(|j| T::row(&quads[4 * (3 * i + j)..][..4].as_chunks().0[0])))
}

fn add_rows<T: Scalar>(to: &mut [T], from: &Rows<T>) {
    add(to, from.iter().flatten().flat_map(|row| T::quads(*row)));
}

/// What the nodes of a cell hold after one particle: from its place, value and gradient.
struct Scattered {
    flat: bool,
}

impl Stage for Scattered {
    fn names(&self) -> Vec<String> {
        named(&[("x", 3), ("value", 4), ("columns", 12)])
    }
    fn outputs(&self) -> usize {
        4 * CELL
    }
    fn run<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        y.fill(T::zero());
        let mut nodes = rows(y);
        let (kernel, weights) = splines(x, self.flat);
        scatter::<T>(&mut nodes, &kernel.around(&weights, LAST), affine(&x[3..]));
        add_rows(y, &nodes);
    }
    fn back(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (nodes, (kernel, weights)) = (rows(y_bar), splines(x, self.flat));
        let at = kernel.around(&weights, LAST);
        let sum = gather::<f64>(&nodes, &at);
        let place = position_bar::<f64>(&nodes, &kernel, &at, affine(&x[3..]), f64::quads(sum)[0]);
        position::<f64>(place).iter().zip(&mut x_bar[..3]).for_each(|(b, to)| *to += b);
        add(&mut x_bar[3..], f64::quads(sum));
    }
}

/// What a particle gathers from the nodes of a cell.
struct Gathered {
    flat: bool,
}

impl Stage for Gathered {
    fn names(&self) -> Vec<String> {
        named(&[("x", 3), ("nodes", 4 * CELL)])
    }
    fn outputs(&self) -> usize {
        16
    }
    fn run<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (kernel, weights) = splines(x, self.flat);
        let sum = gather::<T>(&rows(&x[3..]), &kernel.around(&weights, LAST));
        y.fill(T::zero());
        add(y, T::quads(sum));
    }
    fn back(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (nodes, (kernel, weights)) = (rows(&x[3..]), splines(x, self.flat));
        let (at, what) = (kernel.around(&weights, LAST), affine(y_bar));
        let place = position_bar::<f64>(&nodes, &kernel, &at, what, gather_value::<f64>(&nodes, &at));
        position::<f64>(place).iter().zip(&mut x_bar[..3]).for_each(|(b, to)| *to += b);
        let mut nodes_bar = rows(&[0.0; 4 * CELL]);
        scatter::<f64>(&mut nodes_bar, &at, what);
        add_rows(&mut x_bar[3..], &nodes_bar);
    }
}

#[test]
fn scatter_and_gather_have_exact_pullbacks() {
    let mut random = Random::new(1);
    for flat in [false, true] {
        for _ in 0..4 {
            let mut point = |n: usize| -> Vec<f64> {
                let place = (0..3).map(|_| random.uniform(0.1, 0.9)).collect::<Vec<_>>();
                place.into_iter().chain((0..n).map(|_| random.normal())).collect()
            };
            gradcheck(&Map(Scattered { flat }), &point(16), &exact()).assert_passed();
            gradcheck(&Map(Gathered { flat }), &point(4 * CELL), &exact()).assert_passed();
        }
    }
}

#[test]
fn stages_on_the_nodes_have_exact_pullbacks() {
    let mut random = Random::new(2);
    for _ in 0..20 {
        let mut some = |n: usize| -> Vec<f64> { (0..n).map(|_| random.normal()).collect() };
        let mut at = some(7);
        at[3] = at[3].abs() + 0.1;
        check_vjp!(
            |p: Vec3<T>, m: T, gravity_dt: Vec3<T>| -> Vec3<T> { velocity(p, m, gravity_dt) },
            |bar| velocity_vjp(p, m, gravity_dt, bar),
            at at, exact()
        )
        .assert_passed();
        // Pressed on, and friction that does not hold it fast.
        let n = v3(0.48, 0.6, 0.64);
        let u = v3(1.0, -2.0, 0.3) + Vec3::<f64>::read(&some(3)) * 0.2;
        check_vjp!(
            |u: Vec3<T>, n: Vec3<T>, friction: T| -> Vec3<T> { deflect(u, n, friction) },
            |bar| deflect_vjp(u, n, friction, bar),
            at [u.x, u.y, u.z, n.x, n.y, n.z, 0.5], exact()
        )
        .assert_passed();
        let body = some(6);
        let v = v3(body[3], body[4], body[5]) + u * 3.0;
        let inputs = [vec![v.x, v.y, v.z, 0.03, n.x, n.y, n.z], body, vec![0.5, 0.8]].concat();
        check_vjp!(
            |v: Vec3<T>, distance: T, normal: Vec3<T>, motion: Motion<T>, friction: T, impulse_fraction: T| -> Vec3<T> {
                let (arm, softness) = (Vec3::new(T::lit(0.2), T::lit(-0.1), T::lit(0.3)), T::lit(20.0));
                collide_node(v, distance, normal, motion, friction, impulse_fraction, arm, softness)
            },
            |bar| {
                let (arm, softness) = (Vec3::new(T::lit(0.2), T::lit(-0.1), T::lit(0.3)), T::lit(20.0));
                let (v, d, n, b, f, s, (), ()) =
                    collide_node_vjp(v, distance, normal, motion, friction, impulse_fraction, arm, softness, bar);
                (v, d, n, b, f, s)
            },
            at inputs, exact()
        )
        .assert_passed();
        check_vjp!(
            |v: Vec3<T>, friction: T| -> Vec3<T> {
                let (low, high) = (Vec3::new(T::one(), T::zero(), T::one()), Vec3::zero());
                apply_walls(v, friction, low, high, false)
            },
            |bar| {
                let (low, high) = (Vec3::new(T::one(), T::zero(), T::one()), Vec3::zero());
                let (v, f, (), (), ()) = apply_walls_vjp(v, friction, low, high, false, bar);
                (v, f)
            },
            at [u.x.abs(), u.y, -u.z.abs() - 0.1, 0.3], exact()
        )
        .assert_passed();
        check_vjp!(
            |v: Vec3<T>, friction: T| -> Vec3<T> {
                let (low, high) = (Vec3::new(T::one(), T::zero(), T::one()), Vec3::new(T::zero(), T::one(), T::zero()));
                apply_walls(v, friction, low, high, true)
            },
            |bar| {
                let (low, high) = (Vec3::new(T::one(), T::zero(), T::one()), Vec3::new(T::zero(), T::one(), T::zero()));
                let (v, f, (), (), ()) = apply_walls_vjp(v, friction, low, high, true, bar);
                (v, f)
            },
            at [u.x, u.y, u.z.abs() + 0.1, 0.3], exact()
        )
        .assert_passed();
    }
}

/// F′ and momenta of three particles, from density, parameters, v, C and F.
struct Stressed<M>(std::marker::PhantomData<M>);

const SCALES: Scales = Scales { dt: 1e-2, volume: 0.3, stress: 0.02 };

/// Numbers of the momentum of a particle.
const MOMENTUM: usize = 2 * RECORD;

fn flat<X: Flat<f64>>(x: X) -> Vec<f64> {
    let mut entries = vec![0.0; X::LEN];
    x.write(&mut entries);
    entries
}

fn view<T>(x: &[T]) -> View<'_, T> {
    let (v, rest) = x.split_at(9);
    let (c, f) = rest.split_at(27);
    View { q: &[], u: &[], x: &[], v: v.as_chunks().0, c: c.as_chunks().0, f: f.as_chunks().0 }
}

fn group<'a, T>(params: &'a [T], at: View<'a, T>) -> Group<'a, T> {
    Group { params, at, scales: SCALES, threads: false }
}

fn momenta<T: Scalar>(x: &[T]) -> Vec<Record<T>> {
    x.as_chunks().0.iter().map(|h| Record(*h)).collect()
}

/// The momenta in another order: the last one first, with no cotangent of a position.
fn reversed(momenta: &[Record<f64>]) -> (Vec<Record<f64>>, Vec<u32>) {
    let mut momenta: Vec<_> = momenta.iter().rev().copied().collect();
    momenta.iter_mut().for_each(|m| [7, 11, 15].iter().for_each(|i| m.0[*i] = 0.0));
    let places = (0..momenta.len() as u32).rev().collect();
    (momenta, places)
}

impl<M: ConstitutiveModel> Stage for Stressed<M> {
    fn names(&self) -> Vec<String> {
        named(&[("density", 3), ("params", 3 * M::Params::<f64>::LEN), ("v", 9), ("c", 27), ("f", 27)])
    }
    fn outputs(&self) -> usize {
        27 + 3 * MOMENTUM
    }
    fn run<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (params, particles) = x.split_at(3 + 3 * M::Params::<f64>::LEN);
        let (next, out) = y.split_at_mut(27);
        let mut given = momenta(out);
        stress::<T, M>(group(params, view(particles)), next.as_chunks_mut().0, &mut given);
        out.iter_mut().zip(given.iter().flat_map(|m| m.0)).for_each(|(to, x)| *to = x);
    }
    fn back(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (params, particles) = x.split_at(3 + 3 * M::Params::<f64>::LEN);
        let (params_bar, rest) = x_bar.split_at_mut(3 + 3 * M::Params::<f64>::LEN);
        let (v, rest) = rest.split_at_mut(9);
        let (c, f) = rest.split_at_mut(27);
        let (v, c, f) = (v.as_chunks_mut().0, c.as_chunks_mut().0, f.as_chunks_mut().0);
        let bar = ViewMut { q: &mut [], u: &mut [], x: &mut [[0.0; 3]; 3], v, c, f };
        let (next_bar, out_bar) = y_bar.split_at(27);
        let (next_bar, (records, places)) = (next_bar.as_chunks().0, reversed(&momenta(out_bar)));
        let out_bar = Sorted { records: &records, places: &places };
        let group = group(params, view(particles));
        stress_vjp::<f64, M>(group, &[], next_bar, out_bar, params_bar, bar);
    }
}

#[test]
fn flow_and_stress_have_exact_pullbacks() {
    fn check<M: ConstitutiveModel>(params: M::Params<f64>) {
        let mut random = Random::new(3);
        for _ in 0..5 {
            let mut x: Vec<f64> = (0..3).map(|_| random.uniform(0.5, 1.5)).collect();
            for p in flat(params) {
                x.extend((0..3).map(|_| p * random.uniform(0.9, 1.1)));
            }
            x.extend((0..9 + 27).map(|_| random.normal()));
            for i in 0..3 {
                // The third has three equal singular values, but for C.
                let f = Mat3::<f64>::identity() * 0.9;
                let shaken = if i == 2 { 0.0 } else { 0.2 };
                let columns = [f.c0, f.c1, f.c2].map(|c| [c.x, c.y, c.z]).concat();
                x.extend(columns.iter().map(|f| f + shaken * random.normal()));
            }
            gradcheck(&Map(Stressed::<M>(std::marker::PhantomData)), &x, &exact()).assert_passed();
        }
    }
    check::<FixedCorotated>(Elastic { young: 50.0, poisson: 0.2 });
    check::<NeoHookean>(Elastic { young: 50.0, poisson: 0.2 });
    check::<VonMises>(Elastoplastic { young: 50.0, poisson: 0.2, yield_stress: 3.0 });
    check::<Plasticine>(Elastoplastic { young: 50.0, poisson: 0.2, yield_stress: 3.0 });
    check::<Fluid>(Elastic { young: 50.0, poisson: 0.3 });
    check::<Sand>(Granular { young: 50.0, poisson: 0.3, friction_angle: 0.6 });
}

/// With stored singular values the pullback is the same to the bit.
#[test]
fn stored_singular_values_change_nothing() {
    const N: usize = 37;
    fn check<M: ConstitutiveModel>(params: M::Params<f64>) {
        let mut random = Random::new(9);
        let mut draw = |n: usize| (0..n).map(|_| random.normal()).collect::<Vec<f64>>();
        let params: Vec<f64> = std::iter::once(1.2).chain(flat(params)).flat_map(|p| [p; N]).collect();
        let (v, c, f) = (draw(3 * N), draw(9 * N), draw(9 * N));
        let (v, c, f) = (v.as_chunks().0, c.as_chunks().0, f.as_chunks().0);
        let at = View { q: &[], u: &[], x: &[], v, c, f };
        let (mut given, mut again) = (vec![Record::<f64>::default(); N], vec![Record::default(); N]);
        let mut svds = vec![Default::default(); pack_pairs::<f64>(N)];
        let group = group(&params, at);
        stress::<f64, M>(group, &mut [[0.0; 9]; N], &mut given);
        stress_storing_svd::<f64, M>(group, &mut svds, &mut again);
        assert_eq!(given, again);
        let next_bar = draw(9 * N);
        let next_bar = next_bar.as_chunks().0;
        let (records, places) = reversed(&given);
        let given_bar = Sorted { records: &records, places: &places };
        let back = |svds: &[_]| {
            let mut params_bar = vec![0.0; params.len()];
            let (mut x, mut v) = (vec![[0.0; 3]; N], vec![[0.0; 3]; N]);
            let (mut c, mut f) = (vec![[0.0; 9]; N], vec![[0.0; 9]; N]);
            let bar = ViewMut { q: &mut [], u: &mut [], x: &mut x, v: &mut v, c: &mut c, f: &mut f };
            stress_vjp::<f64, M>(group, svds, next_bar, given_bar, &mut params_bar, bar);
            (params_bar, v, c, f)
        };
        assert_eq!(back(&svds), back(&[]));
        // Stored as far as there is room.
        let mut fewer = vec![Default::default(); svds.len() / 2];
        stress_storing_svd::<f64, M>(group, &mut fewer, &mut again);
        assert_eq!((back(&fewer), &given), (back(&[]), &again));
    }
    check::<FixedCorotated>(Elastic { young: 1e3, poisson: 0.2 });
    check::<NeoHookean>(Elastic { young: 1e3, poisson: 0.2 });
    check::<VonMises>(Elastoplastic { young: 1e3, poisson: 0.2, yield_stress: 50.0 });
    check::<Plasticine>(Elastoplastic { young: 1e3, poisson: 0.2, yield_stress: 50.0 });
    check::<Fluid>(Elastic { young: 1e3, poisson: 0.2 });
    check::<Sand>(Granular { young: 1e3, poisson: 0.2, friction_angle: 0.6 });
}

/// A few particles of each material given under a ball that comes down, in the plane or in space.
fn scene(material: &[Material], flat: bool, each: usize) -> Mpm {
    on_floor(Floor::Friction, material, flat, each)
}

fn on_floor(floor: Floor, material: &[Material], flat: bool, each: usize) -> Mpm {
    let plain = if flat { Grid::square(12) } else { Grid::cube(12) };
    // Soft colliders reach further than a node here, so that many nodes feel them.
    let grid = Grid { floor, floor_friction: 0.4, softness: 20.0, ..plain };
    let mut particles = Particles::default();
    let up = |a: f64| if flat { v3(0.5, a, 0.0) } else { v3(0.5, 0.5, a) };
    for (i, material) in material.iter().enumerate() {
        let edges = if flat { v3(0.2, 0.12, 0.0) } else { v3(0.14, 0.14, 0.12) };
        let positions = random_box(each, up(0.33), edges, 3 + i as u64);
        particles
            .add(&format!("part {i}"), *material, 1.3, 1.7e-4, &positions, up(-0.6) - up(0.0) * 0.5)
            .unwrap();
    }
    let axis = up(1.0) - up(0.0);
    let model = sliding(Shape::Sphere { radius: 0.08 }, up(0.42), axis, 0.6, axis * -9.8);
    Mpm::new(grid, particles, model, 2e-4).unwrap()
}

fn step_of(mpm: &Mpm, seed: u64) -> Report {
    let (state, control, params) = shaken(mpm, seed);
    let options = Options { difference_tolerance: 1e-4, probes: 1, ..exact() };
    check_step(mpm, Point { params: &params, state: &state, control: &control }, &options)
}

#[test]
fn a_substep_in_the_plane_has_the_exact_pullback() {
    for (i, material) in MATERIALS.into_iter().enumerate() {
        let report = step_of(&scene(&[material], true, 10), i as u64);
        println!("{material:?}: {:.1e}", report.worst_forward());
        report.assert_passed();
    }
}

#[test]
fn a_sticky_floor_has_the_exact_pullback() {
    let report = step_of(
        &on_floor(
            Floor::Sticky,
            &[Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 })],
            false,
            12,
        ),
        50,
    );
    println!("{:.1e}", report.worst_forward());
    report.assert_passed();
}

#[test]
fn several_materials_at_once_have_the_exact_pullback() {
    for flat in [false, true] {
        let mpm = scene(&MATERIALS, flat, 3);
        let report = step_of(&mpm, 30);
        println!("flat {flat}: {:.1e}", report.worst_forward());
        report.assert_passed();
        rollout_of(&mpm, 40, 31).assert_passed();
    }
}

/// Enough particles of two materials that transfers are cut in halves, and loops in parts.
fn crowd() -> Mpm {
    let grid = Grid { floor: Floor::Friction, floor_friction: 0.4, ..Grid::cube(20) };
    let mut particles = Particles::default();
    for (i, (material, count)) in MATERIALS.into_iter().zip([40, 1060]).enumerate() {
        let positions = random_box(count, v3(0.5, 0.5, 0.4), v3(0.45, 0.4, 0.5), 8 + i as u64);
        particles.add(&format!("part {i}"), material, 1.3, 1.7e-5, &positions, v3(0.2, 0.1, -0.6)).unwrap();
    }
    let axis = v3(0.0, 0.0, 1.0);
    let model = sliding(Shape::Sphere { radius: 0.08 }, v3(0.5, 0.5, 0.7), axis, 0.6, axis * -9.8);
    Mpm::new(grid, particles, model, 2e-4).unwrap()
}

#[test]
fn many_particles_have_the_exact_pullback_and_the_same_bits_on_any_number_of_threads() {
    let mpm = crowd();
    rollout_of(&mpm, 2, 70).assert_passed();
    let (state, control, params) = shaken(&mpm, 71);
    let at = Point { params: &params, state: &state, control: &control };
    let run = |mpm: &Mpm, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut ws = System::<f64>::workspace(mpm);
        let (mut next, mut state_bar) = (vec![0.0; state.len()], vec![0.0; state.len()]);
        let (mut params_bar, mut control_bar) = (vec![0.0; params.len()], vec![0.0; control.len()]);
        let bars = Bars { params: &mut params_bar, state: &mut state_bar, control: &mut control_bar };
        pool.install(|| {
            mpm.step(&mut ws, at, &mut next).unwrap();
            mpm.step_vjp(&mut ws, at, &next, bars).unwrap();
        });
        [next, state_bar, params_bar, control_bar].concat().into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let alone = run(&mpm, 1);
    let mpm = mpm.with_threads(true);
    for threads in 1..4 {
        assert!(run(&mpm, threads) == alone, "{threads} threads");
    }
}

#[test]
fn equal_singular_values_and_inverted_deformations_in_the_plane() {
    for material in MATERIALS {
        let mpm = scene(&[material], true, 4);
        let (mut state, control, params) = shaken(&mpm, 7);
        let view = mpm.split_mut(&mut state);
        for (p, stretch) in
            [[1.1, 1.1, 1.0], [0.9, 0.9, 0.9], [0.9, -0.4, 1.0], [0.9, 0.8, -0.3]].iter().enumerate()
        {
            Mat3::diagonal(Vec3::read(stretch)).write(&mut view.f[p]);
        }
        view.c.fill([0.0; 9]);
        // Differences cannot be trusted where a singular value is held at a bound.
        let options = Options { difference_tolerance: 1e-2, probes: 1, ..exact() };
        let report = check_step(&mpm, Point { params: &params, state: &state, control: &control }, &options);
        println!("{material:?}: {:.1e}", report.worst_forward());
        report.assert_passed();
    }
}

/// A rollout, checked along random directions of all its inputs.
fn rollout_of(mpm: &Mpm, steps: usize, seed: u64) -> Report {
    let (state, control, params) = shaken(mpm, seed);
    let rollout = Rollout::new(mpm, steps, Schedule::StoreAll).unwrap();
    let loss = FinalState { weights: (0..state.len()).map(|i| (i as f64 * 0.7).sin()).collect() };
    // Particles begin to flow on the way; differences step over these kinks.
    let elastic =
        |g: &ParticleGroup| matches!(g.material, Material::FixedCorotated(_) | Material::NeoHookean(_));
    let smooth = mpm.particles().groups.iter().all(elastic);
    let options = Options { difference_tolerance: if smooth { 1e-3 } else { 0.3 }, probes: 1, ..exact() };
    check_rollout_along(
        &rollout,
        &Inputs { state: state.to_vec(), controls: control.repeat(steps), params: params.to_vec() },
        &loss,
        &options,
    )
}

#[test]
fn frames_in_the_plane_have_the_exact_pullback() {
    for (i, material) in MATERIALS.into_iter().enumerate() {
        let report = rollout_of(&scene(&[material], true, 10), 40, 40 + i as u64);
        println!("{material:?}: {:.1e}", report.worst_forward());
        report.assert_passed();
    }
}

#[test]
fn five_frames_of_every_material_have_the_exact_pullback() {
    for (i, material) in MATERIALS.into_iter().enumerate() {
        for flat in [false, true] {
            let report = rollout_of(&scene(&[material], flat, 8), 200, 60 + i as u64);
            println!("{material:?}, flat {flat}: {:.1e}", report.worst_forward());
            report.assert_passed();
        }
    }
}

#[test]
fn pullbacks_of_the_nodes_do_nothing_without_material() {
    let zero = Vec3::<f64>::zero();
    assert_eq!(velocity_vjp(v3(1.0, 2.0, 3.0), 0.0, v3(0.0, 0.0, -1.0), v3(1.0, 1.0, 1.0)).2, zero);
    assert_eq!(velocity(v3(1.0, 2.0, 3.0), 0.0, v3(0.0, 0.0, -1.0)), zero);
}
