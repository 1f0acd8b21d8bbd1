//! The percentile bootstrap: the spread of means of resampled values.
//!
//! Random numbers are a fixed stream, so that the same values have the same interval.

use pullback_core::random::Random;

use super::{LEVEL, mean};

/// Fewer values have too few different resamples: four have 35.
pub const FEWEST: usize = 5;

const RESAMPLES: usize = 4000;

/// 95 % interval of the mean of at least one value.
pub fn bootstrap_interval(values: &[f64]) -> (f64, f64) {
    let mut random = Random::new(0);
    let n = values.len();
    // The high half of a product of 64-bit numbers is uniform in 0..n.
    let mut draw = || values[((u128::from(random.bits()) * n as u128) >> 64) as usize];
    let resampled = |_| mean(&(0..n).map(|_| draw()).collect::<Vec<f64>>());
    let mut means: Vec<f64> = (0..RESAMPLES).map(resampled).collect();
    means.sort_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - LEVEL);
    (quantile(&means, tail), quantile(&means, 1.0 - tail))
}

/// Of sorted values, linear between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (i, t) = (place as usize, place.fract());
    sorted[i] + t * (sorted[(i + 1).min(sorted.len() - 1)] - sorted[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_near_that_of_a_million_resamples_in_scipy() {
        let (low, high) = bootstrap_interval(&[2900.0, 3950.0, 3100.0, 3333.0, 2875.0]);
        assert!((low / 2930.0 - 1.0).abs() < 0.005 && (high / 3611.6 - 1.0).abs() < 0.005, "{low} {high}");
        assert_eq!(bootstrap_interval(&[2.0; 5]), (2.0, 2.0));
    }
}
