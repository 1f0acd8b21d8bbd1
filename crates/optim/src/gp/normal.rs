//! The normal distribution, to rounding, also far in its tail.
//!
//! Left of −1 everything follows from the continued fraction of Mills' ratio (Abramowitz and Stegun 26.2.14),
//!   Φ(−t)/φ(t) = 1/(t + C),  C = 1/(t + 2/(t + 3/(t + …))),
//! which also gives h(−t) = φ(t) − t Φ(−t) = φ(t) C/(t + C) without a difference; elsewhere from the series
//! 26.2.11.

use std::f64::consts::{PI, TAU};

/// φ(u).
pub fn density(u: f64) -> f64 {
    (-0.5 * u * u).exp() / TAU.sqrt()
}

/// Φ(u).
pub(crate) fn cumulative(u: f64) -> f64 {
    if u < -1.0 {
        density(u) / (tail(-u) - u)
    } else if u > 5.0 {
        1.0 - cumulative(-u)
    } else {
        // Φ = ½ + φ (u + u³/3 + u⁵/15 + …)
        let (mut term, mut sum, mut odd) = (u, u, 1.0);
        while term.abs() > 1e-17 {
            odd += 2.0;
            term *= u * u / odd;
            sum += term;
        }
        0.5 + density(u) * sum
    }
}

/// ln h(u) and its derivative Φ/h, where h(u) = φ(u) + u Φ(u) is the expected improvement in units of the
/// deviation.
pub(crate) fn log_improvement(u: f64) -> (f64, f64) {
    if u < -1.0 {
        let c = tail(-u);
        (-0.5 * u * u - 0.5 * (2.0 * PI).ln() + (c / (c - u)).ln(), 1.0 / c)
    } else {
        let below = cumulative(u);
        let h = density(u) + u * below;
        (h.ln(), below / h)
    }
}

/// C of the continued fraction at t ≥ 1; its terms fall as e^(−2t√(2n)).
fn tail(t: f64) -> f64 {
    let terms = 8 + (250.0 / (t * t)) as usize;
    let mut below = t;
    for i in (2..=terms).rev() {
        below = t + i as f64 / below;
    }
    1.0 / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_symmetry() {
        // Φ(−1), Φ(1.96), Φ(−5), Φ(−10) from tables.
        for (u, expected) in [
            (-1.0, 0.158_655_253_931_457_05),
            (1.96, 0.975_002_104_851_779_5),
            (-5.0, 2.866_515_718_791_939e-7),
            (-10.0, 7.619_853_024_160_527e-24),
        ] {
            assert!((cumulative(u) / expected - 1.0).abs() < 1e-12, "{u}: {}", cumulative(u));
        }
        for i in 0..200 {
            let u = -10.0 + 0.1 * f64::from(i);
            assert!((cumulative(u) + cumulative(-u) - 1.0).abs() < 1e-14);
        }
        assert!((cumulative(-1.0 - 1e-12) / cumulative(-1.0 + 1e-12) - 1.0).abs() < 1e-11);
    }

    #[test]
    fn the_logarithm_of_the_improvement_holds_far_away() {
        for i in 0..400 {
            let u = -30.0 + 0.1 * f64::from(i) + 0.05;
            let h = 1e-5;
            let numeric = (log_improvement(u + h).0 - log_improvement(u - h).0) / (2.0 * h);
            let own = log_improvement(u).1;
            assert!((numeric - own).abs() < 1e-6 * (1.0 + own), "{u}: {numeric} {own}");
        }
        // h(u) → φ(u)/u² far left, and u far right.
        let far = -1e6_f64;
        let expected = -0.5 * far * far - 0.5 * TAU.ln() - 2.0 * far.abs().ln();
        assert!((log_improvement(far).0 - expected).abs() < 1e-3);
        assert!((log_improvement(20.0).0 - 20.0_f64.ln()).abs() < 1e-14);
    }
}
