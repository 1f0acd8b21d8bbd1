//! Periods of pendula: small and large swings, the limit of a light lower mass, normal modes.

use std::f64::consts::{PI, TAU};

use crate::common::{first_zero, fixed, states};
use pullback_core::integrator::Method;
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};

const DT: f64 = 1e-3;

/// Period of a swing released at `angle`: four times the way to the bottom.
fn period(length: f64, gravity: f64, angle: f64) -> f64 {
    let system = fixed(SimplePendulum::default(), DT, Method::Rk4);
    let all = states(&system, &[length, 1.7, 0.0, gravity], &[angle, 0.0], &[0.0], 4000);
    4.0 * first_zero(&all, 0, DT)
}

/// Arithmetic-geometric mean.
fn agm(mut a: f64, mut b: f64) -> f64 {
    while (a - b).abs() > 1e-15 * a {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    a
}

#[test]
fn small_swings_take_two_pi_root_l_over_g() {
    for (length, gravity) in [(1.0, 9.81), (0.4, 9.81), (1.0, 1.62)] {
        let ideal = TAU * f64::sqrt(length / gravity);
        for angle in [0.02, 0.1] {
            let seen = period(length, gravity, angle);
            let second_order = ideal * (1.0 + angle * angle / 16.0);
            // The next term of the series is 11/3072 θ⁴.
            let next = ideal * 11.0 / 3072.0 * angle.powi(4);
            assert!((seen - second_order).abs() < 1.1 * next + 1e-8, "{seen} against {second_order}");
            assert!((seen - ideal).abs() > 10.0 * (seen - second_order).abs(), "the amplitude does not show");
        }
    }
}

#[test]
fn large_swings_take_the_elliptic_integral() {
    for angle in [0.5, 1.5, 2.5, 3.0] {
        // T = 2π √(l/g) / agm(1, cos θ₀/2)
        let exact = TAU * f64::sqrt(1.0 / 9.81) / agm(1.0, f64::cos(angle / 2.0));
        let seen = period(1.0, 9.81, angle);
        assert!((seen / exact - 1.0).abs() < 1e-8, "released at {angle}: {seen} s, exact {exact} s");
    }
}

#[test]
fn mass_does_not_change_the_swing() {
    let run = |mass: f64| {
        let system = fixed(SimplePendulum::default(), 0.01, Method::Rk4);
        states(&system, &[1.0, mass, 0.0, 9.81], &[2.0, 0.0], &[0.0], 500)
    };
    let (light, heavy) = (run(0.1), run(50.0));
    let worst = light.iter().zip(&heavy).map(|(a, b)| (a[0] - b[0]).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-11, "{worst:e}");
}

#[test]
fn friction_rings_down_at_its_rate() {
    // Small swings: θ = θ₀ e^(−γt) (cos ωt + γ/ω sin ωt), γ = c / 2ml², ω² = g/l − γ².
    let (length, mass, damping, gravity) = (0.9, 1.4, 0.8, 9.81);
    let gamma = damping / (2.0 * mass * length * length);
    let omega = f64::sqrt(gravity / length - gamma * gamma);
    let system = fixed(SimplePendulum::default(), 0.005, Method::Rk4);
    let amplitude = 1e-4;
    let all = states(&system, &[length, mass, damping, gravity], &[amplitude, 0.0], &[0.0], 1000);
    for (i, s) in all.iter().enumerate() {
        let t = 0.005 * i as f64;
        let exact = (-gamma * t).exp() * ((omega * t).cos() + gamma / omega * (omega * t).sin());
        assert!((s[0] / amplitude - exact).abs() < 1e-7, "at {t} s: {} against {exact}", s[0] / amplitude);
    }
}

#[test]
fn a_light_lower_mass_leaves_a_simple_pendulum() {
    let (length, mass, damping) = (0.9, 1.3, 0.2);
    let start = [1.8, 0.6];
    let simple = fixed(SimplePendulum::default(), 0.002, Method::Rk4);
    let simple = states(&simple, &[length, mass, damping, 9.81], &start, &[0.3], 1500);
    let apart = |lower: f64| {
        let double = fixed(DoublePendulum::default(), 0.002, Method::Rk4);
        let params = [length, mass, damping, 0.7, lower, 0.0, 9.81];
        let double = states(&double, &params, &[start[0], 1.0, start[1], -0.4], &[0.3, 0.0], 1500);
        simple.iter().zip(&double).map(|(a, b)| (a[0] - b[0]).abs()).fold(0.0, f64::max)
    };
    let (some, little) = (apart(1e-6), apart(1e-9));
    assert!(little < 1e-7, "{little:e}");
    assert!(
        (300.0..3000.0).contains(&(some / little)),
        "not in proportion to the mass: {some:e}, {little:e}"
    );
}

#[test]
fn small_oscillations_have_the_frequencies_of_the_normal_modes() {
    for [l1, m1, l2, m2] in [[1.0, 1.0, 1.0, 1.0], [0.7, 1.5, 1.2, 0.6]] {
        let g = 9.81;
        // det(K − ω² M) = 0 at θ = 0, a quadratic a ω⁴ − b ω² + c.
        let (m11, m12, m22) = ((m1 + m2) * l1 * l1, m2 * l1 * l2, m2 * l2 * l2);
        let (k1, k2) = ((m1 + m2) * g * l1, m2 * g * l2);
        let (a, b, c): (f64, f64, f64) = (m11 * m22 - m12 * m12, m11 * k2 + m22 * k1, k1 * k2);
        let root = (b * b - 4.0 * a * c).sqrt();
        for square in [(b - root) / (2.0 * a), (b + root) / (2.0 * a)] {
            // (K − ω² M) shape = 0
            let amplitude = 1e-4;
            let shape = [amplitude, amplitude * (k1 - square * m11) / (square * m12)];
            let system = fixed(DoublePendulum::default(), DT, Method::Rk4);
            let all = states(
                &system,
                &[l1, m1, 0.0, l2, m2, 0.0, g],
                &[shape[0], shape[1], 0.0, 0.0],
                &[0.0; 2],
                1500,
            );
            let quarter = PI / (2.0 * square.sqrt());
            for entry in [0, 1] {
                let seen = first_zero(&all, entry, DT);
                assert!((seen / quarter - 1.0).abs() < 1e-6, "{seen} s, a quarter period is {quarter} s");
            }
        }
    }
    // Equal rods and masses: ω² = (2 ± √2) g/l, the textbook case.
    let (a, b, c) = (1.0f64, 4.0 * 9.81, 2.0 * 9.81 * 9.81);
    let square = (b - (b * b - 4.0 * a * c).sqrt()) / 2.0;
    assert!((square / ((2.0 - 2f64.sqrt()) * 9.81) - 1.0).abs() < 1e-12);
}
