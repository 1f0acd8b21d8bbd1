//! More points than one factor can hold: a coarse view of all, and sharp views of neighborhoods.
//!
//! Above a limit the model keeps one posterior over a selection of the points, half of them the lowest and
//! the rest drawn at random, to compare distant regions; what is said about a place in the end comes from a
//! fresh posterior of its nearest neighbors in the scaled distance, with the same hyperparameters. Where the
//! kernel has died out beyond the neighbors this is the exact answer; otherwise it knows less than the data,
//! so its deviation is too wide rather than too narrow.

use pullback_core::random::Random;

use super::hyper::draw;
use super::kernel::{Kernel, Points};
use super::posterior::{Hyper, Posterior};

/// At most `count` points: the lower half of them the lowest, the rest at random.
pub(crate) fn selection(y: &[f64], count: usize, random: &mut Random) -> Vec<usize> {
    if y.len() <= count {
        return (0..y.len()).collect();
    }
    let mut order: Vec<usize> = (0..y.len()).collect();
    order.sort_by(|a, b| y[*a].total_cmp(&y[*b]));
    let (lowest, others) = order.split_at(count / 2);
    let drawn = draw(others.len(), count - lowest.len(), random);
    let mut which: Vec<usize> = lowest.iter().copied().chain(drawn.into_iter().map(|i| others[i])).collect();
    which.sort_unstable();
    which
}

/// The posterior of the `count` points nearest to `z`.
pub fn nearest_posterior(
    kernel: Kernel,
    hyper: &Hyper,
    (points, y): (&Points, &[f64]),
    z: &[f64],
    count: usize,
) -> Option<Posterior> {
    let mut squares = vec![0.0; points.len()];
    points.squares(0, z, &hyper.scales, &mut squares);
    let mut order: Vec<usize> = (0..points.len()).collect();
    if count < order.len() {
        order.select_nth_unstable_by(count, |a, b| squares[*a].total_cmp(&squares[*b]));
        order.truncate(count);
        order.sort_unstable();
    }
    let near: Vec<f64> = order.iter().map(|i| y[*i]).collect();
    Posterior::new(kernel, hyper.clone(), points.subset(&order), &near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp::posterior::Predict;

    #[test]
    fn neighbors_say_what_all_points_say() {
        let (mut random, mut points, mut y) = (Random::new(8), Points::new(2), Vec::new());
        for _ in 0..800 {
            let z = [random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)];
            points.push(&z);
            y.push((4.0 * z[0]).sin() + (3.0 * z[1]).cos());
        }
        let hyper = Hyper { scales: vec![0.2, 0.2], signal: 1.0, noise: 1e-4 };
        let all = Posterior::new(Kernel::Matern52, hyper.clone(), points.clone(), &y).unwrap();
        for _ in 0..30 {
            let z = vec![random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)];
            let near = nearest_posterior(Kernel::Matern52, &hyper, (&points, &y), &z, 150).unwrap();
            let (a, b) =
                (all.predict(std::slice::from_ref(&z), false), near.predict(std::slice::from_ref(&z), false));
            assert!((a.mean[0] - b.mean[0]).abs() < 2e-3, "{} {}", a.mean[0], b.mean[0]);
            assert!(b.sd[0] >= a.sd[0] - 1e-9 && b.sd[0] < 1.05 * a.sd[0] + 1e-4);
        }
    }

    #[test]
    fn the_selection_has_the_lowest_and_no_doubles() {
        let y: Vec<f64> = (0..1000).map(|i| f64::from((i * 37) % 1000)).collect();
        let which = selection(&y, 100, &mut Random::new(1));
        assert_eq!(which.len(), 100);
        assert!(which.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(which.iter().filter(|i| y[**i] < 50.0).count(), 50);
    }
}
