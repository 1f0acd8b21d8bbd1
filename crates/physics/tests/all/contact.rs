//! Contact of a point with a surface: bounces, restitution, duration, rest height.

use std::f64::consts::PI;

use crate::common::{fixed, states};
use pullback_core::integrator::Method;
use pullback_physics::point_mass::{ContactDamping, ElasticPointMass, PenaltyPointMass};

#[test]
fn an_ideal_elastic_bounce_returns_exactly() {
    // Binary fractions throughout, so that not a bit may be lost; impact at and between steps.
    for start in [1.0, 15.0 / 16.0, 29.0 / 32.0] {
        let system = ElasticPointMass::new(0.125, true).unwrap();
        let steps = 16;
        let all = states(&system, &[1.0, 0.0], &[start, -1.0], &[], steps);
        let end = &all[steps];
        assert_eq!(end[1], 1.0);
        assert_eq!(end[0], 0.125 * steps as f64 - start, "released at {start}");
        assert!(all.iter().all(|s| s[0] >= 0.0), "went below the surface");
    }
}

#[test]
fn without_the_time_of_impact_the_bounce_is_off_by_less_than_a_step() {
    let system = ElasticPointMass::new(0.125, false).unwrap();
    let mut off = 0.0f64;
    for start in [1.0, 0.97, 15.0 / 16.0, 0.9] {
        let end = states(&system, &[1.0, 0.0], &[start, -1.0], &[], 16)[16].clone();
        assert_eq!(end[1], 1.0);
        off = off.max((end[0] - (2.0 - start)).abs());
    }
    assert!(off > 0.01 && off <= 0.25, "{off}");
}

#[test]
fn restitution_is_the_ratio_of_speeds() {
    for time_of_impact in [false, true] {
        for restitution in [0.0, 0.3, 0.8, 1.0] {
            let system = ElasticPointMass::new(0.01, time_of_impact).unwrap();
            let end = states(&system, &[restitution, 0.0], &[0.333, -2.0], &[], 40)[40].clone();
            assert_eq!(end[1], restitution * 2.0);
            if time_of_impact {
                // 0.1665 s down, the rest of 0.4 s up.
                let exact = 2.0 * restitution * (0.4 - 0.333 / 2.0);
                assert!((end[0] - exact).abs() < 1e-14, "{} against {exact}", end[0]);
            }
        }
    }
}

#[test]
fn free_flight_is_a_parabola() {
    let (gravity, dt, steps) = (9.81, 0.01, 30);
    let exact = |t: f64| 5.0 + 2.0 * t - 0.5 * gravity * t * t;
    let field = PenaltyPointMass::new(ContactDamping::ByDepth);
    let rk4 = states(&fixed(field, dt, Method::Rk4), &[50.0, 18.0, gravity], &[5.0, 2.0], &[], steps);
    let bounce = states(&ElasticPointMass::new(dt, true).unwrap(), &[1.0, gravity], &[5.0, 2.0], &[], steps);
    for i in 0..=steps {
        let t = dt * i as f64;
        assert!((rk4[i][0] - exact(t)).abs() < 1e-13);
        assert!((rk4[i][1] - (2.0 - gravity * t)).abs() < 1e-13);
        // Semi-implicit Euler lags by exactly g t dt / 2.
        assert!((bounce[i][0] - (exact(t) - 0.5 * gravity * t * dt)).abs() < 1e-13);
    }
}

/// When a trajectory enters and leaves the surface, to first order between steps, and the last velocity.
fn contact(all: &[Vec<f64>], dt: f64) -> (f64, f64) {
    let zero = |falling: bool| {
        let crosses = |w: &[Vec<f64>]| {
            if falling { w[0][0] > 0.0 && w[1][0] <= 0.0 } else { w[0][0] <= 0.0 && w[1][0] > 0.0 }
        };
        let i = all.windows(2).position(crosses).expect("no crossing");
        dt * (i as f64 + all[i][0] / (all[i][0] - all[i + 1][0]))
    };
    (zero(false) - zero(true), all[all.len() - 1][1])
}

#[test]
fn a_linear_surface_pushes_for_half_a_period_and_returns_its_share() {
    // a = −k q − c v: half a period π/ω of a damped oscillator, ω² = k − c²/4, speed e^(−cπ/2ω).
    let dt = 1e-4;
    for (stiffness, damping) in [(50.0, 0.0), (50.0, 1.0), (200.0, 5.0)] {
        let system = fixed(PenaltyPointMass::new(ContactDamping::Plain), dt, Method::Rk4);
        let all = states(&system, &[stiffness, damping, 0.0], &[0.1, -1.0], &[], 8000);
        let omega = f64::sqrt(stiffness - damping * damping / 4.0);
        let (duration, speed) = contact(&all, dt);
        let (exact, share) = (PI / omega, (-damping * PI / (2.0 * omega)).exp());
        assert!((duration - exact).abs() < 2.0 * dt, "{duration} s, exact {exact} s");
        assert!((speed - share).abs() < 1e-3, "{speed} returned, exact {share}");
    }
}

#[test]
fn damping_that_grows_with_depth_returns_the_share_its_integral_gives() {
    // a = −k q + c q v along the depth x = −q: v dv/dx = −x (k + c v) downwards gives, with s(v) = v/c − k/c²
    // ln(1 + cv/k), the same s for the speeds in (v > 0) and out (v < 0).
    let (stiffness, damping): (f64, f64) = (50.0, 18.0);
    let s = |v: f64| v / damping - stiffness / damping.powi(2) * (1.0 + damping * v / stiffness).ln();
    let system = fixed(PenaltyPointMass::new(ContactDamping::ByDepth), 1e-4, Method::Rk4);
    let all = states(&system, &[stiffness, damping, 0.0], &[0.1, -1.0], &[], 8000);
    let (_, out) = contact(&all, 1e-4);
    assert!((s(1.0) - s(-out)).abs() < 1e-7 * s(1.0), "{:e} in, {:e} out at {out} m/s", s(1.0), s(-out));
    assert!((0.7..0.9).contains(&out), "about 0.8 of the speed, as documented: {out}");
}

#[test]
fn at_rest_the_surface_carries_the_weight() {
    let gravity = 9.81;
    for (onset, damping) in [(ContactDamping::Plain, 2.0), (ContactDamping::ByDepth, 18.0)] {
        for stiffness in [50.0, 400.0] {
            let damping = damping * stiffness / 50.0;
            for method in [Method::SemiImplicitEuler, Method::Rk4] {
                let system = fixed(PenaltyPointMass::new(onset), 0.005, method);
                let params = [stiffness, damping, gravity];
                let end = states(&system, &params, &[0.0, 0.0], &[], 8000)[8000].clone();
                let exact = -gravity / stiffness;
                assert!(
                    (end[0] / exact - 1.0).abs() < 1e-9,
                    "{onset:?}, {method:?}: rests at {} m, not {exact} m",
                    end[0]
                );
                assert!(end[1].abs() < 1e-9);
            }
        }
    }
}
