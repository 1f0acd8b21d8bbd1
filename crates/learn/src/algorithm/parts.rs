//! Batches of rows: shuffled, gathered, and summed part by part on all threads.
//!
//! A part has a fixed number of rows and memory of its own. Gradients are sums over parts in their order, so
//! results have the same bits for any number of threads.

use std::ops::Range;

use pullback_core::random::Random;
use rayon::prelude::*;

/// Rows of a part.
pub const PART: usize = 256;

/// Memory of a part that gathers a gradient.
pub trait PartMemory: Send {
    /// The gradient that the part has come to.
    fn gradient(&mut self) -> &mut Vec<f32>;
}

/// Grows `memory` to the parts of `rows` rows.
pub fn reserve<M>(memory: &mut Vec<M>, rows: usize, new: impl Fn() -> M) {
    while memory.len() < rows.div_ceil(PART) {
        memory.push(new());
    }
}

/// Runs `work` on each part of `rows` rows, on the threads of the pool that is installed. Results are added up
/// in order.
pub fn for_parts<M: Send, const N: usize>(
    rows: usize,
    memory: &mut [M],
    work: impl Fn(Range<usize>, &mut M) -> [f64; N] + Sync,
) -> [f64; N] {
    let parts = memory[..rows.div_ceil(PART)].par_iter_mut().enumerate();
    let found: Vec<[f64; N]> =
        parts.map(|(i, memory)| work(i * PART..rows.min((i + 1) * PART), memory)).collect();
    let mut sums = [0.0; N];
    for part in found {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    sums
}

/// [`for_parts`] whose gradients are added up into that of the first part.
pub fn sum_gradients<M: PartMemory, const N: usize>(
    rows: usize,
    memory: &mut [M],
    work: impl Fn(Range<usize>, &mut M) -> [f64; N] + Sync,
) -> [f64; N] {
    let sums = for_parts(rows, memory, |range, memory| {
        memory.gradient().fill(0.0);
        work(range, memory)
    });
    let (first, rest) = memory[..rows.div_ceil(PART)].split_at_mut(1);
    let gradient = first[0].gradient();
    for part in rest {
        gradient.iter_mut().zip(part.gradient()).for_each(|(sum, x)| *sum += *x);
    }
    sums
}

/// 0 to n − 1 in random order, by Fisher and Yates.
pub fn permutation(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, below(i + 1, random));
    }
    order
}

/// A number below `n`.
pub fn below(n: usize, random: &mut Random) -> usize {
    // High half of a product: no modulo, and a bias of n / 2⁶⁴.
    ((u128::from(random.bits()) * n as u128) >> 64) as usize
}

/// Rows of `width` numbers at `indices`, one after another.
pub fn gather<X: Copy>(from: &[X], width: usize, indices: &[usize], to: &mut Vec<X>) {
    to.clear();
    indices.iter().for_each(|i| to.extend_from_slice(&from[i * width..(i + 1) * width]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_hold_every_number_once() {
        let mut order = permutation(1000, &mut Random::new(3));
        assert_ne!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(i, x)| i == *x));
    }

    struct Sum(Vec<f32>);
    impl PartMemory for Sum {
        fn gradient(&mut self) -> &mut Vec<f32> {
            &mut self.0
        }
    }

    #[test]
    fn parts_cover_all_rows() {
        let mut memory = Vec::new();
        reserve(&mut memory, 700, || Sum(vec![5.0; 1]));
        let [count] = sum_gradients(700, &mut memory, |rows, memory| {
            memory.0[0] += rows.len() as f32;
            [rows.len() as f64]
        });
        assert_eq!((count, memory[0].0[0]), (700.0, 700.0));
    }
}
