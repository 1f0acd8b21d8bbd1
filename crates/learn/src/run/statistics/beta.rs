//! The regularized incomplete beta function, of which the distribution of Student's t is made.
//!
//! Relative error: 10⁻¹² at parameters up to 100, 10⁻¹¹ at 1000, where logarithms of the gamma function cancel.

/// Iterations of the continued fraction; about √max(a, b) are needed.
const MOST_ITERATIONS: usize = 100_000;

/// ln Γ(x) of x > 0: Stirling's series above 10, reached by Γ(x) = Γ(x + 1) / x.
pub fn ln_gamma(x: f64) -> f64 {
    // B_2k / (2k (2k − 1)), k = 1, 2, …
    const SERIES: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    // ln Γ(x) = (x − ½) ln x − x + ½ ln 2π + Σ SERIES_k / x^(2k−1)
    let tail = SERIES.iter().rev().fold(0.0, |sum, term| sum / (x * x) + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + tail - f64::ln(product)
}

/// I_x(a, b) = ∫₀ˣ t^(a−1) (1 − t)^(b−1) dt / B(a, b) of x in [0, 1].
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast below the mean of the distribution: I_x(a, b) = 1 − I_{1−x}(b, a).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    // x^a (1 − x)^b / (a B(a, b))
    let ln_beta = ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta).exp() / a;
    front * fraction(a, b, x)
}

/// 1 / (1 + d₁/(1 + d₂/(1 + …))) by the modified method of Lentz, with
/// d₂ₘ = m (b − m) x / ((a + 2m − 1)(a + 2m)) and d₂ₘ₊₁ = −(a + m)(a + b + m) x / ((a + 2m)(a + 2m + 1)).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let (mut c, mut d, mut value) = (1.0, 0.0, 1.0);
    for k in 1..MOST_ITERATIONS {
        let m = (k / 2) as f64;
        let term = match k % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / away_from_zero(1.0 + term * d);
        c = away_from_zero(1.0 + term / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 / value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_function_is_that_of_scipy() {
        let known = [
            (0.5, 0.5723649429247),
            (1.0, 0.0),
            (1.5, -0.12078223763524526),
            (3.7, 1.428072326665388),
            (10.0, 12.801827480081469),
            (100.5, 361.43554046777757),
        ];
        for (x, value) in known {
            assert!((ln_gamma(x) - value).abs() < 1e-14 * (1.0 + value.abs()), "{x}: {}", ln_gamma(x));
        }
    }

    #[test]
    fn the_incomplete_beta_function_is_that_of_scipy() {
        let known = [
            (0.5, 0.5, 0.3, 0.36901011956554536),
            (1.0, 0.5, 0.9, 0.6837722339831621),
            (2.5, 0.5, 0.01, 3.4075027649461746e-06),
            (30.0, 0.5, 0.97, 0.17821754497024148),
            (3.0, 7.0, 0.2, 0.26180249600000016),
            (50.0, 60.0, 0.5, 0.8309072939016693),
            (1000.0, 0.5, 0.999, 0.15724727426672383),
        ];
        for (a, b, x, value) in known {
            let ours = incomplete_beta(a, b, x);
            assert!(
                (ours / value - 1.0).abs() < if a < 1000.0 { 1e-12 } else { 1e-11 },
                "{a} {b} {x}: {ours} {value}"
            );
        }
        assert_eq!((incomplete_beta(2.0, 3.0, 0.0), incomplete_beta(2.0, 3.0, 1.0)), (0.0, 1.0));
    }
}
