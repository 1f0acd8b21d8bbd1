//! `#[derive(Workspace)]`: heap bytes are the sum over fields.

use pullback_core::Workspace;
use pullback_math::{Real, Vec3};

#[derive(Workspace)]
struct Inner<T> {
    rates: Vec<T>,
    directions: Vec<Vec3<T>>,
}

impl<T: Real> Inner<T> {
    fn new(n: usize) -> Self {
        Inner { rates: vec![T::zero(); n], directions: vec![Vec3::zero(); n] }
    }

    fn expected(n: usize) -> usize {
        4 * n * size_of::<T>()
    }
}

#[derive(Workspace)]
struct Outer<T: Real, W, const N: usize> {
    inner: W,
    parts: [Inner<T>; N],
    packs: Vec<[T::Pack; N]>,
    optional: Option<Inner<T>>,
    table: Box<[[f32; 2]]>,
    tile: Box<[T; N]>,
    pair: (Vec<u8>, Vec<u16>),
    steps: usize,
    #[workspace(plain)]
    side: Option<T>,
}

#[derive(Workspace)]
struct Tuple(Vec<u64>, usize);

#[derive(Workspace)]
struct Empty;

#[derive(Workspace)]
enum Stepper<T> {
    Idle,
    Explicit(Inner<T>),
    Adaptive { kept: Vec<f64>, accepted: usize },
}

/// Bytes of a workspace whose parts hold 2 entries each.
fn bytes_of_outer<T: Real>(optional: Option<Inner<T>>) -> usize {
    let outer = Outer::<T, Tuple, 3> {
        inner: Tuple(vec![0; 5], 7),
        parts: [Inner::new(2), Inner::new(2), Inner::new(2)],
        packs: Vec::with_capacity(11),
        optional,
        table: vec![[0.0; 2]; 13].into(),
        tile: Box::new([T::zero(); 3]),
        pair: (vec![0; 17], vec![0; 19]),
        steps: 23,
        side: None,
    };
    outer.heap_bytes()
}

fn expected<T: Real>() -> usize {
    let (vectors, boxes) =
        (5 * size_of::<u64>() + 17 + 19 * 2, 13 * 2 * size_of::<f32>() + 3 * size_of::<T>());
    vectors + boxes + 3 * Inner::<T>::expected(2) + 11 * 3 * size_of::<T::Pack>()
}

#[test]
fn heap_bytes_of_a_struct_are_the_sum_over_its_fields() {
    assert_eq!(bytes_of_outer::<f64>(None), expected::<f64>());
    assert_eq!(bytes_of_outer::<f32>(Some(Inner::new(29))), expected::<f32>() + Inner::<f32>::expected(29));
    assert_eq!(Empty.heap_bytes(), 0);
}

#[test]
fn heap_bytes_of_an_enum_are_those_of_its_variant() {
    assert_eq!(Stepper::<f32>::Idle.heap_bytes(), 0);
    assert_eq!(Stepper::Explicit(Inner::<f32>::new(3)).heap_bytes(), Inner::<f32>::expected(3));
    let adaptive = Stepper::<f32>::Adaptive { kept: Vec::with_capacity(5), accepted: 2 };
    assert_eq!(adaptive.heap_bytes(), 5 * size_of::<f64>());
}

#[test]
fn a_vec_counts_its_capacity() {
    let mut rates = Vec::with_capacity(10);
    rates.push(1.0);
    let held = Inner { rates, directions: Vec::new() };
    assert_eq!(held.heap_bytes(), 10 * size_of::<f64>());
}
