//! Angular momentum of the double pendulum about its pivot: only the pivot's torque and gravity change it.

use crate::common::{fixed, states};
use pullback_core::integrator::Method;
use pullback_physics::pendulum::{DoublePendulum, DoublePendulumParams};

/// L = ∂T/∂ω₁ + ∂T/∂ω₂
fn angular_momentum(params: &[f64], s: &[f64]) -> f64 {
    let DoublePendulumParams { upper, lower, .. } = DoublePendulum::default().param_block().read(params);
    let (l1, m1, l2, m2) = (upper.length, upper.mass, lower.length, lower.mass);
    let coupling = m2 * l1 * l2 * (s[0] - s[1]).cos();
    ((m1 + m2) * l1 * l1 + coupling) * s[2] + (m2 * l2 * l2 + coupling) * s[3]
}

/// Largest |L(t) − L(0) − τ₁ t|, and the largest change of the relative rate.
fn defect(params: &[f64], torque: [f64; 2]) -> (f64, f64) {
    let dt = 0.001;
    let start = [0.9, -0.4, 1.3, -0.5];
    let system = fixed(DoublePendulum::default(), dt, Method::Rk4);
    let all = states(&system, params, &start, &torque, 2000);
    let first = angular_momentum(params, &start);
    let mut worst = (0.0f64, 0.0f64);
    for (i, s) in all.iter().enumerate() {
        let expected = first + torque[0] * dt * i as f64;
        worst.0 = worst.0.max((angular_momentum(params, s) - expected).abs());
        worst.1 = worst.1.max((s[3] - s[2] - start[3] + start[2]).abs());
    }
    worst
}

#[test]
fn internal_torque_and_friction_conserve_angular_momentum() {
    // No gravity, no friction in the pivot; the elbow has both motor and friction.
    let params = [0.9, 1.2, 0.0, 1.1, 0.8, 0.4, 0.0];
    let (defect, motion) = defect(&params, [0.0, 1.5]);
    assert!(defect < 1e-9, "{defect:e}");
    assert!(motion > 0.5, "the elbow did not move");
}

#[test]
fn the_pivot_s_torque_adds_momentum_at_its_rate() {
    let params = [0.9, 1.2, 0.0, 1.1, 0.8, 0.4, 0.0];
    let (defect, _) = defect(&params, [0.6, -0.8]);
    assert!(defect < 1e-9, "{defect:e}");
}

#[test]
fn gravity_and_pivot_friction_change_angular_momentum() {
    for (damping, gravity) in [(0.3, 0.0), (0.0, 9.81)] {
        let (defect, _) = defect(&[0.9, 1.2, damping, 1.1, 0.8, 0.4, gravity], [0.0; 2]);
        assert!(defect > 0.1, "{defect:e}");
    }
}
