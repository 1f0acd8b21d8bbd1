//! What every test of a pullback does: gradients at random points, and lanes against the scalar run.

use pullback_math::{Flat, Mat3, Quat, Real, SymMat3, Transform, Vec3, f32x8, f32x16, f64x4, f64x8};

pub use pullback_core::random::Random;

/// A function of flat arguments with its pullback, for any scalar.
pub trait Function {
    fn inputs() -> usize;
    fn outputs() -> usize;
    fn eval<T: Real>(x: &[T], y: &mut [T]);
    fn vjp<T: Real>(x: &[T], y_bar: &[T], x_bar: &mut [T]);
}

/// `n` numbers in [-1.5, 1.5).
pub fn any(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.uniform(-1.5, 1.5)).collect()
}

/// `n` numbers in [0.2, 1.7).
pub fn positive(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.uniform(0.2, 1.7)).collect()
}

/// A test named after a function: `check_vjp!` at random points, and each lane of each lane type, value and
/// pullback, against the scalar run.
macro_rules! check {
    (
        $name:ident, $sample:expr,
        |$($arg:ident : $type:ty),+| -> $out:ty $body:block,
        |$bar:ident| $vjp:expr
    ) => {
        #[test]
        fn $name() {
            struct Checked;
            impl $crate::math::common::Function for Checked {
                fn inputs() -> usize {
                    fn count<T: pullback_math::Real>() -> usize {
                        <($($type,)+) as pullback_math::Flat<T>>::LEN
                    }
                    count::<f64>()
                }
                fn outputs() -> usize {
                    fn count<T: pullback_math::Real>() -> usize {
                        <$out as pullback_math::Flat<T>>::LEN
                    }
                    count::<f64>()
                }
                fn eval<T: pullback_math::Real>(x: &[T], y: &mut [T]) {
                    let ($($arg,)+) = <($($type,)+) as pullback_math::Flat<T>>::read(x);
                    let out: $out = $body;
                    pullback_math::Flat::<T>::write(out, y);
                }
                #[allow(unused_variables)]
                fn vjp<T: pullback_math::Real>(x: &[T], y_bar: &[T], x_bar: &mut [T]) {
                    let ($($arg,)+) = <($($type,)+) as pullback_math::Flat<T>>::read(x);
                    let $bar = <$out as pullback_math::Flat<T>>::read(y_bar);
                    let bars = $vjp;
                    pullback_math::Flat::<T>::write(bars, x_bar);
                }
            }
            use $crate::math::common::Function;
            let mut random = $crate::math::common::Random::new(stringify!($name).len() as u64);
            for _ in 0..5 {
                let x: Vec<f64> = $sample(&mut random, Checked::inputs());
                let report = pullback_core::check_vjp!(
                    |$($arg: $type),+| -> $out $body,
                    |$bar| $vjp,
                    at x, pullback_core::gradcheck::Options::default()
                );
                report.assert_passed();
            }
            let points: Vec<Vec<f64>> = (0..32).map(|_| $sample(&mut random, Checked::inputs())).collect();
            $crate::math::common::lanes_agree::<Checked>(&points);
        }
    };
}
pub(crate) use check;

/// Value and pullback of a function on one kind of scalar. Function pointers: comparisons are compiled once for
/// each kind, not for each function.
struct On<T> {
    inputs: usize,
    outputs: usize,
    eval: fn(&[T], &mut [T]),
    vjp: fn(&[T], &[T], &mut [T]),
}

impl<T: Real> On<T> {
    fn of<F: Function>() -> Self {
        On { inputs: F::inputs(), outputs: F::outputs(), eval: F::eval::<T>, vjp: F::vjp::<T> }
    }

    /// Value and cotangents of the inputs.
    fn run(&self, x: &[T], y_bar: &[T]) -> (Vec<T>, Vec<T>) {
        let (mut y, mut x_bar) = (vec![T::zero(); self.outputs], vec![T::zero(); self.inputs]);
        (self.eval)(x, &mut y);
        (self.vjp)(x, y_bar, &mut x_bar);
        (y, x_bar)
    }
}

