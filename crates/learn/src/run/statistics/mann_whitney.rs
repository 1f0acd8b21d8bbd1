//! The rank test of Mann and Whitney, exact with and without ties.
//!
//! If the groups do not differ, every choice of n of the n + m ranks is as likely as any other. The number of
//! choices with a given sum of ranks is counted rank by rank (dynamic programming). Ranks of tied values are
//! their mean; twice a rank is a whole number.

use serde::Serialize;

/// Values of both groups beyond which counting takes seconds.
const MOST: usize = 200;

/// Result of the test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MannWhitney {
    /// Pairs in which the first group has the larger value; ties count half.
    pub u: f64,
    /// Probability of a U as far out if the groups do not differ: twice that of the smaller tail.
    pub p: f64,
    /// The least p that groups of these sizes can have: that of groups that do not overlap.
    pub least_p: f64,
}

/// The test; `None` if a group is empty or both have more than 200 values together.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    let (n, total) = (a.len(), a.len() + b.len());
    if a.is_empty() || b.is_empty() || total > MOST {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks: Vec<usize> = all.iter().map(|x| doubled_rank(*x, &all)).collect();
    let sum: usize = ranks[..n].iter().sum();
    let counts = choices_by_sum(&ranks, n);
    let every: f64 = counts.iter().sum();
    let below: f64 = counts[..=sum].iter().sum();
    let above: f64 = counts[sum..].iter().sum();
    // U = R − n (n + 1) / 2
    let u = 0.5 * sum as f64 - 0.5 * (n * (n + 1)) as f64;
    Some(MannWhitney { u, p: (2.0 * below.min(above) / every).min(1.0), least_p: (2.0 / every).min(1.0) })
}

/// Twice the mean rank of `x`: 2 #{y < x} + #{y = x} + 1.
fn doubled_rank(x: f64, all: &[f64]) -> usize {
    let smaller = all.iter().filter(|y| **y < x).count();
    let equal = all.iter().filter(|y| **y == x).count();
    2 * smaller + equal + 1
}

/// How many choices of `n` of the ranks have each sum.
fn choices_by_sum(ranks: &[usize], n: usize) -> Vec<f64> {
    let width = ranks.iter().sum::<usize>() + 1;
    // counts[k][s]: choices of k ranks with sum s among those seen.
    let mut counts = vec![vec![0.0; width]; n + 1];
    counts[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        for k in (1..=n.min(seen + 1)).rev() {
            let (fewer, with) = counts.split_at_mut(k);
            for sum in *rank..width {
                with[0][sum] += fewer[k - 1][sum - rank];
            }
        }
    }
    counts.swap_remove(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &[f64], b: &[f64], u: f64, p: f64) {
        let ours = mann_whitney(a, b).unwrap();
        assert!(ours.u == u && (ours.p / p - 1.0).abs() < 1e-12, "{ours:?}");
    }

    #[test]
    fn small_samples_are_those_of_scipy() {
        let (a, b) = ([4123.0, 3987.0, 4301.0], [3610.0, 3402.0, 3855.0]);
        let c = [2900.0, 3950.0, 3100.0, 3333.0, 2875.0];
        check(&a, &b, 9.0, 0.1);
        check(&a, &c, 15.0, 0.03571428571428571);
        check(&b, &c, 12.0, 0.25);
        let a = [0.126, -0.132, 0.64, 0.105, -0.536, 0.362, 1.304, 0.947];
        check(&a, &[0.296, -0.265, 0.377, 1.041, -1.325, 0.781, -0.246], 32.0, 0.6943278943278944);
    }

    #[test]
    fn larger_samples_are_those_of_scipy() {
        let a: Vec<f64> = (0..25).map(|i| 0.31 * i as f64 % 7.0).collect();
        let b: Vec<f64> = (0..30).map(|i| 1.1 + 0.47 * i as f64 % 6.5).collect();
        check(&a, &b, 289.0, 0.14945186334793664);
    }

    #[test]
    fn ties_are_those_of_permutations_in_scipy() {
        let c = [2900.0, 3950.0, 3100.0, 3333.0, 2875.0];
        check(&c, &[3000.0, 3950.0, 3100.0, 3000.0, 2875.0, 4000.0], 13.5, 0.8614718614718615);
        check(&[1.0, 1.0], &[1.0, 1.0, 1.0], 3.0, 1.0);
    }

    #[test]
    fn the_least_p_is_that_of_separated_groups() {
        let apart = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!(apart.p, apart.least_p);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }
}
