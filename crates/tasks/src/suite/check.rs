//! The shared gradient validator on a whole task: variables in, loss out.

use pullback_core::directions::{Direction, gradcheck_along};
use pullback_core::gradcheck::{Differentiable, Options, Report, Verdict, gradcheck};
use pullback_core::random::Random;
use pullback_optim::Objective;

/// Every variable at `x`.
pub fn every_entry(task: &impl Differentiable, x: &[f64], options: &Options) -> Report {
    gradcheck(task, x, options)
}

/// Along `count` random directions, each entry up to `scale` of its range.
pub fn along<T: Differentiable + Objective>(
    task: &T,
    x: &[f64],
    count: usize,
    scale: f64,
    options: &Options,
) -> Report {
    let mut random = Random::new(options.seed + 5);
    let bounds = task.bounds();
    let mut direction =
        || bounds.iter().map(|(low, high)| scale * (high - low) * random.uniform(-1.0, 1.0)).collect();
    let directions: Vec<_> =
        (0..count).map(|i| Direction { name: format!("direction {i}"), entries: direction() }).collect();
    gradcheck_along(task, x, &directions, options)
}

/// All three ways agree, and no kink excuses any of them.
#[track_caller]
pub fn smooth(report: &Report) {
    report.assert_passed();
    assert!(report.entries.iter().all(|e| e.verdict == Verdict::Ok), "{report}");
}

/// A point of the box by its seed.
pub fn random_point(task: &impl Objective, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    task.bounds().iter().map(|(low, high)| random.uniform(*low, *high)).collect()
}

/// Bounds are finite and in order, the start is inside, and every list has one entry per variable.
#[track_caller]
pub fn well_posed(task: &dyn Objective, dimension: usize) {
    let (bounds, start) = (task.bounds(), task.start());
    assert_eq!([task.names().len(), task.units().len(), bounds.len(), start.len()], [dimension; 4]);
    for ((low, high), x) in bounds.iter().zip(&start) {
        assert!(low.is_finite() && high.is_finite() && low <= x && x <= high, "{x} in [{low}, {high}]");
    }
}