/// Each lane of each lane type agrees with the scalar run: 1e-12 in f64, 1e-5 in f32, of the largest entry.
pub fn lanes_agree<F: Function>(points: &[Vec<f64>]) {
    let (double, single) = (On::<f64>::of::<F>(), On::<f32>::of::<F>());
    lanes_agree_on(&On::<f64x4>::of::<F>(), &double, points, 1e-12);
    lanes_agree_on(&On::<f64x8>::of::<F>(), &double, points, 1e-12);
    lanes_agree_on(&On::<f32x8>::of::<F>(), &single, points, 1e-5);
    lanes_agree_on(&On::<f32x16>::of::<F>(), &single, points, 1e-5);
}

fn lanes_agree_on<L: Real, S: Real>(lanes: &On<L>, scalar: &On<S>, points: &[Vec<f64>], tolerance: f64) {
    let mut random = Random::new(1);
    for group in points.chunks_exact(L::LANES) {
        let bars: Vec<Vec<f64>> = group.iter().map(|_| any(&mut random, lanes.outputs)).collect();
        let pack = |rows: &[Vec<f64>], n: usize| -> Vec<L> {
            (0..n).map(|i| L::from_lanes(|lane| rows[lane][i])).collect()
        };
        let (y, x_bar) = lanes.run(&pack(group, lanes.inputs), &pack(&bars, lanes.outputs));
        for lane in 0..L::LANES {
            let narrow = |row: &[f64]| -> Vec<S> { row.iter().map(|x| S::lit(*x)).collect() };
            let (y_one, x_bar_one) = scalar.run(&narrow(&group[lane]), &narrow(&bars[lane]));
            let what = format!("{} lane {lane} at {:?}", std::any::type_name::<L>(), group[lane]);
            assert_close(&of_lane(&y, lane), &of_lane(&y_one, 0), tolerance, &format!("value, {what}"));
            assert_close(&of_lane(&x_bar, lane), &of_lane(&x_bar_one, 0), tolerance, &format!("vjp, {what}"));
        }
    }
}

fn of_lane<L: Real>(values: &[L], lane: usize) -> Vec<f64> {
    values.iter().map(|v| v.lane(lane)).collect()
}

/// Entries differ by at most `tolerance` times the larger of 1 and the largest entry.
#[track_caller]
pub fn assert_close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    let scale = a.iter().chain(b).fold(1.0f64, |m, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * scale, "{what}: {a} and {b} differ by {:e}", (a - b).abs());
    }
}

/// The scalars of a value.
pub fn flat<X: Flat<f64>>(x: X) -> Vec<f64> {
    let mut entries = vec![0.0; X::LEN];
    x.write(&mut entries);
    entries
}

/// Two values agree entry by entry.
#[track_caller]
pub fn assert_same<X: Flat<f64>>(a: X, b: X, tolerance: f64) {
    assert_close(&flat(a), &flat(b), tolerance, std::any::type_name::<X>());
}

/// Neither infinite nor NaN.
pub fn all_finite<X: Flat<f64>>(x: X) -> bool {
    flat(x).iter().all(|v| v.is_finite())
}

pub fn vector(random: &mut Random) -> Vec3<f64> {
    Vec3::read(&any(random, 3))
}

pub fn matrix(random: &mut Random) -> Mat3<f64> {
    Mat3::read(&any(random, 9))
}

pub fn symmetric(random: &mut Random) -> SymMat3<f64> {
    SymMat3::read(&any(random, 6))
}

pub fn unit_quat(random: &mut Random) -> Quat<f64> {
    Quat::new(random.normal(), random.normal(), random.normal(), random.normal()).normalize()
}

pub fn rotation(random: &mut Random) -> Mat3<f64> {
    unit_quat(random).to_mat3()
}

pub fn transform(random: &mut Random) -> Transform<f64> {
    Transform::from_quat(unit_quat(random), vector(random))
}
