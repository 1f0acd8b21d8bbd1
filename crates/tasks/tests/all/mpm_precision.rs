//! Coarse particle tasks run in `f32`: losses and gradients are those of `f64` but for round-off.

use pullback_core::random::Random;
use pullback_tasks::mpm::Size;
use pullback_tasks::mpm::objectives::{TASKS, in_precision};

/// Actions of an episode; the whole takes 50, of `fluid` 100.
const ACTIONS: usize = 10;
/// Largest relative difference of losses.
const LOSS: f64 = 1e-4;
/// Smallest cosine between gradients.
const COSINE: f64 = 0.999;

#[test]
fn coarse_tasks_need_no_more_than_single_precision() {
    for task in TASKS {
        let double = in_precision::<f64>(task.name, Size::Coarse, Some(ACTIONS)).unwrap();
        let single = in_precision::<f32>(task.name, Size::Coarse, Some(ACTIONS)).unwrap();
        let mut random = Random::new(5);
        for _ in 0..2 {
            let x: Vec<f64> = double.bounds().iter().map(|(low, high)| random.uniform(*low, *high)).collect();
            let (mut g, mut h) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            let loss = double.value_grad(&x, &mut g).unwrap();
            let error = (single.value_grad(&x, &mut h).unwrap() - loss).abs() / loss.abs();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let cosine = dot(&g, &h) / (dot(&g, &g) * dot(&h, &h)).sqrt();
            assert!(error < LOSS && cosine > COSINE, "{}: {error:.1e}, {cosine}", task.name);
            // Two numbers, not one: the precision does differ.
            assert!(error > 0.0 || g != h, "{} did not run in f32", task.name);
        }
    }
}
