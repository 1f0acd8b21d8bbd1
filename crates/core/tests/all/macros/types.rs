//! Methods, user structs, lanes and single precision.

use pullback_core::check_vjp;
use pullback_core::gradcheck::Options;
use pullback_math::{Cotangent, Real, Vec3, differentiable, f32x8, f64x8, select};

/// A particle whose index is a point of a discrete space.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
struct Particle<T> {
    position: Vec3<T>,
    velocity: Vec3<T>,
    mass: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
struct Pair<T>(Particle<T>, T);

#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
#[cotangent(scalar = f64)]
struct Plain {
    gain: f64,
    offsets: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
struct Labeled {
    index: usize,
    value: f64,
}

impl<T: Real> Particle<T> {
    #[differentiable]
    fn new(position: Vec3<T>, velocity: Vec3<T>, mass: T) -> Self {
        Particle { position, velocity, mass }
    }

    #[differentiable]
    fn kinetic(self) -> T {
        T::lit(0.5) * self.mass * self.velocity.norm_squared()
    }

    /// Semi-implicit Euler.
    #[differentiable]
    fn stepped(mut self, force: Vec3<T>, #[constant] dt: T) -> Self {
        self.velocity += force * (dt / self.mass);
        self.position += self.velocity * dt;
        self
    }

    #[differentiable]
    fn heavier(self, factor: T) -> Self {
        Particle { mass: self.mass * factor, ..self }
    }
}

/// Shared, constant data.
struct Field<T> {
    strength: [T; 2],
    center: Vec3<T>,
}

impl<T: Real> Field<T> {
    #[differentiable]
    fn force(&self, x: Vec3<T>, i: usize) -> Vec3<T> {
        (self.center - x) * self.strength[i]
    }

    #[differentiable]
    fn push(&self, p: Particle<T>) -> Particle<T> {
        let mut p = p;
        for i in 0..self.strength.len() {
            p = p.stepped(self.force(p.position, i), T::lit(0.1));
        }
        p.heavier(p.kinetic())
    }
}

#[differentiable]
fn round_trip<T: Real>(x: Vec3<T>, v: Vec3<T>, m: T) -> T {
    let pair = Pair(Particle::new(x, v, m), m);
    let Pair(particle, mass) = pair;
    let field = Field { strength: [T::lit(2.0), T::lit(0.5)], center: Vec3::zero() };
    let moved = field.push(particle);
    moved.kinetic() + pair.0.position.dot(moved.position) * mass * pair.1
}

#[test]
fn methods_on_user_structs() {
    check_vjp!(
        |x: Vec3<T>, v: Vec3<T>, m: T| -> T { round_trip(x, v, m) },
        |bar| round_trip_vjp(x, v, m, bar),
        at [1.0, 2.0, 3.0, -0.1, 0.5, 0.2, 1.5],
        Options::default()
    )
    .assert_passed();
}

#[differentiable]
fn gained(p: Plain, x: f64) -> f64 {
    p.gain * x + p.offsets[0] * p.offsets[1]
}

#[test]
fn derived_structs_are_flat() {
    use pullback_math::Flat;
    assert_eq!(<Plain as Flat<f64>>::LEN, 3);
    assert_eq!(<Pair<f32> as Flat<f32>>::LEN, 8);
    let plain = <Plain as Flat<f64>>::read(&[2.0, 3.0, 4.0]);
    let mut back = [0.0; 3];
    plain.write(&mut back);
    assert_eq!(back, [2.0, 3.0, 4.0]);
    assert_eq!(gained_vjp(plain, 5.0, 1.0), (Plain { gain: 5.0, offsets: [4.0, 3.0] }, 2.0));
    assert_eq!(gained(plain, 5.0), 22.0);
}

#[differentiable]
fn picked(l: Labeled, table: [f64; 3]) -> f64 {
    l.value * table[l.index]
}

#[test]
fn an_index_inside_a_struct_carries_nothing() {
    let label = Labeled { index: 1, value: 2.0 };
    let (l_bar, table_bar) = picked_vjp(label, [3.0, 4.0, 5.0], 1.0);
    assert_eq!((l_bar.value, table_bar), (4.0, [0.0, 2.0, 0.0]));
    assert_eq!(picked(label, [3.0, 4.0, 5.0]), 8.0);
}

#[differentiable]
fn contact<T: Real>(x: Vec3<T>, v: Vec3<T>, ke: T) -> Vec3<T> {
    let depth = x.z.min(T::zero());
    let mut f = Vec3::new(T::zero(), T::zero(), -depth * ke);
    for i in 0..2 {
        let slip = v[i];
        let limit = f.z * T::lit(0.6);
        f[i] = select(slip.gt(T::zero()), -limit.min(slip), limit.min(-slip));
    }
    f
}

fn lane_arguments(i: usize) -> ([f64; 3], [f64; 3], f64) {
    let s = |k: usize| ((i * 7 + k) as f64 * 1.3).sin();
    ([s(0), s(1), s(2)], [s(3), s(4), s(5)], 2.0 + s(6))
}

#[test]
fn lanes_agree_with_scalars() {
    let vector = |pick: fn(usize) -> [f64; 3]| {
        Vec3::new(
            f64x8::from_lanes(|i| pick(i)[0]),
            f64x8::from_lanes(|i| pick(i)[1]),
            f64x8::from_lanes(|i| pick(i)[2]),
        )
    };
    let x = vector(|i| lane_arguments(i).0);
    let v = vector(|i| lane_arguments(i).1);
    let ke = f64x8::from_lanes(|i| lane_arguments(i).2);
    let one = f64x8::lit(1.0);
    let (x_bar, v_bar, ke_bar) = contact_vjp(x, v, ke, Vec3::new(one, one, one));
    for i in 0..8 {
        let (x, v, ke) = lane_arguments(i);
        let (x, v) = (Vec3::new(x[0], x[1], x[2]), Vec3::new(v[0], v[1], v[2]));
        let scalar = contact_vjp(x, v, ke, Vec3::new(1.0, 1.0, 1.0));
        let lane = |v: Vec3<f64x8>| Vec3::new(v.x.lane(i), v.y.lane(i), v.z.lane(i));
        assert!((lane(x_bar) - scalar.0).norm() < 1e-12, "lane {i}");
        assert!((lane(v_bar) - scalar.1).norm() < 1e-12, "lane {i}");
        assert!((ke_bar.lane(i) - scalar.2).abs() < 1e-12, "lane {i}");
    }
    assert!(ke_bar.max_lane() != 0.0);
    // And the same function in single precision, on lanes of it, and its primal.
    let (x, v) = (Vec3::new(0.1f32, 0.2, -0.3), Vec3::new(0.1f32, -0.2, 0.0));
    let single = contact_vjp(x, v, 2.0, Vec3::new(1.0, 1.0, 1.0)).2;
    let wide = |v: Vec3<f32>| Vec3::new(f32x8::from(v.x), f32x8::from(v.y), f32x8::from(v.z));
    let ones = f32x8::lit(1.0);
    let lanes = contact_vjp(wide(x), wide(v), f32x8::lit(2.0), Vec3::new(ones, ones, ones)).2;
    assert_eq!(lanes.lane(3), f64::from(single));
    assert!(contact(x, v, 2.0).z > 0.0);
}
