//! How far the generated pullbacks are from hand-written ones:
//! `cargo run --release -p pullback-math --example ratio`.
//!
//! Both pull the same cotangent back through the same function; the ratio of their times should be near one.

use std::hint::black_box;
use std::time::Instant;

use pullback_math::{Real, Vec3, differentiable, f64x8};

/// Force on the first particle of a damped spring.
#[differentiable]
#[inline]
pub fn spring<T: Real>(xa: Vec3<T>, xb: Vec3<T>, v: Vec3<T>, rest: T, ke: T, kd: T) -> Vec3<T> {
    let d = xa - xb;
    let length = d.norm();
    let n = d * length.recip();
    n * -(ke * (length - rest) + kd * n.dot(v))
}

/// With s = ke (ℓ − rest) + kd n·v and f = −s n.
#[inline]
fn spring_by_hand<T: Real>(
    xa: Vec3<T>,
    xb: Vec3<T>,
    v: Vec3<T>,
    rest: T,
    ke: T,
    kd: T,
    f_bar: Vec3<T>,
) -> (Vec3<T>, Vec3<T>, Vec3<T>, T, T, T) {
    let d = xa - xb;
    let length = d.norm();
    let inverse = length.recip();
    let n = d * inverse;
    let (stretch, rate) = (length - rest, n.dot(v));
    let s = ke * stretch + kd * rate;
    let s_bar = -n.dot(f_bar);
    let (stretch_bar, rate_bar) = (ke * s_bar, kd * s_bar);
    // n̄ = −s f̄ + ṽ n·v, then through n = d/ℓ: d̄ = (n̄ − n (n·n̄)) / ℓ + n ℓ̄
    let n_bar = v * rate_bar - f_bar * s;
    let d_bar = (n_bar - n * n.dot(n_bar)) * inverse + n * stretch_bar;
    (d_bar, -d_bar, n * rate_bar, -stretch_bar, s_bar * stretch, s_bar * rate)
}

/// A polynomial by Horner's rule.
#[differentiable]
#[inline]
pub fn horner<T: Real, const N: usize>(c: [T; N], x: T) -> T {
    let mut sum = T::zero();
    for i in 0..N {
        sum = sum * x + c[i];
    }
    sum
}

#[inline]
fn horner_by_hand<T: Real, const N: usize>(c: [T; N], x: T, bar: T) -> ([T; N], T) {
    let mut sums = [T::zero(); N];
    let mut sum = T::zero();
    for i in 0..N {
        sums[i] = sum;
        sum = sum * x + c[i];
    }
    let (mut c_bar, mut x_bar, mut bar) = ([T::zero(); N], T::zero(), bar);
    for i in (0..N).rev() {
        c_bar[i] = bar;
        x_bar += bar * sums[i];
        bar *= x;
    }
    (c_bar, x_bar)
}

/// An oscillator for a number of steps known at run time.
#[differentiable]
#[inline]
pub fn oscillate<T: Real>(x: Vec3<T>, v: Vec3<T>, k: T, #[constant] dt: T, steps: usize) -> Vec3<T> {
    let (mut x, mut v) = (x, v);
    for _ in 0..steps {
        v -= x * (k * dt);
        x += v * dt;
    }
    x
}

#[inline]
fn oscillate_by_hand<T: Real>(
    x: Vec3<T>,
    v: Vec3<T>,
    k: T,
    dt: T,
    steps: usize,
    mut x_bar: Vec3<T>,
) -> (Vec3<T>, Vec3<T>, T) {
    let (mut x, mut v) = (x, v);
    let mut tape = Vec::with_capacity(steps);
    for _ in 0..steps {
        tape.push(x);
        v -= x * (k * dt);
        x += v * dt;
    }
    let (mut v_bar, mut k_bar) = (Vec3::zero(), T::zero());
    for x in tape.iter().rev() {
        v_bar += x_bar * dt;
        x_bar -= v_bar * (k * dt);
        k_bar -= x.dot(v_bar) * dt;
    }
    (x_bar, v_bar, k_bar)
}

/// Nanoseconds per call, the best of several runs.
fn time<R>(mut call: impl FnMut() -> R) -> f64 {
    const CALLS: u32 = 200_000;
    let run = |call: &mut dyn FnMut() -> R| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..15).map(|_| run(&mut call)).fold(f64::INFINITY, f64::min)
}

fn report(name: &str, forward: f64, generated: f64, by_hand: f64) {
    println!(
        "{name:20} forward {forward:8.2} ns   generated {generated:8.2} ns   by hand {by_hand:8.2} ns   \
         generated / by hand {:.2}   generated / forward {:.2}",
        generated / by_hand,
        generated / forward
    );
}

fn compare<T: Real>(label: &str) {
    let v = |x: f64, y: f64, z: f64| Vec3::new(T::lit(x), T::lit(y), T::lit(z));
    let (a, b, c, s) = (v(1.0, 2.0, 3.0), v(-1.0, 0.5, 2.0), v(0.1, 0.2, -0.3), T::lit(0.8));
    report(
        &format!("spring {label}"),
        time(|| {
            let (a, b, c, s) = black_box((a, b, c, s));
            spring(a, b, c, s, s, s)
        }),
        time(|| {
            let (a, b, c, s) = black_box((a, b, c, s));
            spring_vjp(a, b, c, s, s, s, c)
        }),
        time(|| {
            let (a, b, c, s) = black_box((a, b, c, s));
            spring_by_hand(a, b, c, s, s, s, c)
        }),
    );
    let table = std::array::from_fn::<T, 16, _>(|i| T::lit(i as f64 * 0.1));
    report(
        &format!("horner {label}"),
        time(|| {
            let (table, s) = black_box((table, s));
            horner(table, s)
        }),
        time(|| {
            let (table, s) = black_box((table, s));
            horner_vjp(table, s, s)
        }),
        time(|| {
            let (table, s) = black_box((table, s));
            horner_by_hand(table, s, s)
        }),
    );
    let dt = T::lit(0.01);
    report(
        &format!("oscillate {label}"),
        time(|| {
            let (a, b, s) = black_box((a, b, s));
            oscillate(a, b, s, dt, 20)
        }),
        time(|| {
            let (a, b, s) = black_box((a, b, s));
            oscillate_vjp(a, b, s, dt, 20, c)
        }),
        time(|| {
            let (a, b, s) = black_box((a, b, s));
            oscillate_by_hand(a, b, s, dt, 20, c)
        }),
    );
}

fn main() {
    compare::<f64>("f64");
    compare::<f64x8>("f64x8");
}
