//! Student's t: the interval of a mean, and Welch's test of two means whose variances differ.

use serde::Serialize;

use super::beta::incomplete_beta;
use super::{LEVEL, mean, variance};

/// Result of Welch's test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Welch {
    /// Difference of means over its standard error.
    pub t: f64,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub freedom: f64,
    /// Probability of a |t| as large if the means are equal.
    pub p: f64,
}

/// P(|T| > |t|) with ν degrees of freedom.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    // P(|T| > t) = I_{ν/(ν+t²)}(ν/2, ½)
    incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t))
}

/// The t that |T| stays below with probability `level`, by bisection.
pub fn two_sided_quantile(level: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > 1.0 - level && high < 1e300 {
        high *= 2.0;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if two_sided(middle, freedom) > 1.0 - level { low = middle } else { high = middle }
    }
}

/// 95 % interval of the mean; `None` of fewer than two values.
pub fn student_interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    (values.len() > 1).then(|| {
        let half = two_sided_quantile(LEVEL, n - 1.0) * (variance(values) / n).sqrt();
        (mean(values) - half, mean(values) + half)
    })
}

/// Welch's test; `None` if a group has fewer than two values.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Welch> {
    if a.len().min(b.len()) < 2 {
        return None;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (va, vb) = (variance(a) / n, variance(b) / m);
    let difference = mean(a) - mean(b);
    if va + vb == 0.0 {
        // Values that do not vary: the limit of small variances.
        let (t, p) = if difference == 0.0 { (0.0, 1.0) } else { (difference * f64::INFINITY, 0.0) };
        return Some(Welch { t, freedom: n + m - 2.0, p });
    }
    let t = difference / (va + vb).sqrt();
    // ν = (va + vb)² / (va² / (n − 1) + vb² / (m − 1))
    let freedom = (va + vb).powi(2) / (va * va / (n - 1.0) + vb * vb / (m - 1.0));
    Some(Welch { t, freedom, p: two_sided(t, freedom) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, scipy: f64) {
        assert!((ours - scipy).abs() <= 1e-11 * scipy.abs(), "{ours} {scipy}");
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        let known = [
            (1.0, 12.706204736174694),
            (2.0, 4.302652729749462),
            (3.0, 3.1824463052837078),
            (4.5, 2.6589123472044034),
            (9.0, 2.262157162798205),
            (30.0, 2.0422724563012378),
            (1000.0, 1.9623390808264083),
        ];
        known.into_iter().for_each(|(freedom, value)| close(two_sided_quantile(0.95, freedom), value));
        close(two_sided_quantile(0.6, 5.0), 0.9195437802408271);
        close(two_sided_quantile(0.8, 2.5), 1.7302509288071761);
    }

    #[test]
    fn tails_are_those_of_scipy() {
        let known = [
            (0.0, 3.0, 1.0),
            (1.0, 1.0, 0.5),
            (-2.5, 4.0, 0.06676654481198814),
            (12.0, 2.2, 0.004783413875517491),
            (40.0, 8.0, 1.6785718879145792e-10),
        ];
        known.into_iter().for_each(|(t, freedom, p)| close(two_sided(t, freedom), p));
    }

    const A: [f64; 3] = [4123.0, 3987.0, 4301.0];
    const B: [f64; 3] = [3610.0, 3402.0, 3855.0];
    const C: [f64; 5] = [2900.0, 3950.0, 3100.0, 3333.0, 2875.0];

    #[test]
    fn the_test_of_welch_is_that_of_scipy() {
        let known: [(&[f64], &[f64], [f64; 3]); 3] = [
            (&A, &B, [3.2290445695540138, 3.565047543458188, 0.03775192147657719]),
            (&A, &C, [4.16275231432725, 5.389803860208991, 0.007484099814941759]),
            (&B, &C, [1.6485048223468617, 5.978509076159608, 0.15052288089613858]),
        ];
        for (a, b, [t, freedom, p]) in known {
            let ours = welch(a, b).unwrap();
            close(ours.t, t);
            close(ours.freedom, freedom);
            close(ours.p, p);
            close(welch(b, a).unwrap().t, -t);
        }
    }

    #[test]
    fn the_interval_is_that_of_scipy() {
        let (low, high) = student_interval(&A).unwrap();
        close(low, 3745.829151803675);
        close(high, 4528.170848196325);
        let (low, high) = student_interval(&C).unwrap();
        close(low, 2683.0074676701756);
        close(high, 3780.192532329824);
    }

    #[test]
    fn a_single_value_and_values_that_do_not_vary_have_an_answer() {
        assert_eq!((welch(&[1.0], &A), student_interval(&[1.0])), (None, None));
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).unwrap().p, 1.0);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]).unwrap().p, 0.0);
    }
}
